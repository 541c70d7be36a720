"""The instruments: a difference of any kind is found, and so is a path that no input drives."""

from __future__ import annotations

import logging
import os
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from tests.zoo import coverage, harness
from tests.zoo.attempts import Outcome, attempt
from tests.zoo.case import Case, function
from tests.zoo.harness import Call
from tests.zoo.workers import outcomes

_ONE = torch.tensor([1.0, 2.0])


def _shout(x: Tensor) -> Tensor:
    print("hello", end="")
    os.write(1, b" from below")
    logging.getLogger("zoo.test").warning("loud %d", 3)
    warnings.warn("beware", RuntimeWarning, stacklevel=1)
    x.add_(1)
    if x.sum() > 9:
        raise KeyError("big")
    return x


def _undriven(x: Tensor) -> Tensor:
    if x.sum() > 0 and x.max() < 9:
        return x
    y = x if x.min() < -5 else -x
    return y


def _straight(x: Tensor, y: Tensor) -> dict[str, Any]:
    return {"sum": x + y, "both": (x.relu(), y.argmax())}


def test_everything_observable_is_recorded() -> None:
    first, second = harness.eager(Case("shout", function(_shout), ((_ONE,), (_ONE * 9,))))
    assert first.printed == "hello from below"
    assert first.logged == [("WARNING", "zoo.test", "loud 3")]
    assert first.warned == [("RuntimeWarning", "beware")]
    assert first.raised is None and second.raised == ("KeyError", "'big'")
    assert second.result is None
    assert second.arguments[0].tolist() == [10.0, 19.0]
    assert _ONE.tolist() == [1.0, 2.0]


def _replaced(**fields: Any) -> Callable[[], tuple[Call, Call]]:
    one = {"result": {"a": [_ONE, 1]}, "arguments": (_ONE,), "state": {"n": 1}}
    return lambda: (Call(**one), Call(**{**one, **fields}))


@pytest.mark.parametrize(
    "pair",
    [
        _replaced(result={"a": [_ONE + 0.01, 1]}),
        _replaced(result={"a": [_ONE.double(), 1]}),
        _replaced(result={"a": [_ONE.unsqueeze(0), 1]}),
        _replaced(result={"a": [_ONE, 2]}),
        _replaced(result={"a": [_ONE, True]}),
        _replaced(result={"a": [_ONE, 1.0]}),
        _replaced(result={"a": (_ONE, 1)}),
        _replaced(result={"a": [_ONE]}),
        _replaced(result={"b": [_ONE, 1]}),
        _replaced(raised=("ValueError", "no")),
        _replaced(printed="x\n"),
        _replaced(warned=[("UserWarning", "x")]),
        _replaced(logged=[("INFO", "zoo", "x")]),
        _replaced(arguments=(_ONE * 2,)),
        _replaced(state={"n": 2}),
    ],
)
def test_each_kind_of_difference_is_found(pair: Callable[[], tuple[Call, Call]]) -> None:
    expected, actual = pair()
    harness.compare([expected], [expected])
    with pytest.raises(AssertionError, match="call 0"):
        harness.compare([expected], [actual])


def test_small_differences_and_unknown_state_pass() -> None:
    expected, actual = _replaced(result={"a": [_ONE + 1e-7, 1]}, state=None)()
    harness.compare([expected], [actual])


def test_paths_that_nothing_drives_are_found() -> None:
    case = Case("undriven", function(_undriven), ((_ONE,), (-_ONE,)))
    first = _undriven.__code__.co_firstlineno
    assert coverage.missed(case) == [
        f"the condition at {first + 1}:23 is never False",
        f"the condition at {first + 3}:13 is never True",
    ]
    lines = coverage.missed(Case("undriven", function(_undriven), ((_ONE,),)))
    assert [word for word in lines if word.startswith("line")] == [
        f"line {first + 3} never runs",
        f"line {first + 4} never runs",
    ]


def test_a_library_is_compared_with_eager(tmp_path: Path) -> None:
    case = Case("straight", function(_straight), ((_ONE, _ONE), (_ONE, -_ONE)))
    harness.compare(harness.eager(case), harness.library(case, tmp_path))


def test_peers_are_judged_by_their_results() -> None:
    case = Case("straight", function(_straight), ((_ONE, _ONE), (_ONE, -_ONE)))
    assert attempt(case, "torch.export").status == "ok"
    undriven = Case("undriven", function(_undriven), ((_ONE,), (-_ONE,)))
    assert attempt(undriven, "torch.export").status == "failed"


@pytest.mark.slow  # two processes that import torch
def test_a_worker_answers_and_is_replaced() -> None:
    names = ["halve_until_small", "number_kinds"]
    told: list[Outcome] = []
    found = outcomes(names, "torch.jit.script", report=told.append, seconds=60)
    assert [(o.name, o.status) for o in found] == [(name, "ok") for name in names]
    assert found == told
    late = outcomes(names[:1], "torch.export", seconds=0.0)
    assert [o.status for o in late] == ["timeout"]
