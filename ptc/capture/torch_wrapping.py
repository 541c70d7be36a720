"""Tensors and modules from outside: their values, input kinds and guards."""

# pyright: reportPrivateUsage=false

from __future__ import annotations

from typing import Any

import torch
from torch.autograd import forward_ad

from ptc.capture import torch_state
from ptc.capture.errors import GraphBreak
from ptc.capture.fakes import VALUE, StrideRecipe, stride_recipe
from ptc.capture.guards import Guard, guard_rule
from ptc.capture.interpreter.wrapping import trust_package, wraps_subclasses
from ptc.capture.sources import ArgumentSource, AttributeSource, ItemSource, Names, Source, fixed
from ptc.capture.torch_machine import TorchMachine
from ptc.capture.values.base import Value
from ptc.capture.values.objects import OpaqueValue
from ptc.capture.values.torch_module import ModuleValue
from ptc.capture.values.torch_tensor import TensorValue
from ptc.graph.program import InputKind

trust_package("torch")
_PLAIN_TENSORS = (torch.Tensor, torch.nn.Parameter, torch.nn.Buffer)


@wraps_subclasses(torch.Tensor)
def _tensor(vm: TorchMachine, obj: torch.Tensor, source: Source) -> Value:
    known = type(obj) in _PLAIN_TENSORS or isinstance(obj, torch.nn.Parameter)
    if not known or not is_plain(obj):
        vm.guard("TYPE", source, fixed(type(obj), type(obj).__name__))
        if known:
            vm.guard("NOT_PLAIN", source)
        return OpaqueValue(type(obj), source, obj)
    sizes = vm.symbolic_sizes(obj, source)
    vm.guard("TENSOR", source, tensor_facts(obj, frozenset(sizes)))
    fake = vm.fakes.fake(obj, sizes)
    value = TensorValue(fake, None, source, input_kind(obj, source), obj)
    vm.remember(value)
    return value


def is_plain(tensor: torch.Tensor) -> bool:
    """Whether a tensor's memory holds its elements, by strides and as they are."""
    return (
        tensor.layout is torch.strided
        and not tensor.is_nested
        and not tensor.is_quantized
        and not tensor.is_neg()
        and not tensor.is_conj()
    )


@guard_rule("NOT_PLAIN", "{source} is sparse, nested, quantised, or lazily negated or conjugated")
def _not_plain(guard: Guard, ref: str, names: Names) -> str:
    return f"not {names(is_plain, 'is_plain')}({ref})"


def input_kind(obj: torch.Tensor, source: Source) -> InputKind:
    """What a tensor is to the program, from where it was found."""
    if isinstance(obj, torch.nn.Parameter):
        return InputKind.PARAMETER
    if (
        isinstance(source, ItemSource)
        and isinstance(source.owner, AttributeSource)
        and source.owner.name == "_buffers"
    ):
        return InputKind.BUFFER
    current: Source = source
    while True:
        if isinstance(current, AttributeSource) and current.name != "__dict__":
            return InputKind.CONSTANT
        if current.base is None:
            is_user = isinstance(current, ArgumentSource)
            return InputKind.USER if is_user else InputKind.CONSTANT
        current = current.base


@wraps_subclasses(torch.nn.Module)
def _module(vm: TorchMachine, obj: torch.nn.Module, source: Source) -> Value:
    if isinstance(obj, torch.jit.ScriptModule):  # noqa: TID251 (refused)
        raise GraphBreak("PTC-B004", "a TorchScript module is called", "give the original module")
    vm.guard("TYPE", source, fixed(type(obj), type(obj).__name__))
    return ModuleValue(type(obj), source, obj)


# -- guards -------------------------------------------------------------------------------------


def tensor_facts(tensor: torch.Tensor, dynamic: frozenset[int]) -> tuple[Any, ...]:
    """What a program relies on: class, dtype, device, requires_grad, sizes and strides (None where
    symbolic), whether it is conjugated or negated lazily."""
    shape = tuple(None if i in dynamic else size for i, size in enumerate(tensor.shape))
    strides = None if dynamic else tuple(tensor.stride())
    order = stride_order(tensor, dynamic) if dynamic else None
    return (
        fixed(type(tensor), type(tensor).__name__),
        fixed(tensor.dtype, str(tensor.dtype).replace("torch.", "")),
        str(tensor.device),
        tensor.requires_grad,
        shape,
        strides,
        order,
    )


