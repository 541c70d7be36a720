"""Colours, tables and numbers. Results go to standard output, everything else to standard error."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

from ptc.support.diagnostics import Diagnostic

#: Columns for tables that go into a file or a pipe, where folding them would only break lines.
_PIPE_WIDTH = 200


def _console(*, stderr: bool) -> Console:
    stream = sys.stderr if stderr else sys.stdout
    width = None if stream.isatty() else _PIPE_WIDTH
    return Console(stderr=stderr, soft_wrap=True, highlight=False, markup=False, width=width)


OUT = _console(stderr=False)
ERR = _console(stderr=True)

_COLOURS = {"error": "bold red", "warning": "bold yellow", "note": "bold cyan"}


def print_diagnostic(diagnostic: Diagnostic) -> None:
    """As `Diagnostic.render`, with the severity and the hint coloured on a terminal."""
    # Files below the current folder are written as the user would type them.
    text = Text(diagnostic.render().replace(f"{Path.cwd()}/", ""))
    head = f"{diagnostic.severity}[{diagnostic.code}]"
    text.stylize(_COLOURS.get(diagnostic.severity, "bold"), 0, len(head))
    text.highlight_regex(r"(?m)^  hint:", "bold green")
    text.highlight_regex(r"[^\s]+\.py:\d+", "cyan")
    ERR.print(text)


def print_notes(notes: Iterable[str]) -> None:
    """What was done on the user's behalf, one line each."""
    for note in notes:
        ERR.print(Text.assemble(("note: ", "cyan"), note))


def print_pairs(pairs: Mapping[str, str]) -> None:
    """Names and values in two columns."""
    table = Table.grid(padding=(0, 2))
    table.add_column(style="bold")
    table.add_column(overflow="fold")
    for name, value in pairs.items():
        table.add_row(Text(name), Text(value))
    OUT.print(table)


def print_table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Rows under headings, text to the left."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for heading in headings:
        table.add_column(heading, overflow="fold")
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))
    OUT.print(table)


def size_text(count: float) -> str:
    """`46.8 MB`: bytes in decimal units, as file managers and clouds count them."""
    for unit in ("B", "kB", "MB", "GB"):
        if count < 1000 or unit == "GB":
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1000
    raise AssertionError("unreachable")


def seconds_text(seconds: float) -> str:
    """`1.2 s`, `340 ms`, `12 us`."""
    if seconds >= 1:
        return f"{seconds:.1f} s"
    return f"{seconds * 1e3:.1f} ms" if seconds >= 1e-3 else f"{seconds * 1e6:.0f} us"


def error_text(error: float | None) -> str:
    """A relative error, `not compared` for None."""
    if error is None:
        return "not compared"
    return "0" if error == 0 else f"{error:.1e}"
