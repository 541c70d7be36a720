"""Strings with parts that data decides: what f-strings and `str` make of numbers and tensors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ptc.capture.errors import GraphBreak
from ptc.capture.values.base import Value
from ptc.capture.values.constants import ConstantValue
from ptc.graph.control import Formatted, NumberKind, NumberVar, Text

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

    def length(self, vm: Any) -> Value:
        raise _unknown("the length")

    def getitem(self, vm: Any, key: Value) -> Value:
        raise _unknown("a character")

    def iterate(self, vm: Any) -> Value:
        raise _unknown("each character")

    def contains(self, vm: Any, item: Value) -> Value:
        """Whether a known string is in this one, if no number's text can be part of it."""
        if item.cls is not str:
            kind = item.cls.__name__
            raise vm.type_error(f"'in <string>' requires string as left operand, not {kind}")
        wanted = item.constant() if item.is_constant() else None
        if wanted is not None:
            if any(isinstance(part, str) and wanted in part for part in self.parts):
                return ConstantValue(True)
            if not set(wanted) & self._alphabet():
                return ConstantValue(False)
        raise _unknown("a part")

    def starts_with(self, wanted: str) -> bool:
        first = self.parts[0]
        if isinstance(first, str) and len(first) >= len(wanted):
            return first.startswith(wanted)
        raise _unknown("the beginning")

    def ends_with(self, wanted: str) -> bool:
        last = self.parts[-1]
        if isinstance(last, str) and len(last) >= len(wanted):
            return last.endswith(wanted)
        raise _unknown("the end")

    def _alphabet(self) -> set[str]:
        """What formatted numbers may be written with."""
        letters: set[str] = set()
        for part in self.parts:
            if isinstance(part, Formatted):
                if not isinstance(part.value, NumberVar):
                    raise _unknown("a part")
                letters |= {*_OF_NUMBERS, *part.spec}
                letters |= set(_OF_NUMBERS.upper()) if part.spec != part.spec.lower() else set()
                letters |= set("TrueFals") if part.value.kind is NumberKind.BOOL else set()
        return letters

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


#: Digits, signs, separators, and the letters of exponents, bases, inf and nan.
_OF_NUMBERS = "0123456789+-.,_% abcdefinox"


def _unknown(what: str) -> GraphBreak:
    return GraphBreak(
        "PTC-B002",
        f"{what} of a string that data decides is asked for",
        "ask the numbers that it is made of",
    )


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
