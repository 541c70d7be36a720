"""ONNX rules of arithmetic: sums, products, divisions, remainders, powers, extrema."""

from __future__ import annotations

import math
from typing import Any

import torch

from ptc.loops.nodes import DType
from ptc.ops.onnx_elementwise import (
    Operand,
    binary,
    compare,
    compute_type,
    floor_divide,
    is_nan,
    number,
    operand,
    remainder,
    truncate,
    unary,
    where,
)
from ptc.ops.onnx_protocol import OnnxBuilder, OnnxTensor
from ptc.ops.onnx_registry import onnx

aten = torch.ops.aten


def _pair(b: OnnxBuilder, x: Operand, y: Operand) -> tuple[OnnxTensor, OnnxTensor]:
    wide = compute_type(b.dtype)
    return operand(b, x, wide), operand(b, y, wide)


def _scaled(b: OnnxBuilder, y: Operand, alpha: Any) -> Operand:
    """y * alpha, for the operators that take an `alpha`."""
    if alpha == 1:
        return y
    wide = compute_type(b.dtype)
    return b.op("Mul", operand(b, y, wide), b.constant(alpha, wide))


@onnx(aten.add.Tensor, aten.add.Scalar)
def add(b: OnnxBuilder, x: Operand, y: Operand, alpha: Any = 1) -> OnnxTensor:
    """x + alpha * y; of bools, or."""
    if b.dtype is DType.BOOL:
        return b.op("Or", operand(b, x, DType.BOOL), operand(b, y, DType.BOOL))
    return binary(b, "Add", x, _scaled(b, y, alpha))


@onnx(aten.sub.Tensor, aten.sub.Scalar)
def sub(b: OnnxBuilder, x: Operand, y: Operand, alpha: Any = 1) -> OnnxTensor:
    """x - alpha * y."""
    return binary(b, "Sub", x, _scaled(b, y, alpha))


@onnx(aten.rsub.Tensor, aten.rsub.Scalar)
def rsub(b: OnnxBuilder, x: Operand, y: Operand, alpha: Any = 1) -> OnnxTensor:
    """y - alpha * x."""
    return binary(b, "Sub", y, _scaled(b, x, alpha))


@onnx(aten.mul.Tensor, aten.mul.Scalar)
def mul(b: OnnxBuilder, x: Operand, y: Operand) -> OnnxTensor:
    """x * y; of bools, and."""
    if b.dtype is DType.BOOL:
        return b.op("And", operand(b, x, DType.BOOL), operand(b, y, DType.BOOL))
    return binary(b, "Mul", x, y)


@onnx(aten.div.Tensor, aten.div.Scalar)
def div(b: OnnxBuilder, x: Operand, y: Operand) -> OnnxTensor:
    """True division."""
    return binary(b, "Div", x, y)


@onnx(aten.div.Tensor_mode, aten.div.Scalar_mode)
def div_mode(b: OnnxBuilder, x: Operand, y: Operand, rounding_mode: str | None) -> OnnxTensor:
    """Division rounded down, towards zero, or not at all."""
    left, right = _pair(b, x, y)
    if rounding_mode == "floor":
        return b.cast(floor_divide(b, left, right), b.dtype)
    quotient = b.op("Div", left, right)
    if rounding_mode == "trunc" and left.dtype.is_float:
        quotient = truncate(b, quotient)
    return b.cast(quotient, b.dtype)


@onnx(aten.floor_divide.default, aten.floor_divide.Scalar)
def floor_division(b: OnnxBuilder, x: Operand, y: Operand) -> OnnxTensor:
    """Rounded down."""
    return b.cast(floor_divide(b, *_pair(b, x, y)), b.dtype)


@onnx(aten.remainder.Tensor, aten.remainder.Scalar, aten.remainder.Scalar_Tensor)
def python_remainder(b: OnnxBuilder, x: Operand, y: Operand) -> OnnxTensor:
    """With the sign of the divisor."""
    return b.cast(remainder(b, *_pair(b, x, y)), b.dtype)


