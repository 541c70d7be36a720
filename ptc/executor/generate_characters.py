"""Writes `control_characters.h`: what Python says of every code point, as tables in C++.

`python -m ptc.executor.generate_characters`. The tables are those that libraries have.
"""

from __future__ import annotations

from pathlib import Path

from ptc.codegen.characters import TABLES, UNPRINTABLE, table

TARGET = Path(__file__).resolve().parent / "control_characters.h"

_HEAD = """\
// Properties of characters, as Python has them. Written by ptc/executor/generate_characters.py.
#ifndef PTC_EXECUTOR_CONTROL_CHARACTERS_H
#define PTC_EXECUTOR_CONTROL_CHARACTERS_H

#include "ptc_string.h"

namespace ptc::exec {

"""
_TAIL = """

}  // namespace ptc::exec

#endif
"""


def text() -> str:
    """The content of the file."""
    names = sorted({UNPRINTABLE, *(name for tables in TABLES.values() for name in tables)})
    return _HEAD + "\n".join(line for name in names for line in table(name)) + _TAIL


if __name__ == "__main__":
    TARGET.write_text(text())
