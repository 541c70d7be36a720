"""Fusion: the order in which the ways of combining kernels are applied.

Cost is near-linear in the number of kernels: each looks at its own readers and writers only.
"""

from __future__ import annotations

from dataclasses import replace

from ptc.loops.nodes import BufferKind, Program
from ptc.loops.walk import reads
from ptc.schedule.epilogue import absorb_consumers
from ptc.schedule.inline import inline_producers, reads_nothing
from ptc.schedule.kernels import KernelGraph
from ptc.schedule.merge import merge_neighbours, merge_siblings, shrink_buffers
from ptc.schedule.positions import fold_positions


def fuse_positions(program: Program) -> Program | None:
    """Kernels that only compute positions (arange and arithmetic on it) inlined into their readers,
    and what loop bounds then decide folded; None if nothing changed."""
    graph = KernelGraph(program)
    inline_producers(graph, reads_nothing)
    if not graph.changed:
        return fold_positions(program)
    inlined = graph.finish()
    return fold_positions(inlined) or inlined


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
    merge_siblings(graph)
    for position in graph.order():
        shrink_buffers(graph, position)
    return graph.finish() if graph.changed else None


def fuse_prepare(program: Program) -> Program | None:
    """The prepare kernels fused among themselves; intermediate results stay PREPARED buffers."""
    if len(program.prepare) < 2:
        return None
    needed = set().union(*[reads(k) for k in program.kernels])
    outputs = tuple([n for n, b in program.buffers.items() if b.kind is BufferKind.PREPARED])
    buffers = {
        n: replace(b, kind=BufferKind.TEMP) if b.kind is BufferKind.PREPARED else b
        for n, b in program.buffers.items()
    }
    part = replace(
        program,
        buffers=buffers,
        outputs=tuple([n for n in outputs if n in needed]),
        kernels=program.prepare,
        prepare=(),
    )
    for run in (fuse_elementwise, fuse_rows):
        part = run(part) or part
    result = {
        n: replace(b, kind=BufferKind.PREPARED) if n in outputs else b
        for n, b in part.buffers.items()
    }
    return replace(program, buffers=result, prepare=part.kernels)
