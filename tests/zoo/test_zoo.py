"""The zoo itself: its inputs drive every path, and a second run gives the same."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from tests.zoo import coverage, harness
from tests.zoo.case import Case
from tests.zoo.catalog import cases

CASES = [pytest.param(case, id=name) for name, case in cases().items()]

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.mark.parametrize("case", CASES)
def test_inputs_drive_every_path(case: Case) -> None:
    assert coverage.missed(case) == []


@pytest.mark.parametrize("case", CASES)
def test_eager_is_repeatable(case: Case) -> None:
    harness.compare(harness.eager(case), harness.eager(case))


@pytest.mark.parametrize("case", CASES)
def test_calls_differ_in_tensors_only(case: Case) -> None:
    """What is no tensor is fixed by the first call, and so is a size that is not named."""
    first = _form(case.inputs[0])
    for inputs in case.inputs[1:]:
        if case.dynamic:
            assert _form(inputs, sizes=False) == _form(case.inputs[0], sizes=False)
        else:
            assert _form(inputs) == first


def _form(value: Any, *, sizes: bool = True) -> Any:
    if isinstance(value, torch.Tensor):
        return value.dtype, tuple(value.shape) if sizes else value.ndim
    if isinstance(value, dict):
        return {key: _form(v, sizes=sizes) for key, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [_form(v, sizes=sizes) for v in value]
    return value
