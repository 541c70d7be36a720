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
