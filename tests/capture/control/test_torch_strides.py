"""Strides of tensors that data decides, against eager, or refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

from ptc.capture.api import capture_program
from ptc.support.diagnostics import CompileError
from tests.capture.control.checking import check

Row = torch.Tensor
ROWS = [
    torch.tensor(row)
    for row in ([2.5, 1.5, 0.5, -0.5], [-1.5, -2.5, -0.5, -1.5], [-1.0, 2.0, -1.0, -1.0])
]


def followed(x: Row) -> Any:
    """Sizes of 0 and 1 are contiguous whatever the strides."""
    y = x[x > 0]
    n = int((x > 0).sum())
    z = torch.zeros(n, 4)
    w = z + 1 if x[0] > 0 else torch.ones(n, 4)
    return (
        (y.stride(), y.is_contiguous(), y.reshape(-1, 1).is_contiguous()),
        (z.t().is_contiguous(), z.t().stride(), z[:, :2].is_contiguous()),
        (torch.zeros(2, n).stride(), torch.zeros(2, n).t().is_contiguous()),
        (w.stride(), w.is_contiguous()),
    )


def test_followed() -> None:
    check(followed, *ROWS)


def expanded(x: Row) -> Any:
    return x[x > 0][:, None].expand(-1, 2).stride()


def one_of_two(x: Row) -> Any:
    z = torch.zeros(3, 4)
    return (z.t() if x[0] > 0 else torch.ones(4, 3)).is_contiguous()


def carried(x: Row) -> Any:
    """Asked before it is known that one lies otherwise."""
    z, out = torch.zeros(3, 3), []
    for _ in range(int(x.abs().sum())):
        out.append(z.is_contiguous())
        z = torch.zeros(3, 3).t()
    return out


def offset(x: Row) -> Any:
    y = x.clone()
    if x[0] > 0:
        y = y[1:]
    return y.storage_offset()


@pytest.mark.parametrize("program", [expanded, one_of_two, carried, offset])
def test_refused(program: Callable[..., Any]) -> None:
    with pytest.raises(CompileError, match="PTC-B006.*lies in memory"):
        capture_program(program, (ROWS[0],))
