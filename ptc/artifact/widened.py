"""A module in float64 whose parameters are widened one operator at a time.

A copy of a large model in float64 would take twice the memory of its weights. Here a parameter is a
tensor that says it is float64 and holds the original; whatever reads it gets a float64 copy that
lives as long as that operator. Buffers, which a model may write, are copied. Owns the only use of
torch's wrapper tensors.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import nn
from torch.utils import _pytree as pytree

#: Selects rows: widening what was selected is the same, and spares a copy of a whole table.
_SELECT = frozenset({torch.ops.aten.embedding.default, torch.ops.aten.index_select.default})
_SAME = frozenset({torch.ops.aten.detach.default, torch.ops.aten.alias.default})


class WidenedTensor(torch.Tensor):
    """Reads as the float64 values of `stored`, whose memory it shares. Cannot be written."""

    stored: torch.Tensor
    # Functions of torch take it as any tensor; only the operators below them see what it is.
    __torch_function__ = torch._C._disabled_torch_function_impl  # pyright: ignore

    @staticmethod
    def __new__(cls: type[WidenedTensor], stored: torch.Tensor) -> WidenedTensor:
        made = torch.Tensor._make_wrapper_subclass(  # pyright: ignore
            cls, stored.shape, strides=stored.stride(), dtype=torch.float64, device=stored.device
        )
        made.stored = stored
        return made

    def __repr__(self, *, tensor_contents: Any = None) -> str:
        return f"WidenedTensor({self.stored!r})"

    @classmethod
    def __torch_dispatch__(
        cls,
        func: Any,
        types: Sequence[type],
        args: tuple[Any, ...] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        given = dict(kwargs or {})
        if func in _SAME:
            return WidenedTensor(args[0].stored)
        if func in _SELECT and isinstance(args[0], WidenedTensor):
            return func(args[0].stored, *args[1:], **given).double()
        for argument, value in zip(func._schema.arguments, args, strict=False):
            if argument.is_write and isinstance(value, WidenedTensor):
                raise RuntimeError(f"{func} writes a parameter")
        wide, wide_given = pytree.tree_map_only(
            WidenedTensor, lambda t: t.stored.double(), (args, given)
        )
        return func(*wide, **wide_given)


def widened(module: nn.Module) -> nn.Module:
    """A float64 copy of `module` that shares the memory of its parameters."""
    memo: dict[int, Any] = {}
    for parameter in module.parameters():
        if parameter.is_floating_point() and parameter.dtype != torch.float64:
            wide = WidenedTensor(parameter.detach())
            memo[id(parameter)] = nn.Parameter(wide, requires_grad=False)
        else:
            memo[id(parameter)] = parameter
    twin = copy.deepcopy(module, memo)
    for owner in twin.modules():
        for name, buffer in owner.named_buffers(recurse=False):
            if buffer.is_floating_point():
                setattr(owner, name, buffer.double())
    return twin
