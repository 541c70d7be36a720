"""Ten kinds of bad input: each a coded diagnostic and a non-zero exit, no traceback, no
leftovers."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from safetensors.torch import save_file
from typer.testing import CliRunner

from cli.main import app
from ptc.loader import LoadRequest, load

ROOT = Path(__file__).resolve().parents[2]
MLP = ROOT / "sample_models" / "mlp.py"
runner = CliRunner()

FILES = {
    "syntax.py": "def f(:\n    pass\n",
    "raises.py": "raise ValueError('at import')\n",
    "empty.py": "x = 1\n",
    "several.py": "from torch import nn\nclass A(nn.Module): ...\nclass B(nn.Module): ...\n",
    "exits.py": "import sys\nsys.exit(4)\n",
    "branch.py": "def f(x):\n    return x + 1 if x.sum() > 0 else x - len(input())\n",
    "own_class.py": "class Own(BaseException): ...\nraise Own('at import')\n",
    "entries.py": "import torch\nmodel = torch.nn.Linear(2, 2)\n"
    "example_inputs = torch.ones(1, 2)\n",
    "strings.py": "def f(x):\n    return {'y': x, 'open': open}\n",
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    "code, arguments",
    [
        ("PTC-L001", ["missing.py"]),
        ("PTC-L004", ["syntax.py"]),
        ("PTC-L005", ["raises.py"]),
        ("PTC-L005", ["own_class.py"]),
        ("PTC-L006", ["exits.py"]),
        ("PTC-L016", ["several.py:A", "--init", "[" * 5000]),
        ("PTC-L051", ["entries.py", "--entry", "forward", "--entry", "forward"]),
        ("PTC-L051", ["entries.py", "--input", "encode:x=f32[1,2]"]),
        ("PTC-U005", ["entries.py", "--name", "../../evil"]),
        ("PTC-U006", ["entries.py", "--dump-dir", "empty.py/dumps"]),
        ("PTC-L010", ["empty.py"]),
        ("PTC-L011", ["several.py"]),
        ("PTC-L012", ["several.py:C"]),
        ("PTC-L020", [MLP, "--input", "f32[8,1,28,"]),
        ("PTC-L022", [MLP, "--input", "picture=f32[8,1,28,28]"]),
        ("PTC-L060", [MLP, "--input", "f32[8,5]"]),
        ("PTC-L060", [MLP, "--input", "i64[8,784]"]),
        ("PTC-L031", [MLP, "--dynamic", "images:9=b"]),
        ("PTC-L040", [MLP, "--weights", "missing.safetensors"]),
        ("PTC-B003", ["branch.py", "--input", "f32[3]"]),
        ("PTC-B011", ["strings.py", "--input", "f32[3]"]),
        ("PTC-C002", [MLP, "--target", "pdp11"]),
        ("PTC-U003", [MLP, "--stop-after", "lunch"]),
    ],
)
def test_compile_refuses(folder: Path, code: str, arguments: list[object]) -> None:
    result = runner.invoke(app, ["compile", *map(str, arguments), "-o", "out"], color=False)
    assert f"error[{code}]" in result.stderr, result.stderr
    assert result.exit_code == 1
    assert "Traceback" not in result.output + result.stderr
    assert "  hint: " in result.stderr
    assert not (folder / "out").exists() or not list((folder / "out").iterdir())


@pytest.mark.parametrize("compiler", ["/nonexistent/g++", "'unclosed", "/bin/false", "/bin/cat"])
def test_no_compiler(folder: Path, monkeypatch: pytest.MonkeyPatch, compiler: str) -> None:
    monkeypatch.setenv("PTC_CXX", compiler)
    result = runner.invoke(app, ["compile", str(MLP), "-o", "out"])
    assert "error[PTC-C001]" in result.stderr and result.exit_code == 1
    assert not (folder / "out").exists() or not list((folder / "out").iterdir())


def test_a_full_disk_behind_standard_output(folder: Path) -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "cli", "explain", "PTC-C001"],
            stdout=full, stderr=subprocess.PIPE, text=True, cwd=ROOT, check=False,
        )  # fmt: skip
    assert "error[PTC-U007]" in done.stderr and done.returncode == 1
    assert "Traceback" not in done.stderr


def test_a_reader_that_goes_away(folder: Path) -> None:
    """`ptc explain | head` is no fault of ptc."""
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "w") as pipe:
        done = subprocess.run(
            [sys.executable, "-m", "cli", "explain"],
            stdout=pipe, stderr=subprocess.PIPE, text=True, cwd=ROOT, check=False,
        )  # fmt: skip
    assert (done.stderr, done.returncode) == ("", 1)


def test_an_output_that_cannot_be_written(folder: Path) -> None:
    (folder / "file").write_text("")
    result = runner.invoke(app, ["compile", str(MLP), "-o", "file/libx.so"])
    assert "error[PTC-R030]" in result.stderr and result.exit_code == 1


def test_a_graph_that_cannot_be_written(folder: Path) -> None:
    """A full disk, and a folder in its place; what was announced nowhere is nowhere."""
    (folder / "taken").mkdir()
    before = sorted(folder.iterdir())
    for output in ("/dev/full", "taken", "empty.py/graph.txt"):
        result = runner.invoke(app, ["inspect-graph", "entries.py", "--output", output])
        assert result.exit_code == 1 and "error[PTC-R030]" in result.stderr, output
        assert f"cannot write {output}" in result.stderr
    assert Path("/dev/full").is_char_device()
    assert [p for p in sorted(folder.iterdir()) if p.name != "__pycache__"] == before


def test_a_graph_is_written_where_a_link_leads(folder: Path) -> None:
    (folder / "link").symlink_to("shown.txt")
    result = runner.invoke(app, ["inspect-graph", "entries.py", "--output", "link"])
    assert result.exit_code == 0, result.stderr
    assert (folder / "link").is_symlink() and (folder / "shown.txt").read_text()


def test_run_time_errors_of_a_compiled_model(folder: Path) -> None:
    """Another entry's input, weights of other shapes, and a library without its end."""
    made = runner.invoke(app, ["compile", str(MLP), "-o", "out"])
    assert made.exit_code == 0, made.stderr
    library = folder / "out" / "libmlp.so"
    cut = folder / "cut.so"
    images = ["-i", "images=f32[8,1,28,28]"]
    cut.write_bytes(library.read_bytes()[:-100])
    module = load(LoadRequest(str(MLP))).module
    assert module is not None
    state = {
        name: tensor.reshape(*reversed(tensor.shape))
        for name, tensor in module.state_dict().items()
    }
    save_file(state, folder / "transposed.safetensors")
    for code, arguments in [
        ("PTC-R015", [library, "-i", "encode:images=f32[8,1,28,28]"]),
        ("PTC-R007", [library, *images, "--weights", "transposed.safetensors"]),
        ("PTC-R002", [cut, *images]),
    ]:
        result = runner.invoke(app, ["run", *map(str, arguments)], color=False)
        assert f"error[{code}]" in result.stderr and result.exit_code == 1
        assert "Traceback" not in result.output + result.stderr


def test_a_forward_with_file_access_proposes_other_methods(folder: Path) -> None:
    (folder / "reader.py").write_text(
        "from torch import nn\n"
        "class Reader(nn.Module):\n"
        "    def __init__(self):\n"
        "        super().__init__()\n"
        "        self.layer = nn.Linear(3, 3)\n"
        "    def forward(self, path):\n"
        "        with open(path) as f:\n"
        "            return self.encode(len(f.read()))\n"
        "    def encode(self, x):\n"
        "        return self.layer(x)\n"
    )
    result = runner.invoke(app, ["compile", "reader.py", "--input", "path='empty.py'"], color=False)
    assert result.exit_code == 1 and "error[PTC-B" in result.stderr
    assert "--entry encode" in result.stderr and "reader.py:7" in result.stderr
    made = runner.invoke(
        app, ["compile", "reader.py", "--entry", "encode", "--input", "x=f32[2,3]", "-o", "out"]
    )
    assert made.exit_code == 0, made.stderr
