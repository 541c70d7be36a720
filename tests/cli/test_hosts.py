"""The programs of docs/hosts, built and run with the commands at their heads, against eager."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from ptc.loader import load
from ptc.loader.model import LoadRequest
from ptc.pipeline import BuildOptions, build_library

ROOT = Path(__file__).parents[2]
HOSTS = ROOT / "docs" / "hosts"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[str]]:
    """The sample library, images and programs in one folder; the lines that they should print."""
    folder = tmp_path_factory.mktemp("hosts")
    model = load(LoadRequest(str(ROOT / "sample_models" / "mlp.py")))
    build_library(model.entries, BuildOptions(f"{folder}/", "mlp", check=False))
    images = torch.randn(8, 1, 28, 28, generator=torch.Generator().manual_seed(3))
    (folder / "images.f32").write_bytes(images.numpy().tobytes())
    for path in HOSTS.glob("classify.*"):
        shutil.copy(path, folder)
    with torch.no_grad():
        scores = model.entries[0].function(images)
    best = [(int(row.argmax()), float(row.max())) for row in scores]
    return folder, [f"image {i}: class {k}, score {s:.4f}" for i, (k, s) in enumerate(best)]


def tools() -> dict[str, str]:
    """The environment in which `python` is this one and rustup's tools are found."""
    cargo = Path.home() / ".cargo" / "bin"
    own = Path(sys.executable).parent
    paths = [str(own), os.environ["PATH"], *([str(cargo)] if cargo.is_dir() else [])]
    return {**os.environ, "PATH": os.pathsep.join(paths), "PYTHONPATH": str(ROOT)}


def run(folder: tuple[Path, list[str]], name: str, tool: str) -> None:
    if shutil.which(tool, path=tools()["PATH"]) is None:
        pytest.skip(f"{tool} is not installed")
    place, expected = folder
    text = (HOSTS / name).read_text()
    commands = re.findall(r"^[ /*]*\$ (.*)$", text, re.MULTILINE)
    assert commands[0] == "ptc compile sample_models/mlp.py -o ." and len(commands) > 1
    printed = ""
    for command in commands[1:]:
        if command.startswith("npm "):
            continue
        done = subprocess.run(
            command, shell=True, cwd=place, env=tools(), capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, f"{command}: {done.stderr}"
        printed = done.stdout
    lines = printed.splitlines()
    assert len(lines) == len(expected)
    for line, wanted in zip(lines, expected, strict=True):
        assert line.partition(", score")[0] == wanted.partition(", score")[0]
        assert float(line.split()[-1]) == pytest.approx(float(wanted.split()[-1]), abs=2e-4)


def test_c(folder: tuple[Path, list[str]]) -> None:
    run(folder, "classify.c", "cc")


def test_cpp(folder: tuple[Path, list[str]]) -> None:
    run(folder, "classify.cpp", "c++")


def test_rust(folder: tuple[Path, list[str]]) -> None:
    run(folder, "classify.rs", "rustc")


def test_python_without_torch(folder: tuple[Path, list[str]]) -> None:
    run(folder, "classify.py", "python")


def test_javascript(folder: tuple[Path, list[str]]) -> None:
    """koffi is not among what tests install."""
    modules = os.environ.get("PTC_TEST_NODE_MODULES")
    if not modules:
        pytest.skip("PTC_TEST_NODE_MODULES names no node_modules with koffi")
    (folder[0] / "node_modules").symlink_to(modules)
    run(folder, "classify.mjs", "node")


def test_a_host_without_the_images(folder: tuple[Path, list[str]]) -> None:
    program = folder[0] / "classify_c"
    if not program.exists():
        pytest.skip("the C program was not built")
    assert subprocess.run([program], capture_output=True, check=False).returncode == 2
