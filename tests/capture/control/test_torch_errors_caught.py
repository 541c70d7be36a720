"""What torch raises for sizes that data decides, caught and told, against eager."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

from tests.capture.control.checking import check

Row = torch.Tensor
ROWS = [
    torch.tensor(row)
    for row in ([2.5, 1.5, 0.5, -0.5], [-1.5, -2.5, 0.5, 1.5], [1.5, 0.5, 2.5, 3.0])
]
CALLS: dict[str, Callable[[Row, Row, int], Any]] = {
    "add": lambda x, y, n: y + x,
    "split": lambda x, y, n: torch.split(x, [n, 3])[0],
    "view": lambda x, y, n: x.view(n, 2),
    "rest": lambda x, y, n: y.view(2, -1),
    "matmul": lambda x, y, n: torch.ones(2, len(y)) @ torch.ones(3, 2),
    "stack": lambda x, y, n: torch.stack([x, y]),
}


@pytest.mark.parametrize("call", list(CALLS))
def test_told(call: str) -> None:
    def program(x: Row) -> Any:
        try:
            return CALLS[call](x, x[x > 0], int(x[0]))
        except Exception as raised:
            return type(raised).__name__, str(raised)

    check(program, *ROWS)
