"""Functions of the standard library that are written in C, on data."""

from __future__ import annotations

import bisect
import heapq
import math
from typing import Any

import pytest
import torch

from tests.capture.control.checking import check

_VALUES = [
    torch.tensor(row, dtype=torch.float64)
    for row in (
        [3.0, 1.0, 2.0, 5.0, 2.0],
        [0.0, -1.0, -2.0, -3.0, -5.0],
        [9.0, 8.0, 7.0, 7.5, 7.5],
        [2.0] * 5,
        [4.0, 3.0, math.nan, 2.0, 1.0],
    )
]


def _positive(x: torch.Tensor) -> list[float]:
    return [value for value in x.tolist() if value > 0 or value != value]


def heap(x: torch.Tensor) -> Any:
    grown: list[float] = []
    for value in _positive(x):
        heapq.heappush(grown, value)
    made = _positive(x)
    heapq.heapify(made)
    print(grown, made)
    replaced = heapq.heapreplace(made, 2.5) if made else -1.0
    passed = heapq.heappushpop(made, 0.5), heapq.heappushpop(made, 4.0)
    taken = [heapq.heappop(grown) for _ in range(len(grown))]
    return made, replaced, passed, taken


def heap_of_tuples(x: torch.Tensor) -> Any:
    queue = [(0.0, (0, 0))]
    seen = []
    while queue and len(seen) < 6:
        cost, (depth, _) = heapq.heappop(queue)
        seen.append(depth)
        for i, value in enumerate(x.tolist()):
            if value > cost:
                heapq.heappush(queue, (value, (depth + 1, i)))
    return seen, len(queue)


def heap_of_known_length(x: torch.Tensor) -> Any:
    values = x.tolist()
    heapq.heapify(values)
    first = heapq.heappop(values)
    heapq.heappush(values, first * 3)
    return values


def empty_heap(x: torch.Tensor) -> Any:
    return heapq.heappop(_positive(x)[:1])


def halves(x: torch.Tensor) -> Any:
    values = sorted(value for value in x.tolist() if value > 0)
    number = float(x[0])
    print(bisect.bisect(values, number), bisect.bisect_left(values, number, 1))
    print(bisect.bisect_left([-5, -3, 1], number, key=lambda one: one * 2))
    bisect.insort(values, 2.5)
    bisect.insort_left(values, number, key=lambda one: one)
    return values, bisect.bisect_right((1.0, 3.0), number)


def below_the_first(x: torch.Tensor) -> Any:
    return bisect.bisect_left([1.0, 2.0], float(x[1]), int(x[0]) - 1)


@pytest.mark.parametrize(
    "program", [heap, heap_of_tuples, heap_of_known_length, empty_heap, halves, below_the_first]
)
def test_heapq_and_bisect(program: Any) -> None:
    inputs = _VALUES if program is not below_the_first else _VALUES[:4]
    check(program, *inputs)
