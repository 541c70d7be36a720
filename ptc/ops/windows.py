"""Window functions: sums of cosines over arange, as torch forms them."""

from __future__ import annotations

import math
from typing import Any

import torch

from ptc.ops.protocol import sample
from ptc.ops.registry import decomposes, samples

aten = torch.ops.aten


def _cosines(length: int, periodic: bool, weights: tuple[float, ...], **how: Any) -> torch.Tensor:
    """sum_k (-1)^k weights[k] cos(2 pi k n / N); N is `length` when periodic, else one less."""
    if length == 1:
        return torch.ones(1, **how)
    steps = torch.arange(length, **how)
    angle = 2 * math.pi / (length if periodic else length - 1)
    window = torch.full_like(steps, weights[0])
    for k, weight in enumerate(weights[1:], 1):
        sign = -1 if k % 2 else 1
        window = window + (steps * (angle * k)).cos() * (sign * weight)
    return window


def _floating(dtype: torch.dtype | None) -> dict[str, Any]:
    return {"dtype": dtype or torch.get_default_dtype()}


@decomposes(aten.hann_window.default)
def decompose_hann(window_length: int, *, dtype: Any = None, **_: Any) -> torch.Tensor:
    """0.5 - 0.5 cos(2 pi n / N), periodic."""
    return _cosines(window_length, True, (0.5, 0.5), **_floating(dtype))


@decomposes(aten.hann_window.periodic)
def decompose_hann_periodic(
    window_length: int, periodic: bool, *, dtype: Any = None, **_: Any
) -> torch.Tensor:
    """0.5 - 0.5 cos(2 pi n / N)."""
    return _cosines(window_length, periodic, (0.5, 0.5), **_floating(dtype))


@decomposes(aten.hamming_window.default)
def decompose_hamming(window_length: int, *, dtype: Any = None, **_: Any) -> torch.Tensor:
    """0.54 - 0.46 cos(2 pi n / N), periodic."""
    return _cosines(window_length, True, (0.54, 0.46), **_floating(dtype))


@decomposes(aten.hamming_window.periodic)
def decompose_hamming_periodic(
    window_length: int, periodic: bool, *, dtype: Any = None, **_: Any
) -> torch.Tensor:
    """0.54 - 0.46 cos(2 pi n / N)."""
    return _cosines(window_length, periodic, (0.54, 0.46), **_floating(dtype))


@decomposes(aten.blackman_window.default)
def decompose_blackman(window_length: int, *, dtype: Any = None, **_: Any) -> torch.Tensor:
    """0.42 - 0.5 cos(2 pi n / N) + 0.08 cos(4 pi n / N), periodic."""
    return _cosines(window_length, True, (0.42, 0.5, 0.08), **_floating(dtype))


@decomposes(aten.blackman_window.periodic)
def decompose_blackman_periodic(
    window_length: int, periodic: bool, *, dtype: Any = None, **_: Any
) -> torch.Tensor:
    """0.42 - 0.5 cos(2 pi n / N) + 0.08 cos(4 pi n / N)."""
    return _cosines(window_length, periodic, (0.42, 0.5, 0.08), **_floating(dtype))


for _op in (aten.hann_window, aten.hamming_window, aten.blackman_window):
    samples(_op.default, sample(8, tolerance=4.0), sample(1), sample(7, dtype=torch.float64))
    samples(_op.periodic, sample(8, False, tolerance=4.0), sample(5, True, tolerance=4.0))
