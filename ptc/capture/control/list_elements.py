"""Elements of lists that variables hold, read into variables of their own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ptc.capture.control.arithmetic import operand
from ptc.capture.control.element_forms import (
    EMPTY,
    WHICH,
    EntriesForm,
    Form,
    HandleForm,
    ListForm,
    LongForm,
    NumberForm,
    ObjectForm,
    OneOfForm,
    TensorForm,
    TextForm,
    TupleForm,
    leaves,
)
from ptc.capture.control.handles import handle_of
from ptc.capture.control.list_rows import row
from ptc.capture.values.base import Value
from ptc.capture.values.choices import ChoiceValue
from ptc.capture.values.containers import ListValue, TupleValue
from ptc.capture.values.data_numbers import DataNumber
from ptc.capture.values.texts import TextValue
from ptc.capture.values.torch_tensor import TensorValue
from ptc.graph.control import Formatted, ListItem, ListVar, NumberKind, NumberVar, TextVar
from ptc.graph.symbols import expression_of

if TYPE_CHECKING:
    from ptc.capture.control.lists import DataListValue
    from ptc.capture.control.machine import ControlMachine


@dataclass(frozen=True, slots=True)
class _Parts:
    """How an element is made of parts: `leaf` gives the value of the next leaf, `row` makes a list
    of a known length, `reference` gives the list that the next leaves are, `long` the tuple of any
    length, `entries` a dictionary or set of its lists; `number` notes which one a tensor is."""

    leaf: Callable[[Form], Value]
    row: Callable[[TupleForm, list[Value]], Value]
    reference: Callable[[ListForm], Value]
    long: Callable[[LongForm], Value]
    entries: Callable[[EntriesForm, list[Value]], Value]
    number: Callable[[Any, Any], None]


def _built(form: Form, parts: _Parts) -> Value:
    """An element from its parts."""
    if isinstance(form, TupleForm):
        items = [_built(part, parts) for part in form.parts]
        return parts.row(form, items) if form.klass is list else TupleValue(items, form.klass)
    if isinstance(form, ListForm):
        return parts.reference(form)
    if isinstance(form, LongForm):
        return parts.long(form)
    if isinstance(form, EntriesForm):
        return parts.entries(form, [_built(part, parts) for part in form.parts])
    if isinstance(form, OneOfForm):
        which = parts.leaf(WHICH)
        assert isinstance(which, DataNumber)
        return ChoiceValue(which.var, (*form.known, *(_built(part, parts) for part in form.parts)))
    found = parts.leaf(form)
    if isinstance(form, TensorForm) and form.numbered:
        parts.number(found, parts.leaf(WHICH))
    if isinstance(form, HandleForm):
        assert isinstance(found, DataNumber)
        return handle_of(form.klass, found)
    if isinstance(form, ObjectForm):
        assert isinstance(found, DataNumber)
        return ChoiceValue(found.var, form.alternatives)
    return found


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

    def reference(form: ListForm) -> Value:
        made = _referred(vm, form, variables, found)
        vm.lists.same(made[0].name, form.group)
        return vm.lists.reference(form.element, made)

    def long(form: LongForm) -> Value:
        made = _referred(vm, form, variables, found)
        return vm.lists.long_tuple(form.element, made)

    def number(tensor: TensorValue, which: DataNumber) -> None:
        vm.homes.identities.numbers[tensor] = which.var

    if owner.state.form is EMPTY:
        vm.not_supported("an element of a list that nothing is put in")
    made = _Parts(part, one_row, reference, long, vm.lists.stores.entries, number)
    result = _built(owner.state.form, made)
    for var, value in found:
        target = value if isinstance(value, ListVar) else _variable_of(vm, value)
        vm.writer.add(ListItem(op, target, (var, position)))
        if isinstance(value, TensorValue):
            bind_sizes(vm, value)
            vm.lists.shares(value)
    return result


def _referred(
    vm: ControlMachine,
    form: ListForm | LongForm,
    variables: Iterator[ListVar],
    found: list[Any],
) -> tuple[ListVar, ...]:
    """The variables of a list that is read from another one, or of a tuple's."""
    made: list[ListVar] = []
    for _ in leaves(form):
        var = next(variables)
        assert isinstance(var.element, ListVar)
        made.append(ListVar(vm.writer.name("l"), var.element.element))
        found.append((var, made[-1]))
    return tuple(made)


def _variable_of(vm: ControlMachine, value: Any) -> Any:
    return vm.variable(value) if isinstance(value, TensorValue) else value.var


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
