"""Decoding against `dis`, on the standard library: every instruction, position, jump and
handler."""

from __future__ import annotations

import bisect
import dis
import importlib
from collections.abc import Iterator
from types import CodeType

import pytest

from ptc.capture.code import SlotKind, decode, versions
from tests.capture.code import corpus

MODULES = ("argparse", "contextlib", "dataclasses", "asyncio.tasks", "enum", "zipfile")

# dis shows these arguments in its own words.
_WORDED = {"BINARY_OP", "COMPARE_OP", "CALL_INTRINSIC_1", "CALL_INTRINSIC_2", "KW_NAMES"}
_PLAIN = {"MAKE_FUNCTION", "FORMAT_VALUE", "CONVERT_VALUE", "SET_FUNCTION_ATTRIBUTE"}


def all_code(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from all_code(constant)


def module_code(name: str) -> CodeType:
    loader = importlib.import_module(name).__spec__.loader
    return loader.get_code(name)  # type: ignore[union-attr]


def check_instructions(code: CodeType) -> None:
    expected = [i for i in dis.get_instructions(code) if i.opname not in ("CACHE", "EXTENDED_ARG")]
    decoded = decode(code)
    offsets = {known.offset: index for index, known in enumerate(expected)}
    assert len(decoded.instructions) == len(expected)
    for index, (ours, known) in enumerate(zip(decoded.instructions, expected, strict=True)):
        assert ours.index == index
        place = ours.position
        assert (ours.opname, ours.offset, ours.arg) == (known.opname, known.offset, known.arg)
        assert known.positions is not None
        assert known.positions == (place.line, place.end_line, place.column, place.end_column)
        if known.opcode in (*dis.hasjrel, *dis.hasjabs):
            target = known.argval
            while target not in offsets:  # a jump leads to the EXTENDED_ARG of its target
                target += 2
            assert ours.target == ours.argval == offsets[target]
        elif ours.opname in _PLAIN:
            assert ours.argval == ours.arg
        elif ours.opname in _WORDED:
            assert str(ours.argval) in known.argrepr or ours.opname == "KW_NAMES"
        elif ours.arg is not None:
            assert repr(ours.argval) == repr(known.argval)


def check_handlers(code: CodeType) -> None:
    decoded = decode(code)
    starts = [instruction.offset for instruction in decoded.instructions]
    table = dis._parse_exception_table(code)  # type: ignore[attr-defined]
    for ours in decoded.instructions:
        inside = [entry for entry in table if entry.start <= ours.offset < entry.end]
        if not inside:
            assert ours.handler is None
            continue
        (entry,) = inside
        assert ours.handler is not None
        found = (ours.handler.target, ours.handler.depth, ours.handler.lasti)
        # The table leads to the EXTENDED_ARG of its target.
        assert found == (bisect.bisect_left(starts, entry.target), entry.depth, entry.lasti)


def check_slots(code: CodeType) -> None:
    for slot in decode(code).slots:
        assert slot.name == code._varname_from_oparg(slot.index)  # type: ignore[attr-defined]
        assert (slot.kind is SlotKind.FREE) <= (slot.name in code.co_freevars)


@pytest.mark.parametrize("module", MODULES)
def test_standard_library(module: str) -> None:
    for code in all_code(module_code(module)):
        check_instructions(code)
        check_handlers(code)
        check_slots(code)


def test_long_jumps_and_constants() -> None:
    code = corpus.long_function().__code__
    assert "EXTENDED_ARG" in {i.opname for i in dis.get_instructions(code)}
    check_instructions(code)


def test_call_unit() -> None:
    def call(f, x):
        return f(x, key=x)

    decoded = decode(call.__code__)
    calls = [i.index for i in decoded.instructions if i.opname in ("CALL", "CALL_KW")]
    first, last = decoded.call_unit(calls[0])
    names = [i.opname for i in decoded.instructions[first : last + 1]]
    expected = {
        (3, 11): ["KW_NAMES", "PRECALL", "CALL"],
        (3, 12): ["KW_NAMES", "CALL"],
        (3, 13): ["CALL_KW"],
    }
    assert names == expected[versions.VERSION]
    assert {decoded.call_unit(index) for index in range(first, last + 1)} == {(first, last)}


def test_twins_in_two_files_are_told_apart() -> None:
    """Code objects with equal contents are equal, whatever their file."""
    first, second = (
        next(
            c for c in compile("def f(): return 1", name, "exec").co_consts if hasattr(c, "co_code")
        )
        for name in ("a.py", "b.py")
    )
    assert first == second
    assert decode(first).code.co_filename == "a.py"
    assert decode(second).code.co_filename == "b.py"


def test_refusals() -> None:
    for reason, function in corpus.REFUSED.items():
        assert reason in (decode(function.__code__).refusal or "")
    assert decode(corpus.for_else.__code__).refusal is None
    assert "class or module" in (decode(module_code("enum")).refusal or "")
