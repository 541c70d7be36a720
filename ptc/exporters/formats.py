"""What a format is, and the table of formats.

A format writes a program to a folder that `api` gives it and runs what it wrote, so that `api` can
compare with eager. Knows no format itself.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import torch

from ptc.graph.program import AtenProgram
from ptc.support.diagnostics import CompileError

#: Runs an exported program: values of the inputs that are not weights, in program order, to the
#: values of `program.outputs` (tensors; numbers for sizes).
Runner = Callable[[Sequence[Any]], Sequence[Any]]


@dataclass(frozen=True, slots=True)
class ExportOptions:
    """What the caller may choose. `weights` overrides live tensors by input name; `settings` holds
    what only one format understands."""

    weights: Mapping[str, torch.Tensor] = field(default_factory=dict[str, torch.Tensor])
    settings: Mapping[str, Any] = field(default_factory=dict[str, Any])


@dataclass(frozen=True, slots=True)
class Written:
    """What a format wrote: files (the first one is the one the user named), the number of
    operators, and facts for the report (`opset`: `20`)."""

    files: tuple[Path, ...]
    operators: int
    facts: Mapping[str, str] = field(default_factory=dict[str, str])
    notes: tuple[str, ...] = ()


class ExportFormat(Protocol):
    """One format. `write` puts all files into the folder of `path`; `path` has the final name."""

    @property
    def name(self) -> str: ...

    @property
    def suffix(self) -> str: ...

    def write(self, program: AtenProgram, path: Path, options: ExportOptions) -> Written: ...

    def load(self, program: AtenProgram, path: Path) -> Runner: ...


#: Format name -> module whose `FORMAT` it is. Modules load on first use: each has its own
#: libraries.
FORMATS: Mapping[str, str] = {
    "onnx": "ptc.exporters.onnx.format",
    "ptir": "ptc.exporters.ptir.format",
}


def find_format(name: str) -> ExportFormat:
    """The format called `name`. Raises CompileError PTC-E001 for an unknown one."""
    module = FORMATS.get(name)
    if module is None:
        known = ", ".join(sorted(FORMATS))
        raise CompileError("PTC-E001", f"unknown export format `{name}`, expected one of {known}")
    return importlib.import_module(module).FORMAT


def weight_of(program: AtenProgram, position: int, options: ExportOptions) -> torch.Tensor | None:
    """The content of input `position` when it is a weight, else None.

    Raises CompileError PTC-E002 when the content is missing (a parameter on the meta device)."""
    described = program.inputs[position]
    if described.live is None:
        return None
    tensor = options.weights.get(described.name, described.live)
    if tensor.is_meta:
        raise CompileError(
            "PTC-E002",
            f"the parameter `{described.name}` has no content (it is on the meta device)",
            hint="give a checkpoint with --weights",
        )
    return tensor.detach()
