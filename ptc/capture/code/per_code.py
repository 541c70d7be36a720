"""Results that belong to a code object.

Code objects compare by content without their file name, so a plain dictionary would hand the result
of one function to its twin in another file: the key here is the identity. Entries keep their code
object alive (most results refer to it anyway); `forget_all` empties every cache, for `ptc.reset()`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Hashable
from types import CodeType
from typing import Any, Generic, TypeVar

T = TypeVar("T")

_every_cache: list[dict[Any, Any]] = []


class CodeMap(Generic[T]):
    """(code object by identity, further key) -> value."""

    def __init__(self) -> None:
        self._entries: dict[tuple[int, Hashable], tuple[CodeType, T]] = {}
        _every_cache.append(self._entries)

    def get(self, code: CodeType, key: Hashable = None) -> T | None:
        entry = self._entries.get((id(code), key))
        return None if entry is None else entry[1]

    def put(self, code: CodeType, value: T, key: Hashable = None) -> T:
        self._entries[id(code), key] = (code, value)
        return value


def per_code(compute: Callable[[CodeType], T]) -> Callable[[CodeType], T]:
    """Cache a function of one code object."""
    known: CodeMap[T] = CodeMap()

    @functools.wraps(compute)
    def cached(code: CodeType) -> T:
        found = known.get(code)
        return known.put(code, compute(code)) if found is None else found

    return cached


def forget_all() -> None:
    """Drop everything remembered about any code object."""
    for entries in _every_cache:
        entries.clear()
