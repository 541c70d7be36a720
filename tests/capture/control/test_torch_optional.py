"""What is None on some ways and a number on others, and what lists are made of, against eager."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor

from tests.capture.control.checking import check

ROWS = [
    torch.tensor(row)
    for row in (
        [1.0, -2, 3, 4], [-1.0, -2, -3, 2], [1.0, 1, 0, 0.5], [-1.0, -1, -1, -1], [2.0, 2, -5, 1],
    )
]  # fmt: skip
Span = tuple[int, int]


# -- None or a number -----------------------------------------------------------------------------


def spans_of_row(x: Tensor) -> tuple[int, int]:
    spans: list[Span] = []
    start = None
    for i in range(4):
        if x[i] > 0:
            if start is None:
                start = i
        elif start is not None:
            spans.append((start, i))
            start = None
    return len(spans), sum(b - a for a, b in spans)


def known_not_none(x: Tensor) -> Any:
    limit = 2.0 if x[0] > 0 else None
    if limit is not None:
        return x * limit
    return x


def spans_in_loop(x: Tensor, n: Tensor) -> tuple[int, int, int | None]:
    spans: list[Span] = []
    start = None
    for i in range(int(n)):
        if x[i] > 0:
            if start is None:
                start = i
        elif start is not None:
            spans.append((start, i))
            start = None
    if start is not None:
        spans.append((start, int(n)))
    return len(spans), sum(b - a for a, b in spans), start


def best_so_far(x: Tensor, n: Tensor) -> float | None:
    best = None
    for i in range(int(n)):
        value = x[i].item()
        if best is None or value > best:
            best = value
    return best


def previous(x: Tensor, n: Tensor) -> tuple[int, int | None]:
    runs, i, last = 0, 0, None
    while i < n:
        value = int(x[i])
        if last is not None and last == value:
            runs += 1
        last = value if value != 0 else None
        i += 1
    return runs, last


def exchanged(x: Tensor, n: Tensor) -> tuple[int | None, int | None]:
    a, b = None, 7
    for i in range(int(n)):
        value = x[i].item()
        if value > 0:
            a, b = b, i
        elif value < -1:
            a, b = None, None
    return a, b


@pytest.mark.parametrize("function", [spans_of_row, known_not_none])
def test_none_or_a_number(function: Any) -> None:
    check(function, *ROWS)


@pytest.mark.parametrize("function", [spans_in_loop, best_so_far, previous, exchanged])
def test_none_or_a_number_in_a_loop(function: Any) -> None:
    check(function, *[(x, torch.tensor(n)) for x in ROWS for n in (4, 0, 1, 3)])


# -- lists ----------------------------------------------------------------------------------------


def diagonal_of_part(x: Tensor) -> tuple[Tensor, int]:
    steps = 0
    while x.shape[0] > 2:
        products = x[:, None] * x[None, :]
        products.fill_diagonal_(-1.0)
        if products.max() < 0.3:
            break
        x = x[1:]
        steps += 1
    return x, steps


def longest_span(x: Tensor) -> int:
    spans: list[Span] = []
    for i, v in enumerate(x.tolist()):
        if v > 0:
            spans.append((i, i + 2 + int(v > 1)))
    return max([0, *(e - s for s, e in spans)])


@pytest.mark.parametrize("function", [diagonal_of_part, longest_span])
def test_lists(function: Any) -> None:
    check(function, *ROWS)
