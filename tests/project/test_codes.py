"""Every diagnostic code that the sources raise has a page, and every page belongs to a code."""

from __future__ import annotations

from pathlib import Path

import pytest

from ptc.support.diagnostics import CompileError
from ptc.support.explain import CODE, code_pages, explain, parse_pages

ROOT = Path(__file__).resolve().parents[2]


def codes_in_sources() -> dict[str, str]:
    """Code -> one file that names it. Docstrings count: a code that is talked about must exist."""
    found: dict[str, str] = {}
    for top in ("ptc", "cli"):
        for path in sorted((ROOT / top).rglob("*")):
            if path.suffix in {".py", ".h", ".cpp"}:
                for code in CODE.findall(path.read_text()):
                    found.setdefault(code, str(path.relative_to(ROOT)))
    return found


def test_every_raised_code_has_a_page() -> None:
    missing = {c: f for c, f in codes_in_sources().items() if c not in code_pages()}
    assert not missing, missing


def test_every_page_belongs_to_a_raised_code() -> None:
    assert not sorted(set(code_pages()) - set(codes_in_sources()))


def test_pages_say_something() -> None:
    assert not [p.code for p in code_pages().values() if len(p.body) < 40]


@pytest.mark.parametrize("spelling", ["PTC-V001", "ptc-v001", "V001", "v1"])
def test_explain_accepts_short_spellings(spelling: str) -> None:
    assert explain(spelling).code == "PTC-V001"


def test_explain_refuses_unknown_codes() -> None:
    with pytest.raises(CompileError, match="no diagnostic code `Z999`"):
        explain("Z999")


def test_parse_pages_splits_at_headings() -> None:
    pages = parse_pages("# T\n\n## PTC-A001: one\n\n    x = 1\n\n## PTC-A002: two\n\ny\n")
    assert [(p.code, p.title, p.body) for p in pages] == [
        ("PTC-A001", "one", "    x = 1"),
        ("PTC-A002", "two", "y"),
    ]
