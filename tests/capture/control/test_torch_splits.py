"""Sizes that torch treats apart are taken apart once, around the whole program."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

import ptc
from ptc.artifact.entry_capture import capture_entry
from ptc.graph.control import ControlProgram, If, walk
from ptc.loader.model import DynamicDim, EntryRequest


def control(function: Any, args: tuple[Any, ...], dims: dict[str, Any]) -> ControlProgram:
    program = capture_entry(EntryRequest("model", function, args, {}, dynamic=dims))
    assert isinstance(program, ControlProgram)
    return program


def branches(program: ControlProgram) -> list[str]:
    return [item.construct for item in walk(program.body) if isinstance(item, If)]


def broadcast(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    total = x + y
    for _ in range(4):
        total = total.expand(y.shape[0], -1) * 0.5 + x.squeeze(0).sum(0, keepdim=True)
    return total


def test_questions_about_one_size_are_one_branch() -> None:
    dim = DynamicDim("n", 1, 8)
    program = control(
        broadcast, (torch.randn(3, 4), torch.randn(3, 4)), {"x": {0: dim}, "y": {0: dim}}
    )
    assert branches(program) == ["sizes"]


@pytest.mark.parametrize("sizes", [("n[1..8]",), ("n[0..8]",), ("n[1..8]", "m[1..5]")])
def test_a_library_is_right_at_every_size(tmp_path: Path, sizes: tuple[str, ...]) -> None:
    class Tied(nn.Module):
        """Its one weight has two names, the second of which only one arm reads."""

        def __init__(self) -> None:
            super().__init__()
            self.first = nn.Linear(4, 4)
            self.second = nn.Linear(4, 4)
            self.second.weight = self.first.weight

        def forward(self, x: torch.Tensor, y: torch.Tensor) -> dict[str, torch.Tensor]:
            outer = x.unsqueeze(1) + y.unsqueeze(0)
            flat = outer.squeeze(0)
            if y.shape[0] == 1:
                return {"out": self.second(flat), "sum": x.sum(0) + y}
            return {"out": self.first(outer), "sum": x.sum(0) + y}

    model = Tied()
    dims = dict(zip(("x", "y"), ({0: size} for size in sizes), strict=False))
    rows = [3, 2]
    built = ptc.build(
        model, tuple(torch.randn(n, 4) for n in rows), output=tmp_path / "m.so", dynamic=dims
    )
    assert not [note for note in built.report.notes if "no input reached" in note]
    loaded = built.load()
    with torch.no_grad():
        for n in range(0 if "0" in sizes[0] else 1, 9):
            for m in range(1, 6) if len(sizes) == 2 else (2,):
                x, y = torch.randn(n, 4), torch.randn(m, 4)
                wanted = model(x, y)
                found = loaded(x, y)
                assert found.keys() == wanted.keys()
                for name, value in wanted.items():
                    torch.testing.assert_close(found[name], value)
