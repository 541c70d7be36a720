"""`ptc verify`: does an artifact compute what a model computes in eager?

Goes in: an artifact of any kind that ptc writes, and the requests of a loaded model. Comes out: a
row for each output, with its largest error over all input sets. A kind of file is a checker in
`CHECKERS`, by suffix; export formats come from `ptc.exporters.formats`. How values are judged is
decided where artifacts are made: `artifact.verify`, `artifact.verify_control`, `exporters.check`.
"""

from __future__ import annotations

import copy
import platform
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ptc.artifact.emulated import emulator, load_emulated
from ptc.artifact.entry_capture import capture_entry
from ptc.artifact.forms import functional_form, live_state
from ptc.artifact.input_sets import SizeRange, input_sets
from ptc.artifact.live_state import LiveState
from ptc.artifact.subjects import LibrarySubject
from ptc.artifact.vectors import as_library
from ptc.artifact.verify import OutputCheck, Verification, verify_entry
from ptc.artifact.verify_control import verify_control_entry
from ptc.autograd.control import FunctionalControl
from ptc.codegen.target import parse_target
from ptc.exporters.check import compare
from ptc.exporters.formats import FORMATS, ControlFormat, find_format
from ptc.exporting import check_control, export_checks, functional_of
from ptc.hosted.model import HostedModel
from ptc.hosted.package import SUFFIX, is_package
from ptc.hosting import LoadedArtifact, load
from ptc.hosting.elf import inspect_library
from ptc.hosting.library import GETTER
from ptc.hosting.manifest import EntryInfo, from_text
from ptc.loader.model import EntryRequest
from ptc.support.diagnostics import CompileError, InternalError
from ptc.support.dumps import Dumper

#: What a library says of a call that does not fit its interface.
_MISFITS = frozenset({"PTC-R010", "PTC-R011", "PTC-R012", "PTC-R013", "PTC-R014"})


@dataclass(frozen=True, slots=True)
class OutputRow:
    """One output: its largest error, relative to the largest value of eager's, the limit for it
    (None where it must be equal or eager is the only reference), and why it differs if it does."""

    entry: str
    output: str
    error: float
    limit: float | None
    sets: int
    passed: bool
    reason: str = ""


@dataclass(frozen=True, slots=True)
class VerifyReport:
    """All rows, and what could not be compared."""

    artifact: Path
    rows: tuple[OutputRow, ...]
    notes: tuple[str, ...] = ()

    @property
    def passed(self) -> bool:
        return all(row.passed for row in self.rows)


Checker = Callable[[Path, Sequence[EntryRequest], list[str]], list[OutputRow]]


def verify(artifact: str | Path, requests: Sequence[EntryRequest]) -> VerifyReport:
    """Compare every requested entry of the artifact with eager.

    Raises CompileError PTC-A032 where the interfaces do not fit, PTC-A033 for a file of no known
    kind, and what opening the artifact raises. That outputs differ is in the report.
    """
    path = Path(artifact)
    notes: list[str] = []
    rows = _checker(path)(path, requests, notes)
    return VerifyReport(path, tuple(rows), tuple(notes))


def require_equal(report: VerifyReport) -> None:
    """Raise CompileError PTC-A031 if an output differs."""
    failed = [row for row in report.rows if not row.passed]
    if not failed:
        return
    notes = tuple(
        f"{row.entry}: `{row.output}`: {row.reason or f'error {row.error:.2e}'}"
        + (f", allowed {row.limit:.0e}" if row.limit is not None and not row.reason else "")
        for row in failed
    )
    raise CompileError(
        "PTC-A031",
        f"{report.artifact} differs from eager in {len(failed)} of {len(report.rows)} outputs",
        notes=notes,
        hint="was it made of these weights and this source, and with this seed?",
    )


def dynamic_texts(artifact: Path, entries: Sequence[str]) -> list[str]:
    """The `--dynamic` texts with which these entries of a library were made (none given: its only
    one), so that the model is taken the same way; none for other artifacts, which do not say."""
    if artifact.suffix != ".so" or is_package(artifact):
        return []
    texts: dict[str, None] = {}
    for entry in _opened(artifact).manifest.entries:
        if entries and entry.name not in entries:
            continue
        prefix = f"{entry.name}:" if len(entries) > 1 else ""
        sizes = {size.symbol: size for size in entry.sizes}
        for tensor in entry.inputs:
            for dim, extent in enumerate(tensor.shape):
                if (size := sizes.get(str(extent))) is not None:
                    bounds = f"[{size.lower}..{size.upper}]" if size.upper is not None else ""
                    texts[f"{prefix}{tensor.name}:{dim}={size.name}{bounds}"] = None
    return list(texts)


def _checker(path: Path) -> Checker:
    if path.name.endswith(SUFFIX):
        return check_hosted
    found = CHECKERS.get(path.suffix)
    if found is not None:
        return found
    formats = {find_format(name).suffix: name for name in FORMATS}
    name = formats.get(path.suffix)
    if name is None:
        known = ", ".join(sorted([*CHECKERS, *formats, SUFFIX]))
        raise CompileError(
            "PTC-A033",
            f"{path} is of no kind that can be compared with a model",
            hint=f"its name is to end in one of {known}",
        )
    return lambda path, requests, notes: check_export(name, path, requests, notes)


# --- libraries ----------------------------------------------------------------------------------


