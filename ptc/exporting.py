"""The stages of an export, in order: capture, functional form, the format, the comparison.

A program with control flow goes to the formats that take it. What a stage does is its package's
business.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ptc.artifact.entry_capture import capture_entry
from ptc.artifact.forms import (
    Functional,
    captured_text,
    functional_form,
    functional_text,
    live_state,
    verify_captured_form,
)
from ptc.artifact.input_sets import EagerRaises, InputSet, SizeRange, input_sets, on_one_that_runs
from ptc.artifact.live_state import Session
from ptc.artifact.subjects import ProgramSubject
from ptc.artifact.verify import OutputCheck
from ptc.artifact.verify_control import verify_control_entry
from ptc.autograd.control import FunctionalControl
from ptc.exporters.api import ExportReport, export, export_control, no_control_flow
from ptc.exporters.check import CheckSet, OutputError, check_set
from ptc.exporters.formats import ControlFormat, ControlRunner, ExportFormat, find_format
from ptc.graph.control import ControlProgram
from ptc.graph.program import AtenProgram, DimRange
from ptc.loader.model import EntryRequest
from ptc.support.diagnostics import CompileError, InternalError
from ptc.support.dumps import Dumper
from ptc.support.landing import is_folder


def export_model(
    entries: Sequence[EntryRequest],
    *,
    format: str,
    output: str | Path | None = None,
    name: str | None = None,
    check: bool = True,
    dump_dir: Path | None = None,
    settings: Mapping[str, Any] | None = None,
) -> ExportReport:
    """Write a model in an exchange format; every output is compared with eager first.

    `output` is the file, or a folder for `NAME.FORMAT` (default: the current one). Raises
    CompileError PTC-E005 for several entries: a file holds one.
    """
    request = _only(entries)
    target = find_format(format)
    notes: list[str] = []
    functional = functional_of(request, target, notes, Dumper(dump_dir))
    path = _export_path(output, f"{name or request.name}{target.suffix}")
    if isinstance(functional, FunctionalControl):

        def run_check(run: ControlRunner, target: ControlFormat) -> list[OutputError]:
            return check_control(request, functional, run, target, notes)

        report = export_control(
            functional,
            format=format,
            output=path,
            check=run_check if check else None,
            settings=settings,
        )
    else:
        _refuse_generators(functional)
        checks = export_checks(request, functional, notes) if check else []
        report = export(functional, format=format, output=path, checks=checks, settings=settings)
    return replace(report, notes=(*notes, *report.notes))


def functional_of(
    request: EntryRequest, target: ExportFormat, notes: list[str], dumper: Dumper
) -> Functional:
    """The functional form that a format writes. Raises CompileError PTC-E006 for a program with
    control flow where the format takes none."""
    takes_control = isinstance(target, ControlFormat)
    captured = capture_entry(request, notes, branches=takes_control and target.splits_sizes)
    if isinstance(captured, ControlProgram):
        if not takes_control:
            raise no_control_flow(captured, target.name)
        verify_captured_form(captured)
    dumper.text("captured", lambda: captured_text(captured))
    functional = functional_form(captured)
    dumper.text("aten", lambda: functional_text(functional))
    return functional


def _only(entries: Sequence[EntryRequest]) -> EntryRequest:
    if len(entries) == 1:
        return entries[0]
    names = ", ".join(entry.name for entry in entries)
    raise CompileError(
        "PTC-E005",
        f"{len(entries)} entries were given ({names}), a file holds one",
        hint="export them one by one, with one --entry each",
    )


def _refuse_generators(aten: AtenProgram) -> None:
    if live_state(aten).generators:
        raise CompileError(
            "PTC-O002",
            "random numbers are drawn from a generator that goes on from call to call, which no "
            "exported file does",
            hint="draw from a generator made in forward: torch.Generator().manual_seed(seed)",
        )


# --- comparison with eager ----------------------------------------------------------------------


def _ranges(dims: Mapping[str, DimRange]) -> list[SizeRange]:
    return [SizeRange(dim.name, dim.lower, dim.upper) for dim in dims.values()]


def export_checks(request: EntryRequest, aten: AtenProgram, notes: list[str]) -> list[CheckSet]:
    """What eager gives for the example and what is drawn beside it, but for the ends of ranges."""

    def run_eager(given: InputSet) -> CheckSet:
        try:
            return check_set(aten, request.function, given.args, given.kwargs)
        except InternalError:
            raise
        except Exception as error:  # the user's code may raise anything
            raise EagerRaises(error) from error

    sets = (given for given in input_sets(request, _ranges(aten.dims)) if not given.end)
    with Session(live_state(aten)).call():
        found = [on_one_that_runs(given, run_eager, request.name, notes) for given in sets]
    return [item for item in found if item is not None]


def check_control(
    request: EntryRequest,
    functional: FunctionalControl,
    run: ControlRunner,
    target: ControlFormat,
    notes: list[str],
) -> list[OutputError]:
    """Compare what was written with eager on the example and what is drawn beside it: results,
    texts, exceptions, and state from call to call."""
    program = functional.program
    subject = ProgramSubject(program, run, run.reset, target.omits)
    sets = input_sets(request, _ranges(program.dims))
    state = live_state(functional)
    found = verify_control_entry(request.function, subject, request.name, program, sets, state)
    notes.extend(note for note in found.notes if note not in notes)
    return _rows(found.checks)


def _rows(checks: Sequence[OutputCheck]) -> list[OutputError]:
    """One row a part of the result, of its worst input set."""
    rows: dict[int, OutputError] = {}
    for check in checks:
        reason = check.reason if not check.passed else ""
        if not check.passed and not reason:
            reason = f"error {check.error:.2e} on input set {check.input_set}"
        name = "the call" if check.output < 0 else f"part {check.output}"
        row = OutputError(name, check.error, max(check.limit, check.error), 1, reason)
        known = rows.get(check.output)
        if known is not None:
            worst = max(known, row, key=lambda one: (bool(one.reason), one.error))
            row = replace(worst, sets=known.sets + 1)
        rows[check.output] = row
    return [rows[number] for number in sorted(rows)]


def _export_path(output: str | Path | None, default: str) -> Path:
    if output is None:
        return Path(default)
    return Path(output) / default if is_folder(output) else Path(output)
