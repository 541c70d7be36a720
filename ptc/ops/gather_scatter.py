"""Reading and writing at positions that are data: embedding, gather, index, scatter.

Every position is checked, as eager raises for one out of range; the check is made once for each
position read, outside the loops over the dims it does not depend on. Writes go to a copy; loops over
the dim that is scattered to are serial, because positions may repeat.
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
from ptc.ops.dtypes import Operand
from ptc.ops.elementwise import load_as, operand_value, scalar
from ptc.ops.nests import loops
from ptc.ops.protocol import Indices, KernelBuilder, LoweringContext, T, TensorValue, sample
from ptc.ops.reduce import highest, lowest
from ptc.ops.registry import lowers, samples, samples_for
from ptc.ops.shapes import (
    ONE,
    broadcast_index,
    broadcast_shapes,
    expand,
    normal_dim,
    replace_at,
    reshape,
)
from ptc.support.diagnostics import CompileError

aten = torch.ops.aten


# --- positions ----------------------------------------------------------------------------------


def position(
    k: KernelBuilder, value: Expr, size: Index, what: str, *, wraps: bool = False
) -> Index:
    """Bind a position read from data and check it. With `wraps`, -1 is the last."""
    limit = b.index_value(size, DType.I64)
    raw: Expr = k.let(b.cast(value, DType.I64), "raw")
    lowest_legal: Expr = b.literal(0, DType.I64)
    if wraps:
        lowest_legal = b.sub(lowest_legal, limit)
    k.check(
        b.and_(b.ge(raw, lowest_legal), b.lt(raw, limit)),
        f"{what}: index out of range for a dimension of {size}",
    )
    if wraps:
        raw = b.where(b.lt(raw, 0), b.add(raw, limit), raw)
    return Index.var(k.let(raw, "at", bounds=size).name)


# --- reading ------------------------------------------------------------------------------------


@lowers(aten.embedding.default)
def lower_embedding(
    ctx: LoweringContext,
    weight: TensorValue,
    indices: TensorValue,
    padding: object,
    scale_by_frequency: bool,
    sparse: bool,
) -> TensorValue:
    """Rows of `weight`. Padding and frequency matter to gradients only."""
    return _select_along(ctx, weight, 0, indices, "embedding")


@lowers(aten.index_select.default)
def lower_index_select(
    ctx: LoweringContext, x: TensorValue, dim: int, indices: TensorValue
) -> TensorValue:
    """Slices of x along `dim`."""
    if not x.shape:
        return x
    if not indices.shape:
        indices = ctx.view(indices, (ONE,), lambda i: ())
    return _select_along(ctx, x, normal_dim(dim, len(x.shape)), indices, "index_select")


def _select_along(
    ctx: LoweringContext, x: TensorValue, dim: int, indices: TensorValue, what: str
) -> TensorValue:
    """x with `dim` replaced by the dims of `indices`."""
    shape = (*x.shape[:dim], *indices.shape, *x.shape[dim + 1 :])
    out = ctx.empty(shape, x.dtype)
    with (
        ctx.kernel() as k,
        loops(k, x.shape[:dim]) as before,
        loops(k, indices.shape) as place,
    ):
        at = position(k, ctx.load(indices, place), x.shape[dim], what)
        with loops(k, x.shape[dim + 1 :]) as after:
            k.store(out, (*before, *place, *after), ctx.load(x, (*before, at, *after)))
    return out


@lowers(aten.gather.default)
def lower_gather(
    ctx: LoweringContext, x: TensorValue, dim: int, indices: TensorValue, sparse: bool
) -> TensorValue:
    """out[i] = x[i with position `dim` replaced by indices[i]]."""
    out = ctx.empty(indices.shape, x.dtype)
    dim = normal_dim(dim, len(x.shape))
    with ctx.kernel() as k, loops(k, indices.shape) as index:
        if x.shape and indices.shape:
            at = position(k, ctx.load(indices, index), x.shape[dim], "gather")
            value = ctx.load(x, replace_at(index, dim, at))
        else:
            value = _gather_scalar(ctx, k, x, indices, index)
        k.store(out, index, value)
    return out


def _gather_scalar(
    ctx: LoweringContext, k: KernelBuilder, x: TensorValue, indices: TensorValue, index: Indices
) -> Expr:
    """A 0-d tensor gathers like a vector of one element."""
    size = x.shape[0] if x.shape else ONE
    at = position(k, ctx.load(indices, index), size, "gather")
    return ctx.load(x, (at,) if x.shape else ())


@lowers(aten.take.default)
def lower_take(ctx: LoweringContext, x: TensorValue, indices: TensorValue) -> TensorValue:
    """Elements at positions of the flattened tensor."""
    size = ONE
    for extent in x.shape:
        size = size * extent
    flat = reshape(ctx, x, (size,))
    out = ctx.empty(indices.shape, x.dtype)
    with ctx.kernel() as k, loops(k, indices.shape) as index:
        at = position(k, ctx.load(indices, index), size, "take", wraps=True)
        k.store(out, index, ctx.load(flat, (at,)))
    return out


# --- advanced indexing --------------------------------------------------------------------------


class _Indexing:
    """x[indices]: which dims are read at data positions, and the order of the result's dims.

    Index tensors next to each other put their common dims in their place, else at the front.
    """

    def __init__(self, x: TensorValue, indices: Sequence[TensorValue | None]) -> None:
        self.x = x
        given = [(d, t) for d, t in enumerate(indices) if t is not None]
        self.dims = [d for d, _ in given]
        self.tensors = [t for _, t in given]
        self.common = broadcast_shapes(*(t.shape for t in self.tensors))
        adjacent = self.dims[-1] - self.dims[0] + 1 == len(self.dims)
        self.start = self.dims[0] if adjacent else 0
        kept = [d for d in range(len(x.shape)) if d not in self.dims]
        self.before, self.after = kept[: self.start], kept[self.start :]

    @property
    def shape(self) -> Indices:
        """The shape of x[indices]."""
        sizes = self.x.shape
        return (
            *(sizes[d] for d in self.before),
            *self.common,
            *(sizes[d] for d in self.after),
        )

    def place(
        self, ctx: LoweringContext, k: KernelBuilder, common: Indices, what: str
    ) -> dict[int, Index]:
        """Inside the loops over the common dims: dim of x -> checked position."""
        return {
            d: position(
                k,
                ctx.load(t, broadcast_index(t.shape, self.common, common)),
                self.x.shape[d],
                what,
                wraps=True,
            )
            for d, t in zip(self.dims, self.tensors, strict=True)
        }

    def nest(
        self,
        ctx: LoweringContext,
        k: KernelBuilder,
        what: str,
        body: Callable[[Indices, Indices], None],
        common_kind: LoopKind = LoopKind.PARALLEL,
    ) -> None:
        """Loops over the result; `body(index of the result, index of x)`."""
        sizes = self.x.shape
        with ExitStack() as stack:
            before = stack.enter_context(loops(k, [sizes[d] for d in self.before]))
            common = stack.enter_context(loops(k, self.common, common_kind))
            place = self.place(ctx, k, common, what)
            after = stack.enter_context(loops(k, [sizes[d] for d in self.after]))
            place.update(zip(self.before, before, strict=True))
            place.update(zip(self.after, after, strict=True))
            body((*before, *common, *after), tuple(place[d] for d in range(len(sizes))))


def _reject_masks(indices: Sequence[TensorValue | None], what: str) -> None:
    if any(t is not None and t.dtype in (DType.BOOL, DType.U8) for t in indices):
        raise CompileError(
            "PTC-O003",
            f"{what} with a boolean mask has a size that depends on data",
            hint="use torch.where(mask, x, other), or multiply by the mask",
        )


@lowers(aten.index.Tensor, aten._unsafe_index.Tensor)
def lower_index(
    ctx: LoweringContext, x: TensorValue, indices: Sequence[TensorValue | None]
) -> TensorValue:
    """x[indices], index tensors broadcast together; None keeps a dim."""
    _reject_masks(indices, "indexing")
    if all(t is None for t in indices):
        return x
    plan = _Indexing(x, indices)
    out = ctx.empty(plan.shape, x.dtype)
    with ctx.kernel() as k:
        plan.nest(ctx, k, "index", lambda i, source: k.store(out, i, ctx.load(x, source)))
    return out


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
    _reject_masks(indices, "writing")
    if not given:
        return expand(ctx, values, x.shape)
    plan = _Indexing(x, indices)
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
        old = operand_value(ctx, x, x.shape, index, common=x.dtype, compute=_widened(x.dtype))
        new = operand_value(ctx, value, x.shape, index, common=x.dtype, compute=old.dtype)
        return b.cast(b.where(ctx.load(wide, index), b.add(old, new), old), x.dtype)

    return ctx.pointwise(x.shape, x.dtype, element)


def _widened(dtype: DType) -> DType:
    return DType.F32 if dtype in (DType.F16, DType.BF16) else dtype


# --- scatter ------------------------------------------------------------------------------------


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
    compute = _widened(total.dtype)

    def element(index: Indices) -> Expr:
        value = load_as(ctx, total, index, compute)
        number = b.cast(b.max_(ctx.load(counts, index), 1), compute)
        quotient = b.div(value, number) if compute.is_float else b.floordiv(value, number)
        return b.cast(quotient, total.dtype)

    return ctx.pointwise(total.shape, total.dtype, element)


# --- slices at data positions -------------------------------------------------------------------


def _write_slices(
    ctx: LoweringContext,
    x: TensorValue,
    dim: int,
    indices: TensorValue,
    value: Callable[[Indices], Expr],
    reduce: str | None,
    what: str,
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
        at = position(
            k, ctx.load(indices, (row,) if indices.shape else ()), x.shape[dim], what, wraps=True
        )
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
        element = load_as(ctx, source, index, _widened(x.dtype))
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
    return _write_slices(ctx, x, dim, indices, lambda _: element, None, "index_fill")


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


# --- samples ------------------------------------------------------------------------------------


def _at(spec: str, size: int, low: int = 0) -> T:
    """Positions in [low, size)."""
    return T(spec, low=low, high=size)


samples(
    aten.embedding.default,
    sample(T("f32[7,4]"), _at("i64[2,3]", 7), exact=True),
    sample(T("f32[7,4]"), _at("i32[5]", 7), exact=True),
    sample(T("bf16[7,4]"), _at("i64[]", 7), 2, exact=True),
    sample(T("f32[7,4]"), _at("i64[0,3]", 7), exact=True),
)
samples(
    aten.index_select.default,
    sample(T("f32[5,4]"), 0, _at("i64[3]", 5), exact=True),
    sample(T("f32[2,5,4]"), -2, _at("i32[7]", 5), exact=True),
    sample(T("f32[5,4]"), 1, _at("i64[]", 4), exact=True),
    sample(T("bool[5]"), 0, _at("i64[0]", 5), exact=True),
)
samples(
    aten.gather.default,
    sample(T("f32[3,4]"), 1, _at("i64[3,2]", 4), exact=True),
    sample(T("f32[3,4]"), 0, _at("i64[5,4]", 3), exact=True),
    sample(T("f32[3,4,2]"), -1, _at("i64[2,3,4]", 2), exact=True),
    sample(T("i64[5]"), 0, _at("i64[0]", 5), exact=True),
    sample(T("f32[]"), 0, _at("i64[]", 1), exact=True),
    sample(T("f32[5]"), 0, _at("i64[]", 5), exact=True),
)
samples(
    aten.take.default,
    sample(T("f32[3,4]"), _at("i64[5]", 12, -12), exact=True),
    sample(T("f32[3,4]"), _at("i64[2,2]", 12), exact=True),
)
samples_for(
    (aten.index.Tensor, aten._unsafe_index.Tensor),
    sample(T("f32[5,4]"), [_at("i64[3]", 5, -5)], exact=True),
    sample(T("f32[5,4,3]"), [None, _at("i64[2,2]", 4)], exact=True),
    sample(T("f32[5,4,3]"), [_at("i64[2,1]", 5), _at("i64[3]", 4)], exact=True),
    sample(T("f32[5,4,3]"), [_at("i64[2]", 5), None, _at("i64[2]", 3)], exact=True),
    sample(T("f32[2,5,4,3]"), [None, _at("i64[2]", 5), _at("i64[1]", 4)], exact=True),
    sample(T("f32[5,4]"), [_at("i64[]", 5)], exact=True),
    sample(T("f32[5,4]"), [_at("i64[0]", 5)], exact=True),
    sample(T("bf16[5,4]"), [None, _at("i32[3]", 4)], exact=True),
)
samples_for(
    (aten.index_put.default, aten._unsafe_index_put.default),
    sample(T("f32[5,4]"), [_at("i64[3]", 5, -5)], T("f32[3,4]"), True, tolerance=2.0),
    sample(T("f32[5,4]"), [_at("i64[3]", 5)], T("f32[]"), exact=True),
    sample(T("f32[5,4,3]"), [None, _at("i64[1]", 4)], T("f32[5,1,3]"), exact=True),
    sample(T("i64[5,4]"), [_at("i64[9]", 5), _at("i64[9]", 4)], T("i64[9]"), True),
    sample(T("f32[5,4]"), [T("bool[5,4]")], T("f32[]"), exact=True),
    sample(T("f32[2,5,4]"), [None, T("bool[5]")], T("f32[]"), exact=True),
    sample(T("f32[5,4]"), [T("bool[5]")], T("f32[]"), True),
)
samples(
    aten.scatter.src,
    sample(T("f32[1,4]"), 0, _at("i64[1,4]", 1), T("f32[2,4]"), exact=True),
    sample(T("f32[9]"), 0, T("i64[1]", low=3, high=4), T("f32[5]"), exact=True),
    sample(T("f32[]"), 0, _at("i64[]", 1), T("f32[]"), exact=True),
)
samples(
    aten.scatter.value,
    sample(T("f32[3,5]"), 1, _at("i64[3,4]", 5), 0.5, exact=True),
    sample(T("bool[5]"), -1, _at("i64[3]", 5), True, exact=True),
    sample(T("i64[3,5]"), 0, _at("i64[2,5]", 3), 7, exact=True),
)
samples(
    aten.scatter_add.default,
    sample(T("f32[3,5]"), 1, _at("i64[3,9]", 5), T("f32[3,9]"), tolerance=2.0),
    sample(T("f32[3,5]"), 0, _at("i64[4,2]", 3), T("f32[5,3]"), tolerance=2.0),
    sample(T("i64[5]"), 0, _at("i64[9]", 5), T("i64[9]")),
    sample(T("bf16[5]"), 0, _at("i64[4]", 5), T("bf16[4]"), tolerance=2.0),
)
samples(
    aten.scatter.reduce,
    sample(T("f32[3,5]"), 1, _at("i64[3,4]", 5), T("f32[3,4]"), reduce="add", tolerance=2.0),
    sample(T("f32[5]"), 0, _at("i64[4]", 5), T("f32[4]"), reduce="multiply", tolerance=2.0),
)
samples(aten.scatter.value_reduce, sample(T("f32[5]"), 0, _at("i64[4]", 5), 2.0, reduce="multiply"))
for _reduce in ("sum", "prod", "mean", "amax", "amin"):
    for _include in (True, False):
        samples(
            aten.scatter_reduce.two,
            sample(
                T("f32[3,5]"), 1, _at("i64[3,9]", 5), T("f32[3,9]"), _reduce,
                include_self=_include, tolerance=2.0,
            ),
            sample(
                T("i64[5]"), 0, _at("i64[9]", 5), T("i64[9]"), _reduce, include_self=_include
            ),
        )  # fmt: skip
samples(
    aten.index_add.default,
    sample(T("f32[5,4]"), 0, _at("i64[3]", 5), T("f32[3,4]"), tolerance=2.0),
    sample(T("f32[3,5]"), -1, _at("i64[7]", 5), T("f32[3,7]"), alpha=0.5, tolerance=2.0),
    sample(T("i64[5]"), 0, _at("i64[7]", 5), T("i64[7]"), alpha=2),
)
samples(
    aten.index_copy.default,
    sample(T("f32[5,4]"), 0, T("i64[1]", low=2, high=3), T("f32[1,4]"), exact=True),
    sample(T("f32[5]"), 0, _at("i64[1]", 5), T("f32[1]"), exact=True),
)
samples(
    aten.index_fill.int_Scalar,
    sample(T("f32[3,5]"), 1, _at("i64[3]", 5), 0.5, exact=True),
    sample(T("i64[5]"), 0, _at("i64[]", 5), 3, exact=True),
)
samples(aten.index_fill.int_Tensor, sample(T("f32[3,5]"), 1, _at("i64[3]", 5), T("f32[]")))
samples(
    aten.masked_scatter.default,
    sample(T("f32[3,4]"), T("bool[3,4]"), T("f32[12]"), exact=True),
    sample(T("f32[3,4]"), T("bool[4]"), T("f32[4,4]"), exact=True),
)
