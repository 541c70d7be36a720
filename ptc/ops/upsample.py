"""Interpolation: nearest, linear and cubic, in one to three dimensions.

Source positions follow eager to the bit: they are computed in f32 (f64 for f64 images) from the
same scale. Nearest positions that equal the integer map become a view; all others are bound once
for each row or column, before the loops inside it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch

from ptc.loops import build as b
from ptc.loops.index import Index
from ptc.loops.nodes import DType, Expr
from ptc.ops.dtypes import compute_type
from ptc.ops.nests import loops
from ptc.ops.protocol import Indices, KernelBuilder, LoweringContext, T, TensorValue, sample
from ptc.ops.registry import lowers, samples, samples_for
from ptc.ops.shapes import scaled_size
from ptc.support.diagnostics import CompileError

aten = torch.ops.aten

Size = int | Index
Scales = Sequence[float | None]

_CUBIC = -0.75  # the coefficient eager uses (Keys, 1981, has -0.5)


@dataclass(frozen=True, slots=True)
class Axis:
    """One dim that is resized. `factor` is the scale factor as the user gave it, if they did."""

    size: Index
    output: Index
    factor: float | None

    def scale(self, dtype: DType, align_corners: bool = False) -> Expr:
        """Source positions a step of the output."""
        if align_corners:
            # A single output position lies on the first element.
            if self.output.constant == 1:
                return b.literal(0.0, dtype)
            steps = _quotient(self.size - 1, self.output - 1, dtype)
            if self.output.constant is not None:
                return steps
            single = b.eq(b.index_value(self.output, DType.I64), 1)
            return b.where(single, b.literal(0.0, dtype), steps)
        if self.factor is not None and self.factor > 0:
            return b.literal(1.0 / self.factor, dtype)
        return _quotient(self.size, self.output, dtype)

    def source(self, i: Index, dtype: DType, align_corners: bool, clamped: bool) -> Expr:
        """The real source position of output `i`."""
        scale = self.scale(dtype, align_corners)
        position = b.cast(b.index_value(i, DType.I64), dtype)
        if align_corners:
            return b.mul(scale, position)
        value = b.sub(b.mul(scale, b.add(position, 0.5)), 0.5)
        return b.max_(value, 0.0) if clamped else value


def _quotient(x: Index, y: Index, dtype: DType) -> Expr:
    if x.constant is not None and y.constant is not None:
        kind = np.float64 if dtype is DType.F64 else np.float32
        return b.literal(float(kind(x.constant) / kind(y.constant)), dtype)
    return b.div(b.cast(b.index_value(x, DType.I64), dtype), b.cast(b.index_value(y), dtype))


def axes_of(
    ctx: LoweringContext, x: TensorValue, output: Sequence[Size], factors: Scales
) -> tuple[Axis, ...]:
    sizes = x.shape[-len(output) :]
    return tuple(
        Axis(size, ctx.size(out), factor)
        for size, out, factor in zip(sizes, output, factors, strict=True)
    )


def _axes_of_vector(
    ctx: LoweringContext,
    x: TensorValue,
    output: Sequence[Size] | None,
    factors: Sequence[float] | None,
) -> tuple[Axis, ...]:
    """From the form that takes either an output size or scale factors."""
    if output is not None:
        return axes_of(ctx, x, output, [None] * len(output))
    assert factors is not None
    sizes = x.shape[-len(factors) :]
    return axes_of(ctx, x, [_scaled(s, f) for s, f in zip(sizes, factors, strict=True)], factors)


def _scaled(size: Index, factor: float) -> Index:
    scaled = scaled_size(size, float(factor))
    if scaled is None:
        raise CompileError(
            "PTC-O004",
            f"interpolation of a dynamic size by {factor} cannot be compiled",
            hint="use a factor such as 2, 0.5 or 1.25, or pass size= instead of scale_factor=",
        )
    return scaled


def _shape(x: TensorValue, axes: Sequence[Axis]) -> Indices:
    return (*x.shape[: -len(axes)], *(axis.output for axis in axes))


# --- nearest ------------------------------------------------------------------------------------


def _nearest(
    ctx: LoweringContext, x: TensorValue, axes: Sequence[Axis], exact: bool
) -> TensorValue:
    shape, rank = _shape(x, axes), len(axes)
    maps = [_integer_map(axis, exact) for axis in axes]
    if all(m is not None for m in maps):
        return ctx.view(
            x,
            shape,
            lambda index: (
                *index[:-rank],
                *(m(i) for m, i in zip(maps, index[-rank:], strict=True) if m is not None),
            ),
        )
    out = ctx.empty(shape, x.dtype)
    with ctx.kernel() as k, loops(k, shape[:-rank]) as lead:
        _nearest_dims(ctx, k, x, out, axes, exact, lead, ())
    return out


def _nearest_dims(
    ctx: LoweringContext,
    k: KernelBuilder,
    x: TensorValue,
    out: TensorValue,
    axes: Sequence[Axis],
    exact: bool,
    index: Indices,
    place: Indices,
) -> None:
    """One loop for each resized dim, its source position bound at once."""
    if not axes:
        lead = len(x.shape) - len(place)
        k.store(out, index, ctx.load(x, (*index[:lead], *place)))
        return
    axis = axes[0]
    with k.loop(axis.output) as i:
        at = _bound(k, _nearest_source(axis, i, exact), axis.size)
        _nearest_dims(ctx, k, x, out, axes[1:], exact, (*index, i), (*place, at))


def _nearest_source(axis: Axis, i: Index, exact: bool) -> Expr:
    position = b.cast(b.index_value(i, DType.I64), DType.F32)
    if exact:
        position = b.add(position, 0.5)
    return b.apply("floor", b.mul(position, axis.scale(DType.F32)))


def _bound(k: KernelBuilder, value: Expr, size: Index) -> Index:
    """A whole float, cut to [0, size) and bound as an index variable."""
    whole = b.cast(value, DType.I64)
    last = b.index_value(size - 1, DType.I64)
    return Index.var(k.let(b.max_(b.min_(whole, last), 0), "at", bounds=size).name)


def _integer_map(axis: Axis, exact: bool) -> Callable[[Index], Index] | None:
    """The source position as an index expression, where that equals eager's float arithmetic."""
    size, output = axis.size.constant, axis.output.constant
    if size is None or output is None:
        factor = axis.factor
        whole = factor is not None and factor >= 1 and math.log2(factor).is_integer()
        if whole and axis.output == axis.size * int(factor or 1):
            # powers of two are exact, and half a step more stays within the same source element
            return lambda i: i // int(factor or 1)
        return None
    if size == 0 or output == 0:
        return lambda i: i
    scale = np.float32(size) / np.float32(output)
    if axis.factor is not None and axis.factor > 0:
        scale = np.float32(1.0 / axis.factor)
    steps = np.arange(output, dtype=np.float32) + np.float32(0.5 if exact else 0.0)
    source = np.minimum(np.floor(steps * scale).astype(np.int64), size - 1)
    numbers = np.arange(output, dtype=np.int64)
    if exact and np.array_equal(source, (2 * numbers + 1) * size // (2 * output)):
        return lambda i: (i * (2 * size) + size) // (2 * output)
    if not exact and np.array_equal(source, numbers * size // output):
        return lambda i: i * size // output
    return None


# --- linear and cubic ---------------------------------------------------------------------------

# One tap: source position and weight.
_Tap = tuple[Index, Expr]


def _interpolated(
    ctx: LoweringContext,
    x: TensorValue,
    axes: Sequence[Axis],
    taps: Callable[[KernelBuilder, Axis, Index, DType], list[_Tap]],
) -> TensorValue:
    """Weighted sums of the taps of each dim, rounded once."""
    shape, rank = _shape(x, axes), len(axes)
    dtype = compute_type(x.dtype)
    out = ctx.empty(shape, x.dtype)

    def write(k: KernelBuilder, index: Indices, found: list[list[_Tap]]) -> None:
        if len(found) == rank:
            lead = index[:-rank]
            value = _weighted(ctx, x, lead, found, (), dtype)
            k.store(out, index, b.cast(value, x.dtype))
            return
        axis = axes[len(found)]
        with k.loop(axis.output) as i:
            write(k, (*index, i), [*found, taps(k, axis, i, dtype)])

    with ctx.kernel() as k, loops(k, shape[:-rank]) as lead:
        write(k, lead, [])
    return out


def _weighted(
    ctx: LoweringContext,
    x: TensorValue,
    lead: Indices,
    taps: list[list[_Tap]],
    place: Indices,
    dtype: DType,
) -> Expr:
    if not taps:
        return b.cast(ctx.load(x, (*lead, *place)), dtype)
    total: Expr | None = None
    for at, weight in taps[0]:
        inner = _weighted(ctx, x, lead, taps[1:], (*place, at), dtype)
        term = b.mul(weight, inner)
        total = term if total is None else b.add(total, term)
    assert total is not None
    return total


def _split(k: KernelBuilder, axis: Axis, source: Expr) -> tuple[Index, Expr, Expr]:
    """Whole part (as an index and as a value) and the rest in [0, 1] of a source position."""
    real = k.let(source, "source")
    base = _bound(k, b.apply("floor", real), axis.size)
    whole = b.index_value(base, DType.I64)
    rest = b.sub(real, b.cast(whole, real.dtype))
    return base, whole, k.let(b.min_(b.max_(rest, 0.0), 1.0), "rest")


def _neighbour(k: KernelBuilder, axis: Axis, whole: Expr, step: int) -> Index:
    """The position `step` elements on, cut to the image."""
    last = b.index_value(axis.size - 1, DType.I64)
    value = b.max_(b.min_(b.add(whole, step), last), 0)
    return Index.var(k.let(value, "at", bounds=axis.size).name)


def _linear_taps(
    align_corners: bool,
) -> Callable[[KernelBuilder, Axis, Index, DType], list[_Tap]]:
    def taps(k: KernelBuilder, axis: Axis, i: Index, dtype: DType) -> list[_Tap]:
        base, whole, rest = _split(k, axis, axis.source(i, dtype, align_corners, clamped=True))
        above = _neighbour(k, axis, whole, 1)
        return [(base, k.let(b.sub(b.literal(1.0, dtype), rest), "keep")), (above, rest)]

    return taps


def _cubic_taps(
    align_corners: bool,
) -> Callable[[KernelBuilder, Axis, Index, DType], list[_Tap]]:
    def taps(k: KernelBuilder, axis: Axis, i: Index, dtype: DType) -> list[_Tap]:
        real = k.let(axis.source(i, dtype, align_corners, clamped=False), "source")
        floor = b.apply("floor", real)
        # The base may lie one before the image; its neighbours are cut to it one by one.
        last = b.index_value(axis.size - 1, DType.I64)
        whole = k.let(b.min_(b.cast(floor, DType.I64), last), "whole")
        rest = b.sub(real, b.cast(whole, dtype))
        t = k.let(b.min_(b.max_(rest, 0.0), 1.0), "rest")
        weights = [k.let(w, "weight") for w in cubic_weights(t)]
        return [
            (_neighbour(k, axis, whole, step), weight)
            for step, weight in zip((-1, 0, 1, 2), weights, strict=True)
        ]

    return taps


def cubic_weights(t: Expr) -> list[Expr]:
    """Cubic convolution weights of the four elements around a position `t` after the second."""
    one = b.literal(1.0, t.dtype)
    after = b.sub(one, t)
    return [
        _cubic_far(b.add(t, 1.0)),
        _cubic_near(t),
        _cubic_near(after),
        _cubic_far(b.add(after, 1.0)),
    ]


def _cubic_near(d: Expr) -> Expr:
    """For distances up to 1: ((A + 2) d - (A + 3)) d**2 + 1."""
    inner = b.sub(b.mul(d, _CUBIC + 2.0), _CUBIC + 3.0)
    return b.add(b.mul(b.mul(inner, d), d), 1.0)


def _cubic_far(d: Expr) -> Expr:
    """For distances from 1 to 2: ((A d - 5 A) d + 8 A) d - 4 A."""
    inner = b.sub(b.mul(d, _CUBIC), 5.0 * _CUBIC)
    return b.sub(b.mul(b.add(b.mul(inner, d), 8.0 * _CUBIC), d), 4.0 * _CUBIC)


# --- operators ----------------------------------------------------------------------------------


@lowers(aten.upsample_nearest1d.vec, aten.upsample_nearest2d.vec, aten.upsample_nearest3d.vec)
def lower_nearest_vec(
    ctx: LoweringContext,
    x: TensorValue,
    output: Sequence[Size] | None,
    factors: Sequence[float] | None,
) -> TensorValue:
    """The element at floor(i * scale)."""
    return _nearest(ctx, x, _axes_of_vector(ctx, x, output, factors), exact=False)


@lowers(
    aten._upsample_nearest_exact1d.vec,
    aten._upsample_nearest_exact2d.vec,
    aten._upsample_nearest_exact3d.vec,
)
def lower_nearest_exact_vec(
    ctx: LoweringContext,
    x: TensorValue,
    output: Sequence[Size] | None,
    factors: Sequence[float] | None,
) -> TensorValue:
    """The element at floor((i + 1/2) * scale)."""
    return _nearest(ctx, x, _axes_of_vector(ctx, x, output, factors), exact=True)


@lowers(
    aten.upsample_nearest1d.default,
    aten.upsample_nearest2d.default,
    aten.upsample_nearest3d.default,
)
def lower_nearest(
    ctx: LoweringContext, x: TensorValue, output: Sequence[Size], *factors: float | None
) -> TensorValue:
    """The element at floor(i * scale)."""
    return _nearest(ctx, x, axes_of(ctx, x, output, factors), exact=False)


@lowers(
    aten._upsample_nearest_exact1d.default,
    aten._upsample_nearest_exact2d.default,
    aten._upsample_nearest_exact3d.default,
)
def lower_nearest_exact(
    ctx: LoweringContext, x: TensorValue, output: Sequence[Size], *factors: float | None
) -> TensorValue:
    """The element at floor((i + 1/2) * scale)."""
    return _nearest(ctx, x, axes_of(ctx, x, output, factors), exact=True)


@lowers(aten.upsample_linear1d.vec, aten.upsample_bilinear2d.vec, aten.upsample_trilinear3d.vec)
def lower_linear_vec(
    ctx: LoweringContext,
    x: TensorValue,
    output: Sequence[Size] | None,
    align_corners: bool,
    factors: Sequence[float] | None,
) -> TensorValue:
    """Weighted means of the two nearest elements of each dim."""
    axes = _axes_of_vector(ctx, x, output, factors)
    return _interpolated(ctx, x, axes, _linear_taps(align_corners))


@lowers(
    aten.upsample_linear1d.default,
    aten.upsample_bilinear2d.default,
    aten.upsample_trilinear3d.default,
)
def lower_linear(
    ctx: LoweringContext,
    x: TensorValue,
    output: Sequence[Size],
    align_corners: bool,
    *factors: float | None,
) -> TensorValue:
    """Weighted means of the two nearest elements of each dim."""
    return _interpolated(ctx, x, axes_of(ctx, x, output, factors), _linear_taps(align_corners))


@lowers(aten.upsample_bicubic2d.vec)
def lower_bicubic_vec(
    ctx: LoweringContext,
    x: TensorValue,
    output: Sequence[Size] | None,
    align_corners: bool,
    factors: Sequence[float] | None,
) -> TensorValue:
    """Cubic convolution over four elements of each dim."""
    axes = _axes_of_vector(ctx, x, output, factors)
    return _interpolated(ctx, x, axes, _cubic_taps(align_corners))


@lowers(aten.upsample_bicubic2d.default)
def lower_bicubic(
    ctx: LoweringContext,
    x: TensorValue,
    output: Sequence[Size],
    align_corners: bool,
    *factors: float | None,
) -> TensorValue:
    """Cubic convolution over four elements of each dim."""
    return _interpolated(ctx, x, axes_of(ctx, x, output, factors), _cubic_taps(align_corners))


# --- samples ------------------------------------------------------------------------------------

samples_for(
    (aten.upsample_nearest1d.default, aten._upsample_nearest_exact1d.default),
    sample(T("f32[2,3,5]"), [10], exact=True),
    sample(T("f32[2,3,5]"), [7], exact=True),
    sample(T("f32[2,3,7]"), [3], exact=True),
    sample(T("f32[2,3,5]"), [12], 2.4, exact=True),
)
samples_for(
    (aten.upsample_nearest1d.vec, aten._upsample_nearest_exact1d.vec),
    sample(T("f32[2,3,5]"), None, [2.0], exact=True),
    sample(T("f32[2,3,5]"), [9], None, exact=True),
)
samples_for(
    (aten.upsample_nearest2d.default, aten._upsample_nearest_exact2d.default),
    sample(T("f32[2,3,4,5]"), [8, 10], exact=True),
    sample(T("f32[1,2,4,5]"), [7, 3], exact=True),
    sample(T("f32[1,2,4,5]"), [6, 8], 1.6, 1.7, exact=True),
    sample(T("bf16[1,2,4,5]", layout="channels_last"), [8, 10], exact=True),
    sample(T("u8[1,2,4,5]"), [8, 10], exact=True),
)
samples_for(
    (aten.upsample_nearest2d.vec, aten._upsample_nearest_exact2d.vec),
    sample(T("f32[1,2,4,5]"), None, [2.0, 3.0], exact=True),
    sample(T("f32[1,2,4,5]"), None, [1.5, 0.7], exact=True),
    sample(T("f32[1,2,4,5]"), [9, 11], None, exact=True),
)
samples_for(
    (aten.upsample_nearest3d.default, aten._upsample_nearest_exact3d.default),
    sample(T("f32[1,2,3,4,5]"), [6, 7, 5], exact=True),
)
samples_for(
    (aten.upsample_nearest3d.vec, aten._upsample_nearest_exact3d.vec),
    sample(T("f32[1,2,3,4,5]"), None, [2.0, 2.0, 1.5], exact=True),
)
for _align in (False, True):
    samples(
        aten.upsample_linear1d.default,
        sample(T("f32[2,3,5]"), [10], _align, tolerance=4.0),
        sample(T("f32[2,3,5]"), [3], _align, tolerance=4.0),
        sample(T("f32[2,3,5]"), [1], _align, tolerance=4.0),
    )
    samples(
        aten.upsample_linear1d.vec,
        sample(T("f32[2,3,5]"), None, _align, [1.7], tolerance=4.0),
    )
    samples_for(
        (aten.upsample_bilinear2d.default, aten.upsample_bicubic2d.default),
        sample(T("f32[2,3,4,5]"), [8, 10], _align, tolerance=4.0),
        sample(T("f32[1,2,6,5]"), [3, 9], _align, tolerance=4.0),
        sample(T("f64[1,2,6,5]"), [7, 4], _align, tolerance=8.0),
        sample(T("bf16[1,2,4,4]"), [8, 8], _align, tolerance=2.0),
        sample(T("f32[1,2,4,5]"), [6, 8], _align, 1.6, 1.7, tolerance=4.0),
    )
    samples_for(
        (aten.upsample_bilinear2d.vec, aten.upsample_bicubic2d.vec),
        sample(T("f32[1,2,4,5]"), None, _align, [2.0, 2.0], tolerance=4.0),
        sample(T("f32[1,2,4,5]"), [7, 7], _align, None, tolerance=4.0),
    )
    samples(
        aten.upsample_trilinear3d.default,
        sample(T("f32[1,2,3,4,5]"), [6, 5, 7], _align, tolerance=4.0),
    )
    samples(
        aten.upsample_trilinear3d.vec,
        sample(T("f32[1,2,3,4,5]"), None, _align, [2.0, 1.5, 2.0], tolerance=4.0),
    )
