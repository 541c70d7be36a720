"""Fusion: the order in which the ways of combining kernels are applied.

Cost is near-linear in the number of kernels: each looks at its own readers and writers only.
"""

from __future__ import annotations

from ptc.loops.nodes import Program
from ptc.schedule.epilogue import absorb_consumers
from ptc.schedule.inline import inline_producers
from ptc.schedule.kernels import KernelGraph
from ptc.schedule.merge import merge_neighbours, shrink_buffers


def fuse_elementwise(program: Program) -> Program | None:
    """Pointwise kernels joined with their readers and with templates; None if nothing changed."""
    graph = KernelGraph(program)
    inline_producers(graph)
    absorb_consumers(graph)
    return graph.finish() if graph.changed else None


def fuse_rows(program: Program) -> Program | None:
    """Kernels with equal outer loops merged, buffers shrunk; None if nothing changed."""
    graph = KernelGraph(program)
    merge_neighbours(graph)
    for position in graph.order():
        shrink_buffers(graph, position)
    return graph.finish() if graph.changed else None
