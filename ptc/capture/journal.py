"""The undo log of interpreter state.

Every change to a symbolic value, the graph, the guards or the effects goes through a `Journal`, so
that a fork is a mark and a return to it costs what was done since, not the size of the state.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any

_MISSING = object()


class Journal:
    """Changes in order, each with the call that takes it back."""

    __slots__ = ("_keeps_reads", "_kept", "_log", "_reads", "_watched")

    def __init__(self) -> None:
        self._log: list[tuple[Callable[..., Any], tuple[Any, ...]]] = []
        self._kept: set[int] = set()
        self._reads: set[tuple[int, Any]] = set()
        self._keeps_reads = False
        self._watched: dict[int, tuple[object, Callable[[], None]]] = {}

    def watch(self, owner: object, told: Callable[[], None]) -> None:
        """Call `told` before each change of the owner, a value or a container, from here on. This
        is no part of the state either."""
        self._watched[id(owner)] = (owner, told)

    def _tell(self, owner: object) -> None:
        watched = self._watched.get(id(owner))
        if watched is not None:
            watched[1]()

    def keep(self, *mappings: dict[Any, Any]) -> None:
        """What is put into these is no part of the state: a rollback leaves it there. The mappings
        must live as long as the journal."""
        self._kept.update(id(mapping) for mapping in mappings)

    def since(self, mark: int) -> Iterator[tuple[Callable[..., Any], tuple[Any, ...]]]:
        """The changes since `mark`, as the calls that take them back, oldest first."""
        return islice(self._log, mark, None)

    def mark(self) -> int:
        """A point that `rollback` can return to; marks nest."""
        return len(self._log)

    def rollback(self, mark: int) -> None:
        """Take back everything recorded since `mark`, newest first."""
        log = self._log
        while len(log) > mark:
            undo, args = log.pop()
            undo(*args)

    def clear(self) -> None:
        """Forget all; nothing can be taken back any more."""
        self._log.clear()

    def record(self, undo: Callable[..., Any], *args: Any) -> None:
        self._log.append((undo, args))

    def assign(self, owner: object, name: str, value: Any) -> None:
        """`owner.name = value`."""
        if self._watched:
            self._tell(owner)
        self._log.append((setattr, (owner, name, getattr(owner, name))))
        setattr(owner, name, value)

    def put(self, mapping: dict[Any, Any], key: Any, value: Any) -> None:
        """`mapping[key] = value`. A new key is last, and removed again on rollback."""
        if id(mapping) in self._kept:
            mapping[key] = value
            return
        if self._watched:
            self._tell(mapping)
        old = mapping.get(key, _MISSING)
        self._log.append((_restore_key, (mapping, key, old)))
        mapping[key] = value

    def replace_dict(self, mapping: dict[Any, Any], new: dict[Any, Any]) -> None:
        """Give `mapping` the content (and order) of `new`."""
        if self._watched:
            self._tell(mapping)
        self._log.append((_restore_dict, (mapping, dict(mapping))))
        mapping.clear()
        mapping.update(new)

    # What is read of the world outside is the same on every path: with `keep_reads`, a rollback
    # leaves it known.

    def keep_reads(self) -> None:
        self._keeps_reads = True

    def was_read(self, mapping: dict[Any, Any], key: Any) -> bool:
        """Whether the entry is known from reading, and so is there on every path."""
        return (id(mapping), key) in self._reads

    def read(self, mapping: dict[Any, Any], key: Any, value: Any) -> None:
        """`mapping[key] = value`, found outside."""
        if self._keeps_reads:
            mapping[key] = value
            self._reads.add((id(mapping), key))
        else:
            self.put(mapping, key, value)

    def read_all(self, mapping: dict[Any, Any], new: dict[Any, Any]) -> None:
        """`replace_dict` by what was found outside."""
        if self._keeps_reads:
            mapping.clear()
            mapping.update(new)
            self._reads.update((id(mapping), key) for key in new)
        else:
            self.replace_dict(mapping, new)

    def read_attribute(self, owner: object, name: str, value: Any) -> None:
        """`owner.name = value`, found outside."""
        if self._keeps_reads:
            setattr(owner, name, value)
        else:
            self.assign(owner, name, value)

    def append(self, items: list[Any], value: Any) -> None:
        if self._watched:
            self._tell(items)
        self._log.append((items.pop, ()))
        items.append(value)

    def replace_list(self, items: list[Any], new: list[Any]) -> None:
        """Give `items` the content of `new`."""
        if self._watched:
            self._tell(items)
        self._log.append((_restore_list, (items, list(items))))
        items[:] = new


def _restore_key(mapping: dict[Any, Any], key: Any, old: Any) -> None:
    if old is _MISSING:
        del mapping[key]
    else:
        mapping[key] = old


def _restore_dict(mapping: dict[Any, Any], old: dict[Any, Any]) -> None:
    mapping.clear()
    mapping.update(old)


def _restore_list(items: list[Any], old: list[Any]) -> None:
    items[:] = old
