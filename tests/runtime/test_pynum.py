"""ptc_pynum.h and ptc_pyhash.h against CPython: operations, kinds of operands, random values."""

from __future__ import annotations

import ctypes
import itertools
import math
import operator
import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ptc.graph.control import OPERATIONS
from ptc.graph.control_operations import power
from ptc.graph.set_tables import hash_end, hash_part
from tests.runtime import native
from tests.runtime.conftest import Builder

Number = int | float | bool
C_TYPES = {"int": "int64_t", "float": "double", "bool": "bool"}
NUMPY = {"int": np.int64, "float": np.float64, "bool": np.bool_}
LEAST, MOST = -(2**63), 2**63 - 1

#: Operation -> CPython's. The other ones are functions of `math`.
PYTHON: dict[str, Callable[..., Any]] = {
    "add": operator.add, "sub": operator.sub, "mul": operator.mul, "truediv": operator.truediv,
    "floordiv": operator.floordiv, "mod": operator.mod, "pow": operator.pow,
    "neg": operator.neg, "pos": operator.pos, "abs": operator.abs, "invert": lambda a: ~int(a),
    "and": operator.and_, "or": operator.or_, "xor": operator.xor,
    "lshift": operator.lshift, "rshift": operator.rshift,
    "eq": operator.eq, "ne": operator.ne, "lt": operator.lt, "le": operator.le,
    "gt": operator.gt, "ge": operator.ge, "not": operator.not_,
    "int": int, "float": float, "bool": bool, "round": round, "round_to": round,
    "min": min, "max": max, "select": lambda c, a, b: a if c else b, "power": power,
    "hash": lambda a: complex(a) if a != a else hash(a),  # of a NaN there is none
    "hash_part": hash_part, "hash_end": hash_end,
}  # fmt: skip
BITS = {
    "invert", "and", "or", "xor", "lshift", "rshift", "math.isqrt", "math.gcd", "hash_part",
    "hash_end",
}  # fmt: skip
GIVES_BOOL = {"eq", "ne", "lt", "le", "gt", "ge", "not", "bool"}
GIVES_INT = {
    "int", "round", "math.floor", "math.ceil", "math.trunc", "math.isqrt", "math.gcd", "hash",
    "hash_part", "hash_end",
}  # fmt: skip


def python(op: str) -> Callable[..., Any]:
    return PYTHON[op] if op in PYTHON else getattr(math, op.removeprefix("math."))


def result_kinds(op: str, kinds: Sequence[str]) -> list[str]:
    """The C++ result types to try, narrowest first."""
    if op in GIVES_BOOL or (op.startswith("math.is") and op != "math.isqrt"):
        return ["bool"]
    if op in GIVES_INT:
        return ["int"]
    if op in ("truediv", "float", "power") or op.startswith("math."):
        return ["float"]
    if op == "round_to":
        kinds = kinds[:1]
    if op == "select":
        kinds = kinds[1:]
    if "float" in kinds:
        return ["float"]
    if op == "pow":
        return ["int", "float"]
    same = op in ("and", "or", "xor", "min", "max", "select") and set(kinds) == {"bool"}
    return ["bool" if same else "int"]


def cases() -> list[tuple[str, tuple[str, ...], str]]:
    found: list[tuple[str, tuple[str, ...], str]] = []
    for op, count in OPERATIONS.items():
        for kinds in itertools.product(C_TYPES, repeat=count):
            if (op in BITS and "float" in kinds) or (op == "round_to" and kinds[1] == "float"):
                continue
            found += [(op, kinds, kind) for kind in result_kinds(op, kinds)]
    return found


def symbol(op: str, kinds: Sequence[str], result: str) -> str:
    return "_".join([op.replace(".", "_"), *kinds, result])


def source() -> str:
    lines = ['#include "ptc_pyhash.h"', "using namespace ptc;"]
    for op, kinds, result in cases():
        r = C_TYPES[result]
        parameters = ", ".join(f"const {C_TYPES[k]}* a{i}" for i, k in enumerate(kinds))
        operands = ", ".join(f"a{i}[i]" for i in range(len(kinds)))
        lines.append(
            f'extern "C" void {symbol(op, kinds, result)}({r}* out, const char** failure,'
            f" const char** type, long n, {parameters}) {{ for (long i = 0; i < n; ++i) {{"
            f" Numbers s; out[i] = py_{op.replace('.', '_')}<{r}>(s, {operands});"
            " failure[i] = s.failure; type[i] = s.exception; } }"
        )
    return "\n".join(lines)


@pytest.fixture(scope="module", params=[("native", "-O2"), (native.targets()[0], "-O1")])
def lib(request: pytest.FixtureRequest, build_folder: Path) -> ctypes.CDLL:
    """With and without fused multiply-add, as kernels and as the host is compiled."""
    march, level = request.param
    return native.build(source(), march, build_folder, (level,))


