"""Reference semantics of the runtime's eigenvalues, singular values and exponentials
(`ptc_spectral.h`), in NumPy.

Each function takes input arrays, output arrays to fill, and attributes, as `externs` says; matrices
are the last two dimensions. All compute in float64 and round once. Vectors are turned so that their
first element of at least half the largest magnitude is positive; of a pair of singular ones, that
of the left one.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ptc.loops.scalar_numpy import Array

Attrs = Mapping[str, Any]


def eigh(inputs: Sequence[Array], outputs: Sequence[Array], attrs: Attrs) -> None:
    """a [n, n], of which the `upper` or the lower triangle counts -> values [n] ascending, vectors
    [n, n] in columns, info (i32): 0, or another number where there are none."""
    values, vectors, info = outputs
    for at in np.ndindex(info.shape):
        a = inputs[0][at].astype(np.float64)
        info[at] = 0 if np.isfinite(a).all() else len(a)
        if info[at] == 0:
            values[at], basis = np.linalg.eigh(a, "U" if attrs["upper"] else "L")
            turn(basis)
            vectors[at] = basis


def eigvalsh(inputs: Sequence[Array], outputs: Sequence[Array], attrs: Attrs) -> None:
    """The values and the info of `eigh`."""
    values, info = outputs
    eigh(inputs, [values, np.empty_like(inputs[0]), info], attrs)


def svd(inputs: Sequence[Array], outputs: Sequence[Array], attrs: Attrs) -> None:
    """a [m, n] -> u [m, columns], s [min(m, n)] descending, vh [rows, n], info (i32) as of `eigh`.
    `columns` and `rows` are min(m, n), or m and n."""
    u, s, vh, info = outputs
    for at in np.ndindex(info.shape):
        a = inputs[0][at].astype(np.float64)
        info[at] = 0 if np.isfinite(a).all() else min(a.shape) + 1
        if info[at] == 0:
            full = u.shape[-1] + vh.shape[-2] > 2 * s.shape[-1]
            left, s[at], right = np.linalg.svd(a, full_matrices=full)
            turn(left, right)
            u[at], vh[at] = left, right


def matrix_exp(inputs: Sequence[Array], outputs: Sequence[Array], attrs: Attrs) -> None:
    """a [n, n] -> exp(a), by scaling, a Taylor series and squaring."""
    (result,) = outputs
    for at in np.ndindex(result.shape[:-2]):
        a = inputs[0][at].astype(np.float64)
        norm = float(np.abs(a).sum(axis=0).max(initial=0.0))
        squarings = max(0, math.frexp(norm)[1] + 3) if math.isfinite(norm) else 0
        a = np.ldexp(a, -squarings)
        term = np.eye(len(a))
        total = np.eye(len(a))
        for n in range(1, 20):
            term = term @ a / n
            total += term
        for _ in range(squarings):
            total = total @ total
        result[at] = total


def turn(left: Array, right: Array | None = None) -> None:
    """Give vectors their signs, in place: columns of `left`, and rows of `right` with them."""
    pairs = 0 if right is None else min(left.shape[-1], right.shape[-2])
    for number, column in enumerate(left.T):
        sign = _sign(column)
        column *= sign
        if right is not None and number < pairs:
            right[number] *= sign
    for row in right[pairs:] if right is not None else ():
        row *= _sign(row)


def _sign(vector: Array) -> float:
    magnitudes = np.abs(vector)
    first = vector[np.argmax(2 * magnitudes >= magnitudes.max())] if len(vector) else 0.0
    return -1.0 if first < 0 else 1.0


ROUTINES = {"eigh": eigh, "eigvalsh": eigvalsh, "svd": svd, "matrix_exp": matrix_exp}
