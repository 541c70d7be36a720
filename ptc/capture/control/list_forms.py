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
    """Values that no list of the IR can hold together. `by_reference`: it could if lists that are
    in lists were references."""

    def __init__(self, what: str, *, by_reference: bool = False) -> None:
        super().__init__(what)
        self.by_reference = by_reference


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


@dataclass(frozen=True, slots=True)
class ListForm:
    """References to lists with elements of a form, which are in the class of variables of `group`.
    Not one of them ever gets elements of a wider form."""

    element: Form
    group: str


Form = NumberForm | TensorForm | TextForm | ObjectForm | TupleForm | ListForm

EMPTY = NumberForm(NumberKind.INT)  # of lists that nothing is put in: told by its identity


def form_of(vm: ControlMachine, value: Value | Perhaps, like: Form | None = None) -> Form:
    """The form of one element, which is `like` others where it may be of several."""
    if isinstance(value, Perhaps):
        if value.kind is not None:
            return NumberForm(value.kind)
        value = value.distinct(vm)
    reference = vm.lists.references.form(value, like)
    if reference is not None:
        return reference
    if is_number(value):
        return NumberForm(number_kind(value))
    if isinstance(value, TensorValue):
        return _tensor_form(vm, value)
    if is_made(value) and is_text(value):
        return TextForm()
    parts = tuple_items(value)
    if parts is not None:
        if not parts:
            raise Unlistable("empty tuples")
        klass = value.klass if isinstance(value, (TupleValue, ListValue)) else tuple
        same = isinstance(like, TupleForm) and len(like.parts) == len(parts)
        wanted = like.parts if same else (None,) * len(parts)  # type: ignore[union-attr]
        pairs = zip(parts, map(_in_tuple, parts, wanted), strict=True)
        return TupleForm(klass, tuple(form_of(vm, part, its) for part, its in pairs))
    known = value.alternatives if isinstance(value, ChoiceValue) else (value,)
    for alternative in known:
        if isinstance(alternative, ListValue):
            raise Unlistable("one of several lists", by_reference=True)
        lasts = isinstance(alternative, ConstantValue) or alternative.source is not None
        if not lasts or is_number(alternative) or isinstance(alternative, TensorValue):
            raise Unlistable(alternative.describe())
    return ObjectForm(known)


def _in_tuple(part: Value, like: Form | None) -> Form | None:
    """What a part of a tuple is to be like. Lists in tuples are references."""
    wants = isinstance(part, ListValue) and not isinstance(like, ListForm)
    return ListForm(EMPTY, "") if wants else like


def tuple_items(value: Value) -> list[Value] | None:
    if isinstance(value, TupleValue):
        return value.items
    if isinstance(value, ListValue) and value.klass is list and not value.attrs:
        return value.items
    if isinstance(value, ConstantValue) and type(value.value) is tuple:
        return [ConstantValue(part) for part in value.value]
    return None


def items_of(value: Value) -> list[Value]:
    """The parts of a tuple."""
    items = tuple_items(value)
    assert items is not None
    return items


def _tensor_form(vm: ControlMachine, value: TensorValue) -> TensorForm:
    if value.attrs:
        raise Unlistable(f"{value.describe()} with attributes")
    lasting = vm.fakes.dims.keys()
    sizes = [size if symbols_of(size) <= lasting else None for size in value.fake.shape]
    return TensorForm(tuple(sizes), value.fake.dtype, value.fake.device)


def joined(vm: ControlMachine, one: Form, other: Form) -> Form:
    """The form of a list with elements of both; `one` itself if that is enough."""
    if one is EMPTY:
        return other
    if other is EMPTY:
        return one
    if isinstance(one, ListForm) and isinstance(other, ListForm):
        return vm.lists.references.joined(one, other)
    lists = [form for form in (one, other) if isinstance(form, ListForm)]
    if lists and any(isinstance(f, TupleForm) and f.klass is list for f in (one, other)):
        raise Unlistable("lists of several kinds", by_reference=True)
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
            rows = one.klass is other.klass is list
            raise Unlistable("tuples or lists of different lengths", by_reference=rows)
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


def depth(form: Form) -> int:
    """How many lists are around the innermost elements."""
    if isinstance(form, TupleForm):
        return max(map(depth, form.parts), default=0)
    return 1 + depth(form.element) if isinstance(form, ListForm) else 0


