"""Reductions: sums, extremes, products, tests, positions.

Every result has its own kernel (values and indices), so that an unused one costs nothing. Sums of
16-bit floats are kept in f32, of integers in i64.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import torch

from ptc.loops import build as b
from ptc.loops.index import Index
from ptc.loops.nodes import DType, Expr, Ref
from ptc.ops.dtypes import (
    accumulation_type,
    compute_type,
    integer_range,
    requested,
    sum_result,
)
from ptc.ops.elementwise import reject_complex
from ptc.ops.nests import inner_loops, outer_loops
from ptc.ops.protocol import Indices, KernelBuilder, LoweringContext, T, TensorValue, sample
from ptc.ops.registry import lowers, samples, samples_for
from ptc.ops.shapes import ZERO, normal_dims, product, ravel, reduced_shape

aten = torch.ops.aten

Dims = Sequence[int] | int | None


# --- the one shape of a reduction -----------------------------------------------------------------


def lowest(dtype: DType) -> Expr:
    """The identity of max."""
    if dtype.is_float:
        return b.literal(-math.inf, dtype)
    return b.literal(dtype is not DType.BOOL and integer_range(dtype)[0], dtype)


def highest(dtype: DType) -> Expr:
    """The identity of min."""
    if dtype.is_float:
        return b.literal(math.inf, dtype)
    return b.literal(dtype is DType.BOOL or integer_range(dtype)[1], dtype)


def out_index(rank: int, dims: Sequence[int], outer: dict[int, Index], keepdim: bool) -> Indices:
    """Where the result for the loop indices `outer` goes."""
    if keepdim:
        return tuple(ZERO if d in dims else outer[d] for d in range(rank))
    return tuple(outer[d] for d in range(rank) if d not in dims)


def accumulate(
    ctx: LoweringContext,
    k: KernelBuilder,
    x: TensorValue,
    dims: Sequence[int],
    outer: dict[int, Index],
    op: str,
    init: Expr,
    value: Callable[[Expr], Expr],
) -> Ref:
    """Inside a kernel: combine `value(element)` over `dims` of x."""
    ref = k.accumulator(op, init, init.dtype)
    with inner_loops(k, x.shape, dims, outer) as index:
        k.update(ref, value(ctx.load(x, index)))
    return ref


def reduction(
    ctx: LoweringContext,
    x: TensorValue,
    dims: Sequence[int],
    keepdim: bool,
    op: str,
    init: Expr,
    value: Callable[[Expr], Expr],
    finish: Callable[[Expr], Expr],
    result: DType,
    *,
    chooses: bool = False,
) -> TensorValue:
    """One kernel: `finish` of the combination of `value(element)`, in the type of `init`. One that
    `chooses` an element fails where there is none."""
    reject_complex(x.dtype)
    out = ctx.empty(reduced_shape(x.shape, dims, keepdim), result)
    with ctx.kernel() as k:
        if chooses:
            _require_elements(ctx, k, x, dims)
        with outer_loops(k, x.shape, dims) as outer:
            ref = accumulate(ctx, k, x, dims, outer, op, init, value)
            target = out_index(len(x.shape), dims, outer, keepdim)
            k.store(out, target, b.cast(finish(ref), result))
    return out


def _require_elements(
    ctx: LoweringContext, k: KernelBuilder, x: TensorValue, dims: Sequence[int]
) -> None:
    """Fail the run where there is nothing to choose from: eager raises."""
    for dim in dims:
        size = x.shape[dim]
        if ctx.may_be_zero(size):
            some = b.gt(b.index_value(size, DType.I64), 0)
            k.check(some, f"a maximum or minimum over dimension {dim}, which has no elements")


def count(x: TensorValue, dims: Sequence[int], dtype: DType) -> Expr:
    """The number of elements combined into one, as a value."""
    return b.cast(b.index_value(product(x.shape[d] for d in dims), DType.I64), dtype)


def same(value: Expr) -> Expr:
    return value


# --- sums and products ----------------------------------------------------------------------------


def _sum(
    ctx: LoweringContext,
    x: TensorValue,
    dims: Sequence[int],
    keepdim: bool,
    result: DType,
    op: str = "add",
    mean: bool = False,
) -> TensorValue:
    acc = accumulation_type(result)

    def finish(value: Expr) -> Expr:
        return b.div(value, count(x, dims, acc)) if mean else value

    def widened(value: Expr) -> Expr:
        # a requested type rounds each element first, as eager does
        return b.cast(b.cast(value, result) if x.dtype is not result else value, acc)

    init = b.literal(1 if op == "mul" else 0, acc)
    return reduction(ctx, x, dims, keepdim, op, init, widened, finish, result)


@lowers(aten.sum.dim_IntList)
def lower_sum_dim(
    ctx: LoweringContext, x: TensorValue, dim: Dims, keepdim: bool, dtype: torch.dtype | None
) -> TensorValue:
    """Sum over dims (all when none are given)."""
    result = requested(dtype, sum_result(x.dtype))
    return _sum(ctx, x, normal_dims(dim, len(x.shape)), keepdim, result)


@lowers(aten.sum.default)
def lower_sum(ctx: LoweringContext, x: TensorValue, dtype: torch.dtype | None) -> TensorValue:
    """Sum of everything."""
    return lower_sum_dim(ctx, x, None, False, dtype)


@lowers(aten.mean.dim)
def lower_mean_dim(
    ctx: LoweringContext, x: TensorValue, dim: Dims, keepdim: bool, dtype: torch.dtype | None
) -> TensorValue:
    """Mean over dims (all when none are given)."""
    dims = normal_dims(dim, len(x.shape))
    return _sum(ctx, x, dims, keepdim, requested(dtype, x.dtype), mean=True)


@lowers(aten.mean.default)
def lower_mean(ctx: LoweringContext, x: TensorValue, dtype: torch.dtype | None) -> TensorValue:
    """Mean of everything."""
    return lower_mean_dim(ctx, x, None, False, dtype)


@lowers(aten.prod.dim_int)
def lower_prod_dim(
    ctx: LoweringContext, x: TensorValue, dim: int, keepdim: bool, dtype: torch.dtype | None
) -> TensorValue:
    """Product over one dim."""
    result = requested(dtype, sum_result(x.dtype))
    return _sum(ctx, x, normal_dims(dim, len(x.shape)), keepdim, result, op="mul")


@lowers(aten.prod.default)
def lower_prod(ctx: LoweringContext, x: TensorValue, dtype: torch.dtype | None) -> TensorValue:
    """Product of everything."""
    result = requested(dtype, sum_result(x.dtype))
    return _sum(ctx, x, normal_dims(None, len(x.shape)), False, result, op="mul")


# --- extremes -------------------------------------------------------------------------------------


def _extreme(
    ctx: LoweringContext,
    x: TensorValue,
    dims: Sequence[int],
    keepdim: bool,
    largest: bool,
    chooses: bool = True,
) -> TensorValue:
    if x.dtype is DType.BOOL:
        op, init = ("any" if largest else "all"), b.literal(not largest, DType.BOOL)
        return reduction(ctx, x, dims, keepdim, op, init, same, same, DType.BOOL, chooses=chooses)
    acc = compute_type(x.dtype)
    init = lowest(acc) if largest else highest(acc)
    op = "max" if largest else "min"
    return reduction(
        ctx, x, dims, keepdim, op, init, lambda v: b.cast(v, acc), same, x.dtype, chooses=chooses
    )


@lowers(aten.amax.default)
def lower_amax(ctx: LoweringContext, x: TensorValue, dim: Dims, keepdim: bool) -> TensorValue:
    """Largest over dims; NaN wins. Of nothing the identity: logsumexp's decomposition needs it."""
    dims = normal_dims(dim, len(x.shape))
    return _extreme(ctx, x, dims, keepdim, largest=True, chooses=False)


