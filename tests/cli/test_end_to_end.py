"""From a model file to a library, run in a process without torch, against eager."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from typer.testing import CliRunner

from cli.main import app
from ptc.hosting import load
from ptc.loader import LoadRequest
from ptc.loader import load as load_model
from tests.cli.without_torch import WITHOUT_TORCH

ROOT = Path(__file__).resolve().parents[2]
SAMPLES = ROOT / "sample_models"
runner = CliRunner()


def invoke(*arguments: object):
    return runner.invoke(app, [str(a) for a in arguments], prog_name="ptc", color=False)


def compiled(folder: Path, *arguments: object) -> dict:
    result = invoke("compile", *arguments, "-o", folder, "--json")
    assert result.exit_code == 0, result.output + result.stderr
    return json.loads(result.stdout)


def run_without_torch(*arguments: object) -> None:
    result = subprocess.run(
        [sys.executable, "-c", WITHOUT_TORCH, "run", *map(str, arguments)],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert result.returncode == 0, result.stderr


def close(actual: np.ndarray, expected: torch.Tensor) -> bool:
    reference = expected.detach().numpy()
    return bool(np.abs(actual - reference).max() <= 1e-4 * np.abs(reference).max())


@pytest.mark.parametrize("name", ["mlp", "policy", "llama"])
def test_a_sample_model(tmp_path: Path, name: str) -> None:
    file = SAMPLES / f"{name}.py"
    report = compiled(tmp_path, file)
    assert sorted(p.name for p in tmp_path.iterdir()) == sorted(
        [f"lib{name}.so", f"{name}.h", f"{name}.json"]
    )
    (entry,) = report["entries"]
    assert entry["checked"] == 3
    request = load_model(LoadRequest(str(file))).entries[0]
    args, kwargs = request.variant(7, {})  # type: ignore[misc]
    inputs = [*args, *kwargs.values()]
    np.savez(tmp_path / "in.npz", *(t.numpy() for t in inputs))
    run_without_torch(
        report["library"], "--input", f"@{tmp_path}/in.npz", "--save", tmp_path / "out.npz"
    )
    with torch.no_grad():
        expected = request.function(*args, **kwargs)
    outputs = np.load(tmp_path / "out.npz")
    leaves = expected.values() if isinstance(expected, dict) else expected
    if name == "llama":
        leaves = (expected.logits, expected.hidden)
    elif isinstance(expected, torch.Tensor):
        leaves = (expected,)
    assert len(outputs.files) == len(tuple(leaves))
    for key, reference in zip(outputs.files, leaves, strict=True):
        assert close(outputs[key], reference)


def test_loading_gives_eagers_structure(tmp_path: Path) -> None:
    report = compiled(tmp_path, SAMPLES / "policy.py")
    request = load_model(LoadRequest(str(SAMPLES / "policy.py"))).entries[0]
    artifact = load(report["library"])
    with torch.no_grad():
        expected = request.function(*request.args, **request.kwargs)
    result = artifact(observation=request.args[0])
    assert type(result).__name__ == "PolicyOutput" and result._fields == expected._fields
    for actual, reference in zip(result, expected, strict=True):
        assert isinstance(actual, torch.Tensor)
        torch.testing.assert_close(actual, reference, rtol=1e-4, atol=1e-5)


def test_several_entries(tmp_path: Path) -> None:
    report = compiled(tmp_path, SAMPLES / "policy.py", "--entry", "forward", "--entry", "act")
    artifact = load(report["library"])
    assert list(artifact.entries) == ["forward", "act"]
    action = artifact.act(np.zeros((4, 24), np.float32))
    assert action.shape == (4, 6) and np.abs(action).max() <= 1


def test_one_library_for_every_batch(tmp_path: Path) -> None:
    report = compiled(
        tmp_path, SAMPLES / "mlp.py", "--dynamic", "images:0=batch[1..32]", "--name", "any_mlp"
    )
    artifact = load(report["library"])
    model = load_model(LoadRequest(str(SAMPLES / "mlp.py"))).module
    for batch in (1, 2, 5, 32):
        x = torch.randn(batch, 1, 28, 28)
        with torch.no_grad():
            torch.testing.assert_close(artifact(x), model(x), rtol=1e-4, atol=1e-5)  # type: ignore[misc]


def test_weights_beside_the_library(tmp_path: Path) -> None:
    report = compiled(tmp_path, SAMPLES / "policy.py", "--weights-file")
    assert (tmp_path / "policy.safetensors").is_file()
    run_without_torch(report["library"], "-i", "observation=f32[4,24]")


def test_the_report_for_people(tmp_path: Path) -> None:
    result = invoke("compile", SAMPLES / "policy.py", "-o", tmp_path)
    for word in ("observation", "f32[4, 24]", "kernels", "worst error", "libpolicy.so", "time"):
        assert word in result.stdout
    assert "switched to eval()" in result.stderr


def test_stages_are_dumped(tmp_path: Path) -> None:
    result = invoke(
        "compile", SAMPLES / "policy.py", "-o", tmp_path / "out", "--dump-dir", tmp_path / "dump",
        "--stop-after", "scheduled",
    )  # fmt: skip
    assert result.exit_code == 0 and not (tmp_path / "out").exists()
    names = sorted(p.name for p in (tmp_path / "dump").iterdir())
    assert names == ["01.captured.py", "02.aten.py", "04.loops", "05.scheduled"]


def test_export(tmp_path: Path) -> None:
    result = invoke("export", SAMPLES / "policy.py", "-f", "ptir", "-o", tmp_path / "p.ptir")
    assert result.exit_code == 0, result.output + result.stderr
    assert (tmp_path / "p.ptir").is_file() and "worst error" in result.stdout


@pytest.mark.parametrize("folder", [".", "there", "new.d/"])
@pytest.mark.parametrize(
    ("command", "name"),
    [
        (["export", "-f", "ptir"], "policy.ptir"),
        (["export", "-f", "onnx"], "policy.onnx"),
        (["compile"], "libpolicy.so"),
    ],
)
def test_an_output_may_be_a_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, folder: str, command: list[str], name: str
) -> None:
    """One that exists, or a name that ends in `/`."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "there").mkdir()
    result = invoke(*command, SAMPLES / "policy.py", "-o", folder, "--no-check")
    assert result.exit_code == 0, result.output + result.stderr
    assert (tmp_path / folder / name).is_file()


