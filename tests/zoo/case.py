"""What one model of the zoo consists of: a name, how to make it, and calls that drive every path.

The models know nothing of the compiler; a `Case` is all that stands between them and the harness.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

Model = Callable[..., Any]
Arguments = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Case:
    """`inputs` are the positional arguments of calls made one after the other on one instance.

    The first call is the example to compile with. Between calls only the values of tensors differ,
    and the sizes that `dynamic` names: input name -> dimension -> `"n"` or `"n[1..64]"`.
    `tags` say which constructs the model is about.
    """

    name: str
    factory: Callable[[], Model]
    inputs: tuple[Arguments, ...]
    tags: tuple[str, ...] = ()
    dynamic: Mapping[str, Mapping[int, str]] | None = None

    def make(self) -> Model:
        """A fresh instance with the same weights each time, in evaluation mode."""
        torch.manual_seed(0)
        model = self.factory()
        return model.eval() if isinstance(model, nn.Module) else model


def function(f: Model) -> Callable[[], Model]:
    """The factory of a plain function."""
    return lambda: f
