"""Sorting many values of a known number by what data decides."""

from __future__ import annotations

import contextlib
import io
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import torch

import ptc
from ptc.capture.polyfills.data_lists import RUNS_DIFFER
from tests.capture.control.checking import check

_GENERATOR = torch.Generator().manual_seed(1)
ROWS = [torch.randint(0, 5, (8,), generator=_GENERATOR) / 2 for _ in range(8)]


class Item(NamedTuple):
    name: str
    score: float
    row: torch.Tensor


def named(x: torch.Tensor) -> Any:
    items = [Item(f"i{i}", value, x[i] * 2) for i, value in enumerate(x.tolist())]
    items.sort(key=lambda item: item.score, reverse=True)
    print([item.name for item in items])
    return items[0].row, [item.row for item in items[:3]]


def numbers(x: torch.Tensor) -> Any:
    return sorted(x.tolist()), sorted(x.long().tolist(), reverse=True)


def test_numbers() -> None:
    check(numbers, *ROWS)


def test_tuples_with_a_key(tmp_path: Path) -> None:
    """One branch an exchange, and no branch for each way that the printed names may be."""
    report = ptc.build(named, (ROWS[0],), output=tmp_path / "libnamed.so")
    assert report is not None
    library = ptc.load(report.library)
    for row in ROWS:
        texts, results = [], []
        for function in (named, library):
            with contextlib.redirect_stdout(io.StringIO()) as text:
                results.append(function(row))
            texts.append(text.getvalue())
        assert texts[0] == texts[1]
        (one, several), (its, others) = results
        assert torch.equal(one, its)
        assert torch.equal(torch.stack(several), torch.stack(others))


def in_pairs(x: torch.Tensor) -> Any:
    items = [(value, i * 2) for i, value in enumerate(x.tolist())]
    items.sort(key=lambda item: item[0])
    return items[0][1], items[2][0]


def backward(x: torch.Tensor) -> Any:
    return sorted(x.tolist(), reverse=True)


@pytest.mark.skipif(RUNS_DIFFER, reason="this Python looks for runs in another way")
@pytest.mark.parametrize("function", [in_pairs, backward])
def test_with_nan(function: Any) -> None:
    """As CPython's steps leave them."""
    rows = [row[:7].double() for row in ROWS[:5]]
    for number, row in enumerate(rows):
        row[[number, (3 * number) % 7]] = torch.nan
    check(function, ROWS[5][:7].double(), *rows)
