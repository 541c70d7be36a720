"""ptc_string.h with the tables of ptc/codegen/characters against CPython's str, int(), float()."""

from __future__ import annotations

import ctypes
import math
import random
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ptc.codegen.characters import table
from tests.runtime import native

ROOM = 1 << 16
TABLES = (
    "isdigit", "isdecimal", "isnumeric", "isalpha", "isalnum", "unprintable", "zeros", "cased",
    "ignored", "upper", "lower",
)  # fmt: skip
#: In the order of `ask` in strings.cpp.
QUESTIONS: list[Callable[[str, str], Any]] = [
    lambda a, b: len(a), lambda a, b: a == b, lambda a, b: a < b, lambda a, b: a <= b,
    lambda a, b: b in a, str.startswith, str.endswith, str.find, str.rfind, str.count,
    lambda a, b: a.isdigit(), lambda a, b: a.isdecimal(), lambda a, b: a.isnumeric(),
    lambda a, b: a.isalpha(), lambda a, b: a.isalnum(), lambda a, b: a.isspace(),
]  # fmt: skip
#: In the order of `make`; None where Python has no such character.
MADE: list[Callable[[str, str, int, int], str | None]] = [
    lambda a, b, n, m: a[n:m], lambda a, b, n, m: a[n] if n < len(a) else None,
    lambda a, b, n, m: a[::-1], lambda a, b, n, m: a * n,
    lambda a, b, n, m: a.upper(), lambda a, b, n, m: a.lower(),
    lambda a, b, n, m: a.strip(), lambda a, b, n, m: a.lstrip(), lambda a, b, n, m: a.rstrip(),
    lambda a, b, n, m: a.strip(b), lambda a, b, n, m: a.lstrip(b), lambda a, b, n, m: a.rstrip(b),
    lambda a, b, n, m: a.removeprefix(b), lambda a, b, n, m: a.removesuffix(b),
    lambda a, b, n, m: a.replace(b, "ö-"), lambda a, b, n, m: a.replace(b, "", n),
    lambda a, b, n, m: a.zfill(n), lambda a, b, n, m: a.ljust(n, "*"),
    lambda a, b, n, m: a.rjust(n, "é"), lambda a, b, n, m: a.center(n),
    lambda a, b, n, m: repr(a), lambda a, b, n, m: chr(n),
]  # fmt: skip
TEXTS = [
    "", "a", "ab", "Größe", "ΑΣ", "ΣΑ", "ΑΣ.Σ Σ", "ΑΣ'", "İstanbul", "ﬁn ß", "  x\t", " ",
    "\u3000é\x85", "-5", "+é", "日本語", "🙂x🙂", "it's", '"', "'\"",
    "\\n\n\r\0\x7f\xad\u200b\u2028", "½", "٣٤",
    "²", "aaa", "aa", "xyxyx", "ǅ", "ŉ", "\ud800",
]  # fmt: skip
NUMBERS = [
    "0", "-0", "+7", " 12 ", "1_000", "1__0", "_1", "1_", "0x10", "", "-", "12a", "٣", "٣_٤", "①",
    "9223372036854775807", "-9223372036854775808", "9223372036854775808", "99999999999999999999",
    "1.5", "-.5", "5.", ".", "1e5", "1e-400", "1e400", "1E+2", "1e", "1e+", "1_0.2_5", "1._5",
    "inf", "-Infinity", "nan", "+NaN", "infx", "0.1", "123456789.123456789e-20",
    "4.9e-324", "1\0", "- 1",
    "2.2250738585072011e-308", "179769313486231580793e289", "\u30001.25\x85", "0" * 400 + "1.5",
]  # fmt: skip


class Given(ctypes.Structure):
    _fields_ = (("data", ctypes.c_char_p), ("bytes", ctypes.c_long))


def given(text: str) -> Given:
    data = text.encode("utf-8", "surrogatepass")
    return Given(data, len(data))


