"""Whether a kernel may run later or earlier than where it stands."""

from __future__ import annotations

from ptc.loops.nodes import ExternKernel
from ptc.schedule.kernels import KernelGraph
from ptc.schedule.legality import Refusal


def reads_of(graph: KernelGraph, position: int) -> set[str]:
    """Buffers the kernel at `position` reads."""
    kernel = graph.kernels[position]
    if isinstance(kernel, ExternKernel):
        return set(kernel.inputs)
    return {*graph.loads[position], *[s.buffer for s in graph.stores[position] if s.reduce]}


def writes_of(graph: KernelGraph, position: int) -> set[str]:
    """Buffers the kernel at `position` writes."""
    kernel = graph.kernels[position]
    if isinstance(kernel, ExternKernel):
        return set(kernel.outputs)
    return {s.buffer for s in graph.stores[position]}


def may_move(graph: KernelGraph, start: int, stop: int) -> Refusal | None:
    """Whether the kernel at `start` may run right beside the one at `stop` instead.

    It may cross the kernels strictly between only if none of them writes what it reads or touches
    what it writes.
    """
    low, high = min(start, stop), max(start, stop)
    name = graph.kernels[start].name

    def between(positions: set[int]) -> int | None:
        return next((p for p in positions if low < p < high), None)

    for buffer in reads_of(graph, start):
        other = between(graph.writers.get(buffer, set()))
        if other is not None:
            return Refusal("it would cross a write", name, graph.kernels[other].name, buffer)
    for buffer in writes_of(graph, start):
        touching = graph.writers.get(buffer, set()) | graph.readers.get(buffer, set())
        other = between(touching)
        if other is not None:
            return Refusal("it would cross an access", name, graph.kernels[other].name, buffer)
    return None
