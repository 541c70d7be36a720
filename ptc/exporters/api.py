"""The export entry: write a program in a format, run what was written, compare, put it in place.

Files appear under their final names only when every check has passed. Knows no format: see
`formats`.
"""

from __future__ import annotations

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
from ptc.support.landing import disk_errors, land, staging_folder

_UNWRITABLE = "PTC-E004"


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
    with staging_folder(final, _UNWRITABLE) as staging:
        staged = staging / final.name
        with disk_errors(final, _UNWRITABLE):
            written = target.write(program, staged, options)
        wrote = time.perf_counter()
        errors: list[OutputError] = []
        if checks:
            errors = compare(program, target.load(program, staged), checks)
            require_passed(errors, f"the {format} export")
        checked = time.perf_counter()
        size = sum(path.stat().st_size for path in written.files)
        # The one the user named comes last: it refers to the others.
        places = {final.parent / path.name: path for path in reversed(written.files)}
        land(places, _UNWRITABLE)
    return ExportReport(
        format=format,
        files=tuple(reversed(places)),
        size=size,
        inputs=tuple(_ports(program, inputs=True)),
        outputs=tuple(_ports(program, inputs=False)),
        operators=written.operators,
        errors=tuple(errors),
        seconds={"write": wrote - started, "check": checked - wrote},
        facts=written.facts,
        notes=written.notes,
    )


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
