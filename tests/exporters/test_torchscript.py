"""Straight programs as TorchScript: what torch loads gives and changes what eager does."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

import ptc
from ptc.exporters.torchscript.compiled import load
from ptc.support.diagnostics import CompileError


def exported(model: Any, *args: Any, folder: Path, **options: Any) -> Any:
    """The module that torch loads from what was written for the call."""
    path = folder / "model.pt"
    ptc.export(model, args, format="torchscript", output=path, **options)
    return load(path)[0]


class Everything(nn.Module):
    """Every kind of output: views, sizes, several results, literals, write-backs."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(4, 4), nn.Linear(4, 4)])
        self.layers[1].weight = self.layers[0].weight
        self.register_buffer("count", torch.zeros(4))

    def forward(self, x: torch.Tensor, k: torch.Tensor) -> Any:
        self.count.add_(x.sum(0))
        y = self.layers[1](torch.relu(self.layers[0](x)))
        top = y.max(-1)
        mask = torch.arange(x.shape[0] + 1) < k
        scaled = y * torch.tensor([1.0, 2.0, 3.0, 4.0])
        return {"y": y.view(-1, 2), "n": x.shape[0] * 2, "top": (top.values, top.indices),
                "mask": mask, "scaled": scaled.to(torch.bfloat16)}  # fmt: skip


def test_all_kinds_of_results_at_other_sizes(tmp_path: Path) -> None:
    model = Everything().eval()
    first = (torch.randn(3, 4), torch.tensor(2))
    script = exported(model, *first, folder=tmp_path, dynamic={"x": {0: "batch[2..64]"}})
    assert set(script.state_dict()) >= {"layers.0.weight", "layers.1.weight", "count"}
    for rows in (3, 2, 17):
        args = (torch.randn(rows, 4), torch.tensor(rows // 2))
        expected, found = model(*args), script(*args)
        assert list(found) == list(expected) and found["n"] == 2 * rows
        for key in ("y", "mask", "scaled"):
            torch.testing.assert_close(found[key], expected[key])
        torch.testing.assert_close(found["top"], tuple(expected["top"]))
        torch.testing.assert_close(script.count, model.count)


def test_a_call_that_does_not_fit_is_refused(tmp_path: Path) -> None:
    args = (torch.randn(3, 4), torch.tensor(2))
    script = exported(Everything(), *args, folder=tmp_path, dynamic={"x": {0: "n[2..5]"}})
    for x, reason in (
        (torch.randn(6, 4), "n is 6, which is not in the range 2 to 5"),
        (torch.randn(3, 5), "dim 1 of x is 5, expected 4"),
        (torch.randn(3), "x has 1 dimensions"),
        (torch.randn(3, 4).double(), "x has another dtype"),
    ):
        with pytest.raises(torch.jit.Error, match=reason):
            script(x, torch.tensor(2))


@dataclass
class Pair:
    first: torch.Tensor
    second: Any


def test_arguments_and_results_in_containers(tmp_path: Path) -> None:
    def model(pair: Any, table: Any, scale: float, name: str = "a", *, extra: Any = None) -> Any:
        x = pair[0] * scale + table["b"]
        mixed = [x, None, 2.5, {"k": "text"}]
        return Pair(x, [x, pair[1]]), mixed, {"n": 3, "x": x}, [], ()

    x, y = torch.randn(2), torch.randn(2)
    path = tmp_path / "model.pt"
    call = ((x, y), {"b": y}, 2.0, "a")
    report = ptc.export(model, call, format="torchscript", output=path)
    assert any("`Pair` in the result is a tuple" in note for note in report.notes)
    script = load(path)[0]
    pair, mixed, table, empty, nothing = script((x, y), {"b": y}, 2.0, "a")
    expected = x * 2.0 + y
    assert torch.equal(pair[0], expected) and torch.equal(pair[1][1], y)
    assert mixed[1:] == [None, 2.5, {"k": "text"}] and torch.equal(mixed[0], expected)
    assert table["n"] == 3 and empty == [] and nothing == ()
    with pytest.raises(torch.jit.Error, match="exported for another call: argument_3 is not 'a'"):
        script((x, y), {"b": y}, 2.0, "b")


def test_writes_to_arguments_and_views_of_them(tmp_path: Path) -> None:
    def model(x: torch.Tensor, y: torch.Tensor) -> Any:
        before = x.clone()
        x.copy_(y)
        y.copy_(before)
        return x, before, y[0]

    script = exported(model, torch.randn(3), torch.randn(3), folder=tmp_path)
    x, y = torch.randn(3), torch.randn(3)
    ours, theirs = (x.clone(), y.clone()), (x.clone(), y.clone())
    expected, found = model(*ours), script(*theirs)
    assert all(map(torch.equal, ours, theirs)) and all(map(torch.equal, expected, found))
    assert found[0].data_ptr() == theirs[0].data_ptr()
    assert found[1].data_ptr() not in (theirs[0].data_ptr(), theirs[1].data_ptr())


def test_a_literal_is_made_anew_in_each_call(tmp_path: Path) -> None:
    def model(x: torch.Tensor) -> Any:
        return torch.tensor([1.0, 2.0]), x + 1

    script = exported(model, torch.randn(2), folder=tmp_path)
    script(torch.randn(2))[0].zero_()
    assert torch.equal(script(torch.randn(2))[0], torch.tensor([1.0, 2.0]))


def test_operators_of_our_own_run_where_ptc_is_not(tmp_path: Path) -> None:
    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.rnn, self.norm = nn.GRU(4, 4, batch_first=True), nn.RMSNorm(4)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            y, h = self.rnn(self.norm(x))
            spectrum = torch.fft.rfft(y)
            return nn.functional.scaled_dot_product_attention(y, y, x) + spectrum.abs().sum() + h[0]

    torch.manual_seed(0)
    model, x = Model().eval(), torch.randn(1, 5, 4)
    exported(model, x, folder=tmp_path)
    torch.save((x, model(x).detach()), tmp_path / "expected")
    program = (
        "import sys, torch\n"
        "script = torch.jit.load('model.pt')\n"
        "x, expected = torch.load('expected')\n"
        "with torch.no_grad(): torch.testing.assert_close(script(x), expected)\n"
        "assert not any(name.startswith('ptc') for name in sys.modules)\n"
        "print('equal')\n"
    )
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", program],
        cwd=tmp_path, capture_output=True, text=True, check=False, env={},
    )  # fmt: skip
    assert done.stdout == "equal\n", done.stderr


def test_an_argument_without_a_type_is_refused(tmp_path: Path) -> None:
    def model(table: Any) -> torch.Tensor:
        return table["x"] * table["n"]

    with pytest.raises(CompileError) as caught:
        exported(model, {"x": torch.randn(2), "n": 2.5}, folder=tmp_path)
    assert caught.value.code == "PTC-E030"
