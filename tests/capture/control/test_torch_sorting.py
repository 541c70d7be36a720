"""Sorting numbers that data decides: CPython's order, with NaN, zeros of both signs and ties."""

from __future__ import annotations

import math
import random
from typing import Any

import pytest
import torch

from ptc.capture.polyfills.data_lists import RUNS_DIFFER
from tests.capture.control.checking import check

_DRAW = random.Random(3)
_VALUES = (1.0, 2.0, 3.0, 0.0, -0.0, *([] if RUNS_DIFFER else [math.nan, math.nan]))


def _rows(length: int, count: int) -> list[torch.Tensor]:
    rows = [[_DRAW.choice(_VALUES) for _ in range(length)] for _ in range(count)]
    return [torch.tensor(row, dtype=torch.float64) for row in rows]


def four(x: torch.Tensor) -> Any:
    values = [float(v) for v in x]
    print(sorted(values))


def four_backwards(x: torch.Tensor) -> Any:
    values = x.tolist()
    values.sort(reverse=True)
    print(values)


def any_number(x: torch.Tensor, n: torch.Tensor) -> Any:
    values = [float(x[k]) for k in range(int(n))]
    print(sorted(values), sorted(values, reverse=True), sorted(values, key=abs))
    values.sort(key=lambda v: -v, reverse=True)
    return values


@pytest.mark.parametrize("program", [four, four_backwards])
def test_a_few(program: Any) -> None:
    odd = [] if RUNS_DIFFER else [torch.tensor([5.0, 6.0, math.nan, 1.0], dtype=torch.float64)]
    check(program, *_rows(4, 20), *odd)


def test_any_number() -> None:
    lengths = [9, 0, 1, 2, 3, *(_DRAW.randint(4, 9) for _ in range(30))]
    rows = zip(_rows(9, len(lengths)), map(torch.tensor, lengths), strict=True)
    check(any_number, *rows)


def longer(x: torch.Tensor) -> Any:
    values = [float(v) for v in x[x > -1]]
    return sorted(values)


def test_many() -> None:
    check(longer, *(torch.rand(n).round(decimals=1) for n in [100] * 2))
