"""`freeze=True`: weights are constants until they change."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn

import ptc
from ptc.dispatch.config import STATISTICS


class Broken(nn.Module):
    """Two graphs, the second of which writes a buffer that both read."""

    def __init__(self) -> None:
        super().__init__()
        self.lin = nn.Linear(3, 3)
        self.register_buffer("total", torch.zeros(3))

    def forward(self, x: torch.Tensor) -> Any:
        y = self.lin(x) * self.total
        self.write()
        return y + self.total, self.lin(y)

    def write(self) -> None:
        print(end="")
        self.total.add_(1)


class WrittenInPython(Broken):
    def write(self) -> None:
        self.total.add_(1).sum().item()


class WrittenBeforeTheBreak(Broken):
    def write(self) -> None:
        self.total.add_(1)
        print(end="")


class Normalised(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.lin = nn.Linear(3, 3)
        self.norm = nn.BatchNorm1d(3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.norm(self.lin(x))


def _assert_equal(model: nn.Module, twin: nn.Module) -> None:
    tensors = (*twin.parameters(), *twin.buffers())
    x = torch.randn(4, 3, dtype=tensors[0].dtype)
    with torch.no_grad():
        torch.testing.assert_close(model(x), twin(x), rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("kind", [Broken, WrittenInPython, WrittenBeforeTheBreak])
def test_buffer_written_by_another_segment(kind):
    twin = kind()
    compiled = ptc.compile(copy.deepcopy(twin), freeze=True)
    for _ in range(4):
        _assert_equal(compiled, twin)
    built = STATISTICS.graphs
    for _ in range(3):
        _assert_equal(compiled, twin)
    assert STATISTICS.graphs == built, "what keeps changing is read live"


def _load(model: nn.Module) -> None:
    state = {name: torch.full_like(value, 2) for name, value in model.state_dict().items()}
    model.load_state_dict(state)


def _assign(model: nn.Module) -> None:
    state = {name: torch.full_like(value, 3) for name, value in model.state_dict().items()}
    model.load_state_dict(state, assign=True)


def _train(model: nn.Module) -> None:
    model.train()
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    model(torch.arange(12.0).double().sin().reshape(4, 3)).pow(3).sum().backward()
    optimizer.step()
    model.eval()


def _replace(model: nn.Module) -> None:
    model.lin.weight = nn.Parameter(torch.full_like(model.lin.weight, 0.5))


def _other_memory(model: nn.Module) -> None:
    model.lin.weight.data = torch.full_like(model.lin.weight, 0.25)


@pytest.mark.parametrize("change", [_load, _assign, _train, _replace, _other_memory])
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_changes_of_weights_are_seen(change: Callable[[nn.Module], None]):
    # In double, since a few steps of training make much of a last digit
    twin = Normalised().eval().double()
    compiled = ptc.compile(copy.deepcopy(twin), freeze=True)
    _assert_equal(compiled, twin)
    for _ in range(3):
        change(twin)
        change(compiled)
        _assert_equal(compiled, twin)


class Products(nn.Module):
    """Products of weights, in memory of every kind."""

    def __init__(self) -> None:
        super().__init__()
        self.wide = nn.Parameter(torch.randn(6, 8)[:, ::2])
        self.row = nn.Parameter(torch.randn(3)[None].expand(4, 3))
        self.across = nn.Parameter(torch.randn(4, 3).t())
        self.conv = nn.Conv2d(2, 4, 3).to(memory_format=torch.channels_last)

    def forward(self, x: torch.Tensor) -> Any:
        return (
            self.wide @ self.row + x,
            self.across @ self.row,
            self.wide.clone() @ self.across.clone().t() + x,
            self.conv(x.view(1, 2, 3, 3)),
        )


@pytest.mark.parametrize("freeze", [False, True])
def test_products_of_weights(freeze):
    model = Products()
    x = torch.randn(6, 3)
    with torch.no_grad():
        got = ptc.compile(model, freeze=freeze)(x)
        torch.testing.assert_close(got, model(x), rtol=1e-5, atol=1e-5)
