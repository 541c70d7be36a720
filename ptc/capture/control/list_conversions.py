"""Lists with the elements of others in a form that is wider. Of tuples, which never change, so that
a new list is as good.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ptc.capture.control import lists
from ptc.capture.control.element_forms import (
    EMPTY,
    Form,
    ObjectForm,
    OneOfForm,
    TensorForm,
    TextForm,
    TupleForm,
    holds_texts,
    leaves,
)
from ptc.capture.control.list_forms import Unlistable, joined, new_vars, same_form
from ptc.capture.values.base import Value
from ptc.capture.values.texts import is_text
from ptc.graph.control import ListItem, ListVar, NumberKind, TextItem

if TYPE_CHECKING:
    from ptc.capture.control.machine import ControlMachine

Variables = tuple[ListVar, ...]


def converted(vm: ControlMachine, state: lists.ListState, form: Form) -> Variables:
    """The variables of a list with the same elements in this form. Where no operation makes one, it
    is learned that the list itself is of the form."""
    try:
        return _converted(vm, state.vars, state.form, form)
    except Unlistable:
        vm.lists.references.require_form(state, form)
    return state.vars


def _converted(vm: ControlMachine, variables: Variables, its: Form, form: Form) -> Variables:
    """Raises Unlistable."""
    if same_form(vm, its, form):
        return variables
    if its is EMPTY:
        return tuple(_new(vm, var) for var in new_vars(vm, form))
    if isinstance(form, OneOfForm):
        return _as_one_of(vm, variables, its, form)
    if isinstance(form, TextForm) and isinstance(its, ObjectForm) and holds_texts(its):
        return (_texts(vm, variables[0], its.alternatives),)
    if isinstance(form, ObjectForm) and isinstance(its, ObjectForm):
        places = [_place(vm, form.alternatives, one) for one in its.alternatives]
        return (_renumbered(vm, variables[0], places),)
    if isinstance(form, TensorForm) and isinstance(its, TensorForm):
        return variables
    if not isinstance(form, TupleForm) or not isinstance(its, TupleForm):
        raise Unlistable("tuples of tuples")
    found: Variables = ()
    rest = iter(variables)
    for mine, other in zip(form.parts, its.parts, strict=True):
        found += _converted(vm, tuple(next(rest) for _ in leaves(other)), other, mine)
    return found


def _as_one_of(vm: ControlMachine, variables: Variables, its: Form, form: OneOfForm) -> Variables:
    known, parts = its, ()
    several = isinstance(its, (OneOfForm, ObjectForm))
    known = its.known if isinstance(its, OneOfForm) else ()
    known = its.alternatives if isinstance(its, ObjectForm) else known
    parts = its.parts if isinstance(its, OneOfForm) else () if several else (its,)
    places = [_place_of_known(vm, form, one) for one in known]
    places += [_place_of_part(vm, form, part) for part in parts]
    rest = iter(variables)
    which = next(rest) if several else None
    sources = {place: (part, tuple(next(rest) for _ in leaves(part)))
               for part, place in zip(parts, places[len(known) :], strict=True)}  # fmt: skip
    if len(sources) < len(parts):
        raise Unlistable("elements that are of one kind here, and of several there")
    first = variables[0]
    found: Variables = (
        _filled(vm, first, ListVar("", NumberKind.INT), places[0])
        if which is None
        else _renumbered(vm, which, places),
    )
    for place, part in enumerate(form.parts, len(form.known)):
        if place in sources:
            if place in places[: len(known)]:
                raise Unlistable("strings that are known, and others")
            found += _converted(vm, sources[place][1], sources[place][0], part)
        elif place in places:
            assert which is not None
            texts = [one if at == place else None for one, at in zip(known, places, strict=False)]
            found += (_texts(vm, which, [*texts, *(None for _ in parts)]),)
        else:
            like = zip(leaves(part), new_vars(vm, part), strict=True)
            empty = vm.lists.stores.nothing
            found += tuple(_filled(vm, first, var, empty(leaf)) for leaf, var in like)
    return found


def _place(vm: ControlMachine, known: Sequence[Value], value: Value) -> int:
    for place, one in enumerate(known):
        if vm.same_alternative(one, value):
            return place
    raise Unlistable(value.describe())


def _place_of_known(vm: ControlMachine, form: OneOfForm, value: Value) -> int:
    if is_text(value) and TextForm() in form.parts:
        return len(form.known) + form.parts.index(TextForm())
    return _place(vm, form.known, value)


def _place_of_part(vm: ControlMachine, form: OneOfForm, its: Form) -> int:
    for place, part in enumerate(form.parts, len(form.known)):
        try:
            if joined(vm, part, its) is part:
                return place
        except Unlistable:
            continue
    raise Unlistable("elements of several kinds")


# -- operations -----------------------------------------------------------------------------------


def _new(vm: ControlMachine, var: ListVar, items: Sequence[int] = ()) -> ListVar:
    vm.writer.add(ListItem("new", var, tuple(items)))
    return var


def _filled(vm: ControlMachine, like: ListVar, var: ListVar, value: object) -> ListVar:
    target = ListVar(vm.writer.name("l"), var.element)
    vm.writer.add(ListItem("filled", target, (like, value)))  # type: ignore[arg-type]
    return target


def _renumbered(vm: ControlMachine, which: ListVar, places: Sequence[int]) -> ListVar:
    table = _new(vm, ListVar(vm.writer.name("l"), NumberKind.INT), places)
    target = ListVar(vm.writer.name("l"), NumberKind.INT)
    vm.writer.add(ListItem("pick", target, (table, which)))
    return target


def _texts(vm: ControlMachine, which: ListVar, known: Sequence[Value | None]) -> ListVar:
    target = ListVar(vm.writer.name("l"), str)
    texts = ("" if one is None else one.constant() for one in known)
    vm.writer.add(TextItem("choose", target, (which, *texts)))
    return target
