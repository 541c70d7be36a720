"""Libraries with control flow against the Python that their programs stand for."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.codegen.control_library import build, call_inputs
from tests.graph.control_samples import SAMPLES, Inputs


def observed(call: Any, inputs: Inputs) -> dict[str, Any]:
    """All that can be seen of one call."""
    given = copy.deepcopy(inputs)
    emitted: list[tuple[str, str, str]] = []
    raised, results = None, None
    try:
        results = call(given, lambda *parts: emitted.append(parts))
    except ValueError as error:
        raised = (type(error).__name__, str(error))
    return {"results": results, "raised": raised, "emitted": emitted, "inputs": given}


@pytest.mark.parametrize("name", list(SAMPLES))
def test_a_library_does_what_python_does(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sample = SAMPLES[name]
    program = sample.build()
    library = build({"forward": program}, tmp_path, monkeypatch)
    state: dict[str, Any] = {}

    def eager(inputs: Inputs, emit: Any) -> list[Any]:
        return sample.eager(inputs, state, emit)

    def compiled(inputs: Inputs, emit: Any) -> list[Any]:
        library.on_emit(emit)
        return library.entry().run(call_inputs(program, inputs), as_torch=True)

    for _ in range(2):
        for inputs in sample.calls():
            assert_alike(observed(compiled, inputs), observed(eager, inputs))
        library.reset()
        state.clear()


def assert_alike(actual: Any, expected: Any) -> None:
    """Equal, floats nearly. A result that the variant does not use may be anything."""
    if expected is None:
        return
    if isinstance(expected, torch.Tensor):
        torch.testing.assert_close(actual, expected, equal_nan=True)
    elif isinstance(expected, dict):
        assert actual.keys() == expected.keys()
        for key, value in expected.items():
            assert_alike(actual[key], value)
    elif isinstance(expected, (list, tuple)):
        assert len(actual) == len(expected)
        for one, other in zip(actual, expected, strict=True):
            assert_alike(one, other)
    else:
        assert type(actual) is type(expected)
        assert actual == (pytest.approx(expected) if isinstance(expected, float) else expected)
