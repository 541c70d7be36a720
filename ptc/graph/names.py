"""Python names of the functions in a graph: `torch.nn.functional.relu`,
`torch.ops.aten.relu.default`.

Takes a call target, gives an expression that evaluates to it after `import torch, operator, math`
(and the module the expression starts with). Knows nothing of graphs.
"""

# pyright: reportPrivateUsage=false
# Naming the functions of torch takes looking at where torch keeps them.

from __future__ import annotations

import functools
import math
import operator
from types import MethodWrapperType, ModuleType
from typing import Any

import torch
from torch._ops import OpOverload, OpOverloadPacket

#: Where builtin functions are looked for by identity, public names first.
_HOMES: tuple[tuple[str, Any], ...] = (
    ("torch", torch),
    ("torch.nn.functional", torch.nn.functional),
    ("torch.Tensor", torch.Tensor),
    ("torch.fft", torch.fft),
    ("torch.linalg", torch.linalg),
    ("torch.special", torch.special),
    ("operator", operator),
    ("math", math),
    ("torch._C._nn", torch._C._nn),  # pyright: ignore[reportAttributeAccessIssue]
    ("torch._VF", torch._VF),
    ("torch._C", torch._C),
)


def function_name(target: Any) -> str:
    """The expression for a call_function target. One that no module exports is named by its module
    and qualified name as it states them."""
    if isinstance(target, (OpOverload, OpOverloadPacket)):
        return f"torch.ops.{target}"
    known = _known_functions().get(id(target))
    if known is not None:
        return known
    owner = getattr(target, "__self__", None)
    if isinstance(target, MethodWrapperType):  # an attribute's getter: torch.Tensor.data.__get__
        return f"{function_name(owner)}.{target.__name__}"
    name = getattr(target, "__qualname__", None) or getattr(target, "__name__", repr(target))
    module = getattr(target, "__module__", None)
    return f"{module}.{name}" if module else str(name)


@functools.cache
def _known_functions() -> dict[int, str]:
    found: dict[int, str] = {}
    for home, holder in _HOMES:
        # Public names first: `operator.mul` before `operator.__mul__`.
        for name in sorted(dir(holder), key=lambda name: name.startswith("_")):
            # Reading an attribute such as torch.Tensor.grad_fn from the class is harmless.
            value = getattr(holder, name, None)
            if isinstance(value, ModuleType) or not (callable(value) or hasattr(value, "__get__")):
                continue
            if isinstance(value, (bool, int, float, str)):
                continue
            found.setdefault(id(value), f"{home}.{name}")
    return found
