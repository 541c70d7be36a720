"""The models with control flow as exported programs of torch: as eager, or refused by a rule."""

from __future__ import annotations

import contextlib
import io
from pathlib import Path
from typing import Any

import pytest
import torch

from ptc.exporting import export_model
from ptc.hosting.input_spec import parse_dynamic
from ptc.loader.model import DynamicDim, EntryRequest
from ptc.support.diagnostics import CompileError
from tests.zoo import harness
from tests.zoo.case import Case
from tests.zoo.catalog import cases

#: What exported programs cannot say, and what capture says of one size without branches on it.
RULES = {
    "PTC-E007", "PTC-E050", "PTC-E052", "PTC-E054", "PTC-E055", "PTC-E056", "PTC-E057",
    "PTC-B009", "PTC-O002",
}  # fmt: skip

#: torch.export refuses what these were made into, with its own message.
REFUSED_BY_TORCH = {"sizes_from_data"}


def request_of(case: Case) -> EntryRequest:
    dynamic: dict[str, dict[int, DynamicDim]] = {}
    for path, numbers in (case.dynamic or {}).items():
        for number, text in numbers.items():
            for dim in parse_dynamic(f"{path}:{number}={text}"):
                described = DynamicDim(dim.name, dim.lower, dim.upper)
                dynamic.setdefault(path, {})[number] = described
    return EntryRequest(
        case.name, case.make(), harness.clone(case.inputs[0]), dynamic=dynamic or None
    )


def as_eager(found: Any, expected: Any) -> Any:
    """A file's result in the classes of eager's: tensors for numbers, dicts for objects."""
    if isinstance(found, torch.Tensor) and isinstance(expected, (float, bool)):
        return found.item()
    if isinstance(expected, dict) and isinstance(found, dict):
        return {key: as_eager(found[key], value) for key, value in expected.items()}
    if isinstance(expected, (list, tuple)) and len(found) == len(expected):
        items = [as_eager(a, b) for a, b in zip(found, expected, strict=True)]
        kind = type(expected)
        return kind(*items) if hasattr(expected, "_fields") else kind(items)
    return found


@pytest.mark.slow
@pytest.mark.parametrize("name", list(cases()))
def test_every_model(name: str, tmp_path: Path) -> None:
    case = cases()[name]
    with contextlib.redirect_stdout(io.StringIO()):
        try:
            export_model([request_of(case)], format="pt2", output=tmp_path / "m.pt2")
        except CompileError as error:
            torchs = {"PTC-E053"} if name in REFUSED_BY_TORCH else set()
            assert error.code in RULES | torchs, str(error)
            return
        recorded = harness.eager(case)
        module = torch.export.load(tmp_path / "m.pt2").module()
        observed = harness.observe(case, module, lambda: None, lambda _: ("", ""))
    for expected, found in zip(recorded, observed, strict=True):
        if expected.raised is not None:
            return  # what a call leaves for which eager raises is not said
        assert found.raised is None, found.raised
        result = as_eager(found.result, expected.result)
        harness.compare([harness.Call(result=expected.result)], [harness.Call(result=result)])
