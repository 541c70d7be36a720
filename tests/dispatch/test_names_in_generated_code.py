"""Parameters of a user's function may have any name."""

from __future__ import annotations

from typing import Any

import torch

import ptc
from ptc.dispatch.config import STATISTICS


class Holder:
    x: torch.Tensor
    total: torch.Tensor


def _named_like_builtins(
    x: Any, type: Any = None, len: int = 3, id: int = 1, slice: int = 2, max: int = 4
) -> Any:
    return x[1 : x.shape[0] - id] * len + max, x.shape[0] + slice


def _effects(holder: Any, list: Any, dict: Any, object: int, next: int, range: int) -> Any:
    holder.total = holder.x + object
    list.append(holder.total)
    dict["k"] = holder.total * next
    print(end="")
    return holder.total + range


def _named_like_generated(
    x: Any, _: int = 3, fn_: int = 2, in0_: int = 3, missing_: int = 4, out0_: int = 5
) -> Any:
    return [x.t() * fn_ + in0_ * out0_ + missing_, x[0] + _]


def test_parameters_named_like_builtins_do_not_hide_them():
    compiled = ptc.compile(_named_like_builtins)
    before = STATISTICS.recompiles
    for rows in (4, 5, 6, 7):
        x = torch.randn(rows, 3)
        expected = _named_like_builtins(x, max=7)
        got = compiled(x, max=7)
        torch.testing.assert_close(got[0], expected[0])
        assert got[1] == expected[1]
    assert STATISTICS.recompiles - before == 1


def test_effects_with_parameters_named_like_builtins():
    holder = Holder()
    holder.x = torch.ones(2)
    seen: list[Any] = []
    named: dict[str, Any] = {}
    result = ptc.compile(_effects)(holder, seen, named, 1, 2, 3)
    torch.testing.assert_close(result, torch.full((2,), 5.0))
    assert seen == [holder.total]
    torch.testing.assert_close(named["k"], torch.full((2,), 4.0))


def test_parameters_named_like_variables_of_the_generated_code():
    compiled = ptc.compile(_named_like_generated)
    for rows in (4, 5, 6):
        x = torch.randn(rows, 3)
        torch.testing.assert_close(compiled(x, 2, out0_=3), _named_like_generated(x, 2, out0_=3))
