"""Every opcode and builtin: native and captured runs agree in result, exception and effects."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from tests.capture import snippets
from tests.capture.python_capture import Dispatcher


def observe(run: Any, args: tuple[Any, ...]) -> tuple[Any, ...]:
    """What a call shows: its result or exception, and its arguments afterwards."""
    args = copy.deepcopy(args)
    try:
        outcome: Any = ("returned", run(*args))
    except Exception as error:
        outcome = ("raised", type(error), str(error))
    return outcome, [describe(arg) for arg in args]


def describe(value: Any) -> Any:
    if hasattr(value, "__dict__") and not isinstance(value, type):
        return (type(value), {k: describe(v) for k, v in vars(value).items()})
    return value


def same(left: Any, right: Any) -> bool:
    """Equality that tells 1 from True and 1.0, and looks into containers."""
    if type(left) is not type(right):
        return False
    if isinstance(left, (list, tuple)):
        return len(left) == len(right) and all(map(same, left, right))
    if isinstance(left, dict):
        return list(left) == list(right) and all(same(left[k], right[k]) for k in left)
    return left == right


@pytest.mark.parametrize(
    ("function", "args"),
    snippets.CASES,
    ids=[f"{f.__name__}-{i}" for i, (f, _) in enumerate(snippets.CASES)],
)
def test_captured_equals_native(function: Any, args: tuple[Any, ...]) -> None:
    expected = observe(function, args)
    dispatcher = Dispatcher()
    actual = observe(dispatcher(function), args)
    assert same(actual, expected), f"\nnative   {expected}\ncaptured {actual}"
    assert not dispatcher.native, dispatcher.native[0].breaks
    if expected[0][0] == "returned":
        breaks = [b for segment in dispatcher.segments for b in segment.breaks]
        assert not breaks, breaks