def check_library(
    path: Path, requests: Sequence[EntryRequest], notes: list[str]
) -> list[OutputRow]:
    """A library, entry by entry. What the comparison needs is captured anew: the state that calls
    change, and the branches that inputs should drive."""
    rows: list[OutputRow] = []
    for request in requests:
        info = _fitting_entry(path, request)
        program = functional_form(capture_entry(request, notes))
        loaded = _opened(path)  # anew: what the trial call left is not the model's beginning
        ranges = [SizeRange(size.name, size.lower, size.upper) for size in info.sizes]
        sets, state = input_sets(request, ranges), live_state(program)
        with as_library(program):
            if isinstance(program, FunctionalControl):
                subject = LibrarySubject(loaded, info.name)
                check = verify_control_entry(
                    request.function, subject, info.name, program.program, sets, state
                )
            else:
                entry = loaded.entry(info.name)
                check = verify_entry(request.function, entry, sets, state, info.name)
        notes.extend(note for note in check.notes if note not in notes)
        rows += _rows(request.name, [tensor.name for tensor in info.outputs], check)
    return rows


def _fitting_entry(path: Path, request: EntryRequest) -> EntryInfo:
    loaded = _opened(path)
    info = loaded.manifest.entry(request.name)
    if info is None:
        names = ", ".join(entry.name for entry in loaded.manifest.entries)
        raise _misfit(path, f"it has no entry `{request.name}`, its entries are {names}")
    args, kwargs = copy.deepcopy((request.args, request.kwargs))
    loaded.on_emit(lambda *texts: None)
    try:
        loaded.entry(info.name)(*args, **kwargs)
    except CompileError as error:
        if error.code in _MISFITS:
            raise _misfit(path, error.diagnostic.message) from error
    except Exception as error:
        if loaded.raised is not error:
            raise
    return info


def _opened(path: Path) -> LoadedArtifact:
    """The library, in an emulator where it is for another processor. Raises CompileError PTC-R005
    where none is installed."""
    file = inspect_library(path, any_machine=True)
    if file.machine == platform.machine():
        return load(path)
    beside = path.with_name(f"{path.stem.removeprefix('lib')}.json")
    command = f"there is no {beside.name} beside it"
    if beside.is_file():
        manifest = from_text(beside.read_text(encoding="utf-8"), str(beside))
        target = parse_target(f"{manifest.target.triple}+{manifest.target.isa}")
        command = emulator(target)
        if not isinstance(command, str):
            getter = next(name for name in file.symbols if name.endswith(GETTER))
            return load_emulated(
                path.resolve(), manifest, getter.removesuffix(GETTER), target, command
            )
    raise CompileError("PTC-R005", f"{path} was made for {file.machine}, and {command}")


def _misfit(path: Path, why: str) -> CompileError:
    return CompileError(
        "PTC-A032",
        f"{path} does not fit the model: {why}",
        hint="give the inputs that it was made for with --input, and its entry with --entry",
    )


def _rows(entry: str, names: Sequence[str], check: Verification) -> list[OutputRow]:
    """The worst check of each output."""
    worst: dict[int, OutputCheck] = {}
    for found in check.checks:
        known = worst.get(found.output)
        if known is None or _badness(found) > _badness(known):
            worst[found.output] = found
    rows: list[OutputRow] = []
    for output, found in sorted(worst.items()):
        name = names[output] if 0 <= output < len(names) else "prints and exceptions"
        reason = found.reason
        if reason and found.sizes:
            reason += " at " + ", ".join(f"`{n}` = {s}" for n, s in found.sizes.items())
        limit = found.limit if found.eager_error is not None else None
        row = OutputRow(entry, name, found.error, limit, check.input_sets, found.passed, reason)
        rows.append(row)
    return rows


def _badness(check: OutputCheck) -> tuple[bool, float]:
    return not check.passed, check.error


# --- hosted packages ----------------------------------------------------------------------------


def check_hosted(path: Path, requests: Sequence[EntryRequest], notes: list[str]) -> list[OutputRow]:
    """A package, which runs its own copy of the source. Both begin with fresh state and keep it."""
    model = HostedModel(path)
    rows: list[OutputRow] = []
    for request in requests:
        if request.name not in model.entries:
            raise _misfit(path, f"it has no entry `{request.name}`")
        state = LiveState.of((), ())
        sets = input_sets(request, [])
        entry = model.entries[request.name]
        check = verify_entry(request.function, entry, sets, state, request.name)
        notes.extend(note for note in check.notes if note not in notes)
        outputs = 1 + max((found.output for found in check.checks), default=-1)
        rows += _rows(request.name, [f"output {i}" for i in range(outputs)], check)
    return rows


# --- export formats -----------------------------------------------------------------------------


def check_export(
    name: str, path: Path, requests: Sequence[EntryRequest], notes: list[str]
) -> list[OutputRow]:
    """A file of an export format, run as the exporter runs it."""
    if len(requests) != 1:
        raise _misfit(path, f"it holds one entry, {len(requests)} are asked for")
    (request,) = requests
    target = find_format(name)
    program = functional_of(request, target, notes, Dumper(None))
    try:
        if isinstance(program, FunctionalControl):
            assert isinstance(target, ControlFormat)
            run = target.load_control(program, path)
            errors = check_control(request, program, run, target, notes)
        else:
            sets = export_checks(request, program, notes)
            errors = compare(program, target.load(program, path), sets)
    except (CompileError, InternalError) as error:  # other inputs, another number of outputs
        raise _misfit(path, error.diagnostic.message) from error
    return [
        OutputRow(request.name, row.name, row.error, row.limit, row.sets, row.passed, row.reason)
        for row in errors
    ]


#: By suffix. Export formats are looked up in their own table, and packages by the end of their
#: names.
CHECKERS: Mapping[str, Checker] = {".so": check_library}
