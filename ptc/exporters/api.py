"""The export entry: write a program in a format, run what was written, compare, put it in place.

Files appear under their final names only when every check has passed. Knows no format: see
`formats`.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

from ptc.exporters.check import CheckSet, OutputError, call_inputs, compare, require_passed
from ptc.exporters.formats import ExportOptions, find_format
from ptc.graph.program import AtenProgram, OutputKind
from ptc.graph.types import type_text
from ptc.support.diagnostics import CompileError


@dataclass(frozen=True, slots=True)
class PortInfo:
    """An input or output as the report shows it: `x`, `f32[batch, 10]`."""

    name: str
    type: str


@dataclass(frozen=True, slots=True)
class ExportReport:
    """What was exported. `errors` is empty when nothing was checked; `facts` are the format's
    own."""

    format: str
    files: tuple[Path, ...]
    size: int
    inputs: tuple[PortInfo, ...]
    outputs: tuple[PortInfo, ...]
    operators: int
    errors: tuple[OutputError, ...]
    seconds: Mapping[str, float]
    facts: Mapping[str, str] = field(default_factory=dict[str, str])
    notes: tuple[str, ...] = ()

    @property
    def worst_error(self) -> float | None:
        return max((row.error for row in self.errors), default=None)


def export(
    program: AtenProgram,
    *,
    format: str,
    output: str | Path,
    checks: Sequence[CheckSet] = (),
    weights: Mapping[str, torch.Tensor] | None = None,
    settings: Mapping[str, Any] | None = None,
) -> ExportReport:
    """Write `program` to `output` in `format`; with `checks`, compare each output with eager first.

    `weights` gives content for parameters by name where the live tensors are not to be used. Raises
    CompileError: PTC-E001 unknown format, PTC-E003 the export differs from eager, PTC-E004 the file
    cannot be written, and the format's own codes. On any error nothing is left behind.
    """
    target = find_format(format)
    final = Path(output)
    options = ExportOptions(weights or {}, settings or {})
    started = time.perf_counter()
    with _staging_folder(final) as staging:
        staged = Path(staging) / final.name
        written = target.write(program, staged, options)
        wrote = time.perf_counter()
        errors: list[OutputError] = []
        if checks:
            errors = compare(program, target.load(program, staged), checks)
            require_passed(errors, f"the {format} export")
        checked = time.perf_counter()
        size = sum(path.stat().st_size for path in written.files)
        files = _publish(written.files, final)
    return ExportReport(
        format=format,
        files=files,
        size=size,
        inputs=tuple(_ports(program, inputs=True)),
        outputs=tuple(_ports(program, inputs=False)),
        operators=written.operators,
        errors=tuple(errors),
        seconds={"write": wrote - started, "check": checked - wrote},
        facts=written.facts,
        notes=written.notes,
    )


def _staging_folder(final: Path) -> tempfile.TemporaryDirectory[str]:
    """A folder beside the output: on the same file system, so that moving is atomic."""
    try:
        final.parent.mkdir(parents=True, exist_ok=True)
        return tempfile.TemporaryDirectory(dir=final.parent, prefix=f".{final.name}.")
    except OSError as error:
        raise CompileError("PTC-E004", f"cannot write `{final}`: {error.strerror}") from error


def _publish(files: Sequence[Path], final: Path) -> tuple[Path, ...]:
    """Move files to their place, the one the user named last: it refers to the others."""
    placed: list[Path] = []
    try:
        for path in reversed(files):
            place = final.parent / path.name
            os.replace(path, place)
            placed.append(place)
    except OSError as error:
        for place in placed:
            place.unlink(missing_ok=True)
        raise CompileError("PTC-E004", f"cannot write `{final}`: {error.strerror}") from error
    return tuple(reversed(placed))


def _ports(program: AtenProgram, *, inputs: bool) -> list[PortInfo]:
    names = {symbol: described.name for symbol, described in program.dims.items()}

    def text(value: Any) -> str:
        shown = type_text(value)
        for symbol, name in names.items():
            shown = shown.replace(symbol, name)
        return shown

    nodes = list(program.graph.graph.nodes)
    if inputs:
        placeholders = [node for node in nodes if node.op == "placeholder"]
        return [
            PortInfo(program.inputs[index].name, text(placeholders[index].meta["val"]))
            for index in call_inputs(program)
        ]
    values = nodes[-1].args[0]
    return [
        PortInfo(out.name, text(value.meta["val"] if hasattr(value, "meta") else value))
        for out, value in zip(program.outputs, values, strict=True)
        if out.kind is OutputKind.USER
    ]
