"""What a sample is, and all samples by name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from ptc.graph.control import ControlProgram, NumberKind

INT, FLOAT, BOOL = NumberKind.INT, NumberKind.FLOAT, NumberKind.BOOL

#: (channel, label, text)
EmitCall = Callable[[str, str, str], None]
Inputs = dict[str, Any]


@dataclass(frozen=True)
class Sample:
    """`calls`: the inputs of one session's calls in order; together they reach every arm.

    `eager` gives the flat results, and None for one that the variant taken does not use.
    A new session's `state` is empty.
    """

    build: Callable[[], ControlProgram]
    eager: Callable[[Inputs, dict[str, Any], EmitCall], list[Any]]
    calls: Callable[[], Sequence[Inputs]]


SAMPLES: dict[str, Sample] = {}


def sample(
    build: Callable[[], ControlProgram], calls: Callable[[], Sequence[Inputs]]
) -> Callable[[Any], Any]:
    """Register the decorated eager function with its program."""

    def register(eager: Any) -> Any:
        assert eager.__name__ not in SAMPLES
        SAMPLES[eager.__name__] = Sample(build, eager, calls)
        return eager

    return register


def f32(*shape: int) -> torch.Tensor:
    return torch.empty(shape)


def values(*values: float) -> torch.Tensor:
    return torch.tensor(values, dtype=torch.float32)
