"""A model whose control flow depends on data, from the command line to hosts without torch."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from typer.testing import CliRunner

from cli.main import app
from ptc.loader import LoadRequest, load
from tests.cli.without_torch import WITHOUT_TORCH

ROOT = Path(__file__).resolve().parents[2]
MODEL = ROOT / "sample_models" / "dynamic_model.py"
TEXTS = (
    "Path A: Input sum > 0, applying ReLU",
    "Path B: Input sum <= 0, applying Sigmoid",
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("control")
    result = CliRunner().invoke(app, ["compile", str(MODEL), "-o", str(folder)])
    assert result.exit_code == 0, result.stderr
    assert "no input reached" not in result.output  # the comparison drove both arms
    return folder


def expected(path: int) -> np.ndarray:
    x = torch.arange(1.0, 11) * (-0.25 if path % 2 else 0.5)
    with torch.no_grad():
        return load(LoadRequest(str(MODEL))).module(x).numpy()  # type: ignore[misc]


@pytest.mark.parametrize("language", [["gcc", "-std=c99", "-xc"], ["g++", "-std=c++11", "-xc++"]])
def test_a_host_program_sees_paths_and_numbers(folder: Path, language: list[str]) -> None:
    program = folder / "host"
    command = [*language, "-Wall", "-Werror", str(Path(__file__).parent / "control_host.c")]
    command += ["-xnone", f"-I{folder}", f"-L{folder}", "-ldynamic_model", "-Wl,-rpath,$ORIGIN"]
    subprocess.run([*command, "-o", str(program)], check=True)
    result = subprocess.run([str(program)], capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout
    lines = result.stdout.splitlines()
    for path in range(4):
        text = TEXTS[path % 2] if path < 2 else f"channel 0: {TEXTS[path % 2]}"
        assert lines[2 * path] == text
        actual = np.array(lines[2 * path + 1].split(), np.float32)
        np.testing.assert_allclose(actual, expected(path), rtol=1e-5, atol=1e-6)


def test_run_prints_what_the_model_prints(folder: Path, tmp_path: Path) -> None:
    """In a process of its own, which must not need torch."""
    for path in range(2):
        np.save(tmp_path / "x.npy", np.arange(1, 11, dtype=np.float32) * (-0.25 if path else 0.5))
        command = [sys.executable, "-c", WITHOUT_TORCH, "run", folder / "libdynamic_model.so"]
        command += ["--input", f"x=@{tmp_path / 'x.npy'}", "--save", tmp_path / "y.npy"]
        result = subprocess.run(
            list(map(str, command)), capture_output=True, text=True, cwd=ROOT, check=False
        )
        assert result.returncode == 0, result.stderr
        assert result.stdout.splitlines()[0] == TEXTS[path]
        np.testing.assert_allclose(
            np.load(tmp_path / "y.npy"), expected(path), rtol=1e-5, atol=1e-6
        )
