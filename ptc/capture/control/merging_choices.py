"""Choices in states that meet. Alternatives of one kind become one value that each arm assigns, so
that what is assigned again and again on some ways is one of few things, and not of ever more.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ptc.capture.control import lists
from ptc.capture.control.arithmetic import is_number, number_kind, operand
from ptc.capture.control.handles import Kind, kind_of, kinds_of, new_number, of_kind
from ptc.capture.control.merging_lists import MergedLists
from ptc.capture.control.states import State
from ptc.capture.values.base import Value
from ptc.capture.values.choices import ChoiceValue, alternatives_of
from ptc.capture.values.constants import ConstantValue
from ptc.capture.values.containers import ListValue, TupleValue
from ptc.capture.values.data_numbers import DataNumber
from ptc.capture.values.texts import is_text
from ptc.capture.values.torch_tensor import TensorValue
from ptc.graph.control import Assign, Body, NumberKind, NumberVar, Switch, Var

if TYPE_CHECKING:
    from ptc.capture.control.machine import ControlMachine

#: What a variable has where a choice is no number.
NOTHING: Mapping[NumberKind, int | float | bool] = {
    NumberKind.INT: 0,
    NumberKind.FLOAT: 0.0,
    NumberKind.BOOL: False,
}
_MOST_CONSTANTS = 4  # numbers that are told apart; more are one that data decides
_MOST_ROWS = 4  # lists of one known length that are told apart


class MergedChoices:
    """`value` gives one value for those of all arms."""

    def __init__(
        self,
        vm: ControlMachine,
        states: Sequence[State],
        merged_lists: MergedLists,
        value: Callable[[list[Value]], Value],
    ) -> None:
        self._vm = vm
        self._states = states
        self._lists = merged_lists
        self._value = value

    def shared(self, values: list[Value]) -> list[Value]:
        """The arms' values with one alternative for those of a kind among theirs."""
        for kind in NumberKind:
            values = self._numbers(values, kind)
        for kind in kinds_of(values):
            if not isinstance(kind, NumberKind):
                values = self._handles(values, kind)
        values = self._list(values)
        every = [one for value in values for one in alternatives_of(value)]
        for key in dict.fromkeys(map(shape_of, every)):
            if key not in (None, list):
                values = self._alike(values, key)
        return values

    # -- numbers -------------------------------------------------------------------------------

    def _numbers(self, values: list[Value], kind: NumberKind) -> list[Value]:
        """One variable for the numbers of a kind, which has a value also where the choice is
        something else."""
        known = {
            repr(one.value)
            for value in values
            for one in alternatives_of(value)
            if isinstance(one, ConstantValue) and _is_of(one, kind)
        }
        many = len(known) > _MOST_CONSTANTS
        own = [
            [one for one in alternatives_of(value) if _is_of(one, kind)]
            if many
            else list[Value](numbers_of(value, kind))
            for value in values
        ]
        if not any(own):
            return values
        target = NumberVar(self._vm.writer.name("n"), kind)
        for number, (value, found) in enumerate(zip(values, own, strict=True)):
            self._each(number, value, found, lambda one: [self._given(target, one, kind)])
        return _replaced(values, own, DataNumber(target))

    def _handles(self, values: list[Value], klass: type) -> list[Value]:
        """One variable for the objects of a class, as for numbers."""
        own = [[one for one in alternatives_of(v) if kind_of(one) is klass] for v in values]
        target = new_number(self._vm, klass)

        def given(one: Any) -> list[Any]:
            return [Assign(target, 0 if one is None else one.var)]

        for number, (value, found) in enumerate(zip(values, own, strict=True)):
            self._each(number, value, found, given)
        return _replaced(values, own, of_kind(klass, target))

    def _given(self, target: NumberVar, one: Value | None, kind: NumberKind) -> Assign:
        return Assign(target, NOTHING[kind] if one is None else operand(self._vm, one))

    def _each(
        self,
        number: int,
        value: Value,
        found: Sequence[Value],
        items: Callable[[Value | None], list[Any]],
    ) -> None:
        """Write, at each end of an arm, the items for the alternative that its value is: one of
        `found`, or None."""
        vm = self._vm
        for leaf in self._states[number].leaves:
            with vm.at_end_of(leaf):
                if len(found) > 1:
                    assert isinstance(value, ChoiceValue)
                    parts = [one if _among(found, one) else None for one in value.alternatives]
                    arms = tuple(Body(items(part)) for part in parts)
                    vm.writer.add(Switch(value.selector, arms, None, "choice"))
                else:
                    for item in items(found[0] if found else None):
                        vm.writer.add(item)

    # -- lists, tuples, tensors ----------------------------------------------------------------

    def _list(self, values: list[Value]) -> list[Value]:
        own = [[one for one in alternatives_of(v) if lists.is_list(one)] for v in values]
        distinct = {id(one): one for found in own for one in found}
        if len(distinct) < 2 or all(map(lists.is_list, values)) or self._are_rows(own):
            return values
        merged = self._lists.one_of(values, own)
        return values if merged is None else _replaced(values, own, merged)

    def _are_rows(self, own: Sequence[Sequence[Any]]) -> bool:
        """Whether the lists are a few of one known length."""
        contents = [self._lists.items(n, one) for n, found in enumerate(own) for one in found]
        few = len(contents) <= _MOST_ROWS and not any(map(lists.is_state, contents))
        return few and len({len(content) for content in contents}) == 1 and bool(contents[0])

    def _alike(self, values: list[Value], key: Any) -> list[Value]:
        """One tuple of a length, or one tensor of a kind."""
        own = [[one for one in alternatives_of(v) if shape_of(one) == key] for v in values]
        distinct = {id(one): one for found in own for one in found}
        if len(distinct) < 2 or any(len(found) > 1 for found in own):
            return values
        if all(own) and not any(isinstance(value, ChoiceValue) for value in values):
            return values  # and could not be one before
        first = next(iter(distinct.values()))
        if isinstance(first, TensorValue):
            return self._tensor(values, own)
        filled = [as_tuple(found[0]) if found else nothing_like(self._vm, first) for found in own]
        if any(one is None for one in filled):
            return values
        shared = self._value(filled)  # type: ignore[arg-type]
        return values if isinstance(shared, ChoiceValue) else _replaced(values, own, shared)

    def _tensor(self, values: list[Value], own: Sequence[Sequence[Any]]) -> list[Value]:
        """Tensors of the same sizes: a variable that has a value where the choice is one."""
        vm = self._vm
        tensors = [found[0] for found in own if found]
        first = tensors[0].fake
        for other in tensors[1:]:
            pairs = zip(first.shape, other.fake.shape, strict=True)
            if not all(vm.same_size(mine, its) for mine, its in pairs):
                return values
        result = vm.new_tensor(first.shape, first.dtype, first.device)
        target = vm.variable(result)
        for number, (value, found) in enumerate(zip(values, own, strict=True)):
            if found:
                self._assign_tensor(number, value, found[0], target)
        vm.may_share(result, tensors)
        return _replaced(values, own, result)

    def _assign_tensor(self, number: int, value: Value, found: TensorValue, target: Var) -> None:
        vm = self._vm
        for leaf in self._states[number].leaves:
            with vm.at_end_of(leaf):
                if not isinstance(value, ChoiceValue):
                    vm.writer.add(Assign(target, vm.tensor_variable(found, dense=True)))
                    continue
                bodies = tuple(Body() for _ in value.alternatives)
                for one, body in zip(value.alternatives, bodies, strict=True):
                    if one is found:
                        with vm.writer.inside(body):
                            source = vm.tensor_variable(found, dense=True)
                            vm.writer.add(Assign(target, source))
                vm.writer.add(Switch(value.selector, bodies, None, "choice"))


