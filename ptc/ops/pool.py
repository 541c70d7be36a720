"""Pooling windows: maxima with their positions, means, and windows that adapt to a given output.

A window is a nest of REDUCE loops; what lies outside the image is masked out of it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass

import torch

from ptc.loops import build as b
from ptc.loops.index import Index, maximum, minimum, product
from ptc.loops.nodes import DType, Expr, LoopKind, Ref
from ptc.ops.dtypes import accumulation_type, compute_type
from ptc.ops.nests import loops
from ptc.ops.protocol import Indices, KernelBuilder, LoweringContext, T, TensorValue, sample
from ptc.ops.reduce import lowest
from ptc.ops.registry import lowers, samples
from ptc.ops.shapes import ONE, ZERO, ravel

aten = torch.ops.aten

Size = int | Index


# --- windows ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Window:
    """The taps over one dim: position(out, tap), and whether a tap may lie outside the image."""

    size: Index
    output: Index
    taps: Index
    stride: int
    padding: int
    dilation: int

    def position(self, out: Index, tap: Index) -> Index:
        return out * self.stride + tap * self.dilation - self.padding

    @property
    def may_leave(self) -> tuple[bool, bool]:
        """Below the image, beyond it."""
        last = self.position(self.output - 1, self.taps - 1) - (self.size - 1)
        return self.padding > 0, last.constant is None or last.constant > 0


def _numbers(ctx: LoweringContext, values: Sequence[Size], rank: int) -> tuple[int, ...]:
    numbers = tuple(int(ctx.size(v)) for v in values)
    return numbers * rank if len(numbers) == 1 else numbers


def _windows(
    ctx: LoweringContext,
    x: TensorValue,
    rank: int,
    kernel: Sequence[Size],
    stride: Sequence[Size],
    padding: Sequence[Size],
    dilation: Sequence[Size],
    ceil_mode: bool,
) -> tuple[_Window, ...]:
    taps = _numbers(ctx, kernel, rank)
    steps = _numbers(ctx, stride, rank) if stride else taps
    pads, gaps = _numbers(ctx, padding, rank), _numbers(ctx, dilation, rank)
    return tuple(
        _Window(size, _output(size, k, s, p, d, ceil_mode), Index.const(k), s, p, d)
        for size, k, s, p, d in zip(x.shape[-rank:], taps, steps, pads, gaps, strict=True)
    )


def _output(
    size: Index, taps: int, stride: int, padding: int, dilation: int, ceil_mode: bool
) -> Index:
    """Window positions; with ceil_mode one more for a rest, if it starts inside the image or its
    left padding."""
    span = size + 2 * padding - dilation * (taps - 1) - 1
    if not ceil_mode:
        return span // stride + 1
    return minimum((span + (stride - 1)) // stride + 1, (size + padding + stride - 1) // stride)


def _inside(windows: Sequence[_Window], place: Sequence[Index]) -> Expr | None:
    """Whether a position lies in the image, testing only the sides that can be left."""
    condition: Expr | None = None
    for window, i in zip(windows, place, strict=True):
        value = b.index_value(i, DType.I64)
        below, beyond = window.may_leave
        tests = [b.ge(value, 0)] if below else []
        if beyond:
            tests.append(b.lt(value, b.index_value(window.size, DType.I64)))
        for test in tests:
            condition = test if condition is None else b.and_(condition, test)
    return condition


def _shape(x: TensorValue, windows: Sequence[_Window]) -> Indices:
    return (*x.shape[: -len(windows)], *(w.output for w in windows))


def _place(windows: Sequence[_Window], out: Indices, taps: Indices) -> Indices:
    spatial = out[-len(windows) :]
    return tuple(w.position(o, t) for w, o, t in zip(windows, spatial, taps, strict=True))


# --- maxima -------------------------------------------------------------------------------------


def _max_pool(ctx: LoweringContext, x: TensorValue, windows: Sequence[_Window]) -> TensorValue:
    out = ctx.empty(_shape(x, windows), x.dtype)
    acc = compute_type(x.dtype)
    rank = len(windows)
    with ctx.kernel() as k, loops(k, out.shape) as index:
        best = k.accumulator("max", lowest(acc), acc)
        with loops(k, [w.taps for w in windows], LoopKind.REDUCE, "r") as taps:
            place = _place(windows, index, taps)
            mask = _inside(windows, place)
            other = None if mask is None else lowest(x.dtype)
            value = ctx.load(x, (*index[:-rank], *place), mask, other)
            k.update(best, b.cast(value, acc))
        k.store(out, index, b.cast(best, x.dtype))
    return out


def _max_positions(ctx: LoweringContext, x: TensorValue, windows: Sequence[_Window]) -> TensorValue:
    """Row-major positions of the maxima in the image."""
    out = ctx.empty(_shape(x, windows), DType.I64)
    acc = compute_type(x.dtype)
    rank = len(windows)
    sizes = x.shape[-rank:]
    with ctx.kernel() as k, loops(k, out.shape) as index:
        position = _Position(k, acc)
        with loops(k, [w.taps for w in windows], LoopKind.REDUCE, "r") as taps:
            place = _place(windows, index, taps)
            value = b.cast(ctx.load(x, (*index[:-rank], *place), *_guard(windows, place, x)), acc)
            at = b.index_value(ravel(place, sizes), DType.I64)
            mask = _inside(windows, place)
            if mask is None:
                position.update(value, at)
            else:
                with k.condition(mask):
                    position.update(value, at)
        k.store(out, index, position.value())
    return out


class _Position:
    """Where a window's maximum is: the first of equals, but the last of several NaN."""

    def __init__(self, kernel: KernelBuilder, dtype: DType) -> None:
        self._kernel = kernel
        self._best = kernel.accumulator("argmax", lowest(dtype), dtype)
        self._nan: Ref | None = None
        if dtype.is_float:
            # Positions grow from tap to tap.
            self._nan = kernel.accumulator("max", b.literal(-1, DType.I64), DType.I64)

    def update(self, value: Expr, at: Expr) -> None:
        self._kernel.update(self._best, value, at)
        if self._nan is not None:
            place = b.where(b.isnan(value), at, b.literal(-1, DType.I64))
            self._kernel.update(self._nan, place)

    def value(self) -> Expr:
        if self._nan is None:
            return self._best
        return b.where(b.ge(self._nan, 0), self._nan, self._best)


