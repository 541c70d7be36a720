"""Lists, tuples, deques and their subclasses (namedtuples, torch.Size).

A list from outside is wrapped with its length guarded; changes stay in the value and are replayed
by `effects` when the segment ends.
"""

from __future__ import annotations

import collections
import types
from typing import TYPE_CHECKING, Any

from ptc.capture.errors import GraphBreak
from ptc.capture.sources import Source
from ptc.capture.values.base import MergeRefusal, Value
from ptc.capture.values.births import BornList
from ptc.capture.values.constants import SliceValue
from ptc.capture.values.objects import Instance

if TYPE_CHECKING:
    from ptc.capture.interpreter.machine import Machine
    from ptc.capture.rebuild import Rebuilder


class SequenceValue(Instance):
    """What lists, tuples and deques share. `items` changes through the journal only. `maxlen` is a
    deque's."""

    __slots__ = ("items", "maxlen")

    def __init__(self, items: list[Value], klass: type, source: Source | None = None) -> None:
        super().__init__(klass, source)
        self.items: list[Value] = BornList(items, outside=source is not None)
        self.maxlen: int | None = None

    def truth(self, vm: Machine) -> bool:
        return bool(self.items)

    def length(self, vm: Machine) -> Value:
        return vm.const(len(self.items))

    def iterate(self, vm: Machine) -> Value:
        return SequenceIterator(self)

    def getitem(self, vm: Machine, key: Value) -> Value:
        if isinstance(key, SliceValue):
            part = self.items[vm.as_index(key)]
            return self.like(vm, part)
        index = self.index(vm, key)
        return self.items[index]

    def like(self, vm: Machine, items: list[Value]) -> Value:
        raise NotImplementedError

    def index(self, vm: Machine, key: Value) -> int:
        """A valid non-negative index, or the IndexError or TypeError CPython raises."""
        base = "list" if isinstance(self, ListValue) else "tuple"
        if not vm.has_index(key):
            kind = key.cls.__name__
            raise vm.type_error(f"{base} indices must be integers or slices, not {kind}")
        index = vm.as_index(key)
        if not -len(self.items) <= index < len(self.items):
            raise vm.exception(IndexError, f"{base} index out of range")
        return index % len(self.items)

    def elements_text(self, emit: Rebuilder) -> str:
        return ", ".join(emit.value(element) for element in self.items)

    def merge(self, vm: Machine, other: Value) -> Value | MergeRefusal:
        if self is other:
            return self
        if type(self) is not type(other) or self.cls is not other.cls or self.attrs:
            return MergeRefusal(f"{self.describe()} differs from {other.describe()}")
        assert isinstance(other, SequenceValue)
        if len(self.items) != len(other.items):
            return MergeRefusal("sequences of different lengths")
        merged: list[Value] = []
        for mine, theirs in zip(self.items, other.items, strict=True):
            element = mine.merge(vm, theirs)
            if isinstance(element, MergeRefusal):
                return element
            merged.append(element)
        return type(self)(merged, self.klass)


#: Classes of tuples whose slices are of the class.
SLICED_AS_THEMSELVES: set[type] = set()


class TupleValue(SequenceValue):
    """A tuple or an instance of a subclass."""

    __slots__ = ()

    def __init__(
        self, items: list[Value], klass: type = tuple, source: Source | None = None
    ) -> None:
        super().__init__(items, klass, source)

    def constant(self) -> Any:
        elements = [element.constant() for element in self.items]
        if self.klass is tuple:
            return tuple(elements)
        return tuple_maker(self.klass).__new__(self.klass, elements)

    def like(self, vm: Machine, items: list[Value]) -> Value:
        return TupleValue(items, self.klass if self.klass in SLICED_AS_THEMSELVES else tuple)

    def attribute(self, vm: Machine, name: str) -> Value | None:
        """Fields of C's named tuples (torch.return_types.max, sys.version_info)."""
        if hasattr(self.klass, "n_sequence_fields"):
            fields: tuple[str, ...] = self.klass.__match_args__  # type: ignore[attr-defined]
            if name in fields:
                return self.items[fields.index(name)]
        return super().attribute(vm, name)

    def hash_key(self, vm: Machine) -> Any:
        return tuple(vm.hash_key(element) for element in self.items)

    def describe(self) -> str:
        return f"a {self.klass.__qualname__} of {len(self.items)} elements"

    def rebuild(self, emit: Rebuilder) -> str:
        if self.klass is tuple:
            return f"({self.elements_text(emit)}{',' if len(self.items) == 1 else ''})"
        cls = emit.name(self.klass, self.klass.__name__)
        maker = tuple_maker(self.klass)
        new = "tuple" if maker is tuple else emit.name(maker, maker.__name__)
        code = f"{new}.__new__({cls}, ({self.elements_text(emit)}{',' if self.items else ''}))"
        return emit.with_attributes(self, code)


