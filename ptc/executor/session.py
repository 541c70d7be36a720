"""Running `.ptir` files by the executor's library: ctypes and NumPy, no torch.

`Model` is an opened file, `Session` what one run at a time needs. Values are NumPy arrays (bf16 as
`ptc.hosting.dtypes` has it) and numbers; how they are put together to what a user passes and gets
is the manifest's business, not known here.
"""

from __future__ import annotations

import ctypes
import json
import weakref
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from ptc.executor.build import build
from ptc.hosting.abi import Api, DLDataType, DLDevice, DLTensor, Status
from ptc.hosting.dtypes import ELEMENT_TYPES, ElementType, element_type
from ptc.hosting.effects import Emit
from ptc.hosting.library import Session as LibrarySession
from ptc.hosting.library import status_error
from ptc.hosting.slots import pointers
from ptc.support.diagnostics import CompileError

_CPU = 1  # kDLCPU
_HANDLES = 3  # DLPack's code of opaque handles: a list of tensors or texts
_NUMBERS = {"int": "i64", "float": "f64", "bool": "bool"}
_UNSUPPORTED = 15  # PTC_EXEC_E_UNSUPPORTED
_EMPTY = ctypes.create_string_buffer(64)


class _Options(ctypes.Structure):
    """`ptc_exec_options`."""

    _fields_ = (
        ("struct_size", ctypes.c_uint32),
        ("threads", ctypes.c_int32),
        ("memory_limit", ctypes.c_uint64),
        ("verify", ctypes.c_int32),
    )


@dataclass(frozen=True, slots=True)
class Described:
    """An input or result. `dtype` is `f32` and so on, or `int`, `float`, `bool` for a number;
    dimensions are numbers or expressions of symbols. `alias`: see RETURN in docs/ptir.md."""

    name: str
    dtype: str
    tensor: bool
    dims: tuple[int | str, ...]
    kind: str = ""
    alias: int | None = None

    @property
    def type(self) -> ElementType:
        """The elements in memory."""
        return ELEMENT_TYPES[_NUMBERS.get(self.dtype, self.dtype)]


@dataclass(frozen=True, slots=True)
class Dim:
    """A size with its name and inclusive range (`upper` None: no bound)."""

    symbol: str
    name: str
    lower: int
    upper: int | None


@cache
def load(path: Path | None = None) -> Any:
    """The executor's library in this process; built where it is not in the cache."""
    handle = ctypes.CDLL(str(path or build().library), mode=ctypes.RTLD_LOCAL)
    handle.ptc_exec_api.restype = ctypes.POINTER(Api)
    for name in ("manifest", "description", "text"):
        function = getattr(handle, f"ptc_exec_{name}")
        function.restype, function.argtypes = ctypes.c_char_p, [ctypes.c_void_p]
    handle.ptc_exec_operators.restype = ctypes.c_char_p
    return handle


def operators() -> frozenset[str]:
    """The names of the operators that the executor has."""
    return frozenset((load().ptc_exec_operators() or b"").decode().split())


class Model:
    """An opened file, given as a path or as its bytes. Raises CompileError PTC-E010 for one that is
    damaged, PTC-R042 for one with an operator or statement that this executor does not know.

    `memory_limit`: bytes of tensors that a session may hold at once (0: none). `verify`: weights
    are compared with their hash whatever their size, not only small ones.
    """

    def __init__(
        self,
        source: Path | str | bytes,
        *,
        threads: int = 0,
        memory_limit: int = 0,
        verify: bool = False,
    ) -> None:
        self.library = load()
        self.api: Any = self.library.ptc_exec_api().contents
        self.handle = ctypes.c_void_p()
        self._source = source  # bytes are looked at where they are
        options = _Options(ctypes.sizeof(_Options), threads, memory_limit, verify)
        message = ctypes.create_string_buffer(4096)
        tail = (ctypes.byref(options), ctypes.byref(self.handle), message, len(message))
        if isinstance(source, bytes):
            size = ctypes.c_size_t(len(source))
            status = self.library.ptc_exec_open_memory(ctypes.c_char_p(source), size, *tail)
        else:
            status = self.library.ptc_exec_open(str(source).encode(), *tail)
        if status:
            raise _open_error(status, message.value.decode("utf-8", "replace"), source)
        self._close = weakref.finalize(self, _close, self.api, self.handle, source)
        described = json.loads(self.library.ptc_exec_description(self.handle))
        self.name: str = described["name"]
        self.inputs = tuple(_described(item) for item in described["inputs"])
        self.outputs = tuple(_described(item) for item in described["outputs"])
        self.dims = tuple(Dim(**item) for item in described["dims"])

    @property
    def manifest(self) -> dict[str, Any]:
        """manifest.json of the file."""
        return json.loads(self.library.ptc_exec_manifest(self.handle))

    def new_session(self) -> LibrarySession:
        """As the model of a compiled library gives it."""
        return LibrarySession(self)

    def text(self) -> str:
        """The program as the executor prints it."""
        return self.library.ptc_exec_text(self.handle).decode("ascii")


