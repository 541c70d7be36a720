"""What torch does around `forward`, and functions that take a count only as a number, in Python.
Only ever traced."""

from __future__ import annotations

from typing import Any

import torch


def linspace(start: Any, end: Any, steps: Any, dtype: Any, device: Any) -> Any:
    """`torch.linspace` of floats: counted from the nearer end, as torch does."""
    if steps < 0:
        raise RuntimeError("number of steps must be non-negative")
    step = (torch.tensor(end, dtype=dtype, device=device) - start) / max(steps - 1, 1)
    place = torch.arange(steps, device=device)
    first = (place < steps // 2) | (place == 0)
    place = place.to(dtype)
    return torch.where(first, start + place * step, end - (steps - 1 - place) * step)


def unique_consecutive(x: Any, return_inverse: bool, return_counts: bool) -> Any:
    """`torch.unique_consecutive` of all elements."""
    flat = x.flatten()
    first = flat != flat.roll(1)
    first[:1] = True
    places = first.nonzero().squeeze(1)
    group = first.cumsum(0) - 1
    results = [flat[places]]
    if return_inverse:
        results.append(group.reshape(x.shape))
    if return_counts:
        ones = torch.ones_like(group)
        results.append(torch.zeros_like(places).index_add(0, group, ones))
    return tuple(results) if len(results) > 1 else results[0]


def one_hot(x: Any, classes: Any) -> Any:
    """`F.one_hot` with a count that data decides; -1: one more than the largest class."""
    if x.dtype is not torch.int64:
        raise RuntimeError("one_hot is only applicable to index tensor of type LongTensor.")
    if not x.numel():
        if classes <= 0:
            raise RuntimeError("Can not infer total number of classes from empty tensor.")
        return torch.zeros((*x.shape, classes), dtype=torch.int64, device=x.device)
    if int(x.min()) < 0:
        raise RuntimeError("Class values must be non-negative.")
    largest = int(x.max())
    count = largest + 1 if classes == -1 else classes
    if largest >= count:
        raise RuntimeError("Class values must be smaller than num_classes.")
    zeros = torch.zeros((*x.shape, count), dtype=torch.int64, device=x.device)
    return zeros.scatter(-1, x.unsqueeze(-1), 1)


def call_with_hooks(module: Any, /, *args: Any, **kwargs: Any) -> Any:
    """`nn.Module.__call__` with forward hooks."""
    for key, hook in [*module._forward_pre_hooks.items()]:
        if key in module._forward_pre_hooks_with_kwargs:
            replaced = hook(module, args, kwargs)
            if replaced is not None:
                args, kwargs = replaced
        else:
            replaced = hook(module, args)
            if replaced is not None:
                args = replaced if isinstance(replaced, tuple) else (replaced,)
    result = module.forward(*args, **kwargs)
    for key, hook in [*module._forward_hooks.items()]:
        if key in module._forward_hooks_with_kwargs:
            replaced = hook(module, args, kwargs, result)
        else:
            replaced = hook(module, args, result)
        if replaced is not None:
            result = replaced
    return result


def indices_of_slice(size: int, start: Any, stop: Any, step: int) -> torch.Tensor:
    """The rows that `tensor[start:stop:step]` is about, of `size`."""
    if step <= 0:
        raise ValueError("step must be greater than zero")
    first = 0 if start is None else start
    if first < 0:
        first = max(first + size, 0)
    first = min(first, size)
    last = size if stop is None else stop
    if last < 0:
        last = max(last + size, 0)
    count = (max(min(last, size), first) - first + step - 1) // step
    return torch.arange(count) * step + first


def in_row_major_order(sizes: Any, strides: Any) -> bool:
    """`Tensor.is_contiguous()`"""
    for size in sizes:
        if size == 0:
            return True
    expected = 1
    for i in range(len(sizes) - 1, -1, -1):
        if sizes[i] != 1:
            if strides[i] != expected:
                return False
            expected = expected * sizes[i]
    return True
