"""Compiled objects and libraries kept between runs, by content.

A key is a digest of everything that determines the bytes. Entries appear atomically (several
processes may build at once), are touched when used, and the oldest are removed when the folder
grows over its bound. Each ends with a digest of its bytes, which ELF tools do not read: a damaged
library would kill the process that loads it. A cache that cannot be written is not an error:
building goes on without it.
"""

from __future__ import annotations

import hashlib
import os
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from ptc.support.dumps import write_atomically

#: Bytes kept in all; checked at most once in `_TRIM_SECONDS`, by whichever process comes first.
DEFAULT_LIMIT = 2 << 30
_TRIM_SECONDS = 600.0
_DIGEST_BYTES = hashlib.sha256().digest_size


def without_digest(data: bytes) -> bytes:
    """What an entry was stored as, of its bytes; others as they are."""
    content = data[:-_DIGEST_BYTES]
    return content if data[-_DIGEST_BYTES:] == hashlib.sha256(content).digest() else data


@dataclass(frozen=True, slots=True)
class ObjectCache:
    """Files under `folder`, named by digest."""

    folder: Path
    limit: int = DEFAULT_LIMIT

    def path(self, key: str, suffix: str) -> Path:
        """Where the entry lies or would lie."""
        return self.folder / key[:2] / f"{key[2:]}{suffix}"

    def find(self, key: str, suffix: str) -> Path | None:
        """The entry, marked as used, or None. A damaged one is removed."""
        path = self.path(key, suffix)
        try:
            data = path.read_bytes()
        except OSError:
            return None
        if data[-_DIGEST_BYTES:] != hashlib.sha256(data[:-_DIGEST_BYTES]).digest():
            with suppress(OSError):
                path.unlink()
            return None
        with suppress(OSError):
            os.utime(path)
        return path

    def store(self, key: str, suffix: str, data: bytes) -> Path | None:
        """Add an entry; None if the folder cannot be written."""
        path = self.path(key, suffix)
        try:
            write_atomically(path, data + hashlib.sha256(data).digest())
        except OSError:
            return None
        self._trim_sometimes()
        return path

    def _trim_sometimes(self) -> None:
        stamp = self.folder / "trimmed"
        try:
            age = time.time() - stamp.stat().st_mtime
        except OSError:
            age = _TRIM_SECONDS
        if age < _TRIM_SECONDS:
            return
        with suppress(OSError):
            stamp.touch()
            self.trim()

    def trim(self) -> int:
        """Remove the entries unused for longest until the bound holds. Returns bytes removed."""
        entries: list[tuple[float, int, Path]] = []
        for path in self.folder.glob("??/*"):
            with suppress(OSError):
                stat = path.stat()
                entries.append((stat.st_mtime, stat.st_size, path))
        excess = sum(size for _, size, _ in entries) - self.limit
        removed = 0
        for _, size, path in sorted(entries):
            if removed >= excess:
                break
            with suppress(OSError):
                path.unlink()
                removed += size
        return removed
