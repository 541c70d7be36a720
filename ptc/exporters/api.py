"""The export entry: write a program in a format, run what was written, compare, put it in place.

Files appear under their final names only when every check has passed. Knows no format: see
`formats`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import torch

from ptc.autograd.control import FunctionalControl
from ptc.exporters.check import CheckSet, OutputError, call_inputs, compare, require_passed
from ptc.exporters.formats import (
    ControlFormat,
    ControlRunner,
    ExportOptions,
    Written,
    find_format,
)
from ptc.graph.control import ControlProgram
from ptc.graph.control_outline import constructs
from ptc.graph.control_types import var_type
from ptc.graph.program import AtenProgram, InputKind, OutputKind
from ptc.graph.types import type_text
from ptc.support.diagnostics import CompileError
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
    options = ExportOptions(weights or {}, settings or {})

    def check(staged: Path) -> Sequence[OutputError]:
        return compare(program, target.load(program, staged), checks) if checks else ()

    found = _written(format, Path(output), lambda path: target.write(program, path, options), check)
    return replace(
        found,
        inputs=tuple(_ports(program, inputs=True)),
        outputs=tuple(_ports(program, inputs=False)),
    )


def export_control(
    program: FunctionalControl,
    *,
    format: str,
    output: str | Path,
    check: Callable[[ControlRunner, ControlFormat], Sequence[OutputError]] | None = None,
    weights: Mapping[str, torch.Tensor] | None = None,
    settings: Mapping[str, Any] | None = None,
) -> ExportReport:
    """As `export`, of a program with control flow; `check` runs what was written. Raises
    CompileError PTC-E006 if the format takes no such program."""
    target = find_format(format)
    if not isinstance(target, ControlFormat):
        raise no_control_flow(program.program, format)
    options = ExportOptions(weights or {}, settings or {})

    def run_check(staged: Path) -> Sequence[OutputError]:
        return () if check is None else check(target.load_control(program, staged), target)

    found = _written(
        format, Path(output), lambda path: target.write_control(program, path, options), run_check
    )
    inputs, outputs = _control_ports(program.program)
    return replace(found, inputs=tuple(inputs), outputs=tuple(outputs))


def no_control_flow(captured: ControlProgram, format: str) -> CompileError:
    """That an export format holds no program with control flow, with the first place of it."""
    first = next(iter(constructs(captured)), None)
    return CompileError(
        "PTC-E006",
        f"control flow that data decides cannot be exported to {format}",
        location=first.location if first is not None else captured.location,
        hint="`--format ptir` holds it, and `ptc compile` makes a library of it",
    )


def _written(
    format: str,
    final: Path,
    write: Callable[[Path], Written],
    check: Callable[[Path], Sequence[OutputError]],
) -> ExportReport:
    """Write to a folder of its own, check what was written, put it in its place."""
    started = time.perf_counter()
    with staging_folder(final, _UNWRITABLE) as staging:
        staged = staging / final.name
        with disk_errors(final, _UNWRITABLE):
            written = write(staged)
        wrote = time.perf_counter()
        errors = check(staged)
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
        inputs=(),
        outputs=(),
        operators=written.operators,
        errors=tuple(errors),
        seconds={"write": wrote - started, "check": checked - wrote},
        facts=written.facts,
        notes=written.notes,
    )


def _named(text: str, program: AtenProgram | ControlProgram) -> str:
    """A type with the user's names for sizes."""
    for symbol, described in program.dims.items():
        text = text.replace(symbol, described.name)
    return text


def _control_ports(program: ControlProgram) -> tuple[list[PortInfo], list[PortInfo]]:
    inputs = [
        PortInfo(described.name, _named(type_text(value), program))
        for described, value in zip(program.inputs, program.values, strict=True)
        if described.kind in (InputKind.USER, InputKind.SCALAR)
    ]
    outputs = [PortInfo(o.name, _named(var_type(o.value), program)) for o in program.outputs]
    return inputs, outputs


def _ports(program: AtenProgram, *, inputs: bool) -> list[PortInfo]:
    def text(value: Any) -> str:
        return _named(type_text(value), program)

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
