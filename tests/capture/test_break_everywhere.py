"""A graph break before any instruction: the generated code hands over and the rest goes on
equally."""

from __future__ import annotations

from typing import Any

import pytest

from ptc.capture.code import analyse, decode
from tests.capture import snippets
from tests.capture.python_capture import Dispatcher
from tests.capture.test_snippets import observe, same

FUNCTIONS = {function.__name__: (function, args) for function, args in reversed(snippets.CASES)}
STRIDE = 9  # each case breaks at every ninth instruction, starting at its own offset


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_break_at_instruction(name: str, stride: int = STRIDE) -> None:
    function, args = FUNCTIONS[name]
    expected = observe(function, args)
    facts = analyse(function.__code__)
    failures: list[Any] = []
    for index in range(len(name) % stride, len(decode(function.__code__).instructions), stride):
        if not facts.reachable(index):
            continue
        dispatcher = Dispatcher(function.__code__, index)
        actual = observe(dispatcher(function), args)
        if not same(actual, expected):
            failures.append((index, decode(function.__code__).instructions[index], actual))
    assert not failures, f"\nnative   {expected}\n" + "\n".join(map(str, failures))
