"""Errors of compiled functions are those of the originals: class, text, state, and the user's line
in the traceback."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F

import ptc


def _error(function: Callable[..., Any], *args: Any) -> BaseException:
    with pytest.raises(BaseException) as caught:
        function(*args)
    return caught.value


def _lines(error: BaseException) -> list[str | None]:
    frames = traceback.extract_tb(error.__traceback__)
    return [f.line for f in frames if f.filename == __file__ and f.name != "_error"]


def _chained(x: torch.Tensor) -> Any:
    try:
        return x @ x
    except RuntimeError as error:
        raise KeyError("sizes") from error


def _raises(x: torch.Tensor) -> Any:
    if x.shape[0] == 4:
        raise ValueError(f"bad {x.shape}")
    return x + 1


def _target(x: torch.Tensor) -> Any:
    return F.cross_entropy(x, torch.tensor([0, 1, 9, 2]))


def _row(x: torch.Tensor) -> Any:
    return x[torch.tensor([1, 9])]


def _gathered(x: torch.Tensor) -> Any:
    return x.gather(1, torch.tensor([[-1, 0]]))


@pytest.mark.parametrize("function", [_chained, _raises, _target, _row, _gathered])
def test_class_text_context_and_line(function):
    x = torch.randn(4, 6)
    expected, got = _error(function, x), _error(ptc.compile(function), x)
    assert type(got) is type(expected)
    assert str(got) == str(expected)
    assert type(got.__cause__) is type(expected.__cause__)
    assert got.__suppress_context__ == expected.__suppress_context__
    assert _lines(got) == _lines(expected)


def test_failing_graph_has_written_what_eager_has():
    def function(x: torch.Tensor, index: torch.Tensor) -> torch.Tensor:
        x.mul_(2)
        return x[index]

    x = torch.ones(3)
    assert isinstance(_error(ptc.compile(function), x, torch.tensor([5])), IndexError)
    torch.testing.assert_close(x, torch.full((3,), 2.0))


@pytest.mark.parametrize(("args", "kwargs"), [((), {}), ((1, 2, 3, 4), {}), ((1,), {"z": 1})])
@pytest.mark.parametrize("called", [False, True])
def test_arguments_that_do_not_bind(args, kwargs, called):
    def function(x: Any, y: Any = 1) -> Any:
        return x + y

    compiled = ptc.compile(function)
    if called:
        compiled(torch.ones(2))
    expected = _error(lambda: function(*args, **kwargs))
    got = _error(lambda: compiled(*args, **kwargs))
    assert str(got) == str(expected)


class Exit(SystemExit):
    def __init__(self, code: int, rows: int) -> None:
        super().__init__(code)
        self.rows = rows


def test_exceptions_keep_what_their_class_holds_in_c():
    def leave(x: torch.Tensor) -> None:
        raise SystemExit(3)

    def leave_own(x: torch.Tensor) -> None:
        raise Exit(4, x.shape[0])

    def caught(x: torch.Tensor) -> torch.Tensor:
        try:
            raise SystemExit(7)
        except SystemExit as error:
            print(end="")
            return x + error.code

    x = torch.ones(2)
    error: Any = _error(ptc.compile(leave), x)
    assert error.code == 3
    error = _error(ptc.compile(leave_own), x)
    assert (error.code, error.rows, error.args) == (4, 2, (4,))
    torch.testing.assert_close(ptc.compile(caught)(x), x + 7)


def test_coroutine_function():
    async def function(x: torch.Tensor) -> torch.Tensor:
        return x + 1

    with pytest.raises(StopIteration) as stopped:
        ptc.compile(function)(torch.ones(2)).send(None)
    torch.testing.assert_close(stopped.value.value, torch.full((2,), 2.0))