def _open_error(status: int, text: str, source: Path | str | bytes) -> CompileError:
    where = "the memory" if isinstance(source, bytes) else f"`{source}`"
    if status == _UNSUPPORTED:
        return CompileError(
            "PTC-R042",
            f"the executor does not run {where}: {text}",
            hint="install torch, which `ptc.load` then runs the file on, or `ptc compile` the file",
        )
    if status == Status.IO:
        return CompileError("PTC-E010", f"{where} is not a readable .ptir file: {text}")
    return status_error(status, text)


def _described(item: dict[str, Any]) -> Described:
    return Described(
        item["name"], item["dtype"], item["tensor"], tuple(item["dims"]),
        item.get("kind", ""), item.get("alias"),
    )  # fmt: skip


def _close(api: Any, handle: ctypes.c_void_p, source: object) -> None:
    del source
    api.close(handle)


class Session:
    """Working memory and buffers of a model, for one run at a time."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self._session = LibrarySession(model)

    def run(self, values: Sequence[Any]) -> list[Any]:
        """The results for one value for each of `model.inputs`: arrays in memory of their own, in
        the order of `model.outputs`.

        Raises CompileError of the code that fits (PTC-R010 to R013 for inputs, PTC-R020 for a check
        that fails), or what the program raises.
        """
        model = self.model
        if len(values) != len(model.inputs):
            raise CompileError(
                "PTC-R010", f"{model.name} takes {len(model.inputs)} inputs, got {len(values)}"
            )
        given = [
            _Given(_as_array(value, info), info)
            for value, info in zip(values, model.inputs, strict=True)
        ]
        places = [DLTensor() for _ in model.outputs]
        with self._session.lock:
            inputs = pointers([item.descriptor for item in given])
            outputs = pointers(places)
            self._session.run(0, inputs, len(given), outputs, len(places))
            try:
                return [_taken(place) for place in places]
            finally:
                for place in places:
                    self._session.release(place)

    def reset(self) -> None:
        """Give buffers that runs changed the values of a new session."""
        self._session.reset()

    def seed(self, seed: int) -> None:
        """What the model draws from torch's own generator goes on as after a manual seed."""
        self._session.seed(seed)

    def variant(self) -> int:
        """Which of the manifest's variants the last result is."""
        return self._session.variant()

    def cancel(self) -> None:
        """End the run in progress, from another thread."""
        self._session.cancel()

    def peak_memory(self) -> int:
        """Bytes that tensors took at most so far."""
        return self._session.peak_memory()

    def listen(self, emit: Emit) -> None:
        """Have the model's prints, log records and warnings given to `emit`."""
        self._session.emit = emit
        self._session.listen()


class _Given:
    """An input as the library takes it."""

    def __init__(self, array: np.ndarray[Any, Any], info: Described) -> None:
        kind = _type_of(array, info)
        rank = array.ndim
        self.array = array
        self.shape = (ctypes.c_int64 * rank)(*array.shape)
        item = array.itemsize
        self.strides = (ctypes.c_int64 * rank)(*(step // item for step in array.strides))
        pointer = ctypes.POINTER(ctypes.c_int64)
        self.descriptor = DLTensor(
            data=array.__array_interface__["data"][0] or ctypes.addressof(_EMPTY),
            device=DLDevice(_CPU, 0),
            ndim=rank,
            dtype=DLDataType(kind.code, kind.bits, 1),
            shape=ctypes.cast(self.shape, pointer),
            strides=ctypes.cast(self.strides, pointer),
            byte_offset=0,
        )


def _as_array(value: Any, info: Described) -> np.ndarray[Any, Any]:
    """`value` as an array that the library can look at; a number for a number or a tensor."""
    if isinstance(value, np.ndarray):
        array: np.ndarray[Any, Any] = value
    elif isinstance(value, (bool, int, float, complex)):
        array = np.asarray(value, dtype=info.type.numpy)
    else:
        array = np.asarray(value)
    steps_fit = all(step >= 0 and step % array.itemsize == 0 for step in array.strides)
    return array if steps_fit and array.flags.aligned else np.ascontiguousarray(array)


def _type_of(array: np.ndarray[Any, Any], info: Described) -> ElementType:
    """How the array's elements are described; uint16 may hold the bits of bf16."""
    if info.dtype == "bf16" and array.dtype == np.uint16:
        return ELEMENT_TYPES["bf16"]
    found = element_type(array.dtype.name)
    if found is None:
        raise CompileError(
            "PTC-R011", f"the input `{info.name}` is {array.dtype.name}, expected {info.dtype}"
        )
    return found


_BY_CODE = {(kind.code, kind.bits): kind for kind in ELEMENT_TYPES.values()}


def _taken(place: DLTensor) -> Any:
    """What a descriptor holds, in memory of Python's; a list of arrays for a list; None for a
    result that has no meaning in the variant."""
    if not place.data:
        return None
    count = place.shape[0] if place.ndim else 0
    if place.dtype.code == _HANDLES:
        table = ctypes.cast(place.data, ctypes.POINTER(ctypes.POINTER(DLTensor)))
        return [_taken(table[i].contents) for i in range(count)]
    kind = _BY_CODE[place.dtype.code, place.dtype.bits]
    shape = tuple(place.shape[i] for i in range(place.ndim))
    result = np.empty(shape, kind.numpy)
    if result.nbytes:
        ctypes.memmove(result.ctypes.data, place.data + place.byte_offset, result.nbytes)
    return result
