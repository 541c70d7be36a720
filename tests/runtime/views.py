"""Torch tensors as the TensorView of ptc_view.h."""

from __future__ import annotations

import ctypes
import random

import torch

#: Torch type -> DLPack's code and bits.
CODES: dict[torch.dtype, tuple[int, int]] = {
    torch.int8: (0, 8),
    torch.int16: (0, 16),
    torch.int32: (0, 32),
    torch.int64: (0, 64),
    torch.uint8: (1, 8),
    torch.uint16: (1, 16),
    torch.uint32: (1, 32),
    torch.uint64: (1, 64),
    torch.float16: (2, 16),
    torch.float32: (2, 32),
    torch.float64: (2, 64),
    torch.bfloat16: (4, 16),
    torch.complex64: (5, 64),
    torch.complex128: (5, 128),
    torch.bool: (6, 8),
}


class View(ctypes.Structure):
    """TensorView; keeps the tensor and its dimensions alive."""

    _fields_ = (
        ("data", ctypes.c_void_p),
        ("dims", ctypes.c_void_p),
        ("strides", ctypes.c_void_p),
        ("ndim", ctypes.c_int),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
    )

    def __init__(self, tensor: torch.Tensor) -> None:
        self.tensor = tensor
        numbers = ctypes.c_int64 * max(1, tensor.dim())
        self.own_dims, self.own_strides = numbers(*tensor.shape), numbers(*tensor.stride())
        pointers = [ctypes.addressof(x) for x in (self.own_dims, self.own_strides)]
        super().__init__(tensor.data_ptr(), *pointers, tensor.dim(), *CODES[tensor.dtype])


def rearranged(rng: random.Random, tensor: torch.Tensor) -> torch.Tensor:
    """The same kind of tensor with other strides."""
    match rng.randrange(4):
        case 0 if tensor.dim() > 1:
            return tensor.transpose(0, -1)
        case 1 if tensor.dim() and tensor.shape[0] > 2:
            return tensor[::2]
        case 2 if tensor.dim() and tensor.shape[-1]:
            return tensor[..., :1].expand(tensor.shape)
        case _:
            return tensor