@lowers(aten.amin.default)
def lower_amin(ctx: LoweringContext, x: TensorValue, dim: Dims, keepdim: bool) -> TensorValue:
    """Smallest over dims; NaN wins. Of nothing the identity: logsumexp's decomposition needs it."""
    dims = normal_dims(dim, len(x.shape))
    return _extreme(ctx, x, dims, keepdim, largest=False, chooses=False)


@lowers(aten.max.default)
def lower_max(ctx: LoweringContext, x: TensorValue) -> TensorValue:
    """Largest of everything."""
    return _extreme(ctx, x, normal_dims(None, len(x.shape)), False, largest=True)


@lowers(aten.min.default)
def lower_min(ctx: LoweringContext, x: TensorValue) -> TensorValue:
    """Smallest of everything."""
    return _extreme(ctx, x, normal_dims(None, len(x.shape)), False, largest=False)


# --- positions ------------------------------------------------------------------------------------


def _position(
    ctx: LoweringContext, x: TensorValue, dims: Sequence[int], keepdim: bool, largest: bool
) -> TensorValue:
    """The row-major position within `dims` of the first extreme element."""
    acc = DType.U8 if x.dtype is DType.BOOL else compute_type(x.dtype)
    init = lowest(acc) if largest else highest(acc)
    out = ctx.empty(reduced_shape(x.shape, dims, keepdim), DType.I64)
    sizes = [x.shape[d] for d in dims]
    with ctx.kernel() as k:
        _require_elements(ctx, k, x, dims)
        with outer_loops(k, x.shape, dims) as outer:
            ref = k.accumulator("argmax" if largest else "argmin", init, acc)
            with inner_loops(k, x.shape, dims, outer) as index:
                position = ravel([index[d] for d in dims], sizes)
                k.update(ref, b.cast(ctx.load(x, index), acc), b.index_value(position, DType.I64))
            k.store(out, out_index(len(x.shape), dims, outer, keepdim), ref)
    return out


