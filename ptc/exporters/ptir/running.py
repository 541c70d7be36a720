"""Runs programs that were read from `.ptir` files, on torch: the reference for what a file means.

Straight programs run operator by operator in eager torch, those with control flow by the
interpreter that defines them. Gives what `ControlRunner` says. Knows nothing of files.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import torch

from ptc.exporters.check import call_inputs
from ptc.graph.control import ControlProgram
from ptc.graph.control_run import Failure, run_outputs
from ptc.graph.program import AtenProgram, InputKind, OutputKind
from ptc.graph.symbols import bind_sizes
from ptc.hosting.effects import Emit
from ptc.support.diagnostics import CompileError, InternalError

#: The buffer that is torch's own generator.
GENERATOR = "default_generator"


class StraightRunner:
    """A program without control flow. `state` has the buffers that it writes, by name."""

    def __init__(self, program: AtenProgram) -> None:
        self._program = program
        self._positions = call_inputs(program)
        nodes = [node for node in program.graph.graph.nodes if node.op == "placeholder"]
        self._fakes = [nodes[position].meta["val"] for position in self._positions]
        self._names = [program.inputs[position].name for position in self._positions]
        written = {out.target for out in program.outputs if out.target is not None}
        self._written = [
            n for n, i in enumerate(program.inputs) if n in written and i.live is not None
        ]
        self.reset()

    def reset(self) -> None:
        """The content of buffers is that of the file again."""
        inputs = [self._program.inputs[position] for position in self._written]
        self.state: dict[str, Any] = {i.name: i.live.clone() for i in inputs if i.live is not None}

    def seed(self, seed: int) -> None:
        """As `torch.manual_seed`."""
        if GENERATOR in self.state:
            self.state[GENERATOR] = _seeded(seed)

    def __call__(self, values: Sequence[Any], emit: Emit) -> tuple[Sequence[Any], int]:
        del emit
        program = self._program
        shapes = [tuple(v.shape) if isinstance(v, torch.Tensor) else v for v in values]
        bind_sizes(self._names, self._fakes, shapes, program.dims)
        given: dict[int, Any] = {
            position: self.state.get(described.name, described.live)
            for position, described in enumerate(program.inputs)
        }
        given.update(zip(self._positions, values, strict=True))
        with torch.no_grad():
            results = program.graph(*(given[position] for position in range(len(program.inputs))))
            outputs = [
                apart(value, given.values())
                for described, value in zip(program.outputs, results, strict=True)
                if described.kind is OutputKind.USER
            ]
            for described, value in zip(program.outputs, results, strict=True):
                if described.target is not None:
                    given[described.target].copy_(value)
        return outputs, 0


class ReferenceRunner:
    """A program with control flow."""

    def __init__(self, program: ControlProgram) -> None:
        self._program = program
        self.state: dict[str, Any] = {}
        kinds = (InputKind.USER, InputKind.SCALAR)
        self._names = [i.name for i in program.inputs if i.kind in kinds]

    def __call__(self, values: Sequence[Any], emit: Emit) -> tuple[Sequence[Any], int]:
        given = dict(zip(self._names, values, strict=True))
        try:
            return run_outputs(self._program, given, self.state, emit=emit)
        except Failure as error:
            raise CompileError("PTC-R020", str(error)) from error
        except InternalError as error:
            message = error.diagnostic.message
            raise CompileError("PTC-E010", f"the program is not what it says: {message}") from error

    def reset(self) -> None:
        self.state = {}

    def seed(self, seed: int) -> None:
        """As `torch.manual_seed`."""
        if GENERATOR in self._program.written:
            self.state[GENERATOR] = _seeded(seed)


def _seeded(seed: int) -> torch.Tensor:
    return torch.ops.ptc.random_seeded(torch.tensor(seed))


def apart(value: Any, others: Iterable[Any]) -> Any:
    """The value, or a copy where it shares memory with one of the others."""
    if not isinstance(value, torch.Tensor):
        return value
    memory = {_memory(other) for other in others if isinstance(other, torch.Tensor)}
    return value.clone() if _memory(value) in memory else value


def _memory(tensor: torch.Tensor) -> int:
    return tensor.untyped_storage().data_ptr()


def runner_of(program: AtenProgram | ControlProgram) -> StraightRunner | ReferenceRunner:
    """What runs a program that was read."""
    if isinstance(program, ControlProgram):
        return ReferenceRunner(program)
    return StraightRunner(program)
