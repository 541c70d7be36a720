"""Symbols for numbers that data decides: as sizes of tensors, and as operands of their arithmetic.

The functions are methods of the machine.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from ptc.capture.values.base import Value
from ptc.capture.values.births import now
from ptc.capture.values.torch_tensor import TensorValue
from ptc.graph.control import Bind, NumberKind, NumberVar, TensorVar, Var
from ptc.graph.symbols import expression_of, symbols_of

if TYPE_CHECKING:
    from ptc.capture.control.machine import ControlMachine


def new_size(vm: ControlMachine, lower: int = 0) -> torch.SymInt:
    return _sized(vm, vm.fakes.data_size(vm.writer.name("n"), lower))


def _sized(vm: ControlMachine, made: torch.SymInt) -> torch.SymInt:
    vm.size_births[str(expression_of(made))] = now()
    return made


def least(vm: ControlMachine, size: Any) -> int:
    """The lower bound of a size that data gives."""
    return vm.fakes.data_dims[str(expression_of(size))].lower


def sizes_since(vm: ControlMachine, moment: int, size: Any) -> bool:
    """Whether a size has symbols that are younger than a moment."""
    return any(vm.size_births.get(symbol, 0) > moment for symbol in symbols_of(size))


def same_size(one: Any, other: Any) -> bool:
    return bool(expression_of(one) == expression_of(other))


def bindings(vm: ControlMachine, var: Var) -> list[Bind]:
    """What gives the symbols that are sizes of a tensor variable by themselves."""
    if not isinstance(var, TensorVar):
        return []
    found: list[Bind] = []
    for dim, size in enumerate(var.fake.shape):
        if isinstance(size, torch.SymInt) and str(expression_of(size)) in vm.fakes.data_dims:
            found.append(Bind(str(expression_of(size)), var, dim))
    return found


def bindings_of(vm: ControlMachine, form: Value) -> list[Bind]:
    if isinstance(form, TensorValue):
        return vm.bindings(vm.variable(form)) if vm.tensor_home(form) else []
    items = getattr(form, "items", None)
    if isinstance(items, list):
        return [bind for item in items for bind in vm.bindings_of(item)]
    return []


def size_symbol(vm: ControlMachine, var: NumberVar, lower: int) -> torch.SymInt:
    """The number as a size that is at least `lower`."""
    known = vm.symbols.get((var.name, "size"))
    if known is None:
        known = _sized(vm, vm.fakes.data_size(var.name, lower))
        vm.writer.compute(Bind(str(expression_of(known)), value=var))
        vm.journal.put(vm.symbols, (var.name, "size"), known)
    return known


def value_symbol(vm: ControlMachine, var: NumberVar) -> Any:
    """The number as an operand of tensor arithmetic: an input of the block that uses it."""
    known = vm.symbols.get((var.name, "value"))
    if known is None:
        make = vm.fakes.data_float if var.kind is NumberKind.FLOAT else vm.fakes.data_int
        known = make(var.name)
        vm.symbol_variables[expression_of(known)] = var
        vm.journal.put(vm.symbols, (var.name, "value"), known)
    return known
