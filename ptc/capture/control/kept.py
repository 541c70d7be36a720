"""State kept from call to call: numbers, strings and other constants in attributes that the program
both reads and writes, and buffers that it replaces.

What is kept is only known when all of the program was seen, so capture starts again with what it
found, until nothing new is found. A kept attribute is one or more number variables of the session:
its number, or which of several constants it is. They are written where the program writes, so that
an exception leaves what was written before it.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from types import CodeType
from typing import TYPE_CHECKING, Any

import torch

from ptc.capture.control.arithmetic import KINDS, is_number, number_kind, operand
from ptc.capture.control.tensors import declare
from ptc.capture.errors import GraphBreak
from ptc.capture.sources import AttributeSource
from ptc.capture.values.base import Value
from ptc.capture.values.choices import ChoiceValue
from ptc.capture.values.constants import ConstantValue, is_immutable
from ptc.capture.values.data_numbers import DataNumber
from ptc.capture.values.objects import NO_OBJECT, Instance
from ptc.capture.values.torch_tensor import TensorValue
from ptc.graph.control import Assign, NumberKind, NumberVar, StateNumber, TensorVar
from ptc.graph.program import InputKind

if TYPE_CHECKING:
    from ptc.capture.control.machine import ControlMachine

#: What an attribute may be: a number of a kind, or a constant (in a list, for `==` by type too).
Form = NumberKind | tuple[type, Any]


@dataclass(slots=True)
class Kept:
    """What one capture found, for the next: forms by attribute, names of replaced buffers, and of
    weights that are written in place, generators that are run to their end at once, and sizes of
    inputs (by name, with the size) that are taken apart at the start."""

    forms: dict[Hashable, list[Form]] = field(default_factory=dict[Hashable, list[Form]])
    buffers: set[str] = field(default_factory=set[str])
    written: set[str] = field(default_factory=set[str])
    collected: set[CodeType] = field(default_factory=set[CodeType])
    splits: dict[tuple[str, int], None] = field(default_factory=dict[tuple[str, int], None])

    def size(self) -> int:
        sets = (self.buffers, self.written, self.collected, self.splits)
        return sum(map(len, (*self.forms.values(), *sets)))

    def copy(self) -> Kept:
        forms = {key: list(forms) for key, forms in self.forms.items()}
        return Kept(
            forms, set(self.buffers), set(self.written), set(self.collected), dict(self.splits)
        )


@dataclass(slots=True)
class _Slot:
    """An attribute's variables in the session, and its value at the start of a call."""

    numbers: Mapping[NumberKind, NumberVar]
    selector: NumberVar | None
    forms: list[Form]
    value: Value
    source: AttributeSource


@dataclass(frozen=True, slots=True)
class KeptAttribute:
    """An attribute that the program reads and writes, as a process that has the real object sees
    it: which variables hold it, in what form."""

    source: AttributeSource
    forms: tuple[Form, ...]
    numbers: Mapping[NumberKind, NumberVar]
    selector: NumberVar | None

    def values(self, real: Any) -> dict[str, int | float | bool] | None:
        """The variables' values for an attribute; None if it has none of the forms."""
        form = form_of(ConstantValue(real)) if is_immutable(real) else None
        if form not in self.forms:
            return None
        found: dict[str, int | float | bool] = {}
        if self.selector is not None:
            found[self.selector.name] = self.forms.index(form)
        if isinstance(form, NumberKind):
            found[self.numbers[form].name] = real
        return found

    def value(self, variables: Mapping[str, Any]) -> Any:
        """The attribute that these values of variables stand for."""
        form = self.forms[0 if self.selector is None else variables[self.selector.name]]
        return variables[self.numbers[form].name] if isinstance(form, NumberKind) else form[1]


