"""Forms of the elements of a list whose length data decides, and which lists they are kept in.

Knows forms alone: which form values have, and what two have in common, is `list_forms`.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import torch

from ptc.capture.control.handles import objects_of
from ptc.capture.values.base import Value
from ptc.capture.values.texts import is_text
from ptc.graph.control import NumberKind


@dataclass(frozen=True, slots=True)
class NumberForm:
    kind: NumberKind


@dataclass(frozen=True, slots=True)
class TensorForm:
    """Tensors of one dtype and rank. A size is None where each element may have its own.
    `numbered`: beside each is which tensor it is."""

    sizes: tuple[Any, ...]
    dtype: torch.dtype
    device: torch.device
    numbered: bool = False


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
class LongForm:
    """Tuples of any length, with elements of a form: of each, a list that never changes."""

    element: Form


@dataclass(frozen=True, slots=True)
class ListForm:
    """References to lists with elements of a form, which are in the class of variables of `group`.
    Not one of them ever gets elements of a wider form."""

    element: Form
    group: str


@dataclass(frozen=True, slots=True)
class HandleForm:
    """Objects of a class, in its store."""

    klass: type


@dataclass(frozen=True, slots=True)
class EntriesForm:
    """References to dictionaries, or sets: to the lists that they are of. `factory` is a
    defaultdict's."""

    klass: type
    factory: Any
    parts: tuple[ListForm, ...]


@dataclass(frozen=True, slots=True)
class OneOfForm:
    """One of these objects, or what has one of these forms. A number says which."""

    known: tuple[Value, ...]
    parts: tuple[Form, ...]


Form = (
    NumberForm
    | TensorForm
    | TextForm
    | ObjectForm
    | TupleForm
    | LongForm
    | ListForm
    | HandleForm
    | EntriesForm
    | OneOfForm
)

EMPTY = NumberForm(NumberKind.INT)  # of lists that nothing is put in: told by its identity


def holds_texts(form: Form) -> bool:
    """Whether all elements are strings."""
    if isinstance(form, ObjectForm):
        return all(map(is_text, form.alternatives))
    return isinstance(form, TextForm)


def has_references(form: Form) -> bool:
    """Whether elements have lists in them that may change, or dictionaries or sets."""
    if isinstance(form, (TupleForm, OneOfForm)):
        row = isinstance(form, TupleForm) and form.klass is list
        return row or any(map(has_references, form.parts))
    if isinstance(form, LongForm):
        return has_references(form.element)
    return isinstance(form, (ListForm, EntriesForm))


def disjoint(one: Form, other: Form) -> bool:
    """Whether nothing of one form is surely equal to anything of the other."""
    mine, its = _alternatives(one), _alternatives(other)
    if len(mine) > 1 or len(its) > 1:
        return all(disjoint(a, b) for a in mine for b in its)
    match one, other:
        case TupleForm(), TupleForm():
            pairs = zip(one.parts, other.parts, strict=False)
            return len(one.parts) != len(other.parts) or any(disjoint(a, b) for a, b in pairs)
        case (TupleForm(_, parts), LongForm(element)) | (LongForm(element), TupleForm(_, parts)):
            return any(disjoint(part, element) for part in parts)
        case (ObjectForm() as known, _) | (_, ObjectForm() as known):
            its = other if known is one else one
            text = isinstance(its, TextForm) and any(map(is_text, known.alternatives))
            return not isinstance(its, (ObjectForm, HandleForm)) and not text
        case _:
            return _kind(one) is not None and {_kind(one), _kind(other)} in _UNLIKE


def _alternatives(form: Form) -> tuple[Form, ...]:
    if not isinstance(form, OneOfForm):
        return (form,)
    return (*form.parts, ObjectForm(form.known)) if form.known else form.parts


def _kind(form: Form) -> str | None:
    if isinstance(form, (TupleForm, LongForm)):
        return "tuple"
    if isinstance(form, NumberForm):
        return "number"
    return "text" if isinstance(form, TextForm) else None


#: Kinds of values of which no two are equal.
_UNLIKE = ({"number", "text"}, {"number", "tuple"}, {"text", "tuple"})


def distinct(form: Form) -> bool:
    """Whether what is equal is kept alike: of several forms no two have equal values. Known objects
    are no numbers and no containers."""
    parts = _alternatives(form)
    pairs = itertools.combinations(parts, 2)
    if not all(disjoint(one, other) for one, other in pairs):
        return False
    if isinstance(form, LongForm):
        return distinct(form.element)
    return not isinstance(form, (TupleForm, OneOfForm)) or all(map(distinct, form.parts))


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
    if isinstance(form, (TupleForm, LongForm)):
        return "lists" if isinstance(form, TupleForm) and form.klass is list else "tuples"
    if isinstance(form, HandleForm):
        return objects_of(form.klass)
    if isinstance(form, EntriesForm):
        return f"{form.klass.__name__} objects"
    if isinstance(form, OneOfForm):
        return " or ".join([*(one.describe() for one in form.known), *map(text_of, form.parts)])
    return form.alternatives[0].describe()


WHICH = NumberForm(NumberKind.INT)  # which of several forms an element has, or which tensor it is


def leaves(form: Form) -> Iterator[Form]:
    """The parts that have a list each, in order."""
    if isinstance(form, OneOfForm):
        yield WHICH
    if isinstance(form, (TupleForm, EntriesForm, OneOfForm)):
        for part in form.parts:
            yield from leaves(part)
    elif isinstance(form, ListForm):
        for leaf in leaves(form.element):
            yield ListForm(leaf, form.group)
    elif isinstance(form, LongForm):
        for leaf in leaves(form.element):
            yield ListForm(leaf, "")
    elif isinstance(form, TensorForm) and form.numbered:
        yield replace(form, numbered=False)
        yield WHICH
    else:
        yield form
