"""Graph breaks in loops: constant stack depth, tracebacks of the user's frames, freed memory."""

from __future__ import annotations

import gc
import sys
import threading
import traceback
import weakref
from typing import Any

import pytest
import torch

import ptc
from ptc.dispatch import native
from ptc.dispatch.config import STATISTICS
from ptc.dispatch.proxy import compiler_of

pytestmark = pytest.mark.filterwarnings("ignore::Warning")


def _depth() -> int:
    frame: Any = sys._getframe()
    count = 0
    while frame is not None:
        count, frame = count + 1, frame.f_back
    return count


def test_a_break_in_each_of_5000_rounds_does_not_deepen_the_stack() -> None:
    depths: list[int] = []

    def program(x: torch.Tensor, rounds: int) -> tuple[torch.Tensor, float]:
        total, i = 0.0, 0
        while i < rounds:
            x = x * 0.999 + 0.001
            total += x.sum().item()
            depths.append(_depth())
            i += 1
        return x, total

    x = torch.randn(3)
    expected = program(x, 5000)
    depths.clear()
    result = ptc.compile(program, backend="eager")(x, 5000)
    assert torch.equal(result[0], expected[0])
    assert result[1] == expected[1]
    assert len(depths) == 5000
    assert max(depths) - min(depths) < 10


def test_an_exception_in_a_late_round_shows_the_users_line_once() -> None:
    seen: list[int] = []

    def program(x: torch.Tensor) -> torch.Tensor:
        for i in range(200):
            x = x + 1
            try:
                seen.append(int(x.sum()))
                if i % 2:
                    raise KeyError(i)
            except KeyError as error:
                x = x + len(error.args)
            if i == 150:
                raise ValueError("late")
        return x

    with pytest.raises(ValueError, match="late") as raised:
        ptc.compile(program, backend="eager")(torch.zeros(2))
    frames = traceback.extract_tb(raised.value.__traceback__)
    own = [frame for frame in frames if frame.filename == __file__ and "late" in (frame.line or "")]
    assert len(own) == 1
    assert len(frames) < 12
    assert raised.value.__context__ is None
    with pytest.raises(ValueError, match="late"):
        program(torch.zeros(2))
    assert seen[:151] == seen[151:]


def _walk_list(items: list[int], limit: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    items.append(2)
    for v in items:
        if v > limit:
            x = x + v
    return x


def _walk_numbered(items: list[int], limit: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    items.insert(0, 3)
    items += [4, 5]
    for i, v in enumerate(reversed(items)):
        if v > limit:
            x = x * (i + 1) + v
    return x


def _walk_dict(counts: dict[int, int], limit: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    counts[1], counts[2] = 2, 3
    for key, count in counts.items():
        if count > limit:
            x = x + key
    return x


@pytest.mark.parametrize(
    ("program", "container"), [(_walk_list, []), (_walk_numbered, [1]), (_walk_dict, {})]
)
def test_a_container_filled_before_the_loop_is_walked_as_it_is_then(
    program: Any, container: Any
) -> None:
    limit, x = torch.tensor(1), torch.ones(2)
    expected_container = container.copy()
    expected = program(expected_container, limit, x)
    got_container = container.copy()
    result = ptc.compile(program, backend="eager")(got_container, limit, x)
    assert torch.equal(result, expected)
    assert got_container == expected_container


def test_a_callee_that_breaks_gives_its_caller_a_real_value() -> None:
    def callee(x: torch.Tensor) -> torch.Tensor:
        scale = float(x.max())
        return x * scale

    def program(x: torch.Tensor) -> torch.Tensor:
        for _ in range(4):
            x = callee(x) - 0.5
        return x

    x = torch.rand(3)
    assert torch.equal(ptc.compile(program, backend="eager")(x), program(x))


def test_reset_forgets_entries_and_statistics() -> None:
    @ptc.compile(backend="eager")
    def program(x: torch.Tensor) -> torch.Tensor:
        return x * float(x[0])

    x = torch.ones(2)
    program(x)
    assert STATISTICS.breaks
    ptc.reset()
    assert STATISTICS.breaks == 0
    assert torch.equal(program(x), x)
    assert STATISTICS.breaks == 1


def test_sessions_end_with_their_thread_and_models_with_their_graph(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    freed: list[Any] = []
    free = native._free

    def record(pointer: Any, function: Any, keeps: Any) -> None:
        freed.append(function)
        free(pointer, function, keeps)

    monkeypatch.setattr(native, "_free", record)

    @ptc.compile
    def program(x: torch.Tensor) -> torch.Tensor:
        y = x + 1
        return y * float(x[0])

    x = torch.ones(2)
    program(x)
    before = len(freed)
    thread = threading.Thread(target=program, args=(x,))
    thread.start()
    thread.join()
    gc.collect()
    sessions = len(freed) - before
    assert sessions >= 1
    compiler = weakref.ref(compiler_of(program))
    del program
    gc.collect()
    assert compiler() is None
    assert len(freed) == before + 3 * sessions  # this thread's sessions and the models too
