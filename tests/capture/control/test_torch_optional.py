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


# -- None or something else, in a loop ------------------------------------------------------------


class Scored:
    def __init__(self, value: float) -> None:
        self.value = value
        self.seen = 0


def best_pair(x: Tensor, n: Tensor) -> Any:
    best = None
    for i in range(int(n)):
        value = x[i].item()
        if value > 0 and (best is None or value > best[1]):
            best = (i, value)
    return best


def best_row(x: Tensor, n: Tensor) -> Tensor | None:
    best = None
    for i in range(int(n)):
        row = x * x[i]
        if row.sum() > 0 and (best is None or row[0] > best[0]):
            best = row + i
    return best


def list_of_the_last(x: Tensor, n: Tensor) -> Any:
    found: list[int] | None = None
    for i in range(int(n)):
        value = x[i].item()
        if value > 1:
            found = [i]
        elif value > 0 and found is not None:
            found.append(i)
        elif value < -1:
            found = None
    return None if found is None else (len(found), sum(found))


def one_list_by_two_names(x: Tensor, n: Tensor) -> Any:
    first, second = [0], None
    for i in range(int(n)):
        if x[i] > 1:
            second = first
        elif x[i] < 0:
            second = None
        if second is not None:
            second.append(i)
    return len(first), sum(first)


def best_object(x: Tensor, n: Tensor) -> Any:
    best: tuple[float, Scored] | None = None
    every = []
    for i in range(int(n)):
        scored = Scored(x[i].item())
        every.append(scored)
        if best is None or scored.value > best[0]:
            best = (scored.value, scored)
    for scored in every:
        scored.seen += 1
    return None if best is None else (best[0], best[1].seen, best[1].value)


def two_objects(x: Tensor, n: Tensor) -> Any:
    every = [Scored(0.0), Scored(1.0)]
    first, second = every
    for i in range(int(n)):
        every.append(Scored(x[i].item()))
        if x[i] > 0:
            first, second = second, first
        else:
            first = every[-1]
        first.seen += 1
    return first.value, second.value, [scored.seen for scored in every], first is second


def of_three_kinds(x: Tensor, n: Tensor) -> Any:
    found: Any = "nothing"
    for i in range(int(n)):
        value = x[i].item()
        if value > 1:
            found = (i, value)
        elif value > 0:
            found = x * value
        elif value < -1:
            found = None
    if found is None or isinstance(found, str):
        return 0.0 if found is None else -1.0
    return found[1] if isinstance(found, tuple) else found.sum().item()


def from_a_constant(x: Tensor, n: Tensor) -> Any:
    best: tuple[int, float] | None = (0, 0.5)
    for i in range(int(n)):
        value = x[i].item()
        if value < -1:
            best = None
        elif best is None or value > best[1]:
            best = (i, value)
    return best


def exchanged_pairs(x: Tensor, n: Tensor) -> Any:
    a, b = None, (1, 2.0)
    for i in range(int(n)):
        if x[i] > 0:
            a, b = b, a
        elif b is not None:
            b = (b[0] + 1, b[1] * 2)
    return a, b


def anew_in_each_iteration(x: Tensor, n: Tensor) -> int:
    total = 0
    for i in range(int(n)):
        best = None
        for j in range(int(n)):
            if x[j] > x[i] and (best is None or x[j].item() < best[1]):
                best = (j, x[j].item())
        if best is not None:
            total += best[0]
    return total


@pytest.mark.parametrize(
    "function",
    [
        best_pair, best_row, list_of_the_last, one_list_by_two_names, best_object, two_objects,
        of_three_kinds, from_a_constant, exchanged_pairs, anew_in_each_iteration,
    ],
)  # fmt: skip
def test_none_or_something_else_in_a_loop(function: Any) -> None:
    check(function, *[(x, torch.tensor(n)) for x in ROWS for n in (4, 0, 1, 3)])
