"""Function transforms and gradients inside of a program: values against eager, in float64."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn
from torch.func import (
    functional_call,
    grad,
    grad_and_value,
    hessian,
    jacfwd,
    jacrev,
    jvp,
    stack_module_state,
    vjp,
    vmap,
)

import ptc
from ptc.graph import transforms
from ptc.support.diagnostics import CompileError

torch.manual_seed(0)
NET = nn.Sequential(nn.Linear(3, 5), nn.Softplus(), nn.Linear(5, 1)).double()
NORMED = nn.Sequential(nn.Linear(3, 5), nn.LayerNorm(5), nn.GELU(), nn.Linear(5, 1)).double()
MEMBERS = [nn.Sequential(nn.Linear(3, 2), nn.Tanh()).double() for _ in range(3)]
#: A second size makes it symbolic, for which transforms of torch 2.11 and 2.12 have no matmul.
_OLD = tuple(int(part) for part in torch.__version__.split(".")[:2]) < (2, 13)
SIZES = (4,) if _OLD else (4, 2)
Fn = Callable[[torch.Tensor], Any]


def energy(x: torch.Tensor) -> torch.Tensor:
    return NET(x).square().sum()


def by_row(x: torch.Tensor) -> Any:
    return vmap(lambda a, b: (a * b, {"k": b.sum()}), in_dims=(0, None), out_dims=(1, 0))(x, x[0])


def in_place(x: torch.Tensor) -> Any:
    def row(a: torch.Tensor) -> torch.Tensor:
        made = torch.zeros_like(a)
        made[0] = 1.0
        made += a
        return made

    return vmap(row)(x)


def by_parameters(x: torch.Tensor) -> Any:
    def loss(p: Any, a: torch.Tensor) -> torch.Tensor:
        return functional_call(NET, p, (a,)).sum()

    p = {name: value.detach() for name, value in NET.named_parameters()}
    return vmap(grad(loss), in_dims=(None, 0))(p, x), vmap(grad(lambda a: NORMED(a).sum()))(x)


def ensemble(x: torch.Tensor) -> Any:
    params, buffers = stack_module_state(MEMBERS)  # type: ignore[arg-type]
    return vmap(lambda p, b: functional_call(MEMBERS[0], (p, b), (x,)))(params, buffers).detach()


def with_aux(x: torch.Tensor) -> Any:
    return grad_and_value(lambda a: (energy(a), a * 2), has_aux=True)(x)


def pulled_back(x: torch.Tensor) -> Any:
    pair: Any = vjp(NET, x)
    value, pull = pair
    return value, pull(torch.ones_like(value))


@pytest.mark.parametrize(
    "fn",
    [
        by_row, in_place, by_parameters, ensemble, with_aux, pulled_back,
        grad(energy), jacrev(NET), jacfwd(NET), vmap(grad(energy)), vmap(hessian(energy)),
        lambda x: jvp(NET, (x,), (2 * x,)),
        lambda x: jacrev(grad(lambda a, b: (a * b).sum().sin(), argnums=1), argnums=0)(x, x + 1),
        lambda x: vmap(vmap(lambda a: a.exp() + 1))(x),
        lambda x: grad(lambda a: grad(lambda b: (a * b).prod())(a).sum())(x[0]),
    ],
)  # fmt: skip
def test_transforms(fn: Fn) -> None:
    compiled = ptc.compile(lambda x: fn(x), backend="aten", fullgraph=True)
    with torch.no_grad():
        for size in SIZES:
            x = torch.randn(size, 3, dtype=torch.float64)
            torch.testing.assert_close(compiled(x), fn(x))
    assert transforms.depth() == 0


def adapted(x: torch.Tensor) -> Any:
    with torch.enable_grad():
        y = x.detach().requires_grad_(True)
        for _ in range(2):
            (g,) = torch.autograd.grad(energy(y), [y])
            y = (y - 0.1 * g).detach().requires_grad_(True)
    return y.detach()


def by_weights(x: torch.Tensor) -> Any:
    with torch.enable_grad():
        loss = energy(x) + NORMED(x).square().mean()
        return torch.autograd.grad(loss, [*NET.parameters(), *NORMED.parameters()])


def detached_parts(x: torch.Tensor) -> Any:
    with torch.enable_grad():
        y = x.detach().requires_grad_(True)
        with torch.no_grad():
            scale = y.exp()
        loss = (y * scale).sum() + (y.detach() * y).sum() + y.square().sum()
        return torch.autograd.grad(loss, y)


def second_order(x: torch.Tensor) -> Any:
    with torch.enable_grad():
        y = x.detach().requires_grad_(True)
        u = NET(y)
        (du,) = torch.autograd.grad(u, y, torch.ones_like(u), create_graph=True)
        (d2,) = torch.autograd.grad(du[:, 0].sum(), y, retain_graph=True)
        penalty = (du.norm(dim=-1) - 1).square().mean()
        weights: Any = [NET[0].weight, x.detach().requires_grad_()]
        by = torch.autograd.grad(penalty, weights, allow_unused=True)
    return du.detach(), d2, by


@pytest.mark.parametrize("fn", [adapted, by_weights, detached_parts, second_order])
def test_gradients(fn: Fn) -> None:
    compiled = ptc.compile(lambda x: fn(x), backend="aten", fullgraph=True)
    with torch.no_grad():
        for _ in range(2):
            x = torch.randn(4, 3, dtype=torch.float64)
            torch.testing.assert_close(compiled(x), fn(x))


def test_steps_change_the_parameters() -> None:
    def step(model: nn.Module, x: torch.Tensor) -> torch.Tensor:
        with torch.enable_grad():
            params = list(model.parameters())
            grads = torch.autograd.grad(model(x).square().mean(), params)
            with torch.no_grad():
                for p, g in zip(params, grads, strict=True):
                    p -= 0.1 * g
        return model(x).detach()

    one, two = (nn.Linear(3, 2).double() for _ in range(2))
    two.load_state_dict(one.state_dict())
    compiled = ptc.compile(step, backend="aten", fullgraph=True)
    for _ in range(3):
        x = torch.randn(4, 3, dtype=torch.float64)
        torch.testing.assert_close(compiled(one, x), step(two, x))
    torch.testing.assert_close(one.weight, two.weight)


def test_training_through_a_gradient() -> None:
    def penalty(model: nn.Module, x: torch.Tensor) -> torch.Tensor:
        y = x.detach().requires_grad_(True)
        (g,) = torch.autograd.grad(model(y).square().sum(), y, create_graph=True)
        return (g.norm(dim=-1) - 1).square().mean()

    one, two = (nn.Linear(3, 2).double() for _ in range(2))
    two.load_state_dict(one.state_dict())
    x = torch.randn(4, 3, dtype=torch.float64)
    ptc.compile(penalty, fullgraph=True)(one, x).backward()
    penalty(two, x).backward()
    torch.testing.assert_close(one.weight.grad, two.weight.grad)


class Scaled(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:  # type: ignore[override]
        return x * 2

    @staticmethod
    def backward(ctx: Any, g: torch.Tensor) -> torch.Tensor:  # type: ignore[override]
        return g * 5


def own_backward(x: torch.Tensor) -> Any:
    with torch.enable_grad():
        y = x.detach().requires_grad_(True)
        return torch.autograd.grad(Scaled.apply(y).sum() + y.sum(), y)


def batched(x: torch.Tensor) -> Any:
    with torch.enable_grad():
        y = x.detach().requires_grad_(True)
        return torch.autograd.grad(y * y, y, torch.eye(3)[:, None], is_grads_batched=True)


def data_inside(x: torch.Tensor) -> Any:
    return grad(lambda a: a.sum() if a.sum() > 0 else a.prod())(x)


def before_a_branch(x: torch.Tensor) -> Any:
    with torch.enable_grad():
        loss = energy(x)
        if loss > 100.0:
            loss = loss * 2
        return torch.autograd.grad(loss, list(NET.parameters()))


@pytest.mark.parametrize(
    ("fn", "code"),
    [(own_backward, "B016"), (batched, "B016"), (data_inside, "B004"), (before_a_branch, "B016")],
)
def test_what_is_refused(fn: Fn, code: str, tmp_path: Any) -> None:
    x = torch.randn(4, 3, dtype=torch.float64)
    with pytest.raises(CompileError, match=code):
        ptc.build(fn, (x,), output=tmp_path / "lib.so")
    assert transforms.depth() == 0


def steps_until(x: torch.Tensor) -> Any:
    with torch.enable_grad():
        y = x.detach().requires_grad_(True)
        loss = energy(y)
        for _ in range(3):
            loss = energy(y)
            (g,) = torch.autograd.grad(loss, [y])
            if g.norm() < 0.5:
                break
            y = (y - 0.1 * g).detach().requires_grad_(True)
    return y.detach(), loss.item()


def in_an_arm(x: torch.Tensor) -> Any:
    return vmap(lambda a: a.dot(a))(x) if x.sum() > 0 else vmap(grad(energy))(x).sum(1)


@pytest.mark.parametrize("fn", [steps_until, in_an_arm])
def test_beside_branches_on_data(fn: Fn, tmp_path: Any) -> None:
    inputs = [torch.randn(4, 3, dtype=torch.float64) * scale for scale in (1.0, 0.1, 3.0, -2.0)]
    ptc.build(fn, (inputs[0],), output=tmp_path / "lib.so")
    library = ptc.load(tmp_path / "lib.so")
    with torch.no_grad():
        for x in inputs:
            torch.testing.assert_close(library(x), fn(x))


@pytest.mark.filterwarnings("ignore::Warning")
def test_the_history_of_an_argument_counts() -> None:
    def program(model: nn.Module, y: torch.Tensor) -> Any:
        return torch.autograd.grad(model(y).sum() + y.sum(), list(model.parameters()))

    model, x = nn.Linear(3, 3).double(), torch.randn(4, 3, dtype=torch.float64)
    got = ptc.compile(program)(model, model(x))
    torch.testing.assert_close(got, program(model, model(x)))
