"""The order of a set of numbers: hashes of numbers and tuples, and the table of slots that CPython
(3.11 to 3.13) keeps behind a set.

A table is a list of ints: where `pop` goes on looking, how many slots are not free, how many hold
an element, and two for each slot: the position of its element among all elements in the order of
insertion (or FREE, or LEFT by one that was taken out), and the hash. Iterating goes through the
slots in order. Which slot an element gets depends on what was in the table when it came, so every
operation of a set has to be one on its table. Elements are not compared: an element that is added
is known not to be there. Takes and gives ints, knows nothing of programs.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

FREE, LEFT = -1, -2
#: What a hash of a tuple begins with.
TUPLE_START = 2870177450012600261

_WORD = 2**64
_LANE, _MIX = 14029467366897019727, 11400714785074694791
_HEAD = 3
_LEAST_SLOTS = 8
_NEIGHBOURS = 9  # slots that are tried after one, where that many follow
_MANY = 50000  # elements from which on a table grows slowly


# -- hashes ---------------------------------------------------------------------------------------


def hash_part(state: int, part: int) -> int:
    """The state of a tuple's hash after one more element with the hash `part`."""
    mixed = (state + part * _LANE) % _WORD
    mixed = ((mixed << 31) | (mixed >> 33)) % _WORD
    return _signed(mixed * _MIX % _WORD)


def hash_end(state: int, count: int) -> int:
    """The hash of a tuple of `count` elements from its last state."""
    found = _signed((state + (count ^ TUPLE_START ^ 3527539)) % _WORD)
    return 1546275796 if found == -1 else found


def _signed(word: int) -> int:
    return word - _WORD if word >= _WORD // 2 else word


# -- tables ---------------------------------------------------------------------------------------


def fresh() -> list[int]:
    """The table of an empty set that was just made."""
    return [0, 0, 0, *_free_slots(_LEAST_SLOTS)]


def _free_slots(count: int) -> list[int]:
    return [FREE, 0] * count


def laid_out(hashes: Sequence[int], slots: int) -> list[int] | None:
    """The table of so many slots, of which nothing was taken out, that shows elements with these
    hashes in this order; None if there is none, or may be another one."""
    count = len(hashes)
    if count >= slots:
        return None
    places = range(count)
    orders = itertools.permutations(places) if slots == _LEAST_SLOTS else (places,)
    found: set[tuple[int, ...]] = set()
    for one in orders:
        table = [0, count, count, *_free_slots(slots)]
        for place in one:
            _put(table, place, hashes[place])
        if order(table) == list(places):
            found.add(tuple(table))
    return list(found.pop()) if len(found) == 1 else None


def _mask(table: Sequence[int]) -> int:
    return (len(table) - _HEAD) // 2 - 1


def _at(slot: int) -> int:
    return _HEAD + 2 * slot


def _way(mask: int, hashed: int) -> Iterator[int]:
    """The slots that an element with a hash may get, first choice first."""
    rest, slot = hashed % _WORD, hashed & mask
    while True:
        last = slot + _NEIGHBOURS if slot + _NEIGHBOURS <= mask else slot
        yield from range(slot, last + 1)
        rest >>= 5
        slot = (slot * 5 + 1 + rest) & mask


def _put(table: list[int], position: int, hashed: int) -> None:
    slot = next(s for s in _way(_mask(table), hashed) if table[_at(s)] == FREE)
    table[_at(slot)], table[_at(slot) + 1] = position, hashed


def _elements(table: Sequence[int]) -> list[tuple[int, int]]:
    """The positions and hashes of the elements, in the order of the slots."""
    pairs = zip(table[_HEAD::2], table[_HEAD + 1 :: 2], strict=True)
    return [pair for pair in pairs if pair[0] >= 0]


