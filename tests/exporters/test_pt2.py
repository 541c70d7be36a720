"""Exported programs of torch: whole programs against eager, their signatures, what is refused."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import OrderedDict
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.export.graph_signature import InputKind, OutputKind

from ptc.exporters.api import ExportReport
from ptc.exporters.pt2.sizes import Sizes
from ptc.exporting import export_model
from ptc.loader.model import DynamicDim, EntryRequest
from ptc.support.diagnostics import CompileError
from tests.graph.tracing import trace


class Everything(nn.Module):
    """Views, sizes, several results, literals, tied weights, a buffer that is written, and the
    operators that are ptc's own until they are exported."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 4))
        self.layers[1].weight = self.layers[0].weight
        self.norm = nn.RMSNorm(4)
        self.rnn = nn.LSTM(4, 3)
        self.register_buffer("count", torch.zeros(4))

    def forward(self, x: torch.Tensor, k: torch.Tensor) -> Any:
        before = self.count.clone()
        self.count.add_(x.sum(0))
        y = self.norm(self.layers(x))
        attended = F.scaled_dot_product_attention(y[None], y[None], y[None])
        steps, (hidden, _) = self.rnn(y[None])
        mask = torch.arange(x.shape[0] + 1) < k
        spectrum = torch.fft.rfft(y).abs()
        return {"y": y.view(-1, 2), "n": x.shape[0] * 2, "parts": [attended, (steps, hidden)],
                "mask": mask, "scaled": y * torch.tensor([1.0, 2.0, 3.0, 4.0]), "none": None,
                "before": before, "spectrum": spectrum}  # fmt: skip


def export(
    model: Any, args: tuple[Any, ...], path: Path, dynamic: Any = None, **kwargs: Any
) -> ExportReport:
    request = EntryRequest(name="model", function=model, args=args, kwargs=kwargs, dynamic=dynamic)
    return export_model([request], format="pt2", output=path)


BATCH = {"x": {0: DynamicDim("batch", 1, 64)}}


def test_a_whole_program_equals_eager_and_is_functional(tmp_path: Path) -> None:
    model = Everything().eval()
    report = export(model, (torch.randn(3, 4), torch.tensor(2)), tmp_path / "m.pt2", BATCH)
    assert len(report.errors) == 10 and all(row.passed for row in report.errors)
    assert {row.sets for row in report.errors} == {3}
    assert report.inputs[0].type == "f32[batch, 4]"

    exported = torch.export.load(tmp_path / "m.pt2")
    exported.validate()
    signature = exported.graph_signature
    assert set(exported.state_dict) == set(model.state_dict())
    assert signature.buffers_to_mutate and list(signature.user_inputs)[:2] == ["x", "k"]
    (span,) = exported.range_constraints.values()
    assert (span.lower, span.upper) == (1, 64)
    targets = [str(n.target) for n in exported.graph.nodes if n.op == "call_function"]
    assert not [t for t in targets if t.startswith("ptc")]
    assert {"aten.linear.default", "aten.lstm.input"} <= set(targets)
    assert not any(getattr(n.target, "_schema", None) and n.target._schema.is_mutable
                   for n in exported.graph.nodes)  # fmt: skip
    lines = [n.stack_trace for n in exported.graph.nodes if str(n.target) == "aten.lstm.input"]
    assert "test_pt2.py" in lines[0] and "self.rnn(y[None])" in lines[0]
    for rows in (1, 5):
        x = torch.randn(rows, 4)
        expected, found = model(x, torch.tensor(2)), exported.module()(x, torch.tensor(2))
        assert found.keys() == expected.keys() and found["n"] == 2 * rows
        torch.testing.assert_close(found["parts"], expected["parts"])
        model.count.zero_()


def test_the_file_says_names_of_sizes_and_weights(tmp_path: Path) -> None:
    export(Everything().eval(), (torch.randn(3, 4), torch.tensor(2)), tmp_path / "m.pt2", BATCH)
    extra = {"ptc.json": ""}
    torch.export.load(tmp_path / "m.pt2", extra_files=extra)
    said = json.loads(extra["ptc.json"])
    assert list(said["sizes"].values()) == ["batch"] and said["weights"]["count"] == "count"


@pytest.mark.slow
def test_the_file_loads_without_ptc(tmp_path: Path) -> None:
    export(Everything().eval(), (torch.randn(3, 4), torch.tensor(2)), tmp_path / "m.pt2", BATCH)
    script = (
        "import sys, torch; m = torch.export.load(sys.argv[1]).module();"
        "print(m(torch.ones(2, 4), torch.tensor(1))['n'], 'ptc' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path / "m.pt2")],
        capture_output=True, text=True, cwd=tmp_path, check=True,
    )  # fmt: skip
    assert done.stdout.split() == ["4", "False"]


