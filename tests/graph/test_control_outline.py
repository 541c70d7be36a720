"""The constructs of a program with control flow, and its text in later forms."""

from __future__ import annotations

import copy
from typing import Any

import pytest
import torch

from ptc.artifact.forms import functional_form, functional_text, loop_form, loops_text
from ptc.graph.control_outline import constructs
from tests.graph.control_samples import SAMPLES
from tests.graph.structured import run_structured
from tests.graph.test_control_printer import arguments, outcome


def test_constructs_in_order() -> None:
    shown = [f"{'  ' * made.depth}{made}" for made in constructs(SAMPLES["nested"].build())]
    assert shown == [
        "`for` at model.py:2  for i in range(k):  (branch: segments 0, 1, 2, 3 | no segment)",
        "  `for` at model.py:2  for i in range(k):  (loop: segments 0, 1, 2, 3)",
        "    `if` at model.py:3  if i % 2 == 0:  (branch: segment 0 | segments 1, 2, 3)",
        "      `while` at model.py:6  while x.sum() < 4:  (branch: segments 2, 3 | no segment)",
        "        `while` at model.py:6  while x.sum() < 4:  (loop: segments 2, 3)",
    ]
    (made,) = constructs(SAMPLES["switch"].build())
    assert (made.kind, made.name, made.arms) == ("switch", "[]", ((0,), (1,), (2,)))


@pytest.mark.parametrize("name", list(SAMPLES))
def test_the_functional_text_runs(name: str) -> None:
    """In the tree's text each segment is its functional form, its writes made explicit."""
    sample = SAMPLES[name]
    program = sample.build()
    namespace: dict[str, Any] = {}
    text = functional_text(functional_form(program))
    exec(compile(text, f"<{name}>", "exec"), namespace)
    state: dict[str, Any] = {}
    for inputs in sample.calls():
        values = arguments(program, copy.deepcopy(inputs), copy.deepcopy(state))
        actual = outcome(namespace["forward"], *values)
        expected = outcome(run_structured, program, copy.deepcopy(inputs), state)
        torch.testing.assert_close(_numbers(actual[0]), _numbers(expected[0]))
        assert actual[1:] == expected[1:]


def _numbers(value: Any) -> Any:
    """What assert_close compares: an exception's text is not among it."""
    return len(value) if isinstance(value, str) else value


def test_loops_stand_in_the_tree() -> None:
    text = loops_text(loop_form(functional_form(SAMPLES["branch"].build())))
    assert text.startswith('"""Lowered program `branch` with control flow."""')
    lines = text.splitlines()
    arm = lines.index("    if c:  # `if` at model.py:2  if x.sum() > 0:")
    assert lines[arm + 1] == "        # segment 1: (x) -> (y)"
    assert lines[arm + 2] == "        program branch_3"
    assert "        kernel y:" in lines or "        kernel mul:" in lines
