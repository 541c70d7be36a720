"""Printer, verifier, clean-up and symbol helpers on small graphs."""

from __future__ import annotations

import operator
from typing import Any

import pytest
import torch
from torch.fx import Graph, GraphModule

from ptc.graph.cleanup import merge_equal_nodes, remove_dead_code
from ptc.graph.names import function_name
from ptc.graph.printer import argument_text, print_program, tensor_text
from ptc.graph.program import (
    AtenProgram,
    DimRange,
    InputKind,
    Leaf,
    OutputKind,
    ProgramInput,
    ProgramOutput,
)
from ptc.graph.symbols import bind_sizes, concrete, range_text, symbols_of
from ptc.graph.types import type_text
from ptc.graph.verifier import verify_aten, verify_captured
from ptc.support.diagnostics import CompileError, InternalError
from tests.graph.tracing import trace

aten = torch.ops.aten


@pytest.mark.parametrize(
    ("function", "name"),
    [
        (aten.add.Tensor, "torch.ops.aten.add.Tensor"),
        (torch.add, "torch.add"),
        (torch.nn.functional.linear, "torch.nn.functional.linear"),
        (torch.nn.functional.layer_norm, "torch.nn.functional.layer_norm"),
        (torch.Tensor.add_, "torch.Tensor.add_"),
        (operator.mul, "operator.mul"),
        (operator.getitem, "operator.getitem"),
        (torch.sym_max, "torch.sym_max"),
        (torch.fft.rfft, "torch.fft.rfft"),
    ],
)
def test_function_names_evaluate_to_the_function(function: Any, name: str) -> None:
    assert function_name(function) == name
    assert eval(name, {"torch": torch, "operator": operator}) == function


@pytest.mark.parametrize(
    "value",
    [
        1, 1.5, float("inf"), float("-inf"), -0.0, 1e-300, True, None, "a'b\n", [1, (2,), {"a": 3}],
        slice(1, None, 2), torch.float32, torch.device("cpu"), torch.contiguous_format, (), ...,
        torch.strided, complex(1, 2),
    ],
)  # fmt: skip
def test_arguments_evaluate_to_themselves(value: Any) -> None:
    text = argument_text(value, {})
    assert repr(eval(text, {"torch": torch})) == repr(value)


@pytest.mark.parametrize(
    "value",
    [
        torch.tensor([1, 2, 3]), torch.tensor(2.5), torch.tensor([[0.1, float("nan")], [1.0, 2.0]]),
        torch.zeros(0, 3), torch.tensor([True, False]), torch.tensor([1.5], dtype=torch.bfloat16),
    ],
)  # fmt: skip
def test_tensor_text(value: torch.Tensor) -> None:
    built = eval(tensor_text(value), {"torch": torch, "float": float})
    assert built.dtype == value.dtype
    torch.testing.assert_close(built, value, rtol=0, atol=0, equal_nan=True)


def test_the_printed_captured_program_runs() -> None:
    def fn(x: torch.Tensor, y: torch.Tensor) -> Any:
        x = x + 1
        x[0] = y.relu()
        return x.T, torch.cat([x, y[None]])

    program = trace(fn, (torch.randn(3, 4), torch.randn(4)))
    space: dict[str, Any] = {}
    exec(print_program(program), space)
    args = torch.randn(3, 4), torch.randn(4)
    for ours, theirs in zip(space["forward"](*args), fn(*args), strict=True):
        torch.testing.assert_close(ours, theirs)


def test_dead_code_keeps_random_draws_and_placeholders() -> None:
    graph = Graph()
    x = graph.placeholder("x")
    graph.call_function(aten.exp.default, (x,))
    graph.call_function(aten.rand.default, ([2],))
    graph.output((x,))
    assert remove_dead_code(graph) == 1
    assert [n.op for n in graph.nodes] == ["placeholder", "call_function", "output"]


def test_equal_nodes_merge_transitively() -> None:
    graph = Graph()
    x = graph.placeholder("x")
    sums = [graph.call_function(aten.add.Tensor, (graph.call_function(aten.exp.default, (x,)), 1))
            for _ in range(3)]  # fmt: skip
    graph.output(tuple(sums))
    assert merge_equal_nodes(graph) == 4
    assert len(graph.nodes) == 4


