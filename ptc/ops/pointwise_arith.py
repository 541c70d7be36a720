"""Elementwise arithmetic: sums, products, quotients, powers, remainders, clamping.

Integer division by zero fails the run, as it raises in eager; everything else is one pointwise
kernel.
"""

from __future__ import annotations

from collections.abc import Callable

import torch

from ptc.loops import build as b
from ptc.loops.nodes import DType, Expr
from ptc.ops.dtypes import Operand, float_result, promote
from ptc.ops.elementwise import elementwise, operand_value, unary
from ptc.ops.nests import loops
from ptc.ops.protocol import LoweringContext, T, TensorValue, sample
from ptc.ops.registry import lowers, samples, samples_for
from ptc.ops.shapes import broadcast_shapes
from ptc.support.diagnostics import CompileError

aten = torch.ops.aten


# --- sums and products --------------------------------------------------------------------------


def _plus(x: Expr, y: Expr) -> Expr:
    return b.or_(x, y) if x.dtype is DType.BOOL else b.add(x, y)


def _times(x: Expr, y: Expr) -> Expr:
    return b.and_(x, y) if x.dtype is DType.BOOL else b.mul(x, y)


def _is_one(alpha: Operand) -> bool:
    return isinstance(alpha, int | float) and alpha == 1


def _scaled(ctx: LoweringContext, value: Expr, alpha: Operand) -> Expr:
    """`alpha * value`, in the type of `value`; alpha is not rounded to 16 bits first."""
    if _is_one(alpha):
        return value
    dtype = value.dtype
    return _times(value, operand_value(ctx, alpha, (), (), common=dtype, compute=dtype))


@lowers(aten.add.Tensor, aten.add.Scalar)
def lower_add(ctx: LoweringContext, x: Operand, y: Operand, alpha: Operand) -> TensorValue:
    """x + alpha * y; on bools, `or`."""
    return elementwise(ctx, [x, y], lambda p, q: _plus(p, _scaled(ctx, q, alpha)))


@lowers(aten.sub.Tensor, aten.sub.Scalar)
def lower_sub(ctx: LoweringContext, x: Operand, y: Operand, alpha: Operand) -> TensorValue:
    """x - alpha * y."""
    return elementwise(ctx, [x, y], lambda p, q: b.sub(p, _scaled(ctx, q, alpha)))


@lowers(aten.rsub.Tensor, aten.rsub.Scalar)
def lower_rsub(ctx: LoweringContext, x: Operand, y: Operand, alpha: Operand) -> TensorValue:
    """y - alpha * x."""
    return elementwise(ctx, [x, y], lambda p, q: b.sub(q, _scaled(ctx, p, alpha)))


@lowers(aten.mul.Tensor, aten.mul.Scalar)
def lower_mul(ctx: LoweringContext, x: Operand, y: Operand) -> TensorValue:
    """x * y; on bools, `and`. A scalar factor is not rounded to 16 bits first."""
    return elementwise(ctx, [x, y], _times, unrounded=(1,))


@lowers(aten.addcmul.default)
def lower_addcmul(
    ctx: LoweringContext, x: Operand, y: Operand, z: Operand, value: Operand
) -> TensorValue:
    """x + value * y * z."""
    return elementwise(ctx, [x, y, z], lambda p, q, r: b.add(p, b.mul(_scaled(ctx, q, value), r)))


@lowers(aten.addcdiv.default)
def lower_addcdiv(
    ctx: LoweringContext, x: Operand, y: Operand, z: Operand, value: Operand
) -> TensorValue:
    """x + value * y / z, for floats."""
    return elementwise(ctx, [x, y, z], lambda p, q, r: b.add(p, b.div(_scaled(ctx, q, value), r)))


# --- division -----------------------------------------------------------------------------------


@lowers(aten.div.Tensor, aten.div.Scalar)
def lower_div(ctx: LoweringContext, x: Operand, y: Operand) -> TensorValue:
    """True division; integers and bools give the default float type."""
    common = float_result(promote([x, y]))
    return elementwise(ctx, [x, y], b.div, common=common, unrounded=(1,))


@lowers(aten.div.Tensor_mode, aten.div.Scalar_mode)
def lower_div_mode(
    ctx: LoweringContext, x: Operand, y: Operand, rounding_mode: str | None
) -> TensorValue:
    """True, truncated (`trunc`) or floor (`floor`) division."""
    if rounding_mode is None:
        return lower_div(ctx, x, y)
    common = promote([x, y])
    if common.is_float:
        body = _float_floordiv if rounding_mode == "floor" else _float_truncdiv
        return elementwise(ctx, [x, y], body, common=common, unrounded=(1,))
    body = b.floordiv if rounding_mode == "floor" else b.truncdiv
    return _integer_division(ctx, x, y, common, body)