def test_an_input_that_is_written_and_given_back(tmp_path: Path) -> None:
    """The earlier content is a result too, and goes to another input."""

    def swap(x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        old = x.clone()
        x.copy_(y)
        y.copy_(old)
        return old, x

    report = export(swap, (torch.randn(3), torch.randn(3)), tmp_path / "m.pt2")
    assert [row.name for row in report.errors] == ["0", "1", "x", "y"]
    exported = torch.export.load(tmp_path / "m.pt2")
    kinds = [spec.kind for spec in exported.graph_signature.output_specs]
    assert kinds.count(OutputKind.USER_INPUT_MUTATION) == 2
    x, y = torch.tensor([1.0, 2, 3]), torch.tensor([4.0, 5, 6])
    old, new = exported.module()(x, y)
    assert (old.tolist(), new.tolist(), x.tolist(), y.tolist()) == (
        [1, 2, 3], [4, 5, 6], [4, 5, 6], [1, 2, 3])  # fmt: skip


class Pair(NamedTuple):
    first: torch.Tensor
    second: torch.Tensor


@dataclass
class Fields:
    total: torch.Tensor
    pair: Pair


def test_objects_become_dicts_and_tuples_with_a_note(tmp_path: Path) -> None:
    def objects(x: torch.Tensor, *, more: dict[str, torch.Tensor]) -> Any:
        return OrderedDict(out=Fields(x + more["b"], Pair(x, more["b"])))

    report = export(objects, (torch.randn(3),), tmp_path / "m.pt2", more={"b": torch.randn(3)})
    assert any("Fields` is a dict of its fields" in note for note in report.notes)
    x, b = torch.ones(3), torch.ones(3)
    found = torch.export.load(tmp_path / "m.pt2").module()(x, more={"b": b})
    assert isinstance(found, OrderedDict) and isinstance(found["out"]["pair"], tuple)
    assert found["out"]["total"].tolist() == [2, 2, 2]


TABLE = torch.arange(4.0)


def test_a_tensor_of_a_global_is_a_constant(tmp_path: Path) -> None:
    def function(x: torch.Tensor) -> torch.Tensor:
        return x + TABLE

    export(function, (torch.randn(4),), tmp_path / "m.pt2")
    exported = torch.export.load(tmp_path / "m.pt2")
    kinds = [spec.kind for spec in exported.graph_signature.input_specs]
    assert not exported.state_dict and InputKind.PARAMETER not in kinds
    assert exported.module()(torch.zeros(4)).tolist() == [0, 1, 2, 3]


def test_sizes_that_belong_together(tmp_path: Path) -> None:
    def function(x: torch.Tensor, y: torch.Tensor, z: torch.Tensor) -> torch.Tensor:
        return torch.cat([x, y, z[: x.shape[0]]])

    named = DynamicDim("n", 2, 9)
    dynamic = {"x": {0: named}, "y": {0: named}, "z": {0: DynamicDim("m", 9, None)}}
    args = (torch.randn(3, 2), torch.randn(3, 2), torch.randn(12, 2))
    export(function, args, tmp_path / "m.pt2", dynamic)
    module = torch.export.load(tmp_path / "m.pt2").module()
    x, z = torch.randn(7, 2), torch.randn(20, 2)
    torch.testing.assert_close(module(x, x, z), function(x, x, z))
    with pytest.raises(Exception, match="(?i)guard|constraint|expected"):
        module(x, x[:4], z)


def test_a_size_that_is_a_multiple_and_more() -> None:
    traced = trace(
        lambda x: x.repeat(2, 1)[:-1], (torch.randn(3, 2),), dynamic={0: {0: ("n", 2, 8)}}
    )
    fake = traced.graph.graph.output_node().args[0][0].meta["val"]
    sizes = Sizes([fake], traced.dims)
    assert tuple(sizes.example(fake).shape) == (3, 2)
    assert sizes.specification(fake)[0].__name__ == "2*n - 1"


def test_a_string_in_a_result_is_refused(tmp_path: Path) -> None:
    """torch writes it, and cannot read the file."""
    with pytest.raises(CompileError) as refused:
        export(lambda x: {"x": x + 1, "kind": "sum"}, (torch.randn(3),), tmp_path / "m.pt2")
    assert refused.value.code == "PTC-E050"


def test_a_generator_made_in_forward_is_refused_with_its_line(tmp_path: Path) -> None:
    def function(x: torch.Tensor) -> torch.Tensor:
        generator = torch.Generator().manual_seed(3)
        return x + torch.rand(3, generator=generator)

    with pytest.raises(CompileError) as refused:
        export(function, (torch.randn(3),), tmp_path / "m.pt2")
    assert refused.value.code == "PTC-E051"
    assert "test_pt2.py" in str(refused.value.diagnostic.location)
    assert not list(tmp_path.iterdir())
