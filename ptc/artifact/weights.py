"""The weights of a library: a safetensors image, written tensor by tensor.

The image is written as a stream, because a model may be larger than half of memory: the package
`safetensors` would hold every tensor's bytes at once. Must not know what the tensors mean.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch

from ptc.hosting.dtypes import ELEMENT_TYPES
from ptc.support.diagnostics import CompileError

_ALIGNMENT = 64
_CHUNK_BYTES = 64 << 20
_SAFETENSORS_NAMES = {"bool": "BOOL"}


@dataclass(frozen=True, slots=True)
class StoredTensor:
    """One tensor in an image. `offset` is in bytes from the image's start."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    offset: int
    bytes: int


@dataclass(frozen=True, slots=True)
class WeightImage:
    """A written image: its file, size, content hash (SHA-256, hexadecimal) and tensors."""

    path: Path
    bytes: int
    digest: str
    tensors: tuple[StoredTensor, ...]


def write_image(
    path: Path, names: Sequence[tuple[str, str]], tensors: Mapping[str, torch.Tensor]
) -> WeightImage:
    """Write a safetensors image. `names`: (tensor name, element type such as `f32`) in order.

    Raises CompileError PTC-R031 for a tensor without data (on the meta device).
    """
    header, stored, total = _layout(names, tensors)
    digest = hashlib.sha256()
    with path.open("wb") as stream:

        def put(data: bytes | memoryview) -> None:
            stream.write(data)
            digest.update(data)

        put(len(header).to_bytes(8, "little"))
        put(header)
        position = 8 + len(header)
        for entry in stored:
            put(b"\0" * (entry.offset - position))
            for chunk in _chunks(tensors[entry.name]):
                put(chunk)
            position = entry.offset + entry.bytes
    return WeightImage(path, total, digest.hexdigest(), tuple(stored))


def _layout(
    names: Sequence[tuple[str, str]], tensors: Mapping[str, torch.Tensor]
) -> tuple[bytes, list[StoredTensor], int]:
    """The header and the place of every tensor, aligned within the image."""
    table: dict[str, object] = {}
    relative: list[tuple[str, str, tuple[int, ...], int, int]] = []
    at = 0
    for name, dtype in names:
        tensor = tensors[name]
        if tensor.is_meta:
            raise CompileError(
                "PTC-R031",
                f"the tensor `{name}` has no data: it is on the meta device",
                hint="give the model's weights with --weights",
            )
        size = tensor.numel() * ELEMENT_TYPES[dtype].itemsize
        table[name] = {
            "dtype": _SAFETENSORS_NAMES.get(dtype, dtype.upper()),
            "shape": list(tensor.shape),
            "data_offsets": [at, at + size],
        }
        relative.append((name, dtype, tuple(tensor.shape), at, size))
        # safetensors allows no gaps, so padding belongs to the header and sizes stay as they are.
        at += size
    text = json.dumps(table, separators=(",", ":")).encode()
    text += b" " * (-(8 + len(text)) % _ALIGNMENT)
    start = 8 + len(text)
    stored = [StoredTensor(n, d, s, start + o, b) for n, d, s, o, b in relative]
    return text, stored, start + at


def _chunks(tensor: torch.Tensor) -> Iterator[memoryview]:
    """The tensor's bytes in slices, so that hashing and writing share what the cache holds."""
    dense = tensor.detach().cpu().contiguous()
    if not dense.numel():
        return
    data = dense.reshape(-1).view(torch.uint8).numpy().data
    for start in range(0, len(data), _CHUNK_BYTES):
        yield data[start : start + _CHUNK_BYTES]
