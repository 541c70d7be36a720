"""Comparisons, logic, bit operations, selection by a mask."""

from __future__ import annotations

from collections.abc import Callable

import torch

from ptc.loops import build as b
from ptc.loops.nodes import DType, Expr
from ptc.ops.dtypes import Operand, compute_type, promote
from ptc.ops.elementwise import elementwise, operand_value, unary
from ptc.ops.protocol import Indices, LoweringContext, LoweringRule, T, TensorValue, sample
from ptc.ops.registry import lowers, samples, samples_for
from ptc.ops.shapes import broadcast_index, broadcast_shapes

aten = torch.ops.aten

_COMPARISONS = {
    (aten.eq.Tensor, aten.eq.Scalar): "eq",
    (aten.ne.Tensor, aten.ne.Scalar): "ne",
    (aten.lt.Tensor, aten.lt.Scalar): "lt",
    (aten.le.Tensor, aten.le.Scalar): "le",
    (aten.gt.Tensor, aten.gt.Scalar): "gt",
    (aten.ge.Tensor, aten.ge.Scalar): "ge",
}


def _comparison_rule(name: str) -> LoweringRule:
    def lower(ctx: LoweringContext, x: Operand, y: Operand) -> TensorValue:
        return elementwise(ctx, [x, y], lambda p, q: b.apply(name, p, q), result=DType.BOOL)

    lower.__doc__ = f"`{name}` of the operands in their common type; false with NaN, but for ne."
    return lower


for _ops, _name in _COMPARISONS.items():
    lowers(*_ops)(_comparison_rule(_name))


# --- logic --------------------------------------------------------------------------------------


def _truth(v: Expr) -> Expr:
    return v if v.dtype is DType.BOOL else b.ne(v, 0)


def _logical(
    ctx: LoweringContext, x: TensorValue, y: TensorValue, combine: Callable[[Expr, Expr], Expr]
) -> TensorValue:
    """Each operand is tested for non-zero in its own type."""
    shape = broadcast_shapes(x.shape, y.shape)

    def element(index: Indices) -> Expr:
        values = [
            operand_value(ctx, o, shape, index, common=o.dtype, compute=compute_type(o.dtype))
            for o in (x, y)
        ]
        return combine(_truth(values[0]), _truth(values[1]))

    return ctx.pointwise(shape, DType.BOOL, element)


@lowers(aten.logical_and.default)
def lower_logical_and(ctx: LoweringContext, x: TensorValue, y: TensorValue) -> TensorValue:
    """Both non-zero; NaN counts as true."""
    return _logical(ctx, x, y, b.and_)


@lowers(aten.logical_or.default)
def lower_logical_or(ctx: LoweringContext, x: TensorValue, y: TensorValue) -> TensorValue:
    """Either non-zero."""
    return _logical(ctx, x, y, b.or_)


@lowers(aten.logical_xor.default)
def lower_logical_xor(ctx: LoweringContext, x: TensorValue, y: TensorValue) -> TensorValue:
    """Exactly one non-zero."""
    return _logical(ctx, x, y, b.xor)


@lowers(aten.logical_not.default)
def lower_logical_not(ctx: LoweringContext, x: TensorValue) -> TensorValue:
    """Whether the element is zero."""
    return elementwise(ctx, [x], lambda v: b.not_(_truth(v)), result=DType.BOOL)


# --- bits ---------------------------------------------------------------------------------------


@lowers(aten.bitwise_and.Tensor, aten.bitwise_and.Scalar, aten.bitwise_and.Scalar_Tensor)
def lower_bitwise_and(ctx: LoweringContext, x: Operand, y: Operand) -> TensorValue:
    """Bitwise, logical on bools."""
    return elementwise(ctx, [x, y], b.and_)


@lowers(aten.bitwise_or.Tensor, aten.bitwise_or.Scalar, aten.bitwise_or.Scalar_Tensor)
def lower_bitwise_or(ctx: LoweringContext, x: Operand, y: Operand) -> TensorValue:
    """Bitwise, logical on bools."""
    return elementwise(ctx, [x, y], b.or_)


@lowers(aten.bitwise_xor.Tensor, aten.bitwise_xor.Scalar, aten.bitwise_xor.Scalar_Tensor)
def lower_bitwise_xor(ctx: LoweringContext, x: Operand, y: Operand) -> TensorValue:
    """Bitwise, logical on bools."""
    return elementwise(ctx, [x, y], b.xor)


