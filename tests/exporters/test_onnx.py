"""ONNX export of whole programs: names, sizes, weights, write-backs, metadata, failures."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import onnx
import pytest
import torch
import torch.nn.functional as F
from torch import nn

from ptc.autograd.functionalise import functionalise
from ptc.exporters.api import ExportReport, export
from ptc.exporters.onnx import run
from ptc.exporters.onnx.format import TESTED_OPSET
from ptc.graph.program import AtenProgram
from ptc.support.diagnostics import CompileError
from tests.exporters.checking import check_sets
from tests.exporters.test_ptir import Everything
from tests.graph.tracing import trace

pytestmark = pytest.mark.skipif(not run.is_available(), reason="ONNX Runtime is not installed")

BATCH = {0: {0: ("batch", 2, 64)}}


def exported(
    model: Any, calls: list[tuple[Any, ...]], folder: Path, dynamic: Any = None, **settings: Any
) -> tuple[onnx.ModelProto, ExportReport]:
    program = functionalise(trace(model, calls[0], dynamic=dynamic))
    checks = check_sets(program, model, [(call, {}) for call in calls])
    path = folder / "m.onnx"
    report = export(program, format="onnx", output=path, checks=checks, settings=settings)
    assert all(row.passed and row.sets == len(calls) for row in report.errors)
    return onnx.load(path), report


def everything() -> list[tuple[Any, ...]]:
    return [(torch.randn(n, 4), torch.tensor(n - 1)) for n in (3, 5, 2)]


def names(values: Any) -> list[str]:
    return [value.name for value in values]


def test_names_order_and_dims(tmp_path: Path) -> None:
    model, report = exported(Everything().eval(), everything(), tmp_path, BATCH)
    assert names(model.graph.input) == ["x0", "x1", "count"]
    outs = [f"out{i}" for i in range(7)]
    assert names(model.graph.output) == [*outs, "count_out"]
    x0 = model.graph.input[0].type.tensor_type
    assert [d.dim_param or d.dim_value for d in x0.shape.dim] == ["batch", 4]
    y = model.graph.output[0].type.tensor_type
    assert [d.dim_param or d.dim_value for d in y.shape.dim] == ["2*batch", 2]
    assert report.facts["opset"] == str(TESTED_OPSET)
    assert model.opset_import[0].version == TESTED_OPSET


def test_weights_are_named_and_stored_once(tmp_path: Path) -> None:
    model, _ = exported(Everything().eval(), everything(), tmp_path, BATCH)
    weights = {name for name in names(model.graph.initializer) if not name.startswith("constant_")}
    assert weights == {"first.weight", "first.bias", "second.bias", "count", "literal_0"}


def test_a_buffer_is_an_input_with_its_content_as_default(tmp_path: Path) -> None:
    model = Everything().eval()
    exported(model, everything(), tmp_path, BATCH)
    x, k = everything()[0]
    execute = run.load(tmp_path / "m.onnx", ["x0", "x1"])
    assert torch.allclose(execute([x, k])[-1], x.sum(0))
    execute = run.load(tmp_path / "m.onnx", ["x0", "x1", "count"])
    assert torch.allclose(execute([x, k, torch.ones(4)])[-1], x.sum(0) + 1)


def test_nodes_say_where_they_come_from(tmp_path: Path) -> None:
    model, _ = exported(lambda x: x.relu(), [(torch.randn(2),)], tmp_path)
    (node,) = (node for node in model.graph.node if node.op_type == "Relu")
    facts = {item.key: item.value for item in node.metadata_props}
    assert facts["ptc.operator"] == "aten.relu.default"
    assert facts["ptc.source"].startswith("test.py:1")


def test_large_weights_go_beside_the_model(tmp_path: Path) -> None:
    layer = nn.Linear(64, 64)
    _, report = exported(layer, [(torch.randn(2, 64),)], tmp_path, external=True)
    assert [path.name for path in report.files] == ["m.onnx", "m.onnx.data"]
    assert (tmp_path / "m.onnx.data").stat().st_size >= 64 * 64 * 4
    assert (tmp_path / "m.onnx").stat().st_size < 64 * 64 * 4
    assert sorted(path.name for path in tmp_path.iterdir()) == ["m.onnx", "m.onnx.data"]


def test_outputs_that_are_inputs_constants_or_twice_the_same(tmp_path: Path) -> None:
    def fn(x: torch.Tensor) -> Any:
        y = x + 1
        return x, y, y, torch.tensor([1.0, 2.0]), x.shape[0]

    model, _ = exported(fn, [(torch.randn(n, 2),) for n in (3, 4)], tmp_path, BATCH)
    assert len(set(names(model.graph.output))) == 5


def test_inputs_and_outputs_are_called_as_was_asked(tmp_path: Path) -> None:
    def fn(x: torch.Tensor, y: torch.Tensor) -> Any:
        return x, torch.relu(x) + y

    call = (torch.randn(3, 2), torch.randn(3, 2))
    model, _ = exported(
        fn, [call], tmp_path, input_names=["relu", "Add_1"], output_names=["x", "y"]
    )
    assert names(model.graph.input) == ["relu", "Add_1"]
    assert names(model.graph.output) == ["x", "y"]
    model, _ = exported(fn, [call], tmp_path, input_names={"x1": "image"})
    assert names(model.graph.input) == ["x0", "image"]


@pytest.mark.parametrize(
    "settings", [{"input_names": ["a"]}, {"output_names": {"z": "a"}}, {"input_names": ["a", "a"]}]
)
def test_names_that_cannot_be_are_refused(settings: Any, tmp_path: Path) -> None:
    program = program_of(lambda x, y: x + y, torch.ones(2), torch.ones(2))
    with pytest.raises(CompileError) as info:
        export(program, format="onnx", output=tmp_path / "m.onnx", settings=settings)
    assert info.value.code == "PTC-E024"


class Mixed(nn.Module):
    """Convolution, normalisation, pooling, attention, indexing in one small model."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Conv2d(3, 8, 3, stride=2, padding=1, bias=False)
        self.norm = nn.BatchNorm2d(8)
        self.pool = nn.AdaptiveAvgPool2d((2, 2))
        self.attend = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
        self.embed = nn.Embedding(10, 8)
        self.head = nn.LSTM(8, 4, bidirectional=True, batch_first=True)

    def forward(self, image: torch.Tensor, ids: torch.Tensor) -> Any:
        y = F.hardswish(self.norm(self.stem(image)))
        y = self.pool(F.max_pool2d(y, 2)).flatten(2).transpose(1, 2)
        y = torch.cat([y, self.embed(ids)], 1)
        hidden, _ = self.head(self.attend(y))
        last = hidden[torch.arange(hidden.shape[0]), -1]
        return last.softmax(-1), hidden.argmax(-1)


