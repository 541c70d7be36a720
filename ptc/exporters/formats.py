"""What a format is, and the table of formats.

A format writes a program to a folder that `api` gives it and runs what it wrote, so that `api` can
compare with eager. Knows no format itself.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import torch

from ptc.autograd.control import FunctionalControl
from ptc.graph.program import AtenProgram, ProgramInput
from ptc.hosting.effects import Emit
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


class ControlRunner(Protocol):
    """Runs an exported program with control flow, call by call.

    A call takes the values of the inputs that are no weights, in program order, and gives the
    values of `program.outputs` (tensors, Python numbers, strings, lists; None for one that has no
    meaning in the variant) with the number of the variant that they are of (0 without variants).
    It writes in place to the tensors that the program writes, keeps the program's state, and raises
    the program's exceptions as `ptc.hosting.effects.exception_of` makes them. Texts go to `emit`.
    """

    def __call__(self, values: Sequence[Any], emit: Emit) -> tuple[Sequence[Any], int]: ...

    def reset(self) -> None:
        """Forget what calls left: the next one is the first of a new session."""
        ...


@runtime_checkable
class ControlFormat(Protocol):
    """A format that takes programs with control flow, too.

    splits_sizes  sizes that torch treats apart (1, when broadcasting) may become branches around
                  the program; otherwise such a program is made for sizes from 2 on, with a note
    omits         what the format cannot say, and is not compared: `texts` (prints, logs, warnings),
                  `exceptions` (input sets for which the program raises are left out)
    """

    @property
    def splits_sizes(self) -> bool: ...

    @property
    def omits(self) -> frozenset[str]: ...

    def write_control(
        self, program: FunctionalControl, path: Path, options: ExportOptions
    ) -> Written:
        """As `write`. Raises CompileError with a code of the format's for what it cannot say."""
        ...

    def load_control(self, program: FunctionalControl, path: Path) -> ControlRunner: ...


#: Format name -> module whose `FORMAT` it is. Modules load on first use: each has its own
#: libraries.
FORMATS: Mapping[str, str] = {
    "onnx": "ptc.exporters.onnx.format",
    "pt2": "ptc.exporters.pt2.format",
    "ptir": "ptc.exporters.ptir.format",
    "torchscript": "ptc.exporters.torchscript.format",
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
    return content_of(program.inputs[position], options)


def content_of(described: ProgramInput, options: ExportOptions) -> torch.Tensor | None:
    """The content of an input of a program, as `weight_of`."""
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
