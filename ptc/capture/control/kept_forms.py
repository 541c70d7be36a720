"""What an attribute may be that is kept from call to call: its forms.

A form speaks of no capture, so that one capture finds it and the next one builds on it. Sizes are
numbers, or None where they differ from call to call. `joined` adds a form to a choice; what has the
same structure becomes one form.
"""

from __future__ import annotations

import collections
import dataclasses
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch

from ptc.capture.control import entries, kept_entries, list_forms
from ptc.capture.control.arithmetic import KINDS, is_number, number_kind
from ptc.capture.control.list_forms import EMPTY
from ptc.capture.control.list_positions import is_empty
from ptc.capture.control.lists import DataListValue
from ptc.capture.interpreter.wrapping import is_python_class
from ptc.capture.values.base import Value
from ptc.capture.values.births import now
from ptc.capture.values.choices import MISSING
from ptc.capture.values.constants import ConstantValue, is_immutable
from ptc.capture.values.containers import ListValue, LongTupleValue, TupleValue
from ptc.capture.values.mappings import DictValue, SetValue
from ptc.capture.values.objects import NO_OBJECT, ObjectValue
from ptc.capture.values.texts import is_made, is_text
from ptc.capture.values.torch_tensor import TensorValue
from ptc.graph.control import NumberKind

if TYPE_CHECKING:
    from ptc.capture.control.machine import ControlMachine

_MOST_TEXTS = 16  # that an attribute is told apart by


class Unkept(Exception):
    """A value that no session can keep."""


@dataclass(frozen=True, slots=True)
class Number:
    kind: NumberKind


@dataclass(frozen=True, slots=True)
class Constant:
    """This value. Told apart by type too: True is not 1."""

    cls: type
    value: Any


@dataclass(frozen=True, slots=True)
class Words:
    """Strings that data decides."""


@dataclass(frozen=True, slots=True)
class Tensor:
    sizes: tuple[int | None, ...]
    dtype: torch.dtype
    device: torch.device


@dataclass(frozen=True, slots=True)
class Items:
    """A tuple, named tuple, list or deque with as many elements as there are parts."""

    klass: type
    maxlen: int | None
    parts: tuple[Choice, ...]


@dataclass(frozen=True, slots=True)
class Row:
    """A list, deque or tuple whose length data decides. No element is known where there is none."""

    klass: type
    maxlen: int | None
    element: Element | None


@dataclass(frozen=True, slots=True)
class Record:
    """An object of a class written in Python, with these attributes."""

    klass: type
    names: tuple[str, ...]
    parts: tuple[Choice, ...]


@dataclass(frozen=True, slots=True)
class Entries:
    """A dictionary, or a set, of any number of entries: a list (`Row`) of keys, and one of values
    but for a set. `factory` is a defaultdict's."""

    klass: type
    factory: Any
    parts: tuple[Choice, ...]


@dataclass(frozen=True, slots=True)
class Original:
    """The object that the attribute holds in a new session."""


Form = Number | Constant | Words | Tensor | Items | Row | Record | Entries | Original
Choice = tuple[Form, ...]


@dataclass(frozen=True, slots=True)
class Names:
    """One of a few constants, in a list."""

    constants: tuple[Constant, ...]


@dataclass(frozen=True, slots=True)
class Columns:
    """Tuples of one length, in a list."""

    klass: type
    parts: tuple[Element, ...]


@dataclass(frozen=True, slots=True)
class Long:
    """Tuples of any length, in a list. No element is known yet where all are empty."""

    element: Element | None


@dataclass(frozen=True, slots=True)
class Inner:
    """References to lists, in a list. No session keeps them."""

    element: Element | None


@dataclass(frozen=True, slots=True)
class Stored:
    """Objects in the store of their class, in a list. No session keeps them, nor what follows."""

    klass: type


