"""Programs with control flow in the portable IR: text, files, readers, against eager."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

import ptc
from ptc.autograd.control import functionalise_control
from ptc.exporters.ptir.container import read_package
from ptc.exporters.ptir.control_extract import extract_control
from ptc.exporters.ptir.control_ir import (
    Block,
    ControlInput,
    ControlModule,
    Declaration,
    ElementType,
    Formatted,
    If,
    ListType,
    State,
    Statement,
    Switch,
    Symbol,
    TextType,
    Variable,
    While,
)
from ptc.exporters.ptir.control_parser import MAX_NESTING, parse_control
from ptc.exporters.ptir.control_printer import print_control_module
from ptc.exporters.ptir.control_rebuild import rebuild_control
from ptc.exporters.ptir.format import parse_text, read_program
from ptc.exporters.ptir.ir import Dim, Place, ScalarType, TensorType
from ptc.exporters.ptir.loaded import load_interpreted
from ptc.exporters.ptir.manifest import structures_of
from ptc.exporters.ptir.request import portable_model
from ptc.exporters.ptir.running import ReferenceRunner
from ptc.graph.control import ControlProgram
from ptc.hosting import load as load_library
from ptc.hosting.effects import NotSupported
from ptc.loops.index import Index
from ptc.pipeline import BuildOptions, build_library
from ptc.support.diagnostics import CompileError
from tests.zoo import harness
from tests.zoo.case import Case
from tests.zoo.catalog import cases

pytestmark = pytest.mark.filterwarnings("ignore")

#: Models of the zoo in the default run: branches, loops, lists, texts, sizes, state, exceptions.
QUICK = frozenset({"gated_block", "repeat_int", "sizes_from_data", "try_except", "circuit_breaker"})


# --- text -----------------------------------------------------------------------------------------

NAMES = st.text(max_size=5)
VARIABLES = st.sampled_from(["n1", "t.x", "odd name"]).map(Variable)
SYMBOLS = st.sampled_from(["s0", "s1"]).map(Symbol)
NUMBERS = st.integers(-(2**63), 2**63 - 1) | st.booleans() | st.floats(allow_nan=False)
FORMATTED = st.builds(
    lambda conversion, variable, spec: Formatted(
        conversion, variable, spec if conversion == "format" else ""
    ),
    st.sampled_from(["str", "repr", "format"]),
    VARIABLES | SYMBOLS,
    NAMES,
)
OPERANDS = VARIABLES | SYMBOLS | NUMBERS | NAMES | st.none() | FORMATTED
PLACES = st.none() | st.builds(Place, NAMES, st.integers(0, 999), NAMES)
STATEMENTS = st.builds(
    lambda op, args, targets, place: Statement(op, tuple(args), tuple(targets), place),
    st.sampled_from(["number::add", "list::get", "text::make", "prim::emit", "sized::unique"]),
    st.lists(OPERANDS, max_size=3),
    st.lists(VARIABLES, max_size=3) | st.just([Symbol("s1")]),
    PLACES,
)


def _constructs(inner: Any) -> Any:
    block = st.lists(inner, max_size=2).map(tuple)
    return (
        st.builds(If, VARIABLES, block, block, NAMES, PLACES)
        | st.builds(Switch, VARIABLES, st.lists(block, min_size=1, max_size=3).map(tuple), NAMES,
                    PLACES)
        | st.builds(While, block, VARIABLES, NAMES, PLACES)
    )  # fmt: skip


BLOCKS = st.lists(st.recursive(STATEMENTS, _constructs, max_leaves=6), max_size=3).map(tuple)
ELEMENTS = st.recursive(
    st.sampled_from([ScalarType("int"), ScalarType("bool"), TextType()])
    | st.builds(ElementType, st.just("f32"), st.tuples(st.none(), st.just(Index.var("s0")))),
    lambda inner: st.builds(ListType, inner),
    max_leaves=3,
)
TYPES = st.builds(ListType, ELEMENTS) | st.sampled_from(
    [TextType(), ScalarType("float"), TensorType("bf16", (Index.var("s1"), Index.const(3)))]
)


@settings(max_examples=150, deadline=None)
@given(BLOCKS, TYPES, st.none() | NUMBERS, NAMES)
def test_text_round_trip(block: Block, type_: Any, initial: Any, name: str) -> None:
    module = ControlModule(
        name,
        (Dim("s0", name, 1, None),),
        (Dim("s1", name, 0, 8),),
        (ControlInput("t.x", TensorType("f32", (Index.var("s0"),)), "buffer", written=True),),
        (Declaration("n1", type_), Declaration("odd name", ScalarType("int"))),
        (State("odd name", name, initial),),
        (),
        block,
        ((Variable("n1"), name), (Symbol("s0"), name)),
        Variable("odd name"),
    )
    text = print_control_module(module)
    again = parse_text(text)
    assert again == module
    assert print_control_module(again) == text  # type: ignore[arg-type]


GOOD = """ptir 2
dim s0 "batch" 1 inf
size s1 "n" 0 inf
program "m" {
  input "x" : f32[s0, 4] = user
  var $n1 : int
  var $b1 : bool
  var $t1 : f32[s0, 4]
  state $n1 "count" 0
  graph "0" {
    %0 : f32[s0, 4] = user "x"
    assume s0 - 2 != 0
    %1 : f32[s0, 4] = aten::relu(%0)
    return %1 "t1"
  }
  body {
    $n1 = number::add($n1, 1)
    $b1 = number::gt($n1, 1)
    prim::call(0)
    if $b1 "if" {  # "m.py":3 "if n > 1:"
      prim::emit("stdout", "", "n ", str($n1), "\\n")
    } else {
      s1 = prim::size($t1, 0)
    }
  }
  return $t1 "y"
}
"""


def test_the_example_reads_and_runs() -> None:
    module = parse_control(GOOD)
    assert print_control_module(module) == GOOD
    assert isinstance(rebuild_control(module, {}), ControlProgram)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("ptir 2", "ptir 3", "line 1: schema version 3 is newer"),
        ("var $n1 : int", "var $x : int", "line 6: `x` is declared twice"),
        ("var $n1 : int", "var $n1 : list(f32[s9])", "line 6: unknown symbol `s9`"),
        ("var $n1 : int", "var $n1 : " + "list(" * 90 + "int" + ")" * 90, "line 6: nested too"),
        ("var $n1 : int", "var $n1 : (int, int)", "line 6: an input cannot be a tuple"),
        ("prim::call(0)", "prim::call(1)", "line 19: there is no such graph"),
        ("prim::call(0)", "prim::call($n1)", "line 19: there is no such graph"),
        ("$b1 = number", "$b2 = number", "line 18: there is no variable `b2`"),
        ("s1 = prim", "s0 = prim", "line 23: there is no size `s0` that the program sets"),
        ("number::gt", "gt", "line 18: `gt` is no statement"),
        ("assume s0 - 2 != 0", "assume s0 != 1", "line 12: expected 0"),
        ("  body {\n", "", "line 16: expected `body`"),
        ('return $t1 "y"', 'return $t2 "y"', "there is no variable `t2`"),
        ("number::gt", "number::gtt", "there is no operation `gtt`"),
        ("number::gt", "prim::gt", "there is no such statement"),
        ("$b1 = number::gt($n1, 1)", "$b1 = number::gt($t1, 1)", "not sound"),
        ("if $b1", "if $t1", "decides the way"),
        ("aten::relu(%0)", "aten::relu(%0, True)", "this torch knows 1 arguments"),
        ("f32[s0, 4] = aten", "f32[s0, 5] = aten", "a size is 4, not 5"),
        ("= user\n  var", "= parameter\n  var", "the weights file has no tensor `x`"),
    ],
)  # fmt: skip
def test_bad_text_is_refused(old: str, new: str, message: str) -> None:
    assert old in GOOD
    with pytest.raises(CompileError) as info:
        rebuild_control(parse_control(GOOD.replace(old, new, 1)), {})
    assert info.value.code == "PTC-E010"
    assert message in str(info.value)


def test_arguments_beyond_the_schema_may_mean_as_before() -> None:
    text = GOOD.replace("aten::relu(%0)", "aten::relu(%0, None, False)")
    assert isinstance(rebuild_control(parse_control(text), {}), ControlProgram)


def test_blocks_nest_within_a_limit() -> None:
    for depth in (MAX_NESTING, MAX_NESTING + 1):
        opened, closed = 'if $b1 "if" {\n' * depth, "} else {\n}\n" * depth
        text = GOOD.replace("    prim::call(0)\n", opened + "prim::call(0)\n" + closed)
        if depth > MAX_NESTING:
            with pytest.raises(CompileError, match="nested too deep"):
                parse_control(text)
        else:
            parse_control(text)


@settings(max_examples=150, deadline=None)
@given(st.integers(0, len(GOOD) - 1), st.text(max_size=3), st.integers(0, 5))
def test_mutated_text_never_crashes(at: int, insert: str, drop: int) -> None:
    try:
        rebuild_control(parse_control(GOOD[:at] + insert + GOOD[at + drop :]), {})
    except CompileError as error:
        assert error.code in ("PTC-E010", "PTC-A010")


# --- files ----------------------------------------------------------------------------------------


class Counting(nn.Module):
    """Every kind of thing that a call leaves: numbers, buffers, prints, exceptions, lists."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(3, 3)
        self.register_buffer("seen", torch.zeros(3))
        self.calls = 0

    def forward(self, x: torch.Tensor) -> Any:
        self.calls += 1
        self.seen.add_(1)
        steps = []
        while x.norm() > 1 and len(steps) < 3:
            x = self.layer(x)
            steps.append(x)
        if self.calls > 2:
            raise ValueError(f"too often: {self.calls}")
        print("steps", len(steps))
        return {"y": torch.stack(steps) if steps else x, "seen": self.seen + 0, "n": self.calls}


