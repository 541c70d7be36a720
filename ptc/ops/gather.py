"""Reading at positions that are data: embedding, gather, index.

Every position is checked, as eager raises for one out of range; the check is made once for each
position read, outside the loops over the dims it does not depend on.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack

import torch

from ptc.loops import build as b
from ptc.loops.index import Index
from ptc.loops.nodes import DType, Expr, LoopKind
from ptc.ops.nests import loops
from ptc.ops.protocol import Indices, KernelBuilder, LoweringContext, T, TensorValue, sample
from ptc.ops.registry import lowers, samples, samples_for
from ptc.ops.shapes import (
    ONE,
    broadcast_index,
    broadcast_shapes,
    normal_dim,
    replace_at,
    reshape,
)
from ptc.support.diagnostics import CompileError

aten = torch.ops.aten


# --- positions ------------------------------------------------------------------------------------


def position(
    k: KernelBuilder, value: Expr, size: Index, what: str, *, wraps: bool = False
) -> Index:
    """Bind a position read from data and check it. With `wraps`, -1 is the last."""
    limit = b.index_value(size, DType.I64)
    raw: Expr = k.let(b.cast(value, DType.I64), "raw")
    lowest_legal: Expr = b.literal(0, DType.I64)
    if wraps:
        lowest_legal = b.sub(lowest_legal, limit)
    k.check(
        b.and_(b.ge(raw, lowest_legal), b.lt(raw, limit)),
        f"{what}: index out of range for a dimension of {size}",
    )
    if wraps:
        raw = b.where(b.lt(raw, 0), b.add(raw, limit), raw)
    return Index.var(k.let(raw, "at", bounds=size).name)


# --- reading --------------------------------------------------------------------------------------


@lowers(aten.embedding.default)
def lower_embedding(
    ctx: LoweringContext,
    weight: TensorValue,
    indices: TensorValue,
    padding: object,
    scale_by_frequency: bool,
    sparse: bool,
) -> TensorValue:
    """Rows of `weight`. Padding and frequency matter to gradients only."""
    return _select_along(ctx, weight, 0, indices, "embedding")


@lowers(aten.index_select.default)
def lower_index_select(
    ctx: LoweringContext, x: TensorValue, dim: int, indices: TensorValue
) -> TensorValue:
    """Slices of x along `dim`."""
    if not x.shape:
        return x
    if not indices.shape:
        indices = ctx.view(indices, (ONE,), lambda i: ())
    return _select_along(ctx, x, normal_dim(dim, len(x.shape)), indices, "index_select")


def _select_along(
    ctx: LoweringContext, x: TensorValue, dim: int, indices: TensorValue, what: str
) -> TensorValue:
    """x with `dim` replaced by the dims of `indices`."""
    shape = (*x.shape[:dim], *indices.shape, *x.shape[dim + 1 :])
    out = ctx.empty(shape, x.dtype)
    with (
        ctx.kernel() as k,
        loops(k, x.shape[:dim]) as before,
        loops(k, indices.shape) as place,
    ):
        at = position(k, ctx.load(indices, place), x.shape[dim], what)
        with loops(k, x.shape[dim + 1 :]) as after:
            k.store(out, (*before, *place, *after), ctx.load(x, (*before, at, *after)))
    return out


@lowers(aten.gather.default)
def lower_gather(
    ctx: LoweringContext, x: TensorValue, dim: int, indices: TensorValue, sparse: bool
) -> TensorValue:
    """out[i] = x[i with position `dim` replaced by indices[i]]."""
    out = ctx.empty(indices.shape, x.dtype)
    dim = normal_dim(dim, len(x.shape))
    with ctx.kernel() as k, loops(k, indices.shape) as index:
        if x.shape and indices.shape:
            at = position(k, ctx.load(indices, index), x.shape[dim], "gather")
            value = ctx.load(x, replace_at(index, dim, at))
        else:
            value = _gather_scalar(ctx, k, x, indices, index)
        k.store(out, index, value)
    return out


def _gather_scalar(
    ctx: LoweringContext, k: KernelBuilder, x: TensorValue, indices: TensorValue, index: Indices
) -> Expr:
    """A 0-d tensor gathers like a vector of one element."""
    size = x.shape[0] if x.shape else ONE
    at = position(k, ctx.load(indices, index), size, "gather")
    return ctx.load(x, (at,) if x.shape else ())


@lowers(aten.take.default)
def lower_take(ctx: LoweringContext, x: TensorValue, indices: TensorValue) -> TensorValue:
    """Elements at positions of the flattened tensor."""
    size = ONE
    for extent in x.shape:
        size = size * extent
    flat = reshape(ctx, x, (size,))
    out = ctx.empty(indices.shape, x.dtype)
    with ctx.kernel() as k, loops(k, indices.shape) as index:
        at = position(k, ctx.load(indices, index), size, "take", wraps=True)
        k.store(out, index, ctx.load(flat, (at,)))
    return out


# --- advanced indexing ----------------------------------------------------------------------------


class Indexing:
    """x[indices]: which dims are read at data positions, and the order of the result's dims.

    Index tensors next to each other put their common dims in their place, else at the front.
    """

    def __init__(self, x: TensorValue, indices: Sequence[TensorValue | None]) -> None:
        self.x = x
        given = [(d, t) for d, t in enumerate(indices) if t is not None]
        self.dims = [d for d, _ in given]
        self.tensors = [t for _, t in given]
        self.common = broadcast_shapes(*(t.shape for t in self.tensors))
        adjacent = self.dims[-1] - self.dims[0] + 1 == len(self.dims)
        self.start = self.dims[0] if adjacent else 0
        kept = [d for d in range(len(x.shape)) if d not in self.dims]
        self.before, self.after = kept[: self.start], kept[self.start :]

    @property
    def shape(self) -> Indices:
        """The shape of x[indices]."""
        sizes = self.x.shape
        return (
            *(sizes[d] for d in self.before),
            *self.common,
            *(sizes[d] for d in self.after),
        )

    def place(
        self, ctx: LoweringContext, k: KernelBuilder, common: Indices, what: str
    ) -> dict[int, Index]:
        """Inside the loops over the common dims: dim of x -> checked position."""
        return {
            d: position(
                k,
                ctx.load(t, broadcast_index(t.shape, self.common, common)),
                self.x.shape[d],
                what,
                wraps=True,
            )
            for d, t in zip(self.dims, self.tensors, strict=True)
        }

    def nest(
        self,
        ctx: LoweringContext,
        k: KernelBuilder,
        what: str,
        body: Callable[[Indices, Indices], None],
        common_kind: LoopKind = LoopKind.PARALLEL,
    ) -> None:
        """Loops over the result; `body(index of the result, index of x)`."""
        sizes = self.x.shape
        with ExitStack() as stack:
            before = stack.enter_context(loops(k, [sizes[d] for d in self.before]))
            common = stack.enter_context(loops(k, self.common, common_kind))
            place = self.place(ctx, k, common, what)
            after = stack.enter_context(loops(k, [sizes[d] for d in self.after]))
            place.update(zip(self.before, before, strict=True))
            place.update(zip(self.after, after, strict=True))
            body((*before, *common, *after), tuple(place[d] for d in range(len(sizes))))


def reject_masks(indices: Sequence[TensorValue | None], what: str) -> None:
    if any(t is not None and t.dtype in (DType.BOOL, DType.U8) for t in indices):
        raise CompileError(
            "PTC-O003",
            f"{what} with a boolean mask has a size that depends on data",
            hint="use torch.where(mask, x, other), or multiply by the mask",
        )


@lowers(aten.index.Tensor, aten._unsafe_index.Tensor)
def lower_index(
    ctx: LoweringContext, x: TensorValue, indices: Sequence[TensorValue | None]
) -> TensorValue:
    """x[indices], index tensors broadcast together; None keeps a dim."""
    reject_masks(indices, "indexing")
    if all(t is None for t in indices):
        return x
    plan = Indexing(x, indices)
    out = ctx.empty(plan.shape, x.dtype)
    with ctx.kernel() as k:
        plan.nest(ctx, k, "index", lambda i, source: k.store(out, i, ctx.load(x, source)))
    return out


# --- samples --------------------------------------------------------------------------------------


def drawn_at(spec: str, size: int, low: int = 0) -> T:
    """Positions in [low, size)."""
    return T(spec, low=low, high=size)


samples(
    aten.embedding.default,
    sample(T("f32[7,4]"), drawn_at("i64[2,3]", 7), exact=True),
    sample(T("f32[7,4]"), drawn_at("i32[5]", 7), exact=True),
    sample(T("bf16[7,4]"), drawn_at("i64[]", 7), 2, exact=True),
    sample(T("f32[7,4]"), drawn_at("i64[0,3]", 7), exact=True),
)
samples(
    aten.index_select.default,
    sample(T("f32[5,4]"), 0, drawn_at("i64[3]", 5), exact=True),
    sample(T("f32[2,5,4]"), -2, drawn_at("i32[7]", 5), exact=True),
    sample(T("f32[5,4]"), 1, drawn_at("i64[]", 4), exact=True),
    sample(T("bool[5]"), 0, drawn_at("i64[0]", 5), exact=True),
)
samples(
    aten.gather.default,
    sample(T("f32[3,4]"), 1, drawn_at("i64[3,2]", 4), exact=True),
    sample(T("f32[3,4]"), 0, drawn_at("i64[5,4]", 3), exact=True),
    sample(T("f32[3,4,2]"), -1, drawn_at("i64[2,3,4]", 2), exact=True),
    sample(T("i64[5]"), 0, drawn_at("i64[0]", 5), exact=True),
    sample(T("f32[]"), 0, drawn_at("i64[]", 1), exact=True),
    sample(T("f32[5]"), 0, drawn_at("i64[]", 5), exact=True),
)
samples(
    aten.take.default,
    sample(T("f32[3,4]"), drawn_at("i64[5]", 12, -12), exact=True),
    sample(T("f32[3,4]"), drawn_at("i64[2,2]", 12), exact=True),
)
samples_for(
    (aten.index.Tensor, aten._unsafe_index.Tensor),
    sample(T("f32[5,4]"), [drawn_at("i64[3]", 5, -5)], exact=True),
    sample(T("f32[5,4,3]"), [None, drawn_at("i64[2,2]", 4)], exact=True),
    sample(T("f32[5,4,3]"), [drawn_at("i64[2,1]", 5), drawn_at("i64[3]", 4)], exact=True),
    sample(T("f32[5,4,3]"), [drawn_at("i64[2]", 5), None, drawn_at("i64[2]", 3)], exact=True),
    sample(T("f32[2,5,4,3]"), [None, drawn_at("i64[2]", 5), drawn_at("i64[1]", 4)], exact=True),
    sample(T("f32[5,4]"), [drawn_at("i64[]", 5)], exact=True),
    sample(T("f32[5,4]"), [drawn_at("i64[0]", 5)], exact=True),
    sample(T("bf16[5,4]"), [None, drawn_at("i32[3]", 4)], exact=True),
)
samples(aten.embedding.default, sample(T("f32[50,67]"), drawn_at("i64[2,9]", 50), exact=True))
