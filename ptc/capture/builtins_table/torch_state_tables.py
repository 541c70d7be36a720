"""Functions that read and set torch's grad mode, autocast and inference mode."""

# pyright: reportPrivateUsage=false

from __future__ import annotations

from typing import Any

import torch

from ptc.capture import torch_state
from ptc.capture.errors import GraphBreak
from ptc.capture.interpreter.calls import builtin
from ptc.capture.torch_machine import TorchMachine
from ptc.capture.values.base import Value
from ptc.capture.values.constants import ConstantValue
from ptc.capture.values.objects import Instance


def _setter(function: Any) -> None:
    def handler(vm: TorchMachine, *args: Value) -> None:
        torch_state.assign(vm, function, tuple(arg.constant() for arg in args))

    builtin(function)(handler)


for _function in (
    torch._C._set_grad_enabled,
    torch.set_autocast_enabled,
    torch.set_autocast_dtype,
    torch.set_autocast_cache_enabled,
):
    _setter(_function)


def _reader(function: Any) -> None:
    builtin(function)(lambda vm, *args: ConstantValue(function(*(arg.constant() for arg in args))))


for _function in (
    torch.is_grad_enabled,
    torch.get_default_dtype,
    torch.is_autocast_enabled,
    torch.get_autocast_dtype,
    torch.is_autocast_cache_enabled,
    torch._C._is_any_autocast_enabled,
    torch.amp.is_autocast_available,
    torch._C._is_autocast_available,
    torch._C._get_privateuse1_backend_name,
    torch._C._is_torch_function_mode_enabled,
):
    _reader(_function)


@builtin(torch.autocast_increment_nesting)
def _increment(vm: TorchMachine) -> Value:
    return ConstantValue(torch_state.change_nesting(vm, 1))


@builtin(torch.autocast_decrement_nesting)
def _decrement(vm: TorchMachine) -> Value:
    return ConstantValue(torch_state.change_nesting(vm, -1))


@builtin(torch.clear_autocast_cache)
def _clear_cache(vm: TorchMachine) -> None:
    """The cache of casts is the real process's; fakes are not kept in it beyond a region."""
    vm.builder.add_call(
        "call_function", torch.clear_autocast_cache, (), {}, None, vm.stack_locations()
    )
    torch.clear_autocast_cache()


# -- inference mode -----------------------------------------------------------------------------


class InferenceModeValue(Instance):
    """`torch._C._InferenceMode(mode)`: turns gradients off between enter and exit."""

    __slots__ = ("before", "mode")

    def __init__(self, mode: bool) -> None:
        super().__init__(torch._C._InferenceMode)
        self.mode = mode
        self.before: bool | None = None

    def enter(self, vm: TorchMachine) -> None:
        vm.journal.assign(self, "before", torch.is_grad_enabled())
        if self.mode:
            torch_state.assign(vm, torch._C._set_grad_enabled, (False,))

    def leave(self, vm: TorchMachine) -> None:
        assert self.before is not None
        torch_state.assign(vm, torch._C._set_grad_enabled, (self.before,))


def _forms(method: Any) -> tuple[Any, ...]:
    """A pybind11 method and the C function that it wraps."""
    return (method, getattr(method, "__func__", method))


@builtin(torch._C._InferenceMode)
def _inference_mode(vm: TorchMachine, mode: Value) -> Value:
    if torch.is_inference_mode_enabled() and not mode.constant():
        raise GraphBreak("PTC-B016", "inference mode is left by the program")
    return InferenceModeValue(bool(mode.constant()))


@builtin(*_forms(torch._C._InferenceMode.__enter__))
def _enter(vm: TorchMachine, guard: Value) -> None:
    if not isinstance(guard, InferenceModeValue):
        raise GraphBreak("PTC-B014", "an inference mode guard from outside is entered")
    guard.enter(vm)


@builtin(*_forms(torch._C._InferenceMode.__exit__))
def _exit(vm: TorchMachine, guard: Value, *exception: Value) -> None:
    if not isinstance(guard, InferenceModeValue):
        raise GraphBreak("PTC-B014", "an inference mode guard from outside is left")
    guard.leave(vm)


@builtin(torch.is_inference_mode_enabled)
def _is_inference_mode_enabled(vm: TorchMachine) -> Value:
    return ConstantValue(torch.is_inference_mode_enabled())
