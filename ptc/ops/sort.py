"""Sorting and selection: runtime routines for the order, gathers for the rest."""

from __future__ import annotations

import torch

from ptc.loops import build as b
from ptc.loops.index import Index
from ptc.loops.nodes import DType
from ptc.ops.cast_copy import convert
from ptc.ops.dtypes import compute_type
from ptc.ops.protocol import Indices, LoweringContext, T, TensorValue, sample
from ptc.ops.registry import decomposes, lowers, samples, samples_for
from ptc.ops.shapes import normal_dim, replace_at
from ptc.support.diagnostics import CompileError

aten = torch.ops.aten

Size = int | Index


def _first_position(ctx: LoweringContext) -> TensorValue:
    return ctx.pointwise((), DType.I64, lambda _: b.literal(0, DType.I64))


@lowers(aten.sort.default)
def lower_sort(
    ctx: LoweringContext, x: TensorValue, dim: int, descending: bool
) -> tuple[TensorValue, TensorValue]:
    """Values in order and where they were. NaN counts as largest; the routine is stable."""
    if not x.shape:
        return x, _first_position(ctx)
    attrs = {"dim": normal_dim(dim, len(x.shape)), "descending": bool(descending)}
    return _ordered(ctx, "sort", x, x.shape, attrs)


@lowers(aten.sort.stable)
def lower_sort_stable(
    ctx: LoweringContext, x: TensorValue, stable: bool | None, dim: int, descending: bool
) -> tuple[TensorValue, TensorValue]:
    """The same: it is always stable."""
    return lower_sort(ctx, x, dim, descending)


@lowers(aten.topk.default)
def lower_topk(
    ctx: LoweringContext, x: TensorValue, k: Size, dim: int, largest: bool, ordered: bool
) -> tuple[TensorValue, TensorValue]:
    """The k largest (or smallest), in order whether asked for or not."""
    count = ctx.size(k)
    if not x.shape:
        if count.constant != 1:
            raise CompileError(
                "PTC-O003", f"topk of {count} elements of a 0-d tensor", hint="pass k=1"
            )
        return x, _first_position(ctx)
    dim = normal_dim(dim, len(x.shape))
    attrs = {"dim": dim, "k": count, "largest": bool(largest)}
    return _ordered(ctx, "topk", x, replace_at(x.shape, dim, count), attrs)


def _ordered(
    ctx: LoweringContext, routine: str, x: TensorValue, shape: Indices, attrs: dict[str, object]
) -> tuple[TensorValue, TensorValue]:
    """Values and positions by a routine that compares; 16-bit floats are compared as f32."""
    wide = convert(ctx, x, compute_type(x.dtype))
    values, places = ctx.empty(shape, wide.dtype), ctx.empty(shape, DType.I64)
    ctx.extern(routine, [wide], [values, places], attrs)
    return convert(ctx, values, x.dtype), places


@decomposes(aten.kthvalue.default)
def decompose_kthvalue(
    x: torch.Tensor, k: int, dim: int = -1, keepdim: bool = False
) -> tuple[torch.Tensor, torch.Tensor]:
    """The k-th smallest, counted from 1."""
    values, places = torch.sort(x, dim)
    return _pick(values, places, dim, k - 1, keepdim)


@decomposes(aten.median.dim, aten.nanmedian.dim)
def decompose_median(
    x: torch.Tensor, dim: int, keepdim: bool = False
) -> tuple[torch.Tensor, torch.Tensor]:
    """The lower of the two middle elements; NaN when there is one.

    Sorted order puts NaN last, so a row has one exactly if its last element is.
    """
    values, places = torch.sort(x, dim)
    size = x.shape[dim] if x.dim() else 1
    value, place = _pick(values, places, dim, (size - 1) // 2, keepdim)
    if x.dtype.is_floating_point:
        last_value, last_place = _pick(values, places, dim, size - 1, keepdim)
        broken = torch.isnan(last_value)
        value = torch.where(broken, last_value, value)
        place = torch.where(broken, last_place, place)
    return value, place


@decomposes(aten.median.default)
def decompose_median_all(x: torch.Tensor) -> torch.Tensor:
    """The median of everything."""
    return decompose_median(x.reshape(-1), 0)[0]


def _pick(
    values: torch.Tensor, places: torch.Tensor, dim: int, at: int, keepdim: bool
) -> tuple[torch.Tensor, torch.Tensor]:
    if values.dim() == 0:
        return values, places
    picked = values.narrow(dim, at, 1), places.narrow(dim, at, 1)
    return picked if keepdim else (picked[0].squeeze(dim), picked[1].squeeze(dim))


# --- samples ------------------------------------------------------------------------------------

samples(
    aten.sort.default,
    sample(T("f32[3,7]"), exact=True),
    sample(T("f32[3,7]"), 0, True, exact=True),
    sample(T("f64[9]"), exact=True),
    sample(T("i32[3,5]"), 1, exact=True),
    sample(T("bf16[4]"), exact=True),
    sample(T("f32[]"), exact=True),
    sample(T("f32[0,3]"), exact=True),
    sample(T("f32[7,3]", layout="transposed"), 0, exact=True),
)
samples(
    aten.sort.stable,
    sample(T("i64[3,20]", low=0, high=4), stable=True, dim=1, exact=True),
    sample(T("bool[20]"), stable=True, exact=True),
    sample(T("i64[20]", low=0, high=4), stable=True, descending=True, exact=True),
    sample(T("f32[30]", special=True), stable=True, exact=True),
)
samples(
    aten.topk.default,
    sample(T("f32[3,7]"), 3, exact=True),
    sample(T("f32[3,7]"), 2, 0, False, exact=True),
    sample(T("f64[9]"), 9, exact=True),
    sample(T("f32[9]"), 0, exact=True),
    sample(T("f32[]"), 1, exact=True),
)