def call(
    lib: ctypes.CDLL, op: str, kinds: Sequence[str], result: str, rows: list[tuple[Number, ...]]
) -> list[tuple[Number, str | None, str | None]]:
    """(result, failure, exception) of each row of operands."""
    n = len(rows)
    out = np.zeros(n, NUMPY[result])
    failures, types = (ctypes.c_char_p * n)(), (ctypes.c_char_p * n)()
    columns = [np.array([row[i] for row in rows], NUMPY[k]) for i, k in enumerate(kinds)]
    pointers = [ctypes.c_void_p(c.ctypes.data) for c in columns]
    function = getattr(lib, symbol(op, kinds, result))
    function(ctypes.c_void_p(out.ctypes.data), failures, types, ctypes.c_long(n), *pointers)
    text = [[None if x is None else x.decode() for x in column] for column in (failures, types)]
    return list(zip(out.tolist(), *text, strict=True))


def expected(op: str, row: tuple[Number, ...]) -> Number | Exception:
    try:
        return python(op)(*row)
    except (ArithmeticError, ValueError) as error:
        return error


def same(got: Number, want: Number) -> bool:
    if isinstance(want, float):
        if want != want:
            return got != got
        return got == want and math.copysign(1, got) == math.copysign(1, want)
    return got == want


def complex_result(want: Any) -> bool:
    raised = isinstance(want, OverflowError) and str(want) == "complex exponentiation"
    return isinstance(want, complex) or raised


def check(lib: ctypes.CDLL, op: str, kinds: Sequence[str], rows: list[tuple[Number, ...]]) -> None:
    results = result_kinds(op, kinds)
    for kind in results:
        for row, (got, failure, exception) in zip(
            rows, call(lib, op, kinds, kind, rows), strict=True
        ):
            want = expected(op, row)
            large = isinstance(want, int) and not LEAST <= want <= MOST
            shown = "more than 64 bits" if large else repr(want)
            where = f"{op}{row} -> {kind}: got {got!r}, {failure}, {exception}; want {shown}"
            if complex_result(want):
                assert failure and exception is None, where
            elif isinstance(want, Exception):
                assert failure and exception == type(want).__name__, where
            elif isinstance(want, float) and kind == "int":
                assert op == "pow" and failure, where  # a negative exponent
            elif large:
                assert failure and "64 bits" in failure and exception is None, where
            else:
                assert failure is None and exception is None, where
                assert same(got, float(want) if kind == "float" else want), where


INTS = [
    *(0, 1, -1, 2, -2, 3, -3, 5, 7, -7, 10, -10, 15, 25, 62, 63, 64, 65, 100, 1000, -1000),
    *(2**31, -(2**31), 2**32 + 1, 3037000499, 3037000500, 2**53, 2**53 + 1, -(2**53) - 1, 2**62),
    *(LEAST, LEAST + 1, MOST, MOST - 1, 9007199254740993, 4611686018427387905, 10**18 + 5),
]
FLOATS = [
    *(0.0, -0.0, 0.5, -0.5, 1.0, -1.0, 1.5, -1.5, 2.0, 2.5, -2.5, 3.0, -7.0, 0.1, 0.3, 1e-5, 3.7),
    *(2.0**52, 2.0**53, 2.0**53 + 2, 2.0**62, 2.0**63, -(2.0**63), 1e17, 1e22, -1e300, 1e300),
    *(5e-324, -5e-324, 2.2250738585072014e-308, 1.7976931348623157e308, 710.0, -745.2, 0.49999999),
    *(math.inf, -math.inf, math.nan, math.pi, math.e, 0.9999999999999999, 1.0000000000000002),
]
EDGES: dict[str, list[Any]] = {"int": INTS, "float": FLOATS, "bool": [False, True]}


def random_number(rng: random.Random, kind: str) -> Number:
    if kind == "bool":
        return rng.random() < 0.5
    if kind == "int":
        sign = rng.choice((1, -1))
        return max(LEAST, min(MOST, sign * rng.getrandbits(rng.randint(1, 63))))
    match rng.randrange(4):
        case 0:
            return rng.uniform(-100, 100)
        case 1:
            return rng.randint(-1000, 1000) / 8
        case 2:
            return math.ldexp(rng.uniform(-2, 2), rng.randint(-60, 70))
        case _:
            return float(np.uint64(rng.getrandbits(64)).view(np.float64))


