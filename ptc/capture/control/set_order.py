"""The order of sets that data decides: the hashes of their elements, and the operations of the
program on the table of one. See `set_tables` for both.

A table is a run-time list of ints beside that of the elements. A set whose elements have no hash
that is the same in every process has one too, but it is not kept up.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ptc.capture.control.arithmetic import computed, is_number, operand
from ptc.capture.control.element_forms import Form, LongForm, NumberForm, OneOfForm, TupleForm
from ptc.capture.control.list_forms import tuple_items
from ptc.capture.control.perhaps import Placed
from ptc.capture.interpreter.calls import builtin
from ptc.capture.polyfills import data_dicts
from ptc.capture.values.base import Value
from ptc.capture.values.choices import MISSING, ChoiceValue, may_be_missing
from ptc.capture.values.constants import ConstantValue
from ptc.capture.values.containers import ListValue, LongTupleValue
from ptc.capture.values.data_numbers import DataNumber
from ptc.capture.values.set_history import History
from ptc.graph import set_tables
from ptc.graph.control import ListItem, ListVar, NumberKind, NumberVar

if TYPE_CHECKING:
    from ptc.capture.control.lists import DataListValue
    from ptc.capture.control.machine import ControlMachine

_INT = NumberKind.INT


# -- hashes ---------------------------------------------------------------------------------------


def has_order(form: Form) -> bool:
    """Whether elements of a form lie at the same places of a set in every process."""
    if isinstance(form, LongForm):
        return has_order(form.element)
    if isinstance(form, TupleForm):
        return form.klass.__hash__ is tuple.__hash__ and all(map(has_order, form.parts))
    if isinstance(form, OneOfForm):
        return not form.known and all(map(has_order, form.parts))
    return isinstance(form, NumberForm)


def hash_of(vm: ControlMachine, key: Value) -> Value:
    """`hash(key)` of a number, or a tuple of them."""
    if key.is_constant():
        return ConstantValue(hash(key.constant()))
    if is_number(key):
        return computed(vm, "hash", [key], _INT)
    if isinstance(key, LongTupleValue):
        return vm.call(vm.wrap_fixed(data_dicts.hash_of_tuple), [key])
    items = tuple_items(key)
    assert items is not None
    state: Value = ConstantValue(set_tables.TUPLE_START)
    for item in items:
        state = _part(vm, state, hash_of(vm, item))
    return computed(vm, "hash_end", [state, ConstantValue(len(items))], _INT)


@builtin(data_dicts.hash_part)
def _hash_part(vm: ControlMachine, state: Value, element: Value) -> Value:
    return _part(vm, state, hash_of(vm, element))


@builtin(data_dicts.hash_end)
def _hash_end(vm: ControlMachine, state: Value, count: Value) -> Value:
    return computed(vm, "hash_end", [state, count], _INT)


def _part(vm: ControlMachine, state: Value, part: Value) -> Value:
    if state.is_constant() and part.is_constant():
        return ConstantValue(set_tables.hash_part(state.constant(), part.constant()))
    return computed(vm, "hash_part", [state, part], _INT)


# -- tables of known elements ---------------------------------------------------------------------


def table_items(history: History | None, contents: Sequence[Value]) -> list[Any]:
    """The table of a set of known elements, some of which may not be there, as the items of a list;
    that of an empty set where the order is not known."""
    if not is_known(history) or not all(map(is_ordered, contents)):
        return _items(set_tables.fresh())
    assert history is not None and history.table is not None
    table = list(history.table)
    later = list(contents[history.count :])
    while later and later[0].is_constant():
        set_tables.add(table, hash(later.pop(0).constant()))
    return [*_items(table), *(_placed(one) for one in later if one is not MISSING)]


def is_known(history: History | None) -> bool:
    return history is not None and history.table is not None


def _items(table: Sequence[int]) -> list[Value]:
    return [ConstantValue(number) for number in table]


def _placed(content: Value) -> Placed:
    if not may_be_missing(content):
        return Placed(content, None)
    assert isinstance(content, ChoiceValue)
    there = [one for one in content.alternatives if one is not MISSING]
    if len(there) == 1:
        return Placed(there[0], content)
    filled = tuple(there[0] if one is MISSING else one for one in content.alternatives)
    return Placed(ChoiceValue(content.selector, filled), content)


def is_ordered(content: Value) -> bool:
    """Whether an element is a number or a tuple of them, where it is there."""
    if isinstance(content, ChoiceValue):
        return all(map(is_ordered, content.alternatives))
    if content is MISSING or is_number(content):
        return True
    if isinstance(content, LongTupleValue):
        return has_order(content.elements.state.form)
    items = None if isinstance(content, ListValue) else tuple_items(content)
    return (
        items is not None and content.cls.__hash__ is tuple.__hash__ and all(map(is_ordered, items))
    )


# -- operations -----------------------------------------------------------------------------------


def add(vm: ControlMachine, table: ListVar, hashed: Value) -> None:
    vm.writer.add(ListItem("table_add", None, (table, operand(vm, hashed))))


def give(vm: ControlMachine, table: ListVar, item: Placed) -> None:
    item.give(vm, lambda key: add(vm, table, hash_of(vm, key)))


class Table:
    """The table of a set that variables hold."""

    def __init__(self, vm: ControlMachine, owner: DataListValue) -> None:
        self._vm = vm
        self._owner = owner

    @property
    def var(self) -> ListVar:
        return self._owner.state.vars[0]

    def change(self, op: str, *args: Value | ListVar) -> None:
        given = (one if isinstance(one, ListVar) else operand(self._vm, one) for one in args)
        self._vm.writer.add(ListItem(f"table_{op}", None, (self.var, *given)))
        self._vm.lists.forget_lengths(self._owner.state.name)

    def next_out(self) -> Value:
        """The position of the element that `pop` takes."""
        target = NumberVar(self._vm.writer.name("n"), _INT)
        self._vm.writer.add(ListItem("table_next", target, (self.var,)))
        return DataNumber(target)

    def fits(self, other: Table) -> Value:
        target = NumberVar(self._vm.writer.name("n"), NumberKind.BOOL)
        self._vm.writer.add(ListItem("table_fits", target, (self.var, other.var)))
        return DataNumber(target)

    def copied(self) -> DataListValue:
        return self._vm.lists.new(NumberForm(_INT), (self._derived("copy"),))

    def picked(self, keys: DataListValue) -> DataListValue:
        """Elements in the order of iteration, as a new list."""
        places = self._derived("order")
        state = keys.state
        made = tuple(ListVar(self._vm.writer.name("l"), var.element) for var in state.vars)
        for target, var in zip(made, state.vars, strict=True):
            self._vm.writer.add(ListItem("pick", target, (var, places)))
        return self._vm.lists.new(state.form, made)

    def _derived(self, op: str) -> ListVar:
        made = ListVar(self._vm.writer.name("l"), _INT)
        self._vm.writer.add(ListItem(f"table_{op}", made, (self.var,)))
        return made
