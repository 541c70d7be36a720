"""Iterators that call or combine others: enumerate, zip, map, filter, reversed, snapshots, and
generators (suspended symbolic frames, run only when something asks for the next element).
"""

from __future__ import annotations

import types
from typing import TYPE_CHECKING, Any

from ptc.capture.errors import GraphBreak, Raised
from ptc.capture.sources import Source
from ptc.capture.values.base import IdentityKey, Value
from ptc.capture.values.containers import SequenceValue
from ptc.capture.values.exceptions import ExceptionValue

if TYPE_CHECKING:
    from ptc.capture.interpreter.frame import Frame
    from ptc.capture.interpreter.machine import Machine
    from ptc.capture.rebuild import Rebuilder


class IteratorValue(Value):
    """An iterator whose elements come from others. `produced` counts them."""

    __slots__ = ("produced",)

    def __init__(self, source: Source | None = None) -> None:
        self.source = source
        self.produced: Any = 0  # an int, or a value where data decides it

    def iterate(self, vm: Machine) -> Value:
        return self

    def next(self, vm: Machine) -> Value | None:
        if self.source is not None:
            # Advancing this one in the real program advances what it draws from
            with vm.effects.driven():
                value = self.produce(vm)
        else:
            value = self.produce(vm)
        if value is not None:
            vm.journal.assign(self, "produced", self._one_more(vm))
            vm.iterator_advanced(self)
        return value

    def produce(self, vm: Machine) -> Value | None:
        raise NotImplementedError

    def _one_more(self, vm: Machine) -> Any:
        if isinstance(self.produced, int):
            return self.produced + 1
        return vm.binary("+", self.produced, vm.const(1))

    def produced_value(self, vm: Machine) -> Value:
        return vm.const(self.produced) if isinstance(self.produced, int) else self.produced

    def hash_key(self, vm: Machine) -> Any:
        return IdentityKey(self)


class EnumerateValue(IteratorValue):
    __slots__ = ("inner", "start")

    def __init__(self, inner: Value, start: Value, source: Source | None = None) -> None:
        super().__init__(source)
        self.inner = inner
        self.start = start

    @property
    def cls(self) -> type:
        return enumerate

    def produce(self, vm: Machine) -> Value | None:
        value = vm.next(self.inner)
        if value is None:
            return None
        number = vm.binary("+", self.start, self.produced_value(vm))
        return vm.tuple([number, value])

    def rebuild(self, emit: Rebuilder) -> str:
        start = f"{emit.value(self.start)} + {self.produced}"
        return f"enumerate({emit.value(self.inner)}, {start})"


class ZipValue(IteratorValue):
    __slots__ = ("inner", "strict")

    def __init__(self, inner: list[Value], strict: bool, source: Source | None = None) -> None:
        super().__init__(source)
        self.inner = inner
        self.strict = strict

    @property
    def cls(self) -> type:
        return zip

    def produce(self, vm: Machine) -> Value | None:
        row: list[Value] = []
        for number, iterator in enumerate(self.inner):
            value = vm.next(iterator)
            if value is None:
                if self.strict:
                    self._check_lengths(vm, number)
                return None
            row.append(value)
        return vm.tuple(row) if row else None

    def _check_lengths(self, vm: Machine, number: int) -> None:
        """`zip(strict=True)`: argument `number` ended first."""
        if number > 0:
            plural = " " if number == 1 else "s 1-"
            text = f"zip() argument {number + 1} is shorter than argument{plural}{number}"
            raise vm.exception(ValueError, text)
        for other in range(1, len(self.inner)):
            if vm.next(self.inner[other]) is not None:
                plural = " " if other == 1 else "s 1-"
                text = f"zip() argument {other + 1} is longer than argument{plural}{other}"
                raise vm.exception(ValueError, text)

    def rebuild(self, emit: Rebuilder) -> str:
        inner = ", ".join(emit.value(iterator) for iterator in self.inner)
        return f"zip({inner}{', strict=True' if self.strict else ''})"


