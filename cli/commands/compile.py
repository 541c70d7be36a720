"""`ptc compile`: from a model file to a native library, verified against eager."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from ptc.artifact.reports import BuildReport, EntryReport
from ptc.artifact.staging import Form
from ptc.hosted.build import HostedReport, build_hosted
from ptc.pipeline import BuildOptions, build_library
from ptc.support import settings
from ptc.support.diagnostics import CompileError

from ..model import blaming, load_model, load_request
from ..options import (
    AsJson,
    Debug,
    Dtype,
    DumpDir,
    Dynamic,
    Entries,
    Init,
    Inputs,
    Seed,
    Target,
    Weights,
)
from ..render import (
    ERR,
    OUT,
    error_text,
    print_notes,
    print_pairs,
    print_table,
    seconds_text,
    size_text,
)

Output = Annotated[
    str | None,
    typer.Option("--output", "-o", metavar="PATH", help="A folder, or the name of the library."),
]
Name = Annotated[
    str | None, typer.Option("--name", help="Name of the model in C and in file names.")
]
Machine = Annotated[
    str, typer.Option("--target", metavar="TARGET", help="Platform and processor to compile for.")
]
WeightsFile = Annotated[
    bool, typer.Option("--weights-file", help="Keep weights beside the library, not in it.")
]
Static = Annotated[bool, typer.Option("--static", help="Make a static library (.a).")]
Emit = Annotated[
    str, typer.Option("--emit", metavar="FORM", help="`library`, or `c++`: a folder of sources.")
]
Check = Annotated[bool, typer.Option("--check/--no-check", help="Compare the library with eager.")]
StopAfter = Annotated[
    str | None, typer.Option("--stop-after", metavar="STAGE", help="Stop after this stage.")
]
Verify = Annotated[bool, typer.Option("--verify", help="Verify the program after every pass.")]
Hosted = Annotated[
    bool, typer.Option("--hosted", help="Pack the model with its Python source instead.")
]
Include = Annotated[
    list[Path], typer.Option("--include", metavar="FILE", help="With --hosted: pack it too.")
]
Jobs = Annotated[int | None, typer.Option("--jobs", "-j", min=1, help="Compilers at once.")]


def compile_command(
    target: Target,
    inputs: Inputs = [],  # noqa: B006  # Typer copies defaults
    dynamic: Dynamic = [],  # noqa: B006
    output: Output = None,
    name: Name = None,
    entries: Entries = [],  # noqa: B006
    init: Init = None,
    weights: Weights = None,
    dtype: Dtype = None,
    machine: Machine = "native",
    weights_file: WeightsFile = False,
    static: Static = False,
    emit: Emit = "library",
    check: Check = True,
    stop_after: StopAfter = None,
    verify: Verify = False,
    hosted: Hosted = False,
    include: Include = [],  # noqa: B006
    jobs: Jobs = None,
    dump_dir: DumpDir = None,
    seed: Seed = 0,
    as_json: AsJson = False,
    debug: Debug = False,
) -> None:
    """Compile a model to libNAME.so, NAME.h and NAME.json: no Python, no libtorch inside."""
    if include and not hosted:
        raise CompileError("PTC-U008", "--include is for --hosted: a library holds no files")
    request = load_request(
        target, inputs=inputs, dynamic=dynamic, init=init, weights=weights, dtype=dtype,
        entries=entries, seed=seed,
    )  # fmt: skip
    model = load_model(request)
    print_notes(model.notes)
    if hosted:
        with ERR.status(f"packing {model.name}"), blaming(model):
            packed = build_hosted(
                request, model, output=output, name=name or model.name, include=include
            )
        _print_package(packed, as_json=as_json)
        return
    options = BuildOptions(
        output=output, name=name or model.name, target=machine, check=check,
        weights="file" if weights_file else "embedded", form=_form(static, emit),
        dump_dir=dump_dir, stop_after=stop_after,
        verify=verify or debug or settings.current().debug, jobs=jobs or settings.current().jobs,
    )  # fmt: skip
    with ERR.status(f"compiling {model.name}"), _offering_a_package(), blaming(model):
        report = build_library(model.entries, options)
    if report is None:
        ERR.print(f"stopped after {stop_after}; only dumps were written")
        return
    print_notes(report.notes)
    if as_json:
        OUT.print_json(json.dumps(_as_json(report)))
    else:
        _print_report(report)


def _form(static: bool, emit: str) -> Form:
    """What is made. Raises CompileError PTC-U008 for what does not go together."""
    if emit not in ("library", "c++"):
        raise CompileError(
            "PTC-U008", f"--emit {emit} is unknown", hint="`--emit c++` writes a folder of sources"
        )
    if emit == "library":
        return "static" if static else "shared"
    if static:
        raise CompileError("PTC-U008", "--static is for libraries, --emit c++ writes sources")
    return "source"


@contextmanager
def _offering_a_package() -> Iterator[None]:
    """What needs Python can be packed with it."""
    try:
        yield
    except CompileError as error:
        found = error.diagnostic
        if not found.code.startswith("PTC-B"):
            raise
        note = "`--hosted` packs the model with its source, for hosts that have Python and torch"
        raise CompileError(
            found.code, found.message, location=found.location, hint=found.hint,
            notes=(*found.notes, note),
        ) from error  # fmt: skip


def _print_package(report: HostedReport, *, as_json: bool) -> None:
    if as_json:
        facts = {
            "package": str(report.package), "size": report.size, "sources": list(report.sources),
            "graphs": report.graphs, "needs_python": list(report.needs),
        }  # fmt: skip
        OUT.print_json(json.dumps(facts))
        return
    facts = {
        "package": f"{report.package} ({size_text(report.size)}), hosted: loading it runs its "
        "Python code and needs torch",
        "sources": ", ".join(report.sources),
        "graphs": str(report.graphs),
    }
    print_pairs(facts)
    if not report.needs:
        print_notes(["nothing in this model needs Python: without --hosted it is a library"])
    print_notes([f"in Python: {reason}" for reason in report.needs])


def _print_report(report: BuildReport) -> None:
    for entry in report.entries:
        if len(report.entries) > 1:
            OUT.print(f"entry {entry.name}", style="bold")
        rows = [("input", t.name, str(t)) for t in entry.inputs]
        rows += [("output", t.name, str(t)) for t in entry.outputs]
        print_table(["", "name", "type"], rows)
        print_pairs(_entry_facts(entry))
    total = sum(report.seconds.values())
    stages = ", ".join(f"{stage} {seconds_text(s)}" for stage, s in report.seconds.items())
    print_pairs(
        {
            "library": f"{report.library} ({size_text(report.size)}, "
            f"of that weights {size_text(report.weights_bytes)})",
            "header": str(report.header),
            "manifest": str(report.manifest),
            "time": f"{seconds_text(total)} ({stages})",
        }
    )


def _entry_facts(entry: EntryReport) -> dict[str, str]:
    checked = "not compared with eager"
    if entry.checked and entry.worst_error is None:
        checked = "nothing to compare: no output holds numbers"
    elif entry.checked:
        checked = (
            f"{error_text(entry.worst_error)} of the largest value, {entry.checked} input sets"
        )
    return {
        "operators": str(entry.operators),
        "kernels": str(entry.kernels),
        "worst error": checked,
    }


def _as_json(report: BuildReport) -> dict[str, Any]:
    return {
        "library": str(report.library),
        "header": str(report.header),
        "manifest": str(report.manifest),
        "size": report.size,
        "weights_bytes": report.weights_bytes,
        "seconds": dict(report.seconds),
        "notes": list(report.notes),
        "entries": [
            {
                "name": entry.name,
                "inputs": [[t.name, t.dtype, str(t.shape)] for t in entry.inputs],
                "outputs": [[t.name, t.dtype, str(t.shape)] for t in entry.outputs],
                "operators": entry.operators,
                "kernels": entry.kernels,
                "worst_error": entry.worst_error,
                "checked": entry.checked,
            }
            for entry in report.entries
        ],
    }
