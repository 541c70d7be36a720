"""Conditions on sizes against ranges: the narrowed range holds exactly the sizes that work."""

from __future__ import annotations

from typing import Any

import pytest
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.utils._sympy.functions import FloorDiv, PythonMod

from ptc.graph.assumptions import Assumption, ranges_that_hold
from ptc.graph.program import DimRange
from ptc.support.diagnostics import CompileError

S = sympy.Symbol("s0", integer=True, positive=True)
T = sympy.Symbol("s1", integer=True, positive=True)
OPEN = DimRange("height", 2, None)
DIMS = {"s0": OPEN, "s1": DimRange("width", 2, None)}


def narrowed(condition: Any, described: DimRange = OPEN) -> DimRange:
    return ranges_that_hold([Assumption(condition)], {**DIMS, "s0": described})["s0"]


@pytest.mark.parametrize(
    ("condition", "lower"),
    [
        (S >= 3, 3),
        (S * 2 > 9, 5),
        (sympy.Ne(S, 1), 2),
        (sympy.Ne(FloorDiv(S - 1, 2) + 1, 1), 3),
        (FloorDiv(S - 7, 2) + 1 >= 1, 7),
        (sympy.Ne(S * T, 1), 2),
        (S + T >= 4, 2),
        (FloorDiv(S + 1, 2) <= S, 2),
        (sympy.Ne(FloorDiv(S, 2), S), 2),
        (sympy.Eq(PythonMod(4 * S, 2), 0), 2),
        (FloorDiv(FloorDiv(S, 3), 2) * 6 + 20 > S, 2),
        (sympy.Ne(S * T, S), 2),
        (sympy.Ne(FloorDiv(S, 2) * FloorDiv(T + 3, 2), FloorDiv(S, 2)), 2),
        (sympy.Ne(FloorDiv(S * T + T - 1, T), 0), 2),
        (FloorDiv(S * T + T - 1, T) >= S, 2),
        (sympy.true, 2),
    ],
)
def test_an_open_range_starts_where_the_condition_holds(condition: Any, lower: int) -> None:
    assert narrowed(condition) == DimRange("height", lower, None)


def test_an_open_range_ends_where_an_operator_takes_no_more() -> None:
    assert narrowed(S <= 2**24) == DimRange("height", 2, 2**24)
    assert narrowed(S < 2**24) == DimRange("height", 2, 2**24 - 1)


@pytest.mark.parametrize(
    "condition",
    [
        S < 16,
        sympy.Eq(S, 4),
        sympy.Eq(PythonMod(S, 2), 0),
        sympy.Eq(S, T),
        S < T,
        sympy.false,
        FloorDiv(S, 2) * 3 <= S + 300,
    ],
)
def test_what_no_range_can_say_is_refused(condition: Any) -> None:
    with pytest.raises(CompileError) as info:
        narrowed(condition)
    assert info.value.code == "PTC-A002"


def test_an_unknown_size_is_refused() -> None:
    with pytest.raises(CompileError):
        narrowed(sympy.Symbol("u0", integer=True) > 3)


def test_sizes_below_two_are_left_to_capture() -> None:
    assert narrowed(sympy.Ne(S, 1), DimRange("height", 1, 64)) == DimRange("height", 1, 64)


@settings(deadline=None, max_examples=50)
@given(st.integers(1, 4), st.integers(-20, 20), st.integers(2, 9), st.integers(0, 30))
def test_against_brute_force(scale: int, shift: int, divisor: int, least: int) -> None:
    condition = FloorDiv(S * scale + shift, divisor) >= least
    lower = narrowed(condition).lower

    def holds(n: int) -> bool:
        return (n * scale + shift) // divisor >= least

    assert all(holds(n) for n in range(lower, lower + 200))
    assert lower == 2 or not holds(lower - 1)
