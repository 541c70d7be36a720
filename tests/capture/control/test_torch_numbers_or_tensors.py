"""Values that are a Python number on some ways and a tensor on others, against eager."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from tests.capture.control.checking import Together

_ROWS = (
    torch.tensor([1.0, -2.0, 3.0, 0.5]),
    torch.tensor([-1.0, -2.0, -3.0, -1.0]),
    torch.tensor([1.0, 2.0, 3.0, 4.0]),
    torch.tensor([3.0, 0.0, -1.0, 7.0]),
)


def _positive(x: Tensor) -> list[Any]:
    return [x[i] if x[i] > 0 else 0 for i in range(int((x > 0).sum()))]


def sums_of_perhaps_nothing(x: Tensor) -> tuple[dict[int, Any], list[Any]]:
    count = int((x > 0).sum())
    travelled = {
        i: sum((b - a).norm() for a, b in itertools.pairwise(x[: i + 1])) for i in range(count)
    }
    return travelled, [sum(part for part in x[:i] if part > 0) for i in travelled]


def used(x: Tensor) -> tuple[Any, ...]:
    """In arithmetic, comparisons, sums, and printed."""
    found = _positive(x)
    print([f"{float(one):.1f}" for one in found])
    kinds = [isinstance(one, int) for one in found], [1 if one == 0 else 2 for one in found]
    return [one * 2 for one in found], [one + 1 for one in found], sum(found), kinds


def moved(x: Tensor) -> tuple[Any, ...]:
    """Through other lists, tuples and dictionaries."""
    found = _positive(x)
    rows = [(i, one) for i, one in enumerate(found)]
    last = found.pop() if found else None
    return rows, dict(rows), found[::-1], [*found, 5], last


def assigned(x: Tensor) -> tuple[list[Any], Any]:
    found: list[Any] = [0] * int((x > 0).sum())
    for i in range(len(found)):
        if x[i] > 0:
            found[i] = found[i] + x[i] * 2
        if i and x[i - 1] > 0:
            found[i] = found[i] + 1
    return found, max(found) if found else None


def history(x: Tensor) -> tuple[Any, list[Any]]:
    """What a loop carries, put in a list in each iteration."""
    best: Any = 0.0
    found = []
    for i in range(int((x > 0).sum()) + 1):
        if x[i % 4] > best:
            best = x[i % 4]
        found.append((i, best))
    return best, found


def written(x: Tensor) -> list[Any]:
    """One tensor is in several places, and is written to."""
    total: Any = 0
    found = []
    for i in range(int((x > 0).sum())):
        if x[i] > 0:
            total += x[i]
        found.append(total)
    return found


def sized(x: Tensor) -> tuple[list[Any], list[Any]]:
    """Tensors whose sizes data decides, or None, or an int; of several dtypes; in tuples."""
    found: list[Any] = []
    pairs: list[Any] = []
    for i in range(int((x > 0).sum())):
        found.append(x[:i] if x[i] > 0 else None if x[i] < -1 else i)
        pairs.append((i, x[i:]) if x[i] > 1 else x[i].long() if x[i] > 0 else x[i].item())
    return found, pairs


@dataclass
class _Total:
    value: Any = 0
    count: int = 0

    def add(self, value: Any) -> None:
        self.value = self.value + value
        self.count += 1


def objects(x: Tensor) -> tuple[list[Any], list[Any]]:
    totals: list[_Total] = []
    for i in range(int((x > 0).sum())):
        total = _Total()
        for j in range(i):
            if x[j] > 0:
                total.add(x[j])
        totals.append(total)
    return [one.value for one in totals], [one.value / max(one.count, 1) for one in totals]


def beside_lists(x: Tensor) -> tuple[list[Any], list[Any]]:
    """Lists and numbers in a list, asked for by `isinstance`."""
    found: list[Any] = []
    for v in x.tolist():
        if v > 0:
            found.append(v)
        elif v < -1:
            found.append([v, 1])
    return found, [one if isinstance(one, float) else one[0] for one in found]


_PROGRAMS: tuple[Callable[..., Any], ...] = (
    sums_of_perhaps_nothing, used, moved, assigned, history, written, sized, objects,
    beside_lists,
)  # fmt: skip


_TOGETHER = Together.of(_PROGRAMS, *_ROWS)


@pytest.mark.parametrize("function", _PROGRAMS)
def test_numbers_or_tensors(function: Callable[..., Any]) -> None:
    _TOGETHER.check(function)


@pytest.mark.parametrize("function", _PROGRAMS)
def test_numbers_or_tensors_in_libraries(function: Callable[..., Any], tmp_path: Path) -> None:
    _TOGETHER.check_library(function, tmp_path)