def tuple_maker(cls: type) -> Any:
    """The class whose `__new__` makes a `cls` of given elements: C types that derive from tuple
    (torch.Size, sys.version_info) have one of their own."""
    for base in cls.__mro__:
        if isinstance(base.__dict__.get("__new__"), types.BuiltinMethodType):
            return base
    return tuple


class ListValue(SequenceValue):
    """A list or an instance of a subclass."""

    __slots__ = ()

    def __init__(
        self, items: list[Value], klass: type = list, source: Source | None = None
    ) -> None:
        super().__init__(items, klass, source)

    def constant(self) -> Any:
        # A copy: lists are mutable, so the caller must not keep or compare identity
        if self.klass is not list:
            return super().constant()
        return [element.constant() for element in self.items]

    def is_constant(self) -> bool:
        return False

    def like(self, vm: Machine, items: list[Value]) -> Value:
        return ListValue(items)

    def assign(self, vm: Machine, items: list[Value]) -> None:
        """Replace the content."""
        vm.journal.replace_list(self.items, items)
        vm.list_changed(self)

    def append(self, vm: Machine, value: Value) -> None:
        vm.journal.append(self.items, value)
        vm.list_changed(self)

    def setitem(self, vm: Machine, key: Value, value: Value) -> None:
        items = list(self.items)
        if isinstance(key, SliceValue):
            try:
                items[vm.as_index(key)] = vm.unpack(value)
            except ValueError as error:
                raise vm.exception(ValueError, str(error)) from None
        else:
            index = self._assign_index(vm, key)
            items[index] = value
        self.assign(vm, items)

    def _assign_index(self, vm: Machine, key: Value) -> int:
        if vm.has_index(key):
            index = vm.as_index(key)
            if not -len(self.items) <= index < len(self.items):
                raise vm.exception(IndexError, "list assignment index out of range")
        return self.index(vm, key)

    def delitem(self, vm: Machine, key: Value) -> None:
        items = list(self.items)
        if isinstance(key, SliceValue):
            del items[vm.as_index(key)]
        else:
            del items[self._assign_index(vm, key)]
        self.assign(vm, items)

    def rebuild(self, emit: Rebuilder) -> str:
        """Empty first, then filled, for lists that hold themselves."""
        if self.klass is list and not any(isinstance(i, Instance) for i in self.items):
            return f"[{self.elements_text(emit)}]"
        if self.klass is list:
            name = emit.define(self, "[]")
        else:
            cls = emit.name(self.klass, self.klass.__name__)
            name = emit.with_attributes(self, f"list.__new__({cls})")
        if self.items:
            emit.line(f"{name}[:] = [{self.elements_text(emit)}]")
        return name


def _last(items: list[Value], maxlen: int | None) -> list[Value]:
    """What a deque of that length keeps."""
    return items if maxlen is None else items[max(0, len(items) - maxlen) :]


