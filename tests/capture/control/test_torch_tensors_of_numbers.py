"""`torch.tensor` of numbers that data decides and that a type has not, or of several ints, in one
call, of which each sign is asked for, against eager."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

from tests.capture.control.checking import check

Row = torch.Tensor
ROWS = [
    torch.tensor(row)
    for row in ([2.5, 1.5, 0.5, -0.5], [-1.5, -2.5, 0.5, 1.5], [-9.0, 9.0, -3.0, -9.0])
]


def too_great(x: Row) -> Any:
    first = float(x[0])
    return (
        torch.tensor([first * 1e300]),
        torch.tensor([[first * 1e39, 1.0]]),
        torch.tensor(first * 1e300),
        torch.tensor([first * 1e30], dtype=torch.float16),
        torch.as_tensor([t * 1e300 for t in x.tolist() if t > 0]),
        x.new_tensor([first * 1e300]),
    )


def signs(x: Row) -> Any:
    """All four in one call."""
    return torch.tensor([int(t) * 100 for t in x.tolist()])


def after_others(x: Row) -> Any:
    """What one type has not raises; the next has it."""
    numbers = [int(t) * 100 for t in x.tolist()]
    out: list[Any] = []
    for dtype in (torch.uint8, torch.float16):
        try:
            out.append(torch.tensor(numbers, dtype=dtype))
        except RuntimeError as raised:
            out.append(str(raised))
    return out


@pytest.mark.parametrize("program", [too_great, signs, after_others])
def test_tensor(program: Callable[..., Any]) -> None:
    check(program, *ROWS)
