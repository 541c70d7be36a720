"""`ptc bench`: ptc beside eager and torch.compile."""

from __future__ import annotations

from typing import Annotated

import typer

from ptc.bench.compare import compare
from ptc.bench.contenders import CONTENDERS
from ptc.bench.suite import STANDARD, SUITE

from ..options import Debug
from ..render import ERR, error_text, print_table, seconds_text


def bench_command(
    models: Annotated[
        list[str], typer.Argument(help=f"Models: {', '.join(SUITE)} (default: the first four).")
    ] = [],  # noqa: B006  # Typer copies defaults
    contenders: Annotated[
        list[str],
        typer.Option("--contender", help=f"One of {', '.join(CONTENDERS)} (default: all). Repeat."),
    ] = [],  # noqa: B006
    cold: Annotated[bool, typer.Option("--cold/--no-cold", help="Time cold compilation.")] = True,
    speed: Annotated[bool, typer.Option("--speed/--no-speed", help="Time calls.")] = True,
    debug: Debug = False,
) -> None:
    """Compare ptc with its peers: cold compile time and speed, one thread, a process each."""
    del debug
    rows: list[tuple[str, ...]] = []
    with ERR.status("measuring"):
        for row in compare(
            models or STANDARD, contenders or list(CONTENDERS), cold=cold, speed=speed
        ):
            rows.append(
                (
                    row.model,
                    row.contender,
                    _seconds(row.cold),
                    _seconds(row.median),
                    "" if row.ratio is None else f"{row.ratio:.2f}",
                    "" if row.error is None else error_text(row.error),
                )
            )
    headings = ["model", "contender", "cold compile", "call", "speed / eager", "error"]
    print_table(headings, rows)


def _seconds(value: float | None) -> str:
    return "" if value is None else seconds_text(value)
