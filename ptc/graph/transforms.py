"""Function transforms (`torch.vmap`, `torch.func.grad`) and gradients as calls of a graph.

A transform is a level: calls between the one that enters it and the one that leaves it work on
tensors that torch wraps for it. A graph with such calls, and with `torch.autograd.grad`, is to be
run in the gradient mode of the program, in its order. Owns the private names of torch that this
takes, and the levels being left again when a run fails.
"""

# pyright: reportPrivateUsage=false, reportAttributeAccessIssue=false
# Levels are part of torch's private interface.

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any

import torch
from torch.fx import Graph, Node

_levels: Any = torch._C._functorch


# -- levels ---------------------------------------------------------------------------------------


def enter_vmap(batch_size: Any, randomness: str) -> int:
    """Calls from here on are made for each of `batch_size` rows; the level's number."""
    return _levels._vmap_increment_nesting(batch_size, randomness)


def leave_vmap() -> None:
    _levels._vmap_decrement_nesting()


def enter_grad() -> int:
    """Calls from here on record gradients of what is wrapped for the level; its number."""
    return _levels._grad_increment_nesting()


def leave_grad() -> None:
    _levels._grad_decrement_nesting()


def _kinds() -> list[Any]:
    """The kinds of the levels that are open, outermost first."""
    return [level.key() for level in _levels.get_interpreter_stack() or []]


def depth() -> int:
    """How many levels are open."""
    return len(_kinds())


_LEAVE: dict[Any, Callable[[], None]] = {
    _levels.TransformType.Vmap: leave_vmap,
    _levels.TransformType.Grad: leave_grad,
}


def leave_to(wanted: int) -> None:
    """Leave levels until `wanted` are open."""
    while len(kinds := _kinds()) > wanted:
        _LEAVE[kinds[-1]]()


@contextmanager
def levels_restored() -> Generator[None]:
    """Levels that are still open at the end, after a failure, are left."""
    before = depth()
    try:
        yield
    finally:
        leave_to(before)


# -- tensors of a level ---------------------------------------------------------------------------


def add_batch_dim(tensor: torch.Tensor, dim: int, level: int) -> torch.Tensor:
    """A row of `tensor`, standing for all rows along `dim`."""
    return _levels._add_batch_dim(tensor, dim % tensor.dim(), level)


def remove_batch_dim(tensor: torch.Tensor, level: int, batch_size: Any, dim: Any) -> torch.Tensor:
    """All rows, along `dim`."""
    return _levels._remove_batch_dim(tensor, level, batch_size, dim)


def wrap_for_grad(tensor: torch.Tensor, level: int) -> torch.Tensor:
    return _levels._wrap_for_grad(tensor, level)


def unwrap_for_grad(tensor: torch.Tensor, level: int) -> torch.Tensor:
    return _levels._unwrap_for_grad(tensor, level)


def differentiable(tensor: torch.Tensor) -> torch.Tensor:
    """A tensor of a level as what is differentiated by."""
    before = _levels.get_inplace_requires_grad_allowed()
    _levels.set_inplace_requires_grad_allowed(True)
    try:
        return tensor.requires_grad_()
    finally:
        _levels.set_inplace_requires_grad_allowed(before)


def is_wrapped(tensor: torch.Tensor) -> bool:
    """Whether a tensor is one of a level, open or left."""
    return _levels.is_functorch_wrapped_tensor(tensor)


def unwrapped(tensor: torch.Tensor) -> torch.Tensor:
    """The tensor beneath all levels."""
    while _levels.is_functorch_wrapped_tensor(tensor):
        tensor = _levels.get_unwrapped(tensor)
    return tensor


# -- graphs ---------------------------------------------------------------------------------------

_LEVELS = frozenset({enter_vmap, leave_vmap, enter_grad, leave_grad})

#: Calls that change what the calls behind them do.
STATEFUL = frozenset({*_LEVELS, differentiable, "requires_grad_"})

#: Calls for which gradients may have to be recorded.
RECORDING = frozenset({*_LEVELS, torch.autograd.grad})

#: In a node's `meta` of such a call: the gradient mode on entry to the program.
MODE_ON_ENTRY = "grad_mode_on_entry"


def recorded_mode(graph: Graph) -> bool | None:
    """The gradient mode in which a graph starts, if its calls are to be recorded as the program
    says; None where nothing asks for gradients."""
    for node in graph.nodes:
        if is_recording(node):
            return bool(node.meta.get(MODE_ON_ENTRY, False))
    return None


def to_differentiate(graph: Graph, found: dict[Node, Any]) -> dict[Node, Any]:
    """The values of a graph's placeholders, those that its gradients are taken by as such."""
    if recorded_mode(graph) is None:
        return found
    return {node: _to_differentiate(node, value) for node, value in found.items()}


def _to_differentiate(node: Node, value: Any) -> Any:
    wanted = isinstance(value, torch.Tensor) and node.meta["val"].requires_grad
    return value.detach().requires_grad_() if wanted and not value.requires_grad else value


def is_recording(node: Node) -> bool:
    return node.op == "call_function" and node.target in RECORDING
