"""The command line as a person meets it: output, exit codes, no traceback for their mistakes."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from cli.main import COMMANDS, app
from ptc.support.explain import code_pages
from ptc.support.version import VERSION
from tests.cli.without_torch import WITHOUT_TORCH

ROOT = Path(__file__).resolve().parents[2]
runner = CliRunner()


def invoke(*arguments: object):
    return runner.invoke(app, [str(a) for a in arguments], prog_name="ptc", color=False)


def text(result) -> str:
    return result.output + result.stderr


def process(*arguments: object, code: str | None = None, **environment: str):
    """The command in a process of its own."""
    command = [sys.executable, *(["-c", code] if code else ["-m", "cli"]), *map(str, arguments)]
    env = {**os.environ, "PYTHONPATH": str(ROOT), **environment}
    return subprocess.run(
        command, cwd=ROOT, env=env, capture_output=True, text=True, check=False, timeout=120
    )


@pytest.fixture(scope="session")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from tests.hosting.conftest import build_library

    return build_library(tmp_path_factory.mktemp("cli"))


def test_help_lists_every_command() -> None:
    result = invoke("--help")
    assert result.exit_code == 0
    for name in COMMANDS:
        assert name in result.output


@pytest.mark.parametrize("command", ["run", "explain", "doctor"])
def test_help_of_commands_that_need_no_torch(command: str) -> None:
    result = invoke(command, "--help")
    assert result.exit_code == 0 and "--debug" in result.output


def test_version() -> None:
    assert invoke("--version").output.strip() == f"ptc {VERSION}"


@pytest.mark.parametrize("arguments", [["frobnicate"], ["run"], ["run", "x.so", "--nope"]])
def test_wrong_usage_is_exit_code_2(arguments: list[str]) -> None:
    assert invoke(*arguments).exit_code == 2


# explain


def test_explain_one() -> None:
    result = invoke("explain", "l11")
    assert result.exit_code == 0 and result.output.startswith("PTC-L011: ")


def test_explain_lists_all() -> None:
    result = invoke("explain")
    assert all(code in result.output for code in code_pages())


def test_explain_unknown() -> None:
    result = invoke("explain", "Q1")
    assert result.exit_code == 1 and "error[PTC-U010]" in text(result)


# run


def test_run_prints_outputs(library: Path) -> None:
    result = invoke("run", library, "--input", "x=f32[2,3]=1.5")
    assert result.exit_code == 0, text(result)
    assert re.search(r"y +f32\[2, 3\] +3 \.\. 3 +3 3 3 3 3 3", result.output)


def test_run_another_entry_and_container_inputs(library: Path) -> None:
    result = invoke("run", library, "--entry", "negate", "-i", "batch={x: f32[4]=2}")
    assert result.exit_code == 0 and "-8" in result.output


def test_run_repeats_and_times(library: Path) -> None:
    result = invoke("run", library, "-i", "f32[1,3]", "--repeat", 5)
    assert result.exit_code == 0 and "median" in result.output


def test_run_saves(library: Path, tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.arange(6, dtype=np.float32).reshape(2, 3))
    result = invoke("run", library, "-i", f"x=@{tmp_path}/x.npy", "--save", tmp_path / "out.npz")
    assert result.exit_code == 0, text(result)
    assert np.load(tmp_path / "out.npz")["y"].tolist() == [[0, 2, 4], [6, 8, 10]]


def test_run_is_repeatable(library: Path) -> None:
    one, two, other = (
        invoke("run", library, "-i", "f32[1,3]", "--seed", seed).output for seed in (1, 1, 2)
    )
    assert one.splitlines()[1] == two.splitlines()[1] != other.splitlines()[1]


@pytest.mark.parametrize(
    "arguments, code",
    [
        ([], "PTC-R010"),
        (["-i", "x=f32[2,4]"], "PTC-R012"),
        (["-i", "x=f64[2,3]"], "PTC-R011"),
        (["-i", "z=f32[2,3]", "-i", "x=f32[2,3]"], "PTC-R010"),
        (["-i", "x=f32[2,"], "PTC-L020"),
        (["-i", "x=@no.npy"], "PTC-L021"),
        (["-i", "x=f32[2,3]", "--entry", "nope"], "PTC-R015"),
        (["-i", "x=f32[2,3]", "--save", "out.txt"], "PTC-U002"),
        (["-i", "x=f32[2,3]", "--save", "no/such/folder/out.npz"], "PTC-U002"),
        (["-i", "x=f32[2,3]=99"], "PTC-R020"),
    ],
)
def test_run_refuses_with_a_code(library: Path, arguments: list[str], code: str) -> None:
    result = invoke("run", library, *arguments)
    assert result.exit_code == 1
    assert f"error[{code}]" in text(result) and "Traceback" not in text(result)


def test_run_says_what_to_type_for_missing_inputs(library: Path) -> None:
    result = invoke("run", library)
    assert "--input 'x=f32[2,3]'" in text(result)


def test_run_of_a_truncated_library(library: Path, tmp_path: Path) -> None:
    cut = tmp_path / "libcut.so"
    cut.write_bytes(library.read_bytes()[:5000])
    result = process("run", cut, "-i", "x=f32[2,3]")
    assert result.returncode == 1
    assert "error[PTC-R002]" in result.stderr and "Traceback" not in result.stderr


def test_run_where_torch_is_not_installed(library: Path) -> None:
    result = process("run", library, "-i", "x=f32[2,3]=1", code=WITHOUT_TORCH)
    assert result.returncode == 0, result.stderr
    assert "f32[2, 3]" in result.stdout


@pytest.mark.parametrize("command", ["compile", "export", "inspect-graph"])
def test_other_commands_say_that_torch_is_missing(command: str) -> None:
    result = process(command, "model.py", code=WITHOUT_TORCH)
    assert result.returncode == 1
    assert "error[PTC-U001]" in result.stderr and "`torch`" in result.stderr
    assert "Traceback" not in result.stderr


# failures


def broken(monkeypatch: pytest.MonkeyPatch, error: BaseException) -> None:
    import cli.commands.run

    def fail(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(cli.commands.run, "load", fail)


def test_a_fault_of_ptc(monkeypatch: pytest.MonkeyPatch) -> None:
    broken(monkeypatch, ValueError("surprise"))
    result = invoke("run", "x.so")
    assert result.exit_code == 3
    assert "error[PTC-I001]" in text(result) and "surprise" in text(result)
    assert "Traceback" not in text(result)


@pytest.mark.parametrize("arguments", [["--debug", "run", "x.so"], ["run", "x.so", "--debug"]])
def test_debug_shows_the_traceback(monkeypatch: pytest.MonkeyPatch, arguments: list[str]) -> None:
    broken(monkeypatch, ValueError("surprise"))
    result = invoke(*arguments)
    assert result.exit_code == 3 and "Traceback" in text(result)


def test_interrupt(monkeypatch: pytest.MonkeyPatch) -> None:
    broken(monkeypatch, KeyboardInterrupt())
    result = invoke("run", "x.so")
    assert result.exit_code == 130
    assert "interrupted" in text(result) and "Traceback" not in text(result)


def test_a_malformed_environment_variable(library: Path) -> None:
    result = process("run", library, "-i", "f32[1,3]", PTC_THREADS="many")
    assert result.returncode == 1 and "error[PTC-V001]" in result.stderr


# doctor


def test_doctor_reports_what_it_tried() -> None:
    result = process("doctor")
    assert result.returncode == 0, result.stdout + result.stderr
    for name in ("python", "torch", "compiler", "cache", "PTC_CACHE_DIR"):
        assert name in result.stdout


def test_doctor_misses_nothing_that_cpus_do_not_need(monkeypatch: pytest.MonkeyPatch) -> None:
    from ptc.report import doctor

    installed = {"triton": None, "transformers": None, "onnx": None}
    monkeypatch.setattr(doctor, "_package_version", lambda name: installed.get(name, "1.0"))
    found = {line.name: line.status for line in doctor.run()}
    assert found["torch"] == "ok" and found["onnx"] == "warn"
    assert not {"triton", "transformers"} & found.keys()


def test_doctor_fails_without_a_compiler() -> None:
    result = process("doctor", "--json", PTC_CXX="/nonexistent/g++")
    assert result.returncode == 1
    lines = {line["name"]: line for line in json.loads(result.stdout)}
    assert lines["compiler"]["status"] == "fail" and lines["compiler"]["hint"]
