"""`--format pt2`: writing an ExportedProgram, and running a file that was written."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from torch.export import ExportedProgram

from ptc.autograd.control import FunctionalControl
from ptc.exporters.check import call_inputs
from ptc.exporters.formats import ControlRunner, ExportOptions, Runner, Written, weight_of
from ptc.exporters.pt2 import torch_export, trees
from ptc.exporters.pt2.build import Recipe, build
from ptc.exporters.pt2.control import FileRunner, export_regions
from ptc.exporters.pt2.straight import runner
from ptc.graph.control import ControlProgram
from ptc.graph.program import AtenProgram, OutputKind
from ptc.support.diagnostics import InternalError

#: The file in the archive that says what torch's own do not.
_EXTRA = "ptc.json"


class Pt2Format:
    """`--format pt2`."""

    name = "pt2"
    suffix = ".pt2"
    splits_sizes = False
    omits = frozenset({"texts", "exceptions"})

    def write(self, program: AtenProgram, path: Path, options: ExportOptions) -> Written:
        exported, extra = export_straight(program, options)
        torch_export.save(exported, path, {_EXTRA: json.dumps(extra)})
        count = sum(1 for _ in torch_export.operators_of(exported))
        return Written((path,), count, {"torch": torch.__version__}, _notes(program))

    def load(self, program: AtenProgram, path: Path) -> Runner:
        return run_file(program, path)

    def write_control(
        self, program: FunctionalControl, path: Path, options: ExportOptions
    ) -> Written:
        exported, extra, notes = export_regions(program, options)
        torch_export.save(exported, path, {_EXTRA: json.dumps(extra)})
        count = sum(1 for _ in torch_export.operators_of(exported))
        found = (*notes, *_notes(program.program))
        return Written((path,), count, {"torch": torch.__version__}, found)

    def load_control(self, program: FunctionalControl, path: Path) -> ControlRunner:
        return FileRunner(program.program, path, _EXTRA)


FORMAT = Pt2Format()


def export_straight(
    program: AtenProgram, options: ExportOptions
) -> tuple[ExportedProgram, dict[str, Any]]:
    """The ExportedProgram of a straight program, and what else the file says."""
    if program.arguments is None or program.result is None:
        raise InternalError("export", "a segment is no program that can be called")
    weights = {
        described.name: tensor
        for position, described in enumerate(program.inputs)
        if (tensor := weight_of(program, position, options)) is not None
    }
    fakes = [n.meta["val"] for n in program.graph.graph.nodes if n.op == "placeholder"]
    recipe = Recipe(
        program.name, program.inputs, {at: fakes[at] for at in call_inputs(program)},
        program.dims, program.arguments, program.result, weights,
        [output.target for output in program.outputs if output.target is not None],
        runner(program),
    )  # fmt: skip
    return build(recipe)


def _notes(program: AtenProgram | ControlProgram) -> tuple[str, ...]:
    assert program.arguments is not None and program.result is not None
    found = trees.changed_classes(program.arguments) | trees.changed_classes(program.result)
    return tuple(
        f"`{name}` is a dict of its fields in the file (a tuple, if it is a named tuple)"
        for name in sorted(found)
    )


def run_file(program: AtenProgram, path: Path) -> Runner:
    """Runs a file; each run begins with the buffers that the file has."""
    exported, text = torch_export.load(path, _EXTRA)
    module = exported.module()
    names = json.loads(text)["weights"]
    buffers = dict(module.named_buffers())
    initial = {name: tensor.clone() for name, tensor in buffers.items()}
    positions = call_inputs(program)
    arguments, result = program.arguments, program.result
    assert arguments is not None and result is not None

    def run(values: Sequence[Any]) -> list[Any]:
        given = dict(zip(positions, map(_copied, values), strict=True))
        args, kwargs = trees.call_of(arguments, given)
        with torch.no_grad():
            for name, tensor in initial.items():
                buffers[name].copy_(tensor)
            found = trees.leaves_of(result, module(*args, **kwargs))
        results: list[Any] = []
        for index, output in enumerate(program.outputs):
            if output.kind is OutputKind.USER:
                results.append(_copied(found[index]))
            else:
                assert output.target is not None
                name = program.inputs[output.target].name
                kept = given.get(output.target)
                results.append(_copied(buffers[names[name]] if kept is None else kept))
        return results

    return run


def _copied(value: Any) -> Any:
    return value.clone() if isinstance(value, torch.Tensor) else value
