"""Building and exporting run the user's model to compare with it: it is left as it was."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

import ptc
from ptc.artifact.live_state import LiveState, Session


class Counts:
    __slots__ = ("calls",)

    def __init__(self) -> None:
        self.calls = 0


class Counter(nn.Module):
    """Replaces its buffer or writes to it, as data decides; cannot be copied."""

    total: torch.Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("total", torch.zeros(3))
        self.linear = nn.Linear(3, 3)
        self.steps = 0
        self.counts = Counts()

    def __deepcopy__(self, memo: Any) -> Any:
        raise ValueError("one of its kind")

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if x.sum() > 0:
            self.total = self.total + x
        else:
            self.total.add_(1)
        self.steps += 1
        return self.linear(self.total) * self.steps


class Raises(Counter):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.steps += 1
        self.total.add_(x)
        if x.sum() > 0:
            self.last = 7
            raise ValueError("positive")
        return self.total * self.steps


class Straight(Counter):
    """Gives out its buffer itself; nothing reads `seen`."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.total.add_(x)
        self.seen = 5
        return self.total


COUNTER = Counter()


def through_a_global(x: torch.Tensor) -> torch.Tensor:
    return COUNTER(x)


def _kept(model: Counter) -> tuple[Any, ...]:
    return (model.total, model.total.tolist(), model.steps, sorted(vars(model)))


@pytest.mark.parametrize("kind", [Counter, Raises, Straight])
def test_a_model_that_cannot_be_copied_is_left_as_it_was(kind: Any, tmp_path: Path) -> None:
    model = kind()
    before = _kept(model)
    x = torch.tensor([1.0, 2, 3])
    loaded = ptc.build(model, (x,), output=tmp_path).load()
    after = _kept(model)
    assert after[0] is before[0]
    assert after[1:] == before[1:]
    for _ in range(3):
        y = -x if kind is Raises else x
        assert torch.allclose(loaded(y), model(y))


def test_a_model_behind_a_function_is_left_as_it_was(tmp_path: Path) -> None:
    before = _kept(COUNTER)
    x = torch.tensor([1.0, 2, 3])
    loaded = ptc.build(through_a_global, (x,), output=tmp_path).load()
    after = _kept(COUNTER)
    assert after[0] is before[0]
    assert after[1:] == before[1:]
    for _ in range(2):
        assert torch.allclose(loaded(x), through_a_global(x))


def test_an_exported_model_is_left_as_it_was(tmp_path: Path) -> None:
    model = Straight()
    before = _kept(model)
    ptc.export(model, (torch.ones(3),), format="ptir", output=tmp_path / "m.ptir")
    assert _kept(model)[1:] == before[1:]


class _Defaults:
    level = 1


def test_sessions_are_apart() -> None:
    tensor, slotted, plain, table = torch.zeros(2), Counts(), _Defaults(), {"old": 1}
    places = [(slotted, "calls"), (plain, "level"), (_Defaults, "level"), (table, "new")]
    state = LiveState.of([tensor, tensor], [*places, places[0]])
    first, second = Session(state), Session(state)

    def step() -> tuple[Any, ...]:
        tensor.add_(1)
        slotted.calls += 1
        plain.level += 10
        _Defaults.level += 1
        table["new"] = table.get("new", 0) + 1
        return tensor.tolist(), slotted.calls, plain.level, _Defaults.level, table["new"]

    with first.call():
        assert step() == ([1, 1], 1, 11, 2, 1)
    with second.call():
        assert step() == ([1, 1], 1, 11, 2, 1)
    with first.call():
        assert step() == ([2, 2], 2, 21, 3, 2)
    with pytest.raises(KeyError), second.call():
        step()
        raise KeyError
    assert tensor.tolist() == [0, 0]
    assert (slotted.calls, vars(plain), _Defaults.level, table) == (0, {}, 1, {"old": 1})
