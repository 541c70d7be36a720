"""Loops over generators that data leads, also where they print or raise between what they yield."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import torch

from tests.capture.control.checking import check

ROWS = [
    torch.tensor(r)
    for r in ([1.0, -2, 3, -4], [-1.0, -2, -3, -4], [1.0, 2, 3, 4], [0.0, 0, 5, 0], [7.0, 1, -1, 2])
]
Row = torch.Tensor


def told(values: list[float]) -> Iterator[float]:
    for v in values:
        print("at", v)
        if v > 1:
            yield v
    print("end")


def words(codes: list[int]) -> Iterator[str]:
    word = []
    for c in codes:
        if c <= 0:
            if word:
                yield "".join(word)
            word = []
        else:
            word.append(chr(96 + c))
    if word:
        yield "".join(word)


def prints(x: Row) -> Any:
    total = 0.0
    for v in told(x.tolist()):
        print("took", v)
        total = total * 2 + v
    return total, x * total


def of_several_places(x: Row) -> Any:
    found = []
    for word in words([int(v) for v in x.tolist()]):
        print(word)
        found.append(word)
        if len(word) > 3:
            found.append("long")
    return found


def left(x: Row) -> Any:
    for v in told(x.tolist()):
        if v > 4:
            print("left")
            break
        if v > 3:
            return "returned", v
        if v > 2.5:
            continue
        x = x + v
    else:
        print("to the end")
    return "behind", x


def checked(values: list[float]) -> Iterator[float]:
    last = 0.0
    for v in values:
        if v < -2.5:
            raise ValueError(f"{v} after {last}")
        if v != 0:
            yield v
        last = v


def raises(x: Row) -> Any:
    seen = []
    try:
        for v in checked(x.tolist()):
            print("seen", v)
            seen.append(v)
            if v > 6:
                raise KeyError(v)
    except ValueError as error:
        print("caught", error)
    return seen


def raises_out(x: Row) -> Any:
    total = 1.0
    for v in checked(x.tolist()):
        total = total + v
        print(total)
    return total


def sees_what_the_loop_does(x: Row) -> Any:
    """Neither is ahead of the other."""
    limit = [0.0]

    def above() -> Iterator[float]:
        for v in x.tolist():
            if v > limit[0]:
                print("limit", limit[0])
                yield v

    rises = 0
    for v in above():
        limit[0] = v + 0.5
        rises += 1
    return rises, limit


def one_in_another(x: Row) -> Any:
    found = []
    for v in told(x.tolist()):
        for w in told([v, v - 2, 3.0]):
            found.append(v * w)
            if w > 2:
                break
    return found


def in_a_loop(x: Row) -> Any:
    rounds = 0
    while x.sum() > 2 and rounds < 3:
        for v in told(x.tolist()):
            x = x - v / 4
        rounds += 1
    return rounds, x


def in_a_comprehension(x: Row) -> Any:
    return [v * 2 for v in told(x.tolist())], {int(v): v for v in checked(x.tolist()) if v > 0}


def with_a_loop_on_data(x: Row) -> Any:
    def halves() -> Iterator[Row]:
        y = x
        while y.abs().sum() > 2:
            print("sum", y.sum().item())
            yield y
            y = y / 2

    total = x * 0
    steps = 0
    for part in halves():
        total = total + part
        steps += 1
        if total.max() > 8:
            break
    return steps, total


def extended(x: Row) -> Any:
    values = x.tolist()
    found = [2.0]
    found.extend(v for v in values if v not in found)
    found += (v for v in values if v + 1 not in found)
    kept: list[float] = []
    try:
        kept.extend(checked(values))
    except ValueError as error:
        print(error, kept)
    kept.extend(told(values))
    return found, kept


def silent(x: Row, limit: list[float]) -> Iterator[float]:
    for v in x.tolist():
        if v > limit[0]:
            yield v


def is_not_ahead(x: Row) -> Any:
    limit = [0.0]
    rises = 0
    for v in silent(x, limit):
        limit[0] = v + 0.5
        rises += 1
    places = []
    for i, v in enumerate(silent(x, limit), 1):
        limit[0] = v - 3
        places.append((i, v))
    for v in (-w for w in silent(x, limit)):
        limit[0] -= v
    for v in map(abs, silent(x, limit)):
        limit[0] = v * 2
    for v in filter(lambda w: w != 5, silent(x, limit)):
        limit[0] = v
    return rises, places, limit


def doubled(v: float) -> float:
    print("doubled", v)
    return v * 2


def goes_through_several(x: Row) -> Any:
    total = 0.0
    for i, v in enumerate(told(x.tolist())):
        print(i, v)
        total += i * v
        if i > 1:
            break
    for v in map(doubled, told(x.tolist())):
        total += v
    for v in filter(lambda w: w < 4, (w - 1 for w in told(x.tolist()))):
        total -= v
    return total


def left_in_a_try(x: Row) -> Any:
    def numbers() -> Iterator[float]:
        with torch.enable_grad():
            for v in x.tolist():
                if v > 0:
                    yield v

    total = 0.0
    for v in numbers():
        total += v
        if v > 2:
            break
    return total


def from_another(x: Row) -> Any:
    def inner() -> Iterator[float]:
        for v in x.tolist():
            if v < -3.5:
                raise ValueError(v)
            if v > 0:
                yield v
        print("inner ends")
        return x.sum().item()

    def both() -> Iterator[float]:
        yield 1.5
        result = yield from inner()
        print("result", result)
        yield -1.5

    def all_of_it() -> Iterator[float]:
        yield from both()
        yield from (v for v in x.tolist() if v == 3)

    total = 0.0
    try:
        for v in all_of_it():
            total = total * 2 + v
            print(v)
            if total > 20:
                break
    except ValueError as error:
        print("caught", error)
    return total, sum(v for v in both() if v < 7) if x[3] > -3 else None


PROGRAMS = [
    is_not_ahead, goes_through_several, left_in_a_try, prints, of_several_places, left, raises,
    raises_out, sees_what_the_loop_does, one_in_another, in_a_loop, in_a_comprehension,
    with_a_loop_on_data, extended, from_another,
]  # fmt: skip


@pytest.mark.parametrize("program", PROGRAMS)
def test_loops_over_generators(program: Any) -> None:
    check(program, *ROWS)