def _guard(
    windows: Sequence[_Window], place: Indices, x: TensorValue
) -> tuple[Expr | None, Expr | None]:
    mask = _inside(windows, place)
    return mask, (None if mask is None else lowest(x.dtype))


def _max_pool_rule(
    ctx: LoweringContext,
    x: TensorValue,
    rank: int,
    kernel: Sequence[Size],
    stride: Sequence[Size],
    padding: Sequence[Size],
    dilation: Sequence[Size],
    ceil_mode: bool,
) -> tuple[TensorValue, TensorValue]:
    windows = _windows(ctx, x, rank, kernel, stride, padding, dilation, ceil_mode)
    return _max_pool(ctx, x, windows), _max_positions(ctx, x, windows)


@lowers(aten.max_pool2d_with_indices.default)
def lower_max_pool2d(
    ctx: LoweringContext,
    x: TensorValue,
    kernel: Sequence[Size],
    stride: Sequence[Size],
    padding: Sequence[Size],
    dilation: Sequence[Size],
    ceil_mode: bool,
) -> tuple[TensorValue, TensorValue]:
    """Maxima over windows and their positions in the image."""
    return _max_pool_rule(ctx, x, 2, kernel, stride, padding, dilation, ceil_mode)


@lowers(aten.max_pool3d_with_indices.default)
def lower_max_pool3d(
    ctx: LoweringContext,
    x: TensorValue,
    kernel: Sequence[Size],
    stride: Sequence[Size],
    padding: Sequence[Size],
    dilation: Sequence[Size],
    ceil_mode: bool,
) -> tuple[TensorValue, TensorValue]:
    """Maxima over windows and their positions in the volume."""
    return _max_pool_rule(ctx, x, 3, kernel, stride, padding, dilation, ceil_mode)


# --- means --------------------------------------------------------------------------------------


