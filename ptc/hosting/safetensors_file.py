"""Reading `.safetensors` files with NumPy alone: arrays are views of the mapped file.

The format is an 8-byte little-endian length, a JSON header of that length (name -> dtype, shape,
offsets into what follows), then the data. Everything in the header is checked before it is used.
"""

from __future__ import annotations

import json
import math
import mmap
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ptc.hosting.dtypes import Array, ElementType, element_type
from ptc.support.diagnostics import CompileError

_TYPES = {
    "F64": "f64", "F32": "f32", "F16": "f16", "BF16": "bf16", "I64": "i64", "I32": "i32",
    "I16": "i16", "I8": "i8", "U8": "u8", "BOOL": "bool", "C64": "c64", "C128": "c128",
}  # fmt: skip

#: The format's own bound on its header, in bytes.
MAX_HEADER = 100_000_000

#: What a hostile header may raise, overlong numbers and deep nesting included.
_MALFORMED = (ValueError, AttributeError, KeyError, TypeError, OverflowError, RecursionError)


@dataclass(frozen=True, slots=True)
class StoredTensor:
    """One tensor of a file: its element type and its array."""

    dtype: ElementType
    array: Array


def read_safetensors(
    path: Path, offset: int = 0, size: int | None = None, *, writable: bool = False
) -> dict[str, StoredTensor]:
    """Every tensor of the file, in the order of its header.

    `offset` and `size` name the part of the file that holds the format. Arrays are read-only, or
    with `writable` written in private: the file never changes.
    """
    access = mmap.ACCESS_COPY if writable else mmap.ACCESS_READ
    try:
        with path.open("rb") as stream:
            data = mmap.mmap(stream.fileno(), 0, access=access)
    except (OSError, ValueError) as error:
        raise _unreadable(path, str(error)) from None
    end = len(data) if size is None else min(offset + size, len(data))
    if end - offset < 8:
        raise _unreadable(path, f"it has {end - offset} bytes, less than the length of its header")
    length = int.from_bytes(data[offset : offset + 8], "little")
    start = offset + 8 + length
    if start > end:
        raise _unreadable(path, "its header is longer than the file")
    if length > MAX_HEADER:
        raise _unreadable(path, f"its header has {length} bytes, at most {MAX_HEADER} are read")
    try:
        header = json.loads(data[offset + 8 : start])
        return {
            name: _tensor(path, name, entry, memoryview(data)[:end], start)
            for name, entry in header.items()
            if name != "__metadata__"
        }
    except _MALFORMED as error:
        raise _unreadable(path, f"its header is malformed: {error}") from None


def _tensor(
    path: Path, name: str, entry: Mapping[str, Any], data: memoryview, start: int
) -> StoredTensor:
    dtype = element_type(_TYPES.get(entry["dtype"], ""))
    if dtype is None:
        raise _unreadable(
            path, f"`{name}` has element type {entry['dtype']}, which ptc does not know"
        )
    shape = tuple(int(size) for size in entry["shape"])
    begin, end = (int(offset) for offset in entry["data_offsets"])
    if (
        not 0 <= begin <= end <= len(data) - start
        or end - begin != math.prod(shape) * dtype.itemsize
    ):
        raise _unreadable(path, f"the data of `{name}` are truncated or do not fit its shape")
    flat = np.frombuffer(data, np.uint8, end - begin, start + begin)
    return StoredTensor(dtype, flat.view(dtype.numpy).reshape(shape))


def _unreadable(path: Path, reason: str) -> CompileError:
    return CompileError("PTC-L021", f"cannot read {path}: {reason}")
