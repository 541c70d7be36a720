"""Strings with parts that data decides: what f-strings and `str` make of numbers and tensors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ptc.capture.values.base import Value
from ptc.capture.values.choices import ChoiceValue
from ptc.capture.values.constants import ConstantValue
from ptc.graph.control import Formatted, Text, TextVar

if TYPE_CHECKING:
    from ptc.capture.control.machine import ControlMachine


class TextValue(Value):
    """A str of constant parts and formatted variables."""

    __slots__ = ("parts",)

    def __init__(self, parts: Text) -> None:
        self.source = None
        self.parts = parts

    @property
    def cls(self) -> type:
        return str

    def describe(self) -> str:
        return "a string that data decides"

    @property
    def var(self) -> TextVar | None:
        """The variable that has the string, if it is no more than that."""
        part = self.parts[0]
        if len(self.parts) != 1 or isinstance(part, str) or not isinstance(part.value, TextVar):
            return None
        return part.value if not part.spec and part.conversion == "str" else None

    def truth(self, vm: ControlMachine) -> bool:  # type: ignore[override]
        if any(isinstance(part, str) and part for part in self.parts):
            return True
        if any(isinstance(part, Formatted) and _is_never_empty(part) for part in self.parts):
            return True
        return vm.truth(vm.compare(">", self.length(vm), ConstantValue(0)))

    def length(self, vm: ControlMachine) -> Value:  # type: ignore[override]
        return vm.text_operation("length", [self])

    def getitem(self, vm: ControlMachine, key: Value) -> Value:  # type: ignore[override]
        return vm.text_item(self, key)

    def iterate(self, vm: ControlMachine) -> Value:  # type: ignore[override]
        return vm.iterate(vm.text_operation("characters", [self]))

    def contains(self, vm: ControlMachine, item: Value) -> Value:  # type: ignore[override]
        found = vm.contains_by_data(self, item)
        assert found is not None
        return found

    def convert(self, vm: ControlMachine, to: type) -> Value | None:  # type: ignore[override]
        if to is str:
            return self
        return vm.text_number(self, to) if to in (int, float) else None

    def compare(self, vm: ControlMachine, op: str, other: Value, reflected: bool) -> Value | None:  # type: ignore[override]
        if parts_of(other) is None:
            return None
        if op in ("==", "!="):
            equal = vm.equal_texts(self, other)
            return equal if op == "==" else vm.logical_not(equal)
        return vm.ordered_texts(op, *((other, self) if reflected else (self, other)))

    def binary(self, vm: ControlMachine, op: str, other: Value, reflected: bool) -> Value | None:  # type: ignore[override]
        if op == "%" and reflected and parts_of(other) is not None:
            return vm.percent(other, self)
        if op == "*" and vm.is_number(other) and other.cls is not float:
            count = other.constant() if other.is_constant() else None
            if count is not None and count <= _MOST_COPIES:
                return joined(self.parts * count)
            return vm.text_operation("repeat", [self, vm.call(vm.class_value(int), [other])])
        its = parts_of(other)
        if op != "+" or its is None:
            return None
        return joined((*its, *self.parts) if reflected else (*self.parts, *its))


_MOST_COPIES = 8  # of parts that are known at capture


def _is_never_empty(part: Formatted) -> bool:
    """Whether the text of a part has a character: that of a number or tensor."""
    return not part.spec and not isinstance(part.value, TextVar)


def is_text(value: Value) -> bool:
    """Whether a value is a string, whichever it is."""
    if isinstance(value, ChoiceValue):
        return all(map(is_text, value.alternatives))
    return parts_of(value) is not None


def is_made(value: Value) -> bool:
    """Whether data decides more of a string than which of some known ones it is."""
    if isinstance(value, ChoiceValue):
        return any(map(is_made, value.alternatives))
    return isinstance(value, TextValue)


def parts_of(value: Value) -> Text | None:
    """The parts of a string; None if it is none."""
    if isinstance(value, TextValue):
        return value.parts
    if isinstance(value, ConstantValue) and isinstance(value.value, str):
        return (value.value,)
    return None


def joined(parts: tuple[Any, ...]) -> Value:
    """Parts as one string, neighbouring constants as one part."""
    result: list[Any] = []
    for part in parts:
        if isinstance(part, str) and result and isinstance(result[-1], str):
            result[-1] = result[-1] + part
        elif part != "":
            result.append(part)
    if all(isinstance(part, str) for part in result):
        return ConstantValue("".join(result))
    return TextValue(tuple(result))
