"""Slices of lists whose length data decides: with steps, assigned and deleted; what unpacks into
displays."""

from __future__ import annotations

import collections
from typing import Any

import pytest
import torch

from tests.capture.control.checking import check

Row = torch.Tensor
ROWS = [
    torch.tensor(row)
    for row in ([3, 1, 2, 3, 1, 1, 5], [7, 7, 7, -1, -1, -1, -1], [0, 1, 2, 3, 4, 5, 6], [-1] * 7)
]


def numbers(x: Row) -> Any:
    return x[x >= 0].tolist()


def with_steps(x: Row) -> Any:
    a = numbers(x)
    ends = a[::2], a[1::3], a[::-2], a[5:1:-1], a[-2::-1], a[:-4:-2], a[9:-9:-3], a[2:5:2]
    n = len(a)
    return ends, a[n // 2 :: 2], a[: n // 2 : -1]


def assigned(x: Row) -> Any:
    out = []
    for start, stop in ((1, 2), (0, 0), (5, 2), (-2, None), (None, -1), (20, 30)):
        a = numbers(x)
        a[start:stop] = [40, 50, 60]
        out.append(a[:])
    b = numbers(x)
    same = b
    b[1:3] = b
    same[len(b) // 2 :] = (v * 2 for v in x.tolist())
    return out, b, b is same


def assigned_with_steps(x: Row) -> Any:
    a = numbers(x)
    a[::2] = [v * 10 for v in a[::2]]
    a[::-1] = a
    return a


def of_another_size(x: Row) -> Any:
    a = numbers(x)
    a[::3] = [1, 2, 3]
    return a


def deleted(x: Row) -> Any:
    a, b, c, d = numbers(x), numbers(x), numbers(x), numbers(x)
    del a[1:], b[::2], c[5:1:-2], d[-3:-1]
    return a, b, c, d


def step_of_zero(x: Row) -> Any:
    return numbers(x)[:: int(x[0]) - 3]


def rotated(x: Row) -> Any:
    d = collections.deque(maxlen=5)
    for v in numbers(x):
        d.append(v)
    d.rotate(2)
    one = list(d)
    d.rotate(-1)
    return one, list(d)


def displays(x: Row) -> Any:
    a = dict.fromkeys(numbers(x), 1)
    b = {v * 2: 2 for v in numbers(x)}
    return {**a}, list({**a, 9: 9, **b}.items()), list((a | b).items()), a == {**a}


PROGRAMS = [
    with_steps, assigned, assigned_with_steps, of_another_size, deleted, step_of_zero, rotated,
    displays,
]  # fmt: skip


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_slices(program: Any) -> None:
    check(program, *ROWS)
