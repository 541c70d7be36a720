"""Programs with control flow for ranges of sizes that begin at 1: as eager for every size, the ones
that torch treats apart among them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

from ptc.capture.api import DynamicSpec, capture_program
from ptc.capture.fake_forms import viewed
from ptc.graph.control import ControlProgram, TensorVar
from tests.capture.control.checking import check
from tests.zoo.case import Case
from tests.zoo.harness import compare, eager, interpreted, library

ROWS = ((5,), (1,), (2,), (3,), (1,), (4,), (1,), (7,), (9,), (2,))
PAIRS = ((5, 5), (1, 1), (1, 3), (3, 1), (2, 2), (4, 4), (6, 1), (1, 7), (1, 1))


def case(function: Callable[..., Any]) -> Case:
    """Calls with fresh inputs, of rows by name: `x`, and if it takes two `y`."""
    draws = torch.Generator().manual_seed(len(function.__name__))
    names = ("x", "y")[: function.__code__.co_argcount]
    counts = ROWS if len(names) == 1 else PAIRS
    calls = tuple(tuple(torch.randn(n, 4, generator=draws) for n in call) for call in counts)
    dynamic = {name: {0: f"rows_{name}[1..9]"} for name in names}
    return Case(function.__name__, lambda: function, calls, (), dynamic)


def signed(x: Tensor) -> Tensor:
    return x if x.sum() > 0 else -x


def views(x: Tensor) -> Any:
    y = signed(x)
    rows = x.shape[0]
    folded = y.unsqueeze(0).transpose(1, 2).reshape(1, 2, 2 * rows)
    return y.reshape(-1), y.t().reshape(-1), y.view(1, rows, 4), folded, y.view(1, -1, 2, 2)


def squeezed(x: Tensor) -> Any:
    y = signed(x)
    return y.squeeze(0), y.unsqueeze(1).squeeze(1)


def attended(x: Tensor) -> Tensor:
    heads = signed(x).view(1, -1, 2, 2).transpose(1, 2)
    mixed = F.scaled_dot_product_attention(heads, heads, heads, is_causal=x.shape[0] > 1)
    return mixed.transpose(1, 2).reshape(1, x.shape[0], 4)


def cached(x: Tensor) -> Any:
    rows = x
    while rows.shape[0] < 12:
        rows = torch.cat((rows, x))
        if rows.sum() > 30:
            break
    return rows, rows.shape[0], rows.view(-1, 2, 2).transpose(1, 2).reshape(rows.shape[0], 4)


def reduced(x: Tensor) -> Any:
    y = signed(x)
    return F.layer_norm(y, (4,)), y.softmax(0), y.mean(0), y.var(0, unbiased=False), y.norm()


def sliced(x: Tensor) -> Any:
    y = signed(x)
    return y[:-1], y[1:], y[-1], y[::2], y[:2], y.flip(0), y.roll(1, 0), y.diff(dim=0)


def repeated(x: Tensor) -> Any:
    y = signed(x)
    return y[:1].expand(x.shape[0], 4), y.repeat(2, 1), torch.stack((y, y)), y[:, None] * y[None]


def multiplied(x: Tensor) -> Any:
    y = signed(x)
    mask = torch.full((x.shape[0], x.shape[0]), float("-inf")).triu(1)
    weights = (y @ y.T + mask).softmax(-1)
    return weights, torch.einsum("ij,kj->ik", y, y), F.linear(y, torch.ones(3, 4)), weights @ y


def written(x: Tensor) -> Tensor:
    y = x.clone()
    if x.sum() > 0:
        y[0] = 1.0
    else:
        y[-1] += 2.0
    y.transpose(0, 1).mul_(2)
    y[:, 1] = y[:, 0]
    return y


def counted(x: Tensor) -> Any:
    rows = x.shape[0]
    y = signed(x) + torch.arange(rows)[:, None]
    return y, torch.arange(0, rows, 2), torch.arange(rows, 0, -1), torch.linspace(0, 1, rows)


def one_size(x: Tensor) -> Tensor:
    if x.sum() > 0:
        return x * 2 if x.shape[0] == 1 else x.mean(0, keepdim=True)
    total = torch.zeros(4)
    for row in range(x.shape[0]):
        total = total + x[row]
    return total[None]


def broadcast(x: Tensor, y: Tensor) -> Tensor:
    both = x + y
    return both * 2 if both.sum() > 0 else both


def padded(x: Tensor, y: Tensor) -> Any:
    more = y.shape[0] - x.shape[0]
    if more > 0:
        x = F.pad(x, (0, 0, 0, more))
    elif more < 0:
        y = F.pad(y, (0, 0, 0, -more))
    both = x + y
    return both * 2 if both.sum() > 0 else both, torch.cat((x, y)), x @ y.T


EVERY = (
    views, squeezed, attended, cached, reduced, sliced, repeated, multiplied, written, counted,
    one_size, broadcast, padded,
)  # fmt: skip


@pytest.mark.parametrize("function", EVERY)
def test_a_size_of_one_is_as_in_eager(function: Callable[..., Any]) -> None:
    given = case(function)
    compare(eager(given), interpreted(given, branch_on_sizes=True))


@pytest.mark.parametrize("function", (squeezed, attended, cached, counted, broadcast))
def test_libraries_take_a_size_of_one(function: Callable[..., Any], tmp_path: Path) -> None:
    given = case(function)
    compare(eager(given), library(given, tmp_path, check=True))


# -- sizes that are computed -----------------------------------------------------------------------


def near(x: Tensor) -> Any:
    place = int(x.abs().sum() * 3) % 5
    rows = x.shape[0]
    step = torch.arange(place, place + 1)
    return (
        step + x, torch.arange(place, place + 3), torch.arange(place), torch.linspace(0, 2, place),
        torch.arange(place - 1, place + 2), torch.arange(rows + place, rows + place + 2),
        x[step % rows],
    )  # fmt: skip


def test_ranges_have_the_size_that_their_bounds_say() -> None:
    given = case(near)
    compare(eager(given), interpreted(given))
    program = capture_program(near, given.inputs[0], dynamic=DynamicSpec({"x": {0: ("n", 1, 9)}}))
    assert isinstance(program, ControlProgram)
    shapes = [tuple(o.value.fake.shape) for o in program.outputs if isinstance(o.value, TensorVar)]
    assert [shapes[number] for number in (1, 4, 5, 6)] == [(3,), (3,), (2,), (1, 4)]


def test_ranges_of_computed_sizes_in_a_library(tmp_path: Path) -> None:
    given = case(near)
    compare(eager(given), library(given, tmp_path))


def test_a_range_that_ends_before_it_begins_raises() -> None:
    def between(x: Tensor) -> Tensor:
        stop = int(x.sum())
        return torch.arange(1, stop)

    calls = ((torch.tensor([4.0]),), (torch.tensor([1.0]),), (torch.tensor([-3.0]),))
    given = Case("between", lambda: between, calls)
    compare(eager(given), interpreted(given))


def test_a_part_is_written_with_a_step_that_a_size_decides(tmp_path: Path) -> None:
    def thinned(x: Tensor) -> Tensor:
        y = x.clone()
        y[:: x.shape[1]] = 0.0
        return y

    calls = tuple((torch.ones(6, n),) for n in (3, 2, 5))
    given = Case("thinned", lambda: thinned, calls, (), {"x": {1: "n[2..5]"}})
    compare(eager(given), library(given, tmp_path))


# -- views -----------------------------------------------------------------------------------------


def shapes_of(count: int, draws: torch.Generator) -> list[int]:
    """A random factorisation, ones among it."""
    shape: list[int] = []
    while count > 1:
        factors = [f for f in range(1, count + 1) if count % f == 0]
        shape.append(factors[int(torch.randint(len(factors), (), generator=draws))])
        count //= shape[-1]
    return [*shape, 1] if torch.rand((), generator=draws) < 0.3 else shape


def test_views_are_those_of_torch() -> None:
    draws = torch.Generator().manual_seed(1)
    for _ in range(800):
        rank = int(torch.randint(1, 5, (), generator=draws))
        sizes = [
            (1, 1, 2, 3, 4, 6)[int(torch.randint(6, (), generator=draws))] for _ in range(rank)
        ]
        x = torch.arange(int(torch.tensor(sizes).prod())).reshape(sizes)
        x = x.permute(torch.randperm(rank, generator=draws).tolist())
        if torch.rand((), generator=draws) < 0.3:
            x = x.narrow(0, 0, max(1, x.shape[0] - 1))
        shape = shapes_of(x.numel(), draws)
        try:
            expected: Tensor | None = x.view(shape)
        except RuntimeError:
            expected = None
        if expected is None:
            with pytest.raises(RuntimeError, match="not compatible"):
                viewed(x, shape)
        else:
            assert torch.equal(viewed(x, shape), expected)


def runs_of_equals(x: torch.Tensor) -> Any:
    return (
        torch.unique_consecutive(x),
        x.unique_consecutive(return_counts=True),
        torch.unique_consecutive(x, return_inverse=True, return_counts=True),
    )


def test_runs_of_equal_elements() -> None:
    rows = ([1, 1, 2, 2, 2, 1, 3], [1, 2, 1, 2, 1, 2, 1], [5] * 7)
    check(runs_of_equals, *(torch.tensor(row) for row in rows))
    nan = torch.nan
    check(runs_of_equals, torch.tensor([[1.0, 1.0], [nan, nan], [2.0, 1.0]]), torch.zeros(3, 2))
