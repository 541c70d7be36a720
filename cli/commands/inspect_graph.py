"""`ptc inspect-graph`: a model at any stage, with graph breaks and guards explained."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from ptc.report.inspect import render
from ptc.support.diagnostics import CompileError
from ptc.support.dumps import write_atomically

from ..model import blaming, load_model, load_request
from ..options import Debug, Dtype, Dynamic, Entries, Init, Inputs, Seed, Target, Weights
from ..render import print_notes


def inspect_graph_command(
    target: Target,
    inputs: Inputs = [],  # noqa: B006  # Typer copies defaults
    dynamic: Dynamic = [],  # noqa: B006
    stage: Annotated[
        str,
        typer.Option(
            "--stage",
            "-s",
            metavar="STAGE",
            help="captured, aten, loops, scheduled or code.",
        ),
    ] = "captured",
    format: Annotated[
        str, typer.Option("--format", "-f", metavar="FORMAT", help="text or json.")
    ] = "text",
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="Write it there.")
    ] = None,
    entries: Entries = [],  # noqa: B006
    init: Init = None,
    weights: Weights = None,
    dtype: Dtype = None,
    seed: Seed = 0,
    debug: Debug = False,
) -> None:
    """Show what ptc made of a model: segments, breaks with their reasons, guards in words, code."""
    del debug
    request = load_request(
        target,
        inputs=inputs,
        dynamic=dynamic,
        init=init,
        weights=weights,
        dtype=dtype,
        entries=entries,
        seed=seed,
    )
    model = load_model(request)
    print_notes(model.notes)
    with blaming(model):
        parts = [render(entry, stage=stage, format=format) for entry in model.entries]
    text = "\n".join(parts).rstrip("\n")
    if format == "json" and len(parts) > 1:
        text = f"[{', '.join(parts)}]"
    if output is not None:
        _write(output, text + "\n")
    else:
        # Programs are printed as they are: not wrapped, not coloured, ready for a pipe.
        sys.stdout.write(text + "\n")


def _write(path: Path, text: str) -> None:
    try:
        if path.exists() and not path.is_file():  # /dev/stdout, a pipe
            path.write_bytes(text.encode())
        else:
            write_atomically(path, text.encode())
    except OSError as error:
        raise CompileError(
            "PTC-R030",
            f"cannot write {path}: {error.strerror or error}",
            hint="free some space, or choose another file with `--output`",
        ) from None