@lowers(aten.bitwise_not.default)
def lower_bitwise_not(ctx: LoweringContext, x: TensorValue) -> TensorValue:
    """Bitwise, logical on bools."""
    return unary(ctx, x, b.not_)


def _shift_limit(v: Expr) -> int:
    return 8 * v.dtype.itemsize


def _shift_left(x: Expr, amount: Expr) -> Expr:
    """Shifting out of range gives 0, as in eager."""
    legal = b.and_(b.ge(amount, 0), b.lt(amount, _shift_limit(x)))
    safe = b.where(legal, amount, b.literal(0, amount.dtype))
    return b.where(legal, b.apply("shl", x, safe), b.literal(0, x.dtype))


def _shift_right(x: Expr, amount: Expr) -> Expr:
    """Arithmetic; out of range shifts as far as possible, which leaves the sign."""
    top = _shift_limit(x) - 1
    legal = b.and_(b.ge(amount, 0), b.le(amount, top))
    safe = b.where(legal, amount, b.literal(top, amount.dtype))
    shifted = b.apply("shr", x, safe)
    if x.dtype is DType.U8:
        return b.where(legal, shifted, b.literal(0, x.dtype))
    return shifted


@lowers(
    aten.bitwise_left_shift.Tensor,
    aten.bitwise_left_shift.Tensor_Scalar,
    aten.__lshift__.Tensor,
    aten.__lshift__.Scalar,
)
def lower_left_shift(ctx: LoweringContext, x: Operand, y: Operand) -> TensorValue:
    """x * 2**y for integers."""
    return elementwise(ctx, [x, y], _shift_left)


@lowers(
    aten.bitwise_right_shift.Tensor,
    aten.bitwise_right_shift.Tensor_Scalar,
    aten.__rshift__.Tensor,
    aten.__rshift__.Scalar,
)
def lower_right_shift(ctx: LoweringContext, x: Operand, y: Operand) -> TensorValue:
    """x / 2**y for integers, rounded down."""
    return elementwise(ctx, [x, y], _shift_right)


# --- tests on floats ----------------------------------------------------------------------------


def _float_test(
    ctx: LoweringContext, x: TensorValue, test: Callable[[Expr], Expr], otherwise: bool
) -> TensorValue:
    if not x.dtype.is_float:
        return ctx.pointwise(x.shape, DType.BOOL, lambda _: b.literal(otherwise, DType.BOOL))
    return elementwise(ctx, [x], test, result=DType.BOOL)


@lowers(aten.isnan.default)
def lower_isnan(ctx: LoweringContext, x: TensorValue) -> TensorValue:
    """Whether it is NaN; never for integers."""
    return _float_test(ctx, x, b.isnan, False)


@lowers(aten.isinf.default)
def lower_isinf(ctx: LoweringContext, x: TensorValue) -> TensorValue:
    """Whether it is an infinity; never for integers."""
    return _float_test(ctx, x, b.isinf, False)


@lowers(aten.isfinite.default)
def lower_isfinite(ctx: LoweringContext, x: TensorValue) -> TensorValue:
    """Neither NaN nor infinite."""
    return _float_test(ctx, x, lambda v: b.not_(b.or_(b.isnan(v), b.isinf(v))), True)


@lowers(aten.isposinf.default)
def lower_isposinf(ctx: LoweringContext, x: TensorValue) -> TensorValue:
    """Whether it is +infinity."""
    return _float_test(ctx, x, lambda v: b.and_(b.isinf(v), b.gt(v, 0.0)), False)


@lowers(aten.isneginf.default)
def lower_isneginf(ctx: LoweringContext, x: TensorValue) -> TensorValue:
    """Whether it is -infinity."""
    return _float_test(ctx, x, lambda v: b.and_(b.isinf(v), b.lt(v, 0.0)), False)


@lowers(aten.signbit.default)
def lower_signbit(ctx: LoweringContext, x: TensorValue) -> TensorValue:
    """Whether the sign is negative, of zeros and NaN too."""
    if not x.dtype.is_float:
        if x.dtype in (DType.BOOL, DType.U8):
            return ctx.pointwise(x.shape, DType.BOOL, lambda _: b.literal(False, DType.BOOL))
        return elementwise(ctx, [x], lambda v: b.lt(v, 0), result=DType.BOOL)

    def negative(v: Expr) -> Expr:
        return b.lt(b.apply("copysign", b.literal(1.0, v.dtype), v), 0.0)

    return elementwise(ctx, [x], negative, result=DType.BOOL)


