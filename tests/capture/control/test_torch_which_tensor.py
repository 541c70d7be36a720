"""Which of several tensors one is where data decides it, and what hangs on that, against eager."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor

from tests.capture.control.checking import check

ROWS = [
    torch.tensor(row)
    for row in (
        [2.5, 1.5, 0.5, -0.5], [-1.5, -2.5, 0.5, 1.5], [-0.5, -0.5, -0.5, -0.5],
        [1.5, 0.5, 2.5, -3.0],
    )
]  # fmt: skip


def a_view_itself_or_a_copy(x: Tensor) -> Any:
    y = x.clone()
    if x[0] > 0:
        part = y[1:]
    elif x[0] > -1:
        part = y
    else:
        part = y.clone()
    y.add_(1)
    part.mul_(2)
    return y, part


def a_view_itself_or_a_copy_in_a_list(x: Tensor) -> Any:
    y, parts = x.clone(), []
    for i in range(3):
        if x[i] > 0:
            parts.append(y[i:])
        elif x[i] > -1:
            parts.append(y)
        else:
            parts.append(y.clone())
        y.add_(1)
    for part in parts:
        part.mul_(2)
    return y, parts


@pytest.mark.parametrize("program", [a_view_itself_or_a_copy, a_view_itself_or_a_copy_in_a_list])
def test_a_write_reaches_what_one_of_several_arms_gave(program: Any) -> None:
    check(program, *ROWS)
