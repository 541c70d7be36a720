"""The compiler's table of contents: every stage in order, for a graph and a library.

Owns the order of stages, their times and dumps. What a stage does is its package's business.
"""

from __future__ import annotations

import ctypes
import gc
import re
import time
from collections.abc import Collection, Iterator, Sequence, Set
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from ptc.artifact.control import CompiledControl, describe_control
from ptc.artifact.describe import (
    AnyCompiled,
    CompiledEntry,
    codegen_entry,
)
from ptc.artifact.entry_capture import capture_entry, unbounded, without_ones
from ptc.artifact.forms import (
    Functional,
    Loops,
    captured_text,
    compiled_form,
    functional_form,
    functional_text,
    live_state,
    loop_form,
    loops_text,
    scheduled_form,
    verify_captured_form,
    verify_functional_form,
    written_names,
)
from ptc.artifact.input_sets import (
    SizeRange,
    input_sets,
)
from ptc.artifact.reports import BuildReport, entry_report
from ptc.artifact.running import open_for_check
from ptc.artifact.staging import (
    Form,
    Plan,
    Staged,
    Staging,
    generate_library,
    land_library,
    output_path,
    saved_names,
)
from ptc.artifact.subjects import LibrarySubject
from ptc.artifact.vectors import as_library
from ptc.artifact.verify import Verification, verify_entry
from ptc.artifact.verify_control import verify_control_entry
from ptc.autograd.control import FunctionalControl, functionalise_control
from ptc.autograd.functionalise import functionalise
from ptc.codegen import toolchain
from ptc.codegen.generate import generate
from ptc.codegen.target import Target, parse_target
from ptc.graph.control import ControlProgram
from ptc.graph.program import AtenProgram, CapturedProgram
from ptc.hosting.abi import Api, load_api
from ptc.hosting.manifest import EntryInfo
from ptc.loader.model import EntryRequest
from ptc.loops.nodes import BufferKind, Program
from ptc.schedule.control import lower_control, schedule_control
from ptc.schedule.lower import lower
from ptc.schedule.passes import Options as ScheduleOptions
from ptc.schedule.passes import schedule
from ptc.support.diagnostics import CompileError
from ptc.support.dumps import Dumper
from ptc.support.landing import disk_errors, staging_folder

STAGES = ("captured", "aten", "loops", "scheduled", "code", "artifact")


# --- one graph, for ptc.compile -----------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class BuiltGraph:
    """A compiled graph as `ptc.compile` uses it. `handle` keeps the library loaded."""

    aten: AtenProgram
    loops: Program
    handle: ctypes.CDLL
    api: Api
    frozen: bool


def compile_graph(
    captured: CapturedProgram, *, freeze: bool, live: Collection[int] = ()
) -> BuiltGraph:
    """Compile one captured graph. Weights are read at each call, or with `freeze` once at open; the
    inputs at the positions `live` at each call even then."""
    with collection_paused():
        aten = functionalise(captured)
        lowered = lower(aten)
        if freeze:
            lowered = _read_live(lowered, {lowered.inputs[position] for position in live})
        loops = schedule(lowered, ScheduleOptions(freeze=freeze))
        entry = codegen_entry(CompiledEntry("graph", aten, loops))
        generated = generate([entry], name="graph", live_weights=not freeze)
    built = toolchain.build(generated.sources, Target())
    handle, api = load_api(built.library, generated.sources.name)
    return BuiltGraph(aten, loops, handle, api, freeze)


@dataclass(frozen=True, slots=True)
class BuiltControl:
    """A program with control flow as `ptc.compile` uses it. `weights` names what the library keeps
    itself: the buffers that it writes."""

    compiled: CompiledControl
    info: EntryInfo
    weights: tuple[str, ...]
    handle: ctypes.CDLL
    api: Api


def compile_control(program: ControlProgram) -> BuiltControl:
    """Compile a program with control flow whose weights are inputs."""
    with collection_paused():
        functional = functionalise_control(program)
        loops = schedule_control(lower_control(functional), ScheduleOptions(freeze=False))
        compiled = CompiledControl("graph", loops)
        generated = generate([codegen_entry(compiled)], name="graph")
    built = toolchain.build(generated.sources, Target())
    handle, api = load_api(built.library, generated.sources.name)
    kernels = generated.kernels[compiled.name]
    names = tuple(weight.name for weight in generated.weights)
    return BuiltControl(compiled, describe_control(compiled, kernels), names, handle, api)


def _read_live(program: Program, names: Set[str]) -> Program:
    """These buffers, and those that the program itself writes, are no constants."""
    live = {
        name: replace(program.buffers[name], kind=BufferKind.INPUT)
        for name in program.written | names
    }
    return replace(program, buffers={**program.buffers, **live}, written=frozenset())


