"""`ptc explain`: the page of a diagnostic code."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.markdown import Markdown
from rich.text import Text

from ptc.support.explain import code_pages, explain

from ..options import Debug
from ..render import OUT, print_table


def explain_command(
    code: Annotated[
        str | None,
        typer.Argument(metavar="CODE", help="Such as PTC-L011 or L11.", show_default=False),
    ] = None,
    debug: Debug = False,
) -> None:
    """Explain a diagnostic code; without one, list them all."""
    del debug
    if code is None:
        print_table(["code", "meaning"], ((p.code, p.title) for p in code_pages().values()))
        return
    page = explain(code)
    OUT.print(Text.assemble((page.code, "bold"), f": {page.title}"))
    OUT.print()
    OUT.print(Markdown(page.body) if OUT.is_terminal else Text(page.body))
