"""What the README and docs/ show is what the commands print and take."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from cli.main import COMMANDS, app
from ptc.hosting.input_spec import parse_dynamic, parse_input

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text()
COMMAND_LINE = (ROOT / "docs" / "command-line.md").read_text()


def test_the_refusal_in_the_readme(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    shown = README.split("$ ptc compile sample_models/dynamic_model.py\n")[1].split("\n\n")[0]
    expected = [line.removeprefix("    ") for line in shown.splitlines()]
    result = CliRunner().invoke(app, ["compile", "sample_models/dynamic_model.py"], color=False)
    printed = [line for line in result.stderr.splitlines() if not line.startswith("note:")]
    assert printed == expected


def test_files_named_in_the_documents_exist() -> None:
    for text in (README, COMMAND_LINE):
        for name in re.findall(r"\b((?:docs|sample_models|ptc|tests)/[\w/.-]+\.(?:md|py))", text):
            assert (ROOT / name).exists(), name


def test_every_command_is_documented() -> None:
    for name in COMMANDS:
        assert f"ptc {name}" in COMMAND_LINE


def test_inputs_in_the_documents_can_be_read() -> None:
    for text in (README, COMMAND_LINE):
        for option in re.findall(r"--input '([^']+)'", text):
            parse_input(option)
        for option in re.findall(r"--dynamic '?([\w:=\[\].]+)'?", text):
            parse_dynamic(option)
    table = COMMAND_LINE.split("| text | meaning |")[1].split("\n\n")[0]
    for row in table.splitlines()[2:]:
        for option in re.findall(r"`([^`]+)`", row.split("|")[1]):
            parse_input(option)
