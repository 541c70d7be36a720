"""The calls of all functions of the corpus, and the trace that they leave."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

CASES: list[tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]]] = []
TRACE: list[object] = []


def note(value: object) -> object:
    """Leave a trace and hand the value back."""
    TRACE.append(value)
    return value


def case(*args: Any, **kwargs: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register a function with one set of arguments."""

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        CASES.append((function, args, kwargs))
        return function

    return register


class Manager:
    """A context manager that may swallow exceptions of one type, or raise on exit."""

    def __init__(self, name: str, swallow: Any = (), fail: bool = False) -> None:
        self.name, self.swallow, self.fail = name, swallow, fail

    def __enter__(self) -> str:
        note(f"enter {self.name}")
        return self.name

    def __exit__(self, kind: Any, value: Any, trace: Any) -> bool:
        note(f"exit {self.name} {kind and kind.__name__} {type(sys.exception()).__name__}")
        if self.fail:
            raise RuntimeError(f"exit {self.name}")
        return kind is not None and issubclass(kind, self.swallow)