@lowers(aten.floor_divide.default, aten.floor_divide.Scalar)
def lower_floor_divide(ctx: LoweringContext, x: Operand, y: Operand) -> TensorValue:
    """Floor division (torch's documentation once said truncating; it floors)."""
    return lower_div_mode(ctx, x, y, "floor")


def _float_truncdiv(x: Expr, y: Expr) -> Expr:
    return b.apply("trunc", b.div(x, y))


def _float_floordiv(x: Expr, y: Expr) -> Expr:
    """Python's float floor division, as eager computes it: from the exact remainder, so that
    rounding in x / y cannot carry the quotient over an integer."""
    remainder = b.fmod(x, y)
    exact = b.div(b.sub(x, remainder), y)
    crosses = b.and_(b.ne(remainder, 0.0), b.ne(b.lt(y, 0.0), b.lt(remainder, 0.0)))
    quotient = b.where(crosses, b.sub(exact, 1.0), exact)
    floor = b.apply("floor", quotient)
    nearest = b.where(b.gt(b.sub(quotient, floor), 0.5), b.add(floor, 1.0), floor)
    zero = b.apply("copysign", b.literal(0.0, x.dtype), b.div(x, y))
    value = b.where(b.ne(quotient, 0.0), nearest, zero)
    return b.where(b.eq(y, 0.0), b.div(x, y), value)


def _integer_division(
    ctx: LoweringContext,
    x: Operand,
    y: Operand,
    common: DType,
    body: Callable[[Expr, Expr], Expr],
) -> TensorValue:
    """`body(x, y)` for integers. Only a divisor that may be zero needs a checked kernel."""
    if common is DType.BOOL:
        raise CompileError(
            "PTC-O005",
            "division of two bool tensors, which eager does not define either",
            hint="convert one of them to an integer type",
        )
    if isinstance(y, int) and y != 0:
        return elementwise(ctx, [x, y], body, common=common)
    shape = broadcast_shapes(*(o.shape for o in (x, y) if isinstance(o, TensorValue)))
    out = ctx.empty(shape, common)
    with ctx.kernel() as k, loops(k, shape) as index:
        left, right = (
            operand_value(ctx, o, shape, index, common=common, compute=common) for o in (x, y)
        )
        divisor = k.let(right, "divisor")
        k.check(b.ne(divisor, 0), "integer division by zero")
        k.store(out, index, body(left, divisor))
    return out


@lowers(aten.remainder.Tensor, aten.remainder.Scalar, aten.remainder.Scalar_Tensor)
def lower_remainder(ctx: LoweringContext, x: Operand, y: Operand) -> TensorValue:
    """Python's `%`: the sign of the divisor."""
    common = promote([x, y])
    if common.is_float:
        return elementwise(ctx, [x, y], _float_remainder, common=common)
    return _integer_division(ctx, x, y, common, b.mod)


def _float_remainder(x: Expr, y: Expr) -> Expr:
    remainder = b.fmod(x, y)
    wrong_sign = b.and_(b.ne(remainder, 0.0), b.ne(b.lt(y, 0.0), b.lt(remainder, 0.0)))
    return b.where(wrong_sign, b.add(remainder, y), remainder)


@lowers(aten.fmod.Tensor, aten.fmod.Scalar)
def lower_fmod(ctx: LoweringContext, x: Operand, y: Operand) -> TensorValue:
    """C's remainder: the sign of the dividend."""
    common = promote([x, y])
    if common.is_float:
        return elementwise(ctx, [x, y], b.fmod, common=common)
    return _integer_division(ctx, x, y, common, b.fmod)


@lowers(aten.reciprocal.default)
def lower_reciprocal(ctx: LoweringContext, x: TensorValue) -> TensorValue:
    """1 / x."""
    return unary(ctx, x, lambda v: b.div(b.literal(1.0, v.dtype), v), to_float=True)


# --- powers -------------------------------------------------------------------------------------

