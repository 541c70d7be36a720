"""Elements of lists whose length data decides, taken apart: what goes into each of the lists that a
form is kept in.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from ptc.capture.control import identities
from ptc.capture.control.arithmetic import operand
from ptc.capture.control.element_forms import (
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
from ptc.capture.control.handles import HandleValue
from ptc.capture.control.list_forms import (
    Unlistable,
    example,
    has_copies,
    joined_alike,
    tuple_items,
)
from ptc.capture.control.numbers_among import number_among, text_among
from ptc.capture.control.variables import inside_arm
from ptc.capture.errors import GraphBreak
from ptc.capture.values.base import Value
from ptc.capture.values.choices import ChoiceValue, alternatives_of
from ptc.capture.values.texts import is_made
from ptc.capture.values.torch_tensor import TensorValue
from ptc.graph.control import (
    Assign,
    Body,
    ListVar,
    NumberKind,
    NumberVar,
    Switch,
    TensorVar,
    TextVar,
    Var,
)

if TYPE_CHECKING:
    from ptc.capture.control.machine import ControlMachine


def operands(vm: ControlMachine, form: Form, value: Value) -> list[Any]:
    """What goes into each list for one element."""
    if isinstance(form, NumberForm):
        if isinstance(value, ChoiceValue):
            return [number_among(vm, value, form.kind)]
        return [operand(vm, value)]
    if isinstance(form, TensorForm):
        if not isinstance(value, TensorValue):
            raise GraphBreak(
                "PTC-B018",
                f"{value.describe()}, of which data decides which it is, is in a list whose length "
                "data decides, and written to",
                "write to it before it is put in the list, or put a copy in it (`.clone()`)",
            )
        which = [identities.number_of(vm, value)] if form.numbered else []
        return [vm.lists.tensor(value), *which]
    if isinstance(form, TextForm):
        made = isinstance(value, ChoiceValue) and any(map(is_made, value.alternatives))
        return [text_among(vm, value) if made else vm.text_variable(value)]  # type: ignore[arg-type]
    if isinstance(form, ObjectForm):
        any_number = NumberVar("", NumberKind.INT)
        return [vm.choice_selector(ChoiceValue(any_number, form.alternatives), value)]
    if isinstance(form, ListForm):
        return list(vm.lists.references.handles(form, value))
    if isinstance(form, (TupleForm, LongForm)) and isinstance(value, ChoiceValue):
        return _among(vm, value, [True] * len(value.alternatives), form)
    if isinstance(form, LongForm):
        return list(vm.lists.long_variables(form, value))
    if isinstance(form, HandleForm):
        assert isinstance(value, HandleValue)
        return [value.var]
    if isinstance(form, EntriesForm):
        columns = vm.lists.stores.columns(value)
        pairs = zip(form.parts, columns, strict=True)
        return [found for part, column in pairs for found in operands(vm, part, column)]
    if isinstance(form, OneOfForm):
        return _of_several(vm, form, value)
    items = tuple_items(value)
    assert items is not None
    pairs = zip(form.parts, items, strict=True)
    return [found for part, item in pairs for found in operands(vm, part, item)]


def _of_several(vm: ControlMachine, form: OneOfForm, value: Value) -> list[Any]:
    """What goes into each list for one of several forms: nothing into those of the others."""
    parts = alternatives_of(value)
    places = [_place(vm, form, one) for one in parts]
    found: list[Any] = list(places)
    if isinstance(value, ChoiceValue):
        found = [vm.renumbered(value, places)]
    chosen: dict[int, Value] = dict(zip(places, parts, strict=True))
    for place, part in enumerate(form.parts, len(form.known)):
        if isinstance(part, NumberForm):
            found.append(number_among(vm, value, part.kind))
        elif place in chosen and isinstance(value, ChoiceValue) and has_copies(part):
            found += _among(vm, value, [mine == place for mine in places], part)
        elif place in chosen:
            found += operands(vm, part, chosen[place])
        else:
            found += map(vm.lists.stores.nothing, leaves(part))
    return found


def _among(vm: ControlMachine, choice: ChoiceValue, wanted: list[bool], part: Form) -> list[Any]:
    """What goes into the lists of a part for the alternatives that have it, and nothing for the
    others: in variables that have a value either way."""
    kept = list(leaves(part))
    targets = [variable_for(vm, leaf) for leaf in kept]
    possible = vm.possible.get(choice.selector.name, frozenset(range(len(wanted))))
    arms = tuple(Body() for _ in wanted)
    for number, (arm, one) in enumerate(zip(arms, choice.alternatives, strict=True)):
        has = wanted[number] and number in possible
        with inside_arm(vm, arm):
            given = operands(vm, part, one) if has else map(vm.lists.stores.nothing, kept)
            for target, source in zip(targets, given, strict=True):
                vm.writer.add(Assign(target, source))
    vm.writer.add(Switch(choice.selector, arms, None, "choice"))
    return list(targets)


def variable_for(vm: ControlMachine, leaf: Form) -> Var:
    """A variable for what a list has of one element."""
    kept = example(vm, leaf)
    if isinstance(kept, NumberKind):
        return NumberVar(vm.writer.name("n"), kept)
    if isinstance(kept, torch.Tensor):
        return TensorVar(vm.writer.name("t"), kept)
    if isinstance(kept, ListVar):
        return ListVar(vm.writer.name("l"), kept.element)
    return TextVar(vm.writer.name("text"))


def _place(vm: ControlMachine, form: OneOfForm, value: Value) -> int:
    """Which of the objects or forms a value has."""
    for place, known in enumerate(form.known):
        if vm.same_alternative(known, value):
            return place
    its = vm.lists.stores.form_of(value)
    for place, part in enumerate(form.parts, len(form.known)):
        try:
            if joined_alike(vm, part, its) is part:
                return place
        except Unlistable:
            continue
    raise Unlistable(value.describe())
