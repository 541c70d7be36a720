"""Variances, deviations and norms over some dims.

Variances take two passes over the data, in f32 for 16-bit floats.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import torch

from ptc.loops import build as b
from ptc.loops.nodes import Expr
from ptc.ops.cast_copy import convert
from ptc.ops.dtypes import (
    compute_type,
    requested,
)
from ptc.ops.elementwise import number
from ptc.ops.nests import outer_loops
from ptc.ops.protocol import LoweringContext, T, TensorValue, sample
from ptc.ops.reduce import Dims, accumulate, count, lower_mean_dim, out_index, reduction, same
from ptc.ops.registry import lowers, samples, samples_for
from ptc.ops.shapes import normal_dims, reduced_shape

aten = torch.ops.aten


# --- variances ------------------------------------------------------------------------------------


def variance(
    ctx: LoweringContext,
    x: TensorValue,
    dims: Sequence[int],
    keepdim: bool,
    correction: float,
    finish: Callable[[Expr], Expr] = same,
) -> TensorValue:
    """Two passes: the mean, then the squared distances from it, over max(0, n - correction)."""
    acc = compute_type(x.dtype)
    out = ctx.empty(reduced_shape(x.shape, dims, keepdim), x.dtype)
    zero = b.literal(0.0, acc)
    with ctx.kernel() as k, outer_loops(k, x.shape, dims) as outer:
        total = accumulate(ctx, k, x, dims, outer, "add", zero, lambda v: b.cast(v, acc))
        mean = k.let(b.div(total, count(x, dims, acc)), "mean")
        squares = accumulate(ctx, k, x, dims, outer, "add", zero, lambda v: _squared(v, mean))
        size = count(x, dims, acc)
        divisor = b.max_(b.sub(size, number(correction, size)), 0.0)
        value = finish(b.div(squares, divisor))
        k.store(out, out_index(len(x.shape), dims, outer, keepdim), b.cast(value, x.dtype))
    return out


def _squared(value: Expr, mean: Expr) -> Expr:
    distance = b.sub(b.cast(value, mean.dtype), mean)
    return b.mul(distance, distance)


def _correction(unbiased: bool) -> float:
    return 1.0 if unbiased else 0.0


@lowers(aten.var.correction)
def lower_var(
    ctx: LoweringContext, x: TensorValue, dim: Dims, correction: float | None, keepdim: bool
) -> TensorValue:
    """Variance with n - correction in the denominator (1 when None)."""
    dims = normal_dims(dim, len(x.shape))
    return variance(ctx, x, dims, keepdim, 1.0 if correction is None else correction)


@lowers(aten.var.dim)
def lower_var_dim(
    ctx: LoweringContext, x: TensorValue, dim: Dims, unbiased: bool, keepdim: bool
) -> TensorValue:
    """Variance over dims."""
    return lower_var(ctx, x, dim, _correction(unbiased), keepdim)


@lowers(aten.var.default)
def lower_var_all(ctx: LoweringContext, x: TensorValue, unbiased: bool) -> TensorValue:
    """Variance of everything."""
    return lower_var(ctx, x, None, _correction(unbiased), False)


@lowers(aten.std.correction)
def lower_std(
    ctx: LoweringContext, x: TensorValue, dim: Dims, correction: float | None, keepdim: bool
) -> TensorValue:
    """Square root of the variance."""
    dims = normal_dims(dim, len(x.shape))
    return variance(ctx, x, dims, keepdim, 1.0 if correction is None else correction, b.sqrt)


@lowers(aten.std.dim)
def lower_std_dim(
    ctx: LoweringContext, x: TensorValue, dim: Dims, unbiased: bool, keepdim: bool
) -> TensorValue:
    """Standard deviation over dims."""
    return lower_std(ctx, x, dim, _correction(unbiased), keepdim)


@lowers(aten.std.default)
def lower_std_all(ctx: LoweringContext, x: TensorValue, unbiased: bool) -> TensorValue:
    """Standard deviation of everything."""
    return lower_std(ctx, x, None, _correction(unbiased), False)


@lowers(aten.var_mean.correction)
def lower_var_mean(
    ctx: LoweringContext, x: TensorValue, dim: Dims, correction: float | None, keepdim: bool
) -> tuple[TensorValue, TensorValue]:
    """Variance and mean."""
    return (
        lower_var(ctx, x, dim, correction, keepdim),
        lower_mean_dim(ctx, x, dim, keepdim, None),
    )


@lowers(aten.std_mean.correction)
def lower_std_mean(
    ctx: LoweringContext, x: TensorValue, dim: Dims, correction: float | None, keepdim: bool
) -> tuple[TensorValue, TensorValue]:
    """Standard deviation and mean."""
    return (
        lower_std(ctx, x, dim, correction, keepdim),
        lower_mean_dim(ctx, x, dim, keepdim, None),
    )


# --- norms ----------------------------------------------------------------------------------------


@lowers(aten.linalg_vector_norm.default)
def lower_vector_norm(
    ctx: LoweringContext,
    x: TensorValue,
    order: float,
    dim: Dims,
    keepdim: bool,
    dtype: torch.dtype | None,
) -> TensorValue:
    """(sum |x|**order) ** (1/order); the extremes for +-inf, the count of non-zeros for 0."""
    x = convert(ctx, x, requested(dtype, x.dtype))
    dims = normal_dims(dim, len(x.shape))
    acc = compute_type(x.dtype)

    def magnitude(v: Expr) -> Expr:
        return b.abs_(b.cast(v, acc))

    def run(
        op: str, init: float, value: Callable[[Expr], Expr], finish: Callable[[Expr], Expr] = same
    ) -> TensorValue:
        start = b.literal(init, acc)
        return reduction(ctx, x, dims, keepdim, op, start, value, finish, x.dtype)

    if order == math.inf:
        return run("max", 0.0, magnitude)
    if order == -math.inf:
        return run("min", math.inf, magnitude)
    if order == 0:
        return run("add", 0.0, lambda v: b.cast(b.ne(b.cast(v, acc), 0.0), acc))
    if order == 1:
        return run("add", 0.0, magnitude)
    if order == 2:
        return run("add", 0.0, lambda v: b.mul(magnitude(v), magnitude(v)), b.sqrt)
    return run(
        "add",
        0.0,
        lambda v: b.pow_(magnitude(v), number(order, magnitude(v))),
        lambda total: b.pow_(total, b.div(b.literal(1.0, acc), number(order, total))),
    )


# --- samples --------------------------------------------------------------------------------------

_VARIANCES = (
    sample(T("f32[3,4,5]"), [1]),
    sample(T("f32[3,40]", low=99.0, high=101.0), [1], correction=0),
    sample(T("f64[3,4]"), [0, 1], keepdim=True),
    sample(T("bf16[3,40]"), [1]),
    sample(T("f32[3,4]"), None, correction=2),
    sample(T("f32[3,1]"), [1]),
    sample(T("f32[5]"), [0], correction=None),
)
samples_for(
    (
        aten.var.correction,
        aten.std.correction,
        aten.var_mean.correction,
        aten.std_mean.correction,
    ),
    *_VARIANCES,
)
samples_for(
    (aten.var.dim, aten.std.dim),
    sample(T("f32[3,4]"), [1]),
    sample(T("f32[3,4]"), [0], False, True),
)
samples_for((aten.var.default, aten.std.default), sample(T("f32[3,4]")), sample(T("f64[5]"), False))
for _order in (2, 1, 0, 3, 0.5, math.inf, -math.inf):
    samples(
        aten.linalg_vector_norm.default,
        sample(T("f32[3,4]"), _order, [1], tolerance=2.0),
        sample(T("bf16[3,40]"), _order, [1], True, tolerance=2.0),
    )
samples(
    aten.linalg_vector_norm.default,
    sample(T("f32[3,4]")),
    sample(T("f32[3,4]"), 2, None, True),
    sample(T("f32[3,4]"), 2, [0], dtype=torch.float64),
    sample(T("f32[]"), 2, [0]),
)
samples_for(
    (aten.var.correction, aten.std.correction),
    sample(T("f32[5,301]"), [1]),
    sample(T("f32[301,5]"), [0]),
)
samples(aten.linalg_vector_norm.default, sample(T("f32[5,301]"), 2, [1], tolerance=2.0))
