"""Padding: constants by masked reads, reflection and replication by index maps."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch

from ptc.loops import build as b
from ptc.loops.index import Index, maximum, minimum
from ptc.loops.nodes import DType, Expr
from ptc.ops.dtypes import Operand
from ptc.ops.elementwise import operand_value
from ptc.ops.protocol import Indices, LoweringContext, T, TensorValue, sample
from ptc.ops.registry import lowers, samples, samples_for
from ptc.ops.shapes import ZERO, is_empty

aten = torch.ops.aten

Size = int | Index


def _amounts(ctx: LoweringContext, pad: Sequence[Size], rank: int) -> list[tuple[Index, Index]]:
    """(before, after) for each dim; the list given starts with the last dim."""
    amounts = [(ZERO, ZERO)] * rank
    for place in range(len(pad) // 2):
        amounts[rank - 1 - place] = (ctx.size(pad[2 * place]), ctx.size(pad[2 * place + 1]))
    return amounts


@lowers(aten.constant_pad_nd.default)
def lower_constant_pad(
    ctx: LoweringContext, x: TensorValue, pad: Sequence[Size], value: Operand
) -> TensorValue:
    """x with a border of one number; negative amounts cut off."""
    amounts = _amounts(ctx, pad, len(x.shape))
    shape = tuple(
        size + before + after for size, (before, after) in zip(x.shape, amounts, strict=True)
    )
    border = operand_value(ctx, value, (), (), common=x.dtype, compute=x.dtype)

    def element(index: Indices) -> Expr:
        place: list[Index] = []
        inside: Expr | None = None
        for i, size, (before, after) in zip(index, x.shape, amounts, strict=True):
            at = i - before
            place.append(at)
            for test in _tests(at, size, before, after):
                inside = test if inside is None else b.and_(inside, test)
        return ctx.load(x, tuple(place), inside, None if inside is None else border)

    if is_empty(x.shape):
        return ctx.pointwise(shape, x.dtype, lambda _: border)
    return ctx.pointwise(shape, x.dtype, element)


def _tests(at: Index, size: Index, before: Index, after: Index) -> list[Expr]:
    """Whether a position is inside, on the sides that are padded."""
    value = b.index_value(at, DType.I64)
    tests: list[Expr] = []
    if before.constant is None or before.constant > 0:
        tests.append(b.ge(value, b.literal(0, DType.I64)))
    if after.constant is None or after.constant > 0:
        tests.append(b.lt(value, b.index_value(size, DType.I64)))
    return tests


def _pad_by_map(
    ctx: LoweringContext,
    x: TensorValue,
    pad: Sequence[Size],
    inside: Callable[[Index, Index], Index],
) -> TensorValue:
    """Every position outside shows the one that `inside(position, size)` gives."""
    amounts = _amounts(ctx, pad, len(x.shape))
    shape = tuple(
        size + before + after for size, (before, after) in zip(x.shape, amounts, strict=True)
    )

    def remap(index: Indices) -> Indices:
        return tuple(
            i if before == ZERO and after == ZERO else inside(i - before, size)
            for i, size, (before, after) in zip(index, x.shape, amounts, strict=True)
        )

    return ctx.view(x, shape, remap)


def _reflected(position: Index, size: Index) -> Index:
    """|position| mirrored at the last element: the end points are not repeated."""
    distance = maximum(position, -position)
    from_end = (size - 1) - distance
    return (size - 1) - maximum(from_end, -from_end)


def _nearest(position: Index, size: Index) -> Index:
    return minimum(maximum(position, 0), size - 1)


@lowers(aten.reflection_pad1d.default, aten.reflection_pad2d.default, aten.reflection_pad3d.default)
def lower_reflection_pad(ctx: LoweringContext, x: TensorValue, pad: Sequence[Size]) -> TensorValue:
    """x mirrored at its borders."""
    return _pad_by_map(ctx, x, pad, _reflected)


@lowers(
    aten.replication_pad1d.default, aten.replication_pad2d.default, aten.replication_pad3d.default
)
def lower_replication_pad(ctx: LoweringContext, x: TensorValue, pad: Sequence[Size]) -> TensorValue:
    """x with its border elements repeated."""
    return _pad_by_map(ctx, x, pad, _nearest)


# --- samples ------------------------------------------------------------------------------------

samples(
    aten.constant_pad_nd.default,
    sample(T("f32[3,4]"), [1, 2], exact=True),
    sample(T("f32[3,4]"), [1, 2, 0, 3], 0.5, exact=True),
    sample(T("f32[3,4]"), [-1, 2, 2, -1], exact=True),
    sample(T("f32[3,4]"), [-1, -1], exact=True),
    sample(T("bf16[2,3]"), [1, 1], 0.1, exact=True),
    sample(T("bool[3]"), [1, 1], True, exact=True),
    sample(T("i64[2,3]"), [0, 1, 1, 0], 7, exact=True),
    sample(T("f32[0,3]"), [1, 1, 2, 1], exact=True),
    sample(T("f32[3,4]"), [0, 0], exact=True),
)
samples_for(
    (aten.reflection_pad1d.default, aten.replication_pad1d.default),
    sample(T("f32[2,3,6]"), [2, 3], exact=True),
    sample(T("f32[3,5]"), [1, 0], exact=True),
    sample(T("f32[3,5]"), [-1, 2], exact=True),
)
samples_for(
    (aten.reflection_pad2d.default, aten.replication_pad2d.default),
    sample(T("f32[2,3,4,5]"), [1, 2, 3, 0], exact=True),
    sample(T("bf16[3,4,5]"), [1, 1, 1, 1], exact=True),
)
samples_for(
    (aten.reflection_pad3d.default, aten.replication_pad3d.default),
    sample(T("f32[1,2,3,4,5]"), [1, 2, 3, 0, 1, 1], exact=True),
)
