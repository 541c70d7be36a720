"""ONNX rules of functions of one number, and of activations."""

from __future__ import annotations

import math
from typing import Any

import torch

from ptc.loops.nodes import DType
from ptc.ops.onnx_elementwise import (
    Operand,
    compare,
    compute_type,
    expm1,
    is_nan,
    log1p,
    number,
    operand,
    truncate,
    unary,
    where,
)
from ptc.ops.onnx_protocol import OnnxBuilder, OnnxTensor
from ptc.ops.onnx_registry import onnx
from ptc.support.diagnostics import CompileError

aten = torch.ops.aten

_DIRECT = {
    aten.sqrt.default: "Sqrt",
    aten.exp.default: "Exp",
    aten.log.default: "Log",
    aten.sin.default: "Sin",
    aten.cos.default: "Cos",
    aten.tan.default: "Tan",
    aten.asin.default: "Asin",
    aten.acos.default: "Acos",
    aten.atan.default: "Atan",
    aten.sinh.default: "Sinh",
    aten.cosh.default: "Cosh",
    aten.tanh.default: "Tanh",
    aten.asinh.default: "Asinh",
    aten.acosh.default: "Acosh",
    aten.atanh.default: "Atanh",
    aten.erf.default: "Erf",
    aten.sigmoid.default: "Sigmoid",
}


def _direct(kind: str) -> Any:
    def rule(b: OnnxBuilder, x: Operand) -> OnnxTensor:
        return unary(b, kind, x)

    return rule


for _op, _kind in _DIRECT.items():
    onnx(_op)(_direct(_kind))


def _wide(b: OnnxBuilder, x: Operand) -> OnnxTensor:
    return operand(b, x, compute_type(b.dtype))


@onnx(aten.rsqrt.default)
def rsqrt(b: OnnxBuilder, x: Operand) -> OnnxTensor:
    """1 / sqrt(x)."""
    return b.cast(b.op("Reciprocal", b.op("Sqrt", _wide(b, x))), b.dtype)


@onnx(aten.exp2.default)
def exp2(b: OnnxBuilder, x: Operand) -> OnnxTensor:
    """2 ** x."""
    value = _wide(b, x)
    return b.cast(b.op("Pow", number(b, 2.0, value), value), b.dtype)


@onnx(aten.expm1.default)
def exp_minus_one(b: OnnxBuilder, x: Operand) -> OnnxTensor:
    """exp(x) - 1."""
    return b.cast(expm1(b, _wide(b, x)), b.dtype)


@onnx(aten.log1p.default)
def log_one_plus(b: OnnxBuilder, x: Operand) -> OnnxTensor:
    """log(1 + x)."""
    return b.cast(log1p(b, _wide(b, x)), b.dtype)


def _log_to(b: OnnxBuilder, x: Operand, base: float) -> OnnxTensor:
    value = _wide(b, x)
    scale = number(b, 1.0 / math.log(base), value)
    return b.cast(b.op("Mul", b.op("Log", value), scale), b.dtype)


@onnx(aten.log2.default)
def log2(b: OnnxBuilder, x: Operand) -> OnnxTensor:
    """To base 2."""
    return _log_to(b, x, 2.0)


@onnx(aten.log10.default)
def log10(b: OnnxBuilder, x: Operand) -> OnnxTensor:
    """To base 10."""
    return _log_to(b, x, 10.0)


@onnx(aten.erfc.default)
def erfc(b: OnnxBuilder, x: Operand) -> OnnxTensor:
    """1 - erf(x)."""
    value = _wide(b, x)
    return b.cast(b.op("Sub", number(b, 1.0, value), b.op("Erf", value)), b.dtype)


def _rounding(kind: str) -> Any:
    def rule(b: OnnxBuilder, x: OnnxTensor) -> OnnxTensor:
        return unary(b, kind, x) if x.dtype.is_float else x

    return rule


onnx(aten.floor.default)(_rounding("Floor"))
onnx(aten.ceil.default)(_rounding("Ceil"))
onnx(aten.round.default)(_rounding("Round"))


@onnx(aten.trunc.default)
def trunc(b: OnnxBuilder, x: OnnxTensor) -> OnnxTensor:
    """Towards zero."""
    return b.cast(truncate(b, _wide(b, x)), b.dtype) if x.dtype.is_float else x


