"""`ptc export`: write a model in a format that other tools read, and compare it with eager."""

from __future__ import annotations

import json
from typing import Annotated, Any

import typer

from ptc.exporters.api import ExportReport
from ptc.exporting import export_model

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

Format = Annotated[
    str,
    typer.Option("--format", "-f", metavar="FORMAT", help="onnx, pt2, ptir or torchscript."),
]
Output = Annotated[
    str | None,
    typer.Option(
        "--output", "-o", metavar="PATH", help="A folder, or the file (default: NAME.FORMAT)."
    ),
]
Check = Annotated[
    bool, typer.Option("--check/--no-check", help="Run the export and compare with eager.")
]
Opset = Annotated[
    int | None, typer.Option("--opset", metavar="N", help="onnx: the version of its operators.")
]
InputNames = Annotated[
    list[str],
    typer.Option(
        "--input-name",
        metavar="[OLD=]NEW",
        help="onnx: what an input is called: x=image, or names in order. Repeat.",
        show_default=False,
    ),
]
OutputNames = Annotated[
    list[str],
    typer.Option(
        "--output-name",
        metavar="[OLD=]NEW",
        help="onnx: what an output is called. Repeat.",
        show_default=False,
    ),
]
External = Annotated[
    bool | None,
    typer.Option(
        "--external-data/--no-external-data",
        help="onnx: weights in a file of their own (default: beyond 1.5 GB).",
        show_default=False,
    ),
]


def export_command(
    target: Target,
    format: Format,
    inputs: Inputs = [],  # noqa: B006  # Typer copies defaults
    dynamic: Dynamic = [],  # noqa: B006
    output: Output = None,
    entries: Entries = [],  # noqa: B006
    init: Init = None,
    weights: Weights = None,
    dtype: Dtype = None,
    check: Check = True,
    opset: Opset = None,
    input_names: InputNames = [],  # noqa: B006
    output_names: OutputNames = [],  # noqa: B006
    external_data: External = None,
    dump_dir: DumpDir = None,
    seed: Seed = 0,
    as_json: AsJson = False,
    debug: Debug = False,
) -> None:
    """Export a model and verify what was written."""
    del debug
    request = load_request(
        target, inputs=inputs, dynamic=dynamic, init=init, weights=weights, dtype=dtype,
        entries=entries, seed=seed,
    )  # fmt: skip
    model = load_model(request)
    print_notes(model.notes)
    with ERR.status(f"exporting {model.name}"), blaming(model):
        report = export_model(
            model.entries,
            format=format,
            output=output,
            name=model.name,
            check=check,
            dump_dir=dump_dir,
            settings=_settings(opset, input_names, output_names, external_data),
        )
    print_notes(report.notes)
    if as_json:
        OUT.print_json(json.dumps(_as_json(report)))
    else:
        _print_report(report, check)


def _settings(
    opset: int | None, inputs: list[str], outputs: list[str], external: bool | None
) -> dict[str, Any]:
    """What was asked for of what only some formats understand."""
    found = {
        "opset": opset,
        "input_names": _renamed(inputs),
        "output_names": _renamed(outputs),
        "external": external,
    }
    return {name: value for name, value in found.items() if value is not None}


def _renamed(names: list[str]) -> list[str] | dict[str, str] | None:
    if any("=" in name for name in names):
        return {old: new or old for old, _, new in (name.partition("=") for name in names)}
    return names or None


def _as_json(report: ExportReport) -> dict[str, Any]:
    return {
        "format": report.format,
        "files": [str(file) for file in report.files],
        "size": report.size,
        "operators": report.operators,
        "worst_error": report.worst_error,
        "seconds": dict(report.seconds),
        **report.facts,
    }


def _print_report(report: ExportReport, check: bool) -> None:
    rows = [("input", port.name, port.type) for port in report.inputs]
    rows += [("output", port.name, port.type) for port in report.outputs]
    print_table(["", "name", "type"], rows)
    compared = "not compared (--no-check)" if not check else error_text(report.worst_error)
    print_pairs(
        {
            "files": ", ".join(map(str, report.files)) + f" ({size_text(report.size)})",
            "operators": str(report.operators),
            **report.facts,
            "worst error": compared,
            "time": seconds_text(sum(report.seconds.values())),
        }
    )
