"""Fusion: the order in which the ways of combining kernels are applied.

Cost is near-linear in the number of kernels: each looks at its own readers and writers only.
"""

from __future__ import annotations

from ptc.loops.nodes import Program
from ptc.schedule.epilogue import absorb_consumers
from ptc.schedule.inline import inline_producers
from ptc.schedule.kernels import KernelGraph
from ptc.schedule.merge import merge_neighbours, shrink_buffers


def fuse_kernels(program: Program) -> Program | None:
    """The program with fewer kernels and less memory traffic; None if nothing changed."""
    graph = KernelGraph(program)
    inline_producers(graph)
    absorb_consumers(graph)
    merge_neighbours(graph)
    for position in graph.order():
        shrink_buffers(graph, position)
    return graph.finish() if graph.changed else None
