"""Tensors that are one by several names, and writes to them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from ptc.capture.api import capture_program
from ptc.graph.control import ControlProgram
from ptc.support.diagnostics import CompileError
from tests.capture.control.checking import Together, check, run
from tests.graph.structured import run_structured
from tests.zoo.case import Case
from tests.zoo.harness import compare, eager, interpreted

UP, DOWN = torch.tensor([1.0, 2.0, 3.0, 4.0]), torch.tensor([-1.0, -2.0, -3.0, -4.0])
MIXED = torch.tensor([1.0, -2.0, 3.0, -4.0])
Row = torch.Tensor


class ReplacedThenWritten(nn.Module):
    """The tensor that a buffer was is written to after the buffer is another one."""

    def __init__(self) -> None:
        super().__init__()
        self.p = nn.Buffer(torch.zeros(4))

    def forward(self, x: Row) -> Any:
        old = self.p
        self.p = x
        if x[0] > 0:
            old.add_(x)
        x.add_(1)
        return old, self.p


def masked_writes(x: Row) -> Any:
    """Where nothing is selected, tensors without elements are no views of each other."""
    y = x + 0
    v = y[1:]
    m = v > 0
    v[m] = 5
    if y.sum() > 6:
        v.masked_fill_(m, 2)
    v[v < 0] += 100
    return y, v


def two_writes(x: Row) -> Any:
    a, b = x + 0, x * 2
    p = a if x[0] > 0 else b
    q = b if x[1] > 0 else a
    p.add_(q)
    q.mul_(p)
    a.sub_(b)
    p.add_(1)
    return a, b, p, q


def selected_again(x: Row) -> Any:
    a, b = x + 0, x * 2
    p = a if x[0] > 0 else b
    first = p[p > 1]
    a.add_(2)
    second = p[p > 1]
    b.sub_(2)
    return first, second, p[p > 1], len(first) + len(second)


def an_element_twice(x: Row) -> Any:
    rows = [x + 0]
    for k in range(int(x.abs().max())):
        rows.append(x * k)
    a = x * 3
    rows[0] = a
    rows[-1] = a
    a.add_(1)
    rows[-1].add_(rows[0])
    return rows, a, rows[0] + a


@pytest.mark.parametrize("program", [masked_writes, two_writes, selected_again, an_element_twice])
def test_writes_are_seen_by_every_name(program: Any) -> None:
    check(program, UP, DOWN, MIXED)


def test_a_replaced_buffer_keeps_its_tensor() -> None:
    case = Case("replaced", ReplacedThenWritten, ((UP,), (DOWN,), (UP,)))
    compare(eager(case), interpreted(case))


def test_inputs_that_share_memory_are_not_taken_apart() -> None:
    def program(x: Row, y: Row) -> Any:
        if x.sum() > 0:
            x.add_(1)
        return x + y

    captured = capture_program(program, (UP.clone(), UP.clone()))
    assert isinstance(captured, ControlProgram)
    memory = torch.arange(5.0)
    for x, y in ((memory[:4], memory[1:]), (memory[:4], memory[:4])):
        with pytest.raises(CompileError) as caught:
            run_structured(captured, {"x": x, "y": y}, {})
        assert caught.value.code == "PTC-R016"
    assert memory.equal(torch.arange(5.0))


def elements(x: torch.Tensor) -> Any:
    """A view in one arm, written back to where it came from."""
    values = x.clone()
    for i in range(5):
        values[i] = values[i] * 2 if values[i] > 2 else values[i]
    return values


def elements_by_data(x: torch.Tensor, n: torch.Tensor) -> Any:
    values = x.clone()
    for i in range(int(n)):
        values[i] = values[i] * 2 if values[i] > 2 else values[i]
        values[0] += values[i]
    return values


def test_a_view_in_one_arm_is_written_back() -> None:
    rows = [torch.tensor([3.0, 1.0, 2.0, 5.0, 2.0]), torch.tensor([0.0, -1.0, 4.0, 4.0, -5.0])]
    check(elements, *rows)
    check(elements_by_data, *((row, torch.tensor(n)) for row in rows for n in (5, 0, 2)))


def used_after_writing(x: torch.Tensor) -> Any:
    values = x.clone()
    first = values[0] if x[0] > 1 else values[1] + 1
    values += 1
    return first


def written_in_an_arm(x: torch.Tensor) -> Any:
    values = x.clone()
    first = values[0] if x[0] > 1 else values[1] + 1
    if x[1] > 0:
        values += 1
    return first


def read_again(x: torch.Tensor) -> Any:
    flags = x > 1
    first = flags[0] if x[0] > 1 else ~flags[1]
    found = 1 if first else 0
    flags.logical_not_()
    return found + 2 if first else found


def from_before_the_loop(x: torch.Tensor) -> Any:
    values = x.clone()
    first, found = values[0] if x[0] > 1 else values[1] + 1, 0.0
    for _ in range(int(x[2])):
        found += float(first)
        values += 1
    return found


def through_the_copy(x: torch.Tensor) -> Any:
    values = x.clone()
    part = values[:2] if x[0] > 1 else values[1:3] + 1
    part += 1
    return values


def views_of_one(x: torch.Tensor) -> Any:
    values = x[:, None] + torch.zeros(5, 3)
    part = values[0] if x[0] > 1 else values[1]
    part.add_(1)
    part[2] = 7
    values[1, 0] -= 5
    return values, part, part.sum()


def views_of_two(x: torch.Tensor) -> Any:
    one, other = torch.zeros(4, 3), torch.ones(4, 3)
    part = one[0] if x[0] > 1 else other[int(x[2]) % 4]
    part.mul_(2).add_(1)
    return one, other, part


def a_view_or_a_new_one(x: torch.Tensor) -> Any:
    values = torch.zeros(4, 3)
    if x[0] > 1:
        part = values[1:3]
        part.add_(1)
    else:
        part = torch.zeros(2, 3)
    part[0] = 4
    values[1, 1] = 9
    return values, part


def another_view_each_time(x: torch.Tensor) -> Any:
    values = torch.zeros(4, 3)
    part = values[0]
    for i, v in enumerate(x.tolist()):
        part.add_(1)
        if v > 1:
            part = values[i % 4]
    return values


def whole_ones(x: torch.Tensor) -> Any:
    one, other = torch.zeros(3, 3), torch.ones(3, 3)
    some = one if x[0] > 1 else other
    some[1] = 5
    some += 1
    copy = one.clone() if x[1] > 0 else one
    copy.fill_diagonal_(-1.0)
    return one, other, some, copy


VIEWS = [
    used_after_writing, written_in_an_arm, read_again, from_before_the_loop, through_the_copy,
    views_of_one, views_of_two, a_view_or_a_new_one, another_view_each_time, whole_ones,
]  # fmt: skip
PARTS = [
    torch.tensor(r)
    for r in (
        [3.0, 1.0, 2.0, 5.0, 2.0], [0.0, -1.0, 4.0, 4.0, -5.0], [1.5, 0.5, 0.0, 1.0, 1.0],
        [2.0, -1.0, 3.0, -4.0, 1.0],
    )
]  # fmt: skip


@pytest.mark.parametrize("program", VIEWS)
def test_a_write_is_seen_by_the_view_that_it_is(program: Any) -> None:
    check(program, *PARTS)


def test_a_library_writes_to_the_view_that_it_is(tmp_path: Path) -> None:
    programs = (views_of_one, views_of_two, a_view_or_a_new_one, whole_ones)
    together = Together.of(programs, *PARTS)
    for program in programs:
        together.check_library(program, tmp_path)


def carried(x: torch.Tensor) -> Any:
    values, found = x.clone(), 0.0
    first = values[0] if x[0] > 1 else values[1] + 1
    for _ in range(int(x[2])):
        found += float(first)
        first = values[1] if values[1] > 3 else values[2] * 2
        values += 1
    return found


def in_a_list(x: torch.Tensor) -> Any:
    values, firsts = x.clone(), []
    for _ in range(int(x[2])):
        firsts.append(values[0] if x[0] > 1 else values[1] + 1)
    values += 1
    return torch.stack(firsts)


@pytest.mark.parametrize("program", [carried, in_a_list])
def test_a_view_in_one_arm_that_lasts_is_not_used_after_its_base_was_written(program: Any) -> None:
    with pytest.raises(CompileError, match="PTC-B0(06|18)"):
        run(program, torch.tensor([3.0, 1.0, 2.0, 5.0, 2.0]))
