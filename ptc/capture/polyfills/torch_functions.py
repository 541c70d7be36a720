"""What torch does around `forward`, in Python. Only ever traced."""

from __future__ import annotations

from typing import Any


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
