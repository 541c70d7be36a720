"""Estimates of how much a loop nest does, to decide on threads and to balance translation units.

Rough additions, as the `cost` column of the scalar table counts them. Looks only.
"""

from __future__ import annotations

from collections.abc import Sequence

from ptc.loops.bounds import Ranges
from ptc.loops.index import Index
from ptc.loops.nodes import Apply, If, Load, Loop, LoopKind, Stmt, Store
from ptc.loops.scalar import OPS
from ptc.loops.walk import expressions, walk_expr

#: Steps assumed of a loop whose extent is not known.
_UNKNOWN_EXTENT = 64.0
#: Vector units do several elements at once.
_VECTOR_SPEED = 8.0


def body_work(body: Sequence[Stmt], ranges: Ranges) -> float:
    """Work of running `body` once."""
    total = 0.0
    for stmt in body:
        if isinstance(stmt, Loop):
            vector = stmt.kind is LoopKind.VECTOR or stmt.vector
            inner = body_work(stmt.body, ranges) * extent_value(stmt.extent, ranges)
            total += inner / _VECTOR_SPEED if vector else inner
            continue
        if isinstance(stmt, If):
            total += body_work(stmt.body, ranges)
        for node in walk_expr(expressions(stmt)):
            if isinstance(node, Apply):
                total += OPS[node.op].cost
            elif isinstance(node, Load):
                total += 1
        if isinstance(stmt, Store):
            total += 1
    return total


def extent_value(extent: Index, ranges: Ranges) -> float:
    """The extent, or a guess."""
    if extent.constant is not None:
        return float(extent.constant)
    low, high = ranges.interval(extent)
    if high is not None:
        return float(high)
    return max(float(low or 0), _UNKNOWN_EXTENT)
