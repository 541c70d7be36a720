"""Whether two arms of a branch compute the same.

Capture takes sizes apart that torch treats apart when it broadcasts (1, above all); the operators
of both arms are then the same ones, and torch chooses when the program runs. Takes regions; knows
nothing of tracing.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch.fx import GraphModule, Node

from ptc.exporters.regions import (
    Branch,
    Call,
    Constant,
    Dimension,
    Loop,
    Operation,
    Primitive,
    Region,
    Value,
    results_of,
)

_Known = dict[Value, Value]


def are_alike(one: Region, other: Region, known: Mapping[Value, Value] | None = None) -> bool:
    """Whether the regions do the same with the same values. `known`: which values of the one are
    those of the other; any other value is from outside, and itself."""
    same: _Known = dict(known or {})
    if len(one.operations) != len(other.operations) or len(one.params) != len(other.params):
        return False
    same.update(zip(one.params, other.params, strict=True))
    for a, b in zip(one.operations, other.operations, strict=True):
        if type(a) is not type(b) or not _operations_alike(a, b, same):
            return False
        mine, its = results_of(a), results_of(b)
        if len(mine) != len(its):
            return False
        same.update(zip(mine, its, strict=True))
    return _are_same(one.results, other.results, same)


def _are_same(one: Sequence[Value | None], other: Sequence[Value | None], same: _Known) -> bool:
    return len(one) == len(other) and all(
        b is (None if a is None else same.get(a, a)) for a, b in zip(one, other, strict=True)
    )


def _operations_alike(a: Operation, b: Operation, same: _Known) -> bool:
    match a, b:
        case Constant(), Constant():
            return type(a.content) is type(b.content) and a.content == b.content
        case Dimension(), Dimension():
            return a.dim == b.dim and _are_same([a.tensor], [b.tensor], same)
        case Primitive(), Primitive():
            return (a.kind, a.op) == (b.kind, b.op) and _are_same(a.args, b.args, same)
        case Call(), Call():
            needed = ([x is not None for x in call.results] for call in (a, b))
            return _are_same(a.args, b.args, same) and operator.eq(*needed) and _calls_alike(a, b)
        case Branch(), Branch():
            return (
                _are_same([a.condition], [b.condition], same)
                and are_alike(a.then, b.then, same)
                and are_alike(a.orelse, b.orelse, same)
            )
        case Loop(), Loop():
            bodies = (_with_end(a.body, a.again), _with_end(b.body, b.again))
            return _are_same(a.initial, b.initial, same) and are_alike(*bodies, same)
        case _:
            return False


def _with_end(region: Region, value: Value) -> Region:
    return Region(region.operations, region.params, [*region.results, value])


def _calls_alike(a: Call, b: Call) -> bool:
    mine, its = a.segment.aten, b.segment.aten
    for one, other, value in zip(mine.inputs, its.inputs, a.args, strict=True):
        if value is None and one.name != other.name:  # plain weights
            return False
    return _graphs_alike(mine.graph, its.graph)


def _graphs_alike(one: GraphModule, other: GraphModule) -> bool:
    """The same operators on the same arguments, whatever sizes they were captured for."""
    mine, its = list(one.graph.nodes), list(other.graph.nodes)
    if len(mine) != len(its):
        return False
    nodes: dict[Node, Node] = {}
    for a, b in zip(mine, its, strict=True):
        if a.op != b.op:
            return False
        if a.op == "get_attr":
            if not _literals_alike(getattr(one, str(a.target)), getattr(other, str(b.target))):
                return False
        elif a.op == "call_function" and a.target is not b.target:
            return False
        if not _arguments_alike((a.args, a.kwargs), (b.args, b.kwargs), nodes):
            return False
        nodes[a] = b
    return True


def _literals_alike(a: torch.Tensor, b: torch.Tensor) -> bool:
    return a.dtype == b.dtype and a.shape == b.shape and torch.equal(a, b)


def _arguments_alike(a: Any, b: Any, nodes: Mapping[Node, Node]) -> bool:
    if isinstance(a, Node):
        return nodes.get(a) is b
    if isinstance(a, (list, tuple)):
        return (
            isinstance(b, (list, tuple))
            and len(a) == len(b)
            and all(_arguments_alike(x, y, nodes) for x, y in zip(a, b, strict=True))
        )
    if isinstance(a, Mapping):
        return (
            isinstance(b, Mapping)
            and a.keys() == b.keys()
            and all(_arguments_alike(a[key], b[key], nodes) for key in a)
        )
    same: Any = a == b
    return type(a) is type(b) and bool(same)
