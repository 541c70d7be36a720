"""Sizes 0 and 1 in the segments of programs with control flow."""

from __future__ import annotations

import pytest
import torch

from ptc.graph.control import ControlProgram, NumberKind
from ptc.graph.small_sizes import require_small_sizes
from ptc.support.diagnostics import CompileError
from tests.graph.control_building import ControlBuilder
from tests.graph.control_samples import SAMPLES


def _program(lower: int) -> ControlProgram:
    b = ControlBuilder()
    x = b.tensor("x", torch.zeros(5, 3), {0: ("rows", lower, None)})
    c = b.scalar("c", NumberKind.BOOL)
    then, orelse = b.branch(c)
    with b.inside(then):
        b.at(4, "y = x.squeeze(0)")
        b.segment(lambda x: x.squeeze(0), [x], "y")
    with b.inside(orelse):
        (y,) = b.segment(lambda x: x + 1, [x], "y")
    return b.finish(y)


def test_a_size_that_an_arm_treats_apart() -> None:
    with pytest.raises(CompileError, match=r"`rows` = 1 is treated apart") as caught:
        require_small_sizes(_program(1))
    assert caught.value.diagnostic.location is not None
    assert str(caught.value.diagnostic.location) == "model.py:4"
    assert caught.value.diagnostic.hint == "give `rows` a range from 2 on"
    require_small_sizes(_program(2))


def test_a_size_that_data_decides() -> None:
    b = ControlBuilder()
    x = b.tensor("x", torch.zeros(5))
    count = b.size("count", 0, 5)
    found = b.variable("found", torch.int64, count, 1)
    b.data_sized("nonzero", [found], x)
    b.bind_dim(count, found)
    (y,) = b.segment(lambda found: found.new_zeros(count, 2).squeeze(0), [found], "y")
    with pytest.raises(CompileError, match=r"`count` = 1 is treated apart") as caught:
        require_small_sizes(b.finish(y))
    assert "write a branch of its own for 1" in caught.value.diagnostic.hint


@pytest.mark.parametrize("name", list(SAMPLES))
def test_samples_hold_at_small_sizes(name: str) -> None:
    require_small_sizes(SAMPLES[name].build())
