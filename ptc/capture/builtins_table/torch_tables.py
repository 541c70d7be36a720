"""nn.Module's own methods, and torch's state and context managers."""

# pyright: reportPrivateUsage=false

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from ptc.capture.compiling import is_compiling
from ptc.capture.errors import GraphBreak
from ptc.capture.interpreter.calls import Builtin, builtin, unknown_call
from ptc.capture.polyfills import torch_functions as polyfills
from ptc.capture.torch_machine import TorchMachine
from ptc.capture.values.base import Value
from ptc.capture.values.callables import FunctionValue
from ptc.capture.values.constants import ConstantValue
from ptc.capture.values.torch_module import (
    ModuleValue,
    delete_module_attribute,
    set_module_attribute,
)

Module = nn.Module


@builtin(Module.__setattr__)
def _setattr(vm: TorchMachine, module: Value, name: Value, value: Value) -> None:
    set_module_attribute(vm, module, name.constant(), value)


@builtin(Module.__delattr__)
def _delattr(vm: TorchMachine, module: Value, name: Value) -> None:
    delete_module_attribute(vm, module, name.constant())


@builtin(Module.__getattr__)
def _getattr(vm: TorchMachine, module: Value, name: Value) -> Value:
    """Reached for names that neither the instance nor its class has."""
    found = module.attribute(vm, name.constant())
    if found is not None:
        return found
    text = f"'{module.cls.__name__}' object has no attribute '{name.constant()}'"
    raise vm.exception(AttributeError, text)


@builtin(Module._wrapped_call_impl, Module._call_impl, passes_on=True)
def _call(vm: TorchMachine, module: Value, *args: Value, **kwargs: Value) -> Value:
    if not isinstance(module, ModuleValue):
        raise GraphBreak("PTC-B014", f"{module.describe()} is called as a module")
    if module.plain_call(vm):
        return vm.call(vm.getattr(module, "forward"), list(args), kwargs)
    namespace = module.obj.__dict__
    if namespace.get("_backward_hooks") or namespace.get("_backward_pre_hooks"):
        raise GraphBreak("PTC-B016", f"backward hooks of {module.describe()} run outside the graph")
    function = vm.wrap_fixed(polyfills.call_with_hooks)
    assert isinstance(function, FunctionValue)
    return vm.trace_function(function, [module, *args], kwargs)


@builtin(torch._C._log_api_usage_once)
def _log_api_usage(vm: TorchMachine, *args: Value) -> None:
    """Telemetry of torch's own."""


# -- what libraries ask ---------------------------------------------------------------------------


@builtin(
    torch.jit.is_scripting,  # noqa: TID251 (asked by libraries)
    torch.jit.is_tracing,  # noqa: TID251
    torch.compiler.is_dynamo_compiling,
)  # fmt: skip
def _no(vm: TorchMachine, *args: Value) -> Value:
    return ConstantValue(False)


@builtin(torch._C._get_tracing_state)
def _no_tracing_state(vm: TorchMachine) -> Value:
    return ConstantValue(None)


@builtin(
    torch._C._has_torch_function, torch._C._has_torch_function_unary,
    torch._C._has_torch_function_variadic,
)  # fmt: skip
def _has_torch_function(vm: TorchMachine, *args: Value) -> Value:
    """Captured tensors are plain: a subclass with `__torch_function__` never becomes one."""
    return ConstantValue(False)


@builtin(torch._assert)
def _assert(vm: TorchMachine, condition: Value, message: Value) -> Value:
    """A branch like any other: on data it ends the graph."""
    if not vm.truth(condition):
        raise vm.raised(AssertionError, [message])
    return ConstantValue(None)


@builtin(torch.compiler.is_compiling)
def _is_compiling(vm: TorchMachine) -> Value:
    """Libraries ask this to choose code without branches on data."""
    return ConstantValue(is_compiling())


@builtin(torch.compiler.is_exporting)
def _is_exporting(vm: TorchMachine) -> Value:
    return ConstantValue(vm.whole_program and is_compiling())


def _ambient(function: Any) -> None:
    builtin(function)(lambda vm: ConstantValue(function()))


for _function in (
    torch.cuda.is_available, torch.cuda.device_count, torch.backends.mps.is_available,
    torch.get_num_threads, torch.backends.cuda.is_flash_attention_available,
    torch.backends.cuda.flash_sdp_enabled, torch.backends.cuda.math_sdp_enabled,
    torch.backends.cuda.mem_efficient_sdp_enabled, torch.are_deterministic_algorithms_enabled,
):  # fmt: skip
    _ambient(_function)


# -- classes of tensors of a type -----------------------------------------------------------------


def _constructor(kind: Any) -> Builtin:
    """`torch.LongTensor(data)` of lists and tuples: `torch.tensor` of the type."""

    def construct(vm: TorchMachine, *args: Value, **kwargs: Value) -> Value:
        data = args[0] if len(args) == 1 else vm.list([])
        if len(args) > 1 or kwargs or data.cls not in (list, tuple, range):
            raise unknown_call(vm, kind, None)
        dtype = torch.get_default_dtype() if kind is torch.Tensor else kind.dtype
        given: dict[str, Value] = {"dtype": ConstantValue(dtype)}
        return vm.torch_call("call_function", torch.tensor, [data], given)

    return construct


for _kind in (
    torch.Tensor, torch.BFloat16Tensor, torch.BoolTensor, torch.ByteTensor, torch.CharTensor,
    torch.DoubleTensor, torch.FloatTensor, torch.HalfTensor, torch.IntTensor, torch.LongTensor,
    torch.ShortTensor,
):  # fmt: skip
    builtin(_kind)(_constructor(_kind))
