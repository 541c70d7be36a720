"""Python numbers that data decides: `math`, methods of int and float, builtin functions."""

# ruff: noqa: RUF057 (rounding ints is tested)

from __future__ import annotations

import math
import operator
from typing import Any

import pytest
import torch

from tests.capture.control.checking import check, run
from tests.zoo.case import Case
from tests.zoo.harness import interpreted

A = torch.tensor([1.5, 2.25, -0.5, 3.0])
B = torch.tensor([-1.25, -2.5, 0.75, 0.0])
C = torch.tensor([2.0, 4.0, 0.0, 0.0])
D = torch.tensor([2.5, 2.5, 7.0, 1.0])
Row = torch.Tensor


def functions_of_math(x: Row) -> Any:
    v = float(x.abs().sum()) + 0.5
    n = int(v)
    return [
        math.sqrt(v), math.exp(-v), math.log(v), math.log2(v), math.log10(v), math.log1p(v),
        math.expm1(v), math.sin(v), math.cos(v), math.tan(v), math.atan(v), math.atan2(v, 2),
        math.asin(1 / v), math.acos(1 / v), math.sinh(v), math.cosh(v), math.tanh(v),
        math.hypot(v, n), math.fmod(v, 2), math.copysign(v, -1.0), math.isnan(v), math.isinf(v),
        math.isfinite(v), math.degrees(v), math.radians(v), math.erf(v), math.fabs(v),
        math.ceil(v), math.floor(v), math.trunc(v), math.pow(v, 2), math.isqrt(n),
        math.gcd(n, 12), math.log(v, 3), math.prod([v, 2.0]), math.isclose(v, 7.75),
        math.isclose(v, n, rel_tol=0.2), math.cbrt(v), math.cbrt(-v), math.erfc(v),
        math.exp2(v), math.asinh(v), math.acosh(v + 1), math.atanh(1 / (1 + v)),
        math.remainder(v, 2), *math.modf(-v), math.dist([v, 1.0], (n, v)), math.factorial(n % 9),
        math.comb(n + 3, n), math.comb(2, n), math.perm(n + 1, 2), math.lcm(n, 6, 4),
    ]  # fmt: skip


def tensors_in_math(x: Row) -> Any:
    whole = x.to(torch.int64)
    return (
        math.exp(x[0]), math.floor(x.sum()), math.sqrt(x.abs().sum()), math.ceil(x[1]),
        math.atan2(x[0], x[1]), math.pow(x[1], 2), math.isnan(x[0]), math.gcd(whole[0], 4),
    )  # fmt: skip


def domain_error(x: Row) -> Any:
    try:
        return math.log(x.sum().item())
    except ValueError as error:
        return str(error)


def what_has_no_result(x: Row) -> Any:
    v = x.sum().item()
    n = int(v)
    failed: list[str] = []
    for call in (
        lambda: math.acosh(v), lambda: math.atanh(v), lambda: math.exp2(v * 500),
        lambda: math.remainder(v, n), lambda: math.factorial(n), lambda: math.comb(4, n),
        lambda: math.perm(n, 2),
    ):  # fmt: skip
        try:
            failed.append(str(call()))
        except (ValueError, OverflowError) as error:
            failed.append(str(error))
    return failed


def ints_only(x: Row) -> Any:
    n = int(x.sum())
    try:
        return math.gcd(n), math.gcd(x[0].item())
    except TypeError as error:
        return math.gcd(-n), str(error)


def rounding(x: Row) -> Any:
    v = x.sum().item()
    n = int(v)
    return (
        round(v, 2),
        round(v),
        v.__round__(1),
        round(n),
        round(n, 1),
        round(v, None),
        round(n, -1),
    )


def arithmetic_functions(x: Row) -> Any:
    n = int(x.sum())
    return (
        divmod(n, 3), divmod(n, -3), abs(n), pow(n, 2), abs(x.sum().item()), operator.index(n),
        operator.add(n, 1), operator.truth(n), float(n).conjugate(), n.__index__(), n.real,
    )  # fmt: skip


