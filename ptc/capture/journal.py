"""The undo log of interpreter state.

Every change to a symbolic value, the graph, the guards or the effects goes through a `Journal`, so
that a fork is a mark and a return to it costs what was done since, not the size of the state.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

_MISSING = object()


class Journal:
    """Changes in order, each with the call that takes it back."""

    __slots__ = ("_log",)

    def __init__(self) -> None:
        self._log: list[tuple[Callable[..., Any], tuple[Any, ...]]] = []

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
        self._log.append((setattr, (owner, name, getattr(owner, name))))
        setattr(owner, name, value)

    def put(self, mapping: dict[Any, Any], key: Any, value: Any) -> None:
        """`mapping[key] = value`. A new key is last, and removed again on rollback."""
        old = mapping.get(key, _MISSING)
        self._log.append((_restore_key, (mapping, key, old)))
        mapping[key] = value

    def replace_dict(self, mapping: dict[Any, Any], new: dict[Any, Any]) -> None:
        """Give `mapping` the content (and order) of `new`."""
        self._log.append((_restore_dict, (mapping, dict(mapping))))
        mapping.clear()
        mapping.update(new)

    def append(self, items: list[Any], value: Any) -> None:
        self._log.append((items.pop, ()))
        items.append(value)

    def replace_list(self, items: list[Any], new: list[Any]) -> None:
        """Give `items` the content of `new`."""
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
