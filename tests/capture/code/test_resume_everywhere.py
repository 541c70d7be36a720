"""Break at every instruction of every corpus function, go on in a resume function, compare with
CPython."""

from __future__ import annotations

import copy
import sys
from collections.abc import Iterator
from types import FunctionType
from typing import Any

import pytest

from ptc.capture.code import ArgumentKind, Layout, ResumeRefused, decode, make_resume, versions
from ptc.capture.code.resume import origin
from tests.capture.code import corpus, stepping

IDS = [f"{function.__name__}-{number}" for number, (function, _, _) in enumerate(corpus.CASES)]


@pytest.fixture(autouse=True)
def deep_recursion() -> Iterator[None]:
    """Each step is a frame on top of the one before."""
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(20_000)
    yield
    sys.setrecursionlimit(limit)


def observed(function: FunctionType, args: Any, kwargs: Any, call: Any) -> tuple[Any, ...]:
    """Observe `call` on copies of the arguments, with the function's closure put back
    afterwards."""
    cells = function.__closure__ or ()
    contents = [cell.cell_contents for cell in cells]
    args, kwargs = copy.deepcopy((args, kwargs))
    result = stepping.observe(lambda: call(function, args, kwargs))
    for cell, value in zip(cells, contents, strict=True):
        cell.cell_contents = value
    return result


def native(function: FunctionType, args: Any, kwargs: Any) -> tuple[Any, ...]:
    return observed(function, args, kwargs, lambda f, a, k: f(*a, **k))


def stepped(
    function: FunctionType, args: Any, kwargs: Any, stepper: stepping.Stepper
) -> tuple[Any, ...]:
    return observed(function, args, kwargs, lambda f, a, k: stepping.run_stepwise(f, a, k, stepper))


@pytest.mark.parametrize(("function", "args", "kwargs"), corpus.CASES, ids=IDS)
def test_every_boundary(function: FunctionType, args: Any, kwargs: Any) -> None:
    expected = native(function, args, kwargs)
    stepper = stepping.Stepper()
    assert stepped(function, args, kwargs, stepper) == expected
    for limit in range(stepper.steps):
        stepper.limit, stepper.steps = limit, 0
        assert stepped(function, args, kwargs, stepper) == expected, f"after {limit} steps"


@pytest.mark.parametrize(("function", "args", "kwargs"), corpus.CASES, ids=IDS)
def test_resume_function_is_ordinary_code(function: FunctionType, args: Any, kwargs: Any) -> None:
    """A resume function whose origin is forgotten can itself be stepped through from its start."""
    expected = native(function, args, kwargs)
    values = stepping.bound_arguments(function, args, kwargs)
    entry = make_resume(function.__code__, 0, Layout((), frozenset(values)))
    stepper = stepping.Stepper(limit=sys.maxsize)
    plain = stepping.closed(entry, function)
    plain.__code__ = plain.__code__.replace()
    assert origin(plain.__code__) is None
    arguments = [values[argument.name] for argument in entry.arguments]
    assert stepped(plain, arguments, {}, stepper) == expected


def test_extended_arguments() -> None:
    """Jumps, constants and names beyond 255, entered within the loop and on its edges."""
    function = corpus.long_function()
    code = function.__code__
    expected = native(function, (3,), {})[1]
    starts = [i.index for i in decode(code).instructions if i.opname == "BINARY_OP"]
    names = frozenset({"n", "total", "i"})
    for at in (starts[0] + 1, starts[76] + 1, starts[149] + 1):
        # Stop behind the addition number `done` of the first round.
        done = starts.index(at - 1) + 1
        resume = make_resume(code, at, Layout((False, False), names))
        iterator = iter(range(1, 3))
        values = {"n": 3, "total": None, "i": 0, 0: iterator, 1: sum(range(5000, 5000 + done))}
        arguments = [
            values[a.name if a.kind is ArgumentKind.LOCAL else a.position] for a in resume.arguments
        ]
        assert stepping.closed(resume, function)(*arguments) == expected


NEW_SYNTAX = """
def generic(x):
    type Pair[T] = tuple[T, T]

    def first[T](pair: Pair[T]) -> T:
        return pair[0]

    class Holder[T]:
        item: T = first((x, 1))

    return note(Holder.item), str(Pair), first.__type_params__[0].__name__
"""


@pytest.mark.skipif(versions.VERSION < (3, 12), reason="type parameters came with 3.12")
def test_type_parameters() -> None:
    scope: dict[str, Any] = {"note": corpus.note}
    exec(compile(NEW_SYNTAX, "<new>", "exec"), scope)
    test_every_boundary(scope["generic"], (3,), {})


@pytest.mark.parametrize("reason", corpus.REFUSED)
def test_refused(reason: str) -> None:
    code = corpus.REFUSED[reason].__code__
    with pytest.raises(ResumeRefused, match=reason):
        make_resume(code, len(decode(code).instructions) - 1, Layout((), frozenset()))
