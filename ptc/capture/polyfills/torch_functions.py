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
