"""Tensors made from nothing: constants, ranges, triangles of ones."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import torch

from ptc.loops import build as b
from ptc.loops.index import Index, maximum
from ptc.loops.nodes import DType, Expr
from ptc.ops.dtypes import Operand, default_float, promote, requested
from ptc.ops.elementwise import operand_value
from ptc.ops.protocol import Indices, LoweringContext, T, TensorValue, sample
from ptc.ops.registry import lowers, samples, samples_for
from ptc.support.diagnostics import CompileError

aten = torch.ops.aten
prims = torch.ops.prims

Size = int | Index


def constant(
    ctx: LoweringContext, shape: Sequence[Index], dtype: DType, value: Operand
) -> TensorValue:
    """A tensor that holds one number everywhere."""
    element = operand_value(ctx, value, (), (), common=dtype, compute=dtype)
    return ctx.pointwise(shape, dtype, lambda _: element)


def _shape(ctx: LoweringContext, sizes: Sequence[Size]) -> Indices:
    return tuple(ctx.size(size) for size in sizes)


# --- constants ----------------------------------------------------------------------------------


@lowers(aten.full.default)
def lower_full(
    ctx: LoweringContext, sizes: Sequence[Size], value: Operand, dtype: torch.dtype | None
) -> TensorValue:
    """A tensor of one number, whose type decides when none is given."""
    return constant(ctx, _shape(ctx, sizes), requested(dtype, promote([value])), value)


@lowers(aten.full_like.default)
def lower_full_like(
    ctx: LoweringContext, x: TensorValue, value: Operand, dtype: torch.dtype | None
) -> TensorValue:
    """A tensor of one number with the shape of x."""
    return constant(ctx, x.shape, requested(dtype, x.dtype), value)


@lowers(aten.new_full.default)
def lower_new_full(
    ctx: LoweringContext,
    x: TensorValue,
    sizes: Sequence[Size],
    value: Operand,
    dtype: torch.dtype | None,
) -> TensorValue:
    """A tensor of one number with the type of x."""
    return constant(ctx, _shape(ctx, sizes), requested(dtype, x.dtype), value)


@lowers(aten.zeros.default)
def lower_zeros(
    ctx: LoweringContext, sizes: Sequence[Size], dtype: torch.dtype | None
) -> TensorValue:
    """Zeros."""
    return constant(ctx, _shape(ctx, sizes), requested(dtype, default_float()), 0)


@lowers(aten.ones.default)
def lower_ones(
    ctx: LoweringContext, sizes: Sequence[Size], dtype: torch.dtype | None
) -> TensorValue:
    """Ones."""
    return constant(ctx, _shape(ctx, sizes), requested(dtype, default_float()), 1)


@lowers(aten.zeros_like.default)
def lower_zeros_like(
    ctx: LoweringContext, x: TensorValue, dtype: torch.dtype | None
) -> TensorValue:
    """Zeros with the shape of x."""
    return constant(ctx, x.shape, requested(dtype, x.dtype), 0)


@lowers(aten.ones_like.default)
def lower_ones_like(ctx: LoweringContext, x: TensorValue, dtype: torch.dtype | None) -> TensorValue:
    """Ones with the shape of x."""
    return constant(ctx, x.shape, requested(dtype, x.dtype), 1)


@lowers(aten.new_zeros.default)
def lower_new_zeros(
    ctx: LoweringContext, x: TensorValue, sizes: Sequence[Size], dtype: torch.dtype | None
) -> TensorValue:
    """Zeros with the type of x."""
    return constant(ctx, _shape(ctx, sizes), requested(dtype, x.dtype), 0)


@lowers(aten.new_ones.default)
def lower_new_ones(
    ctx: LoweringContext, x: TensorValue, sizes: Sequence[Size], dtype: torch.dtype | None
) -> TensorValue:
    """Ones with the type of x."""
    return constant(ctx, _shape(ctx, sizes), requested(dtype, x.dtype), 1)


# Memory of unspecified content: zeros, so that a model that reads it gives the same every run.


@lowers(aten.empty.memory_format)
def lower_empty(
    ctx: LoweringContext, sizes: Sequence[Size], dtype: torch.dtype | None
) -> TensorValue:
    """Unspecified content: zeros."""
    return lower_zeros(ctx, sizes, dtype)


@lowers(aten.empty_strided.default)
def lower_empty_strided(
    ctx: LoweringContext,
    sizes: Sequence[Size],
    strides: Sequence[Size],
    dtype: torch.dtype | None,
) -> TensorValue:
    """Unspecified content: zeros."""
    return lower_zeros(ctx, sizes, dtype)


@lowers(aten.empty_permuted.default)
def lower_empty_permuted(
    ctx: LoweringContext,
    sizes: Sequence[Size],
    physical_layout: Sequence[int],
    dtype: torch.dtype | None,
) -> TensorValue:
    """Unspecified content: zeros."""
    return lower_zeros(ctx, sizes, dtype)


@lowers(aten.empty_like.default)
def lower_empty_like(
    ctx: LoweringContext, x: TensorValue, dtype: torch.dtype | None
) -> TensorValue:
    """Unspecified content: zeros."""
    return lower_zeros_like(ctx, x, dtype)


@lowers(aten.new_empty.default)
def lower_new_empty(
    ctx: LoweringContext, x: TensorValue, sizes: Sequence[Size], dtype: torch.dtype | None
) -> TensorValue:
    """Unspecified content: zeros."""
    return lower_new_zeros(ctx, x, sizes, dtype)


@lowers(aten.scalar_tensor.default)
def lower_scalar_tensor(
    ctx: LoweringContext, value: Operand, dtype: torch.dtype | None
) -> TensorValue:
    """A 0-d tensor; the default float type when none is given."""
    return constant(ctx, (), requested(dtype, default_float()), value)


# --- ranges -------------------------------------------------------------------------------------


@lowers(aten.arange.default)
def lower_arange_end(ctx: LoweringContext, end: Operand, dtype: torch.dtype | None) -> TensorValue:
    """0, 1, ... below `end`."""
    return lower_arange(ctx, 0, end, 1, dtype)


@lowers(aten.arange.start)
def lower_arange_start(
    ctx: LoweringContext, start: Operand, end: Operand, dtype: torch.dtype | None
) -> TensorValue:
    """`start`, `start` + 1, ... below `end`."""
    return lower_arange(ctx, start, end, 1, dtype)


@lowers(aten.arange.start_step)
def lower_arange(
    ctx: LoweringContext,
    start: Operand,
    end: Operand,
    step: Operand,
    dtype: torch.dtype | None,
) -> TensorValue:
    """start + i * step for the ceil((end - start) / step) values before `end`.

    Sizes may be symbolic in start and end. Floats are computed in f64, as eager does.
    """
    integral = not any(isinstance(v, float) for v in (start, end, step))
    kind = requested(dtype, DType.I64 if integral else default_float())
    length = _range_length(ctx, start, end, step)

    def element(index: Indices) -> Expr:
        if integral:
            first, stride = _as_index(start), _as_index(step)
            return b.cast(b.index_value(first + index[0] * stride, DType.I64), kind)
        position = b.cast(b.index_value(index[0], DType.I64), DType.F64)
        first, stride = (
            operand_value(ctx, v, (), (), common=DType.F64, compute=DType.F64)
            for v in (start, step)
        )
        return b.cast(b.add(first, b.mul(position, stride)), kind)

    return ctx.pointwise((length,), kind, element)


@lowers(prims.iota.default)
def lower_iota(
    ctx: LoweringContext,
    length: Size,
    start: Size,
    step: Size,
    dtype: torch.dtype,
    requires_grad: bool,
) -> TensorValue:
    """start + i * step for i in [0, length), integers."""
    kind = requested(dtype, DType.I64)
    first, stride = _as_index(start), _as_index(step)
    return ctx.pointwise(
        (ctx.size(length),),
        kind,
        lambda index: b.cast(b.index_value(first + index[0] * stride, DType.I64), kind),
    )


def _as_index(value: Operand) -> Index:
    """A bound or step of a range; whole floats count, as `arange(0.0, n)` has them."""
    if isinstance(value, Index):
        return value
    if isinstance(value, int) or (isinstance(value, float) and value.is_integer()):
        return Index.const(int(value))
    raise CompileError(
        "PTC-O003",
        "arange with a bound or step that is not a whole number, next to a dynamic size",
        hint="make the range of whole numbers and scale it: torch.arange(n) * 0.5",
    )


def _range_length(ctx: LoweringContext, start: Operand, end: Operand, step: Operand) -> Index:
    """ceil((end - start) / step), at least 0."""
    numbers = [v for v in (start, end, step) if isinstance(v, int | float)]
    if len(numbers) == 3:
        first, last, stride = numbers
        if not any(isinstance(v, float) for v in numbers):
            return ctx.size(max(0, -((int(first) - int(last)) // int(stride))))
        return ctx.size(max(0, math.ceil((last - first) / stride)))
    span, stride = _as_index(end) - _as_index(start), _as_index(step)
    # Eager refuses a step of the wrong sign: one that is not known counts from the nearer end
    if stride.constant is None:
        span, stride = maximum(span, -span), maximum(maximum(stride, -stride), 1)
    elif stride.constant < 0:
        span, stride = -span, -stride
    return (span + (stride - 1)) // stride


# --- triangles ----------------------------------------------------------------------------------


@lowers(aten.eye.default)
def lower_eye(ctx: LoweringContext, n: Size, dtype: torch.dtype | None) -> TensorValue:
    """The identity matrix."""
    return lower_eye_rectangle(ctx, n, n, dtype)


@lowers(aten.eye.m)
def lower_eye_rectangle(
    ctx: LoweringContext, n: Size, m: Size, dtype: torch.dtype | None
) -> TensorValue:
    """Ones on the diagonal of an n x m matrix."""
    kind = requested(dtype, default_float())

    def element(index: Indices) -> Expr:
        row, column = (b.index_value(i, DType.I64) for i in index)
        return b.cast(b.eq(row, column), kind)

    return ctx.pointwise(_shape(ctx, (n, m)), kind, element)


@lowers(aten.tril_indices.default)
def lower_tril_indices(
    ctx: LoweringContext, rows: int, columns: int, offset: int, dtype: torch.dtype | None
) -> TensorValue:
    """Rows and columns of the elements on and below a diagonal."""
    return _triangle_indices(ctx, np.tril_indices(rows, offset, columns), dtype)


@lowers(aten.triu_indices.default)
def lower_triu_indices(
    ctx: LoweringContext, rows: int, columns: int, offset: int, dtype: torch.dtype | None
) -> TensorValue:
    """Rows and columns of the elements on and above a diagonal."""
    return _triangle_indices(ctx, np.triu_indices(rows, offset, columns), dtype)


def _triangle_indices(
    ctx: LoweringContext, pair: tuple[np.ndarray, ...], dtype: torch.dtype | None
) -> TensorValue:
    table = np.stack(pair).astype(np.int64)
    kind = requested(dtype, DType.I64)
    values = ctx.literal(table.tobytes(), table.shape, DType.I64)
    return ctx.pointwise(values.shape, kind, lambda i: b.cast(ctx.load(values, i), kind))


# --- samples ------------------------------------------------------------------------------------

samples(
    aten.full.default,
    sample([2, 3], 0.1, exact=True),
    sample([], 3, exact=True),
    sample([2], True, exact=True),
    sample([0, 4], 1, dtype=torch.int32, exact=True),
    sample([4], 0.1, dtype=torch.bfloat16, exact=True),
    sample([4], float("-inf"), exact=True),
)
samples_for(
    (aten.full_like.default,),
    sample(T("f32[2,3]"), 0.1, exact=True),
    sample(T("i64[]"), 3, exact=True),
    sample(T("f16[5]"), 0.1, exact=True),
    sample(T("f32[5]"), 3, dtype=torch.int64, exact=True),
)
samples(aten.new_full.default, sample(T("bf16[2]"), [3, 0], 0.1), sample(T("i64[2]"), [3], 7))
samples_for(
    (aten.zeros.default, aten.ones.default),
    sample([2, 3], exact=True),
    sample([], dtype=torch.bool, exact=True),
    sample([0], dtype=torch.float16, exact=True),
)
samples_for(
    (aten.zeros_like.default, aten.ones_like.default),
    sample(T("f32[2,3]"), exact=True),
    sample(T("bool[]"), exact=True),
    sample(T("f32[3]"), dtype=torch.int64, exact=True),
)
samples_for(
    (aten.new_zeros.default, aten.new_ones.default),
    sample(T("bf16[2]"), [3, 2], exact=True),
    sample(T("f32[2]"), [3], dtype=torch.bool, exact=True),
)
samples(aten.empty.memory_format, sample([0, 3]))
samples(aten.empty_strided.default, sample([0, 3], [3, 1]))
samples(aten.empty_permuted.default, sample([0, 3], [1, 0]))
samples(aten.empty_like.default, sample(T("f32[0,3]")))
samples(aten.new_empty.default, sample(T("f32[3]"), [0]))
samples(
    aten.scalar_tensor.default,
    sample(0.1, exact=True),
    sample(3, dtype=torch.int64, exact=True),
    sample(float("nan"), dtype=torch.bfloat16, exact=True),
)
samples(aten.arange.default, sample(5, exact=True), sample(0, exact=True), sample(3.5, exact=True))
samples(
    aten.arange.start,
    sample(2, 7, exact=True),
    sample(-1.5, 3.0, exact=True),
    sample(2, 2, exact=True),
)
samples(
    aten.arange.start_step,
    sample(0, 10, 3, exact=True),
    sample(10, 0, -3, exact=True),
    sample(0, 1, 0.1),
    sample(0, 10, 2, dtype=torch.float32, exact=True),
    sample(1, 2.0, 0.25, dtype=torch.float64, exact=True),
    sample(0, 9, 2, dtype=torch.bfloat16, exact=True),
    sample(0, 5, 3, dtype=torch.int32, exact=True),
)
samples(
    prims.iota.default,
    sample(5, start=2, step=3, dtype=torch.int64, device=torch.device("cpu"), requires_grad=False),
    sample(4, start=3, step=-1, dtype=torch.int32, device=torch.device("cpu"), requires_grad=False),
)
samples(aten.eye.default, sample(3, exact=True), sample(0, dtype=torch.bool, exact=True))
samples(aten.eye.m, sample(3, 5, exact=True), sample(4, 2, dtype=torch.int64, exact=True))
samples_for(
    (aten.tril_indices.default, aten.triu_indices.default),
    sample(3, 4, exact=True),
    sample(4, 3, -1, dtype=torch.int32, exact=True),
)