def test_a_mixed_model(tmp_path: Path) -> None:
    torch.manual_seed(0)
    calls = [(torch.randn(n, 3, 16, 16), torch.randint(0, 10, (n, 3))) for n in (2, 3, 5)]
    for call in calls:
        exported(Mixed().eval(), [call], tmp_path)


def test_bfloat16_and_float16(tmp_path: Path) -> None:
    for dtype in (torch.bfloat16, torch.float16):
        model = nn.Sequential(nn.Linear(8, 8), nn.GELU(), nn.LayerNorm(8)).to(dtype).eval()
        exported(model, [(torch.randn(4, 8, dtype=dtype),)], tmp_path)


def test_sizes_that_depend_on_data(tmp_path: Path) -> None:
    def fn(x: torch.Tensor) -> Any:
        places = x.nonzero()
        return places, places.shape[0] * 2, torch.zeros(places.shape[0], 2) + 1

    x = torch.tensor([[0.0, 1.0, 2.0], [3.0, 0.0, 0.0]])
    exported(fn, [(x,), (x.t().contiguous().reshape(2, 3),), (torch.ones(2, 3),)], tmp_path)


@pytest.mark.skipif(not run.is_available(), reason="ONNX Runtime is not installed")
def test_nan_wins_in_a_pool(tmp_path: Path) -> None:
    """The values, and the position of the last NaN of a window, as in eager."""
    nan = float("nan")
    x = torch.tensor([[[1.0, nan, 3.0, 2.0], [nan, 5.0, 1.0, 0.0]]])
    program = program_of(lambda x: F.max_pool2d(x, 2, return_indices=True), x)
    export(program, format="onnx", output=tmp_path / "m.onnx")
    values, places = run.load(tmp_path / "m.onnx", [item.name for item in program.inputs])([x])
    assert str(values.tolist()) == "[[[nan, 3.0]]]" and places.tolist() == [[[4, 2]]]
    export(program_of(lambda x: F.max_pool2d(x, 2), x), format="onnx", output=tmp_path / "v.onnx")
    kinds = [node.op_type for node in onnx.load(tmp_path / "v.onnx").graph.node]
    assert kinds.count("MaxPool") == 2 and "Range" not in kinds


