"""A table filled by decorators: rules register beside their code, and a duplicate is an error.

Owns the mechanism only. Modules that register are imported by an explicit list in their package, so
that the content of a registry never depends on who imported what first.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")
T = TypeVar("T")


class Registry(Mapping[K, V], Generic[K, V]):
    """A mapping that only grows. `name` says what it holds, for error messages."""

    __slots__ = ("_entries", "name")

    def __init__(self, name: str) -> None:
        self.name = name
        self._entries: dict[K, V] = {}

    def add(self, key: K, value: V) -> None:
        """Register `value`. Raises ValueError if `key` is taken."""
        if key in self._entries:
            raise ValueError(
                f"{self.name}: {key!r} is registered twice, "
                f"as {_describe(self._entries[key])} and {_describe(value)}"
            )
        self._entries[key] = value

    def register(self, *keys: K) -> Callable[[T], T]:
        """Decorator: register the decorated object under each of `keys`."""

        def decorate(value: T) -> T:
            for key in keys:
                self.add(key, value)  # type: ignore[arg-type]  # V is what the user of the table decorates
            return value

        return decorate

    def __getitem__(self, key: K) -> V:
        return self._entries[key]

    def __iter__(self) -> Iterator[K]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)


def _describe(value: object) -> str:
    module = getattr(value, "__module__", None)
    name = getattr(value, "__qualname__", None)
    return f"{module}.{name}" if module and name else repr(value)