def numbers_of(value: Value, kind: Kind) -> list[Any]:
    return [part for part in alternatives_of(value) if kind_of(part) is kind]


def _is_of(value: Value, kind: NumberKind) -> bool:
    return is_number(value) and number_kind(value) is kind


def shape_of(value: Value) -> Any:
    """What values have in common of which one can stand for all; None for those that have none."""
    if isinstance(value, TensorValue):
        fake = value.fake
        return None if value.attrs else (fake.dtype, fake.dim(), fake.device, fake.layout)
    if lists.is_list(value):
        return list
    one = as_tuple(value)
    return None if one is None else (one.klass, len(one.items))


def as_tuple(value: Value) -> TupleValue | None:
    if type(value) is TupleValue:
        return None if value.attrs else value
    if isinstance(value, ConstantValue) and type(value.value) is tuple and value.value:
        return TupleValue([ConstantValue(item) for item in value.value])
    return None


def nothing_like(vm: ControlMachine, value: Value) -> Value | None:
    """A value to be merged with another one that is not there on all ways; None if there is
    none."""
    if isinstance(value, ConstantValue) or value.source is not None:
        return value
    if isinstance(value, ChoiceValue):
        return next(filter(None, (nothing_like(vm, one) for one in value.alternatives)), None)
    if isinstance(value, DataNumber):
        return ConstantValue(NOTHING[value.var.kind])
    if is_text(value):
        return ConstantValue("")
    if lists.is_list(value):
        return ListValue([])
    if type(value) is TupleValue and not value.attrs:
        items = [nothing_like(vm, item) for item in value.items]
        return None if None in items else TupleValue(items, value.klass)  # type: ignore[arg-type]
    return None


def _among(found: Sequence[Value], value: Value) -> bool:
    return any(value is one for one in found)


def _replaced(values: list[Value], own: Sequence[Sequence[Value]], shared: Value) -> list[Value]:
    """The values with `shared` for their own alternatives."""
    result: list[Value] = []
    for value, found in zip(values, own, strict=True):
        if not isinstance(value, ChoiceValue):
            result.append(shared if found else value)
            continue
        parts = tuple(shared if _among(found, one) else one for one in value.alternatives)
        result.append(ChoiceValue(value.selector, parts) if found else value)
    return result
