"""ptc_text.h, ptc_format.h and ptc_decimal.h against CPython's str(), repr(), format(), float()."""

from __future__ import annotations

import ctypes
import math
import random
import string
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.runtime import native

ROOM = 1 << 16
FLOATS = [
    *(
        0.0,
        0.5,
        1.0,
        1.5,
        2.5,
        0.1,
        0.3,
        100.0,
        1e15,
        1e16,
        1e17,
        123456789.125,
        1e22,
        1e23,
        5e-324,
    ),
    *(
        1e-4,
        1e-5,
        0.00012345,
        9.995,
        99.5,
        999999.5,
        9.5,
        0.95,
        0.05,
        0.0005,
        1.7976931348623157e308,
    ),
    *(
        1.7976931348623157e308,
        2.2250738585072014e-308,
        2.675,
        1234567.891,
        math.inf,
        math.nan,
        math.pi,
        1e300,
    ),
]
INTS = [0, 1, 9, 10, 99, 255, 999, 1000, 4095, 65536, 123456, 1234567, 2**31, 2**53 + 1, 2**63 - 1]
STRINGS = ["", "a", "abc", "Grüße", "日本語のテキスト", "🙂🙃", "x" * 40, "tab\there"]


@pytest.fixture(scope="module")
def lib(build_folder: Path) -> ctypes.CDLL:
    return native.build(native.text("format.cpp"), "native", build_folder)


def call(function: Any, *arguments: Any) -> str | None:
    """The text, or None where the spec is refused."""
    out = ctypes.create_string_buffer(ROOM)
    function.restype = ctypes.c_long
    length = function(*arguments, out, ctypes.c_long(ROOM))
    assert length != -2, "no memory"
    return None if length < 0 else out.raw[:length].decode()


def native_format(lib: ctypes.CDLL, value: Any, spec: str | None) -> str | None:
    given = None if spec is None else spec.encode()
    if isinstance(value, bool):
        return call(lib.format_bool, ctypes.c_bool(value), given)
    if isinstance(value, int):
        return call(lib.format_int, ctypes.c_int64(value), given)
    if isinstance(value, float):
        return call(lib.format_float, ctypes.c_double(value), given)
    return call(lib.format_string, value.encode(), given)


def python_format(value: Any, spec: str) -> str | None:
    try:
        return format(value, spec)
    except (ValueError, OverflowError):
        return None


def check(lib: ctypes.CDLL, value: Any, spec: str) -> None:
    got, want = native_format(lib, value, spec), python_format(value, spec)
    assert got == want, f"format({value!r}, {spec!r}): got {got!r}, want {want!r}"


def random_float(rng: random.Random) -> float:
    match rng.randrange(5):
        case 0:
            return rng.choice((1, -1)) * rng.choice(FLOATS)
        case 1:
            return rng.uniform(-1000, 1000)
        case 2:
            return rng.choice((1, -1)) * round(rng.uniform(0, 10), rng.randint(0, 4))
        case 3:
            return math.ldexp(rng.uniform(-2, 2), rng.randint(-70, 70))
        case _:
            return float(np.uint64(rng.getrandbits(64)).view(np.float64))


def random_value(rng: random.Random, kind: str) -> Any:
    if kind == "float":
        return random_float(rng)
    if kind == "bool":
        return rng.random() < 0.5
    if kind == "str":
        return rng.choice(STRINGS)
    edge = rng.choice((1, -1)) * rng.choice(INTS)
    return rng.choice((edge, rng.getrandbits(rng.randint(1, 20)), rng.randint(-(2**63), 2**63 - 1)))


def random_spec(rng: random.Random, types: str) -> str:
    """Mostly valid; every part of the mini-language."""

    def maybe(part: str, chance: float = 0.4) -> str:
        return part if rng.random() < chance else ""

    align = rng.choice("<>=^")
    fill = rng.choice(["*", "0", "é", "日", "🙂", "<", "=", "", "", " "])
    parts = [
        maybe(fill + align),
        maybe(rng.choice("+- "), 0.3),
        maybe("z", 0.15),
        maybe("#", 0.25),
        maybe("0", 0.25),
        maybe(str(rng.randint(0, 30)), 0.6),
        maybe(rng.choice(",_"), 0.25),
        maybe(f".{rng.randint(0, 20)}", 0.5),
        maybe(rng.choice(types), 0.85),
    ]
    if rng.random() < 0.03:
        parts.insert(rng.randrange(len(parts)), rng.choice(string.printable[:94]))
    return "".join(parts)


@pytest.mark.parametrize("kind", ["int", "float", "bool", "str"])
def test_format_as_cpython(lib: ctypes.CDLL, kind: str) -> None:
    rng = random.Random(kind)
    types = {"float": "eEfFgGn%", "str": "s"}.get(kind, "bcdoxXneEfFgG%")
    for _ in range(12000):
        check(lib, random_value(rng, kind), random_spec(rng, types))


