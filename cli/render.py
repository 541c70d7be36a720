"""Colours, tables and numbers. Results go to standard output, everything else to standard error."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from rich.console import Console
from rich.text import Text

from ptc.support.diagnostics import Diagnostic


class _Console(Console):
    def on_broken_pipe(self) -> None:
        """The reader has gone: left to the command line's boundary, where Rich would exit."""
        raise BrokenPipeError(errno.EPIPE, os.strerror(errno.EPIPE))


OUT = _Console(soft_wrap=True, highlight=False, markup=False)
ERR = _Console(stderr=True, soft_wrap=True, highlight=False, markup=False)

_COLOURS = {"error": "bold red", "warning": "bold yellow", "note": "bold cyan"}


def print_diagnostic(diagnostic: Diagnostic) -> None:
    """As `Diagnostic.render`, with the severity and the hint coloured on a terminal."""
    text = Text(_as_typed(diagnostic.render()))
    head = f"{diagnostic.severity}[{diagnostic.code}]"
    text.stylize(_COLOURS.get(diagnostic.severity, "bold"), 0, len(head))
    text.highlight_regex(r"(?m)^  hint:", "bold green")
    text.highlight_regex(r"[^\s]+\.py:\d+", "cyan")
    ERR.print(text)


def _as_typed(message: str) -> str:
    """Files below the current folder as the user would type them."""
    try:
        return message.replace(f"{Path.cwd()}/", "")
    except OSError:  # the current folder was removed
        return message


def print_notes(notes: Iterable[str]) -> None:
    """What was done on the user's behalf, one line each."""
    for note in notes:
        ERR.print(Text.assemble(("note: ", "cyan"), note))


def print_pairs(pairs: Mapping[str, str]) -> None:
    """Names and values in two columns."""
    width = max(map(len, pairs))
    for name, value in pairs.items():
        OUT.print(Text.assemble((name.ljust(width), "bold"), f"  {value}"))


def print_table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Rows under headings, text to the left. Long cells are left whole: lines can be copied."""
    lines = [tuple(row) for row in rows]
    widths = [max(map(len, column)) for column in zip(headings, *lines, strict=True)]
    for number, line in enumerate([tuple(headings), *lines]):
        text = "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True))
        OUT.print(Text(text.rstrip(), "bold" if number == 0 else ""))


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
