"""What the elements of a list whose length data decides have in common: their form.

A form says how one element is kept in variables of the IR: each leaf of it is a list of numbers or
of tensors, so a list of tuples is kept as parallel lists. Elements that are one of a few known
objects (strings, None, layers) are kept as their position among them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch

from ptc.capture.control.arithmetic import is_number, number_kind, operand
from ptc.capture.control.perhaps import Perhaps
from ptc.capture.values.base import Value
from ptc.capture.values.choices import ChoiceValue
from ptc.capture.values.constants import ConstantValue
from ptc.capture.values.containers import ListValue, TupleValue
from ptc.capture.values.data_numbers import DataNumber
from ptc.capture.values.texts import is_made, is_text
from ptc.capture.values.torch_tensor import TensorValue
from ptc.graph.control import ListVar, NumberKind, NumberVar
from ptc.graph.symbols import symbols_of

if TYPE_CHECKING:
    from ptc.capture.control.machine import ControlMachine


class Unlistable(Exception):
    """Values that no list of the IR can hold together."""


@dataclass(frozen=True, slots=True)
class NumberForm:
    kind: NumberKind


@dataclass(frozen=True, slots=True)
class TensorForm:
    """Tensors of one dtype and rank. A size is None where each element may have its own."""

    sizes: tuple[Any, ...]
    dtype: torch.dtype
    device: torch.device


@dataclass(frozen=True, slots=True)
class TextForm:
    """Strings that data decides."""


@dataclass(frozen=True, slots=True)
class ObjectForm:
    """One of these objects."""

    alternatives: tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class TupleForm:
    """Tuples of one length; with `klass` list, lists of a length that does not change."""

    klass: type
    parts: tuple[Form, ...]


Form = NumberForm | TensorForm | TextForm | ObjectForm | TupleForm


def form_of(vm: ControlMachine, value: Value | Perhaps) -> Form:
    """The form of one element."""
    if isinstance(value, Perhaps):
        if value.kind is not None:
            return NumberForm(value.kind)
        value = value.distinct(vm)
    if is_number(value):
        return NumberForm(number_kind(value))
    if isinstance(value, TensorValue):
        return _tensor_form(vm, value)
    if is_made(value) and is_text(value):
        return TextForm()
    parts = tuple_items(value)
    if parts is not None:
        if not parts:
            raise Unlistable("empty tuples or lists")
        klass = value.klass if isinstance(value, (TupleValue, ListValue)) else tuple
        forms = tuple(form_of(vm, part) for part in parts)
        if any(isinstance(form, TupleForm) and _holds_lists(form) for form in forms):
            raise Unlistable("lists within tuples or lists")
        return TupleForm(klass, forms)
    known = value.alternatives if isinstance(value, ChoiceValue) else (value,)
    for alternative in known:
        lasts = isinstance(alternative, ConstantValue) or alternative.source is not None
        if not lasts or is_number(alternative) or isinstance(alternative, TensorValue):
            raise Unlistable(alternative.describe())
    return ObjectForm(known)


def _holds_lists(form: Form) -> bool:
    inside = form.parts if isinstance(form, TupleForm) else ()
    return bool(inside) and (form.klass is list or any(map(_holds_lists, inside)))  # type: ignore[union-attr]


def tuple_items(value: Value) -> list[Value] | None:
    if isinstance(value, TupleValue):
        return value.items
    if isinstance(value, ListValue) and value.klass is list and not value.attrs:
        return value.items
    if isinstance(value, ConstantValue) and type(value.value) is tuple:
        return [ConstantValue(part) for part in value.value]
    return None


def _tensor_form(vm: ControlMachine, value: TensorValue) -> TensorForm:
    if value.attrs:
        raise Unlistable(f"{value.describe()} with attributes")
    lasting = vm.fakes.dims.keys()
    sizes = [size if symbols_of(size) <= lasting else None for size in value.fake.shape]
    return TensorForm(tuple(sizes), value.fake.dtype, value.fake.device)


def joined(vm: ControlMachine, one: Form, other: Form) -> Form:
    """The form of a list with elements of both; `one` itself if that is enough."""
    if isinstance(one, NumberForm) and isinstance(other, NumberForm):
        if one.kind is not other.kind:
            raise Unlistable(f"numbers of types {one.kind.value} and {other.kind.value}")
        return one
    if holds_texts(one) and holds_texts(other) and TextForm() in (one, other):
        return one if isinstance(one, TextForm) else TextForm()
    if isinstance(one, TensorForm) and isinstance(other, TensorForm):
        return _joined_tensors(vm, one, other)
    if isinstance(one, TupleForm) and isinstance(other, TupleForm):
        if one.klass is not other.klass or len(one.parts) != len(other.parts):
            raise Unlistable("tuples or lists of different lengths")
        pairs = zip(one.parts, other.parts, strict=True)
        parts = tuple(joined(vm, mine, its) for mine, its in pairs)
        if all(a is b for a, b in zip(parts, one.parts, strict=True)):
            return one
        return TupleForm(one.klass, parts)
    if isinstance(one, ObjectForm) and isinstance(other, ObjectForm):
        known = list(one.alternatives)
        for value in other.alternatives:
            if not any(vm.same_alternative(value, have) for have in known):
                known.append(value)
        return one if len(known) == len(one.alternatives) else ObjectForm(tuple(known))
    raise Unlistable(f"{text_of(one)} and {text_of(other)}")


def holds_texts(form: Form) -> bool:
    """Whether all elements are strings."""
    if isinstance(form, ObjectForm):
        return all(map(is_text, form.alternatives))
    return isinstance(form, TextForm)


def _joined_tensors(vm: ControlMachine, one: TensorForm, other: TensorForm) -> TensorForm:
    if one.dtype is not other.dtype or one.device != other.device:
        raise Unlistable(f"{text_of(one)} and {text_of(other)}")
    if len(one.sizes) != len(other.sizes):
        raise Unlistable(
            f"tensors with {len(one.sizes)} and with {len(other.sizes)} dimensions"
        )  # fmt: skip
    sizes = tuple(
        mine if mine is None or (its is not None and vm.same_size(mine, its)) else None
        for mine, its in zip(one.sizes, other.sizes, strict=True)
    )
    kept = all(a is b for a, b in zip(sizes, one.sizes, strict=True))
    return one if kept else TensorForm(sizes, one.dtype, one.device)


def text_of(form: Form) -> str:
    """For messages."""
    if isinstance(form, NumberForm):
        return f"{form.kind.value} numbers"
    if isinstance(form, TextForm):
        return "strings"
    if isinstance(form, TensorForm):
        return f"{str(form.dtype).removeprefix('torch.')} tensors"
    if isinstance(form, TupleForm):
        return "lists" if form.klass is list else "tuples"
    return form.alternatives[0].describe()


def leaves(form: Form) -> Iterator[Form]:
    """The parts that have a list each, in order."""
    if isinstance(form, TupleForm):
        for part in form.parts:
            yield from leaves(part)
    else:
        yield form


def new_vars(vm: ControlMachine, form: Form) -> tuple[ListVar, ...]:
    """List variables for elements of a form."""
    return tuple(ListVar(vm.writer.name("l"), _example(vm, leaf)) for leaf in leaves(form))


def _example(vm: ControlMachine, leaf: Form) -> NumberKind | type[str] | torch.Tensor:
    if isinstance(leaf, NumberForm):
        return leaf.kind
    if isinstance(leaf, TextForm):
        return str
    if isinstance(leaf, TensorForm):
        shape = [vm.new_size() if size is None else size for size in leaf.sizes]
        return vm.fakes.empty(shape, leaf.dtype, leaf.device)
    return NumberKind.INT


def operands(vm: ControlMachine, form: Form, value: Value) -> list[Any]:
    """What goes into each list for one element."""
    if isinstance(form, NumberForm):
        return [operand(vm, value)]
    if isinstance(form, TensorForm):
        assert isinstance(value, TensorValue)
        return [vm.lists.tensor(value)]
    if isinstance(form, TextForm):
        return [vm.text_variable(value)]
    if isinstance(form, ObjectForm):
        any_number = NumberVar("", NumberKind.INT)
        return [vm.choice_selector(ChoiceValue(any_number, form.alternatives), value)]
    items = tuple_items(value)
    assert items is not None
    pairs = zip(form.parts, items, strict=True)
    return [found for part, item in pairs for found in operands(vm, part, item)]


def built(
    form: Form, take: Callable[[Form], Value], row: Callable[[TupleForm, list[Value]], Value]
) -> Value:
    """An element from its parts; `take` gives the next leaf's value, `row` makes a list."""
    if isinstance(form, TupleForm):
        parts = [built(part, take, row) for part in form.parts]
        return row(form, parts) if form.klass is list else TupleValue(parts, form.klass)
    found = take(form)
    if isinstance(form, ObjectForm):
        assert isinstance(found, DataNumber)
        return ChoiceValue(found.var, form.alternatives)
    return found
