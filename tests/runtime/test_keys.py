"""ptc_control_keys.h against Python: keys that are searched, and then found by a table."""

from __future__ import annotations

import ctypes
import random
from pathlib import Path
from typing import Any

import pytest

from tests.runtime import native

Row = tuple[int, float, str]
FAILED = -2


class Keys:
    """The lists of the library, with a copy in Python."""

    def __init__(self, lib: Any) -> None:
        self.lib = lib
        self.rows: list[Row] = []
        lib.begin()

    def add(self, row: Row, at: int = -1) -> None:
        assert self.lib.add(at, row[0], ctypes.c_double(row[1]), row[2].encode()) == 0
        self.rows.insert(len(self.rows) if at < 0 else at, row)

    def put(self, at: int, number: int) -> None:
        self.lib.put(at, number)
        self.rows[at] = (number, *self.rows[at][1:])

    def remove(self, at: int) -> None:
        self.lib.remove_at(at)
        del self.rows[at]

    def reverse(self) -> None:
        self.lib.reverse_all()
        self.rows.reverse()

    def clear(self) -> None:
        self.lib.clear_all()
        self.rows.clear()

    def find(self, kind: int, row: Row) -> int:
        found = self.lib.find(kind, row[0], ctypes.c_double(row[1]), row[2].encode())
        parts = [(0,), (1,), (2,), (0, 1, 2), (1, 0)][kind]
        wanted = [row[part] for part in parts]
        rows = enumerate(self.rows)
        assert found == next((i for i, r in rows if [r[p] for p in parts] == wanted), -1)
        return found


@pytest.fixture
def keys(build_folder: Path) -> Keys:
    lib = native.build(native.text("keys.cpp"), "native", build_folder)
    long = ctypes.c_int64
    lib.find.restype = lib.rows_in_table.restype = long
    lib.add.argtypes = [long, long, ctypes.c_double, ctypes.c_char_p]
    lib.put.argtypes = [long, long]
    lib.remove_at.argtypes = [long]
    lib.find.argtypes = [ctypes.c_int, long, ctypes.c_double, ctypes.c_char_p]
    return Keys(lib)


def row(rng: random.Random, different: int) -> Row:
    value = rng.randrange(different) - different // 2
    text = "abcdefgh" * (value % 3) + chr(97 + value % 26) * (value % 11)
    return value << (40 if value % 2 else 0), rng.choice([value / 4, 0.0, -0.0]), text


@pytest.mark.parametrize("different", [6, 60, 3000])
@pytest.mark.parametrize("changing", [0, 1, 20])
def test_as_python_after_any_change(keys: Keys, different: int, changing: int) -> None:
    """One change in `changing`, of one kind or another, to ten keys that are added."""
    rng = random.Random(different + changing)
    for _ in range(1500):
        keys.add(row(rng, different))
        for kind in rng.sample(range(5), 2):
            keys.find(kind, row(rng, different))
            keys.find(kind, rng.choice(keys.rows) if keys.rows else row(rng, different))
        if not changing or rng.randrange(changing):
            continue
        at = rng.randrange(len(keys.rows))
        match rng.randrange(40):
            case 0:
                keys.clear()
            case 1 | 2 | 3 | 4:
                keys.reverse()
            case change if change < 12:
                keys.put(at, row(rng, different)[0])
            case change if change < 24:
                keys.add(row(rng, different), at)
            case _:
                keys.remove(rng.choice([at, 0, len(keys.rows) - 1]))


def test_what_is_equal_is_one_key(keys: Keys) -> None:
    for number in range(40):
        keys.add((number, number - 20.0, ""))
    for _ in range(6):
        assert keys.find(1, (0, -0.0, "")) == 20
        assert keys.find(0, (2**62, 0.0, "")) == -1
    keys.add((2**62, 0.5, "\0"))
    assert keys.find(0, (2**62, 0.0, "")) == 40


def test_a_nan_is_no_key(keys: Keys) -> None:
    for number in range(40):
        keys.add((number, float(number), ""))
    nan = float("nan")
    for kind in (1, 3, 4):
        assert keys.lib.find(kind, 1, ctypes.c_double(nan), b"") == FAILED


def test_appending_keeps_the_table(keys: Keys) -> None:
    for number in range(5000):
        keys.lib.find(0, number, ctypes.c_double(0.0), b"")
        keys.lib.add(-1, number, ctypes.c_double(0.0), b"")
    assert keys.lib.rows_in_table() == 4999
    keys.lib.put(17, 6000)
    assert keys.lib.find(0, 17, ctypes.c_double(0.0), b"") == -1
    assert keys.lib.find(0, 6000, ctypes.c_double(0.0), b"") == 17
    assert keys.lib.rows_in_table() == 0  # few searches do not pay for a table


def test_few_keys_have_no_table(keys: Keys) -> None:
    for number in range(15):
        keys.add((number, 0.0, ""))
        for _ in range(9):
            keys.find(0, (number, 0.0, ""))
    assert keys.lib.rows_in_table() == -1
