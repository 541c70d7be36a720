"""The process's state that torch programs set and restore: grad mode and autocast; and the modes
around a call that change what torch functions do.

During capture the real state follows the program, so that operators on fake tensors behave as they
would; every change is journalled, becomes a node of the graph, and is set again by the generated
code where the captured part leaves it different. Inference mode is captured as no-grad: results are
the same, but they are ordinary tensors.
"""

# pyright: reportPrivateUsage=false

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import torch
from torch.autograd import forward_ad
from torch.utils._device import DeviceContext

from ptc.capture.errors import GraphBreak
from ptc.graph import transforms

if TYPE_CHECKING:
    from ptc.capture.rebuild import Rebuilder
    from ptc.capture.torch_machine import TorchMachine

AUTOCAST_DEVICES = ("cpu", "cuda")
# setter, arguments before the value -> how to read the value
_Reader = Callable[..., Any]
_STATES: tuple[tuple[Any, tuple[Any, ...], _Reader], ...] = (
    (torch._C._set_grad_enabled, (), torch.is_grad_enabled),
    *((torch.set_autocast_enabled, (device,), torch.is_autocast_enabled)
      for device in AUTOCAST_DEVICES),
    *((torch.set_autocast_dtype, (device,), torch.get_autocast_dtype)
      for device in AUTOCAST_DEVICES),
    (torch.set_autocast_cache_enabled, (), torch.is_autocast_cache_enabled),
)  # fmt: skip


def current() -> tuple[Any, ...]:
    """All of the state, in the order of the table; the autocast nesting last."""
    nesting = torch.autocast_increment_nesting() - 1
    torch.autocast_decrement_nesting()
    return (*(read(*key) for _, key, read in _STATES), nesting)


def restore(saved: tuple[Any, ...]) -> None:
    """Set the state that `current` gave."""
    for (write, key, read), value in zip(_STATES, saved, strict=False):
        if read(*key) != value:
            write(*key, value)
    _set_nesting(saved[-1])


def _set_nesting(level: int) -> None:
    now = current()[-1]
    step = torch.autocast_decrement_nesting if now > level else torch.autocast_increment_nesting
    for _ in range(abs(now - level)):
        step()


def assign(vm: TorchMachine, setter: Any, arguments: tuple[Any, ...]) -> None:
    """`setter(*arguments)` by the program."""
    for write, key, read in _STATES:
        if write is setter and key == arguments[:-1]:
            old = read(*key)
            if old == arguments[-1]:
                return
            vm.journal.record(write, *key, old)
            write(*arguments)
            _add_node(vm, setter, arguments)
            return
    raise AssertionError(f"{setter} is not in the table of states")


def reader_of(setter: Any, key: tuple[Any, ...]) -> _Reader | None:
    """What reads the state that `setter(*key, value)` sets; None if it is none of ours."""
    for write, known, read in _STATES:
        if write is setter and known == key:
            return read
    return None


def is_setter(function: Any) -> bool:
    """Whether a call of the function changes the state."""
    steps = (torch.autocast_increment_nesting, torch.autocast_decrement_nesting)
    return function in (*steps, *transforms.STATEFUL) or any(
        write is function for write, _, _ in _STATES
    )


def back_to(now: tuple[Any, ...], wanted: tuple[Any, ...]) -> Iterator[tuple[Any, tuple[Any, ...]]]:
    """The calls (function, arguments) that lead from one state to another."""
    for (write, key, _), old, new in zip(_STATES, now, wanted, strict=False):
        if old != new:
            yield write, (*key, new)
    steps = wanted[-1] - now[-1]
    step = torch.autocast_increment_nesting if steps > 0 else torch.autocast_decrement_nesting
    yield from ((step, ()) for _ in range(abs(steps)))


def set_nodes(vm: TorchMachine) -> None:
    """Nodes that bring the state on entry to where the program has it now."""
    for function, arguments in back_to(vm.state_on_entry, current()):
        _add_node(vm, function, arguments)


def _add_node(vm: TorchMachine, function: Any, arguments: tuple[Any, ...]) -> None:
    vm.builder.add_call("call_function", function, arguments, {}, None, vm.stack_locations())


def change_nesting(vm: TorchMachine, step: int) -> int:
    """Enter (+1) or leave (-1) an autocast region; its depth."""
    forward, backward = torch.autocast_increment_nesting, torch.autocast_decrement_nesting
    if step < 0:
        forward, backward = backward, forward
    vm.journal.record(backward)
    level = forward()
    _add_node(vm, forward, ())
    return level


def leave(emit: Rebuilder, on_entry: tuple[Any, ...]) -> None:
    """Write what brings the state of the caller to where the program has it now."""
    now = current()
    for (write, key, _), old, new in zip(_STATES, on_entry, now, strict=False):
        if old != new:
            name = getattr(write, "__name__", "set_state")
            arguments = ", ".join(_literal(emit, argument) for argument in (*key, new))
            emit.effect(f"{emit.name(write, name)}({arguments})")
    steps = now[-1] - on_entry[-1]
    if steps:
        step = torch.autocast_increment_nesting if steps > 0 else torch.autocast_decrement_nesting
        emit.effect(*[f"{emit.name(step, 'autocast_nesting')}()"] * abs(steps))


def _literal(emit: Rebuilder, value: Any) -> str:
    return repr(value) if isinstance(value, (bool, str)) else emit.name(value, "value")


def leave_again(vm: TorchMachine, depth: int) -> None:
    """Take back that a level of a function transform was entered."""
    transforms.leave_to(depth)
    vm.reentered = 0


def enter_again(vm: TorchMachine) -> None:
    """Take back that a level was left, on the way to before it. Its tensors are gone: nothing can
    be called there."""
    transforms.enter_grad()
    vm.reentered = transforms.depth()


def require_grad_again(tensor: torch.Tensor, flag: bool) -> None:
    """Take back that a tensor was made to require a gradient, or not to."""
    tensor.requires_grad_(flag)


#: Take back what leaves no trace where arms meet: levels are left, and only tensors of the open
#: block change.
TRACELESS = frozenset({leave_again, enter_again, require_grad_again})


def require_no_level() -> None:
    """Refuse what ends a straight piece of a program inside of a function transform."""
    if transforms.depth():
        raise GraphBreak(
            "PTC-B004",
            "inside of a function transform (torch.func) the way depends on data",
            "use torch.where there, or take the branch or the read out of the transform",
        )


#: What is true where a function, transform (`torch.vmap` and its like), dispatch mode or the tracer
#: of TorchScript may intercept torch functions.
MODES: tuple[Callable[[], Any], ...] = (
    torch._C._len_torch_function_stack,
    torch._C._len_torch_dispatch_stack,
    torch._C._functorch.peek_interpreter_stack,  # type: ignore[attr-defined]
    torch._C._get_tracing_state,
)


def modes_active() -> bool:
    """Whether torch functions do more than their own work: inside a transform, under a dispatch
    mode (counters of operators, fake tensors) or a function mode, or where forward-mode derivatives
    are taken. `torch.set_default_device` for the CPU is a mode too, which changes nothing."""
    if any(active() for active in MODES[1:]) or forward_ad._current_level >= 0:
        return True
    count = torch._C._len_torch_function_stack()
    return count > 0 and not all(map(_changes_nothing, range(count)))


def _changes_nothing(level: int) -> bool:
    mode = torch._C._get_function_stack_at(level)
    return isinstance(mode, DeviceContext) and torch.device(mode.device).type == "cpu"
