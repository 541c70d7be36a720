"""Views: operators that only say where elements lie. Each is an index map and costs nothing.

Operators that copy in eager but move whole elements (flip, repeat, roll) are index maps too: the
graph is functional, so nobody can tell.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch

from ptc.loops.index import Index, maximum, minimum
from ptc.ops.protocol import Indices, LoweringContext, T, TensorValue, sample
from ptc.ops.registry import examines, lowers, samples, samples_for
from ptc.ops.shapes import (
    ONE,
    ZERO,
    expand,
    is_empty,
    normal_dim,
    numel,
    replace_at,
    reshape,
    resolve_shape,
    unravel,
)
from ptc.support.diagnostics import CompileError

aten = torch.ops.aten

Size = int | Index

# What `x[a:]` passes as the end.
_OPEN_END = 2**63 - 1


# --- shape --------------------------------------------------------------------------------------


@lowers(
    aten.view.default,
    aten.reshape.default,
    aten._unsafe_view.default,
    aten._reshape_alias.default,
    aten.view_copy.default,
)
def lower_view(
    ctx: LoweringContext, x: TensorValue, sizes: Sequence[Size], strides: object = None
) -> TensorValue:
    """The elements in row-major order under another shape."""
    return reshape(ctx, x, resolve_shape(ctx, sizes, numel(x.shape)))


@lowers(aten.expand.default, aten.expand_copy.default)
def lower_expand(ctx: LoweringContext, x: TensorValue, sizes: Sequence[Size]) -> TensorValue:
    """Stretch sizes of 1; -1 keeps a size; new dims come first."""
    new = len(sizes) - len(x.shape)
    shape = [ctx.size(s) for s in sizes]
    for place, size in enumerate(shape):
        if size.constant == -1:
            shape[place] = x.shape[place - new]
    return expand(ctx, x, shape)


@lowers(aten.unsqueeze.default, aten.unsqueeze_copy.default)
def lower_unsqueeze(ctx: LoweringContext, x: TensorValue, dim: int) -> TensorValue:
    """A new dim of size 1."""
    place = dim + len(x.shape) + 1 if dim < 0 else dim
    shape = (*x.shape[:place], ONE, *x.shape[place:])
    return ctx.view(x, shape, lambda index: (*index[:place], *index[place + 1 :]))


def drop_dims(ctx: LoweringContext, x: TensorValue, dims: Sequence[int]) -> TensorValue:
    """Remove `dims`, which have size 1."""
    gone = set(dims)
    kept = [d for d in range(len(x.shape)) if d not in gone]
    if not gone:
        return x

    def remap(index: Indices) -> Indices:
        values = iter(index)
        return tuple(ZERO if d in gone else next(values) for d in range(len(x.shape)))

    return ctx.view(x, [x.shape[d] for d in kept], remap)


@lowers(aten.squeeze.default, aten.squeeze_copy.default)
def lower_squeeze(ctx: LoweringContext, x: TensorValue) -> TensorValue:
    """Remove every dim of size 1."""
    return drop_dims(ctx, x, [d for d, size in enumerate(x.shape) if size.constant == 1])


@lowers(aten.squeeze.dim, aten.squeeze.dims, aten.squeeze_copy.dim, aten.squeeze_copy.dims)
def lower_squeeze_dims(
    ctx: LoweringContext, x: TensorValue, dims: int | Sequence[int]
) -> TensorValue:
    """Remove those of `dims` that have size 1."""
    asked = [dims] if isinstance(dims, int) else dims
    if not x.shape:
        return x
    places = {normal_dim(d, len(x.shape)) for d in asked}
    return drop_dims(ctx, x, [d for d in sorted(places) if x.shape[d].constant == 1])


# --- order --------------------------------------------------------------------------------------


@lowers(aten.permute.default, aten.permute_copy.default)
def lower_permute(ctx: LoweringContext, x: TensorValue, dims: Sequence[int]) -> TensorValue:
    """Dim `i` of the result is dim `dims[i]` of x."""
    order = [normal_dim(d, len(x.shape)) for d in dims]
    place = {source: new for new, source in enumerate(order)}
    return ctx.view(
        x,
        [x.shape[d] for d in order],
        lambda index: tuple(index[place[d]] for d in range(len(order))),
    )


@lowers(aten.transpose.int, aten.transpose_copy.int)
def lower_transpose(ctx: LoweringContext, x: TensorValue, a: int, c: int) -> TensorValue:
    """Swap two dims."""
    order = list(range(len(x.shape)))
    if not order:
        return x
    a, c = normal_dim(a, len(order)), normal_dim(c, len(order))
    order[a], order[c] = order[c], order[a]
    return lower_permute(ctx, x, order)


@lowers(aten.t.default, aten.t_copy.default)
def lower_t(ctx: LoweringContext, x: TensorValue) -> TensorValue:
    """Swap the dims of a matrix; vectors stay."""
    return lower_transpose(ctx, x, 0, 1) if len(x.shape) == 2 else x


@lowers(aten.movedim.intlist, aten.movedim.int)
def lower_movedim(
    ctx: LoweringContext, x: TensorValue, source: int | Sequence[int], to: int | Sequence[int]
) -> TensorValue:
    """Move dims to new places; the others keep their order."""
    rank = len(x.shape)
    sources = [normal_dim(d, rank) for d in ([source] if isinstance(source, int) else source)]
    targets = [normal_dim(d, rank) for d in ([to] if isinstance(to, int) else to)]
    rest = iter(d for d in range(rank) if d not in sources)
    moved = dict(zip(targets, sources, strict=True))
    return lower_permute(ctx, x, [moved[d] if d in moved else next(rest) for d in range(rank)])


@lowers(aten.flip.default)
def lower_flip(ctx: LoweringContext, x: TensorValue, dims: Sequence[int]) -> TensorValue:
    """Reverse `dims`."""
    reversed_dims = {normal_dim(d, len(x.shape)) for d in dims} if x.shape else set()
    return ctx.view(
        x,
        x.shape,
        lambda index: tuple(
            x.shape[d] - 1 - i if d in reversed_dims else i for d, i in enumerate(index)
        ),
    )


@lowers(aten.roll.default)
def lower_roll(
    ctx: LoweringContext, x: TensorValue, shifts: Sequence[Size] | Size, dims: Sequence[int] | int
) -> TensorValue:
    """Shift elements along dims, wrapping around; without dims, in the flattened order."""
    amounts = [shifts] if isinstance(shifts, int | Index) else list(shifts)
    places = [dims] if isinstance(dims, int) else list(dims)
    if is_empty(x.shape) or not x.shape:
        return x
    if not places:
        flat = reshape(ctx, x, (numel(x.shape),))
        return reshape(ctx, lower_roll(ctx, flat, amounts, [0]), x.shape)
    for amount, dim in zip(amounts, places, strict=True):
        x = _roll_dim(ctx, x, ctx.size(amount), normal_dim(dim, len(x.shape)))
    return x


def _roll_dim(ctx: LoweringContext, x: TensorValue, shift: Index, dim: int) -> TensorValue:
    size = x.shape[dim]
    back = (size - shift % size) % size
    return ctx.view(x, x.shape, lambda index: replace_at(index, dim, (index[dim] + back) % size))


@lowers(aten.repeat.default)
def lower_repeat(ctx: LoweringContext, x: TensorValue, repeats: Sequence[Size]) -> TensorValue:
    """Tile: `repeats` counts copies of each dim, new dims first."""
    new = len(repeats) - len(x.shape)
    counts = [ctx.size(r) for r in repeats]
    shape = [
        count if place < new else count * x.shape[place - new] for place, count in enumerate(counts)
    ]

    def remap(index: Indices) -> Indices:
        return tuple(
            index[new + d] if counts[new + d].constant == 1 else _wrapped(index[new + d], size)
            for d, size in enumerate(x.shape)
        )

    return ctx.view(x, shape, remap)


def _wrapped(position: Index, size: Index) -> Index:
    return ZERO if size.constant in (0, 1) else position % size


# --- parts --------------------------------------------------------------------------------------


def narrow(
    ctx: LoweringContext, x: TensorValue, dim: int, start: Index, length: Index, step: int = 1
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


def slice_step(ctx: LoweringContext, step: Size) -> int:
    """The step of a slice as a number."""
    constant = ctx.size(step).constant
    if constant is None:
        raise CompileError(
            "PTC-O003",
            "a slice with a step that is not known when compiling",
            hint="index with torch.arange(start, stop, step) instead",
        )
    return constant


def slice_bounds(
    ctx: LoweringContext, size: Index, start: Size | None, end: Size | None, step: int
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


# --- memory -------------------------------------------------------------------------------------


@examines(aten.as_strided.default, aten.as_strided_copy.default)
def examine_as_strided(
    x: torch.Tensor,
    sizes: Sequence[int],
    strides: Sequence[int],
    offset: int | None = None,
) -> None:
    """Refuse memory that is not the whole of one row-major tensor: the rule could not follow it."""
    if not x.is_contiguous() or x.storage_offset() != 0:
        raise CompileError(
            "PTC-O004",
            f"as_strided of memory with strides {tuple(x.stride())} is not compiled yet",
            hint="call .contiguous() before as_strided, or use slicing and reshape",
        )
    static = all(isinstance(n, int) for n in (*sizes, *strides, *x.shape))
    if static and 0 not in sizes:
        reach = sum((n - 1) * s for n, s in zip(sizes, strides, strict=True)) + (offset or 0)
        if reach >= x.numel():
            raise CompileError(
                "PTC-O004",
                f"as_strided reads element {reach} of a tensor of {x.numel()}",
                hint="apply as_strided to the tensor that owns the memory, not to a part of it",
            )


@lowers(aten.as_strided.default, aten.as_strided_copy.default)
def lower_as_strided(
    ctx: LoweringContext,
    x: TensorValue,
    sizes: Sequence[Size],
    strides: Sequence[Size],
    offset: Size | None,
) -> TensorValue:
    """Elements at offset + sum(index * stride) of the memory of x, read as row-major.

    `examine_as_strided` has made sure that eager's memory is row-major, too.
    """
    start = ctx.size(0 if offset is None else offset)
    steps = [ctx.size(s) for s in strides]
    shape = [ctx.size(s) for s in sizes]

    def remap(index: Indices) -> Indices:
        place = start
        for i, step in zip(index, steps, strict=True):
            place = place + i * step
        return tuple(ZERO for _ in x.shape) if is_empty(shape) else unravel(place, x.shape)

    return ctx.view(x, shape, remap)


# --- samples ------------------------------------------------------------------------------------

samples_for(
    (aten.view.default, aten.reshape.default, aten._unsafe_view.default, aten.view_copy.default),
    sample(T("f32[2,3,4]"), [6, 4], exact=True),
    sample(T("f32[2,3,4]"), [2, 12], exact=True),
    sample(T("f32[2,12]"), [2, 3, -1], exact=True),
    sample(T("i64[24]"), [2, 3, 4], exact=True),
    sample(T("f32[4,6]"), [3, 8], exact=True),
    sample(T("f32[1,1]"), [], exact=True),
    sample(T("bool[]"), [1, 1], exact=True),
    sample(T("f32[0,3]"), [3, 0], exact=True),
    sample(T("f32[2,1,3]"), [1, 6, 1], exact=True),
    sample(T("f32[2,3]"), [2, 3], exact=True),
)
samples(
    aten.reshape.default,
    sample(T("f32[3,4]", layout="transposed"), [12], exact=True),
    sample(T("f32[2,3,4,5]", layout="channels_last"), [2, -1], exact=True),
)
samples(aten._reshape_alias.default, sample(T("f32[2,6]"), [3, 4], [4, 1], exact=True))
samples_for(
    (aten.expand.default, aten.expand_copy.default),
    sample(T("f32[3,1]"), [3, 4], exact=True),
    sample(T("f32[3,1]"), [2, -1, 4], exact=True),
    sample(T("f32[]"), [2, 2], exact=True),
    sample(T("f32[1]"), [0], exact=True),
)
samples_for(
    (aten.unsqueeze.default, aten.unsqueeze_copy.default),
    sample(T("f32[2,3]"), 0, exact=True),
    sample(T("f32[2,3]"), -1, exact=True),
    sample(T("f32[]"), 0, exact=True),
)
samples_for(
    (aten.squeeze.default, aten.squeeze_copy.default),
    sample(T("f32[1,2,1]"), exact=True),
    sample(T("f32[]"), exact=True),
)
samples_for(
    (aten.squeeze.dim, aten.squeeze_copy.dim),
    sample(T("f32[1,2,1]"), 0, exact=True),
    sample(T("f32[1,2,1]"), -2, exact=True),
    sample(T("f32[]"), 0, exact=True),
)
samples_for(
    (aten.squeeze.dims, aten.squeeze_copy.dims), sample(T("f32[1,2,1]"), [0, -1], exact=True)
)
samples_for(
    (aten.permute.default, aten.permute_copy.default),
    sample(T("f32[2,3,4]"), [2, 0, 1], exact=True),
    sample(T("f32[2,3]"), [-1, 0], exact=True),
    sample(T("f32[]"), [], exact=True),
)
samples_for(
    (aten.transpose.int, aten.transpose_copy.int),
    sample(T("f32[2,3,4]"), -1, 1, exact=True),
    sample(T("f32[2,3]", layout="transposed"), 0, 1, exact=True),
)
samples_for((aten.t.default, aten.t_copy.default), sample(T("f32[2,3]")), sample(T("f32[3]")))
samples(aten.movedim.int, sample(T("f32[2,3,4]"), 0, -1, exact=True))
samples(aten.movedim.intlist, sample(T("f32[2,3,4]"), [0, 1], [2, 0], exact=True))
samples(
    aten.flip.default,
    sample(T("f32[2,3,4]"), [0, -1], exact=True),
    sample(T("i64[0,2]"), [1], exact=True),
    sample(T("f32[]"), [], exact=True),
)
samples(
    aten.roll.default,
    sample(T("f32[3,4]"), [1], [0], exact=True),
    sample(T("f32[3,4]"), [-1, 6], [0, 1], exact=True),
    sample(T("f32[3,4]"), [5], exact=True),
    sample(T("f32[0,4]"), [1], [1], exact=True),
)
samples(
    aten.repeat.default,
    sample(T("f32[2,3]"), [2, 2], exact=True),
    sample(T("f32[3]"), [2, 1, 2], exact=True),
    sample(T("f32[]"), [3], exact=True),
    sample(T("f32[2,3]"), [0, 1], exact=True),
)
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
samples_for(
    (aten.as_strided.default, aten.as_strided_copy.default),
    sample(T("f32[4,6]"), [2, 3], [6, 2], exact=True),
    sample(T("f32[12]"), [3, 3], [2, 1], 3, exact=True),
    sample(T("f32[4,6]"), [3, 2], [1, 6], 0, exact=True),
)
