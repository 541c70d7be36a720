"""Lists whose length data decides: held by list variables, changed by items.

A list of known elements becomes one in place (`hold`), so that everything that refers to the object
still does. `items` then has one entry, the state: which variables hold it. Operations write items;
what is known of the length is kept in the machine for as long as nothing that may be the same list
changes.
"""

from __future__ import annotations

import collections
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ptc.capture.control.arithmetic import operand
from ptc.capture.control.list_forms import (
    Form,
    NumberForm,
    ObjectForm,
    TensorForm,
    TextForm,
    Unlistable,
    built,
    form_of,
    holds_texts,
    joined,
    leaves,
    new_vars,
    operands,
    text_of,
)
from ptc.capture.control.list_positions import bound, is_empty, length, longer, valid_index
from ptc.capture.control.list_rows import has_rows, row, take
from ptc.capture.control.perhaps import Perhaps
from ptc.capture.errors import GraphBreak
from ptc.capture.polyfills import data_lists
from ptc.capture.values.base import Value
from ptc.capture.values.births import BornList
from ptc.capture.values.constants import ConstantValue, SliceValue
from ptc.capture.values.containers import ListValue, SequenceIterator
from ptc.capture.values.data_numbers import DataNumber
from ptc.capture.values.objects import Instance
from ptc.capture.values.texts import TextValue
from ptc.capture.values.torch_tensor import TensorValue
from ptc.graph.control import (
    Assign,
    Formatted,
    ListItem,
    ListVar,
    NumberKind,
    NumberVar,
    Operand,
    TextItem,
    TextVar,
)
from ptc.graph.symbols import expression_of

if TYPE_CHECKING:
    from ptc.capture.control.machine import ControlMachine

_REMEDY = (
    "keep numbers of one type, or tensors of one dtype and number of dimensions, in a list whose "
    "length data decides"
)


EMPTY = NumberForm(NumberKind.INT)  # of lists that nothing is put in


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
            return converted(vm, self.state, read=True).vars[0]
        if not isinstance(self.state.form, (NumberForm, TensorForm)):
            raise not_printed(self)
        return self.state.vars[0]

    def compare(self, vm: ControlMachine, op: str, other: Value, reflected: bool) -> Value | None:  # type: ignore[override]
        if op in ("==", "!=") and isinstance(other, ListValue) and not other.items:
            return ConstantValue(longer(vm, self, 0) == (op == "!="))
        if not is_list(other):
            return None
        raise GraphBreak(
            "PTC-B006",
            f"{self.describe()} is compared with another list",
            "compare the lengths and the elements in a loop",
        )

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
            raise GraphBreak(
                "PTC-B006",
                f"a slice of {self.describe()} is assigned",
                "build a new list from slices, or assign the elements one by one",
            )
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
            raise GraphBreak(
                "PTC-B006", f"a slice of {self.describe()} is deleted", "build a new list of slices"
            )
        index = valid_index(vm, self, key, f"{self.noun} assignment index out of range")
        pop(vm, self, index)


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


def refusal(why: Unlistable) -> GraphBreak:
    return GraphBreak(
        "PTC-B006", f"a list whose length data decides would hold {why}", _REMEDY
    )  # fmt: skip


# -- becoming one ---------------------------------------------------------------------------------


def common_form(vm: ControlMachine, contents: Sequence[Sequence[Any]]) -> Form | None:
    """The form of lists with these `items`; None if all are empty. Raises Unlistable."""
    form: Form | None = None
    for items in contents:
        for item in items:
            its = item.form if isinstance(item, ListState) else form_of(vm, item)
            form = its if form is None else joined(vm, form, its)
    for items in contents:
        if is_state(items) and form is not None:
            require_same_objects(vm, form, items[0].form)
    return form


def give(vm: ControlMachine, state: ListState, items: Sequence[Any]) -> None:
    """Write what gives `state` the content `items`, known elements or another state."""
    if is_state(items):
        source_state = converted(vm, items[0], state.form)
        for target, source in zip(state.vars, source_state.vars, strict=True):
            if target != source:
                vm.writer.add(Assign(target, source))
        vm.lists.same(state.name, source_state.name)
        return
    sure = next((n for n, item in enumerate(items) if isinstance(item, Perhaps)), len(items))
    rows = [operands(vm, state.form, item) for item in items[:sure]]
    for number, target in enumerate(state.vars):
        vm.writer.add(ListItem("new", target, tuple(row[number] for row in rows)))
    if sure == len(items):
        vm.journal.put(vm.lists.lengths, state.name, vm.lists.known_length(len(items)))
    for item in items[sure:]:
        if isinstance(item, Perhaps):
            item.give(vm, lambda value: _give_one(vm, state, value))
        else:
            _give_one(vm, state, item)


