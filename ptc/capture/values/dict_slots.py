"""Which entries an iterator over a dictionary still comes to, where the dictionary has lost keys
and got others since, as many as it lost: CPython goes on.

CPython keeps entries in slots: a new key gets the slot behind the last one, a key that is taken
leaves a hole, and an iterator is at a slot. Holes go, and slots move, when a table without a free
slot gets a key. Where that may have happened is not followed (`MovedSlots`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any


class MovedSlots(Exception):
    """Which slots the entries lie in is not known."""


class KeyChanges:
    """Keys that a dictionary may have lost, on any path, and of those the ones that it may have got
    again, as they came: they may lie in another slot than before although the order is the same.
    `seen` are keys that it may have had."""

    __slots__ = ("moved", "reused", "seen", "taken")

    def __init__(self) -> None:
        self.seen: set[Any] = set()
        self.taken: set[Any] = set()
        self.moved: list[Any] = []
        self.reused = False  # `popitem` and `clear` give slots back; or it is from outside

    def add(self, key: Any) -> None:
        """Note that a key is put in."""
        self.seen.add(key)
        if key in self.taken:
            self.moved.append(key)

    def take(self, key: Any) -> None:
        """Note that a key is taken out."""
        self.seen.add(key)
        self.taken.add(key)

    def inherit(self, other: KeyChanges) -> None:
        """Note that the dictionary may have the slots of another."""
        self.seen |= other.seen
        self.taken |= other.taken
        self.moved += other.moved
        self.reused |= other.reused

    def are_possible(self, known: Sequence[Any], stayed: Sequence[Any], added: list[Any]) -> bool:
        """Whether a dictionary can have lost and got these keys since it had the `known` ones."""
        lost = set(known) - set(stayed)
        return lost <= self.taken and all(
            key in self.moved for key in added if key in self.taken or key in known
        )


@dataclass(frozen=True, slots=True)
class Course:
    """How an iterator goes: `keys` are those that it gave, and those that it will give as far as is
    known; `known` are all that there were when that was found out. `spare` more fit in the slots
    that there are; None where that is not known. `began`: how many keys had moved before it."""

    keys: tuple[Any, ...]
    known: tuple[Any, ...]
    spare: int | None
    began: int

    @staticmethod
    def over(known: tuple[Any, ...], backward: bool, changes: KeyChanges) -> Course:
        """Of an iterator that begins."""
        changes.seen.update(known)
        whole = not changes.taken and not changes.reused
        spare = _capacity(len(known)) - len(known) if whole else None
        return Course(known[::-1] if backward else known, known, spare, len(changes.moved))

    def after(
        self, now: tuple[Any, ...], given: int, changes: KeyChanges, backward: bool
    ) -> Course:
        """The same where the dictionary has these keys now. Raises MovedSlots."""
        moved = set(changes.moved[self.began :])
        if now == self.known and not moved:
            return self
        if now != self.known and changes.reused:
            raise MovedSlots
        ahead = self.keys[given:]
        stayed, added = _parted(self.known, now)
        if not changes.are_possible(self.known, stayed, added):
            return Course(self.keys[:given], now, None, self.began)  # a path that no call takes
        behind = [place for place, key in enumerate(stayed) if (key in ahead) is backward]
        if behind and set(stayed[behind[-1] :]) <= moved:
            raise MovedSlots  # all of these may have moved behind what was the last slot
        if now == self.known:
            return self
        if not self._fit(len(added), changes):
            raise MovedSlots
        rest = [key for key in stayed if key in ahead]
        ahead = rest[::-1] if backward else rest + added
        spare = None if self.spare is None else self.spare - len(added)
        return Course((*self.keys[:given], *ahead), now, spare, self.began)

    def is_followed(self, now: tuple[Any, ...], changes: KeyChanges) -> bool:
        """Whether it surely goes on as is known, wherever it is."""
        return now == self.known and len(changes.moved) == self.began

    def _fit(self, added: int, changes: KeyChanges) -> bool:
        """Whether the table surely had slots for all keys that were put in."""
        if self.spare is not None and self.spare >= added:
            return True
        return not changes.moved and len(changes.seen) <= _capacity(len(self.known))


def _capacity(count: int) -> int:
    """How many slots a table without holes has at least that has so many entries."""
    size = 8
    while size * 2 // 3 < count:
        size *= 2
    return size * 2 // 3


def _parted(known: Sequence[Any], now: Iterable[Any]) -> tuple[list[Any], list[Any]]:
    """Keys that have stayed in their slots since there were the `known` ones, and those that have
    got new slots, each in order."""
    stayed: list[Any] = []
    added: list[Any] = []
    left = iter(known)
    for key in now:
        if not added and any(key == one for one in left):
            stayed.append(key)
        else:
            added.append(key)
    return stayed, added
