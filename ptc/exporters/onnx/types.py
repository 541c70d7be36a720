"""Element types of ONNX against those of the loop IR and of NumPy and torch."""

from __future__ import annotations

import onnx_ir as ir

from ptc.loops.nodes import DType
from ptc.support.diagnostics import CompileError

_TYPES = {
    DType.F64: ir.DataType.DOUBLE,
    DType.F32: ir.DataType.FLOAT,
    DType.F16: ir.DataType.FLOAT16,
    DType.BF16: ir.DataType.BFLOAT16,
    DType.I64: ir.DataType.INT64,
    DType.I32: ir.DataType.INT32,
    DType.I16: ir.DataType.INT16,
    DType.I8: ir.DataType.INT8,
    DType.U8: ir.DataType.UINT8,
    DType.BOOL: ir.DataType.BOOL,
}


def onnx_type(dtype: DType) -> ir.DataType:
    """Raises CompileError PTC-E021 for complex numbers, on which no ONNX operator works."""
    try:
        return _TYPES[dtype]
    except KeyError:
        raise CompileError("PTC-E021", f"ONNX has no operators on {dtype.value}") from None
