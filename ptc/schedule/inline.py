"""Inlining: a pointwise kernel's expression moves to where its result is loaded.

`may_inline` says whether that is right, `should_inline` whether it pays: never where the expression
would be computed many times over (several readers, broadcasts, reductions that read a row often)
unless it is next to free.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ptc.loops import build as b
from ptc.loops.bounds import Ranges
from ptc.loops.index import Index
from ptc.loops.nodes import (
    AnyKernel,
    Apply,
    BufferKind,
    Expr,
    ExternKernel,
    Kernel,
    Literal,
    Load,
    Loop,
    LoopKind,
    Stmt,
    TemplateKernel,
)
from ptc.loops.scalar import OPS
from ptc.loops.walk import Rewriter, Substitution, expressions, nested, walk_expr
from ptc.schedule.kernels import KernelGraph, Pointwise, covers, pointwise_of
from ptc.schedule.legality import Refusal

# Above this many nodes an expression is stored rather than copied: compile time and registers.
MAX_NODES = 160
# The work (in additions) that is repeated rather than stored and loaded again.
FREE = 2
CHEAP = 8


@dataclass(frozen=True, slots=True)
class Producer:
    """A pointwise kernel that may be inlined, with what its expression costs."""

    position: int
    buffer: str
    pointwise: Pointwise
    cost: int
    nodes: int
    # distinct loads that move with every element of the result (not broadcast operands)
    full_loads: int


def producer_of(graph: KernelGraph, position: int) -> Producer | Refusal:
    """The kernel at `position` as something that can be inlined."""
    kernel = graph.kernels[position]
    pointwise = pointwise_of(kernel)
    if pointwise is None:
        return Refusal("the producer is not pointwise", kernel.name, "")
    buffer = graph.buffers[pointwise.store.buffer]
    if not graph.is_private(buffer.name):
        return Refusal("the result is kept", kernel.name, "", buffer.name)
    if graph.sole_writer(buffer.name) != position:
        return Refusal("several kernels write the result", kernel.name, "", buffer.name)
    if not covers(pointwise, buffer):
        return Refusal("the result is not filled index by index", kernel.name, "", buffer.name)
    cost, nodes, full = _measure(pointwise)
    return Producer(position, buffer.name, pointwise, cost, nodes, full)


def _measure(pointwise: Pointwise) -> tuple[int, int, int]:
    cost = nodes = 0
    rank = len(pointwise.loops)
    full: set[tuple[str, tuple[Index, ...]]] = set()
    for expr in walk_expr((pointwise.store.value,)):
        nodes += 1
        if isinstance(expr, Apply):
            cost += OPS[expr.op].cost
        elif isinstance(expr, Load):
            used = frozenset().union(*[i.vars for i in expr.index])
            if sum(loop.var in used for loop in pointwise.loops) == rank:
                full.add((expr.buffer, expr.index))
            if expr.mask is not None:
                cost += 1
    return cost, nodes, len(full)


def may_inline(graph: KernelGraph, producer: Producer, consumer: int) -> Refusal | None:
    """Legality: the producer's operands still hold the same values when the consumer runs."""
    kernel = graph.kernels[consumer]
    name = graph.kernels[producer.position].name
    if isinstance(kernel, ExternKernel):
        return Refusal("a runtime routine reads whole buffers", name, kernel.name, producer.buffer)
    if any(s.buffer == producer.buffer for s in graph.stores[consumer]):
        return Refusal("the consumer updates the result", name, kernel.name, producer.buffer)
    for operand in graph.loads[producer.position]:
        if any(w > producer.position for w in graph.writers.get(operand, ())):
            return Refusal("an operand changes in between", name, kernel.name, operand)
    return None


def should_inline(graph: KernelGraph, producer: Producer, readers: list[int]) -> bool:
    """Profit: inlining into all readers costs less than a store and the loads."""
    if producer.nodes > MAX_NODES:
        return False
    templates = [r for r in readers if isinstance(graph.kernels[r], TemplateKernel)]
    if templates and not _fits_templates(graph, producer, templates):
        return False
    if producer.cost == 0 and producer.full_loads <= 1:
        return True
    repeats = 0
    for reader in readers:
        kernel = graph.kernels[reader]
        if isinstance(kernel, Kernel):
            repeats += _evaluations(kernel.body, producer.buffer)
        else:
            repeats += 1
    if repeats <= 1:
        return True
    if producer.full_loads <= 1 and producer.cost * (repeats - 1) <= CHEAP:
        return True
    return producer.cost <= FREE and producer.full_loads <= 1 and repeats <= 4