@onnx(aten.round.decimals)
def round_decimals(b: OnnxBuilder, x: OnnxTensor, decimals: int) -> OnnxTensor:
    """To so many decimal places, half to even."""
    value = _wide(b, x)
    scale = number(b, 10.0 ** abs(decimals), value)
    to, back = ("Mul", "Div") if decimals >= 0 else ("Div", "Mul")
    return b.cast(b.op(back, b.op("Round", b.op(to, value, scale)), scale), b.dtype)


@onnx(aten.atan2.default)
def atan2(b: OnnxBuilder, y: Operand, x: Operand) -> OnnxTensor:
    """The angle of (x, y): atan(y / x), turned by half a circle left of the y axis."""
    wide = compute_type(b.dtype)
    up, right = operand(b, y, wide), operand(b, x, wide)
    zero = b.constant(0.0, wide)
    turn = where(b, _is_negative(b, up), b.constant(-math.pi, wide), b.constant(math.pi, wide))
    ratio = b.op("Atan", b.op("Div", up, right))
    angle = where(b, _is_negative(b, right), b.op("Add", ratio, turn), ratio)
    # 0 / 0 and inf / inf have no ratio; their angle follows from the signs alone.
    still = b.op("And", compare(b, "Equal", up, zero), compare(b, "Equal", right, zero))
    both = [b.op("IsInf", side, dtype=DType.BOOL) for side in (up, right)]
    far = b.op("And", *both)
    axis = where(b, _is_negative(b, right), turn, up)
    quarter = where(b, _is_negative(b, right), _scale(b, turn, 0.75), _scale(b, turn, 0.25))
    return b.cast(where(b, still, axis, where(b, far, quarter, angle)), b.dtype)


def _scale(b: OnnxBuilder, x: OnnxTensor, factor: float) -> OnnxTensor:
    return b.op("Mul", x, number(b, factor, x))


def _is_negative(b: OnnxBuilder, x: OnnxTensor) -> OnnxTensor:
    """The sign bit; that of -0.0 shows in its reciprocal."""
    zero = number(b, 0.0, x)
    inverse = compare(b, "Less", b.op("Reciprocal", x), zero)
    return b.op("Or", compare(b, "Less", x, zero), inverse)


@onnx(aten.hypot.default)
def hypot(b: OnnxBuilder, x: Operand, y: Operand) -> OnnxTensor:
    """sqrt(x*x + y*y), scaled by the longer side so that squares do not overflow."""
    wide = compute_type(b.dtype)
    sides = [b.op("Abs", operand(b, side, wide)) for side in (x, y)]
    longer, shorter = b.op("Max", *sides), b.op("Min", *sides)
    ratio = b.op("Div", shorter, longer)
    root = b.op("Sqrt", b.op("Add", b.op("Mul", ratio, ratio), number(b, 1.0, ratio)))
    odd = b.op("Or", b.op("IsInf", longer, dtype=DType.BOOL),
               compare(b, "Equal", longer, number(b, 0.0, longer)))  # fmt: skip
    return b.cast(where(b, odd, longer, b.op("Mul", longer, root)), b.dtype)


@onnx(aten.logaddexp.default)
def logaddexp(b: OnnxBuilder, x: Operand, y: Operand) -> OnnxTensor:
    """log(exp(x) + exp(y))."""
    wide = compute_type(b.dtype)
    left, right = operand(b, x, wide), operand(b, y, wide)
    gap = b.op("Neg", b.op("Abs", b.op("Sub", left, right)))
    result = b.op("Add", b.op("Max", left, right), log1p(b, b.op("Exp", gap)))
    # Equal infinities have no difference.
    same = b.op("And", compare(b, "Equal", left, right), b.op("IsInf", left, dtype=DType.BOOL))
    return b.cast(where(b, same, left, result), b.dtype)


@onnx(aten.logit.default)
def logit(b: OnnxBuilder, x: Operand, eps: float | None) -> OnnxTensor:
    """log(x / (1 - x)), x clamped to [eps, 1 - eps]."""
    value = _wide(b, x)
    if eps is not None:
        value = b.op("Clip", value, number(b, eps, value), number(b, 1.0 - eps, value))
    odds = b.op("Div", value, b.op("Sub", number(b, 1.0, value), value))
    return b.cast(b.op("Log", odds), b.dtype)


