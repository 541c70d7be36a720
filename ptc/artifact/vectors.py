"""Vectors that may be turned round: eager gives those of a library while the two are compared.

Which sign an eigenvector has, or a pair of singular vectors, is LAPACK's choice, and not the same
in each of its builds. Libraries have a rule (`ptc.loops.spectral.turn`). Takes the program of a
library. Knows nothing of comparing. The same holds where eager runs a graph again for gradients.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np
import torch
import torch.fx
from torch.utils._python_dispatch import TorchDispatchMode

from ptc.artifact.forms import Functional
from ptc.autograd.control import FunctionalControl
from ptc.loops import spectral

_EIGH = torch.ops.aten._linalg_eigh.default
_SVD = torch.ops.aten._linalg_svd.default


def as_library(program: Functional) -> AbstractContextManager[object]:
    """While open, torch's vectors have the signs that the library of this program gives them."""
    if isinstance(program, FunctionalControl):
        return as_compiled(segment.aten.graph for segment in program.segments)
    return as_compiled([program.graph])


def as_compiled(graphs: Iterable[torch.fx.GraphModule]) -> AbstractContextManager[object]:
    """The same for what these graphs are compiled to, captured or functional ones."""
    nodes = (node for graph in graphs for node in graph.graph.nodes)
    # Calls only: a parameter's name may have "eigh" in it, as every "weight" has.
    names = (str(node.target) for node in nodes if node.op.startswith("call"))
    return _Turning() if any("svd" in name or "eigh" in name for name in names) else nullcontext()


class _Turning(TorchDispatchMode):
    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        result = func(*args, **(kwargs or {}))
        if func is _EIGH and result[1].dim() > 1:
            return result[0], *_turned(result[0], result[1])
        if func is _SVD and result[0].dim() > 1:
            left, right = _turned(result[1], result[0], result[2])
            return left, result[1], right
        return result


def _turned(values: torch.Tensor, *vectors: torch.Tensor) -> list[torch.Tensor]:
    own = [part.detach().contiguous().clone() for part in vectors]
    for at in np.ndindex(values.shape[:-1]):
        spectral.turn(*(part[at].numpy() for part in own))
    return own
