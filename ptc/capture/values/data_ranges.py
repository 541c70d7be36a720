"""Ranges with bounds that data decides."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ptc.capture.values.base import Value
from ptc.capture.values.constants import ConstantValue

if TYPE_CHECKING:
    from ptc.capture.interpreter.machine import Machine


class DataRange(Value):
    """`range(start, stop, step)`; the step is known."""

    __slots__ = ("start", "step", "stop")

    def __init__(self, start: Value, stop: Value, step: int) -> None:
        self.source = None
        self.start, self.stop, self.step = start, stop, step

    @property
    def cls(self) -> type:
        return range

    def describe(self) -> str:
        return "a range that data decides"

    def length(self, vm: Machine) -> Value:
        """The number of elements, at least 0."""
        distance = vm.binary("-", self.stop, self.start)
        if self.step != 1:
            up = self.step - 1 if self.step > 0 else self.step + 1
            distance = vm.binary("//", vm.binary("+", distance, vm.const(up)), vm.const(self.step))
        return distance

    def backward(self, vm: Machine) -> DataRange:
        """The same elements from the last one on."""
        step = vm.const(self.step)
        before_last = vm.binary("-", self.length(vm), vm.const(1))
        last = vm.binary("+", self.start, vm.binary("*", before_last, step))
        return DataRange(last, vm.binary("-", self.start, step), -self.step)

    def truth(self, vm: Machine) -> bool:
        return vm.truth(vm.compare(">", self.length(vm), vm.const(0)))

    def iterate(self, vm: Machine) -> Value:
        return DataRangeIterator(self, ConstantValue(0))


class DataRangeIterator(Value):
    """`iter` of such a range: `position` counts its elements."""

    __slots__ = ("position", "range")

    def __init__(self, owner: DataRange, position: Value) -> None:
        self.source = None
        self.range = owner
        self.position = position

    @property
    def cls(self) -> type:
        return type(iter(range(0)))

    def iterate(self, vm: Machine) -> Value:
        return self

    def count(self, vm: Machine) -> Value:
        return self.range.length(vm)

    def element(self, vm: Machine, position: Value) -> Value:
        step = position
        if self.range.step != 1:
            step = vm.binary("*", position, vm.const(self.range.step))
        start = self.range.start
        if start.is_constant() and start.constant() == 0:
            return step
        return vm.binary("+", start, step)

    def next(self, vm: Machine) -> Value | None:
        return vm.next_by_data(self)
