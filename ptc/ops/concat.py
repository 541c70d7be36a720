"""Putting tensors together, and triangles of them.

Concatenation writes each part by its own kernel into its place of one buffer, so that a part's
producer can be fused into the write and no element is chosen by a chain of comparisons.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch

from ptc.loops import build as b
from ptc.loops.index import Index
from ptc.loops.nodes import DType, Expr
from ptc.ops.dtypes import promote
from ptc.ops.elementwise import reject_complex, scalar
from ptc.ops.nests import loops
from ptc.ops.protocol import Indices, LoweringContext, T, TensorValue, sample
from ptc.ops.registry import lowers, samples, samples_for
from ptc.ops.shapes import ZERO, normal_dim, replace_at
from ptc.ops.slicing import narrow, slice_bounds, slice_step, wrapped_position
from ptc.ops.views import lower_unsqueeze

aten = torch.ops.aten

Size = int | Index


@lowers(aten.cat.default)
def lower_cat(ctx: LoweringContext, tensors: Sequence[TensorValue], dim: int) -> TensorValue:
    """Join along `dim`. Empty vectors (shape [0]) are skipped whatever the rank, as in eager."""
    common = promote(tensors)
    reject_complex(common)
    parts = [t for t in tensors if not (len(t.shape) == 1 and t.shape[0].constant == 0)]
    if not parts:
        return ctx.pointwise((ZERO,), common, lambda _: scalar(0, common, common))
    dim = normal_dim(dim, len(parts[0].shape))
    total = ZERO
    for part in parts:
        total = total + part.shape[dim]
    out = ctx.empty(replace_at(parts[0].shape, dim, total), common)
    start = ZERO
    for part in parts:
        write(ctx, part, narrow(ctx, out, dim, start, part.shape[dim]))
        start = start + part.shape[dim]
    return out


def write(ctx: LoweringContext, source: TensorValue, target: TensorValue) -> None:
    """Store all of `source` to `target`, a tensor of the same shape (or a part of one)."""
    with ctx.kernel() as k, loops(k, source.shape) as index:
        k.store(target, index, b.cast(ctx.load(source, index), target.dtype))


def copy_of(ctx: LoweringContext, x: TensorValue) -> TensorValue:
    """`x` in a fresh buffer, to be partly overwritten."""
    out = ctx.empty(x.shape, x.dtype)
    write(ctx, x, out)
    return out


@lowers(aten.stack.default)
def lower_stack(ctx: LoweringContext, tensors: Sequence[TensorValue], dim: int) -> TensorValue:
    """Join along a new dim."""
    place = dim + len(tensors[0].shape) + 1 if dim < 0 else dim
    return lower_cat(ctx, [lower_unsqueeze(ctx, t, place) for t in tensors], place)


# --- writing into a part ------------------------------------------------------------------------


@lowers(aten.select_scatter.default)
def lower_select_scatter(
    ctx: LoweringContext, x: TensorValue, source: TensorValue, dim: int, index: Size
) -> TensorValue:
    """x with x[..., index, ...] replaced by `source`."""
    dim = normal_dim(dim, len(x.shape))
    place = wrapped_position(ctx, index, x.shape[dim])
    out = copy_of(ctx, x)
    target = narrow(ctx, out, dim, place, Index.const(1))
    write(ctx, lower_unsqueeze(ctx, source, dim), target)
    return out


@lowers(aten.slice_scatter.default)
def lower_slice_scatter(
    ctx: LoweringContext,
    x: TensorValue,
    source: TensorValue,
    dim: int,
    start: Size | None,
    end: Size | None,
    step: Size,
) -> TensorValue:
    """x with x[..., start:end:step, ...] replaced by `source`."""
    dim = normal_dim(dim, len(x.shape))
    stride = slice_step(ctx, step)
    first, length = slice_bounds(ctx, x.shape[dim], start, end, stride)
    if length == x.shape[dim] and stride == 1:
        return source
    out = copy_of(ctx, x)
    write(ctx, source, narrow(ctx, out, dim, first, length, stride))
    return out


@lowers(aten.diagonal_scatter.default)
def lower_diagonal_scatter(
    ctx: LoweringContext, x: TensorValue, source: TensorValue, offset: int, dim1: int, dim2: int
) -> TensorValue:
    """x with its diagonal replaced by `source`."""
    rank = len(x.shape)
    row, column = normal_dim(dim1, rank), normal_dim(dim2, rank)
    down, right = max(-offset, 0), max(offset, 0)
    kept = [d for d in range(rank) if d not in (row, column)]
    out = copy_of(ctx, x)
    with ctx.kernel() as k, loops(k, source.shape) as index:
        place = dict(zip(kept, index[:-1], strict=True))
        place[row], place[column] = index[-1] + down, index[-1] + right
        k.store(out, tuple(place[d] for d in range(rank)), ctx.load(source, index))
    return out


# --- triangles ----------------------------------------------------------------------------------


def _triangle(ctx: LoweringContext, x: TensorValue, diagonal: int, lower: bool) -> TensorValue:
    zero = scalar(0, x.dtype, x.dtype)

    def element(index: Indices) -> Expr:
        row = b.index_value(index[-2] + diagonal, DType.I64)
        column = b.index_value(index[-1], DType.I64)
        keep = b.le(column, row) if lower else b.ge(column, row)
        return b.where(keep, ctx.load(x, index), zero)

    return ctx.pointwise(x.shape, x.dtype, element)


@lowers(aten.tril.default)
def lower_tril(ctx: LoweringContext, x: TensorValue, diagonal: int) -> TensorValue:
    """Zero above the diagonal."""
    return _triangle(ctx, x, diagonal, lower=True)


@lowers(aten.triu.default)
def lower_triu(ctx: LoweringContext, x: TensorValue, diagonal: int) -> TensorValue:
    """Zero below the diagonal."""
    return _triangle(ctx, x, diagonal, lower=False)


# --- samples ------------------------------------------------------------------------------------

samples(
    aten.cat.default,
    sample([T("f32[2,3]"), T("f32[4,3]")], exact=True),
    sample([T("f32[2,3]"), T("f32[2,1]"), T("f32[2,2]")], -1, exact=True),
    sample([T("f32[0]"), T("f32[2,3]")], 1, exact=True),
    sample([T("f32[2,0]"), T("f32[2,3]")], 1, exact=True),
    sample([T("i64[3]"), T("f32[2]")], exact=True),
    sample([T("bf16[3]"), T("f16[2]")], exact=True),
    sample([T("bool[3]", layout="strided"), T("bool[2]")], exact=True),
    sample([T("f32[2,3]", layout="transposed")], exact=True),
    sample([T("f32[0]"), T("f32[0]")], exact=True),
)
samples(
    aten.stack.default,
    sample([T("f32[2,3]"), T("f32[2,3]")], exact=True),
    sample([T("f32[2,3]"), T("f32[2,3]")], -1, exact=True),
    sample([T("i64[]"), T("i64[]")], exact=True),
    sample([T("i64[2]"), T("f32[2]")], 1, exact=True),
)
samples(
    aten.select_scatter.default,
    sample(T("f32[3,4]"), T("f32[4]"), 0, 1, exact=True),
    sample(T("f32[3,4]"), T("f32[3]"), -1, -2, exact=True),
)
samples(
    aten.slice_scatter.default,
    sample(T("f32[5,4]"), T("f32[2,4]"), 0, 1, 3, exact=True),
    sample(T("f32[5,4]"), T("f32[5,2]"), 1, 0, 4, 2, exact=True),
    sample(T("f32[5]"), T("f32[5]"), exact=True),
    sample(T("f32[5]"), T("f32[0]"), 0, 3, 3, exact=True),
)
samples(
    aten.diagonal_scatter.default,
    sample(T("f32[3,4]"), T("f32[3]"), exact=True),
    sample(T("f32[2,3,4]"), T("f32[3,2]"), 1, 0, 2, exact=True),
)
samples_for(
    (aten.tril.default, aten.triu.default),
    sample(T("f32[3,4]", special=True), exact=True),
    sample(T("f32[2,4,3]"), 1, exact=True),
    sample(T("i64[4,4]"), -1, exact=True),
    sample(T("bool[3,3]"), exact=True),
    sample(T("bf16[0,3]"), exact=True),
)
