"""What modules keep from call to call in attributes: tensors, tuples, lists, strings, objects."""

from __future__ import annotations

import collections
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import torch
from torch import nn

import ptc
from ptc.capture.api import capture_program
from ptc.dispatch.notices import CompileNotice
from ptc.support.diagnostics import CompileError
from tests.zoo.case import Case
from tests.zoo.harness import compare, eager, interpreted, library

CALLS = (
    torch.tensor([1.0, 2.0, -1.0]),
    torch.tensor([3.0, 2.0, 2.0]),
    torch.tensor([-3.0, 0.0, 1.0]),
    torch.tensor([0.5, 0.5, 0.5]),
    torch.tensor([9.0, 9.0, 9.0]),
    torch.tensor([0.0, 1.0, 0.0]),
)


class Previous(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.previous: Any = None

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        change = torch.zeros_like(x) if self.previous is None else x - self.previous
        self.previous = x * 2
        if x.sum() < 0:
            raise ValueError("negative")
        return change


class Track(NamedTuple):
    mean: torch.Tensor
    hits: int
    status: str


class Tracker(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.track: Any = None

    def forward(self, x: torch.Tensor) -> Any:
        if self.track is None or x.sum() > 10:
            self.track = Track(x, 1, "new")
        else:
            track = self.track
            self.track = track._replace(mean=track.mean * 0.5 + x, hits=track.hits + 1)
        if self.track.hits > 2:
            self.track = self.track._replace(status="old")
        if x.sum() < 0:
            raise ValueError(f"negative after {self.track.hits}")
        return self.track.mean, self.track.hits, self.track.status


class Exits(nn.Module):
    """A list whose length never changes."""

    def __init__(self) -> None:
        super().__init__()
        self.exits = [0] * 3

    def forward(self, x: torch.Tensor) -> Any:
        self.exits[2 if x.sum() > 5 else 1 if x.sum() > 0 else 0] += 1
        if x.sum() > 20:
            raise RuntimeError(f"big {self.exits}")
        return x, tuple(self.exits)


class History(nn.Module):
    """Lists that are appended to, cut and bound anew."""

    def __init__(self) -> None:
        super().__init__()
        self.history: list[torch.Tensor] = []
        self.names: list[str] = []

    def forward(self, x: torch.Tensor) -> Any:
        self.history.append(x * 2)
        self.names.append("big" if x.sum() > 3 else "small")
        if len(self.history) > 3:
            self.history = self.history[-2:]
        if x.sum() < 0:
            raise ValueError(f"negative at {len(self.history)}")
        return torch.stack(self.history).sum(0), len(self.history), self.names[-1], len(self.names)


class Window(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.window: collections.deque[float] = collections.deque(maxlen=3)

    def forward(self, x: torch.Tensor) -> Any:
        total = x.sum().item()
        self.window.append(total)
        if total < 0:
            self.window.clear()
        mean = 0.0
        for value in self.window:
            mean += value
        return x * mean, len(self.window)


class Stack(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.stack = [1.0, 2.0]

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if x.sum() > 3:
            self.stack.append(x.sum().item())
        elif self.stack:
            return x * self.stack.pop()
        return x + len(self.stack)


class Pairs(nn.Module):
    """A list of tuples, which becomes an empty one."""

    def __init__(self) -> None:
        super().__init__()
        self.pairs: list[tuple[torch.Tensor, int]] = []

    def forward(self, x: torch.Tensor) -> Any:
        self.pairs.append((x.mean(), int(x.sum().item())))
        best = max(number for _, number in self.pairs)
        if x.sum() < 0:
            self.pairs = []
        return x * best, len(self.pairs)


@dataclass
class Status:
    count: int = 0
    last: Any = None


class Holder(nn.Module):
    """An object whose attributes change, and another one in its place."""

    def __init__(self) -> None:
        super().__init__()
        self.status = Status()

    def forward(self, x: torch.Tensor) -> Any:
        self.status.count += 1
        if x.sum() > 5:
            self.status = Status(10, x)
        if x.sum() < 0:
            raise ValueError(f"negative after {self.status.count}")
        if self.status.last is not None:
            x = x + self.status.last
        return x, self.status.count


class Cell(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.hidden: Any = None

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        h, c = (x * 0, x * 0) if self.hidden is None else self.hidden
        h, c = torch.tanh(h + x), c * 0.5 + h
        if c.sum() > 100:
            raise ValueError("too large")
        self.hidden = (h, c)
        return h + c


class Cache(nn.Module):
    """A tensor that grows from call to call, and is none again."""

    def __init__(self) -> None:
        super().__init__()
        self.cache: Any = None

    def forward(self, x: torch.Tensor) -> Any:
        self.cache = x[None] if self.cache is None else torch.cat([self.cache, x[None]])
        if x.sum() < 0:
            self.cache = None
            return x.sum(), 0
        return self.cache.sum(0), self.cache.shape[0]


class Rows(nn.Module):
    """A tensor from the beginning, whose size changes."""

    def __init__(self) -> None:
        super().__init__()
        self.rows = torch.ones(1, 3)

    def forward(self, x: torch.Tensor) -> Any:
        self.rows = torch.cat([self.rows, x[None]])
        if x.sum() < 0:
            self.rows = self.rows[:0]
            return x.sum(), 0
        return self.rows.sum(0), self.rows.shape[0]


class Words(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.last = "none"

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        before, self.last = self.last, f"v{x.sum().item():.2f}"
        if x.sum() < 0:
            raise ValueError(before)
        print(before)
        return x


class Average(nn.Module):
    """What a buffer was before it is replaced."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("average", torch.zeros(3))
        self.previous: Any = None

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        change = x if self.previous is None else x - self.previous
        self.previous = self.average
        self.average = self.average * 0.5 + x
        return change * 2 if x.sum() < 0 else change


class InPlace(nn.Module):
    """One tensor in two attributes, written to."""

    def __init__(self) -> None:
        super().__init__()
        self.one: Any = None
        self.other: Any = None

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if self.one is None:
            self.one = x * 1
            self.other = self.one
        else:
            self.one.add_(x)
        if x.sum() < 0:
            raise ValueError("negative")
        return x + self.other


class Optional(nn.Module):
    """A list that is there or not."""

    def __init__(self) -> None:
        super().__init__()
        self.items: Any = None

    def forward(self, x: torch.Tensor) -> Any:
        if self.items is None:
            self.items = []
        self.items.append(x)
        if x.sum() < 0:
            self.items = None
            return x, 0
        if len(self.items) > 2:
            del self.items[0]
        return torch.stack(self.items).sum(0), len(self.items)


class Nested(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.state: Any = (None, [0, 0], "a")

    def forward(self, x: torch.Tensor) -> Any:
        last, counts, name = self.state
        counts[0] += 1
        if x.sum() > 4:
            self.state = (x, [counts[0], counts[1] + 1], name + "b")
        if x.sum() < 0:
            raise ValueError(name)
        return (x if last is None else x + last), counts[0], counts[1], name


MODULES = (
    Average, InPlace, Optional, Nested,
    Previous, Tracker, Exits, History, Window, Stack, Pairs, Holder, Cell, Cache, Rows, Words,
)  # fmt: skip


def case_of(module: type[nn.Module]) -> Case:
    return Case(module.__name__, lambda: module().eval(), tuple((x,) for x in CALLS))


@pytest.mark.parametrize("module", MODULES)
def test_the_program_keeps_what_eager_keeps(module: type[nn.Module]) -> None:
    case = case_of(module)
    compare(eager(case), interpreted(case))


@pytest.mark.parametrize("module", [Tracker, History, Holder, Cache, Average, InPlace])
def test_a_library_keeps_what_eager_keeps(module: type[nn.Module], tmp_path: Path) -> None:
    case = case_of(module)
    compare(eager(case), library(case, tmp_path, check=True))


def test_sessions_begin_with_what_the_model_held(tmp_path: Path) -> None:
    model = Rows().eval()
    loaded = ptc.build(model, (CALLS[0],), output=tmp_path / "librows.so", check=True).load()
    assert model.rows.tolist() == [[1.0, 1.0, 1.0]]
    for _ in range(3):
        assert [loaded(x)[1] for x in CALLS[:4]] == [2, 3, 0, 1]
        loaded.reset()


@pytest.mark.parametrize("module", [Tracker, History, Window, Holder, Cache, Words, Exits])
def test_live_objects_get_what_eager_gives_them(module: type[nn.Module]) -> None:
    plain, model = module().eval(), module().eval()
    fast = ptc.compile(model, control_flow=True)
    for x in CALLS:
        for one in (plain, fast):
            with suppress(ValueError, RuntimeError):
                one(x)
        for name, its in vars(plain).items():
            if not name.startswith("_"):
                assert type(getattr(model, name)) is type(its)
                assert repr(getattr(model, name)) == repr(its)


def test_a_list_that_is_not_bound_anew_stays_the_same_object() -> None:
    model = Stack().eval()
    stack = model.stack
    fast = ptc.compile(model, control_flow=True)
    with pytest.warns(CompileNotice, match=r"PTC-D026.*runs in eager: `stack` is kept"):
        for x in CALLS:
            fast(x)
    assert model.stack is stack
    with pytest.warns(CompileNotice, match="PTC-D024"):
        ptc.compile(Stack().eval(), control_flow=True, options={"fallback": False})(CALLS[0])


class Twice(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.one: Any = None
        self.other: Any = None

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if self.one is None or x.sum() > 5:
            self.one = Status()
            self.other = self.one
        self.one.count += 1
        return x * self.other.count


def test_one_object_in_two_attributes_is_refused() -> None:
    with pytest.raises(CompileError, match="hold one object"):
        capture_program(Twice().eval(), (CALLS[0],))


class Shared(nn.Module):
    """One list by two names."""

    def __init__(self) -> None:
        super().__init__()
        self.one: list[int] = []
        self.other = self.one

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if x.sum() > 0:
            self.one.append(1)
        return x * len(self.other)


class Written(nn.Module):
    """A buffer itself, which later calls write to."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("average", torch.zeros(3))
        self.previous: Any = None

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        change = x if self.previous is None else x - self.previous
        self.previous = self.average
        self.average.mul_(0.5).add_(x)
        return change * 2 if x.sum() < 0 else change


class Deleted(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.count = 1

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if x.sum() < 0:
            self.count = self.count + 1
            del self.count
        return x


@pytest.mark.parametrize(
    ("module", "message"),
    [(Shared, "hold one object"), (Written, "keeps `average` itself"), (Deleted, "'count'")],
)
def test_what_no_session_keeps_is_refused(module: type[nn.Module], message: str) -> None:
    with pytest.raises(CompileError, match=message):
        capture_program(module().eval(), (CALLS[0],))
