"""Normalisation over rows, groups and channels.

Layer and RMS norm are one kernel over a row: statistics in two passes, then the scaled row.
Statistics that are results too get kernels of their own, so that unused ones cost nothing. Batch
norm with running statistics is one multiply-add an element, with a scale and a shift a channel
computed from weights alone, so that `schedule` can fold them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch

from ptc.loops import build as b
from ptc.loops.index import Index
from ptc.loops.nodes import DType, Expr, LoopKind, Ref
from ptc.ops.dtypes import compute_type, promote, to_torch
from ptc.ops.elementwise import load_as, number
from ptc.ops.nests import inner_loops, outer_loops
from ptc.ops.opaque import OPERATORS as opaque
from ptc.ops.protocol import Indices, KernelBuilder, LoweringContext, T, TensorValue, sample
from ptc.ops.reduce import accumulate, count, out_index
from ptc.ops.registry import decomposes, lowers, samples, samples_for
from ptc.ops.shapes import ZERO, reduced_shape, reshape

aten = torch.ops.aten

Size = int | Index


# --- statistics ---------------------------------------------------------------------------------


def _mean_and_rstd(
    ctx: LoweringContext,
    k: KernelBuilder,
    x: TensorValue,
    dims: Sequence[int],
    outer: dict[int, Index],
    eps: float,
) -> tuple[Ref, Ref]:
    """Inside a kernel: the mean over `dims` and 1 / sqrt(variance + eps)."""
    acc = compute_type(x.dtype)
    zero = b.literal(0.0, acc)
    size = count(x, dims, acc)
    total = accumulate(ctx, k, x, dims, outer, "add", zero, lambda v: b.cast(v, acc))
    mean = k.let(b.div(total, size), "mean")

    def squared(v: Expr) -> Expr:
        distance = b.sub(b.cast(v, acc), mean)
        return b.mul(distance, distance)

    squares = accumulate(ctx, k, x, dims, outer, "add", zero, squared)
    return mean, k.let(_inverse_root(b.div(squares, size), eps), "rstd")


def _inverse_root(variance: Expr, eps: float) -> Expr:
    one = b.literal(1.0, variance.dtype)
    return b.div(one, b.sqrt(b.add(variance, number(eps, variance))))


def _statistics(
    ctx: LoweringContext,
    x: TensorValue,
    dims: Sequence[int],
    eps: float,
    dtype: DType,
    keepdim: bool,
) -> tuple[TensorValue, TensorValue]:
    """The mean over `dims` and its reciprocal deviation, as tensors."""
    results: list[TensorValue] = []
    for which in (0, 1):
        out = ctx.empty(reduced_shape(x.shape, dims, keepdim), dtype)
        with ctx.kernel() as k, outer_loops(k, x.shape, dims) as outer:
            value = _mean_and_rstd(ctx, k, x, dims, outer, eps)[which]
            k.store(out, out_index(len(x.shape), dims, outer, keepdim), b.cast(value, dtype))
        results.append(out)
    return results[0], results[1]


def _affine(
    ctx: LoweringContext,
    value: Expr,
    weight: TensorValue | None,
    bias: TensorValue | None,
    index: Indices,
) -> Expr:
    """value * weight[index] + bias[index], in the type of value."""
    if weight is not None:
        value = b.mul(value, load_as(ctx, weight, index, value.dtype))
    if bias is not None:
        value = b.add(value, load_as(ctx, bias, index, value.dtype))
    return value


# --- rows ---------------------------------------------------------------------------------------


@lowers(aten.native_layer_norm.default)
def lower_layer_norm(
    ctx: LoweringContext,
    x: TensorValue,
    normalized: Sequence[Size],
    weight: TensorValue | None,
    bias: TensorValue | None,
    eps: float,
) -> tuple[TensorValue, TensorValue, TensorValue]:
    """(x - mean) / sqrt(variance + eps) * weight + bias over the last dims; mean; rstd."""
    first = len(x.shape) - len(normalized)
    dims = tuple(range(first, len(x.shape)))
    out = ctx.empty(x.shape, x.dtype)
    with ctx.kernel() as k, outer_loops(k, x.shape, dims) as outer:
        mean, rstd = _mean_and_rstd(ctx, k, x, dims, outer, eps)
        with inner_loops(k, x.shape, dims, outer, LoopKind.PARALLEL) as index:
            centred = b.sub(load_as(ctx, x, index, mean.dtype), mean)
            value = _affine(ctx, b.mul(centred, rstd), weight, bias, index[first:])
            k.store(out, index, b.cast(value, x.dtype))
    mixed = weight is not None and weight.dtype is not x.dtype
    statistics = _statistics(ctx, x, dims, eps, DType.F32 if mixed else x.dtype, True)
    return out, *statistics


@lowers(opaque.rms_norm.default)
def lower_rms_norm(
    ctx: LoweringContext,
    x: TensorValue,
    normalized: Sequence[Size],
    weight: TensorValue | None,
    eps: float | None,
) -> TensorValue:
    """x / sqrt(mean(x*x) + eps) * weight over the last dims. Without eps, that of the type."""
    first = len(x.shape) - len(normalized)
    dims = tuple(range(first, len(x.shape)))
    acc = compute_type(x.dtype)
    result = x.dtype if weight is None else promote([x, weight])
    small = torch.finfo(to_torch(acc)).eps if eps is None else eps
    out = ctx.empty(x.shape, result)
    with ctx.kernel() as k, outer_loops(k, x.shape, dims) as outer:
        squares = accumulate(
            ctx, k, x, dims, outer, "add", b.literal(0.0, acc),
            lambda v: b.mul(b.cast(v, acc), b.cast(v, acc)),
        )  # fmt: skip
        scale = k.let(_inverse_root(b.div(squares, count(x, dims, acc)), small), "scale")
        with inner_loops(k, x.shape, dims, outer, LoopKind.PARALLEL) as index:
            value = b.mul(load_as(ctx, x, index, acc), scale)
            k.store(out, index, b.cast(_affine(ctx, value, weight, None, index[first:]), result))
    return out


@lowers(aten.native_group_norm.default)
def lower_group_norm(
    ctx: LoweringContext,
    x: TensorValue,
    weight: TensorValue | None,
    bias: TensorValue | None,
    batch: Size,
    channels: Size,
    area: Size,
    groups: int,
    eps: float,
) -> tuple[TensorValue, TensorValue, TensorValue]:
    """Layer norm over groups of channels and all positions; weight and bias are per channel.

    Sums are kept per channel and combined per group afterwards, and the result is one multiply-add
    an element: every big kernel then walks channels side by side, whatever the memory layout.
    """
    each = x.shape[1] // groups
    parts = (x.shape[0], Index.const(groups), each, *x.shape[2:])
    grouped = reshape(ctx, x, parts)
    dims = tuple(range(2, len(parts)))
    size = count(grouped, dims, compute_type(x.dtype))
    sums = _channel_sums(ctx, x, lambda v, channel: v)
    mean = _over_groups(ctx, sums, each, lambda total: b.div(total, size))

    def squared(v: Expr, channel: Indices) -> Expr:
        distance = b.sub(v, ctx.load(mean, channel))
        return b.mul(distance, distance)

    squares = _channel_sums(ctx, x, squared)
    rstd = _over_groups(ctx, squares, each, lambda total: _inverse_root(b.div(total, size), eps))
    scale = ctx.pointwise(
        rstd.shape, rstd.dtype, lambda i: _affine(ctx, ctx.load(rstd, i), weight, None, i[1:])
    )

    def shift_of(index: Indices) -> Expr:
        centre = b.neg(b.mul(ctx.load(mean, index), ctx.load(scale, index)))
        return _affine(ctx, centre, None, bias, index[1:])

    shift = ctx.pointwise(scale.shape, scale.dtype, shift_of)

    def element(index: Indices) -> Expr:
        value = b.mul(load_as(ctx, x, index, scale.dtype), ctx.load(scale, index[:2]))
        return b.cast(b.add(value, ctx.load(shift, index[:2])), x.dtype)

    out = ctx.pointwise(x.shape, x.dtype, element)
    mixed = weight is not None and weight.dtype is not x.dtype
    statistics = _statistics(ctx, grouped, dims, eps, DType.F32 if mixed else x.dtype, False)
    return out, *statistics


def _channel_sums(
    ctx: LoweringContext, x: TensorValue, value: Callable[[Expr, Indices], Expr]
) -> TensorValue:
    """The sum of `value(element, (batch, channel))` over all positions, for each channel."""
    acc = compute_type(x.dtype)
    dims = tuple(range(2, len(x.shape)))
    out = ctx.empty(x.shape[:2], acc)
    with ctx.kernel() as k, outer_loops(k, x.shape, dims) as outer:
        channel = (outer[0], outer[1])
        total = accumulate(
            ctx, k, x, dims, outer, "add", b.literal(0.0, acc),
            lambda v: value(b.cast(v, acc), channel),
        )  # fmt: skip
        k.store(out, channel, total)
    return out


def _over_groups(
    ctx: LoweringContext, sums: TensorValue, each: Index, finish: Callable[[Expr], Expr]
) -> TensorValue:
    """`finish` of the sum over the group that each channel belongs to."""
    out = ctx.empty(sums.shape, sums.dtype)
    with ctx.kernel() as k, outer_loops(k, sums.shape, ()) as outer:
        first = outer[1] // each * each
        total = k.accumulator("add", b.literal(0.0, sums.dtype), sums.dtype)
        with k.loop(each, LoopKind.REDUCE, "r") as r:
            k.update(total, ctx.load(sums, (outer[0], first + r)))
        k.store(out, (outer[0], outer[1]), finish(total))
    return out


# --- channels -----------------------------------------------------------------------------------


def _scale_channels(
    ctx: LoweringContext, x: TensorValue, scale: TensorValue, shift: TensorValue
) -> TensorValue:
    """x * scale[channel] + shift[channel]; channels are dim 1."""

    def element(index: Indices) -> Expr:
        channel = (index[1],)
        value = load_as(ctx, x, index, scale.dtype)
        value = b.mul(value, ctx.load(scale, channel))
        return b.cast(b.add(value, ctx.load(shift, channel)), x.dtype)

    return ctx.pointwise(x.shape, x.dtype, element)


def _normalise_channels(
    ctx: LoweringContext,
    x: TensorValue,
    weight: TensorValue | None,
    bias: TensorValue | None,
    mean: TensorValue,
    variance: TensorValue,
    eps: float,
) -> TensorValue:
    acc = compute_type(x.dtype)
    channels = (x.shape[1],)

    def scale_of(index: Indices) -> Expr:
        inverse = _inverse_root(load_as(ctx, variance, index, acc), eps)
        return _affine(ctx, inverse, weight, None, index)

    scale = ctx.pointwise(channels, acc, scale_of)

    def shift_of(index: Indices) -> Expr:
        centre = b.mul(load_as(ctx, mean, index, acc), ctx.load(scale, index))
        if bias is None:
            return b.neg(centre)
        return b.sub(load_as(ctx, bias, index, acc), centre)

    return _scale_channels(ctx, x, scale, ctx.pointwise(channels, acc, shift_of))


def _batch_statistics(
    ctx: LoweringContext, x: TensorValue, eps: float
) -> tuple[TensorValue, TensorValue, TensorValue]:
    """Mean, biased variance and 1 / sqrt(variance + eps) of each channel."""
    acc = compute_type(x.dtype)
    dims = (0, *range(2, len(x.shape)))
    mean, rstd = _statistics(ctx, x, dims, eps, acc, False)
    squares = ctx.empty((x.shape[1],), acc)
    with ctx.kernel() as k, outer_loops(k, x.shape, dims) as outer:

        def squared(v: Expr) -> Expr:
            distance = b.sub(b.cast(v, acc), ctx.load(mean, (outer[1],)))
            return b.mul(distance, distance)

        total = accumulate(ctx, k, x, dims, outer, "add", b.literal(0.0, acc), squared)
        k.store(squares, (outer[1],), b.div(total, count(x, dims, acc)))
    return mean, squares, rstd


def _nothing(ctx: LoweringContext, dtype: DType) -> TensorValue:
    return ctx.pointwise((ZERO,), dtype, lambda _: b.literal(0.0, dtype))


@lowers(aten._native_batch_norm_legit_no_training.default)
def lower_batch_norm_inference(
    ctx: LoweringContext,
    x: TensorValue,
    weight: TensorValue | None,
    bias: TensorValue | None,
    mean: TensorValue,
    variance: TensorValue,
    momentum: float,
    eps: float,
) -> tuple[TensorValue, TensorValue, TensorValue]:
    """Batch norm with given statistics; the saved statistics are empty."""
    out = _normalise_channels(ctx, x, weight, bias, mean, variance, eps)
    return out, _nothing(ctx, compute_type(x.dtype)), _nothing(ctx, compute_type(x.dtype))


@lowers(aten._native_batch_norm_legit.no_stats)
def lower_batch_norm_no_stats(
    ctx: LoweringContext,
    x: TensorValue,
    weight: TensorValue | None,
    bias: TensorValue | None,
    training: bool,
    momentum: float,
    eps: float,
) -> tuple[TensorValue, TensorValue, TensorValue]:
    """Batch norm with the batch's own statistics (instance norm is one over a reshaped tensor)."""
    mean, variance, rstd = _batch_statistics(ctx, x, eps)
    return _normalise_channels(ctx, x, weight, bias, mean, variance, eps), mean, rstd


