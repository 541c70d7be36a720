"""Tuples whose length data decides: a run-time list that nothing else refers to, and that never
changes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ptc.capture.control import list_conversions, lists
from ptc.capture.control.element_forms import LongForm
from ptc.capture.control.list_forms import new_vars
from ptc.capture.control.list_positions import length, longer, valid_index
from ptc.capture.control.lists import DataListValue
from ptc.capture.errors import GraphBreak
from ptc.capture.interpreter.calls import builtin
from ptc.capture.polyfills import data_lists
from ptc.capture.values.base import Value
from ptc.capture.values.constants import ConstantValue, SliceValue
from ptc.capture.values.containers import (
    ListValue,
    LongTupleValue,
    SequenceIterator,
    TupleValue,
)
from ptc.graph.control import ListVar

if TYPE_CHECKING:
    from ptc.capture.control.machine import ControlMachine


class DataTupleValue(LongTupleValue):
    """A tuple whose length data decides."""

    __slots__ = ()
    elements: DataListValue

    def describe(self) -> str:
        return "a tuple whose length data decides"

    def length(self, vm: ControlMachine) -> Value:  # type: ignore[override]
        return length(vm, self.elements)

    def truth(self, vm: ControlMachine) -> bool:  # type: ignore[override]
        return longer(vm, self.elements, 0)

    def iterate(self, vm: ControlMachine) -> Value:  # type: ignore[override]
        return SequenceIterator(self.elements)  # type: ignore[arg-type]

    def getitem(self, vm: ControlMachine, key: Value) -> Value:  # type: ignore[override]
        if isinstance(key, SliceValue):
            part = lists.sliced(vm, self.elements, key)
            assert isinstance(part, DataListValue)
            return DataTupleValue(part)
        if not vm.has_index(key):
            kind = key.cls.__name__
            raise vm.type_error(f"tuple indices must be integers or slices, not {kind}")
        index = valid_index(vm, self.elements, key, "tuple index out of range")
        return self.elements.element(vm, index)

    def contains(self, vm: ControlMachine, item: Value) -> Value:  # type: ignore[override]
        return self.elements.contains(vm, item)

    def binary(self, vm: ControlMachine, op: str, other: Value, reflected: bool) -> Value | None:  # type: ignore[override]
        its = elements(other)
        if op != "+" or its is None:
            return None
        return DataTupleValue(
            lists.added(vm, [its, self.elements] if reflected else [self.elements, its])  # type: ignore[arg-type]
        )

    def compare(self, vm: ControlMachine, op: str, other: Value, reflected: bool) -> Value | None:  # type: ignore[override]
        its = elements(other)
        if its is None:
            return None
        left, right = (its, self.elements) if reflected else (self.elements, its)
        if op in ("==", "!="):
            same = vm.call(vm.wrap_fixed(data_lists.equal), [left, right])
            return vm.logical_not(same) if op == "!=" else same
        if op in (">", "<="):
            left, right = right, left
        less = vm.call(vm.wrap_fixed(data_lists.less), [left, right])
        return less if op in ("<", ">") else vm.logical_not(less)

    def setitem(self, vm: ControlMachine, key: Value, value: Value) -> None:  # type: ignore[override]
        raise vm.type_error("'tuple' object does not support item assignment")

    def delitem(self, vm: ControlMachine, key: Value) -> None:  # type: ignore[override]
        raise vm.type_error("'tuple' object doesn't support item deletion")

    def hash_key(self, vm: ControlMachine) -> Any:  # type: ignore[override]
        raise GraphBreak(
            "PTC-B006",
            f"{self.describe()} is an element of a set, or a key",
            "use a dictionary or set that is empty at first, and has such keys alone",
        )


def elements(value: Value) -> ListValue | DataListValue | None:
    """The elements of a tuple as a list; None for all other values."""
    if isinstance(value, DataTupleValue):
        return value.elements
    if isinstance(value, TupleValue) and value.klass is tuple and not value.attrs:
        return ListValue(list(value.items))
    if isinstance(value, ConstantValue) and type(value.value) is tuple:
        return ListValue([ConstantValue(part) for part in value.value])
    return None


def variables_of(vm: ControlMachine, form: LongForm, value: Value) -> tuple[ListVar, ...]:
    """What a tuple has, in lists for elements of this form."""
    known = elements(value)
    assert known is not None
    if isinstance(known, DataListValue):
        return list_conversions.converted(vm, known.state, form.element)
    state = lists.ListState(form.element, new_vars(vm, form.element))
    lists.give(vm, state, known.items)
    return state.vars


def are_long(values: Sequence[Value]) -> bool:
    """Whether all are tuples, of one of which data decides the length."""
    some = any(isinstance(value, DataTupleValue) for value in values)
    return some and all(elements(value) is not None for value in values)


def as_list(value: Value) -> Value:
    """What only reads such a tuple reads its list."""
    return value.elements if isinstance(value, DataTupleValue) else value


@builtin(data_lists.as_tuple)
def _as_tuple(vm: ControlMachine, values: Value) -> Value:
    if isinstance(values, DataListValue):
        return DataTupleValue(values)
    assert isinstance(values, ListValue)
    return vm.tuple(list(values.items))
