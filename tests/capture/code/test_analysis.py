"""Facts about instruction boundaries, against the compiler's own numbers and by hand."""

from __future__ import annotations

import pytest

from ptc.capture.code import ItemKind, analyse, decode, versions
from tests.capture.code import corpus
from tests.capture.code.test_decode import MODULES, all_code, module_code

VALUE, NULL = ItemKind.VALUE, ItemKind.NULL


def index_of(function, opname: str, number: int = 0) -> int:
    """Index of the function's instruction number `number` with that opcode."""
    found = [i.index for i in decode(function.__code__).instructions if i.opname == opname]
    return found[number]


@pytest.mark.parametrize("module", MODULES)
def test_depths_agree_with_the_compiler(module: str) -> None:
    """No deeper than co_stacksize, and at a handler exactly as deep as the exception table says."""
    for code in all_code(module_code(module)):
        analysis = analyse(code)
        for instruction in analysis.decoded.instructions:
            if not analysis.reachable(instruction.index):
                continue
            assert analysis.depth(instruction.index) <= code.co_stacksize
            handler = instruction.handler
            if handler is not None and analysis.reachable(handler.target):
                assert analysis.depth(handler.target) == handler.depth + handler.lasti + 1


def test_stack_kinds_in_a_handler() -> None:
    def handles(x):
        with x:
            x()

    at = index_of(handles, "WITH_EXCEPT_START")
    expected = (VALUE, ItemKind.LASTI, ItemKind.PREVIOUS, VALUE)
    assert analyse(handles.__code__).stack(at) == expected


def test_null_of_a_call() -> None:
    def calls(f, x):
        return len(f(x.g(1)))

    analysis = analyse(calls.__code__)
    at = index_of(calls, "LOAD_CONST", -1)
    null_last = versions.NULL_ABOVE_CALLABLE
    plain = (VALUE, NULL) if null_last else (NULL, VALUE)
    method = (VALUE, VALUE | NULL) if null_last else (VALUE | NULL, VALUE)
    assert analysis.stack(at) == plain + plain + method


def test_liveness() -> None:
    def flows(a, b, flag):
        c = a
        if flag:
            d = b
        note = c
        return d + note

    code = flows.__code__
    analysis = analyse(code)
    start = index_of(flows, "RESUME") + 1
    assert analysis.live(start) == {"a", "b", "flag", "d"}  # `d` is read although never set
    end = index_of(flows, "BINARY_OP")
    assert analysis.live(end) == frozenset()


def test_handler_keeps_variables_alive() -> None:
    def guarded(f, fallback):
        try:
            return f()
        except ValueError:
            return fallback

    call = index_of(guarded, "CALL")
    assert "fallback" in analyse(guarded.__code__).live(call)


@pytest.mark.skipif(not versions.PY312, reason="comprehensions are functions of their own")
def test_what_a_comprehension_saves_lives_if_it_is_read_afterwards() -> None:
    def saves(values):
        for kept in values:
            for dropped in kept:
                values = dropped
        made = [kept + dropped for kept in values for dropped in values]
        return made, kept

    analysis = analyse(saves.__code__)
    assert analysis.live(index_of(saves, "LOAD_FAST_AND_CLEAR")) == {"values", "kept"}
    assert analysis.live(index_of(saves, "BUILD_LIST")) == {"values"}


def test_cells() -> None:
    def outer(x, y):
        return lambda: x + y

    def owner(x):
        z = 1
        return lambda: (x, z, outer)

    analysis = analyse(owner.__code__)
    at = index_of(owner, "RESUME")
    assert analysis.cells(at) == {"x", "z", "outer"}
    assert analysis.live(at) == {"x", "z"}


def test_handlers_in_order() -> None:
    def nested(f):
        try:
            try:
                f()
            finally:
                f(1)
        except ValueError:
            pass

    code = nested.__code__
    around = analyse(code).handlers(index_of(nested, "CALL"))
    opcodes = [decode(code).instructions[handler.target].opname for handler in around]
    # Each handler is followed by its clean-up: COPY 3, POP_EXCEPT, RERAISE 1.
    assert opcodes == ["PUSH_EXC_INFO", "COPY", "PUSH_EXC_INFO", "COPY"]


def test_frame_readers_keep_everything_alive() -> None:
    def reads(x):
        y = x
        return locals()

    def does_not(model, x):
        y = x  # noqa: F841
        return model.eval()

    end = len(decode(reads.__code__).instructions) - 1
    assert analyse(reads.__code__).live(end) == {"x", "y"}
    end = len(decode(does_not.__code__).instructions) - 1
    assert analyse(does_not.__code__).live(end) == frozenset()


def test_generators_can_be_analysed() -> None:
    for function in corpus.REFUSED.values():
        assert analyse(function.__code__).reachable(0)


def test_unreachable_is_said() -> None:
    def plain():
        return 1

    code = plain.__code__
    analysis = analyse(code)
    assert all(analysis.reachable(i.index) for i in analysis.decoded.instructions)
