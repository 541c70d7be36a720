"""How large captured programs are: loops that are carried and not written out, and states that are
merged where they meet."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from typing import Any

import pytest
import torch

from ptc.capture.api import capture_program
from ptc.graph.control import ControlProgram, If, While, walk
from ptc.support.diagnostics import CompileError
from tests.capture.control.checking import check


def items(function: Callable[..., Any], *example: Any) -> tuple[int, int]:
    """How many items the captured program has, and how many loops among them."""
    program = capture_program(function, example)
    assert isinstance(program, ControlProgram)
    every = list(walk(program.body))
    return len(every), sum(isinstance(item, While) for item in every)


def test_a_dictionary_in_a_closure_is_made_anew_in_each_iteration():
    def shortest_moves(x):
        values = x.tolist()
        left = int(values[0])
        taken = []
        while left > 0:
            moves = {"one": values[0] + left, "two": values[1], "three": values[2]}
            move = min(moves, key=lambda name: moves[name])
            left -= {"one": 1, "two": 2, "three": 3}[move]
            taken.append(left)
        return taken

    x = torch.tensor([10.0, 12.0, 13.0])
    check(shortest_moves, x, torch.tensor([9.0, 2.0, 1.0]), torch.tensor([-1.0, 2.0, 1.0]))
    count, loops = items(shortest_moves, x)
    assert loops == 1
    assert count < 80


def test_a_function_in_a_closure_is_made_anew_in_each_iteration():
    def total(x):
        left, sum_ = int(x[0]), x
        while left > 0:
            row = x * left
            shifted = lambda by: row + by  # noqa: B023, E731
            twice = lambda by: shifted(by) * 2  # noqa: B023, E731
            sum_ = sum_ + twice(left)
            left -= 1
        return sum_

    check(total, torch.tensor([3.0, 2.0]), torch.tensor([0.0, 2.0]), torch.tensor([1.0, 1.0]))
    assert items(total, torch.tensor([3.0, 2.0]))[1] == 1


class Holder:
    def __init__(self, left):
        self.left = left


def test_an_object_of_the_last_iteration_that_a_closure_asks_for_is_refused():
    def previous(x):
        left, sum_ = int(x[0]), 0
        last = Holder(left)
        value = lambda: last.left  # noqa: E731
        while left > 0:
            sum_ += value()
            last = Holder(left)
            left -= 1
        return sum_

    def afterwards(x):
        left = int(x[0])
        while left > 0:
            last = Holder(left)
            left -= max(1, min(last.left for _ in range(2)))
        return last.left

    for function in (previous, afterwards):
        with pytest.raises(CompileError, match="PTC-B006"):
            capture_program(function, (torch.tensor([3.0]),))


def test_a_variable_of_a_closure_is_assigned_in_one_arm():
    def scaled(x):
        if x.sum() > 0:
            factor = 2.0
        elif x[0] > 5:
            factor = 3.0
        get = lambda: factor  # noqa: E731
        return x * get() if x[1] > 0 else x

    check(scaled, torch.tensor([1.0, 2.0]), torch.tensor([6.0, -8.0]), torch.tensor([-3.0, -2.0]))


CELL = torch.nn.LSTMCell(3, 4)


def test_tensors_cut_at_one_number_have_one_size_again():
    def shrinking(x, lengths):
        h, c = x.new_zeros(x.shape[0], 4), x.new_zeros(x.shape[0], 4)
        for t in range(2):
            active = int((lengths > t).sum())
            if active == 0:
                break
            ha, ca = CELL(x[:active, t], (h[:active], c[:active]))
            h, c = torch.cat([ha, h[active:]]), torch.cat([ca, c[active:]])
        return h, c

    x = torch.randn(4, 2, 3)
    given = ([1, 2, 0, 3], [0, 0, 0, 0], [2, 2, 2, 2], [0, 0, 0, 1])
    check(shrinking, *((x, torch.tensor(lengths)) for lengths in given))
    count, loops = items(shrinking, x, torch.tensor(given[0]))
    assert loops == 0
    assert count < 100


def test_a_slice_with_one_bound_that_data_decides_is_taken_without_a_branch():
    def cut(x, at):
        n = int(at)
        first, rest, column = x[:n], x[n:], x[:, n:]
        x[..., :n] = 0
        return first, rest, column, x[None, n:, 1]

    def further(x, at):
        n = int(at)
        return x[1:n], x[:n:2], x[-3:n], x[n : n + 1]

    x = torch.arange(12.0).reshape(4, 3)
    numbers = (2, 0, 1, 3, 4, 5, -1, -3, -4, -5, -9, 2**63 - 1, -(2**62))
    for function in (cut, further):
        check(function, *((x.clone(), torch.tensor(number)) for number in numbers))
    program = capture_program(cut, (x, torch.tensor(1)))
    assert isinstance(program, ControlProgram)
    assert not any(isinstance(item, If) for item in walk(program.body))


def test_a_slice_of_a_tensor_whose_size_data_decides():
    def cut(x, at):
        found = x[x > 0]
        n = int(at)
        return found[:n], found[n:].sum(), len(found[n:])

    x = torch.tensor([1.0, -1.0, 2.0, 3.0])
    numbers = (2, 0, 1, 3, 4, -1, -3, -4)
    none = (torch.tensor([-1.0, -2.0, -2.0, -3.0]), torch.tensor(1))
    check(cut, *((x, torch.tensor(number)) for number in numbers), none)


def test_a_list_repeated_as_often_as_a_size_says():
    def repeated(x):
        kept = x[x > 0]
        count = len(kept)
        row = [0] * (count + 1)
        for i in range(count):
            row[i] = i * 2
        return row, [1.5] * count

    check(repeated, *map(torch.tensor, ([1.5, 2.0, 3.0], [-1.0, -2.0, -3.0], [4.0, 0.4, -4.0])))


# -- what is assigned on some ways only, again and again ------------------------------------------


def lists_under_keys(x):
    groups, dropped = defaultdict(list), 0
    for i, key in enumerate(x.tolist()):
        if key < 0:
            continue
        if len(groups[key]) >= 2:
            dropped += 1
            continue
        groups[key].append(i)
    return [(key, len(group), sum(group)) for key, group in sorted(groups.items())], dropped


def none_or_a_row(x):
    best = None
    for value in x.tolist():
        row = x * value
        if row.sum() > 1 and (best is None or row[0] > best[0]):
            best = row + 1
    return best


def none_or_a_pair(x):
    best = None
    for i, value in enumerate(x.tolist()):
        if value > 0 and (best is None or value > best[1]):
            best = (i, value)
    return best


def none_or_a_list(x):
    found = None
    for i, value in enumerate(x.tolist()):
        if value > 1:
            found = [i]
        elif value > 0 and found is not None:
            found.append(i)
        elif value < -1:
            found = None
    return None if found is None else (len(found), sum(found))


def none_or_a_place(x):
    start, quiet, mode, lengths = None, 0, "idle", []
    for i, value in enumerate(x.tolist()):
        if start is None:
            if value > 0:
                start, quiet, mode = i, 0, "on"
            continue
        if value < 0:
            quiet, mode = quiet + 1, "quiet"
            if quiet >= 2:
                lengths.append(i - start)
                start, mode = None, "idle"
        else:
            quiet, mode = 0, "on"
    return lengths, start, mode


def one_list_by_two_names(x):
    first, second = [], None
    if x[0] > 0:
        second = first
    elif x[1] > 0:
        second = [7]
    if second is not None:
        second.append(1)
    if x[2] > 0:
        first.append(5)
    return len(first), sum(first), None if second is None else sum(second)


@pytest.mark.parametrize(
    ("function", "most"),
    [
        (lists_under_keys, 2500),
        (none_or_a_row, 250),
        (none_or_a_pair, 250),
        (none_or_a_list, 500),
        (none_or_a_place, 600),
        (one_list_by_two_names, 200),
    ],
)
def test_one_of_few_things(function, most):
    rows = (
        [1, 2, -1, 1, 1, 2],
        [-1, -1, -1, -1, -1, -2],
        [-2, 3, 3, 3, -1, 3],
        [2, 1, -3, 4, 5, 6],
    )
    inputs = [torch.tensor(row) for row in rows]
    check(function, *inputs)
    twice = torch.cat([inputs[0], inputs[1]])
    check(function, twice)
    assert items(function, inputs[0])[0] < most
    assert items(function, twice)[0] < 4 * most  # and not ever more


def made_on_ways_that_stay_apart(x):
    if x[0] > 0:
        rows, holder = iter([x * 2, x * 3]), Holder(2)
    else:
        rows, holder = iter([x]), None
    total = x + 1 if x[1] > 0 else x
    for row in rows:
        total = total + row
    return total if holder is None else total * holder.left


def test_an_object_of_some_ways_is_none_of_the_others():
    check(made_on_ways_that_stay_apart, *map(torch.tensor, ([1.0, 2], [-1.0, 2], [1.0, -2])))