def stride_order(tensor: torch.Tensor, dynamic: frozenset[int]) -> str | StrideRecipe:
    """The layout of a tensor with symbolic sizes: its name, or how its strides follow from them."""
    if tensor.is_contiguous():
        return "contiguous"
    if tensor.dim() == 4 and tensor.is_contiguous(memory_format=torch.channels_last):
        return "channels_last"
    return stride_recipe(tensor, dynamic)


def _tensor_words(guard: Guard) -> str:
    cls, dtype, device, requires_grad, shape, strides, order = guard.payload
    sizes = ["any" if size is None else str(size) for size in shape]
    text = f"{guard.source} is a {dtype.hint} {cls.hint} of shape [{', '.join(sizes)}] on {device}"
    if requires_grad:
        text += " that requires grad"
    if strides is not None:
        text += f" with strides {list(strides)}"
    elif isinstance(order, str):
        text += f", {order}"
    elif order is not None:
        text += f", strided {_recipe_words(order)}"
    return text


def _recipe_words(recipe: StrideRecipe) -> str:
    words = (
        "any" if step is None else str(step) if isinstance(step, int) else f"dense in {step[0]}"
        for step in recipe
    )
    return f"[{', '.join(words)}]"


def _recipe_checks(ref: str, recipe: StrideRecipe) -> list[str]:
    """Conditions that hold where strides follow from the sizes by this recipe. Contiguous tensors
    are left to a program of their own: some operators copy others only."""
    checks = [f"not {ref}.is_contiguous()"]
    for dim, step in enumerate(recipe):
        if isinstance(step, int):
            checks.append(f"{ref}.stride({dim}) == {step}")
        elif step is not None:
            inner = f"{ref}.stride({step[0]}) * {ref}.shape[{step[0]}]"
            checks.append(f"{ref}.stride({dim}) == {inner}")
    return checks


@guard_rule("TENSOR", _tensor_words)
def _tensor_guard(guard: Guard, ref: str, names: Names) -> str:
    cls, dtype, device, requires_grad, shape, strides, order = guard.payload
    parts = [
        f"type({ref}) is {cls.code(names, '')}",
        f"{ref}.dtype is {dtype.code(names, '')}",
        f"{ref}.requires_grad is {requires_grad}",
        f"{ref}.layout is {names(torch.strided, 'strided')}",
        f"{ref}.device == {names(torch.device(device), device)}",
    ]
    if strides is not None:
        parts += [f"{ref}.shape == {shape!r}", f"{ref}.stride() == {strides!r}"]
    else:
        parts.append(f"{ref}.ndim == {len(shape)}")
        parts += [f"{ref}.shape[{i}] == {size}" for i, size in enumerate(shape) if size is not None]
        if order == "contiguous":
            parts.append(f"{ref}.is_contiguous()")
        elif order == "channels_last":
            memory_format = names(torch.channels_last, "channels_last")
            parts.append(f"{ref}.is_contiguous(memory_format={memory_format})")
        else:
            parts += _recipe_checks(ref, order)
    parts.append(f"not {ref}.is_neg()")
    if dtype.obj.is_complex:
        parts.append(f"not {ref}.is_conj()")
    return " and ".join(parts)


def _size_words(guard: Guard) -> str:
    dim, (other, other_dim) = guard.payload
    return f"{guard.source}.shape[{dim}] == {other}.shape[{other_dim}]"


@guard_rule("SAME_SIZE", _size_words, rank=3)
def _same_size(guard: Guard, ref: str, names: Names) -> str:
    dim, (other, other_dim) = guard.payload
    return f"{ref}.shape[{dim}] == {other.full_code(names)}.shape[{other_dim}]"


@guard_rule("SHAPES", lambda g: f"sizes satisfy {g.payload[0]}", rank=4)
def _shapes(guard: Guard, ref: str, names: Names) -> str:
    """A condition on symbolic sizes; `{s0}` in its text stands for the size of that symbol."""
    template, sizes = guard.payload
    codes = {
        name: source.full_code(names) + ("" if dim == VALUE else f".shape[{dim}]")
        for name, source, dim in sizes
    }
    return template.format(**codes)


def _hooks_words(guard: Guard) -> str:
    hooks, own_forward = guard.payload
    forward = "a forward of its own" if own_forward else "its class's forward"
    return f"{guard.source} has {'' if hooks else 'no '}hooks and {forward}"


