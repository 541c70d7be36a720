"""Immutable objects whose content is known: numbers, strings, None, ranges, enum members, slices of
constants, and further types that other modules add to `IMMUTABLE_TYPES` (dtypes, devices).
"""

from __future__ import annotations

import collections.abc
import datetime
import decimal
import enum
import fractions
import operator
import pathlib
import re
import types
import uuid
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from ptc.capture.sources import Source
from ptc.capture.values.base import Value

if TYPE_CHECKING:
    from ptc.capture.interpreter.machine import Machine
    from ptc.capture.rebuild import Rebuilder

# Exact types. Every method of these may be evaluated at capture: they are pure, deterministic
# and read nothing but their (immutable) arguments.
IMMUTABLE_TYPES: set[type] = {
    int, float, bool, complex, str, bytes, type(None), type(Ellipsis), type(NotImplemented),
    range, frozenset, types.CodeType, re.Pattern, re.Match, fractions.Fraction, decimal.Decimal,
    datetime.timedelta, datetime.date, datetime.datetime, uuid.UUID,
    pathlib.PurePosixPath, pathlib.PureWindowsPath, types.GenericAlias, types.UnionType,
    type(collections.abc.Callable[[], None]),
}  # fmt: skip
# Literals that source code can spell
LITERAL_TYPES = (int, float, bool, complex, str, bytes, type(None), type(Ellipsis))


def is_immutable(obj: object) -> bool:
    """Whether `obj` may become a ConstantValue."""
    cls = type(obj)
    if cls is frozenset:
        return all(is_immutable(element) for element in obj)  # type: ignore[attr-defined]
    return cls in IMMUTABLE_TYPES or isinstance(obj, enum.Enum)


class ConstantValue(Value):
    """A known immutable object."""

    __slots__ = ("value",)

    def __init__(self, value: Any, source: Source | None = None) -> None:
        self.source = source
        self.value = value

    @property
    def cls(self) -> type:
        return type(self.value)

    def constant(self) -> Any:
        return self.value

    def is_constant(self) -> bool:
        return True

    def describe(self) -> str:
        return repr(self.value)

    def truth(self, vm: Machine) -> bool:
        return bool(self.value)

    def length(self, vm: Machine) -> Value:
        return vm.evaluate(len, self.value)

    def getitem(self, vm: Machine, key: Value) -> Value:
        if type(self.value) in (str, bytes, range):
            return vm.evaluate(operator.getitem, self.value, vm.as_index(key))
        return super().getitem(vm, key)

    def contains(self, vm: Machine, item: Value) -> Value:
        if isinstance(self.value, frozenset):
            return vm.const(item.hash_key(vm) in self.value)
        if type(self.value) in (str, bytes, range) and item.is_constant():
            return vm.evaluate(operator.contains, self.value, item.constant())
        return super().contains(vm, item)

    def iterate(self, vm: Machine) -> Value:
        if type(self.value) in (str, bytes, range, frozenset):
            return ConstantIterator(self.value)
        return super().iterate(vm)

    def attribute(self, vm: Machine, name: str) -> Value | None:
        if isinstance(self.value, enum.Enum) and name in ("value", "name", "_value_", "_name_"):
            return vm.wrap_fixed(getattr(self.value, name))
        return None

    def call(self, vm: Machine, args: list[Value], kwargs: dict[str, Value]) -> Value:
        """`list[int]()`: what the class makes."""
        if not isinstance(self.value, types.GenericAlias):
            return super().call(vm, args, kwargs)
        kind = self.value.__origin__
        made = vm.call(vm.wrap_fixed(kind), args, kwargs)
        if "__dict__" in dir(kind):
            vm.setattr(made, "__orig_class__", self)
        return made

    def hash_key(self, vm: Machine) -> Any:
        return self.value

    def rebuild(self, emit: Rebuilder) -> str:
        value = self.value
        if type(value) in LITERAL_TYPES and value == value and abs_finite(value):
            return repr(value)
        return emit.name(value, type(value).__name__)


def abs_finite(value: Any) -> bool:
    """Whether `repr` of a number reads back (inf does not)."""
    if isinstance(value, (float, complex)):
        return abs(value) != float("inf")
    return True


class ConstantIterator(Value):
    """`iter()` of a str, bytes, range or frozenset: the position is symbolic state."""

    __slots__ = ("_elements", "content", "position")

    def __init__(self, content: Any, position: int = 0, source: Source | None = None) -> None:
        self.source = source
        self.content = content
        self.position = position
        # a range may be huge: index it instead of listing it
        self._elements = content if not isinstance(content, frozenset) else tuple(content)

    @property
    def cls(self) -> type:
        return type(iter(self.content))

    def iterate(self, vm: Machine) -> Value:
        return self

    def element(self, vm: Machine, position: Value) -> Value:
        """The element at a position that data decides, which is in range."""
        if not isinstance(self.content, range):
            raise vm.graph_break(
                "PTC-B002",
                f"data decides which element of {self.content!r} comes next",
                "take the elements by index from a list or a tensor",
            )
        step = vm.binary("*", position, vm.const(self.content.step))
        return vm.binary("+", vm.const(self.content.start), step)

    def count(self, vm: Machine) -> Value:
        return vm.const(len(self._elements))

    def next(self, vm: Machine) -> Value | None:
        if not isinstance(self.position, int):
            return vm.next_by_data(self)
        if self.position >= len(self._elements):
            return None
        element = self._elements[self.position]
        vm.journal.assign(self, "position", self.position + 1)
        vm.iterator_advanced(self)
        return vm.const(element)

    def rest(self) -> Iterator[Any]:
        return iter(self._elements[self.position :])

    def rebuild(self, emit: Rebuilder) -> str:
        start = f"iter({emit.name(self.content, 'sequence')})"
        if self.position == 0:
            return start
        if isinstance(self.content, range):
            return f"iter({self.content[self.position :]!r})"
        return emit.advanced(start, self.position)


class SliceValue(Value):
    """A slice; its parts may be symbolic."""

    __slots__ = ("parts",)

    def __init__(self, start: Value, stop: Value, step: Value, source: Source | None = None):
        self.source = source
        self.parts = (start, stop, step)

    @property
    def cls(self) -> type:
        return slice

    def constant(self) -> Any:
        return slice(*(part.constant() for part in self.parts))

    def attribute(self, vm: Machine, name: str) -> Value | None:
        names = ("start", "stop", "step")
        return self.parts[names.index(name)] if name in names else None

    def rebuild(self, emit: Rebuilder) -> str:
        return f"slice({', '.join(emit.value(part) for part in self.parts)})"
