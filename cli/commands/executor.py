"""`ptc executor`: the program and library that run `.ptir` files, for hosts without Python."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ptc.codegen.target import parse_target
from ptc.executor.build import build, write_executor

from ..options import Debug
from ..render import print_table


def executor_command(
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="DIR", help="Folder for the files.")
    ] = Path(),
    target: Annotated[
        str, typer.Option("--target", metavar="TARGET", help="Processor to compile for.")
    ] = "native",
    debug: Debug = False,
) -> None:
    """Write `ptc-exec`, `libptc_exec.so` and their headers."""
    del debug
    files = write_executor(build(parse_target(target)), output)
    print_table(["file", "bytes"], ((str(f), f"{f.stat().st_size:,}") for f in files))
