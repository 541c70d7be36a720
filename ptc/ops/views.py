"""Views: operators that only say where elements lie. Each is an index map and costs nothing.

Operators that copy in eager but move whole elements (flip, repeat, roll) are index maps too: the
graph is functional, so nobody can tell.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch

from ptc.loops.index import Index
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
    (aten.as_strided.default, aten.as_strided_copy.default),
    sample(T("f32[4,6]"), [2, 3], [6, 2], exact=True),
    sample(T("f32[12]"), [3, 3], [2, 1], 3, exact=True),
    sample(T("f32[4,6]"), [3, 2], [1, 6], 0, exact=True),
)
