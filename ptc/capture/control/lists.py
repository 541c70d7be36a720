"""Lists whose length data decides: held by list variables, changed by items.

A list of known elements becomes one in place (`hold`), so that everything that refers to the object
still does. `items` then has one entry, the state: which variables hold it. Operations write items;
what is known of the length is kept in the machine for as long as nothing that may be the same list
changes.
"""

from __future__ import annotations

import collections
import operator
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ptc.capture.control import list_slices, set_order
from ptc.capture.control.arithmetic import operand
from ptc.capture.control.list_elements import element
from ptc.capture.control.list_forms import (
    EMPTY,
    Form,
    ListForm,
    NumberForm,
    ObjectForm,
    TensorForm,
    TextForm,
    Unlistable,
    form_of,
    holds_texts,
    joined,
    new_vars,
    require_same_objects,
    same_form,
    text_of,
)
from ptc.capture.control.list_parts import operands
from ptc.capture.control.list_positions import bound, is_empty, length, longer, valid_index
from ptc.capture.control.list_rows import has_rows, one_row, take
from ptc.capture.control.list_slices import copied, sliced
from ptc.capture.control.perhaps import Perhaps, Placed
from ptc.capture.errors import GraphBreak
from ptc.capture.polyfills import data_lists
from ptc.capture.values.base import Value
from ptc.capture.values.births import BornList
from ptc.capture.values.constants import ConstantValue, SliceValue
from ptc.capture.values.containers import ListValue, SequenceIterator
from ptc.capture.values.data_numbers import DataNumber
from ptc.capture.values.objects import Instance
from ptc.graph.control import (
    Assign,
    ListItem,
    ListVar,
    NumberKind,
    NumberVar,
    Operand,
    TextItem,
)

if TYPE_CHECKING:
    from ptc.capture.control.machine import ControlMachine

_REMEDY = (
    "keep numbers of one type, or tensors of one dtype and number of dimensions, in a list whose "
    "length data decides"
)


class ListState(Value):
    """The content of a list: elements of a form, in one variable for each leaf."""

    __slots__ = ("form", "vars")

    def __init__(self, form: Form, variables: tuple[ListVar, ...]) -> None:
        self.source = None
        self.form = form
        self.vars = variables

    @property
    def name(self) -> str:
        return self.vars[0].name


