"""The variables of a session for what an attribute may be: made, read at the start of a call, and
written where the program writes.

A `Place` has a variable for each number, tensor, string and list in the forms of an attribute, and
one that says which form it is where there are several.
"""

from __future__ import annotations

import collections
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, assert_never

from ptc.capture.control import kept_entries, lists, strings
from ptc.capture.control.arithmetic import KINDS, operand
from ptc.capture.control.element_forms import LongForm
from ptc.capture.control.homes import storage
from ptc.capture.control.kept_forms import (
    Choice,
    Constant,
    Entries,
    Form,
    Items,
    Number,
    Original,
    Record,
    Row,
    Tensor,
    Words,
    form_of,
    is_simple,
    joined,
    list_form,
)
from ptc.capture.control.list_forms import new_vars, tuple_items
from ptc.capture.control.list_rows import take
from ptc.capture.control.tensors import zeros
from ptc.capture.values.base import Value
from ptc.capture.values.births import BornDict, BornList
from ptc.capture.values.choices import ChoiceValue
from ptc.capture.values.constants import ConstantValue
from ptc.capture.values.containers import DequeValue, ListValue, TupleValue
from ptc.capture.values.data_numbers import DataNumber
from ptc.capture.values.objects import NO_OBJECT, ObjectValue
from ptc.capture.values.torch_tensor import TensorValue
from ptc.graph.control import (
    Assign,
    ListItem,
    ListVar,
    NumberKind,
    NumberVar,
    StateNumber,
    StateReference,
    TensorVar,
    TextVar,
)

if TYPE_CHECKING:
    from ptc.capture.control.machine import ControlMachine


@dataclass(frozen=True, slots=True)
class Held:
    """The variables of one form: its own, and those of its parts."""

    form: Form
    vars: tuple[Any, ...] = ()
    parts: tuple[Place, ...] = ()


@dataclass(frozen=True, slots=True)
class Place:
    """The variables of a choice of forms. Without a selector there is one."""

    held: tuple[Held, ...]
    selector: NumberVar | None

    @property
    def choice(self) -> Choice:
        return tuple(one.form for one in self.held)


