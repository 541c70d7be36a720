"""Slices and copies of lists that variables hold."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ptc.capture.control.arithmetic import operand
from ptc.capture.control.list_forms import Unlistable
from ptc.capture.control.list_positions import bound, length, read_index
from ptc.capture.control.list_rows import has_rows
from ptc.capture.polyfills import data_slices
from ptc.capture.values.base import Value
from ptc.capture.values.constants import ConstantValue, SliceValue
from ptc.capture.values.torch_tensor import TensorValue
from ptc.graph.control import ListItem, ListVar

if TYPE_CHECKING:
    from ptc.capture.control.lists import DataListValue, ListState
    from ptc.capture.control.machine import ControlMachine


def sliced(vm: ControlMachine, owner: DataListValue, key: SliceValue) -> Value:
    """`owner[start:stop:step]`"""
    start, stop, step = key.parts
    if owner.noun == "deque":
        raise vm.type_error("sequence index must be integer, not 'slice'")
    one = step.cls is type(None) or (step.is_constant() and step.constant() == 1)
    everything = start.cls is type(None) and stop.cls is type(None)
    if not one:
        if everything and step.is_constant() and step.constant() == -1:
            result = copied(vm, owner)
            for var in result.state.vars:
                vm.writer.add(ListItem("reverse", None, (var,)))
            return result
        return vm.call(vm.wrap_fixed(data_slices.stepped), [owner, *_numbers(vm, key)])
    first = bound(vm, owner, start, ConstantValue(0))
    last = bound(vm, owner, stop, length(vm, owner))
    last = _at_least(vm, last, first)
    return _derived(vm, owner.state, "slice", [operand(vm, first), operand(vm, last)])


def assigned(vm: ControlMachine, owner: DataListValue, key: SliceValue, value: Value) -> None:
    """`owner[start:stop:step] = value`"""
    _require_slices(vm, owner)
    *ends, step = _numbers(vm, key)
    plain = step.is_constant() and step.constant() == 1
    if not hasattr(value.cls, "__iter__") and not hasattr(value.cls, "__getitem__"):
        plainly = "can only assign an iterable"
        raise vm.type_error(plainly if plain else "must assign iterable to extended slice")
    if plain:
        vm.call(vm.wrap_fixed(data_slices.put), [owner, *ends, value])
    else:
        vm.call(vm.wrap_fixed(data_slices.put_stepped), [owner, *ends, step, value])


def deleted(vm: ControlMachine, owner: DataListValue, key: SliceValue) -> None:
    _require_slices(vm, owner)
    vm.call(vm.wrap_fixed(data_slices.remove), [owner, *_numbers(vm, key)])


def _require_slices(vm: ControlMachine, owner: DataListValue) -> None:
    if owner.noun == "deque":
        raise vm.type_error("sequence index must be integer, not 'slice'")


def _numbers(vm: ControlMachine, key: SliceValue) -> list[Value]:
    """The bounds and the step of a slice, which is 1 if there is none."""
    found: list[Value] = []
    for part in key.parts:
        if part.cls is type(None) or vm.is_number(part):
            found.append(part)
        elif isinstance(part, TensorValue):
            found.append(read_index(vm, part))
        else:
            found.append(ConstantValue(vm.as_index(part)))
    step = found.pop()
    return [*found, ConstantValue(1) if step.cls is type(None) else step]


def between(vm: ControlMachine, owner: DataListValue, before: int, after: int) -> Value:
    """The elements but for some at both ends, which are there."""
    last = vm.binary("-", length(vm, owner), ConstantValue(after))
    return _derived(vm, owner.state, "slice", [before, operand(vm, last)])


def _at_least(vm: ControlMachine, number: Value, least: Value) -> Value:
    if least.is_constant() and least.constant() == 0:
        return number
    if number.is_constant() and least.is_constant():
        return ConstantValue(max(number.constant(), least.constant()))
    return vm.arithmetic("max", [number, least])


def _derived(vm: ControlMachine, state: ListState, op: str, rest: Sequence[Any]) -> DataListValue:
    """A new list by an operation on each of the variables."""
    if has_rows(state.form):
        raise vm.lists.refusal(Unlistable("lists that are in another list too", by_reference=True))
    made = tuple(ListVar(vm.writer.name("l"), var.element) for var in state.vars)
    for target, var in zip(made, state.vars, strict=True):
        vm.writer.add(ListItem(op, target, (var, *rest)))
    return vm.lists.new(state.form, made)


def copied(vm: ControlMachine, owner: Any) -> DataListValue:
    result = _derived(vm, owner.state, "copy", [])
    result.klass, result.maxlen = owner.klass, owner.maxlen
    _take_length(vm, result, owner)
    return result


def _take_length(vm: ControlMachine, result: DataListValue, owner: DataListValue) -> None:
    known = vm.lists.lengths.get(owner.state.name)
    if known is not None:
        vm.journal.put(vm.lists.lengths, result.state.name, known)
