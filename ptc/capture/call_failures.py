"""What capture says where the rule of a torch call raises: torch cannot tell the result without
running the call, or the call itself fails.
"""

# pyright: reportPrivateUsage=false

from __future__ import annotations

from typing import Any

import torch

from ptc.capture import fakes
from ptc.capture.errors import GraphBreak
from ptc.graph import transforms

_HINT_FAKE = "use another operator; a custom one gets a rule with torch.library.register_fake"
_HINT_SHAPE = "compute with a mask or torch.where, whose shape does not depend on data"


def refusal(target: Any, error: Exception) -> GraphBreak | None:
    """Why capture cannot go on after this exception; None where it is one of the program's own."""
    name = name_of(target)
    if isinstance(error, fakes.DYNAMIC_SHAPE):
        what = f"the shape of {name}'s result depends on tensor data"
        return GraphBreak("PTC-B007", what, _HINT_SHAPE)
    if isinstance(error, (*fakes.UNSUPPORTED, NotImplementedError)):
        what = f"torch cannot tell what {name} gives without running it: {error}"
        return GraphBreak("PTC-B004", what, _HINT_FAKE)
    if isinstance(error, fakes.DATA_DEPENDENT) or fakes.WANTS_MEMORY in str(error):
        what = f"{name} reads tensor data into Python"
        return GraphBreak("PTC-B002", what, "keep it a tensor")
    if fakes.is_of_symbols(error):
        what = f"the sizes that {name} gives cannot be told: {error}"
        return GraphBreak("PTC-B004", what, _HINT_SHAPE)
    if transforms.depth():
        # Not all rules of transforms do on fake tensors what they do in eager
        return GraphBreak(
            "PTC-B004",
            f"{name} fails in a function transform: {error}",
            "see whether it works in eager; with sizes that change, make them static",
        )
    return None


def name_of(target: Any) -> str:
    """What messages call the target of a call."""
    if isinstance(target, str):
        return f"Tensor.{target}"
    if isinstance(target, (torch._ops.OpOverload, torch._ops.OpOverloadPacket)):
        return str(target)
    return getattr(target, "__qualname__", None) or getattr(target, "__name__", str(target))
