"""Sorting and selection: runtime routines for the order, gathers for the rest."""

from __future__ import annotations

import math
from collections.abc import Mapping

import torch

from ptc.loops import build as b
from ptc.loops.index import Index
from ptc.loops.nodes import DType, LoopKind
from ptc.ops.cast_copy import convert
from ptc.ops.dtypes import Operand, compute_type, promote
from ptc.ops.elementwise import load_as, operand_value
from ptc.ops.nests import loops
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
    """The k largest (or smallest). The routine chooses among equal ones."""
    count = ctx.size(k)
    if not x.shape:
        if count.constant != 1:
            raise CompileError(
                "PTC-O003", f"topk of {count} elements of a 0-d tensor", hint="pass k=1"
            )
        return x, _first_position(ctx)
    dim = normal_dim(dim, len(x.shape))
    attrs = {"dim": dim, "k": count, "largest": bool(largest), "ordered": bool(ordered)}
    return _ordered(ctx, "topk", x, replace_at(x.shape, dim, count), attrs)


def _ordered(
    ctx: LoweringContext, routine: str, x: TensorValue, shape: Indices, attrs: Mapping[str, object]
) -> tuple[TensorValue, TensorValue]:
    """Values and positions by a routine that compares; 16-bit floats are compared as f32."""
    wide = convert(ctx, x, compute_type(x.dtype))
    values, places = ctx.empty(shape, wide.dtype), ctx.empty(shape, DType.I64)
    ctx.extern(routine, [wide], [values, places], attrs)
    return convert(ctx, values, x.dtype), places


# --- positions in sorted sequences --------------------------------------------------------------


@lowers(aten.searchsorted.Tensor, aten.searchsorted.Scalar)
def lower_searchsorted(
    ctx: LoweringContext,
    sequence: TensorValue,
    x: Operand,
    out_int32: bool,
    right: bool,
    side: str | None,
    sorter: TensorValue | None,
) -> TensorValue:
    """How many elements of the sorted last dim lie before x (with `right`, or equal it).

    A count over the whole row: sequences are short (bin edges), and a count vectorises.
    """
    if sorter is not None:
        raise CompileError(
            "PTC-O004",
            "searchsorted with a sorter is not compiled yet",
            hint="sort the sequence first: sequence.gather(-1, sorter)",
        )
    after = right or side == "right"
    shape = x.shape if isinstance(x, TensorValue) else ()
    result = DType.I32 if out_int32 else DType.I64
    common = promote([sequence, x])
    compute = compute_type(common)
    out = ctx.empty(shape, result)
    one, zero = b.literal(1, DType.I64), b.literal(0, DType.I64)
    with ctx.kernel() as k, loops(k, shape) as index:
        value = k.let(operand_value(ctx, x, shape, index, common=common, compute=compute), "value")
        count = k.accumulator("add", zero, DType.I64, "count")
        with k.loop(sequence.shape[-1], LoopKind.REDUCE, "r") as r:
            row = index[:-1] if len(sequence.shape) > 1 else ()
            edge = b.cast(load_as(ctx, sequence, (*row, r), common), compute)
            # Written as "not beyond", so that NaN goes to the end as in eager.
            beyond = b.gt(edge, value) if after else b.ge(edge, value)
            k.update(count, b.where(beyond, zero, one))
        k.store(out, index, b.cast(count, result))
    return out


@lowers(aten.bucketize.Tensor, aten.bucketize.Scalar)
def lower_bucketize(
    ctx: LoweringContext, x: Operand, boundaries: TensorValue, out_int32: bool, right: bool
) -> TensorValue:
    """searchsorted with the arguments the other way round."""
    return lower_searchsorted(ctx, boundaries, x, out_int32, right, None, None)


# --- selection by sorting -----------------------------------------------------------------------


@decomposes(aten.kthvalue.default)
def decompose_kthvalue(
    x: torch.Tensor, k: int, dim: int = -1, keepdim: bool = False
) -> tuple[torch.Tensor, torch.Tensor]:
    """The k-th smallest, counted from 1."""
    values, places = torch.sort(x, dim)
    return _pick(values, places, dim, k - 1, keepdim)


@decomposes(aten.median.dim)
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
        last_value, _ = _pick(values, places, dim, size - 1, keepdim)
        broken = torch.isnan(last_value)
        value = torch.where(broken, last_value, value)
        first_place = torch.isnan(x).to(torch.int32).argmax(dim, keepdim)
        place = torch.where(broken, first_place, place)
    return value, place


