"""Builds test libraries against ptc/runtime and gives arrays that show a kernel's overruns.

`build` compiles C++ text with the product's flags and all warnings as errors, once per text and
target. `Guarded` memory ends (or begins) at an inaccessible page, so that a read or write one byte
beyond dies at once.
"""

from __future__ import annotations

import ctypes
import hashlib
import mmap
import platform
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

RUNTIME = Path(__file__).resolve().parents[2] / "ptc" / "runtime"
FLAGS = [
    *("-std=c++17", "-O2", "-ffp-contract=fast", "-fno-math-errno", "-fno-trapping-math"),
    *("-fno-exceptions", "-fno-rtti", "-fno-strict-aliasing", "-fwrapv"),
    *("-Wall", "-Wextra", "-Werror", "-fPIC", "-shared"),
]

Array = NDArray[Any]


def cpu_flags() -> set[str]:
    """The feature names of this machine's processor, empty where unknown."""
    try:
        text = Path("/proc/cpuinfo").read_text()
    except OSError:
        return set()
    for line in text.splitlines():
        if line.startswith(("flags", "Features")):
            return set(line.split(":", 1)[1].split())
    return set()


def targets() -> list[str]:
    """Values of -march that this machine can run, from the narrowest vectors to its own."""
    if platform.machine() not in ("x86_64", "AMD64"):
        return ["native"]
    wide = ["x86-64-v3"] if "avx2" in cpu_flags() else []
    return ["x86-64", *wide, "native"]


def text(name: str) -> str:
    """The C++ text of a file beside this one."""
    return (Path(__file__).parent / name).read_text()


def build(source: str, march: str, folder: Path, extra: tuple[str, ...] = ()) -> ctypes.CDLL:
    """The library of `source` for `march`; compiled the first time it is asked for."""
    key = hashlib.sha256("\0".join([source, march, *extra]).encode()).hexdigest()[:16]
    text, library = folder / f"{key}.cpp", folder / f"{key}.so"
    if not library.exists():
        text.write_text(source)
        command = ["g++", *FLAGS, f"-march={march}", f"-I{RUNTIME}", *extra, str(text)]
        result = subprocess.run(
            [*command, "-o", str(library), "-lm", "-pthread"], capture_output=True, text=True
        )
        assert result.returncode == 0, result.stderr
    return ctypes.CDLL(str(library))


class Guarded:
    """Memory for `count` elements between two pages that fault when touched.

    At the end (default) the byte after the last element is out of bounds; at the start the byte
    before the first one is. Floats are poisoned with NaN, integers with 0x7b.
    """

    def __init__(self, count: int, dtype: DTypeLike = np.float32, *, at_end: bool = True) -> None:
        item = np.dtype(dtype)
        size = max(1, count) * item.itemsize
        page = mmap.PAGESIZE
        body = -(-size // page) * page
        self._map = mmap.mmap(-1, body + 2 * page)
        libc = ctypes.CDLL(None, use_errno=True)
        base = ctypes.addressof(ctypes.c_char.from_buffer(self._map))
        for at in (base, base + page + body):
            assert libc.mprotect(ctypes.c_void_p(at), ctypes.c_size_t(page), 0) == 0
        start = page + (body - size if at_end else 0)
        self.array: Array = np.frombuffer(self._map, dtype=item, count=count, offset=start)
        if item.kind == "f":
            self.array[:] = np.nan
        else:
            self.array.view(np.uint8)[:] = 0x7B
        self.pointer = ctypes.c_void_p(base + start)

    @classmethod
    def of(cls, values: Array, *, at_end: bool = True) -> Guarded:
        """A guarded copy of `values`, flat."""
        flat = np.ascontiguousarray(values).reshape(-1)
        guarded = cls(flat.size, flat.dtype, at_end=at_end)
        guarded.array[:] = flat
        return guarded


class Aligned:
    """Scratch of `size` bytes on a 64-byte boundary between bands that must stay untouched.

    It is poisoned with NaN.
    """

    BAND = 256

    def __init__(self, size: int) -> None:
        room = max(0, size)
        self._raw = np.full(room + 2 * self.BAND + 64, 0xA5, np.uint8)
        self._start = self.BAND + (-(self._raw.ctypes.data + self.BAND)) % 64
        self._size = room
        self.array = self._raw[self._start : self._start + room // 4 * 4].view(np.float32)
        self.array[:] = np.nan
        self.pointer = ctypes.c_void_p(self._raw.ctypes.data + self._start)

    def check(self) -> None:
        """Fail if a byte outside was written."""
        before = self._raw[self._start - self.BAND : self._start]
        after = self._raw[self._start + self._size : self._start + self._size + self.BAND - 64]
        assert (before == 0xA5).all() and (after == 0xA5).all(), "scratch was overrun"


def long(value: int) -> ctypes.c_long:
    return ctypes.c_long(value)


def relative_error(got: Array, want: Array) -> float:
    """Largest difference over the largest reference value; inf where NaN should not be."""
    if got.size == 0:
        return 0.0
    difference = np.abs(got.astype(np.float64) - want.astype(np.float64))
    if np.isnan(difference).any():
        return float("inf")
    return float(difference.max() / max(np.abs(want).max(), 1e-30))