@onnx(aten.deg2rad.default)
def deg2rad(b: OnnxBuilder, x: Operand) -> OnnxTensor:
    return b.cast(_scale(b, _wide(b, x), math.pi / 180.0), b.dtype)


@onnx(aten.rad2deg.default)
def rad2deg(b: OnnxBuilder, x: Operand) -> OnnxTensor:
    return b.cast(_scale(b, _wide(b, x), 180.0 / math.pi), b.dtype)


@onnx(aten.nan_to_num.default)
def nan_to_num(
    b: OnnxBuilder, x: OnnxTensor, nan: float | None, posinf: float | None, neginf: float | None
) -> OnnxTensor:
    """Numbers for NaN and infinities; the greatest finite ones by default."""
    if not x.dtype.is_float:
        return x
    limits = torch.finfo(_TORCH[x.dtype])
    value = _wide(b, x)
    high = number(b, limits.max if posinf is None else posinf, value)
    low = number(b, limits.min if neginf is None else neginf, value)
    above = b.op("IsInf", value, dtype=DType.BOOL, detect_negative=0)
    below = b.op("IsInf", value, dtype=DType.BOOL, detect_positive=0)
    kept = where(b, above, high, where(b, below, low, value))
    zero = number(b, 0.0 if nan is None else nan, value)
    return b.cast(where(b, is_nan(b, value), zero, kept), b.dtype)


_TORCH = {
    DType.F64: torch.float64,
    DType.F32: torch.float32,
    DType.F16: torch.float16,
    DType.BF16: torch.bfloat16,
}


# --- activations ----------------------------------------------------------------------------------


@onnx(aten.relu.default)
def relu(b: OnnxBuilder, x: OnnxTensor) -> OnnxTensor:
    """max(x, 0)."""
    if x.dtype.is_float:
        return unary(b, "Relu", x)
    value = _wide(b, x)
    return b.cast(b.op("Max", value, number(b, 0, value)), b.dtype)


@onnx(aten.relu6.default)
def relu6(b: OnnxBuilder, x: OnnxTensor) -> OnnxTensor:
    """Between 0 and 6."""
    value = _wide(b, x)
    return b.cast(b.op("Clip", value, number(b, 0, value), number(b, 6, value)), b.dtype)


@onnx(aten.leaky_relu.default)
def leaky_relu(b: OnnxBuilder, x: Operand, slope: float) -> OnnxTensor:
    """slope * x below zero."""
    return unary(b, "LeakyRelu", x, alpha=float(slope))


@onnx(aten.softshrink.default)
def softshrink(b: OnnxBuilder, x: Operand, lambd: float) -> OnnxTensor:
    """Towards zero by lambd. ONNX's own Shrink turns NaN into 0."""
    value = _wide(b, x)
    low, high = number(b, -float(lambd), value), number(b, float(lambd), value)
    zero = b.op("Mul", value, number(b, 0.0, value))
    below = where(b, compare(b, "Less", value, low), b.op("Add", value, high), zero)
    above = compare(b, "Greater", value, high)
    return b.cast(where(b, above, b.op("Sub", value, high), below), b.dtype)


@onnx(aten._prelu_kernel.default)
def prelu(b: OnnxBuilder, x: Operand, weight: Operand) -> OnnxTensor:
    """A slope for each channel below zero."""
    value, slope = _wide(b, x), _wide(b, weight)
    below = compare(b, "Less", value, number(b, 0.0, value))
    return b.cast(where(b, below, b.op("Mul", value, slope), value), b.dtype)


@onnx(aten.gelu.default)
def gelu(b: OnnxBuilder, x: Operand, approximate: str) -> OnnxTensor:
    """Exact or the tanh form (spelled out in f64: ONNX defines it with f32 constants)."""
    if b.dtype is DType.F64 and approximate == "tanh":
        value = _wide(b, x)
        cube = b.op("Mul", b.op("Mul", value, value), value)
        inner = b.op("Add", value, _scale(b, cube, 0.044715))
        curve = b.op("Tanh", _scale(b, inner, math.sqrt(2.0 / math.pi)))
        return b.op("Mul", _scale(b, value, 0.5), b.op("Add", curve, number(b, 1.0, value)))
    return unary(b, "Gelu", x, approximate=approximate)