@onnx(aten.fmod.Tensor, aten.fmod.Scalar)
def c_remainder(b: OnnxBuilder, x: Operand, y: Operand) -> OnnxTensor:
    """With the sign of the dividend."""
    return b.cast(b.op("Mod", *_pair(b, x, y), fmod=1), b.dtype)


@onnx(aten.addcmul.default)
def addcmul(b: OnnxBuilder, x: Operand, y: Operand, z: Operand, value: Any) -> OnnxTensor:
    """x + value * y * z."""
    left, right = _pair(b, y, z)
    product = b.op("Mul", b.op("Mul", left, right), number(b, value, left))
    return binary(b, "Add", x, product)


@onnx(aten.addcdiv.default)
def addcdiv(b: OnnxBuilder, x: Operand, y: Operand, z: Operand, value: Any) -> OnnxTensor:
    """x + value * y / z."""
    left, right = _pair(b, y, z)
    quotient = b.op("Div", b.op("Mul", left, number(b, value, left)), right)
    return binary(b, "Add", x, quotient)


@onnx(aten.reciprocal.default)
def reciprocal(b: OnnxBuilder, x: Operand) -> OnnxTensor:
    """1 / x."""
    return unary(b, "Reciprocal", x)


@onnx(aten.square.default)
def square(b: OnnxBuilder, x: Operand) -> OnnxTensor:
    """x * x."""
    return binary(b, "Mul", x, x)


@onnx(aten.pow.Tensor_Tensor, aten.pow.Tensor_Scalar, aten.pow.Scalar)
def power(b: OnnxBuilder, x: Operand, y: Operand) -> OnnxTensor:
    """x ** y; small whole exponents as products, the root as Sqrt."""
    wide = compute_type(b.dtype)
    base = operand(b, x, wide)
    if y == 2:
        return b.cast(b.op("Mul", base, base), b.dtype)
    if y == 0.5 and wide.is_float:
        return b.cast(b.op("Sqrt", base), b.dtype)
    exponent = operand(b, y, wide)
    if wide.is_float:
        return b.cast(b.op("Pow", base, exponent), b.dtype)
    # Of integers, a negative power is 0 but for 1 and -1.
    zero, one = b.constant(0, wide), b.constant(1, wide)
    result = b.op("Pow", base, b.op("Abs", exponent))
    unit = compare(b, "Equal", b.op("Abs", base), one)
    negative = compare(b, "Less", exponent, zero)
    vanishes = b.op("And", negative, b.op("Not", unit))
    return b.cast(where(b, vanishes, zero, result), b.dtype)


@onnx(aten.neg.default)
def neg(b: OnnxBuilder, x: Operand) -> OnnxTensor:
    """-x."""
    return unary(b, "Neg", x)


@onnx(aten.abs.default)
def absolute(b: OnnxBuilder, x: Operand) -> OnnxTensor:
    """|x|."""
    return unary(b, "Abs", x)


@onnx(aten.sign.default, aten.sgn.default)
def sign(b: OnnxBuilder, x: OnnxTensor) -> OnnxTensor:
    """-1, 0 or 1; 0 for NaN, as eager; a bool is its own sign."""
    if x.dtype is DType.BOOL:
        return x
    wide = b.cast(x, compute_type(x.dtype))
    result = b.op("Sign", wide)
    if wide.dtype.is_float:
        result = where(b, is_nan(b, wide), number(b, 0.0, wide), result)
    return b.cast(result, b.dtype)


@onnx(aten.copysign.Tensor, aten.copysign.Scalar)
def copysign(b: OnnxBuilder, x: Operand, y: Operand) -> OnnxTensor:
    """|x| with the sign of y; the sign of -0.0 shows in its reciprocal."""
    value, source = _pair(b, x, y)
    zero = number(b, 0.0, source)
    below = compare(b, "Less", source, zero)
    inverse = compare(b, "Less", b.op("Reciprocal", source), zero)
    negative = b.op("Or", below, inverse)
    size = b.op("Abs", value)
    return b.cast(where(b, negative, b.op("Neg", size), size), b.dtype)