@lowers(aten.native_batch_norm.default, aten._native_batch_norm_legit.default)
def lower_batch_norm(
    ctx: LoweringContext,
    x: TensorValue,
    weight: TensorValue | None,
    bias: TensorValue | None,
    running_mean: TensorValue | None,
    running_variance: TensorValue | None,
    training: bool,
    momentum: float,
    eps: float,
) -> tuple[TensorValue, TensorValue, TensorValue]:
    """Either of the above; functionalisation has taken out the update of running statistics."""
    if training or running_mean is None or running_variance is None:
        return lower_batch_norm_no_stats(ctx, x, weight, bias, training, momentum, eps)
    return lower_batch_norm_inference(
        ctx, x, weight, bias, running_mean, running_variance, momentum, eps
    )


@decomposes(aten._native_batch_norm_legit_functional.default)
def decompose_batch_norm_functional(
    x: torch.Tensor,
    weight: torch.Tensor | None,
    bias: torch.Tensor | None,
    running_mean: torch.Tensor,
    running_variance: torch.Tensor,
    training: bool,
    momentum: float,
    eps: float,
) -> tuple[torch.Tensor, ...]:
    """Batch norm that also gives the new running statistics.

    In evaluation these are the old ones, the very tensors: functionalisation then sees that nothing
    was written. In training they move towards the batch's mean and unbiased variance.
    """
    if not training:
        results = aten._native_batch_norm_legit_no_training.default(
            x, weight, bias, running_mean, running_variance, momentum, eps
        )
        return *results, running_mean, running_variance
    out, mean, rstd = aten._native_batch_norm_legit.no_stats(x, weight, bias, True, momentum, eps)
    unbiased = torch.var(x, [0, *range(2, x.dim())], correction=1)
    kept = 1.0 - momentum
    new_mean = running_mean * kept + mean.to(running_mean.dtype) * momentum
    new_variance = running_variance * kept + unbiased.to(running_variance.dtype) * momentum
    return out, mean, rstd, new_mean, new_variance