# Exponents that eager computes by other operations than pow.
_SPECIAL_POWERS: dict[float, Callable[[Expr], Expr]] = {
    0.0: lambda v: b.literal(1.0, v.dtype),
    0.5: b.sqrt,
    1.0: lambda v: v,
    2.0: lambda v: b.mul(v, v),
    3.0: lambda v: b.mul(b.mul(v, v), v),
    -0.5: b.rsqrt,
    -1.0: lambda v: b.div(b.literal(1.0, v.dtype), v),
    -2.0: lambda v: b.div(b.literal(1.0, v.dtype), b.mul(v, v)),
}


@lowers(aten.pow.Tensor_Tensor, aten.pow.Tensor_Scalar, aten.pow.Scalar)
def lower_pow(ctx: LoweringContext, x: Operand, y: Operand) -> TensorValue:
    """x ** y. Integers stay integers; their negative powers are 0 but for bases 1 and -1."""
    common = promote([x, y])
    if not common.is_float:
        if isinstance(y, int):
            return elementwise(ctx, [x], lambda v: _integer_power(v, int(y)), common=common)
        return elementwise(ctx, [x, y], _integer_pow, common=common)
    if isinstance(y, int | float):
        special = _SPECIAL_POWERS.get(float(y))
        if special is not None:
            return elementwise(ctx, [x], special, common=common)
    return elementwise(ctx, [x, y], b.pow_, common=common)


def _integer_power(base: Expr, exponent: int) -> Expr:
    """`base` to a constant power by squaring, wrapping on overflow as eager does."""
    one = b.literal(1, base.dtype)
    if base.dtype is DType.BOOL:
        return base if exponent else b.literal(True, DType.BOOL)
    if exponent < 0:
        raise CompileError(
            "PTC-O005",
            f"an integer to the power {exponent}, which eager does not allow",
            hint="convert the base to a floating point type",
        )
    result: Expr = one
    square = base
    while exponent:
        if exponent & 1:
            result = square if result is one else b.mul(result, square)
        exponent >>= 1
        if exponent:
            square = b.mul(square, square)
    return result


def _integer_pow(base: Expr, exponent: Expr) -> Expr:
    if base.dtype is DType.BOOL:
        return b.or_(base, b.not_(exponent))
    zero, one = b.literal(0, base.dtype), b.literal(1, base.dtype)
    value = b.pow_(base, b.max_(exponent, zero))
    if base.dtype is DType.U8:
        return value
    odd = b.ne(b.and_(exponent, one), zero)
    unit = b.where(b.eq(base, -1), b.where(odd, b.neg(one), one), zero)
    return b.where(b.lt(exponent, zero), b.where(b.eq(base, one), one, unit), value)


@lowers(aten.square.default)
def lower_square(ctx: LoweringContext, x: TensorValue) -> TensorValue:
    """x * x."""
    return lower_pow(ctx, x, 2)


# --- signs --------------------------------------------------------------------------------------


@lowers(aten.neg.default)
def lower_neg(ctx: LoweringContext, x: TensorValue) -> TensorValue:
    """-x."""
    return unary(ctx, x, b.neg)


@lowers(aten.abs.default)
def lower_abs(ctx: LoweringContext, x: TensorValue) -> TensorValue:
    """The magnitude."""
    if x.dtype in (DType.BOOL, DType.U8):
        return unary(ctx, x, lambda v: v)
    return unary(ctx, x, b.abs_)


@lowers(aten.sign.default, aten.sgn.default)
def lower_sign(ctx: LoweringContext, x: TensorValue) -> TensorValue:
    """-1, 0 or 1; 0 for NaN. A bool is its own sign."""
    if x.dtype is DType.BOOL:
        return unary(ctx, x, lambda v: v)
    return unary(ctx, x, lambda v: b.apply("sign", v))


@lowers(aten.copysign.Tensor, aten.copysign.Scalar)
def lower_copysign(ctx: LoweringContext, x: Operand, y: Operand) -> TensorValue:
    """The magnitude of x with the sign of y."""
    common = float_result(promote([x, y]))
    return elementwise(ctx, [x, y], lambda p, q: b.apply("copysign", p, q), common=common)


# --- extremes -----------------------------------------------------------------------------------


@lowers(aten.maximum.default)
def lower_maximum(ctx: LoweringContext, x: Operand, y: Operand) -> TensorValue:
    """The larger; NaN if either is."""
    return elementwise(ctx, [x, y], b.max_)


@lowers(aten.minimum.default)
def lower_minimum(ctx: LoweringContext, x: Operand, y: Operand) -> TensorValue:
    """The smaller; NaN if either is."""
    return elementwise(ctx, [x, y], b.min_)


