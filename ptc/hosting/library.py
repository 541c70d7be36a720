"""A library in this process: opened models and sessions as Python objects that free themselves."""

from __future__ import annotations

import ctypes
import threading
import weakref
from pathlib import Path
from typing import Any, Protocol

from ptc.hosting.abi import ABI_VERSION, EMIT, Api, DLTensor, OpenOptions, Status
from ptc.hosting.effects import CHANNELS, Emit, emit_here, exception_of
from ptc.hosting.elf import SharedLibrary, inspect_library
from ptc.hosting.manifest import Manifest, from_text
from ptc.hosting.seal import (
    DIGEST_OFFSET,
    PREPARED_HEAD,
    PREPARED_SECTION,
    WEIGHTS_SECTION,
    hash_range,
    require_intact,
)
from ptc.support.diagnostics import CompileError

#: How the one function that a library exports ends.
GETTER = "_ptc_api"
#: Weights up to this size are compared with their hash at every load (about a tenth of a second).
HASHED_AT_LOAD = 64 << 20


#: `ptc_status` -> (diagnostic code, what it means, hint).
_STATUS: dict[int, tuple[str, str, str]] = {
    Status.ARGUMENT: ("PTC-R010", "the library refused the arguments", ""),
    Status.SHAPE: ("PTC-R012", "an input has the wrong shape", ""),
    Status.DTYPE: ("PTC-R011", "an input has the wrong element type", ""),
    Status.LAYOUT: ("PTC-R013", "an input has the wrong memory layout", ""),
    Status.DEVICE: ("PTC-R013", "an input is on the wrong device", ""),
    Status.MEMORY: ("PTC-R021", "there is not enough memory", "free memory or use smaller inputs"),
    Status.CPU: (
        "PTC-R005",
        "this processor lacks instructions that the library uses",
        "compile the model on this machine, or with a lower `--target`",
    ),
    Status.IO: (
        "PTC-R007",
        "the weights cannot be read",
        "copy the library and its weights file again",
    ),
    Status.RUNTIME: ("PTC-R020", "a check inside the model failed", ""),
    Status.CANCELLED: ("PTC-R022", "the run was cancelled", ""),
    Status.RAISED: ("PTC-R020", "the model raised an exception", ""),
}


class Library:
    """A checked and loaded library. Never unloaded: sessions and callbacks may outlive any
    owner."""

    def __init__(self, path: Path) -> None:
        self.file = inspect_library(path)
        self.path = path.resolve()
        require_intact(self.file)
        symbol = next((s for s in self.file.symbols if s.endswith(GETTER)), None)
        if symbol is None:
            raise CompileError(
                "PTC-R003",
                f"{path} was not made by ptc: it has no function NAME{GETTER}",
                hint="compile the model with `ptc compile`",
            )
        try:
            self.handle = ctypes.CDLL(_loadable_name(self.path), mode=ctypes.RTLD_LOCAL)
        except OSError as error:
            raise CompileError("PTC-R008", f"the system cannot load {path}: {error}") from None
        get_api = getattr(self.handle, symbol)
        get_api.restype = ctypes.POINTER(Api)
        self.api: Any = get_api().contents
        if self.api.abi_version != ABI_VERSION or self.api.struct_size < ctypes.sizeof(Api):
            raise CompileError(
                "PTC-R004",
                f"{path} has interface version {self.api.abi_version}, "
                f"this ptc uses version {ABI_VERSION}",
                hint="compile the model again with this version of ptc",
            )
        text = (self.api.manifest() or b"").decode("utf-8", "replace")
        self.manifest: Manifest = from_text(text, f"the manifest in {path}")
        _compare_with_file(self.path, self.manifest)

    @property
    def weights_bytes(self) -> int:
        """Of the weights and of what was computed from them."""
        prepared = self.file.section(PREPARED_SECTION)
        return self.manifest.weights.bytes + (prepared.size if prepared else 0)

    def check_weights(self) -> None:
        """Compare the weights with their hashes. Raises CompileError PTC-R007."""
        self._check_prepared()
        expected = self.manifest.hashes.get("weights")
        if not expected:
            return
        weights = self.manifest.weights
        if weights.storage == "memory":  # constants of the library's, under its seal
            return
        if weights.storage == "file":
            path = self.path.parent / (weights.file or "")
            if not path.is_file():
                raise CompileError(
                    "PTC-R007",
                    f"the weights file {path} is missing",
                    hint=f"copy it to the folder of {self.path.name}",
                )
            actual = hash_range(path, 0, path.stat().st_size)
        else:
            actual = _hash_section(self.file, weights.bytes)
        self._require_same(actual, expected)

    def _check_prepared(self) -> None:
        section = self.file.section(PREPARED_SECTION)
        if section is None or section.size < PREPARED_HEAD:
            return
        with self.path.open("rb") as stream:
            stream.seek(section.offset + DIGEST_OFFSET)
            expected = stream.read(PREPARED_HEAD - DIGEST_OFFSET).hex()
        content = section.offset + PREPARED_HEAD, section.size - PREPARED_HEAD
        self._require_same(hash_range(self.path, *content), expected)

    def _require_same(self, actual: str, expected: str) -> None:
        if actual != expected:
            raise CompileError(
                "PTC-R007",
                f"the weights of {self.path} are damaged: their hash is {actual[:12]}…, "
                f"expected {expected[:12]}…",
                hint="copy the library again, or compile the model again",
            )


