"""The exporter of the portable IR, and reading a `.ptir` file back as a program.

The check runs the file, not the program: text and weights are read back, lowered and run by the
loop interpreter.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from ptc.autograd.control import FunctionalControl
from ptc.exporters.check import call_inputs
from ptc.exporters.formats import ControlRunner, ExportOptions, Runner, Written, content_of
from ptc.exporters.ptir.container import MANIFEST, read_package, write_package
from ptc.exporters.ptir.control_extract import extract_control
from ptc.exporters.ptir.control_ir import ControlModule
from ptc.exporters.ptir.control_parser import is_control, parse_control
from ptc.exporters.ptir.control_printer import print_control_module
from ptc.exporters.ptir.control_rebuild import rebuild_control, with_assumptions
from ptc.exporters.ptir.extract import extract
from ptc.exporters.ptir.ir import SCHEMA, Module
from ptc.exporters.ptir.manifest import Structures, describe, operator_count, structures_of
from ptc.exporters.ptir.parser import parse_module
from ptc.exporters.ptir.printer import print_module
from ptc.exporters.ptir.rebuild import rebuild
from ptc.graph.control import ControlProgram
from ptc.graph.control_run import run_outputs
from ptc.graph.program import AtenProgram, InputKind, ProgramInput
from ptc.graph.symbols import bind_sizes
from ptc.hosting.effects import Emit
from ptc.loops import interpreter
from ptc.loops.index import Index
from ptc.loops.nodes import Program
from ptc.schedule.lower import lower
from ptc.support.diagnostics import CompileError, InternalError
from ptc.support.version import VERSION

#: The form of a program that the portable IR says.
Portable = AtenProgram | ControlProgram


class PortableFormat:
    """`--format ptir`."""

    name = "ptir"
    suffix = ".ptir"
    splits_sizes = True
    omits: frozenset[str] = frozenset()

    def write(self, program: AtenProgram, path: Path, options: ExportOptions) -> Written:
        module, literals = extract(program)
        tensors = _contents(program.inputs, options, literals)
        structures = Structures(program.arguments, program.result)
        return _write(path, module, tensors, structures, program.inputs)

    def load(self, program: AtenProgram, path: Path) -> Runner:
        return interpret(_straight(read_program(path)))

    def write_control(
        self, program: FunctionalControl, path: Path, options: ExportOptions
    ) -> Written:
        extracted = extract_control(program)
        tree = program.program
        tensors = _contents(tree.inputs, options, extracted.literals)
        module = with_assumptions(extracted.module, tensors, extracted.knows)
        result = None if tree.variants else tree.result
        structures = Structures(tree.arguments, result, tree.variants)
        return _write(path, module, tensors, structures, tree.inputs)

    def load_control(self, program: FunctionalControl, path: Path) -> ControlRunner:
        read = read_program(path)
        assert isinstance(read, ControlProgram)
        return ReferenceRunner(read)


FORMAT = PortableFormat()


# --- writing ------------------------------------------------------------------------------------


def _contents(
    inputs: Sequence[ProgramInput], options: ExportOptions, literals: Mapping[str, torch.Tensor]
) -> dict[str, torch.Tensor]:
    """What the weights file holds: the contents of inputs, and literals."""
    tensors: dict[str, torch.Tensor] = {}
    for described in inputs:
        weight = content_of(described, options)
        if weight is not None:
            tensors[described.name] = weight
    clash = tensors.keys() & literals.keys()
    if clash:
        raise CompileError("PTC-E011", f"the parameter name `{min(clash)}` is reserved")
    return {**tensors, **literals}


def _write(
    path: Path,
    module: Module | ControlModule,
    tensors: Mapping[str, torch.Tensor],
    structures: Structures,
    inputs: Sequence[ProgramInput],
) -> Written:
    text = print_text(module)
    if parse_text(text) != module:
        raise InternalError("export", "the portable IR does not read back as it was written")
    manifest = {
        "format": "ptir",
        "schema": SCHEMA,
        "ptc": VERSION,
        "torch": torch.__version__,
        "name": module.name,
        "entries": [describe(module, structures)],
        "aliases": {i.name: list(i.aliases) for i in inputs if i.aliases},
    }
    write_package(path, text, manifest, tensors)
    return Written((path,), operator_count(module), {"schema": str(SCHEMA)})


def print_text(module: Module | ControlModule) -> str:
    """The text of a program, with or without control flow."""
    if isinstance(module, ControlModule):
        return print_control_module(module)
    return print_module(module)


def parse_text(text: str) -> Module | ControlModule:
    """The inverse of `print_text`. Raises CompileError PTC-E010 naming the line."""
    return parse_control(text) if is_control(text) else parse_module(text)


# --- reading ------------------------------------------------------------------------------------


def read_program(path: Path) -> Portable:
    """The program in a `.ptir` file. Raises CompileError PTC-E010 for a damaged file."""
    package = read_package(path)
    module = parse_text(package.text)
    structures = structures_of(package.entry, module, MANIFEST)
    if isinstance(module, ControlModule):
        return rebuild_control(
            module, package.tensors, aliases=package.aliases, structures=structures
        )
    return rebuild(
        module,
        package.tensors,
        aliases=package.aliases,
        arguments=structures.arguments,
        result=structures.result,
    )


def _straight(program: Portable) -> AtenProgram:
    assert isinstance(program, AtenProgram)
    return program


# --- running ------------------------------------------------------------------------------------


class ReferenceRunner:
    """Runs a program with control flow by the interpreter that defines what programs mean."""

    def __init__(self, program: ControlProgram) -> None:
        self._program = program
        self._state: dict[str, Any] = {}
        kinds = (InputKind.USER, InputKind.SCALAR)
        self._names = [i.name for i in program.inputs if i.kind in kinds]

    def __call__(self, values: Sequence[Any], emit: Emit) -> tuple[Sequence[Any], int]:
        given = dict(zip(self._names, values, strict=True))
        return run_outputs(self._program, given, self._state, emit=emit)

    def reset(self) -> None:
        self._state = {}


def interpret(program: AtenProgram) -> Runner:
    """Runs a program by lowering it and interpreting the loops. Slow, and independent of any
    compiler: the reference for what the file means."""
    lowered = lower(program)
    weights = {i.name: to_numpy(i.live) for i in program.inputs if i.live is not None}
    positions = call_inputs(program)
    placeholders = [node for node in program.graph.graph.nodes if node.op == "placeholder"]

    def run(values: Sequence[Any]) -> list[Any]:
        names = [program.inputs[index].name for index in positions]
        shapes = [tuple(v.shape) if isinstance(v, torch.Tensor) else v for v in values]
        fakes = [placeholders[index].meta["val"] for index in positions]
        sizes = bind_sizes(names, fakes, shapes, program.dims)
        given = {name: to_numpy(value) for name, value in zip(names, values, strict=True)}
        outputs = interpreter.run(lowered, given, weights=weights, sizes=sizes)
        return [
            _result(lowered, name, value)
            for name, value in zip(lowered.outputs, outputs, strict=True)
        ]

    return run


def to_numpy(value: Any) -> np.ndarray[Any, Any]:
    """A tensor or number as the loop interpreter takes it (bf16 as uint16)."""
    if not isinstance(value, torch.Tensor):
        return np.asarray(value)
    value = value.detach().cpu().contiguous()
    return value.view(torch.uint16).numpy() if value.dtype == torch.bfloat16 else value.numpy()


def _result(lowered: Program, name: str | Index, value: Any) -> Any:
    if isinstance(name, Index):
        return int(value)
    tensor = torch.from_numpy(np.ascontiguousarray(value).reshape(np.shape(value)))
    bf16 = lowered.buffers[name].dtype.value == "bf16"
    return tensor.view(torch.bfloat16) if bf16 else tensor