class State:
    """The kept state of one capture. With `keeps_unread`, attributes that no call reads are kept
    as well: somebody outside may read them."""

    def __init__(self, vm: ControlMachine, known: Kept, *, keeps_unread: bool = False) -> None:
        self.vm = vm
        self._keeps_unread = keeps_unread
        self.known = known
        self.found = known.copy()
        self.numbers: list[StateNumber] = []
        self._slots: dict[Hashable, _Slot] = {}
        self._read: set[Hashable] = set()
        self._written: dict[Hashable, tuple[Instance, str, list[Form]]] = {}

    # -- attributes ----------------------------------------------------------------------------

    def read(self, owner: Instance, name: str, real: Any) -> Value | None:
        """The value of a kept attribute; None if it is as capture finds it."""
        key = self._key(owner, name)
        self._read.add(key)
        if key not in self.known.forms:
            return None
        return self._slot(key, owner, name, real).value

    def write(self, owner: Instance, name: str, value: Value) -> None:
        """An attribute of an object from outside is written."""
        if owner.source is None or owner.obj is NO_OBJECT:
            return
        real = getattr(owner.obj, "__dict__", {}).get(name, NO_OBJECT)
        if real is NO_OBJECT or not is_immutable(real):
            return
        value = self.vm.settle(value)
        if not (is_number(value) or isinstance(value, ConstantValue)):
            return
        key = self._key(owner, name)
        forms = self._written.setdefault(key, (owner, name, [form_of(ConstantValue(real))]))[2]
        if form_of(value) not in forms:
            forms.append(form_of(value))
        if key in self.known.forms:
            self._store(self._slot(key, owner, name, real), value)

    def _store(self, slot: _Slot, value: Value) -> None:
        form = form_of(value)
        if form not in slot.forms:
            return  # capture starts again
        writer = self.vm.writer
        if isinstance(form, NumberKind):
            writer.compute(Assign(slot.numbers[form], operand(self.vm, value)))
        if slot.selector is not None:
            writer.compute(Assign(slot.selector, slot.forms.index(form)))

    @staticmethod
    def _key(owner: Instance, name: str) -> Hashable:
        return (id(owner.obj), name)

    def _slot(self, key: Hashable, owner: Instance, name: str, real: Any) -> _Slot:
        slot = self._slots.get(key)
        if slot is None:
            slot = self._slots[key] = self._made(key, owner, name, real)
        return slot

    def _made(self, key: Hashable, owner: Instance, name: str, real: Any) -> _Slot:
        assert owner.source is not None
        source = AttributeSource(owner.source, name)
        path = self.vm.builder.path(source)
        forms = self.known.forms[key]
        initial = form_of(ConstantValue(real))
        kinds = [form for form in forms if isinstance(form, NumberKind)]
        numbers: dict[NumberKind, NumberVar] = {}
        copies: dict[NumberKind, DataNumber] = {}
        for kind in kinds:
            start = real if kind is initial else _zero(kind)
            label = path if len(kinds) == 1 else f"{path}.{kind.value}"
            numbers[kind], copies[kind] = self._variable(label, kind, start)
        if len(forms) == 1:
            return _Slot(numbers, None, forms, copies[kinds[0]], source)
        selector, chosen = self._variable(f"{path}.which", NumberKind.INT, forms.index(initial))
        alternatives = tuple(
            copies[form] if isinstance(form, NumberKind) else ConstantValue(form[1])
            for form in forms
        )
        return _Slot(numbers, selector, forms, ChoiceValue(chosen.var, alternatives), source)

    def _variable(self, path: str, kind: NumberKind, initial: Any) -> tuple[NumberVar, DataNumber]:
        """A number of the session, and its value at the start of the call."""
        vm = self.vm
        kept = NumberVar(vm.builder._unique(f"state.{path}"), kind)  # pyright: ignore[reportPrivateUsage]
        copy = NumberVar(vm.writer.name("n"), kind)
        vm.writer.root.items.insert(0, Assign(copy, kept))
        self.numbers.append(StateNumber(kept, path, initial))
        return kept, DataNumber(copy)

    # -- buffers -------------------------------------------------------------------------------

    def replace(self, real: torch.Tensor, value: Value, source: Any) -> bool:
        """A tensor from outside (a buffer, a tensor in an attribute) is replaced by another one of
        its kind. False if the session cannot keep that."""
        vm = self.vm
        old = vm.wrap(real, source)
        value = vm.settle(value)
        if not isinstance(old, TensorValue) or not isinstance(value, TensorValue):
            return False
        name = declare(vm, old).name
        if (old.fake.dtype, old.fake.dim()) != (value.fake.dtype, value.fake.dim()) or not all(
            vm.same_size(a, b) for a, b in zip(old.fake.shape, value.fake.shape, strict=True)
        ):
            raise GraphBreak(
                "PTC-B003",
                f"`{name}` is replaced by {value.describe()}, to be kept from call to call",
                "keep one shape and type: a buffer that is filled, with a count beside it",
            )
        self.found.buffers.add(name)
        if name in self.known.buffers:
            vm.homes.written[name] = None
            source_var = vm.tensor_variable(value, dense=True)
            vm.writer.add(Assign(TensorVar(name, old.fake), source_var))
        return True

    def first_variable(self, name: str, value: TensorValue) -> TensorVar | None:
        """The variable of a weight that the program writes to: of one that it replaces, one with
        the content at the start of the call. None for all others."""
        if name not in self.known.buffers or value.kind is InputKind.USER:
            return TensorVar(name, value.fake) if name in self.known.written else None
        var = TensorVar(self.vm.writer.name("t"), value.fake)
        self.vm.homes.written[name] = None
        self.vm.writer.root.items.insert(0, Assign(var, TensorVar(name, value.fake)))
        return var

    # -- the end -------------------------------------------------------------------------------

    def finished(self) -> Kept:
        """What is kept, as far as this capture saw."""
        for key, (_, _, forms) in self._written.items():
            if key not in self._read and not self._keeps_unread:
                continue
            if len(forms) == 1 and not isinstance(forms[0], NumberKind):
                continue
            known = self.found.forms.setdefault(key, [])
            known += [form for form in forms if form not in known]
        return self.found

    def attributes(self) -> tuple[KeptAttribute, ...]:
        """The attributes that this program keeps."""
        return tuple(
            KeptAttribute(slot.source, tuple(slot.forms), slot.numbers, slot.selector)
            for slot in self._slots.values()
        )

    def handled(self) -> set[tuple[int, str]]:
        """Attributes (by the value of their owner) that the session keeps."""
        return {
            (id(owner), name)
            for key, (owner, name, _) in self._written.items()
            if key in self.known.forms
        }


def form_of(value: Value) -> Form:
    if is_number(value):
        return number_kind(value)
    constant = value.constant()
    return (type(constant), constant)


def _zero(kind: NumberKind) -> Any:
    return {int: 0, float: 0.0, bool: False}[next(t for t, k in KINDS.items() if k is kind)]
