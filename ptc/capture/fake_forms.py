"""Torch functions whose fake results would fix symbolic sizes, in forms that keep them.

Their C++ code asks for sizes as numbers. The forms take the same arguments on fake tensors and give
results of the same shapes and types; what a program computes is not their business. `sliced`,
`viewed` and `joined` are what a slice, a change of shape and a concatenation are where data decides
sizes.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from torch._prims_common import infer_size

from ptc.graph.symbols import same_size

Pair = int | Sequence[int]


def _max_pool1d(
    input: Tensor,
    kernel_size: Pair,
    stride: Pair | None = None,
    padding: Pair = 0,
    dilation: Pair = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    stride = kernel_size if stride is None or stride == [] else stride
    result = F.max_pool2d(
        input.unsqueeze(-2),
        (1, _only(kernel_size)),
        (1, _only(stride)),
        (0, _only(padding)),
        (1, _only(dilation)),
        ceil_mode,
        return_indices,
    )
    if return_indices:
        return tuple(part.squeeze(-2) for part in result)
    return result.squeeze(-2)  # pyright: ignore[reportAttributeAccessIssue]


def _only(value: Pair) -> int:
    return value if isinstance(value, int) else value[0]


def _recurrent(function: Callable[..., Any]) -> Callable[..., Any]:
    """A recurrent network on a padded batch; a packed one is left to torch."""

    def form(*args: Any) -> Any:
        padded = len(args) == 9 and isinstance(args[3], bool)
        if not padded:
            return function(*args)
        x, hidden, _, _, _, _, _, bidirectional, batch_first = args
        states = list(hidden) if isinstance(hidden, (tuple, list)) else [hidden]
        width = states[0].shape[2] * (2 if bidirectional else 1)
        if batch_first:
            output = x.new_empty((x.shape[1], x.shape[0], width)).transpose(0, 1)
        else:
            output = x.new_empty((x.shape[0], x.shape[1], width))
        return (output, *(state.new_empty(state.shape) for state in states))

    return form


def _cdist(x1: Tensor, x2: Tensor, p: float = 2.0, compute_mode: str | None = None) -> Tensor:
    """Torch asks for more than 25 rows, from which on it computes another way."""
    lead = torch.broadcast_shapes(x1.shape[:-2], x2.shape[:-2])
    return x1.new_empty((*lead, x1.shape[-2], x2.shape[-2]))


def sliced(x: Tensor, dim: int = 0, start: Any = None, end: Any = None, step: Any = 1) -> Tensor:
    """`x[start:end:step]` along a dimension, by one comparison after the other. Torch joins them
    into conditions, and makes up a size where those leave it open."""
    if x.dim() == 0:
        raise RuntimeError("slice() cannot be applied to a 0-dim tensor.")
    if step <= 0:
        raise RuntimeError("slice step must be positive")
    sizes, strides = list(x.shape), list(x.stride())
    size, stride = x.size(dim), strides[dim]
    first = 0 if start is None else _bound(start, size)
    last = size if end is None else _bound(end, size)
    length = last - first if last >= first else 0
    sizes[dim] = (length + step - 1) // step
    strides[dim] = stride * step
    return x.as_strided(sizes, strides, x.storage_offset() + first * stride)


def _bound(place: Any, size: Any) -> Any:
    """Where a bound of a slice falls: 0 to `size`."""
    if place < 0:
        counted = place + size
        return counted if counted >= 0 else 0
    return place if place <= size else size


def form_of(function: Any, target: Any, *, checks_ranges_only: bool) -> Any:
    """The form of a function, itself if it has none. `target`: what the graph calls.
    `checks_ranges_only`: an entry's checks cannot say what a layout depends on."""
    if checks_ranges_only and target in ("contiguous", Tensor.contiguous):
        return _contiguous
    return FORMS.get(function, function) if isinstance(function, Hashable) else function


