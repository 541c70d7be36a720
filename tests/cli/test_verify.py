"""`ptc verify`: every kind of artifact against the model, equal, different, of another shape."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from cli.main import app
from ptc.exporting import export_model
from ptc.hosted.build import build_hosted
from ptc.loader import load
from ptc.loader.model import LoadRequest
from ptc.pipeline import BuildOptions, build_library
from ptc.support.diagnostics import CompileError
from ptc.verifying import VerifyReport, dynamic_texts, require_equal, verify

MODEL = """
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self, factor: float = 1.0):
        super().__init__()
        self.linear = nn.Linear(4, 3)
        self.factor = factor
        self.register_buffer("calls", torch.zeros(1))

    def forward(self, x: torch.Tensor):
        self.calls += 1
        return self.linear(x) * self.factor, x.argmax(-1) + self.calls.long()

    def double(self, x: torch.Tensor):
        return x * 2

class Talking(nn.Module):
    def __init__(self, word: str = "large", limit: float = 1000.0):
        super().__init__()
        self.word, self.limit = word, limit

    def forward(self, x: torch.Tensor):
        if x.sum() > self.limit:
            raise ValueError("too much")
        if x.abs().max() > 0.5:
            print(self.word)
        return x * 2

def inputs():
    return (torch.ones(2, 4),)
"""


def request(folder: Path, name: str, init: dict[str, object] | None = None, **options: object):  # type: ignore[no-untyped-def]
    path = folder / "model.py"
    path.write_text(MODEL)
    given = {"inputs": ("x=f32[2,4]",), "init": init or {}, **options}
    return LoadRequest(f"{path}:{name}", **given)  # type: ignore[arg-type]


def check(artifact: Path, folder: Path, name: str, **options: object) -> VerifyReport:
    return verify(artifact, load(request(folder, name, **options)).entries)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Net as a library of any batch and in each export format, Talking as a library."""
    folder = tmp_path_factory.mktemp("verify")
    net = load(request(folder, "Net", dynamic=("x:0=batch[1..64]",)))
    build_library(net.entries, BuildOptions(folder / "libnet.so", "net", check=False))
    for format in ("onnx", "ptir"):
        export_model(net.entries, format=format, output=folder / f"net.{format}", check=False)
    talking = load(request(folder, "Talking"))
    build_library(talking.entries, BuildOptions(folder / "libtalk.so", "talk", check=False))
    return folder


@pytest.mark.parametrize("name", ["libnet.so", "net.onnx", "net.ptir"])
def test_what_is_equal_and_what_is_not(built: Path, tmp_path: Path, name: str) -> None:
    dynamic = ("x:0=batch[1..64]",)
    report = check(built / name, tmp_path, "Net", dynamic=dynamic)
    assert report.passed and len(report.rows) >= 2 and all(r.sets > 1 for r in report.rows)
    require_equal(report)
    other = check(built / name, tmp_path, "Net", init={"factor": 1.01}, dynamic=dynamic)
    assert [row.passed for row in other.rows][:2] == [False, True]
    with pytest.raises(CompileError) as caught:
        require_equal(other)
    assert caught.value.code == "PTC-A031"


def test_prints_and_exceptions(built: Path, tmp_path: Path) -> None:
    assert check(built / "libtalk.so", tmp_path, "Talking").passed
    for init in ({"word": "big"}, {"limit": -1000.0}):
        report = check(built / "libtalk.so", tmp_path, "Talking", init=init)
        assert not report.passed
        assert any(row.output == "prints and exceptions" for row in report.rows if not row.passed)


@pytest.mark.parametrize("name", ["libnet.so", "net.onnx"])
def test_an_interface_that_does_not_fit(built: Path, tmp_path: Path, name: str) -> None:
    with pytest.raises(CompileError) as caught:
        check(built / name, tmp_path, "Net", inputs=("x=f64[2,4]",), dtype="f64")
    assert caught.value.code == "PTC-A032"


def test_unknown_kinds_and_entries(built: Path, tmp_path: Path) -> None:
    with pytest.raises(CompileError) as caught:
        check(built / "net.h", tmp_path, "Net")
    assert caught.value.code == "PTC-A033"
    with pytest.raises(CompileError) as caught:
        verify(built / "libnet.so", load(request(tmp_path, "Net", entries=("double",))).entries)
    assert caught.value.code == "PTC-A032"


def test_a_library_says_which_sizes_may_change(built: Path) -> None:
    library = built / "libnet.so"
    assert dynamic_texts(library, []) == ["x:0=batch[1..64]"]
    assert dynamic_texts(library, ["forward"]) == ["x:0=batch[1..64]"]
    assert dynamic_texts(library, ["forward", "double"]) == ["forward:x:0=batch[1..64]"]
    assert dynamic_texts(library, ["double"]) == []


def test_the_command(built: Path, tmp_path: Path) -> None:
    request(tmp_path, "Net")
    against = ["--against", f"{tmp_path}/model.py:Net", "-i", "x=f32[2,4]"]
    library = str(built / "libnet.so")
    done = CliRunner().invoke(app, ["verify", library, *against, "--json"])
    assert done.exit_code == 0
    start = done.output.index('{\n  "passed"')
    assert json.loads(done.output[start:])["passed"] is True
    done = CliRunner().invoke(app, ["verify", library, *against, "--seed", "1"])
    assert done.exit_code == 1 and "DIFFERS" in done.output and "PTC-A031" in done.output


@pytest.mark.slow
def test_a_package(tmp_path: Path) -> None:
    wanted = request(tmp_path, "Net")
    package = build_hosted(wanted, load(wanted), output=f"{tmp_path}/", name="net", include=[])
    assert check(package.package, tmp_path, "Net").passed
    assert not check(package.package, tmp_path, "Net", init={"factor": 2.0}).passed
