"""Functions of the standard library that are written in C, on data."""

from __future__ import annotations

import bisect
import heapq
import itertools
import math
import operator
from typing import Any

import pytest
import torch

from ptc.support.diagnostics import CompileError
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


def caught(x: torch.Tensor) -> Any:
    """What heapq and bisect raise, handled by the program."""
    queue = _positive(x)[:2]
    taken: list[float] = []
    try:
        for _ in range(3):
            taken.append(heapq.heappop(queue))
    except IndexError as error:
        print("empty:", error)
    try:
        place = bisect.bisect_left(taken, 2.0, int(x[1]))
    except ValueError as error:
        print(error)
        place = -1
    return taken, place


@pytest.mark.parametrize(
    "program",
    [heap, heap_of_tuples, heap_of_known_length, empty_heap, halves, below_the_first, caught],
)
def test_heapq_and_bisect(program: Any) -> None:
    inputs = _VALUES if program is not below_the_first else _VALUES[:4]
    check(program, *inputs)


# -- itertools ------------------------------------------------------------------------------------

_INTEGERS = [
    torch.tensor(row) for row in ([3, 1, 2, 2, 5], [0, -1, -2, -3, -5], [1, 1, 7, 8, 8], [2] * 5)
]


def grouped(x: torch.Tensor) -> Any:
    for key, members in itertools.groupby(_positive(x)):
        print(key, len(list(members)))
    known = [key for key, _ in itertools.groupby(x.tolist()) if key != 2]
    odd = [(key, sum(group)) for key, group in itertools.groupby(_positive(x), lambda v: v % 2)]
    return known, len(odd), sum(total for _, total in odd)


def accumulated(x: torch.Tensor) -> Any:
    values = _positive(x)
    print(list(itertools.accumulate(values)), list(itertools.accumulate(values, max)))
    return list(itertools.accumulate(values, operator.mul, initial=1))


def chained(x: torch.Tensor) -> Any:
    print(list(itertools.chain(_positive(x), [7], _positive(-x))))
    for one, other in itertools.pairwise(_positive(x)):
        print(one, other)
    return list(itertools.chain.from_iterable([_positive(x), _positive(x)]))


def combined(x: torch.Tensor) -> Any:
    values = _positive(x)
    print([one - other for one, other in itertools.combinations(values, 2)])
    print([one - other for one, other in itertools.permutations(values, 2)])
    print([one - other for one, other in itertools.combinations_with_replacement(values, 2)])
    return sum(one * other for one, other in itertools.product(values, [1, 2]))


def counted(x: torch.Tensor) -> Any:
    values = _positive(x)
    print([i * value for i, value in zip(itertools.count(1), values, strict=False)])
    print([sign * value for sign, value in zip(itertools.cycle([1, -1]), values, strict=False)])
    print([a + b for a, b in itertools.zip_longest(values, _positive(-x), fillvalue=100)])
    print(list(itertools.islice(values, 1, None, 2)), list(itertools.repeat(4, len(values))))
    print(list(itertools.takewhile(lambda value: value > 1, x.tolist())))
    print(list(itertools.dropwhile(lambda value: value > 1, x.tolist())))
    for i in itertools.count():
        if i >= 4 or x[i] > 2:
            return i
    return None


@pytest.mark.parametrize("program", [grouped, accumulated, chained, combined, counted])
def test_itertools(program: Any) -> None:
    check(program, *_INTEGERS)


# -- generators that print and raise --------------------------------------------------------------


def _shown(value: float) -> float:
    print("value", value)
    return value


def told(x: torch.Tensor) -> Any:
    kept = [i for i, value in enumerate(x.tolist()) if value > 1]
    print(sum(x[i].item() for i in kept), sorted(_shown(value) for value in _positive(x)))
    print(max((_shown(value) for value in x.tolist() if value > 1), default=0.0))
    print(any(_shown(value) > 2 for value in _positive(x)))
    return all(_shown(value) < 8 for value in _positive(x))


def raises(x: torch.Tensor) -> Any:
    return sum(math.log(value) for value in x.tolist() if value != 2)


def handles(x: torch.Tensor) -> Any:
    try:
        total = sum(math.log(value) for value in x.tolist() if value != 2)
    except ValueError as error:
        return str(error)
    return total


@pytest.mark.parametrize("program", [told, raises, handles])
def test_generators(program: Any) -> None:
    check(program, *_VALUES[:4])


# -- lists in tensor calls ------------------------------------------------------------------------


def indexed(x: torch.Tensor) -> Any:
    large = [i for i, value in enumerate(x.tolist()) if value > 2]
    negative = [-1 - i for i in large]
    kept = x.clone()
    kept[large] = 0
    other = torch.zeros(5, dtype=x.dtype)
    other[negative] = x[large] * 2
    rows = torch.arange(15.0).reshape(5, 3)
    rows[large] += 1
    flags = [bool(value > 2) for value in x.tolist()]
    return kept, other, rows[large, 1], rows[:, [0, 2]], x[flags]


def test_list_as_index() -> None:
    check(indexed, *_VALUES[:4])


def joined(x: torch.Tensor) -> Any:
    large = [i for i, value in enumerate(x.tolist()) if value > 1]
    print(", ".join(map(str, large)), "-".join(str(i) for i in reversed(large)))
    if large:
        raise ValueError(f"large: {', '.join(map(str, large))}")


def mapped(x: torch.Tensor) -> Any:
    raised = list(map(lambda v: v + 1, filter(lambda v: v > 0, x.tolist())))  # noqa: C417
    return raised, max(map(operator.neg, raised), default=0.0)


@pytest.mark.parametrize("program", [joined, mapped])
def test_map_and_filter(program: Any) -> None:
    check(program, *_VALUES[:4])


def spans(x: torch.Tensor) -> Any:
    """Numbers known at capture, or none, beside numbers of data."""
    found, start = [], None
    for i, tag in enumerate(x.tolist()):
        if tag == 1:
            if start is not None:
                found.append((start, i))
            start = i
        elif tag == 2 and start is not None:
            found.append((start, i))
            start = None
    if start is not None:
        found.append((start, 5))
    return [first for first, _ in found], sum(last - first for first, last in found)


def test_rows_of_known_numbers_and_others() -> None:
    check(spans, *_INTEGERS, torch.tensor([1, 1, 2, 3, 1]))


def _told(value: float) -> bool:
    print("asked", value)
    return value > 1


def test_what_is_taken_at_once_does_not_print() -> None:
    """CPython would print between the steps."""

    def grouped_aloud(x: torch.Tensor) -> None:
        large = [value for value in x.tolist() if value > 0]
        for key, group in itertools.groupby(large, _told):
            print(key, len(list(group)))

    def silent(x: torch.Tensor) -> None:
        for key, group in itertools.groupby(x.tolist(), lambda value: value > 1):
            print(key, len(list(group)))

    with pytest.raises(CompileError, match="groupby goes through something") as caught:
        check(grouped_aloud, *_VALUES[:2])
    assert caught.value.code == "PTC-B006"
    check(silent, *_VALUES[:4])