class DataListValue(Instance):
    """A list or deque whose length data decides. Has the layout of a SequenceValue: one becomes the
    other by an assignment to `__class__`."""

    __slots__ = ("items", "maxlen")

    def __init__(self, state: ListState, klass: type = list) -> None:
        super().__init__(klass)
        self.items: list[Any] = BornList([state], outside=False)
        self.maxlen: int | None = None

    @property
    def state(self) -> ListState:
        return self.items[0]

    def describe(self) -> str:
        return f"a {self.klass.__name__} whose length data decides"

    @property
    def noun(self) -> str:
        return "deque" if issubclass(self.klass, collections.deque) else "list"

    # -- reading -------------------------------------------------------------------------------

    def length(self, vm: ControlMachine) -> Value:  # type: ignore[override]
        return length(vm, self)

    def truth(self, vm: ControlMachine) -> bool:  # type: ignore[override]
        return longer(vm, self, 0)

    def iterate(self, vm: ControlMachine) -> Value:  # type: ignore[override]
        return SequenceIterator(self)  # type: ignore[arg-type]

    def element(self, vm: ControlMachine, position: Value) -> Value:
        """The element at a position that is in range."""
        return element(vm, self, position)

    def getitem(self, vm: ControlMachine, key: Value) -> Value:  # type: ignore[override]
        if isinstance(key, SliceValue):
            return sliced(vm, self, key)
        return element(vm, self, valid_index(vm, self, key, f"{self.noun} index out of range"))

    def binary(self, vm: ControlMachine, op: str, other: Value, reflected: bool) -> Value | None:  # type: ignore[override]
        if op != "+" or not is_list(other):
            return None
        return added(vm, [other, self] if reflected else [self, other])

    def contains(self, vm: ControlMachine, item: Value) -> Value:  # type: ignore[override]
        return vm.call(vm.wrap_fixed(data_lists.contains), [self, item])

    def text_variable(self, vm: ControlMachine) -> ListVar:
        """The variable to format or to return."""
        if holds_texts(self.state.form):
            return converted(vm, self.state).vars[0]
        if not self.is_plain:
            raise not_printed(self)
        return self.state.vars[0]

    @property
    def is_plain(self) -> bool:
        """Whether one variable has all of it."""
        innermost = self.state.form
        while isinstance(innermost, ListForm):
            innermost = innermost.element
        plain = isinstance(innermost, (NumberForm, TensorForm, TextForm))
        return plain or holds_texts(self.state.form)

    def compare(self, vm: ControlMachine, op: str, other: Value, reflected: bool) -> Value | None:  # type: ignore[override]
        if op in ("==", "!=") and isinstance(other, ListValue) and not other.items:
            return ConstantValue(longer(vm, self, 0) == (op == "!="))
        if not is_list(self) or not is_list(other):
            return None
        left, right = (other, self) if reflected else (self, other)
        if op in ("==", "!="):
            equal = vm.call(vm.wrap_fixed(data_lists.equal), [left, right])
            return equal if op == "==" else _not(vm, equal)
        if op in (">", "<="):
            left, right = right, left
        less = vm.call(vm.wrap_fixed(data_lists.less), [left, right])
        return less if op in ("<", ">") else _not(vm, less)

    # -- changing ------------------------------------------------------------------------------

    def append(self, vm: ControlMachine, value: Value) -> None:
        if self.maxlen is not None:
            if self.maxlen == 0:
                return
            if longer(vm, self, self.maxlen - 1):
                pop(vm, self, ConstantValue(0))
        insert(vm, self, None, value)

    def setitem(self, vm: ControlMachine, key: Value, value: Value) -> None:  # type: ignore[override]
        if isinstance(key, SliceValue):
            list_slices.assigned(vm, self, key, value)
            return
        index = valid_index(vm, self, key, f"{self.noun} assignment index out of range")
        value = widened(vm, self, value)
        position = operand(vm, index)
        for var, part in zip(self.state.vars, operands(vm, self.state.form, value), strict=True):
            vm.writer.add(ListItem("set", None, (var, position, part)))
        vm.lists.forget_rows(self.state.name)
        take(vm, [value])
        vm.list_changed(self)  # type: ignore[arg-type]

    def delitem(self, vm: ControlMachine, key: Value) -> None:  # type: ignore[override]
        if isinstance(key, SliceValue):
            list_slices.deleted(vm, self, key)
            return
        index = valid_index(vm, self, key, f"{self.noun} assignment index out of range")
        pop(vm, self, index)


def _not(vm: ControlMachine, value: Value) -> Value:
    return vm.call(vm.wrap_fixed(operator.not_), [value])


def not_printed(owner: DataListValue) -> GraphBreak:
    return GraphBreak(
        "PTC-B011",
        f"{owner.describe()} is printed or returned, and holds {text_of(owner.state.form)}",
        "use one list for each part, of numbers or of tensors",
    )


def is_list(value: Value) -> bool:
    """Whether a value is a plain list, of known or unknown length."""
    return isinstance(value, (ListValue, DataListValue)) and value.klass is list


def is_state(items: Sequence[Any]) -> bool:
    """Whether these are the `items` of a list that variables hold."""
    return len(items) == 1 and isinstance(items[0], ListState)


def refusal(vm: ControlMachine, why: Unlistable) -> GraphBreak:
    """Raises Restart where lists in lists as references, or objects in stores, would do."""
    vm.lists.references.reconsider(why.by_reference, why.mixed)
    vm.lists.stores.reconsider(why.klass)
    return GraphBreak(
        "PTC-B006", f"a list whose length data decides would hold {why}", _REMEDY
    )  # fmt: skip


def one_list(vm: ControlMachine, one: Value, other: Value) -> bool | None:
    """`is` of lists that variables hold; None for all else."""
    if not isinstance(one, DataListValue) or not isinstance(other, DataListValue):
        return one_row(vm, one, other)
    first, second = one.state, other.state
    if one is other or first is second:
        return True
    classes = vm.lists.classes
    if classes.of(first.name) is not classes.of(second.name):
        return False
    if not same_form(vm, first.form, second.form):
        return False
    key = ("one list", first.name, second.name)
    known = vm.computed.get(key)
    if known is None:
        known = DataNumber(NumberVar(vm.writer.name("n"), NumberKind.BOOL))
        vm.writer.add(ListItem("same", known.var, (first.vars[0], second.vars[0])))
        vm.journal.put(vm.computed, key, known)
    return vm.truth(known)


