"""Step and resume functions: lifetimes, caching, loops, closures, refusals."""

from __future__ import annotations

import sys
import traceback
import weakref
from collections.abc import Callable
from types import CellType, FunctionType
from typing import Any

import pytest

from ptc.capture.code import (
    ArgumentKind,
    ItemKind,
    Layout,
    ResumeRefused,
    analyse,
    decode,
    forget_all,
    make_resume,
    make_step,
    origin,
)
from tests.capture.code import corpus, stepping


def call_index(function: FunctionType, number: int = 0) -> int:
    """Index of the first instruction of the function's call number `number`."""
    decoded = decode(function.__code__)
    calls = [i.index for i in decoded.instructions if i.opname in ("CALL", "CALL_KW")]
    return decoded.call_unit(calls[number])[0]


def layout_at(function: FunctionType, at: int, *bound: str, keep: tuple[str, ...] = ()) -> Layout:
    """The layout with the NULLs that are certain, methods taken as plain attributes."""
    stack = analyse(function.__code__).stack(at)
    return Layout(tuple(ItemKind.NULL in kind for kind in stack), frozenset(bound), frozenset(keep))


def test_break_in_a_loop_needs_one_resume_function() -> None:
    """The resume of a resume is traced back: `function` at a place has one resume function."""

    def loop(items):
        total = 0
        for item in items:
            total += opaque(item)
        return total

    opaque = corpus.note
    code = loop.__code__
    at = call_index(loop)
    dispatch = stepping.Stepper()
    first = make_step(code, at, layout_at(loop, at, "items", "total", "item"), dispatch)
    (after,) = first.outcomes
    place = origin(after.code)
    assert place is not None
    assert (place.code, place.at) == (code, decode(code).call_unit(at)[1] + 1)
    resumed = after.function(loop, lambda _: CellType(opaque))
    again = call_index(resumed)
    second = make_step(after.code, again, layout_at(resumed, again, "total", "item"), dispatch)
    assert again != at
    assert second.code is first.code
    assert second.outcomes[0].code is after.code


def test_trampoline_runs_long_loops() -> None:
    """A dispatcher that records the call keeps the Python stack flat over any number of breaks."""

    def loop(count):
        total = 0
        for i in range(count):
            total += abs(-i)
        return total

    code = loop.__code__
    at = call_index(loop, 1)

    class Later:
        def __init__(self, function: FunctionType, args: tuple[Any, ...]) -> None:
            self.function, self.args = function, args

    def dispatch(resume: FunctionType) -> Callable[..., Any]:
        return lambda *args: Later(resume, args)

    # Enter at the call of `abs`, then step through everything that follows.
    layout = layout_at(loop, at, "count", "i")
    step = make_step(code, at, layout, dispatch)
    items = [place for place, null in enumerate(layout.null) if not null]
    stack = dict(zip(items, (iter(range(1, 3000)), 0, abs, 0), strict=True))
    args = [stack[argument.position] for argument in step.arguments]
    result = step.function(loop, {}.__getitem__)(*args)
    rounds = 0
    while isinstance(result, Later):
        rounds += 1
        place = origin(result.function.__code__)
        assert place is not None
        step = make_step(code, place.at, place.layout, dispatch)
        result = step.function(loop, {}.__getitem__)(*result.args)
    assert result == sum(range(3000))
    assert rounds > 10_000


class Tracked:
    """Can be referenced weakly."""


def test_values_are_not_kept_alive() -> None:
    """Nothing lives longer than in the original."""

    def consumes(holder, probe):
        probe(holder.pop())
        x = holder.pop()
        probe(x)
        x = None
        return probe(None)

    watches: list[weakref.ref[Tracked]] = []
    alive: list[list[bool]] = []

    def probe(value: object) -> None:
        # The argument itself is held by the call in progress.
        del value
        alive.append([watch() is not None for watch in watches])

    def holder() -> list[Tracked]:
        things = [Tracked(), Tracked()]
        watches[:] = map(weakref.ref, things)
        return things

    consumes(holder(), probe)
    expected, alive[:] = alive[:], []
    stepping.run_stepwise(consumes, (holder(), probe), {}, stepping.Stepper())
    for now, then in zip(alive, expected, strict=True):
        assert all(before or not after for after, before in zip(now, then, strict=True))
    assert alive[-1] == [False, False]


def test_dead_variables_are_dropped_unless_kept() -> None:
    def scratch(f):
        folder = f()  # noqa: F841
        name = "used"
        f()
        return name

    code = scratch.__code__
    at = call_index(scratch, 1)
    bound = ("f", "folder", "name")
    dropped = make_resume(code, at, layout_at(scratch, at, *bound))
    kept = make_resume(code, at, layout_at(scratch, at, *bound, keep=("folder",)))
    assert [a.name for a in dropped.arguments if a.kind is ArgumentKind.LOCAL] == ["name"]
    assert [a.name for a in kept.arguments if a.kind is ArgumentKind.LOCAL] == ["folder", "name"]


