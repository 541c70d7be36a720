"""The page of each diagnostic code, for `ptc explain`.

A page is a section of `pages/<family>.md`, headed `## PTC-B014: title`; the family is the letter of
the code. Whoever raises a code writes its section, and a test compares the two sets.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from ptc.support.diagnostics import CompileError

CODE = re.compile(r"PTC-[A-Z]\d{3}")
_HEADING = re.compile(rf"^## ({CODE.pattern}): (.+)$", re.MULTILINE)
_PAGES = Path(__file__).parent / "pages"


@dataclass(frozen=True, slots=True)
class CodePage:
    """What a code means, how it comes about and what to do. `body` is Markdown."""

    code: str
    title: str
    body: str


@cache
def code_pages() -> dict[str, CodePage]:
    """Every page, by code, in the order of the codes."""
    pages: dict[str, CodePage] = {}
    for path in sorted(_PAGES.glob("*.md")):
        for page in parse_pages(path.read_text(encoding="utf-8")):
            if page.code in pages:
                raise ValueError(f"{path.name}: {page.code} has two sections")
            pages[page.code] = page
    return dict(sorted(pages.items()))


def parse_pages(text: str) -> list[CodePage]:
    """The sections of one family file."""
    headings = list(_HEADING.finditer(text))
    ends = [*(h.start() for h in headings[1:]), len(text)]
    return [
        CodePage(h.group(1), h.group(2).strip(), text[h.end() : end].strip("\n"))
        for h, end in zip(headings, ends, strict=True)
    ]


def explain(code: str) -> CodePage:
    """The page of `code`; `b14`, `B014` and `ptc-b014` name it too. Unknown codes: CompileError."""
    match = re.fullmatch(r"(?:PTC-)?([A-Z])(\d{1,3})", code.strip().upper())
    page = code_pages().get(f"PTC-{match[1]}{int(match[2]):03d}") if match else None
    if page is None:
        raise CompileError(
            "PTC-U010",
            f"there is no diagnostic code `{code}`",
            hint="`ptc explain` without a code lists them all",
        )
    return page
