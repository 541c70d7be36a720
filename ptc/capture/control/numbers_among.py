"""The number, or the string, that a value is which may be one of several, or something else: a
variable that has a value either way, as those of the alternatives need not.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from ptc.capture.control.arithmetic import is_number, number_kind, operand
from ptc.capture.values.base import Value
from ptc.capture.values.choices import ChoiceValue
from ptc.capture.values.constants import ConstantValue
from ptc.capture.values.data_numbers import DataNumber
from ptc.capture.values.texts import TextValue, is_text
from ptc.graph.control import (
    Assign,
    Body,
    Formatted,
    NumberKind,
    NumberVar,
    Operand,
    Switch,
    TextVar,
)

if TYPE_CHECKING:
    from ptc.capture.control.machine import ControlMachine

#: What a variable has where a choice is no number.
NOTHING: Mapping[NumberKind, int | float | bool] = {
    NumberKind.INT: 0,
    NumberKind.FLOAT: 0.0,
    NumberKind.BOOL: False,
}


def is_of(value: Value, kind: NumberKind) -> bool:
    return is_number(value) and number_kind(value) is kind


def number_among(vm: ControlMachine, value: Value, kind: NumberKind) -> Operand:
    """The number of this kind that a value is, where it is one."""
    parts = value.alternatives if isinstance(value, ChoiceValue) else (value,)
    numbers = [operand(vm, part) if is_of(part, kind) else None for part in parts]
    distinct = list(dict.fromkeys((type(one), repr(one)) for one in numbers))
    if len(distinct) == 1:
        return NOTHING[kind] if numbers[0] is None else numbers[0]
    assert isinstance(value, ChoiceValue)
    target = NumberVar(vm.writer.name("n"), kind)
    arms = tuple(Body([Assign(target, NOTHING[kind] if one is None else one)]) for one in numbers)
    vm.writer.add(Switch(value.selector, arms, None, "choice"))
    return target


def text_among(vm: ControlMachine, choice: ChoiceValue) -> TextVar:
    """The string that a choice is, where it is one."""
    target = TextVar(vm.writer.name("text"))
    arms: list[Body] = []
    for one in choice.alternatives:
        arms.append(Body())
        with vm.at_end_of(arms[-1]):
            text = vm.text_variable(one if is_text(one) else ConstantValue(""))
            vm.writer.add(Assign(target, text))
    vm.writer.add(Switch(choice.selector, tuple(arms), None, "choice"))
    return target


def as_one(vm: ControlMachine, choice: ChoiceValue) -> Value:
    """One of several numbers of a type as a number, and one of several strings as a string; any
    other choice as it is."""
    possible = vm.possible.get(choice.selector.name, frozenset(range(len(choice.alternatives))))
    parts = [part for n, part in enumerate(choice.alternatives) if n in possible]
    if all(map(is_text, parts)):
        return TextValue((Formatted(text_among(vm, choice)),))
    if not all(map(is_number, parts)) or len({number_kind(part) for part in parts}) > 1:
        return choice
    number = number_among(vm, choice, number_kind(parts[0]))
    return DataNumber(number) if isinstance(number, NumberVar) else ConstantValue(number)