def _ignoring_nan(pick: Callable[[Expr, Expr], Expr]) -> Callable[[Expr, Expr], Expr]:
    def body(x: Expr, y: Expr) -> Expr:
        if not x.dtype.is_float:
            return pick(x, y)
        return b.where(b.isnan(x), y, b.where(b.isnan(y), x, pick(x, y)))

    return body


@lowers(aten.fmax.default)
def lower_fmax(ctx: LoweringContext, x: Operand, y: Operand) -> TensorValue:
    """The larger; a NaN gives way to the other operand."""
    return elementwise(ctx, [x, y], _ignoring_nan(b.max_))


@lowers(aten.fmin.default)
def lower_fmin(ctx: LoweringContext, x: Operand, y: Operand) -> TensorValue:
    """The smaller; a NaN gives way to the other operand."""
    return elementwise(ctx, [x, y], _ignoring_nan(b.min_))


@lowers(aten.clamp.default, aten.clamp.Tensor)
def lower_clamp(
    ctx: LoweringContext, x: TensorValue, low: Operand | None, high: Operand | None
) -> TensorValue:
    """min(max(x, low), high): `high` wins when the bounds cross, and NaN stays NaN."""
    bounds = [o for o in (low, high) if o is not None]
    picks = [p for o, p in ((low, b.max_), (high, b.min_)) if o is not None]

    def body(value: Expr, *limits: Expr) -> Expr:
        for pick, limit in zip(picks, limits, strict=True):
            value = pick(value, limit)
        return value

    return elementwise(ctx, [x, *bounds], body)


@lowers(aten.clamp_min.default, aten.clamp_min.Tensor)
def lower_clamp_min(ctx: LoweringContext, x: TensorValue, low: Operand) -> TensorValue:
    """max(x, low)."""
    return lower_clamp(ctx, x, low, None)


@lowers(aten.clamp_max.default, aten.clamp_max.Tensor)
def lower_clamp_max(ctx: LoweringContext, x: TensorValue, high: Operand) -> TensorValue:
    """min(x, high)."""
    return lower_clamp(ctx, x, None, high)


@lowers(aten.lerp.Scalar, aten.lerp.Tensor)
def lower_lerp(ctx: LoweringContext, x: Operand, y: Operand, weight: Operand) -> TensorValue:
    """x + weight * (y - x), from whichever end is nearer, as eager does."""

    def body(start: Expr, end: Expr, w: Expr) -> Expr:
        span = b.sub(end, start)
        near_end = b.sub(end, b.mul(span, b.sub(b.literal(1.0, w.dtype), w)))
        return b.where(b.lt(b.abs_(w), 0.5), b.add(start, b.mul(w, span)), near_end)

    return elementwise(ctx, [x, y, weight], body, common=promote([x, y]), unrounded=(2,))


# --- samples ------------------------------------------------------------------------------------

_BINARY = (
    sample(T("f32[3,4]"), T("f32[3,4]", special=True)),
    sample(T("f32[2,1,5]"), T("f32[4,1]")),
    sample(T("f32[]"), T("f32[3]")),
    sample(T("f32[0,4]"), T("f32[4]")),
    sample(T("f64[7]"), T("f64[7]")),
    sample(T("bf16[5,3]"), T("bf16[3]")),
    sample(T("f16[5,3]"), T("f16[5,1]")),
    sample(T("i64[6]"), T("i64[6]", low=1, high=9)),
    sample(T("i32[2,3]"), T("u8[3]", low=1, high=9)),
    sample(T("f32[3,4]", layout="transposed"), T("f32[]")),
    sample(T("bf16[4]"), T("f32[]")),
    sample(T("i64[4]"), T("f32[]")),
    sample(T("f16[4]"), T("f32[4]")),
)
_SCALAR = (
    sample(T("f32[3,4]", special=True), 2),
    sample(T("f32[]"), 0.3),
    sample(T("bf16[6,2]"), 0.1234567),
    sample(T("f16[6]"), 2.5),
    sample(T("f64[5]"), -1.5),
    sample(T("i64[5]"), 3),
    sample(T("u8[5]", low=0, high=255), 7),
    sample(T("i32[5]"), 2.5),
    sample(T("f32[0]"), 1.0),
)
samples_for(
    (aten.add.Tensor, aten.sub.Tensor, aten.mul.Tensor, aten.div.Tensor), *_BINARY, *_SCALAR
)
samples_for((aten.add.Scalar, aten.sub.Scalar, aten.mul.Scalar, aten.div.Scalar), *_SCALAR)
samples_for((aten.rsub.Tensor,), *_BINARY)
samples_for((aten.rsub.Scalar,), *_SCALAR)
samples_for((aten.add.Tensor, aten.mul.Tensor), sample(T("bool[4]"), T("bool[4]")))
samples_for((aten.mul.Tensor,), sample(T("bool[4]"), T("f32[4]")), sample(T("bool[4]"), True))
samples_for((aten.div.Tensor,), sample(T("bool[4]"), 2))
samples_for(
    (aten.add.Tensor, aten.sub.Tensor, aten.rsub.Tensor),
    sample(T("f32[3]"), T("f32[3]"), alpha=2.5),
    sample(T("bf16[30]"), T("bf16[30]"), alpha=0.123),
    sample(T("i64[3]"), T("i64[3]"), alpha=-3),
)
_TERNARY = (
    sample(T("f32[3,4]"), T("f32[4]"), T("f32[3,1]"), value=0.5),
    sample(T("f64[3]"), T("f64[3]"), T("f64[3]")),
    sample(T("bf16[8]"), T("bf16[8]"), T("bf16[8]"), value=2),
    sample(T("f32[]"), T("f32[]"), T("f32[0]")),
)
samples_for((aten.addcmul.default, aten.addcdiv.default), *_TERNARY)
samples(aten.addcmul.default, sample(T("i64[3]"), T("i64[3]"), T("i64[3]"), value=2))

