"""Index arithmetic against plain integers."""

from __future__ import annotations

import pickle
from collections.abc import Callable

from hypothesis import given, settings
from hypothesis import strategies as st

from ptc.loops.bounds import Ranges, simplify
from ptc.loops.index import Index, maximum, minimum
from ptc.loops.index_parser import parse_index

LOOPS = {"i": 5, "j": 3, "k": 8}
SIZES = {"s0": (1, 6), "s1": (0, 4)}
BOUNDS = {"i": Index.const(5), "j": Index.const(3), "k": Index.const(8), "m": Index.var("s0")}

Pair = tuple[Index, Callable[[dict[str, int]], int]]


def _leaf() -> st.SearchStrategy[Pair]:
    names = st.sampled_from(["i", "j", "k", "m", "s0", "s1"])
    variables = names.map(lambda n: (Index.var(n), lambda e, n=n: e[n]))
    constants = st.integers(-9, 9).map(lambda c: (Index.const(c), lambda e, c=c: c))
    return variables | constants


def _extend(inner: st.SearchStrategy[Pair]) -> st.SearchStrategy[Pair]:
    def binary(op: str, a: Pair, b: Pair) -> Pair:
        (x, f), (y, g) = a, b
        if op == "+":
            return x + y, lambda e: f(e) + g(e)
        if op == "-":
            return x - y, lambda e: f(e) - g(e)
        if op == "*":
            return x * y, lambda e: f(e) * g(e)
        if op == "min":
            return minimum(x, y), lambda e: min(f(e), g(e))
        return maximum(x, y), lambda e: max(f(e), g(e))

    def division(op: str, a: Pair, d: tuple[str | None, int]) -> Pair:
        (x, f), (name, c) = a, d
        divisor = Index.const(c) if name is None else Index.var(name) * c
        value = (lambda e: c) if name is None else (lambda e: e[name] * c)
        if op == "//":
            return x // divisor, lambda e: f(e) // value(e)
        return x % divisor, lambda e: f(e) % value(e)

    divisors = st.tuples(st.sampled_from([None, None, "s0"]), st.sampled_from([1, 2, 3, 4, 8, 12]))
    return st.builds(
        binary, st.sampled_from(["+", "-", "*", "min", "max"]), inner, inner
    ) | st.builds(division, st.sampled_from(["//", "%"]), inner, divisors)


PAIRS = st.recursive(_leaf(), _extend, max_leaves=8)


@st.composite
def environments(draw: st.DrawFn) -> dict[str, int]:
    values = {n: draw(st.integers(0, b - 1)) for n, b in LOOPS.items()}
    values["s0"] = draw(st.integers(1, 6))
    values["s1"] = draw(st.integers(0, 4))
    values["m"] = draw(st.integers(0, values["s0"] - 1))
    return values


@settings(max_examples=400, deadline=None)
@given(PAIRS, st.lists(environments(), min_size=3, max_size=8))
def test_construction_simplification_and_ranges_keep_the_value(
    pair: Pair, envs: list[dict[str, int]]
) -> None:
    index, reference = pair
    ranges = Ranges(BOUNDS, SIZES)
    simple = ranges.simplify(index)
    low, high = ranges.interval(index)
    s_low, s_high = ranges.symbolic(index)
    for env in envs:
        expected = reference(env)
        assert index.evaluate(env) == expected
        assert simple.evaluate(env) == expected
        assert low is None or low <= expected
        assert high is None or expected <= high
        assert s_low is None or s_low.evaluate(env) <= expected
        assert s_high is None or expected <= s_high.evaluate(env)
        assert index.substitute(env) == expected
    if ranges.nonnegative(index):
        assert all(reference(env) >= 0 for env in envs)


@settings(max_examples=200, deadline=None)
@given(PAIRS)
def test_text_and_pickle_round_trip(pair: Pair) -> None:
    index, _ = pair
    assert parse_index(str(index)) == index
    assert pickle.loads(pickle.dumps(index)) == index


i, j, k, n, w = map(Index.var, ("i", "j", "k", "n", "w"))


def test_equal_expressions_are_equal_objects() -> None:
    assert (i + 2) * 3 - j == 3 * i - j + 6
    assert hash((i + j) * n) == hash(n * j + i * n)
    assert Index.const(3) == 3 and hash(Index.const(3)) == hash(3)


def test_reshape_round_trips_collapse() -> None:
    assert (i // 7) * 7 + i % 7 == i
    assert (i // 768) * 768 + (i // 64 % 12) * 64 + i % 64 == i
    assert simplify((i * 7 + j) // 7, {"j": 7}) == i
    assert simplify((i * 7 + j) % 7, {"j": 7}) == j
    assert simplify(((i * 12 + j) * 64 + k) // 64 % 12, {"j": 12, "k": 64}) == j


def test_symbolic_reshape_round_trips_collapse() -> None:
    assert simplify((i * w + j) // w, {"j": w}) == i
    assert simplify((i * (w + 1) + j) % (w + 1), {"j": w + 1}) == j
    assert simplify((i * w * 64 + j * 64 + k) // (64 * w), {"j": w, "k": 64}) == i
    assert simplify((i * w * 64 + j * 64 + k) // 64 % w, {"j": w, "k": 64}) == j
    assert (i // w) * w + i % w == i


def test_proofs_over_sizes() -> None:
    ranges = Ranges({"i": n, "j": w})
    assert ranges.within(i * w + j, n * w)
    assert not ranges.within(i * w + j + 1, n * w)
    assert ranges.simplify(minimum(i, n)) == i


def test_coefficients() -> None:
    index = i * n + 3 * j + (k // 2) + 1
    assert index.coefficient("i") == n
    assert index.coefficient("j") == 3
    assert index.coefficient("k") is None
    assert index.coefficient("w") == 0


def test_factors_of_a_loop_extent_are_positive() -> None:
    ranges = Ranges({"i": n * w})
    assert ranges.less(Index.const(0), w)
    assert ranges.within(i % w, w)
    assert ranges.simplify((i // w) * w + i % w) == i


def test_a_minimum_with_a_difference_may_be_negative():
    ranges = Ranges({"i": Index.const(5)}, {"s0": (1, 6)})
    assert not ranges.nonnegative(minimum(Index.var("i"), Index.var("s0") - 2))
    assert ranges.nonnegative(minimum(Index.var("i"), Index.var("s0") - 1))