@pytest.mark.parametrize("stage", ["captured", "aten", "loops", "scheduled", "code"])
def test_inspect_graph(stage: str) -> None:
    result = invoke("inspect-graph", SAMPLES / "policy.py", "--stage", stage)
    assert result.exit_code == 0, result.output + result.stderr
    assert len(result.stdout.splitlines()) > 10


def _inspected(path: Path, *options: str) -> dict[str, Any]:
    result = invoke("inspect-graph", path, "--format", "json", *options)
    assert result.exit_code == 0, result.output + result.stderr
    return json.loads(result.stdout[result.stdout.index("{") :])


READS_A_FILE = """
import torch

class Model(torch.nn.Module):
    def forward(self, x):
        x = x + 1
        with open(__file__) as f:
            f.read()
        return x * 2

example_inputs = (torch.ones(3),)
"""


def test_inspect_graph_shows_breaks_and_guards(tmp_path: Path) -> None:
    (tmp_path / "reads.py").write_text(READS_A_FILE)
    shown = _inspected(tmp_path / "reads.py")
    breaks = [b for segment in shown["segments"] for b in segment["breaks"]]
    assert breaks[0]["code"].startswith("PTC-B")
    assert breaks[0]["location"].endswith("reads.py:7")
    assert any(segment["guards"] for segment in shown["segments"])


@pytest.mark.parametrize("stage", ["captured", "aten", "loops", "scheduled", "code"])
def test_inspect_graph_shows_control_flow(stage: str) -> None:
    """The construct with its line, and each segment in its arm, at every stage."""
    shown = _inspected(SAMPLES / "dynamic_model.py", "--stage", stage)
    (segment,) = shown["segments"]
    (made,) = segment["constructs"]
    assert (made["kind"], made["construct"], made["depth"]) == ("branch", "if", 0)
    assert made["location"].endswith("dynamic_model.py:14")
    assert made["line"] == "if x.sum() > 0:"
    assert made["arms"] == [[1], [2]]
    text = segment["program"]
    if stage == "code":
        assert "if (" in text and "Path A" in text
        return
    lines = [line.strip() for line in text.splitlines()]
    (opened,) = [i for i, line in enumerate(lines) if "`if` at" in line]
    assert lines[opened].endswith("dynamic_model.py:14  if x.sum() > 0:")
    first, second = (
        next(i for i, line in enumerate(lines) if line.startswith(f"# segment {number}:"))
        for number in (1, 2)
    )
    assert opened < first < lines.index("else:") < second
    assert "print('Path A: Input sum > 0, applying ReLU')" in lines[opened : lines.index("else:")]
