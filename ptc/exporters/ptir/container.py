"""The `.ptir` file: a zip, entries stored, with the text, a manifest and one safetensors file.

Equal content gives equal bytes. Reading extracts nothing to disk, accepts exactly the known
entries, and bounds every size by the file's own. Knows nothing of what the entries mean.
"""

from __future__ import annotations

import errno
import json
import struct
import tempfile
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import safetensors
import safetensors.torch
import torch

from ptc.hosting.safetensors_file import read_safetensors
from ptc.hosting.seal import hash_range
from ptc.support.diagnostics import CompileError

TEXT = "graph.ptir"
MANIFEST = "manifest.json"
WEIGHTS = "weights.safetensors"

MAX_MANIFEST = 64 << 20
MAX_TEXT = 256 << 20
#: The weights start at a multiple of this in the file, so that they can be mapped.
ALIGNMENT = 64
_PADDING_FIELD = 0xD935
_LOCAL_HEADER = struct.Struct("<26sHH")
_CHUNK = 1 << 20


@dataclass(frozen=True, slots=True)
class Package:
    """The content of a file."""

    text: str
    manifest: dict[str, Any]
    tensors: dict[str, torch.Tensor]

    @property
    def entry(self) -> Mapping[str, Any]:
        """The program as the manifest describes it."""
        return self.manifest["entries"][0]

    @property
    def aliases(self) -> dict[str, tuple[str, ...]]:
        return {n: tuple(map(str, others)) for n, others in self.manifest["aliases"].items()}


def write_package(
    path: Path, text: str, manifest: Mapping[str, Any], tensors: Mapping[str, torch.Tensor]
) -> None:
    """Write a package. The manifest gains `weights` with the size and hash of the weights file."""
    with tempfile.TemporaryDirectory(dir=path.parent) as folder:
        weights = Path(folder) / WEIGHTS
        _save_tensors(weights, tensors)
        size = weights.stat().st_size
        entry = {"file": WEIGHTS, "bytes": size, "sha256": hash_range(weights, 0, size)}
        full = {**manifest, "weights": entry}
        with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
            archive.writestr(_info(TEXT), text.encode())
            archive.writestr(_info(MANIFEST), json.dumps(full, indent=1, sort_keys=True).encode())
            info = _info(WEIGHTS)
            assert archive.fp is not None
            info.extra = _padding(archive.fp.tell(), WEIGHTS)
            with archive.open(info, "w", force_zip64=True) as target, weights.open("rb") as source:
                while chunk := source.read(_CHUNK):
                    target.write(chunk)


def _save_tensors(path: Path, tensors: Mapping[str, torch.Tensor]) -> None:
    """One safetensors file. Views that share memory are copied: the format has none."""
    owners: set[int] = set()
    plain: dict[str, torch.Tensor] = {}
    for name, tensor in tensors.items():
        dense = tensor.detach().cpu().contiguous()
        storage = dense.untyped_storage()
        if storage.data_ptr() in owners or storage.nbytes() != dense.nbytes:
            dense = dense.clone()
        owners.add(dense.untyped_storage().data_ptr())
        plain[name] = dense
    try:
        safetensors.torch.save_file(plain, path)
    except (ValueError, KeyError, safetensors.SafetensorError) as error:
        _, disk, reason = str(error).partition("I/O error: ")
        if disk:
            raise OSError(errno.EIO, reason) from error
        raise CompileError("PTC-E011", f"a weight cannot be stored: {error}") from error


def _info(name: str) -> zipfile.ZipInfo:
    """An entry whose bytes depend on its content alone."""
    info = zipfile.ZipInfo(name, date_time=(1980, 1, 1, 0, 0, 0))
    info.external_attr = 0o644 << 16
    info.create_system = 3
    return info


def _padding(position: int, name: str) -> bytes:
    """An extra field that makes the entry's data start at a multiple of ALIGNMENT."""
    # Local header, name, the zip64 field that force_zip64 adds, and this field's own head.
    start = position + 30 + len(name) + 20 + 4
    return struct.pack("<HH", _PADDING_FIELD, -start % ALIGNMENT) + bytes(-start % ALIGNMENT)


