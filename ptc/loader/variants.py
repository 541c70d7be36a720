"""Further valid calls made from an example one: other values, other sizes of dynamic dimensions.

A variant stays within what the example shows: integers between its smallest and largest, floats of
its mean and spread within its range, constant tensors (masks of ones) and booleans as they are.
That is what makes a variant safe for models that use integers as indices.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping
from typing import Any

import torch

from ptc.loader.arguments import map_arguments
from ptc.loader.model import Arguments, DynamicSpec


def variant_of(
    function: Callable[..., Any],
    arguments: Arguments,
    dynamic: DynamicSpec | None,
    seed: int,
    sizes: Mapping[str, int],
) -> Arguments:
    """A call like `arguments` with new values; dimensions named in `sizes` get those sizes."""

    def vary(path: str, tensor: torch.Tensor) -> torch.Tensor:
        dims = (dynamic or {}).get(path, {})
        shape = [
            sizes.get(dims[i].name, size) if i in dims else size
            for i, size in enumerate(tensor.shape)
        ]
        generator = torch.Generator().manual_seed(seed * 1_000_003 + zlib.crc32(path.encode()))
        return _vary(tensor.detach(), shape, generator)

    return map_arguments(function, arguments, vary)


def _vary(example: torch.Tensor, shape: list[int], generator: torch.Generator) -> torch.Tensor:
    if example.numel() == 0:
        return torch.zeros(shape, dtype=example.dtype)
    if example.dtype == torch.bool or example.is_complex() or _is_constant(example):
        return _resized(example, shape)
    low, high = example.min().item(), example.max().item()
    if not example.is_floating_point():
        return torch.randint(int(low), int(high) + 1, shape, generator=generator).to(example.dtype)
    values = example.double()
    if not torch.isfinite(values).all():
        return _resized(example, shape)
    noise = torch.randn(shape, generator=generator, dtype=torch.float64)
    drawn = noise * values.std(correction=0) + values.mean()
    return drawn.clamp(low, high).to(example.dtype)


def _is_constant(example: torch.Tensor) -> bool:
    return bool((example == example.reshape(-1)[0]).all())


def _resized(example: torch.Tensor, shape: list[int]) -> torch.Tensor:
    """The example repeated or cut to `shape`."""
    result = example
    for dim, size in enumerate(shape):
        if result.shape[dim] != size:
            index = torch.arange(size) % max(1, result.shape[dim])
            result = result.index_select(dim, index)
    return result.clone()
