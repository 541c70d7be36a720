"""How element types and constants are spelled in generated C++. Knows no expressions."""

from __future__ import annotations

import math
import struct

from ptc.loops.nodes import DType

ELEMENT: dict[DType, str] = {
    DType.F64: "double",
    DType.F32: "float",
    DType.F16: "f16",
    DType.BF16: "bf16",
    DType.I64: "int64_t",
    DType.I32: "int32_t",
    DType.I16: "int16_t",
    DType.I8: "int8_t",
    DType.U8: "uint8_t",
    DType.BOOL: "bool",
    DType.C64: "__complex__ float",
    DType.C128: "__complex__ double",
}

#: DLDataType: code and bits.
DL_CODES: dict[DType, tuple[int, int]] = {
    DType.F64: (2, 64),
    DType.F32: (2, 32),
    DType.F16: (2, 16),
    DType.BF16: (4, 16),
    DType.I64: (0, 64),
    DType.I32: (0, 32),
    DType.I16: (0, 16),
    DType.I8: (0, 8),
    DType.U8: (1, 8),
    DType.BOOL: (6, 8),
    DType.C64: (5, 64),
    DType.C128: (5, 128),
}

#: Integers that C promotes to int in arithmetic: results are cast back, so that they wrap.
PROMOTED = (DType.I16, DType.I8, DType.U8)
COMPLEX = (DType.C64, DType.C128)


def vector_type(dtype: DType, lanes: int) -> str:
    """The register type of `lanes` values."""
    return f"mask<{lanes}>" if dtype is DType.BOOL else f"vec<{ELEMENT[dtype]}, {lanes}>"


def value_type(dtype: DType, lanes: int | None) -> str:
    """The type of a variable: a scalar without `lanes`."""
    return ELEMENT[dtype] if lanes is None else vector_type(dtype, lanes)


def literal_text(value: float | int | bool, dtype: DType) -> str:
    """A constant expression of exactly the element type."""
    if dtype is DType.BOOL:
        return "true" if value else "false"
    if dtype.is_int:
        return _integer_text(int(value), dtype)
    number = float(value)
    if dtype is DType.F16:
        return f"f16{{0x{_half_bits(number):04x}}}"
    if dtype is DType.BF16:
        return f"bf16{{0x{_bfloat_bits(number):04x}}}"
    if dtype in COMPLEX:
        part = DType.F32 if dtype is DType.C64 else DType.F64
        return f"({ELEMENT[dtype]}){literal_text(number, part)}"
    suffix = "f" if dtype is DType.F32 else ""
    if math.isnan(number):
        return f'__builtin_nan{suffix}("")'
    if math.isinf(number):
        return f"{'-' if number < 0 else ''}__builtin_inf{suffix}()"
    return f"{number!r}{suffix}"


def _integer_text(value: int, dtype: DType) -> str:
    if dtype is DType.I64:
        return "(-9223372036854775807L - 1)" if value == -(2**63) else f"{value}L"
    if dtype is DType.I32:
        return "(-2147483647 - 1)" if value == -(2**31) else str(value)
    return f"({ELEMENT[dtype]}){value}"


def _half_bits(value: float) -> int:
    if math.isnan(value):
        return 0x7E00
    try:
        return int.from_bytes(struct.pack("<e", value), "little")
    except OverflowError:
        return 0xFC00 if value < 0 else 0x7C00


def _bfloat_bits(value: float) -> int:
    if math.isnan(value):
        return 0x7FC0
    try:
        bits = int.from_bytes(struct.pack("<f", value), "little")
    except OverflowError:
        return 0xFF80 if value < 0 else 0x7F80
    # Literals are exact in their type; rounding here keeps the function total.
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16) & 0xFFFF
