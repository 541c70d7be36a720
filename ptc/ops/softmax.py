"""Softmax and its logarithm: three loops over one row, kept in registers when it fits."""

from __future__ import annotations

from collections.abc import Callable

import torch

from ptc.loops import build as b
from ptc.loops.nodes import DType, Expr, LoopKind
from ptc.ops.dtypes import compute_type
from ptc.ops.nests import inner_loops, outer_loops
from ptc.ops.protocol import LoweringContext, T, TensorValue, sample
from ptc.ops.reduce import accumulate, lowest
from ptc.ops.registry import lowers, samples_for
from ptc.ops.shapes import normal_dims

aten = torch.ops.aten


def _rows(
    ctx: LoweringContext,
    x: TensorValue,
    dim: int,
    result: DType,
    element: Callable[[Expr, Expr, Expr], Expr],
) -> TensorValue:
    """element(x, row maximum, sum of exp(x - maximum)) for each element of each row."""
    dims = normal_dims(dim, len(x.shape))
    acc = compute_type(x.dtype)

    def widened(v: Expr) -> Expr:
        return b.cast(v, acc)

    out = ctx.empty(x.shape, result)
    with ctx.kernel() as k, outer_loops(k, x.shape, dims) as outer:
        top = accumulate(ctx, k, x, dims, outer, "max", lowest(acc), widened)
        total = accumulate(
            ctx, k, x, dims, outer, "add", b.literal(0.0, acc),
            lambda v: b.exp(b.sub(widened(v), top)),
        )  # fmt: skip
        total = k.let(total, "total")
        with inner_loops(k, x.shape, dims, outer, LoopKind.PARALLEL) as index:
            value = element(widened(ctx.load(x, index)), top, total)
            k.store(out, index, b.cast(value, result))
    return out


def _result(x: TensorValue, half_to_float: bool) -> DType:
    return DType.F32 if half_to_float else x.dtype


@lowers(aten._softmax.default)
def lower_softmax(
    ctx: LoweringContext, x: TensorValue, dim: int, half_to_float: bool
) -> TensorValue:
    """exp(x - max) / sum. Rows of -inf give NaN, as in eager. The exponentials of a row are kept
    between the sum and the division: they cost more than a load."""
    dims = normal_dims(dim, len(x.shape))
    acc, result = compute_type(x.dtype), _result(x, half_to_float)
    out, row = ctx.empty(x.shape, result), ctx.empty(x.shape, acc)
    with ctx.kernel() as k, outer_loops(k, x.shape, dims) as outer:
        top = accumulate(ctx, k, x, dims, outer, "max", lowest(acc), lambda v: b.cast(v, acc))
        total = k.accumulator("add", b.literal(0.0, acc), acc)
        with inner_loops(k, x.shape, dims, outer) as index:
            power = b.exp(b.sub(b.cast(ctx.load(x, index), acc), top))
            k.store(row, index, power)
            k.update(total, power)
        with inner_loops(k, x.shape, dims, outer, LoopKind.PARALLEL) as index:
            k.store(out, index, b.cast(b.div(ctx.load(row, index), total), result))
    return out


@lowers(aten._log_softmax.default)
def lower_log_softmax(
    ctx: LoweringContext, x: TensorValue, dim: int, half_to_float: bool
) -> TensorValue:
    """x - max - log(sum)."""
    return _rows(
        ctx, x, dim, _result(x, half_to_float), lambda v, top, s: b.sub(b.sub(v, top), b.log(s))
    )


samples_for(
    (aten._softmax.default, aten._log_softmax.default),
    sample(T("f32[3,7]"), -1, False, tolerance=2.0),
    sample(T("f32[2,3,4]"), 1, False, tolerance=2.0),
    sample(T("f32[4,9]", low=-90.0, high=90.0), 1, False, tolerance=2.0),
    sample(T("f32[9,9]", special=True), 1, False, tolerance=2.0),
    sample(T("f64[3,5]"), 0, False, tolerance=4.0),
    sample(T("bf16[3,9]"), -1, False),
    sample(T("f16[3,9]"), -1, False),
    sample(T("f32[]"), 0, False),
    sample(T("f32[3,0]"), 1, False),
    sample(T("f32[0,3]"), 1, False),
    sample(T("f32[3,1]"), 1, False),
)
samples_for(
    (aten._softmax.default, aten._log_softmax.default),
    sample(T("f32[3,301]"), -1, False, tolerance=2.0),
    sample(T("f32[67,5]"), 0, False, tolerance=2.0),
    sample(T("f32[2,35,17]"), 1, False, tolerance=2.0),
    sample(T("bf16[3,131]"), -1, False),
)
