"""The order of a set follows its content: where data decides that, no order is made up."""

from __future__ import annotations

import pytest
import torch

from ptc.capture.api import capture_program
from ptc.support.diagnostics import CompileError


def _loop(x: torch.Tensor) -> torch.Tensor:
    for number in {int(x[0]), int(x[1])}:
        x = x * 2 + number
    return x


def test_an_order_that_data_decides_is_refused() -> None:
    with pytest.raises(CompileError) as caught:
        capture_program(_loop, (torch.tensor([5.0, 1.0]),))
    assert caught.value.code == "PTC-B006"
    assert caught.value.diagnostic.location is not None