# -- becoming one ---------------------------------------------------------------------------------


def common_form(vm: ControlMachine, contents: Sequence[Sequence[Any]]) -> Form | None:
    """The form of lists with these `items`; None if all are empty. Raises Unlistable."""
    form: Form | None = None
    # What variables hold first: of several kinds, it has numbered them
    for items in sorted(contents, key=lambda items: not is_state(items)):
        for item in items:
            its = item.form if isinstance(item, ListState) else form_of(vm, item, form)
            form = its if form is None else joined(vm, form, its)
    for items in contents:
        if is_state(items) and form is not None:
            vm.lists.references.require_same_leaves(items[0], form)
            form = with_same_objects(vm, form, items[0].form)
    return form


def with_same_objects(vm: ControlMachine, form: Form, other: Form) -> Form:
    """The form of a list with the elements of another one, which may number its objects in another
    way: strings are then kept as such. Raises Unlistable."""
    try:
        require_same_objects(vm, form, other)
    except Unlistable:
        if not holds_texts(form) or not holds_texts(other):
            raise
        return TextForm()
    return form


def new_state(vm: ControlMachine, form: Form, owner: Any) -> ListState:
    """New variables for the list of an object."""
    state = ListState(form, new_vars(vm, form))
    place = vm.lists.references.site_of(owner)
    vm.lists.classes.note(state.name, id(owner.items), place)
    return state


def placed(vm: ControlMachine, state: ListState, klass: type = list) -> DataListValue:
    """A list that was made here, and that nothing else refers to."""
    result = DataListValue(state, klass)
    site = vm.lists.references.here()
    vm.lists.classes.note(state.name, id(result.items), site)
    form = vm.lists.references.form_at(site, state.form)
    assert form is not None
    if form is not state.form and not same_form(vm, form, state.form):
        replace(vm, result, form, [state])
    return result


def replace(vm: ControlMachine, owner: Any, form: Form, items: Sequence[Any]) -> None:
    """Give a list new variables, with these `items`, and note that it has them from now on."""
    new = new_state(vm, form, owner)
    count = vm.lists.lengths.get(owner.state.name) if is_state(owner.items) else None
    give(vm, new, items)
    become(vm, owner, new)
    if count is not None:
        vm.journal.put(vm.lists.lengths, new.name, count)


def give(vm: ControlMachine, state: ListState, items: Sequence[Any]) -> None:
    """Write what gives `state` the content `items`, known elements or another state."""
    if is_state(items):
        vm.lists.references.require_alike(state, items[0])
        if items[0].form is EMPTY and state.form is not EMPTY:
            items = []
    if is_state(items):
        source_state = converted(vm, items[0], state.form)
        for target, source in zip(state.vars, source_state.vars, strict=True):
            if target != source:
                vm.writer.add(Assign(target, source))
        vm.lists.same(state.name, source_state.name)
        return
    later = (n for n, item in enumerate(items) if isinstance(item, (Perhaps, Placed)))
    sure = next(later, len(items))
    rows = [operands(vm, state.form, item) for item in items[:sure]]
    for number, target in enumerate(state.vars):
        vm.writer.add(ListItem("new", target, tuple(row[number] for row in rows)))
    if sure == len(items):
        vm.journal.put(vm.lists.lengths, state.name, vm.lists.known_length(len(items)))
    for item in items[sure:]:
        if isinstance(item, Perhaps):
            item.give(vm, lambda value: _give_one(vm, state, value))
        elif isinstance(item, Placed):
            set_order.give(vm, state.vars[0], item)
        else:
            _give_one(vm, state, item)


def _give_one(vm: ControlMachine, state: ListState, value: Value) -> None:
    for var, part in zip(state.vars, operands(vm, state.form, value), strict=True):
        vm.writer.add(ListItem("append", None, (var, part)))


def converted(vm: ControlMachine, state: ListState, form: Form | None = None) -> ListState:
    """A list of known strings as one of strings that data decides, for a list of that form: a new
    one, which nothing that was put in the other later is in. Other lists as they are."""
    form = TextForm() if form is None else form
    if not isinstance(form, TextForm) or not isinstance(state.form, ObjectForm):
        return state
    made = ListState(form, new_vars(vm, form))
    texts = [alternative.constant() for alternative in state.form.alternatives]
    vm.writer.add(TextItem("choose", made.vars[0], (state.vars[0], *texts)))
    return made


