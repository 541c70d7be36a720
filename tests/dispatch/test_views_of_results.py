"""Results of compiled functions alias inputs and each other, and are strided, as eager's are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch.utils._pytree import tree_leaves

import ptc


def _memory(values: Any) -> list[tuple[Any, ...]]:
    """For each tensor: which memory it is in (numbered as they come), and its strides."""
    numbers: dict[int, int] = {}
    described: list[tuple[Any, ...]] = []
    for value in tree_leaves(values):
        address = value.untyped_storage().data_ptr()
        number = numbers.setdefault(address, len(numbers))
        described.append((number, value.stride(), value.dtype))
    return described


_FUNCTIONS: dict[str, Callable[[torch.Tensor], Any]] = {
    "broadcast": lambda x: torch.broadcast_tensors(x, x[0]),
    "expand to a size": lambda x: x.view(-1, 1).expand(-1, x.shape[0]),
    "expand_as": lambda x: x[0].expand_as(x),
    "view_as": lambda x: x.view_as(x),
    "meshgrid": lambda x: torch.meshgrid(x[0], x[:, 0], indexing="ij"),
    "einsum": lambda x: torch.einsum("ij->ji", x),
    "dropout in evaluation": lambda x: F.dropout(x.t(), 0.5, False),
    "chunks": lambda x: torch.chunk(x, 2),
    "real": lambda x: (x.real, x.t(), x[::2], x.diagonal(), x.unfold(1, 2, 1)),
    "of a result": lambda x: (lambda y: (y, y.t(), F.dropout(y, 0.5, False), y[0, 1:]))(x + 1),
    "column of a result": lambda x: (x + 1)[:, -1],
    "part of a result": lambda x: (x @ x.t()).chunk(2, 1)[0],
    "row of a result, expanded": lambda x: (x + 1).sum(1, keepdim=True).expand(-1, 3),
    "windows of a result": lambda x: (x + 1).unfold(1, 3, 2),
    "bounds from a size": lambda x: x[:, x.shape[0] - 3 :],
}


@pytest.mark.parametrize("name", _FUNCTIONS)
def test_views_are_views(name):
    function = _FUNCTIONS[name]
    compiled = ptc.compile(function)
    for rows in (4, 5, 6):  # one size, then any
        x = torch.randn(rows, 6)
        expected, got = function(x), compiled(x)
        torch.testing.assert_close(got, expected, rtol=1e-5, atol=1e-6)
        assert _memory((x, got)) == _memory((x, expected))


def test_write_to_a_result_is_seen_in_the_input():
    compiled = ptc.compile(lambda x: torch.broadcast_tensors(x, x[0])[1])
    x = torch.zeros(2, 3)
    compiled(x)[0, 0] = 5
    assert x[0, 0] == 5


def test_gradient_through_a_derived_view():
    def function(x: torch.Tensor) -> torch.Tensor:
        return torch.broadcast_tensors(x, x[0] * 2)[1]

    compiled = ptc.compile(function)
    x = torch.randn(3, 2, requires_grad=True)
    weight = torch.randn(3, 2)
    (expected,) = torch.autograd.grad((function(x) * weight).sum(), x)
    got = compiled(x)
    (gradient,) = torch.autograd.grad((got * weight).sum(), x)
    torch.testing.assert_close(gradient, expected)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: torch.slice_scatter(x, torch.zeros(2, 4), 1, 0, 4),
        lambda x: torch.select_scatter(x, torch.zeros(2), 1, 0),
        lambda x: torch.diagonal_scatter(x, torch.zeros(2)),
    ],
)
def test_scatter_of_another_size_is_refused_as_in_eager(function):
    compiled = ptc.compile(function)
    compiled(torch.ones(2, 6))
    with pytest.raises(RuntimeError) as expected:
        function(torch.ones(3, 6))
    with pytest.raises(RuntimeError) as got:
        compiled(torch.ones(3, 6))
    assert str(got.value) == str(expected.value)
