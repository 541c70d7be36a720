"""The file of a hosted package: a zip with a manifest that names every file and its hash.

Owns writing, checking and unpacking. A package is hostile until it has been checked; what it says
of itself is never trusted further than that. Must not import torch, and runs nothing of a package.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import zipfile
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from ptc.support.diagnostics import CompileError
from ptc.support.dumps import write_atomically

MANIFEST = "package.json"
KIND = "hosted"
FORMAT = 1
SUFFIX = ".ptc.zip"
#: Of the manifest, and of everything.
_MANIFEST_LIMIT = 16 << 20
_FILES_LIMIT = 100_000
_CHUNK = 1 << 20


@dataclass(frozen=True, slots=True)
class Package:
    """A package whose manifest has been read. `files` -> (size, sha256) by path in the package."""

    path: Path
    manifest: Mapping[str, Any]
    files: Mapping[str, tuple[int, str]]


def is_package(path: Path) -> bool:
    """Whether `path` looks like a package rather than a library."""
    with suppress(OSError), path.open("rb") as stream:
        return path.name.endswith(SUFFIX) or stream.read(4) == b"PK\x03\x04"
    return False


def write_package(path: Path, manifest: Mapping[str, Any], files: Mapping[str, Path]) -> int:
    """Write `files` (path in the package -> file) and the manifest. Gives the package's size."""
    table = {name: [file.stat().st_size, _digest(file)] for name, file in files.items()}
    text = json.dumps({**manifest, "kind": KIND, "format": FORMAT, "files": table}, indent=1)

    def write(stream: Any) -> None:
        with zipfile.ZipFile(stream, "w", zipfile.ZIP_STORED) as archive:
            archive.writestr(MANIFEST, text)
            for name, file in files.items():
                archive.write(file, name)

    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, write)
    except OSError as error:
        raise CompileError(
            "PTC-R030",
            f"cannot write {path}: {error.strerror or error}",
            hint="choose another place with `--output`",
        ) from None
    return path.stat().st_size


def _digest(file: Path) -> str:
    digest = hashlib.sha256()
    with file.open("rb") as stream:
        while chunk := stream.read(_CHUNK):
            digest.update(chunk)
    return digest.hexdigest()


def read_package(path: Path) -> Package:
    """The manifest of the package at `path`. Raises CompileError PTC-R001, PTC-R040."""
    try:
        with zipfile.ZipFile(path) as archive:
            info = archive.getinfo(MANIFEST)
            if info.file_size > _MANIFEST_LIMIT:
                raise _damaged(path, "its manifest is too large")
            manifest = json.loads(archive.read(info))
    except OSError as error:
        raise CompileError("PTC-R001", f"cannot open {path}: {error.strerror or error}") from None
    except KeyError:
        raise _damaged(path, f"it has no {MANIFEST}") from None
    except (zipfile.BadZipFile, ValueError, EOFError, NotImplementedError, RuntimeError,
            RecursionError) as error:  # fmt: skip
        raise _damaged(path, str(error)) from None
    if not isinstance(manifest, dict) or manifest.get("kind") != KIND:
        raise _damaged(path, "its manifest is not one of a hosted package")
    if manifest.get("format") != FORMAT:
        raise CompileError(
            "PTC-R040",
            f"{path} has format {manifest.get('format')!r}, this ptc reads format {FORMAT}",
            hint="make the package again with this version of ptc",
        )
    files = manifest.get("files")
    if not isinstance(files, dict) or len(files) > _FILES_LIMIT:
        raise _damaged(path, "its manifest lists no files")
    table: dict[str, tuple[int, str]] = {}
    for name, entry in files.items():
        match entry:
            case [int(size), str(digest)] if size >= 0 and _is_inside(name):
                table[name] = (size, digest)
            case _:
                raise _damaged(path, f"its manifest has a bad entry for {name[:80]!r}")
    return Package(path, manifest, table)


def _is_inside(name: str) -> bool:
    """A plain relative path that stays in the folder it is unpacked in."""
    parts = PurePosixPath(name).parts
    plain = all(part not in ("..", ".") and "\\" not in part and "\0" not in part for part in parts)
    return bool(parts) and plain and not name.startswith("/") and ":" not in name


def unpack(package: Package, folder: Path) -> None:
    """Write the package's files below `folder`, each compared with its hash while it is written.
    Files that the manifest does not list are ignored. Raises CompileError PTC-R040."""
    path = package.path
    try:
        with zipfile.ZipFile(path) as archive:
            for name, (size, expected) in package.files.items():
                info = archive.getinfo(name)
                if info.file_size != size or info.is_dir() or (info.external_attr >> 28) == 0xA:
                    raise _damaged(path, f"{name} is not the file that its manifest lists")
                target = folder / name
                target.parent.mkdir(parents=True, exist_ok=True)
                if _copy(archive, info, target, size) != expected:
                    raise _damaged(path, f"{name} has another hash than its manifest says")
    except KeyError as error:
        raise _damaged(path, f"a file is missing: {error.args[0]}") from None
    except (zipfile.BadZipFile, ValueError, EOFError, NotImplementedError, RuntimeError) as error:
        raise _damaged(path, str(error)) from None
    except OSError as error:
        raise CompileError("PTC-R040", f"cannot unpack {path}: {error.strerror or error}") from None


def _copy(archive: zipfile.ZipFile, info: zipfile.ZipInfo, target: Path, size: int) -> str:
    """Copy at most `size` bytes; gives their hash."""
    digest = hashlib.sha256()
    with archive.open(info) as source, target.open("wb") as stream:
        left = size
        while left and (chunk := source.read(min(left, _CHUNK))):
            digest.update(chunk)
            stream.write(chunk)
            left -= len(chunk)
    return digest.hexdigest()


def remove(folder: Path) -> None:
    """Remove an unpacked package."""
    shutil.rmtree(folder, ignore_errors=True)


def _damaged(path: Path, what: str) -> CompileError:
    return CompileError(
        "PTC-R040",
        f"{path} is not a complete hosted package: {what}",
        hint="copy it again, or make it again with `ptc compile --hosted`",
    )
