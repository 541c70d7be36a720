"""Proofs by residues: what is claimed holds for every size, and what windows need is proved."""

from __future__ import annotations

import operator
import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
import sympy
from torch.utils._sympy.functions import FloorDiv, Max, Min, Mod, PythonMod

from ptc.graph.residues import holds_by_residues

S = sympy.Symbol("s0", integer=True, positive=True)
T = sympy.Symbol("s1", integer=True, positive=True)
OPEN = {"s0": (2, 2**31 - 1), "s1": (2, 2**31 - 1)}
RELATIONS = {
    sympy.Eq: operator.eq,
    sympy.Ne: operator.ne,
    sympy.Ge: operator.ge,
    sympy.Gt: operator.gt,
    sympy.Le: operator.le,
    sympy.Lt: operator.lt,
}


@dataclass(frozen=True)
class Term:
    """An expression twice: as sympy has it, and as Python computes it."""

    form: Any
    value: Callable[[int, int], int]


def drawn(rng: random.Random, depth: int, sizes: int) -> Term:
    if depth == 0:
        number = rng.randint(-6, 9)
        leaves = [Term(S, lambda s, t: s), Term(sympy.Integer(number), lambda s, t: number)]
        return rng.choice([*leaves, Term(T, lambda s, t: t)] if sizes == 2 else leaves)
    one = drawn(rng, depth - 1, sizes)
    match rng.randint(0, 6):
        case 0 | 1:
            divisor = rng.randint(2, 6)
            form = FloorDiv(one.form, sympy.Integer(divisor))
            return Term(form, lambda s, t: one.value(s, t) // divisor)
        case 2 | 3:
            divisor = rng.randint(2, 6)
            form = PythonMod(one.form, sympy.Integer(divisor))
            return Term(form, lambda s, t: one.value(s, t) % divisor)
        case 4:
            other = drawn(rng, rng.randint(0, depth - 1), sizes)
            return Term(one.form * other.form, lambda s, t: one.value(s, t) * other.value(s, t))
        case 5:
            other, factor = drawn(rng, rng.randint(0, depth - 1), sizes), rng.choice([-3, -1, 1, 4])
            return Term(
                one.form + factor * other.form,
                lambda s, t: one.value(s, t) + factor * other.value(s, t),
            )
        case _:
            other = drawn(rng, rng.randint(0, depth - 1), sizes)
            head, function = rng.choice([(Max, max), (Min, min)])
            return Term(
                head(one.form, other.form),
                lambda s, t: function(one.value(s, t), other.value(s, t)),
            )


def proved(rng: random.Random, sizes: int) -> int:
    """How many relations between two drawn expressions are claimed, each of them right."""
    left = drawn(rng, rng.randint(1, 3), sizes)
    right = drawn(rng, rng.randint(0, 2), sizes)
    starts = rng.randint(1, 5), rng.randint(1, 5)
    widths = (rng.choice([0, 3, 60]), 0) if sizes == 1 else (rng.choice([5, 17]), 13)
    (s, to_s), (t, to_t) = ((a, a + n) for a, n in zip(starts, widths, strict=True))
    claims = 0
    for relation, compare in RELATIONS.items():
        condition = relation(left.form, right.form)
        if condition is sympy.false:
            continue
        if holds_by_residues(condition, {"s0": (s, to_s), "s1": (t, to_t)}):
            claims += 1
            for a in range(s, to_s + 1):
                for b in range(t, to_t + 1):
                    assert compare(left.value(a, b), right.value(a, b)), (condition, a, b)
    return claims


@pytest.mark.parametrize(("sizes", "count"), [(1, 400), (2, 250)])
def test_claims_against_brute_force(sizes: int, count: int) -> None:
    rng = random.Random(20 + sizes)
    assert sum(proved(rng, sizes) for _ in range(count)) > count


def test_exactly_what_holds_of_one_size_in_a_short_range() -> None:
    """Linear in what is left of the size, all is decided: no claim and no refusal is wrong."""
    rng = random.Random(7)
    for _ in range(200):
        a, b, c, d = (rng.randint(2, 9) for _ in range(4))
        least = rng.randint(-3, 12)
        condition = FloorDiv(a * S - b, c) + PythonMod(S, d) >= least
        holds = all((a * s - b) // c + s % d >= least for s in range(2, 203))
        assert condition is sympy.false or holds_by_residues(condition, {"s0": (2, 202)}) == holds


@pytest.mark.parametrize("window", [2, 4, 7, 12, 16])
def test_a_padded_image_splits_into_windows(window: int) -> None:
    height, width = S + PythonMod(-S, window), T + PythonMod(-T, window)
    rows, columns = FloorDiv(height, window), FloorDiv(width, window)
    inner = 16 * rows * FloorDiv(height, rows) * columns * FloorDiv(width, columns)
    for condition in (
        sympy.Eq(8 * (2 * height) * width, 16 * window * window * rows * columns),
        sympy.Or(sympy.Eq(inner, 4), sympy.Eq(Mod(inner, 8 * window), 0)),
        sympy.Eq(Max(1, rows) * window, height),
        window * rows >= S,
        sympy.Ne(window * S + 1, window * FloorDiv(T, 2)),
    ):
        assert holds_by_residues(condition, OPEN)


@pytest.mark.parametrize(
    "condition",
    [
        sympy.Eq(S + PythonMod(-S, 4), S),
        sympy.Eq(4 * FloorDiv(S, 4), S),
        sympy.Ne(FloorDiv(S, 4), 1),
        FloorDiv(S, 4) >= 1,
        sympy.Eq(FloorDiv(S * T, T - 2), S),
        sympy.Symbol("u0", integer=True) > 3,
        sympy.Or(FloorDiv(S, 2) > 1, sympy.Eq(S, 2)),
        sympy.Eq(PythonMod(S, 5000), S),
    ],
)
def test_what_does_not_always_hold_is_not_claimed(condition: Any) -> None:
    assert not holds_by_residues(condition, OPEN)
