"""ptc_abi.h as ctypes sees it: structures, status codes, the api table of a loaded library.

Owns the mirror of the C declarations and nothing else. Must not know manifests, NumPy or torch.
"""

from __future__ import annotations

import ctypes
import enum
from pathlib import Path

ABI_VERSION = 1


class Status(enum.IntEnum):
    """`ptc_status`."""

    OK = 0
    ARGUMENT = 1
    SHAPE = 2
    DTYPE = 3
    LAYOUT = 4
    DEVICE = 5
    MEMORY = 6
    CPU = 7
    IO = 8
    RUNTIME = 9
    CANCELLED = 10
    RAISED = 11


class DLDevice(ctypes.Structure):
    _fields_ = (("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32))


class DLDataType(ctypes.Structure):
    _fields_ = (("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16))


class DLTensor(ctypes.Structure):
    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device", DLDevice),
        ("ndim", ctypes.c_int32),
        ("dtype", DLDataType),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    )


class OpenOptions(ctypes.Structure):
    _fields_ = (
        ("struct_size", ctypes.c_uint32),
        ("threads", ctypes.c_int32),
        ("weights_path", ctypes.c_char_p),
        ("weight_pointers", ctypes.POINTER(ctypes.c_void_p)),
        ("prepared_path", ctypes.c_char_p),
    )


_Handle = ctypes.c_void_p
_TensorPointers = ctypes.POINTER(ctypes.POINTER(DLTensor))

MANIFEST = ctypes.CFUNCTYPE(ctypes.c_char_p)
OPEN = ctypes.CFUNCTYPE(
    ctypes.c_int, ctypes.POINTER(OpenOptions), ctypes.POINTER(_Handle), ctypes.c_char_p,
    ctypes.c_size_t,
)  # fmt: skip
CLOSE = ctypes.CFUNCTYPE(None, _Handle)
SESSION_NEW = ctypes.CFUNCTYPE(ctypes.c_int, _Handle, ctypes.POINTER(_Handle))
SESSION_FREE = ctypes.CFUNCTYPE(None, _Handle)
ENTRY_COUNT = ctypes.CFUNCTYPE(ctypes.c_uint32)
ENTRY_INDEX = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_char_p)
RUN = ctypes.CFUNCTYPE(
    ctypes.c_int, _Handle, ctypes.c_uint32, _TensorPointers, ctypes.c_size_t, _TensorPointers,
    ctypes.c_size_t,
)  # fmt: skip
RELEASE = ctypes.CFUNCTYPE(None, _Handle, ctypes.POINTER(DLTensor))
LAST_ERROR = ctypes.CFUNCTYPE(ctypes.c_char_p, _Handle)
CANCEL = ctypes.CFUNCTYPE(None, _Handle)
PEAK_MEMORY = ctypes.CFUNCTYPE(ctypes.c_size_t, _Handle)
RUN_RAW = ctypes.CFUNCTYPE(
    ctypes.c_int, _Handle, ctypes.c_uint32, ctypes.POINTER(ctypes.c_void_p),
    ctypes.POINTER(ctypes.c_int64),
)  # fmt: skip
EMIT = ctypes.CFUNCTYPE(
    None, ctypes.c_void_p, ctypes.c_int32, ctypes.c_char_p, ctypes.POINTER(ctypes.c_char),
    ctypes.c_size_t,
)  # fmt: skip
EXCEPTION_TYPE = ctypes.CFUNCTYPE(ctypes.c_char_p, _Handle)
VARIANT = ctypes.CFUNCTYPE(ctypes.c_int32, _Handle)
SET_EMIT = ctypes.CFUNCTYPE(None, _Handle, EMIT, ctypes.c_void_p)
RESET = ctypes.CFUNCTYPE(ctypes.c_int, _Handle)
STATE = ctypes.CFUNCTYPE(
    ctypes.c_int, _Handle, ctypes.POINTER(ctypes.POINTER(ctypes.c_int64)),
    ctypes.POINTER(ctypes.POINTER(ctypes.c_void_p)),
)  # fmt: skip
SEED = ctypes.CFUNCTYPE(ctypes.c_int, _Handle, ctypes.c_uint64)
UPDATE_WEIGHTS = ctypes.CFUNCTYPE(
    ctypes.c_int, _Handle, ctypes.c_char_p, ctypes.c_char_p, ctypes.c_size_t
)
ISA = ctypes.CFUNCTYPE(ctypes.c_char_p)


class Api(ctypes.Structure):
    """`ptc_api`. Fields after `struct_size` bytes do not exist in an older library."""

    _fields_ = (
        ("abi_version", ctypes.c_uint32),
        ("struct_size", ctypes.c_uint32),
        ("manifest", MANIFEST),
        ("open", OPEN),
        ("close", CLOSE),
        ("session_new", SESSION_NEW),
        ("session_free", SESSION_FREE),
        ("entry_count", ENTRY_COUNT),
        ("entry_index", ENTRY_INDEX),
        ("run", RUN),
        ("release", RELEASE),
        ("last_error", LAST_ERROR),
        ("cancel", CANCEL),
        ("peak_memory", PEAK_MEMORY),
        ("run_raw", RUN_RAW),
        ("exception_type", EXCEPTION_TYPE),
        ("variant", VARIANT),
        ("set_emit", SET_EMIT),
        ("reset", RESET),
        ("state", STATE),
        ("seed", SEED),
        ("update_weights", UPDATE_WEIGHTS),
        ("isa", ISA),
    )


def load_api(library: Path, name: str) -> tuple[ctypes.CDLL, Api]:
    """dlopen `library` and return its api table; the CDLL must outlive every use of the table.

    Raises OSError when it cannot be loaded, AttributeError when it exports no `NAME_ptc_api`.
    """
    handle = ctypes.CDLL(str(library), mode=ctypes.RTLD_LOCAL)
    getter = getattr(handle, f"{name}_ptc_api")
    getter.restype = ctypes.POINTER(Api)
    getter.argtypes = []
    return handle, getter().contents
