"""ONNX rules of operators that make tensors: constants, ranges, identity matrices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from ptc.loops.index import Index
from ptc.loops.nodes import DType
from ptc.ops.onnx_elementwise import Operand, operand
from ptc.ops.onnx_protocol import OnnxBuilder, OnnxTensor, Size
from ptc.ops.onnx_registry import onnx

aten = torch.ops.aten
prims = torch.ops.prims


def _filled(b: OnnxBuilder, value: Operand) -> OnnxTensor:
    """The value in the result's shape."""
    return b.op("Expand", operand(b, value, b.dtype), b.sizes(b.shape))


@onnx(aten.full.default)
def full(b: OnnxBuilder, size: Any, value: Operand, dtype: Any = None) -> OnnxTensor:
    return _filled(b, value)


@onnx(aten.full_like.default)
def full_like(b: OnnxBuilder, x: OnnxTensor, value: Operand, dtype: Any = None) -> OnnxTensor:
    return _filled(b, value)


@onnx(aten.new_full.default)
def new_full(
    b: OnnxBuilder, x: OnnxTensor, size: Any, value: Operand, dtype: Any = None
) -> OnnxTensor:
    return _filled(b, value)


def _fixed(value: int) -> Any:
    def rule(b: OnnxBuilder, *arguments: Any) -> OnnxTensor:
        return _filled(b, value)

    return rule


# What `empty` holds is nobody's business; zeros keep exports reproducible.
onnx(
    aten.zeros.default,
    aten.zeros_like.default,
    aten.new_zeros.default,
    aten.empty.memory_format,
    aten.empty_strided.default,
    aten.empty_permuted.default,
    aten.empty_like.default,
    aten.new_empty.default,
)(_fixed(0))
onnx(aten.ones.default, aten.ones_like.default, aten.new_ones.default)(_fixed(1))


@onnx(aten.scalar_tensor.default)
def scalar_tensor(b: OnnxBuilder, value: Operand, dtype: Any = None) -> OnnxTensor:
    """A number as a tensor without dimensions."""
    return operand(b, value, b.dtype)


def _counted(b: OnnxBuilder, length: Index, start: Operand, step: Operand) -> OnnxTensor:
    """start + i * step for i in [0, length), as eager computes it."""
    counter = b.op("Range", b.size(0), b.size(length), b.size(1))
    wide = b.dtype if b.dtype.is_float and b.dtype is not DType.BF16 else DType.I64
    if b.dtype in (DType.F16, DType.BF16):
        wide = DType.F32
    result = b.cast(counter, wide)
    if step != 1:
        result = b.op("Mul", result, operand(b, step, wide))
    if start != 0:
        result = b.op("Add", result, operand(b, start, wide))
    return b.cast(result, b.dtype)


@onnx(aten.arange.default)
def arange(b: OnnxBuilder, end: Operand, dtype: Any = None) -> OnnxTensor:
    return _counted(b, b.shape[0], 0, 1)


@onnx(aten.arange.start)
def arange_start(b: OnnxBuilder, start: Operand, end: Operand, dtype: Any = None) -> OnnxTensor:
    return _counted(b, b.shape[0], start, 1)


@onnx(aten.arange.start_step)
def arange_step(
    b: OnnxBuilder, start: Operand, end: Operand, step: Operand = 1, dtype: Any = None
) -> OnnxTensor:
    return _counted(b, b.shape[0], start, step)


@onnx(prims.iota.default)
def iota(
    b: OnnxBuilder, length: Size, start: Operand, step: Operand, dtype: Any, requires_grad: bool
) -> OnnxTensor:
    return _counted(b, b.shape[0], start, step)


@onnx(aten.eye.default, aten.eye.m)
def eye(b: OnnxBuilder, *arguments: Any) -> OnnxTensor:
    """Ones where row and column number agree."""
    rows, columns = (b.op("Range", b.size(0), b.size(n), b.size(1)) for n in b.shape)
    column = b.op("Unsqueeze", rows, b.constant([1], DType.I64))
    return b.cast(b.op("Equal", column, columns, dtype=DType.BOOL), b.dtype)


@onnx(aten.tril.default)
def tril(b: OnnxBuilder, x: OnnxTensor, diagonal: Size) -> OnnxTensor:
    """Zero above the diagonal."""
    return _triangle(b, x, diagonal, upper=0)


@onnx(aten.triu.default)
def triu(b: OnnxBuilder, x: OnnxTensor, diagonal: Size) -> OnnxTensor:
    """Zero below the diagonal."""
    return _triangle(b, x, diagonal, upper=1)


#: What ONNX Runtime has a Trilu kernel for.
_TRIANGLE_TYPES = (DType.F32, DType.F64, DType.I64, DType.BOOL)


def _triangle(b: OnnxBuilder, x: OnnxTensor, diagonal: Size, upper: int) -> OnnxTensor:
    wide = x.dtype
    if wide not in _TRIANGLE_TYPES:
        wide = DType.F32 if wide.is_float else DType.I64
    return b.cast(b.op("Trilu", b.cast(x, wide), b.size(diagonal), upper=upper), b.dtype)


def _triangle_indices(lower: bool) -> Any:
    def rule(b: OnnxBuilder, row: int, column: int, offset: int, *rest: Any) -> OnnxTensor:
        """The coordinates of a triangle: constants, since the sizes are numbers."""
        make = torch.tril_indices if lower else torch.triu_indices
        return b.constant(make(row, column, offset).tolist(), b.dtype)

    return rule


onnx(aten.tril_indices.default)(_triangle_indices(lower=True))
onnx(aten.triu_indices.default)(_triangle_indices(lower=False))


def sizes_of(values: Sequence[Size]) -> list[int | None]:
    """Sizes as numbers where they are; None for symbolic ones."""
    return [Index.of(value).constant for value in values]
