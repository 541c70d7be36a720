"""Operands that come to kernels in pieces: longer than one, broadcast, of any strides and of
several types at once. The sample table's tensors are short."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from ptc.ops.protocol import Sample, T, sample
from tests.executor.rows import Row, verdict

aten = torch.ops.aten

_PAIRS = (
    sample(T("f32[1000]"), T("f32[1000]", layout="strided")),
    sample(T("f32[37,53]", layout="transposed"), T("f32[53]")),
    sample(T("f32[37,53]"), T("f32[37,1]", layout="expanded")),
    sample(T("f32[700,3]"), T("f32[3]")),
    sample(T("bf16[700,3]"), T("f32[1,3]")),
    sample(T("f32[4,6,9,11]", layout="channels_last"), T("f32[6,1,1]")),
    sample(T("f32[4,6,9,11]", layout="channels_last"), T("f32[4,6,9,11]", layout="channels_last")),
    sample(T("i32[2,1030]", low=1, high=9), T("f16[2,1]")),
    sample(T("u8[2,1030]", low=1, high=9), T("i64[1030]", low=1, high=9)),
    sample(T("f64[2,3,1,700]"), T("f64[3,5,1]")),
    sample(T("f32[1,1]"), T("f32[]")),
)
_LINES = (
    (T("f32[5,7,40]"), 1),
    (T("f32[5,7,40]", layout="strided"), 2),
    (T("f32[40,30]", layout="transposed"), 0),
    (T("f32[2,6,9,11]", layout="channels_last"), 1),
    (T("bf16[5,7,40]"), 0),
    (T("i64[5,600]"), 1),
    (T("f64[600]", layout="strided"), 0),
)


def _rows() -> list[Row]:
    made: list[tuple[object, Sample]] = []
    for op in (aten.add.Tensor, aten.mul.Tensor, aten.div.Tensor, aten.maximum.default):
        made += [(op, row) for row in _PAIRS]
    for x, dim in _LINES:
        made += [
            (op, sample(x, [dim], tolerance=2.0))
            for op in (aten.sum.dim_IntList, aten.amax.default)
        ]
        made.append((aten.cumsum.default, sample(x, dim, tolerance=2.0)))
        made.append((aten.sort.stable, sample(x, stable=True, dim=dim, exact=True)))
        made += [(aten.max.dim, sample(x, dim)), (aten.argmin.default, sample(x, dim))]
        if x.spec[0] in "fb":
            made.append((aten._softmax.default, sample(x, dim, False, tolerance=2.0)))
    return [Row(f"{op}-{n}", op, row) for n, (op, row) in enumerate(made)]  # type: ignore[arg-type]


@pytest.mark.parametrize("row", _rows(), ids=lambda row: row.label)
def test_layout(row: Row, tmp_path: Path) -> None:
    assert verdict(row, tmp_path / "row.ptir") is None
