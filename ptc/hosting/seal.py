"""The seal of a library: a digest behind its last byte, so that damage is found before it runs.

A damaged instruction or relocation kills the process that loads it, or gives wrong numbers. The
seal covers the whole file but the weights, which have hashes of their own (a large model's are
compared on demand only): in the manifest, and in the head of the prepared ones. Tools that rewrite
libraries (`strip`) drop what follows the last section, so a library without a seal is not refused.
"""

from __future__ import annotations

import hashlib
import mmap
from collections.abc import Iterator
from pathlib import Path

from ptc.hosting.elf import SharedLibrary, inspect_library
from ptc.support.diagnostics import CompileError

WEIGHTS_SECTION = ".ptc_weights"
#: What the library computes from its weights, stored by the builder: see ptc_host_prepared.h.
PREPARED_SECTION = ".ptc_prepared"
#: Bytes of its head, which ends with the SHA-256 of what follows.
PREPARED_HEAD = 64
DIGEST_OFFSET = 32
_MARK = b"ptc seal sha256\n"
_DIGEST_BYTES = 32


def seal(path: Path) -> None:
    """Append the seal to the finished library at `path`, in place."""
    library = inspect_library(path, any_machine=True)
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
    """SHA-256 of the first `size` bytes without the content of the weights' sections."""
    digest = hashlib.sha256()
    with (
        library.path.open("rb") as stream,
        mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as data,
        memoryview(data) as view,
    ):
        at = 0
        for start, end in sorted(_left_out(library)):
            digest.update(view[at : max(at, start)])
            at = max(at, end)
        digest.update(view[at:size])
    return digest.digest()


def _left_out(library: SharedLibrary) -> Iterator[tuple[int, int]]:
    """Byte ranges that the seal does not cover."""
    for name, head in ((WEIGHTS_SECTION, 0), (PREPARED_SECTION, PREPARED_HEAD)):
        section = library.section(name)
        if section is not None and section.size > head:
            yield section.offset + head, section.offset + section.size


def hash_range(path: Path, offset: int, size: int) -> str:
    """SHA-256 of `size` bytes of a file, read in pieces."""
    digest = hashlib.sha256()
    with path.open("rb") as stream:
        stream.seek(offset)
        while size > 0 and (piece := stream.read(min(size, 1 << 20))):
            digest.update(piece)
            size -= len(piece)
    return digest.hexdigest()
