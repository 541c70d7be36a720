"""Generated functions against the same functions written in Python."""

from __future__ import annotations

import inspect
import sys
import traceback
from collections.abc import Callable
from types import FunctionType
from typing import Any

import pytest

from ptc.capture.code import Position, build_function, decode
from tests.capture.code import corpus
from tests.capture.code.emitting import FullEmitter


def emitted(build: Callable[[FullEmitter], None], *arguments: str, free: Any = ()) -> FunctionType:
    """A function of `arguments` whose body `build` emits."""
    emitter = FullEmitter.plain(
        arguments, name="made", filename="made.py", line=10, free=tuple(free)
    )
    build(emitter)
    return FunctionType(emitter.code(), {"GLOBAL": 7, "__builtins__": __builtins__})


def test_calls() -> None:
    def target(*args: Any, **kwargs: Any) -> Any:
        return args, kwargs

    def body(e: FullEmitter) -> None:
        e.load_const(target)
        e.callee()
        e.load_local("x")
        e.load_local("y")
        e.load_const(3)
        e.call(1, ("b", "c"))
        # The callable comes out of an attribute load: no shortcut for its NULL.
        e.load_local("x")
        e.load_attr("bit_length")
        e.callee()
        e.call(0)
        # A global.
        e.load_global("len")
        e.callee()
        e.load_const("four")
        e.call(1)
        e.build_tuple(3)
        e.return_value()

    made = emitted(body, "x", "y")
    assert made(5, 6) == (((5,), {"b": 6, "c": 3}), 3, 4)


def test_branches_and_backward_jumps() -> None:
    """Sum down to zero; conditional jumps in both directions."""

    def body(e: FullEmitter) -> None:
        top, done, nothing = e.label(), e.label(), e.label()
        e.load_const(0)
        e.store_local("total")
        e.load_local("n")
        e.jump_if_false(nothing)
        e.mark(top)
        e.load_local("total")
        e.load_local("n")
        e.binary_op("+=")
        e.store_local("total")
        e.load_local("n")
        e.load_const(1)
        e.binary_op("-=")
        e.store_local("n")
        e.load_local("n")
        e.jump_if_true(top)
        e.jump(done)
        e.mark(nothing)
        e.load_const("nothing")
        e.return_value()
        e.mark(done)
        e.load_local("total")
        e.return_value()

    made = emitted(body, "n")
    assert made(4) == 10
    assert made(0) == "nothing"


def test_long_backward_jump() -> None:
    """The loop body is longer than one byte of distance reaches."""

    def body(e: FullEmitter) -> None:
        top, done = e.label(), e.label()
        e.load_const(0)
        e.load_local("items")
        e.get_iter()
        e.mark(top)
        e.for_iter(done)
        e.swap(2)
        e.swap(3)
        for number in range(400):
            e.load_const(1000 + number)
            e.binary_op("+")
        e.binary_op("+")
        e.swap(2)
        e.jump(top)
        e.mark(done)
        e.end_for()
        e.return_value()

    assert emitted(body, "items")([1, 2]) == 3 + 2 * sum(range(1000, 1400))


def test_try_except() -> None:
    def body(e: FullEmitter) -> None:
        caught, other = e.label(), e.label()
        with e.protect(caught):
            e.load_const(int)
            e.callee()
            e.load_local("text")
            e.call(1)
            e.return_value()
        e.mark(caught)
        e.push_exc_info()
        e.load_const(ValueError)
        e.check_exc_match()
        with e.protect(other, lasti=True, depth=1):
            e.jump_if_false(unmatched := e.label())
            e.pop()
            e.load_global("repr")
            e.callee()
            e.load_const(sys)
            e.load_attr("exception")
            e.callee()
            e.call(0)
            e.call(1)
            e.swap(2)
            e.pop_except()
            e.return_value()
            e.mark(unmatched)
            e.reraise()
        e.mark(other)
        e.copy(3)
        e.pop_except()
        e.reraise(1)

    made = emitted(body, "text")
    assert made("12") == 12
    assert "invalid literal" in made("x")
    with pytest.raises(TypeError):
        made(None)
    assert sys.exception() is None


