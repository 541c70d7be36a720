"""Sets whose number of elements data decides: a run-time list of elements as they were put in, and
the table that says in which order CPython would go through them (`set_order`).

A set of known elements becomes one in place. `history` is None where the order is not known: of a
set that was there before the program, for one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ptc.capture.control import data_keys, entries, lists
from ptc.capture.control.data_keys import HeldByKeys, find
from ptc.capture.control.dict_iterators import DataSetIterator
from ptc.capture.control.entries import HELD_AS, KEYS, VALUES, changed, known_truth
from ptc.capture.control.keys import decided_by_data
from ptc.capture.control.list_forms import NumberForm
from ptc.capture.control.list_parts import operands
from ptc.capture.control.lists import DataListValue
from ptc.capture.control.set_order import Table, add, has_order, hash_of, is_ordered
from ptc.capture.errors import GraphBreak
from ptc.capture.polyfills import data_dicts
from ptc.capture.values.base import Value
from ptc.capture.values.births import BornDict
from ptc.capture.values.choices import MISSING, may_be_missing
from ptc.capture.values.constants import ConstantValue
from ptc.capture.values.data_numbers import DataNumber
from ptc.capture.values.mappings import SetValue, is_by_data
from ptc.capture.values.objects import Instance
from ptc.capture.values.set_history import GROWN, History, of_real
from ptc.graph import set_tables
from ptc.graph.control import Body, If, ListItem, NumberKind

if TYPE_CHECKING:
    from ptc.capture.control.machine import ControlMachine

_ZERO = ConstantValue(0)
_FEW = 2
_COMPARISONS = {
    "==": data_dicts.same_elements, "<=": data_dicts.is_subset, "<": data_dicts.is_part,
}  # fmt: skip
_MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "==": "==", "!=": "!="}


class DataSetValue(HeldByKeys, Instance):
    """A set whose number of elements data decides. Has the layout of a SetValue: one becomes the
    other by an assignment to `__class__`."""

    __slots__ = ("elements", "history")

    def __init__(
        self, elements: DataListValue, table: DataListValue, history: History | None = GROWN
    ) -> None:
        super().__init__(set)
        self.elements: dict[Any, Any] = BornDict({KEYS: elements, VALUES: table}, owner=self)
        self.history = history

    @property
    def key_list(self) -> DataListValue:
        return self.elements[KEYS]

    def table(self, vm: ControlMachine) -> Table:
        return Table(vm, self.elements[VALUES])

    @property
    def is_ordered(self) -> bool:
        """Whether the order of iteration is known, and the table is kept up."""
        return self.history is not None and has_order(self.key_list.state.form)

    @property
    def holds_floats(self) -> bool:
        return self.key_list.state.form == NumberForm(NumberKind.FLOAT)

    def describe(self) -> str:
        return f"a {self.klass.__name__} whose number of elements data decides"

    # -- reading -------------------------------------------------------------------------------

    def iterate(self, vm: ControlMachine) -> Value:  # type: ignore[override]
        return DataSetIterator.over(vm, self, self.in_order(vm))

    def in_order(self, vm: ControlMachine) -> DataListValue:
        """The elements in the order of iteration, as a new list."""
        if self.is_ordered:
            return self.table(vm).picked(self.key_list)
        what = "and how it came to be is not known"
        if self.history is not None:
            what = "which is another one in each process but for numbers and tuples of them"
        raise GraphBreak(
            "PTC-B006",
            f"the order of {self.describe()} is asked for, {what}",
            "go through sorted(...) of it, or use a dictionary, which keeps the order of insertion",
        )

    def in_any_order(self, vm: ControlMachine) -> DataListValue:
        """The elements, for what shows nothing of their order."""
        return self.in_order(vm) if self.is_ordered else lists.copied(vm, self.key_list)

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
        hashed = hash_of(vm, key) if self.is_ordered else None
        if isinstance(absent, DataNumber):
            self._append_if(vm, absent, key, hashed)
        else:
            lists.insert(vm, self.key_list, None, key)
            if hashed is not None:
                self.table(vm).change("add", hashed)
        changed(vm, self, grown=True)

    def _append_if(
        self, vm: ControlMachine, absent: DataNumber, key: Value, hashed: Value | None
    ) -> None:
        state, new = self.key_list.state, Body()
        parts = operands(vm, state.form, key)
        with vm.writer.inside(new):
            for var, part in zip(state.vars, parts, strict=True):
                vm.writer.add(ListItem("append", None, (var, part)))
            if hashed is not None:
                add(vm, self.table(vm).var, hashed)
        vm.writer.add(If(absent.var, new, Body(), None, "new element"))
        for one in (self.key_list, self.elements[VALUES]):
            vm.lists.forget_lengths(one.state.name)

    def pop(self, vm: ControlMachine, position: Value) -> Value:
        """Take the element at a position that is in range."""
        found = lists.pop(vm, self.key_list, position)
        if self.is_ordered:
            self.table(vm).change("remove", position)
        changed(vm, self, shrunk=True)
        return found

    def pop_first(self, vm: ControlMachine) -> Value:
        """Take the element that `pop` takes."""
        if not self.is_ordered:
            return self.in_order(vm)
        if not self.truth(vm):
            raise vm.exception(KeyError, "pop from an empty set")
        return self.pop(vm, self.table(vm).next_out())

    def clear(self, vm: ControlMachine) -> None:
        lists.clear(vm, self.key_list)
        self.table(vm).change("clear")
        changed(vm, self, shrunk=True)

    def copied(self, vm: ControlMachine) -> DataSetValue:
        keys, table = lists.copied(vm, self.key_list), self.table(vm).copied()
        return DataSetValue(keys, table, self.history)

    def change_table(self, vm: ControlMachine, op: str, *args: Value) -> None:
        if self.is_ordered:
            self.table(vm).change(op, *args)

    def take(self, vm: ControlMachine, other: DataSetValue) -> None:
        """Have another set's elements, and its slots."""
        lists.clear(vm, self.key_list)
        lists.extend(vm, self.key_list, other.key_list)
        self.table(vm).change("take", other.table(vm).var)
        note_order(vm, self, other)
        changed(vm, self, grown=True, shrunk=True)


