"""Peephole clean-up of a functional core-ATen graph, in place.

Every rule keeps values, shapes, dtypes and strides, so that the graph still runs in eager: a copy
that changes the layout stays (lowering gives it no code), one that keeps it goes. Owns the rules
and their order. Knows nothing of kernels.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch.fx import Graph, Node

from ptc.autograd.torch_internals import SLICE_END
from ptc.graph.cleanup import merge_equal_nodes, remove_dead_code
from ptc.graph.symbols import same_size
from ptc.support.registry import Registry

aten = torch.ops.aten

#: A rule gives the node to use instead, or None. It may rewrite the node's arguments in place.
Rule = Callable[[Node], Node | None]

_RULES: Registry[Any, Rule] = Registry("simplification rules")


def simplify(graph: Graph) -> None:
    """Remove operators that change nothing, merge equal ones, drop dead ones."""
    for node in graph.nodes:
        rule = _RULES.get(node.target) if node.op == "call_function" else None
        replacement = rule(node) if rule is not None else None
        if replacement is not None and replacement is not node:
            node.replace_all_uses_with(replacement)
    remove_dead_code(graph)
    merge_equal_nodes(graph)


@_RULES.register(
    aten.clone.default,
    aten.detach.default,
    aten.alias.default,
    aten.lift_fresh.default,
    aten.lift_fresh_copy.default,
    aten.contiguous.default,
    aten.view_as_real_copy.default,
)
def copy_of_a_value(node: Node) -> Node | None:
    """In a functional graph a copy with the same layout is the value itself."""
    return _source(node) if _same_type(node, _source(node)) else None


@_RULES.register(aten.copy.default)
def content_of_a_copy(node: Node) -> Node | None:
    """What is written over the whole of a tensor, where it is of its kind."""
    content = node.args[1]
    return content if isinstance(content, Node) and _same_type(node, content) else None


@_RULES.register(
    aten._to_copy.default,
    aten.expand.default,
    aten.view.default,
    aten._unsafe_view.default,
    aten.reshape.default,
    aten.slice.Tensor,
    aten.constant_pad_nd.default,
    aten.cat.default,
)
def unchanged(node: Node) -> Node | None:
    """A cast to the same dtype, a view with the same shape, a slice of everything, a pad by
    nothing."""
    merged = _MERGES.get(node.target)
    if merged is not None:
        merged(node)
    source = _source(node)
    if node.target is aten.cat.default:
        return source if len(node.args[0]) == 1 else None  # type: ignore[arg-type]
    if node.target is aten.slice.Tensor and not _slices_all(node):
        return None
    if node.target is aten.constant_pad_nd.default and any(node.args[1]):  # type: ignore[arg-type]
        return None
    return source if _same_type(node, source) else None


@_RULES.register(aten.permute.default)
def permutation(node: Node) -> Node | None:
    """Two permutations in a row are one; the identity is none."""
    order = _positive(node.args[1])
    source = _source(node)
    if source.target is aten.permute.default:
        inner = _positive(source.args[1])
        order = [inner[dim] for dim in order]
        source = _source(source)
        node.args = (source, order)
    return source if order == list(range(len(order))) else None


@_RULES.register(operator.getitem)
def element_of_a_split(node: Node) -> Node | None:
    """The only part of a split is the whole."""
    source = _source(node)
    whole = _source(source) if source.args and isinstance(source.args[0], Node) else None
    splits = (aten.split_with_sizes.default, aten.split.Tensor)
    if whole is None or source.target not in splits or len(source.meta["val"]) != 1:
        return None
    return whole if _same_type(node, whole) else None


def _merge_views(node: Node) -> None:
    """A view of a view looks at the base: a view only needs its argument's elements in order."""
    source = _source(node)
    if source.target in _VIEWS:
        node.args = (_source(source), *node.args[1:])


def _merge_expands(node: Node) -> None:
    source = _source(node)
    # -1 keeps the argument's own size, which may differ from the base's.
    if source.target is aten.expand.default and -1 not in node.args[1]:  # type: ignore[operator]
        node.args = (_source(source), *node.args[1:])


def _merge_casts(node: Node) -> None:
    """a -> wider float -> b is a -> b: the first cast loses nothing."""
    source = _source(node)
    if source.target is not aten._to_copy.default:
        return
    base = _source(source)
    if _embeds(base.meta["val"].dtype, source.meta["val"].dtype):
        node.args = (base,)


_VIEWS = (aten.view.default, aten._unsafe_view.default, aten.reshape.default)

_MERGES: dict[Any, Callable[[Node], None]] = {
    aten.view.default: _merge_views,
    aten._unsafe_view.default: _merge_views,
    aten.reshape.default: _merge_views,
    aten.expand.default: _merge_expands,
    aten._to_copy.default: _merge_casts,
}

#: dtype -> those that hold each of its values exactly.
_EMBEDDINGS: dict[torch.dtype, tuple[torch.dtype, ...]] = {
    torch.float16: (torch.float32, torch.float64),
    torch.bfloat16: (torch.float32, torch.float64),
    torch.float32: (torch.float64,),
    torch.bool: (torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64),
    torch.int8: (torch.int16, torch.int32, torch.int64),
    torch.uint8: (torch.int16, torch.int32, torch.int64),
    torch.int16: (torch.int32, torch.int64),
    torch.int32: (torch.int64,),
}


def _embeds(narrow: torch.dtype, wide: torch.dtype) -> bool:
    return narrow == wide or wide in _EMBEDDINGS.get(narrow, ())


def _source(node: Node) -> Node:
    first = node.args[0]
    if isinstance(first, (list, tuple)):
        first = first[0]
    assert isinstance(first, Node)
    return first


def _same_type(left: Node, right: Node) -> bool:
    """Same dtype and, symbolically, same shape and strides. Different expressions count as
    different, though the sizes may turn out equal: nothing may be assumed here."""
    a, b = left.meta["val"], right.meta["val"]
    return (
        isinstance(a, torch.Tensor)
        and isinstance(b, torch.Tensor)
        and a.dtype == b.dtype
        and a.device == b.device
        and len(a.shape) == len(b.shape)
        and all(same_size(x, y) for x, y in zip(a.shape, b.shape, strict=True))
        and _same_strides(a, b)
    )


def _same_strides(a: torch.Tensor, b: torch.Tensor) -> bool:
    """The strides of dimensions of size 1 say nothing."""
    sizes = zip(a.shape, a.stride(), b.stride(), strict=True)
    return all(
        same_size(x, y) for size, x, y in sizes if isinstance(size, torch.SymInt) or size > 1
    )


def _slices_all(node: Node) -> bool:
    """x[0:end:1] with an end beyond every size."""
    _, _dim, start, end, step = (*node.args, *(0, 0, SLICE_END, 1)[len(node.args) - 1 :])
    return bool(start in (0, None) and step == 1 and end in (SLICE_END, None))


def _positive(dims: Any) -> list[int]:
    assert isinstance(dims, Sequence)
    return [dim % len(dims) for dim in dims]  # type: ignore[operator]