def _give_one(vm: ControlMachine, state: ListState, value: Value) -> None:
    for var, part in zip(state.vars, operands(vm, state.form, value), strict=True):
        vm.writer.add(ListItem("append", None, (var, part)))


def converted(
    vm: ControlMachine, state: ListState, form: Form | None = None, *, read: bool = False
) -> ListState:
    """A list of known strings as one of strings that data decides, for a list of that form: a new
    one, so that nothing else may refer to it unless it is only `read`. Other lists as they are."""
    form = TextForm() if form is None else form
    if not isinstance(form, TextForm) or not isinstance(state.form, ObjectForm):
        return state
    if not read and not vm.lists.alone(state.name):
        raise refusal(Unlistable("strings, some of which data decides, and is in use elsewhere"))
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
    result = DataListValue(ListState(form, new_vars(vm, form)), klass)
    give(vm, result.state, values)
    take(vm, values)
    return result


def hold(vm: ControlMachine, value: Any, others: Sequence[Sequence[Any]] = ()) -> None:
    """Make a list of known elements one that variables hold, wide enough for `others`."""
    if isinstance(value, DataListValue):
        return
    try:
        form = common_form(vm, [value.items, *others])
    except Unlistable as why:
        raise refusal(why) from None
    if form is None:
        form = EMPTY
    items = list(value.items)
    become(vm, value, ListState(form, new_vars(vm, form)))
    give(vm, value.state, items)
    take(vm, items)


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


def widened(vm: ControlMachine, owner: DataListValue, value: Value) -> Value:
    """An element about to be put in: the list is made wide enough for it."""
    state = owner.state
    try:
        its = form_of(vm, value)
    except Unlistable:
        value = vm.settle(value)
        try:
            its = form_of(vm, value)
        except Unlistable as why:
            raise refusal(why) from None
    content: list[Any] = [state]
    try:
        form = joined(vm, state.form, its)
    except Unlistable as why:
        if not is_empty(vm, owner) or not vm.lists.alone(state.name):
            raise refusal(why) from None
        form, content = its, []
    if form is not state.form:
        new = ListState(form, new_vars(vm, form))
        give(vm, new, content)
        count = vm.lists.lengths.get(state.name)
        become(vm, owner, new)
        if count is not None:
            vm.journal.put(vm.lists.lengths, new.name, count)
    return value


# -- new lists from lists -------------------------------------------------------------------------


def sliced(vm: ControlMachine, owner: DataListValue, key: SliceValue) -> Value:
    """`owner[start:stop:step]`, step 1 or -1 over everything."""
    start, stop, step = key.parts
    if owner.noun == "deque":
        raise vm.type_error("sequence index must be integer, not 'slice'")
    one = step.cls is type(None) or (step.is_constant() and step.constant() == 1)
    everything = start.cls is type(None) and stop.cls is type(None)
    if not one:
        if everything and step.is_constant() and step.constant() == -1:
            result = copied(vm, owner)
            reverse(vm, result)
            return result
        raise GraphBreak(
            "PTC-B006",
            f"a slice with a step of {owner.describe()}",
            "take the elements in a loop",
        )
    first = bound(vm, owner, start, ConstantValue(0))
    last = bound(vm, owner, stop, length(vm, owner))
    last = _at_least(vm, last, first)
    return _derived(vm, owner.state, "slice", [operand(vm, first), operand(vm, last)])


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


def between(vm: ControlMachine, owner: DataListValue, before: int, after: int) -> Value:
    """The elements but for some at both ends, which are there."""
    last = vm.binary("-", length(vm, owner), ConstantValue(after))
    return _derived(vm, owner.state, "slice", [before, operand(vm, last)])


def _at_least(vm: ControlMachine, number: Value, least: Value) -> Value:
    if least.is_constant() and least.constant() == 0:
        return number
    if number.is_constant() and least.is_constant():
        return ConstantValue(max(number.constant(), least.constant()))
    return vm.arithmetic("max", [number, least])


def _derived(vm: ControlMachine, state: ListState, op: str, rest: Sequence[Any]) -> DataListValue:
    """A new list by an operation on each of the variables."""
    if has_rows(state.form):
        raise refusal(Unlistable("lists that are in another list too"))
    made = tuple(ListVar(vm.writer.name("l"), var.element) for var in state.vars)
    for number, (target, var) in enumerate(zip(made, state.vars, strict=True)):
        args = [arg.vars[number] if isinstance(arg, ListState) else arg for arg in rest]
        vm.writer.add(ListItem(op, target, (var, *args)))
    return DataListValue(ListState(state.form, made))


def copied(vm: ControlMachine, owner: Any) -> DataListValue:
    result = _derived(vm, owner.state, "copy", [])
    result.klass, result.maxlen = owner.klass, owner.maxlen
    _take_length(vm, result, owner)
    return result


