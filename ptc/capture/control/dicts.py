"""Dictionaries whose number of entries data decides: a run-time list of keys and one of values, in
the order of insertion.

A dictionary of known entries becomes one in place (`become`), so that everything that refers to the
object still does. `entries` then has the two lists, which are held, carried and merged as lists
are, and is never changed again.
"""

from __future__ import annotations

import collections
from typing import TYPE_CHECKING, Any

from ptc.capture.control import data_keys, lists
from ptc.capture.control.data_keys import HeldByKeys, find, is_there, required
from ptc.capture.control.dict_iterators import DataDictIterator
from ptc.capture.control.entries import HELD_AS, KEYS, VALUES, changed, known_truth
from ptc.capture.control.handles import HandleValue
from ptc.capture.control.list_forms import TensorForm, TupleForm, leaves
from ptc.capture.control.list_parts import operands
from ptc.capture.control.list_rows import has_rows, take
from ptc.capture.control.lists import DataListValue
from ptc.capture.errors import GraphBreak
from ptc.capture.polyfills import data_dicts
from ptc.capture.values.base import Value
from ptc.capture.values.births import BornDict
from ptc.capture.values.constants import ConstantValue
from ptc.capture.values.data_numbers import DataNumber
from ptc.capture.values.dict_slots import KeyChanges
from ptc.capture.values.mappings import DictValue, DictViewValue
from ptc.capture.values.objects import Instance
from ptc.graph.control import Body, If, ListItem, ListVar

if TYPE_CHECKING:
    from ptc.capture.control.machine import ControlMachine

_ZERO, _LAST = ConstantValue(0), ConstantValue(-1)


