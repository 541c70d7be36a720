"""Looking into a shared library before the system's loader does.

`dlopen` maps what a file's headers promise and dies of SIGBUS or SIGSEGV where the file is shorter
or damaged. Here every promise is checked first. Little-endian ELF64 only, which is what every
target of ptc uses.
"""

from __future__ import annotations

import mmap
import platform
import stat
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ptc.support.diagnostics import CompileError

#: e_machine values of the ELF specification, with `platform.machine()` names.
MACHINES = {62: "x86_64", 183: "aarch64", 243: "riscv64"}

_HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
_SECTION = struct.Struct("<IIQQQQIIQQ")
_SEGMENT = struct.Struct("<IIQQQQQQ")
_SYMBOL = struct.Struct("<IBBHQQ")
_SHARED_OBJECT = 3
_NO_DATA = 8  # SHT_NOBITS: a section like .bss that takes no room in the file
_DYNAMIC_SYMBOLS = 11


@dataclass(frozen=True, slots=True)
class Section:
    """Where a section lies in the file. `link` and `entry_size` as in the ELF section header."""

    name: str
    kind: int
    offset: int
    size: int
    link: int
    entry_size: int


@dataclass(frozen=True, slots=True)
class SharedLibrary:
    """What a checked library says of itself."""

    path: Path
    machine: str
    sections: tuple[Section, ...]
    symbols: tuple[str, ...]

    def section(self, name: str) -> Section | None:
        return next((s for s in self.sections if s.name == name), None)


def inspect_library(path: Path, *, any_machine: bool = False) -> SharedLibrary:
    """Check that `path` is a complete shared library, for this machine or with `any_machine` any.

    Raises CompileError PTC-R001 (not readable), PTC-R002 (not a library, truncated or damaged),
    PTC-R005 (made for another processor).
    """
    try:
        if stat.S_ISFIFO(path.stat().st_mode):  # opening one waits for a writer
            raise CompileError("PTC-R001", f"{path} is a pipe, expected a library (.so)")
        with (
            path.open("rb") as stream,
            mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as data,
        ):
            library = _Reader(path, data).library()
    except FileNotFoundError:
        raise CompileError("PTC-R001", f"there is no file {path}") from None
    except IsADirectoryError:
        raise CompileError("PTC-R001", f"{path} is a folder, expected a library (.so)") from None
    except ValueError:  # mmap refuses an empty file
        raise _damaged(path, "the file is empty") from None
    except OSError as error:
        raise CompileError("PTC-R001", f"cannot read {path}: {error.strerror}") from None
    if library.machine != platform.machine() and not any_machine:
        raise CompileError(
            "PTC-R005",
            f"{path} was made for {library.machine}, this machine is {platform.machine()}",
            hint="compile the model again here, or with `--target` for this machine",
        )
    return library


class _Reader:
    """One pass over the headers; every offset is compared with the file's length before use."""

    def __init__(self, path: Path, data: mmap.mmap) -> None:
        self.path = path
        self.data = data

    def library(self) -> SharedLibrary:
        if len(self.data) < _HEADER.size or self.data[:4] != b"\x7fELF":
            raise _damaged(self.path, "it does not start like a shared library (ELF)")
        header = _HEADER.unpack_from(self.data)
        ident, kind, machine = header[0], header[1], header[2]
        if ident[4] != 2 or ident[5] != 1 or kind != _SHARED_OBJECT:
            raise _damaged(self.path, "it is not a 64-bit little-endian shared library")
        segment_table, section_table = header[5], header[6]
        segment_size, segment_count, section_size, section_count, names_index = header[9:14]
        if segment_size != _SEGMENT.size or section_size != _SECTION.size:
            raise _damaged(self.path, "its header tables have entries of unknown size")
        self.check_segments(segment_table, segment_count)
        sections = self.sections(section_table, section_count, names_index)
        return SharedLibrary(
            self.path,
            MACHINES.get(machine, f"machine {machine}"),
            sections,
            tuple(self.symbols(sections)),
        )

    def require(self, offset: int, size: int, what: str) -> None:
        end = offset + size
        if end > len(self.data):
            raise _damaged(
                self.path, f"{what} ends at byte {end}, but the file has {len(self.data)} bytes"
            )

    def check_segments(self, table: int, count: int) -> None:
        self.require(table, count * _SEGMENT.size, "the table of segments")
        for i in range(count):
            _, _, offset, _, _, size, _, _ = _SEGMENT.unpack_from(
                self.data, table + i * _SEGMENT.size
            )
            self.require(offset, size, f"segment {i}")

    def sections(self, table: int, count: int, names_index: int) -> tuple[Section, ...]:
        # The linker writes this table last, so a truncated file fails here whatever it lost.
        self.require(table, count * _SECTION.size, "the table of sections")
        raw = [_SECTION.unpack_from(self.data, table + i * _SECTION.size) for i in range(count)]
        if not 0 < names_index < count:
            raise _damaged(self.path, "it has no table of sections")
        for number, (_, kind, _, _, offset, size, *_) in enumerate(raw):
            if kind != _NO_DATA:
                self.require(offset, size, f"section {number}")
        names = raw[names_index]
        return tuple(
            Section(self.text(names[4], names[5], name), kind, offset, size, link, entry)
            for name, kind, _, _, offset, size, link, _, _, entry in raw
        )

    def symbols(self, sections: tuple[Section, ...]) -> Iterator[str]:
        """Names that the library defines for others."""
        for section in sections:
            if section.kind != _DYNAMIC_SYMBOLS or section.entry_size != _SYMBOL.size:
                continue
            if section.link >= len(sections):
                raise _damaged(self.path, "its symbols have no table of names")
            names = sections[section.link]
            for i in range(section.size // _SYMBOL.size):
                name, _, _, defined_in, _, _ = _SYMBOL.unpack_from(
                    self.data, section.offset + i * _SYMBOL.size
                )
                if defined_in:
                    yield self.text(names.offset, names.size, name)

    def text(self, offset: int, size: int, at: int) -> str:
        """The zero-terminated name at `at` in a string table."""
        end = self.data.find(b"\0", offset + at, offset + size)
        if at >= size or end < 0:
            raise _damaged(self.path, "a name lies outside its table")
        return self.data[offset + at : end].decode("utf-8", "replace")


def _damaged(path: Path, reason: str) -> CompileError:
    return CompileError(
        "PTC-R002",
        f"{path} is not a complete library: {reason}",
        hint="copy the file again, or compile the model again",
    )
