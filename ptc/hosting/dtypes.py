"""Element types by name (`f32`), as NumPy and DLPack know them.

NumPy has no bfloat16. Where the package `ml_dtypes` is installed its type is used; elsewhere bf16
data are uint16 arrays holding the bits, and `to_float32`/`from_float32` convert.
"""

from __future__ import annotations

import importlib
import importlib.util
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


@dataclass(frozen=True, slots=True)
class ElementType:
    """One element type: its short name, long name, DLPack type code and size in bits."""

    name: str
    long_name: str
    code: int
    bits: int

    @property
    def itemsize(self) -> int:
        """Bytes of one element."""
        return self.bits // 8

    @property
    def is_float(self) -> bool:
        return self.code in (_FLOAT, _BFLOAT)

    @property
    def is_integer(self) -> bool:
        return self.code in (_INT, _UINT)

    @property
    def numpy(self) -> np.dtype[Any]:
        """The NumPy type that holds such elements; for bf16 see the module's docstring."""
        if self.name == "bf16":
            return bfloat16() or np.dtype(np.uint16)
        return np.dtype(self.long_name)


# DLPack's DLDataTypeCode.
_INT, _UINT, _FLOAT, _BFLOAT, _COMPLEX, _BOOL = 0, 1, 2, 4, 5, 6

ELEMENT_TYPES: dict[str, ElementType] = {
    t.name: t
    for t in (
        ElementType("f64", "float64", _FLOAT, 64),
        ElementType("f32", "float32", _FLOAT, 32),
        ElementType("f16", "float16", _FLOAT, 16),
        ElementType("bf16", "bfloat16", _BFLOAT, 16),
        ElementType("i64", "int64", _INT, 64),
        ElementType("i32", "int32", _INT, 32),
        ElementType("i16", "int16", _INT, 16),
        ElementType("i8", "int8", _INT, 8),
        ElementType("u8", "uint8", _UINT, 8),
        ElementType("bool", "bool", _BOOL, 8),
        ElementType("c64", "complex64", _COMPLEX, 64),
        ElementType("c128", "complex128", _COMPLEX, 128),
    )
}
_BY_LONG_NAME = {t.long_name: t for t in ELEMENT_TYPES.values()}


def element_type(name: str) -> ElementType | None:
    """The type called `name`, short (`f32`) or long (`float32`); None if there is none."""
    return ELEMENT_TYPES.get(name) or _BY_LONG_NAME.get(name)


@cache
def bfloat16() -> np.dtype[Any] | None:
    """NumPy's bfloat16 type if the package ml_dtypes is installed."""
    if importlib.util.find_spec("ml_dtypes") is None:
        return None
    return np.dtype(importlib.import_module("ml_dtypes").bfloat16)


def array_accepts(expected: ElementType, array: Array) -> bool:
    """Whether `array` holds elements of type `expected` (bf16 also as raw uint16)."""
    if expected.name == "bf16":
        return array.dtype.name == "bfloat16" or array.dtype == np.uint16
    return array.dtype == expected.numpy


def array_type_name(array: Array) -> str:
    """The short name of the array's element type, or NumPy's where ptc has none."""
    found = element_type(array.dtype.name)
    return found.name if found else array.dtype.name


def from_float32(values: Array, kind: ElementType) -> Array:
    """float32 values as elements of a float type, rounded to nearest even."""
    if kind.name != "bf16" or bfloat16() is not None:
        return values.astype(kind.numpy)
    bits = np.ascontiguousarray(values, dtype=np.float32).view(np.uint32)
    rounded = (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16
    # Rounding would carry a NaN's mantissa into infinity or past the sign.
    return np.where(np.isnan(values), np.uint32(0x7FC0), rounded).astype(np.uint16)


def to_float32(array: Array, kind: ElementType) -> Array:
    """A float array as float32, also where bf16 is held as uint16."""
    if kind.name == "bf16" and array.dtype == np.uint16:
        return (array.astype(np.uint32) << 16).view(np.float32)
    return array.astype(np.float32)