class Model:
    """An opened model: the weights in memory. Closed when nothing uses it any more."""

    def __init__(self, library: Library, threads: int, weights: Path | None = None) -> None:
        self.library = library
        options = OpenOptions(
            ctypes.sizeof(OpenOptions), threads, str(weights).encode() if weights else None, None
        )
        handle = ctypes.c_void_p()
        message = ctypes.create_string_buffer(1024)
        status = library.api.open(
            ctypes.byref(options), ctypes.byref(handle), message, len(message)
        )
        if status:
            raise status_error(status, message.value.decode("utf-8", "replace"))
        self.handle = handle
        self._close = weakref.finalize(self, library.api.close, handle)

    @property
    def api(self) -> Any:
        return self.library.api

    def new_session(self) -> Session:
        return Session(self)


class Opened(Protocol):
    """A model that sessions can be made of: its address, and the table of functions that takes
    it."""

    handle: ctypes.c_void_p

    @property
    def api(self) -> Any: ...


class WithSessions(Opened, Protocol):
    """A model that makes them itself."""

    def new_session(self) -> Session: ...


def update_weights(model: Opened, path: Path) -> None:
    """The tensors of a safetensors file in place of the weights. Raises CompileError PTC-R007 and
    leaves them as they are if the file does not fit."""
    message = ctypes.create_string_buffer(1024)
    status = model.api.update_weights(model.handle, str(path).encode(), message, len(message))
    if status:
        raise status_error(status, message.value.decode("utf-8", "replace"))


class Session:
    """Working memory for one run at a time; a lock lets threads take turns."""

    def __init__(self, model: Opened) -> None:
        self.model = model
        self.api = model.api
        self.lock = threading.Lock()
        handle = ctypes.c_void_p()
        status = self.api.session_new(model.handle, ctypes.byref(handle))
        if status:
            raise status_error(status, "")
        self.handle = handle
        self.emit: Emit = emit_here
        self.raised: BaseException | None = None  # by the model, in the last run
        self._texts: _Texts | None = None
        # The argument keeps the model open until this session is freed.
        self._free = weakref.finalize(self, _free_session, self.api, handle, model)

    def listen(self) -> None:
        """Have the library hand its texts to `emit`."""
        if self._texts is None:
            self._texts = _Texts(self)
            self.api.set_emit(self.handle, self._texts.function, None)

    def reset(self) -> None:
        """Give buffers and numbers that runs changed the values of a new session."""
        status = self.api.reset(self.handle)
        if status:
            raise status_error(status, "")

    def seed(self, seed: int) -> None:
        """Have what the model draws from torch's own generator go on as after a manual seed."""
        status = self.api.seed(self.handle, seed % 2**64)
        if status:
            raise status_error(status, "")

    def variant(self) -> int:
        """Which of an entry's variants the last result is."""
        return int(self.api.variant(self.handle))

    def run(
        self, entry: int, inputs: Any, input_count: int, outputs: Any, output_count: int
    ) -> None:
        """Run entry number `entry` on arrays of pointers (see `slots.pointers`). Raises
        CompileError of the code that fits the status, or what the model raises."""
        status = self.api.run(self.handle, entry, inputs, input_count, outputs, output_count)
        self.raised = None
        self.raise_listeners_failure()
        if status:
            message = (self.api.last_error(self.handle) or b"").decode("utf-8", "replace")
            if status == Status.RAISED:
                name = self.api.exception_type(self.handle).decode()
                self.raised = exception_of(name, message[len(name) + 2 :])
                raise self.raised
            raise status_error(status, message)

    def raise_listeners_failure(self) -> None:
        """Raise what the listener of the last run's texts raised, if it did."""
        if self._texts is not None:
            self._texts.raise_failure()

    def release(self, output: DLTensor) -> None:
        self.api.release(self.handle, ctypes.byref(output))

    def cancel(self) -> None:
        """End the run in progress, from another thread."""
        self.api.cancel(self.handle)

    def peak_memory(self) -> int:
        """Bytes of working memory used at most so far."""
        return int(self.api.peak_memory(self.handle))


