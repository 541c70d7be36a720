"""Tuples whose length data decides, against eager on every path."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from tests.capture.control.checking import check
from tests.zoo.case import Case
from tests.zoo.harness import compare, eager, library

Row = torch.Tensor
ROWS = [torch.tensor(r) for r in ([1.0, -2, 3], [-1.0, -2, -3], [2.0, 3, 2], [0.0, 5, 0])]


def made(x: Row) -> Any:
    values = [v for v in x.tolist() if v > 0]
    kept = tuple(values)
    values.append(7.0)
    total = 0.0
    for v in kept:
        total = total * 2 + v
    return kept, len(kept), total, tuple(i for i, v in enumerate(x.tolist()) if v < 0)


def read(x: Row) -> Any:
    kept = tuple(v for v in x.tolist() if v != 0)
    if not kept:
        return kept, None
    first, *rest = kept
    parts = kept[1:], kept[-1], kept[::-1], kept + (first,), (1.5,) + kept  # noqa: RUF005
    known = 3 in kept, kept.count(2), kept == (1.0, -2.0, 3.0), kept != tuple(rest)
    return parts, known, list(kept), sorted(kept), sum(kept), max(kept), list(reversed(kept))


def told(x: Row) -> Any:
    kept = tuple(v for v in x.tolist() if v > 0)
    print(
        kept,
        f"{kept}",
        repr(tuple(map(str, kept))),
        tuple(zip(kept, range(9), strict=False))[:1] == (),
    )
    return torch.tensor(kept)


def grown(x: Row) -> Any:
    """Tuples of another length after each iteration, and in each arm."""
    values = [v for v in x.tolist() if v > 0]
    grown: Any = ()
    for v in values:
        grown = grown + (v,)  # noqa: RUF005
    i, other = 0, grown
    while i < 3 and x[i] != 3:
        other = (*other, x[i].item()) if x[i] > 0 else other
        i += 1
    best: Any = (1.0,)
    if x[0] > 1:
        best = grown[:2]
    elif x[1] < 0:
        best = ()
    return grown, other, best, i


def pairs(x: Row) -> Any:
    """A tuple that has its length after the first iteration."""
    previous: Any = ()
    sums: list[float] = []
    for v in [v for v in x.tolist() if v > 0]:
        if previous:
            a, b = previous
            sums.append(a + b)
        previous = (v, v * 2)
    return sums


def failing(x: Row) -> Any:
    kept: Any = tuple(v for v in x.tolist() if v > 0)
    failed: list[str] = []
    for call in (
        lambda: kept[1], lambda: kept.index(3.0), lambda: kept.append(1.0), lambda: kept.pop(),
    ):  # fmt: skip
        try:
            failed.append(str(call()))
        except (IndexError, ValueError, AttributeError) as error:
            failed.append(str(error))
    try:
        kept[0] = 1.0
    except TypeError as error:
        failed.append(str(error))
    return failed


@pytest.mark.parametrize("program", [made, read, told, grown, pairs, failing])
def test_tuples(program: Any) -> None:
    check(program, *ROWS)


def test_a_library_returns_tuples(tmp_path: Path) -> None:
    case = Case("made", lambda: made, tuple((row,) for row in ROWS))
    compare(eager(case), library(case, tmp_path))
