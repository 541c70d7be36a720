"""Libraries for other platforms and in other forms: each equals eager where it can run here."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
import torch
from torch import nn

import ptc
from ptc import api
from ptc.artifact.emulated import emulator
from ptc.codegen import toolchain
from ptc.codegen.target import parse_target
from ptc.loader import load
from ptc.loader.model import LoadRequest
from ptc.pipeline import BuildOptions, build_library
from ptc.support import settings
from ptc.support.diagnostics import CompileError
from ptc.verifying import verify

SAMPLES = Path(__file__).parents[2] / "sample_models"
ARM = "aarch64-linux-gnu"


class Net(nn.Module):
    """A packed weight, a constant, a buffer that calls write."""

    def __init__(self, width: int = 40) -> None:
        super().__init__()
        self.linear = nn.Linear(width, 48)
        self.scale = torch.rand(48)
        self.register_buffer("calls", torch.zeros(1))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.calls += 1
        return torch.tanh(self.linear(x)) * self.scale + self.calls


class Branches(nn.Module):
    """Prints, raises, and gives a list."""

    def forward(self, x: torch.Tensor) -> list[torch.Tensor]:
        if x.sum() < -100:
            raise ValueError("too small")
        print("sum", x.sum() > 0)
        out = []
        while x.abs().sum() > 1:
            x = x / 2
            out.append(x)
        return out


def build(model: nn.Module, x: torch.Tensor, output: Path, **options: object) -> list[str]:
    """Build, and give the notes."""
    request = api._request(model.eval(), (x,), None, None, "forward")
    name = str(options.pop("name", "net"))
    report = build_library([request], BuildOptions(output, name, **options))  # type: ignore[arg-type]
    assert report is not None
    return list(report.notes)


def runs_arm() -> bool:
    """Whether aarch64 libraries are built and run here."""
    try:
        toolchain.compiler_for(parse_target(ARM))
    except CompileError:
        return False
    return not isinstance(emulator(parse_target(ARM)), str)


arm = pytest.mark.skipif(not runs_arm(), reason="needs a compiler for aarch64 and qemu-aarch64")


@pytest.fixture(autouse=True)
def _seed() -> None:
    torch.manual_seed(0)


def test_versions_are_chosen_at_load(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model, x = Net(), torch.randn(3, 40)
    build(model, x, tmp_path / "libnet.so", target="x86_64-linux-gnu+auto")
    here = set(toolchain.resolve(parse_target("native")).features)
    seen: list[str] = []
    for level in ("baseline", "avx2", "avx512", None):
        copy = tmp_path / f"lib{level}.so"
        shutil.copy(tmp_path / "libnet.so", copy)
        monkeypatch.delenv("PTC_CPU_LEVEL", raising=False)
        if level:
            monkeypatch.setenv("PTC_CPU_LEVEL", level)
        if level and not set(parse_target(f"x86_64-linux-gnu+{level}").features) <= here:
            with pytest.raises(CompileError, match="lacks"):
                ptc.load(copy)
            continue
        loaded = ptc.load(copy)
        seen.append(loaded.isa)
        model.calls.zero_()
        with torch.no_grad():
            torch.testing.assert_close(loaded(x), model(x))
    assert seen[:-1] == [s for s in ("baseline", "avx2", "avx512") if s in seen]
    assert seen[-1] == seen[-2]  # the widest that runs


MAIN = """
#include <stdio.h>
#include "one.h"
#include "two.h"
int main(void) {
  float x[120], y[48 * 3], z[48 * 3];
  int64_t sizes[2] = {3, 40}, shape[2] = {3, 48};
  for (int i = 0; i < 120; ++i) x[i] = (float)i / 120;
  DLTensor in = {x, {1, 0}, 2, {2, 32, 1}, sizes, NULL, 0};
  DLTensor out[2] = {{y, {1, 0}, 2, {2, 32, 1}, shape, NULL, 0}, {z, {1, 0}, 2, {2, 32, 1}, shape, NULL, 0}};
  ptc_model *models[2]; ptc_session *sessions[2]; char text[256];
  if (one_open(NULL, &models[0], text, sizeof text) || two_open(NULL, &models[1], text, sizeof text)) return puts(text);
  one_session_new(models[0], &sessions[0]); two_session_new(models[1], &sessions[1]);
  if (one_forward(sessions[0], &in, &out[0]) || two_forward(sessions[1], &in, &out[1])) return 1;
  for (int i = 0; i < 48 * 3; ++i) printf("%.9g %.9g\\n", y[i], z[i]);
  one_session_free(sessions[0]); two_session_free(sessions[1]); one_close(models[0]); two_close(models[1]);
  return 0;
}
"""  # noqa: E501


@pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc is not installed")
def test_two_static_models_in_one_program(tmp_path: Path) -> None:
    x = (torch.arange(120.0) / 120).reshape(3, 40)
    models = Net(), Net()
    for model, name in zip(models, ("one", "two"), strict=True):
        build(model, x, tmp_path / f"lib{name}.a", name=name, form="static", target="native")
    (tmp_path / "main.c").write_text(MAIN)
    link = (tmp_path / "one.h").read_text().partition("Link: cc app.c libone.a")[2]
    libraries = link.partition("\n")[0].split()
    command = ["gcc", "-Wall", "-Werror", "main.c", "libone.a", "libtwo.a", *libraries, "-o", "m"]
    subprocess.run(command, cwd=tmp_path, check=True)
    done = subprocess.run([tmp_path / "m"], capture_output=True, text=True, check=True)
    printed = torch.tensor([[float(v) for v in line.split()] for line in done.stdout.splitlines()])
    for column, model in enumerate(models):
        model.calls.zero_()
        with torch.no_grad():
            torch.testing.assert_close(printed[:, column].reshape(3, 48), model(x))


@pytest.mark.skipif(shutil.which("g++") is None, reason="g++ is not installed")
def test_sources_build_with_the_command_that_the_header_states(tmp_path: Path) -> None:
    model, x = Net(), torch.randn(3, 40)
    folder = tmp_path / "net"
    build(model, x, folder, form="source")
    lines = (folder / "net.h").read_text().splitlines()
    at = lines.index(" * Build the library, in this folder:")
    subprocess.run(lines[at + 1].removeprefix(" *"), shell=True, cwd=folder, check=True)
    model.calls.zero_()
    with torch.no_grad():
        torch.testing.assert_close(ptc.load(folder / "libnet.so")(x), model(x))


@arm
def test_aarch64_equals_eager_in_the_emulator(tmp_path: Path) -> None:
    notes = build(Net(), torch.randn(3, 40), tmp_path / "libnet.so", target=ARM)
    assert any("compared with eager in qemu-aarch64" in note for note in notes)
    with pytest.raises(CompileError) as caught:
        ptc.load(tmp_path / "libnet.so")
    assert caught.value.code == "PTC-R005"
    for seed, equal in ((0, True), (1, False)):  # later, as `ptc verify` does
        torch.manual_seed(seed)
        request = api._request(Net().eval(), (torch.randn(3, 40),), None, None, "forward")
        assert verify(tmp_path / "libnet.so", [request]).passed is equal


@pytest.mark.slow
@arm
def test_control_flow_on_aarch64(tmp_path: Path) -> None:
    notes = build(Branches(), torch.randn(4), tmp_path / "libbranches.so", target=ARM)
    assert any("compared with eager in qemu-aarch64" in note for note in notes)


@arm
def test_a_wrong_library_is_found_in_the_emulator(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The comparison looks at what the emulated library computes."""
    monkeypatch.setattr(
        "ptc.artifact.emulated.EmulatedSession._take",
        lambda session, size: bytes(session._from.read(size)).replace(b"\x3f", b"\x3e"),
    )
    with pytest.raises(CompileError) as caught:
        build(nn.Sequential(nn.Linear(4, 4)), torch.randn(3, 4), tmp_path / "l.so", target=ARM)
    assert caught.value.code == "PTC-A030"


