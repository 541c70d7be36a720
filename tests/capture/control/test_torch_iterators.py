"""Loops over other objects in each arm of a branch on data, against eager."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.capture.control.checking import check
from tests.zoo.case import Case
from tests.zoo.harness import compare, eager, library

Row = torch.Tensor
ROWS = [
    torch.tensor(r)
    for r in ([1, 2, 1, 2, 3], [0, 1, -1, 2, 1], [-1, -1, 1, -1, -1], [5] * 5, [1, 0, 0, 1, 2])
]


def matched(x: Row) -> Any:
    """A generator goes on in a loop over what is a known list on some ways."""
    ids: Any = {}
    for i, v in enumerate(x.tolist()):
        ids.setdefault(v, []).append(i)

    def connect() -> Any:
        for a, b in [(0, 1), (1, 2), (1, -1)]:
            pairs = []
            for i in ids.get(a, []):
                for j in ids.get(b, []):
                    if i != j:
                        pairs.append((i - j, i, j))
            used: Any = set()
            for s, i, j in sorted(pairs, reverse=True):
                if i in used or j in used:
                    continue
                used.update((i, j))
                yield a, b, i, j, s

    out: Any = []
    for a, b, i, j, s in connect():
        found = next((p for p in out if i in p), None)
        if found is None:
            found = [i]
            out.append(found)
        found.append(j + a + b + s)
    return out


def known_by_name(x: Row) -> Any:
    a = [v for v in x.tolist() if v > 0]
    it = iter(a) if x[0] > 0 else iter([7, 8, 9])
    out = [next(it, -1)]
    for v in it:
        out.append(v)
        if v == 2:
            break
    return out, next(it, None)


def growing(x: Row) -> Any:
    a = [v for v in x.tolist() if v > 0]
    b = [1]
    n = 0
    for v in a if x[0] > 0 else b:
        n += v
        if len(a) < 6:
            a.append(1)
        if len(b) < 3:
            b.append(2)
    for v in sorted(a) if x[1] > 0 else ():
        n = n * 2 + v
    return n, a, b


@pytest.mark.parametrize("program", [matched, known_by_name, growing])
def test_iterators_that_differ(program: Any) -> None:
    check(program, *ROWS)


def test_a_library_goes_on_in_either(tmp_path: Path) -> None:
    case = Case("matched", lambda: matched, tuple((row,) for row in ROWS))
    compare(eager(case), library(case, tmp_path))


def in_a_cell(x: torch.Tensor) -> Any:
    """An iterator that a closure has, of a function that one arm has left before."""

    def numbered(values: list[float]) -> Any:
        if len(values) == 1:
            return [-1]
        numbers = itertools.count()

        def following() -> int:
            return next(numbers)

        return [following() for _ in values]

    return numbered([v for v in x.tolist() if v > 0])


def test_an_iterator_in_a_cell() -> None:
    check(in_a_cell, *map(torch.tensor, ([1.0, -1, -1], [1.0, 2, -1], [-1.0, -1, -1])))
