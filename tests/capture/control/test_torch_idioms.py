"""Special methods, patterns and builtin functions whose way data decides."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import pytest
import torch

from tests.capture.control.checking import check

ROWS = [
    torch.tensor(row)
    for row in ([1.0, 2, 1, 0.5], [1.0, 1, 1, -1], [2.0, 1, 0, 1], [-2.0, 3, 0, 3])
]
Row = torch.Tensor


class Interval:
    def __init__(self, a: Row, b: Row) -> None:
        self.a, self.b = a, b

    def __bool__(self) -> bool:
        return bool(self.a < self.b)

    def __len__(self) -> int:
        return int(self.b)

    def __eq__(self, other: Any) -> bool:
        return bool(self.a == other.a)

    def __hash__(self) -> int:
        return 1

    def __lt__(self, other: Any) -> bool:
        if self.a < other.a:  # noqa: SIM103
            return True
        return False

    def __contains__(self, point: Row) -> bool:
        if point < self.a:
            return False
        return bool(point < self.b)

    def __getitem__(self, i: int) -> Row:
        if i > 1:
            return self.b
        return self.a

    def __and__(self, other: Any) -> Interval:
        return Interval(torch.maximum(self.a, other.a), torch.minimum(self.b, other.b))


def truth(x: Row) -> Any:
    i = Interval(x[0], x[1])
    if not i:
        return x
    return i[int(x[2])] * 2 if i else x[3]


def operators(x: Row) -> Any:
    i, j, found = Interval(x[0], x[1]), Interval(x[1], x[0]), 0
    if i == j:
        found += 1
    if i < j:
        found += 2
    if x[2] in i:
        found += 4
    if x[3] not in (i & Interval(x[0] - 1, x[1] + 1)):
        found += 8
    if i and j:
        found += 16
    return found, len(i), bool(j)


def patterns(x: Row) -> Any:
    n = int(x[0])
    match n:
        case 0:
            return x
        case 1 | 2:
            y = x * 2
        case k if k < 0:
            y = x * k
        case _:
            y = x * 9
    match (n, x[1].item() > 1):
        case (1, True):
            y = y + 1
        case (_, False):
            y = y - 1
    match [n, 2]:
        case [1, b]:
            y = y * b
        case [a, 2] if a > 1:
            y = y / 2
    match {"k": n}:
        case {"k": 1}:
            y = y + 3
    return y


def identities(x: Row) -> Any:
    positive, n = x[0].item() > 0, int(x[0])
    name = "pos" if positive else 3
    return (
        positive is True, positive is not False, n is None, isinstance(name, str),
        isinstance(name, (int, float)), type(name) is int, name == "pos",
    )  # fmt: skip


def builtins(x: Row) -> Any:
    v, out = x.tolist(), 0
    for i, (a, b) in enumerate(zip(v, reversed(v), strict=True)):
        if a > b:
            out += i
    first, *rest = v
    return (
        out, sorted(v[:3], key=lambda t: -t), max(v, key=abs), any(t > 1 for t in rest),
        all(t > 0 for t in v), (n := int(first)) + n,
    )  # fmt: skip


@pytest.mark.parametrize("function", [truth, operators, patterns, identities, builtins])
def test_idioms(function: Any) -> None:
    check(function, *ROWS)


@contextlib.contextmanager
def announced(what: str) -> Iterator[None]:
    print("begin", what)
    try:
        yield
    finally:
        print("end", what)


def managed(x: Row) -> Any:
    """`with` around an exception, a return and a normal end: the manager's generator ends in each
    of them at another place."""
    with announced("check"):
        if x.sum() == 0:
            raise ValueError("nothing to do")
        if x.sum() < 4:
            return -x
        y = x * 2
    with contextlib.suppress(KeyError):
        y = y * {1: 2.0, 2: 3.0}[int(x[0])]
    return y


def advanced(x: Row) -> Any:
    values = x.tolist()
    elements = (v for v in values)
    if next(elements) > 1:
        next(elements)
    return next(elements) + 1


def test_generators_that_stand_at_different_places() -> None:
    check(managed, *ROWS, torch.zeros(4))
    check(advanced, *ROWS)


def gone_on(x: Row) -> Any:
    """What is left of a generator after data has decided how much was taken."""
    elements = (v for v in [1.0, 2.0, 3.0])
    a = next(elements)
    if x[0] > 1:
        a += next(elements) * 10
    return a + sum(elements)


def test_the_rest_of_a_generator() -> None:
    check(gone_on, *ROWS)
