"""Keys in run-time lists: where a key is among those of a dictionary or set whose number of entries
data decides, and what known entries become when variables hold them.

Equality is that of dictionaries. Keys of a list have one form, so that of two numbers of different
types only a bool is looked for among ints.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from ptc.capture.control import keys
from ptc.capture.control.arithmetic import is_number, number_kind, operand
from ptc.capture.control.handles import HandleValue
from ptc.capture.control.list_forms import (
    Form,
    HandleForm,
    NumberForm,
    ObjectForm,
    TextForm,
    TupleForm,
    leaves,
    new_vars,
    text_of,
    tuple_items,
)
from ptc.capture.control.list_positions import is_empty, length, longer
from ptc.capture.control.lists import DataListValue
from ptc.capture.control.perhaps import Perhaps
from ptc.capture.errors import GraphBreak
from ptc.capture.values.base import IdentityKey, Value
from ptc.capture.values.choices import MISSING, ChoiceValue, may_be_missing
from ptc.capture.values.constants import ConstantValue
from ptc.capture.values.containers import ListValue
from ptc.capture.values.data_numbers import DataNumber
from ptc.capture.values.texts import is_text
from ptc.graph.control import ListItem, ListVar, NumberKind, NumberVar, TextItem, Var

if TYPE_CHECKING:
    from ptc.capture.control.machine import ControlMachine

_ABSENT = ConstantValue(-1)
_ZERO = ConstantValue(0)
Column = tuple[ListVar, Any]


class HeldByKeys:
    """What dictionaries and sets whose number of entries data decides answer by their keys."""

    __slots__ = ()

    @property
    def key_list(self) -> DataListValue:
        raise NotImplementedError

    def length(self, vm: Any) -> Value:
        return length(vm, self.key_list)

    def truth(self, vm: Any) -> bool:
        return longer(vm, self.key_list, 0)

    def contains(self, vm: Any, item: Value) -> Value:
        return is_there(vm, find(vm, self.key_list, item))


def find(vm: ControlMachine, owner: DataListValue, key: Value) -> Value:
    """The position of a key in a list of keys, -1 if it is not there."""
    key = hashable(vm, key)
    if is_empty(vm, owner):
        return _ABSENT
    columns = _columns(vm, owner.state.form, iter(owner.state.vars), key)
    if columns is None:
        return _ABSENT
    known = vm.lists.found.get(_memo(columns))
    if known is None:
        target = NumberVar(vm.writer.name("n"), NumberKind.INT)
        vm.writer.add(ListItem("find", target, tuple(part for pair in columns for part in pair)))
        known = DataNumber(target)
        vm.journal.put(vm.lists.found, _memo(columns), known)
    return known


def _memo(columns: list[Column]) -> tuple[Any, ...]:
    return tuple(
        part.name if isinstance(part, Var) else repr(part) for pair in columns for part in pair
    )


def is_there(vm: ControlMachine, position: Value) -> Value:
    """Whether `find` has found something, as a bool that data may decide."""
    return vm.compare(">=", position, _ZERO)


def hashable(vm: ControlMachine, key: Value) -> Value:
    """The key without choices between values of several kinds; raises TypeError for one that
    cannot be hashed."""
    if isinstance(key, ChoiceValue) and not all(map(_is_name, key.alternatives)):
        key = vm.settle(key)
    if isinstance(key, (ListValue, DataListValue)):
        raise vm.type_error(f"unhashable type: '{key.cls.__name__}'")
    if not isinstance(key, ChoiceValue) and not keys.decided_by_data(key):
        hashed = vm.hash_key(key)
        if hashed != hashed:
            raise refusal("a NaN")
    return key


def _is_name(value: Value) -> bool:
    """Whether an object is known by what it is: no number and no container."""
    return (
        isinstance(value, ConstantValue)
        and not is_number(value)
        and not isinstance(value.value, (tuple, frozenset))
    )


def refusal(what: str) -> GraphBreak:
    return GraphBreak(
        "PTC-B006",
        f"{what} is a key of a dictionary or set whose number of entries data decides",
        "use numbers of one type, strings, or tuples of these as keys",
    )


def _columns(
    vm: ControlMachine, form: Form, variables: Iterator[ListVar], key: Value
) -> list[Column] | None:
    """What has to be found in each of the variables; None if no key of this form is equal."""
    if isinstance(form, TupleForm):
        return _tuple_columns(vm, form, variables, key)
    var = next(variables)
    if isinstance(form, NumberForm):
        return _number_column(vm, form, var, key)
    if isinstance(form, TextForm):
        return [(var, vm.text_variable(key))] if is_text(key) else None
    if isinstance(form, ObjectForm):
        return _object_column(vm, form, var, key)
    if isinstance(form, HandleForm) and form.klass.__hash__ is object.__hash__:
        if not isinstance(key, HandleValue) or key.klass is not form.klass:
            return None
        return [(var, key.var)]
    raise refusal(f"one of {text_of(form)}")


def _tuple_columns(
    vm: ControlMachine, form: TupleForm, variables: Iterator[ListVar], key: Value
) -> list[Column] | None:
    items = None if isinstance(key, ListValue) else tuple_items(key)
    if form.klass is list:
        raise refusal("a list")
    if items is None or len(items) != len(form.parts):
        return None
    columns: list[Column] | None = []
    for part, item in zip(form.parts, items, strict=True):
        mine = [next(variables) for _ in leaves(part)]
        found = _columns(vm, part, iter(mine), vm.settle(item))
        columns = None if found is None or columns is None else [*columns, *found]
    return columns


def _number_column(
    vm: ControlMachine, form: NumberForm, var: ListVar, key: Value
) -> list[Column] | None:
    if not is_number(key):
        return None
    kind = number_kind(key)
    if kind is NumberKind.BOOL and form.kind is NumberKind.INT:
        key = vm.call(vm.class_value(int), [key])
    elif kind is not form.kind:
        raise refusal(f"a number of type {kind.value} beside ones of type {form.kind.value}")
    return [(var, operand(vm, key))]


def _object_column(
    vm: ControlMachine, form: ObjectForm, var: ListVar, key: Value
) -> list[Column] | None:
    known = form.alternatives
    if not all(map(_is_name, known)) and not all(map(_is_identity(vm), known)):
        raise refusal(f"one of {text_of(form)}")
    if is_text(key) and not isinstance(key, (ConstantValue, ChoiceValue)):
        if not all(map(is_text, known)):
            return None
        return [(_texts(vm, var, known), vm.text_variable(key))]
    parts = key.alternatives if isinstance(key, ChoiceValue) else (key,)
    places = [_place(vm, known, part) for part in parts]
    if not isinstance(key, ChoiceValue):
        return None if places[0] is None else [(var, places[0])]
    if None in places:
        return _object_column(vm, form, var, vm.settle(key))
    return [(var, vm.renumbered(key, [place for place in places if place is not None]))]


def _is_identity(vm: ControlMachine) -> Any:
    return lambda value: isinstance(vm.hash_key(value), IdentityKey)


def _place(vm: ControlMachine, known: Iterable[Value], key: Value) -> int | None:
    return next((i for i, one in enumerate(known) if vm.same_alternative(one, key)), None)


def _texts(vm: ControlMachine, var: ListVar, known: Iterable[Value]) -> ListVar:
    """A list of known strings as one of strings that data decides."""
    (made,) = new_vars(vm, TextForm())
    vm.writer.add(TextItem("choose", made, (var, *(one.constant() for one in known))))
    return made


def required(vm: ControlMachine, owner: DataListValue, key: Value) -> Value:
    """The position of a key that has to be there; raises KeyError."""
    position = find(vm, owner, key)
    if not vm.truth(is_there(vm, position)):
        raise vm.raised(KeyError, [key])
    return position


# -- known entries --------------------------------------------------------------------------------


def columns_of(entries: dict[Any, Any], width: int) -> tuple[list[Any], ...]:
    """The keys and the values of known entries of a dictionary, or the elements of a set, as items
    of `width` lists."""
    columns: tuple[list[Any], ...] = tuple([] for _ in range(width))
    for entry in entries.values():
        row = entry if isinstance(entry, tuple) else (entry,)
        content = row[-1]
        if content is MISSING:
            continue
        if may_be_missing(content):
            there = _without_missing(content)
            row = tuple(Perhaps(there if part is content else part, content) for part in row)
        for column, part in zip(columns, row, strict=True):
            column.append(part)
    return columns


def _without_missing(content: ChoiceValue) -> Value:
    """The value of an entry where it is there."""
    there = [one for one in content.alternatives if one is not MISSING]
    if len(there) == 1:
        return there[0]
    filled = tuple(there[0] if one is MISSING else one for one in content.alternatives)
    return ChoiceValue(content.selector, filled)