def _contiguous(x: Tensor, memory_format: Any = torch.contiguous_format) -> Tensor:
    """`x.contiguous()` that asks nothing of symbolic sizes: a copy, unless the strides are those of
    row-major order whatever the sizes are. Functionalisation looks at writes."""
    numbers = (*x.shape, *x.stride())
    symbolic = any(isinstance(number, torch.SymInt) for number in numbers)
    if not symbolic or memory_format is not torch.contiguous_format:
        return x.contiguous(memory_format=memory_format)
    strides = _dense(x.shape)
    ordered = all(
        size == 1 if isinstance(size, int) and size == 1 else same_size(step, expected)
        for size, step, expected in zip(x.shape, x.stride(), strides, strict=True)
    )
    return x if ordered else x.new_empty_strided(tuple(x.shape), tuple(strides))


def are_alike(tensors: Sequence[Tensor], dim: int = 0) -> bool:
    """Whether a concatenation has a result whatever its symbolic sizes are, in row-major order."""
    first = tensors[0] if tensors else None
    if first is None or not 0 < first.dim() <= 3 or not -first.dim() <= dim < first.dim():
        return False
    symbolic = any(isinstance(size, torch.SymInt) for x in tensors for size in x.shape)
    return symbolic and all(
        (x.dtype, x.device, x.dim()) == (first.dtype, first.device, first.dim())
        and all(
            number == dim % first.dim() or same_size(a, b)
            for number, (a, b) in enumerate(zip(x.shape, first.shape, strict=True))
        )
        for x in tensors
    )


def joined(tensors: Sequence[Tensor], dim: int = 0) -> Tensor:
    """`cat` of tensors that are alike: torch asks of each in one dimension whether it is empty, and
    does the same with it."""
    sizes = list(tensors[0].shape)
    sizes[dim] = sum(x.shape[dim] for x in tensors)
    return tensors[0].new_empty(sizes)


def viewed(x: Tensor, shape: Sequence[Any]) -> Tensor:
    """`x.view(shape)`, of just that shape: torch's own rule writes a size of 1 in terms of others
    that are 1 on this path, and asks which of them are."""
    sizes = list(infer_size(tuple(shape), x.numel()))
    if x.numel() == 0:
        return x.as_strided(sizes, _dense(sizes), x.storage_offset())
    strides = _strides(x.shape, x.stride(), sizes, same_size)  # which holds for all sizes
    if strides is None:
        strides = _strides(x.shape, x.stride(), sizes, operator.eq)
    if strides is None:
        raise RuntimeError(
            "view size is not compatible with input tensor's size and stride (at least one "
            "dimension spans across two contiguous subspaces). Use .reshape(...) instead."
        )
    return x.as_strided(sizes, strides, x.storage_offset())


def _dense(sizes: Sequence[Any]) -> list[Any]:
    strides: list[Any] = [1] * len(sizes)
    for dim in range(len(sizes) - 2, -1, -1):
        strides[dim] = strides[dim + 1] * sizes[dim + 1]
    return strides


Equal = Callable[[Any, Any], bool]


def _strides(
    sizes: Sequence[Any], strides: Sequence[Any], wanted: Sequence[Any], equal: Equal
) -> list[Any] | None:
    """The strides with which the elements of one shape are read in another; None if there are none,
    as far as `equal` tells."""
    left = list(wanted)
    result: list[Any] = []
    for count, step in _runs(sizes, strides, equal):
        taken: Any = 1
        numbers: list[Any] = []
        while left and not equal(taken, count):
            numbers.insert(0, taken * step)
            taken = taken * left.pop()
        if not equal(taken, count):
            return None
        result[:0] = numbers
    if not all(equal(size, 1) for size in left):
        return None
    return [1] * len(left) + result


def _runs(sizes: Sequence[Any], strides: Sequence[Any], equal: Equal) -> list[tuple[Any, Any]]:
    """Innermost first: how many elements lie at one distance from each other, and the distance."""
    runs: list[tuple[Any, Any]] = []
    for size, stride in zip(reversed(sizes), reversed(strides), strict=True):
        if equal(size, 1):
            continue
        if runs and equal(stride, runs[-1][0] * runs[-1][1]):
            runs[-1] = (runs[-1][0] * size, runs[-1][1])
        else:
            runs.append((size, stride))
    return runs


FORMS: Mapping[Any, Callable[..., Any]] = {
    F.max_pool1d: _max_pool1d,
    torch.max_pool1d: _max_pool1d,
    torch.cdist: _cdist,
    **{f: _recurrent(f) for f in (torch.lstm, torch.gru, torch.rnn_tanh, torch.rnn_relu)},
}
