"""Sizes that are differences, and numbers that data decides beside tensors whose content is known,
against eager."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from tests.capture.control.checking import Together

_ROWS = (
    torch.tensor([1.0, -2.0, 3.0, 0.5, 2.0]),
    torch.tensor([-1.0, -2.0, -3.0, -1.0, -1.0]),
    torch.tensor([1.0, 2.0, 3.0, 4.0, 6.0]),
    torch.tensor([-1.0, 2.0, -3.0, -4.0, -6.0]),
)


def between(x: Tensor) -> tuple[Any, ...]:
    """A slice from one place that data decides to another."""
    places = int(x.argmax()), int(x.argmin())
    first, last = min(places), max(places)
    part = x[first:last]
    steps = part.diff()
    rise = int(steps.argmax()) + 1 if len(steps) and steps.max() > 0 else 0
    return part, steps, rise, F.pad(part, (first, 5 - last)), torch.zeros(last - first)


def halves(x: Tensor) -> tuple[Any, ...]:
    found = x[x > 0]
    half = len(found) // 2
    return found[:half].diff(), found[half:].diff(), found[half:].sum()


def beside_known_floats(x: Tensor) -> tuple[Any, ...]:
    """Tensors that the program writes down, with a count."""
    count = len(x[x > 0])
    nothing = torch.tensor([])
    known = torch.tensor([0.5, 1.0, 2.0])
    return nothing == count, nothing.sum() + count, known == count, known * (count / 2)


def changed_known_floats(x: Tensor) -> tuple[Any, ...]:
    """What is written to is not known any more."""
    count = len(x[x > 0])
    total = torch.tensor(0.0)
    total += count
    total *= count / 2
    level = torch.tensor(2.0)
    view = level.view(1)
    view.mul_(float(x.sum()))
    return total, total.item() + 1, level.item(), view, x * level


def known_on_other_ways(x: Tensor) -> tuple[Any, ...]:
    """What is written to on one way is known on the other."""
    level = torch.tensor(2.0)
    if x.sum() > 0:
        level *= float(x[0])
    return level.item(), x * level


def _counts(x: Tensor) -> tuple[int, int]:
    return len(x[x > 0]), len(x[x < 0])


def divided(x: Tensor) -> float:
    return 1 / _counts(x)[0]


def floored(x: Tensor) -> int:
    positive, negative = _counts(x)
    return positive // negative


def rest(x: Tensor) -> float:
    positive, negative = _counts(x)
    return negative % (positive / 2)


def divided_in_place(x: Tensor) -> float:
    share: float = _counts(x)[0]
    share /= _counts(x)[1]
    return share


def arithmetic(x: Tensor) -> tuple[Any, ...]:
    positive, negative = _counts(x)
    difference = positive - negative
    powers = positive**0.5, difference**2, (positive + 1) ** -1, 2**positive
    bits = positive & 1, positive | 1, positive ^ 3, ~positive, positive << 1
    rounded = round(positive / 3, 2), round(positive / 3), round(positive), abs(difference)
    return powers, bits, rounded


def compared(x: Tensor) -> tuple[Any, ...]:
    positive, negative = _counts(x)
    sizes = {positive: 1, negative: 2}
    sizes[3] = 5
    found = sizes.get(positive), positive in sizes, positive in (1, 2, 5), positive in {1, 2}
    return sizes, found, [positive, negative].index(negative), (positive, 1) == (negative, 1)


_PROGRAMS: tuple[Callable[..., Any], ...] = (
    between, halves, beside_known_floats, changed_known_floats, known_on_other_ways,
    divided, floored, rest, divided_in_place, arithmetic, compared,
)  # fmt: skip


_TOGETHER = Together.of(_PROGRAMS, *_ROWS)


@pytest.mark.parametrize("function", _PROGRAMS)
def test_expressions(function: Callable[..., Any]) -> None:
    _TOGETHER.check(function)


@pytest.mark.parametrize("function", _PROGRAMS)
def test_expressions_in_libraries(function: Callable[..., Any], tmp_path: Path) -> None:
    _TOGETHER.check_library(function, tmp_path)
