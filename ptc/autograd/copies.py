"""`x.contiguous()` where sizes decide whether it is x itself or a copy.

Capture takes it for a copy. Without writes, nobody can tell; with one, the program holds only where
x is not in row-major order. Takes nodes of a captured graph; says which are such copies and what
has to hold for them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import sympy
import torch
from torch.fx import Graph, Node

from ptc.autograd import torch_internals as internals
from ptc.graph.assumptions import Assumption
from ptc.graph.symbols import expression_of

_NAMES = ("contiguous", torch.Tensor.contiguous)


def is_copy(node: Node) -> bool:
    """Whether a call of `contiguous` was captured as a copy."""
    if node.target not in _NAMES or node.kwargs:
        return False
    tensors = _tensors(node)
    return len(tensors) == 2 and len({internals.storage_key(x) for x in tensors}) == 2


def assumptions_of_copies(graph: Graph) -> Iterator[Assumption]:
    """That what is copied and written to, before or after, is a copy in eager as well."""
    for node in graph.nodes:
        if not is_copy(node):
            continue
        source, result = _tensors(node)
        if any(x.is_inference() or internals.version(x) for x in (source, result)):
            condition = _is_apart(source)
            if condition is not sympy.true:
                yield Assumption(condition, node.meta.get("location"))


def _tensors(node: Node) -> list[torch.Tensor]:
    values = [n.meta.get("val") for n in (*node.args, node) if isinstance(n, Node)]
    return [value for value in values if isinstance(value, torch.Tensor)]


def _is_apart(source: torch.Tensor) -> Any:
    """The condition under which a tensor is not in row-major order, so that `contiguous` copies."""
    expected: Any = sympy.S.One
    apart: Any = sympy.false
    for size, step in reversed(list(zip(source.shape, source.stride(), strict=True))):
        long, step = expression_of(size), expression_of(step)
        apart = sympy.Or(apart, sympy.And(sympy.Ne(long, 1), sympy.Ne(step, expected)))
        expected = expected * long
    return apart