def extremes(x: Row) -> Any:
    a, b = x[0].item(), x[1].item()
    n = int(a)
    return (
        min(a, b), max(a, b), max(a, b, 1.5), min([a, b, 0.0]), max(n, 2), sum([a, b]),
        sum([a, b], 1.0), max(a, b, key=lambda v: -v), max(n, 1.5), max(True, n), min(n, 1, 2),
    )  # fmt: skip


def not_a_number(x: Row) -> Any:
    a, b = x[0].item(), x[1].item()
    return max(a, b), max(b, a), min(a, b), min(b, a), math.isclose(a, b), a.is_integer()


def methods(x: Row) -> Any:
    v = x[0].item()
    n = int(v * 100)
    return v.is_integer(), n.bit_length(), n.bit_count(), isinstance(v, float), type(n) is int


def ordered(x: Row) -> Any:
    a, b, c = x.tolist()[:3]
    return sorted([a, b, c]), sorted([a, b, c], reverse=True), sorted([(a, 1), (b, 2)])[0][1]


@pytest.mark.parametrize(
    "function",
    [
        functions_of_math, tensors_in_math, domain_error, what_has_no_result, ints_only, rounding,
        arithmetic_functions, extremes, methods, ordered,
    ],
)  # fmt: skip
def test_numbers(function: Any) -> None:
    check(function, A, B, C, D)


def test_not_a_number() -> None:
    nan, inf = math.nan, math.inf
    pairs = [(nan, 1.0), (1.0, nan), (nan, nan), (inf, inf), (inf, -inf), (0.0, -0.0), (1.0, inf)]
    check(not_a_number, *[torch.tensor(pair) for pair in pairs])


def power(x: Row) -> Any:
    try:
        return x[0].item() ** x[1].item() + 1
    except ZeroDivisionError as error:
        return str(error)


def power_of_ints(x: Row) -> Any:
    try:
        return int(x[0]) ** int(x[1]), 2 ** int(x[1].abs())
    except ZeroDivisionError as error:
        return str(error)


def half_power(x: Row) -> Any:
    try:
        return x[0].item() ** 0.5
    except Exception:
        return 0.0


def test_powers() -> None:
    inf = math.inf
    pairs = [(1.5, 2.25), (-2.0, 3.0), (0.0, -1.0), (-inf, 0.5), (-2.0, inf), (0.0, 0.0)]
    check(power, *[torch.tensor(pair) for pair in pairs])
    check(power_of_ints, *[torch.tensor(pair) for pair in ((2, 3), (0, 0), (0, -1), (-3, 3))])
    check(half_power, *[torch.tensor([v]) for v in (4.0, 0.0, -inf)])


@pytest.mark.parametrize("function", [power, half_power])
def test_what_no_number_is_ends_the_run(function: Any) -> None:
    """Python goes on with a complex number. No handler of the program's catches it."""
    with pytest.raises(AssertionError, match=r"ptc\.NotSupported"):
        run(function, torch.tensor([2.0, 3.0]), torch.tensor([-2.0, 0.5]))


# -- what raises, in a handler of the model's -----------------------------------------------------


def powers(x: Row) -> Any:
    base, exponent = x.tolist()
    try:
        return base**exponent
    except (OverflowError, ZeroDivisionError) as error:
        print(type(error).__name__, error)
    try:
        return math.pow(base, exponent)
    except (OverflowError, ValueError) as error:
        return str(error)


def powers_of_ints(x: Row) -> Any:
    base, exponent = int(x[0]), int(x[1])
    try:
        return base**exponent, base**-1
    except ZeroDivisionError as error:
        return str(error)


_POWERS = [
    (2.0, 3.0), (0.0, -1.0), (-0.0, -3.0), (10.0, 400.0), (-8.0, 3.0), (-1e200, 3.0),
    (math.nan, 0.0), (1.0, math.nan), (math.inf, -1.0), (0.0, -math.inf), (-math.inf, 2.5),
    (-math.inf, 3.0), (-1.0, math.inf), (1e-300, -2.0), (1e-200, 2.0),
]  # fmt: skip