_DIVISION = (
    sample(T("f32[40]", special=True), T("f32[40]")),
    sample(T("f32[40]"), T("f32[40]", special=True)),
    sample(T("f64[3,4]"), T("f64[4]")),
    sample(T("bf16[20]"), T("bf16[20]")),
    sample(T("i64[20]", low=-9, high=9), T("i64[20]", low=1, high=4)),
    sample(T("i32[20]", low=-9, high=9), T("i32[20]", low=-4, high=0)),
    sample(T("u8[5]"), T("u8[5]", low=1, high=5)),
    sample(T("i64[0]"), T("i64[]", low=1, high=4)),
    sample(T("i64[5]"), T("f32[5]", low=0.5, high=2.0)),
)
_DIVISION_SCALAR = (
    sample(T("f32[40]", special=True), 0.7),
    sample(T("f32[4]"), 0.0),
    sample(T("f16[9]"), -1.5),
    sample(T("bf16[9]"), 0.3),
    sample(T("i64[9]", low=-9, high=9), 4),
    sample(T("i64[9]", low=-9, high=9), -4),
    sample(T("i32[]"), 2.5),
)


def _with_modes() -> None:
    for mode in ("floor", "trunc"):
        for row in _DIVISION:
            samples(aten.div.Tensor_mode, sample(*row.args, rounding_mode=mode))
        for row in _DIVISION_SCALAR:
            samples(aten.div.Scalar_mode, sample(*row.args, rounding_mode=mode))
    samples(aten.div.Tensor_mode, sample(T("i64[3]"), T("i64[3]", low=1), rounding_mode=None))
    samples(aten.div.Scalar_mode, sample(T("f32[3]"), 3.0, rounding_mode=None))