# --- failures -------------------------------------------------------------------------------------


def program_of(fn: Any, *args: torch.Tensor) -> AtenProgram:
    return functionalise(trace(fn, args))


def test_an_operator_without_onnx_form_is_named_with_its_line(tmp_path: Path) -> None:
    with pytest.raises(CompileError, match=r"aten\.lgamma\.default[\s\S]*test\.py:1") as info:
        program = program_of(lambda x: torch.lgamma(x), torch.ones(2))
        export(program, format="onnx", output=tmp_path / "m.onnx")
    assert info.value.code == "PTC-E020"
    assert list(tmp_path.iterdir()) == []


def test_an_error_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    path.write_bytes(b"old")
    program = program_of(lambda x: x + 1, torch.ones(2))
    checks = check_sets(program, lambda x: x + 2, [((torch.ones(2),), {})])
    with pytest.raises(CompileError, match="differs from eager in 1 of 1 outputs"):
        export(program, format="onnx", output=path, checks=checks)
    assert path.read_bytes() == b"old" and [p.name for p in tmp_path.iterdir()] == ["m.onnx"]


@pytest.mark.parametrize("opset", [20, 99, "x"])
def test_an_unknown_opset_is_refused(tmp_path: Path, opset: Any) -> None:
    program = program_of(lambda x: x + 1, torch.ones(2))
    with pytest.raises(CompileError, match=r"expected 21\.\.") as info:
        export(program, format="onnx", output=tmp_path / "m.onnx", settings={"opset": opset})
    assert info.value.code == "PTC-E023"


@pytest.mark.parametrize("opset", [21, 22, 24])
def test_other_opsets(tmp_path: Path, opset: int) -> None:
    model, _ = exported(
        nn.Sequential(nn.Conv1d(2, 3, 3), nn.ReLU()),
        [(torch.randn(1, 2, 5),)],
        tmp_path,
        opset=opset,
    )
    assert model.opset_import[0].version == opset


def test_a_parameter_without_content_is_named(tmp_path: Path) -> None:
    program = program_of(nn.Linear(2, 2), torch.ones(1, 2))
    inputs = list(program.inputs)
    inputs[0] = replace(inputs[0], live=torch.empty(2, 2, device="meta"))
    program.inputs = tuple(inputs)
    with pytest.raises(CompileError, match="`weight` has no content") as info:
        export(program, format="onnx", output=tmp_path / "m.onnx")
    assert info.value.code == "PTC-E002"
    export(program, format="onnx", output=tmp_path / "m.onnx", weights={"weight": torch.eye(2)})