class DataDictValue(HeldByKeys, Instance):
    """A dict, or an instance of a subclass, whose number of entries data decides. Has the layout of
    a DictValue: one becomes the other by an assignment to `__class__`."""

    __slots__ = ("changes", "complete", "entries", "factory", "trusted")

    def __init__(self, keys: DataListValue, values: DataListValue, klass: type = dict) -> None:
        super().__init__(klass)
        self.entries: dict[Any, Any] = BornDict({KEYS: keys, VALUES: values}, owner=self)
        self.changes = KeyChanges()
        self.complete = True
        self.factory: Value | None = None
        self.trusted = False

    @property
    def key_list(self) -> DataListValue:
        return self.entries[KEYS]

    @property
    def value_list(self) -> DataListValue:
        return self.entries[VALUES]

    def describe(self) -> str:
        return f"a {self.klass.__name__} whose number of entries data decides"

    # -- reading -------------------------------------------------------------------------------

    def find(self, vm: ControlMachine, key: Value) -> Value | None:
        """The value under `key`, None if absent."""
        position = find(vm, self.key_list, key)
        if not vm.truth(is_there(vm, position)):
            return None
        return self.value_list.element(vm, position)

    def getitem(self, vm: ControlMachine, key: Value) -> Value:  # type: ignore[override]
        found = self.find(vm, key)
        if found is not None:
            return found
        missing = vm.python_method(self, "__missing__")
        if missing is not None:
            return vm.call(missing, [self, key])
        made = self.factory is not None and self.factory.cls is not type(None)
        if made and issubclass(self.klass, collections.defaultdict):
            assert self.factory is not None
            value = vm.call(self.factory, [])
            return self.add(vm, key, value)
        raise vm.raised(KeyError, [key])

    def iterate(self, vm: ControlMachine) -> Value:  # type: ignore[override]
        return self.iterator(vm, "keys")

    def iterator(self, vm: ControlMachine, kind: str, backward: bool = False) -> Value:
        return DataDictIterator.start(vm, self, kind, backward)

    def compare(self, vm: ControlMachine, op: str, other: Value, reflected: bool) -> Value | None:  # type: ignore[override]
        if op not in ("==", "!=") or not is_dict(other):
            return None
        if any(isinstance(leaf, TensorForm) for leaf in leaves(self.value_list.state.form)):
            raise GraphBreak("PTC-B006", f"{self.describe()} is compared, and holds tensors")
        ordered = all(issubclass(one.cls, collections.OrderedDict) for one in (self, other))
        polyfill = data_dicts.equal_in_order if ordered else data_dicts.equal
        equal = vm.call(vm.wrap_fixed(polyfill), [self, other])
        return equal if op == "==" else vm.logical_not(equal)

    # -- changing ------------------------------------------------------------------------------

    def setitem(self, vm: ControlMachine, key: Value, value: Value) -> None:  # type: ignore[override]
        key = lists.widened(vm, self.key_list, data_keys.hashable(vm, key))
        value = lists.widened(vm, self.value_list, value)
        position = find(vm, self.key_list, key)
        absent = known_truth(vm, vm.compare("<", position, _ZERO))
        if isinstance(absent, bool) and absent:
            self._append(vm, key, value)
        else:
            self._put(vm, key, value, position, absent)
        changed(vm, self, grown=absent is not False)

    def add(self, vm: ControlMachine, key: Value, value: Value) -> Value:
        """Put in an entry that is not there. Gives its value as it is in there."""
        key = lists.widened(vm, self.key_list, data_keys.hashable(vm, key))
        value = lists.widened(vm, self.value_list, value)
        self._append(vm, key, value)
        changed(vm, self, grown=True)
        return self.value_list.getitem(vm, _LAST) if has_rows(self.value_list.state.form) else value

    def _append(self, vm: ControlMachine, key: Value, value: Value) -> None:
        lists.insert(vm, self.key_list, None, key)
        lists.insert(vm, self.value_list, None, value)

    def _put(
        self, vm: ControlMachine, key: Value, value: Value, position: Value, absent: Any
    ) -> None:
        """Put in an entry, or give it another value where it is there."""
        keys = self._columns(vm, self.key_list, key)
        values = self._columns(vm, self.value_list, value)
        assert isinstance(position, DataNumber)
        body, new, old = vm.writer.body, Body(), Body()
        if isinstance(absent, DataNumber):
            with vm.writer.inside(new):
                for var, part in (*keys, *values):
                    vm.writer.add(ListItem("append", None, (var, part)))
        with vm.writer.inside(old if isinstance(absent, DataNumber) else body):
            for var, part in values:
                vm.writer.add(ListItem("set", None, (var, position.var, part)))
        take(vm, [value])
        vm.lists.forget_rows(self.value_list.state.name)
        if isinstance(absent, DataNumber):
            vm.writer.add(If(absent.var, new, old, None, "new key"))
            vm.lists.forget_lengths(self.key_list.state.name)
            vm.lists.forget_lengths(self.value_list.state.name)

    @staticmethod
    def _columns(
        vm: ControlMachine, owner: DataListValue, item: Value
    ) -> list[tuple[ListVar, Any]]:
        state = owner.state
        return list(zip(state.vars, operands(vm, state.form, item), strict=True))

    def delitem(self, vm: ControlMachine, key: Value) -> None:  # type: ignore[override]
        self.pop(vm, required(vm, self.key_list, key))

    def pop(self, vm: ControlMachine, position: Value) -> tuple[Value, Value]:
        """Take the entry at a position that is in range."""
        pair = lists.pop(vm, self.key_list, position), lists.pop(vm, self.value_list, position)
        changed(vm, self, shrunk=True)
        return pair

    def move(self, vm: ControlMachine, position: Value, to_end: bool) -> None:
        key, value = self.pop(vm, position)
        at = None if to_end else _ZERO
        lists.insert(vm, self.key_list, at, key)
        lists.insert(vm, self.value_list, at, value)

    def clear(self, vm: ControlMachine) -> None:
        lists.clear(vm, self.key_list)
        lists.clear(vm, self.value_list)
        changed(vm, self, shrunk=True)

    def copied(self, vm: ControlMachine, klass: type) -> DataDictValue:
        keys, values = lists.copied(vm, self.key_list), lists.copied(vm, self.value_list)
        result = DataDictValue(keys, values, klass)
        result.factory = self.factory if issubclass(klass, collections.defaultdict) else None
        return result

    def hash_key(self, vm: ControlMachine) -> Any:  # type: ignore[override]
        raise vm.type_error(f"unhashable type: '{self.klass.__name__}'")


def as_pairs(value: DataDictValue) -> DataListValue:
    """The items as a list, in the variables of the dictionary itself."""
    keys, values = value.key_list.state, value.value_list.state
    form = TupleForm(tuple, (keys.form, values.form))
    return DataListValue(lists.ListState(form, (*keys.vars, *values.vars)))


def is_dict(value: Value) -> bool:
    is_record = isinstance(value, HandleValue) and value.cls is dict
    return is_record or isinstance(value, (DictValue, DataDictValue))


def is_view(value: Value) -> bool:
    """Whether a value is a view of such a dictionary."""
    return isinstance(value, DictViewValue) and isinstance(value.mapping, DataDictValue)


HELD_AS[DictValue] = DataDictValue