def as_texts(vm: ControlMachine, owner: DataListValue) -> DataListValue | None:
    """The list for what reads its strings; None if it does not hold strings alone."""
    if is_empty(vm, owner) and not holds_texts(owner.state.form):
        return make(vm, [], TextForm())
    if not holds_texts(owner.state.form):
        return None
    state = converted(vm, owner.state)
    return owner if state is owner.state else DataListValue(state)


def make(vm: ControlMachine, values: Sequence[Value], form: Form, klass: type = list) -> Any:
    """A new list of known elements, held by variables."""
    state = ListState(form, new_vars(vm, form))
    give(vm, state, values)
    take(vm, values)
    return placed(vm, state, klass)


def hold(
    vm: ControlMachine,
    value: Any,
    others: Sequence[Sequence[Any]] = (),
    wide: Form | None = None,
) -> None:
    """Make a list of known elements one that variables hold, wide enough for `others`."""
    if isinstance(value, DataListValue):
        return
    try:
        form = common_form(vm, [value.items, *others])
        form = vm.lists.references.form_at(vm.lists.references.site_of(value), form) or EMPTY
        if wide is not None:
            form = joined(vm, wide, form)
    except Unlistable as why:
        raise refusal(vm, why) from None
    items = list(value.items)
    name = vm.lists.references.name_of(value)
    replace(vm, value, form, items)
    vm.lists.same(value.state.name, name)
    take(vm, items)


def hold_numbers(vm: ControlMachine, value: Any, most: int) -> bool:
    """Hold a list of more known numbers by variables, if it is one."""
    if not isinstance(value, ListValue) or value.klass is not list or value.attrs:
        return False
    if len(value.items) <= most or not all(map(vm.is_number, value.items)):
        return False
    if value.source is not None or len({item.cls for item in value.items}) > 1:
        return False
    hold(vm, value)
    return True


def become(vm: ControlMachine, value: Any, state: ListState) -> None:
    """Note that the list is in this state from now on."""
    vm.lists.changed(value)
    vm.journal.replace_list(value.items, [state])
    if type(value) is not DataListValue:
        vm.journal.assign(value, "__class__", DataListValue)


def holdable(value: Any) -> bool:
    return isinstance(value, (ListValue, DataListValue)) and (
        value.klass in (list, collections.deque) and not value.attrs
    )


def definite(vm: ControlMachine, owner: Any, value: Value) -> Value:
    """The value that goes into a list, without a choice where no list could have that."""
    try:
        form_of(vm, value, owner.state.form if is_state(owner.items) else None)
    except Unlistable:
        return vm.settle(value)
    return value


def widened(vm: ControlMachine, owner: DataListValue, value: Value) -> Value:
    """An element about to be put in: the list is made wide enough for it."""
    state = owner.state
    try:
        its = form_of(vm, value, state.form)
    except Unlistable:
        value = vm.settle(value)
        try:
            its = form_of(vm, value, state.form)
        except Unlistable as why:
            raise refusal(vm, why) from None
    widen(vm, owner, its)
    return value


def widen(vm: ControlMachine, owner: DataListValue, its: Form) -> None:
    """Make a list wide enough for elements of a form."""
    state = owner.state
    content: list[Any] = [state]
    try:
        form = joined(vm, state.form, its)
    except Unlistable as why:
        if not is_empty(vm, owner) or not vm.lists.alone(state.name):
            raise refusal(vm, why) from None
        form, content = its, []
    if form is state.form:
        return
    if not vm.lists.alone(state.name):
        vm.lists.references.learn([state.name], form)
    replace(vm, owner, form, content)


# -- new lists from lists -------------------------------------------------------------------------


def slice_by_data(vm: ControlMachine, obj: Value, key: Value) -> Value | None:
    """A slice of a list of known elements with bounds that data decides; None for all else."""
    if not isinstance(key, SliceValue) or not isinstance(obj, ListValue) or not is_list(obj):
        return None
    if not any(isinstance(part, DataNumber) for part in key.parts):
        return None
    if key.parts[2].cls is not type(None):
        return None
    try:
        form = common_form(vm, [obj.items])
    except Unlistable:
        return None
    return sliced(vm, make(vm, obj.items, form or EMPTY), key)