def _position_of(
    ctx: LoweringContext, x: TensorValue, dim: int | None, keepdim: bool, largest: bool
) -> TensorValue:
    return _position(ctx, x, normal_dims(dim, len(x.shape)), keepdim, largest)


@lowers(aten.argmax.default)
def lower_argmax(
    ctx: LoweringContext, x: TensorValue, dim: int | None, keepdim: bool
) -> TensorValue:
    """Position of the largest, the first of equals; over the flattened tensor without dim."""
    return _position_of(ctx, x, dim, keepdim, largest=True)


@lowers(aten.argmin.default)
def lower_argmin(
    ctx: LoweringContext, x: TensorValue, dim: int | None, keepdim: bool
) -> TensorValue:
    """Position of the smallest, the first of equals."""
    return _position_of(ctx, x, dim, keepdim, largest=False)


@lowers(aten.max.dim)
def lower_max_dim(
    ctx: LoweringContext, x: TensorValue, dim: int, keepdim: bool
) -> tuple[TensorValue, TensorValue]:
    """Largest along `dim` and its position."""
    dims = normal_dims(dim, len(x.shape))
    return (
        _extreme(ctx, x, dims, keepdim, largest=True),
        _position(ctx, x, dims, keepdim, largest=True),
    )


@lowers(aten.min.dim)
def lower_min_dim(
    ctx: LoweringContext, x: TensorValue, dim: int, keepdim: bool
) -> tuple[TensorValue, TensorValue]:
    """Smallest along `dim` and its position."""
    dims = normal_dims(dim, len(x.shape))
    return (
        _extreme(ctx, x, dims, keepdim, largest=False),
        _position(ctx, x, dims, keepdim, largest=False),
    )


# --- tests ----------------------------------------------------------------------------------------


