"""A library for another processor, run in an emulator as if it were loaded here.

A small program (ptc_remote.cpp), built for the library's platform, opens it and does what is asked
through pipes; `EmulatedSession` looks like a session of `ptc.hosting`, so that a library is called
and compared the same way wherever it runs. Must not know what is compared.
"""

from __future__ import annotations

import ctypes
import shutil
import struct
import subprocess
import threading
import weakref
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any, BinaryIO, cast

from ptc.codegen.programs import build_program
from ptc.codegen.target import Target
from ptc.codegen.toolchain import RUNTIME_DIR
from ptc.hosting import LoadedArtifact
from ptc.hosting.abi import DLDataType, DLDevice, DLTensor, Status
from ptc.hosting.effects import CHANNELS, Emit, emit_here, exception_of
from ptc.hosting.library import WithSessions, status_error
from ptc.hosting.manifest import Manifest
from ptc.support.diagnostics import CompileError

#: Emulators of user programs, by processor, and where Debian puts the C library for it.
_EMULATORS: Mapping[str, tuple[tuple[str, ...], str]] = {
    "aarch64": (("qemu-aarch64", "qemu-aarch64-static"), "/usr/aarch64-linux-gnu"),
}
_LIST = 3  # DLDataType code of handles


def emulator(target: Target) -> tuple[str, ...] | str:
    """The command that runs programs for `target` here, or why there is none."""
    platform = target.platform
    names, root = _EMULATORS.get(platform.machine, ((), ""))
    if platform.system != "linux" or not platform.triple.endswith("-gnu") or not names:
        return f"nothing here runs programs for {platform.triple}"
    found = next((path for name in names if (path := shutil.which(name))), None)
    if found is None:
        return f"{names[0]} (package qemu-user) is not installed"
    if not Path(root).is_dir():
        return f"{root} (package libc6-arm64-cross), where {names[0]} finds libraries, is missing"
    return (found, "-L", root)


def load_emulated(
    library: Path, manifest: Manifest, symbol: str, target: Target, command: tuple[str, ...]
) -> LoadedArtifact:
    """The library as `ptc.load` gives it. `command` is what `emulator` found."""
    program = build_program(RUNTIME_DIR / "ptc_remote.cpp", target)
    arguments = (*command, str(program), str(library), f"{symbol}_ptc_api")
    model = EmulatedModel(EmulatedLibrary(library, manifest), arguments)
    # It opens sessions, and nothing else is asked of it.
    return LoadedArtifact(cast(WithSessions, model), library, manifest)


@dataclass(frozen=True, slots=True)
class EmulatedLibrary:
    path: Path
    manifest: Manifest


@dataclass(frozen=True, slots=True)
class EmulatedModel:
    """What opens sessions. Each is a process with a model of its own."""

    library: EmulatedLibrary
    command: tuple[str, ...]

    def new_session(self) -> EmulatedSession:
        return EmulatedSession(self)


