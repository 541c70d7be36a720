"""Gradients of calls that are compiled with their control flow, against eager's."""

from __future__ import annotations

import copy
import io
import warnings
from collections.abc import Callable
from contextlib import redirect_stdout
from typing import Any

import pytest
import torch
from torch import nn

import ptc
from ptc.dispatch.notices import CompileNotice

Tensor = torch.Tensor


class Stepped(nn.Module):
    """Base of the models: two layers."""

    seen: Tensor

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(3)
        self.first = nn.Linear(3, 3)
        self.second = nn.Linear(3, 3)
        self.register_buffer("seen", torch.zeros(3))
        self.steps = 0


class Branch(Stepped):
    def forward(self, x: Tensor) -> Any:
        y = self.first(x)
        if y.sum() > 0:
            y = torch.relu(y) * 2
        else:
            y = self.second(y)
        return y, y.detach(), (y > 0).sum(), int(y.sum() > 0)


class Loop(Stepped):
    def forward(self, x: Tensor) -> Any:
        h = x
        self.steps += 1
        while h.norm() < 20:
            h = torch.tanh(self.first(h)) + h * 2 + self.steps
        parts = []
        for _ in range(int(h[0, 0].abs()) % 3 + 1):
            h = self.second(h) * 0.5
            parts.append(h)
        return parts, torch.stack(parts).sum(0)


class Unrecorded(Stepped):
    def forward(self, x: Tensor) -> Any:
        scale = self.first(x)
        with torch.no_grad():
            scale = scale.sum()
        y = self.second(x)
        if scale > 0:
            y = y * scale
        return y, scale


class Counting(Stepped):
    """Writes to a buffer what has no gradient."""

    def forward(self, x: Tensor) -> Any:
        y = self.first(x)
        if y.sum() > self.seen.sum():
            y = self.second(y) * (self.seen + 1)
        self.seen += y.detach().sum(0)
        return y


class Writing(Stepped):
    """Writes to a buffer what has one."""

    def forward(self, x: Tensor) -> Any:
        y = self.first(x)
        total = self.seen + y.sum(0)
        if y.sum() > 0:
            y = y * 2
        self.seen = total
        return y * total


class Printing(Stepped):
    def forward(self, x: Tensor) -> Any:
        y = self.first(x)
        if y.sum() > 0:
            y = self.second(y)
        print(y)
        return y


class Enabling(Stepped):
    def forward(self, x: Tensor) -> Any:
        torch.set_grad_enabled(True)
        y = self.first(x)
        if y.sum() > 0:
            y = y * 3
        torch.set_grad_enabled(False)
        return y


class Straight(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        return x.round()

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Tensor:  # type: ignore[override]
        return gradient * 5


class OwnBackward(Stepped):
    def forward(self, x: Tensor) -> Any:
        y = self.first(x)
        if y.sum() > 0:
            y = y * 2
        return Straight.apply(y)


MODELS = (
    Branch, Loop, Unrecorded, Counting, Writing, Printing, Enabling, OwnBackward,
)  # fmt: skip
#: Those of which the library runs.
NATIVE = (Branch, Loop, Unrecorded, Counting, Enabling)


def inputs() -> list[Tensor]:
    generator = torch.Generator().manual_seed(0)
    signs = (1, -1, 3)
    return [torch.randn(2, 3, generator=generator) * s for s in signs]


def tensors(result: Any) -> list[Any]:
    if isinstance(result, (tuple, list)):
        return [leaf for part in result for leaf in tensors(part)]
    return [result]


def observed(model: Any, run: Callable[[Tensor], Any], x: Tensor) -> list[Any]:
    """Results, whether they require gradients, all gradients, what was written and printed."""
    x = x.clone().requires_grad_()
    model.zero_grad()
    with redirect_stdout(io.StringIO()) as text:
        leaves = tensors(run(x))
    wanted = [t for t in leaves if isinstance(t, Tensor) and t.requires_grad]
    with torch.enable_grad():
        torch.stack([(t * t.detach().cos()).sum() for t in wanted]).sum().backward()
    flags = [t.requires_grad if isinstance(t, Tensor) else t for t in leaves]
    gradients = [x.grad, *(p.grad for p in model.parameters())]
    model.seen = model.seen.detach()
    return [*leaves, flags, *gradients, model.seen.clone(), model.steps, text.getvalue()]


@pytest.mark.parametrize("backend", ["native", "eager"])
@pytest.mark.parametrize("kind", MODELS)
def test_gradients_are_eagers(kind: Any, backend: str) -> None:
    model = kind()
    twin = copy.deepcopy(model)
    fast = ptc.compile(twin, control_flow=True, backend=backend)
    ptc.reset()
    with warnings.catch_warnings(), torch.set_grad_enabled(kind is not Enabling):
        warnings.simplefilter("ignore", CompileNotice)
        for x in inputs():
            expected, actual = observed(model, model, x), observed(twin, fast, x)
            for one, other in zip(actual, expected, strict=True):
                if isinstance(other, Tensor):
                    torch.testing.assert_close(one, other)
                else:
                    assert one == other


@pytest.mark.parametrize("kind", NATIVE)
def test_it_is_told_once_and_the_library_runs(kind: Any) -> None:
    model = kind()
    fast = ptc.compile(model, control_flow=True)
    ptc.reset()
    with (
        torch.set_grad_enabled(kind is not Enabling),
        warnings.catch_warnings(record=True) as caught,
    ):
        warnings.simplefilter("always")
        for x in inputs():
            fast(x)
    told = [str(w.message) for w in caught if w.category is CompileNotice]
    assert len(told) == 1 and "PTC-D020" in told[0]


@pytest.mark.parametrize("kind", [Writing, Printing])
def test_what_gradients_leave_outside_runs_in_eager(kind: Any) -> None:
    fast = ptc.compile(kind(), control_flow=True)
    ptc.reset()
    with pytest.warns(CompileNotice, match="PTC-D023"), redirect_stdout(io.StringIO()):
        fast(inputs()[0])


def test_an_input_that_is_returned_is_the_input() -> None:
    layer = nn.Linear(3, 3)

    def either(x: Tensor) -> Any:
        y = layer(x)
        if y.sum() > 0:
            y = y * 2
        return x, y

    x = torch.ones(3, requires_grad=True)
    result = ptc.compile(either, control_flow=True)(x)
    assert result[0] is x and result[1].requires_grad
