"""Lists and dictionaries that data sizes with elements of several types, against eager."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from tests.capture.control.checking import Together

_ROWS = (
    torch.tensor([0.9, -1.0, 2.0, 0.0, 0.25, 3.0]),
    torch.tensor([0.0, 0.0, 0.0, 0.0, 0.0, 0.0]),
    torch.tensor([-1.0, 1.0, -2.0, 2.0, -3.0, 3.0]),
    torch.tensor([5.0, 5.0, 5.0, -5.0, -5.0, -5.0]),
)


def entropies(values: Tensor) -> tuple[float, int]:
    """A sum of nothing is an int."""
    found: list[float] = []
    for i in range(int((values != 0).sum())):
        part = values[i:].tolist()
        found.append(-sum(v * math.log(v) for v in part if v > 0))
        if found[-1] < -3:
            break
    return sum(found), len(found)


def several(values: Tensor) -> tuple[list[Any], list[str]]:
    """Numbers of each type, None, strings and tensors, returned and asked for."""
    found: list[Any] = []
    for v in values:
        if v > 1:
            found.append(v.item())
        elif v > 0:
            found.append(int(v * 8))
        elif v == 0:
            found += [None, values.sum().item() == 0.0]
        elif v > -2:
            found.append("low")
        elif v < -2.5:
            found.append(values[:2] * 2)
    shown: list[str] = []
    for one in found:
        if one is None or isinstance(one, (str, bool)):
            shown.append(f"{one!r}")
        elif isinstance(one, torch.Tensor):
            shown.append("tensor")
        else:
            shown.append(f"{one + 1}")
    return found, shown


def optional(values: Tensor) -> list[tuple[str, Any]]:
    """Tuples with a string that data decides, or None."""
    acts: list[tuple[str, Any]] = []
    last = None
    for i, v in enumerate(values):
        if v == 0:
            acts.append(("wait", None))
            continue
        name = f"slot {i}" if v > 0 else last
        acts.append(("ask", name))
        last = name
        if v < -2:
            acts.append(("stop", "end"))
            break
    print(acts)
    return acts


def chosen(values: Tensor) -> list[tuple[int, Any, Any]]:
    """What is one of several has no variable of its own on the other ways."""
    found: list[tuple[int, Any, Any]] = []
    for v in values:
        text = number = None
        if v > 0:
            text = f"{v.item():.1f}"
        elif v == -1:
            text, number = "less", int(v)
        if v < 0:
            number = v.item()
        found.append((len(found), text, number))
        if v < -2:
            break
    return found


def by_key(values: Tensor) -> dict[int, Any]:
    """Values of a dictionary."""
    found: dict[int, Any] = {}
    for v in values:
        key = int(v)
        known = found.get(key)
        found[key] = None if v == 0 else v.item() if known is None else 1
    return found


def changed(values: Tensor) -> tuple[list[Any], Any]:
    """Elements are replaced, popped and copied."""
    found: list[Any] = [None] * int((values > 0).sum())
    for i in range(len(found)):
        if values[i] > 0:
            found[i] = values[i].item()
        elif values[i] < 0:
            found[i] = i
    last = found.pop() if found else "none"
    return [*found, *found[:1]], last


def carried(values: Tensor) -> tuple[Any, int]:
    """A number is an int after some iterations, and a float after others."""
    total: Any = 0
    steps = 0
    while steps < int((values != 0).sum()):
        v = values[steps]
        total = int(total) if v < 0 else total + v.item()
        steps += 1
    return total, steps


_PROGRAMS: tuple[Callable[..., Any], ...] = (
    entropies, several, optional, chosen, by_key, changed, carried,
)  # fmt: skip


_TOGETHER = Together.of(_PROGRAMS, *_ROWS)


@pytest.mark.parametrize("function", _PROGRAMS)
def test_elements_of_several_types(function: Callable[..., Any]) -> None:
    _TOGETHER.check(function)


@pytest.mark.parametrize("function", _PROGRAMS)
def test_elements_of_several_types_in_libraries(
    function: Callable[..., Any], tmp_path: Path
) -> None:
    _TOGETHER.check_library(function, tmp_path)
