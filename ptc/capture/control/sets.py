"""Sets whose number of elements data decides: a run-time list of elements.

Its order is that of insertion, which is not CPython's: what would show the order is refused.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ptc.capture.control import data_keys, lists
from ptc.capture.control.data_keys import HeldByKeys, find
from ptc.capture.control.entries import HELD_AS, KEYS, changed, known_truth
from ptc.capture.control.list_forms import operands
from ptc.capture.control.lists import DataListValue
from ptc.capture.errors import GraphBreak
from ptc.capture.polyfills import data_dicts
from ptc.capture.values.base import Value
from ptc.capture.values.births import BornDict
from ptc.capture.values.constants import ConstantValue
from ptc.capture.values.data_numbers import DataNumber
from ptc.capture.values.mappings import SetValue
from ptc.capture.values.objects import Instance
from ptc.graph.control import Body, If, ListItem

if TYPE_CHECKING:
    from ptc.capture.control.machine import ControlMachine

_ZERO = ConstantValue(0)
_COMPARISONS = {
    "==": data_dicts.same_elements, "<=": data_dicts.is_subset, "<": data_dicts.is_part,
}  # fmt: skip
_MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "==": "==", "!=": "!="}


class DataSetValue(HeldByKeys, Instance):
    """A set whose number of elements data decides. Has the layout of a SetValue: one becomes the
    other by an assignment to `__class__`."""

    __slots__ = ("elements",)

    def __init__(self, elements: DataListValue) -> None:
        super().__init__(set)
        self.elements: dict[Any, Any] = BornDict({KEYS: elements}, owner=self)

    @property
    def key_list(self) -> DataListValue:
        return self.elements[KEYS]

    def describe(self) -> str:
        return f"a {self.klass.__name__} whose number of elements data decides"

    # -- reading -------------------------------------------------------------------------------

    def iterate(self, vm: ControlMachine) -> Value:  # type: ignore[override]
        raise GraphBreak(
            "PTC-B006",
            f"the order of {self.describe()} is asked for",
            "go through sorted(...) of it, or use a dictionary, which keeps the order of insertion",
        )

    def compare(self, vm: ControlMachine, op: str, other: Value, reflected: bool) -> Value | None:  # type: ignore[override]
        if not is_set(other):
            return None
        pair = [self, other]
        if (op in (">", ">=")) != reflected:
            pair.reverse()
        op = _MIRRORED[op] if op in (">", ">=") else op
        polyfill = _COMPARISONS["==" if op == "!=" else op]
        found = vm.call(vm.wrap_fixed(polyfill), pair)
        return vm.logical_not(found) if op == "!=" else found

    def hash_key(self, vm: ControlMachine) -> Any:  # type: ignore[override]
        raise vm.type_error(f"unhashable type: '{self.klass.__name__}'")

    # -- changing ------------------------------------------------------------------------------

    def add(self, vm: ControlMachine, value: Value) -> None:
        key = lists.widened(vm, self.key_list, data_keys.hashable(vm, value))
        absent = known_truth(vm, vm.compare("<", find(vm, self.key_list, key), _ZERO))
        if absent is False:
            return
        if absent is True:
            lists.insert(vm, self.key_list, None, key)
        else:
            self._append_if(vm, absent, key)
        changed(vm, self)

    def _append_if(self, vm: ControlMachine, absent: DataNumber, key: Value) -> None:
        state, new = self.key_list.state, Body()
        parts = operands(vm, state.form, key)
        with vm.writer.inside(new):
            for var, part in zip(state.vars, parts, strict=True):
                vm.writer.add(ListItem("append", None, (var, part)))
        vm.writer.add(If(absent.var, new, Body(), None, "new element"))
        vm.lists.forget_lengths(state.name)

    def pop(self, vm: ControlMachine, position: Value) -> Value:
        """Take the element at a position that is in range."""
        found = lists.pop(vm, self.key_list, position)
        changed(vm, self)
        return found

    def clear(self, vm: ControlMachine) -> None:
        lists.clear(vm, self.key_list)
        changed(vm, self)

    def copied(self, vm: ControlMachine) -> DataSetValue:
        return DataSetValue(lists.copied(vm, self.key_list))


def is_set(value: Value) -> bool:
    return issubclass(value.cls, (set, frozenset))


HELD_AS[SetValue] = DataSetValue
