"""Public models through capture, functionalisation and every exporter, at two batch sizes.

The default run takes one; `-m slow` takes all whose library is installed.
"""

from __future__ import annotations

import importlib.util
import inspect
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
import torch

from ptc.autograd.functionalise import functionalise
from ptc.capture.api import DynamicSpec, capture_program
from ptc.exporters.api import export
from ptc.exporters.onnx import run
from ptc.graph.verifier import verify_aten, verify_captured
from tests.exporters.checking import check_sets
from tests.models import zoo
from tests.models.zoo import ZooModel

MODELS: Mapping[str, tuple[str, Callable[[], ZooModel]]] = {
    **{name: ("transformers", make) for name, make in zoo.TRANSFORMERS.items()},
    **{name: ("timm", make) for name, make in zoo.TIMM.items()},
}


def grown(value: Any) -> Any:
    """One more row of a batch."""
    return torch.cat([value, value[:1].flip(-1)]) if isinstance(value, torch.Tensor) else value


def check(name: str, folder: Path, formats: tuple[str, ...]) -> None:
    library, make = MODELS[name]
    if importlib.util.find_spec(library) is None:
        pytest.skip(f"{library} is not installed")
    torch.manual_seed(0)
    model = make()
    spec = DynamicSpec({path: {0: (zoo.BATCH, 2, 64)} for path in model.batched})
    captured = capture_program(model.module, model.args, model.kwargs, dynamic=spec, name="model")
    verify_captured(captured)
    program = functionalise(captured)
    verify_aten(program)
    assert [described.name for described in program.dims.values()] == [zoo.BATCH]

    names = list(inspect.signature(type(model.module).forward).parameters)[1:]
    args = tuple(
        grown(value) if name in model.batched else value
        for name, value in zip(names, model.args, strict=False)
    )
    kwargs = {k: grown(v) if k in model.batched else v for k, v in model.kwargs.items()}
    calls = [(model.args, model.kwargs), (args, kwargs)]
    checks = check_sets(program, model.module, calls)
    for format in formats:
        path = folder / f"model.{format}"
        report = export(program, format=format, output=path, checks=checks)
        assert all(row.passed and row.sets == 2 for row in report.errors)


def formats() -> tuple[str, ...]:
    return ("onnx", "ptir") if run.is_available() else ("ptir",)


def test_a_transformer(tmp_path: Path) -> None:
    check("BertModel", tmp_path, formats())


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(MODELS))
def test_every_model(name: str, tmp_path: Path) -> None:
    check(name, tmp_path, formats())
