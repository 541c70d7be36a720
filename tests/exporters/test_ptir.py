"""The portable IR: text round trips, hostile files, whole programs against eager."""

from __future__ import annotations

import json
import math
import zipfile
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from ptc.autograd.functionalise import functionalise
from ptc.exporters.api import export
from ptc.exporters.ptir.container import read_package, write_package
from ptc.exporters.ptir.extract import extract
from ptc.exporters.ptir.format import read_program
from ptc.exporters.ptir.ir import (
    Dim,
    DTypeName,
    Input,
    Instruction,
    Module,
    Output,
    Place,
    ScalarType,
    Tag,
    TensorType,
    TupleType,
    Value,
)
from ptc.exporters.ptir.parser import parse_module
from ptc.exporters.ptir.printer import print_module
from ptc.graph.program import AtenProgram, DimRange
from ptc.graph.verifier import verify_aten
from ptc.loops.index import Index, maximum, minimum
from ptc.support.diagnostics import CompileError
from tests.exporters.checking import check_sets
from tests.graph.tracing import trace


class Everything(nn.Module):
    """Every kind of output: views, sizes, several results, literals, write-backs."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(4, 4)
        self.second = nn.Linear(4, 4)
        self.second.weight = self.first.weight
        self.register_buffer("count", torch.zeros(4))

    def forward(self, x: torch.Tensor, k: torch.Tensor) -> Any:
        self.count.add_(x.sum(0))
        y = self.second(torch.relu(self.first(x)))
        top = y.max(-1)
        mask = torch.arange(x.shape[0] + 1) < k
        scaled = y * torch.tensor([1.0, 2.0, 3.0, 4.0])
        return {"y": y.view(-1, 2), "n": x.shape[0] * 2, "top": (top.values, top.indices),
                "same": x.view(-1), "mask": mask, "scaled": scaled.to(torch.bfloat16)}  # fmt: skip


def program(model: nn.Module | None = None) -> AtenProgram:
    model = model or Everything().eval()
    args = (torch.randn(3, 4), torch.tensor(2))
    return functionalise(trace(model, args, dynamic={0: {0: ("batch", 2, 64)}}))


# --- text -----------------------------------------------------------------------------------------

SYMBOLS = ("s0", "s1")
SIZES = st.recursive(
    st.integers(-9, 10**6).map(Index.const) | st.sampled_from(SYMBOLS).map(Index.var),
    lambda inner: (
        st.builds(lambda a, b: a + b, inner, inner)
        | st.builds(lambda a, b: a * b, inner, inner)
        | st.builds(lambda a, b: a // b, inner, st.integers(2, 9).map(Index.const))
        | st.builds(lambda a, b: a % b, inner, st.integers(2, 9).map(Index.const))
        | st.builds(minimum, inner, inner)
        | st.builds(maximum, inner, inner)
    ),
    max_leaves=4,
)
NAMES = st.text(max_size=6)
TYPES = st.recursive(
    st.builds(TensorType, st.sampled_from(["f32", "bool", "i64"]), st.tuples(SIZES, SIZES))
    | st.sampled_from([ScalarType("int"), ScalarType("float"), ScalarType("bool")])
    | st.builds(ScalarType, st.just("int"), SIZES),
    lambda inner: st.builds(TupleType, st.lists(inner, max_size=3).map(tuple)),
    max_leaves=3,
)
ARGUMENTS = st.recursive(
    st.builds(Value, st.integers(0, 0)) | SIZES | st.floats() | st.booleans() | st.none() | NAMES
    | st.sampled_from([DTypeName("bf16"), Tag("layout", "strided"), Tag("device", "cpu")]),
    lambda inner: st.lists(inner, max_size=3).map(tuple),
    max_leaves=6,
)  # fmt: skip
PLACES = st.none() | st.builds(Place, NAMES, st.integers(0, 9999), NAMES)
INSTRUCTIONS = st.builds(
    Instruction,
    st.just(1),
    TYPES,
    st.sampled_from(["aten::add.Tensor", "ptc::linear", "prim::element"]),
    st.lists(ARGUMENTS, max_size=3).map(tuple),
    PLACES,
)


@settings(max_examples=200, deadline=None)
@given(INSTRUCTIONS, NAMES)
def test_text_round_trip(instruction: Instruction, name: str) -> None:
    module = Module(
        name,
        (Dim("s0", name, 1, None), Dim("s1", "b", -2, 8)),
        (Input(0, TensorType("f32", (Index.var("s0"),)), "user", name),),
        (instruction,),
        (Output(Value(1), name, 0), Output(Value(0), "w", None, 0)),
    )
    text = print_module(module)
    again = parse_module(text)
    assert print_module(again) == text
    # NaN differs from itself; apart from it the nodes are equal too.
    if "nan" not in text:
        assert again == module


@pytest.mark.parametrize(
    "value", [0.0, -0.0, 1.0, 1e300, 5e-324, 0.1, math.inf, -math.inf, math.nan, 1e16, -3.5]
)
def test_floats_are_exact(value: float) -> None:
    item = Instruction(0, ScalarType("float"), "aten::x", (value,))
    text = print_module(Module("m", (), (), (item,), ()))
    (again,) = parse_module(text).instructions
    assert math.copysign(1, again.args[0]) == math.copysign(1, value)  # type: ignore[arg-type]
    assert again.args[0] == value or (math.isnan(value) and math.isnan(again.args[0]))  # type: ignore[arg-type]
    assert isinstance(again.args[0], float)


GOOD = """ptir 2
dim s0 "batch" 2 64
graph "m" {
  %0 : f32[s0, 4] = user "x"
  %1 : f32[s0, 4] = aten::relu(%0)  # "m.py":3 "relu(x)"
  return %1 "y"
}
"""


def test_the_example_reads() -> None:
    assert print_module(parse_module(GOOD)) == GOOD


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("ptir 2", "ptir 3", "line 1: schema version 3 is newer"),
        ("ptir 2", "torch 2", "line 1: expected `ptir`"),
        ("relu(%0)", "relu(%1)", "line 5: %1 is used before"),
        ("%1 : f32", "%2 : f32", "line 5: %2 is defined where %1 comes next"),
        ("[s0, 4] = user", "[s9, 4] = user", "line 4: unknown symbol `s9`"),
        ("f32[s0, 4] = aten", "q7[s0, 4] = aten", "line 5: unknown type `q7`"),
        ("relu(%0)", "relu(%0", "line 5: expected"),
        ("relu(%0)", "relu(%0))", "line 5: unexpected"),
        ("ptir 2", "ptir 1", "line 1: schema version 1 is not read any more"),
        ("relu(%0)", "relu(%0, a=1)", "line 5: bad index expression"),
        ("relu(%0)", "relu(%0 !)", "line 5: unexpected"),
        ("relu(%0)", "relu(" + "[" * 5000 + ")", "line 5: nested too deep"),
        ("relu(%0)", "relu(" + "(" * 5000 + ")", "line 5: an index expression is too long"),
        ("relu(%0)", "relu(" + "-" * 5000 + "1)", "line 5: an index expression is too long"),
        ("relu(%0)", "relu(" + "9" * 600 + ")", "line 5"),
        ("f32[s0, 4] = aten", "(" * 500 + "f32[4] = aten", "line 5: nested too deep"),
        ("64", "1", "line 2: empty range"),
        ("64", "9" * 30, "line 2: a number beyond 64 bits"),
        ("aten::relu", "relu", "line 5: `relu` is neither"),
        ('%1 "y"', '%7 "y"', "line 6: %7 is used before"),
        ('%1 "y"', '%1 "y" alias 4', "line 6: there is no input 4"),
        ('%1 "y"', '%1 "\\q"', "line 6: malformed string"),
        ("}\n", "}\nmore\n", "line 8: text after"),
        ("}\n", "", "line 7: expected `}`"),
    ],
)
def test_bad_text_is_refused_with_its_line(old: str, new: str, message: str) -> None:
    assert old in GOOD
    with pytest.raises(CompileError) as info:
        parse_module(GOOD.replace(old, new, 1))
    assert info.value.code == "PTC-E010"
    assert message in str(info.value)


@settings(max_examples=300, deadline=None)
@given(st.integers(0, len(GOOD) - 1), st.text(max_size=3), st.integers(0, 5))
def test_mutated_text_never_crashes(at: int, insert: str, drop: int) -> None:
    try:
        parse_module(GOOD[:at] + insert + GOOD[at + drop :])
    except CompileError as error:
        assert error.code == "PTC-E010"


# --- programs -------------------------------------------------------------------------------------


def test_a_program_survives_the_text() -> None:
    original = program()
    module, literals = extract(original)
    assert parse_module(print_module(module)) == module
    assert set(literals) == {"literal_0"}


def test_export_checks_the_file_and_rebuilds_the_program(tmp_path: Path) -> None:
    model = Everything().eval()
    original = program(model)
    calls = [((torch.randn(n, 4), torch.tensor(n - 1)), {}) for n in (3, 5, 2)]
    checks = check_sets(original, model, calls)
    assert model.count.tolist() == [0.0] * 4, "checking must not change the model"
    report = export(original, format="ptir", output=tmp_path / "m.ptir", checks=checks)
    assert all(row.passed and row.sets == 3 for row in report.errors)
    assert [row.name for row in report.errors][-1] == "count"
    assert report.inputs[0].type == "f32[batch, 4]"

    again = read_program(tmp_path / "m.ptir")
    verify_aten(again)
    assert print_module(extract(again)[0]) == print_module(extract(original)[0])
    assert again.arguments == original.arguments and again.result == original.result
    assert list(again.dims.values()) == [DimRange("batch", 2, 64)]
    assert os_listing(tmp_path) == ["m.ptir"]


def os_listing(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_equal_programs_give_equal_bytes(tmp_path: Path) -> None:
    model = Everything().eval()
    for name in ("a", "b"):
        export(program(model), format="ptir", output=tmp_path / f"{name}.ptir")
    assert (tmp_path / "a.ptir").read_bytes() == (tmp_path / "b.ptir").read_bytes()
    read_back = read_program(tmp_path / "a.ptir")
    export(read_back, format="ptir", output=tmp_path / "c.ptir")
    assert (tmp_path / "a.ptir").read_bytes() == (tmp_path / "c.ptir").read_bytes()


def test_a_wrong_result_leaves_no_file(tmp_path: Path) -> None:
    model = Everything().eval()
    original = program(model)
    checks = check_sets(original, model, [((torch.randn(3, 4), torch.tensor(1)), {})])
    checks[0].expected[0].add_(1)
    with pytest.raises(CompileError, match="differs from eager in 1 of") as info:
        export(original, format="ptir", output=tmp_path / "m.ptir", checks=checks)
    assert info.value.code == "PTC-E003" and "out0" in str(info.value)
    assert os_listing(tmp_path) == []


def test_tied_weights_are_stored_once(tmp_path: Path) -> None:
    export(program(), format="ptir", output=tmp_path / "m.ptir")
    tensors = read_package(tmp_path / "m.ptir").tensors
    assert sorted(tensors) == ["count", "first.bias", "first.weight", "literal_0", "second.bias"]


def test_an_unknown_format_is_named(tmp_path: Path) -> None:
    with pytest.raises(CompileError, match="unknown export format `pdf`, expected one of"):
        export(program(), format="pdf", output=tmp_path / "m")


def test_an_output_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(CompileError) as info:
        export(program(), format="ptir", output=tmp_path / "file" / "m.ptir")
    assert info.value.code == "PTC-E004"


# --- hostile files --------------------------------------------------------------------------------


def package(path: Path, **entries: bytes) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in entries.items():
            archive.writestr(name.replace("__", "/").replace("_dot_", "."), content)
    return path


@pytest.fixture
def exported(tmp_path: Path) -> Path:
    export(program(), format="ptir", output=tmp_path / "m.ptir")
    return tmp_path / "m.ptir"


def rewrite(path: Path, change: Any) -> Path:
    """The package with its entries passed through `change(name, bytes) -> (name, bytes) | None`."""
    with zipfile.ZipFile(path) as archive:
        entries = [(name, archive.read(name)) for name in archive.namelist()]
    with zipfile.ZipFile(path, "w") as archive:
        for entry in entries:
            changed = change(*entry)
            if changed is not None:
                archive.writestr(*changed)
    return path


@pytest.mark.parametrize(
    "change",
    [
        lambda name, data: None if name == "manifest.json" else (name, data),
        lambda name, data: ("../" + name if name == "graph.ptir" else name, data),
        lambda name, data: (name, data[:-1] if name == "weights.safetensors" else data),
        lambda name, data: (name, b"[" * 100000 if name == "manifest.json" else data),
        lambda name, data: (name, b"{}" if name == "manifest.json" else data),
        lambda name, data: (name, b"\xff\xfe" if name == "graph.ptir" else data),
        lambda name, data: (name, data.replace(b"aten::relu", b"aten::relu_")),
        lambda name, data: (name, data.replace(b"aten::relu", b"aten::nope")),
        lambda name, data: (name, data.replace(b"aten::relu", b"os::system")),
        lambda name, data: (name, data.replace(b"%8 : f32[s0, 4]", b"%8 : f32[s0, 5]")),
        lambda name, data: (name, data.replace(b"%8 : f32[", b"%8 : f64[")),
        lambda name, data: (name, data.replace(b'"first.bias"', b'"first.bios"')
                            if name == "graph.ptir" else data),
        lambda name, data: (name, data.replace(b"[4, 4] = parameter", b"[4, 3] = parameter")),
    ],
)  # fmt: skip
def test_changed_packages_are_refused(exported: Path, change: Any) -> None:
    before = exported.read_bytes()
    rewrite(exported, change)
    assert exported.read_bytes() != before
    with pytest.raises(CompileError) as info:
        read_program(exported)
    assert info.value.code == "PTC-E010"


def test_a_compressed_package_is_refused(exported: Path) -> None:
    """A few bytes that unpack to gigabytes: refused before anything is read."""
    with zipfile.ZipFile(exported) as archive:
        entries = {name: archive.read(name) for name in archive.namelist()}
    entries["graph.ptir"] = b" " * (50 << 20)
    with zipfile.ZipFile(exported, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in entries.items():
            archive.writestr(name, data)
    with pytest.raises(CompileError, match="compressed"):
        read_package(exported)


@pytest.mark.parametrize("size", [0, 1, 100, 1000])
def test_truncated_files_are_refused(exported: Path, size: int) -> None:
    exported.write_bytes(exported.read_bytes()[:size])
    with pytest.raises(CompileError, match=r"not a readable \.ptir file"):
        read_package(exported)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(CompileError, match="there is no file"):
        read_package(tmp_path / "none.ptir")


def test_weights_start_aligned(tmp_path: Path) -> None:
    manifest = {"format": "ptir", "entries": [{"variants": []}], "aliases": {}}
    write_package(tmp_path / "m.ptir", GOOD, manifest, {"w": torch.ones(3)})
    data = (tmp_path / "m.ptir").read_bytes()
    header = data.index(json.dumps({"w": {"dtype": "F32"}})[:8].encode().replace(b" ", b""))
    assert (header - 8) % 64 == 0
    assert torch.equal(read_package(tmp_path / "m.ptir").tensors["w"], torch.ones(3))
