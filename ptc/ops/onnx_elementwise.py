"""Elementwise building blocks of ONNX rules: operands in a common type, constants, roundings.

ONNX operators want both operands in one type and know no promotion; runtimes lack kernels for
narrow integers and bfloat16. So operands are cast to the type eager computes in, and the result
back.
"""

from __future__ import annotations

from typing import Any

from ptc.loops.index import Index
from ptc.loops.nodes import DType
from ptc.ops import dtypes
from ptc.ops.onnx_protocol import OnnxBuilder, OnnxTensor
from ptc.ops.protocol import TensorValue

Operand = OnnxTensor | Index | float | int | bool

#: Types that runtimes compute in where they have no kernels; the result is cast back, which for
#: integers wraps around as eager does.
_WIDER = {
    DType.BF16: DType.F32,
    DType.I8: DType.I32,
    DType.U8: DType.I32,
    DType.I16: DType.I32,
    DType.BOOL: DType.I32,
}


def compute_type(dtype: DType) -> DType:
    """What a rule computes in for results of `dtype`."""
    return _WIDER.get(dtype, dtype)


def promoted(*operands: Operand) -> DType:
    """The common type of operands by torch's rules."""
    return dtypes.promote([_participant(operand) for operand in operands])


def _participant(operand: Operand) -> Any:
    if isinstance(operand, OnnxTensor):
        return TensorValue(operand.name, operand.dtype, operand.dims)
    return operand


def operand(b: OnnxBuilder, value: Operand, dtype: DType) -> OnnxTensor:
    """A tensor or number as a tensor of `dtype`."""
    if isinstance(value, OnnxTensor):
        return b.cast(value, dtype)
    if isinstance(value, Index):
        number = value.constant
        return b.cast(b.size(value), dtype) if number is None else b.constant(number, dtype)
    return b.constant(value, dtype)


def binary(b: OnnxBuilder, kind: str, x: Operand, y: Operand) -> OnnxTensor:
    """One ONNX operator on two operands, in the result's type."""
    wide = compute_type(b.dtype)
    return b.cast(b.op(kind, operand(b, x, wide), operand(b, y, wide)), b.dtype)


def unary(b: OnnxBuilder, kind: str, x: Operand, **attributes: Any) -> OnnxTensor:
    """One ONNX operator on one operand, in the result's type."""
    return b.cast(b.op(kind, operand(b, x, compute_type(b.dtype)), **attributes), b.dtype)


def number(b: OnnxBuilder, value: float | int | bool, like: OnnxTensor) -> OnnxTensor:
    """A 0-d constant of the type of `like`."""
    return b.constant(value, like.dtype)


def where(b: OnnxBuilder, condition: OnnxTensor, x: OnnxTensor, y: OnnxTensor) -> OnnxTensor:
    """x where the condition holds, else y; of bools in the terms of logic, as runtimes lack it."""
    if x.dtype is DType.BOOL:
        return b.op("Or", b.op("And", condition, x), b.op("And", b.op("Not", condition), y))
    return b.op("Where", condition, x, y, dtype=x.dtype)


def compare(b: OnnxBuilder, kind: str, x: OnnxTensor, y: OnnxTensor) -> OnnxTensor:
    """`Equal`, `Less`, `Greater`, `LessOrEqual`, `GreaterOrEqual`."""
    return b.op(kind, x, y, dtype=DType.BOOL)


def is_nan(b: OnnxBuilder, x: OnnxTensor) -> OnnxTensor:
    return b.op("IsNaN", x, dtype=DType.BOOL)


def truncate(b: OnnxBuilder, x: OnnxTensor) -> OnnxTensor:
    """Towards zero."""
    negative = compare(b, "Less", x, number(b, 0.0, x))
    return where(b, negative, b.op("Ceil", x), b.op("Floor", x))


def floor_divide(b: OnnxBuilder, x: OnnxTensor, y: OnnxTensor) -> OnnxTensor:
    """Python's floor division. Floats as eager: the rounded quotient of what remains after the
    remainder is taken off, so that 1 // 0.1 is 9."""
    if not x.dtype.is_float:
        return b.op("Div", b.op("Sub", x, b.op("Mod", x, y)), y)
    zero = number(b, 0.0, x)
    rest = b.op("Mod", x, y, fmod=1)
    quotient = b.op("Div", b.op("Sub", x, rest), y)
    down = b.op("Sub", quotient, number(b, 1.0, x))
    quotient = where(b, _signs_differ(b, rest, y), down, quotient)
    by_zero = compare(b, "Equal", y, zero)
    return where(b, by_zero, b.op("Div", x, y), b.op("Round", quotient))


def remainder(b: OnnxBuilder, x: OnnxTensor, y: OnnxTensor) -> OnnxTensor:
    """Python's remainder: the sign of the divisor."""
    if not x.dtype.is_float:
        return b.op("Mod", x, y)
    rest = b.op("Mod", x, y, fmod=1)
    return where(b, _signs_differ(b, rest, y), b.op("Add", rest, y), rest)


def _signs_differ(b: OnnxBuilder, rest: OnnxTensor, y: OnnxTensor) -> OnnxTensor:
    """True where the remainder is not zero and has another sign than the divisor."""
    zero = number(b, 0.0, rest)
    below = b.op("Xor", compare(b, "Less", rest, zero), compare(b, "Less", y, zero))
    return b.op("And", below, b.op("Not", compare(b, "Equal", rest, zero)))


def expm1(b: OnnxBuilder, x: OnnxTensor) -> OnnxTensor:
    """exp(x) - 1 = tanh(x / 2) * (exp(x) + 1): exact near zero too."""
    half = b.op("Tanh", b.op("Mul", x, number(b, 0.5, x)))
    return b.op("Mul", half, b.op("Add", b.op("Exp", x), number(b, 1.0, x)))


def log1p(b: OnnxBuilder, x: OnnxTensor) -> OnnxTensor:
    """log(1 + x), with the rounding of 1 + x taken back out (Kahan): log(u) * x / (u - 1)."""
    one = number(b, 1.0, x)
    sum_ = b.op("Add", x, one)
    difference = b.op("Sub", sum_, one)
    log = b.op("Log", sum_)
    corrected = b.op("Mul", log, b.op("Div", x, difference))
    # Where 1 + x rounds to 1 the answer is x; at infinity and at -1 the plain log is right.
    same = compare(b, "Equal", difference, number(b, 0.0, x))
    odd = b.op("Or", b.op("IsInf", x, dtype=DType.BOOL), compare(b, "Equal", x, number(b, -1.0, x)))
    return where(b, same, x, where(b, odd, log, corrected))
