"""Assignments at the ends of arms, and the selectors of values that are one of several.

The functions are methods of the machine.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from ptc.capture.control.handles import HandleValue
from ptc.capture.control.work import ITEM
from ptc.capture.values.base import Value
from ptc.capture.values.choices import ChoiceValue
from ptc.capture.values.constants import ConstantValue
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


@contextmanager
def at_end_of(vm: ControlMachine, leaf: Body) -> Iterator[None]:
    """Write at the end of an arm. What becomes known there is not known elsewhere."""
    mark = vm.journal.mark()
    outer = vm.builder.leaf_facts
    vm.builder.leaf_facts = vm.leaf_facts.get(id(leaf), (leaf, {}))[1]
    with vm.writer.inside(leaf):
        try:
            yield
        finally:
            vm.builder.leaf_facts = outer
            vm.journal.rollback(mark)


@contextmanager
def inside_arm(vm: ControlMachine, arm: Body) -> Iterator[None]:
    """Write in an arm of an item that is about to be written. What is known here holds in it."""
    vm.leaf_facts[id(arm)] = (arm, vm.builder.leaf_facts)
    with vm.at_end_of(arm):
        yield


def assign_at_end(vm: ControlMachine, leaf: Body, target: Var, source: Any) -> None:
    with vm.at_end_of(leaf):
        vm.writer.add(Assign(target, source))


def variable_like(vm: ControlMachine, var: Var) -> Var:
    """A new variable of the same type."""
    if isinstance(var, NumberVar):
        return NumberVar(vm.writer.name("n"), var.kind)
    if isinstance(var, TensorVar):
        return TensorVar(vm.writer.name("t"), var.fake)
    if isinstance(var, TextVar):
        return TextVar(vm.writer.name("text"))
    return ListVar(vm.writer.name("l"), var.element)


def same_alternative(vm: ControlMachine, one: Value, other: Value) -> bool:
    if one is other:
        return True
    if isinstance(one, HandleValue) and isinstance(other, HandleValue):
        return one.klass is other.klass and one.var == other.var
    both = isinstance(one, ConstantValue) and isinstance(other, ConstantValue)
    return both and vm.same_constant(one, other)


def choice_selector(vm: ControlMachine, form: ChoiceValue, content: Value) -> Any:
    """The number of an alternative of `form`, for a value that is one of them."""

    def position(value: Value) -> int:
        return next(i for i, a in enumerate(form.alternatives) if vm.same_alternative(a, value))

    if not isinstance(content, ChoiceValue):
        return position(content)
    return vm.renumbered(content, [position(value) for value in content.alternatives])


def renumbered(vm: ControlMachine, choice: ChoiceValue, numbers: list[int]) -> NumberVar:
    """The selector of a choice in other numbers."""
    possible = vm.possible.get(choice.selector.name, frozenset(range(len(numbers))))
    if all(number == old for old, number in enumerate(numbers) if old in possible):
        return choice.selector
    target = NumberVar(vm.writer.name("n"), NumberKind.INT)
    vm.assign_choice(target, choice, numbers)
    return target


def assign_choice(
    vm: ControlMachine, target: NumberVar, choice: ChoiceValue, numbers: list[int]
) -> None:
    """`target = numbers[choice's selector]`."""
    vm.work.add(ITEM * len(numbers))
    arms = tuple(Body([Assign(target, number)]) for number in numbers)
    vm.writer.add(Switch(choice.selector, arms, None, "choice"))
