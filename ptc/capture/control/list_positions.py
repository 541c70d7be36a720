"""Lengths of lists that variables hold, and positions in them: what is known of a length, indices
and bounds of slices counted from the front.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ptc.capture.control.list_forms import EMPTY
from ptc.capture.values.base import Value
from ptc.capture.values.constants import ConstantValue
from ptc.capture.values.data_numbers import DataNumber
from ptc.capture.values.torch_tensor import TensorValue
from ptc.graph.control import ListItem, NumberKind, NumberVar

if TYPE_CHECKING:
    from ptc.capture.control.lists import DataListValue
    from ptc.capture.control.machine import ControlMachine


def length(vm: ControlMachine, owner: DataListValue) -> Value:
    state = owner.state
    if state.form is EMPTY:
        return vm.lists.known_length(0)
    known = vm.lists.lengths.get(state.name)
    if known is None:
        target = NumberVar(vm.writer.name("n"), NumberKind.INT)
        vm.writer.add(ListItem("length", target, (state.vars[0],)))
        known = DataNumber(target)
        vm.journal.put(vm.lists.lengths, state.name, known)
    return known


def is_empty(vm: ControlMachine, owner: DataListValue) -> bool:
    if owner.state.form is EMPTY:
        return True
    known = vm.lists.lengths.get(owner.state.name)
    return known is not None and known.is_constant() and known.constant() == 0


def longer(vm: ControlMachine, owner: DataListValue, count: int) -> bool:
    """Whether the list has more than `count` elements."""
    return vm.truth(vm.compare(">", length(vm, owner), ConstantValue(count)))


def valid_index(vm: ControlMachine, owner: DataListValue, key: Value, message: str) -> Value:
    """The index counted from the front; raises IndexError where there is no such element."""
    if not vm.has_index(key):
        kind = key.cls.__name__
        raise vm.type_error(f"{owner.noun} indices must be integers or slices, not {kind}")
    if not vm.is_number(key):
        key = ConstantValue(vm.as_index(key)) if not _reads_data(key) else read_index(vm, key)
    if key.cls is bool:
        key = vm.call(vm.wrap_fixed(int), [key])
    if key.is_constant():
        number = key.constant()
        if not longer(vm, owner, number if number >= 0 else -number - 1):
            raise vm.exception(IndexError, message)
        return key if number >= 0 else vm.binary("+", length(vm, owner), key)
    count = length(vm, owner)
    if vm.truth(vm.compare("<", key, ConstantValue(0))):
        key = vm.binary("+", key, count)
        if vm.truth(vm.compare("<", key, ConstantValue(0))):
            raise vm.exception(IndexError, message)
    elif not vm.truth(vm.compare("<", key, count)):
        raise vm.exception(IndexError, message)
    return key


def _reads_data(key: Value) -> bool:
    return isinstance(key, TensorValue)


def read_index(vm: ControlMachine, key: Value) -> Value:
    """A tensor as an index."""
    found = vm.data_read("__index__", [key])
    assert found is not None
    return found


def bound(vm: ControlMachine, owner: DataListValue, part: Value, default: Value) -> Value:
    """A bound of a slice, between 0 and the length."""
    return default if part.cls is type(None) else bound_within(vm, length(vm, owner), part, default)


def bound_within(vm: ControlMachine, count: Value, part: Value, default: Value) -> Value:
    """A bound of a slice, between 0 and `count`."""
    if part.cls is type(None):
        return default
    if not vm.is_number(part):
        part = read_index(vm, part) if _reads_data(part) else ConstantValue(vm.as_index(part))
    if part.is_constant() and count.is_constant():
        number, most = part.constant(), count.constant()
        return ConstantValue(slice(number, None).indices(most)[0])
    if part.is_constant():
        if part.constant() >= 0:
            return part if part.constant() == 0 else vm.arithmetic("min", [part, count])
        return vm.arithmetic("max", [vm.binary("+", count, part), ConstantValue(0)])
    negative = vm.arithmetic("lt", [part, ConstantValue(0)])
    moved = vm.binary("+", part, count)
    part = vm.arithmetic("select", [negative, moved, part])
    part = vm.arithmetic("max", [part, ConstantValue(0)])
    return vm.arithmetic("min", [part, count])
