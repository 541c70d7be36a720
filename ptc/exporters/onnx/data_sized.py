"""Operators whose result's shape depends on data, as items of programs with control flow.

Takes names of `ptc.graph.control.DATA_SIZED` with operands, writes to a builder.
"""

from __future__ import annotations

from collections.abc import Sequence

from ptc.exporters.onnx.builder import Builder
from ptc.exporters.onnx.values import OnnxValue
from ptc.graph.control import TensorVar, Var
from ptc.loops.nodes import DType
from ptc.ops.dtypes import from_torch
from ptc.ops.onnx_protocol import OnnxTensor

#: Of `Unique`, with the type whose values say the same.
_UNIQUE = {
    DType.BOOL: DType.I64, DType.U8: DType.I64, DType.I16: DType.I64, DType.I32: DType.I64,
    DType.F16: DType.F32, DType.BF16: DType.F32,
}  # fmt: skip


def data_sized(
    builder: Builder, op: str, args: Sequence[OnnxValue | None], types: Sequence[Var]
) -> list[OnnxValue]:
    """The results of an operator."""
    tensors = [arg for arg in args if isinstance(arg, OnnxTensor)]
    x = tensors[0]
    dtypes = [from_torch(t.fake.dtype) for t in types if isinstance(t, TensorVar)]
    match op:
        case "nonzero":
            return [builder.op("Transpose", _places(builder, x), perm=[1, 0])]
        case "masked_select":
            flat = [_flat(builder, tensor) for tensor in tensors]
            return [builder.op("Compress", *flat, axis=0)]
        case "unique":
            return [*_unique(builder, x, dtypes)]
        case "repeat_interleave":
            return [builder.cast(_repeated(builder, x), dtypes[0])]
        case _:
            return [_counts(builder, x, tensors[1] if len(tensors) > 1 else None)]


def _places(builder: Builder, x: OnnxTensor) -> OnnxTensor:
    return builder.op("NonZero", x, dtype=DType.I64)


def _flat(builder: Builder, x: OnnxTensor) -> OnnxTensor:
    return builder.op("Reshape", x, builder.constant([-1], DType.I64))


def _unique(builder: Builder, x: OnnxTensor, dtypes: Sequence[DType]) -> list[OnnxTensor]:
    """Sorted, with the place of each element among them and how often they occur."""
    carried = builder.cast(_flat(builder, x), _UNIQUE.get(x.dtype, x.dtype))
    several = [carried.dtype, DType.I64, DType.I64, DType.I64]
    values, _, inverse, counts = builder.ops("Unique", carried, dtypes=several, sorted=1)
    found = [builder.cast(values, x.dtype)]
    if len(dtypes) > 1:
        shape = builder.op("Shape", x, dtype=DType.I64)
        found += [builder.op("Reshape", inverse, shape), counts]
    return found


def _repeated(builder: Builder, repeats: OnnxTensor) -> OnnxTensor:
    """Each place as often as it is told: ones where a place ends, summed up."""
    b = builder
    ends = b.op("CumSum", b.cast(repeats, DType.I64), b.constant(0, DType.I64))
    total = b.op("ReduceSum", b.cast(repeats, DType.I64), keepdims=1)
    room = b.op("Add", total, b.constant([1], DType.I64))
    zeros = b.op("Expand", b.constant([0], DType.I64), room)
    shape = b.op("Shape", ends, dtype=DType.I64)
    ones = b.op("Expand", b.constant([1], DType.I64), shape)
    marks = b.op("ScatterElements", zeros, ends, ones, axis=0, reduction="add")
    summed = b.op("CumSum", marks, b.constant(0, DType.I64))
    zero = b.constant([0], DType.I64)
    return b.op("Slice", summed, zero, total, zero)


def _counts(builder: Builder, x: OnnxTensor, least: OnnxTensor | None) -> OnnxTensor:
    """How often each number from 0 on occurs."""
    b = builder
    wide = b.cast(_flat(b, x), DType.I64)
    bottom = b.constant([-1], DType.I64)
    highest = b.op("ReduceMax", b.op("Concat", wide, bottom, axis=0), keepdims=1)
    length = b.op("Add", highest, b.constant([1], DType.I64))
    if least is not None:
        length = b.op("Max", length, b.op("Reshape", least, b.constant([1], DType.I64)))
    zeros = b.op("Expand", b.constant([0], DType.I64), length)
    ones = b.op("Expand", b.constant([1], DType.I64), b.op("Shape", wide, dtype=DType.I64))
    return b.op("ScatterElements", zeros, wide, ones, axis=0, reduction="add")
