"""Operators whose results' sizes depend on data, as torch traces them.

Takes the name of an operator of `control.DATA_SIZED` and values, gives its results.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch


def data_sized(op: str, args: Sequence[Any], results: int) -> list[torch.Tensor]:
    """The results of the operator, as many as the program takes."""
    match op:
        case "nonzero":
            return [torch.nonzero(args[0])]
        case "masked_select":
            return [torch.masked_select(args[0], args[1])]
        case "unique":
            found = torch.unique(
                args[0], sorted=True, return_inverse=results == 3, return_counts=results == 3
            )
            return list(found) if results == 3 else [found]
        case "repeat_interleave":
            return [torch.repeat_interleave(args[0])]
        case _:
            return [torch.bincount(args[0], minlength=args[1] or 0)]
