"""Dictionaries with known keys of which data decides how many exist: records, which are entries in
a store as objects of a class are (`stores`).

A place that makes a dictionary which only a run-time list could have is learned: capture starts
again, and what is made there is a record from the beginning. Each key is a column of the store, and
so is `ORDER`: which keys a record has, in order. That is one of few, and is asked for like any
value that is one of several.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ptc.capture.control.dicts import is_dict
from ptc.capture.control.handles import HandleValue, Keys, RecordClass, storable
from ptc.capture.errors import GraphBreak
from ptc.capture.values.base import Value
from ptc.capture.values.births import born
from ptc.capture.values.constants import ConstantValue
from ptc.capture.values.dict_slots import KeyChanges
from ptc.capture.values.mappings import DictIterator, DictValue

if TYPE_CHECKING:
    from ptc.capture.control.machine import ControlMachine
    from ptc.capture.interpreter.frame import Frame


class _Order:
    """The column of the keys: like no key."""

    def __repr__(self) -> str:
        return "the keys"


ORDER: Any = _Order()
_ABSENT: Any = object()


class RecordValue(HandleValue):
    """The dictionary with this number."""

    __slots__ = ()

    @property
    def cls(self) -> type:
        return dict

    def describe(self) -> str:
        return "a dictionary, of which data decides how many exist"

    def attribute(self, vm: ControlMachine, name: str) -> Value | None:  # type: ignore[override]
        return None

    def set_attribute(self, vm: ControlMachine, name: str, value: Value) -> None:  # type: ignore[override]
        raise vm.attribute_error(self, name)

    def delete_attribute(self, vm: ControlMachine, name: str) -> None:  # type: ignore[override]
        raise vm.attribute_error(self, name)

    def attribute_names(self, vm: ControlMachine) -> list[str]:  # type: ignore[override]
        return []

    def hash_key(self, vm: ControlMachine) -> Any:  # type: ignore[override]
        raise vm.type_error("unhashable type: 'dict'")

    # -- reading -------------------------------------------------------------------------------

    @property
    def _changes(self) -> KeyChanges:
        return self.klass.changes  # type: ignore[attr-defined]

    def names(self, vm: ControlMachine) -> tuple[Any, ...]:
        """The keys that it has, in order."""
        order = vm.lists.stores.read(self, ORDER)
        assert order is not None
        return vm.settle(order).constant().names

    def read(self, vm: ControlMachine, name: Any) -> Value:
        """What it has under a key that is there."""
        found = vm.lists.stores.read(self, name)
        assert found is not None
        return found

    def _place(self, vm: ControlMachine, key: Value) -> Any:
        """The key that is equal to this one, if there is one."""
        known: dict[Any, tuple[Value, Value]] = {}
        for name in map(vm.wrap_fixed, self.names(vm)):
            known[vm.hash_key(name)] = (name, name)
        entry = known.get(vm.key_in(known, key))
        return _ABSENT if entry is None else entry[0].constant()

    def find(self, vm: ControlMachine, key: Value) -> Value | None:
        """The value under `key`, None if absent."""
        name = self._place(vm, key)
        return None if name is _ABSENT else self.read(vm, name)

    def known(self, vm: ControlMachine) -> DictValue:
        """A dictionary of its own with what this one has now."""
        made: dict[Any, tuple[Value, Value]] = {}
        for name in self.names(vm):
            key = vm.wrap_fixed(name)
            made[vm.hash_key(key)] = (key, self.read(vm, name))
        return DictValue(made)

    def length(self, vm: ControlMachine) -> Value:  # type: ignore[override]
        return ConstantValue(len(self.names(vm)))

    def truth(self, vm: ControlMachine) -> bool:  # type: ignore[override]
        return bool(self.names(vm))

    def contains(self, vm: ControlMachine, item: Value) -> Value:  # type: ignore[override]
        return ConstantValue(self._place(vm, item) is not _ABSENT)

    def getitem(self, vm: ControlMachine, key: Value) -> Value:  # type: ignore[override]
        found = self.find(vm, key)
        if found is None:
            raise vm.raised(KeyError, [key])
        return found

    def iterate(self, vm: ControlMachine) -> Value:  # type: ignore[override]
        return self.iterator(vm, "keys")

    def iterator(self, vm: ControlMachine, kind: str, backward: bool = False) -> Value:
        return RecordIterator(self, kind, backward).start(vm)  # type: ignore[arg-type]

    def compare(self, vm: ControlMachine, op: str, other: Value, reflected: bool) -> Value | None:  # type: ignore[override]
        if op not in ("==", "!=") or not is_dict(other):
            return None
        its = other.known(vm) if isinstance(other, RecordValue) else other
        return vm.compare(op, self.known(vm), its)

    # -- changing ------------------------------------------------------------------------------

    def setitem(self, vm: ControlMachine, key: Value, value: Value) -> None:  # type: ignore[override]
        name = self._place(vm, key)
        value = vm.lists.stores.definite(value)
        if name is _ABSENT:
            if not key.is_constant():
                raise GraphBreak(
                    "PTC-B006",
                    f"{self.describe()}, gets a key that data decides",
                    "give such dictionaries keys that are known",
                )
            name = key.constant()
            self._changes.add(name)
            self._set_names(vm, (*self.names(vm), name))
        vm.lists.stores.write(self, name, value)

    def _set_names(self, vm: ControlMachine, names: Sequence[Any]) -> None:
        vm.lists.stores.write(self, ORDER, ConstantValue(Keys.of(names)))

    def add(self, vm: ControlMachine, key: Value, value: Value) -> Value:
        """Put in an entry that is not there. Gives its value as it is in there."""
        self.setitem(vm, key, value)
        return self.getitem(vm, key)

    def delitem(self, vm: ControlMachine, key: Value) -> None:  # type: ignore[override]
        self.take(vm, key)

    def take(self, vm: ControlMachine, key: Value, default: Value | None = None) -> Value:
        """`pop`"""
        name = self._place(vm, key)
        if name is _ABSENT:
            if default is None:
                raise vm.raised(KeyError, [key])
            return default
        found = self.read(vm, name)
        self._changes.take(name)
        self._set_names(vm, [one for one in self.names(vm) if one != name])
        return found

    def take_last(self, vm: ControlMachine) -> Value:
        """`popitem`"""
        names = self.names(vm)
        if not names:
            raise vm.exception(KeyError, "popitem(): dictionary is empty")
        key = vm.wrap_fixed(names[-1])
        self._changes.reused = True
        return vm.tuple([key, self.take(vm, key)])

    def clear(self, vm: ControlMachine) -> None:
        self._changes.reused = True
        self._set_names(vm, ())

    def copied(self, vm: ControlMachine, klass: type) -> DictValue:
        return self.known(vm)


RecordClass.handle = RecordValue


class RecordIterator(DictIterator):
    """Over a record's keys, values or items."""

    __slots__ = ()

    @property
    def _record(self) -> RecordValue:
        return self.mapping  # type: ignore[return-value]

    def _now(self, vm: ControlMachine) -> tuple[Any, ...]:  # type: ignore[override]
        return self._record.names(vm)

    def _changes(self) -> KeyChanges:
        return self._record.klass.changes  # type: ignore[attr-defined]

    def _pair(self, vm: ControlMachine, key: Any) -> tuple[Value, Value]:  # type: ignore[override]
        return vm.wrap_fixed(key), self._record.read(vm, key)

    def _require_followed(self) -> None:
        """A record stays one."""