def test_what_cannot_be_compared_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ptc.codegen.toolchain.runs_here", lambda target: False)
    monkeypatch.setattr("ptc.artifact.running.emulator", lambda target: "there is no emulator")
    model = nn.Sequential(nn.Linear(4, 4))
    notes = build(model, torch.randn(3, 4), tmp_path / "l.so", target="x86_64-linux-gnu")
    assert notes == [
        "not compared with eager: built for x86_64-linux-gnu+baseline, and there is no emulator"
    ]


def test_forms_that_do_not_go_together(tmp_path: Path) -> None:
    with pytest.raises(CompileError) as caught:
        build(Net(), torch.randn(3, 40), tmp_path / "net", form="source",
              target="x86_64-linux-gnu+auto")  # fmt: skip
    assert caught.value.code == "PTC-C006"


@pytest.mark.slow
@arm
@pytest.mark.parametrize("sample", ["mlp.py", "lstm.py"])
def test_samples_for_aarch64(tmp_path: Path, sample: str) -> None:
    model = load(LoadRequest(str(SAMPLES / sample)))
    report = build_library(model.entries, BuildOptions(tmp_path / "libs.so", "s", target=ARM))
    assert report is not None and all(entry.checked for entry in report.entries)
    assert any("compared with eager in qemu-aarch64" in note for note in report.notes)


@pytest.mark.slow
@pytest.mark.parametrize(
    "target, name, start",
    [
        ("x86_64-windows-gnu+auto", "net.dll", b"MZ"),
        ("aarch64-macos", "libnet.dylib", b"\xcf\xfa\xed\xfe\x0c\x00\x00\x01"),
    ],
)
def test_windows_and_macos_link(tmp_path: Path, target: str, name: str, start: bytes) -> None:
    pytest.importorskip("ziglang")
    with settings.overridden(compiler=None):
        notes = build(Net(), torch.randn(3, 40), Path(f"{tmp_path}/"), target=target)
        build(Branches(), torch.randn(4), Path(f"{tmp_path}/"), name="branches", target=target)
    data = (tmp_path / name).read_bytes()
    assert data.startswith(start) and b"net_ptc_api" in data
    assert any(note.startswith("not compared with eager") for note in notes)
