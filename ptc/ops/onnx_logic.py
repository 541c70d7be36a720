"""ONNX rules of comparisons, logic, bits, selection and casts."""

from __future__ import annotations

from typing import Any

import torch

from ptc.loops.nodes import DType
from ptc.ops.cast_copy import IDENTITIES
from ptc.ops.dtypes import from_torch
from ptc.ops.onnx_elementwise import (
    Operand,
    compare,
    compute_type,
    floor_divide,
    is_nan,
    number,
    operand,
    promoted,
    where,
)
from ptc.ops.onnx_protocol import OnnxBuilder, OnnxTensor
from ptc.ops.onnx_registry import onnx

aten = torch.ops.aten
prims = torch.ops.prims


# --- comparisons ----------------------------------------------------------------------------------


def _comparison(kind: str, negated: bool = False) -> Any:
    def rule(b: OnnxBuilder, x: Operand, y: Operand) -> OnnxTensor:
        common = compute_type(promoted(x, y))
        result = compare(b, kind, operand(b, x, common), operand(b, y, common))
        return b.op("Not", result) if negated else result

    return rule


onnx(aten.eq.Tensor, aten.eq.Scalar)(_comparison("Equal"))
onnx(aten.ne.Tensor, aten.ne.Scalar)(_comparison("Equal", negated=True))
onnx(aten.lt.Tensor, aten.lt.Scalar)(_comparison("Less"))
onnx(aten.le.Tensor, aten.le.Scalar)(_comparison("LessOrEqual"))
onnx(aten.gt.Tensor, aten.gt.Scalar)(_comparison("Greater"))
onnx(aten.ge.Tensor, aten.ge.Scalar)(_comparison("GreaterOrEqual"))


# --- logic and bits -------------------------------------------------------------------------------


def _logic(kind: str) -> Any:
    def rule(b: OnnxBuilder, x: OnnxTensor, y: OnnxTensor) -> OnnxTensor:
        return b.op(kind, b.cast(x, DType.BOOL), b.cast(y, DType.BOOL))

    return rule


onnx(aten.logical_and.default)(_logic("And"))
onnx(aten.logical_or.default)(_logic("Or"))
onnx(aten.logical_xor.default)(_logic("Xor"))


@onnx(aten.logical_not.default)
def logical_not(b: OnnxBuilder, x: OnnxTensor) -> OnnxTensor:
    """True where x is zero."""
    return b.op("Not", b.cast(x, DType.BOOL))


def _bits(kind: str) -> Any:
    def rule(b: OnnxBuilder, x: Operand, y: Operand) -> OnnxTensor:
        left, right = operand(b, x, b.dtype), operand(b, y, b.dtype)
        return b.op(kind if b.dtype is DType.BOOL else f"Bitwise{kind}", left, right)

    return rule


for _name in ("and", "or", "xor"):
    _rule = _bits(_name.capitalize())
    _packet = getattr(aten, f"bitwise_{_name}")
    onnx(_packet.Tensor, _packet.Scalar, _packet.Scalar_Tensor)(_rule)


@onnx(aten.bitwise_not.default)
def bitwise_not(b: OnnxBuilder, x: OnnxTensor) -> OnnxTensor:
    """All bits turned; of a bool, not."""
    return b.op("Not" if x.dtype is DType.BOOL else "BitwiseNot", x)


def _shift_amounts(
    b: OnnxBuilder, y: Operand, greatest: int
) -> tuple[OnnxTensor, OnnxTensor, OnnxTensor]:
    """Whether the amount is in [0, greatest], and 2 ** amount as two factors: one alone would not
    fit an i64. Amounts outside count as `greatest`."""
    amount = operand(b, y, DType.I64)
    zero, most = b.constant(0, DType.I64), b.constant(greatest, DType.I64)
    outside = b.op("Or", compare(b, "Less", amount, zero), compare(b, "Greater", amount, most))
    amount = where(b, outside, most, amount)
    half = b.op("Div", amount, b.constant(2, DType.I64))
    two = b.constant(2.0, DType.F64)
    factors = [
        b.cast(b.op("Pow", two, b.cast(part, DType.F64)), DType.I64)
        for part in (half, b.op("Sub", amount, half))
    ]
    return b.op("Not", outside), factors[0], factors[1]


@onnx(
    aten.bitwise_left_shift.Tensor,
    aten.bitwise_left_shift.Tensor_Scalar,
    aten.__lshift__.Tensor,
    aten.__lshift__.Scalar,
)
def left_shift(b: OnnxBuilder, x: OnnxTensor, y: Operand) -> OnnxTensor:
    """x * 2**y, 0 when all bits leave. ONNX shifts unsigned numbers only."""
    inside, first, second = _shift_amounts(b, y, b.dtype.itemsize * 8 - 1)
    moved = b.op("Mul", b.op("Mul", operand(b, x, DType.I64), first), second)
    return b.cast(where(b, inside, moved, b.constant(0, DType.I64)), b.dtype)


