"""Tensors made of lists whose length data decides, in lists and tuples too, against eager."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn import functional

from ptc.capture.api import capture_program
from ptc.support.diagnostics import CompileError
from tests.capture.control.checking import Together

_ROWS = (
    torch.tensor([1.0, -2.0, 3.0, 0.5]),
    torch.tensor([-1.0, -2.0, -3.0, -1.0]),
    torch.tensor([1.0, 2.0, 3.0, 4.0]),
)


def _places(x: Tensor) -> list[int]:
    return [i for i, v in enumerate(x.tolist()) if v > 0]


def _values(x: Tensor) -> list[float]:
    return [v for v in x.tolist() if v > 0]


def nested(x: Tensor) -> tuple[Tensor, ...]:
    found = _places(x)
    return (
        torch.tensor([found]),
        torch.tensor([[7, *found], [8, *found]]),
        torch.as_tensor(((tuple(found),), (found,))),
        torch.tensor([range(len(found)), found], dtype=torch.float64),
    )


def empty_first(x: Tensor) -> Tensor:
    """Torch looks at the first row alone."""
    return torch.tensor([[], _places(x)])


def uneven(x: Tensor) -> Tensor:
    return torch.tensor([_places(x), [1, 2, 3]])


def uneven_rows(x: Tensor) -> Tensor:
    return torch.tensor([list(range(i)) for i in _places(x)])


def uneven_constants(x: Tensor) -> Tensor:
    return torch.tensor([[int(x.sum()), 1], [2]])


def no_sequence(x: Tensor) -> Tensor:
    return torch.tensor([[int(x.sum())], 2])


def no_number(x: Tensor) -> Tensor:
    return torch.tensor([int(x.sum()), [2]])


def rows(x: Tensor) -> tuple[Tensor, ...]:
    """Lists and tuples of numbers of several types, three deep."""
    found = _places(x)
    return (
        torch.tensor([(i, x[i].item(), True) for i in found]),
        torch.tensor([[v > 1 for v in _values(x)]]),
        torch.tensor([[[i, j] for j in found] for i in found]),
        torch.tensor([[int(i == j) for j in found] for i in found], dtype=torch.bool),
    )


def several_types(x: Tensor) -> tuple[Tensor, ...]:
    """The type is that of what is there."""
    found: list[Any] = []
    for v in x.tolist():
        if v > 2:
            found.append(3)
        elif v > 0.7:
            found.append(v)
        elif v > 0:
            found.append(True)
    return torch.tensor(found), torch.tensor([found]), torch.tensor(found, dtype=torch.float64)


def with_tensors(x: Tensor) -> tuple[Tensor, ...]:
    positive = [v for v in x if v > 0]
    return (
        torch.tensor(positive),
        torch.tensor([[v.double() for v in positive], [2 * v.double() for v in positive]]),
        torch.tensor([v.view(1) for v in positive], dtype=torch.float64),
        torch.tensor([x[:1], x[1:2]]),
    )


def fractions_as_indices(x: Tensor) -> Tensor:
    return torch.tensor([v for v in x if v > 0], dtype=torch.int64)


def several_elements(x: Tensor) -> Tensor:
    return torch.tensor([x[:2] * v for v in x if v > 0])


def of_types(x: Tensor) -> tuple[Tensor, ...]:
    found = _places(x)
    return (
        torch.LongTensor([found]),
        torch.FloatTensor(found),
        torch.Tensor(found),
        torch.BoolTensor([[1, 0], [int(x.sum()), 1]]),
        torch.IntTensor(),
        x.new_tensor([found]),
        x.long().new_tensor(_values(x)),
        x.new_tensor(found, dtype=torch.int16),
    )


def overflowing(x: Tensor) -> Tensor:
    return torch.tensor([i * 100 for i in _places(x)], dtype=torch.uint8)


def overflowing_number(x: Tensor) -> Tensor:
    return torch.tensor(x.sum().item() * 30, dtype=torch.int8)


def padded(x: Tensor) -> tuple[Tensor, Any]:
    lines = [list(range(i + 1)) for i in _places(x)]
    longest = max([len(line) for line in lines], default=0)
    ids = torch.tensor([line + [0] * (longest - len(line)) for line in lines], dtype=torch.int64)
    return ids, functional.embedding(ids, torch.arange(12.0).view(6, 2))


_PROGRAMS: tuple[Callable[..., Any], ...] = (
    nested, empty_first, uneven, uneven_rows, uneven_constants, no_sequence, no_number, rows,
    several_types, with_tensors, fractions_as_indices, several_elements, of_types, overflowing,
    overflowing_number, padded,
)  # fmt: skip


_TOGETHER = Together.of(_PROGRAMS, *_ROWS)


@pytest.mark.parametrize("function", _PROGRAMS)
def test_tensors_of_lists(function: Callable[..., Any]) -> None:
    _TOGETHER.check(function)


@pytest.mark.parametrize("function", _PROGRAMS)
def test_tensors_of_lists_in_libraries(function: Callable[..., Any], tmp_path: Path) -> None:
    _TOGETHER.check_library(function, tmp_path)


def with_gradients(x: Tensor) -> bool:
    return torch.tensor([v for v in x.tolist() if v > 0], requires_grad=True).requires_grad


def test_gradients_of_tensors_of_lists_are_refused() -> None:
    with pytest.raises(CompileError) as refused:
        capture_program(with_gradients, (torch.ones(3),))
    assert refused.value.code == "PTC-B016"
