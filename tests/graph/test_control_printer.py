"""The text of programs with control flow: it is readable, stable, and runs."""

from __future__ import annotations

import contextlib
import copy
import io
import warnings
from typing import Any

import pytest
import torch

from ptc.graph.control import ControlProgram, NumberKind
from ptc.graph.control_printer import print_control
from tests.graph.control_building import ControlBuilder
from tests.graph.control_samples import SAMPLES, Inputs
from tests.graph.structured import run_structured
from tests.graph.test_control_run import assert_same

TEXT = '''"""Captured program `counter_loop` with control flow."""

import torch


def forward(
    x,                                                        # f32[4]  user x
):
    n = 0
    h = x
    # segment 0: (h) -> (again_tensor)
    # model.py:3  while x.abs().max() > 1:
    abs_1 = torch.Tensor.abs(h)                                   # f32[4]
    max_1 = torch.Tensor.max(abs_1)                               # f32[]
    again_tensor = torch.Tensor.gt(max_1, 1)                      # bool[]
    again = again_tensor.item()                                   # bool
    if again:  # `while` at model.py:3  while x.abs().max() > 1:
        while True:  # `while` at model.py:3  while x.abs().max() > 1:
            # segment 1: (h) -> (half)
            # model.py:4  x = x / 2
            half = torch.Tensor.div(h, 2)                                 # f32[4]
            h = half
            n = n + 1                                                     # int
            # segment 2: (h) -> (again_tensor)
            # model.py:3  while x.abs().max() > 1:
            abs_1 = torch.Tensor.abs(h)                                   # f32[4]
            max_1 = torch.Tensor.max(abs_1)                               # f32[]
            again_tensor = torch.Tensor.gt(max_1, 1)                      # bool[]
            again = again_tensor.item()                                   # bool
            if not again:
                break
    # segment 3: (h, n) -> (out)
    # model.py:6  return x * n, n
    out = torch.Tensor.mul(h, n)                                  # f32[4]
    return (out, n)
'''


def test_text() -> None:
    assert print_control(SAMPLES["counter_loop"].build()) == TEXT


@pytest.mark.parametrize("name", list(SAMPLES))
def test_the_text_runs(name: str) -> None:
    sample = SAMPLES[name]
    program = sample.build()
    text = print_control(program)
    assert text == print_control(program)
    namespace: dict[str, Any] = {}
    exec(compile(text, f"<{name}>", "exec"), namespace)
    state: dict[str, Any] = {}
    for inputs in sample.calls():
        values = arguments(program, copy.deepcopy(inputs), copy.deepcopy(state))
        actual = outcome(namespace["forward"], *values)
        expected = outcome(run_structured, program, copy.deepcopy(inputs), state)
        assert_same(actual, expected)


def arguments(program: ControlProgram, inputs: Inputs, state: dict[str, Any]) -> list[Any]:
    values: list[Any] = []
    for described in program.inputs:
        name, live = described.name, described.live
        kept = state[name] if name in state else None if live is None else live.clone()
        values.append(inputs[name] if live is None else kept)
    values += [state.get(kept.variable.name, kept.initial) for kept in program.state]
    return values


def outcome(call: Any, *args: Any) -> list[Any]:
    """The result or exception, and what was printed and warned of."""
    out, err = io.StringIO(), io.StringIO()
    result: Any = None
    with (
        warnings.catch_warnings(record=True) as warned,
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
    ):
        warnings.simplefilter("always")
        try:
            result = call(*args)
        except ValueError as error:
            result = repr(error)
    texts = [(w.category.__name__, str(w.message)) for w in warned]
    return [result, out.getvalue(), err.getvalue(), texts]


def test_names_that_python_has_taken() -> None:
    b = ControlBuilder()
    x = b.tensor("print", torch.zeros(2))
    b.weight("a.b", torch.ones(2))
    b.weight("a_b", torch.ones(2))
    (y,) = b.segment(lambda x: x + 1, [x], "class")
    text = print_control(b.finish(y))
    assert "v_class = torch.Tensor.add(print_, 1)" in text
    assert "a_b,  " in text and "a_b_,  " in text


def test_a_result_does_not_hide_the_value_that_is_still_read() -> None:
    b = ControlBuilder()
    x = b.tensor("x", torch.ones(2))
    b.segment(lambda x: (x + 1, x * 3), [x], "y", "x")
    (out,) = b.segment(lambda x, y: x - y, [x, b.variable("y", torch.float32, 2)], "out")
    namespace: dict[str, Any] = {}
    exec(print_control(b.finish(out)), namespace)
    assert namespace["forward"](torch.tensor([1.0, 2.0])).tolist() == [1.0, 3.0]


def test_sizes_from_a_number_in_a_segment() -> None:
    """The symbol of a number is its name inside the segment."""
    b = ControlBuilder()
    x, n = b.tensor("x", torch.ones(2)), b.scalar("n", NumberKind.INT)
    symbol = b.symbol_of(n)
    torch._check(symbol >= 0)  # pyright: ignore[reportPrivateUsage]
    (y,) = b.segment(lambda x, n: x.new_ones(symbol + 1), [x, n], "y")
    namespace: dict[str, Any] = {}
    exec(print_control(b.finish(y)), namespace)
    assert namespace["forward"](torch.ones(2), 4).shape == (5,)
