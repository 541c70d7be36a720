"""Hosted packages: a model with its Python source, read back by `ptc run` and `ptc.load`."""

from __future__ import annotations

import json
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from typer.testing import CliRunner

import ptc
from cli.main import app
from ptc.hosted.package import read_package, unpack
from ptc.hosted.sources import source_files
from ptc.support.diagnostics import CompileError

ROOT = Path(__file__).resolve().parents[2]

MODEL = """
from pathlib import Path
import torch
from torch import nn
from scaling_of_reader import scaled

class Reader(nn.Module):
    def __init__(self, width=4):
        super().__init__()
        self.linear = nn.Linear(width, width)

    def forward(self, x):
        y = self.linear(x)
        factor = float((Path(__file__).parent / "scale.txt").read_text())
        if y.sum() > 0:
            print("positive")
        else:
            print("negative")
        return scaled(y, factor)

example_inputs = (torch.ones(2, 4),)
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("reader")
    (folder / "reader_of_files.py").write_text(MODEL)
    (folder / "scaling_of_reader.py").write_text("def scaled(y, f):\n    return y * f\n")
    (folder / "unrelated.py").write_text("raise ValueError\n")
    (folder / "scale.txt").write_text("2.5")
    model = str(folder / "reader_of_files.py")
    refused = CliRunner().invoke(app, ["compile", model])
    assert refused.exit_code == 1
    assert "PTC-B" in refused.stderr and "--hosted" in refused.stderr
    assert "reader_of_files.py:14" in refused.stderr
    made = CliRunner().invoke(
        app, ["compile", model, "--hosted", "--include", str(folder / "scale.txt"),
              "-o", str(folder / "out")],
    )  # fmt: skip
    assert made.exit_code == 0, made.stderr
    assert "hosted" in made.stdout and "loading it runs its Python code" in made.stdout
    assert "reader_of_files.py:14" in made.stderr
    return folder


@pytest.fixture
def package(folder: Path) -> Path:
    return folder / "out" / "reader_of_files.ptc.zip"


def expected(folder: Path, x: np.ndarray) -> np.ndarray:
    from safetensors.numpy import load

    with zipfile.ZipFile(folder / "out" / "reader_of_files.ptc.zip") as archive:
        weights = load(archive.read("weights.safetensors"))
    return (x @ weights["linear.weight"].T + weights["linear.bias"]) * 2.5


def test_the_manifest_says_what_it_is(package: Path) -> None:
    manifest = read_package(package).manifest
    assert manifest["kind"] == "hosted" and "runs the Python code" in manifest["note"]
    assert manifest["entries"] == [{"name": "forward", "inputs": [["x", "f32", [2, 4]]]}]
    names = {name for name in manifest["files"] if name.startswith("source/")}
    assert names == {
        "source/reader_of_files.py", "source/scaling_of_reader.py", "source/scale.txt",
    }  # fmt: skip
    assert any(name.startswith("cache/objects/") for name in manifest["files"])
    assert "reader_of_files.py:14" in manifest["needs_python"][0]


def test_a_package_does_what_the_model_does(
    folder: Path, package: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = ptc.load(package)
    for sign in (1, -1):
        x = np.linspace(-1, 2, 8, dtype=np.float32).reshape(2, 4) * sign
        result = model(x)
        assert isinstance(result, np.ndarray)
        np.testing.assert_allclose(result, expected(folder, x), rtol=1e-5, atol=1e-6)
        word = "positive" if result.sum() > 0 else "negative"
        assert capsys.readouterr().out == f"{word}\n"
        tensor = model(torch.from_numpy(x))
        np.testing.assert_allclose(tensor.numpy(), result)
        capsys.readouterr()


def test_run_runs_it_in_another_process(folder: Path, package: Path, tmp_path: Path) -> None:
    x = np.ones((2, 4), np.float32)
    np.save(tmp_path / "x.npy", x)
    command = [sys.executable, "-m", "cli", "run", str(package)]
    command += ["--input", f"x=@{tmp_path / 'x.npy'}", "--save", str(tmp_path / "y.npy")]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
    assert done.returncode == 0, done.stderr
    np.testing.assert_allclose(np.load(tmp_path / "y.npy"), expected(folder, x), rtol=1e-5)
    assert done.stdout.splitlines()[0] in ("positive", "negative")


def test_without_torch_a_package_is_refused(package: Path) -> None:
    script = f"import sys; sys.modules['torch'] = None; import ptc; ptc.load({str(package)!r})"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, cwd=ROOT, check=False
    )
    assert done.returncode == 1 and "PTC-R041" in done.stderr


# -- packages that are not whole, or mean harm ----------------------------------------------------


def changed(package: Path, folder: Path, change: Callable[[dict[str, bytes]], None]) -> Path:
    """The package with other files in it."""
    with zipfile.ZipFile(package) as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    change(files)
    path = folder / "changed.ptc.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return path


def edit(**values: object) -> Callable[[dict[str, bytes]], None]:
    def change(files: dict[str, bytes]) -> None:
        manifest = json.loads(files["package.json"])
        files["package.json"] = json.dumps({**manifest, **values}).encode()

    return change


def replace_source(files: dict[str, bytes]) -> None:
    files["source/reader_of_files.py"] = files["source/reader_of_files.py"].replace(
        b"positive", b"POSITIVE"
    )


def drop_source(files: dict[str, bytes]) -> None:
    del files["source/scaling_of_reader.py"]


HOSTILE = [
    edit(kind="library"),
    edit(format=2),
    edit(files=[]),
    edit(files={"../outside": [0, ""]}),
    edit(files={"/etc/outside": [0, ""]}),
    edit(files={"a/../../outside": [0, ""]}),
    edit(files={"source/x.py": [-1, ""]}),
    edit(files={"source/x.py": ["1", ""]}),
    edit(request={}),
    edit(request=None),
    replace_source,
    drop_source,
    lambda files: files.pop("package.json"),
    lambda files: files.update({"package.json": b"["}),
    lambda files: files.update({"package.json": b"[" * 100_000}),
]


@pytest.mark.parametrize("change", HOSTILE)
def test_hostile_packages_are_refused_before_anything_runs(
    package: Path, tmp_path: Path, change: Callable[[dict[str, bytes]], None]
) -> None:
    with pytest.raises(CompileError, match="PTC-R040"):
        ptc.load(changed(package, tmp_path, change))


def test_truncated_packages_are_refused(package: Path, tmp_path: Path) -> None:
    data = package.read_bytes()
    for size in (0, 3, 4, 100, len(data) // 2, len(data) - 1):
        (tmp_path / "short.ptc.zip").write_bytes(data[:size])
        with pytest.raises(CompileError, match="PTC-R040"):
            ptc.load(tmp_path / "short.ptc.zip")


def test_damaged_bytes_are_found(package: Path, tmp_path: Path) -> None:
    data = bytearray(package.read_bytes())
    start = data.index(b"class Reader")
    data[start] ^= 1
    (tmp_path / "bad.ptc.zip").write_bytes(data)
    with pytest.raises(CompileError, match="PTC-R040"):
        unpack(read_package(tmp_path / "bad.ptc.zip"), tmp_path / "unpacked")


def test_a_missing_package(tmp_path: Path) -> None:
    with pytest.raises(CompileError, match="PTC-R001"):
        ptc.load(tmp_path / "none.ptc.zip")


# -- sources --------------------------------------------------------------------------------------


def test_sources_are_followed_through_packages(tmp_path: Path) -> None:
    files = {
        "net/__init__.py": "",
        "net/model.py": "from . import layers\nfrom .blocks.deep import Deep\nimport torch\n",
        "net/layers.py": "def f():\n    import late\n",
        "net/blocks/__init__.py": "from .wide import Wide\n",
        "net/blocks/deep.py": "class Deep: ...\n",
        "net/blocks/wide.py": "class Wide: ...\n",
        "net/unused.py": "",
        "late.py": "",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    root, found = source_files(tmp_path / "net" / "model.py")
    assert root == tmp_path
    names = {file.relative_to(root).as_posix() for file in found}
    assert names == set(files) - {"net/unused.py"}
