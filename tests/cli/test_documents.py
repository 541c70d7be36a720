"""What the README and docs/ show is what the commands print and take."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from cli.main import COMMANDS, app
from ptc.hosting.input_spec import parse_dynamic, parse_input

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text()
COMMAND_LINE = (ROOT / "docs" / "command-line.md").read_text()


def test_the_model_with_control_flow_in_the_readme(tmp_path: Path) -> None:
    """The commands and what the second prints, but for the time that it takes."""
    compile_, rest = README.split("$ ptc compile sample_models/dynamic_model.py")[1].split("\n", 1)
    assert compile_.strip() == "-o build"
    shown = [line.removeprefix("    ") for line in rest.split("\n\n")[0].splitlines()]
    command, library = shown[0].removeprefix("$ ptc run ").split(" --input ")[::-1]
    made = CliRunner().invoke(
        app, ["compile", str(ROOT / "sample_models" / "dynamic_model.py"), "-o", str(tmp_path)]
    )
    assert made.exit_code == 0, made.stderr
    run = [sys.executable, "-m", "cli", "run", str(tmp_path / Path(library).name)]
    done = subprocess.run(
        [*run, "--input", command.strip("'")], capture_output=True, text=True, cwd=ROOT, check=True
    )
    assert done.stdout.splitlines()[:-1] == shown[1:-1]
    assert done.stdout.splitlines()[-1].startswith(shown[-1].removesuffix("..."))


def test_the_model_with_a_dynamic_size_in_the_readme(tmp_path: Path) -> None:
    """Both commands, at the range that the first one names and the size of the second."""
    compile_, run = re.findall(r"\$ ptc (.*gpt\.(?:py|so) .*)", README)[:2]
    file, _, dim, *_ = shlex.split(compile_.removeprefix("compile "))
    made = CliRunner().invoke(
        app, ["compile", str(ROOT / file), "--dynamic", dim, "-o", str(tmp_path)]
    )
    assert made.exit_code == 0, made.stderr
    library, *options = shlex.split(run.removeprefix("run "))
    command = [sys.executable, "-m", "cli", "run", str(tmp_path / Path(library).name), *options]
    for given in (command, [*command[:-1], "ids=i64[1,128]<512"]):
        done = subprocess.run(given, capture_output=True, text=True, cwd=ROOT, check=False)
        assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("model", ["resnet18", "generate_gpt"])
def test_models_that_the_readme_compiles_and_runs(model: str, tmp_path: Path) -> None:
    compile_ = re.search(rf"\$ ptc compile (\S*{model}\S*) -o build", README)
    run = re.search(rf"\$ ptc run build/(lib{model}\.so) --input '(\S+)'", README)
    assert compile_ is not None and run is not None
    made = CliRunner().invoke(app, ["compile", str(ROOT / compile_[1]), "-o", str(tmp_path)])
    assert made.exit_code == 0, made.stderr
    command = [sys.executable, "-m", "cli", "run", str(tmp_path / run[1]), "--input", run[2]]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
    assert done.returncode == 0, done.stderr


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