@dataclass(frozen=True, slots=True)
class Mapped:
    """References to dictionaries or sets: to their lists."""

    klass: type
    factory: Any
    parts: tuple[Inner, ...]


@dataclass(frozen=True, slots=True)
class Mixed:
    """One of a few constants, nothing at all with `missing`, or what has one of several forms."""

    missing: bool
    constants: tuple[Constant, ...]
    parts: tuple[Element, ...]


Element = Number | Words | Tensor | Names | Columns | Long | Inner | Stored | Mapped | Mixed


# -- of values ------------------------------------------------------------------------------------


def form_of(vm: ControlMachine, value: Value, original: Any = NO_OBJECT) -> Form:
    """The form of a settled value. Raises Unkept."""
    if original is not NO_OBJECT and getattr(value, "obj", NO_OBJECT) is original:
        return Original()
    if is_number(value):
        return Number(number_kind(value))
    if is_made(value) and is_text(value):
        return Words()
    if isinstance(value, ConstantValue):
        return _constant(value.value)
    if isinstance(value, TensorValue):
        if value.attrs:
            raise Unkept("a tensor with attributes")
        sizes = tuple(size if isinstance(size, int) else None for size in value.fake.shape)
        return Tensor(sizes, value.fake.dtype, value.fake.device)
    if isinstance(value, LongTupleValue):
        row = form_of(vm, value.elements)
        assert isinstance(row, Row)
        return Row(tuple, None, row.element)
    if isinstance(value, DataListValue):
        nothing = value.state.form is EMPTY and is_empty(vm, value)
        element = None if nothing else element_of(value.state.form)
        if _holds_lists(element):
            raise Unkept("a list of lists")
        return Row(value.klass, value.maxlen, element)
    if isinstance(value, TupleValue) and not value.attrs:
        parts = tuple(choice_of(vm, item) for item in value.items)
        return Items(value.klass, None, parts)
    if isinstance(value, ListValue):
        return _list_form(vm, value)
    if isinstance(value, (DictValue, SetValue)) or entries.is_container(value):
        return _entries_form(vm, value)
    if isinstance(value, ObjectValue) and value.obj is NO_OBJECT:
        require_plain(value.klass)
        names = tuple(value.attrs)
        return Record(value.klass, names, tuple(choice_of(vm, value.attrs[n]) for n in names))
    raise Unkept(value.describe())


def _entries_form(vm: ControlMachine, value: Any) -> Entries:
    if isinstance(value, DictValue):
        value.load_all(vm)
    content = entries.content_of(value)
    if value.klass not in kept_entries.CLASSES or value.attrs:
        raise Unkept(value.describe())
    if entries.is_held(content):
        columns = entries.lists_in(content)
    else:
        columns = [ListValue(items) for items in entries.columns_of(value, content)]
    columns = columns[: kept_entries.width(value.klass)]
    factory = getattr(value, "factory", None)
    real = None if factory is None else factory.real()
    return Entries(value.klass, real, tuple((_row(form_of(vm, one)),) for one in columns))


def _row(form: Form) -> Row:
    """A list of any length."""
    assert isinstance(form, (Items, Row))
    return Row(form.klass, form.maxlen, _common(form))


def choice_of(vm: ControlMachine, value: Value) -> Choice:
    """The form of what is within another value, which may be one of several."""
    choice: Choice = ()
    for alternative in getattr(value, "alternatives", (value,)):
        choice = joined(choice, form_of(vm, alternative))
    return choice


def _constant(value: Any) -> Constant:
    try:
        hash(value)
    except TypeError:
        raise Unkept(f"{value!r:.60}") from None
    return Constant(type(value), value)


def _list_form(vm: ControlMachine, value: ListValue) -> Form:
    if value.klass not in (list, collections.deque) or value.attrs:
        raise Unkept(value.describe())
    return Items(value.klass, value.maxlen, tuple(choice_of(vm, item) for item in value.items))


