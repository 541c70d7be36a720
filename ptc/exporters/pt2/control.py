"""Programs with control flow as modules that `torch.export` traces, and running files of them.

Kept numbers and tensors are buffers that the module writes, under the attributes' names. Takes a
`FunctionalControl`, gives a module with its example call, or a `ControlRunner` of a file.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from torch.export import ExportedProgram
from torch.fx.traceback import preserve_node_meta

from ptc.autograd.control import FunctionalControl
from ptc.exporters.formats import ExportOptions, content_of
from ptc.exporters.pt2 import numbers, torch_export, trees
from ptc.exporters.pt2.build import Recipe, Run, build
from ptc.exporters.pt2.regions import RegionTracer, kind_of, placed_at
from ptc.exporters.regions import RegionProgram, Value
from ptc.exporters.regions_build import build_regions
from ptc.graph.control import (
    ControlProgram,
    NumberKind,
    NumberVar,
    StateNumber,
    StateReference,
    TensorVar,
)
from ptc.graph.program import InputKind, ProgramInput
from ptc.hosting.effects import Emit
from ptc.support.diagnostics import CompileError, InternalError


def export_regions(
    functional: FunctionalControl, options: ExportOptions
) -> tuple[ExportedProgram, dict[str, Any], tuple[str, ...]]:
    """The ExportedProgram of a program with control flow, what else the file says, and notes."""
    program = functional.program
    if program.arguments is None or program.result is None or program.variants:
        raise CompileError(
            "PTC-E050",
            "data decides the structure of the result, which an exported program of torch fixes",
            location=program.location,
            hint="return the same structure on every path, or use `ptc compile`",
        )
    regions = build_regions(functional)
    kept = [_kept_input(state) for state, _ in regions.state]
    inputs = [*program.inputs, *kept]
    weights = {i.name: t for i in inputs if (t := content_of(i, options)) is not None}
    fakes = {at: program.values[at] for at in _call_positions(program)}
    for at, fake in fakes.items():
        if isinstance(fake, (torch.SymFloat, torch.SymBool, float, bool)):
            raise _varying_number(program.inputs[at])
    written, run = _runner(regions, inputs)
    recipe = Recipe(
        program.name, inputs, fakes, program.dims, program.arguments, program.result, weights,
        written, run,
    )  # fmt: skip
    exported, extra = build(recipe)
    return exported, extra, regions.notes


def _varying_number(described: ProgramInput) -> CompileError:
    return CompileError(
        "PTC-E052",
        f"the argument `{described.name}` is a float or a bool that may change, which torch.export "
        "takes for fixed",
        hint="pass it as a tensor: torch.tensor(value)",
    )


def _call_positions(program: ControlProgram) -> list[int]:
    kinds = (InputKind.USER, InputKind.SCALAR)
    return [at for at, described in enumerate(program.inputs) if described.kind in kinds]


def _kept_input(state: StateNumber | StateReference) -> ProgramInput:
    """A buffer for what is kept from call to call, with what it holds in a new session."""
    if isinstance(state, StateNumber):
        live = torch.full((), state.initial, dtype=numbers.DTYPES[state.variable.kind])
    elif isinstance(state.variable, TensorVar) and all(
        isinstance(size, int) for size in state.variable.fake.shape
    ):
        fake = state.variable.fake
        live = torch.zeros(tuple(fake.shape), dtype=fake.dtype)
    else:
        raise CompileError(
            "PTC-E054",
            f"`{state.path}` keeps a string, a list, or a tensor of varying size from call to "
            "call, and programs of torch keep tensors of one shape",
            hint="keep it in a buffer of the greatest size, or use `ptc compile`",
        )
    return ProgramInput(state.path, InputKind.CONSTANT, state.path, live)


def _runner(regions: RegionProgram, inputs: Sequence[ProgramInput]) -> tuple[list[int], Run]:
    """The positions of the inputs that are written, and a function of the values of all."""
    places = {described.name: at for at, described in enumerate(inputs)}
    contents = [(places[described.name], value) for described, value in regions.written]
    contents += [(places[state.path], value) for state, value in regions.kept]
    targets = {at for at, _ in contents}

    def run(given: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        # What is written at the end must not be seen by values that were read before.
        apart = [item.clone() if at in targets else item for at, item in enumerate(given)]
        entered = {value: apart[places[described.name]] for described, value in regions.inputs}
        entered.update({value: apart[places[state.path]] for state, value in regions.state})
        weights = {i.name: given[at] for at, i in enumerate(inputs) if at not in targets}
        tracer = RegionTracer(entered, weights)
        with preserve_node_meta(), placed_at(regions.program.location):
            tracer.run(regions.body)
        return (
            [_content(tracer.values[value], value) for _, value in contents],
            [_result(tracer.values[value], value) for _, value in regions.outputs],
        )

    return [at for at, _ in contents], run


def _content(found: Any, value: Value) -> torch.Tensor:
    if isinstance(value.type, NumberVar):
        return numbers.as_tensor(found, kind_of(value))
    return found


def _result(found: Any, value: Value) -> Any:
    """A result as a file can say it: an int as eager's; other numbers that data decides are tensors
    without dimensions."""
    if isinstance(value.type, NumberVar):
        kind = kind_of(value)
        return numbers.as_scalar(found, kind) if kind is NumberKind.INT else found
    if isinstance(value.type, TensorVar):
        return found
    raise CompileError(
        "PTC-E054",
        f"the result `{value.type.name}` is a string, or a list of which data decides the length",
        hint="give it back as a tensor, or use `ptc compile`",
    )


def _as_eager(variable: Any, result: Any) -> Any:
    is_number = isinstance(variable, NumberVar) and isinstance(result, torch.Tensor)
    return result.item() if is_number else result


class FileRunner:
    """Runs a file, call by call. See `formats.ControlRunner`."""

    def __init__(self, program: ControlProgram, path: Path, extra: str) -> None:
        exported, text = torch_export.load(path, extra)
        self._program = program
        self._module = exported.module()
        self._names: Mapping[str, str] = json.loads(text)["weights"]
        self._initial = {n: t.clone() for n, t in self._module.named_buffers()}
        self._positions = _call_positions(program)

    def __call__(self, values: Sequence[Any], emit: Emit) -> tuple[Sequence[Any], int]:
        del emit
        program = self._program
        if program.arguments is None or program.result is None:
            raise InternalError("export", "a segment is no program that can be called")
        given = dict(zip(self._positions, values, strict=True))
        args, kwargs = trees.call_of(program.arguments, given)
        with torch.no_grad():
            found = trees.leaves_of(program.result, self._module(*args, **kwargs))
        results = [found.get(index) for index in range(len(program.outputs))]
        pairs = zip(program.outputs, results, strict=True)
        return [_as_eager(output.value, result) for output, result in pairs], 0

    def reset(self) -> None:
        with torch.no_grad():
            for name, tensor in self._module.named_buffers():
                tensor.copy_(self._initial[name])