@contextmanager
def collection_paused() -> Iterator[None]:
    """No garbage collection: with a large model loaded one pass over its objects takes longer than
    a stage, and the stages make few cycles."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


# --- a library ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class BuildOptions:
    """What `ptc compile` was asked for.

    output      the library, or a folder; None: `libNAME.so` in the current folder
    weights     "embedded", or "file" for a safetensors file beside the library
    form        `shared` library, `static` library, or `source`: a folder to build by hand
    stop_after  a stage of STAGES: nothing later is run and no library is written
    verify      run the verifier of each form after every pass
    jobs        compiler processes at once
    """

    output: str | Path | None = None
    name: str | None = None
    target: str = "native"
    check: bool = True
    weights: str = "embedded"
    form: Form = "shared"
    dump_dir: Path | None = None
    stop_after: str | None = None
    verify: bool = False
    jobs: int | None = None


@dataclass(slots=True)
class _Log:
    """Seconds by stage, and what the user should be told."""

    seconds: dict[str, float] = field(default_factory=dict[str, float])
    notes: list[str] = field(default_factory=list[str])

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        start = time.perf_counter()
        try:
            yield
        finally:
            self.seconds[name] = self.seconds.get(name, 0.0) + time.perf_counter() - start


def build_library(entries: Sequence[EntryRequest], options: BuildOptions) -> BuildReport | None:
    """Compile entries that share weights, by their names, into one library with header and
    manifest.

    Every output is compared with eager before anything is written, unless `check` is off. Returns
    None when `stop_after` ends the run early. Raises CompileError; PTC-A030 when an output differs.

    Where it differs only at 1 of a size for which the user gave no range, the library is made for
    sizes from 2 on, and a note says so.
    """
    log = _Log()
    try:
        return _build_library(entries, options, log)
    except _DiffersAtEnd as found:
        narrowed = [without_ones(request) for request in entries]
        if found.lowest != 1 or not any(narrowed):
            raise
        names = ", ".join(sorted({f"`{d.name}`" for r in entries for d in unbounded(r)}))
        why = found.diagnostic.message
        log.notes.append(f"{names}: sizes from 2 on, because the model treats 1 apart: {why}")
        again = [
            replace(request, dynamic=spec or request.dynamic)
            for request, spec in zip(entries, narrowed, strict=True)
        ]
        return _build_library(again, options, log)


class _DiffersAtEnd(CompileError):
    """A library that differs from eager at an end of the ranges only. `lowest` of its sizes."""

    def __init__(self, lowest: int, message: str) -> None:
        super().__init__("PTC-A030", message, hint=_REPORT)
        self.lowest = lowest


def _build_library(
    entries: Sequence[EntryRequest], options: BuildOptions, log: _Log
) -> BuildReport | None:
    name = options.name or entries[0].name
    _require_name(name)
    _require_stage(options.stop_after)
    target = parse_target(options.target)
    library = output_path(options.output, name, target, options.form)
    dumper = Dumper(options.dump_dir)
    parts = [dumper if len(entries) == 1 else dumper.for_part(r.name) for r in entries]
    functional = [
        _functional(request, part, options, log)
        for request, part in zip(entries, parts, strict=True)
    ]
    programs = [program for program in functional if program is not None]
    if len(programs) < len(entries):
        return None
    # A weight that one entry writes must not be folded into another.
    written = frozenset(name for program in programs for name in written_names(program))
    scheduled = [
        _scheduled(program, part, options, written, log)
        for program, part in zip(programs, parts, strict=True)
    ]
    compiled = [
        compiled_form(request.name, program, loops)
        for request, program, loops in zip(entries, programs, scheduled, strict=True)
        if loops is not None
    ]
    if len(compiled) < len(entries):
        return None
    saved = saved_names(request.function for request in entries)
    plan = Plan(name, target, options.form, options.weights == "file", options.jobs, saved)
    with staging_folder(library) as folder:
        with disk_errors(library):
            staged = _stage(compiled, plan, options, folder, dumper, log)
        if staged is None:
            return None
        checks: list[Verification | None] = [None] * len(entries)
        if options.check:
            checks = _verify(entries, programs, staged, log)
        _require_passed(checks)
        with log.stage("write"):
            landed = land_library(staged, library, name)
    return BuildReport(
        library=library,
        header=landed.header,
        manifest=landed.manifest,
        files=landed.files,
        entries=tuple(
            entry_report(info, check) for info, check in zip(staged.infos, checks, strict=True)
        ),
        size=landed.size,
        weights_bytes=staged.weights_bytes,
        seconds=log.seconds,
        notes=tuple(log.notes),
    )


def _stage(
    compiled: Sequence[AnyCompiled],
    plan: Plan,
    options: BuildOptions,
    folder: Path,
    dumper: Dumper,
    log: _Log,
) -> Staged | None:
    with log.stage("generate"):
        generated = generate_library(compiled, plan)
    dumper.files("code", generated.sources.files)
    if options.stop_after == "code":
        return None
    staging = Staging(plan, compiled, generated, folder)
    with log.stage("weights"):
        staging.write_weights()
    with log.stage("build"):
        staging.build()
    with log.stage("weights"):
        return staging.finish()


def _require_name(name: str) -> None:
    """The name is part of file names, of C's names and of a soname."""
    if not re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}", name):
        raise CompileError(
            "PTC-U005",
            f"`{name[:100]}` cannot be the name of a library",
            hint="use up to 100 letters, digits, `_`, `-` and `.`",
        )