class MapValue(IteratorValue):
    __slots__ = ("func", "inner")

    def __init__(self, func: Value, inner: list[Value]) -> None:
        super().__init__()
        self.func = func
        self.inner = inner

    @property
    def cls(self) -> type:
        return map

    def produce(self, vm: Machine) -> Value | None:
        row: list[Value] = []
        for iterator in self.inner:
            value = vm.next(iterator)
            if value is None:
                return None
            row.append(value)
        return vm.call(self.func, row)

    def rebuild(self, emit: Rebuilder) -> str:
        inner = ", ".join(emit.value(iterator) for iterator in self.inner)
        return f"map({emit.value(self.func)}, {inner})"


class FilterValue(IteratorValue):
    __slots__ = ("func", "inner")

    def __init__(self, func: Value, inner: Value) -> None:
        super().__init__()
        self.func = func
        self.inner = inner

    @property
    def cls(self) -> type:
        return filter

    def produce(self, vm: Machine) -> Value | None:
        keep_true = self.func.cls is type(None)
        while (value := vm.next(self.inner)) is not None:
            if vm.truth(value if keep_true else vm.call(self.func, [value])):
                return value
        return None

    def rebuild(self, emit: Rebuilder) -> str:
        return f"filter({emit.value(self.func)}, {emit.value(self.inner)})"


class ReversedValue(IteratorValue):
    """`reversed()` of a list or tuple (live). `position` counts from the end that it had when the
    iterator was made, where it had `total` elements."""

    __slots__ = ("position", "sequence", "total")

    def __init__(self, sequence: SequenceValue) -> None:
        super().__init__()
        self.sequence = sequence
        self.total = len(sequence.items)
        self.position = 0

    @property
    def cls(self) -> type:
        return type(reversed([])) if self.sequence.cls is list else reversed

    def next(self, vm: Machine) -> Value | None:
        if not isinstance(self.position, int) or not isinstance(self.sequence, SequenceValue):
            return vm.next_by_data(self)
        return super().next(vm)

    def produce(self, vm: Machine) -> Value | None:
        index = self.total - 1 - self.position
        if not 0 <= index < len(self.sequence.items):
            vm.journal.assign(self, "position", self.total)
            return None
        vm.journal.assign(self, "position", self.position + 1)
        return self.sequence.items[index]

    def element(self, vm: Machine, position: Value) -> Value:
        """The element at a position that data decides, which is in range."""
        index = vm.binary("-", vm.const(self.total - 1), position)
        if not isinstance(self.sequence, SequenceValue):
            return self.sequence.element(vm, index)
        return vm.getitem(self.sequence, index)

    def count(self, vm: Machine) -> Value:
        return vm.const(self.total)

    def rest(self) -> list[Value]:
        return self.sequence.items[: max(self.total - self.position, 0)][::-1]

    def rebuild(self, emit: Rebuilder) -> str:
        return emit.advanced(f"reversed({emit.value(self.sequence)})", self.produced)


class SnapshotIterator(IteratorValue):
    """Over elements that are fixed when it is made (a set's), `owner` being what they came from."""

    __slots__ = ("elements", "owner")

    def __init__(self, owner: Value, elements: list[Value]) -> None:
        super().__init__()
        self.owner = owner
        self.elements = elements

    @property
    def cls(self) -> type:
        return type(iter(set()))

    def produce(self, vm: Machine) -> Value | None:
        if self.produced >= len(self.elements):
            return None
        return self.elements[self.produced]

    def rebuild(self, emit: Rebuilder) -> str:
        # A set's order is not ours to rebuild: hand on the elements that are left
        rest = ", ".join(emit.value(value) for value in self.elements[self.produced :])
        return f"iter([{rest}])"