def _avg_pool(
    ctx: LoweringContext,
    x: TensorValue,
    windows: Sequence[_Window],
    count_padding: bool,
    divisor: int | None,
) -> TensorValue:
    out = ctx.empty(_shape(x, windows), x.dtype)
    acc = accumulation_type(x.dtype)
    rank = len(windows)
    with ctx.kernel() as k, loops(k, out.shape) as index:
        total = k.accumulator("add", b.literal(0, acc), acc)
        with loops(k, [w.taps for w in windows], LoopKind.REDUCE, "r") as taps:
            place = _place(windows, index, taps)
            mask = _inside(windows, place)
            other = None if mask is None else b.literal(0, x.dtype)
            value = ctx.load(x, (*index[:-rank], *place), mask, other)
            k.update(total, b.cast(value, acc))
        number = _divisor(windows, index[-rank:], count_padding, divisor)
        amount = b.cast(b.index_value(number, DType.I64), acc)
        value = b.div(total, amount) if acc.is_float else b.truncdiv(total, amount)
        k.store(out, index, b.cast(value, x.dtype))
    return out


def _divisor(
    windows: Sequence[_Window], place: Indices, count_padding: bool, divisor: int | None
) -> Index:
    """The number that a window's sum is divided by: the taps inside the image, or also those in
    the padding (but never those beyond it)."""
    if divisor is not None:
        return Index.const(divisor)
    lengths: list[Index] = []
    for window, out in zip(windows, place, strict=True):
        start = window.position(out, ZERO)
        below, beyond = window.may_leave
        if not below and not beyond:
            lengths.append(window.taps)
            continue
        end = minimum(start + window.taps, window.size + window.padding)
        if not count_padding:
            start, end = maximum(start, 0), minimum(end, window.size)
        lengths.append(end - start)
    return product(lengths)


def _avg_pool_rule(
    ctx: LoweringContext,
    x: TensorValue,
    rank: int,
    kernel: Sequence[Size],
    stride: Sequence[Size],
    padding: Sequence[Size],
    ceil_mode: bool,
    count_padding: bool,
    divisor: int | None,
) -> TensorValue:
    windows = _windows(ctx, x, rank, kernel, stride, padding, [1], ceil_mode)
    return _avg_pool(ctx, x, windows, count_padding, divisor)


@lowers(aten.avg_pool1d.default)
def lower_avg_pool1d(
    ctx: LoweringContext,
    x: TensorValue,
    kernel: Sequence[Size],
    stride: Sequence[Size],
    padding: Sequence[Size],
    ceil_mode: bool,
    count_padding: bool,
) -> TensorValue:
    """Means over windows of a line."""
    return _avg_pool_rule(ctx, x, 1, kernel, stride, padding, ceil_mode, count_padding, None)


@lowers(aten.avg_pool2d.default)
def lower_avg_pool2d(
    ctx: LoweringContext,
    x: TensorValue,
    kernel: Sequence[Size],
    stride: Sequence[Size],
    padding: Sequence[Size],
    ceil_mode: bool,
    count_padding: bool,
    divisor: int | None,
) -> TensorValue:
    """Means over windows of an image."""
    return _avg_pool_rule(ctx, x, 2, kernel, stride, padding, ceil_mode, count_padding, divisor)


@lowers(aten.avg_pool3d.default)
def lower_avg_pool3d(
    ctx: LoweringContext,
    x: TensorValue,
    kernel: Sequence[Size],
    stride: Sequence[Size],
    padding: Sequence[Size],
    ceil_mode: bool,
    count_padding: bool,
    divisor: int | None,
) -> TensorValue:
    """Means over windows of a volume."""
    return _avg_pool_rule(ctx, x, 3, kernel, stride, padding, ceil_mode, count_padding, divisor)


# --- adaptive windows ---------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Adaptive:
    """Output `i` of `output` covers [i*size // output, ceil((i+1)*size / output))."""

    size: Index
    output: Index

    @property
    def even(self) -> Index | None:
        """The window length when all are equal."""
        if self.output == ONE:
            return self.size
        if (self.size % self.output).constant == 0:
            return self.size // self.output
        return None

    @property
    def taps(self) -> Index:
        """The longest window."""
        even = self.even
        return even if even is not None else (self.size + self.output - 1) // self.output + 1

    def bounds(self, i: Index) -> tuple[Index, Index]:
        even = self.even
        if even is not None:
            return i * even, i * even + even
        return i * self.size // self.output, ((i + 1) * self.size + self.output - 1) // self.output


