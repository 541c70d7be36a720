"""The ONNX exporter: translate, tidy, save, check with onnx.checker and ONNX Runtime."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import onnx
import onnx_ir as ir
from onnx_ir.passes.common import RemoveUnusedNodesPass

from ptc.autograd.control import FunctionalControl
from ptc.exporters.check import call_inputs
from ptc.exporters.formats import ControlRunner, ExportOptions, Runner, Written
from ptc.exporters.onnx import run, run_control
from ptc.exporters.onnx.control import kept_names, translate_control
from ptc.exporters.onnx.naming import Names
from ptc.exporters.onnx.translate import NEWEST_OPSET, OLDEST_OPSET, translate
from ptc.exporters.regions_build import build_regions
from ptc.graph.program import AtenProgram
from ptc.support.diagnostics import CompileError, InternalError

#: The newest version with which every rule's samples have been run. Newer ones that a runtime
#: knows can be asked for.
TESTED_OPSET = 24

#: Weights beyond this go into a file beside the model, where they are written, checked and run in
#: place: protobuf holds a file of its own several times, and ends at 2 GB.
EXTERNAL_BYTES = 1536 << 20
#: Smaller tensors stay in the model file even then.
_EXTERNAL_TENSOR = 1024


class OnnxFormat:
    """`--format onnx`. Settings: `opset`; `external` (weights in a file of their own; by default
    only when the model would be too large); `input_names` and `output_names` (lists in order, or
    new names by old)."""

    name = "onnx"
    suffix = ".onnx"
    splits_sizes = True
    omits = frozenset({"texts", "exceptions"})

    def write(self, program: AtenProgram, path: Path, options: ExportOptions) -> Written:
        names = Names.of(program, options.settings)
        opset = _opset(options.settings)
        return self._written(translate(program, options, opset, names), path, options, opset, ())

    def write_control(
        self, program: FunctionalControl, path: Path, options: ExportOptions
    ) -> Written:
        regions = build_regions(program)
        opset = _opset(options.settings)
        names = Names.of_control(program.program, kept_names(regions), options.settings)
        model = translate_control(regions, options, opset, names)
        return self._written(model, path, options, opset, regions.notes)

    def _written(
        self,
        model: ir.Model,
        path: Path,
        options: ExportOptions,
        opset: int,
        notes: tuple[str, ...],
    ) -> Written:
        RemoveUnusedNodesPass()(model)
        size = sum(value.const_value.nbytes for value in model.graph.initializers.values()
                   if value.const_value is not None)  # fmt: skip
        files = self._save(model, path, options.settings.get("external", size > EXTERNAL_BYTES))
        _check(path)
        count = sum(1 for _ in ir.traversal.RecursiveGraphIterator(model.graph))
        return Written(files, count, {"opset": str(opset)}, notes)

    def _save(self, model: ir.Model, path: Path, external: bool) -> tuple[Path, ...]:
        if not external:
            ir.save(model, path)
            return (path,)
        beside = f"{path.name}.data"
        ir.save(model, path, external_data=beside, size_threshold_bytes=_EXTERNAL_TENSOR)
        return (path, path.parent / beside)

    def load(self, program: AtenProgram, path: Path) -> Runner:
        return run.load(path, [program.inputs[index].name for index in call_inputs(program)])

    def load_control(self, program: FunctionalControl, path: Path) -> ControlRunner:
        return run_control.load(program.program, path)


def _opset(settings: Mapping[str, Any]) -> int:
    opset = settings.get("opset")
    if opset is None:
        return min(TESTED_OPSET, run.newest_opset() or TESTED_OPSET)
    if not isinstance(opset, int) or not OLDEST_OPSET <= opset <= NEWEST_OPSET:
        raise CompileError(
            "PTC-E023",
            f"opset {opset} is not supported, expected {OLDEST_OPSET}..{NEWEST_OPSET}",
        )
    return opset


FORMAT = OnnxFormat()


def _check(path: Path) -> None:
    """The official checker, shape inference included. By path: it then reads weights beside it."""
    try:
        onnx.checker.check_model(str(path), full_check=True)
    except (onnx.checker.ValidationError, onnx.shape_inference.InferenceError) as error:
        raise InternalError("export", f"onnx.checker refuses the model: {error}") from error
