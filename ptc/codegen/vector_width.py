"""How many lanes a vector loop should have. Looks at accesses, writes nothing."""

from __future__ import annotations

from collections.abc import Iterable

from ptc.codegen.context import Context
from ptc.codegen.cpp_index import lane_form
from ptc.loops.index import Index
from ptc.loops.nodes import Load, Loop, Stmt, Store
from ptc.loops.walk import expressions, walk_expr, walk_statements

#: Narrower vectors are not worth their set-up.
MIN_LANES = 4


def choose_width(ctx: Context, loop: Loop) -> int:
    """Lanes for `loop`: the widest count that keeps the most accesses contiguous; 0 for scalars."""
    accesses = list(_accesses(ctx, loop.body))
    widest = ctx.lanes_max
    if accesses and all(size == 8 for _, size in accesses):
        widest = max(MIN_LANES, widest // 2)
    extent = loop.extent.constant
    if extent is not None:
        while widest > extent:
            widest //= 2
    if widest < MIN_LANES:
        return 0
    candidates: list[int] = []
    lanes = widest
    while lanes >= MIN_LANES:
        candidates.append(lanes)
        lanes //= 2
    offsets = [offset for offset, _ in accesses if loop.var in offset.vars]
    return min(candidates, key=lambda w: (_scattered(offsets, loop.var, w), -w))


def _scattered(offsets: Iterable[Index], var: str, lanes: int) -> int:
    return sum(lane_form(offset, var, lanes) is None for offset in offsets)


def _accesses(ctx: Context, body: Iterable[Stmt]) -> Iterable[tuple[Index, int]]:
    """(offset, element size) of every memory access in `body`."""
    for stmt in walk_statements(body):
        if isinstance(stmt, Store):
            size = ctx.buffers[stmt.buffer].dtype.itemsize
            yield ctx.offset(stmt.buffer, stmt.index), size
        for node in walk_expr(expressions(stmt)):
            if isinstance(node, Load):
                yield ctx.offset(node.buffer, node.index), node.dtype.itemsize
