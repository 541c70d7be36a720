"""The exporter of the portable IR, and reading a `.ptir` file back as a program.

The check runs the file, not the program: text and weights are read back, lowered and run by the
loop interpreter.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from ptc.exporters.check import call_inputs
from ptc.exporters.formats import ExportOptions, Runner, Written, weight_of
from ptc.exporters.ptir.container import read_package, write_package
from ptc.exporters.ptir.extract import extract
from ptc.exporters.ptir.ir import SCHEMA
from ptc.exporters.ptir.parser import parse_module
from ptc.exporters.ptir.printer import print_module
from ptc.exporters.ptir.rebuild import rebuild
from ptc.graph.program import AtenProgram
from ptc.graph.structure import from_json, to_json
from ptc.graph.symbols import bind_sizes
from ptc.loops import interpreter
from ptc.loops.index import Index
from ptc.loops.nodes import Program
from ptc.schedule.lower import lower
from ptc.support.diagnostics import CompileError, InternalError
from ptc.support.version import VERSION


class PortableFormat:
    """`--format ptir`."""

    name = "ptir"
    suffix = ".ptir"

    def write(self, program: AtenProgram, path: Path, options: ExportOptions) -> Written:
        module, literals = extract(program)
        text = print_module(module)
        if parse_module(text) != module:
            raise InternalError("export", "the portable IR does not read back as it was written")
        tensors: dict[str, torch.Tensor] = {}
        for position, described in enumerate(program.inputs):
            weight = weight_of(program, position, options)
            if weight is not None:
                tensors[described.name] = weight
        clash = tensors.keys() & literals.keys()
        if clash:
            raise CompileError("PTC-E011", f"the parameter name `{min(clash)}` is reserved")
        write_package(path, text, _manifest(program), {**tensors, **literals})
        return Written((path,), len(module.instructions), {"schema": str(SCHEMA)})

    def load(self, program: AtenProgram, path: Path) -> Runner:
        return interpret(read_program(path))


FORMAT = PortableFormat()


def _manifest(program: AtenProgram) -> dict[str, Any]:
    return {
        "format": "ptir",
        "schema": SCHEMA,
        "ptc": VERSION,
        "torch": torch.__version__,
        "name": program.name,
        "aliases": {i.name: list(i.aliases) for i in program.inputs if i.aliases},
        "arguments": None if program.arguments is None else to_json(program.arguments),
        "result": None if program.result is None else to_json(program.result),
    }


def read_program(path: Path) -> AtenProgram:
    """The program in a `.ptir` file. Raises CompileError PTC-E010 for a damaged file."""
    package = read_package(path)
    structures = [package.manifest.get(name) for name in ("arguments", "result")]
    arguments, result = (None if item is None else from_json(item) for item in structures)
    aliases = package.manifest.get("aliases", {})
    return rebuild(
        parse_module(package.text),
        package.tensors,
        aliases={str(name): tuple(map(str, others)) for name, others in aliases.items()},
        arguments=arguments,
        result=result,
    )


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
