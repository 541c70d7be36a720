"""Which sizes and numbers become symbolic when a function is captured again.

With `dynamic=None` the first capture takes every size and int as it is; one that a later call shows
to change is symbolic from then on.
"""

from __future__ import annotations

import types
from collections.abc import Iterator, Sequence
from typing import Any

import torch

from ptc.capture.api import CapturedFrame, DynamicSpec
from ptc.capture.binding import bind_call
from ptc.graph.control import ControlProgram
from ptc.graph.program import CapturedProgram, InputKind

Dims = dict[str, dict[int, tuple[str, int, int | None]]]


def promoted(
    frames: Sequence[CapturedFrame],
    fn: types.FunctionType,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    *,
    all_sizes: bool = False,
) -> DynamicSpec | None:
    """The sizes and ints of this call that differ from an earlier capture, or were symbolic in it.

    A size of 0 or 1 stays fixed: broadcasting depends on it. None if nothing changed.
    """
    values = bind_call(fn, args, kwargs)
    programs = [frame.program for frame in frames if frame.program is not None]
    dims: Dims = {} if all_sizes else _sizes(programs, values)
    numbers = frozenset(_changed_ints(frames, values)) | frozenset(_symbolic_ints(programs))
    if not dims and not numbers and not all_sizes:
        return None
    return DynamicSpec(dims, all=all_sizes, numbers=numbers)


def _sizes(programs: Sequence[CapturedProgram | ControlProgram], values: dict[str, Any]) -> Dims:
    dims: Dims = {}
    for program in programs:
        for path, source, expected in _user_tensors(program):
            actual = _value_at(source, values)
            if not isinstance(actual, torch.Tensor) or actual.dim() != expected.dim():
                continue
            for dim, (old, new) in enumerate(zip(expected.shape, actual.shape, strict=True)):
                changed = isinstance(old, torch.SymInt) or old != new
                if changed and new > 1:
                    dims.setdefault(path, {})[dim] = (f"{path}_{dim}", 2, None)
    return dims


def _changed_ints(frames: Sequence[CapturedFrame], values: dict[str, Any]) -> Iterator[str]:
    """Sources of ints that a capture took as they were and that are others now."""
    for frame in frames:
        for guard in frame.guards.guards:
            if guard.kind != "EQUALS" or type(guard.payload) is not int or guard.source is None:
                continue
            source = guard.source.text()
            actual = _value_at(source, values) if source.startswith("L[") else None
            if type(actual) is int and actual != guard.payload:
                yield source


def _symbolic_ints(programs: Sequence[CapturedProgram | ControlProgram]) -> Iterator[str]:
    for program in programs:
        for described in program.inputs:
            if described.kind is InputKind.SCALAR:
                yield described.source


def _user_tensors(
    program: CapturedProgram | ControlProgram,
) -> Iterator[tuple[str, str, torch.Tensor]]:
    if isinstance(program, ControlProgram):
        values = list(program.values)
    else:
        nodes = program.graph.graph.find_nodes(op="placeholder")
        values = [node.meta["val"] for node in nodes]
    for described, value in zip(program.inputs, values, strict=True):
        if described.kind is InputKind.USER and isinstance(value, torch.Tensor):
            yield described.name, described.source, value


def _value_at(source: str, frame: dict[str, Any]) -> Any:
    """What the source expression of an earlier capture gives for this call."""
    try:
        # Sources are written by capture itself: subscripts and attributes below `L`.
        return eval(source, {"__builtins__": {}}, {"L": frame})
    except (AttributeError, LookupError, TypeError, NameError):
        return None
