"""Types of the variables of programs with control flow: which are the same, what may be assigned.

Takes fake tensors and variables, gives reasons in words (empty: it fits) and the sizes that an
assignment leaves to be bound. Knows nothing of items.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import torch

from ptc.graph.control import ListVar, NumberKind, NumberVar, TensorVar, TextVar, Var
from ptc.graph.symbols import expression_of, same_size
from ptc.graph.types import type_text


def var_type(variable: Var) -> str:
    """`f32[2, s0]`, `int`, `text`, `list of f32[3]`."""
    if isinstance(variable, TensorVar):
        return type_text(variable.fake)
    if isinstance(variable, NumberVar):
        return variable.kind.value
    if isinstance(variable, TextVar):
        return "text"
    return f"list of {element_type(variable)}"


def element_type(variable: ListVar) -> str:
    element = variable.element
    if element is str:
        return "text"
    if isinstance(element, ListVar):
        return var_type(element)
    return element.value if isinstance(element, NumberKind) else type_text(element)


def differs(a: Var, b: Var) -> bool:
    """True if the two cannot be one variable."""
    if isinstance(a, TensorVar) and isinstance(b, TensorVar):
        return tensors_differ(a.fake, b.fake)
    if isinstance(a, ListVar) and isinstance(b, ListVar):
        if isinstance(a.element, torch.Tensor) and isinstance(b.element, torch.Tensor):
            return elements_differ(a.element, b.element)
        if isinstance(a.element, ListVar) and isinstance(b.element, ListVar):
            return differs(a.element, b.element)
        return a.element is not b.element
    return a != b


def tensors_differ(a: torch.Tensor, b: torch.Tensor) -> bool:
    """Another dtype, rank or size. Strides may differ: between segments tensors are row-major."""
    return a.dtype != b.dtype or a.dim() != b.dim() or not all(map(same_size, a.shape, b.shape))


def elements_differ(a: torch.Tensor, b: torch.Tensor) -> bool:
    """As elements of a list: where one has a symbolic size the other may have any."""
    return (
        a.dtype != b.dtype
        or a.dim() != b.dim()
        or any(
            not same_size(one, other) and not isinstance(one, torch.SymInt)
            for one, other in zip(a.shape, b.shape, strict=True)
        )
    )


def loose_sizes(
    target: torch.Tensor, sizes: Sequence[Any], free: Collection[str]
) -> dict[str, Any] | None:
    """The symbols of `target` that a value with these sizes gives another meaning, with the size
    that each stands for; they have to be bound after the assignment. None: the value does not fit.

    `free` has the symbols that may be bound. A size that is None depends on data. A size that is
    symbolic may be one that is written differently, where a branch on sizes says that it is.
    """
    if target.dim() != len(sizes):
        return None
    found: dict[str, Any] = {}
    for wanted, size in zip(target.shape, sizes, strict=True):
        if size is not None and same_size(wanted, size):
            continue
        symbol = str(expression_of(wanted))
        if symbol in free:
            if not same_size(found.setdefault(symbol, size), size):
                return None
        elif size is None or not _may_be_equal(wanted, size):
            return None
    return found


def _may_be_equal(wanted: Any, size: Any) -> bool:
    """Whether a path can know two sizes that are written differently to be equal. That they are is
    for the reference interpreter to check."""
    return isinstance(wanted, torch.SymInt) or isinstance(size, torch.SymInt)


def kind_of_element(dtype: torch.dtype) -> NumberKind | None:
    """What `item()` gives."""
    if dtype == torch.bool:
        return NumberKind.BOOL
    if dtype.is_complex:
        return None
    return NumberKind.FLOAT if dtype.is_floating_point else NumberKind.INT
