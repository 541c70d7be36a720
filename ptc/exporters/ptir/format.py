"""The exporter of the portable IR, and reading a `.ptir` file back as a program.

The check runs the file, not the program: text and weights are read back and run on eager torch.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

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
from ptc.exporters.ptir.running import ReferenceRunner, StraightRunner
from ptc.graph.control import ControlProgram
from ptc.graph.program import AtenProgram, ProgramInput
from ptc.hosting.effects import emit_here
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
        read = read_program(path)
        assert isinstance(read, AtenProgram)
        run = StraightRunner(read)

        def outputs(values: Sequence[Any]) -> list[Any]:
            """Results, and what is in the inputs that the program writes to, in a new session."""
            run.reset()
            results = iter(run(values, emit_here)[0])
            given = dict(zip(call_inputs(program), values, strict=True))
            return [
                next(results)
                if described.target is None
                else given.get(described.target, run.state.get(described.name))
                for described in read.outputs
            ]

        return outputs

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