def is_set(value: Value) -> bool:
    return issubclass(value.cls, (set, frozenset))


def empty_table(vm: ControlMachine) -> DataListValue:
    items = [ConstantValue(number) for number in set_tables.fresh()]
    return lists.make(vm, items, NumberForm(NumberKind.INT))


def held(vm: ControlMachine, value: Any) -> DataSetValue:
    """A set, which variables hold from here on if they did not."""
    if not isinstance(value, DataSetValue):
        _hold(vm, entries.become(vm, value))
    return value


def _hold(vm: ControlMachine, columns: Sequence[Any]) -> None:
    effects = vm.writer.effects
    for column in columns:
        lists.hold(vm, column)
    # New variables were given their content, which an instruction may do twice
    vm.writer.effects = effects


def as_data(vm: ControlMachine, value: Any) -> DataSetValue:
    """A set that is read as one that variables hold."""
    if isinstance(value, DataSetValue) or entries.holdable(value):
        return held(vm, value)
    if isinstance(value, ConstantValue):
        known: dict[Any, Value] = {element: ConstantValue(element) for element in value.value}
        value = SetValue(known, history=of_real(value.value))
    columns = entries.columns_as_lists(vm, value, value.elements)
    _hold(vm, columns)
    return DataSetValue(*columns, entries.history_of(value))  # type: ignore[arg-type]


def order_by_data(vm: ControlMachine, value: Value) -> bool:
    """See `Machine.order_by_data`."""
    if not isinstance(value, SetValue) or not entries.holdable(value):
        return isinstance(value, DataSetValue)
    contents = list(value.elements.values())
    if not all(map(is_ordered, contents)):
        return False
    if any(map(_decides, contents)) or sum(map(may_be_missing, contents)) > _FEW:
        held(vm, value)
    return isinstance(value, DataSetValue)


def combine_by_data(vm: ControlMachine, args: Sequence[Value]) -> None:
    """Before sets are combined: those with elements that data decides are held by variables, so
    that the elements are not compared with each other one by one."""
    for one in args:
        order_by_data(vm, one)


def take_by_data(vm: ControlMachine, value: Value, key: Value) -> None:
    """Before an element that data decides is taken out of a set of known ones: variables hold it,
    so that it is not one of several sets afterwards."""
    if not isinstance(value, SetValue) or not entries.holdable(value) or not decided_by_data(key):
        return
    if len(value.elements) > _FEW:
        held(vm, value)


def _decides(content: Any) -> bool:
    parts = getattr(content, "alternatives", (content,))
    return any(is_by_data(part) for part in parts if part is not MISSING)


def note_order(vm: ControlMachine, target: Any, source: Value) -> None:
    """The order of a set follows from that of another one, which may not be known."""
    lost = isinstance(source, DataSetValue) and source.history is None
    if lost and target.history is not None:
        vm.journal.assign(target, "history", None)


HELD_AS[SetValue] = DataSetValue
