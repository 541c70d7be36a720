"""Small programs with control flow, captured and interpreted, against eager."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.zoo.case import Case
from tests.zoo.harness import compare, eager, interpreted


def check(function: Callable[..., Any], *inputs: Any) -> None:
    """The program captured from the first input does what eager does, for each input in turn. An
    input that is no tuple is the only argument."""
    given = tuple(args if isinstance(args, tuple) else (args,) for args in inputs)
    name = getattr(function, "__name__", type(function).__name__)
    case = Case(name, lambda: function, given)
    compare(eager(case), interpreted(case))


def run(function: Callable[..., Any], *inputs: Any) -> None:
    """Run the program captured from the first input; for what eager does otherwise."""
    given = tuple(args if isinstance(args, tuple) else (args,) for args in inputs)
    for call in interpreted(Case("program", lambda: function, given)):
        if call.raised is not None:
            raise AssertionError(call.raised)