class EmulatedSession:
    """A session in another process, with the interface of `hosting.library.Session`."""

    def __init__(self, model: EmulatedModel) -> None:
        self.model = model
        self.lock = threading.Lock()
        self.emit: Emit = emit_here
        self.raised: BaseException | None = None
        self._variant = 0
        self._alive: list[Any] = []  # memory of results, until the next run
        names = [entry.name for entry in model.library.manifest.entries]
        self.api = SimpleNamespace(entry_index=lambda name: names.index(name.decode()))
        self._process = subprocess.Popen(
            model.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        assert self._process.stdin is not None and self._process.stdout is not None
        self._to: BinaryIO = self._process.stdin  # pyright: ignore[reportAttributeAccessIssue]
        self._from: BinaryIO = self._process.stdout  # pyright: ignore[reportAttributeAccessIssue]
        self._end = weakref.finalize(self, _end, self._process)

    def listen(self) -> None:
        """Texts always come to `emit`."""

    def reset(self) -> None:
        self._send(b"Z")
        self._status()

    def seed(self, seed: int) -> None:
        self._send(b"S" + struct.pack("<Q", seed % 2**64))
        self._status()

    def variant(self) -> int:
        return self._variant

    def peak_memory(self) -> int:
        return 0

    def release(self, output: DLTensor) -> None:
        """Results are freed by the next run."""

    def run(
        self, entry: int, inputs: Any, input_count: int, outputs: Any, output_count: int
    ) -> None:
        """As `Session.run`."""
        given = [inputs[i].contents for i in range(input_count)]
        wanted = [outputs[i].contents for i in range(output_count)]
        parts = [b"R", struct.pack("<II", entry, input_count)]
        for tensor in given:
            parts += [_head(tensor), ctypes.string_at(tensor.data, _bytes(tensor))]
        parts.append(struct.pack("<I", output_count))
        for tensor in wanted:
            parts += [bytes([bool(tensor.data)]), _head(tensor)]
        self._alive.clear()
        self.raised = None
        self._send(b"".join(parts))
        failure = self._reply()
        for tensor in given:
            ctypes.memmove(tensor.data, self._take(_bytes(tensor)), _bytes(tensor))
        for tensor in wanted:
            if self._take(1) != b"\0":
                self._fill(tensor, has_memory=bool(tensor.data))
        if isinstance(failure, CompileError):
            raise failure
        if failure is not None:
            self.raised = failure
            raise failure

    def _fill(self, tensor: DLTensor, *, has_memory: bool) -> None:
        code, bits, rank = struct.unpack("<BBI", self._take(6))
        shape = struct.unpack(f"<{rank}q", self._take(8 * rank))
        dims = (ctypes.c_int64 * max(1, rank))(*shape)
        self._alive.append(dims)
        tensor.dtype = DLDataType(code, bits, 1)
        tensor.ndim = rank
        tensor.shape = ctypes.cast(dims, ctypes.POINTER(ctypes.c_int64))
        if code == _LIST:
            items = [DLTensor(device=DLDevice(1, 0)) for _ in range(shape[0])]
            for item in items:
                self._fill(item, has_memory=False)
            table = (ctypes.POINTER(DLTensor) * max(1, len(items)))()
            for i, item in enumerate(items):
                table[i] = ctypes.pointer(item)
            self._alive += [items, table]
            tensor.data = ctypes.addressof(table)
            return
        content = self._take(_bytes(tensor))
        if not has_memory:
            memory = ctypes.create_string_buffer(max(1, len(content)))
            self._alive.append(memory)
            tensor.data = ctypes.addressof(memory)
        ctypes.memmove(tensor.data, content, len(content))

    def _status(self) -> None:
        failure = self._reply()
        if failure is not None:
            raise failure

    def _reply(self) -> BaseException | None:
        """Texts on the way to the end of a request, and how that failed."""
        while (kind := self._take(1)) == b"E":
            (channel,) = struct.unpack("<i", self._take(4))
            label, text = self._text(), self._text()
            self.emit(CHANNELS[channel], label, text)
        if kind != b"D":
            raise CompileError("PTC-R023", "the emulated library gives no sense")
        (status,) = struct.unpack("<i", self._take(4))
        message, name = self._text(), self._text()
        (self._variant,) = struct.unpack("<i", self._take(4))
        if status == Status.RAISED:
            return exception_of(name, message[len(name) + 2 :])
        return status_error(status, message) if status else None

    def _text(self) -> str:
        (length,) = struct.unpack("<Q", self._take(8))
        return self._take(length).decode("utf-8", "surrogatepass")

    def _send(self, data: bytes) -> None:
        try:
            self._to.write(data)
            self._to.flush()
        except BrokenPipeError:
            raise self._ended() from None

    def _take(self, size: int) -> bytes:
        data = self._from.read(size)
        if len(data) < size:
            raise self._ended()
        return data

    def _ended(self) -> CompileError:
        """What the program said before it ended."""
        self._process.wait(timeout=60)
        assert self._process.stderr is not None
        text = self._process.stderr.read().decode(errors="replace").strip()
        return CompileError(
            "PTC-R008",
            f"the emulated library ended with status {self._process.returncode}: {text[-500:]}",
        )


def _head(tensor: DLTensor) -> bytes:
    shape = [tensor.shape[i] for i in range(tensor.ndim)]
    kind = struct.pack("<BBI", tensor.dtype.code, tensor.dtype.bits, tensor.ndim)
    return kind + struct.pack(f"<{len(shape)}q", *shape)


def _bytes(tensor: DLTensor) -> int:
    size = tensor.dtype.bits // 8
    for i in range(tensor.ndim):
        size *= tensor.shape[i]
    return size


def _end(process: subprocess.Popen[bytes]) -> None:
    """Without requests the program ends by itself."""
    for stream in (process.stdin, process.stdout, process.stderr):
        if stream is not None:
            stream.close()
    process.wait()
