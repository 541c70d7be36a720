"""Short names of element types (`f32`) and printed forms of fake values (`f32[2, s0]`).

Shared by printers, manifests and the portable IR. Knows no operators.
"""

from __future__ import annotations

from typing import Any

import torch

DTYPE_NAMES: dict[torch.dtype, str] = {
    torch.float64: "f64",
    torch.float32: "f32",
    torch.float16: "f16",
    torch.bfloat16: "bf16",
    torch.int64: "i64",
    torch.int32: "i32",
    torch.int16: "i16",
    torch.int8: "i8",
    torch.uint8: "u8",
    torch.uint16: "u16",
    torch.uint32: "u32",
    torch.uint64: "u64",
    torch.bool: "bool",
    torch.complex64: "c64",
    torch.complex128: "c128",
    torch.complex32: "c32",
    torch.float8_e4m3fn: "f8e4m3",
    torch.float8_e5m2: "f8e5m2",
}

DTYPES: dict[str, torch.dtype] = {name: dtype for dtype, name in DTYPE_NAMES.items()}


def dtype_name(dtype: torch.dtype) -> str:
    """`f32` for torch.float32; a dtype without a short name keeps torch's (`quint8`)."""
    return DTYPE_NAMES.get(dtype, str(dtype).removeprefix("torch."))


def type_text(value: Any) -> str:
    """The printed type of a graph value: `f32[2, s0]`, `int`, `(f32[2], i64[2])`."""
    if isinstance(value, torch.Tensor):
        sizes = ", ".join(str(size) for size in value.shape)
        return f"{dtype_name(value.dtype)}[{sizes}]"
    if isinstance(value, (tuple, list)):
        return f"({', '.join(type_text(item) for item in value)})"
    if isinstance(value, (bool, torch.SymBool)):
        return f"bool {value}"
    if isinstance(value, (int, torch.SymInt)):
        return f"int {value}"
    if isinstance(value, (float, torch.SymFloat)):
        return f"float {value}"
    return type(value).__name__
