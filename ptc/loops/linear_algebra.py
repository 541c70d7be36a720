"""Reference semantics of the runtime's factorisations (`ptc_linalg.h`), in NumPy.

Each function takes input arrays, output arrays to fill, and attributes, as `externs` says; matrices
are the last two dimensions. The algorithms are the textbook ones, in the element type: results
agree with the runtime's but for rounding. Pivots, signs and `info` are LAPACK's.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from ptc.loops.scalar_numpy import Array

Attrs = Mapping[str, Any]


def lu(inputs: Sequence[Array], outputs: Sequence[Array], attrs: Attrs) -> None:
    """a [m, n] -> L and U in one, pivots (i32, from 1), info (i32): the first zero of U's diagonal,
    from 1, or 0. The pivot is the first of the largest magnitude."""
    factors, pivots, info = outputs
    factors[...] = inputs[0]
    info[...] = 0
    for at in _batch(factors):
        a = factors[at]
        for k in range(min(a.shape)):
            chosen = k + int(np.argmax(np.abs(a[k:, k])))
            pivots[(*at, k)] = chosen + 1
            a[[k, chosen]] = a[[chosen, k]]
            if a[k, k] == 0:
                info[at] = info[at] or k + 1
                continue
            a[k + 1 :, k] /= a[k, k]
            a[k + 1 :, k + 1 :] -= np.outer(a[k + 1 :, k], a[k, k + 1 :])


def lu_solve(inputs: Sequence[Array], outputs: Sequence[Array], attrs: Attrs) -> None:
    """x [n, k] with a x = b, or a^T x = b (`transposed`), of lu [n, n], pivots and b."""
    factors, pivots, b = inputs
    outputs[0][...] = b
    for at in _batch(factors):
        x = outputs[0][at]
        order = _order(pivots[at], len(x))
        a = factors[at]
        if attrs["transposed"]:
            _substitute(a.T, x, upper=False, unit=False)
            _substitute(a.T, x, upper=True, unit=True)
            x[order] = x.copy()
        else:
            x[...] = x[order]
            _substitute(a, x, upper=False, unit=True)
            _substitute(a, x, upper=True, unit=False)


def lu_order(inputs: Sequence[Array], outputs: Sequence[Array], attrs: Attrs) -> None:
    """order [m] (i64): where the rows of L U are in a, of its pivots."""
    order = outputs[0]
    for at in np.ndindex(order.shape[:-1]):
        order[at] = _order(inputs[0][at], order.shape[-1])


def solve_triangular(inputs: Sequence[Array], outputs: Sequence[Array], attrs: Attrs) -> None:
    """x [n, k] with A x = b, or A^T x = b (`transposed`): A is the `upper` or the lower triangle of
    a [n, n], with ones on its diagonal if `unit`."""
    a, b = inputs
    outputs[0][...] = b
    transposed, upper, unit = (bool(attrs[name]) for name in ("transposed", "upper", "unit"))
    for at in _batch(a):
        matrix = a[at].T if transposed else a[at]
        _substitute(matrix, outputs[0][at], upper=upper is not transposed, unit=unit)


def cholesky(inputs: Sequence[Array], outputs: Sequence[Array], attrs: Attrs) -> None:
    """The lower triangle of a [n, n] -> its lower factor, info (i32): 0, or the order of the first
    leading minor that is not positive, at which the work ends."""
    factors, info = outputs
    factors[...] = np.tril(inputs[0])
    for at in _batch(factors):
        info[at] = _cholesky(factors[at])


def qr(inputs: Sequence[Array], outputs: Sequence[Array], attrs: Attrs) -> None:
    """a [m, n] -> q [m, columns], r [rows, n], by Householder reflections."""
    q, r = outputs
    for at in _batch(inputs[0]):
        a = inputs[0][at].copy()
        whole = np.eye(len(a), dtype=a.dtype)
        for k in range(min(a.shape)):
            v, tau = _reflection(a[k:, k])
            for matrix in (a[k:, k:], whole[:, k:].T):
                matrix -= tau * np.outer(v, v @ matrix)
        q[at] = whole[:, : q.shape[-1]]
        r[at] = np.triu(a)[: r.shape[-2]]


def householder_product(inputs: Sequence[Array], outputs: Sequence[Array], attrs: Attrs) -> None:
    """a [m, n] with reflections below its diagonal and taus [k] -> q [m, n], their product."""
    a, taus = inputs
    (q,) = outputs
    for at in _batch(a):
        whole = np.eye(*q.shape[-2:], dtype=q.dtype)
        for k in reversed(range(taus.shape[-1])):
            v = a[at][k:, k].copy()
            v[0] = 1
            whole[k:] -= taus[at][k] * np.outer(v, v @ whole[k:])
        q[at] = whole


def _batch(matrices: Array) -> Iterator[tuple[int, ...]]:
    return iter(np.ndindex(matrices.shape[:-2]))


def _order(pivots: Array, rows: int) -> Array:
    order = np.arange(rows)
    for k, pivot in enumerate(pivots):
        order[[k, pivot - 1]] = order[[pivot - 1, k]]
    return order


def _substitute(a: Array, x: Array, *, upper: bool, unit: bool) -> None:
    """x of a x = x, in place."""
    n = len(x)
    for i in reversed(range(n)) if upper else range(n):
        others = slice(i + 1, n) if upper else slice(0, i)
        x[i] -= a[i, others] @ x[others]
        if not unit:
            x[i] /= a[i, i]


def _cholesky(a: Array) -> int:
    for j in range(len(a)):
        square = a[j, j] - a[j, :j] @ a[j, :j]
        a[j, j] = square
        if not square > 0:
            return j + 1
        a[j, j] = np.sqrt(square)
        a[j + 1 :, j] = (a[j + 1 :, j] - a[j + 1 :, :j] @ a[j, :j]) / a[j, j]
    return 0


def _reflection(column: Array) -> tuple[Array, Any]:
    """v and tau of the reflection I - tau v v^T that leaves only the first element."""
    v = column.copy()
    below = np.linalg.norm(column[1:])
    v[0] = 1
    if below == 0:
        return v, column.dtype.type(0)
    beta = -np.copysign(np.hypot(column[0], below), column[0])
    v[1:] = column[1:] / (column[0] - beta)
    return v, (beta - column[0]) / beta


ROUTINES = {
    "lu": lu,
    "lu_solve": lu_solve,
    "lu_order": lu_order,
    "solve_triangular": solve_triangular,
    "cholesky": cholesky,
    "qr": qr,
    "householder_product": householder_product,
}