def require_plain(cls: type) -> None:
    """Objects are made again from their attributes alone."""
    if not is_python_class(cls) or hasattr(cls, "__del__"):
        raise Unkept(f"an object of class {cls.__qualname__}")


def _holds_lists(element: Element | None) -> bool:
    if isinstance(element, Long):
        return _holds_lists(element.element)
    if isinstance(element, Columns):
        return element.klass is list or any(map(_holds_lists, element.parts))
    return isinstance(element, (Inner, Stored, Mapped, Mixed))


def element_of(form: list_forms.Form) -> Element | None:
    """The form of the elements of a list; None if nothing is put in. Raises Unkept."""
    if form is EMPTY:
        return None
    match form:
        case list_forms.NumberForm(kind):
            return Number(kind)
        case list_forms.TextForm():
            return Words()
        case list_forms.TensorForm(sizes, dtype, device):
            known = tuple(size if isinstance(size, int) else None for size in sizes)
            return Tensor(known, dtype, device)
        case list_forms.TupleForm(klass, parts):
            found = [element_of(part) for part in parts]
            return Columns(klass, tuple(part for part in found if part is not None))
        case list_forms.LongForm(element):
            return Long(element_of(element))
        case list_forms.ListForm(element, _):
            return Inner(element_of(element))
        case list_forms.ObjectForm(alternatives):
            if MISSING in alternatives:
                return _mixed(alternatives, ())
            return Names(_constants(alternatives))
        case list_forms.HandleForm(klass):
            return Stored(klass)
        case list_forms.EntriesForm(klass, factory, parts):
            return Mapped(klass, factory, tuple(Inner(element_of(part.element)) for part in parts))
        case list_forms.OneOfForm(known, parts):
            return _mixed(known, parts)


def _constants(values: Sequence[Value]) -> tuple[Constant, ...]:
    if not all(isinstance(value, ConstantValue) for value in values):
        raise Unkept("a list of objects")
    return tuple(_constant(value.constant()) for value in values)


def _mixed(known: Sequence[Value], parts: Sequence[list_forms.Form]) -> Mixed:
    there = [value for value in known if value is not MISSING]
    found = [element_of(part) for part in parts]
    return Mixed(
        MISSING in known, _constants(there), tuple(part for part in found if part is not None)
    )


def list_form(element: Element | None) -> list_forms.Form:
    """The form in one capture of a list with such elements."""
    match element:
        case None:
            return EMPTY
        case Number(kind):
            return list_forms.NumberForm(kind)
        case Words():
            return list_forms.TextForm()
        case Tensor(sizes, dtype, device):
            return list_forms.TensorForm(sizes, dtype, device)
        case Columns(klass, parts):
            return list_forms.TupleForm(klass, tuple(map(list_form, parts)))
        case Long(inner):
            return list_forms.LongForm(list_form(inner))
        case Inner(inner):
            return list_forms.ListForm(list_form(inner), f"learned {now()}")
        case Names(constants):
            return list_forms.ObjectForm(tuple(ConstantValue(one.value) for one in constants))
        case Stored(klass):
            return list_forms.HandleForm(klass)
        case Mapped(klass, factory, parts):
            columns = tuple(map(list_form, parts))
            return list_forms.EntriesForm(klass, factory, columns)  # type: ignore[arg-type]
        case Mixed(missing, constants, parts):
            known = tuple(ConstantValue(one.value) for one in constants)
            known = (*known, MISSING) if missing else known
            if not parts:
                return list_forms.ObjectForm(known)
            return list_forms.OneOfForm(known, tuple(map(list_form, parts)))


# -- of real objects ------------------------------------------------------------------------------


