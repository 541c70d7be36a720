"""Choices in states that meet. Alternatives of one kind become one value that each arm assigns, so
that what is assigned again and again on some ways is one of few things, and not of ever more.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from ptc.capture.control import identities, list_forms, lists
from ptc.capture.control.arithmetic import is_number, number_kind, operand
from ptc.capture.control.handles import (
    Kind,
    kind_of,
    kinds_of,
    new_number,
    of_kind,
    one_class,
)
from ptc.capture.control.homes import storage
from ptc.capture.control.merging_lists import MergedLists
from ptc.capture.control.numbers_among import NOTHING, is_of
from ptc.capture.control.states import State, facts_of
from ptc.capture.control.tensors import WHOLLY, is_copied
from ptc.capture.control.variables import inside_arm
from ptc.capture.values.base import Value
from ptc.capture.values.choices import ChoiceValue, alternatives_of
from ptc.capture.values.constants import ConstantValue
from ptc.capture.values.containers import TupleValue
from ptc.capture.values.data_numbers import DataNumber
from ptc.capture.values.texts import TextValue, is_made, is_text
from ptc.capture.values.torch_tensor import TensorValue
from ptc.graph.control import (
    Assign,
    Body,
    Formatted,
    NumberKind,
    NumberVar,
    Switch,
    TextVar,
    Var,
)
from ptc.graph.symbols import expression_of

if TYPE_CHECKING:
    from ptc.capture.control.machine import ControlMachine

_MOST_CONSTANTS = 4  # numbers that are told apart; more are one that data decides
_MOST_ROWS = 4  # lists of one known length that are told apart


class MergedChoices:
    """`value` gives one value for those of all arms."""

    def __init__(
        self,
        vm: ControlMachine,
        states: Sequence[State],
        merged_lists: MergedLists,
    ) -> None:
        self._vm = vm
        self._states = states
        self._lists = merged_lists
        self.site: Hashable = None  # where the states meet

    def are_apart(self, tensors: Sequence[Value]) -> bool:
        """Whether tensors are not to be one variable: one of them is a view, which is written to by
        what it would be a copy of, or has gradients recorded, which is asked for."""
        vm = self._vm
        if (WHOLLY, self.site) in vm.state.known.apart:
            return True
        if self.site not in vm.state.known.apart:
            return False
        known = [one for one in tensors if isinstance(one, TensorValue)]
        return any(
            is_copied(vm, one) or one.fake.requires_grad or one in vm.homes.unsure for one in known
        )

    def shared(self, values: list[Value]) -> list[Value]:
        """The arms' values with one alternative for those of a kind among theirs."""
        for kind in NumberKind:
            values = self._numbers(values, kind)
        for kind in kinds_of(values):
            if not isinstance(kind, NumberKind):
                values = self._handles(values, kind)
        values = self._list(self._texts(values))
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
            if isinstance(one, ConstantValue) and is_of(one, kind)
        }
        many = len(known) > _MOST_CONSTANTS
        own = [
            [one for one in alternatives_of(value) if is_of(one, kind)]
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

    def _texts(self, values: list[Value]) -> list[Value]:
        """One variable for strings, where more are known than are told apart."""
        own = [[one for one in alternatives_of(v) if is_text(one)] for v in values]
        if not has_many([one for found in own for one in found]):
            return values
        if any(is_made(one) and one.var is None for found in own for one in found):  # type: ignore[attr-defined]
            return values
        target = TextVar(self._vm.writer.name("text"))

        def given(one: Value | None) -> list[Any]:
            text = self._vm.text_variable(ConstantValue("") if one is None else one)
            return [Assign(target, text)]

        for number, (value, found) in enumerate(zip(values, own, strict=True)):
            self._each(number, value, found, given)
        return _replaced(values, own, TextValue((Formatted(target),)))

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
        """One tuple, string or tensor of a kind."""
        own = [[one for one in alternatives_of(v) if shape_of(one) == key] for v in values]
        distinct = {id(one): one for found in own for one in found}
        if len(distinct) < 2 or self.are_apart(list(distinct.values())):
            return values
        if all(own) and not any(isinstance(value, ChoiceValue) for value in values):
            return values  # and could not be one before
        ends = [
            End(number, ((value, position),) if isinstance(value, ChoiceValue) else (), one)
            for number, (value, found) in enumerate(zip(values, own, strict=True))
            for position, one in enumerate(alternatives_of(value))
            if _among(found, one)
        ]
        joined = JoinedEnds(self._vm, self._states, self.site)
        shared = joined.value(ends)
        if shared is None:
            return values
        joined.write()
        return _replaced(values, own, shared)


@dataclass(frozen=True, slots=True)
class End:
    """What a value is at the end of an arm, where choices are these of their alternatives."""

    arm: int
    where: tuple[tuple[ChoiceValue, int], ...]
    value: Value


class JoinedEnds:
    """One value for those of several ends. Its variables have values there, and nowhere else."""

    def __init__(self, vm: ControlMachine, states: Sequence[State], site: Hashable) -> None:
        self._vm = vm
        self._states = states
        self._site = site
        self._given: dict[tuple[Any, ...], tuple[End, list[tuple[Var, Any]]]] = {}

    def value(self, ends: Sequence[End]) -> Value | None:
        """None if there is none."""
        vm, values = self._vm, [end.value for end in ends]
        first = values[0]
        if all(vm.same_alternative(first, value) for value in values):
            return first
        if any(isinstance(value, ChoiceValue) for value in values):
            return self._choice(ends)
        if all(map(is_number, values)) and len({value.cls for value in values}) == 1:
            number = NumberVar(vm.writer.name("n"), number_kind(first))
            self._give(ends, number, lambda one: operand(vm, one))
            return DataNumber(number)
        klass = one_class(values)
        if klass is not None:
            handle = new_number(vm, klass)
            self._give(ends, handle, lambda one: one.var)
            return of_kind(klass, handle)
        if all(map(is_text, values)) and any(map(is_made, values)):
            text = TextVar(vm.writer.name("text"))
            self._give(ends, text, vm.text_variable)
            return TextValue((Formatted(text),))
        shape = shape_of(first)
        if shape in (None, list) or any(shape_of(value) != shape for value in values):
            return None if any(map(lists.is_list, values)) else self._choice(ends)
        if isinstance(first, TensorValue):
            return self._tensor(ends, values)  # type: ignore[arg-type]
        return self._tuple(ends)

    def _tuple(self, ends: Sequence[End]) -> Value | None:
        rows = [as_tuple(end.value) for end in ends]
        items: list[Value] = []
        for position, _ in enumerate(rows[0].items):  # type: ignore[union-attr]
            parts = [
                replace(end, value=row.items[position])  # type: ignore[union-attr]
                for end, row in zip(ends, rows, strict=True)
            ]
            item = self.value(parts)
            if item is None:
                return None
            items.append(item)
        return TupleValue(items, rows[0].klass)  # type: ignore[union-attr]

    def _tensor(self, ends: Sequence[End], values: Sequence[TensorValue]) -> Value:
        """Sizes that differ get symbols, which are set together with the tensor."""
        vm = self._vm
        first = values[0].fake
        shapes = zip(*(value.fake.shape for value in values), strict=True)
        shape = [self._size(ends, sizes) for sizes in shapes]
        result = vm.new_tensor(shape, first.dtype, first.device)
        self._give(ends, vm.variable(result), lambda one: vm.tensor_variable(one, dense=True))
        vm.may_share(result, values)
        vm.homes.sites[storage(result.fake)] = self._site
        which = identities.new_number(vm, result)
        if which is not None:
            self._give(ends, which, lambda one: identities.number_of(vm, one))
        return result

    def _size(self, ends: Sequence[End], sizes: Sequence[Any]) -> Any:
        vm = self._vm
        if all(vm.same_size(size, sizes[0]) for size in sizes):
            return sizes[0]
        known = [facts_of(vm, self._states[end.arm]) for end in ends]
        pairs = zip(known, map(expression_of, sizes), strict=True)
        return vm.new_size(min(facts.at_least(size) for facts, size in pairs))

    def _choice(self, ends: Sequence[End]) -> Value | None:
        """Which of several, and those of one kind as one."""
        vm = self._vm
        every = [inner for end in ends for inner in _told_apart(end)]
        groups: list[list[End]] = []
        for end in every:
            known = next((g for g in groups if self._alike(g[0].value, end.value)), None)
            if known is None:
                groups.append([end])
            else:
                known.append(end)
        alternatives = [self.value(group) for group in groups]
        if any(one is None for one in alternatives):
            return None
        selector = NumberVar(vm.writer.name("n"), NumberKind.INT)
        for position, group in enumerate(groups):
            self._give(group, selector, lambda _, position=position: position)
        return ChoiceValue(selector, tuple(alternatives))  # type: ignore[arg-type]

    def _alike(self, one: Value, other: Value) -> bool:
        if self._vm.same_alternative(one, other):
            return True
        shape = part_of(one)
        both = isinstance(one, ConstantValue) and isinstance(other, ConstantValue)
        told_apart = both and not is_number(one)
        return not told_apart and shape == part_of(other)

    def _give(self, ends: Sequence[End], target: Var, source: Callable[[Any], Any]) -> None:
        for end in ends:
            key = (end.arm, *((choice.selector.name, n) for choice, n in end.where))
            pairs = self._given.setdefault(key, (end, []))[1]
            pairs.append((target, lambda one=end.value: source(one)))

    # -- writing -------------------------------------------------------------------------------

    def write(self) -> None:
        """Write all assignments, each where its end is."""
        for end, pairs in self._given.values():
            for leaf in self._states[end.arm].leaves:
                with self._vm.at_end_of(leaf):
                    self._write(end.where, pairs)

    def _write(
        self, where: tuple[tuple[ChoiceValue, int], ...], pairs: Sequence[tuple[Var, Any]]
    ) -> None:
        vm = self._vm
        if not where:
            for target, source in pairs:
                vm.writer.add(Assign(target, source()))
                for bind in vm.bindings(target):
                    vm.writer.add(bind)
            return
        (choice, position), *rest = where
        arms = tuple(Body() for _ in choice.alternatives)
        with inside_arm(vm, arms[position]):
            self._write(tuple(rest), pairs)
        vm.writer.add(Switch(choice.selector, arms, None, "choice"))


def _told_apart(end: End) -> Iterator[End]:
    """An end for each alternative of a choice."""
    if not isinstance(end.value, ChoiceValue):
        yield end
        return
    for position, one in enumerate(end.value.alternatives):
        yield from _told_apart(End(end.arm, (*end.where, (end.value, position)), one))


def numbers_of(value: Value, kind: Kind) -> list[Any]:
    return [part for part in alternatives_of(value) if kind_of(part) is kind]


def has_many(texts: Sequence[Value]) -> bool:
    """Whether these have more known strings than are told apart."""
    every = [one for text in texts for one in alternatives_of(text)]
    known = {one.value for one in every if isinstance(one, ConstantValue)}
    return len(known) > list_forms.MOST_TEXTS


def shape_of(value: Value) -> Any:
    """What tuples, lists, tensors and strings have in common of which one can stand for all; None
    for those that have none, and for all else."""
    if isinstance(value, TensorValue):
        fake = value.fake
        return None if value.attrs else (fake.dtype, fake.dim(), fake.device, fake.layout)
    if lists.is_list(value):
        return list
    if is_text(value):
        return str if is_made(value) else None
    one = as_tuple(value)
    return None if one is None else (one.klass, *map(part_of, one.items))


def part_of(value: Value) -> Any:
    """As `shape_of`, of what stands in a tuple, where constants are told apart by what they are."""
    if is_number(value):
        return number_kind(value)
    if isinstance(value, ChoiceValue):
        return ChoiceValue
    if is_text(value):
        return str
    kind = kind_of(value)
    shape = kind if kind is not None else shape_of(value)
    if shape is not None:
        return shape
    constant = isinstance(value, ConstantValue)
    return (
        "is",
        None if constant and value.value is None else id(value.value if constant else value),
    )


def as_tuple(value: Value) -> TupleValue | None:
    if type(value) is TupleValue:
        return None if value.attrs else value
    if isinstance(value, ConstantValue) and type(value.value) is tuple and value.value:
        return TupleValue([ConstantValue(item) for item in value.value])
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
