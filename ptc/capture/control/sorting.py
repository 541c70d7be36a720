"""The order of values whose keys data decides, and what has none: comparisons with NaN."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from ptc.capture.control.arithmetic import is_number
from ptc.capture.interpreter.calls import builtin
from ptc.capture.polyfills import data_lists
from ptc.capture.values.base import Value
from ptc.capture.values.constants import ConstantValue
from ptc.capture.values.containers import TupleValue
from ptc.capture.values.data_numbers import DataNumber
from ptc.capture.values.texts import is_text

if TYPE_CHECKING:
    from ptc.capture.control.machine import ControlMachine


@builtin(data_lists.unordered)
def _unordered(vm: ControlMachine) -> None:
    vm.not_supported("numbers are sorted among which there is NaN")


@builtin(data_lists.unequal)
def _unequal(vm: ControlMachine) -> None:
    vm.not_supported("lists are compared that both hold NaN")


def require_order(vm: ControlMachine, keys: list[Value]) -> None:
    """Where the order of keys with NaN is not this form's: that there is none."""
    if len(keys) >= (3 if data_lists.RUNS_DIFFER else data_lists.LONG_SORT):
        _refuse_nan(vm, keys)


def _refuse_nan(vm: ControlMachine, keys: list[Value]) -> None:
    if _holds_nan(vm, keys):
        _unordered(vm)


def _holds_nan(vm: ControlMachine, keys: list[Value]) -> bool:
    """A branch on whether there is NaN among keys."""
    broken: Value = ConstantValue(False)
    for key in _leaves(keys):
        if isinstance(key, DataNumber) and key.cls is float:
            broken = vm.binary("|", broken, vm.compare("!=", key, key))
    return vm.truth(broken)


def _inserted(
    vm: ControlMachine, values: list[Value], keys: list[Value], backward: bool
) -> list[Value]:
    """Values in the order of keys that CPython's steps give, whose places are in a list."""
    sorted_: Any = vm.list(list(values))
    by: Value = ConstantValue(None) if keys is values else vm.list(list(keys))
    arguments = [sorted_, by, ConstantValue(backward)]
    vm.call(vm.wrap_fixed(data_lists.insert_in_order), arguments)
    return list(sorted_.items)


def _leaves(keys: list[Value]) -> Iterator[Value]:
    for key in keys:
        if isinstance(key, TupleValue):
            yield from _leaves(key.items)
        else:
            yield key


#: Comparisons as CPython makes them are a tree of branches, with a leaf for each order.
_FEW_ORDERS = 5


def exchanged(
    vm: ControlMachine, values: list[Value], keys: list[Value], backward: bool
) -> list[Value] | None:
    """Values in the order of keys that data decides, by exchanges of neighbours that each end
    before the next one begins; with NaN among them, by CPython's steps. None for a few, and for
    what is not known to have one order: they are compared in CPython's order."""
    if len(keys) <= _FEW_ORDERS or not all(map(_has_order, keys)):
        return None
    if _holds_nan(vm, keys):
        require_order(vm, keys)
        if not all(key.cls is float for key in keys):
            _unordered(vm)
        return _inserted(vm, values, keys, backward)
    sorted_: Any = vm.list(list(values))
    arguments = [sorted_, vm.list(list(keys)), ConstantValue(backward)]
    vm.call(vm.wrap_fixed(data_lists.exchange), arguments)
    return list(sorted_.items)


def _has_order(key: Value) -> bool:
    """Whether a key is such that comparisons with others like it never contradict each other, but
    for numbers that data decides which may be NaN."""
    if isinstance(key, TupleValue):
        return key.cls.__lt__ is tuple.__lt__ and all(map(_has_order, key.items))
    if isinstance(key, ConstantValue):
        return isinstance(key.value, (int, float, str)) and key.value == key.value
    return is_number(key) or is_text(key)
