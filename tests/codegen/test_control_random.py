"""Random programs with control flow: the library does what the reference interpreter does."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest
import torch

from ptc.graph.control import ControlProgram
from ptc.graph.control_run import run
from ptc.graph.control_verifier import verify_control
from tests.codegen.control_library import build
from tests.codegen.control_random import RandomProgram
from tests.codegen.test_control import assert_alike, observed

PROGRAMS = 6


@pytest.mark.parametrize("first", [0, PROGRAMS])
def test_random_programs(first: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    programs = {f"p{seed}": RandomProgram(seed).build() for seed in range(first, first + PROGRAMS)}
    for program in programs.values():
        verify_control(program)
    library = build(programs, tmp_path, monkeypatch, poison=True)
    for name, program in programs.items():
        compare(library, name, program)


def compare(library: Any, name: str, program: ControlProgram) -> None:
    state: dict[str, Any] = {}

    def interpreted(inputs: Any, emit: Any) -> list[Any]:
        return run(program, inputs, state, emit=emit)

    def compiled(inputs: Any, emit: Any) -> list[Any]:
        library.on_emit(emit)
        return library.entry(name).run([inputs["x"], inputs["k"]], as_torch=True)

    for call in range(4):
        generator = torch.Generator().manual_seed(call)
        x = torch.randn(3, dtype=torch.float64, generator=generator)
        inputs = {"x": x, "k": call * 3 - 4}
        assert_alike(observed(compiled, copy.deepcopy(inputs)), observed(interpreted, inputs))
