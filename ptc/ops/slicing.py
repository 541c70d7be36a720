"""Parts of tensors: slices, splits, diagonals and windows. Each is an index map, as in `views`.

Positions and bounds that count from the end, or that only the run knows, are index arithmetic here.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch

from ptc.loops.index import Index, maximum, minimum
from ptc.ops.protocol import Indices, LoweringContext, T, TensorValue, sample
from ptc.ops.registry import lowers, samples, samples_for
from ptc.ops.shapes import ZERO, is_empty, normal_dim, replace_at
from ptc.ops.views import lower_unsqueeze
from ptc.support.diagnostics import CompileError

aten = torch.ops.aten

Size = int | Index

# What `x[a:]` passes as the end.
_OPEN_END = 2**63 - 1


def narrow(
    ctx: LoweringContext,
    x: TensorValue,
    dim: int,
    start: Index,
    length: Index,
    step: int | Index = 1,
) -> TensorValue:
    """`length` elements of `dim` from `start`, every `step`-th."""
    shape = replace_at(x.shape, dim, length)
    return ctx.view(x, shape, lambda index: replace_at(index, dim, start + index[dim] * step))


# More than any size: floor division by it tells the sign of a difference of sizes.
_BEYOND_SIZES = 2**40


def from_front(ctx: LoweringContext, bound: Index, size: Index) -> Index:
    """A position that may count from the end, counted from the front.

    The sign of a symbolic one is clear when all its coefficients agree (sizes are positive, ints
    among the inputs need not be); otherwise the expression decides when it is evaluated:
    bound // 2**40 is -1 below zero, else 0.
    """
    if bound.constant is not None:
        return bound + size if bound.constant < 0 else bound
    sizes = ctx.counts_sizes(bound)
    if sizes and bound.offset >= 0 and all(factor > 0 for _, factor in bound.terms):
        return bound
    if sizes and bound.offset <= 0 and all(factor < 0 for _, factor in bound.terms):
        return bound + size
    return bound - size * (bound // _BEYOND_SIZES)


def slice_step(ctx: LoweringContext, step: Size) -> Index:
    """The step of a slice, at least 1: eager refuses others, and nothing is divided by 0."""
    stride = ctx.size(step)
    return stride if stride.constant is not None else maximum(stride, 1)


def slice_bounds(
    ctx: LoweringContext, size: Index, start: Size | None, end: Size | None, step: Index
) -> tuple[Index, Index]:
    """First position and number of elements of a Python slice over `size` elements."""
    first = ZERO if start is None else _clamped(ctx, ctx.size(start), size)
    if end is None or (isinstance(end, int) and end >= _OPEN_END):
        last = size
    else:
        last = _clamped(ctx, ctx.size(end), size)
    span = last - first
    if span.constant is not None:
        span = Index.const(max(0, span.constant))
    elif last != size and first != ZERO:
        span = maximum(span, 0)
    return first, (span if step == 1 else (span + (step - 1)) // step)


def _clamped(ctx: LoweringContext, bound: Index, size: Index) -> Index:
    """A slice bound moved into [0, size]."""
    if bound == size:
        return size
    place = from_front(ctx, bound, size)
    if place.constant is not None and size.constant is not None:
        return Index.const(min(max(0, place.constant), size.constant))
    # Only a bound that counted from the end can lie before the start.
    inside = place if place == bound and place.constant is not None else maximum(place, 0)
    return inside if inside.constant == 0 else minimum(inside, size)


@lowers(aten.slice.Tensor, aten.slice_copy.Tensor)
def lower_slice(
    ctx: LoweringContext,
    x: TensorValue,
    dim: int,
    start: Size | None,
    end: Size | None,
    step: Size,
) -> TensorValue:
    """x[..., start:end:step, ...]."""
    dim = normal_dim(dim, len(x.shape))
    stride = slice_step(ctx, step)
    first, length = slice_bounds(ctx, x.shape[dim], start, end, stride)
    if first == ZERO and length == x.shape[dim] and stride == 1:
        return x
    return narrow(ctx, x, dim, first, length, stride)


@lowers(aten.select.int, aten.select_copy.int)
def lower_select(ctx: LoweringContext, x: TensorValue, dim: int, index: Size) -> TensorValue:
    """x[..., index, ...]."""
    dim = normal_dim(dim, len(x.shape))
    place = wrapped_position(ctx, index, x.shape[dim])
    shape = (*x.shape[:dim], *x.shape[dim + 1 :])
    return ctx.view(x, shape, lambda i: (*i[:dim], place, *i[dim:]))


def wrapped_position(ctx: LoweringContext, index: Size, size: Index) -> Index:
    """A position that may count from the end."""
    return from_front(ctx, ctx.size(index), size)


@lowers(aten.narrow.default)
def lower_narrow(
    ctx: LoweringContext, x: TensorValue, dim: int, start: Size, length: Size
) -> TensorValue:
    """`length` elements of `dim` from `start`."""
    dim = normal_dim(dim, len(x.shape))
    first = wrapped_position(ctx, start, x.shape[dim])
    return narrow(ctx, x, dim, first, ctx.size(length))


@lowers(aten.split_with_sizes.default, aten.split_with_sizes_copy.default)
def lower_split_with_sizes(
    ctx: LoweringContext, x: TensorValue, sizes: Sequence[Size], dim: int
) -> tuple[TensorValue, ...]:
    """Consecutive parts of the given sizes."""
    dim = normal_dim(dim, len(x.shape))
    parts: list[TensorValue] = []
    start = ZERO
    for size in sizes:
        length = ctx.size(size)
        parts.append(narrow(ctx, x, dim, start, length))
        start = start + length
    return tuple(parts)


@lowers(aten.split.Tensor, aten.split_copy.Tensor, aten.unsafe_split.Tensor)
def lower_split(
    ctx: LoweringContext, x: TensorValue, size: Size, dim: int
) -> tuple[TensorValue, ...]:
    """Parts of one size, the last one shorter. The number of parts must be known."""
    dim = normal_dim(dim, len(x.shape))
    length, part = x.shape[dim], ctx.size(size)
    if part.constant == 0:
        return (x,)
    count = ((length + part - 1) // part).constant
    if count is None:
        raise CompileError(
            "PTC-O003",
            f"split of a dimension of {length} into parts of {part}: the number of parts is not "
            "known when compiling",
            hint="make the dimension static, or split with explicit sizes",
        )
    sizes = [part] * (count - 1) + [length - part * (count - 1)]
    if count == 0:
        sizes = [length]
    return lower_split_with_sizes(ctx, x, sizes, dim)


@lowers(aten.unbind.int, aten.unbind_copy.int)
def lower_unbind(ctx: LoweringContext, x: TensorValue, dim: int) -> tuple[TensorValue, ...]:
    """Every slice along `dim`, which must have a known size."""
    count = x.shape[normal_dim(dim, len(x.shape))].constant
    if count is None:
        raise CompileError(
            "PTC-O003",
            "unbind along a dynamic dimension: the number of results is not known when compiling",
            hint="index the tensor instead, or make the dimension static",
        )
    return tuple(lower_select(ctx, x, dim, i) for i in range(count))


@lowers(aten.diagonal.default, aten.diagonal_copy.default)
def lower_diagonal(
    ctx: LoweringContext, x: TensorValue, offset: int, dim1: int, dim2: int
) -> TensorValue:
    """The diagonal of dims dim1 and dim2, as the last dim."""
    rank = len(x.shape)
    row, column = normal_dim(dim1, rank), normal_dim(dim2, rank)
    down, right = max(-offset, 0), max(offset, 0)
    length = minimum(x.shape[row] - down, x.shape[column] - right)
    if length.constant is not None:
        length = Index.const(max(0, length.constant))
    kept = [d for d in range(rank) if d not in (row, column)]

    shape = [*(x.shape[d] for d in kept), length]

    def remap(index: Indices) -> Indices:
        if is_empty(shape):
            return tuple(ZERO for _ in range(rank))
        place = dict(zip(kept, index[:-1], strict=True))
        place[row], place[column] = index[-1] + down, index[-1] + right
        return tuple(place[d] for d in range(rank))

    return ctx.view(x, shape, remap)


@lowers(aten.unfold.default, aten.unfold_copy.default)
def lower_unfold(
    ctx: LoweringContext, x: TensorValue, dim: int, size: Size, step: Size
) -> TensorValue:
    """Windows of `size` elements along `dim`, every `step`; the window is the last dim."""
    if not x.shape:
        return lower_unsqueeze(ctx, x, 0)
    dim = normal_dim(dim, len(x.shape))
    width, stride = ctx.size(size), ctx.size(step)
    windows = (x.shape[dim] - width) // stride + 1
    shape = (*replace_at(x.shape, dim, windows), width)
    return ctx.view(
        x,
        shape,
        lambda index: replace_at(index[:-1], dim, index[dim] * stride + index[-1]),
    )


# --- samples ------------------------------------------------------------------------------------

samples_for(
    (aten.slice.Tensor, aten.slice_copy.Tensor),
    sample(T("f32[5,4]"), 0, 1, 3, exact=True),
    sample(T("f32[5,4]"), 1, -3, _OPEN_END, exact=True),
    sample(T("f32[9]"), 0, 1, _OPEN_END, 3, exact=True),
    sample(T("f32[5]"), 0, None, -1, exact=True),
    sample(T("f32[5]"), 0, 4, 2, exact=True),
    sample(T("f32[5]"), 0, -9, 99, 2, exact=True),
    sample(T("f32[0]"), 0, 1, 3, exact=True),
)
samples_for(
    (aten.select.int, aten.select_copy.int),
    sample(T("f32[3,4]"), 0, 1, exact=True),
    sample(T("f32[3,4]"), -1, -2, exact=True),
    sample(T("f32[3]"), 0, 2, exact=True),
)
samples(aten.narrow.default, sample(T("f32[5,3]"), 0, 1, 3), sample(T("f32[5]"), 0, -3, 2))
samples_for(
    (aten.split_with_sizes.default, aten.split_with_sizes_copy.default),
    sample(T("f32[6,2]"), [1, 2, 3], exact=True),
    sample(T("f32[2,5]"), [0, 5], 1, exact=True),
)
samples_for(
    (aten.split.Tensor, aten.split_copy.Tensor, aten.unsafe_split.Tensor),
    sample(T("f32[7,2]"), 3, exact=True),
    sample(T("f32[2,4]"), 2, -1, exact=True),
)
samples_for(
    (aten.unbind.int, aten.unbind_copy.int),
    sample(T("f32[3,2]"), exact=True),
    sample(T("f32[3,2]"), -1, exact=True),
)
samples_for(
    (aten.diagonal.default, aten.diagonal_copy.default),
    sample(T("f32[3,4]"), exact=True),
    sample(T("f32[2,3,4]"), 1, 0, 2, exact=True),
    sample(T("f32[3,4,2]"), -2, 0, 1, exact=True),
    sample(T("f32[3,4]"), 4, exact=True),
)
samples_for(
    (aten.unfold.default, aten.unfold_copy.default),
    sample(T("f32[9]"), 0, 3, 2, exact=True),
    sample(T("f32[2,7,3]"), 1, 2, 1, exact=True),
    sample(T("f32[]"), 0, 1, 1, exact=True),
)
