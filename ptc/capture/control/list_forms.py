"""What the elements of a list whose length data decides have in common: their form.

A form says how one element is kept in variables of the IR: each leaf of it is a list of numbers or
of tensors, so a list of tuples is kept as parallel lists. Elements that are one of a few known
objects (strings, None, layers) are kept as their position among them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import torch

from ptc.capture.control import identities
from ptc.capture.control.arithmetic import is_number, number_kind
from ptc.capture.control.element_forms import (
    EMPTY,
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
    has_references,
    holds_texts,
    leaves,
    text_of,
)
from ptc.capture.control.handles import HandleValue, Storable, storable
from ptc.capture.control.perhaps import Perhaps, Placed
from ptc.capture.values.base import Value
from ptc.capture.values.choices import ChoiceValue
from ptc.capture.values.constants import ConstantValue
from ptc.capture.values.containers import ListValue, TupleValue
from ptc.capture.values.texts import is_made, is_text
from ptc.capture.values.torch_tensor import TensorValue
from ptc.graph.control import (
    ListVar,
    NumberKind,
)
from ptc.graph.symbols import symbols_of

if TYPE_CHECKING:
    from ptc.capture.control.machine import ControlMachine


class Unlistable(Exception):
    """Values that no list of the IR can hold together. `by_reference`: it could if lists that are
    in lists were references; `mixed`: if lists had elements of several kinds; `klass`: if the
    objects of this class, or dictionaries made where this one was, were in a store."""

    def __init__(
        self,
        what: str,
        *,
        by_reference: bool = False,
        mixed: bool = False,
        klass: Storable | None = None,
    ) -> None:
        super().__init__(what)
        self.by_reference = by_reference
        self.mixed = mixed
        self.klass = klass


def form_of(vm: ControlMachine, value: Value | Perhaps | Placed, like: Form | None = None) -> Form:
    """The form of one element, which is `like` others where it may be of several."""
    if isinstance(value, Placed):
        return NumberForm(NumberKind.INT)
    if isinstance(value, Perhaps):
        if value.kind is not None:
            return NumberForm(value.kind)
        value = value.distinct(vm)
    reference = vm.lists.references.form(value, like)
    if reference is not None:
        return reference
    if isinstance(value, HandleValue):
        return HandleForm(value.klass)
    if is_number(value):
        return NumberForm(number_kind(value))
    if isinstance(value, TensorValue):
        return _tensor_form(vm, value)
    if is_made(value) and is_text(value):
        return TextForm()
    parts = tuple_items(value)
    if parts is not None:
        if not parts and value.cls is tuple:
            return LongForm(EMPTY)
        klass = value.klass if isinstance(value, (TupleValue, ListValue)) else tuple
        same = isinstance(like, TupleForm) and len(like.parts) == len(parts)
        wanted = like.parts if same else (None,) * len(parts)  # type: ignore[union-attr]
        pairs = zip(parts, map(_in_tuple, parts, wanted), strict=True)
        return TupleForm(klass, tuple(form_of(vm, part, its) for part, its in pairs))
    return _object_form(vm, value)


def _object_form(vm: ControlMachine, value: Value) -> Form:
    """The form of one of a few known objects, or of one of them or a handle."""
    known = value.alternatives if isinstance(value, ChoiceValue) else (value,)
    handles = [one for one in known if isinstance(one, HandleValue)]
    others = tuple(one for one in known if not isinstance(one, HandleValue))
    for alternative in others:
        if isinstance(alternative, ListValue):
            raise Unlistable("one of several lists", by_reference=True)
        lasts = isinstance(alternative, ConstantValue) or alternative.source is not None
        if not lasts or is_number(alternative) or isinstance(alternative, TensorValue):
            if isinstance(value, ChoiceValue) and (vm.state.known.mixed or _are_tuples(value)):
                return _choice_form(vm, value)
            klass = storable(alternative)
            vm.lists.stores.note_unlisted(klass)
            mixed = isinstance(value, ChoiceValue)
            raise Unlistable(alternative.describe(), mixed=mixed, klass=klass)
    if not handles:
        return ObjectForm(others)
    classes = dict.fromkeys(one.klass for one in handles)
    if len(classes) < len(handles):
        raise Unlistable(value.describe())  # each class has one variable
    return OneOfForm(others, tuple(map(HandleForm, classes)))


def _choice_form(vm: ControlMachine, value: ChoiceValue) -> Form:
    """The form of one of several numbers, strings, tensors, tuples of them and known objects."""
    forms = [form_of(vm, alternative) for alternative in value.alternatives]
    if not all(map(has_copies, forms)):
        raise Unlistable(value.describe())
    form = forms[0]
    for its in forms[1:]:
        form = united(vm, form, its)
    return form


def has_copies(form: Form) -> bool:
    """Whether an element is values that a variable may have as well."""
    if isinstance(form, LongForm):
        return has_copies(form.element)
    if isinstance(form, (TupleForm, OneOfForm)):
        return not has_references(form) and all(map(has_copies, form.parts))
    return isinstance(form, (NumberForm, TextForm, TensorForm, ObjectForm))


def _are_tuples(value: Value) -> bool:
    return isinstance(value, ChoiceValue) and all(one.cls is tuple for one in value.alternatives)


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
    numbered = identities.are_listed(vm)
    return TensorForm(tuple(sizes), value.fake.dtype, value.fake.device, numbered)


def joined(vm: ControlMachine, one: Form, other: Form) -> Form:
    """The form of a list with elements of both; `one` itself if that is enough."""
    objects = (HandleForm, OneOfForm, ObjectForm)
    if all(isinstance(form, objects) for form in (one, other)):
        return united(vm, one, other)
    try:
        return joined_alike(vm, one, other)
    except Unlistable as why:
        if why.by_reference or not all(isinstance(form, _MIXING) for form in (one, other)):
            raise
        if any(isinstance(form, TupleForm) and form.klass is list for form in (one, other)):
            raise Unlistable(str(why), by_reference=True) from None
        if not vm.state.known.mixed:
            raise Unlistable(str(why), mixed=True) from None
    return united(vm, one, other)


#: What one list may have beside each other: a number says which it is.
_MIXING = (
    NumberForm, TextForm, TensorForm, ObjectForm, TupleForm, LongForm, ListForm, HandleForm,
    OneOfForm,
)  # fmt: skip


def joined_alike(vm: ControlMachine, one: Form, other: Form) -> Form:
    """The form of two that are kept alike."""
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
    if isinstance(one, (TupleForm, LongForm)) and isinstance(other, (TupleForm, LongForm)):
        return _joined_tuples(vm, one, other)
    if isinstance(one, ObjectForm) and isinstance(other, ObjectForm):
        known = _both_known(vm, one.alternatives, other.alternatives)
        return one if known is one.alternatives else ObjectForm(known)
    if isinstance(one, EntriesForm) and isinstance(other, EntriesForm):
        return _joined_entries(vm, one, other)
    if isinstance(one, HandleForm) and one == other:
        return one
    raise Unlistable(f"{text_of(one)} and {text_of(other)}")


def _joined_tuples(
    vm: ControlMachine, one: TupleForm | LongForm, other: TupleForm | LongForm
) -> TupleForm | LongForm:
    fixed = isinstance(one, TupleForm) and isinstance(other, TupleForm)
    if isinstance(one, TupleForm) and isinstance(other, TupleForm):
        if one.klass is other.klass and len(one.parts) == len(other.parts):
            pairs = zip(one.parts, other.parts, strict=True)
            parts = tuple(joined(vm, mine, its) for mine, its in pairs)
            kept = all(a is b for a, b in zip(parts, one.parts, strict=True))
            return one if kept else TupleForm(one.klass, parts)
        if one.klass is not tuple or other.klass is not tuple:
            rows = one.klass is other.klass is list
            raise Unlistable("tuples or lists of different lengths", by_reference=rows)
    mine, its = _any_element(vm, one), _any_element(vm, other)
    # What tuples of known lengths have at each place is told apart
    element = joined_alike(vm, mine, its) if fixed else joined(vm, mine, its)
    if has_references(element):
        raise Unlistable("lists in tuples of several lengths")
    return one if isinstance(one, LongForm) and element is one.element else LongForm(element)


def _any_element(vm: ControlMachine, form: TupleForm | LongForm) -> Form:
    """The form of any element of a tuple."""
    if isinstance(form, LongForm):
        return form.element
    if form.klass is not tuple:
        raise Unlistable("tuples and others of several lengths", by_reference=form.klass is list)
    found = form.parts[0]
    for part in form.parts[1:]:
        found = joined_alike(vm, found, part)
    return found


def _both_known(
    vm: ControlMachine, one: tuple[Value, ...], other: tuple[Value, ...]
) -> tuple[Value, ...]:
    """The objects of both; `one` itself if it has all of them."""
    known = list(one)
    for value in other:
        if not any(vm.same_alternative(value, have) for have in known):
            known.append(value)
    return one if len(known) == len(one) else tuple(known)


def _joined_entries(vm: ControlMachine, one: EntriesForm, other: EntriesForm) -> EntriesForm:
    if (one.klass, one.factory) != (other.klass, other.factory):
        raise Unlistable(f"{one.klass.__name__} and {other.klass.__name__} objects")
    pairs = zip(one.parts, other.parts, strict=True)
    parts = tuple(vm.lists.references.joined(mine, its) for mine, its in pairs)
    same = all(a is b for a, b in zip(parts, one.parts, strict=True))
    return one if same else EntriesForm(one.klass, one.factory, parts)


def _split(form: Form) -> tuple[tuple[Value, ...], tuple[Form, ...]]:
    """A form as known objects and other forms."""
    if isinstance(form, OneOfForm):
        return form.known, form.parts
    if isinstance(form, ObjectForm):
        return form.alternatives, ()
    return (), (form,)


_MOST_KINDS = 8
MOST_TEXTS = 32  # that are told apart; more are strings that data decides


def united(vm: ControlMachine, one: Form, other: Form) -> Form:
    """The form of what has one or the other; `one` itself if that is enough."""
    (known, parts), (its_known, its_parts) = _split(one), _split(other)
    new_known, new_parts = known, list(parts)
    for value in its_known:
        as_text = TextForm() in new_parts and is_text(value)
        new_known = new_known if as_text else _both_known(vm, new_known, (value,))
    for part in its_parts:
        if isinstance(part, TextForm):
            new_known = tuple(value for value in new_known if not is_text(value))
        _add_part(vm, new_parts, part)
    texts = sum(map(is_text, new_known))
    if texts > MOST_TEXTS:
        new_known = tuple(value for value in new_known if not is_text(value))
        _add_part(vm, new_parts, TextForm())
    if len(new_parts) > _MOST_KINDS:
        raise Unlistable("values of too many kinds")
    same = len(new_known) == len(known) and len(new_parts) == len(parts)
    if same and all(a is b for a, b in zip(new_parts, parts, strict=True)):
        return one
    if not new_parts:
        return ObjectForm(new_known)
    return new_parts[0] if not new_known and len(new_parts) == 1 else OneOfForm(
        new_known, tuple(new_parts)
    )  # fmt: skip


def _add_part(vm: ControlMachine, parts: list[Form], part: Form) -> None:
    """Widen the form that has what `part` has, or add it."""
    for place, mine in enumerate(parts):
        try:
            parts[place] = joined_alike(vm, mine, part)
        except Unlistable:
            continue
        return
    parts.append(part)


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
            return _same_known(vm, one.alternatives, other.alternatives)
        case OneOfForm(), OneOfForm():
            return _same_known(vm, one.known, other.known) and _same_parts(
                vm, one.parts, other.parts
            )
        case EntriesForm(), EntriesForm():
            kind = (one.klass, one.factory) == (other.klass, other.factory)
            return kind and _same_parts(vm, one.parts, other.parts)
        case HandleForm(), HandleForm():
            return one.klass is other.klass
        case TupleForm(), TupleForm():
            return one.klass is other.klass and _same_parts(vm, one.parts, other.parts)
        case ListForm(mine, _), ListForm(its, _):
            return same_form(vm, mine, its)
        case LongForm(mine), LongForm(its):
            return same_form(vm, mine, its)
        case _:
            return isinstance(one, TextForm)


def _same_known(vm: ControlMachine, one: Sequence[Value], other: Sequence[Value]) -> bool:
    pairs = zip(one, other, strict=False)
    return len(one) == len(other) and all(vm.same_alternative(a, b) for a, b in pairs)


def _same_parts(vm: ControlMachine, one: Sequence[Form], other: Sequence[Form]) -> bool:
    pairs = zip(one, other, strict=False)
    return len(one) == len(other) and all(same_form(vm, a, b) for a, b in pairs)


def _same_tensors(vm: ControlMachine, one: TensorForm, other: TensorForm) -> bool:
    if (one.dtype, one.device, len(one.sizes)) != (other.dtype, other.device, len(other.sizes)):
        return False
    if one.numbered is not other.numbered:
        return False
    return all(
        mine is its or (None not in (mine, its) and vm.same_size(mine, its))
        for mine, its in zip(one.sizes, other.sizes, strict=True)
    )


def _joined_tensors(vm: ControlMachine, one: TensorForm, other: TensorForm) -> TensorForm:
    if one.dtype is not other.dtype or one.device != other.device:
        raise Unlistable(f"{text_of(one)} and {text_of(other)}")
    if one.numbered is not other.numbered:
        raise Unlistable("tensors that are to be told apart, in several lists")
    if len(one.sizes) != len(other.sizes):
        raise Unlistable(
            f"tensors with {len(one.sizes)} and with {len(other.sizes)} dimensions"
        )  # fmt: skip
    sizes = tuple(
        mine if mine is None or (its is not None and vm.same_size(mine, its)) else None
        for mine, its in zip(one.sizes, other.sizes, strict=True)
    )
    kept = all(a is b for a, b in zip(sizes, one.sizes, strict=True))
    return one if kept else TensorForm(sizes, one.dtype, one.device, one.numbered)


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
            raise Unlistable("different objects in two lists", mixed=True)


def new_vars(vm: ControlMachine, form: Form) -> tuple[ListVar, ...]:
    """List variables for elements of a form."""
    return tuple(ListVar(vm.writer.name("l"), example(vm, leaf)) for leaf in leaves(form))


def example(vm: ControlMachine, leaf: Form) -> NumberKind | type[str] | torch.Tensor | ListVar:
    if isinstance(leaf, ListForm):
        return ListVar("", example(vm, leaf.element))
    if isinstance(leaf, NumberForm):
        return leaf.kind
    if isinstance(leaf, TextForm):
        return str
    if isinstance(leaf, TensorForm):
        shape = [vm.new_size() if size is None else size for size in leaf.sizes]
        return vm.fakes.empty(shape, leaf.dtype, leaf.device)
    return NumberKind.INT
