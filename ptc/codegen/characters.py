"""Properties of characters as tables of a library: what Python says of every code point.

Takes a table's name, gives its definition in C++ (`CharacterSet` and `CharacterMap` of
ptc_string.h). A library has the tables that its programs use, with the Unicode version of the
Python that builds it. Knows no programs.
"""

from __future__ import annotations

import functools
import sys
import unicodedata
from collections.abc import Callable, Iterable, Mapping

_COLUMNS = 96


def _cased(c: str) -> bool:
    """A letter with case, by what it does to a sigma behind it."""
    return (c + "Σ").lower()[-1] == "ς"


def _ignored(c: str) -> bool:
    """A character that a word goes on over."""
    return not _cased(c) and ("A" + c + "Σ").lower()[-1] == "ς"


_SETS: Mapping[str, Callable[[str], bool]] = {
    "isdigit": str.isdigit,
    "isdecimal": str.isdecimal,
    "isnumeric": str.isnumeric,
    "isalpha": str.isalpha,
    "isalnum": str.isalnum,
    "unprintable": lambda c: not c.isprintable(),
    "zeros": lambda c: unicodedata.decimal(c, None) == 0,
    "cased": _cased,
    "ignored": _ignored,
}
_MAPS: Mapping[str, Callable[[str], str]] = {"upper": str.upper, "lower": str.lower}

#: Operation of `TextItem` -> the tables it takes behind its operands.
TABLES: Mapping[str, tuple[str, ...]] = {
    **{name: (name,) for name in ("isdigit", "isdecimal", "isnumeric", "isalpha", "isalnum")},
    **dict.fromkeys(("is_int", "is_float", "int", "float"), ("zeros",)),
    "upper": ("upper",),
    "lower": ("lower", "cased", "ignored"),
}
UNPRINTABLE = "unprintable"


def member_name(table: str) -> str:
    return f"characters_{table}"


@functools.cache
def table(name: str) -> tuple[str, ...]:
    """The lines that define a table."""
    if name in _SETS:
        numbers, width, kind = list(_ranges(_SETS[name])), 2, "CharacterSet"
    else:
        numbers, width, kind = list(_rows(_MAPS[name])), 4, "CharacterMap"
    member = member_name(name)
    return (
        f"// Unicode {unicodedata.unidata_version}",
        f"static const uint32_t {member}_table[] = {{",
        *_lines(numbers),
        "};",
        f"static const {kind} {member} = {{{member}_table, {len(numbers) // width}}};",
    )


def _ranges(has: Callable[[str], bool]) -> Iterable[int]:
    """First and last of each range of characters that have a property."""
    first = -1
    for code in range(sys.maxunicode + 2):
        holds = code <= sys.maxunicode and has(chr(code))
        if holds and first < 0:
            first = code
        elif not holds and first >= 0:
            yield from (first, code - 1)
            first = -1


def _rows(function: Callable[[str], str]) -> Iterable[int]:
    """Each character that becomes others, and these."""
    for code in range(sys.maxunicode + 1):
        becomes = function(chr(code))
        if becomes != chr(code):
            numbers = [ord(c) for c in becomes]
            yield from (code, *numbers, *[0] * (3 - len(numbers)))


def _lines(numbers: Iterable[int]) -> Iterable[str]:
    line = "   "
    for number in numbers:
        text = f" {number},"
        if len(line) + len(text) > _COLUMNS:
            yield line
            line = "   "
        line += text
    yield line
