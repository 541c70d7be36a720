"""`ptc doctor`: what works on this machine."""

from __future__ import annotations

import json
from dataclasses import asdict

import typer
from rich.text import Text

from ptc.report import doctor
from ptc.support.settings import VARIABLES

from ..boundary import USER_ERROR
from ..options import AsJson, Debug
from ..render import OUT, print_pairs

_MARKS = {"ok": ("ok", "green"), "warn": ("warn", "yellow"), "fail": ("FAIL", "bold red")}


def doctor_command(as_json: AsJson = False, debug: Debug = False) -> None:
    """Try out torch, the compiler, the GPU and the cache, and say what is missing."""
    del debug
    lines = doctor.run()
    if as_json:
        OUT.print_json(json.dumps([asdict(line) for line in lines]))
    else:
        _print_lines(lines)
        print_pairs(VARIABLES)
    if any(line.status == "fail" for line in lines):
        raise typer.Exit(USER_ERROR)


def _print_lines(lines: list[doctor.DoctorLine]) -> None:
    width = max(len(line.name) for line in lines)
    for line in lines:
        mark, colour = _MARKS[line.status]
        name = (f"  {line.name.ljust(width)}  ", "bold")
        OUT.print(Text.assemble((mark.ljust(4), colour), name, line.detail))
        if line.hint:
            OUT.print(f"{' ' * (width + 8)}hint: {line.hint}")
