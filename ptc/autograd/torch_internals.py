"""The private names of torch that functionalisation needs, and nothing else of torch's insides.

Owns the meaning of each: what it takes, what it gives, what breaks when it is missing.
`tests/autograd/test_torch_internals.py` names what is gone when a new torch release drops one.
"""

# pyright: reportPrivateUsage=false
# This module exists to use private names.

from __future__ import annotations

from collections.abc import Callable, Collection, Generator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import sympy
import torch
import torch.fx
from torch._dispatch.python import enable_python_dispatcher
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode
from torch.utils._python_dispatch import _disable_current_modes

from ptc.support.diagnostics import CompileError, InternalError

#: Reports the device of a tensor to C++; carries no computation.
DEVICE_QUERY = torch.ops.prim.device.default

#: What lifts a real tensor (made by `torch.tensor([...])`) into the running modes.
LIFT_OPERATORS = frozenset(
    {torch.ops.aten.lift_fresh.default, torch.ops.aten.lift_fresh_copy.default}
)

#: Calls that only switch gradient recording, which never happens while a graph is replayed.
GRADIENT_SWITCHES = frozenset({torch._C._set_grad_enabled, torch.set_grad_enabled})

#: The greatest `end` of a slice, which stands for "to the end".
SLICE_END = 9223372036854775807


@contextmanager
def functionalisation() -> Generator[None]:
    """While open, operators on wrapped tensors (and factories) run functionally: in-place and out=
    variants become pure ones, and views stay views."""
    torch._enable_functionalization(reapply_views=True)
    try:
        yield
    finally:
        torch._disable_functionalization()


@contextmanager
def functionalisation_again() -> Generator[None]:
    """Functionalisation inside an operator that arrived below it (a decomposition that mutates)."""
    key = torch._C.DispatchKey.Functionalize
    before = torch._C._dispatch_tls_is_dispatch_key_excluded(key)
    torch._C._dispatch_tls_set_dispatch_key_excluded(key, False)
    try:
        yield
    finally:
        torch._C._dispatch_tls_set_dispatch_key_excluded(key, before)


def without_modes() -> AbstractContextManager[Any]:
    """Operators run for real: no dispatch mode sees them."""
    return _disable_current_modes()


def is_composite(operator: Any) -> bool:
    """True if torch defines `operator` by calling other operators, autograd included."""
    return operator.has_kernel_for_dispatch_key(torch._C.DispatchKey.CompositeImplicitAutograd)


def wrap(tensor: torch.Tensor) -> torch.Tensor:
    """`tensor` as a value that may be mutated without its being touched."""
    return torch._to_functional_tensor(tensor)


def is_wrapped(tensor: torch.Tensor) -> bool:
    return torch._is_functional_tensor(tensor)


def unwrap(tensor: torch.Tensor) -> torch.Tensor:
    """The present value of a wrapped tensor, pending writes through views applied. A tensor that
    was never wrapped is its own value."""
    if not torch._is_functional_tensor(tensor):
        return tensor
    torch._sync(tensor)
    return torch._from_functional_tensor(tensor)


def storage_key(tensor: torch.Tensor) -> int:
    """Equal for two live tensors exactly when they share memory (works on wrapped and fake
    ones)."""
    return tensor.untyped_storage()._cdata


def version(tensor: torch.Tensor) -> int:
    """How often a tensor, or what it shares memory with, has been written to."""
    return tensor._version


def python_dispatcher(needed: bool) -> AbstractContextManager[None]:
    """Operators' Python kernels instead of C++ ones that would turn a symbolic size into a
    number."""
    return enable_python_dispatcher() if needed else _nothing()


@contextmanager
def _nothing() -> Generator[None]:
    yield


def is_fake(tensor: torch.Tensor) -> bool:
    return isinstance(tensor, FakeTensor)


def fake_constant(mode: FakeTensorMode, tensor: torch.Tensor) -> torch.Tensor:
    """A fake twin of a real tensor with its sizes as plain numbers."""
    return mode.from_tensor(tensor, static_shapes=True)


def guards_of(mode: FakeTensorMode) -> list[Any]:
    """What has been assumed of the symbolic sizes so far (objects with `.expr`)."""
    return list(mode.shape_env.guards) if mode.shape_env is not None else []


def size_of_symbol(mode: FakeTensorMode, name: str) -> torch.SymInt:
    """The symbolic size that is the symbol `name` of the mode's shape environment."""
    assert mode.shape_env is not None
    symbol = next((s for s in mode.shape_env.var_to_range if s.name == name), None)
    if symbol is None:
        raise InternalError("functionalise", f"the shape environment has no symbol {name}")
    value = mode.shape_env.create_symintnode(symbol, hint=None)
    assert isinstance(value, torch.SymInt)
    return value


def last_node(graph: torch.fx.Graph) -> torch.fx.Node:
    """The newest node of a graph; its root, which starts and ends every graph, when there is
    none."""
    return graph._root._prev


def answer_conditions(
    fake_mode: Any,
    conditions: Callable[[Any], bool | None],
    sizes: Collection[Any],
    refuse: Callable[[Any], CompileError],
) -> None:
    """Let the shape environment of a program with control flow know what holds where a part of it
    runs. `sizes` are expressions that are sizes of the part's inputs, so at least 0. Raises
    `refuse(condition)` for what nothing was asked about at capture."""

    def ask(condition: Any, fallback: bool | None) -> bool:
        known = conditions(condition)
        if known is None and isinstance(condition, (sympy.Ge, sympy.Lt)) and condition.rhs == 0:
            known = isinstance(condition, sympy.Ge) if condition.lhs in sizes else None
        if known is None:
            known = fallback
        if known is None:
            raise refuse(condition)
        return known

    fake_mode.shape_env.ask = ask
    fake_mode.shape_env.known = conditions