def _adaptive(
    ctx: LoweringContext, x: TensorValue, output: Sequence[Size | None]
) -> tuple[_Adaptive, ...]:
    sizes = x.shape[-len(output) :]
    return tuple(
        _Adaptive(size, size if out is None else ctx.size(out))
        for size, out in zip(sizes, output, strict=True)
    )


def _adaptive_place(
    windows: Sequence[_Adaptive], out: Indices, taps: Indices
) -> tuple[Indices, Expr | None]:
    """The position of a tap and whether it belongs to the window."""
    condition: Expr | None = None
    place: list[Index] = []
    for window, o, tap in zip(windows, out, taps, strict=True):
        start, end = window.bounds(o)
        place.append(start + tap)
        if window.even is None:
            test = b.lt(b.index_value(start + tap, DType.I64), b.index_value(end, DType.I64))
            condition = test if condition is None else b.and_(condition, test)
    return tuple(place), condition


def _adaptive_shape(x: TensorValue, windows: Sequence[_Adaptive]) -> Indices:
    return (*x.shape[: -len(windows)], *(w.output for w in windows))


@lowers(
    aten._adaptive_avg_pool2d.default,
    aten._adaptive_avg_pool3d.default,
    aten.adaptive_avg_pool1d.default,
)
def lower_adaptive_avg_pool(
    ctx: LoweringContext, x: TensorValue, output: Sequence[Size | None]
) -> TensorValue:
    """Means over windows that cover the image in `output` steps."""
    windows = _adaptive(ctx, x, output)
    rank = len(windows)
    acc = compute_type(x.dtype)
    out = ctx.empty(_adaptive_shape(x, windows), x.dtype)
    with ctx.kernel() as k, loops(k, out.shape) as index:
        total = k.accumulator("add", b.literal(0.0, acc), acc)
        with loops(k, [w.taps for w in windows], LoopKind.REDUCE, "r") as taps:
            place, mask = _adaptive_place(windows, index[-rank:], taps)
            other = None if mask is None else b.literal(0.0, x.dtype)
            k.update(total, b.cast(ctx.load(x, (*index[:-rank], *place), mask, other), acc))
        lengths = [w.bounds(i) for w, i in zip(windows, index[-rank:], strict=True)]
        number = product(end - start for start, end in lengths)
        value = b.div(total, b.cast(b.index_value(number, DType.I64), acc))
        k.store(out, index, b.cast(value, x.dtype))
    return out


@lowers(
    aten.adaptive_max_pool1d.default,
    aten.adaptive_max_pool2d.default,
    aten.adaptive_max_pool3d.default,
)
def lower_adaptive_max_pool(
    ctx: LoweringContext, x: TensorValue, output: Sequence[Size | None]
) -> tuple[TensorValue, TensorValue]:
    """Maxima over windows that cover the image in `output` steps, and their positions."""
    windows = _adaptive(ctx, x, output)
    return (
        _adaptive_max(ctx, x, windows, positions=False),
        _adaptive_max(ctx, x, windows, positions=True),
    )


def _adaptive_max(
    ctx: LoweringContext, x: TensorValue, windows: Sequence[_Adaptive], positions: bool
) -> TensorValue:
    rank = len(windows)
    acc = compute_type(x.dtype)
    out = ctx.empty(_adaptive_shape(x, windows), DType.I64 if positions else x.dtype)
    with ctx.kernel() as k, loops(k, out.shape) as index:
        position = _Position(k, acc) if positions else None
        best = k.accumulator("max", lowest(acc), acc) if position is None else None
        with loops(k, [w.taps for w in windows], LoopKind.REDUCE, "r") as taps:
            place, mask = _adaptive_place(windows, index[-rank:], taps)
            other = None if mask is None else lowest(x.dtype)
            value = b.cast(ctx.load(x, (*index[:-rank], *place), mask, other), acc)
            with contextlib.nullcontext() if mask is None else k.condition(mask):
                if position is not None:
                    position.update(value, b.index_value(ravel(place, x.shape[-rank:]), DType.I64))
                elif best is not None:
                    k.update(best, value)
        if position is not None:
            k.store(out, index, position.value())
        elif best is not None:
            k.store(out, index, b.cast(best, x.dtype))
    return out


# --- samples ------------------------------------------------------------------------------------