@pytest.mark.parametrize("kind", ["int", "float", "bool", "str"])
def test_specs_without_a_value_of_their_own(lib: ctypes.CDLL, kind: str) -> None:
    """Types of other kinds, unknown letters, half-written specs."""
    rng = random.Random(kind + "!")
    specs = [
        "",
        " ",
        ".",
        ".-1",
        "5.",
        "10.2",
        ",,",
        "_,",
        ",_",
        "<",
        "=",
        "*",
        "**",
        "*=",
        "é",
        "é<",
    ]
    specs += [
        *string.ascii_letters,
        "%",
        "%%",
        "1000",
        "01000",
        "z",
        "#",
        "+",
        "-",
        "++",
        "0",
        "00",
    ]
    specs += ["99999999999999999999", ".99999999999999999999", ",s", ",d", "_x", ",x", "=5s", "05"]
    for spec in specs:
        for _ in range(4):
            check(lib, random_value(rng, kind), spec)


@pytest.mark.parametrize("type_", "eEfFgG%")
def test_precision_of_every_size(lib: ctypes.CDLL, type_: str) -> None:
    rng = random.Random(type_)
    for precision in [*range(25), 50, 100, 330, 767, 800, 1100, 2001, 5000]:
        for value in [*FLOATS, *(-x for x in FLOATS), *(random_float(rng) for _ in range(10))]:
            check(lib, value, f".{precision}{type_}")
            check(lib, value, f"#.{precision}{type_}")


def shortest(lib: ctypes.CDLL, values: list[float]) -> list[str]:
    array = np.array(values)
    out = ctypes.create_string_buffer(30 * len(values))
    lib.lines.restype = ctypes.c_long
    length = lib.lines(
        ctypes.c_void_p(array.ctypes.data),
        *(ctypes.c_long(len(values)), out, ctypes.c_long(len(out))),
    )
    return out.raw[:length].decode().splitlines()


def neighbours(x: float) -> list[float]:
    return [math.nextafter(x, 0), x, math.nextafter(x, math.inf)]


def test_shortest_digits(lib: ctypes.CDLL) -> None:
    rng = random.Random(1)
    values = [x for e in range(-1074, 1024) for x in neighbours(math.ldexp(1, e))]
    values += [x for e in range(-323, 309) for x in neighbours(float(f"1e{e}"))]
    values += [float(np.uint64(rng.getrandbits(64)).view(np.float64)) for _ in range(20000)]
    values += [rng.randint(0, 10**6) / 10 ** rng.randint(0, 9) for _ in range(10000)]
    values += [float(rng.getrandbits(rng.randint(1, 70))) for _ in range(5000)]
    values += [x * 5e-324 for x in range(1, 2000)]
    values += [*FLOATS, *(-x for x in FLOATS)]
    assert shortest(lib, values) == [repr(x) for x in values]


def test_plain_text(lib: ctypes.CDLL) -> None:
    for value in [*FLOATS, *INTS, *(-x for x in INTS), -(2**63), True, False, -0.0]:
        assert native_format(lib, value, None) == str(value)
    for value in (0.1, -2.0):
        for spec in ("", ">8", "^12.2s"):
            got = call(lib.apply, ctypes.c_double(value), spec.encode())
            assert got == f"x={format(str(value), spec)}"
        assert call(lib.apply, ctypes.c_double(value), b"d") is None


def test_lists(lib: ctypes.CDLL) -> None:
    for name, values in {
        "float": FLOATS,
        "int": INTS,
        "bool": [True, False, True],
    }.items():
        for count in (0, 1, len(values)):
            array = np.array(values[:count], {"float": float, "int": np.int64, "bool": bool}[name])
            pointer = ctypes.c_void_p(array.ctypes.data)
            got = call(getattr(lib, f"list_{name}"), pointer, ctypes.c_long(count))
            assert got == str(values[:count])


def test_nearest_double_of_digits(lib: ctypes.CDLL) -> None:
    """Random digits, and the exact middles between doubles with their neighbours."""
    rng = random.Random(2)
    lib.value.restype = ctypes.c_double
    texts: list[tuple[str, int]] = []
    for _ in range(6000):
        digits = str(rng.getrandbits(rng.choice((10, 60, 200))) + 1)
        texts.append((digits, rng.randint(-340, 320)))
    for _ in range(1500):
        e = rng.randint(-320, 250)
        m = 2 * rng.getrandbits(53) + 1
        middle = m * 2**e * 10**400 if e >= 0 else m * 10**400 // 2**-e
        if e < 0 and m * 10**400 % 2**-e:
            continue  # needs more digits
        for delta in (-1, 0, 1):
            digits = str(middle + delta)
            texts.append((digits[:700], len(digits) - 400))
    for digits, point in texts:
        want = float(f"0.{digits}e{point}")
        got = lib.value(digits.encode(), len(digits), point)
        assert got == want, (digits, point, got, want)
