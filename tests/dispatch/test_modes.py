"""Compiled functions inside torch's modes and transforms do what the originals do there."""

from __future__ import annotations

from typing import Any

import torch
from torch.autograd import forward_ad
from torch.utils.flop_counter import FlopCounterMode

import ptc
from ptc.dispatch.config import STATISTICS


def _double(x: torch.Tensor) -> Any:
    return x * 2 + torch.ones(3), x.sum()


def _compiled() -> Any:
    compiled = ptc.compile(_double)
    compiled(torch.ones(3))
    return compiled


def test_inside_vmap():
    x = torch.randn(4, 3)
    torch.testing.assert_close(torch.vmap(_compiled())(x), torch.vmap(_double)(x))


def test_vmap_inside():
    x = torch.randn(4, 3)
    compiled = ptc.compile(lambda x: torch.vmap(_double)(x))
    torch.testing.assert_close(compiled(x), torch.vmap(_double)(x))


def test_inside_function_transforms():
    x = torch.randn(3)
    compiled = _compiled()
    gradient = torch.func.grad(lambda x: (compiled(x)[0] * x).sum())(x)
    torch.testing.assert_close(gradient, 4 * x + 1)
    torch.testing.assert_close(
        torch.func.jvp(compiled, (x,), (x,)), torch.func.jvp(_double, (x,), (x,))
    )


def test_forward_mode_derivatives():
    compiled = _compiled()
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(torch.randn(3), torch.ones(3))
        tangent = forward_ad.unpack_dual(compiled(dual)[0]).tangent
    torch.testing.assert_close(tangent, torch.full((3,), 2.0))


def test_under_a_device():
    compiled = ptc.compile(lambda x: (x + 1, torch.ones(3)))
    compiled(torch.ones(3))
    with torch.device("meta"):
        assert [value.device.type for value in compiled(torch.ones(3, device="cpu"))] == [
            "cpu",
            "meta",
        ]
    before = STATISTICS.recompiles
    with torch.device("cpu"):
        compiled(torch.ones(3))
    assert STATISTICS.recompiles == before, "a CPU as the default changes nothing"


def test_operators_are_counted():
    compiled = ptc.compile(lambda x: x @ x.t())
    compiled(torch.ones(4, 6))
    with FlopCounterMode(display=False) as counter:
        compiled(torch.ones(4, 6))
    assert counter.get_total_flops() == 2 * 4 * 4 * 6


def test_quantised_tensors():
    def function(x: torch.Tensor) -> Any:
        small = torch.quantize_per_tensor(x, 0.1, 0, torch.qint8)
        return small.dequantize() + 1

    x = torch.randn(5)
    torch.testing.assert_close(ptc.compile(function)(x), function(x))