def _test(
    ctx: LoweringContext, x: TensorValue, dims: Sequence[int], keepdim: bool, op: str
) -> TensorValue:
    def truth(value: Expr) -> Expr:
        return b.ne(b.cast(value, compute_type(x.dtype)), 0) if x.dtype is not DType.BOOL else value

    init = b.literal(op == "all", DType.BOOL)
    # bytes answer in bytes: they were torch's booleans once
    result = DType.U8 if x.dtype is DType.U8 else DType.BOOL
    return reduction(ctx, x, dims, keepdim, op, init, truth, same, result)


@lowers(aten.any.default, aten._is_any_true.default)
def lower_any(ctx: LoweringContext, x: TensorValue) -> TensorValue:
    """Whether any element is non-zero."""
    return _test(ctx, x, normal_dims(None, len(x.shape)), False, "any")


@lowers(aten.any.dim, aten.any.dims)
def lower_any_dim(ctx: LoweringContext, x: TensorValue, dim: Dims, keepdim: bool) -> TensorValue:
    """Whether any element along dims is non-zero."""
    return _test(ctx, x, _test_dims(dim, len(x.shape)), keepdim, "any")


@lowers(aten.all.default, aten._is_all_true.default)
def lower_all(ctx: LoweringContext, x: TensorValue) -> TensorValue:
    """Whether all elements are non-zero."""
    return _test(ctx, x, normal_dims(None, len(x.shape)), False, "all")


@lowers(aten.all.dim, aten.all.dims)
def lower_all_dim(ctx: LoweringContext, x: TensorValue, dim: Dims, keepdim: bool) -> TensorValue:
    """Whether all elements along dims are non-zero."""
    return _test(ctx, x, _test_dims(dim, len(x.shape)), keepdim, "all")


def _test_dims(dim: Dims, rank: int) -> tuple[int, ...]:
    """Unlike elsewhere, an empty list of dims means none."""
    return () if isinstance(dim, list | tuple) and not dim else normal_dims(dim, rank)


# --- samples --------------------------------------------------------------------------------------