def read_package(path: Path) -> Package:
    """The content of a package. Raises CompileError PTC-E010 for anything but a sound one."""
    try:
        with zipfile.ZipFile(path) as archive:
            _require_entries(path, archive)
            text = archive.read(TEXT).decode()
            manifest = json.loads(archive.read(MANIFEST))
            weights = archive.getinfo(WEIGHTS)
            start = _data_start(path, weights)
        if not isinstance(manifest, dict) or manifest.get("format") != "ptir":
            raise _damaged(path, "the manifest is not one of the portable IR")
        _require_manifest(path, manifest)
        stated = manifest.get("weights")
        actual = hash_range(path, start, weights.file_size)
        if not isinstance(stated, dict) or stated.get("sha256") != actual:
            raise _damaged(path, "the weights do not match their hash")
        return Package(text, manifest, _mapped_tensors(path, start, weights.file_size))
    except FileNotFoundError as error:
        raise CompileError("PTC-E010", f"there is no file `{path}`") from error
    except (OSError, ValueError, EOFError, NotImplementedError, RecursionError) as error:
        raise _damaged(path, str(error)) from error
    except zipfile.BadZipFile as error:
        raise _damaged(path, str(error)) from error


def _require_manifest(path: Path, manifest: Mapping[str, Any]) -> None:
    """What every reader takes from it is there."""
    entries, aliases = manifest.get("entries"), manifest.get("aliases")
    one: Any = entries[0] if isinstance(entries, list) and len(entries) == 1 else None
    if not isinstance(one, dict) or not isinstance(one.get("variants"), list):
        raise _damaged(path, "the manifest does not describe one entry")
    if not isinstance(aliases, dict) or not all(isinstance(a, list) for a in aliases.values()):
        raise _damaged(path, "the manifest's `aliases` are no names")


def _data_start(path: Path, info: zipfile.ZipInfo) -> int:
    """Where the bytes of a stored entry lie in the file."""
    with path.open("rb") as stream:
        stream.seek(info.header_offset)
        head = stream.read(_LOCAL_HEADER.size)
    if len(head) < _LOCAL_HEADER.size or head[:4] != b"PK\x03\x04":
        raise _damaged(path, f"`{info.filename}` is not where the directory says")
    _, name_length, extra_length = _LOCAL_HEADER.unpack(head)
    start = info.header_offset + _LOCAL_HEADER.size + name_length + extra_length
    if start + info.file_size > path.stat().st_size:
        raise _damaged(path, f"`{info.filename}` ends beyond the file")
    return start


def _mapped_tensors(path: Path, start: int, size: int) -> dict[str, torch.Tensor]:
    """The tensors of the weights entry, read from the file when they are used."""
    try:
        stored = read_safetensors(path, start, size, writable=True)
    except CompileError as error:
        raise _damaged(path, error.diagnostic.message) from error
    return {
        name: torch.from_numpy(item.array.reshape(-1).view(np.uint8))
        .view(getattr(torch, item.dtype.long_name))
        .reshape(item.array.shape)
        for name, item in stored.items()
    }


def _require_entries(path: Path, archive: zipfile.ZipFile) -> None:
    infos = archive.infolist()
    if sorted(info.filename for info in infos) != sorted((TEXT, MANIFEST, WEIGHTS)):
        raise _damaged(path, "it does not hold exactly the three known entries")
    size = path.stat().st_size
    limits = {MANIFEST: MAX_MANIFEST, TEXT: MAX_TEXT}
    for info in infos:
        if info.compress_type != zipfile.ZIP_STORED or info.flag_bits & 1:
            raise _damaged(path, f"`{info.filename}` is compressed or encrypted")
        if info.file_size > size or info.file_size != info.compress_size:
            raise _damaged(path, f"`{info.filename}` is larger than the file")
        if info.file_size > limits.get(info.filename, size):
            raise _damaged(path, f"`{info.filename}` has {info.file_size} bytes, too many")


def _damaged(path: Path, reason: str) -> CompileError:
    return CompileError("PTC-E010", f"`{path}` is not a readable .ptir file: {reason}")
