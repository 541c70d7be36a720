"""Libraries of hand-made programs with control flow, for tests of what they do when they run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
import torch

from ptc import pipeline
from ptc.codegen import toolchain
from ptc.codegen.sources import Sources
from ptc.graph.control import ControlProgram
from ptc.graph.program import InputKind
from ptc.hosting import LoadedArtifact, load
from ptc.loader.model import EntryRequest
from tests.codegen.harness import poisoned


def build(
    programs: Mapping[str, ControlProgram],
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    function: Callable[..., Any] = torch.relu,
    example: tuple[Any, ...] = (),
    poison: bool = False,
    **options: Any,
) -> LoadedArtifact:
    """One library with an entry a program, opened. Nothing is captured; with `check=True` the
    entries are compared with `function`. With `poison` memory that was not written is NaN."""
    monkeypatch.setattr(
        pipeline, "capture_entry", lambda request, notes=None: programs[request.name]
    )
    if poison:
        plain = toolchain.build

        def build_poisoned(sources: Sources, *args: Any, **kwargs: Any) -> Any:
            return plain(poisoned(sources), *args, **kwargs)

        monkeypatch.setattr(toolchain, "build", build_poisoned)
    requests = [EntryRequest(name, function, example) for name in programs]
    settings = pipeline.BuildOptions(
        output=folder, name="control", verify=True, **{"check": False, **options}
    )
    report = pipeline.build_library(requests, settings)
    assert report is not None
    return load(report.library, threads=1)


def call_inputs(program: ControlProgram, inputs: Mapping[str, Any]) -> list[Any]:
    """The inputs of a call in the program's order."""
    kinds = (InputKind.USER, InputKind.SCALAR)
    return [inputs[i.name] for i in program.inputs if i.kind in kinds]
