"""Which of several tensors one is where data decides it, and what hangs on that, against eager."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

import ptc
from ptc.support.diagnostics import CompileError
from tests.capture.control.checking import check, run
from tests.zoo.case import Case
from tests.zoo.harness import captured, compare, eager, library, logging_at

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


def one_of_two(x: Tensor) -> Any:
    a, b, c = x + 1, x + 2, None
    chosen = a if x[0] > 1 else b
    if x[0] > 1:
        c = a
    elif x[1] > 0:
        c = b
    found = chosen is a, chosen is not a, chosen is b, chosen is c, c is a, c is None
    return found, chosen in [a], chosen in (b, a), a in [chosen, a], [a, 1] == [chosen, 1]


def a_view_or_another(x: Tensor) -> Any:
    y, part = x[:2], x[1:3]
    if x[0] > 1:
        part = y
    both = (x, x * 2)
    if x[1] > 0:
        both = both[::-1]
    one, other = both
    return part is y, one is x, other is x, one is other


def carried_by_loops(x: Tensor) -> Any:
    previous, current, best, found = None, x, x, []
    for i in range(int(x.abs().sum())):
        following = current if x[i % 4] > 0 else current + 1
        found.append(following is current)
        previous, current = current, following
        y = x * i
        if y.sum() > best.sum():
            best = y
        found.append(y is best)
        for j in range(i % 2 + 1):
            y = y * 2 if x[j] > 0 else best
        found.append(y is best)
    return found, previous is current, current is x, best is x


def bound_by_the_first_iteration(x: Tensor) -> Any:
    current = x
    for _ in range(int(x.abs().sum())):
        old = current
        current = current + 1 if x[0] > 0 else current
        if current is old:
            break
    return current is old, current  # pyright: ignore[reportPossiblyUnboundVariable]


def as_keys(x: Tensor) -> Any:
    a, b = x + 1, x + 1
    chosen = a if x[0] > 0 else b
    return {a: 1, b: 2}[chosen], a in {chosen}, len({a, b, chosen})


def counted_twice(x: Tensor) -> Any:
    places, again = x.nonzero(), x.nonzero()
    places.add_(1)
    values, more = x.unique(), x.unique()
    more.zero_()
    return places is again, again, x.nonzero(), x[x > 0], values, x.unique()


SAME = [
    one_of_two, a_view_or_another, carried_by_loops, bound_by_the_first_iteration, as_keys,
    counted_twice,
]  # fmt: skip


@pytest.mark.parametrize("program", SAME)
def test_whether_two_are_one_tensor_hangs_on_the_arms(program: Any) -> None:
    check(program, *ROWS)


def in_lists(x: Tensor) -> Any:
    a, b, total = x + 1, x + 2, torch.zeros(4)
    rows, pairs, lasts, best = [a], [], {}, a
    for i in range(int(x.abs().sum())):
        total += x
        if x[i % 4] > 1:
            total = total.clone()
        rows.append(a if x[i % 4] > 0 else total)
        pairs.append((i, rows[-1]))
        lasts[i] = x * i
        if lasts[i].sum() > best.sum():
            best = lasts[i]
    found = [row is other for row, other in itertools.pairwise(rows)]
    found += [row is total for row in rows] + [rows[-1] is rows[-1], rows[0] is a]
    found += [one is b for _, one in pairs] + [one is best for one in lasts.values()]
    return found, rows, torch.stack(rows), len(rows) > 1 and rows[1] in rows


def in_lists_of_lists(x: Tensor) -> Any:
    a, rows = x + 1, [[x]]
    for i in range(int(x.abs().sum())):
        if x[i % 4] > 0:
            rows.append([x, a][: 1 + i % 2])
        else:
            rows[-1].append(a)
    return [[one is a for one in row] for row in rows], rows


@pytest.mark.parametrize("program", [in_lists, in_lists_of_lists])
def test_lists_of_any_length_know_their_tensors(program: Any) -> None:
    check(program, *ROWS)


class Holder:
    def __init__(self, tensor: Tensor) -> None:
        self.tensor = tensor


def test_tensors_of_objects_in_lists_are_not_taken_for_others() -> None:
    def of_objects(x: Tensor) -> Any:
        holders = []
        for i in range(int(x.abs().sum())):
            holders.append(Holder(x if x[i % 4] > 0 else x * i))
        return [holder.tensor is x for holder in holders]

    with pytest.raises(CompileError, match="PTC-B018"):
        run(of_objects, ROWS[0])


def test_libraries_know_which_tensor_one_is(tmp_path: Path) -> None:
    for program in (carried_by_loops, in_lists):
        case = Case(program.__name__, lambda program=program: program, tuple((r,) for r in ROWS))
        compare(eager(case), library(case, tmp_path))


def writes_to_the_input_or_a_copy(x: Tensor, keep: Tensor) -> Any:
    y = x if keep else x.clone()
    y.add_(1)
    return x.sum(), y


def test_an_input_that_one_arm_writes_to_is_written_in_the_callers_memory(tmp_path: Path) -> None:
    """Also one that is not dense, which a library reads from a copy where nothing writes to it."""
    inputs = tuple((torch.zeros(3), torch.tensor(keep)) for keep in (True, False))
    case = Case("writes", lambda: writes_to_the_input_or_a_copy, inputs)
    assert captured(case).written == {"x"}
    with logging_at(20):
        made = ptc.build(case.make(), inputs[0], output=tmp_path / "libwrites.so", check=False)
    for keep in (True, False):
        mine, its = torch.zeros(6)[::2], torch.zeros(6)[::2]
        expected = writes_to_the_input_or_a_copy(mine, torch.tensor(keep))
        found = made.load()(its, torch.tensor(keep))
        assert torch.equal(its, mine) and torch.equal(found[0], expected[0])
        assert torch.equal(found[1], expected[1])


class AddsToItsBufferOrACopy(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("total", torch.zeros(3))

    def forward(self, x: Tensor, keep: Tensor) -> Tensor:
        y = self.total if keep else self.total.clone()
        y.add_(x)
        return y * 2


def test_a_buffer_that_one_arm_writes_to_is_kept(tmp_path: Path) -> None:
    inputs = tuple((torch.ones(3), torch.tensor(keep)) for keep in (True, False, True))
    case = Case("adds", AddsToItsBufferOrACopy, inputs)
    compare(eager(case), library(case, tmp_path))
