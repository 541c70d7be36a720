"""What dictionaries and sets have in common whose number of entries data decides: their content is
two run-time lists, from the moment on in which they become such: keys and values, or elements and
the table of the set.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ptc.capture.control import data_keys, lists, set_order
from ptc.capture.control.keys import DataKey, decided_by_data, is_long
from ptc.capture.control.lists import DataListValue
from ptc.capture.control.questions import NumberTruth
from ptc.capture.values.base import IdentityKey, Value
from ptc.capture.values.births import born
from ptc.capture.values.constants import ConstantValue
from ptc.capture.values.containers import ListValue
from ptc.capture.values.data_numbers import DataNumber
from ptc.capture.values.set_history import GROWN, History

if TYPE_CHECKING:
    from ptc.capture.control.machine import ControlMachine

_MOST_DATA_KEYS = 2  # of known entries
HISTORY = "history"
_ITS_OWN: Any = object()
#: Where a container has its lists: like no key.
KEYS, VALUES = IdentityKey(ConstantValue("keys")), IdentityKey(ConstantValue("values"))
#: The class of a container of known entries -> that of one whose number of entries data decides.
HELD_AS: dict[type, type] = {}


def known_truth(vm: ControlMachine, test: Value) -> Any:
    """A bool, or the number where data decides it. What is known is asked nevertheless, as it may
    be the question that this arm is the answer to."""
    if not isinstance(test, DataNumber):
        return bool(test.constant())
    question = NumberTruth(test)
    return test if question.known(vm) is None else vm.choose(question) == 0


def changed(vm: ControlMachine, owner: Any, *, grown: bool = False, shrunk: bool = False) -> None:
    """Note for iterators, and for whoever keeps the container, that it changed."""
    for iterator in vm.lists.iterators.values():
        iterator.note(vm, owner, grown, shrunk)
    note_change(vm, owner)


def note_change(vm: ControlMachine, owner: Any) -> None:
    """See `Machine.entries_changed`."""
    vm.effects.changed(owner)
    if is_container(owner):
        vm.state.changed(owner)


def is_held(entries: dict[Any, Any]) -> bool:
    """Whether these are the `entries`, or `elements`, of a container that variables hold."""
    return KEYS in entries


def holdable(owner: Any) -> bool:
    """Whether a dictionary or set can become one that variables hold."""
    known = type(owner) in HELD_AS and owner.klass is not frozenset
    return known and getattr(owner, "complete", True) and not getattr(owner, "trusted", False)


def content_of(owner: Any) -> dict[Any, Any]:
    return owner.entries if hasattr(owner, "entries") else owner.elements


def columns_of(
    owner: Any, entries: dict[Any, Any], history: Any = _ITS_OWN
) -> tuple[list[Any], ...]:
    """Known entries of a container as items of the lists that it would be of. `history`: of a set,
    where it is not the one that it has now."""
    if hasattr(owner, "entries"):
        return data_keys.columns_of(entries, 2)
    known = owner.history if history is _ITS_OWN else history
    table = set_order.table_items(known, list(entries.values()))
    return (*data_keys.columns_of(entries, 1), table)


def history_of(owner: Any) -> History | None:
    """What is known of the order of a set once variables hold it; of a dictionary, nothing."""
    return GROWN if set_order.is_known(getattr(owner, "history", None)) else None


def note_birth(vm: ControlMachine, value: Any) -> None:
    """An instruction has left this on top of the stack."""
    if type(value) is ListValue:
        vm.lists.references.born(value.items)
    elif type(value) in HELD_AS:
        vm.lists.references.born(content_of(value))


def columns_as_lists(
    vm: ControlMachine, owner: Any, entries: dict[Any, Any], history: Any = _ITS_OWN
) -> list[ListValue]:
    """The lists that a container of known entries would be of."""
    made = [ListValue(items) for items in columns_of(owner, entries, history)]
    for number, column in enumerate(made):
        vm.lists.references.part(column, content_of(owner), number)
    return made


def become(vm: ControlMachine, owner: Any) -> list[ListValue]:
    """Note that a container is of lists from now on; the lists, of known elements yet."""
    entries = content_of(owner)
    made = columns_as_lists(vm, owner, entries)
    for column in made:
        column.items.born = born(entries)  # type: ignore[attr-defined]
        vm.lists.columns[id(column.items)] = (column.items, entries)
    vm.journal.replace_dict(entries, dict(zip((KEYS, VALUES), made, strict=True)))
    if hasattr(owner, HISTORY):
        vm.journal.assign(owner, HISTORY, history_of(owner))
    vm.journal.assign(owner, "__class__", HELD_AS[type(owner)])
    return made


def hold(vm: ControlMachine, owner: Any, *entry: Value) -> bool:
    """Make a container with several keys that data decides one that variables hold, before one more
    is put in, as each is compared with all others; and one with tuples of unknown length before the
    first. False where lists cannot have its content."""
    known = content_of(owner)
    few = sum(isinstance(key, DataKey) for key in known) < _MOST_DATA_KEYS
    if (few and not is_long(entry[0])) or not holdable(owner):
        return False
    if not decided_by_data(entry[0]):
        return False
    try:
        for column, part in zip(columns_of(owner, known), entry, strict=False):
            lists.common_form(vm, [[*column, part]])
    except lists.Unlistable:
        return False
    for number, column in enumerate(become(vm, owner)):
        lists.hold(vm, column, [[*entry[number : number + 1]]])
    return True


def is_container(value: Any) -> bool:
    """Whether a value is a dictionary or set that variables hold, or may become one."""
    return type(value) in HELD_AS.values() or holdable(value)


def alike(values: Sequence[Any]) -> bool:
    """Whether one container can stand for all of these."""
    first = values[0]
    return all(map(is_container, values)) and all(
        value.klass is first.klass
        and not value.attrs
        and getattr(value, "factory", None) is getattr(first, "factory", None)
        for value in values
    )


def like(models: Sequence[Any], columns: list[DataListValue]) -> Any:
    """A container of a model's class with the content of lists, which is that of any of them."""
    model = models[0]
    made = held_class(model)(*columns)
    made.klass = model.klass
    if hasattr(model, HISTORY) and not all(map(has_known_order, models)):
        made.history = None
    if hasattr(model, "factory"):
        made.factory = model.factory
    return made


def has_data_keys(entries: dict[Any, Any]) -> bool:
    return any(isinstance(key, DataKey) for key in entries)


def lists_in(entries: dict[Any, Any]) -> list[DataListValue]:
    """The lists of a container that variables hold."""
    return [entries[name] for name in (KEYS, VALUES) if name in entries]


def has_known_order(owner: Any) -> bool:
    """Whether the order of a set is known; a dictionary has that of insertion."""
    return not hasattr(owner, HISTORY) or set_order.is_known(owner.history)


def is_dropped(vm: ControlMachine, items: Any) -> bool:
    """Whether a list was one of a container that has none now, or others: the state went back."""
    _, content = vm.lists.columns.get(id(items), (None, None))
    return content is not None and all(one.items is not items for one in lists_in(content))


def held_class(owner: Any) -> type:
    """The class of a container that variables hold, or came to hold."""
    return HELD_AS.get(type(owner), type(owner))
