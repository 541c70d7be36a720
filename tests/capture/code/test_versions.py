"""The tables of version differences and stack effects against the running Python's own."""

from __future__ import annotations

import dis
import opcode

import pytest

from ptc.capture.code import versions
from ptc.capture.code.effects import stack_effect

REAL = {name: number for name, number in opcode.opmap.items() if number < 237}
# PRECALL and CALL share one effect in two halves, of which CPython's numbers are bookkeeping.
SHARED = {"PRECALL", "CALL"} if versions.HAS_PRECALL else set()
LEGAL = {"BUILD_SLICE": (2, 3), "RAISE_VARARGS": (0, 1, 2)}


@pytest.mark.parametrize("name", sorted(REAL.keys() - SHARED - {"CACHE", "EXTENDED_ARG"}))
def test_stack_effect(name: str) -> None:
    if name.startswith("INSTRUMENTED_"):
        return
    arguments = LEGAL.get(name, (0, 1, 2, 3, 4, 5, 8, 15, 300))
    if not versions.takes_argument(REAL[name]):
        arguments = (None,)
    for arg in arguments:
        for jump in (False, True):
            taken, left = stack_effect(name, arg, jump=jump)
            assert left - taken == dis.stack_effect(REAL[name], arg, jump=jump), (arg, jump)


def test_precall_and_call_together() -> None:
    for count in range(4):
        halves = [stack_effect(name, count) for name in ("PRECALL", "CALL")]
        assert sum(left - taken for taken, left in halves) == -count - 1


def test_operators() -> None:
    assert [text for _, text in opcode._nb_ops][:26] == list(versions.BINARY_OPERATORS)
    assert list(dis.cmp_op[:6]) == list(versions.COMPARE_OPERATORS)


@pytest.mark.parametrize("operator", versions.COMPARE_OPERATORS)
def test_comparisons(operator: str) -> None:
    compiled = compile(f"a {operator} b", "", "eval")
    plain = next(i for i in dis.get_instructions(compiled) if i.opname == "COMPARE_OP")
    assert versions.compare_operator(plain.arg) == operator
    assert not versions.compare_gives_bool(plain.arg)
    tested = compile(f"1 if a {operator} b else 2", "", "eval")
    test = next(i for i in dis.get_instructions(tested) if i.opname == "COMPARE_OP")
    assert versions.compare_gives_bool(test.arg) is versions.PY313


def test_intrinsics() -> None:
    if versions.VERSION == (3, 12):
        assert list(versions.INTRINSICS_1) == opcode._intrinsic_1_descs
        assert list(versions.INTRINSICS_2[:5]) == opcode._intrinsic_2_descs
    elif versions.VERSION == (3, 13):
        import _opcode

        assert list(versions.INTRINSICS_1) == _opcode.get_intrinsic1_descs()
        assert list(versions.INTRINSICS_2) == _opcode.get_intrinsic2_descs()


# Instructions of generators and coroutines; their functions are never resumed.
GENERATOR_OPCODES = frozenset(
    {
        "RETURN_GENERATOR",
        "YIELD_VALUE",
        "SEND",
        "END_SEND",
        "CLEANUP_THROW",
        "GET_AWAITABLE",
        "GET_AITER",
        "GET_ANEXT",
        "BEFORE_ASYNC_WITH",
        "END_ASYNC_FOR",
        "ASYNC_GEN_WRAP",
        "GET_YIELD_FROM_ITER",
    }
)


def test_branches_are_real_jumps() -> None:
    for name in versions.BRANCHES:
        assert versions.is_jump(name)
    jumps = {name for name in REAL if versions.is_jump(name) and "INSTRUMENTED" not in name}
    known = {*versions.BRANCHES, *versions.UNCONDITIONAL_JUMPS, *GENERATOR_OPCODES}
    assert jumps <= known
