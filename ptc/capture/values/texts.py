"""Strings with parts that data decides: what f-strings and `str` make of numbers and tensors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ptc.capture.errors import GraphBreak
from ptc.capture.values.base import Value
from ptc.capture.values.constants import ConstantValue
from ptc.graph.control import Formatted, Text

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

    def truth(self, vm: Any) -> bool:
        if any(isinstance(part, str) and part for part in self.parts):
            return True
        if any(isinstance(part, Formatted) and not part.spec for part in self.parts):
            return True  # the text of a number or tensor is not empty
        raise GraphBreak("PTC-B002", "the truth of a string that data decides is asked for")

    def compare(self, vm: ControlMachine, op: str, other: Value, reflected: bool) -> Value | None:  # type: ignore[override]
        if parts_of(other) is None:
            return None
        if op not in ("==", "!="):
            raise GraphBreak("PTC-B002", "strings with parts that data decides are ordered")
        equal = vm.equal_texts(self, other)
        return equal if op == "==" else vm.logical_not(equal)

    def binary(self, vm: ControlMachine, op: str, other: Value, reflected: bool) -> Value | None:  # type: ignore[override]
        if op == "%" and reflected and parts_of(other) is not None:
            return vm.percent(other, self)
        if op == "*" and other.is_constant() and isinstance(other.constant(), int):
            return joined(self.parts * other.constant())
        its = parts_of(other)
        if op != "+" or its is None:
            return None
        return joined((*its, *self.parts) if reflected else (*self.parts, *its))


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
