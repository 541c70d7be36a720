"""Generators whose elements data decides, and what takes elements of them."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from tests.capture.control.checking import check

Row = torch.Tensor


def any_and_all(x: Row) -> Any:
    values = x.tolist()
    found = any(v for v in values if v > 0), all(v != 0 for v in values), any(map(bool, x > 2))
    if not all(v > 0 for v in x):
        x = x * 2
    return found, x


def any_in_a_loop(x: Row) -> Any:
    steps = 0
    while any(v > 1 for v in x) and steps < 5:
        x = x - 1
        steps += 1
    return steps, x


def left_where_the_loop_ends(x: Row) -> Any:
    """What a loop leaves of a generator is there for the next one."""
    numbers = (v for v in x.tolist() if v > 0)
    for v in numbers:
        if v > 2:
            break
    else:
        return -1.0
    return next(numbers, -9.0)


@pytest.mark.parametrize("program", [any_and_all, any_in_a_loop, left_where_the_loop_ends])
def test_generators(program: Any) -> None:
    rows = ((1.0, -2, 3, -4), (-1.0, -2, -3, -4), (1.0, 2, 3, 4), (0.0, 0, 5, 0))
    check(program, *map(torch.tensor, rows))