def _require_stage(stage: str | None) -> None:
    if stage is not None and stage not in STAGES:
        raise CompileError(
            "PTC-U003", f"unknown stage `{stage}`", hint=f"choose one of {', '.join(STAGES)}"
        )


def _functional(
    request: EntryRequest, dumper: Dumper, options: BuildOptions, log: _Log
) -> Functional | None:
    """From a callable to its functional program; None if `stop_after` came first."""
    with log.stage("capture"):
        captured = capture_entry(request, log.notes)
        if options.verify or isinstance(captured, ControlProgram):
            verify_captured_form(captured)  # a variable without a value would be read all the same
    dumper.text("captured", lambda: captured_text(captured))
    if options.stop_after == "captured":
        return None
    with log.stage("aten"):
        functional = functional_form(captured)
        if options.verify:
            verify_functional_form(functional)
    dumper.text("aten", lambda: functional_text(functional))
    return None if options.stop_after == "aten" else functional


def _scheduled(
    functional: Functional,
    dumper: Dumper,
    options: BuildOptions,
    written: frozenset[str],
    log: _Log,
) -> Loops | None:
    """From a functional program to its scheduled loops; None if `stop_after` came first."""
    with log.stage("lower"):
        loops = loop_form(functional)
    dumper.text("loops", lambda: loops_text(loops))
    if options.stop_after == "loops":
        return None
    with log.stage("schedule"):
        how = ScheduleOptions(freeze=True, verify=options.verify, written=written)
        scheduled = scheduled_form(loops, how)
    dumper.text("scheduled", lambda: loops_text(scheduled))
    return None if options.stop_after == "scheduled" else scheduled


def _verify(
    requests: Sequence[EntryRequest],
    programs: Sequence[Functional],
    staged: Staged,
    log: _Log,
) -> list[Verification | None]:
    with log.stage("check"):
        found: list[Verification | None] = []
        for request, program, info in zip(requests, programs, staged.infos, strict=True):
            # A library of its own per entry: state that one entry's runs leave is not another's.
            loaded = open_for_check(staged, log.notes)
            if loaded is None:
                found.append(None)
                continue
            entry = loaded.entry(info.name)
            ranges = [SizeRange(size.name, size.lower, size.upper) for size in info.sizes]
            sets = input_sets(request, ranges)
            state = live_state(program)
            with as_library(program):
                if isinstance(program, FunctionalControl):
                    check = verify_control_entry(
                        request.function,
                        LibrarySubject(loaded, info.name),
                        info.name,
                        program.program,
                        sets,
                        state,
                    )
                else:
                    check = verify_entry(request.function, entry, sets, state, info.name)
            log.notes.extend(note for note in check.notes if note not in log.notes)
            found.append(check)
        return found


def _require_passed(checks: Sequence[Verification | None]) -> None:
    for check in checks:
        worst = check.worst if check is not None else None
        if check is None or worst is None or worst.passed:
            continue
        reason = worst.reason or (
            f"error {worst.error:.2e} of the largest value"
            + (f", eager's own is {worst.eager_error:.2e}" if worst.eager_error is not None else "")
        )
        what = f"output {worst.output} of the library" if worst.output >= 0 else "the library"
        where = f"{what} differs from eager"
        if worst.sizes:
            sizes = ", ".join(f"`{name}` = {size}" for name, size in worst.sizes.items())
            message = f"{where} at {sizes}: {reason}"
            if all(c.passed or c.sizes for c in check.checks):
                raise _DiffersAtEnd(min(worst.sizes.values()), message)
            raise CompileError("PTC-A030", message, hint=_REPORT)
        message = f"{where} on input set {worst.input_set}: {reason}"
        raise CompileError("PTC-A030", message, hint=_REPORT)


_REPORT = "please report it; --no-check writes the library all the same"
