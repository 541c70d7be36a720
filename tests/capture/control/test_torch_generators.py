"""Generators whose elements data decides, and what takes elements of them."""

from __future__ import annotations

import collections
import itertools
from collections.abc import Iterator
from typing import Any

import pytest
import torch

from ptc.support.diagnostics import CompileError
from tests.capture.control.checking import check, run

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


def first_of_some(x: Row) -> Any:
    values = x.tolist()
    place = next((i for i, v in enumerate(values) if v > 2), -1)
    large = next((r * 2 for r in x.repeat(2, 1).unbind(1) if r.sum() > 3), None)
    try:
        least = next(1 / v for v in values if v < 3)
    except (StopIteration, ZeroDivisionError) as error:
        least = type(error).__name__ == "StopIteration"
    return place, large if large is not None else x, least


def first_that_is_not_there(x: Row) -> Any:
    return next(v for v in x.tolist() if v > 4)


def told(x: Row) -> Iterator[float]:
    for v in x.tolist():
        print("at", v)
        if v > 1:
            yield v
    print("end")


def first_of_what_prints(x: Row) -> Any:
    return next(told(x), 0.0), max(told(x), key=lambda v: print("key", v) or -v, default=9.0)


def rest_after_some(x: Row) -> Any:
    one = (v for v in x.tolist() if v != 3)
    other = (v for v in x.tolist() if v > 0)
    return any(one), list(one), next(other, -1.0), next(other, -2.0), list(other)


def returns_a_value(x: Row) -> Any:
    def numbers() -> Any:
        for v in x.tolist():
            if v > 4:
                yield v
        return 5

    return any(numbers()), all(numbers()), list(numbers()), next(numbers(), 0.0)


def extremes(x: Row) -> Any:
    values = [v for v in x.tolist() if v != 2]
    kept = (i for i in range(len(values)) if values[i] > 1)
    nearest = min((v for v in values if v > -3), key=lambda v: 1 / v)
    return max(kept, key=lambda i: values[i], default=-1), nearest


def filters(x: Row) -> Any:
    values = x.tolist()
    total = 0.0
    for v in filter(lambda v: v > 0, values):
        total = total * 2 + v
    paired = zip(filter(None, values), itertools.count(1))
    words = ["a" if v > 0 else "" for v in values]
    known = [v * n for v, n in paired], sorted(filter(lambda v: v < 3, values))
    return total, known, sum(filter(None, values)), "-".join(filter(None, words))


def looked_at_first(x: Row) -> Any:
    """What looks at a generator, or makes an object before it is filled, takes nothing of it."""
    values = x.tolist()
    counts = collections.Counter(v > 0 for v in values if v < 3)
    numbers = (v for v in values if v > 0)
    kinds = isinstance(numbers, list), callable(numbers), hasattr(numbers, "send")
    several = []
    several.append(numbers)
    return list(counts.items()), kinds, sum(several[0])


def in_part(x: Row) -> Any:
    """What lazy functions leave of a generator is still there."""
    kept = []
    for take in (
        lambda g: list(itertools.islice(g, 1)),
        lambda g: list(itertools.takewhile(lambda n: n > 2, g)),
        lambda g: [v for v, _ in zip(g, range(2), strict=False)],
        lambda g: list(zip(g, g, strict=False)),
        lambda g: next(map(abs, g), None),
    ):
        positive = (v for v in x.tolist() if v > 0)
        kept.append((take(positive), list(positive)))
    return kept


def own_iterators(x: Row) -> Any:
    """Generators that run ahead of who asks for their elements, with iterators of their own."""
    found = []
    for place, number in zip((i for i in range(4) if x[i] > 0), itertools.count()):
        found.append((place, number))
    positive = (v for v, _ in zip(x.tolist(), range(9), strict=False) if v > 0)
    return found, next(positive, None), next(positive, None), list(positive)


PROGRAMS = [
    any_and_all, any_in_a_loop, left_where_the_loop_ends, first_of_some, first_that_is_not_there,
    first_of_what_prints, rest_after_some, returns_a_value, extremes, filters,
    looked_at_first, own_iterators, in_part,
]  # fmt: skip


@pytest.mark.parametrize("program", PROGRAMS)
def test_generators(program: Any) -> None:
    rows = ((1.0, -2, 3, -4), (-1.0, -2, -3, -4), (1.0, 2, 3, 4), (0.0, 0, 5, 0))
    check(program, *map(torch.tensor, rows))


def _noted(x: Row, seen: list[int]) -> Any:
    for i in range(4):
        if x[i] > 0:
            seen.append(i)
            yield i


def changes_what_others_see(x: Row) -> Any:
    seen = [0]
    values = _noted(x, seen)
    return next(values, None), len(seen), list(values)


def changes_it_step_by_step(x: Row) -> Any:
    seen = [0]
    return [(place, len(seen)) for place, _ in zip(_noted(x, seen), range(3), strict=False)]


def sees_a_list_change(x: Row) -> Any:
    seen: list[int] = []
    lengths = (len(seen) for v in x.tolist() if v > 0)
    first = next(lengths, None)
    seen.append(1)
    return first, list(lengths)


def sees_a_tensor_change(x: Row) -> Any:
    values = x.clone()
    positive = (values[i] * 1 for i in range(4) if values[i] > 0)
    first = next(positive, None)
    values.mul_(-1)
    return first, list(positive)


RAN_TOO_EARLY = [
    changes_what_others_see, changes_it_step_by_step, sees_a_list_change, sees_a_tensor_change,
]  # fmt: skip


@pytest.mark.parametrize("program", RAN_TOO_EARLY)
def test_a_generator_that_runs_ahead_shares_nothing_that_changes(program: Any) -> None:
    with pytest.raises(CompileError, match=r"PTC-B006.*(outside of it|while it waits)"):
        run(program, torch.tensor([1.0, -2, 3, -4]))
