"""Tensors put side by side and taken apart where data decides how many there are, and results with
as many elements as a count says, against eager."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

from ptc.capture.api import capture_program
from ptc.support.diagnostics import CompileError
from tests.capture.control.checking import Together

_ROWS = (
    torch.tensor([1.0, -2.0, 3.0, 0.5, 2.0]),
    torch.tensor([-1.0, -2.0, -3.0, -1.0, -1.0]),
    torch.tensor([1.0, 2.0, 3.0, 4.0, 6.0]),
    torch.tensor([-1.0, 2.0, -3.0, -4.0, -6.0]),
)


def beside(x: Tensor) -> tuple[Tensor, ...]:
    rows = [x, *[x * v for v in x if v > 0]]
    return torch.vstack(rows), torch.hstack(rows), torch.dstack(rows), torch.column_stack(rows)


def nothing_beside(x: Tensor) -> Tensor:
    return torch.vstack([x * v for v in x if v > 0])


def padded(x: Tensor) -> tuple[Tensor, ...]:
    lines = [x[:i] for i, v in enumerate(x.tolist()) if v > -2]
    pad = nn.utils.rnn.pad_sequence
    return pad(lines), pad([x, *lines], batch_first=True, padding_value=-1.0)


def split(x: Tensor) -> tuple[Any, ...]:
    found = x[x > 0]
    columns = found.view(1, -1)
    return found.split(2), columns.split(2, dim=-1), x.split(len(found) + 1)


def split_to_nothing(x: Tensor) -> tuple[Tensor, ...]:
    return x.split(len(x[x > 0]))


def split_by_a_list(x: Tensor) -> list[Tensor]:
    sizes = [1 for v in x.tolist() if v > 0]
    sizes.append(4 - len(sizes))
    return [part * 2 for part in torch.split(x[1:], sizes)]


def chunks(x: Tensor) -> tuple[Any, ...]:
    found = x[x > 0]
    twice = torch.cat([found, found])
    one, other = twice.chunk(2)
    return found.chunk(2), x.chunk(len(found) + 1), one - other


def pair(x: Tensor) -> Tensor:
    one, other = x[x > 0].chunk(2)
    return one.sum() - other.sum()


def unbound(x: Tensor) -> tuple[Any, ...]:
    found = x[x > 0]
    both = [a * b for a, b in zip(found.unbind(), found.split(1), strict=True)]
    return found.unbind(), torch.unbind(found.view(1, -1), dim=1), both, sum(found.unbind())


def classes(x: Tensor) -> tuple[Tensor, ...]:
    count = int((x > 0).sum())
    return (
        functional.one_hot((x > 0).long(), count + 2),
        functional.one_hot((x > 0).long()),
        torch.bincount((x > 0).long(), minlength=count + 1),
    )


def too_few_classes(x: Tensor) -> Tensor:
    return functional.one_hot(torch.tensor([0, 3]), len(x[x > 0]))


def no_classes(x: Tensor) -> Tensor:
    return functional.one_hot(torch.arange(len(x[x > 0])))


_PROGRAMS: tuple[Callable[..., Any], ...] = (
    beside, nothing_beside, padded, split, split_to_nothing, split_by_a_list, chunks, pair, unbound,
    classes, too_few_classes, no_classes,
)  # fmt: skip


_TOGETHER = Together.of(_PROGRAMS, *_ROWS)


@pytest.mark.parametrize("function", _PROGRAMS)
def test_pieces(function: Callable[..., Any]) -> None:
    _TOGETHER.check(function)


@pytest.mark.parametrize("function", _PROGRAMS)
def test_pieces_in_libraries(function: Callable[..., Any], tmp_path: Path) -> None:
    _TOGETHER.check_library(function, tmp_path)


def written(x: Tensor) -> Tensor:
    parts = x.split(int((x > 0).sum()) + 1)
    parts[0].add_(1)
    return x


def test_writes_to_parts_of_which_data_decides_how_many_there_are() -> None:
    with pytest.raises(CompileError) as refused:
        capture_program(written, (_ROWS[0],))
    assert refused.value.code == "PTC-B018"