def _program(graph: Graph, outputs: tuple[ProgramOutput, ...], **changes: Any) -> AtenProgram:
    inputs = (ProgramInput("x", InputKind.USER, "L['x']"),)
    options: dict[str, Any] = {"result": Leaf(0), "inputs": inputs, **changes}
    module = GraphModule(torch.nn.Module(), graph)
    return AtenProgram(graph=module, outputs=outputs, fake_mode=None, **options)


def _graph(target: Any = aten.exp.default, *more: Any) -> Graph:
    graph = Graph()
    x = graph.placeholder("x")
    x.meta["val"] = torch.zeros(2)
    y = graph.call_function(target, (x, *more))
    y.meta["val"] = torch.zeros(2)
    graph.output((y,))
    return graph


USER = ProgramOutput("y")
HALF_A_WRITE = ProgramOutput("y", OutputKind.WRITE_BACK)


def test_a_sound_program_verifies() -> None:
    verify_aten(_program(_graph(), (USER,)))


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: _program(_graph(aten.exp_.default), (USER,)), "mutates its argument"),
        (lambda: _program(_graph(torch.exp), (USER,)), "is no operator"),
        (lambda: _program(_graph(operator.getitem, 0), (USER,)), "no tuple"),
        (lambda: _program(_graph(), (USER, USER)), "does not return 2 values"),
        (lambda: _program(_graph(), (USER,), inputs=()), "1 placeholders for 0 inputs"),
        (lambda: _program(_graph(), (USER,), result=Leaf(1)), "result name value 1 of 1"),
        (lambda: _program(_graph(), (ProgramOutput("y", alias_of=3),)), "refers to input 3 of 1"),
        (
            lambda: _program(_graph(), (ProgramOutput("y", OutputKind.WRITE_BACK),), result=None),
            "to None",
        ),
    ],
)
def test_faults_are_found(build: Any, message: str) -> None:
    with pytest.raises(InternalError, match=message):
        verify_aten(build())


def test_a_fault_quotes_the_program() -> None:
    graph = _graph(torch.exp)
    with pytest.raises(InternalError, match="exp") as info:
        verify_aten(_program(graph, (USER,)))
    assert "(x,)" in str(info.value)


def test_captured_programs_may_mutate() -> None:
    verify_captured(trace(lambda x: x.add_(1), (torch.zeros(2),)))


# --- symbols --------------------------------------------------------------------------------------


def _symbolic() -> tuple[torch.Tensor, dict[str, DimRange]]:
    program = trace(lambda x: x + 1, (torch.zeros(4, 3),), dynamic={0: {0: ("batch", 2, 8)}})
    node = next(iter(program.graph.graph.nodes))
    return node.meta["val"], dict(program.dims)


def test_sizes_bind_to_inputs() -> None:
    fake, dims = _symbolic()
    (symbol,) = symbols_of(fake)
    assert bind_sizes(["x"], [fake], [(5, 3)], dims) == {symbol: 5}
    assert concrete(fake.shape, {symbol: 5}) == (5, 3)
    assert concrete(fake.shape[0] * 2 + 1, {symbol: 5}) == 11
    assert type_text(fake) == f"f32[{symbol}, 3]"


@pytest.mark.parametrize(
    ("shape", "message"),
    [
        ((5, 4), "dim 1 of input `x` is 4, expected 3"),
        ((9, 3), r"dim 0 of input `x` is 9, `batch` must be 2\.\.8"),
        ((1, 3), r"is 1, `batch` must be 2\.\.8"),
        ((5,), "input `x` has 1 dimensions, expected 2"),
    ],
)
def test_sizes_that_do_not_fit_are_named(shape: tuple[int, ...], message: str) -> None:
    fake, dims = _symbolic()
    with pytest.raises(CompileError, match=message):
        bind_sizes(["x"], [fake], [shape], dims)


def test_one_symbol_has_one_value() -> None:
    fake, dims = _symbolic()
    with pytest.raises(CompileError, match="`batch` is 5 elsewhere in the same call"):
        bind_sizes(["x", "y"], [fake, fake], [(5, 3), (6, 3)], dims)


def test_range_text() -> None:
    assert range_text(DimRange("n", 2, None)) == "at least 2"