class _Texts:
    """The function that a library calls with its texts. What a Python function raises there cannot
    pass through the library: the run is cancelled, and the exception raised after it."""

    def __init__(self, session: Session) -> None:
        self.failure: BaseException | None = None
        owner = weakref.ref(session)  # no cycle: the session is freed when its owner lets go

        def call(user: object, channel: int, label: bytes, text: Any, length: int) -> None:
            session = owner()
            if session is None or self.failure is not None:
                return
            content = ctypes.string_at(text, length).decode("utf-8", "replace")
            try:
                session.emit(CHANNELS[channel], (label or b"").decode(), content)
            except BaseException as error:
                self.failure = error
                session.cancel()

        self.function = EMIT(call)

    def raise_failure(self) -> None:
        failure, self.failure = self.failure, None
        if failure is not None:
            raise failure


#: Files that were loaded from each path, as (device, inode): a path may be built anew meanwhile.
_loaded: dict[Path, list[tuple[int, int]]] = {}
_loading = threading.Lock()


def _loadable_name(path: Path) -> str:
    """A name under which the dynamic loader opens the file that is at `path` now.

    The loader takes a name that it knows for the library that it loaded under it, even after the
    file was replaced; every further file at a path gets another spelling of the same path.
    """
    status = path.stat()
    with _loading:
        files = _loaded.setdefault(path, [])
        identity = (status.st_dev, status.st_ino)
        if identity not in files:
            files.append(identity)
        return str(path.parent) + "/." * files.index(identity) + f"/{path.name}"


def status_error(status: int, message: str) -> CompileError:
    """The diagnostic for a status other than 0."""
    code, meaning, hint = _STATUS.get(status, ("PTC-R023", f"unknown status {status}", ""))
    return CompileError(code, message or meaning, hint=hint)


def _hash_section(file: SharedLibrary, size: int) -> str:
    section = file.section(WEIGHTS_SECTION)
    if section is None or section.size < size:
        raise CompileError(
            "PTC-R007",
            f"{file.path} has lost its weights (section {WEIGHTS_SECTION})",
            hint="do not strip sections that are not debug information",
        )
    return hash_range(file.path, section.offset, size)


def _compare_with_file(library: Path, embedded: Manifest) -> None:
    """A manifest beside the library must be the library's own, or a deployment mixed two builds."""
    path = library.parent / f"{embedded.name}.json"
    if library.name != f"lib{embedded.name}.so" or not path.is_file():
        return
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise CompileError(
            "PTC-R006",
            f"cannot read {path}: {error}",
            hint="copy it again, or remove it: the library does not need it",
        ) from None
    if from_text(text, str(path)) != embedded:
        raise CompileError(
            "PTC-R006",
            f"{path} does not belong to {library.name}: the library holds another manifest",
            hint="copy both again, or remove the .json file, which the library does not need",
        )


def _free_session(api: Any, handle: ctypes.c_void_p, model: Opened) -> None:
    del model
    api.session_free(handle)