samples(
    aten.max_pool2d_with_indices.default,
    sample(T("f32[2,3,8,9]"), [2, 2], exact=True),
    sample(T("f32[1,2,9,7]"), [3, 3], [2, 2], [1, 1], exact=True),
    sample(T("f32[2,9,8]"), [3, 2], [1, 2], [1, 0], [2, 1], exact=True),
    sample(T("f32[1,2,8,9]"), [3, 3], [2, 2], [1, 1], [1, 1], True, exact=True),
    sample(T("f32[1,1,19,19]"), [3, 3], [2, 2], [1, 1], exact=True),
    sample(T("f32[1,2,9,20]", special=True), [3, 3], [1, 1], [1, 1], exact=True),
    sample(T("bf16[1,2,6,6]"), [2, 2], exact=True),
    sample(T("f32[1,2,6,6]", low=-9.0, high=-1.0), [3, 3], [1, 1], [1, 1], exact=True),
    sample(T("f32[1,2,7,7]"), [2, 2], [3, 3], [0, 0], [1, 1], True, exact=True),
)
samples(
    aten.max_pool3d_with_indices.default,
    sample(T("f32[1,2,4,6,5]"), [2, 2, 2], exact=True),
    sample(T("f32[2,5,6,5]"), [3, 3, 3], [2, 2, 2], [1, 1, 1], exact=True),
)
samples(
    aten.avg_pool1d.default,
    sample(T("f32[2,3,9]"), [3], [2], [1]),
    sample(T("f32[3,9]"), [2]),
    sample(T("f32[1,1,8]"), [3], [2], [1], True, False),
)
samples(
    aten.avg_pool2d.default,
    sample(T("f32[2,3,8,9]"), [2, 2]),
    sample(T("f32[1,2,9,7]"), [3, 3], [2, 2], [1, 1]),
    sample(T("f32[1,2,9,7]"), [3, 3], [2, 2], [1, 1], False, False),
    sample(T("f32[1,2,8,7]"), [3, 3], [2, 2], [1, 1], True, True),
    sample(T("f32[1,2,8,7]"), [3, 3], [2, 2], [1, 1], True, False),
    sample(T("f32[1,2,8,7]"), [3, 3], [2, 2], [0, 0], True, True),
    sample(T("f32[2,8,7]"), [3, 2], [2, 1], [0, 0], False, True, 5),
    sample(T("bf16[1,2,6,6]"), [2, 2]),
)
samples(
    aten.avg_pool3d.default,
    sample(T("f32[1,2,4,6,5]"), [2, 2, 2]),
    sample(T("f32[2,5,6,5]"), [3, 3, 3], [2, 2, 2], [1, 1, 1], True, False),
)
samples(
    aten._adaptive_avg_pool2d.default,
    sample(T("f32[2,3,8,6]"), [4, 3]),
    sample(T("f32[2,3,7,5]"), [3, 4]),
    sample(T("f32[3,7,5]"), [1, 1]),
    sample(T("f32[1,2,3,3]"), [5, 7]),
    sample(T("bf16[1,2,7,7]"), [1, 1]),
)
samples(aten._adaptive_avg_pool3d.default, sample(T("f32[1,2,5,4,6]"), [2, 4, 3]))
samples(aten.adaptive_avg_pool1d.default, sample(T("f32[2,3,7]"), [3]), sample(T("f32[3,8]"), [2]))
samples(aten.adaptive_max_pool1d.default, sample(T("f32[2,3,7]"), [3], exact=True))
samples(
    aten.adaptive_max_pool2d.default,
    sample(T("f32[2,3,8,6]"), [4, 3], exact=True),
    sample(T("f32[2,3,7,5]"), [3, 4], exact=True),
    sample(T("f32[1,1,9,9]"), [4, 4], exact=True),
    sample(T("f32[1,2,9,20]", special=True), [3, 5], exact=True),
)
samples(aten.adaptive_max_pool3d.default, sample(T("f32[1,2,5,4,6]"), [2, 4, 3], exact=True))
samples(
    aten.max_pool2d_with_indices.default,
    sample(T("f32[1,19,15,17]"), [3, 3], [2, 2], [1, 1], exact=True),
    sample(T("f32[1,19,15,17]", layout="channels_last"), [2, 2], exact=True),
)
samples(
    aten.avg_pool2d.default,
    sample(T("f32[1,19,15,17]", layout="channels_last"), [3, 3], [2, 2], [1, 1]),
)
