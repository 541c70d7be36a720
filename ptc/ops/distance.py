"""Distances between the rows of matrices."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch

from ptc.loops import build as b
from ptc.loops.index import Index
from ptc.loops.nodes import DType, Expr, LoopKind
from ptc.ops.dtypes import compute_type
from ptc.ops.elementwise import load_as
from ptc.ops.nests import loops
from ptc.ops.protocol import LoweringContext, T, TensorValue, sample
from ptc.ops.registry import decomposes, lowers, samples
from ptc.ops.shapes import broadcast_index, broadcast_shapes

aten = torch.ops.aten


def _same(v: Expr) -> Expr:
    return v


def _nonzero(v: Expr) -> Expr:
    return b.cast(b.ne(v, 0.0), v.dtype)


def _recipe(p: float) -> tuple[str, Callable[[Expr], Expr], Callable[[Expr], Expr]]:
    """How |x - y| is combined, what goes in and what comes out, for the p-norm."""
    if p == 0:
        return "add", _nonzero, _same
    if p == 1:
        return "add", _same, _same
    if p == 2:
        return "add", lambda v: b.mul(v, v), b.sqrt
    if p == math.inf:
        return "max", _same, _same
    return "add", lambda v: b.pow_(v, float(p)), lambda v: b.pow_(v, 1.0 / float(p))


@lowers(aten._cdist_forward.default)
def lower_cdist(
    ctx: LoweringContext, x: TensorValue, y: TensorValue, p: float, mode: int | None
) -> TensorValue:
    """The p-norm of x[..., i, :] - y[..., j, :]."""
    lead = broadcast_shapes(x.shape[:-2], y.shape[:-2])
    out = ctx.empty((*lead, x.shape[-2], y.shape[-2]), x.dtype)
    acc = compute_type(x.dtype)
    op, enter, leave = _recipe(p)
    with ctx.kernel() as k, loops(k, out.shape) as index:
        batch, i, j = index[:-2], index[-2], index[-1]
        total = k.accumulator(op, b.literal(0.0, acc), acc)
        with k.loop(x.shape[-1], LoopKind.REDUCE, "r") as r:
            left = load_as(ctx, x, (*broadcast_index(x.shape[:-2], lead, batch), i, r), acc)
            right = load_as(ctx, y, (*broadcast_index(y.shape[:-2], lead, batch), j, r), acc)
            k.update(total, enter(b.abs_(b.sub(left, right))))
        k.store(out, index, b.cast(leave(total), x.dtype))
    return out


@lowers(aten._pdist_forward.default)
def lower_pdist(ctx: LoweringContext, x: TensorValue, p: float) -> TensorValue:
    """The p-norms of x[i] - x[j] for i < j, row by row of the upper triangle."""
    rows = x.shape[0]
    out = ctx.empty((rows * (rows - 1) // 2,), x.dtype)
    acc = compute_type(x.dtype)
    op, enter, leave = _recipe(p)
    with ctx.kernel() as k, loops(k, (rows, rows)) as (i, j):
        earlier = b.lt(b.index_value(i, DType.I64), b.index_value(j, DType.I64))
        with k.condition(earlier):
            total = k.accumulator(op, b.literal(0.0, acc), acc)
            with k.loop(x.shape[1], LoopKind.REDUCE, "r") as r:
                left, right = load_as(ctx, x, (i, r), acc), load_as(ctx, x, (j, r), acc)
                k.update(total, enter(b.abs_(b.sub(left, right))))
            place: Index = i * rows - i * (i + 1) // 2 + j - i - 1
            bound = out.shape[0]
            at = k.let(b.index_value(place, DType.I64), "at", bounds=bound)
            k.store(out, (Index.var(at.name),), b.cast(leave(total), x.dtype))
    return out


@decomposes(aten.dist.default)
def decompose_dist(x: torch.Tensor, y: torch.Tensor, p: float = 2) -> torch.Tensor:
    """The p-norm of x - y."""
    return torch.linalg.vector_norm(x - y, p)


# --- samples ------------------------------------------------------------------------------------

for _p in (0.0, 1.0, 2.0, 3.0, math.inf):
    samples(
        aten._cdist_forward.default,
        sample(T("f32[3,5]"), T("f32[4,5]"), _p, None, tolerance=4.0),
    )
    samples(aten._pdist_forward.default, sample(T("f32[5,3]"), _p, tolerance=4.0))
samples(
    aten._cdist_forward.default,
    sample(T("f32[2,3,5]"), T("f32[2,4,5]"), 2.0, None, tolerance=4.0),
    sample(T("f64[3,5]"), T("f64[4,5]"), 1.5, None, tolerance=8.0),
)
samples(
    aten.dist.default,
    sample(T("f32[3,4]"), T("f32[4]"), tolerance=2.0),
    sample(T("f32[5]"), T("f32[5]"), 1, tolerance=2.0),
)