class Table:
    """All that a session keeps, but for buffers."""

    def __init__(self, vm: ControlMachine) -> None:
        self._vm = vm
        self.numbers: list[StateNumber] = []
        self.references: list[StateReference] = []
        self._kept_storages: set[int] = set()

    # -- making --------------------------------------------------------------------------------

    def place(self, choice: Choice, path: str, initial: Any = NO_OBJECT) -> Place:
        """`initial` is what a simple attribute is in a new session; others are given theirs by the
        program."""
        kinds = [form for form in choice if isinstance(form, Number)]
        several = sum(not isinstance(form, (Number, Constant)) for form in choice) > 1
        held: list[Held] = []
        for number, form in enumerate(choice):
            label = f"{path}.{number}" if several else path
            if isinstance(form, Number):
                label = path if len(kinds) == 1 else f"{path}.{form.kind.value}"
                first = initial if KINDS.get(type(initial)) is form.kind else None
                held.append(Held(form, (self.number(label, form.kind, first),)))
            else:
                held.append(self._held(form, label))
        if len(choice) == 1:
            return Place(tuple(held), None)
        which = 0 if initial is NO_OBJECT else position(choice, _simple_form(initial))
        return Place(tuple(held), self.number(f"{path}.which", NumberKind.INT, which))

    def number(self, path: str, kind: NumberKind, initial: Any = None) -> NumberVar:
        var = NumberVar(self._name(path), kind)
        self.numbers.append(StateNumber(var, path, _ZEROS[kind] if initial is None else initial))
        return var

    def _held(self, form: Form, path: str) -> Held:
        match form:
            case Words():
                return Held(form, (self._kept(TextVar(self._name(path)), path),))
            case Tensor():
                fake = self._vm.fakes.empty(self._sizes(form), form.dtype, form.device)
                return Held(form, (self._kept(TensorVar(self._name(path), fake), path),))
            case Row():
                made: list[Any] = []
                for number, var in enumerate(new_vars(self._vm, list_form(form.element))):
                    label = f"{path}.{number}" if number else path
                    made.append(self._kept(ListVar(self._name(label), var.element), label))
                return Held(form, tuple(made))
            case Entries():
                return Held(
                    form, (), self._parts(form.parts, path, ("keys", "values")[: len(form.parts)])
                )
            case Items():
                names: Sequence[Any] = getattr(form.klass, "_fields", range(len(form.parts)))
                return Held(form, (), self._parts(form.parts, path, names))
            case Record():
                return Held(form, (), self._parts(form.parts, path, form.names))
            case _:
                return Held(form)

    def _parts(self, parts: Sequence[Choice], path: str, names: Sequence[Any]) -> tuple[Place, ...]:
        pairs = zip(parts, names, strict=True)
        return tuple(self.place(part, f"{path}.{name}") for part, name in pairs)

    def _sizes(self, form: Tensor) -> list[Any]:
        return [self._vm.new_size() if size is None else size for size in form.sizes]

    def _kept(self, var: Any, path: str) -> Any:
        self.references.append(StateReference(var, path))
        return var

    def _name(self, path: str) -> str:
        return self._vm.builder._unique(f"state.{path}")  # pyright: ignore[reportPrivateUsage]

    # -- reading -------------------------------------------------------------------------------

    def load(self, place: Place, original: Value | None) -> Value:
        """The value at the start of a call; writes what copies it. All variables have a value,
        those of forms that it does not have as well."""
        values = [self._value(one, original) for one in place.held]
        if place.selector is None:
            return values[0]
        return ChoiceValue(self._copy(place.selector), tuple(values))

    def _copy(self, var: NumberVar) -> NumberVar:
        copy = NumberVar(self._vm.writer.name("n"), var.kind)
        self._vm.writer.add(Assign(copy, var))
        return copy

    def _value(self, held: Held, original: Value | None) -> Value:
        vm, form = self._vm, held.form
        match form:
            case Number():
                return DataNumber(self._copy(held.vars[0]))
            case Constant():
                return ConstantValue(form.value)
            case Original():
                assert original is not None
                return original
            case Words():
                text = strings.new(vm)
                assert text.var is not None
                vm.writer.add(Assign(text.var, held.vars[0]))
                return text
            case Tensor():
                return self._tensor(held.vars[0])
            case Row():
                return self._list(form, held.vars)
            case Entries(klass, factory, _):
                columns = [self.load(part, None) for part in held.parts]
                return kept_entries.loaded(vm, klass, factory, columns)
            case Items():
                return self._items(form, [self.load(part, None) for part in held.parts])
            case Record():
                value = ObjectValue(form.klass)
                parts = [self.load(part, None) for part in held.parts]
                items = dict(zip(form.names, parts, strict=True))
                value.attrs = BornDict(items, outside=True, owner=value)
                return value
            case _:
                assert_never(form)

    def _tensor(self, var: TensorVar) -> Value:
        vm = self._vm
        # Sizes of its own: the session's variable gets others while the call runs
        sizes = [size if isinstance(size, int) else vm.new_size() for size in var.fake.shape]
        value = vm.new_tensor(sizes, var.fake.dtype, var.fake.device)
        vm.writer.add(Assign(vm.variable(value), var))
        for bind in vm.bindings(vm.variable(value)):
            vm.writer.add(bind)
        vm.lists.shares(value)
        return value

    def _list(self, form: Row, variables: Sequence[ListVar]) -> Value:
        vm = self._vm
        copies = tuple(ListVar(vm.writer.name("l"), var.element) for var in variables)
        for copy, var in zip(copies, variables, strict=True):
            vm.writer.add(Assign(copy, var))
        state = lists.ListState(list_form(form.element), copies)
        value = lists.DataListValue(state, form.klass)
        value.items = BornList([state], outside=True)
        value.maxlen = form.maxlen
        vm.lists.classes.note(state.name, id(value.items), None)
        if form.element is None:  # nothing is ever put in
            vm.journal.put(vm.lists.lengths, state.name, vm.lists.known_length(0))
        return vm.lists.long_tuple(state.form, copies) if form.klass is tuple else value

    @staticmethod
    def _items(form: Items, parts: list[Value]) -> Value:
        if issubclass(form.klass, tuple):
            return TupleValue(parts, form.klass)
        value = (
            DequeValue(parts, form.klass, maxlen=form.maxlen)
            if form.klass is collections.deque
            else ListValue(parts, form.klass)
        )
        value.items = BornList(parts, outside=True)
        return value

    # -- writing -------------------------------------------------------------------------------

    def clear(self, place: Place) -> None:
        """Give each tensor, string and list a value in a new session."""
        vm = self._vm
        for held in place.held:
            for part in held.parts:
                self.clear(part)
            for var in held.vars:
                if isinstance(var, TensorVar):
                    assert isinstance(held.form, Tensor)
                    shape = [size or 0 for size in held.form.sizes]
                    made = zeros(vm, shape, var.fake.dtype, var.fake.device)
                    vm.writer.add(Assign(var, made))
                elif isinstance(var, TextVar):
                    vm.writer.add(Assign(var, vm.text_variable(ConstantValue(""))))
                elif isinstance(var, ListVar):
                    vm.writer.add(ListItem("new", var, ()))

    def store(self, place: Place, value: Value, original: Any = NO_OBJECT) -> None:
        """Write a value that has one of the forms."""
        vm = self._vm
        value = vm.settle(value)
        number = position(place.choice, form_of(vm, value, original))
        self._store(place.held[number], value)
        if place.selector is not None:
            vm.writer.add(Assign(place.selector, number))

    def _store(self, held: Held, value: Value) -> None:
        vm, form = self._vm, held.form
        match form:
            case Number():
                vm.writer.add(Assign(held.vars[0], operand(vm, value)))
            case Words():
                vm.writer.add(Assign(held.vars[0], vm.text_variable(value)))
            case Tensor():
                assert isinstance(value, TensorValue)
                self._kept_storages.add(storage(vm.homes.base(value).fake))
                vm.writer.add(Assign(held.vars[0], vm.lists.tensor(value)))
            case Row():
                for target, source in zip(held.vars, self._row(value, form), strict=True):
                    vm.writer.add(Assign(target, source))
            case Entries():
                columns = kept_entries.columns_to_store(vm, value)
                for part, column in zip(held.parts, columns, strict=True):
                    self.store(part, column)
            case Items():
                items = tuple_items(value) if not isinstance(value, DequeValue) else value.items
                assert items is not None
                for part, item in zip(held.parts, items, strict=True):
                    self.store(part, item)
            case Record():
                assert isinstance(value, ObjectValue)
                for name, part in zip(form.names, held.parts, strict=True):
                    self.store(part, value.attrs[name])
            case Constant() | Original():
                pass
            case _:
                assert_never(form)

    def written_weight(self, names: set[str]) -> str | None:
        """One of these weights that a tensor which is kept may be; None if there is none."""
        homes, pools = self._vm.homes, self._vm.lists.pools()
        reached, pending = set[int](), list(self._kept_storages)
        while pending:
            found = pending.pop()
            if found not in reached and found not in pools:
                reached.add(found)
                pending += homes.shares.get(found, ())
        for value, described in homes.inputs.items():
            written = described.name in names and described.live is not None
            if written and storage(value.fake) in reached:
                return described.name
        return None

    def _row(self, value: Any, row: Row) -> tuple[ListVar, ...]:
        if row.klass is tuple:
            return self._vm.lists.long_variables(LongForm(list_form(row.element)), value)
        return self._as_row(value, row).vars

    def _as_row(self, value: Any, row: Row) -> lists.ListState:
        """The list held by variables of this form from here on: the session has a reference to it,
        so that changes are kept as well."""
        vm, form = self._vm, list_form(row.element)
        if lists.is_state(value.items) and form_of(vm, value) == row:
            return value.state
        items = list(value.items)
        try:
            if lists.is_state(items) and form is not lists.EMPTY:
                lists.require_same_objects(vm, form, items[0].form)
            state = lists.ListState(form, new_vars(vm, form))
        except lists.Unlistable as why:
            raise lists.refusal(vm, why) from None
        if value.source is not None:  # what a new session starts with
            lists.give(vm, state, items)
            return state
        lists.become(vm, value, state)
        same = not lists.is_state(items) or len(items[0].vars) == len(state.vars)
        lists.give(vm, state, items if same else [])
        if not lists.is_state(items):
            take(vm, items)
        return state


def position(choice: Choice, form: Form) -> int:
    """Which of the forms has values of this form; -1: none."""
    for number, known in enumerate(choice):
        if joined((known,), form) == (known,):
            return number
    return -1


def fits(choice: Choice, form: Form) -> bool:
    return position(choice, form) >= 0


def _simple_form(real: Any) -> Form:
    kind = KINDS.get(type(real))
    return Number(kind) if kind is not None else Constant(type(real), real)


def is_plain(place: Place) -> bool:
    """Whether numbers alone are kept."""
    return is_simple(place.choice)


_ZEROS: dict[NumberKind, Any] = {NumberKind.INT: 0, NumberKind.FLOAT: 0.0, NumberKind.BOOL: False}