@pytest.fixture(scope="module")
def counting(tmp_path_factory: pytest.TempPathFactory) -> Path:
    torch.manual_seed(0)
    path = tmp_path_factory.mktemp("ptir") / "counting.ptir"
    ptc.export(
        Counting().eval(), (torch.ones(2, 3) * 4,), format="ptir", output=path,
        dynamic={"x": {0: "batch"}},
    )  # fmt: skip
    return path


def _eager() -> Counting:
    torch.manual_seed(0)
    return Counting().eval()


def test_a_file_does_what_eager_does(counting: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model, read = _eager(), load_interpreted(counting)
    for size in (1, 5):
        x = torch.full((size, 3), 2.0)
        with torch.no_grad():
            expected = model(x)
        wanted = capsys.readouterr().out
        found = read(x)
        assert capsys.readouterr().out == wanted
        assert torch.allclose(found["y"], expected["y"])
        assert torch.equal(found["seen"], expected["seen"]) and found["n"] == expected["n"]
    with pytest.raises(ValueError, match="too often: 3"):
        read(torch.ones(1, 3))
    read.reset()
    assert read(torch.ones(1, 3))["n"] == 1
    with pytest.raises(CompileError) as info:
        read(torch.ones(1, 4))
    assert info.value.code == "PTC-A010"


def test_arrays_in_arrays_out(counting: Path) -> None:
    found = load_interpreted(counting).entry().run_named([torch.full((2, 3), 2.0).numpy()], {})
    assert found["y"].shape == (3, 2, 3) and type(found["n"]) is int


def test_equal_programs_give_equal_bytes(counting: Path, tmp_path: Path) -> None:
    torch.manual_seed(0)
    again = tmp_path / "again.ptir"
    x = (torch.ones(2, 3) * 4,)
    ptc.export(_eager(), x, format="ptir", output=again, dynamic={"x": {0: "batch"}}, check=False)
    assert again.read_bytes() == counting.read_bytes()


def test_the_text_survives_reading(counting: Path) -> None:
    package = read_package(counting)
    module = parse_control(package.text)
    structures = structures_of(package.entry, module, "the manifest")
    program = rebuild_control(module, package.tensors, structures=structures, guarded=False)
    again = print_control_module(extract_control(functionalise_control(program)).module)
    kept = [line for line in package.text.splitlines() if "assume" not in line]
    assert again.splitlines() == kept


@pytest.mark.parametrize(
    "assumed", ["s0 - 2 != 0", "s0 // 2 - 1 != 0", "min(s0, 4) - 3 >= 0", "s0 % 2 - 1 == 0"]
)
def test_assumptions_are_checked_at_run_time(assumed: str) -> None:
    program = rebuild_control(parse_control(GOOD.replace("s0 - 2 != 0", assumed)), {})
    run = ReferenceRunner(program)
    outputs, variant = run([torch.ones(7, 4)], lambda *_: None)
    assert variant == 0 and torch.equal(outputs[0], torch.ones(7, 4))
    with pytest.raises(NotSupported, match="the file assumes"):
        run([torch.ones(2, 4)], lambda *_: None)


def test_a_file_is_compiled_without_the_model(counting: Path, tmp_path: Path) -> None:
    model = portable_model(counting, ["x=f32[4,3]"])
    report = build_library(model.entries, BuildOptions(output=tmp_path, name=model.name))
    assert report is not None and report.entries[0].checked
    library, eager = load_library(report.library), _eager()
    library.on_emit(lambda *_: None)
    x = torch.full((2, 3), 2.0)
    with torch.no_grad():
        assert torch.allclose(library(x)["y"], eager(x)["y"], atol=1e-6)


def test_keyword_arguments_are_checked_as_any(tmp_path: Path) -> None:
    """Calls that are drawn beside the example give them by position."""

    class Scaled(nn.Module):
        def forward(self, x: torch.Tensor, scale: torch.Tensor) -> torch.Tensor:
            return x * scale

    path, named = tmp_path / "m.ptir", {"x": torch.ones(3), "scale": torch.ones(3)}
    report = ptc.export(Scaled(), (), named, format="ptir", output=path)
    assert all(row.passed and row.sets > 1 for row in report.errors)
    assert torch.equal(load_interpreted(path)(**named), torch.ones(3))


class OneOfTwo(nn.Module):
    """Writes through another name of an input, and through a list."""

    def forward(self, x: torch.Tensor, z: torch.Tensor, keep: torch.Tensor) -> torch.Tensor:
        y = x if keep else x.clone()
        y.add_(1)
        held = [z] if keep else [y]
        held[0].mul_(2)
        return x.sum() + z


def test_inputs_written_through_an_alias_are_declared(tmp_path: Path) -> None:
    args = (torch.ones(2, 3), torch.ones(3), torch.tensor(True))
    path = tmp_path / "one.ptir"
    ptc.export(OneOfTwo(), args, format="ptir", output=path)
    inputs = [line for line in read_package(path).text.splitlines() if line.startswith("  input ")]
    assert [line.endswith(" written") for line in inputs] == [True, True, False]
    read = load_interpreted(path)
    assert [info.mutated for info in read.entry().info.inputs] == [True, True, False]
    library = ptc.build(OneOfTwo(), args, output=tmp_path, name="one")
    for model in (read, ptc.load(path), library.load()):
        for keep in (True, False):
            there = torch.arange(6.0).reshape(3, 2).T, torch.ones(3), torch.tensor(keep)
            here = tuple(value.clone() for value in there)
            assert torch.equal(model(*there), OneOfTwo()(*here))
            assert all(map(torch.equal, there, here))


# --- the zoo --------------------------------------------------------------------------------------


def _zoo() -> list[Any]:
    return [
        pytest.param(case, id=name, marks=[] if name in QUICK else pytest.mark.slow)
        for name, case in cases().items()
    ]


@pytest.mark.parametrize("case", _zoo())
def test_a_file_of_the_zoo_does_what_eager_does(case: Case, tmp_path: Path) -> None:
    path = tmp_path / f"{case.name}.ptir"
    with harness.logging_at(20):
        ptc.export(
            case.make(), harness.clone(case.inputs[0]), format="ptir", output=path,
            dynamic=case.dynamic, check=False,
        )  # fmt: skip
    assert isinstance(read_program(path), ControlProgram)
    read = load_interpreted(path)
    found = harness.observe(case, read, lambda: None, harness.name_of_reported)
    harness.compare(harness.eager(case), found)
