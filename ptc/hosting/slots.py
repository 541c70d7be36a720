"""The places of a call's tensors in the C interface, made once per entry and session.

A call sets an address and, where it changed, a shape; making the descriptors anew would cost more
than a small model takes to run. Calls of one session take turns, so one set of slots is enough.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from ptc.hosting.abi import DLDataType, DLDevice, DLTensor
from ptc.hosting.manifest import TensorInfo
from ptc.hosting.tensors import Operand, operand

_CPU = 1  # kDLCPU
_EMPTY = ctypes.create_string_buffer(64)
#: The address of tensors without elements: torch gives them 0, which asks the library to allocate.
_NOWHERE = ctypes.addressof(_EMPTY)


class Slot:
    """One input or output of an entry."""

    __slots__ = ("_dims", "_numpy", "_shape", "_torch", "descriptor", "info", "type")

    def __init__(self, info: TensorInfo) -> None:
        self.info = info
        self.type = info.type
        rank = len(info.shape)
        self._dims = (ctypes.c_int64 * rank)()
        self._shape: tuple[int, ...] | None = None
        self._numpy = self.type.numpy
        self._torch: Any = None
        self.descriptor = DLTensor(
            data=None,
            device=DLDevice(_CPU, 0),
            ndim=rank,
            dtype=DLDataType(self.type.code, self.type.bits, 1),
            shape=ctypes.cast(self._dims, ctypes.POINTER(ctypes.c_int64)),
            strides=None,
            byte_offset=0,
        )

    def place(self, pointer: int, shape: tuple[int, ...]) -> None:
        """Describe compact row-major memory. `shape` has the slot's rank."""
        self.descriptor.data = pointer or _NOWHERE
        if shape != self._shape:
            self._dims[:] = shape
            self._shape = shape

    def take(self, value: Any) -> Operand:
        """`value` as memory that the library can read. Usual cases first; see `operand`."""
        if type(value) is np.ndarray:
            if (
                value.dtype == self._numpy
                and value.flags.c_contiguous
                and value.flags.aligned
                and not self.info.mutated
            ):
                address = value.__array_interface__["data"][0]
                return Operand(address, value.shape, self.type, value)
            return operand(value, self.info)
        torch = sys.modules.get("torch")
        if (
            torch is not None
            and type(value) is torch.Tensor
            and value.dtype is self._torch_dtype(torch)
            and value.is_cpu
            and value.layout is torch.strided
            and value.is_contiguous()
            and not value.is_conj()
            and not value.is_neg()
        ):
            return Operand(value.data_ptr(), value.shape, self.type, value)
        return operand(value, self.info)

    def new(self, shape: tuple[int, ...], *, as_torch: bool) -> Operand:
        """Uninitialised memory for an output of this slot."""
        if as_torch:
            torch = sys.modules["torch"]
            tensor = torch.empty(shape, dtype=self._torch_dtype(torch))
            return Operand(tensor.data_ptr(), shape, self.type, tensor)
        array = np.empty(shape, self._numpy)
        return Operand(array.__array_interface__["data"][0], shape, self.type, array)

    def _torch_dtype(self, torch: Any) -> Any:
        if self._torch is None:
            self._torch = getattr(torch, self.type.long_name)
        return self._torch


class LibraryAllocated:
    """An output whose memory and shape come from the library. Made anew for each call, since the
    library writes its own addresses into the descriptor."""

    def __init__(self, info: TensorInfo, given: DLTensor | None = None) -> None:
        self.slot = Slot(info)
        self.descriptor = self.slot.descriptor if given is None else given

    def copy(self, *, as_torch: bool) -> Any:
        """The output in memory of its own."""
        given = self.descriptor
        shape = tuple(given.shape[i] for i in range(given.ndim))
        result = self.slot.new(shape, as_torch=as_torch)
        count = int(np.prod(shape, dtype=np.int64)) * self.slot.type.itemsize
        if count:
            ctypes.memmove(result.pointer, given.data + given.byte_offset, count)
        return result.owner


def pointers(descriptors: Sequence[DLTensor]) -> Any:
    """An array of addresses as `run` takes it; it keeps the descriptors alive."""
    array = (ctypes.POINTER(DLTensor) * max(1, len(descriptors)))()
    for i, descriptor in enumerate(descriptors):
        array[i] = ctypes.pointer(descriptor)
    return array
