"""Sampling an image at positions that are data."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from ptc.loops import build as b
from ptc.loops.index import Index
from ptc.loops.nodes import DType, Expr
from ptc.ops.dtypes import compute_type
from ptc.ops.elementwise import load_as
from ptc.ops.nests import loops
from ptc.ops.protocol import KernelBuilder, LoweringContext, T, TensorValue, sample
from ptc.ops.registry import lowers, samples
from ptc.ops.upsample import cubic_weights
from ptc.support.diagnostics import CompileError

aten = torch.ops.aten

# How torch numbers the modes.
_BILINEAR, _NEAREST, _BICUBIC = 0, 1, 2
_ZEROS, _BORDER, _REFLECTION = 0, 1, 2


@dataclass(frozen=True, slots=True)
class _Axis:
    """One dim of the image and how positions outside it are treated."""

    size: Index
    padding: int
    align_corners: bool

    def length(self, dtype: DType) -> Expr:
        return b.cast(b.index_value(self.size, DType.I64), dtype)

    def unnormalised(self, v: Expr) -> Expr:
        """From [-1, 1] to element positions."""
        size = self.length(v.dtype)
        if self.align_corners:
            return b.mul(b.div(b.add(v, 1.0), 2.0), b.sub(size, 1.0))
        return b.div(b.sub(b.mul(b.add(v, 1.0), size), 1.0), 2.0)

    def brought_inside(self, v: Expr) -> Expr:
        """Clamped or reflected, as the padding mode says; zeros are left to the reads."""
        last = b.sub(self.length(v.dtype), 1.0)
        if self.padding == _BORDER:
            return b.min_(b.max_(v, 0.0), last)
        if self.padding == _REFLECTION:
            return b.min_(b.max_(self._reflected(v), 0.0), last)
        return v

    def _reflected(self, v: Expr) -> Expr:
        """Mirrored at the centres (or the outer edges) of the border elements."""
        size = self.length(v.dtype)
        low = 0.0 if self.align_corners else -0.5
        span = b.sub(size, 1.0) if self.align_corners else size
        if self.align_corners and self.size.constant == 1:
            return b.literal(0.0, v.dtype)
        distance = b.abs_(b.sub(v, low))
        extra = b.fmod(distance, span)
        flips = b.apply("floor", b.div(distance, span))
        even = b.eq(b.fmod(flips, b.literal(2.0, v.dtype)), 0.0)
        there = b.add(extra, low)
        back = b.add(b.sub(span, extra), low)
        return b.where(even, there, back)


class _Reader:
    """Reads elements of one image at bound positions; outside it they are zero."""

    def __init__(
        self, ctx: LoweringContext, k: KernelBuilder, x: TensorValue, n: Index, dtype: DType
    ) -> None:
        self.ctx, self.k, self.x, self.n, self.dtype = ctx, k, x, n, dtype

    def bind(self, axis: _Axis, whole: Expr) -> tuple[Index, Expr]:
        """A position as an index within the image, and whether it was inside."""
        value = self.k.let(b.cast(whole, DType.I64), "whole")
        size = b.index_value(axis.size, DType.I64)
        inside = self.k.let(b.and_(b.ge(value, 0), b.lt(value, size)), "inside")
        cut = b.max_(b.min_(value, b.sub(size, 1)), 0)
        return Index.var(self.k.let(cut, "at", bounds=axis.size).name), inside

    def read(self, channel: Index, row: tuple[Index, Expr], column: tuple[Index, Expr]) -> Expr:
        element = load_as(self.ctx, self.x, (self.n, channel, row[0], column[0]), self.dtype)
        return b.where(b.and_(row[1], column[1]), element, b.literal(0.0, self.dtype))


@lowers(aten.grid_sampler_2d.default)
def lower_grid_sampler(
    ctx: LoweringContext,
    x: TensorValue,
    grid: TensorValue,
    mode: int,
    padding: int,
    align_corners: bool,
) -> TensorValue:
    """x[n, c, h, w] at grid[n, i, j] = (column, row), each from -1 to 1 over the image."""
    dtype = compute_type(x.dtype)
    if mode not in (_BILINEAR, _NEAREST, _BICUBIC):
        raise CompileError("PTC-O004", f"grid_sample mode {mode} is unknown", hint="use bilinear")
    rows = _Axis(x.shape[2], padding, align_corners)
    columns = _Axis(x.shape[3], padding, align_corners)
    channels = x.shape[1]
    out = ctx.empty((x.shape[0], channels, grid.shape[1], grid.shape[2]), x.dtype)
    pick = {_BILINEAR: _bilinear_taps, _NEAREST: _nearest_taps, _BICUBIC: _bicubic_taps}[mode]
    outer = (out.shape[0], *out.shape[2:])
    with ctx.kernel() as k, loops(k, outer) as (n, i, j):
        reader = _Reader(ctx, k, x, n, dtype)
        across, down = (
            k.let(axis.unnormalised(load_as(ctx, grid, (n, i, j, Index.const(place)), dtype)))
            for place, axis in ((0, columns), (1, rows))
        )
        row_taps, column_taps = pick(reader, rows, down), pick(reader, columns, across)
        with k.loop(channels) as channel:
            total: Expr | None = None
            for row, row_weight in row_taps:
                for column, column_weight in column_taps:
                    element = reader.read(channel, row, column)
                    term = b.mul(element, b.mul(row_weight, column_weight))
                    total = term if total is None else b.add(total, term)
            assert total is not None
            k.store(out, (n, channel, i, j), b.cast(total, x.dtype))
    return out


_Tap = tuple[tuple[Index, Expr], Expr]


def _nearest_taps(r: _Reader, axis: _Axis, v: Expr) -> list[_Tap]:
    place = axis.brought_inside(v)
    return [(r.bind(axis, b.apply("round", place)), b.literal(1.0, r.dtype))]


def _bilinear_taps(r: _Reader, axis: _Axis, v: Expr) -> list[_Tap]:
    place = r.k.let(axis.brought_inside(v), "place")
    floor = r.k.let(b.apply("floor", place), "floor")
    above = r.k.let(b.sub(place, floor), "above")
    below = r.k.let(b.sub(b.literal(1.0, r.dtype), above), "below")
    return [(r.bind(axis, floor), below), (r.bind(axis, b.add(floor, 1.0)), above)]


def _bicubic_taps(r: _Reader, axis: _Axis, v: Expr) -> list[_Tap]:
    """The padding mode applies to each of the four elements, not to the position."""
    floor = r.k.let(b.apply("floor", v), "floor")
    rest = r.k.let(b.sub(v, floor), "rest")
    weights = [r.k.let(w, "weight") for w in cubic_weights(rest)]
    return [
        (r.bind(axis, axis.brought_inside(b.add(floor, float(step)))), weight)
        for step, weight in zip((-1, 0, 1, 2), weights, strict=True)
    ]


for _mode in (_BILINEAR, _NEAREST, _BICUBIC):
    for _padding in (_ZEROS, _BORDER, _REFLECTION):
        for _align in (False, True):
            samples(
                aten.grid_sampler_2d.default,
                sample(
                    T("f32[2,3,4,5]"),
                    T("f32[2,3,6,2]", low=-1.6, high=1.6),
                    _mode,
                    _padding,
                    _align,
                    tolerance=8.0,
                ),
            )
