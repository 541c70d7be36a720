"""The calls of all snippets.

A snippet is a function of plain values; its cases are argument tuples. Arguments are compared after
the call, too.
"""

from __future__ import annotations

from typing import Any

CASES: list[tuple[Any, tuple[Any, ...]]] = []


def case(*argument_lists: tuple[Any, ...]):
    """Register a snippet with the calls to compare."""

    def register(function: Any) -> Any:
        CASES.extend((function, args) for args in argument_lists)
        return function

    return register