def _extremum(b: OnnxBuilder, kind: str, x: OnnxTensor, y: OnnxTensor) -> OnnxTensor:
    """Max or Min where NaN wins. Runtimes differ on NaN, so it is said explicitly."""
    result = b.op(kind, x, y)
    if not x.dtype.is_float:
        return result
    return where(b, is_nan(b, x), x, where(b, is_nan(b, y), y, result))


@onnx(aten.maximum.default)
def maximum(b: OnnxBuilder, x: Operand, y: Operand) -> OnnxTensor:
    """The greater one; NaN wins."""
    return b.cast(_extremum(b, "Max", *_pair(b, x, y)), b.dtype)


@onnx(aten.minimum.default)
def minimum(b: OnnxBuilder, x: Operand, y: Operand) -> OnnxTensor:
    """The smaller one; NaN wins."""
    return b.cast(_extremum(b, "Min", *_pair(b, x, y)), b.dtype)


def _number_wins(b: OnnxBuilder, kind: str, x: Operand, y: Operand) -> OnnxTensor:
    left, right = _pair(b, x, y)
    if not left.dtype.is_float:
        return b.cast(b.op(kind, left, right), b.dtype)
    result = where(b, is_nan(b, right), left, b.op(kind, left, right))
    return b.cast(where(b, is_nan(b, left), right, result), b.dtype)


@onnx(aten.fmax.default)
def fmax(b: OnnxBuilder, x: Operand, y: Operand) -> OnnxTensor:
    """The greater one; a number wins over NaN."""
    return _number_wins(b, "Max", x, y)


@onnx(aten.fmin.default)
def fmin(b: OnnxBuilder, x: Operand, y: Operand) -> OnnxTensor:
    """The smaller one; a number wins over NaN."""
    return _number_wins(b, "Min", x, y)


@onnx(aten.clamp.default, aten.hardtanh.default)
def clamp(b: OnnxBuilder, x: OnnxTensor, low: Any = None, high: Any = None) -> OnnxTensor:
    """Between two numbers. One operator when runtimes can be trusted with it: floats, finite
    bounds in order."""
    wide = compute_type(b.dtype)
    ordered = all(bound is not None and math.isfinite(bound) for bound in (low, high))
    if wide.is_float and ordered and low <= high:
        lower, upper = b.constant(low, wide), b.constant(high, wide)
        return b.cast(b.op("Clip", b.cast(x, wide), lower, upper), b.dtype)
    return clamp_tensors(b, x, low, high)


@onnx(aten.clamp.Tensor)
def clamp_tensors(b: OnnxBuilder, x: Operand, low: Any = None, high: Any = None) -> OnnxTensor:
    """min(max(x, low), high): the upper bound wins, NaN stays."""
    wide = compute_type(b.dtype)
    value = operand(b, x, wide)
    if low is not None:
        value = _extremum(b, "Max", value, operand(b, low, wide))
    if high is not None:
        value = _extremum(b, "Min", value, operand(b, high, wide))
    return b.cast(value, b.dtype)


@onnx(aten.clamp_min.default, aten.clamp_min.Tensor)
def clamp_min(b: OnnxBuilder, x: Operand, low: Operand) -> OnnxTensor:
    """max(x, low)."""
    return clamp_tensors(b, x, low, None)


@onnx(aten.clamp_max.default, aten.clamp_max.Tensor)
def clamp_max(b: OnnxBuilder, x: Operand, high: Operand) -> OnnxTensor:
    """min(x, high)."""
    return clamp_tensors(b, x, None, high)


@onnx(aten.lerp.Scalar, aten.lerp.Tensor)
def lerp(b: OnnxBuilder, start: Operand, end: Operand, weight: Operand) -> OnnxTensor:
    """start + weight * (end - start), from the nearer end, as eager."""
    first, last = _pair(b, start, end)
    share = operand(b, weight, first.dtype)
    difference = b.op("Sub", last, first)
    forward = b.op("Add", first, b.op("Mul", share, difference))
    rest = b.op("Sub", number(b, 1.0, first), share)
    backward = b.op("Sub", last, b.op("Mul", rest, difference))
    near = compare(b, "Less", b.op("Abs", share), number(b, 0.5, first))
    return b.cast(where(b, near, forward, backward), b.dtype)