def _fits_templates(graph: KernelGraph, producer: Producer, readers: list[int]) -> bool:
    """Contractions take plain loads (they pack or stream them); masks may be computed."""
    if isinstance(producer.pointwise.store.value, Load):
        load = producer.pointwise.store.value
        if load.mask is not None:
            return False
        return all(_stays_affine(graph, producer, load, reader) for reader in readers)
    if any(name != "mask" for r in readers for name in _operands_reading(graph, r, producer)):
        return False
    return producer.cost <= CHEAP


def _operands_reading(graph: KernelGraph, reader: int, producer: Producer) -> list[str]:
    kernel = graph.kernels[reader]
    if not isinstance(kernel, TemplateKernel):
        return []
    return [
        name
        for name, operand in kernel.operands.items()
        if any(
            isinstance(e, Load) and e.buffer == producer.buffer for e in walk_expr((operand.value,))
        )
    ]


def _stays_affine(graph: KernelGraph, producer: Producer, load: Load, reader: int) -> bool:
    """Whether a template would still address the operand without divisions after inlining."""
    kernel = graph.kernels[reader]
    if not isinstance(kernel, TemplateKernel):
        return True
    ranges = graph.ranges(kernel)
    buffer = graph.buffers[load.buffer]
    for site in graph.loads[reader].get(producer.buffer, ()):
        index = _substituted(producer, load.index, site.index, ranges)
        address = sum(
            (i * s for i, s in zip(index, buffer.strides, strict=True)), start=Index.const(0)
        )
        if any(not isinstance(a, str) for m, _ in address.terms for a in m):
            return False
    return True


def _substituted(
    producer: Producer, index: tuple[Index, ...], site: tuple[Index, ...], ranges: Ranges
) -> list[Index]:
    values = _loop_values(producer, site)
    return [ranges.simplify(i.substitute(values)) for i in index]


def _loop_values(producer: Producer, site: tuple[Index, ...]) -> dict[str, Index]:
    values: dict[str, Index] = {}
    for stored, wanted in zip(producer.pointwise.store.index, site, strict=True):
        if stored.variable is not None:
            values[stored.variable] = wanted
    return values


def _evaluations(body: tuple[Stmt, ...], buffer: str) -> int:
    """How many times, about, each element of `buffer` is read: sites, times loops that repeat them
    (a loop whose variable is not in the index), each counted as many (at most 8)."""
    total = 0

    def visit(stmts: tuple[Stmt, ...], loops: tuple[Loop, ...]) -> None:
        nonlocal total
        for stmt in stmts:
            inner = (*loops, stmt) if isinstance(stmt, Loop) else loops
            for expr in walk_expr(expressions(stmt)):
                if isinstance(expr, Load) and expr.buffer == buffer:
                    total += _repeats(expr, loops)
            visit(nested(stmt), inner)

    visit(body, ())
    return total


def _repeats(load: Load, loops: tuple[Loop, ...]) -> int:
    used = frozenset().union(*[i.vars for i in load.index])
    count = 1
    for loop in loops:
        if loop.var not in used and loop.kind is not LoopKind.SERIAL:
            extent = loop.extent.constant
            count *= 8 if extent is None else min(extent, 8)
        elif loop.var not in used:
            count *= 8
    overlapping = any(_overlaps(i) for i in load.index)
    return count * 4 if overlapping else count


def _overlaps(index: Index) -> bool:
    """Windows read elements several times: two loop variables with the same small weight."""
    plain = [c for m, c in index.terms if len(m) == 1]
    return len(plain) > 1 and min(plain) == 1 and sorted(plain)[1] <= 3 and len(index.terms) == 2


