"""Elements of known items that may not be there: entries of a dictionary or set which data decides
about, where its content goes into lists.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ptc.capture.control.arithmetic import is_number, number_kind, operand
from ptc.capture.control.keys import presence
from ptc.capture.values.base import Value
from ptc.capture.values.choices import ChoiceValue
from ptc.capture.values.data_numbers import DataNumber
from ptc.graph.control import Assign, Body, If, NumberKind, NumberVar, Switch

if TYPE_CHECKING:
    from ptc.capture.control.machine import ControlMachine


@dataclass(frozen=True, slots=True)
class Perhaps:
    """An element that is there unless `choice` is MISSING. It may be one of several numbers of a
    kind."""

    value: Value
    choice: ChoiceValue

    @property
    def kind(self) -> NumberKind | None:
        """The kind of the numbers that it may be one of."""
        parts = self.value.alternatives if isinstance(self.value, ChoiceValue) else ()
        kinds = {number_kind(part) if is_number(part) else None for part in parts}
        return kinds.pop() if len(kinds) == 1 else None

    def distinct(self, vm: ControlMachine) -> Value:
        """The value, with each of its alternatives once."""
        if not isinstance(self.value, ChoiceValue):
            return self.value
        parts: list[Value] = []
        for part in self.value.alternatives:
            if not any(vm.same_alternative(part, known) for known in parts):
                parts.append(part)
        return ChoiceValue(self.value.selector, tuple(parts))

    def give(self, vm: ControlMachine, append: Callable[[Value], None]) -> None:
        """Write what appends the element where it is there."""
        there = presence(vm, self.choice)
        if isinstance(there, DataNumber):
            body = Body()
            with vm.at_end_of(body):
                append(self._definite(vm))
            vm.writer.add(If(there.var, body, Body(), None, "entry"))
        elif there.constant():
            append(self._definite(vm))

    def _definite(self, vm: ControlMachine) -> Value:
        """The value, a number where it is one of several."""
        kind = self.kind
        if kind is None:
            return self.value
        assert isinstance(self.value, ChoiceValue)
        target = NumberVar(vm.writer.name("n"), kind)
        numbers = [operand(vm, one) for one in self.value.alternatives]
        arms = tuple(Body([Assign(target, number)]) for number in numbers)
        vm.writer.add(Switch(self.value.selector, arms, None, "choice"))
        return DataNumber(target)


@dataclass(frozen=True, slots=True)
class Placed:
    """What the table of a set gets by an element that is put in, unless `choice` is MISSING."""

    key: Value
    choice: ChoiceValue | None

    def give(self, vm: ControlMachine, add: Callable[[Value], None]) -> None:
        """Write what puts the element in where it is there."""
        if self.choice is None:
            add(self.key)
        else:
            Perhaps(self.key, self.choice).give(vm, add)
