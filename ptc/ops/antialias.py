"""Interpolation with antialiasing: each output is a weighted mean of all elements it covers.

The filter is stretched by the scale where an image shrinks. Dims are resampled one after another,
the last first, from tables of first positions and weights that depend on sizes alone.
"""

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
from ptc.ops.registry import lowers, samples
from ptc.ops.shapes import replace_at
from ptc.ops.upsample import Axis, Scales, Size, axes_of
from ptc.support.diagnostics import CompileError

aten = torch.ops.aten

_CUBIC = -0.5  # Keys, 1981; eager's other cubic interpolation has -0.75
Curve = Callable[[Expr], Expr]


def _triangle(d: Expr) -> Expr:
    """1 - |d| within one step, else 0."""
    return b.max_(b.sub(b.literal(1.0, d.dtype), b.abs_(d)), 0.0)


def _cubic(d: Expr) -> Expr:
    """Keys' cubic convolution within two steps, else 0."""
    x, a = b.abs_(d), _CUBIC
    near = b.add(b.mul(b.mul(b.sub(b.mul(x, a + 2), a + 3), x), x), 1.0)
    far = b.mul(b.sub(b.mul(b.add(b.mul(b.sub(x, 5.0), x), 8.0), x), 4.0), a)
    zero = b.literal(0.0, d.dtype)
    return b.where(b.lt(x, 1.0), near, b.where(b.lt(x, 2.0), far, zero))


def _taps(axis: Axis, reach: int, align_corners: bool) -> Index:
    """A bound on the elements that one output covers: all of a dim whose sizes are dynamic."""
    size, output = axis.size.constant, axis.output.constant
    if size is None or output is None:
        return axis.size
    if align_corners:
        scale = (size - 1) / (output - 1) if output > 1 else 0.0
    else:
        scale = 1.0 / axis.factor if axis.factor else size / output
    return Index.const(min(size, 2 * math.ceil(reach * max(scale, 1.0)) + 1))


def _resampled(
    ctx: LoweringContext,
    x: TensorValue,
    dim: int,
    axis: Axis,
    align_corners: bool,
    reach: int,
    curve: Curve,
) -> TensorValue:
    """x with `dim` resampled; `curve` is 0 from `reach` steps on."""
    dtype, taps = compute_type(x.dtype), _taps(axis, reach, align_corners)
    firsts, counts = (ctx.empty((axis.output,), DType.I64) for _ in range(2))
    weights = ctx.empty((axis.output, taps), dtype)
    size = b.index_value(axis.size, DType.I64)
    with ctx.kernel() as k, k.loop(axis.output) as i:
        scale = k.let(axis.scale(dtype, align_corners), "scale")
        shrinks, one = b.gt(scale, 1.0), b.literal(1.0, dtype)
        support = k.let(b.mul(b.where(shrinks, scale, one), float(reach)), "support")
        inverse = k.let(b.where(shrinks, b.div(one, scale), one), "inverse")
        middle = b.mul(scale, b.add(b.cast(b.index_value(i, DType.I64), dtype), 0.5))
        center = k.let(middle, "center")
        low = b.cast(b.add(b.sub(center, support), 0.5), DType.I64)
        first = k.let(b.max_(low, 0), "first")
        high = b.cast(b.add(b.add(center, support), 0.5), DType.I64)
        count = k.let(b.sub(b.min_(high, size), first), "count")
        k.store(firsts, (i,), first)
        k.store(counts, (i,), count)

        def weight(t: Index) -> Expr:
            place = b.index_value(t, DType.I64)
            at = b.cast(b.add(first, place), dtype)
            value = curve(b.mul(b.add(b.sub(at, center), 0.5), inverse))
            return b.where(b.lt(place, count), value, b.literal(0.0, dtype))

        total = k.accumulator("add", b.literal(0.0, dtype), dtype)
        with k.loop(taps, LoopKind.REDUCE) as t:
            k.update(total, weight(t))
        with k.loop(taps) as t:
            k.store(weights, (i, t), b.div(weight(t), total))
    out = ctx.empty(replace_at(x.shape, dim, axis.output), x.dtype)
    with ctx.kernel() as k, loops(k, out.shape) as index:
        i = index[dim]
        total = k.accumulator("add", b.literal(0.0, dtype), dtype)
        with k.loop(taps, LoopKind.REDUCE) as t:
            place = b.index_value(t, DType.I64)
            inside = b.lt(place, ctx.load(counts, (i,)))
            at = b.min_(b.add(ctx.load(firsts, (i,)), place), b.sub(size, 1))
            source = Index.var(k.let(b.max_(at, 0), "at", bounds=axis.size).name)
            value = load_as(ctx, x, replace_at(index, dim, source), dtype)
            term = b.mul(ctx.load(weights, (i, t)), value)
            k.update(total, b.where(inside, term, b.literal(0.0, dtype)))
        k.store(out, index, b.cast(total, x.dtype))
    return out


def _image(
    ctx: LoweringContext,
    x: TensorValue,
    output: list[Size],
    align_corners: bool,
    factors: Scales,
    reach: int,
    curve: Curve,
) -> TensorValue:
    if not x.dtype.is_float:
        raise CompileError(
            "PTC-O005",
            f"antialiased interpolation of {x.dtype.value} images is not compiled",
            hint="convert the image to float32 first",
        )
    rank = len(x.shape)
    axes = axes_of(ctx, x, output, factors)
    for dim, axis in reversed(list(enumerate(axes, start=rank - len(axes)))):
        x = _resampled(ctx, x, dim, axis, align_corners, reach, curve)
    return x


@lowers(aten._upsample_bilinear2d_aa.default)
def lower_bilinear_antialiased(
    ctx: LoweringContext,
    x: TensorValue,
    output: list[Size],
    align_corners: bool,
    height: float | None,
    width: float | None,
) -> TensorValue:
    """Means under a triangle of one step, or of the scale where the image shrinks."""
    return _image(ctx, x, output, align_corners, (height, width), 1, _triangle)


@lowers(aten._upsample_bicubic2d_aa.default)
def lower_bicubic_antialiased(
    ctx: LoweringContext,
    x: TensorValue,
    output: list[Size],
    align_corners: bool,
    height: float | None,
    width: float | None,
) -> TensorValue:
    """Means under a cubic of two steps, or of twice the scale where the image shrinks."""
    return _image(ctx, x, output, align_corners, (height, width), 2, _cubic)


for _op in (aten._upsample_bilinear2d_aa.default, aten._upsample_bicubic2d_aa.default):
    samples(
        _op,
        sample(T("f32[2,2,7,9]"), [3, 4], False, None, None),
        sample(T("f32[1,2,5,6]"), [9, 4], True, None, None),
        sample(T("f64[1,1,6,8]"), [6, 3], False, None, 0.4),
        sample(T("f32[1,1,4,5]"), [1, 1], True, None, None),
        sample(T("f32[1,2,7,5]", layout="channels_last"), [14, 10], False, 2.0, 2.0),
    )