def _resize(table: list[int], more_than: int) -> None:
    """Give the elements new slots, in a table with the next power of two of slots."""
    slots = _LEAST_SLOTS
    while slots <= more_than:
        slots *= 2
    if slots == _LEAST_SLOTS == _mask(table) + 1 and table[1] == table[2]:
        return
    elements = _elements(table)
    table[_HEAD:] = _free_slots(slots)
    table[1] = table[2]
    for position, hashed in elements:
        _put(table, position, hashed)


def _room(table: Sequence[int]) -> int:
    return table[2] * 2 if table[2] > _MANY else table[2] * 4


def add(table: list[int], hashed: int) -> None:
    """A new element comes last among the elements. It gets the last slot on its way that was left,
    if there is one before the first free one."""
    open_slots = (slot for slot in _way(_mask(table), hashed) if table[_at(slot)] < 0)
    taken = next(open_slots)
    while table[_at(taken)] == LEFT:
        following = next(open_slots)
        if table[_at(following)] == FREE:
            break
        taken = following
    was_free = table[_at(taken)] == FREE
    table[_at(taken)], table[_at(taken) + 1] = table[2], hashed
    table[2] += 1
    if not was_free:
        return
    table[1] += 1
    if table[1] * 5 >= _mask(table) * 3:
        _resize(table, _room(table))


def remove(table: list[int], position: int) -> None:
    """The element at a position goes, and those behind it move up."""
    for at in range(_HEAD, len(table), 2):
        if table[at] == position:
            table[at] = LEFT
        elif table[at] > position:
            table[at] -= 1
    table[2] -= 1


def next_out(table: list[int]) -> int:
    """The position of the element that `pop` takes; there is one."""
    mask = _mask(table)
    slot = table[0] & mask
    while table[_at(slot)] < 0:
        slot = slot + 1 if slot < mask else 0
    table[0] = slot + 1
    return table[_at(slot)]


def clear(table: list[int]) -> None:
    table[1:] = fresh()[1:]


def reserve(table: list[int], count: int) -> None:
    """Before the elements of a set or dictionary of this length are added."""
    if (table[1] + count) * 5 >= _mask(table) * 3:
        _resize(table, (table[2] + count) * 2)


def tidy(table: list[int]) -> None:
    """After the elements of something else were taken out."""
    if table[1] - table[2] > _mask(table) // 4:
        _resize(table, _room(table))


def fits(table: Sequence[int], other: Sequence[int]) -> bool:
    """Whether a set, after `reserve`, takes another one's slots as they are instead of adding
    elements."""
    return table[1] == 0 and len(table) == len(other) and other[1] == other[2]


def take(table: list[int], other: Sequence[int]) -> None:
    """Have another one's slots."""
    table[1:] = other[1:]


def copy(table: Sequence[int]) -> list[int]:
    """The table of a copy of the set, with the elements at the same positions."""
    made = fresh()
    if table[2] == 0:
        return made
    reserve(made, table[2])
    if fits(made, table):
        take(made, table)
        return made
    made[1] = made[2] = table[2]
    for position, hashed in _elements(table):
        _put(made, position, hashed)
    return made


def order(table: Sequence[int]) -> list[int]:
    """The positions of the elements in the order of iteration."""
    return [position for position, _ in _elements(table)]


# -- as operations of programs --------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class TableOperation:
    """An operation of `ListItem` on a table: `args` after the table (`index` or `list`), and the
    `result`: `int`, `bool`, `list`, or None where the table changes."""

    function: Callable[..., Any]
    args: tuple[str, ...] = ()
    result: str | None = None


TABLE_OPERATIONS: Mapping[str, TableOperation] = {
    "table_add": TableOperation(add, ("index",)),
    "table_remove": TableOperation(remove, ("index",)),
    "table_next": TableOperation(next_out, (), "int"),
    "table_clear": TableOperation(clear),
    "table_reserve": TableOperation(reserve, ("index",)),
    "table_tidy": TableOperation(tidy),
    "table_take": TableOperation(take, ("list",)),
    "table_fits": TableOperation(fits, ("list",), "bool"),
    "table_copy": TableOperation(copy, (), "list"),
    "table_order": TableOperation(order, (), "list"),
}
