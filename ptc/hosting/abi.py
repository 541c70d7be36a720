"""The C interface of a library (ptc/runtime/ptc_abi.h, version 1) as ctypes declarations."""

from __future__ import annotations

import ctypes
from ctypes import (
    CFUNCTYPE,
    POINTER,
    Structure,
    c_char_p,
    c_int32,
    c_int64,
    c_size_t,
    c_uint8,
    c_uint16,
    c_uint32,
    c_uint64,
    c_void_p,
)

ABI_VERSION = 1
CPU_DEVICE = 1  # kDLCPU


class DLDevice(Structure):
    _fields_ = (("device_type", c_int32), ("device_id", c_int32))


class DLDataType(Structure):
    _fields_ = (("code", c_uint8), ("bits", c_uint8), ("lanes", c_uint16))


class DLTensor(Structure):
    _fields_ = (
        ("data", c_void_p),
        ("device", DLDevice),
        ("ndim", c_int32),
        ("dtype", DLDataType),
        ("shape", POINTER(c_int64)),
        ("strides", POINTER(c_int64)),
        ("byte_offset", c_uint64),
    )


class OpenOptions(Structure):
    _fields_ = (
        ("struct_size", c_uint32),
        ("threads", c_int32),
        ("weights_path", c_char_p),
        ("weight_pointers", POINTER(c_void_p)),
    )


_Tensors = POINTER(POINTER(DLTensor))


class Api(Structure):
    """`ptc_api`. Fields after these belong to newer versions and are not touched."""

    _fields_ = (
        ("abi_version", c_uint32),
        ("struct_size", c_uint32),
        ("manifest", CFUNCTYPE(c_char_p)),
        (
            "open",
            CFUNCTYPE(ctypes.c_int, POINTER(OpenOptions), POINTER(c_void_p), c_char_p, c_size_t),
        ),
        ("close", CFUNCTYPE(None, c_void_p)),
        ("session_new", CFUNCTYPE(ctypes.c_int, c_void_p, POINTER(c_void_p))),
        ("session_free", CFUNCTYPE(None, c_void_p)),
        ("entry_count", CFUNCTYPE(c_uint32)),
        ("entry_index", CFUNCTYPE(c_int32, c_char_p)),
        (
            "run",
            CFUNCTYPE(ctypes.c_int, c_void_p, c_uint32, _Tensors, c_size_t, _Tensors, c_size_t),
        ),
        ("release", CFUNCTYPE(None, c_void_p, POINTER(DLTensor))),
        ("last_error", CFUNCTYPE(c_char_p, c_void_p)),
        ("cancel", CFUNCTYPE(None, c_void_p)),
        ("peak_memory", CFUNCTYPE(c_size_t, c_void_p)),
        (
            "run_raw",
            CFUNCTYPE(ctypes.c_int, c_void_p, c_uint32, POINTER(c_void_p), POINTER(c_int64)),
        ),
    )


#: `ptc_status` -> (diagnostic code, what it means, hint).
STATUS: dict[int, tuple[str, str, str]] = {
    1: ("PTC-R010", "the library refused the arguments", ""),
    2: ("PTC-R012", "an input has the wrong shape", ""),
    3: ("PTC-R011", "an input has the wrong element type", ""),
    4: ("PTC-R013", "an input has the wrong memory layout", ""),
    5: ("PTC-R013", "an input is on the wrong device", ""),
    6: ("PTC-R021", "there is not enough memory", "free memory or use smaller inputs"),
    7: (
        "PTC-R005",
        "this processor lacks instructions that the library uses",
        "compile the model on this machine, or with a lower `--target`",
    ),
    8: ("PTC-R007", "the weights cannot be read", "copy the library and its weights file again"),
    9: ("PTC-R020", "a check inside the model failed", ""),
    10: ("PTC-R022", "the run was cancelled", ""),
}