def _take_length(vm: ControlMachine, result: DataListValue, owner: DataListValue) -> None:
    known = vm.lists.lengths.get(owner.state.name)
    if known is not None:
        vm.journal.put(vm.lists.lengths, result.state.name, known)


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
        raise refusal(why) from None
    return make(vm, value.items, form or EMPTY)


# -- elements -------------------------------------------------------------------------------------


def element(vm: ControlMachine, owner: DataListValue, index: Value, op: str = "get") -> Value:
    """The element at a valid index."""
    position = operand(vm, index)
    variables = iter(owner.state.vars)
    found: list[tuple[ListVar, Any]] = []

    def part(leaf: Form) -> Value:
        var = next(variables)
        value = _target(vm, leaf)
        found.append((var, value))
        return value

    def one_row(form: Form, parts: list[Value]) -> Value:
        return ListValue(parts) if op == "pop" else row(vm, owner, index, parts)

    result = built(owner.state.form, part, one_row)
    for var, value in found:
        target = vm.variable(value) if isinstance(value, TensorValue) else value.var
        vm.writer.add(ListItem(op, target, (var, position)))
        if isinstance(value, TensorValue):
            bind_sizes(vm, value)
            vm.lists.shares(value)
    return result


def _target(vm: ControlMachine, leaf: Form) -> Any:
    """A value in a variable of its own for what is read from a list."""
    if isinstance(leaf, TextForm):
        return TextValue((Formatted(TextVar(vm.writer.name("text"))),))
    if not isinstance(leaf, TensorForm):
        kind = leaf.kind if isinstance(leaf, NumberForm) else NumberKind.INT
        return DataNumber(NumberVar(vm.writer.name("n"), kind))
    sizes = [own_size(vm) if size is None else size for size in leaf.sizes]
    return vm.new_tensor(sizes, leaf.dtype, leaf.device)


def own_size(vm: ControlMachine) -> Any:
    """A symbol for a size that is read off an element."""
    size = vm.new_size()
    vm.lists.sizes.add(str(expression_of(size)))
    return size


def bind_sizes(vm: ControlMachine, value: TensorValue) -> None:
    """Give the symbols their values, right after the tensor was assigned."""
    for bind in vm.bindings(vm.variable(value)):
        if bind.symbol in vm.lists.sizes:
            vm.writer.compute(bind)


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
        raise refusal(Unlistable("lists that are in another list too"))
    if not isinstance(other, DataListValue):
        for item in list(other.items):
            owner.append(vm, item)
        return
    content: list[Any] = [owner.state]
    try:
        form = joined(vm, owner.state.form, other.state.form)
    except Unlistable as why:
        if is_empty(vm, other):
            return
        if not is_empty(vm, owner) or not vm.lists.alone(owner.state.name):
            raise refusal(why) from None
        form, content = other.state.form, []
    if owner.maxlen is not None:
        raise GraphBreak("PTC-B006", "a deque with a bound is extended by a list of unknown length")
    try:
        require_same_objects(vm, form, other.state.form)
    except Unlistable as why:
        raise refusal(why) from None
    if form is not owner.state.form:
        new = ListState(form, new_vars(vm, form))
        give(vm, new, content)
        become(vm, owner, new)
    mine, its = vm.lists.lengths.get(owner.state.name), vm.lists.lengths.get(other.state.name)
    source_state = converted(vm, other.state, owner.state.form)
    for var, source in zip(owner.state.vars, source_state.vars, strict=True):
        vm.writer.add(ListItem("extend", None, (var, source)))
    _set_length(vm, owner, None, 0)
    if mine is not None and its is not None:
        vm.journal.put(vm.lists.lengths, owner.state.name, vm.binary("+", mine, its))
    vm.list_changed(owner)  # type: ignore[arg-type]


def require_same_objects(vm: ControlMachine, form: Form, other: Form) -> None:
    """Objects are kept by number: a list that has some keeps their numbers. Raises Unlistable."""
    for mine, its in zip(leaves(form), leaves(other), strict=True):
        if not isinstance(its, ObjectForm) or isinstance(mine, TextForm):
            continue
        assert isinstance(mine, ObjectForm)
        first = mine.alternatives[: len(its.alternatives)]
        pairs = zip(first, its.alternatives, strict=True)
        if not all(vm.same_alternative(a, b) for a, b in pairs):
            raise Unlistable("different objects in two lists")


def _set_length(vm: ControlMachine, owner: DataListValue, count: Value | None, change: int) -> None:
    """The length is another one: what was known of lists that may be the same is void."""
    vm.lists.forget_lengths(owner.state.name)
    if count is not None:
        new = vm.binary("+", count, ConstantValue(change)) if change else count
        vm.journal.put(vm.lists.lengths, owner.state.name, new)