@onnx(
    aten.bitwise_right_shift.Tensor,
    aten.bitwise_right_shift.Tensor_Scalar,
    aten.__rshift__.Tensor,
    aten.__rshift__.Scalar,
)
def right_shift(b: OnnxBuilder, x: OnnxTensor, y: Operand) -> OnnxTensor:
    """x // 2**y: the sign bit moves in, all of it when the amount is out of range."""
    _, first, second = _shift_amounts(b, y, b.dtype.itemsize * 8 - 1)
    once = floor_divide(b, operand(b, x, DType.I64), first)
    return b.cast(floor_divide(b, once, second), b.dtype)


# --- kinds of numbers -----------------------------------------------------------------------------


def _float_or_false(test: Any) -> Any:
    """A test that no integer passes."""

    def rule(b: OnnxBuilder, x: OnnxTensor) -> OnnxTensor:
        if x.dtype.is_float:
            return test(b, b.cast(x, compute_type(x.dtype)))
        return b.op("Expand", b.constant(False, DType.BOOL), b.sizes(b.shape))

    return rule


def _infinite(b: OnnxBuilder, x: OnnxTensor) -> OnnxTensor:
    return b.op("IsInf", x, dtype=DType.BOOL)


def _positive_infinite(b: OnnxBuilder, x: OnnxTensor) -> OnnxTensor:
    return b.op("IsInf", x, dtype=DType.BOOL, detect_negative=0)


def _negative_infinite(b: OnnxBuilder, x: OnnxTensor) -> OnnxTensor:
    return b.op("IsInf", x, dtype=DType.BOOL, detect_positive=0)


onnx(aten.isnan.default)(_float_or_false(is_nan))
onnx(aten.isinf.default)(_float_or_false(_infinite))
onnx(aten.isposinf.default)(_float_or_false(_positive_infinite))
onnx(aten.isneginf.default)(_float_or_false(_negative_infinite))


@onnx(aten.isfinite.default)
def is_finite(b: OnnxBuilder, x: OnnxTensor) -> OnnxTensor:
    """Neither infinite nor NaN."""
    if not x.dtype.is_float:
        return b.op("Expand", b.constant(True, DType.BOOL), b.sizes(b.shape))
    value = b.cast(x, compute_type(x.dtype))
    return b.op("Not", b.op("Or", _infinite(b, value), is_nan(b, value)))


# --- selection ------------------------------------------------------------------------------------


@onnx(aten.where.self, aten.where.ScalarSelf, aten.where.ScalarOther, aten.where.Scalar)
def select(b: OnnxBuilder, condition: OnnxTensor, x: Operand, y: Operand) -> OnnxTensor:
    """x where the condition holds, else y."""
    test = b.cast(condition, DType.BOOL)
    return where(b, test, operand(b, x, b.dtype), operand(b, y, b.dtype))


@onnx(aten.masked_fill.Scalar, aten.masked_fill.Tensor)
def masked_fill(b: OnnxBuilder, x: OnnxTensor, mask: OnnxTensor, value: Operand) -> OnnxTensor:
    """The value where the mask holds."""
    return where(b, b.cast(mask, DType.BOOL), operand(b, value, b.dtype), b.cast(x, b.dtype))


# --- casts and copies -----------------------------------------------------------------------------


@onnx(aten._to_copy.default, prims.convert_element_type.default)
def convert(b: OnnxBuilder, x: OnnxTensor, dtype: torch.dtype | None) -> OnnxTensor:
    """In another dtype."""
    return x if dtype is None else b.cast(x, from_torch(dtype))


@onnx(*IDENTITIES)
def same(b: OnnxBuilder, x: OnnxTensor) -> OnnxTensor:
    """The tensor itself."""
    return x


@onnx(aten.copy.default)
def copy_into(b: OnnxBuilder, x: OnnxTensor, source: OnnxTensor) -> OnnxTensor:
    """The source in the shape and type of x."""
    return b.op("Expand", b.cast(source, b.dtype), b.sizes(b.shape))


@onnx(aten.fill.Scalar, aten.fill.Tensor)
def fill(b: OnnxBuilder, x: OnnxTensor, value: Operand) -> OnnxTensor:
    """The value in the shape of x."""
    return b.op("Expand", operand(b, value, b.dtype), b.sizes(b.shape))


@onnx(aten.nonzero.default)
def nonzero(b: OnnxBuilder, x: OnnxTensor) -> OnnxTensor:
    """The index of every non-zero element, one a row."""
    found = b.op("NonZero", b.op("Not", _is_zero(b, x)), dtype=DType.I64)
    return b.op("Transpose", found, perm=[1, 0])


def _is_zero(b: OnnxBuilder, x: OnnxTensor) -> OnnxTensor:
    value = b.cast(x, compute_type(x.dtype))
    return compare(b, "Equal", value, number(b, 0, value))
