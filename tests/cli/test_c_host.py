"""A library in a program without Python: compiled with its header, linked, run."""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np
import pytest
import torch
from typer.testing import CliRunner

from cli.main import app
from ptc.loader import LoadRequest, load

ROOT = Path(__file__).resolve().parents[2]
POLICY = ROOT / "sample_models" / "policy.py"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("host")
    result = CliRunner().invoke(app, ["compile", str(POLICY), "-o", str(folder)])
    assert result.exit_code == 0, result.stderr
    return folder


@pytest.mark.parametrize("language", [["gcc", "-std=c99", "-xc"], ["g++", "-std=c++11", "-xc++"]])
def test_a_host_program(folder: Path, language: list[str]) -> None:
    program = folder / "host"
    command = [*language, "-Wall", "-Werror", str(Path(__file__).parent / "host.c")]
    command += ["-xnone", f"-I{folder}", f"-L{folder}", "-lpolicy", "-Wl,-rpath,$ORIGIN"]
    command += ["-o", str(program)]
    subprocess.run(command, check=True)
    result = subprocess.run([str(program)], capture_output=True, text=True, check=False)
    assert result.returncode == 0, (result.returncode, result.stdout)
    *means, message = result.stdout.splitlines()
    x = (np.arange(96) % 7 / 7 - 0.5).astype(np.float32).reshape(4, 24)
    with torch.no_grad():
        expected = load(LoadRequest(str(POLICY))).module(torch.from_numpy(x)).mean.numpy()  # type: ignore[misc]
    np.testing.assert_allclose(np.array(means, np.float32).reshape(4, 6), expected, rtol=1e-4)
    assert "observation" in message and "23" in message


def test_the_library_needs_libc_and_libm_only(folder: Path) -> None:
    shown = subprocess.run(
        ["readelf", "-d", str(folder / "libpolicy.so")], capture_output=True, text=True, check=True
    ).stdout
    needed = {line.split("[")[1].rstrip("]") for line in shown.splitlines() if "NEEDED" in line}
    assert needed <= {"libc.so.6", "libm.so.6", "libpthread.so.0", "ld-linux-x86-64.so.2",
                      "ld-linux-aarch64.so.1"}  # fmt: skip
