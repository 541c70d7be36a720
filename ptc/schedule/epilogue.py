"""Template epilogues: a pointwise consumer runs on each output element as it is produced.

Bias, activation, residual add, scale, reshapes and transposes (in the store's index) and writes
into a part of a concatenation all become statements of the epilogue.
"""

from __future__ import annotations

from dataclasses import replace

from ptc.loops.index import Index
from ptc.loops.nodes import (
    Expr,
    Kernel,
    Let,
    Load,
    Ref,
    Stmt,
    Store,
    TemplateKernel,
)
from ptc.loops.walk import Rewriter, walk_statements
from ptc.schedule.inverse import Recipe, apply_inverse, invert
from ptc.schedule.kernels import KernelGraph, Pointwise, pointwise_of
from ptc.schedule.legality import Refusal
from ptc.schedule.moving import may_move


def may_absorb(graph: KernelGraph, template: int, consumer: int) -> Pointwise | Refusal:
    """Legality: the consumer as a Pointwise whose every element needs one element of the result."""
    kernel, other = graph.kernels[template], graph.kernels[consumer]
    pointwise = pointwise_of(other)
    if pointwise is None:
        return Refusal("the consumer is not pointwise", kernel.name, other.name)
    if not isinstance(kernel, TemplateKernel):
        return Refusal("the producer is no template", kernel.name, other.name)
    store = _result_store(kernel, graph, consumer)
    if store is None:
        return Refusal("the consumer reads several results", kernel.name, other.name)
    sites = {load.index for load in graph.loads[consumer][store.buffer]}
    if len(sites) != 1:
        text = ", ".join(f"{store.buffer}[{', '.join(map(str, s))}]" for s in sites)
        return Refusal("the result is read at several places", kernel.name, other.name, text)
    if any(load.mask is not None for load in graph.loads[consumer][store.buffer]):
        return Refusal("the result is read under a mask", kernel.name, other.name, store.buffer)
    return pointwise


def _result_store(kernel: TemplateKernel, graph: KernelGraph, consumer: int) -> Store | None:
    """The epilogue's Store that the consumer reads, if it reads exactly one buffer of it."""
    stores = [
        s
        for s in walk_statements(kernel.epilogue)
        if isinstance(s, Store) and s.buffer in graph.loads[consumer]
    ]
    return stores[0] if len(stores) == 1 and stores[0] in kernel.epilogue else None


def absorb(graph: KernelGraph, template: int, consumer: int) -> Refusal | None:
    """Move the consumer into the template's epilogue, or say why not."""
    pointwise = may_absorb(graph, template, consumer)
    if isinstance(pointwise, Refusal):
        return pointwise
    kernel, other = graph.kernels[template], graph.kernels[consumer]
    if not isinstance(kernel, TemplateKernel):
        return Refusal("the producer is no template", kernel.name, other.name)
    store = _result_store(kernel, graph, consumer)
    if store is None or graph.sole_writer(store.buffer) != template:
        return Refusal("several kernels write the result", kernel.name, other.name)
    buffer = graph.buffers[store.buffer]
    extents = {loop.var: loop.extent for loop in pointwise.loops}
    site = graph.loads[consumer][store.buffer][0].index
    if not isinstance(other, Kernel):
        return Refusal("the consumer is not pointwise", kernel.name, other.name)
    recipe = invert(site, buffer.shape, extents, graph.ranges(other))
    if recipe is None:
        text = f"{store.buffer}[{', '.join(map(str, site))}]"
        return Refusal("the elements do not correspond", kernel.name, other.name, text)
    target, gone = _destination(graph, template, consumer)
    if target is None:
        return Refusal("no common place to run", kernel.name, other.name, store.buffer)
    keep = graph.readers[store.buffer] != {consumer} or not graph.is_private(store.buffer)
    epilogue = _joined(graph, kernel, store, pointwise, recipe, keep)
    origins = tuple(dict.fromkeys((*kernel.origins, *other.origins)))
    graph.replace(target, replace(kernel, epilogue=epilogue, origins=origins))
    graph.remove(gone)
    graph.drop_if_unused(store.buffer)
    return None


def _destination(graph: KernelGraph, first: int, second: int) -> tuple[int | None, int]:
    """Which of the two positions the joined kernel takes, and the one that goes."""
    if may_move(graph, first, second) is None:
        return second, first
    if may_move(graph, second, first) is None:
        return first, second
    return None, second


def _joined(
    graph: KernelGraph,
    kernel: TemplateKernel,
    store: Store,
    pointwise: Pointwise,
    recipe: Recipe,
    keep: bool,
) -> tuple[Stmt, ...]:
    """The epilogue with the consumer's store behind `store` (which goes unless `keep`)."""
    ranges = graph.ranges(kernel)
    values = apply_inverse(recipe, store.index, ranges)

    class Move(Rewriter):
        def index(self, index: Index) -> Index:
            return ranges.simplify(index.substitute(values))

        def load(self, load: Load) -> Expr:
            return result if load.buffer == store.buffer else load

    statements: list[Stmt] = list(kernel.epilogue)
    place = statements.index(store)
    result: Expr = store.value
    if not isinstance(result, Ref):
        name = f"r{sum(isinstance(s, Let) for s in statements)}"
        result = Ref(name, store.value.dtype)
        statements[place] = Let(name, store.value)
        if keep:
            statements.insert(place + 1, replace(store, value=result))
    elif not keep:
        del statements[place]
    moved = Move()
    final = Store(
        pointwise.store.buffer,
        moved.indices(pointwise.store.index),
        moved.expr(pointwise.store.value),
    )
    statements.append(final)
    return tuple(statements)


def absorb_consumers(graph: KernelGraph) -> None:
    """Extend every template's epilogue as far as legal, in program order."""
    for position in graph.order():
        current = position
        while isinstance(graph.kernels.get(current), TemplateKernel):
            following = _try_consumers(graph, current)
            if following is None:
                break
            current = following


def _try_consumers(graph: KernelGraph, position: int) -> int | None:
    """Absorb the first consumer that can be; the position of the joined kernel."""
    for store in reversed(graph.stores[position]):
        if store.reduce is not None:
            continue
        readers = sorted(graph.readers.get(store.buffer, ()))
        # A result with several readers is worth keeping in memory; the first may still ride along
        # when it is the only elementwise one.
        for consumer in readers[:1] if len(readers) > 1 else readers:
            if consumer == position or not isinstance(graph.kernels[consumer], Kernel):
                continue
            if absorb(graph, position, consumer) is None:
                return consumer if consumer in graph.kernels else position
    return None
