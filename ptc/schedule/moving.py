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
        other = between(graph.readers.get(buffer, set()))
        if other is None:
            writers = [p for p in graph.writers.get(buffer, set()) if low < p < high]
            other = next((p for p in writers if not _apart(graph, start, p, buffer)), None)
        if other is not None:
            return Refusal("it would cross an access", name, graph.kernels[other].name, buffer)
    return None


def _apart(graph: KernelGraph, first: int, second: int, buffer: str) -> bool:
    """Whether two kernels write different parts of a buffer (slices of a concatenation)."""
    spans = [_span(graph, position, buffer) for position in (first, second)]
    return any(
        a is not None and b is not None and (_before(a, b) or _before(b, a))
        for a, b in zip(*spans, strict=True)
    )


Span = tuple["int | None", "int | None"]


def _before(a: Span, b: Span) -> bool:
    return a[1] is not None and b[0] is not None and a[1] < b[0]


def _span(graph: KernelGraph, position: int, buffer: str) -> list[Span | None]:
    """For each dimension the range of positions that a kernel writes."""
    kernel = graph.kernels[position]
    rank = len(graph.buffers[buffer].shape)
    stores = [s for s in graph.stores[position] if s.buffer == buffer]
    if isinstance(kernel, ExternKernel) or len(stores) != 1:
        return [None] * rank
    ranges = graph.ranges(kernel)
    return [ranges.interval(i) for i in stores[0].index]