def added(vm: ControlMachine, parts: list[Value]) -> Value:
    """`a + b`"""
    result = as_held(vm, parts[0], parts[1:])
    if result is parts[0]:
        result = copied(vm, result)
    extend(vm, result, parts[1])
    return result


def as_held(vm: ControlMachine, value: Any, others: Sequence[Any] = ()) -> Any:
    """A list that variables hold with the value's content: itself if it is one, else a new one."""
    if isinstance(value, DataListValue):
        return value
    try:
        form = common_form(vm, [value.items, *(other.items for other in others)])
    except Unlistable as why:
        raise refusal(vm, why) from None
    return make(vm, value.items, form or EMPTY)


# -- changes --------------------------------------------------------------------------------------


def insert(vm: ControlMachine, owner: DataListValue, index: Value | None, value: Value) -> None:
    """Put an element in at an index, or at the end. The index may be any."""
    value = widened(vm, owner, value)
    position: list[Operand] = []
    if index is not None:
        position.append(operand(vm, bound(vm, owner, index, index)))
    count = vm.lists.lengths.get(owner.state.name)
    op = "append" if index is None else "insert"
    for var, part in zip(owner.state.vars, operands(vm, owner.state.form, value), strict=True):
        vm.writer.add(ListItem(op, None, (var, *position, part)))
    take(vm, [value])
    if index is not None:
        vm.lists.forget_rows(owner.state.name)
    _set_length(vm, owner, count, 1)
    vm.list_changed(owner)  # type: ignore[arg-type]


def pop(vm: ControlMachine, owner: DataListValue, index: Value) -> Value:
    count = length(vm, owner)
    result = element(vm, owner, index, "pop")
    vm.lists.forget_rows(owner.state.name)
    _set_length(vm, owner, count, -1)
    vm.list_changed(owner)  # type: ignore[arg-type]
    return result


def clear(vm: ControlMachine, owner: DataListValue) -> None:
    for var in owner.state.vars:
        vm.writer.add(ListItem("clear", None, (var,)))
    vm.lists.forget_rows(owner.state.name)
    _set_length(vm, owner, vm.lists.known_length(0), 0)
    vm.list_changed(owner)  # type: ignore[arg-type]


def reverse(vm: ControlMachine, owner: DataListValue) -> None:
    for var in owner.state.vars:
        vm.writer.add(ListItem("reverse", None, (var,)))
    vm.lists.forget_rows(owner.state.name)
    vm.list_changed(owner)  # type: ignore[arg-type]


def extend(vm: ControlMachine, owner: DataListValue, other: Any) -> None:
    """Put in all elements of another list."""
    if isinstance(other, DataListValue) and has_rows(other.state.form):
        raise refusal(vm, Unlistable("lists that are in another list too", by_reference=True))
    if not isinstance(other, DataListValue):
        for item in list(other.items):
            owner.append(vm, item)
        return
    if is_empty(vm, other):
        return
    if owner.maxlen is not None:
        raise GraphBreak("PTC-B006", "a deque with a bound is extended by a list of unknown length")
    widen(vm, owner, other.state.form)
    vm.lists.references.require_same_leaves(other.state, owner.state.form)
    try:
        widen(vm, owner, with_same_objects(vm, owner.state.form, other.state.form))
    except Unlistable as why:
        raise refusal(vm, why) from None
    vm.lists.references.require_same_references(owner.state.form, other.state.form)
    mine, its = vm.lists.lengths.get(owner.state.name), vm.lists.lengths.get(other.state.name)
    source_state = converted(vm, other.state, owner.state.form)
    for var, source in zip(owner.state.vars, source_state.vars, strict=True):
        vm.writer.add(ListItem("extend", None, (var, source)))
    _set_length(vm, owner, None, 0)
    if mine is not None and its is not None:
        vm.journal.put(vm.lists.lengths, owner.state.name, vm.binary("+", mine, its))
    vm.list_changed(owner)  # type: ignore[arg-type]


def _set_length(vm: ControlMachine, owner: DataListValue, count: Value | None, change: int) -> None:
    """The length is another one: what was known of lists that may be the same is void."""
    vm.lists.forget_lengths(owner.state.name)
    if count is not None:
        new = vm.binary("+", count, ConstantValue(change)) if change else count
        vm.journal.put(vm.lists.lengths, owner.state.name, new)
