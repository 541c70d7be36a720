"""Building libraries with control flow: the comparison with eager, and what it must notice."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

import ptc
from ptc.artifact import verify_control
from ptc.support.diagnostics import CompileError, InternalError
from tests.codegen.control_library import build
from tests.graph.control_building import ControlBuilder
from tests.graph.control_samples import SAMPLES


class Branch(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> Any:
        return (x * 2 if x.sum() > 0 else (x - 1).relu()) + 1


class WrongArm(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> Any:
        return (x * 3 if x.sum() > 0 else (x - 1).relu()) + 1


class Numbers(torch.nn.Module):
    """As the sample `counter_loop`; `start` makes it another one."""

    def __init__(self, start: int = 0) -> None:
        super().__init__()
        self.start = start

    def forward(self, x: torch.Tensor) -> Any:
        n = self.start
        while x.abs().max() > 1:
            x = x / 2
            n += 1
        return x * n, n


class Stateful(torch.nn.Module):
    """As the sample `state`. With `forgets` the second call begins anew."""

    total: torch.Tensor

    def __init__(self, forgets: bool = False) -> None:
        super().__init__()
        self.register_buffer("total", torch.zeros(2))
        self.steps, self.forgets = 0, forgets

    def forward(self, x: torch.Tensor) -> Any:
        self.steps = 1 if self.forgets else self.steps + 1
        if self.steps % 3 == 0:
            self.total = torch.zeros_like(x)
        else:
            self.total.add_(x)
        return self.total / self.steps, self.steps


CASES = [
    ("branch", Branch(), WrongArm(), torch.ones(2, 3)),
    ("counter_loop", Numbers(), Numbers(1), torch.tensor([9.0, -70, 3, 1])),
    ("state", Stateful(), Stateful(forgets=True), torch.tensor([1.0, 2.0])),
]


@pytest.mark.parametrize(("name", "right", "wrong", "x"), CASES, ids=[c[0] for c in CASES])
def test_a_library_is_compared_with_eager(
    name: str, right: Any, wrong: Any, x: torch.Tensor, tmp_path: Path, monkeypatch: Any
) -> None:
    program = SAMPLES[name].build()
    library = build({"forward": program}, tmp_path, monkeypatch, right, (x,), check=True)
    assert library.manifest.entries[0].control
    with pytest.raises(CompileError, match="PTC-A030"):
        build({"forward": program}, tmp_path, monkeypatch, wrong, (x,), check=True)


class OnTheEdge(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> Any:
        return x * 2 if x.sum() > 3 else x - 1


def test_where_rounding_decides_is_not_judged(tmp_path: Path, monkeypatch: Any) -> None:
    """A library that takes the other arm where eager itself stands on the edge is no error."""
    b = ControlBuilder("edge")
    x = b.tensor("x", torch.empty(3))
    then, orelse = b.branch(b.test("c", lambda x: x.sum() >= 3, x))
    with b.inside(then):
        (y,) = b.segment(lambda x: x * 2, [x], "y")
    with b.inside(orelse):
        b.segment(lambda x: x - 1, [x], "y")
    program = b.finish(y)
    example = (torch.ones(3),)
    build({"forward": program}, tmp_path, monkeypatch, OnTheEdge(), example, check=True)
    # Away from the edge it is judged.
    away = (torch.full((3,), 2.0),)
    with pytest.raises(CompileError, match="PTC-A030"):
        build({"forward": program}, tmp_path, monkeypatch, Branch(), away, check=True)


def test_a_fault_of_the_interpreter_is_told(tmp_path: Path, monkeypatch: Any) -> None:
    """Only what the model itself raises ends a run of it."""

    def run(*_: Any, **__: Any) -> Any:
        raise KeyError("n3")

    monkeypatch.setattr(verify_control, "run", run)
    program, x = SAMPLES["branch"].build(), torch.ones(2, 3)
    with pytest.raises(InternalError, match="interpreter raises KeyError.*eager nothing"):
        build({"forward": program}, tmp_path, monkeypatch, Branch(), (x,), check=True)


def test_where_a_library_cannot_follow_is_not_judged(tmp_path: Path) -> None:
    """Numbers that are complex in Python end a run by name; the inputs tried for coverage may."""

    def root(x: torch.Tensor) -> torch.Tensor:
        factor = x.sum().item() ** 0.5
        return x * 2 if x.max() > 100 else x * factor

    loaded = ptc.build(root, (torch.ones(3),), output=tmp_path).load()
    assert loaded(torch.ones(3)).tolist() == root(torch.ones(3)).tolist()
    with pytest.raises(ptc.NotSupported, match="complex"):
        loaded(-torch.ones(3))
    with pytest.raises(CompileError, match=r"PTC-A030.*NotSupported"):
        ptc.build(root, (-torch.ones(3),), output=tmp_path)


class Cache:
    """Its constructor takes what it does not keep as it is given."""

    def __init__(self, size: int) -> None:
        self.size, self.device, self.dtype = size, torch.device("cpu"), torch.float32
        self.rows: list[torch.Tensor] = []


class Caching(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> Any:
        cache = Cache(3)
        cache.rows.append(x * 2 if x.sum() > 0 else x - 1)
        return x, cache


def test_objects_in_results_are_compared_and_made_by_their_attributes(tmp_path: Path) -> None:
    model = ptc.build(Caching(), (torch.ones(3),), output=tmp_path / "libcaching.so").load()
    x = -torch.rand(3)
    _, cache = model(x)
    assert type(cache) is Cache
    assert (cache.size, cache.device, cache.dtype) == (3, torch.device("cpu"), torch.float32)
    torch.testing.assert_close(cache.rows[0], x - 1)
