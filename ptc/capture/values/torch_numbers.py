"""Symbolic Python numbers: sizes, and what is computed from them."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

import torch
import torch.fx

from ptc.capture.errors import GraphBreak
from ptc.capture.sources import Source
from ptc.capture.values.base import Value
from ptc.capture.values.constants import ConstantValue
from ptc.capture.values.texts import is_text

if TYPE_CHECKING:
    from ptc.capture.rebuild import Rebuilder
    from ptc.capture.torch_machine import TorchMachine

_CLASSES: dict[type, type] = {torch.SymInt: int, torch.SymFloat: float, torch.SymBool: bool}


class SymbolicNumber(Value):
    """An int, float or bool that depends on symbolic sizes. `make_node` adds its node to the graph
    when something first needs it there."""

    __slots__ = ("_make_node", "_node", "number")

    def __init__(self, number: Any, make_node: Any, source: Source | None = None) -> None:
        self.source = source
        self.number = number
        self._node: torch.fx.Node | None = None
        self._make_node = make_node

    @property
    def cls(self) -> type:
        return _CLASSES[type(self.number)]

    def describe(self) -> str:
        return f"the symbolic number {self.number}"

    def node(self, vm: TorchMachine) -> torch.fx.Node:
        if self._node is None:
            vm.journal.assign(self, "_node", self._make_node())
        assert self._node is not None
        return self._node

    def truth(self, vm: TorchMachine) -> bool:  # type: ignore[override]
        condition = self.number
        if not isinstance(condition, torch.SymBool):
            condition = condition != 0
        return vm.decide(condition)

    def binary(self, vm: TorchMachine, op: str, other: Value, reflected: bool) -> Value | None:  # type: ignore[override]
        if op == "*" and is_text(other) and self.cls is int:
            return vm.repeat_text(other, self)
        host = vm.host_operator(op)
        return self._combine(vm, host, other, reflected)

    def compare(self, vm: TorchMachine, op: str, other: Value, reflected: bool) -> Value | None:  # type: ignore[override]
        return self._combine(vm, vm.host_comparison(op), other, reflected)

    def _combine(self, vm: TorchMachine, host: Any, other: Value, reflected: bool) -> Value | None:
        if isinstance(other, SymbolicNumber):
            right = other.number
        elif isinstance(other, ConstantValue) and isinstance(other.value, (int, float)):
            right = other.value
        else:
            return None
        pair = (right, self.number) if reflected else (self.number, right)
        try:
            result = host(*pair)
        except (ZeroDivisionError, TypeError, OverflowError) as error:
            raise vm.native_exception(error) from None
        operands: list[Value] = [other, self] if reflected else [self, other]
        return vm.number_value(result, lambda: vm.number_node(host, operands, result))

    def unary(self, vm: TorchMachine, op: str) -> Value | None:  # type: ignore[override]
        if op == "not":
            return ConstantValue(not self.truth(vm))
        if op == "~" and self.cls is int:
            return vm.binary("-", vm.unary("-", self), ConstantValue(1))
        host = {"-": operator.neg, "+": operator.pos, "__abs__": abs}.get(op)
        if op in ("__floor__", "__ceil__", "__trunc__") and isinstance(self.number, torch.SymInt):
            return self
        if host is None:
            host = vm.number_function(op)
        if host is None:
            return None
        result = host(self.number)
        return vm.number_value(result, lambda: vm.number_node(host, [self], result))

    def convert(self, vm: TorchMachine, to: type) -> Value | None:  # type: ignore[override]
        if to is bool:
            return ConstantValue(self.truth(vm))
        if to is self.cls:
            return self
        host: Any = torch.sym_int if to is int else torch.sym_float
        result = host(self.number)
        return vm.number_value(result, lambda: vm.number_node(host, [self], result))

    def hash_key(self, vm: TorchMachine) -> Any:  # type: ignore[override]
        return vm.pin(self)

    def rebuild(self, emit: Rebuilder) -> str:
        if isinstance(self.number, torch.SymBool):
            raise GraphBreak("PTC-B008", f"{self.describe()} cannot be rebuilt in Python")
        return emit.output(self)
