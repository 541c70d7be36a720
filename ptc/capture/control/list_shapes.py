"""What is asked of the form of elements of a list: how deep it is, and whether numbers say what an
element has.
"""

from __future__ import annotations

from ptc.capture.control.list_forms import (
    EntriesForm,
    Form,
    ListForm,
    LongForm,
    ObjectForm,
    OneOfForm,
    TupleForm,
    holds_texts,
)


def has_several(form: Form) -> bool:
    """Whether a number says which of several forms something in an element has, or it is a tuple
    of any length: what has another form is kept in another way."""
    if isinstance(form, (TupleForm, EntriesForm)):
        return any(map(has_several, form.parts))
    if isinstance(form, ListForm):
        return has_several(form.element)
    return isinstance(form, (OneOfForm, LongForm))


def has_objects(form: Form) -> bool:
    """Whether an element has one of a few known objects in it, which are not all strings."""
    objects = isinstance(form, ObjectForm) and not holds_texts(form)
    return objects or (isinstance(form, TupleForm) and any(map(_has_known, form.parts)))


def _has_known(form: Form) -> bool:
    return isinstance(form, ObjectForm) or has_objects(form)


def depth(form: Form) -> int:
    """How many lists are around the innermost elements."""
    if isinstance(form, (TupleForm, EntriesForm, OneOfForm)):
        return max(map(depth, form.parts), default=0)
    return 1 + depth(form.element) if isinstance(form, (ListForm, LongForm)) else 0
