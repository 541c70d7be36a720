"""Clean-up passes on functional fx graphs: dead code and common subexpressions.

In place, on graphs of operators without side effects (an `AtenProgram`'s). Operators that draw
random numbers or act on the world stay, in their order. Placeholders always stay. Knows nothing of
what an operator computes.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import torch
from torch.fx import Graph, Node


def remove_dead_code(graph: Graph) -> int:
    """Erase nodes whose value nothing reads. Returns how many."""
    removed = 0
    for node in reversed(graph.nodes):
        if not node.users and node.op not in ("placeholder", "output") and not has_effect(node):
            graph.erase_node(node)
            removed += 1
    return removed


def merge_equal_nodes(graph: Graph) -> int:
    """Common subexpressions: of nodes that compute the same, the first one stays. Returns how many
    were merged."""
    seen: dict[Hashable, Node] = {}
    merged = 0
    for node in graph.nodes:
        if node.op not in ("call_function", "get_attr") or is_random(node) or has_effect(node):
            continue
        key = (node.op, node.target, _key(node.args), _key(node.kwargs))
        first = seen.setdefault(key, node)
        if first is not node:
            node.replace_all_uses_with(first)
            graph.erase_node(node)
            merged += 1
    return merged


def is_random(node: Node) -> bool:
    """True if two runs of the node may give different values."""
    tags = getattr(node.target, "tags", ())
    return torch.Tag.nondeterministic_seeded in tags


def has_effect(node: Node) -> bool:
    """True if the node does more than compute its value: it must stay though nothing reads it.

    A random draw is one: it advances the generator that later draws read.
    """
    schema = getattr(node.target, "_schema", None)
    if schema is None:
        return node.op in ("call_method", "call_module")
    return schema.is_mutable or not schema.returns or is_random(node)


def _key(value: Any) -> Hashable:
    """A hashable twin of a graph argument, with its type: 1, 1.0 and True are different
    arguments."""
    if isinstance(value, Node):
        return value
    if isinstance(value, (list, tuple)):
        return tuple(_key(item) for item in value)
    if isinstance(value, dict):
        return tuple((name, _key(item)) for name, item in sorted(value.items()))
    if isinstance(value, slice):
        return (slice, _key(value.start), _key(value.stop), _key(value.step))
    # repr tells -0.0 from 0.0 and makes nan equal to itself.
    return (type(value), repr(value) if isinstance(value, (float, complex)) else value)