def same_form(vm: ControlMachine, one: Form, other: Form) -> bool:
    """Whether elements of either form are kept in the same way."""
    if one is other:
        return True
    if EMPTY is one or EMPTY is other or type(one) is not type(other):
        return False
    match one, other:
        case NumberForm(), NumberForm():
            return one.kind is other.kind
        case TensorForm(), TensorForm():
            return _same_tensors(vm, one, other)
        case ObjectForm(), ObjectForm():
            pairs = zip(one.alternatives, other.alternatives, strict=False)
            return len(one.alternatives) == len(other.alternatives) and all(
                vm.same_alternative(a, b) for a, b in pairs
            )
        case TupleForm(), TupleForm():
            return (
                one.klass is other.klass
                and len(one.parts) == len(other.parts)
                and all(same_form(vm, a, b) for a, b in zip(one.parts, other.parts, strict=True))
            )
        case ListForm(), ListForm():
            return same_form(vm, one.element, other.element)
        case _:
            return isinstance(one, TextForm)


def _same_tensors(vm: ControlMachine, one: TensorForm, other: TensorForm) -> bool:
    if (one.dtype, one.device, len(one.sizes)) != (other.dtype, other.device, len(other.sizes)):
        return False
    return all(
        mine is its or (None not in (mine, its) and vm.same_size(mine, its))
        for mine, its in zip(one.sizes, other.sizes, strict=True)
    )


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


def require_same_objects(vm: ControlMachine, form: Form, other: Form) -> None:
    """Objects are kept by number: a list that has some keeps their numbers. Raises Unlistable."""
    if other is EMPTY:
        return
    for mine, its in zip(leaves(form), leaves(other), strict=True):
        if not isinstance(its, ObjectForm) or isinstance(mine, TextForm):
            continue
        assert isinstance(mine, ObjectForm)
        first = mine.alternatives[: len(its.alternatives)]
        pairs = zip(first, its.alternatives, strict=True)
        if not all(vm.same_alternative(a, b) for a, b in pairs):
            raise Unlistable("different objects in two lists")


def text_of(form: Form) -> str:
    """For messages."""
    if isinstance(form, NumberForm):
        return f"{form.kind.value} numbers"
    if isinstance(form, TextForm):
        return "strings"
    if isinstance(form, TensorForm):
        return f"{str(form.dtype).removeprefix('torch.')} tensors"
    if isinstance(form, ListForm):
        return "lists"
    if isinstance(form, TupleForm):
        return "lists" if form.klass is list else "tuples"
    return form.alternatives[0].describe()


def leaves(form: Form) -> Iterator[Form]:
    """The parts that have a list each, in order."""
    if isinstance(form, TupleForm):
        for part in form.parts:
            yield from leaves(part)
    elif isinstance(form, ListForm):
        for leaf in leaves(form.element):
            yield ListForm(leaf, form.group)
    else:
        yield form


def new_vars(vm: ControlMachine, form: Form) -> tuple[ListVar, ...]:
    """List variables for elements of a form."""
    return tuple(ListVar(vm.writer.name("l"), _example(vm, leaf)) for leaf in leaves(form))


def _example(vm: ControlMachine, leaf: Form) -> NumberKind | type[str] | torch.Tensor | ListVar:
    if isinstance(leaf, ListForm):
        return ListVar("", _example(vm, leaf.element))
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
    if isinstance(form, ListForm):
        return list(vm.lists.references.handles(form, value))
    items = tuple_items(value)
    assert items is not None
    pairs = zip(form.parts, items, strict=True)
    return [found for part, item in pairs for found in operands(vm, part, item)]


@dataclass(frozen=True, slots=True)
class Parts:
    """How an element is made of parts: `leaf` gives the value of the next leaf, `row` makes a list
    of a known length, `reference` gives the list that the next leaves are."""

    leaf: Callable[[Form], Value]
    row: Callable[[TupleForm, list[Value]], Value]
    reference: Callable[[ListForm], Value]


def built(form: Form, parts: Parts) -> Value:
    """An element from its parts."""
    if isinstance(form, TupleForm):
        items = [built(part, parts) for part in form.parts]
        return parts.row(form, items) if form.klass is list else TupleValue(items, form.klass)
    if isinstance(form, ListForm):
        return parts.reference(form)
    found = parts.leaf(form)
    if isinstance(form, ObjectForm):
        assert isinstance(found, DataNumber)
        return ChoiceValue(found.var, form.alternatives)
    return found
