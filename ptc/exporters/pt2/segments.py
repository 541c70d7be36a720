"""Running the graphs of a program with control flow, whose numbers are tensors.

A number that a graph takes for a value stays a tensor where its operator takes tensors, and is read
(`item`) only where it must be: back ends know little of numbers that are read inside of branches.
Takes graphs and values, gives values; knows no regions.
"""

from __future__ import annotations

from typing import Any

import torch
from torch.utils import _pytree as pytree

from ptc.exporters.pt2 import numbers
from ptc.exporters.pt2.straight import Replay
from ptc.graph.control import NumberKind

_EXAMPLES = {NumberKind.INT: 1, NumberKind.FLOAT: 1.0, NumberKind.BOOL: True}


class Scalar:
    """A Python number of the program, as a tensor of its kind."""

    def __init__(self, tensor: torch.Tensor, kind: NumberKind) -> None:
        self._tensor = tensor
        self._kind = kind
        self._read: Any = None

    def read(self) -> Any:
        """The number as torch's symbolic value."""
        if self._read is None:
            self._read = numbers.as_scalar(self._tensor, self._kind)
        return self._read

    def beside(self, other: torch.Tensor) -> torch.Tensor:
        """A tensor that an operator on two tensors takes for what the number is beside `other`: it
        does not widen other's type, but for ints and floats, as a number does."""
        dtype = torch.result_type(other, _EXAMPLES[self._kind])
        if dtype == other.dtype and other.dim() > 0:
            return self._tensor
        return self._tensor if self._tensor.dtype == dtype else self._tensor.to(dtype)


class SegmentReplay(Replay):
    """A replay some of whose inputs are `Scalar`s."""

    def call_function(self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if len(args) == 2 and not kwargs and _is_of_two_tensors(target):
            args = _beside_each_other(*args)
        args, kwargs = pytree.tree_map_only(Scalar, Scalar.read, (args, kwargs))
        return super().call_function(target, args, kwargs)

    def output(self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        return pytree.tree_map_only(Scalar, Scalar.read, super().output(target, args, kwargs))


def _is_of_two_tensors(target: Any) -> bool:
    schema = getattr(target, "_schema", None)
    if schema is None:
        return False
    kinds = [str(argument.type) for argument in schema.arguments if not argument.kwarg_only]
    return kinds == ["Tensor", "Tensor"]


def _beside_each_other(a: Any, b: Any) -> tuple[Any, Any]:
    if isinstance(a, Scalar) and isinstance(b, torch.Tensor):
        return a.beside(b), b
    if isinstance(b, Scalar) and isinstance(a, torch.Tensor):
        return a, b.beside(a)
    return a, b
