"""Dictionaries and sets with many entries in libraries, which find their keys by a table."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

import ptc


def counted(x: Tensor) -> Any:
    """Keys that are put in, changed, deleted and put in again, in the order of insertion."""
    counts: dict[int, int] = {}
    for value in x.tolist():
        counts[value] = counts.get(value, 0) + 1
    for value in x[:40].tolist():
        counts.pop(value, None)
    for value in x[:20].tolist():
        counts[value] = counts.get(value, 0) - 1
    return list(counts.items())


def names_and_pairs(x: Tensor) -> Any:
    names: dict[str, int] = {}
    pairs: set[tuple[int, float]] = set()
    for place, value in enumerate(x.tolist()):
        names[f"number {value}"] = place
        pairs.add((value % 7, value / 4))
    hits = sum((value % 7, value / 2) in pairs for value in x.tolist())
    total = sum(names[f"number {value}"] for value in x.tolist())
    return hits, total, len(names), len(pairs), f"number {len(x)}" in names


def floats(x: Tensor) -> Any:
    seen: dict[float, int] = {}
    for place, value in enumerate((x * 0.5).tolist()):
        seen[value] = place
        seen[-value] = -place
    return list(seen.items()), 1 in x.tolist() and seen.get(0.5)


@pytest.mark.parametrize("function", [counted, names_and_pairs, floats])
def test_a_library_does_what_eager_does(function: Any, tmp_path: Path) -> None:
    dynamic = {"x": {0: "n[2..5000]"}}
    output = tmp_path / "libkeys.so"
    library: Any = ptc.build(
        function, (torch.arange(8),), output=output, dynamic=dynamic, check=False
    ).load()
    generator = torch.Generator().manual_seed(3)
    for count in (3, 40, 900, 41):
        for most in (5, 60, 4000):
            x = torch.randint(-most, most, (count,), generator=generator)
            assert library(x) == function(x)


class Index(torch.nn.Module):
    """Keeps its keys from call to call."""

    def __init__(self) -> None:
        super().__init__()
        self.known: dict[int, int] = {}

    def forward(self, x: Tensor) -> Any:
        new = 0
        for value in x.tolist():
            if value not in self.known:
                self.known[value] = len(self.known)
                new += 1
        return new, [self.known[value] for value in x.tolist()]


def test_keys_that_are_kept(tmp_path: Path) -> None:
    output = tmp_path / "libkept.so"
    library: Any = ptc.build(Index(), (torch.arange(12),), output=output, check=False).load()
    eager = Index()
    generator = torch.Generator().manual_seed(4)
    for _ in range(30):
        x = torch.randint(0, 300, (12,), generator=generator)
        assert library(x) == eager(x)
