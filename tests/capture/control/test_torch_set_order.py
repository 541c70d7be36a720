"""Sets are gone through in CPython's order, which follows from what was put in and taken out."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from ptc.capture.api import capture_program
from ptc.support.diagnostics import CompileError
from tests.capture.control.checking import check

Row = torch.Tensor
ROWS = [
    torch.tensor(row)
    for row in (
        [3, 17, 9, 1, 33, 65, 8], [0, 0, 0, 0, 0, 0, 0], [64, 32, 16, 8, 4, 2, 1],
        [-1, -2, -9, 7, 1000003, 5, -1], [2**40, 2**61, 2**61 - 2, 5, -(2**62), 1, 0],
        [40, 39, 38, 37, 36, 35, 34],
    )
]  # fmt: skip


def grown(x: Row) -> Any:
    s = set()
    for v in x.tolist():
        s.add(v)
        s.add(v + 8)
    return list(s)


def of_a_list(x: Row) -> Any:
    total = 0
    for v in set(x[x > 0].tolist()):
        total = total * 3 % 1009 + v
    return total


def of_tuples(x: Row) -> Any:
    n = x[x > -5].tolist()
    s = {(a, b) for a, b in zip(n[:-1], n[1:], strict=True)}  # noqa: RUF007
    return list(s), list({(a, (b, a > b)) for a, b in s})


def least_of_equals(x: Row) -> Any:
    s = set(x[x != 3].tolist())
    return min(s, key=lambda v: v % 2, default=-1), sorted(s, key=lambda v: v % 3)


def taken_out(x: Row) -> Any:
    n = x[x > -3].tolist()
    s = set(range(0, 40, 3))
    for v in n:
        if v in s:
            s.remove(v)
        else:
            s.add(v % 8 * 8)
        s.discard(v % 12)
    first = s.pop() if s else -1
    return first, list(s)


def popped(x: Row) -> Any:
    s = set(x.tolist())
    out = []
    while s:
        out.append(s.pop())
        if len(out) == 3:
            s.add(96)
        if len(out) > 20:
            break
    return out


def cleared(x: Row) -> Any:
    s = set()
    for v in x.tolist():
        if v > 8 and s:
            s.clear()
        s.add(v % 64)
    return list(s)


def combined(x: Row) -> Any:
    a = set(x[:4].tolist())
    b = {v % 16 for v in x[x > 0].tolist()}
    return (
        list(a | b), list(a & b), list(a - b), list(a ^ b), list(b - a), list(b | {1, 64, 5}),
        list({8, 3, 16} | b), list(a.union(x.tolist(), b)), list(b.difference(x.tolist(), a)),
        list(b.intersection(range(0, 50, 2))), list(a.copy()), list(set(b)),
    )  # fmt: skip


def combined_in_place(x: Row) -> Any:
    a = set(x[x > -100].tolist())
    b = {v % 16 for v in x[x > 0].tolist()}
    c = a.copy()
    a |= b
    one = list(a)
    a -= {0, 8, 16, 24}
    two = list(a)
    a ^= b
    three = list(a)
    b &= c
    c.intersection_update(a)
    c.update([5, 72], b)
    return one, two, three, list(b), list(c)


def of_dictionaries(x: Row) -> Any:
    d: dict[int, int] = {}
    for v in x.tolist():
        d[v % 32] = d.get(v % 32, 0) + 1
    s = {1, 33, 9}
    s.update(d)
    keys = d.keys()
    return list(set(d)), list(s), list(keys & s), list(keys - {3, 1}), list(keys | {40, 3})


def known_but_for_presence(x: Row) -> Any:
    s = {8}
    if x[0] > 3:
        s.add(0)
    if x[1] > 3:
        s.add(16)
    s.add(int(x[2]))
    out = []
    for v in s:
        out.append(v)
    return out


def two_numbers(x: Row) -> Any:
    y = x.float()
    for number in {int(x[0]), int(x[1])}:
        y = y * 2 + number
    return y


def pairs_of_numbers(x: Row) -> Any:
    out = 0
    for a, b in {(int(x[0]), 1), (2, int(x[1])), (0, 0)}:
        out = out * 7 % 1013 + a % 100 - b % 50
    return out


def replaced_in_a_loop(x: Row) -> Any:
    s = {1}
    for v in x.tolist():
        s = {v, v % 5} if v > 20 else s | {v % 64}
    return list(s)


def kept_level(x: Row) -> Any:
    s = {0, 8, 16}
    for v in x[x > 0].tolist():
        s.add(v)
        if v not in (0, 8, 16):
            s.discard(v)
    s.add(24)
    return list(s)


def of_fractions(x: Row) -> Any:
    s = set()
    for v in x.tolist():
        s.add(v / 4 % 100.0)
        s.add(v * 0.1 % 7)
    total = 0.0
    for v in s:
        total = total / 2 + v
    return total, sum(s)


def shown(x: Row) -> Any:
    s = {v % 50 for v in x[x > 0].tolist()}
    print(s, f"{s}", set(x[:0].tolist()))
    first, *rest = s or {1, 2}
    return first, rest, [*s, 5], tuple(s), list(enumerate(s)), list(zip(s, "ab"))  # noqa: B905


def changed_while_gone_through(x: Row) -> Any:
    s = set(x.tolist())
    for v in s:
        if v == 1000003:
            s.add(v + 1)
        s.add(v)
    return len(s)


PROGRAMS = [
    grown, of_a_list, of_tuples, least_of_equals, taken_out, popped, cleared, combined,
    combined_in_place, of_dictionaries, known_but_for_presence, two_numbers, pairs_of_numbers,
    replaced_in_a_loop, kept_level, of_fractions, shown, changed_while_gone_through,
]  # fmt: skip


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_programs(program: Any) -> None:
    check(program, *ROWS)


def constants(x: Row) -> Any:
    literal = {0, 16, 1, 2, 3}
    large = set(range(100))
    for v in range(100):
        if v not in (3, 64):
            large.discard(v)
    merged = {1, 2, 3} | {8, 16, 24, 40, 0}
    y = x.float()
    if x[0] > 3:
        y = y + 1
    fixed = frozenset({64, 32, 3, 16, 24})
    for v in [*fixed, *(frozenset(literal) | {8, 24}), *frozenset([33, 1, 9])]:
        y = y + v * y % 7
    for v in [*literal, *large, *merged, *(literal - {1}), *({5, 21, 37} & {37, 5})]:
        y = y * 1.5 + v
    return y, list(fixed)


def test_sets_of_constants() -> None:
    check(constants, *ROWS)


def _texts(x: Row) -> Any:
    return [word for word in {str(v) for v in x.tolist()}]  # noqa: C416


class Keeping(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.seen = {1, 2}

    def forward(self, x: Row) -> Any:
        for v in x[x > 0].tolist():
            self.seen.add(v)
        return [v * 2 for v in self.seen]


@pytest.mark.parametrize("program", [_texts, Keeping()], ids=["texts", "kept"])
def test_an_order_that_is_not_known_is_refused(program: Any) -> None:
    with pytest.raises(CompileError) as caught:
        capture_program(program, (ROWS[0],))
    assert caught.value.code == "PTC-B006"
    assert "the order of a set" in str(caught.value)
    assert caught.value.diagnostic.location is not None
