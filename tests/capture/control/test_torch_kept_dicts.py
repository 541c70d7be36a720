"""Dictionaries and sets in attributes, kept from call to call."""

from __future__ import annotations

from collections import Counter, OrderedDict, defaultdict
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

import ptc
from tests.zoo.case import Case
from tests.zoo.harness import compare, compiled, eager, interpreted, library

ROWS = [
    torch.tensor(row)
    for row in (
        [3, 1, 2, 3, 1, 1, 5], [7, 7, 7, -1, -1, -1, -1], [0, 1, 2, 3, 4, 5, 6],
        [3, 1, 2, 3, 1, 1, 5],
    )
]  # fmt: skip


def numbers(x: Tensor) -> Any:
    return x[x >= 0].tolist()


class Table(nn.Module):
    """One that is filled, and replaced."""

    def __init__(self) -> None:
        super().__init__()
        self.table = {5: 1}
        self.calls = 0

    def forward(self, x: Tensor) -> Any:
        self.calls += 1
        if x[0] == 7:
            self.table = {}
        for v in numbers(x):
            self.table[v] = self.table.get(v, 0) + self.calls
        return list(self.table.items())


class Totals(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.counts: Counter[int] = Counter()
        self.sums: dict[str, float] = defaultdict(float)
        self.known = {"calls": 0, "large": 0}

    def forward(self, x: Tensor) -> Any:
        self.known["calls"] += 1
        if x.sum() > 5:
            self.known["large"] += 1
        self.counts.update(numbers(x))
        for v in numbers(x):
            self.sums[f"k{v}"] += v / 2
        return self.counts.most_common(2), list(self.sums.items()), self.known["large"]


class Cache(nn.Module):
    """The two results that were used last."""

    def __init__(self) -> None:
        super().__init__()
        self.cache: OrderedDict[int, Tensor] = OrderedDict()
        self.hits = 0

    def forward(self, x: Tensor) -> Any:
        key = int(x.sum())
        if key in self.cache:
            self.hits += 1
            self.cache.move_to_end(key)
            return self.cache[key], self.hits
        y = x * 2
        self.cache[key] = y
        if len(self.cache) > 2:
            self.cache.popitem(last=False)
        return y, self.hits


class Pairs(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.seen: set[tuple[int, int]] = set()
        self.last = -1

    def forward(self, x: Tensor) -> Any:
        repeated = 0
        for v in numbers(x):
            repeated += (self.last, v) in self.seen
            self.seen.add((self.last, v))
            self.last = v
        if len(self.seen) > 8:
            self.seen.clear()
        return repeated, len(self.seen)


def _case(model: type[nn.Module]) -> Case:
    return Case(model.__name__, model, tuple((row,) for row in (*ROWS, *ROWS)))


@pytest.mark.parametrize("model", [Table, Totals, Cache, Pairs])
def test_what_is_kept(model: type[nn.Module]) -> None:
    case = _case(model)
    expected = eager(case)
    compare(expected, interpreted(case))
    compare(expected, compiled(case, control_flow=True))


def test_a_library_keeps_it(tmp_path: Path) -> None:
    case = _case(Table)
    compare(eager(case), library(case, tmp_path))


def test_the_object_of_the_model_is_the_one_that_changes() -> None:
    model, other = Table(), Table()
    fast = ptc.compile(model, control_flow=True)
    table = model.table
    for row in (ROWS[0], ROWS[2]):
        assert fast(row) == other(row)
    assert table is model.table
    assert table == other.table
    table[100] = 1  # by somebody else
    other.table[100] = 1
    assert fast(ROWS[0]) == other(ROWS[0])
    assert list(table.items()) == list(other.table.items())