def form_of_real(real: Any) -> Form:
    """The form of an object. Raises Unkept."""
    if type(real) in KINDS:
        return Number(KINDS[type(real)])
    if is_immutable(real) and not isinstance(real, tuple):
        return _constant(real)
    if type(real) is torch.Tensor:
        return Tensor(tuple(real.shape), real.dtype, real.device)
    if isinstance(real, tuple) or type(real) in (list, collections.deque):
        parts = tuple((form_of_real(part),) for part in real)
        return Items(type(real), getattr(real, "maxlen", None), parts)
    if type(real) in kept_entries.CLASSES:
        columns = map(form_of_real, kept_entries.columns_of_real(real))
        factory = kept_entries.factory_of_real(real)
        return Entries(type(real), factory, tuple((_row(column),) for column in columns))
    if isinstance(real, torch.nn.Module) or is_immutable(real):
        raise Unkept(f"an object of class {type(real).__qualname__}")
    require_plain(type(real))
    attributes = attributes_of(real)
    parts = tuple((form_of_real(part),) for part in attributes.values())
    return Record(type(real), tuple(attributes), parts)


def attributes_of(real: Any) -> Mapping[str, Any]:
    """The attributes of an object of a class written in Python, slots too."""
    found: dict[str, Any] = dict(getattr(real, "__dict__", {}))
    for cls in type(real).__mro__:
        slots = cls.__dict__.get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else slots:
            if name not in ("__dict__", "__weakref__") and hasattr(real, name):
                found[name] = getattr(real, name)
    return found


# -- joining --------------------------------------------------------------------------------------


def joined(choice: Choice, form: Form) -> Choice:
    """The choice with one more form; the choice itself if it has that."""
    for position, known in enumerate(choice):
        if structure(known) == structure(form):
            one = _joined(known, form)
            if one == known:
                return choice
            return (*choice[:position], one, *choice[position + 1 :])
        row = _as_row(known, form)
        if row is not None:
            return (*choice[:position], row, *choice[position + 1 :])
    words = [one for one in choice if isinstance(one, Constant) and one.cls is str]
    if isinstance(form, Constant) and form.cls is str:
        if Words() in choice:
            return choice
        form = Words() if len(words) >= _MOST_TEXTS else form
    if isinstance(form, Words):
        choice = tuple(one for one in choice if one not in words)
    return (*choice, form)


def structure(form: Form) -> Hashable:
    """What two forms have in common that are joined into one."""
    match form:
        case Tensor():
            return (Tensor, len(form.sizes), form.dtype, form.device)
        case Items():
            return (Items, form.klass, form.maxlen, len(form.parts))
        case Row():
            return (Row, form.klass, form.maxlen)
        case Record():
            return (Record, form.klass, frozenset(form.names))
        case Entries():
            return (Entries, form.klass, form.factory)
        case _:
            return form


def _joined(one: Any, other: Any) -> Form:
    match one:
        case Tensor():
            return _joined_tensors(one, other)
        case Items() | Entries():
            return dataclasses.replace(one, parts=_joined_parts(one.parts, other.parts))
        case Row():
            return dataclasses.replace(one, element=joined_elements(one.element, other.element))
        case Record():
            its = [other.parts[other.names.index(name)] for name in one.names]
            return dataclasses.replace(one, parts=_joined_parts(one.parts, its))
        case _:
            return one


def _joined_parts(parts: Sequence[Choice], others: Sequence[Choice]) -> tuple[Choice, ...]:
    result: list[Choice] = []
    for part, other in zip(parts, others, strict=True):
        for form in other:
            part = joined(part, form)
        result.append(part)
    return tuple(result)


def _joined_tensors(one: Tensor, other: Tensor) -> Tensor:
    pairs = zip(one.sizes, other.sizes, strict=True)
    sizes = tuple(mine if mine == its else None for mine, its in pairs)
    return dataclasses.replace(one, sizes=sizes)


