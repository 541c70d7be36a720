"""`ptc doctor`: what works on this machine."""

from __future__ import annotations

import json
from dataclasses import asdict

import typer
from rich.table import Table
from rich.text import Text

from ptc.report import doctor
from ptc.support.settings import VARIABLES

from ..boundary import USER_ERROR
from ..options import AsJson, Debug
from ..render import OUT

_MARKS = {"ok": ("ok", "green"), "warn": ("warn", "yellow"), "fail": ("FAIL", "bold red")}


def doctor_command(as_json: AsJson = False, debug: Debug = False) -> None:
    """Try out torch, the compiler, the GPU and the cache, and say what is missing."""
    del debug
    lines = doctor.run()
    if as_json:
        OUT.print_json(json.dumps([asdict(line) for line in lines]))
    else:
        table = Table.grid(padding=(0, 2))
        for line in lines:
            mark, colour = _MARKS[line.status]
            detail = f"{line.detail}\nhint: {line.hint}" if line.hint else line.detail
            table.add_row(Text(mark, colour), Text(line.name, "bold"), Text(detail))
        for name, meaning in VARIABLES.items():
            table.add_row(Text("env", "dim"), Text(name), Text(meaning, "dim"))
        OUT.print(table)
    if any(line.status == "fail" for line in lines):
        raise typer.Exit(USER_ERROR)
