"""Torch's Python library beyond tensors and modules: custom autograd functions, checkpoints,
function transforms, nn.Transformer's questions, annotations left over from scripting.
"""

# pyright: reportPrivateUsage=false

from __future__ import annotations

import sys
import types
import typing
from typing import Any

import torch
import torch.utils.checkpoint
from torch._higher_order_ops.associative_scan import associative_scan
from torch._higher_order_ops.map import map as map_rows
from torch._higher_order_ops.scan import scan
from torch._higher_order_ops.while_loop import while_loop
from torch.distributions import kl
from torch.nn.modules import transformer

from ptc.capture.errors import GraphBreak
from ptc.capture.interpreter.calls import builtin, evaluate, find_handler, see_through
from ptc.capture.polyfills import higher_order
from ptc.capture.polyfills import torch_libraries as polyfills
from ptc.capture.torch_machine import TorchMachine
from ptc.capture.values.base import Value
from ptc.capture.values.callables import FunctionValue
from ptc.capture.values.constants import ConstantValue
from ptc.capture.values.torch_tensor import TensorValue


def _trace(vm: TorchMachine, function: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    value = vm.wrap_fixed(function)
    assert isinstance(value, FunctionValue)
    return vm.trace_function(value, args, kwargs)


#: Functions that are traced as another, also where the captured call is one of them.
REPLACED: dict[types.FunctionType, types.FunctionType] = {
    torch.nn.TransformerEncoder.forward: polyfills.transformer_encoder,
    transformer._detect_is_causal_mask: polyfills.detect_is_causal_mask,
    associative_scan: polyfills.associative_scan,
    torch.cond: higher_order.cond,
    while_loop: higher_order.while_loop,
    scan: higher_order.scan,
    map_rows: higher_order.map_rows,
    kl.kl_divergence: polyfills.kl_divergence,
}


def replaced(function: types.FunctionType) -> types.FunctionType:
    """What to trace for `function`."""
    return REPLACED.get(function, function)


def _register_replaced(replacement: types.FunctionType, original: types.FunctionType) -> None:
    builtin(original)(lambda vm, *args, **kwargs: _trace(vm, replacement, list(args), kwargs))


for _original, _replacement in REPLACED.items():
    _register_replaced(_replacement, _original)


# -- custom autograd functions --------------------------------------------------------------------


def _apply(vm: TorchMachine, cls: type, args: tuple[Value, ...], kwargs: dict[str, Value]) -> Value:
    """`cls.apply(...)`. Without gradients a custom function is its forward. A graph for training
    would need the custom backward."""
    if torch.is_grad_enabled():
        for arg in (*args, *kwargs.values()):
            if isinstance(arg, TensorValue) and vm.may_require_grad(arg):
                raise GraphBreak(
                    "PTC-B016",
                    f"{cls.__qualname__}.apply records a backward of its own",
                    "under torch.no_grad() it is part of the graph",
                )
    vm.note_own_backward(f"{cls.__qualname__}.apply", (*args, *kwargs.values()))
    separate = cls.setup_context is not torch.autograd.Function.setup_context  # type: ignore[attr-defined]
    arguments = [vm.class_value(cls), ConstantValue(separate), *args]
    return _trace(vm, polyfills.apply_function, arguments, kwargs)


# A classmethod: in Python up to torch 2.13, in C later
_raw_apply: Any = vars(torch.autograd.Function)["apply"]


@builtin(getattr(_raw_apply, "__func__", _raw_apply))
def _apply_handler(vm: TorchMachine, cls: Value, *args: Value, **kwargs: Value) -> Value:
    return _apply(vm, cls.real(), args, kwargs)


@builtin(kl._dispatch_kl)
def _divergence_of_classes(vm: TorchMachine, p: Value, q: Value) -> Value:
    """A search through the registered functions, of which torch remembers the result."""
    return evaluate(vm, kl._dispatch_kl, p.real(), q.real())


@builtin(torch.utils.checkpoint.checkpoint)
def _checkpoint(vm: TorchMachine, function: Value, *args: Value, **kwargs: Value) -> Value:
    context = kwargs.get("context_fn")
    if context is not None and context.real() is not torch.utils.checkpoint.noop_context_fn:
        raise GraphBreak("PTC-B016", "a checkpoint with contexts of its own")
    return _trace(vm, polyfills.checkpoint, [function, *args], kwargs)


def register_loaded() -> None:
    """Know functions of modules that ptc never imports, where somebody else has: torch.compile has
    every new module noted down in a table of its own."""
    guard: Any = sys.modules.get("torch._dynamo.mutation_guard")
    if guard is None:
        return
    tag = guard.GenerationTracker.tag.__func__
    if find_handler(tag) is None:
        builtin(tag)(_note_nothing)


def _note_nothing(vm: TorchMachine, *args: Value) -> Value:
    return ConstantValue(None)


# -- what cannot be captured, said clearly --------------------------------------------------------


def _refuse(code: str, reason: str, hint: str, *functions: Any) -> None:
    def handler(vm: TorchMachine, *args: Value, **kwargs: Value) -> Value:
        raise GraphBreak(code, reason, hint)

    builtin(*functions)(handler)


for _name in ("linearize", "functionalize"):
    _refuse(
        "PTC-B004",
        f"torch.func.{_name} traces a function",
        "use torch.func.jvp, or call it outside of the model",
        getattr(torch.func, _name),
    )
_refuse(
    "PTC-B015",
    "a function is marked as not to be compiled",
    "remove torch.compiler.disable from it, or call it outside of the model",
    torch._C._dynamo.eval_frame.set_eval_frame,  # pyright: ignore[reportAttributeAccessIssue]
)
# Torch's own functions marked so are plain Python underneath
see_through(torch._compile._disable_dynamo(lambda: None), "fn")  # type: ignore[arg-type]


@builtin(torch.backends.mha.get_fastpath_enabled)
def _no_fast_path(vm: TorchMachine) -> Value:
    """The fused operators of eager compute what the layers spell out."""
    return ConstantValue(False)


@builtin(polyfills.eager_fast_path)
def _fast_path_in_eager(vm: TorchMachine) -> Value:
    return ConstantValue(torch.backends.mha.get_fastpath_enabled())


# -- questions with one answer --------------------------------------------------------------------


@builtin(torch._C._len_torch_dispatch_stack)
def _no_dispatch_modes(vm: TorchMachine) -> Value:
    """The fake tensor mode of capture is not the program's."""
    return ConstantValue(0)


@builtin(torch.jit.annotate)  # noqa: TID251 (left over from scripting)
def _annotate(vm: TorchMachine, kind: Value, value: Value) -> Value:
    return value


def _subscript(vm: TorchMachine, form: Value, parameters: Value) -> Value:
    """`List[Tensor]`: a type for readers."""
    return vm.wrap_fixed(form.real()[_real(parameters)])


def _real(value: Value) -> Any:
    items = getattr(value, "items", None)
    return tuple(_real(part) for part in items) if isinstance(items, list) else value.real()


for _function in {
    id(found): found
    for found in (
        vars(getattr(typing, name, object)).get("__getitem__")
        for name in ("_GenericAlias", "_SpecialGenericAlias", "_SpecialForm",
                     "_TypedCacheSpecialForm", "_CallableType", "_TupleType")
    )
    if found is not None
}.values():  # fmt: skip
    builtin(_function)(_subscript)