# --- selection ----------------------------------------------------------------------------------


def select(
    ctx: LoweringContext, mask: TensorValue, x: Operand, y: Operand, common: DType
) -> TensorValue:
    """x where the mask is true, else y, both converted to `common`."""
    tensors = [mask, *(o for o in (x, y) if isinstance(o, TensorValue))]
    shape = broadcast_shapes(*(t.shape for t in tensors))

    def element(index: Indices) -> Expr:
        condition = _truth(ctx.load(mask, broadcast_index(mask.shape, shape, index)))
        values = [
            operand_value(ctx, o, shape, index, common=common, compute=common) for o in (x, y)
        ]
        return b.where(condition, *values)

    return ctx.pointwise(shape, common, element)


@lowers(aten.where.self, aten.where.ScalarSelf, aten.where.ScalarOther, aten.where.Scalar)
def lower_where(ctx: LoweringContext, mask: TensorValue, x: Operand, y: Operand) -> TensorValue:
    """Choose by a bool (or byte) mask; the operands are promoted."""
    return select(ctx, mask, x, y, promote([x, y]))


@lowers(aten.masked_fill.Scalar, aten.masked_fill.Tensor)
def lower_masked_fill(
    ctx: LoweringContext, x: TensorValue, mask: TensorValue, value: Operand
) -> TensorValue:
    """`value` where the mask is true, else x, in the type of x."""
    return select(ctx, mask, value, x, x.dtype)


# --- samples ------------------------------------------------------------------------------------