def test_powers_in_handlers() -> None:
    check(powers, *[(torch.tensor(pair, dtype=torch.float64),) for pair in _POWERS])
    pairs = [(2, 3), (0, -1), (2, -1), (-1, -1), (1, -2), (0, 0), (-3, 5), (-7, -3)]
    check(powers_of_ints, *[(torch.tensor(pair),) for pair in pairs])


def ends_of_functions(x: Row) -> Any:
    v, found = float(x[0]), []
    try:
        found.append(math.exp(v))
    except OverflowError as error:
        print("exp", error)
    try:
        found.append(math.cosh(v))
    except OverflowError as error:
        print("cosh", error)
    try:
        found.append(math.fmod(v, float(x[1])))
    except ValueError as error:
        print("fmod", error)
    try:
        found.append(divmod(v, float(x[1]))[1])
    except ZeroDivisionError as error:
        print("divmod", error)
    return found


def test_functions_at_their_ends() -> None:
    values = (1.0, 1000.0, -1000.0, math.nan, math.inf, -math.inf, 709.782712893384)
    pairs = [(v, d) for v in values for d in (2.0, 0.0, math.nan)]
    check(ends_of_functions, *[(torch.tensor(pair, dtype=torch.float64),) for pair in pairs])


def sums(x: Row) -> Any:
    values = x.tolist()
    print(sum(values), sum(v for v in values), sum(dict(enumerate(values)).values(), 0.5))
    print(sum([values[0], 1, values[1], True, values[2]]), sum(values, x[0]))
    return sum(v for v in values if v > 0)


def test_sums_are_this_pythons() -> None:
    rows = ((0.1, 0.2, 0.3, 1e16, -1e16), (math.nan, 1, 2, 3, 4), (math.inf, -math.inf, 1, 1, 1))
    check(sums, *[(torch.tensor(row, dtype=torch.float64),) for row in rows])


# -- equal numbers that are not the same ----------------------------------------------------------


def equal_results(x: Row) -> Any:
    if x[0] > 0:
        return {"a": 1, 2: None}, (0.0, -1), 0
    if x[1] > 0:
        return {"a": True, 2.0: None}, (-0.0, -1), 0
    return {"a": 1, 2: None}, (0, -1.0), False


def kind_of_one(x: Row) -> Any:
    value = 0.0 if x[0] > 0 else 0
    nothing = math.nan if x[1] > 0 else float("nan")
    print(value, nothing)
    return value


def equal_operands(x: Row) -> Any:
    v, n = float(x[0]), int(x[1])
    print(n * 2, n * 2.0, n + 1, n + 1.0, n + True, n - 0.0, n**2, n**2.0, n // 2, n // 2.0)
    print(v + 0.0, v + -0.0, v * 0.0, v * -0.0, max(n, 1), max(n, 1.0), n % 2, n % 2.0)
    low = 0.0 if v > 1 else -0.0
    return [n * 2, n * 2.0, low, -0.0 if v > 1 else 0]


@pytest.mark.parametrize(
    ("program", "numbers"),
    [
        (equal_results, ((1.0, 1.0), (-1.0, 1.0), (-1.0, -1.0))),
        (kind_of_one, ((1.0, 1.0), (-1.0, 1.0), (-1.0, -1.0))),
        (equal_operands, ((-0.0, 3.0), (0.0, 0.0), (1.5, -2.0))),
    ],
)
def test_equal_numbers_keep_their_types_and_signs(program: Any, numbers: Any) -> None:
    rows = list(map(torch.tensor, numbers))
    check(program, *rows)
    calls = interpreted(Case("equal", lambda: program, tuple((row,) for row in rows)))
    assert [repr(call.result) for call in calls] == [repr(program(row)) for row in rows]
