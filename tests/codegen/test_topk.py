"""`topk` among equal elements: those that eager takes, in its order, on every path through it."""

from __future__ import annotations

import torch
from test_samples import Case, run_batch

from ptc.ops.protocol import T, sample

aten = torch.ops.aten
_FEW = T("i64[6,40]", low=0, high=4)
ROWS = (
    sample(_FEW, 3, exact=True),
    sample(_FEW, 1, exact=True),
    sample(_FEW, 40, exact=True),
    sample(_FEW, 7, -1, False, exact=True),
    sample(_FEW, 4, 0, True, exact=True),
    sample(_FEW, 20, -1, True, False, exact=True),  # in whatever order
    sample(T("i64[3,700]", low=0, high=9), 5, exact=True),
    sample(T("i64[300]", low=0, high=2), 30, exact=True),
    sample(T("i64[300]", low=0, high=2), 3, exact=True),
    sample(T("f32[4,60]", special=True), 12, exact=True),
    sample(T("bf16[4,60]"), 12, exact=True),
)


def test_of_equal_elements_eagers_are_taken() -> None:
    cases = [Case(f"topk {n}", aten.topk.default, row) for n, row in enumerate(ROWS)]
    run_batch(cases, dynamic=False, scheduled=True)
