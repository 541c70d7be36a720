"""Function transforms and gradients in the program: `torch.func`, `torch.autograd.grad`.

Transforms are traced as torch has them in Python; where that enters a level, so does capture, on
fake tensors, and the call is put into the graph. What would leave a level open, or gradients
without a part of what they come of, is refused here.
"""

# pyright: reportPrivateUsage=false

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch._functorch import eager_transforms
from torch._functorch import vmap as batching

from ptc.capture import torch_state
from ptc.capture.errors import GraphBreak
from ptc.capture.interpreter.calls import builtin, see_through
from ptc.capture.polyfills import transforms as polyfills
from ptc.capture.torch_machine import TorchMachine
from ptc.capture.values.base import Value
from ptc.capture.values.callables import FunctionValue
from ptc.capture.values.constants import ConstantValue
from ptc.capture.values.torch_tensor import TensorValue
from ptc.graph import transforms

# -- levels ---------------------------------------------------------------------------------------


def _level_call(vm: TorchMachine, function: Any, args: tuple[Value, ...]) -> Any:
    result = function(*(vm.host_argument(arg) for arg in args))
    graph_args = tuple(vm.graph_argument(arg) for arg in args)
    node = vm.builder.add_call(
        "call_function", function, graph_args, {}, result, vm.stack_locations()
    )
    vm.note_recording(node)
    return result


def _entering(function: Callable[..., int], *originals: Any) -> None:
    def handler(vm: TorchMachine, *args: Value) -> Value:
        _require_no_lost_gradient(vm)
        vm.journal.record(torch_state.leave_again, vm, transforms.depth())
        return ConstantValue(_level_call(vm, function, args))

    builtin(function, *originals)(handler)


def _leaving(function: Callable[[], None], *originals: Any) -> None:
    def handler(vm: TorchMachine, *args: Value) -> None:
        vm.journal.record(torch_state.enter_again, vm)
        _level_call(vm, function, ())

    builtin(function, *originals)(handler)


_entering(transforms.enter_vmap, batching._vmap_increment_nesting)
_leaving(transforms.leave_vmap, batching._vmap_decrement_nesting)
_entering(transforms.enter_grad, eager_transforms._grad_increment_nesting)
_leaving(transforms.leave_grad, eager_transforms._grad_decrement_nesting)


def _on_tensors(function: Any, *originals: Any) -> None:
    def handler(vm: TorchMachine, *args: Value, **kwargs: Value) -> Value:
        return vm.torch_call("call_function", function, list(args), kwargs)

    builtin(function, *originals)(handler)


_on_tensors(transforms.add_batch_dim, batching._add_batch_dim)
_on_tensors(transforms.remove_batch_dim, batching._remove_batch_dim)
_on_tensors(transforms.wrap_for_grad, eager_transforms._wrap_for_grad)
_on_tensors(transforms.unwrap_for_grad, eager_transforms._unwrap_for_grad)
_on_tensors(transforms.differentiable)


@builtin(batching.is_batchedtensor)
def _is_batched(vm: TorchMachine, value: Value) -> Value:
    assert isinstance(value, TensorValue)
    return ConstantValue(batching.is_batchedtensor(value.fake))


@builtin(batching.lazy_load_decompositions)
def _load_decompositions(vm: TorchMachine) -> Value:
    batching.lazy_load_decompositions()
    return ConstantValue(None)


# A level has no hooks for what is kept for a backward pass, and capture refuses all others
see_through(batching.doesnt_support_saved_tensors_hooks(lambda: None), "f")  # type: ignore[arg-type]


def _traced(original: Any, replacement: Any) -> None:
    def handler(vm: TorchMachine, *args: Value, **kwargs: Value) -> Value:
        value = vm.wrap_fixed(replacement)
        assert isinstance(value, FunctionValue)
        return vm.trace_function(value, list(args), kwargs)

    builtin(original)(handler)


_traced(eager_transforms._create_differentiable, polyfills.differentiable)
_traced(eager_transforms._autograd_grad, polyfills.gradients)
_traced(eager_transforms._jvp_with_argnums, polyfills.tangents)


# -- gradients ------------------------------------------------------------------------------------


@builtin(torch.autograd.grad)
def _gradients(vm: TorchMachine, *args: Value, **kwargs: Value) -> Value:
    batched = kwargs.get("is_grads_batched", args[6] if len(args) > 6 else None)
    if batched is not None and vm.truth(batched):
        raise GraphBreak(
            "PTC-B016",
            "gradients of a batch are asked for at once (`is_grads_batched=True`)",
            "use torch.func.vmap over torch.func.vjp, or a loop over the rows",
        )
    _require_no_lost_gradient(vm)
    vm.require_whole_history(args, kwargs)
    return vm.torch_call("call_function", torch.autograd.grad, list(args), kwargs)


def _require_no_lost_gradient(vm: TorchMachine) -> None:
    """A call captured as its forward alone has a backward that is not in the graph."""
    if vm.lost_gradient is not None:
        raise GraphBreak(
            "PTC-B016",
            f"gradients are asked for behind {vm.lost_gradient}",
            "write its forward with torch's functions, or call it under torch.no_grad()",
        )
