"""Capture in a process in which torch.compile has been used: it changes nn.Module."""

from __future__ import annotations

import sys
from typing import Any

import torch
from torch import nn
from torch._dynamo import mutation_guard

import ptc
from ptc.dispatch.proxy import compiler_of


class Sliced(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(3, 3) for _ in range(3)])

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for layer in self.layers[:2]:
            x = layer(x)
        return x


def test_modules_made_in_forward_take_no_break(monkeypatch: Any) -> None:
    monkeypatch.setattr(nn.Module, "__init__", nn.Module.__init__)
    monkeypatch.setattr(nn.Module, "__setstate__", nn.Module.__setstate__)
    monkeypatch.setattr(nn.Module, "___needs_generation_tag_patch", True, raising=False)
    mutation_guard.install_generation_tagging_init()
    assert "torch._dynamo.mutation_guard" in sys.modules
    breaks: list[Any] = []
    for model in (Sliced(), Sliced()):
        x = torch.randn(2, 3)
        compiled = ptc.compile(model, backend="eager")
        compiler_of(compiled).observer = lambda _, frame: breaks.extend(frame.breaks)
        with torch.no_grad():
            torch.testing.assert_close(compiled(x), model(x))
    assert breaks == []
