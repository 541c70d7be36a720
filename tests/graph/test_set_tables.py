"""Tables of sets against CPython's own sets, over random histories."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from typing import Any

import pytest

from ptc.capture.values.constants import ConstantValue
from ptc.capture.values.set_history import Ordered, Other, changed, combined, in_order, of_real
from ptc.graph import set_tables
from ptc.graph.control_operations import number_hash

METHODS = {
    "union": ("union", "update"),
    "intersection": ("intersection", "intersection_update"),
    "difference": ("difference", "difference_update"),
    "symmetric_difference": ("symmetric_difference", "symmetric_difference_update"),
}


def small(rng: random.Random) -> Any:
    return rng.randrange(40)


def wide(rng: random.Random) -> Any:
    return rng.choice((rng.randrange(-5, 400), rng.randrange(8) << rng.randrange(60)))


def pair(rng: random.Random) -> Any:
    return rng.randrange(12), rng.randrange(-2, 12)


def fraction(rng: random.Random) -> Any:
    return rng.choice((rng.randrange(30), rng.uniform(-3, 3), rng.randrange(30) / 8, 1e300))


class Both:
    """A real set, and the one that stands for it."""

    def __init__(self, elements: Any = ()) -> None:
        self.real: set[Any] = set()
        self.mine = Ordered({}, set_tables.fresh())
        for element in elements:
            self.add(element)

    def add(self, element: Any) -> None:
        self.real.add(element)
        self.mine.add(element, ConstantValue(element))

    def check(self) -> None:
        found = in_order(self.mine.history, list(self.mine.elements.values()))
        assert found is not None
        assert [value.constant() for value in found] == list(self.real)


def other_of(rng: random.Random, make: Callable[[random.Random], Any]) -> tuple[Any, Other]:
    """A set, dictionary or list as the operand of a method."""
    elements = [make(rng) for _ in range(rng.choice((0, 1, 3, 8, 30, 90)))]
    both = Both(elements)
    known = {element: ConstantValue(element) for element in elements}
    match rng.randrange(4):
        case 0:
            return dict.fromkeys(elements), Other(known, is_dict=True)
        case 1:
            return elements, Other(known)
        case _:
            for element in rng.sample(elements, len(elements) // 3):
                both.real.discard(element)
                both.mine.discard(element)
            return both.real, Other(both.mine.elements, both.mine)


def step(rng: random.Random, both: Both, make: Callable[[random.Random], Any]) -> None:
    match rng.randrange(12):
        case 0 | 1 | 2 | 3:
            for _ in range(rng.choice((1, 2, 20))):
                both.add(make(rng))
        case 4 | 5:
            for element in [make(rng) for _ in range(rng.choice((1, 6)))]:
                both.real.discard(element)
                both.mine.discard(element)
        case 6 if both.real:
            assert both.real.pop() == both.mine.pop().constant()
        case 7:
            both.real, both.mine = both.real.copy(), both.mine.copied()
        case 8 if rng.random() < 0.3:
            both.real.clear()
            both.mine.clear()
        case 9 | 10:
            name = rng.choice(list(METHODS))
            real, mine = other_of(rng, make)
            whole, _ = METHODS[name]
            both.real = getattr(both.real, whole)(real)
            both.mine = combined(name, both.mine, mine)
        case _:
            name = rng.choice(list(METHODS))
            real, mine = other_of(rng, make)
            getattr(both.real, METHODS[name][1])(real)
            both.mine = changed(name, both.mine, mine)


@pytest.mark.parametrize("make", [small, wide, pair, fraction])
def test_orders_are_those_of_cpython(make: Callable[[random.Random], Any]) -> None:
    for seed in range(150):
        rng = random.Random(seed)
        both = Both()
        for _ in range(rng.randrange(40)):
            step(rng, both, make)
            both.check()


def test_the_set_itself_as_operand() -> None:
    for name, (whole, _) in METHODS.items():
        for size in (0, 3, 7, 40):
            both = Both(range(0, size * 3, 3))
            other = Other(both.mine.elements, both.mine, same=True)
            both.real = getattr(both.real, whole)(both.real)
            both.mine = combined(name, both.mine, other)
            for element in (1, 64, 8):
                both.add(element)
                both.check()


def test_large_sets_grow_slowly() -> None:
    real: set[int] = set()
    table = set_tables.fresh()
    for number in range(0, 420_000, 7):
        real.add(number)
        set_tables.add(table, hash(number))
    assert [7 * place for place in set_tables.order(table)] == list(real)


def test_a_set_that_is_there_shows_its_table() -> None:
    rng = random.Random(1)
    for _ in range(300):
        real = {wide(rng) for _ in range(rng.randrange(60))}
        values = [ConstantValue(element) for element in real]
        history = of_real(real)
        assert [value.constant() for value in in_order(history, values) or ()] == list(real)
        copy = Ordered.of(history, {value.value: value for value in values})
        if copy is not None:
            assert [key for key, _ in copy.copied().pairs()] == list(set(real))


def test_hashes_of_tuples() -> None:
    rng = random.Random(2)
    for length in range(6):
        for _ in range(200):
            row = tuple(wide(rng) for _ in range(length))
            state = set_tables.TUPLE_START
            for number in row:
                state = set_tables.hash_part(state, hash(number))
            assert set_tables.hash_end(state, length) == hash(row)


def test_a_nan_has_no_hash() -> None:
    with pytest.raises(ValueError, match="NaN"):
        number_hash(math.nan)
