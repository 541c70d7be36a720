"""The executor's generated kernels are what the rules give, and no operator is forgotten."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from pathlib import Path

import pytest

from ptc.executor import generate_characters
from ptc.executor.generate import stale_files
from ptc.ops import registry

OPERATORS = Path(__file__).resolve().parents[2] / "ptc" / "executor" / "operators"

#: Operators without a kernel in the executor, with the reason.
NO_KERNEL: Mapping[str, str] = {}


def test_generated_files_are_what_the_rules_give() -> None:
    assert not stale_files(), "run `python -m ptc.executor.generate`"


def test_tables_of_characters_are_what_python_says() -> None:
    there = generate_characters.TARGET.read_text()
    if f"// Unicode {unicodedata.unidata_version}\n" not in there:
        pytest.skip("the tables are of another version of Unicode than this Python's")
    assert there == generate_characters.text(), "run `python -m ptc.executor.generate_characters`"


def test_every_lowered_operator_has_a_kernel_or_a_reason() -> None:
    tables = "".join(path.read_text() for path in OPERATORS.glob("*.cpp"))
    names = {
        str(op).replace(".default", "").replace(".", "::", 1) for op in registry.lowered_operators()
    }
    missing = {name for name in names if f'{{"{name}", ' not in tables}
    forgotten, needless = missing - set(NO_KERNEL), set(NO_KERNEL) - missing
    assert not forgotten, f"no kernel and no reason in NO_KERNEL: {sorted(forgotten)}"
    assert not needless, f"there is a kernel, take out of NO_KERNEL: {sorted(needless)}"
