"""Which sizes become symbolic when a function is captured again.

With `dynamic=None` the first capture takes every size as it is; a size that a later call shows to
change is symbolic from then on.
"""

from __future__ import annotations

import types
from collections.abc import Iterator, Sequence
from typing import Any

import torch

from ptc.capture.api import DynamicSpec
from ptc.capture.binding import bind_call
from ptc.graph.program import CapturedProgram, InputKind

Dims = dict[str, dict[int, tuple[str, int, int | None]]]


def promoted_sizes(
    programs: Sequence[CapturedProgram],
    fn: types.FunctionType,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> DynamicSpec | None:
    """The sizes of this call's tensors that differ from an earlier capture, or were symbolic in it.

    A size of 0 or 1 stays fixed: broadcasting depends on it. None if nothing changed.
    """
    frame = bind_call(fn, args, kwargs)
    dims: Dims = {}
    for program in programs:
        for path, source, expected in _user_tensors(program):
            actual = _value_at(source, frame)
            if not isinstance(actual, torch.Tensor) or actual.dim() != expected.dim():
                continue
            for dim, (old, new) in enumerate(zip(expected.shape, actual.shape, strict=True)):
                changed = isinstance(old, torch.SymInt) or old != new
                if changed and new > 1:
                    dims.setdefault(path, {})[dim] = (f"{path}_{dim}", 2, None)
    return DynamicSpec(dims) if dims else None


def _user_tensors(program: CapturedProgram) -> Iterator[tuple[str, str, torch.Tensor]]:
    nodes = program.graph.graph.find_nodes(op="placeholder")
    for described, node in zip(program.inputs, nodes, strict=True):
        value = node.meta["val"]
        if described.kind is InputKind.USER and isinstance(value, torch.Tensor):
            yield described.name, described.source, value


def _value_at(source: str, frame: dict[str, Any]) -> Any:
    """What the source expression of an earlier capture gives for this call."""
    try:
        # Sources are written by capture itself: subscripts and attributes below `L`.
        return eval(source, {"__builtins__": {}}, {"L": frame})
    except (AttributeError, LookupError, TypeError, NameError):
        return None