class DequeValue(ListValue):
    """A collections.deque."""

    __slots__ = ()

    def __init__(
        self,
        items: list[Value],
        klass: type = collections.deque,
        source: Source | None = None,
        maxlen: int | None = None,
    ) -> None:
        super().__init__(_last(items, maxlen), klass, source)
        self.maxlen = maxlen

    def constant(self) -> Any:
        return Value.constant(self)

    def like(self, vm: Machine, items: list[Value]) -> Value:
        return DequeValue(items, maxlen=self.maxlen)

    def getitem(self, vm: Machine, key: Value) -> Value:
        return self.items[self.index(vm, key)]

    def setitem(self, vm: Machine, key: Value, value: Value) -> None:
        items = list(self.items)
        items[self.index(vm, key)] = value
        self.assign(vm, items)

    def delitem(self, vm: Machine, key: Value) -> None:
        items = list(self.items)
        del items[self.index(vm, key)]
        self.assign(vm, items)

    def index(self, vm: Machine, key: Value) -> int:
        if not vm.has_index(key):
            kind = key.cls.__name__
            raise vm.type_error(f"sequence index must be integer, not '{kind}'")
        index = vm.as_index(key)
        if not -len(self.items) <= index < len(self.items):
            raise vm.exception(IndexError, "deque index out of range")
        return index % len(self.items)

    def assign(self, vm: Machine, items: list[Value]) -> None:
        super().assign(vm, _last(items, self.maxlen))

    def append(self, vm: Machine, value: Value) -> None:
        self.assign(vm, [*self.items, value])

    def attribute(self, vm: Machine, name: str) -> Value | None:
        if name == "maxlen":
            return vm.const(self.maxlen)
        return super().attribute(vm, name)

    def rebuild(self, emit: Rebuilder) -> str:
        if self.klass is not collections.deque:
            raise GraphBreak("PTC-B008", f"{self.describe()} cannot be rebuilt in Python")
        name = emit.define(self, f"{emit.name(collections.deque, 'deque')}(maxlen={self.maxlen})")
        if self.items:
            emit.line(f"{name}.extend([{self.elements_text(emit)}])")
        return name


class LongTupleValue(Instance):
    """A tuple of unknown length: `elements` is the list that has what it has."""

    __slots__ = ("elements",)

    def __init__(self, elements: Any) -> None:
        super().__init__(tuple)
        self.elements = elements


class SequenceIterator(Value):
    """`iter()` of a list, tuple or deque: reads the live sequence, as CPython's does."""

    __slots__ = ("position", "sequence")

    def __init__(
        self, sequence: SequenceValue, position: int = 0, source: Source | None = None
    ) -> None:
        self.source = source
        self.sequence = sequence
        self.position = position

    @property
    def cls(self) -> type:
        for base in (list, tuple):
            if issubclass(self.sequence.cls, base):
                return type(iter(base()))
        return type(iter(collections.deque()))

    def iterate(self, vm: Machine) -> Value:
        return self

    def next(self, vm: Machine) -> Value | None:
        if not isinstance(self.position, int) or not isinstance(self.sequence, SequenceValue):
            return vm.next_by_data(self)
        if self.position < 0 or self.position >= len(self.sequence.items):
            # An exhausted list iterator stays so even if the list grows
            vm.journal.assign(self, "position", -1)
            return None
        element = self.sequence.items[self.position]
        vm.journal.assign(self, "position", self.position + 1)
        vm.iterator_advanced(self)
        return element

    def element(self, vm: Machine, position: Value) -> Value:
        """The element at a position that data decides, which is in range."""
        if not isinstance(self.sequence, SequenceValue):
            return self.sequence.element(vm, position)
        return vm.getitem(self.sequence, position)

    def count(self, vm: Machine) -> Value:
        return vm.length(self.sequence)

    def rest(self) -> list[Value]:
        return [] if self.position < 0 else self.sequence.items[self.position :]

    def rebuild(self, emit: Rebuilder) -> str:
        if self.position < 0:
            return "iter(())"
        start = f"iter({emit.value(self.sequence)})"
        if self.position == 0:
            return start
        if isinstance(self.sequence, DequeValue):
            return emit.advanced(start, self.position)
        name = emit.define(self, start)
        emit.line(f"{name}.__setstate__({self.position})")
        return name