@decomposes(aten.nanmedian.dim)
def decompose_nanmedian(
    x: torch.Tensor, dim: int, keepdim: bool = False
) -> tuple[torch.Tensor, torch.Tensor]:
    """The lower middle of the elements that are not NaN, which come first in sorted order."""
    if not x.dtype.is_floating_point or x.dim() == 0:
        return decompose_median(x, dim, keepdim)
    values, places = torch.sort(x, dim)
    counted = torch.logical_not(torch.isnan(x)).sum(dim, keepdim=True)
    at = torch.div(counted - 1, 2, rounding_mode="floor").clamp(min=0)
    value, place = values.gather(dim, at), places.gather(dim, at)
    return (value, place) if keepdim else (value.squeeze(dim), place.squeeze(dim))


@decomposes(aten.nanmedian.default)
def decompose_nanmedian_all(x: torch.Tensor) -> torch.Tensor:
    """The median of everything that is not NaN."""
    if not x.dtype.is_floating_point:
        return decompose_median_all(x)
    flat = _in_a_row(x)
    # The NaN behind the others is the median of none.
    return decompose_nanmedian(torch.cat([flat, flat.new_full((1,), math.nan)]), 0)[0]


@decomposes(aten.median.default)
def decompose_median_all(x: torch.Tensor) -> torch.Tensor:
    """The median of everything."""
    flat = _in_a_row(x)
    size = flat.shape[0]
    if isinstance(size, int) and size:
        return decompose_median(flat, 0)[0]
    is_float = x.dtype.is_floating_point
    nothing = math.nan if is_float else torch.iinfo(x.dtype).min
    # One element more, behind all others in order, so that there is always one.
    last = math.nan if is_float else torch.iinfo(x.dtype).max
    values, _ = torch.sort(torch.cat([flat, flat.new_full((1,), last)]))
    count = torch.full((), size, device=x.device)
    middle = torch.div(count - 1, 2, rounding_mode="floor").clamp(min=0)
    value = values.gather(0, middle.unsqueeze(0)).squeeze(0)
    is_nothing = torch.isnan(flat).any() if is_float else count == 0
    return torch.where(is_nothing, nothing, value).to(x.dtype)


def _in_a_row(x: torch.Tensor) -> torch.Tensor:
    """All elements. To have torch work out how many would be to ask whether there are any."""
    return x if x.dim() == 1 else x.reshape((x.numel(),))


def _pick(
    values: torch.Tensor, places: torch.Tensor, dim: int, at: int | torch.SymInt, keepdim: bool
) -> tuple[torch.Tensor, torch.Tensor]:
    if values.dim() == 0:
        return values, places
    if isinstance(at, torch.SymInt):
        shape = list(values.shape)
        shape[dim] = 1
        index = torch.full(shape, at, device=values.device)  # type: ignore[call-overload]
        found = values.gather(dim, index), places.gather(dim, index)
        return found if keepdim else (found[0].squeeze(dim), found[1].squeeze(dim))
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
for _right in (False, True):
    samples(
        aten.searchsorted.Tensor,
        sample(T("i64[4]", low=3, high=4), T("i64[2,5]", low=2, high=6), right=_right),
        sample(T("f32[1]"), T("f32[30]", special=True), right=_right),
        sample(T("f32[2,1]"), T("f32[2,5]"), right=_right, out_int32=True),
    )
    samples(aten.searchsorted.Scalar, sample(T("f32[1]"), 0.1, right=_right))
    samples(
        aten.bucketize.Tensor,
        sample(T("f32[3,4]"), T("f32[1]"), right=_right),
        sample(T("i64[3]"), T("i64[0]"), right=_right),
    )
    samples(aten.bucketize.Scalar, sample(0.3, T("f32[1]"), right=_right))
samples(
    aten.kthvalue.default,
    sample(T("f32[3,7]"), 3, exact=True),
    sample(T("f32[3,7]"), 1, 0, True, exact=True),
)
samples_for(
    (aten.median.dim, aten.nanmedian.dim),
    sample(T("f32[3,7]"), 1, exact=True),
    sample(T("f32[3,8]"), 0, True, exact=True),
    sample(T("f32[]"), 0, exact=True),
)
samples(aten.median.dim, sample(T("f32[3,40]", special=True), 1, exact=True))
samples(aten.nanmedian.dim, sample(T("f32[3,40]", special=True), 1), sample(T("i64[5]"), 0))
samples_for(
    (aten.median.default, aten.nanmedian.default),
    sample(T("f32[3,4]"), exact=True),
    sample(T("i64[9]"), exact=True),
    sample(T("f32[]"), exact=True),
    sample(T("f32[0]"), exact=True),
    sample(T("i64[2,0]"), exact=True),
)
