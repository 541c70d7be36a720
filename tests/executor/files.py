"""`.ptir` files made of a text and arrays, for tests of what reads and runs them."""

from __future__ import annotations

import io
import json
import struct
import zipfile
from collections.abc import Mapping
from typing import Any

import numpy as np

_NAMES = {"float32": "F32", "float64": "F64", "int64": "I64", "int32": "I32", "bool": "BOOL"}


def safetensors(tensors: Mapping[str, np.ndarray]) -> bytes:
    header: dict[str, Any] = {}
    data = b""
    for name, array in tensors.items():
        content = np.ascontiguousarray(array).tobytes()
        header[name] = {
            "dtype": _NAMES[array.dtype.name],
            "shape": list(array.shape),
            "data_offsets": [len(data), len(data) + len(content)],
        }
        data += content
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text + data


def package(
    text: str,
    tensors: Mapping[str, np.ndarray] | None = None,
    *,
    manifest: bytes = b'{"format": "ptir", "schema": 2}',
    weights: bytes | None = None,
    compression: int = zipfile.ZIP_STORED,
    extra: Mapping[str, bytes] | None = None,
) -> bytes:
    """The bytes of a file."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", compression) as archive:
        archive.writestr("graph.ptir", text.encode())
        archive.writestr("manifest.json", manifest)
        content = safetensors(tensors or {}) if weights is None else weights
        archive.writestr("weights.safetensors", content)
        for name, data in (extra or {}).items():
            archive.writestr(name, data)
    return stream.getvalue()


def graph(*lines: str, dims: tuple[str, ...] = ()) -> str:
    """A straight program of these lines."""
    body = "".join(f"  {line}\n" for line in lines)
    return "ptir 2\n" + "".join(f"{dim}\n" for dim in dims) + f'graph "g" {{\n{body}}}\n'
