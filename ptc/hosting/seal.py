"""The seal of a library: a digest behind its last byte, so that damage is found before it runs.

A damaged instruction or relocation kills the process that loads it, or gives wrong numbers. The
seal covers the whole file but the weights, which have a hash of their own (a large model's are
compared on demand only). Tools that rewrite libraries (`strip`) drop what follows the last section,
so a library without a seal is not refused.
"""

from __future__ import annotations

import hashlib
import mmap
from pathlib import Path

from ptc.hosting.elf import SharedLibrary, inspect_library
from ptc.support.diagnostics import CompileError

WEIGHTS_SECTION = ".ptc_weights"
_MARK = b"ptc seal sha256\n"
_DIGEST_BYTES = 32


def seal(path: Path) -> None:
    """Append the seal to the finished library at `path`, in place."""
    library = inspect_library(path)
    digest = _digest(library, path.stat().st_size)
    with path.open("ab") as stream:
        stream.write(digest + _MARK)


def require_intact(library: SharedLibrary) -> None:
    """Raises CompileError PTC-R002 if the library has a seal that its bytes do not match."""
    size = library.path.stat().st_size - _DIGEST_BYTES - len(_MARK)
    if size < 0:
        return
    with library.path.open("rb") as stream:
        stream.seek(size)
        sealed, mark = stream.read(_DIGEST_BYTES), stream.read()
    if mark == _MARK and sealed != _digest(library, size):
        raise CompileError(
            "PTC-R002",
            f"{library.path} is damaged: its bytes are not those that were written",
            hint="copy the file again, or compile the model again",
        )


def _digest(library: SharedLibrary, size: int) -> bytes:
    """SHA-256 of the first `size` bytes without the content of the weights' section."""
    weights = library.section(WEIGHTS_SECTION)
    digest = hashlib.sha256()
    with (
        library.path.open("rb") as stream,
        mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as data,
        memoryview(data) as view,
    ):
        if weights is None:
            digest.update(view[:size])
        else:
            digest.update(view[: weights.offset])
            digest.update(view[weights.offset + weights.size : size])
    return digest.digest()
