"""Which of several tensors one is where data decides it, and what hangs on that, against eager."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor

from ptc.support.diagnostics import CompileError
from tests.capture.control.checking import check, run

ROWS = [
    torch.tensor(row)
    for row in (
        [2.5, 1.5, 0.5, -0.5], [-1.5, -2.5, 0.5, 1.5], [-0.5, -0.5, -0.5, -0.5],
        [1.5, 0.5, 2.5, -3.0],
    )
]  # fmt: skip


def a_view_itself_or_a_copy(x: Tensor) -> Any:
    y = x.clone()
    if x[0] > 0:
        part = y[1:]
    elif x[0] > -1:
        part = y
    else:
        part = y.clone()
    y.add_(1)
    part.mul_(2)
    return y, part


def a_view_itself_or_a_copy_in_a_list(x: Tensor) -> Any:
    y, parts = x.clone(), []
    for i in range(3):
        if x[i] > 0:
            parts.append(y[i:])
        elif x[i] > -1:
            parts.append(y)
        else:
            parts.append(y.clone())
        y.add_(1)
    for part in parts:
        part.mul_(2)
    return y, parts


@pytest.mark.parametrize("program", [a_view_itself_or_a_copy, a_view_itself_or_a_copy_in_a_list])
def test_a_write_reaches_what_one_of_several_arms_gave(program: Any) -> None:
    check(program, *ROWS)


def recorded_in_one_arm(x: Tensor) -> Any:
    with torch.enable_grad(), torch.autocast("cpu", dtype=torch.bfloat16):
        w = torch.ones(4, requires_grad=True)
        y = w * x if x[0] > 0 else w.detach() * x
        z = y[1:] + 1
        found = y.requires_grad, y.is_leaf, z.requires_grad, z.argmax().requires_grad
        with torch.no_grad():
            found = (*found, (y * 2).requires_grad)
    # Capture starts again in there, and not with the modes that it has
    square = torch.outer(x, x) @ torch.outer(x, x)
    return found, square, y.detach(), y.detach().requires_grad


def recorded_nowhere(x: Tensor) -> Any:
    y, rows = x * 2 if x[0] > 0 else x * 3, []
    for i in range(int(x.abs().sum())):
        rows.append(y * i)
    return y.requires_grad, y.is_leaf, y.grad_fn is None, [row.requires_grad for row in rows]


def recorded_in_a_list(x: Tensor) -> Any:
    with torch.enable_grad():
        w, rows = torch.ones(4, requires_grad=True), []
        for value in x:
            rows.append(w * value if value > 0 else x * 2)
        return [row.requires_grad for row in rows]


RECORDED = [recorded_in_one_arm, recorded_nowhere, recorded_in_a_list]


@pytest.mark.parametrize("program", RECORDED)
def test_whether_gradients_are_recorded_hangs_on_the_arm(program: Any) -> None:
    check(program, *(row.clone() for row in ROWS))


def recorded_by_a_loop(x: Tensor) -> Any:
    with torch.enable_grad():
        w, y = torch.ones(4, requires_grad=True), x
        for _ in range(int(x.abs().sum())):
            y = y * w
        return y.requires_grad


def recorded_by_a_write(x: Tensor) -> Any:
    with torch.enable_grad():
        w, y = torch.ones(4, requires_grad=True), x * 2
        part = y[1:]
        if x[0] > 0:
            y.add_(w)
        return part.requires_grad


@pytest.mark.parametrize("program", [recorded_by_a_loop, recorded_by_a_write])
def test_whether_gradients_are_recorded_is_not_guessed(program: Any) -> None:
    with pytest.raises(CompileError, match="PTC-B016"):
        run(program, ROWS[0])


def columns(x: Tensor) -> Tensor:
    y = torch.stack([x, x])[:, x > 0]
    for column in y.unbind(-1):
        column.add_(1)
    return y


def first_row(x: Tensor) -> Tensor:
    y = torch.stack([x, x], 1)[x > 0]
    row = next(iter(y.unbind(0)), None)
    if row is not None:
        row.fill_(3)
    return y


def rows_or_copies(x: Tensor) -> Tensor:
    y, rows = torch.stack([x, x], 1)[x > 0], []
    for i in range(len(y)):
        rows.append(y[i] if i % 2 else y[i].clone())
    for row in rows:
        row += 1
    return y


@pytest.mark.parametrize("program", [columns, first_row, rows_or_copies])
def test_parts_in_lists_of_any_length_are_not_written_to(program: Any) -> None:
    with pytest.raises(CompileError, match="PTC-B018"):
        run(program, ROWS[0])


def test_rows_in_hand_are_written_to() -> None:
    def rows(x: Tensor) -> Any:
        y = torch.stack([x, x], 1)[x > 0]
        z = y * 2
        for i, (one, other) in enumerate(zip(y, z, strict=True)):
            one.add_(other).mul_(i)
            other.zero_()
        return y, z

    check(rows, *ROWS)
