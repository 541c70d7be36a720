"""Stores: objects of a class of which data decides how many exist, as entries of run-time lists.

A class gets a store when capture has met an object of it where only a list of the IR would do: it
starts again, and every object of the class that the program makes is an entry from then on, known
by its number (`handles`). Each attribute is a list, or several: what all objects have there has one
form, which is learned. An attribute of a kind that was not seen before widens it, in this capture,
which is then no more than a way to learn, and from the beginning in the next one.

Entries are never taken out: an object lives as long as the run.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ptc.capture.control import (
    elements,
    entries,
    generators,
    kept_forms,
    lists,
    records,
    tensors,
)
from ptc.capture.control.dict_methods import call as call_of_containers
from ptc.capture.control.dicts import DataDictValue
from ptc.capture.control.forks import SplitExit
from ptc.capture.control.handles import (
    HandleValue,
    RecordClass,
    Storable,
    handle_of,
    objects_of,
    storable,
)
from ptc.capture.control.kept_entries import CLASSES
from ptc.capture.control.list_elements import element
from ptc.capture.control.list_forms import (
    EMPTY,
    EntriesForm,
    Form,
    ListForm,
    NumberForm,
    ObjectForm,
    OneOfForm,
    TensorForm,
    TextForm,
    Unlistable,
    form_of,
    leaves,
    new_vars,
    united,
)
from ptc.capture.control.list_parts import operands
from ptc.capture.control.lists import DataListValue, ListState
from ptc.capture.control.sets import DataSetValue
from ptc.capture.control.splits import Restart
from ptc.capture.control.states import Place
from ptc.capture.errors import GraphBreak, Raised
from ptc.capture.torch_machine import TorchMachine
from ptc.capture.values.base import Value
from ptc.capture.values.choices import MISSING, ChoiceValue
from ptc.capture.values.constants import ConstantValue
from ptc.capture.values.data_numbers import DataNumber
from ptc.capture.values.mappings import DictValue
from ptc.graph.control import Body, ListItem, ListVar, NumberKind, NumberVar
from ptc.graph.control_operations import type_of_kind

if TYPE_CHECKING:
    from ptc.capture.control.machine import ControlMachine

#: What is put in an attribute is kept as a list is in another one: by reference.
_BY_REFERENCE = ListForm(EMPTY, "")
_UNSET = ObjectForm((MISSING,))
_MOST_APART = 40


@dataclass(slots=True)
class Column:
    """An attribute: the form of what objects have there, and the lists of it."""

    form: Form
    owner: DataListValue


@dataclass(slots=True)
class Store:
    """The objects of a class. `count` has an element for each."""

    klass: type
    count: ListVar
    columns: dict[str, Column] = field(default_factory=dict[str, Column])


@dataclass(slots=True)
class _Making:
    """A call of a class: the object, as soon as there is one."""

    klass: type
    made: HandleValue | None = None


class Stores:
    """The stores of one capture. By the variable of an object and an attribute's name, `assigned`
    says which attributes objects are known to have, and `values` what they are as long as nothing
    is written that may be the same (both are fact tables of the machine)."""

    def __init__(self, vm: ControlMachine) -> None:
        self._vm = vm
        self._stores: dict[type, Store] = {}
        self.assigned: dict[tuple[str, str], bool] = {}
        self.values: dict[tuple[str, str], Value] = {}
        self._open: list[_Making] = []
        self._nothing: dict[Any, Any] = {}
        self._prologue = Body()
        self._apart = 0
        self._unlisted: dict[Storable, None] = {}

    # -- which classes -------------------------------------------------------------------------

    def has(self, klass: type) -> bool:
        return klass in self._vm.state.known.stores

    def reconsider(self, klass: Storable | None) -> None:
        """Start again with a store for this class, or for what is made where a dictionary was, if
        it has none."""
        if isinstance(klass, DictValue):
            if records.learn(self._vm, klass):
                raise Restart
        elif klass is not None and not self.has(klass):
            self._vm.state.found.learn_class(klass)
            raise Restart

    def note_unlisted(self, klass: Storable | None) -> None:
        """No list can have an object of this class, or a dictionary, which a store could have."""
        if klass is not None and (isinstance(klass, DictValue) or not self.has(klass)):
            self._unlisted[klass] = None

    def multiplied(self, ways: int) -> None:
        """Branches whose arms cannot be joined multiply the program. Few may, where a store might
        help."""
        if ways > _MOST_APART:
            self.last_resort()

    def last_resort(self) -> None:
        """Start again with stores, where they might help."""
        for klass in self._unlisted:
            self.reconsider(klass)

    def _of(self, klass: type) -> Store:
        store = self._stores.get(klass)
        if store is None:
            count = ListVar(self._vm.writer.name("l"), NumberKind.INT)
            store = self._stores[klass] = Store(klass, count)
            self._begin([count])
            for name, known in self._vm.state.known.stores[klass].items():
                self._add_column(store, name, kept_forms.list_form(known))
        return store

    def _begin(self, variables: Sequence[ListVar]) -> None:
        """The lists are empty at the start of the program."""
        with self._vm.writer.inside(self._prologue):
            for var in variables:
                self._vm.writer.add(ListItem("new", var, ()))

    def begin(self, root: Body) -> None:
        """Put what makes the lists at the start of the program."""
        root.items[:0] = self._prologue.items
        self._prologue.items.clear()

    # -- making --------------------------------------------------------------------------------

    def make(self, klass: type) -> HandleValue:
        """`object.__new__`"""
        vm, store = self._vm, self._of(klass)
        number = NumberVar(vm.writer.name("n"), NumberKind.INT)
        vm.writer.add(ListItem("length", number, (store.count,)))
        vm.writer.add(ListItem("append", None, (store.count, 0)))
        for column in store.columns.values():
            unset = self._unset(column.form)
            parts = zip(column.owner.state.vars, leaves(column.form), strict=True)
            for place, (var, leaf) in enumerate(parts):
                nothing = unset if place == 0 and unset is not None else self.nothing(leaf)
                vm.writer.add(ListItem("append", None, (var, nothing)))
        made = handle_of(klass, DataNumber(number))
        if isinstance(klass, RecordClass):
            return made  # a column says what it has
        if self._open and self._open[-1].klass is klass and self._open[-1].made is None:
            self._open[-1].made = made
        else:
            self._may_lack(store, None)  # nothing says when it has its attributes
        return made

    def called(self, klass: type, args: list[Value], kwargs: dict[str, Value]) -> Value:
        """A call of the class. Attributes that the object does not have for sure after it may be
        missing from any."""
        making = _Making(klass)
        self._open.append(making)

        def left() -> None:
            self._may_lack(self._of(klass), making.made)

        try:
            with self._vm.catching(left=left):
                result = TorchMachine.instantiate(self._vm, klass, args, kwargs)
        except Raised:
            self._may_lack(self._of(klass), making.made)  # it may be known by another name
            raise
        except SplitExit as split:
            key = Place("dict", self.assigned).key()
            for state in split.outcome.values():
                assigned = state.cells[key][1] if key in state.cells else self.assigned
                self._may_lack(self._of(klass), making.made, assigned)
            raise
        finally:
            self._open.remove(making)
        self._may_lack(self._of(klass), making.made)
        return result

    def _being_made(self) -> list[HandleValue]:
        return [making.made for making in self._open if making.made is not None]

    def _may_lack(
        self, store: Store, made: HandleValue | None, assigned: Mapping[Any, bool] | None = None
    ) -> None:
        """An object may lack the attributes that it is not known to have; without an object, any
        of them."""
        assigned = self.assigned if assigned is None else assigned
        for name, column in store.columns.items():
            if made is None or (made.var.name, name) not in assigned:
                self._widen(store, name, column, _UNSET)

    @staticmethod
    def _unset(form: Form) -> int | None:
        """What says of an attribute that the object does not have it, if it may be so."""
        known = form.known if isinstance(form, OneOfForm) else ()
        known = form.alternatives if isinstance(form, ObjectForm) else known
        return known.index(MISSING) if MISSING in known else None

    def nothing(self, leaf: Form) -> Any:
        """What the list of a part has for an object of which something else says what it has."""
        vm = self._vm
        if isinstance(leaf, NumberForm):
            return type_of_kind(leaf.kind)()
        if not isinstance(leaf, (TextForm, TensorForm, ListForm)):
            return 0
        key = kept_forms.element_of(leaf)
        if key not in self._nothing:
            with vm.writer.inside(self._prologue):
                self._nothing[key] = self._empty(leaf)
        return self._nothing[key]

    def _empty(self, leaf: TextForm | TensorForm | ListForm) -> Any:
        vm = self._vm
        if isinstance(leaf, TextForm):
            return vm.text_variable(ConstantValue(""))
        if isinstance(leaf, TensorForm):
            shape = [size if isinstance(size, int) else 0 for size in leaf.sizes]
            return tensors.zeros(vm, shape, leaf.dtype, leaf.device)
        (var,) = new_vars(vm, leaf.element)
        vm.writer.add(ListItem("new", var, ()))
        return var

    # -- attributes ----------------------------------------------------------------------------

    def read(self, owner: HandleValue, name: str) -> Value | None:
        """An attribute of an object; None if it has none of this name."""
        vm, store = self._vm, self._of(owner.klass)
        column = store.columns.get(name)
        if column is None:
            return None
        key = (owner.var.name, name)
        sure = key in self.assigned
        if not sure and any(map(owner.may_be, self._being_made())):
            self._widen(store, name, column, _UNSET)
        value = self.values.get(key)
        if value is None:
            value = element(vm, column.owner, owner.index)
            vm.journal.put(self.values, key, value)
        if not isinstance(value, ChoiceValue) or MISSING not in value.alternatives:
            return value
        if sure:
            return self._present(value)
        return vm.present(value)

    def _present(self, value: ChoiceValue) -> Value:
        """An attribute that is there."""
        there = [n for n, one in enumerate(value.alternatives) if one is not MISSING]
        self._vm.narrow(value.selector.name, frozenset(there))
        return value.alternatives[there[0]] if len(there) == 1 else value

    def write(self, owner: HandleValue, name: str, value: Value) -> None:
        vm, store = self._vm, self._of(owner.klass)
        if isinstance(owner.klass, RecordClass) and storable(value) is value:
            self.reconsider(value)  # type: ignore[arg-type]
        value = self._held(value)
        try:
            value, its = self._listable(value)
        except Unlistable as why:
            raise _refusal(vm, owner, name, why) from None
        column = store.columns.get(name)
        if column is None:
            column = self._add_column(store, name, its)
            self._learn(store, name, column)
        else:
            self._widen(store, name, column, its)
        parts = operands(vm, column.form, value)
        for var, part in zip(column.owner.state.vars, parts, strict=True):
            vm.writer.add(ListItem("set", None, (var, owner.var, part)))
        key = (owner.var.name, name)
        vm.journal.put(self.assigned, key, True)
        self.forget(name)
        vm.journal.put(self.values, key, value)

    def forget(self, name: str | None = None) -> None:
        """The attributes of this name, or all, are not known any more."""
        rest = {key: known for key, known in self.values.items() if name not in (None, key[1])}
        if len(rest) != len(self.values):
            self._vm.journal.replace_dict(self.values, rest)

    def names(self, owner: HandleValue) -> list[str]:
        """The attributes that an object has."""
        names = list(self._of(owner.klass).columns)
        return [name for name in names if self.read(owner, name) is not None]

    def attributes(self, klass: type) -> tuple[str, ...]:
        """What objects of a class have, in the order in which they get it."""
        return tuple(self._of(klass).columns)

    def definite(self, value: Value) -> Value:
        """A value without choices where no list could keep it. Writes nothing."""
        try:
            self.form_of(value)
        except Unlistable:
            return elements.definite_parts(self._vm, value)
        return value

    def _listable(self, value: Value) -> tuple[Value, Form]:
        """A value, without choices where no list could keep it, with its form."""
        try:
            return value, self.form_of(value)
        except Unlistable:
            value = elements.definite_parts(self._vm, value)
            return value, self.form_of(self._held(value))

    def _held(self, value: Value) -> Value:
        """A dictionary or set is held by variables from here on; of a set, whose names have to
        agree, the order is not known any more."""
        vm = self._vm
        if entries.holdable(value) and value.source is None:
            if isinstance(value, DictValue):
                value.load_all(vm)
            if value.klass in CLASSES and not value.attrs:  # type: ignore[attr-defined]
                for column in entries.become(vm, value):
                    lists.hold(vm, column)
        if isinstance(value, DataSetValue) and value.history is not None:
            vm.journal.assign(value, entries.HISTORY, None)
        return value

    def form_of(self, value: Value) -> Form:
        """The form of an attribute."""
        if not isinstance(value, (DataDictValue, DataSetValue)):
            return form_of(self._vm, value, _BY_REFERENCE)
        factory = getattr(value, "factory", None)
        parts = [ListForm(one.state.form, one.state.name) for one in self.columns(value)]
        real = None if factory is None else factory.real()
        return EntriesForm(value.klass, real, tuple(parts))

    @staticmethod
    def columns(value: Any) -> list[DataListValue]:
        """The lists of a dictionary or set that variables hold."""
        return entries.lists_in(entries.content_of(value))

    def entries(self, form: EntriesForm, columns: list[Any]) -> Value:
        """The dictionary or set of these lists."""
        if form.klass is set:
            return DataSetValue(columns[0], columns[1], None)
        made = DataDictValue(columns[0], columns[1], form.klass)
        made.factory = None if form.factory is None else self._vm.wrap_fixed(form.factory)
        return made

    # -- forms ---------------------------------------------------------------------------------

    def column(self, klass: type, name: Any) -> Column | None:
        """The lists of what the objects of a class have by a name."""
        return self._of(klass).columns.get(name)

    def _add_column(self, store: Store, name: str, form: Form) -> Column:
        column = store.columns[name] = Column(form, self._lists(form))
        return column

    def _lists(self, form: Form) -> DataListValue:
        state = ListState(form, new_vars(self._vm, form))
        self._begin(state.vars)
        return DataListValue(state)

    def _widen(self, store: Store, name: str, column: Column, its: Form) -> None:
        try:
            form = united(self._vm, column.form, its)
        except Unlistable as why:
            raise _column_refusal(store.klass, name, str(why)) from None
        if form is not column.form:
            column.form = form
            column.owner = self._lists(form)
            self._learn(store, name, column)

    def _learn(self, store: Store, name: str, column: Column) -> None:
        """Capture starts again, at the latest at its end, with attributes that are wide enough."""
        try:
            known = kept_forms.element_of(column.form)
        except kept_forms.Unkept as why:
            raise _column_refusal(store.klass, name, str(why)) from None
        self._vm.state.found.learn_attribute(store.klass, name, known)


def _refusal(vm: ControlMachine, owner: HandleValue, name: str, why: Unlistable) -> GraphBreak:
    """Raises Restart where another store, or lists in lists as references, would do."""
    vm.lists.references.reconsider(why.by_reference, why.mixed)
    vm.lists.stores.reconsider(why.klass)
    return _column_refusal(owner.klass, name, str(why))


def _column_refusal(klass: type, name: str, what: str) -> GraphBreak:
    return GraphBreak(
        "PTC-B006",
        f"{'key' if isinstance(klass, RecordClass) else 'attribute'} {name!r} of "
        f"{objects_of(klass)}, of which data decides how many exist, would hold {what}",
        "keep numbers, strings, tensors, None, objects made in the program, and lists, tuples and "
        "dictionaries of these in it",
    )


def new_instance(vm: ControlMachine, cls: type) -> Value:
    """See `Machine.new_instance`."""
    if vm.lists.stores.has(cls):
        return vm.lists.stores.make(cls)
    return TorchMachine.new_instance(vm, cls)


def instantiate(
    vm: ControlMachine, cls: type, args: list[Value], kwargs: dict[str, Value]
) -> Value:
    """See `Machine.instantiate`."""
    found = generators.taking_call(vm, cls, args, kwargs)
    if found is None:
        found = call_of_containers(vm, cls, args, kwargs)
    if found is not None:
        return found
    if vm.lists.stores.has(cls):
        return vm.lists.stores.called(cls, args, kwargs)
    return TorchMachine.instantiate(vm, cls, args, kwargs)