_ALL = (
    sample(T("f32[3,4,5]")),
    sample(T("f32[]")),
    sample(T("f64[7]")),
    sample(T("bf16[40]")),
    sample(T("f16[9]")),
    sample(T("f32[4,3]", layout="transposed")),
)
_INTEGERS = (sample(T("i64[3,4]")), sample(T("i32[5]")), sample(T("u8[5]")))
_BY_DIM = (
    sample(T("f32[3,4,5]"), [1]),
    sample(T("f32[3,4,5]"), [0, -1], True),
    sample(T("f32[2,3]"), [-1]),
    sample(T("f32[2,3]"), []),
    sample(T("f32[]"), [0]),
    sample(T("f32[0,3]"), [1]),
    sample(T("f64[5,2]"), [0]),
    sample(T("bf16[4,33]"), [1]),
    sample(T("f16[33,4]"), [0]),
    sample(T("f32[30,3]", special=True), [0]),
    sample(T("f32[3,1,5]"), [1]),
)
samples_for((aten.sum.default, aten.prod.default), *_ALL, *_INTEGERS, sample(T("bool[6]")))
samples_for((aten.mean.default, aten.max.default, aten.min.default), *_ALL)
samples_for((aten.max.default, aten.min.default), *_INTEGERS, sample(T("bool[6]")))
samples_for((aten.sum.default, aten.prod.default), sample(T("f32[0]")))
samples_for((aten.sum.dim_IntList, aten.mean.dim, aten.amax.default, aten.amin.default), *_BY_DIM)
samples_for((aten.sum.dim_IntList,), sample(T("f32[0,3]"), [0]), sample(T("f32[3,4]"), None))
samples_for(
    (aten.sum.dim_IntList,),
    sample(T("i32[3,4]"), [1]),
    sample(T("bool[3,4]"), [1]),
    sample(T("i64[3,4]"), [1], dtype=torch.float32),
    sample(T("f32[3,4]"), [1], dtype=torch.float64),
    sample(T("bf16[3,400]", low=0.0, high=1.0), [1]),
)
samples(
    aten.mean.dim,
    sample(T("i64[3,4]"), [1], dtype=torch.float32),
    sample(T("f32[3,0]"), [1]),
    sample(T("f32[2,3]"), None, True),
)
samples(aten.mean.default, sample(T("i64[4]"), dtype=torch.float32))
samples_for(
    (aten.amax.default, aten.amin.default),
    sample(T("i64[3,4]"), [0]),
    sample(T("bool[3,4]"), [1]),
    sample(T("u8[3,4]"), [1]),
)
samples(
    aten.prod.dim_int,
    sample(T("f32[3,4]"), 1),
    sample(T("f32[3,0]"), -1, True),
    sample(T("i32[3,4]"), 0),
    sample(T("bool[3,4]"), 0),
    sample(T("f32[3,4]"), 0, dtype=torch.float64),
    sample(T("f32[]"), 0),
)
_POSITIONS = (
    sample(T("f32[3,4]")),
    sample(T("f32[3,4]"), 1),
    sample(T("f32[3,4,2]"), -2, True),
    sample(T("f32[40]", special=True), 0),
    sample(T("i64[3,20]", low=0, high=4), 1),
    sample(T("f32[]"), 0),
    sample(T("bf16[9]"), 0),
    sample(T("f32[1,3]"), 0),
)
samples_for((aten.argmax.default, aten.argmin.default), *_POSITIONS)
samples_for(
    (aten.max.dim, aten.min.dim), *_POSITIONS[1:], sample(T("bool[3,9]"), 1), sample(T("u8[9]"), 0)
)
_TESTS = (
    sample(T("bool[3,4]"), exact=True),
    sample(T("f32[5]", special=True), exact=True),
    sample(T("i64[5]", low=0, high=2), exact=True),
    sample(T("u8[5]", low=0, high=2), exact=True),
    sample(T("bool[0]"), exact=True),
    sample(T("bool[]"), exact=True),
)
_TESTS_BY_DIM = (
    sample(T("bool[3,4]"), 1, exact=True),
    sample(T("bool[3,4]"), -2, True, exact=True),
    sample(T("f32[3,4]"), 0, exact=True),
    sample(T("u8[3,4]", low=0, high=2), 0, exact=True),
    sample(T("bool[3,0]"), 1, exact=True),
    sample(T("bool[]"), 0, exact=True),
)
samples_for((aten.any.default, aten.all.default), *_TESTS)
samples_for(
    (aten._is_any_true.default, aten._is_all_true.default),
    sample(T("bool[3,4]"), exact=True),
    sample(T("bool[0]"), exact=True),
    sample(T("bool[]"), exact=True),
)
samples_for((aten.any.dim, aten.all.dim), *_TESTS_BY_DIM)
samples_for(
    (aten.any.dims, aten.all.dims),
    sample(T("bool[3,4,2]"), [0, 2], exact=True),
    sample(T("f32[3,4]"), [1], True, exact=True),
    sample(T("bool[3,4]"), None, exact=True),
)
samples_for(
    (aten.sum.dim_IntList, aten.mean.dim, aten.amax.default, aten.amin.default),
    sample(T("f32[5,301]"), [1]),
    # Terms of both signs nearly cancel, and eager adds in blocks: its own error says too little.
    sample(T("f32[301,5]"), [0], tolerance=16.0),
    sample(T("f32[70,67]"), [0], tolerance=8.0),
    sample(T("f32[3,17,35]"), [0, 2], tolerance=8.0),
    sample(T("f32[2,3,9,11]", layout="channels_last"), [2, 3], True),
    sample(T("bf16[3,301]"), [1]),
    sample(T("f64[3,67]"), [1]),
)
samples_for(
    (aten.argmax.default, aten.argmin.default),
    sample(T("f32[5,301]"), 1),
    sample(T("f32[67,35]"), 0),
)
samples_for((aten.any.dim, aten.all.dim), sample(T("bool[3,301]"), 1), sample(T("bool[301,3]"), 0))
