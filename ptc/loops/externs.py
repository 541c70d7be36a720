"""Runtime routines that an ExternKernel may call, with their reference semantics in NumPy.

The table states each routine's contract; the C++ runtime implements the same names. A function gets
the input arrays, the output arrays to fill, and the attributes (sizes already evaluated).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ptc.loops import fourier, linear_algebra, random_numbers, spectral
from ptc.loops.scalar_numpy import Array

Extern = Callable[[Sequence[Array], Sequence[Array], Mapping[str, Any]], None]

EXTERNS: dict[str, Extern] = {}


def extern(name: str) -> Callable[[Extern], Extern]:
    """Register the reference of runtime routine `name`."""

    def register(function: Extern) -> Extern:
        if name in EXTERNS:
            raise ValueError(f"runtime routine {name} is registered twice")
        EXTERNS[name] = function
        return function

    return register


def _order(x: Array, dim: int, descending: bool) -> Array:
    """Stable order along `dim`; NaN is the largest value, as in torch."""
    if not descending:
        return np.argsort(x, axis=dim, kind="stable")
    # Sorting the reversed array ascending and reversing the result keeps equals in order.
    backwards = np.flip(x, dim)
    order = np.flip(np.argsort(backwards, axis=dim, kind="stable"), dim)
    return x.shape[dim] - 1 - order


@extern("sort")
def sort(inputs: Sequence[Array], outputs: Sequence[Array], attrs: Mapping[str, Any]) -> None:
    """values, indices (i64) of input 0 sorted along `dim`, stable; `descending`."""
    order = _order(inputs[0], attrs["dim"], bool(attrs["descending"]))
    outputs[0][...] = np.take_along_axis(inputs[0], order, attrs["dim"])
    outputs[1][...] = order


@extern("topk")
def topk(inputs: Sequence[Array], outputs: Sequence[Array], attrs: Mapping[str, Any]) -> None:
    """The first `k` of the sorted order: values, indices (i64) along `dim`; `largest`.

    Which of equal elements are taken, and the order of equal ones, is open, and so is the order of
    all unless `ordered`: in C++ both are torch's.
    """
    dim = attrs["dim"]
    order = np.take(_order(inputs[0], dim, bool(attrs["largest"])), range(attrs["k"]), axis=dim)
    outputs[0][...] = np.take_along_axis(inputs[0], order, dim)
    outputs[1][...] = order


_FAMILIES = (linear_algebra.ROUTINES, fourier.ROUTINES, spectral.ROUTINES, random_numbers.ROUTINES)
for _name, _routine in (entry for family in _FAMILIES for entry in family.items()):
    extern(_name)(_routine)