@pytest.fixture(scope="module")
def lib(build_folder: Path) -> ctypes.CDLL:
    lines = [line for name in TABLES for line in table(name)]
    head = '#include "ptc_string.h"\nnamespace ptc {\n' + "\n".join(lines) + "\n}\n"
    built = native.build(head + native.text("strings.cpp"), "native", build_folder)
    built.ask.restype = ctypes.c_long
    built.ask.argtypes = [ctypes.c_int, Given, Given]
    built.made.restype = ctypes.c_long
    built.made.argtypes = [ctypes.c_int, Given, Given, *[ctypes.c_long] * 2, ctypes.c_char_p,
                           ctypes.c_long]  # fmt: skip
    built.as_int.argtypes = [Given, ctypes.c_void_p]
    built.as_float.argtypes = [Given, ctypes.c_void_p]
    built.as_float.restype = ctypes.c_bool
    return built


def pairs() -> list[tuple[str, str]]:
    chance = random.Random(7)
    letters = "aabbΣσÉéß日🙂 \t'_-1"
    made = ["".join(chance.choices(letters, k=chance.randrange(12))) for _ in range(60)]
    found = [(a, b) for a in TEXTS for b in TEXTS]
    return found + [(a, chance.choice(made)[: chance.randrange(4)]) for a in made for _ in range(4)]


@pytest.mark.parametrize("op", range(len(QUESTIONS)))
def test_questions(lib: ctypes.CDLL, op: int) -> None:
    for a, b in pairs():
        assert lib.ask(op, given(a), given(b)) == QUESTIONS[op](a, b), (a, b)


@pytest.mark.parametrize("op", range(len(MADE)))
def test_strings(lib: ctypes.CDLL, op: int) -> None:
    out = ctypes.create_string_buffer(ROOM)
    for number, (a, b) in enumerate(pairs()):
        n = number % (len(a) + 1) if op < 2 else number % 9
        m = len(a) - (len(a) - n) // 2
        wanted = MADE[op](a, b, n, m)
        if wanted is None:
            continue
        length = lib.made(op, given(a), given(b), n, m, out, ROOM)
        assert out.raw[:length].decode("utf-8", "surrogatepass") == wanted, (a, b, n, m)


def test_every_character(lib: ctypes.CDLL) -> None:
    out = ctypes.create_string_buffer(1 << 23)
    text = "".join(map(chr, range(0x20000)))
    for op in (4, 5, 20):
        length = lib.made(op, given(text), given(""), 0, 0, out, 1 << 23)
        assert out.raw[:length].decode("utf-8", "surrogatepass") == MADE[op](text, "", 0, 0)


@pytest.mark.parametrize("text", NUMBERS)
def test_numbers(lib: ctypes.CDLL, text: str) -> None:
    whole, real = ctypes.c_int64(), ctypes.c_double()
    try:
        wanted = int(text)
    except ValueError:
        assert lib.as_int(given(text), ctypes.byref(whole)) == 1
    else:
        fits = -(2**63) <= wanted < 2**63
        assert lib.as_int(given(text), ctypes.byref(whole)) == (0 if fits else 2)
        assert not fits or whole.value == wanted
    try:
        number = float(text)
    except ValueError:
        assert not lib.as_float(given(text), ctypes.byref(real))
    else:
        assert lib.as_float(given(text), ctypes.byref(real))
        assert real.value == number or (math.isnan(number) and math.isnan(real.value))
        assert math.copysign(1, real.value) == math.copysign(1, number)


def test_floats_are_rounded_exactly(lib: ctypes.CDLL) -> None:
    chance, real = random.Random(3), ctypes.c_double()
    for _ in range(3000):
        number = struct.unpack("<d", chance.randbytes(8))[0]
        text = f"{number:.{chance.randrange(1, 25)}e}" if chance.random() < 0.5 else repr(number)
        assert lib.as_float(given(text), ctypes.byref(real))
        assert real.value == float(text) or math.isnan(number)
