"""Tensors put side by side, and taken apart, where data decides how many there are. Only ever
traced: loops become loops of the program.
"""

from __future__ import annotations

from typing import Any

import torch

from ptc.capture.polyfills.data_lists import as_tuple
from ptc.capture.polyfills.data_tensors import cat, stack
from ptc.capture.polyfills.host_errors import raised

_NO_ROWS = raised(torch.vstack, [])[1]
_NO_COLUMNS = raised(torch.hstack, [])[1]
_NO_LAYERS = raised(torch.dstack, [])[1]
_NOTHING_BESIDE = raised(torch.column_stack, [])[1]
_NO_SEQUENCES = raised(torch.nn.utils.rnn.pad_sequence, [])[1]


def vstack(tensors: Any) -> Any:
    if not tensors:
        raise RuntimeError(_NO_ROWS)
    return cat([one.reshape(1, -1) if one.dim() < 2 else one for one in tensors], 0)


def hstack(tensors: Any) -> Any:
    if not tensors:
        raise RuntimeError(_NO_COLUMNS)
    parts = [one.reshape(1) if one.dim() == 0 else one for one in tensors]
    return cat(parts, 0 if parts[0].dim() == 1 else 1)


def dstack(tensors: Any) -> Any:
    if not tensors:
        raise RuntimeError(_NO_LAYERS)
    return cat([_with_layers(one) for one in tensors], 2)


def _with_layers(one: Any) -> Any:
    if one.dim() < 2:
        return one.reshape(1, -1, 1)
    return one.unsqueeze(-1) if one.dim() == 2 else one


def column_stack(tensors: Any) -> Any:
    if not tensors:
        raise RuntimeError(_NOTHING_BESIDE)
    return cat([one.reshape(-1, 1) if one.dim() < 2 else one for one in tensors], 1)


def pad_sequence(
    sequences: Any, batch_first: Any = False, padding_value: Any = 0.0, padding_side: Any = "right"
) -> Any:
    if not sequences:
        raise RuntimeError(_NO_SEQUENCES)
    longest = 0
    for one in sequences:
        longest = max(longest, one.shape[0])
    rows = []
    for one in sequences:
        missing = one.new_full((longest - one.shape[0], *one.shape[1:]), padding_value)
        rows.append(torch.cat([one, missing] if padding_side == "right" else [missing, one]))
    found = stack(rows)
    return found if batch_first else found.transpose(0, 1)


# -- taking apart ---------------------------------------------------------------------------------


def _part(values: Any, dim: Any, start: Any, stop: Any) -> Any:
    """`values[start:stop]` along a dimension"""
    place = dim + values.dim() if dim < 0 else dim
    return values[(*(slice(None) for _ in range(place)), slice(start, stop))]


def split(values: Any, size: Any, dim: Any = 0) -> Any:
    """`values.split(size, dim)`"""
    count = values.shape[dim]
    if size < 0:
        raise RuntimeError(f"split expects split_size be non-negative, but got split_size={size}")
    if size == 0 and count != 0:
        raise RuntimeError(
            f"split_size can only be 0 if dimension size is 0, but got dimension size of {count}"
        )
    parts = [_part(values, dim, 0, size)]
    for i in range(1, (count + size - 1) // size if size else 1):
        parts.append(_part(values, dim, i * size, (i + 1) * size))
    return as_tuple(parts)


def chunk(values: Any, chunks: Any, dim: Any = 0) -> Any:
    """`values.chunk(chunks, dim)`"""
    if chunks <= 0:
        raise RuntimeError(f"chunk expects `chunks` to be greater than 0, got: {chunks}")
    count = values.shape[dim]
    if count:
        return split(values, (count + chunks - 1) // chunks, dim)
    parts = []
    for _ in range(chunks):
        parts.append(_part(values, dim, 0, 0))
    return as_tuple(parts)


def unbind(values: Any, dim: Any = 0) -> Any:
    """`values.unbind(dim)`"""
    parts = []
    for i in range(values.shape[dim]):
        parts.append(values.select(dim, i))
    return as_tuple(parts)


def split_by(values: Any, sizes: Any, dim: Any = 0) -> Any:
    """`values.split(sizes, dim)`"""
    total = 0
    for size in sizes:
        if size < 0:
            raise RuntimeError(
                "split_with_sizes expects split_sizes have only non-negative entries, but got "
                f"split_sizes={list(sizes)}"
            )
        total += size
    if total != values.shape[dim]:
        raise RuntimeError(
            "split_with_sizes expects split_sizes to sum exactly to "
            f"{values.shape[dim]} (input tensor's size at dimension {dim}), but got "
            f"split_sizes={list(sizes)}"
        )
    parts = []
    start = 0
    for size in sizes:
        parts.append(_part(values, dim, start, start + size))
        start += size
    return as_tuple(parts)
