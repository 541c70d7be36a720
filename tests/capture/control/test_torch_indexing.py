"""Python sequences and torch's containers of modules, indexed and sliced by what data decides."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn

from tests.capture.control.checking import check

A = torch.tensor([1.0, 2.0, -0.5, 1.0])
B = torch.tensor([0.0, 1.0, 0.75, 0.0])
C = torch.tensor([2.0, 1.0, 0.75, 0.0])
Row = torch.Tensor


class Base(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(4, 4), nn.Linear(4, 4), nn.Identity()])
        self.steps = nn.Sequential(nn.ReLU(), nn.Tanh(), nn.Linear(4, 4))
        self.scales = nn.ParameterList([nn.Parameter(torch.ones(4) * i) for i in range(3)])
        self.named = nn.ModuleDict({"e0": nn.Linear(4, 4), "e1": nn.ReLU(), "e2": nn.Tanh()})


class ByNumber(Base):
    def forward(self, x: Row) -> Any:
        n = int(x[0])
        y = self.steps[n](self.layers[n](x)) + self.scales[-n]
        return y * self.named[f"e{abs(n)}"](x)


class ByTensor(Base):
    def forward(self, x: Row) -> Any:
        try:
            return self.layers[x.argmax()](x) + self.layers[-1](x)
        except IndexError as error:
            print(error)
            return x


class ByName(Base):
    def forward(self, x: Row) -> Any:
        for n in x.tolist()[:2]:
            x = self.named[["e0", "e1", "e2"][int(n)]](x)
        return x


class Lists(Base):
    def forward(self, x: Row) -> Any:
        n = int(x[0])
        a, b = [1, 2, 3], [[0] * 3 for _ in range(3)]
        a[n] = 7
        b[n][1] += 1
        b[n][n] += 2
        c = [4, 5, 6]
        del c[n - 1]
        functions = [torch.relu, torch.tanh, lambda v: v * 2]
        return functions[n](x), a, b, c, (4, 5, 6)[-n], "abc"[n] == "b"


@pytest.mark.parametrize("model", [ByNumber, ByTensor, ByName, Lists])
def test_containers(model: Any) -> None:
    torch.manual_seed(0)
    check(model().eval(), A, B, C)


def test_no_such_module() -> None:
    torch.manual_seed(0)
    check(ByTensor().eval(), A, torch.tensor([0.0, 0, 0, 1]))
    check(ByNumber().eval(), A, torch.tensor([3.0, 0, 0, 1]), torch.tensor([-4.0, 0, 0, 1]))


def slices(x: Row) -> Any:
    n, row = int(x[0]), [1, 2, 3]
    total = 0
    for i, value in enumerate(row[:n]):
        total += value * (i + 1)
    return total, len(row[n:]), sum((1, 2, 3)[-n:]), "abc"[n:] == "bc"


def test_slices() -> None:
    check(slices, A, B, C, A * 5, -A)


def swapped(x: Row) -> Any:
    first, last = int(x[0].argmax()), int(x[1].argmax())
    y = x.clone()
    if first != last:
        y[[first, last]] = y[[last, first]]
    return y, x[:, [first, 0]], x[[first, -1, last]], x[[first], [last]]


def masked(x: Row) -> Any:
    mask = [bool(v > 0) for v in x[0]]
    y = x.clone()
    y[:, mask] = 7.0
    return x[:, mask], y


@pytest.mark.parametrize("program", [swapped, masked])
def test_lists_of_numbers_as_an_index(program: Any) -> None:
    torch.manual_seed(0)
    check(program, *[torch.randn(4, 4) for _ in range(4)])


def stepped(x: Row) -> Any:
    step, start = int(x[0, 0].abs()) + 1, int(x[1, 1])
    y, z = x.clone(), x.clone()
    y[start::step] = 7.0
    z[:, :3:step] = z[0, 0]
    z[..., 1::step] += 1
    return y, z, x[::step]


def test_slices_with_a_step_that_data_decides() -> None:
    torch.manual_seed(0)
    check(stepped, *[torch.randn(4, 4) * 3 for _ in range(5)])
