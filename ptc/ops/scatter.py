"""Writing at positions that are data: index_put, scatter, index_add and their kin.

Writes go to a copy. Loops over the dim that is scattered to are serial, because positions may
repeat; the last write wins.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack

import torch

from ptc.loops import build as b
from ptc.loops.index import Index
from ptc.loops.nodes import DType, Expr, LoopKind, Ref
from ptc.ops.compare_logic import select
from ptc.ops.concat import copy_of
from ptc.ops.dtypes import Operand, compute_type
from ptc.ops.elementwise import load_as, operand_value, scalar
from ptc.ops.gather import Indexing, drawn_at, position, reject_masks
from ptc.ops.nests import loops
from ptc.ops.protocol import Indices, LoweringContext, T, TensorValue, sample
from ptc.ops.reduce import highest, lowest
from ptc.ops.registry import lowers, samples, samples_for
from ptc.ops.shapes import (
    ONE,
    broadcast_shapes,
    expand,
    normal_dim,
    replace_at,
    reshape,
)
from ptc.support.diagnostics import CompileError

aten = torch.ops.aten


# --- advanced indexing ----------------------------------------------------------------------------


@lowers(aten.index_put.default, aten._unsafe_index_put.default)
def lower_index_put(
    ctx: LoweringContext,
    x: TensorValue,
    indices: Sequence[TensorValue | None],
    values: TensorValue,
    accumulate: bool,
) -> TensorValue:
    """x with x[indices] replaced by (or increased by) `values`, which are broadcast."""
    given = [t for t in indices if t is not None]
    if len(given) == 1 and given[0].dtype is DType.BOOL and not values.shape:
        return _masked_put(ctx, x, indices, values, accumulate)
    reject_masks(indices, "writing")
    if not given:
        return expand(ctx, values, x.shape)
    plan = Indexing(x, indices)
    source = expand(ctx, values, plan.shape)
    out = copy_of(ctx, x)
    reduce = "add" if accumulate else None
    with ctx.kernel() as k:
        plan.nest(
            ctx,
            k,
            "index_put",
            lambda i, target: k.store(
                out, target, load_as(ctx, source, i, out.dtype), _logical(reduce, out.dtype)
            ),
            LoopKind.SERIAL,
        )
    return out


def _logical(reduce: str | None, dtype: DType) -> str | None:
    """Bools add by `or`, which is `max`."""
    return "max" if reduce == "add" and dtype is DType.BOOL else reduce


def _masked_put(
    ctx: LoweringContext,
    x: TensorValue,
    indices: Sequence[TensorValue | None],
    value: TensorValue,
    accumulate: bool,
) -> TensorValue:
    """One value for all of x[mask]: a choice for each element."""
    first = next(d for d, t in enumerate(indices) if t is not None)
    mask = indices[first]
    assert mask is not None
    covered = len(mask.shape)
    wide = ctx.view(mask, x.shape, lambda index: index[first : first + covered])
    if not accumulate:
        return select(ctx, wide, value, x, x.dtype)

    def element(index: Indices) -> Expr:
        old = operand_value(ctx, x, x.shape, index, common=x.dtype, compute=compute_type(x.dtype))
        new = operand_value(ctx, value, x.shape, index, common=x.dtype, compute=old.dtype)
        return b.cast(b.where(ctx.load(wide, index), b.add(old, new), old), x.dtype)

    return ctx.pointwise(x.shape, x.dtype, element)


# --- scatter --------------------------------------------------------------------------------------


def _scatter(
    ctx: LoweringContext,
    out: TensorValue,
    dim: int,
    indices: TensorValue,
    value: Callable[[Indices], Expr],
    reduce: str | None,
    what: str,
) -> None:
    """out[i with position `dim` replaced by indices[i]] = value(i), in order along `dim`."""
    with ctx.kernel() as k, ExitStack() as stack:
        index: list[Index] = []
        for d, size in enumerate(indices.shape):
            kind = LoopKind.SERIAL if d == dim else LoopKind.PARALLEL
            index.append(stack.enter_context(k.loop(size, kind)))
        place = tuple(index)
        size = out.shape[dim] if out.shape else ONE
        at = position(k, ctx.load(indices, place), size, what)
        if not out.shape:
            target: Indices = ()
        elif not place:
            target = (at,)
        else:
            target = replace_at(place, dim, at)
        k.store(out, target, value(place), reduce)


@lowers(aten.scatter.src)
def lower_scatter(
    ctx: LoweringContext, x: TensorValue, dim: int, indices: TensorValue, source: TensorValue
) -> TensorValue:
    """x with elements of `source` written at positions along `dim`."""
    out = copy_of(ctx, x)
    dim = normal_dim(dim, len(x.shape))
    _scatter(ctx, out, dim, indices, lambda i: load_as(ctx, source, i, x.dtype), None, "scatter")
    return out


@lowers(aten.scatter.value)
def lower_scatter_value(
    ctx: LoweringContext, x: TensorValue, dim: int, indices: TensorValue, value: Operand
) -> TensorValue:
    """x with one number written at positions along `dim`."""
    out = copy_of(ctx, x)
    dim = normal_dim(dim, len(x.shape))
    element = operand_value(ctx, value, (), (), common=x.dtype, compute=x.dtype)
    _scatter(ctx, out, dim, indices, lambda _: element, None, "scatter")
    return out


@lowers(aten.scatter_add.default)
def lower_scatter_add(
    ctx: LoweringContext, x: TensorValue, dim: int, indices: TensorValue, source: TensorValue
) -> TensorValue:
    """x with elements of `source` added at positions along `dim`."""
    return _scatter_reduced(ctx, x, dim, indices, lambda i: load_as(ctx, source, i, x.dtype), "add")


def _scatter_reduced(
    ctx: LoweringContext,
    x: TensorValue,
    dim: int,
    indices: TensorValue,
    value: Callable[[Indices], Expr],
    reduce: str,
    what: str = "scatter",
) -> TensorValue:
    out = copy_of(ctx, x)
    dim = normal_dim(dim, len(x.shape))
    _scatter(ctx, out, dim, indices, value, _logical(reduce, x.dtype), what)
    return out


_REDUCTIONS = {
    "sum": "add", "add": "add", "prod": "mul", "multiply": "mul", "amax": "max", "amin": "min",
    "mean": "add",
}  # fmt: skip


@lowers(aten.scatter.reduce)
def lower_scatter_with(
    ctx: LoweringContext,
    x: TensorValue,
    dim: int,
    indices: TensorValue,
    source: TensorValue,
    reduce: str,
) -> TensorValue:
    """The older form: `add` or `multiply`."""
    return lower_scatter_reduce(ctx, x, dim, indices, source, reduce, True)


@lowers(aten.scatter.value_reduce)
def lower_scatter_value_with(
    ctx: LoweringContext,
    x: TensorValue,
    dim: int,
    indices: TensorValue,
    value: Operand,
    reduce: str,
) -> TensorValue:
    """The older form with one number."""
    element = operand_value(ctx, value, (), (), common=x.dtype, compute=x.dtype)
    return _scatter_reduced(ctx, x, dim, indices, lambda _: element, _REDUCTIONS[reduce])


@lowers(aten.scatter_reduce.two)
def lower_scatter_reduce(
    ctx: LoweringContext,
    x: TensorValue,
    dim: int,
    indices: TensorValue,
    source: TensorValue,
    reduce: str,
    include_self: bool,
) -> TensorValue:
    """Combine elements of `source` at positions along `dim`, with what x has there or without."""
    dim = normal_dim(dim, len(x.shape))
    out = copy_of(ctx, x)
    op = _REDUCTIONS[reduce]
    if not include_self:
        start = _identity(op, x.dtype)
        _scatter(ctx, out, dim, indices, lambda _: start, None, "scatter_reduce")
    _scatter(
        ctx, out, dim, indices, lambda i: load_as(ctx, source, i, x.dtype),
        _logical(op, x.dtype), "scatter_reduce",
    )  # fmt: skip
    return out if reduce != "mean" else _divided(ctx, out, dim, indices, include_self)


def _identity(op: str, dtype: DType) -> Expr:
    if op == "max":
        return lowest(dtype)
    if op == "min":
        return highest(dtype)
    return scalar(1 if op == "mul" else 0, dtype, dtype)


def _divided(
    ctx: LoweringContext, total: TensorValue, dim: int, indices: TensorValue, include_self: bool
) -> TensorValue:
    """`total` over the number of elements that went into each place (at least 1)."""
    first = b.literal(1 if include_self else 0, DType.I64)
    counts = ctx.pointwise(total.shape, DType.I64, lambda _: first)
    one = b.literal(1, DType.I64)
    _scatter(ctx, counts, dim, indices, lambda _: one, "add", "scatter_reduce")
    compute = compute_type(total.dtype)

    def element(index: Indices) -> Expr:
        value = load_as(ctx, total, index, compute)
        number = b.cast(b.max_(ctx.load(counts, index), 1), compute)
        quotient = b.div(value, number) if compute.is_float else b.floordiv(value, number)
        return b.cast(quotient, total.dtype)

    return ctx.pointwise(total.shape, total.dtype, element)


# --- slices at data positions ---------------------------------------------------------------------


def _write_slices(
    ctx: LoweringContext,
    x: TensorValue,
    dim: int,
    indices: TensorValue,
    value: Callable[[Indices], Expr],
    reduce: str | None,
    what: str,
    *,
    wraps: bool = False,
) -> TensorValue:
    """x with whole slices along `dim` written in order; `value` by the index of the source."""
    out = copy_of(ctx, x)
    if not x.shape:
        with ctx.kernel() as k:
            k.store(out, (), value(()), reduce)
        return out
    dim = normal_dim(dim, len(x.shape))
    count = indices.shape[0] if indices.shape else ONE
    with ctx.kernel() as k, k.loop(count, LoopKind.SERIAL) as row:
        number = ctx.load(indices, (row,) if indices.shape else ())
        at = position(k, number, x.shape[dim], what, wraps=wraps)
        with loops(k, (*x.shape[:dim], *x.shape[dim + 1 :])) as rest:
            target = (*rest[:dim], at, *rest[dim:])
            k.store(out, target, value((*rest[:dim], row, *rest[dim:])), reduce)
    return out


@lowers(aten.index_add.default)
def lower_index_add(
    ctx: LoweringContext,
    x: TensorValue,
    dim: int,
    indices: TensorValue,
    source: TensorValue,
    alpha: Operand,
) -> TensorValue:
    """x with alpha * source added to slices along `dim`."""

    def value(index: Indices) -> Expr:
        element = load_as(ctx, source, index, compute_type(x.dtype))
        if not (isinstance(alpha, int | float) and alpha == 1):
            factor = operand_value(ctx, alpha, (), (), common=element.dtype, compute=element.dtype)
            element = b.mul(element, factor)
        return b.cast(element, x.dtype)

    return _write_slices(ctx, x, dim, indices, value, _logical("add", x.dtype), "index_add")


@lowers(aten.index_copy.default)
def lower_index_copy(
    ctx: LoweringContext, x: TensorValue, dim: int, indices: TensorValue, source: TensorValue
) -> TensorValue:
    """x with slices along `dim` replaced by those of `source`."""
    return _write_slices(
        ctx, x, dim, indices, lambda i: load_as(ctx, source, i, x.dtype), None, "index_copy"
    )


@lowers(aten.index_fill.int_Scalar, aten.index_fill.int_Tensor)
def lower_index_fill(
    ctx: LoweringContext, x: TensorValue, dim: int, indices: TensorValue, value: Operand
) -> TensorValue:
    """x with slices along `dim` filled with one number."""
    element = operand_value(ctx, value, (), (), common=x.dtype, compute=x.dtype)
    return _write_slices(ctx, x, dim, indices, lambda _: element, None, "index_fill", wraps=True)


@lowers(aten.masked_scatter.default)
def lower_masked_scatter(
    ctx: LoweringContext, x: TensorValue, mask: TensorValue, source: TensorValue
) -> TensorValue:
    """x with the elements where the mask is true replaced by those of `source`, in order."""
    shape = broadcast_shapes(x.shape, mask.shape)
    x, mask = expand(ctx, x, shape), expand(ctx, mask, shape)
    size = ONE
    for extent in source.shape:
        size = size * extent
    flat = reshape(ctx, source, (size,))
    out = copy_of(ctx, x)
    one, zero = b.literal(1, DType.I64), b.literal(0, DType.I64)
    with ctx.kernel() as k:
        taken: Ref = k.accumulator("add", zero, DType.I64, "taken")
        with loops(k, shape, LoopKind.SERIAL) as index:
            chosen = ctx.load(mask, index)
            k.update(taken, b.where(chosen, one, zero))
            with k.condition(chosen):
                at = position(k, b.sub(taken, one), size, "masked_scatter")
                k.store(out, index, ctx.load(flat, (at,)))
    return out


# --- counting -----------------------------------------------------------------------------------


@lowers(aten.histc.default)
def lower_histc(
    ctx: LoweringContext, x: TensorValue, bins: int, low: float, high: float
) -> TensorValue:
    """Counts of the elements in `bins` equal parts of [low, high]; others are left out."""
    if float(low) == float(high):
        raise CompileError(
            "PTC-O004",
            "histc over the range of its own data is not compiled yet",
            hint="pass min= and max=",
        )
    compute = compute_type(x.dtype)
    out = ctx.pointwise((Index.of(bins),), x.dtype, lambda _: scalar(0, x.dtype, x.dtype))
    one = scalar(1, x.dtype, x.dtype)
    with ctx.kernel() as k, loops(k, x.shape, LoopKind.SERIAL) as index:
        value = k.let(load_as(ctx, x, index, compute), "value")
        least, most = scalar(low, compute), scalar(high, compute)
        with k.condition(b.and_(b.ge(value, least), b.le(value, most))):
            scaled = b.mul(b.sub(value, least), scalar(bins, compute))
            part = b.div if compute.is_float else b.truncdiv
            place = b.cast(part(scaled, b.sub(most, least)), DType.I64)
            at = k.let(b.min_(place, bins - 1), "at", bounds=Index.of(bins))
            k.store(out, (Index.var(at.name),), one, "add")
    return out


# --- samples --------------------------------------------------------------------------------------

samples_for(
    (aten.index_put.default, aten._unsafe_index_put.default),
    sample(T("f32[5,4]"), [drawn_at("i64[3]", 5, -5)], T("f32[3,4]"), True, tolerance=2.0),
    sample(T("f32[5,4]"), [drawn_at("i64[3]", 5)], T("f32[]"), exact=True),
    sample(T("f32[5,4,3]"), [None, drawn_at("i64[1]", 4)], T("f32[5,1,3]"), exact=True),
    sample(T("i64[5,4]"), [drawn_at("i64[9]", 5), drawn_at("i64[9]", 4)], T("i64[9]"), True),
    sample(T("f32[5,4]"), [T("bool[5,4]")], T("f32[]"), exact=True),
    sample(T("f32[2,5,4]"), [None, T("bool[5]")], T("f32[]"), exact=True),
    sample(T("f32[5,4]"), [T("bool[5]")], T("f32[]"), True),
)
samples(
    aten.scatter.src,
    sample(T("f32[1,4]"), 0, drawn_at("i64[1,4]", 1), T("f32[2,4]"), exact=True),
    sample(T("f32[9]"), 0, T("i64[1]", low=3, high=4), T("f32[5]"), exact=True),
    sample(T("f32[]"), 0, drawn_at("i64[]", 1), T("f32[]"), exact=True),
)
samples(
    aten.scatter.value,
    sample(T("f32[3,5]"), 1, drawn_at("i64[3,4]", 5), 0.5, exact=True),
    sample(T("bool[5]"), -1, drawn_at("i64[3]", 5), True, exact=True),
    sample(T("i64[3,5]"), 0, drawn_at("i64[2,5]", 3), 7, exact=True),
)
samples(
    aten.scatter_add.default,
    sample(T("f32[3,5]"), 1, drawn_at("i64[3,9]", 5), T("f32[3,9]"), tolerance=2.0),
    sample(T("f32[3,5]"), 0, drawn_at("i64[4,2]", 3), T("f32[5,3]"), tolerance=2.0),
    sample(T("i64[5]"), 0, drawn_at("i64[9]", 5), T("i64[9]")),
    sample(T("bf16[5]"), 0, drawn_at("i64[4]", 5), T("bf16[4]"), tolerance=2.0),
)
samples(
    aten.scatter.reduce,
    sample(T("f32[3,5]"), 1, drawn_at("i64[3,4]", 5), T("f32[3,4]"), reduce="add", tolerance=2.0),
    sample(T("f32[5]"), 0, drawn_at("i64[4]", 5), T("f32[4]"), reduce="multiply", tolerance=2.0),
)
samples(
    aten.scatter.value_reduce,
    sample(T("f32[5]"), 0, drawn_at("i64[4]", 5), 2.0, reduce="multiply"),
)
for _reduce in ("sum", "prod", "mean", "amax", "amin"):
    for _include in (True, False):
        samples(
            aten.scatter_reduce.two,
            sample(
                T("f32[3,5]"), 1, drawn_at("i64[3,9]", 5), T("f32[3,9]"), _reduce,
                include_self=_include, tolerance=2.0,
            ),
            sample(
                T("i64[5]"), 0, drawn_at("i64[9]", 5), T("i64[9]"), _reduce, include_self=_include
            ),
        )  # fmt: skip
samples(
    aten.index_add.default,
    sample(T("f32[5,4]"), 0, drawn_at("i64[3]", 5), T("f32[3,4]"), tolerance=2.0),
    sample(T("f32[3,5]"), -1, drawn_at("i64[7]", 5), T("f32[3,7]"), alpha=0.5, tolerance=2.0),
    sample(T("i64[5]"), 0, drawn_at("i64[7]", 5), T("i64[7]"), alpha=2),
)
samples(
    aten.index_copy.default,
    sample(T("f32[5,4]"), 0, T("i64[1]", low=2, high=3), T("f32[1,4]"), exact=True),
    sample(T("f32[5]"), 0, drawn_at("i64[1]", 5), T("f32[1]"), exact=True),
)
samples(
    aten.index_fill.int_Scalar,
    sample(T("f32[3,5]"), 1, drawn_at("i64[3]", 5), 0.5, exact=True),
    sample(T("i64[5]"), 0, drawn_at("i64[]", 5), 3, exact=True),
)
samples(aten.index_fill.int_Tensor, sample(T("f32[3,5]"), 1, drawn_at("i64[3]", 5), T("f32[]")))
samples(
    aten.masked_scatter.default,
    sample(T("f32[3,4]"), T("bool[3,4]"), T("f32[12]"), exact=True),
    sample(T("f32[3,4]"), T("bool[4]"), T("f32[4,4]"), exact=True),
)
samples(
    aten.histc.default,
    sample(T("f32[3,20]"), 4, -1, 1, exact=True),
    sample(T("f32[50]"), 7, 0, 2, exact=True),
    sample(T("f64[20]"), 5, -2.5, 1.5, exact=True),
)
