"""Random programs: native, captured, and captured with a graph break somewhere all agree."""

from __future__ import annotations

import random

import pytest

from ptc.capture.code import analyse, build_function, decode
from tests.capture.python_capture import Dispatcher
from tests.capture.random_programs import ProgramMaker
from tests.capture.test_snippets import observe, same

SEEDS = range(40)
BREAKS = 3


@pytest.mark.parametrize("seed", SEEDS)
def test_random_program(seed: int) -> None:
    check(seed, BREAKS)


def check(seed: int, breaks: int) -> None:
    text = ProgramMaker(seed).make()
    function = build_function(text, "program", {}, f"random {seed}")
    choose = random.Random(seed)
    args = (
        choose.randint(-5, 9),
        choose.randint(0, 5),
        [choose.randint(-3, 9) for _ in range(choose.randint(0, 4))],
        {k: choose.randint(0, 9) for k in range(choose.randint(0, 4))},
    )
    expected = observe(function, args)
    assert same(observe(Dispatcher()(function), args), expected), text
    facts = analyse(function.__code__)
    places = [i.index for i in decode(function.__code__).instructions if facts.reachable(i.index)]
    for index in choose.sample(places, breaks):
        actual = observe(Dispatcher(function.__code__, index)(function), args)
        assert same(actual, expected), f"break at {index}\n{text}\n{actual}\n{expected}"