@pytest.mark.parametrize("op", OPERATIONS)
def test_as_cpython(lib: ctypes.CDLL, op: str) -> None:
    rng = random.Random(op)
    for kinds in {kinds: None for name, kinds, _ in cases() if name == op}:
        rows: list[tuple[Number, ...]] = []
        second = kinds[1] if len(kinds) > 1 else ""
        if len(kinds) < 3:
            rows += list(itertools.product(*(EDGES[k] for k in kinds)))
        rows += [tuple(random_number(rng, k) for k in kinds) for _ in range(800)]
        if op in ("pow", "lshift", "round_to") and second == "int":
            low = -400 if op == "round_to" else -5
            first = next(iter(kinds))
            rows += [(random_number(rng, first), rng.randint(low, 70)) for _ in range(300)]
        # CPython would build numbers of millions of digits here.
        if op in ("pow", "lshift", "round_to"):
            rows = [row for row in rows if not endless(op, *row)]
        check(lib, op, kinds, rows)


def endless(op: str, a: Number, b: Number) -> bool:
    large = b < -2000 if op == "round_to" else b > 2000
    return isinstance(a, int) and isinstance(b, int) and large


@pytest.mark.parametrize("base", [2, -2, 3, 10, -3, 0, 1, -1])
def test_power_where_cpython_would_be_slow(lib: ctypes.CDLL, base: int) -> None:
    ((got, failure, _),) = call(lib, "pow", ("int", "int"), "int", [(base, MOST)])
    assert (got == base and failure is None) if abs(base) < 2 else failure


def test_rounding_to_more_digits_than_an_int_has(lib: ctypes.CDLL) -> None:
    rows: list[tuple[Number, ...]] = [(MOST, LEAST), (LEAST, -20), (5, -(2**40)), (7, MOST)]
    results = call(lib, "round_to", ("int", "int"), "int", rows)
    assert [got for got, _, _ in results] == [0, 0, 0, 7]


def test_large_shifts(lib: ctypes.CDLL) -> None:
    rows: list[tuple[Number, ...]] = [(0, MOST), (1, MOST), (1, 63), (-1, 63), (-1, 64), (1, 62)]
    results = call(lib, "lshift", ("int", "int"), "int", rows)
    assert [got if failure is None else None for got, failure, _ in results] == [
        *(0, None, None, LEAST, None, 2**62)
    ]


def test_rounding_to_digits(lib: ctypes.CDLL) -> None:
    """Decimal ties and near ties of every magnitude."""
    rng = random.Random(7)
    rows: list[tuple[Number, ...]] = []
    for _ in range(6000):
        digits = rng.randint(0, 17)
        text = f"{rng.randint(0, 10 ** rng.randint(1, 16))}.{rng.randint(0, 10**digits)}5"
        rows.append((rng.choice((1, -1)) * float(text), rng.randint(-3, digits + 1)))
    rows += [(x * 2.0**e, n) for x in (1.0, 1.25, 1.1) for e in range(-1070, 1020, 9)
             for n in (-308, -300, -20, -1, 0, 1, 5, 20, 300, 323, 324)]  # fmt: skip
    check(lib, "round_to", ("float", "int"), rows)


def test_quotients_of_large_ints(lib: ctypes.CDLL) -> None:
    rng = random.Random(8)
    rows: list[tuple[Number, ...]] = []
    for _ in range(20000):
        b = rng.getrandbits(rng.randint(1, 63)) | 1
        # Near a tie of the quotient: (2 q + 1) b / 2 with an odd sum.
        a = rng.choice(
            (rng.getrandbits(63), (2 * rng.getrandbits(54) + 1) * b >> rng.randint(1, 60))
        )
        rows.append((rng.choice((1, -1)) * min(MOST, a), b))
    check(lib, "truediv", ("int", "int"), rows)


def test_hypot_in_all_ranges(lib: ctypes.CDLL) -> None:
    rng = random.Random(9)
    rows: list[tuple[Number, ...]] = []
    for _ in range(20000):
        # Below the normal range CPython's versions differ in the last place.
        e = rng.randint(-1022, 1023)
        f = max(-1022, min(1023, e + rng.randint(-60, 60)))
        rows.append((math.ldexp(rng.uniform(1, 2), e), math.ldexp(rng.uniform(1, 2), f)))
    rows += [(float(a), float(b)) for a in range(60) for b in range(60)]
    check(lib, "math.hypot", ("float", "float"), rows)


def test_products_are_rounded_before_sums(build: Builder) -> None:
    lib = build(
        '#include "ptc_pynum.h"\nusing namespace ptc;\n'
        'extern "C" double fused(double a, double b, double c) { Numbers n;'
        " return py_add<double>(n, py_mul<double>(n, a, b), c); }"
    )
    lib.fused.restype = ctypes.c_double
    a = 1 + 2.0**-30
    c = -(a * a)
    assert lib.fused(*(ctypes.c_double(x) for x in (a, a, c))) == 0.0
