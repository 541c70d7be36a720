"""Libraries and tensors that are one tensor: inputs given twice, buffers that become one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

import ptc
from ptc.hosting.effects import NotSupported
from ptc.support.diagnostics import CompileError


def straight(x: torch.Tensor, y: torch.Tensor) -> Any:
    x.add_(1)
    return x + y


def branching(x: torch.Tensor, y: torch.Tensor) -> Any:
    if x.sum() > 0:
        x.add_(1)
    return x + y


class Best(nn.Module):
    """From a call on, two buffers may be one."""

    def __init__(self) -> None:
        super().__init__()
        self.current, self.best = nn.Buffer(torch.zeros(3)), nn.Buffer(torch.ones(3))

    def forward(self, x: torch.Tensor) -> Any:
        if x[0] > 0:
            self.best = self.current
        self.current.add_(x)
        return self.best * 1


@pytest.mark.parametrize("model", [straight, branching])
def test_a_written_input_shares_no_memory(model: Any, tmp_path: Path) -> None:
    example = torch.ones(3, 3), torch.ones(3, 3)
    built = ptc.build(model, example, output=tmp_path / "libm.so", name="m", check=False)
    loaded = built.load()
    memory = np.ones((4, 3), np.float32)
    pairs = [(memory[:3], memory[1:]), (memory[:3], memory[:3]), (memory[:3], memory[:3].T)]
    for pair in pairs:
        for x, y in (pair, map(torch.from_numpy, pair)):
            with pytest.raises(CompileError) as caught:
                loaded(x, y)
            assert caught.value.code == "PTC-R016"
    assert (memory == 1).all()
    apart = np.ones((6, 3), np.float32)
    assert (loaded(apart[:3], apart[3:]) == 3).all()
    assert (apart[:3] == 2).all()


def test_the_c_interface_refuses_it_too(tmp_path: Path) -> None:
    example = torch.ones(3), torch.ones(3)
    built = ptc.build(branching, example, output=tmp_path / "libm.so", name="m", check=False)
    entry = built.load().entry(None)
    entry._written = []  # pyright: ignore[reportPrivateUsage]
    x = np.ones(3, np.float32)
    with pytest.raises(CompileError, match="`x` and `y` share memory, and `x` is written to"):
        entry(x, x)


def test_buffers_that_become_one_end_the_call(tmp_path: Path) -> None:
    built = ptc.build(Best(), (-torch.ones(3),), output=tmp_path / "libm.so", name="m", check=False)
    loaded, model = built.load(), Best()
    for sign in (-1.0, -2.0):
        x = torch.full((3,), sign)
        assert torch.equal(loaded(x), model(x))
    with pytest.raises(NotSupported, match="`best` and `current` are one tensor"):
        loaded(torch.ones(3))