def _as_row(one: Form, other: Form) -> Row | None:
    """One list for two of which at least one has another length; None if there is none."""
    if not isinstance(one, (Items, Row)) or not isinstance(other, (Items, Row)):
        return None
    same = (one.klass, one.maxlen) == (other.klass, other.maxlen)
    long = one.klass is tuple and (isinstance(one, Row) or isinstance(other, Row))
    if not same or not (long or one.klass in (list, collections.deque)):
        return None
    try:
        element = joined_elements(_common(one), _common(other))
    except Unkept:
        return None
    return Row(one.klass, one.maxlen, element)


def _common(form: Items | Row) -> Element | None:
    if isinstance(form, Row):
        return form.element
    element: Element | None = None
    for part in form.parts:
        element = joined_elements(element, _of_choice(part))
    return element


def _of_choice(choice: Choice) -> Element:
    element: Element | None = None
    for form in choice:
        match form:
            case Number() | Words() | Tensor():
                its: Element = form
            case Constant():
                its = Names((form,))
            case Items(klass, _, parts) if klass is not list and parts:
                its = Columns(klass, tuple(map(_of_choice, parts)))
            case Items() | Row() if form.klass is tuple:
                its = Long(_common(form))
            case _:
                raise Unkept("lists, or objects, in a list whose length data decides")
        element = joined_elements(element, its)
    assert element is not None
    return element


def joined_elements(one: Element | None, other: Element | None) -> Element | None:
    """The form of elements of both forms. Raises Unkept."""
    if one is None or other is None:
        return other if one is None else one
    if one == other:
        return one
    match one, other:
        case (Tensor(), Tensor()) if structure(one) == structure(other):
            return _joined_tensors(one, other)
        case Names(mine), Names(its):
            both = (*mine, *(name for name in its if name not in mine))
            if len(both) > _MOST_TEXTS and all(name.cls is str for name in both):
                return Words()
            return Names(both)
        case (Words(), Names(names)) | (Names(names), Words()) if all(n.cls is str for n in names):
            return Words()
        case Inner(mine), Inner(its):
            return Inner(joined_elements(mine, its))
        case ((Long() | Columns()), (Long() | Columns())) if not _alike(one, other):
            return Long(joined_elements(_any_element(one), _any_element(other)))
        case ((Stored() | Mixed()), _) | (_, (Stored() | Mixed())):
            return _joined_mixed(one, other)
        case Columns(), Columns():
            pairs = zip(one.parts, other.parts, strict=True)
            parts = [joined_elements(mine, its) for mine, its in pairs]
            return Columns(one.klass, tuple(part for part in parts if part is not None))
        case _:
            raise Unkept("values of different kinds in one list")


def _alike(one: Long | Columns, other: Long | Columns) -> bool:
    """Whether tuples have the same length, and are of one class."""
    return (
        isinstance(one, Columns)
        and isinstance(other, Columns)
        and one.klass is other.klass
        and len(one.parts) == len(other.parts)
    )


def _any_element(form: Long | Columns) -> Element | None:
    """The form of any element of a tuple. Raises Unkept."""
    if isinstance(form, Long):
        return form.element
    if form.klass is not tuple:
        raise Unkept("lists, or tuples of several classes, in one list")
    found: Element | None = None
    for part in form.parts:
        found = joined_elements(found, part)
    return found


def _joined_mixed(one: Element, other: Element) -> Element:
    """The form of what has one or the other, objects in stores among them."""
    missing = False
    constants: dict[Constant, None] = {}
    parts: list[Element] = []
    for element in (one, other):
        match element:
            case Mixed():
                missing |= element.missing
                constants |= dict.fromkeys(element.constants)
                parts += [part for part in element.parts if part not in parts]
            case Names():
                constants |= dict.fromkeys(element.constants)
            case Stored():
                parts += [] if element in parts else [element]
            case _:
                raise Unkept("values of different kinds in one list")
    return Mixed(missing, tuple(constants), tuple(parts))


def is_simple(choice: Choice) -> bool:
    """Whether numbers alone say which of the forms it is."""
    return all(isinstance(form, (Number, Constant)) for form in choice)
