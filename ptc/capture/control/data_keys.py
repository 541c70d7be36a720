"""Keys in run-time lists: where a key is among those of a dictionary or set whose number of entries
data decides, and what known entries become when variables hold them.

Equality is that of dictionaries. Keys have one form, or several of which no two have equal keys, so
that of two numbers of different types only a bool is looked for among ints.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from ptc.capture.control import keys
from ptc.capture.control.arithmetic import is_number, number_kind, operand
from ptc.capture.control.element_forms import (
    EMPTY,
    Form,
    HandleForm,
    LongForm,
    NumberForm,
    ObjectForm,
    OneOfForm,
    TextForm,
    TupleForm,
    disjoint,
    distinct,
    leaves,
    text_of,
)
from ptc.capture.control.handles import HandleValue
from ptc.capture.control.list_forms import Unlistable, form_of, joined, new_vars, tuple_items
from ptc.capture.control.list_positions import is_empty, length, longer
from ptc.capture.control.lists import DataListValue
from ptc.capture.control.perhaps import Perhaps
from ptc.capture.errors import GraphBreak
from ptc.capture.values.base import IdentityKey, Value
from ptc.capture.values.choices import MISSING, ChoiceValue, may_be_missing
from ptc.capture.values.constants import ConstantValue
from ptc.capture.values.containers import ListValue, LongTupleValue, TupleValue
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
    if isinstance(form, LongForm):
        return _long_columns(vm, form, variables, key)
    if isinstance(form, OneOfForm):
        return _columns_of_several(vm, form, variables, vm.settle(key))
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
    if form.klass is list:
        raise refusal("a list")
    items = _items(vm, key, len(form.parts))
    if items is None or len(items) != len(form.parts):
        return None
    columns: list[Column] | None = []
    for part, item in zip(form.parts, items, strict=True):
        mine = [next(variables) for _ in leaves(part)]
        found = _columns(vm, part, iter(mine), vm.settle(item))
        columns = None if found is None or columns is None else [*columns, *found]
    return columns


def _items(vm: ControlMachine, key: Value, count: int) -> list[Value] | None:
    """The elements of a key that is a tuple of so many; None for others."""
    if isinstance(key, LongTupleValue):
        if not vm.truth(vm.compare("==", vm.length(key), ConstantValue(count))):
            return None
        return [key.elements.element(vm, ConstantValue(place)) for place in range(count)]
    return None if isinstance(key, ListValue) else tuple_items(key)


def _long_columns(
    vm: ControlMachine, form: LongForm, variables: Iterator[ListVar], key: Value
) -> list[Column] | None:
    """Of tuples of any length: each list has one for each of them."""
    mine = [next(variables) for _ in leaves(form)]
    if not distinct(form):
        raise refusal(f"a tuple with one of {text_of(form.element)}")
    if isinstance(key, LongTupleValue):
        its = key.elements.state.form
        if its is not EMPTY and not _fits(vm, form.element, its):
            if vm.truth(vm.compare("!=", vm.length(key), _ZERO)):
                return None
            key = TupleValue([])
    else:
        items = None if isinstance(key, ListValue) else tuple_items(key)
        if items is None:
            return None
        items = [_as_element(vm, form.element, vm.settle(item)) for item in items]
        if not all(_fits(vm, form.element, form_of(vm, item)) for item in items):
            return None
        key = TupleValue(items)
    return list(zip(mine, vm.lists.long_variables(form, key), strict=True))


def _fits(vm: ControlMachine, form: Form, its: Form) -> bool:
    """Whether what has one form has the other as well; if not, nothing of the one is equal to
    anything of the other."""
    try:
        if form is not EMPTY and joined(vm, form, its) is form:
            return True
    except Unlistable:
        pass
    if form is not EMPTY and not disjoint(form, its):
        raise refusal(f"a tuple of {text_of(its)} beside one of {text_of(form)}")
    return False


def _as_element(vm: ControlMachine, form: Form, item: Value) -> Value:
    """A bool among ints is one of them."""
    as_int = form == NumberForm(NumberKind.INT) and item.cls is bool
    return vm.call(vm.class_value(int), [item]) if as_int else item


def _columns_of_several(
    vm: ControlMachine, form: OneOfForm, variables: Iterator[ListVar], key: Value
) -> list[Column] | None:
    """Of keys of several forms: which of them it is, and what it is."""
    if not distinct(form) or not all(map(_is_name, form.known)):
        raise refusal(f"one of {text_of(form)}")
    which = next(variables)
    place = _place(vm, form.known, key)
    columns: list[Column] = []
    for number, part in enumerate(form.parts, len(form.known)):
        mine = [next(variables) for _ in leaves(part)]
        found = _columns(vm, part, iter(mine), key) if place is None else None
        if found is None:
            nothing = map(vm.lists.stores.nothing, leaves(part))
            columns += zip(mine, nothing, strict=True)
        else:
            place = number
            columns += found
    return None if place is None else [(which, place), *columns]


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
