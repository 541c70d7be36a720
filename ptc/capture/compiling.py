"""The answer to `torch.compiler.is_compiling()`, which libraries ask in order to choose code that
compilers like better than what eager runs.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass


@dataclass(slots=True)
class CompilingQuestion:
    """
    answer   what the program is told.
    asked    whether it has asked.
    """

    answer: bool = True
    asked: bool = False


_current: ContextVar[CompilingQuestion] = ContextVar("compiling")


@contextmanager
def answering(answer: bool) -> Iterator[CompilingQuestion]:
    """Answer so within; yields what tells whether the program has asked."""
    question = CompilingQuestion(answer)
    token = _current.set(question)
    try:
        yield question
    finally:
        _current.reset(token)


def is_compiling() -> bool:
    """The answer to the captured program's question."""
    question = _current.get(None)
    if question is None:
        return True
    question.asked = True
    return question.answer