class _Inliner(Rewriter):
    """Replaces loads of one buffer by the producer's expression."""

    def __init__(self, producer: Producer, ranges: Ranges) -> None:
        super().__init__()
        self._producer = producer
        self._ranges = ranges
        self._made: dict[tuple[object, ...], Expr] = {}

    def load(self, load: Load) -> Expr:
        if load.buffer != self._producer.buffer:
            return load
        key = (load.index, id(load.mask), id(load.other))
        known = self._made.get(key)
        if known is None:
            known = self._made[key] = self._inline(load)
        return known

    def _inline(self, load: Load) -> Expr:
        values = _loop_values(self._producer, load.index)
        value = Substitution(values, simplify=self._ranges.simplify).expr(
            self._producer.pointwise.store.value
        )
        if load.mask is None:
            return value
        masked = _Masked(load.mask).expr(value)
        if load.other is None:
            return masked
        if isinstance(masked, Load) and masked.mask is load.mask:
            return Load(masked.buffer, masked.index, masked.dtype, load.mask, load.other)
        return b.where(load.mask, masked, load.other)


class _Masked(Rewriter):
    """Guards every load by a mask: outside it the producer's index may be out of bounds."""

    def __init__(self, mask: Expr) -> None:
        super().__init__()
        self._mask = mask
        self._joined: dict[int, Expr] = {}

    def load(self, load: Load) -> Expr:
        other = load.other if load.other is not None else zero_of(load)
        mask = self._mask
        if load.mask is not None:
            known = self._joined.get(id(load.mask))
            if known is None:
                known = self._joined[id(load.mask)] = b.and_(mask, load.mask)
            mask = known
        return Load(load.buffer, load.index, load.dtype, mask, other)


def zero_of(load: Load) -> Literal:
    """The zero of a load's type."""
    return b.literal(0, load.dtype)


def inline_into(graph: KernelGraph, producer: Producer, consumer: int) -> AnyKernel:
    """The consumer with the producer's expression in place of its loads."""
    kernel = graph.kernels[consumer]
    origins = (*graph.kernels[producer.position].origins, *kernel.origins)
    if isinstance(kernel, TemplateKernel):
        rewriter = _Inliner(producer, graph.ranges(kernel))
        operands = {
            name: type(operand)(operand.vars, rewriter.expr(operand.value))
            for name, operand in kernel.operands.items()
        }
        return TemplateKernel(
            kernel.name, kernel.template, kernel.extents, operands,
            rewriter.body(kernel.epilogue), kernel.dtype, kernel.attrs, _distinct(origins),
        )  # fmt: skip
    if not isinstance(kernel, Kernel):
        raise TypeError(f"{kernel.name} cannot take expressions")
    rewriter = _Inliner(producer, graph.ranges(kernel))
    return Kernel(kernel.name, rewriter.body(kernel.body), kernel.locals, _distinct(origins))


def _distinct(origins: tuple[object, ...]) -> tuple:  # type: ignore[type-arg]
    return tuple(dict.fromkeys(origins))


def reads_nothing(producer: Producer) -> bool:
    """Whether a producer computes from positions and constants alone, cheaply."""
    return producer.cost <= CHEAP and not any(
        isinstance(e, Load) for e in walk_expr((producer.pointwise.store.value,))
    )


def inline_producers(
    graph: KernelGraph, wanted: Callable[[Producer], bool] = lambda producer: True
) -> None:
    """Inline every pointwise kernel where that is legal and pays, in program order."""
    for position in graph.order():
        if position not in graph.kernels or not isinstance(graph.kernels[position], Kernel):
            continue
        producer = producer_of(graph, position)
        if isinstance(producer, Refusal) or not wanted(producer):
            continue
        readers = sorted(graph.readers.get(producer.buffer, ()))
        if any(may_inline(graph, producer, r) is not None for r in readers):
            continue
        if not should_inline(graph, producer, readers):
            continue
        for reader in readers:
            graph.replace(reader, inline_into(graph, producer, reader))
        graph.remove(position)


def fold_literal_loads(graph: KernelGraph, values: dict[str, Literal]) -> None:
    """Put the value of one-element constants in place of their loads."""

    class Fold(Rewriter):
        def load(self, load: Load) -> Expr:
            return values.get(load.buffer, load) if load.mask is None else load

    for position in graph.order():
        if graph.loads[position].keys().isdisjoint(values):
            continue
        kernel = graph.kernels[position]
        fold = Fold()
        if isinstance(kernel, Kernel):
            body = fold.body(kernel.body)
            graph.replace(position, Kernel(kernel.name, body, kernel.locals, kernel.origins))
    for name in values:
        buffer = graph.buffers.get(name)
        if buffer is not None and buffer.kind is BufferKind.LITERAL:
            graph.drop_if_unused(name)
