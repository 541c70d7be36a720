"""Running sums, products and extremes: a serial loop along one dim, parallel over the others."""

from __future__ import annotations

import torch

from ptc.loops import build as b
from ptc.loops.nodes import DType, Expr, LoopKind
from ptc.ops.cast_copy import convert
from ptc.ops.dtypes import accumulation_type, compute_type, requested, sum_result
from ptc.ops.nests import inner_loops, outer_loops
from ptc.ops.protocol import LoweringContext, T, TensorValue, sample
from ptc.ops.reduce import highest, lowest
from ptc.ops.registry import lowers, samples, samples_for
from ptc.ops.shapes import normal_dims, replace_at

aten = torch.ops.aten


def _scan(
    ctx: LoweringContext, x: TensorValue, dim: int, dtype: torch.dtype | None, op: str
) -> TensorValue:
    """out[i] combines elements 0..i, kept in the type of sums and rounded at each store."""
    result = requested(dtype, sum_result(x.dtype))
    x = convert(ctx, x, result)
    acc = accumulation_type(result)
    dims = normal_dims(dim, len(x.shape))
    out = ctx.empty(x.shape, result)
    with ctx.kernel() as k, outer_loops(k, x.shape, dims) as outer:
        running = k.accumulator(op, b.literal(1 if op == "mul" else 0, acc), acc)
        with inner_loops(k, x.shape, dims, outer, LoopKind.SERIAL) as index:
            k.update(running, b.cast(ctx.load(x, index), acc))
            k.store(out, index, b.cast(running, result))
    return out


@lowers(aten.cumsum.default)
def lower_cumsum(
    ctx: LoweringContext, x: TensorValue, dim: int, dtype: torch.dtype | None
) -> TensorValue:
    """Running sums."""
    return _scan(ctx, x, dim, dtype, "add")


@lowers(aten.cumprod.default)
def lower_cumprod(
    ctx: LoweringContext, x: TensorValue, dim: int, dtype: torch.dtype | None
) -> TensorValue:
    """Running products."""
    return _scan(ctx, x, dim, dtype, "mul")


def _running_extreme(
    ctx: LoweringContext, x: TensorValue, dim: int, largest: bool
) -> tuple[TensorValue, TensorValue]:
    acc = DType.U8 if x.dtype is DType.BOOL else compute_type(x.dtype)
    start = lowest(acc) if largest else highest(acc)
    op = "max" if largest else "min"
    dims = normal_dims(dim, len(x.shape))
    values = ctx.empty(x.shape, x.dtype)
    with ctx.kernel() as k, outer_loops(k, x.shape, dims) as outer:
        best = k.accumulator(op, start, acc)
        with inner_loops(k, x.shape, dims, outer, LoopKind.SERIAL) as index:
            k.update(best, b.cast(ctx.load(x, index), acc))
            k.store(values, index, b.cast(best, x.dtype))
    places = ctx.empty(x.shape, DType.I64)
    zero = b.literal(0, DType.I64)
    with ctx.kernel() as k, outer_loops(k, x.shape, dims) as outer:
        best = k.accumulator(op, start, acc)
        # The last of equals: positions grow, so the running maximum of hits is the latest hit.
        place = k.accumulator("max", zero, DType.I64, "place")
        with inner_loops(k, x.shape, dims, outer, LoopKind.SERIAL) as index:
            value = k.let(b.cast(ctx.load(x, index), acc), "value")
            k.update(best, value)
            at = b.index_value(index[dims[0]], DType.I64) if dims else zero
            k.update(place, b.where(_is_new(value, best), at, zero))
            k.store(places, index, place)
    return values, places


def _is_new(value: Expr, best: Expr) -> Expr:
    """Whether `value` is the running extreme; a NaN always is, and nothing else is after one."""
    same = b.eq(value, best)
    return b.or_(same, b.isnan(value)) if value.dtype.is_float else same


@lowers(aten.cummax.default)
def lower_cummax(ctx: LoweringContext, x: TensorValue, dim: int) -> tuple[TensorValue, TensorValue]:
    """Running maxima and where they are, the last of equals."""
    return _running_extreme(ctx, x, dim, largest=True)


@lowers(aten.cummin.default)
def lower_cummin(ctx: LoweringContext, x: TensorValue, dim: int) -> tuple[TensorValue, TensorValue]:
    """Running minima and where they are, the last of equals."""
    return _running_extreme(ctx, x, dim, largest=False)


@lowers(aten.logcumsumexp.default)
def lower_logcumsumexp(ctx: LoweringContext, x: TensorValue, dim: int) -> TensorValue:
    """log of running sums of exp: each step joins the result so far and the next element.

    The result so far is read back from a buffer in the type computed in, as no accumulator combines
    this way.
    """
    acc = compute_type(x.dtype)
    dims = normal_dims(dim, len(x.shape))
    if not dims:
        return x
    along = dims[0]
    sums = ctx.empty(x.shape, acc)
    with (
        ctx.kernel() as k,
        outer_loops(k, x.shape, dims) as outer,
        inner_loops(k, x.shape, dims, outer, LoopKind.SERIAL) as index,
    ):
        i = index[along]
        started = b.gt(b.index_value(i, DType.I64), 0)
        before = ctx.load(sums, replace_at(index, along, i - 1), started, lowest(acc))
        so_far = k.let(before, "before")
        value = k.let(b.cast(ctx.load(x, index), acc), "value")
        k.store(sums, index, _log_add_exp(so_far, value))
    return convert(ctx, sums, x.dtype)


def _log_add_exp(p: Expr, q: Expr) -> Expr:
    larger, smaller = b.max_(p, q), b.min_(p, q)
    joined = b.add(larger, b.apply("log1p", b.exp(b.sub(smaller, larger))))
    # Equal infinities have no difference and are their own answer.
    return b.where(b.and_(b.isinf(larger), b.eq(p, q)), larger, joined)


# --- samples ------------------------------------------------------------------------------------

_SCANS = (
    sample(T("f32[3,7]"), 1, tolerance=2.0),
    sample(T("f32[3,7]"), 0, tolerance=2.0),
    sample(T("f32[2,3,4]"), -2, tolerance=2.0),
    sample(T("f64[9]"), 0, tolerance=4.0),
    sample(T("bf16[9]"), 0),
    sample(T("f16[9]"), 0),
    sample(T("f32[]"), 0),
    sample(T("f32[0,3]"), 0),
)
samples_for(
    (aten.cumsum.default, aten.cumprod.default),
    *_SCANS,
    sample(T("i32[3,4]"), 1),
    sample(T("bool[9]"), 0),
    sample(T("i64[4]"), 0, dtype=torch.float32),
    sample(T("bf16[9]"), 0, dtype=torch.float32, tolerance=2.0),
)
samples_for(
    (aten.cummax.default, aten.cummin.default),
    sample(T("f32[3,7]"), 1, exact=True),
    sample(T("f32[3,30]", special=True), 1, exact=True),
    sample(T("i64[20]", low=0, high=4), 0, exact=True),
    sample(T("bool[9]"), 0, exact=True),
    sample(T("bf16[9,2]"), 0, exact=True),
    sample(T("f32[]"), 0, exact=True),
)
samples(
    aten.logcumsumexp.default,
    *_SCANS,
    sample(T("f32[40]", low=-90.0, high=90.0), 0, tolerance=2.0),
    sample(T("f32[3,9]", special=True), 1, tolerance=2.0),
)
samples(aten.cumsum.default, sample(T("f32[3,131]"), 1, tolerance=2.0))
