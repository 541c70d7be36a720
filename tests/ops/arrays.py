"""Tensors as NumPy arrays and back; bfloat16, which NumPy has not, as its bits."""

from __future__ import annotations

import numpy as np
import torch


def to_numpy(x: torch.Tensor) -> np.ndarray:
    if x.dtype is torch.bfloat16:
        return x.contiguous().view(torch.uint16).numpy()
    return x.numpy()


def to_torch(array: np.ndarray, dtype: torch.dtype) -> torch.Tensor:
    array = np.array(array, order="C")
    if dtype is torch.bfloat16:
        return torch.from_numpy(array.astype(np.uint16)).view(torch.bfloat16)
    return torch.from_numpy(array)