_with_modes()
# Row 1 has denormal divisors: eager's vector fmod gives NaN for them, its scalar one does not.
samples_for((aten.floor_divide.default,), *_DIVISION)
samples_for((aten.remainder.Tensor, aten.fmod.Tensor), _DIVISION[0], *_DIVISION[2:])
samples_for((aten.floor_divide.Scalar, aten.remainder.Scalar, aten.fmod.Scalar), *_DIVISION_SCALAR)
samples(
    aten.remainder.Scalar_Tensor,
    sample(7, T("i64[5]", low=1, high=5)),
    sample(-7.5, T("f32[5]")),
)
samples_for(
    (aten.reciprocal.default,),
    sample(T("f32[3,4]", special=True)),
    sample(T("i64[4]", low=1, high=9)),
    sample(T("bf16[7]")),
)
samples(
    aten.pow.Tensor_Scalar,
    *(
        sample(T("f32[4,5]", low=0.1, high=3.0), e, tolerance=2.0)
        for e in (0, 0.5, 1, 2, 3, 4, -0.5, -1, -2, 2.3, -1.7)
    ),
    sample(T("f32[30]", special=True), 2.5),
    sample(T("f32[30]", special=True), 3),
    sample(T("bf16[9]"), 2),
    sample(T("f16[9]", low=0.1, high=2.0), 1.5),
    sample(T("i64[9]", low=-5, high=5), 3),
    sample(T("i32[9]", low=-5, high=5), 0),
    sample(T("u8[9]"), 2),
    sample(T("i64[9]", low=1, high=5), 0.5),
)
samples(
    aten.pow.Tensor_Tensor,
    sample(T("f32[3,4]", low=0.1, high=3.0), T("f32[4]"), tolerance=2.0),
    sample(T("f64[5]", low=0.1, high=3.0), T("f64[5]")),
    sample(T("i64[20]", low=-3, high=4), T("i64[20]", low=-3, high=5)),
    sample(T("i64[5]", low=1, high=4), T("f32[5]"), tolerance=2.0),
    sample(T("f32[40]", special=True), T("f32[40]", special=True), tolerance=2.0),
)
samples(
    aten.pow.Scalar,
    sample(2, T("f32[5]"), tolerance=2.0),
    sample(2.5, T("f32[5]"), tolerance=2.0),
    sample(2, T("i64[5]", low=0, high=9)),
    sample(0.5, T("i64[5]", low=0, high=9)),
)
samples_for(
    (aten.square.default, aten.neg.default, aten.abs.default, aten.sign.default, aten.sgn.default),
    sample(T("f32[3,5]", special=True), exact=True),
    sample(T("f64[]"), exact=True),
    sample(T("f16[5]"), exact=True),
    sample(T("bf16[0,2]"), exact=True),
    sample(T("i64[5]"), exact=True),
    sample(T("u8[5]"), exact=True),
)
samples_for((aten.sign.default, aten.sgn.default), sample(T("bool[5]"), exact=True))
samples(
    aten.copysign.Tensor,
    sample(T("f32[20]"), T("f32[20]", special=True)),
    sample(T("i64[5]"), T("i64[5]")),
)
samples(aten.copysign.Scalar, sample(T("f32[5]"), -1), sample(T("bf16[5]"), 0.0))
samples_for(
    (aten.maximum.default, aten.minimum.default, aten.fmax.default, aten.fmin.default),
    *_BINARY,
    sample(T("f32[40]", special=True), T("f32[40]", special=True)),
    sample(T("bool[5]"), T("bool[5]")),
)
samples(
    aten.clamp.default,
    sample(T("f32[30]", special=True), -0.5, 0.5),
    sample(T("f32[5]"), 0.5, -0.5),
    sample(T("f32[5]"), None, 0.1),
    sample(T("bf16[9]"), -0.123, None),
    sample(T("i64[9]", low=-9, high=9), -3, 3),
    sample(T("i64[9]", low=-9, high=9), -2.5, None),
    sample(T("u8[9]"), 3, 200),
    sample(T("f32[]"), 0, 1),
)
samples(
    aten.clamp.Tensor,
    sample(T("f32[3,4]"), T("f32[4]"), T("f32[3,1]")),
    sample(T("f32[30]", special=True), T("f32[30]", special=True), None),
    sample(T("i64[4]"), None, T("i64[]")),
)
samples_for((aten.clamp_min.default, aten.clamp_max.default), *_SCALAR)
samples_for(
    (aten.clamp_min.Tensor, aten.clamp_max.Tensor),
    sample(T("f32[3,4]", special=True), T("f32[4]")),
    sample(T("i64[4]"), T("i64[]")),
)
samples(
    aten.lerp.Scalar,
    sample(T("f32[3,4]"), T("f32[4]"), 0.3),
    sample(T("f64[3]"), T("f64[3]"), 0.7),
    sample(T("bf16[9]"), T("bf16[9]"), 0.3, tolerance=2.0),
)
samples(
    aten.lerp.Tensor,
    sample(T("f32[3,4]"), T("f32[4]"), T("f32[3,1]")),
    sample(T("f32[]"), T("f32[]"), T("f32[]")),
)
# Long rows: whole vectors and a rest.
samples_for(
    (aten.add.Tensor, aten.mul.Tensor, aten.maximum.default),
    sample(T("f32[5,67]"), T("f32[67]")),
    sample(T("f32[3,70]"), T("f32[3,1]")),
    sample(T("bf16[4,83]"), T("bf16[4,83]")),
    sample(T("i64[2,37]"), T("i64[37]")),
    sample(T("u8[131]", low=0, high=255), T("u8[131]", low=0, high=255)),
    sample(T("f32[70,3]", layout="transposed"), T("f32[70,3]")),
)
