"""torch's own decompositions into core ATen: the one module that knows where torch keeps them.

`torch._decomp` is private; should it move, only this file changes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torch._decomp import core_aten_decompositions
from torch._ops import OpOverload


def torch_decompositions() -> dict[OpOverload, Callable[..., Any]]:
    """Operator overload -> function that computes it by more basic operators."""
    return {
        op: function
        for op, function in core_aten_decompositions().items()
        if isinstance(op, OpOverload)
    }
