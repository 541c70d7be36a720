"""How sets of known elements came to be, which decides in which order CPython goes through them.

Owns the tables of such sets (see `set_tables`) and what methods of sets do to them; the elements
are constants. The order of strings and objects is that of this process.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass
from typing import Any

from ptc.capture.values.base import Value
from ptc.graph import set_tables


@dataclass(frozen=True, slots=True)
class History:
    """The first `count` elements had this table; those after them were put in one by one since.
    Without a table the order is known: that in which the elements are listed, if nothing was put
    in."""

    table: tuple[int, ...] | None = tuple(set_tables.fresh())
    count: int = 0


#: Of a set that elements were only ever added to, one by one.
GROWN = History()


def table_of(history: History | None, values: Sequence[Value]) -> list[int] | None:
    """The table of a set with these elements; None where it is not known."""
    if history is None or history.table is None:
        return None
    table = list(history.table)
    for value in values[history.count :]:
        if not value.is_constant():
            return None
        set_tables.add(table, hash(value.constant()))
    return table


def in_order(history: History | None, values: Sequence[Value]) -> list[Value] | None:
    """The elements in the order of iteration; None where it is not known."""
    if history is not None and history.table is None and history.count == len(values):
        return list(values)
    table = table_of(history, values)
    return None if table is None else [values[place] for place in set_tables.order(table)]


def of_real(real: Set[Any]) -> History:
    """The history of a set that is there, which lists its elements in order. One that fits what it
    shows; elements that were taken out of it do not show."""
    hashes = [hash(element) for element in real]
    empty = sys.getsizeof(type(real)())
    slots = (sys.getsizeof(real) - empty) // 16 or 8
    table = set_tables.laid_out(hashes, slots)
    return History(None if table is None else tuple(table), len(hashes))


def cleared(history: History | None) -> History | None:
    """Of a set of which all elements were taken out: `pop` goes on looking where it was."""
    if history is None or history.table is None:
        return None
    return History((history.table[0], *GROWN.table[1:]))  # type: ignore[index]


class Ordered:
    """A set of constants with its table, elements by their keys."""

    def __init__(self, elements: dict[Any, Value], table: list[int]) -> None:
        self.elements = elements
        self.table = table

    @staticmethod
    def of(history: History | None, elements: dict[Any, Value]) -> Ordered | None:
        values = list(elements.values())
        table = table_of(history, values)
        known = table is not None and all(value.is_constant() for value in values)
        return Ordered(dict(elements), table) if known else None  # type: ignore[arg-type]

    @staticmethod
    def made(elements: dict[Any, Value], *, of_dict: bool) -> Ordered:
        """The set of what is in another container."""
        result = Ordered({}, set_tables.fresh())
        result.extend(elements, of_dict=of_dict)
        return result

    @property
    def history(self) -> History:
        return History(tuple(self.table), len(self.elements))

    def pairs(self) -> list[tuple[Any, Value]]:
        items = list(self.elements.items())
        return [items[place] for place in set_tables.order(self.table)]

    def copied(self) -> Ordered:
        return Ordered(dict(self.elements), set_tables.copy(self.table))

    # -- changes -------------------------------------------------------------------------------

    def add(self, key: Any, value: Value) -> None:
        if key not in self.elements:
            set_tables.add(self.table, hash(value.constant()))
            self.elements[key] = value

    def discard(self, key: Any) -> None:
        if key in self.elements:
            set_tables.remove(self.table, list(self.elements).index(key))
            del self.elements[key]

    def pop(self) -> Value:
        place = set_tables.next_out(self.table)
        key = list(self.elements)[place]
        set_tables.remove(self.table, place)
        return self.elements.pop(key)

    def clear(self) -> None:
        self.elements.clear()
        set_tables.clear(self.table)

    def extend(self, elements: dict[Any, Value], *, of_dict: bool) -> None:
        """`update` with another container than a set."""
        if of_dict:
            set_tables.reserve(self.table, len(elements))
        for key, value in elements.items():
            self.add(key, value)

    def update(self, other: Ordered) -> None:
        if not other.elements or other is self:
            return
        set_tables.reserve(self.table, len(other.elements))
        if set_tables.fits(self.table, other.table):
            set_tables.take(self.table, other.table)
            self.elements = dict(other.elements)
            return
        for key, value in other.pairs():
            self.add(key, value)

    def take_out(self, keys: Iterable[Any]) -> None:
        for key in list(keys):
            self.discard(key)
        set_tables.tidy(self.table)

    def toggle(self, pairs: Iterable[tuple[Any, Value]]) -> None:
        """Take out what is there, put in what is not."""
        for key, value in pairs:
            if key in self.elements:
                self.discard(key)
            else:
                self.add(key, value)


@dataclass(frozen=True, slots=True)
class Other:
    """What a method of sets takes: constants by their keys, `ordered` if it is a set. `same`: it
    is the set itself."""

    elements: dict[Any, Value]
    ordered: Ordered | None = None
    is_dict: bool = False
    same: bool = False

    def __len__(self) -> int:
        return len(self.elements)

    def as_set(self) -> Ordered:
        return self.ordered or Ordered.made(self.elements, of_dict=self.is_dict)


def combined(name: str, one: Ordered, other: Other) -> Ordered:
    """The new set that a method makes of two."""
    match name:
        case "union":
            result = one.copied()
            return changed(name, result, other)
        case "intersection":
            return _intersection(one, other)
        case "difference":
            sized = other.ordered is not None or other.is_dict
            if not sized or len(one.elements) >> 2 > len(other):
                return changed(name, one.copied(), other)
            return _made(pair for pair in one.pairs() if pair[0] not in other.elements)
        case _:
            result = other.as_set()
            result = result.copied() if other.ordered is not None else result
            result.toggle(one.pairs())
            return result


def changed(name: str, one: Ordered, other: Other) -> Ordered:
    """`one`, after the method that changes it."""
    if other.same and name != "intersection":
        if name != "union":
            one.clear()
        return one
    match name:
        case "union" if other.ordered is not None:
            one.update(other.ordered)
        case "union":
            one.extend(other.elements, of_dict=other.is_dict)
        case "intersection":
            result = _intersection(one, other)
            set_tables.take(one.table, result.table)
            one.elements = result.elements
        case "difference":
            one.take_out(other.elements)
        case _:
            one.toggle(other.elements.items() if other.is_dict else other.as_set().pairs())
    return one


def _intersection(one: Ordered, other: Other) -> Ordered:
    """Of equal elements that of the smaller set."""
    if other.same:
        return one.copied()
    if other.ordered is None:
        return _made(pair for pair in other.elements.items() if pair[0] in one.elements)
    few, many = one, other.ordered
    if len(other) <= len(one.elements):
        few, many = many, few
    return _made(pair for pair in few.pairs() if pair[0] in many.elements)


def _made(pairs: Iterable[tuple[Any, Value]]) -> Ordered:
    result = Ordered({}, set_tables.fresh())
    for key, value in pairs:
        result.add(key, value)
    return result
