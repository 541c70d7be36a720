"""Running an exported program with control flow, call by call, for the check.

Takes a file and the program that it was made of, gives a `ControlRunner`: what calls leave comes
out of the model and goes into the next call.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import onnx
import torch

from ptc.exporters.onnx.run import Session
from ptc.graph.control import ControlProgram, ListVar, NumberKind, NumberVar, TensorVar, Var
from ptc.graph.control_operations import type_of_kind
from ptc.graph.program import InputKind
from ptc.hosting.effects import Emit


def load(program: ControlProgram, path: Path) -> ControlRun:
    """A session on the model. Raises CompileError as `run.load`."""
    return ControlRun(program, path)


class ControlRun:
    """See `ptc.exporters.formats.ControlRunner`."""

    def __init__(self, program: ControlProgram, path: Path) -> None:
        self._program = program
        self._session = Session(path)
        graph = onnx.load(str(path), load_external_data=False).graph
        names = [value.name for value in graph.input]
        calls = [i for i in program.inputs if i.kind in (InputKind.USER, InputKind.SCALAR)]
        self._given = names[: len(calls)]
        buffers = [i for i in program.inputs if i.live is not None and i.name in program.written]
        kept = [item.variable for item in (*program.state, *program.references)]
        self._entries = dict(zip([*(b.name for b in buffers), *(v.name for v in kept)],
                                 names[len(calls):], strict=True))  # fmt: skip
        self._positions = {described.name: n for n, described in enumerate(calls)}
        written = [i.name for i in program.inputs if i.name in program.written]
        self._left = [*written, *(variable.name for variable in kept)]
        self._references = [r.variable for r in program.references]
        self._state: dict[str, Any] = {}

    def reset(self) -> None:
        self._state = {}

    def __call__(self, values: Sequence[Any], emit: Emit) -> tuple[Sequence[Any], int]:
        feeds = dict(zip(self._given, values, strict=True))
        for name, entry in self._entries.items():
            if name in self._state:
                feeds[entry] = self._state[name]
        for variable in self._references:
            if isinstance(variable, ListVar) and variable.name not in self._state:
                feeds[self._entries[variable.name]] = _nothing(variable)
        found = self._session.run(feeds)
        count = len(self._program.outputs)
        results = [
            as_python(value, output.value)
            for value, output in zip(found[:count], self._program.outputs, strict=True)
        ]
        has_variant = self._program.selector is not None
        variant = int(found[count]) if has_variant else 0
        for name, value in zip(self._left, found[count + has_variant :], strict=True):
            position = self._positions.get(name)
            if position is None:
                self._state[name] = value
            else:
                values[position].detach().copy_(value)
        return results, variant


def _nothing(variable: ListVar) -> Any:
    return torch.zeros(0, dtype=torch.int64) if isinstance(variable.element, NumberKind) else []


def as_python(value: Any, variable: Var) -> Any:
    """A value of the model as the program has it."""
    match variable:
        case TensorVar():
            return value
        case NumberVar(_, kind):
            return type_of_kind(kind)(value.item())
        case ListVar(_, element):
            if isinstance(element, NumberKind):
                return value.tolist()
            if isinstance(element, ListVar):
                return [inner.tolist() for inner in value]
            return value
        case _:
            return str(value)
