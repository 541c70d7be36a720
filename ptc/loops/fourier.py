"""Reference semantics of the runtime's Fourier transforms (`ptc_fft.h`), in NumPy.

Each function takes input arrays, output arrays to fill, and attributes, as `externs` says. Lines
are the last dimension; real and imaginary parts are arrays of their own. `normalization`: 0 none,
1 by the root of the length, 2 by the length.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ptc.loops.scalar_numpy import Array

Attrs = Mapping[str, Any]


def fft(inputs: Sequence[Array], outputs: Sequence[Array], attrs: Attrs) -> None:
    """re, im -> re, im; the sign of the exponent is positive unless `forward`."""
    re, im = (x.astype(np.float64) for x in inputs)
    n = re.shape[-1]
    whole = re + 1j * im
    found = np.fft.fft(whole) if attrs["forward"] else np.fft.ifft(whole) * n
    _store(outputs, found, n, attrs)


def rfft(inputs: Sequence[Array], outputs: Sequence[Array], attrs: Attrs) -> None:
    """x [n] -> re, im [n // 2 + 1]."""
    x = inputs[0].astype(np.float64)
    _store(outputs, np.fft.rfft(x), x.shape[-1], attrs)


def irfft(inputs: Sequence[Array], outputs: Sequence[Array], attrs: Attrs) -> None:
    """re, im [n // 2 + 1] -> x [n], with the sign of the exponent positive."""
    re, im = (x.astype(np.float64) for x in inputs)
    n = outputs[0].shape[-1]
    outputs[0][...] = np.fft.irfft(re + 1j * im, n=n) * (n / _divisor(n, attrs))


def _store(outputs: Sequence[Array], found: Array, n: int, attrs: Attrs) -> None:
    outputs[0][...] = np.real(found) / _divisor(n, attrs)
    outputs[1][...] = np.imag(found) / _divisor(n, attrs)


def _divisor(n: int, attrs: Attrs) -> float:
    return (1.0, float(n) ** 0.5, float(n))[int(attrs["normalization"])]


ROUTINES = {"fft": fft, "rfft": rfft, "irfft": irfft}
