"""Loop nests as rules write them: several loops at once, reductions over some dims.

Small wrappers around `KernelBuilder`. Knows no operator.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager

from ptc.loops.index import Index
from ptc.loops.nodes import LoopKind
from ptc.ops.protocol import Indices, KernelBuilder
from ptc.ops.shapes import join_index, split_dims


@contextmanager
def loops(
    k: KernelBuilder,
    extents: Sequence[Index],
    kind: LoopKind = LoopKind.PARALLEL,
    hint: str = "i",
) -> Iterator[Indices]:
    """A perfect nest, outermost first; gives the index of the innermost body."""
    with ExitStack() as stack:
        yield tuple(stack.enter_context(k.loop(extent, kind, hint)) for extent in extents)


@contextmanager
def outer_loops(
    k: KernelBuilder, shape: Sequence[Index], dims: Sequence[int]
) -> Iterator[dict[int, Index]]:
    """PARALLEL loops over all dims of `shape` but `dims`; gives dim -> index."""
    kept = split_dims(len(shape), dims)
    with loops(k, [shape[d] for d in kept]) as index:
        yield dict(zip(kept, index, strict=True))


@contextmanager
def inner_loops(
    k: KernelBuilder,
    shape: Sequence[Index],
    dims: Sequence[int],
    outer: dict[int, Index],
    kind: LoopKind = LoopKind.REDUCE,
) -> Iterator[Indices]:
    """Loops over `dims` inside `outer_loops`; gives the full index."""
    with loops(k, [shape[d] for d in dims], kind, "r") as index:
        yield join_index(len(shape), {**outer, **dict(zip(dims, index, strict=True))})