@guard_rule("MODULE_HOOKS", _hooks_words)
def _module_hooks(guard: Guard, ref: str, names: Names) -> str:
    hooks, own_forward = guard.payload
    present = (
        f"({ref}._forward_hooks or {ref}._forward_pre_hooks or {ref}._backward_hooks"
        f" or {ref}._backward_pre_hooks)"
    )
    forward = f"'forward' {'' if own_forward else 'not '}in {ref}.__dict__"
    return f"{'' if hooks else 'not '}{present} and {forward}"


@guard_rule("GRAD_MODE", lambda g: f"gradients are {'' if g.payload else 'not '}recorded", rank=0)
def _grad_mode(guard: Guard, ref: str, names: Names) -> str:
    return f"{names(torch.is_grad_enabled, 'is_grad_enabled')}() is {guard.payload}"


@guard_rule("INFERENCE_MODE", lambda g: f"inference mode is {'on' if g.payload else 'off'}", rank=0)
def _inference_mode(guard: Guard, ref: str, names: Names) -> str:
    return f"{names(torch.is_inference_mode_enabled, 'is_inference_mode')}() is {guard.payload}"


@guard_rule("AUTOCAST", lambda g: f"autocast is {g.payload}", rank=0)
def _autocast(guard: Guard, ref: str, names: Names) -> str:
    enabled = names(torch._C._is_any_autocast_enabled, "is_any_autocast_enabled")
    if not guard.payload:
        return f"not {enabled}()"
    state = names(autocast_state, "autocast_state")
    return f"{state}() == {guard.payload!r}"


def autocast_state() -> tuple[Any, ...]:
    """Which devices autocast, and to what."""
    return tuple(
        (device, str(torch.get_autocast_dtype(device)))
        for device in ("cpu", "cuda")
        if torch.is_autocast_enabled(device)
    )


@guard_rule("DEFAULT_DTYPE", lambda g: f"the default dtype is {g.payload.hint}", rank=0)
def _default_dtype(guard: Guard, ref: str, names: Names) -> str:
    dtype = guard.payload.code(names, "")
    return f"{names(torch.get_default_dtype, 'get_default_dtype')}() is {dtype}"


@guard_rule(
    "GLOBAL_HOOKS",
    lambda g: f"module hooks {'' if g.payload else 'do not '}exist that are for all modules",
    rank=0,
)
def _global_hooks(guard: Guard, ref: str, names: Names) -> str:
    return f"{names(any_global_hook, 'any_global_hook')}() is {guard.payload}"


@guard_rule(
    "MODES",
    lambda g: f"torch functions are {'' if g.payload else 'not '}intercepted by a mode",
    rank=0,
)
def _modes(guard: Guard, ref: str, names: Names) -> str:
    active = f"{names(torch_state.modes_active, 'modes_active')}()"
    if guard.payload:
        return active
    some = [f"{names(count, count.__name__)}()" for count in torch_state.MODES]
    some.append(f"{names(forward_ad, 'forward_ad')}._current_level >= 0")
    return f"not (({' or '.join(some)}) and {active})"


def any_global_hook() -> bool:
    """Hooks of `torch.nn.modules.module.register_module_*_hook`."""
    module = torch.nn.modules.module
    return bool(
        module._global_forward_pre_hooks
        or module._global_forward_hooks
        or module._global_backward_hooks
        or module._global_backward_pre_hooks
    )


def guard_ambient(vm: TorchMachine) -> None:
    """What every torch program depends on besides its inputs."""
    vm.guard("GRAD_MODE", None, torch.is_grad_enabled())
    vm.guard("INFERENCE_MODE", None, torch.is_inference_mode_enabled())
    vm.guard("AUTOCAST", None, autocast_state())
    default = torch.get_default_dtype()
    vm.guard("DEFAULT_DTYPE", None, fixed(default, str(default).replace("torch.", "")))
    hooks, modes = any_global_hook(), torch_state.modes_active()
    vm.guard("GLOBAL_HOOKS", None, hooks)
    vm.guard("MODES", None, modes)
    if hooks:
        raise GraphBreak("PTC-B016", "hooks are registered for all modules")
    if modes:
        raise GraphBreak(
            "PTC-B016",
            "the call is inside a mode or transform that intercepts torch functions",
            "compile what is inside of `torch.vmap` and its like as part of the outer function",
        )
