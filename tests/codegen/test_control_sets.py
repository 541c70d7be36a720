"""The order of sets in libraries."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

import ptc


def changed(x: Tensor) -> Any:
    """Elements that are put in and taken out, with tables that grow and are left behind."""
    s = {1, 9, 17}
    out = []
    for value in x.tolist():
        if value % 3 == 0:
            s.discard(value // 3)
        elif value % 7 == 0 and s:
            out.append(s.pop())
        else:
            s.add(value)
        if len(s) == 100:
            s.clear()
    return list(s), out


def combined(x: Tensor) -> Any:
    numbers = x.tolist()
    a = {value for place, value in enumerate(numbers) if place % 2}
    b = {value * 8 for value in numbers if value % 3}
    c = a.copy()
    c |= b
    c -= {0, 8, 64}
    c ^= a
    a &= b
    return list(a), list(c), list(a | c), list(b - a), list(b.symmetric_difference(numbers))


def pairs(x: Tensor) -> Any:
    total = 0
    for a, (b, c) in {(v % 9, (v / 4, v > 5)) for v in x.tolist()}:
        total = (total * 31 + a * 7 + int(b) + c) % 1000003
    return total


@pytest.mark.parametrize("function", [changed, combined, pairs])
def test_a_library_does_what_eager_does(function: Any, tmp_path: Path) -> None:
    dynamic = {"x": {0: "n[2..5000]"}}
    library: Any = ptc.build(
        function, (torch.arange(8),), output=tmp_path / "libsets.so", dynamic=dynamic, check=False
    ).load()
    generator = torch.Generator().manual_seed(5)
    for count in (3, 40, 900, 41, 7):
        for most in (5, 60, 4000, 2**40):
            x = torch.randint(-most, most, (count,), generator=generator)
            assert library(x) == function(x)
