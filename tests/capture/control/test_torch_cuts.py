"""Tensors cut where data says, and joined again: one piece of program, whatever the sizes are."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

import ptc
from ptc.capture.api import capture_program
from ptc.graph.control import ControlProgram, Segment, walk
from tests.capture.control.checking import check

PLACES = [
    (torch.arange(5.0), torch.tensor(i), torch.tensor(j))
    for i, j in itertools.product((-7, -2, 0, 1, 4, 5, 9), repeat=2)
]
Row = torch.Tensor


def between(x: Row, i: Row, j: Row) -> Any:
    a, b = i.item(), j.item()
    return x[a:b], x[a : b + 1] * 2, len(x[min(a, b) : max(a, b)])


def window(x: Row, i: Row, j: Row) -> Any:
    a = i.item()
    return x[a : a + 2], x[a : a + int(j)]


def without(x: Row, i: Row, j: Row) -> Any:
    a, b = min(i.item(), j.item()), max(i.item(), j.item())
    y = torch.cat([x[:a], x.new_full((1,), 7.0), x[a + 1 : b], x[b + 1 :]])
    return y, y.sum(), len(y)


def rows(x: Row, i: Row, j: Row) -> Any:
    y = x[:, None].repeat(1, 2)
    a, b = i.item(), j.item()
    return torch.cat([y[b:], y[:a], y[a:b]]), torch.cat([y.T[:, a:], y.T[:, :b]], -1)


def mixed(x: Row, i: Row, j: Row) -> Any:
    return torch.cat([x[: i.item()], torch.arange(2), x[j.item() :].double()])


@pytest.mark.parametrize("function", [between, window, without, rows, mixed])
def test_cuts_and_joins_are_those_of_eager(function: Callable[..., Any]) -> None:
    check(function, *PLACES)


def test_libraries_cut_and_join(tmp_path: Path) -> None:
    report = ptc.build(without, PLACES[0], output=tmp_path / "libwithout.so")
    assert report is not None
    library = ptc.load(report.library)
    for args in PLACES:
        for mine, its in zip(library(*args), without(*args), strict=True):
            assert torch.equal(torch.as_tensor(mine), torch.as_tensor(its))


def test_what_is_cut_and_joined_is_one_piece() -> None:
    program = capture_program(without, PLACES[0], {})
    assert isinstance(program, ControlProgram)
    assert sum(isinstance(item, Segment) for item in walk(program.body)) == 1


def scaled(x: Row) -> Any:
    p = x[0].item()
    return torch.nn.functional.dropout(x, p, training=False), x**p, torch.add(x, x, alpha=p)


def test_what_is_known_of_floats_is_not_what_would_be_of_integers() -> None:
    check(scaled, *(torch.tensor([p, 2.0]) for p in (0.5, 0.25, 0.0, 1.0)))
