"""The reference interpreter against the Python that each program stands for."""

from __future__ import annotations

import copy
from typing import Any

import pytest
import torch

from ptc.graph.control_coverage import Coverage
from ptc.graph.control_run import run
from tests.graph.control_samples import SAMPLES, Inputs


def outcome(call: Any, inputs: Inputs, state: dict[str, Any]) -> dict[str, Any]:
    """All that can be seen of one call."""
    inputs = copy.deepcopy(inputs)
    emitted: list[tuple[str, str, str]] = []
    raised, results = None, None
    try:
        results = call(inputs, state, lambda *parts: emitted.append(parts))
    except ValueError as error:
        raised = (type(error), str(error))
    return {
        "results": results,
        "raised": repr(raised),
        "emitted": emitted,
        "inputs": inputs,
        "state": copy.deepcopy(state),
    }


@pytest.mark.parametrize("name", list(SAMPLES))
def test_samples_do_what_python_does(name: str) -> None:
    sample = SAMPLES[name]
    program = sample.build()
    coverage = Coverage(program)
    eager_state: dict[str, Any] = {}
    own_state: dict[str, Any] = {}

    def interpreted(inputs: Inputs, state: dict[str, Any], emit: Any) -> list[Any]:
        return run(program, inputs, state, emit=emit, coverage=coverage)

    for inputs in sample.calls():
        expected = outcome(sample.eager, inputs, eager_state)
        actual = outcome(interpreted, inputs, own_state)
        assert_same(actual, expected)
    assert coverage.unreached() == ()


def assert_same(actual: Any, expected: Any) -> None:
    """Equal to the bit, types included. A result that the variant does not use may be anything."""
    if expected is None:
        return
    assert type(actual) is type(expected)
    if isinstance(expected, torch.Tensor):
        torch.testing.assert_close(actual, expected, rtol=0, atol=0, equal_nan=True)
    elif isinstance(expected, dict):
        assert actual.keys() == expected.keys()
        for key, value in expected.items():
            assert_same(actual[key], value)
    elif isinstance(expected, (list, tuple)):
        assert len(actual) == len(expected)
        for one, other in zip(actual, expected, strict=True):
            assert_same(one, other)
    else:
        assert actual == expected
