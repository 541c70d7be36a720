"""Elementwise mathematical functions of one or two tensors.

Integers and bools give the default float type, but for the rounding functions, which keep them.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import torch

from ptc.loops import build as b
from ptc.loops.nodes import DType, Expr
from ptc.ops.dtypes import Operand, float_result, promote
from ptc.ops.elementwise import elementwise, unary
from ptc.ops.protocol import LoweringContext, LoweringRule, T, TensorValue, sample
from ptc.ops.registry import lowers, samples, samples_for

aten = torch.ops.aten

# Operator -> scalar operation of the same meaning, result floating point.
_FLOAT_FUNCTIONS = {
    aten.sqrt.default: "sqrt",
    aten.rsqrt.default: "rsqrt",
    aten.exp.default: "exp",
    aten.exp2.default: "exp2",
    aten.expm1.default: "expm1",
    aten.log.default: "log",
    aten.log1p.default: "log1p",
    aten.log2.default: "log2",
    aten.log10.default: "log10",
    aten.sin.default: "sin",
    aten.cos.default: "cos",
    aten.tan.default: "tan",
    aten.asin.default: "asin",
    aten.acos.default: "acos",
    aten.atan.default: "atan",
    aten.sinh.default: "sinh",
    aten.cosh.default: "cosh",
    aten.tanh.default: "tanh",
    aten.asinh.default: "asinh",
    aten.acosh.default: "acosh",
    aten.atanh.default: "atanh",
    aten.erf.default: "erf",
    aten.erfc.default: "erfc",
    aten.erfinv.default: "erfinv",
    aten.lgamma.default: "lgamma",
    aten.digamma.default: "digamma",
    aten.sigmoid.default: "sigmoid",
}

# Rounding functions are the identity on integers.
_ROUNDING_FUNCTIONS = {
    aten.floor.default: "floor",
    aten.ceil.default: "ceil",
    aten.trunc.default: "trunc",
    aten.round.default: "round",
}


def _float_rule(name: str) -> LoweringRule:
    def lower(ctx: LoweringContext, x: TensorValue) -> TensorValue:
        return unary(ctx, x, lambda v: b.apply(name, v), to_float=True)

    lower.__doc__ = f"`{name}` of each element."
    return lower


def _rounding_rule(name: str) -> LoweringRule:
    def lower(ctx: LoweringContext, x: TensorValue) -> TensorValue:
        if not x.dtype.is_float:
            return x
        return unary(ctx, x, lambda v: b.apply(name, v))

    lower.__doc__ = f"`{name}` of each element; integers are unchanged."
    return lower


for _op, _name in _FLOAT_FUNCTIONS.items():
    lowers(_op)(_float_rule(_name))
for _op, _name in _ROUNDING_FUNCTIONS.items():
    lowers(_op)(_rounding_rule(_name))


@lowers(aten.round.decimals)
def lower_round_decimals(ctx: LoweringContext, x: TensorValue, decimals: int) -> TensorValue:
    """Round to `decimals` places (before the point when negative), half to even."""
    if not x.dtype.is_float:
        return x
    power = 10.0 ** abs(decimals)

    def body(v: Expr) -> Expr:
        if decimals < 0:
            return b.mul(b.apply("round", b.div(v, power)), power)
        return b.div(b.apply("round", b.mul(v, power)), power)

    return unary(ctx, x, body)


def _binary_float(
    ctx: LoweringContext, x: Operand, y: Operand, body: Callable[[Expr, Expr], Expr]
) -> TensorValue:
    return elementwise(ctx, [x, y], body, common=float_result(promote([x, y])))


@lowers(aten.atan2.default)
def lower_atan2(ctx: LoweringContext, y: Operand, x: Operand) -> TensorValue:
    """The angle of (x, y)."""
    return _binary_float(ctx, y, x, lambda p, q: b.apply("atan2", p, q))


@lowers(aten.hypot.default)
def lower_hypot(ctx: LoweringContext, x: Operand, y: Operand) -> TensorValue:
    """sqrt(x*x + y*y) without overflow."""
    return _binary_float(ctx, x, y, lambda p, q: b.apply("hypot", p, q))


@lowers(aten.nextafter.default)
def lower_nextafter(ctx: LoweringContext, x: TensorValue, y: TensorValue) -> TensorValue:
    """The next representable value after x towards y, for f32 and f64."""
    return elementwise(ctx, [x, y], lambda p, q: b.apply("nextafter", p, q))


@lowers(aten.logaddexp.default)
def lower_logaddexp(ctx: LoweringContext, x: Operand, y: Operand) -> TensorValue:
    """log(exp(x) + exp(y)), from the larger, so that nothing overflows."""

    def body(p: Expr, q: Expr) -> Expr:
        larger = b.max_(p, q)
        gap = b.neg(b.abs_(b.sub(p, q)))
        # equal infinities differ by NaN and are their own answer
        same = b.and_(b.isinf(p), b.eq(p, q))
        return b.where(same, p, b.add(larger, b.apply("log1p", b.exp(gap))))

    return _binary_float(ctx, x, y, body)


@lowers(aten.logit.default)
def lower_logit(ctx: LoweringContext, x: TensorValue, eps: float | None) -> TensorValue:
    """log(x / (1 - x)), with x clamped to [eps, 1 - eps] when eps is given."""

    def body(v: Expr) -> Expr:
        if eps is not None:
            v = b.min_(b.max_(v, eps), 1.0 - eps)
        return b.log(b.div(v, b.sub(b.literal(1.0, v.dtype), v)))

    return unary(ctx, x, body, to_float=True)


@lowers(aten.deg2rad.default)
def lower_deg2rad(ctx: LoweringContext, x: TensorValue) -> TensorValue:
    """Degrees to radians."""
    return unary(ctx, x, lambda v: b.mul(v, math.pi / 180.0), to_float=True)


@lowers(aten.rad2deg.default)
def lower_rad2deg(ctx: LoweringContext, x: TensorValue) -> TensorValue:
    """Radians to degrees."""
    return unary(ctx, x, lambda v: b.mul(v, 180.0 / math.pi), to_float=True)


@lowers(aten.angle.default)
def lower_angle(ctx: LoweringContext, x: TensorValue) -> TensorValue:
    """Half a circle for negative numbers, 0 for others; NaN stays."""

    def body(v: Expr) -> Expr:
        return b.where(b.isnan(v), v, b.where(b.lt(v, 0.0), b.literal(math.pi, v.dtype), 0.0))

    return unary(ctx, x, body, to_float=True)


@lowers(aten.nan_to_num.default)
def lower_nan_to_num(
    ctx: LoweringContext,
    x: TensorValue,
    nan: float | None,
    posinf: float | None,
    neginf: float | None,
) -> TensorValue:
    """Replace NaN (by 0) and infinities (by the largest finite values), or by what is given."""
    if not x.dtype.is_float:
        return x
    limit = _LARGEST[x.dtype]

    def body(v: Expr) -> Expr:
        high = b.literal(limit if posinf is None else posinf, v.dtype)
        low = b.literal(-limit if neginf is None else neginf, v.dtype)
        finite = b.where(b.isinf(v), b.where(b.gt(v, 0.0), high, low), v)
        return b.where(b.isnan(v), b.literal(nan or 0.0, v.dtype), finite)

    return unary(ctx, x, body)


_LARGEST = {
    DType.F64: torch.finfo(torch.float64).max,
    DType.F32: torch.finfo(torch.float32).max,
    DType.F16: torch.finfo(torch.float16).max,
    DType.BF16: torch.finfo(torch.bfloat16).max,
}


# --- samples ------------------------------------------------------------------------------------

# Functions whose domain is not the whole line, with an interval inside it.
_DOMAINS: dict[str, tuple[float, float]] = {
    "sqrt": (0.0, 4.0),
    "rsqrt": (0.01, 4.0),
    "log": (0.01, 9.0),
    "log2": (0.01, 9.0),
    "log10": (0.01, 9.0),
    "log1p": (-0.9, 4.0),
    "asin": (-1.0, 1.0),
    "acos": (-1.0, 1.0),
    "acosh": (1.0, 9.0),
    "atanh": (-0.99, 0.99),
    "erfinv": (-0.99, 0.99),
    "lgamma": (0.1, 9.0),
    "digamma": (0.1, 9.0),
}


def _function_samples() -> None:
    for op, name in _FLOAT_FUNCTIONS.items():
        low, high = _DOMAINS.get(name, (-3.0, 3.0))
        samples(
            op,
            sample(T("f32[3,7]", low=low, high=high), tolerance=2.0),
            sample(T("f32[]", low=low, high=high), tolerance=2.0),
            sample(T("f64[5]", low=low, high=high), tolerance=4.0),
            sample(T("f16[9]", low=low, high=high)),
            sample(T("bf16[9]", low=low, high=high)),
            sample(T("f32[0,3]")),
        )
        if name not in ("erfinv", "lgamma", "digamma"):
            samples(op, sample(T("f32[40]", special=True), tolerance=2.0))
        if name not in ("erfinv", "atanh", "digamma"):
            samples(op, sample(T("i64[5]", low=1, high=2), tolerance=2.0))
        if name in ("exp", "sqrt", "sigmoid", "sin", "cos", "tanh", "erf"):
            samples(op, sample(T("bool[4]"), tolerance=2.0))
            samples(op, sample(T("f32[64]", low=-80.0, high=80.0), tolerance=2.0))


_function_samples()
samples_for(
    tuple(_ROUNDING_FUNCTIONS),
    sample(T("f32[30]", special=True), exact=True),
    sample(T("f32[40]", low=-5.0, high=5.0), exact=True),
    sample(T("f64[]"), exact=True),
    sample(T("bf16[9]", low=-5.0, high=5.0), exact=True),
    sample(T("f16[9]", low=-5.0, high=5.0), exact=True),
    sample(T("i64[5]"), exact=True),
)
samples(
    aten.round.decimals,
    sample(T("f32[9]", low=-50.0, high=50.0), decimals=1),
    sample(T("f32[9]", low=-500.0, high=500.0), decimals=-2),
    sample(T("f64[9]"), decimals=3),
)
samples(
    aten.atan2.default,
    sample(T("f32[3,4]"), T("f32[4]")),
    sample(T("f32[60]", special=True), T("f32[60]", special=True)),
    sample(T("i64[5]"), T("i64[5]")),
    sample(T("bf16[5]"), T("bf16[5]")),
)
samples(aten.hypot.default, sample(T("f32[3,4]"), T("f32[4]")), sample(T("f64[5]"), T("f64[5]")))
samples(
    aten.nextafter.default,
    sample(T("f32[30]"), T("f32[30]"), exact=True),
    sample(T("f64[5]"), T("f64[5]"), exact=True),
)
samples(
    aten.logaddexp.default,
    sample(T("f32[3,4]"), T("f32[4]"), tolerance=2.0),
    sample(T("f32[60]", special=True), T("f32[60]", special=True), tolerance=2.0),
    sample(T("f64[5]"), T("f64[5]"), tolerance=2.0),
)
samples(
    aten.logit.default,
    sample(T("f32[9]", low=0.01, high=0.99), tolerance=2.0),
    sample(T("f32[9]", low=-0.5, high=1.5), 0.1, tolerance=2.0),
    sample(T("f64[3]", low=0.1, high=0.9), tolerance=2.0),
)
samples_for(
    (aten.deg2rad.default, aten.rad2deg.default),
    sample(T("f32[3,4]")),
    sample(T("i64[5]")),
    sample(T("bf16[5]")),
)
samples(
    aten.angle.default,
    sample(T("f32[40]", special=True)),
    sample(T("f64[3,7]")),
    sample(T("bf16[9]")),
    sample(T("f16[9]")),
    sample(T("i64[5]")),
    sample(T("bool[4]")),
    sample(T("f32[0,3]")),
    sample(T("f32[]")),
)
samples(
    aten.nan_to_num.default,
    sample(T("f32[40]", special=True), exact=True),
    sample(T("f32[40]", special=True), 1.5, 9.0, -9.0, exact=True),
    sample(T("bf16[40]", special=True), exact=True),
    sample(T("f16[40]", special=True), exact=True),
    sample(T("i64[4]"), exact=True),
)
samples_for(
    (aten.exp.default, aten.tanh.default, aten.erf.default, aten.sigmoid.default, aten.sin.default),
    sample(T("f32[5,67]"), tolerance=2.0),
    sample(T("f64[3,37]"), tolerance=4.0),
    sample(T("f16[131]")),
)