_TENSOR_COMPARISONS = tuple(op for pair in _COMPARISONS for op in pair[:1])
_SCALAR_COMPARISONS = tuple(op for pair in _COMPARISONS for op in pair[1:])
samples_for(
    _TENSOR_COMPARISONS,
    sample(T("f32[60]", special=True), T("f32[60]", special=True), exact=True),
    sample(T("f32[3,1]"), T("f32[4]"), exact=True),
    sample(T("i64[30]", low=-3, high=3), T("i64[30]", low=-3, high=3), exact=True),
    sample(T("i64[30]", low=-3, high=3), T("f32[30]"), exact=True),
    sample(T("bool[9]"), T("bool[9]"), exact=True),
    sample(T("bf16[9]"), T("bf16[]"), exact=True),
    sample(T("u8[9]", low=0, high=3), T("i32[9]", low=-1, high=3), exact=True),
    sample(T("f64[]"), T("f64[0]"), exact=True),
)
samples_for(
    _SCALAR_COMPARISONS,
    sample(T("f32[60]", special=True), 0, exact=True),
    sample(T("i64[30]", low=-3, high=3), 1, exact=True),
    sample(T("i64[30]", low=-3, high=3), 0.5, exact=True),
    sample(T("bf16[30]"), 0.1, exact=True),
    sample(T("bool[9]"), True, exact=True),
    sample(T("bool[9]"), 1, exact=True),
    sample(T("u8[9]"), 3, exact=True),
    sample(T("f32[]"), 0.1, exact=True),
)
samples_for(
    (aten.logical_and.default, aten.logical_or.default, aten.logical_xor.default),
    sample(T("bool[9]"), T("bool[9]"), exact=True),
    sample(T("bool[3,1]"), T("bool[4]"), exact=True),
    sample(T("f32[40]", special=True), T("i64[40]", low=0, high=2), exact=True),
    sample(T("bf16[9]"), T("u8[9]", low=0, high=2), exact=True),
    sample(T("bool[]"), T("bool[0]"), exact=True),
)
samples_for(
    (aten.logical_not.default,),
    sample(T("bool[9]"), exact=True),
    sample(T("f32[40]", special=True), exact=True),
    sample(T("i64[9]", low=0, high=2), exact=True),
    sample(T("f16[]"), exact=True),
)
_BITS = (
    sample(T("i64[9]"), T("i64[9]"), exact=True),
    sample(T("i32[3,1]"), T("u8[4]", low=0, high=255), exact=True),
    sample(T("bool[9]"), T("bool[9]"), exact=True),
    sample(T("i64[]"), T("i64[0]"), exact=True),
)
_BITS_SCALAR = (
    sample(T("i64[9]"), 6, exact=True),
    sample(T("u8[9]", low=0, high=255), 15, exact=True),
    sample(T("bool[9]"), True, exact=True),
)
samples_for((aten.bitwise_and.Tensor, aten.bitwise_or.Tensor, aten.bitwise_xor.Tensor), *_BITS)
samples_for(
    (aten.bitwise_and.Scalar, aten.bitwise_or.Scalar, aten.bitwise_xor.Scalar), *_BITS_SCALAR
)
samples_for(
    (aten.bitwise_and.Scalar_Tensor, aten.bitwise_or.Scalar_Tensor, aten.bitwise_xor.Scalar_Tensor),
    sample(5, T("i64[9]"), exact=True),
    sample(True, T("bool[4]"), exact=True),
)
samples(
    aten.bitwise_not.default,
    sample(T("i64[9]"), exact=True),
    sample(T("u8[9]"), exact=True),
    sample(T("bool[]"), exact=True),
)
samples_for(
    (
        aten.bitwise_left_shift.Tensor,
        aten.bitwise_right_shift.Tensor,
        aten.__lshift__.Tensor,
        aten.__rshift__.Tensor,
    ),
    sample(T("i64[30]", low=-99, high=99), T("i64[30]", low=-2, high=70), exact=True),
    sample(T("i32[9]"), T("i32[9]", low=0, high=31), exact=True),
    sample(T("u8[9]", low=0, high=255), T("u8[9]", low=0, high=7), exact=True),
)
samples_for(
    (
        aten.bitwise_left_shift.Tensor_Scalar,
        aten.bitwise_right_shift.Tensor_Scalar,
        aten.__lshift__.Scalar,
        aten.__rshift__.Scalar,
    ),
    sample(T("i64[9]", low=-99, high=99), 3, exact=True),
    sample(T("u8[9]", low=0, high=255), 2, exact=True),
)
samples_for(
    (aten.isnan.default, aten.isinf.default, aten.isfinite.default),
    sample(T("f32[60]", special=True), exact=True),
    sample(T("bf16[60]", special=True), exact=True),
    sample(T("i64[4]"), exact=True),
    sample(T("f64[]"), exact=True),
)
samples_for(
    (aten.isposinf.default, aten.isneginf.default),
    sample(T("f32[60]", special=True), exact=True),
    sample(T("f64[60]", special=True), exact=True),
    sample(T("i64[4]"), exact=True),
)
samples(
    aten.signbit.default,
    sample(T("f32[60]", special=True), exact=True),
    sample(T("i64[5]"), exact=True),
    sample(T("bool[5]"), exact=True),
    sample(T("bf16[5]"), exact=True),
)
samples(
    aten.where.self,
    sample(T("bool[3,4]"), T("f32[3,4]", special=True), T("f32[4]"), exact=True),
    sample(T("bool[3,1]"), T("bf16[]"), T("bf16[4]"), exact=True),
    sample(T("bool[4]"), T("i64[4]"), T("f32[4]"), exact=True),
    sample(T("bool[]"), T("bool[0]"), T("bool[]"), exact=True),
    sample(T("bool[4]"), T("f32[]"), T("f32[]"), exact=True),
)
samples(
    aten.where.ScalarSelf,
    sample(T("bool[4]"), 0.5, T("f32[4]"), exact=True),
    sample(T("bool[4]"), 0.1, T("bf16[4]"), exact=True),
)
samples(
    aten.where.ScalarOther,
    sample(T("bool[4]"), T("f32[3,4]"), float("-inf"), exact=True),
    sample(T("bool[4]"), T("i64[4]"), 0.5, exact=True),
)
samples(aten.where.Scalar, sample(T("bool[4]"), 1, 0, exact=True))
samples(
    aten.masked_fill.Scalar,
    sample(T("f32[2,3,4]"), T("bool[3,1]"), float("-inf"), exact=True),
    sample(T("bf16[9]"), T("bool[9]"), 0.1, exact=True),
    sample(T("i64[9]"), T("bool[]"), 3, exact=True),
    sample(T("bool[9]"), T("bool[9]"), True, exact=True),
)
samples(
    aten.masked_fill.Tensor,
    sample(T("f32[3,4]"), T("bool[4]"), T("f32[]"), exact=True),
    sample(T("f16[3,4]"), T("bool[4]"), T("f32[]"), exact=True),
)
