"""Sections added to a finished library: data that tools keep and that are mapped, never loaded.

The file grows at its end: contents first, each from a page's start on, then a new table of names
and a new table of sections. Nothing is held in memory, so that contents may be larger than it
(`objcopy` reads whole files). Little-endian ELF64, as `ptc.hosting.elf`. Must not know what the
contents mean.
"""

from __future__ import annotations

import os
import shutil
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

#: A multiple of the page size of every target, so that a section can be mapped by itself.
PAGE = 4096
_SECTION = struct.Struct("<IIQQQQIIQQ")
_TABLE_OFFSET = struct.Struct("<Q")  # e_shoff, at byte 40 of the ELF header
_TABLE_COUNTS = struct.Struct("<HHH")  # e_shentsize, e_shnum, e_shstrndx, at byte 58
_PROGRAM_DATA = 1  # SHT_PROGBITS; without SHF_ALLOC it takes no memory


@dataclass(frozen=True, slots=True)
class Placed:
    """Content that lies in the file already: the section that shall name it, where, how long."""

    name: str
    offset: int
    size: int


def append_content(library: Path, name: str, content: Path) -> Placed:
    """Copy `content` to the end of `library`, for section `name`."""
    with library.open("r+b") as stream, content.open("rb") as source:
        offset = align_end(stream, PAGE)
        _copy(source, stream)
        return Placed(name, offset, stream.seek(0, os.SEEK_END) - offset)


def align_end(stream: BinaryIO, alignment: int) -> int:
    """Go to the end of the file, filled up with zeros to a multiple of `alignment`."""
    end = stream.seek(0, os.SEEK_END)
    stream.write(bytes(-end % alignment))
    return stream.tell()


def _copy(source: BinaryIO, target: BinaryIO) -> None:
    """Within the kernel where the file system can, which may share blocks in place of copying."""
    target.flush()
    try:
        while os.copy_file_range(source.fileno(), target.fileno(), 1 << 30):
            pass
    except OSError:  # another file system, or a kernel that cannot; a full disk fails again below
        source.seek(os.lseek(source.fileno(), 0, os.SEEK_CUR))
        target.seek(0, os.SEEK_END)
        shutil.copyfileobj(source, target, 1 << 20)


def add_sections(library: Path, placed: Sequence[Placed]) -> None:
    """Name what was appended: new tables of names and sections, and a header that refers to
    them."""
    with library.open("r+b") as stream:
        stream.seek(40)
        (table,) = _TABLE_OFFSET.unpack(stream.read(_TABLE_OFFSET.size))
        stream.seek(58)
        entry, count, names_index = _TABLE_COUNTS.unpack(stream.read(_TABLE_COUNTS.size))
        stream.seek(table)
        headers = [_SECTION.unpack(stream.read(_SECTION.size)) for _ in range(count)]
        stream.seek(headers[names_index][4])
        names = stream.read(headers[names_index][5])
        for item in placed:
            headers.append((len(names), _PROGRAM_DATA, 0, 0, item.offset, item.size, 0, 0, PAGE, 0))
            names += item.name.encode() + b"\0"
        place = align_end(stream, 8)
        stream.write(names)
        old = headers[names_index]
        headers[names_index] = (*old[:4], place, len(names), *old[6:])
        table = align_end(stream, 8)
        stream.write(b"".join(_SECTION.pack(*header) for header in headers))
        stream.seek(40)
        stream.write(_TABLE_OFFSET.pack(table))
        stream.seek(58)
        stream.write(_TABLE_COUNTS.pack(entry, len(headers), names_index))
