"""torch.Size in results, and its sums, repetitions and slices, against eager."""

from __future__ import annotations

import operator
from pathlib import Path
from typing import Any

import torch

from ptc.api import build
from tests.capture.control.checking import check

Row = torch.Tensor
ROWS = [torch.tensor(row) for row in ([2.5, 1.5, 0.5, -0.5], [-1.5, -2.5, -0.5, -1.5])]


def sizes(x: Row) -> Any:
    s = x[x > 0].shape
    add = operator.add
    out: list[Any] = [add(s, (1,)), add((1,), s), s * 2, 2 * s, s[:0], tuple(s), s.numel()]
    out += [s == (3,), str(s)]
    for i in range(2):
        out.append(x[:i].size() if x[i] > 0 else None)
    try:
        add(s, [1])
    except TypeError as raised:
        out.append(str(raised))
    return out, {"own": x.shape}


def test_captured() -> None:
    check(sizes, *ROWS)


def test_library(tmp_path: Path) -> None:
    """It gives sizes as such where torch is loaded."""
    library = build(sizes, (ROWS[0],), output=tmp_path / "libsizes.so").load()
    for row in ROWS:
        actual, wanted = library(row), sizes(row)
        assert actual == wanted
        assert [type(one) for one in actual[0]] == [type(one) for one in wanted[0]]
        assert type(actual[1]["own"]) is torch.Size