# --- samples ------------------------------------------------------------------------------------

samples(
    aten.native_layer_norm.default,
    sample(T("f32[3,7]"), [7], T("f32[7]"), T("f32[7]"), 1e-5, tolerance=2.0),
    sample(T("f32[2,3,4]"), [3, 4], None, None, 1e-5, tolerance=2.0),
    sample(T("f32[2,3,16]"), [16], T("f32[16]"), None, 1e-6, tolerance=2.0),
    sample(T("f64[2,5]"), [5], T("f64[5]"), T("f64[5]"), 1e-5, tolerance=4.0),
    sample(T("bf16[2,33]"), [33], T("bf16[33]"), T("bf16[33]"), 1e-5),
    sample(T("f32[0,4]"), [4], None, None, 1e-5),
    sample(T("f32[3,9]", low=99.0, high=101.0), [9], None, None, 1e-5, tolerance=4.0),
)
samples(
    opaque.rms_norm.default,
    sample(T("f32[3,7]"), [7], T("f32[7]"), 1e-6, tolerance=2.0),
    sample(T("f32[2,3,4]"), [3, 4], None, None, tolerance=2.0),
    sample(T("f64[2,5]"), [5], T("f64[5]"), 1e-6, tolerance=4.0),
    sample(T("bf16[2,33]"), [33], T("bf16[33]"), 1e-6),
    sample(T("f16[2,33]"), [33], None, None),
)
samples(
    aten.native_group_norm.default,
    sample(T("f32[2,6,5]"), T("f32[6]"), T("f32[6]"), 2, 6, 5, 3, 1e-5, tolerance=2.0),
    sample(T("f32[2,4,3,3]"), None, None, 2, 4, 9, 1, 1e-5, tolerance=2.0),
    sample(T("f32[2,4,3,3]"), T("f32[4]"), None, 2, 4, 9, 4, 1e-5, tolerance=2.0),
    sample(T("bf16[2,4,3,3]"), T("bf16[4]"), T("bf16[4]"), 2, 4, 9, 2, 1e-5),
)
_CHANNELS = (T("f32[3]"), T("f32[3]"), T("f32[3]"), T("f32[3]", low=0.1, high=2.0))
samples(
    aten._native_batch_norm_legit_no_training.default,
    sample(T("f32[2,3,4,5]"), *_CHANNELS, 0.1, 1e-5, tolerance=2.0),
    sample(T("f32[2,3]"), None, None, *_CHANNELS[2:], 0.1, 1e-3, tolerance=2.0),
    sample(T("f32[2,3,4]", layout="transposed"), *_CHANNELS, 0.1, 1e-5, tolerance=2.0),
    sample(T("f32[0,3,4]"), *_CHANNELS, 0.1, 1e-5),
)
samples_for(
    (aten.native_batch_norm.default, aten._native_batch_norm_legit.default),
    sample(T("f32[2,3,4,5]"), *_CHANNELS, False, 0.1, 1e-5, tolerance=2.0),
    sample(T("f32[4,3,2]"), *_CHANNELS, True, 0.1, 1e-5, tolerance=2.0),
)
samples(
    aten._native_batch_norm_legit.no_stats,
    sample(T("f32[4,3,2]"), T("f32[3]"), T("f32[3]"), True, 0.1, 1e-5, tolerance=2.0),
    sample(T("f32[1,6,9]"), None, None, True, 0.1, 1e-5, tolerance=2.0),
)
samples(
    aten._native_batch_norm_legit_functional.default,
    sample(T("f32[4,3,2]"), *_CHANNELS, True, 0.1, 1e-5, tolerance=2.0),
    sample(T("f32[4,3,2]"), *_CHANNELS, False, 0.1, 1e-5, tolerance=2.0),
)
samples(
    aten.native_layer_norm.default,
    sample(T("f32[5,301]"), [301], T("f32[301]"), T("f32[301]"), 1e-5, tolerance=2.0),
    sample(T("f32[2,3,131]"), [131], T("f32[131]"), T("f32[131]"), 1e-6, tolerance=2.0),
    sample(T("bf16[3,131]"), [131], T("bf16[131]"), T("bf16[131]"), 1e-5),
)
samples(opaque.rms_norm.default, sample(T("f32[5,301]"), [301], T("f32[301]"), 1e-6, tolerance=2.0))
samples(
    aten.native_group_norm.default,
    sample(T("f32[2,8,5,7]"), T("f32[8]"), T("f32[8]"), 2, 8, 35, 4, 1e-5, tolerance=2.0),
)
samples(
    aten._native_batch_norm_legit_no_training.default,
    sample(
        T("f32[2,19,7,9]"), T("f32[19]"), T("f32[19]"), T("f32[19]"),
        T("f32[19]", low=0.1, high=2.0), 0.1, 1e-5, tolerance=2.0,
    ),
)  # fmt: skip