def test_cells_and_closures() -> None:
    """A function whose closure is a free variable of the emitted one and a cell that it makes."""

    def scope() -> FunctionType:
        outer, x = 1, 2

        def add():
            return outer + x

        return add

    inner = scope()
    assert inner.__code__.co_freevars == ("outer", "x")
    assert inner.__closure__ is not None
    emitter = FullEmitter.plain(("x",), name="made", filename="f", free=("outer",))
    emitter.make_cell("x")
    emitter.load_cell("outer")
    emitter.load_cell("x")
    emitter.build_tuple(2)
    emitter.make_function(inner.__code__, closure=True)
    emitter.store_local("add")
    emitter.load_local("add")
    emitter.callee()
    emitter.call(0)
    emitter.load_const(5)
    emitter.store_deref("x")
    emitter.load_local("add")
    emitter.callee()
    emitter.call(0)
    emitter.load_deref("x")
    emitter.build_tuple(3)
    emitter.return_value()
    made = FunctionType(emitter.code(), {}, "made", None, inner.__closure__[:1])
    assert made(2) == (3, 6, 5)
    assert made.__code__.co_cellvars == ("x",)


def test_signature_of_an_original() -> None:
    def original(a, /, b, *rest: int, c=3, **more):
        """Documented."""
        return None

    emitter = FullEmitter.like(original.__code__)
    for name in ("a", "b", "rest", "c", "more"):
        emitter.load_local(name)
    emitter.build_tuple(5)
    emitter.return_value()
    made = emitter.function(original)
    assert inspect.signature(made) == inspect.signature(original)
    assert made(1, 2, 3, c=4, d=5) == (1, 2, (3,), 4, {"d": 5})
    assert (made.__doc__, made.__qualname__) == (original.__doc__, original.__qualname__)


def test_copied_instructions_and_positions() -> None:
    """The body of another function, instruction by instruction, keeps its lines in tracebacks."""

    def original(x):
        y = x.bit_length()
        return (
            note(y) + unknown_name  # noqa: F821
        )

    note = corpus.note
    decoded = decode(original.__code__)
    emitter = FullEmitter.like(original.__code__)
    done: set[int] = set()
    for instruction in decoded.instructions:
        if instruction.opname in ("RESUME", "COPY_FREE_VARS") or instruction.index in done:
            continue
        emitter.instruction(decoded, instruction.index)
        done.update(range(instruction.index, decoded.call_unit(instruction.index)[1] + 1))
    made = emitter.function(original)
    expected, found = (_traceback(function, 5) for function in (original, made))
    assert found == expected


def _traceback(function: FunctionType, argument: object) -> list[Any]:
    with pytest.raises(NameError) as caught:
        function(argument)
    frames = traceback.extract_tb(caught.value.__traceback__)[1:]
    return [(f.filename, f.lineno, f.end_lineno, f.colno, f.end_colno, f.name) for f in frames]


def test_positions() -> None:
    emitter = FullEmitter.plain((), name="made", filename="user.py", line=3)
    emitter.at(30)
    emitter.load_const(1)
    emitter.at(Position(31, 33, 4, 300))
    emitter.load_const("x")
    emitter.binary_op("+")
    emitter.at(Position(2))
    emitter.return_value()
    places = [(i.opname, i.position) for i in decode(emitter.code()).instructions]
    assert places[0] == ("RESUME", Position(3, 3))
    assert places[1][1].line == 30
    assert places[2][1] == places[3][1] == Position(31, 33, 4, 300)
    assert places[-1][1].line == 2


def test_mistakes_are_reported_where_they_are_made() -> None:
    emitter = FullEmitter.plain((), name="made", filename="f")
    with pytest.raises(ValueError, match="empty"):
        emitter.pop()
    with pytest.raises(ValueError, match="neither in a cell"):
        emitter.load_deref("x")
    label = emitter.label()
    with pytest.raises(ValueError, match="depths 0 and 1"):
        emitter.load_const(1)
        emitter.jump_if_true(label)
        emitter.load_const(1)
        emitter.mark(label)
    with pytest.raises(ValueError, match="never arrives"):
        emitter.return_value()
        emitter.load_const(1)


def test_constants_are_told_apart_by_identity() -> None:
    def body(e: FullEmitter) -> None:
        for value in (1, 1.0, True, -0.0, 0.0):
            e.load_const(value)
        e.build_tuple(5)
        e.return_value()

    assert repr(emitted(body)()) == "(1, 1.0, True, -0.0, 0.0)"


def test_local_unbound() -> None:
    def body(e: FullEmitter) -> None:
        e.load_local("x")
        e.return_value()

    with pytest.raises(UnboundLocalError):
        emitted(body)()


def test_build_function() -> None:
    text = "def check(x):\n    return LIMIT - missing\n"
    first = build_function(text, "check", {"LIMIT": 3}, "guards of f")
    second = build_function("def check(x): return x < LIMIT", "check", {"LIMIT": 3}, "guards of f")
    assert second(2)
    assert not second(4)
    with pytest.raises(NameError) as caught:
        first(1)
    frame = traceback.extract_tb(caught.value.__traceback__)[-1]
    assert frame.line == "return LIMIT - missing"
    assert first.__code__.co_filename != second.__code__.co_filename