# -- becoming one ---------------------------------------------------------------------------------


def learn(vm: ControlMachine, value: DictValue) -> bool:
    """Note that dictionaries are records that are made where this one was. Whether that is new."""
    site = vm.lists.references.birth_of(value.entries)
    if site is None or site in vm.state.known.records:
        return False
    names = [key.constant() for key, _ in value.entries.values()]
    vm.state.found.learn_record(site, Keys.of(names))
    return True


def replace_made(vm: ControlMachine, frame: Frame, since: int) -> None:
    """A dictionary on top of the stack that the instruction has made, which began at this time, is
    a record from here on, if that was learned of the place: nothing else refers to it yet."""
    value: Any = frame.stack[-1]
    if type(value) is not DictValue or born(value) < since:
        return
    references = vm.lists.references
    klass = vm.state.known.records.get(references.here())
    if klass is None or references.birth_of(value.entries) is not None:
        return
    if storable(value) is value:
        frame.stack[-1] = _made(vm, value, klass)


def _made(vm: ControlMachine, value: DictValue, klass: RecordClass) -> RecordValue:
    stores = vm.lists.stores
    vm.settle_presence(value.entries)
    # Whatever is to be asked is asked before anything is written
    pairs = [(key.constant(), stores.definite(one)) for key, one in value.entries.values()]
    record = stores.make(klass)
    assert isinstance(record, RecordValue)
    stores.write(record, ORDER, ConstantValue(Keys.of([name for name, _ in pairs])))
    for name, one in pairs:
        stores.write(record, name, one)
    return record
