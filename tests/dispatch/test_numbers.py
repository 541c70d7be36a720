"""Ints that change from call to call are inputs of what is compiled, also with control flow."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from torch import nn

import ptc
from ptc.dispatch.config import STATISTICS

Tensor = torch.Tensor


@pytest.fixture(autouse=True)
def no_gradients() -> Iterator[None]:
    with torch.no_grad():
        yield


def halved(x: Tensor, n: int) -> Any:
    total = 0
    while x.sum() > 10:
        x = x / 2
        total += n
    if n < 0:
        x = -x
    return x[:, :2] * n, total, n, torch.arange(5) + n


def repeated(x: Tensor, n: int) -> Any:
    y = x
    for i in range(n):
        y = y * 1.5 if y.sum() > 0 else y - i
    return y, y.reshape(-1)[:n], x[:: abs(n) + 1]


class Rolled(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.shift = 1

    def forward(self, x: Tensor, n: int) -> Any:
        self.shift = self.shift + n
        return x.roll(n, 0) if x.sum() > 0 else x - self.shift


@pytest.mark.parametrize("backend", ["native", "eager"])
@pytest.mark.parametrize("make", [lambda: halved, lambda: repeated, Rolled])
def test_ints_of_programs_with_control_flow(make: Callable[[], Any], backend: str) -> None:
    function, twin = make(), make()
    compiled = ptc.compile(twin, control_flow=True, backend=backend)
    ptc.reset()
    for n in (1, 2, 3, 7, 0, -3, 5):
        x = torch.arange(12.0).reshape(3, 4) - n
        same(compiled(x.clone(), n), function(x.clone(), n))
    assert STATISTICS.recompiles <= 1 and not STATISTICS.breaks


def same(actual: Any, expected: Any) -> None:
    assert type(actual) is type(expected)
    if isinstance(expected, tuple):
        for one, other in zip(actual, expected, strict=True):
            same(one, other)
    elif isinstance(expected, Tensor):
        torch.testing.assert_close(actual, expected)
    else:
        assert actual == expected


def every(x: Tensor, n: int) -> Any:
    return x[:, 1 :: n + 1] * 2, x[::n].sum()


def written(x: Tensor, n: int) -> Any:
    y = x.clone()
    y[::n] = 7
    y[1:, n::n] += 3
    return y


def ranges(x: Tensor, n: int) -> Any:
    return torch.arange(0, 20, n), torch.arange(x.shape[0] * 4, 0, -n)


@pytest.mark.parametrize("function", [every, written, ranges])
def test_steps(function: Callable[..., Any]) -> None:
    compiled = ptc.compile(function)
    ptc.reset()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for n in (3, 2, 1, 4, 5, 20):
            x = torch.arange(60.0).reshape(10, 6)
            same(compiled(x, n), function(x, n))
    assert not STATISTICS.fallbacks
