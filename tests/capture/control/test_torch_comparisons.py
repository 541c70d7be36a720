"""A comparison that follows from another of the same numbers takes no branch of its own."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest
import torch

from ptc.capture.api import capture_program
from ptc.graph.control import ControlProgram, If, walk
from tests.capture.control.checking import check

Row = torch.Tensor


def of_ints(x: Row) -> Any:
    n, m = x.long().tolist()
    if n >= m:
        return 1 if n < m else 2 if m > n else 3
    return 4 if n == m else 5 if m <= n else 6 if not n < m else 7


def of_floats(x: Row) -> Any:
    a, b = float(x[0]), float(x[1])
    if a < b:
        return 1 if a >= b else 2 if a == b else 3 if not b > a else 4
    return 5 if a >= b else 6


INPUTS = [[1.0, 2.0], [2.0, 1.0], [3.0, 3.0], [-1.0, 0.0]]


@pytest.mark.parametrize(("program", "branches"), [(of_ints, 1), (of_floats, 2)])
def test_what_follows_is_not_asked(program: Callable[..., Any], branches: int) -> None:
    captured = capture_program(program, (torch.tensor(INPUTS[0]),))
    assert isinstance(captured, ControlProgram)
    assert sum(isinstance(item, If) for item in walk(captured.body)) == branches
    check(program, *map(torch.tensor, INPUTS))


def test_numbers_that_are_not_ordered() -> None:
    check(of_floats, *map(torch.tensor, [*INPUTS, [math.nan, 1.0], [math.nan, math.nan]]))


# -- where an exception would be seen: a comparison of lists has none ------------------------------


def positive(x: Row) -> list[int]:
    return [int(v) for v in x if v > 0]


@torch.no_grad()
def of_lists(x: Row, y: Row) -> Any:
    g, h = positive(x), positive(y)
    return g == h, g < h, g[-2:] == [1, 2], [g, h] == [h, g]


@torch.no_grad()
def of_tuples(x: Row, y: Row) -> Any:
    g, h = positive(x), tuple(positive(y))
    return tuple(g[-2:]) == (1, 2), tuple(g) != h, h in [(1, 2), (1, 3)]


@torch.no_grad()
def of_dictionaries(x: Row, y: Row) -> Any:
    one, other = ({v: v + 1 for v in positive(row)} for row in (x, y))
    found = 0
    for key in one:
        if key not in other:
            continue
        found += other[key]
    return one == other, found


@pytest.mark.parametrize("program", [of_lists, of_tuples, of_dictionaries])
def test_what_is_compared_raises_nothing(program: Callable[..., Any]) -> None:
    rows = [torch.tensor(row) for row in ([1, 3, 1, 2], [1, 0, 0, 2], [0, 1, 3, 0], [0, 0, 0, 0])]
    check(program, *((one, other) for one in rows for other in rows))


def test_a_tuple_with_nan_is_equal_to_itself() -> None:
    def compared(x: Row) -> Any:
        values = tuple(float(v) for v in x if v != 0)
        same = values
        return values == same

    check(compared, torch.tensor([1.0, 0.0]), torch.tensor([0.0, math.nan]))
