"""Runs a function instruction by instruction in step functions, each in a frame of its own.

After a given number of steps the resume function runs on natively: so every instruction boundary of
an execution is tried as the place of a break, with the state that CPython itself has there.
"""

from __future__ import annotations

import inspect
import sys
import traceback
from collections.abc import Callable, Mapping, Sequence
from types import FunctionType
from typing import Any

from ptc.capture.code import EnteredCode, Layout, make_resume, make_step
from ptc.capture.code.resume import origin
from tests.capture.code import corpus


class Stepper:
    """The dispatcher that step functions call: steps on, `limit` times, then lets go."""

    def __init__(self, limit: int = sys.maxsize) -> None:
        self.limit = limit
        self.steps = 0

    def __call__(self, resume: FunctionType) -> Callable[..., Any]:
        if self.steps >= self.limit:
            return resume
        self.steps += 1
        place = origin(resume.__code__)
        assert place is not None
        step = make_step(place.code, place.at, place.layout, self)
        return closed(step, resume)

    # One dispatcher is as good as another: step functions are shared between runs.
    def __hash__(self) -> int:
        return id(self)


def closed(entered: EnteredCode, over: FunctionType) -> FunctionType:
    """A function over `entered` with globals and cells of `over`."""
    cells = dict(zip(over.__code__.co_freevars, over.__closure__ or (), strict=True))
    return entered.function(over, cells.__getitem__)


def bound_arguments(
    function: FunctionType, args: Sequence[Any], kwargs: Mapping[str, Any]
) -> dict[str, Any]:
    """The function's arguments by variable name."""
    bound = inspect.signature(function, follow_wrapped=False).bind(*args, **kwargs)
    bound.apply_defaults()
    return dict(bound.arguments)


def run_stepwise(
    function: FunctionType, args: Sequence[Any], kwargs: Mapping[str, Any], stepper: Stepper
) -> Any:
    """Call `function` through resume functions from its first instruction on."""
    values = bound_arguments(function, args, kwargs)
    entry = make_resume(function.__code__, 0, Layout((), frozenset(values)))
    first = closed(entry, function)
    return stepper(first)(*(values[argument.name] for argument in entry.arguments))


def observe(call: Callable[[], Any]) -> tuple[Any, ...]:
    """What a call returns or raises, and the trace it leaves. Of a traceback, the last line: frames
    above it differ, because each step has its own."""
    corpus.TRACE.clear()
    try:
        result = ("returned", call())
    except Exception as error:
        last = traceback.extract_tb(error.__traceback__)[-1]
        chain = (repr(error.__cause__), repr(error.__context__), error.__suppress_context__)
        result = ("raised", repr(error), chain, last.filename, last.lineno, last.name)
    return (*result, list(corpus.TRACE), sys.exception())