@onnx(aten.silu.default)
def silu(b: OnnxBuilder, x: Operand) -> OnnxTensor:
    """x * sigmoid(x)."""
    value = _wide(b, x)
    return b.cast(b.op("Mul", value, b.op("Sigmoid", value)), b.dtype)


@onnx(aten.hardsigmoid.default)
def hardsigmoid(b: OnnxBuilder, x: Operand) -> OnnxTensor:
    """clamp(x / 6 + 1 / 2, 0, 1)."""
    return unary(b, "HardSigmoid", x, alpha=1.0 / 6.0, beta=0.5)


@onnx(aten.hardswish.default)
def hardswish(b: OnnxBuilder, x: Operand) -> OnnxTensor:
    """x * hardsigmoid(x)."""
    return unary(b, "HardSwish", x)


@onnx(aten.elu.default)
def elu(b: OnnxBuilder, x: Operand, alpha: float, scale: float, input_scale: float) -> OnnxTensor:
    """scale * (x above zero, alpha * expm1(input_scale * x) below)."""
    value = _wide(b, x)
    below = _scale(b, expm1(b, _scale(b, value, input_scale)), alpha)
    positive = compare(b, "Greater", value, number(b, 0.0, value))
    return b.cast(_scale(b, where(b, positive, value, below), scale), b.dtype)


@onnx(aten.softplus.default)
def softplus(b: OnnxBuilder, x: Operand, beta: float, threshold: float) -> OnnxTensor:
    """log1p(exp(beta * x)) / beta; x itself above the threshold."""
    value = _wide(b, x)
    scaled = _scale(b, value, beta)
    soft = _scale(b, b.op("Softplus", scaled), 1.0 / beta)
    above = compare(b, "Greater", scaled, number(b, threshold, value))
    return b.cast(where(b, above, value, soft), b.dtype)


@onnx(aten.mish.default)
def mish(b: OnnxBuilder, x: Operand) -> OnnxTensor:
    """x * tanh(softplus(x))."""
    value = _wide(b, x)
    return b.cast(b.op("Mul", value, b.op("Tanh", b.op("Softplus", value))), b.dtype)


@onnx(aten.log_sigmoid.default)
def log_sigmoid(b: OnnxBuilder, x: Operand) -> OnnxTensor:
    """log(sigmoid(x)) = min(x, 0) - log1p(exp(-|x|)): no overflow, no cancellation."""
    return log_sigmoid_forward(b, x)[0]


@onnx(aten.log_sigmoid_forward.default)
def log_sigmoid_forward(b: OnnxBuilder, x: Operand) -> tuple[OnnxTensor, OnnxTensor]:
    """The same, and exp(-|x|), which serves the backward pass."""
    value = _wide(b, x)
    small = b.op("Exp", b.op("Neg", b.op("Abs", value)))
    low = b.op("Min", value, number(b, 0.0, value))
    result = b.op("Sub", low, log1p(b, small))
    result = where(b, is_nan(b, value), value, result)
    return b.cast(result, b.dtype), b.cast(small, b.dtype)


@onnx(aten.native_dropout.default)
def dropout(b: OnnxBuilder, x: OnnxTensor, p: float, train: bool | None) -> Any:
    """Nothing, outside of training."""
    if train is not False and p:
        raise CompileError("PTC-E021", "dropout in training mode draws other numbers in ONNX")
    return x, b.op("Expand", b.constant(True, DType.BOOL), b.sizes(b.shape))


@onnx(aten.signbit.default)
def signbit(b: OnnxBuilder, x: OnnxTensor) -> OnnxTensor:
    """True for negative numbers, -0.0 included."""
    value = b.cast(x, compute_type(x.dtype))
    if value.dtype.is_float:
        return _is_negative(b, value)
    return compare(b, "Less", value, number(b, 0, value))


@onnx(aten.angle.default)
def angle(b: OnnxBuilder, x: OnnxTensor) -> OnnxTensor:
    """Half a circle for negative numbers, 0 for others; NaN stays."""
    value = _wide(b, x)
    zero = number(b, 0.0, value)
    turned = where(b, compare(b, "Less", value, zero), number(b, math.pi, value), zero)
    return b.cast(where(b, is_nan(b, value), value, turned), b.dtype)
