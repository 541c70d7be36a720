"""Calls of operators by their names in `torch.ops`: torch's own, and those that a library adds.

A custom operator that is written in Python is captured as its Python function. Owns what is read
of torch's registry of custom operators.
"""

# pyright: reportPrivateUsage=false

from __future__ import annotations

from typing import Any

import torch
from torch._library.custom_ops import OPDEFS, CustomOpDef

from ptc.capture.errors import GraphBreak
from ptc.capture.interpreter.calls import builtin
from ptc.capture.torch_machine import TorchMachine
from ptc.capture.values.base import Value
from ptc.capture.values.callables import FunctionValue
from ptc.capture.values.torch_tensor import TensorValue

_NATIVE = frozenset({"aten", "prims", "quantized", "mkldnn"})


def _definition(operator: Any) -> CustomOpDef | None:
    """What `torch.library.custom_op` was given for an operator or its packet."""
    overload = isinstance(operator, torch._ops.OpOverload)
    name = operator.name() if overload else operator._qualified_op_name
    return OPDEFS.get(name.partition(".")[0])


@builtin(torch._ops.OpOverload.__call__, torch._ops.OpOverloadPacket.__call__)
def _call_operator(vm: TorchMachine, operator: Value, /, *args: Value, **kwargs: Value) -> Value:
    op: Any = operator.real()
    namespace = getattr(op, "namespace", None) or op._qualified_op_name.partition("::")[0]
    definition = None if namespace in _NATIVE else _definition(op)
    if definition is None:
        return vm.torch_call("call_function", op, list(args), kwargs)
    return _call_definition(vm, definition, list(args), kwargs)


@builtin(CustomOpDef.__call__)
def _call_custom(vm: TorchMachine, operator: Value, /, *args: Value, **kwargs: Value) -> Value:
    return _call_definition(vm, operator.real(), list(args), kwargs)


def _call_definition(
    vm: TorchMachine, definition: CustomOpDef, args: list[Value], kwargs: dict[str, Value]
) -> Value:
    tensors = [arg for arg in (*args, *kwargs.values()) if isinstance(arg, TensorValue)]
    _require_no_backward(vm, definition, tensors)
    function = vm.wrap_fixed(_kernel(definition, tensors))
    if not isinstance(function, FunctionValue):
        raise GraphBreak(
            "PTC-B004",
            f"the operator {definition._qualname} is not written in Python",
            "call a Python function with torch's own operators in its place",
        )
    return vm.trace_function(function, args, kwargs)


def _kernel(definition: CustomOpDef, tensors: list[TensorValue]) -> Any:
    """The function that runs for these tensors: one of their device, or the one for any."""
    device = next((tensor.fake.device.type for tensor in tensors), None)
    return definition._backend_fns.get(device, definition._init_fn)


def _require_no_backward(
    vm: TorchMachine, definition: CustomOpDef, tensors: list[TensorValue]
) -> None:
    """An operator's own backward would be lost."""
    vm.note_own_backward(f"the operator {definition._qualname}", tensors)
    if definition._backward_fn is None or not torch.is_grad_enabled():
        return
    if any(map(vm.may_require_grad, tensors)):
        raise GraphBreak(
            "PTC-B016",
            f"the operator {definition._qualname} records a backward of its own",
            "under torch.no_grad() it is part of the graph",
        )
