"""Lists in lists in libraries: what they are, and that references to them are counted."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

import ptc
from ptc.codegen import toolchain
from ptc.codegen.sources import Sources
from tests.codegen.harness import poisoned


def shared(n: Tensor) -> tuple[list[list[int]], list[tuple[list[int], float]], str, int]:
    """Lists that are put in, taken out, overwritten, copied, dropped and printed, three deep."""
    count = int(n)
    groups: list[list[int]] = [[] for _ in range(count)]
    beams = [([0], 0.5)]
    deep: list[list[list[str]]] = []
    for i in range(count * 2):
        groups[i % count].append(i)
        beams.append((beams[-1][0] + [i], i * 0.25))
        deep.append([[f"w{j}" for j in range(k)] for k in range(i % 3)])
    if groups:
        groups[0] = groups[-1]
        groups.extend(groups[:1])
        groups.reverse()
        groups.pop().append(7)
    best = sorted(beams, key=lambda b: -b[1])[:2]
    deep.insert(0, deep[-1] if deep else [])
    same = sum(1 for group in groups if group is groups[0])
    return groups, best, f"{deep}", same


def pooled(x: Tensor) -> tuple[list[list[Tensor]], Tensor]:
    groups: list[list[Tensor]] = [[]]
    for row in x:
        if row.sum() < 0:
            groups.append([])
        groups[-1].append(row * 2)
    total = torch.zeros(x.shape[1])
    for group in groups:
        if group:
            total = total + torch.stack(group).mean(0)
    return groups, total


_CASES: list[tuple[Callable[..., Any], tuple[Tensor, ...]]] = [
    (shared, tuple(torch.tensor(n) for n in (3, 1, 5, 0))),
    (pooled, tuple(torch.arange(8.0).reshape(4, 2) - k for k in (3, 0, 9))),
]


@pytest.mark.parametrize(("function", "inputs"), _CASES)
def test_a_library_does_what_eager_does(
    function: Callable[..., Any],
    inputs: tuple[Tensor, ...],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    library = _built(function, inputs, tmp_path, monkeypatch)
    for given in (*inputs, *reversed(inputs)):
        _assert_same(library(given), function(given))


def test_lists_are_given_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    function, inputs = _CASES[0]
    library = _built(function, inputs, tmp_path, monkeypatch)
    given = torch.tensor(40)
    for _ in range(50):
        library(given)
    before = _resident()
    for _ in range(600):
        library(given)
    assert _resident() - before < 4 << 20  # of 600 calls with thousands of lists each


def _built(
    function: Callable[..., Any],
    inputs: tuple[Tensor, ...],
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Any:
    plain = toolchain.build

    def build_poisoned(sources: Sources, *args: Any, **kwargs: Any) -> Any:
        return plain(poisoned(sources), *args, **kwargs)

    monkeypatch.setattr(toolchain, "build", build_poisoned)
    return ptc.build(function, (inputs[0],), output=folder / "libnested.so", check=False).load()


def _resident() -> int:
    """Bytes of memory that this process has."""
    status = Path("/proc/self/status").read_text()
    line = next(line for line in status.splitlines() if line.startswith("VmRSS"))
    return int(line.split()[1]) << 10


def _assert_same(actual: Any, expected: Any) -> None:
    if isinstance(expected, Tensor):
        torch.testing.assert_close(actual, expected)
    elif isinstance(expected, (list, tuple)):
        assert type(actual) is type(expected)
        assert len(actual) == len(expected)
        for one, other in zip(actual, expected, strict=True):
            _assert_same(one, other)
    else:
        assert actual == expected