class SentinelIterator(IteratorValue):
    """`iter(callable, sentinel)`, and `iter()` of an object with `__getitem__` only."""

    __slots__ = ("finished", "func", "sentinel")

    def __init__(self, func: Value, sentinel: Value | None) -> None:
        super().__init__()
        self.func = func
        self.sentinel = sentinel
        self.finished = False

    @property
    def cls(self) -> type:
        return type(iter(int, 1))

    def produce(self, vm: Machine) -> Value | None:
        if self.finished:
            return None
        if self.sentinel is None:
            return self._item(vm)
        value = vm.call(self.func, [])
        if vm.truth(vm.compare("==", value, self.sentinel)):
            vm.journal.assign(self, "finished", True)
            return None
        return value

    def _item(self, vm: Machine) -> Value | None:
        try:
            with vm.catching(IndexError, StopIteration):
                return vm.getitem(self.func, vm.const(self.produced))
        except Raised as raised:
            if raised.is_a((IndexError, StopIteration)):
                vm.journal.assign(self, "finished", True)
                return None
            raise


#: Where the frame of a generator stands that stood at different places in the arms of a branch.
LOST = -1


class GeneratorValue(Value):
    """A generator: its frame stands at a yield (or at the start, or is finished)."""

    __slots__ = ("frame", "rest", "state")

    CREATED, SUSPENDED, RUNNING, FINISHED = "created", "suspended", "running", "finished"
    LEFT = "left"  # behind one of its yields, data decides which

    def __init__(self, frame: Frame) -> None:
        self.source = None
        self.frame = frame
        self.state = self.CREATED
        self.rest: Value | None = None  # the iterator over what it was run to its end for

    @property
    def cls(self) -> type:
        return types.GeneratorType

    def describe(self) -> str:
        return f"generator {self.frame.code.co_qualname}"

    def iterate(self, vm: Machine) -> Value:
        return self

    def hash_key(self, vm: Machine) -> Any:
        return IdentityKey(self)

    def next(self, vm: Machine) -> Value | None:
        return self.send(vm, vm.const(None))

    def send(self, vm: Machine, value: Value) -> Value | None:
        """The next yielded value; None when it returned (`returned` then has the value)."""
        if self.state == self.FINISHED:
            self.frame.returned = vm.const(None)
            return None
        if self.state == self.CREATED and not value.is_constant():
            raise vm.type_error("can't send non-None value to a just-started generator")
        return self._run(vm, value, None)

    def throw(self, vm: Machine, exception: Value) -> Value | None:
        if self.state == self.CREATED:
            vm.journal.assign(self, "state", self.FINISHED)
        if self.state == self.FINISHED:
            raise Raised(exception)
        return self._run(vm, None, exception)

    def _run(self, vm: Machine, value: Value | None, exception: Value | None) -> Value | None:
        if self.state == self.RUNNING:
            raise vm.exception(ValueError, "generator already executing")
        frame = self.frame
        if frame.ip == LOST or self.state == self.LEFT:
            raise vm.lost(self)
        vm.journal.record(frame.restore, frame.save())
        started = self.state == self.SUSPENDED
        vm.journal.assign(self, "state", self.RUNNING)

        def finished() -> None:
            vm.journal.assign(self, "state", self.FINISHED)

        try:
            with vm.catching(StopIteration, left=finished):
                result = vm.resume_generator(frame, value if started else None, exception)
        except Raised as raised:
            vm.journal.assign(self, "state", self.FINISHED)
            if raised.is_a(StopIteration):
                error = vm.exception(RuntimeError, "generator raised StopIteration")
                assert isinstance(error.value, ExceptionValue)
                error.value.cause = error.value.context = raised.value
                error.value.suppress_context = True
                raise error from None
            raise
        if result is None:
            vm.journal.assign(self, "state", self.FINISHED)
            return None
        vm.journal.assign(self, "state", self.SUSPENDED)
        return result

    def rebuild(self, emit: Rebuilder) -> str:
        if self.state == self.FINISHED:
            return "(element for element in ())"
        raise GraphBreak(
            "PTC-B008",
            f"{self.describe()} is running when the graph breaks, and cannot be rebuilt in Python",
            "iterate over a list instead, or move the call out of the loop",
        )