def test_traceback_shows_the_users_line() -> None:
    def user(f):
        x = 1
        return f(
            x,
        )

    def fails(_: object) -> None:
        raise LookupError

    at = call_index(user)
    step = make_step(user.__code__, at, layout_at(user, at), lambda resume: resume)
    with pytest.raises(LookupError) as caught:
        step.function(user, {}.__getitem__)(fails, 1)
    frame = traceback.extract_tb(caught.value.__traceback__)[-2]
    first = user.__code__.co_firstlineno
    assert (frame.filename, frame.name) == (__file__, "user")
    assert (frame.lineno, frame.end_lineno) == (first + 2, first + 4)


def test_exception_state_is_clean_after_a_break_in_a_handler() -> None:
    def handles(f):
        try:
            raise ValueError("first")
        except ValueError:
            f()
        return repr(sys.exception())

    found: list[object] = []
    at = call_index(handles, 1)
    step = make_step(handles.__code__, at, layout_at(handles, at, "f"), lambda resume: resume)
    error = ValueError("handled")
    values = {
        ArgumentKind.HANDLED: error,
        ArgumentKind.STACK: lambda: found.append(sys.exception()),
    }
    made = step.function(handles, {}.__getitem__)
    assert made(*(values[argument.kind] for argument in step.arguments)) == "None"
    assert found == [error]
    assert sys.exception() is None


def test_captured_self_and_super() -> None:
    """`self` stays the first argument, as its cell, where super() looks at the frame."""
    function = corpus.Derived.captured_self
    code = function.__code__
    at = call_index(function, 1)
    step = make_step(code, at, layout_at(function, at, *code.co_varnames), lambda resume: resume)
    kinds = {argument.name: argument.kind for argument in step.arguments}
    assert next(iter(kinds)) == "self"
    assert kinds["self"] is ArgumentKind.CELL


def test_layout_that_contradicts_the_code_is_refused() -> None:
    def calls(f, x):
        y = x
        return f(x) + y

    code = calls.__code__
    at = call_index(calls)
    right = layout_at(calls, at, "y")
    with pytest.raises(ValueError, match="stack items saved"):
        make_resume(code, at, Layout(right.null[1:], right.bound))
    with pytest.raises(ValueError, match="stack item"):
        make_resume(code, at, Layout(tuple(not null for null in right.null), right.bound))
    with pytest.raises(ValueError, match="variable `y`"):
        make_resume(code, at, Layout(right.null, frozenset()))


def test_middle_of_a_call_is_refused() -> None:
    def calls(f, x):
        return f(x, key=x)

    first, last = decode(calls.__code__).call_unit(call_index(calls))
    for at in range(first + 1, last + 1):
        with pytest.raises(ResumeRefused, match="middle of a call"):
            make_resume(calls.__code__, at, layout_at(calls, first, "f", "x"))


def test_shadowed_free_variable_is_refused() -> None:
    """CPython 3.12 gives such a variable two slots of one name (and then reads the wrong one)."""

    def scope():
        x = 1

        def shadows(items):
            return [lambda: x for x in items], x  # noqa: B023

        return shadows

    code = scope().__code__
    if len({slot.name for slot in decode(code).slots}) == len(decode(code).slots):
        make_resume(code, 0, Layout((), frozenset({"items"})))
    else:
        with pytest.raises(ResumeRefused, match="`x` is both"):
            make_resume(code, 0, Layout((), frozenset({"items"})))


def test_results_are_cached_and_can_be_forgotten() -> None:
    def plain(f):
        return f()

    code = plain.__code__
    at = call_index(plain)
    layout = layout_at(plain, at)
    first = make_resume(code, at, layout)
    assert make_resume(code, at, Layout(layout.null, layout.bound)) is first
    forget_all()
    assert make_resume(code, at, layout) is not first


def test_names_of_arguments_are_legal_and_distinct() -> None:
    def clashes(stack_0, stack_1, f):
        return f(stack_0) + f(stack_1)

    code = clashes.__code__
    at = call_index(clashes, 1)
    resume = make_resume(code, at, layout_at(clashes, at, "stack_0", "stack_1", "f"))
    names = resume.code.co_varnames[: resume.code.co_argcount]
    assert len(set(names)) == len(names)
    assert all(name.isidentifier() for name in names)
    comprehension = (lambda items: [corpus.note(item) for item in items]).__code__
    inner = [c for c in comprehension.co_consts if hasattr(c, "co_code")]
    for nested in inner:  # 3.11: a function whose argument is called `.0`
        entered = make_resume(nested, 0, Layout((), frozenset({".0"})))
        assert all(name.isidentifier() for name in entered.code.co_varnames)
        assert entered.arguments[0].name == ".0"
