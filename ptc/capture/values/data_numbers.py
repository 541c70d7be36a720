"""Python numbers that data decides: `t.item()`, `int(t)`, and what is computed from them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ptc.capture.errors import GraphBreak
from ptc.capture.values.base import Value
from ptc.capture.values.constants import ConstantValue
from ptc.capture.values.texts import is_text
from ptc.graph.control import NumberKind, NumberVar
from ptc.graph.control_operations import type_of_kind

if TYPE_CHECKING:
    from ptc.capture.control.machine import ControlMachine

BINARY_OPS = {
    "+": "add", "-": "sub", "*": "mul", "/": "truediv", "//": "floordiv", "%": "mod", "**": "pow",
    "&": "and", "|": "or", "^": "xor", "<<": "lshift", ">>": "rshift",
}  # fmt: skip
COMPARE_OPS = {"==": "eq", "!=": "ne", "<": "lt", "<=": "le", ">": "gt", ">=": "ge"}
_UNARY_OPS = {"-": "neg", "+": "pos", "~": "invert", "__abs__": "abs", "__round__": "round",
              "__floor__": "math.floor", "__ceil__": "math.ceil",
              "__trunc__": "math.trunc"}  # fmt: skip


class DataNumber(Value):
    """The number in variable `var`. `chosen` says, for a bool, for which alternatives of a choice
    it is true: (the choice's selector, their numbers, the others' numbers)."""

    __slots__ = ("chosen", "var")

    def __init__(
        self, var: NumberVar, chosen: tuple[str, frozenset[int], frozenset[int]] | None = None
    ) -> None:
        self.source = None
        self.var = var
        self.chosen = chosen

    @property
    def cls(self) -> type:
        return type_of_kind(self.var.kind)

    def describe(self) -> str:
        return f"a number of type {self.cls.__name__} that data decides"

    def truth(self, vm: ControlMachine) -> bool:  # type: ignore[override]
        return vm.number_truth(self)

    def binary(self, vm: ControlMachine, op: str, other: Value, reflected: bool) -> Value | None:  # type: ignore[override]
        if op == "*" and is_text(other) and self.var.kind is not NumberKind.FLOAT:
            return vm.text_operation("repeat", [other, vm.call(vm.class_value(int), [self])])
        if op not in BINARY_OPS or not vm.is_number(other):
            return None
        return vm.arithmetic(BINARY_OPS[op], [other, self] if reflected else [self, other])

    def compare(self, vm: ControlMachine, op: str, other: Value, reflected: bool) -> Value | None:  # type: ignore[override]
        if op not in COMPARE_OPS or not vm.is_number(other):
            return None
        return vm.arithmetic(COMPARE_OPS[op], [other, self] if reflected else [self, other])

    def unary(self, vm: ControlMachine, op: str) -> Value | None:  # type: ignore[override]
        if op == "not":
            return vm.arithmetic("not", [self])
        return vm.arithmetic(_UNARY_OPS[op], [self]) if op in _UNARY_OPS else None

    def convert(self, vm: ControlMachine, to: type) -> Value | None:  # type: ignore[override]
        if to is self.cls:
            return self
        return vm.arithmetic(to.__name__, [self]) if to in (int, float, bool) else None

    def attribute(self, vm: ControlMachine, name: str) -> Value | None:  # type: ignore[override]
        if name in ("real", "numerator"):
            return self
        if name in ("imag", "denominator"):
            return ConstantValue(self.cls(name == "denominator"))
        return None

    def hash_key(self, vm: Any) -> Any:
        raise GraphBreak(
            "PTC-B014",
            "a number that data decides is used as a key",
            "use a tensor, or a list indexed by the number",
        )
