"""`--format torchscript`: a `.pt` file that `torch.jit.load` and libtorch run without ptc.

The check runs the file, loaded by torch, not the program.
"""

from __future__ import annotations

from pathlib import Path

import torch

from ptc.autograd.control import FunctionalControl
from ptc.exporters.formats import ExportOptions, Runner, Written
from ptc.exporters.torchscript.compiled import load, save
from ptc.exporters.torchscript.control import write_control
from ptc.exporters.torchscript.method import Method
from ptc.exporters.torchscript.running import ScriptRunner
from ptc.exporters.torchscript.straight import run_straight, write_straight
from ptc.graph.program import AtenProgram
from ptc.support.version import VERSION


class TorchScriptFormat:
    """`--format torchscript`."""

    name = "torchscript"
    suffix = ".pt"
    splits_sizes = True
    omits: frozenset[str] = frozenset()

    def write(self, program: AtenProgram, path: Path, options: ExportOptions) -> Written:
        script, method = write_straight(program, options)
        return _saved(script, method, path)

    def load(self, program: AtenProgram, path: Path) -> Runner:
        script, about = load(path)
        return run_straight(program, script, about["paths"])

    def write_control(
        self, program: FunctionalControl, path: Path, options: ExportOptions
    ) -> Written:
        script, method = write_control(program, options)
        return _saved(script, method, path)

    def load_control(self, program: FunctionalControl, path: Path) -> ScriptRunner:
        return ScriptRunner(program.program, lambda: load(path)[0])


def _saved(script: object, method: Method, path: Path) -> Written:
    writer = method.writer
    save(script, path, {"ptc": VERSION, "paths": method.paths, "notes": writer.notes})
    return Written((path,), writer.operators, {"torch": torch.__version__}, tuple(writer.notes))


FORMAT = TorchScriptFormat()
