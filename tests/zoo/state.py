"""Models that remember: buffers, counters, strings and machines that outlive a call."""

from __future__ import annotations

import enum
from typing import Any

import torch
from torch import Tensor, nn

from tests.zoo.case import Case


class CallCounter(nn.Module):
    """Counts the calls that took a branch in a Python number."""

    def __init__(self) -> None:
        super().__init__()
        self.count = 0
        self.last = 0.0

    def forward(self, x: Tensor) -> Tensor:
        if x.sum() > 0:
            self.count += 1
            self.last = float(x.max())
        return x * self.count + self.last


class RunningStatistics(nn.Module):
    """Normalisation by statistics that follow the input, but for outliers."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("mean", torch.zeros(3))
        self.register_buffer("seen", torch.zeros((), dtype=torch.int64))
        self.register_buffer("rejected", torch.zeros((), dtype=torch.int64))

    def forward(self, x: Tensor) -> Tensor:
        if self.seen > 0 and (x - self.mean).abs().max() > 5:
            self.rejected += 1
            return torch.zeros_like(x)
        self.seen += 1
        self.mean.mul_(0.9).add_(x, alpha=0.1)
        if self.seen == 3:
            self.mean = self.mean.round(decimals=1)
        return x - self.mean


class CircuitBreaker(nn.Module):
    """Closed, open after three failures, half open after two refused calls."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(2, 2)
        self.status = "closed"
        self.failures = 0
        self.waited = 0

    def forward(self, x: Tensor) -> tuple[Tensor, str]:
        if self.status == "open":
            self.waited += 1
            if self.waited < 2:
                return torch.zeros(2), self.status
            self.status = "half open"
        y = self.linear(x)
        if y.isfinite().all():
            self.status = "closed"
            self.failures = 0
        else:
            self.failures += 1
            if self.failures >= 3 or self.status == "half open":
                self.status = "open"
                self.failures = self.waited = 0
            y = torch.zeros(2)
        return y, self.status


class StateMachine(nn.Module):
    """A machine over the symbols of a sequence, with its table in dicts of strings."""

    def __init__(self) -> None:
        super().__init__()
        self.table = {
            ("idle", 0): "idle",
            ("idle", 1): "run",
            ("run", 0): "wait",
            ("run", 1): "run",
            ("wait", 0): "idle",
            ("wait", 1): "run",
        }
        self.gains = nn.ParameterDict(
            {name: nn.Parameter(torch.randn(3)) for name in ("idle", "run", "wait")}
        )

    def forward(self, symbols: Tensor, x: Tensor) -> tuple[Tensor, str, dict[str, int]]:
        state = "idle"
        visits = {"idle": 0, "run": 0, "wait": 0}
        for symbol in symbols:
            state = self.table[(state, int(symbol))]
            visits[state] += 1
            x = torch.tanh(x + self.gains[state])
        return x, state, visits


class Phase(enum.Enum):
    WARM_UP = "warm-up"
    STEADY = "steady"
    DECAY = "decay"


class Schedule(nn.Module):
    """The phase of a schedule is an enum member chosen by data."""

    def __init__(self) -> None:
        super().__init__()
        self.rates = {Phase.WARM_UP: 0.1, Phase.STEADY: 1.0, Phase.DECAY: 0.5}

    def _phase(self, step: Tensor) -> Phase:
        if step < 10:
            return Phase.WARM_UP
        return Phase.STEADY if step < 100 else Phase.DECAY

    def forward(self, x: Tensor, step: Tensor) -> tuple[Tensor, str]:
        phase = self._phase(step)
        rate = self.rates[phase]
        if phase is Phase.DECAY:
            rate = rate ** (step.item() / 100)
        return x * rate, phase.value


class RingBuffer(nn.Module):
    """The last rows in a buffer; the position is a Python number, resets empty it."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("rows", torch.zeros(3, 2))
        self.position = 0
        self.full = False

    def forward(self, row: Tensor, reset: Tensor) -> Tensor:
        if reset:
            self.rows.zero_()
            self.position = 0
            self.full = False
        self.rows[self.position] = row
        self.position += 1
        if self.position == 3:
            self.position = 0
            self.full = True
        return self.rows.mean(0) if self.full else self.rows[: self.position].mean(0)


class FailsAfterWriting(nn.Module):
    """State written before an exception stays written."""

    def __init__(self, limit: int = 2) -> None:
        super().__init__()
        self.register_buffer("total", torch.zeros(2))
        self.calls = 0
        self.limit = limit

    def forward(self, x: Tensor) -> Tensor:
        self.calls += 1
        self.total += x
        if self.total.max() > 5:
            self.total.fill_(1.0)
            raise RuntimeError(f"overflow in call {self.calls}")
        if self.calls > self.limit and x.min() < 0:
            raise PermissionError("negative input is not allowed any more")
        return self.total * 2


class Welford(nn.Module):
    """A child module keeps count, mean and spread; the parent decides when to use them."""

    class Tracker(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.n = 0
            self.mean = 0.0
            self.square = 0.0

        def forward(self, value: float) -> None:
            self.n += 1
            change = value - self.mean
            self.mean += change / self.n
            self.square += change * (value - self.mean)

    def __init__(self) -> None:
        super().__init__()
        self.tracker = self.Tracker()

    def forward(self, x: Tensor) -> tuple[Tensor, float]:
        for value in x:
            if value.isfinite():
                self.tracker(value.item())
        if self.tracker.n < 4:
            return x, 0.0
        variance = self.tracker.square / (self.tracker.n - 1)
        return (x - self.tracker.mean) / max(variance, 1e-6) ** 0.5, variance


class LossScaler(nn.Module):
    """Dynamic loss scaling: halve on overflow, double after four good steps."""

    def __init__(self, **options: Any) -> None:
        super().__init__()
        self.register_buffer("scale", torch.tensor(options.get("initial", 8.0)))
        self.register_buffer("good", torch.zeros((), dtype=torch.int32))
        self.growth = options.get("growth", 4)

    def _update(self, *, overflow: bool, factor: float = 0.5) -> None:
        if overflow:
            self.scale *= factor
            self.good.zero_()
            return
        self.good += 1
        if self.good == self.growth:
            self.scale *= 2
            self.good.zero_()

    def forward(self, gradient: Tensor) -> Tensor | None:
        overflow = not torch.isfinite(gradient * self.scale).all()
        self._update(**{"overflow": overflow})
        if overflow:
            return None
        return gradient / self.scale


class CacheBySign(nn.Module):
    """Recomputes a projection only when the sign of the input changed since the last call."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(2, 2)
        self.register_buffer("cached", torch.zeros(2))
        self.sign = 0
        self.hits = 0

    def forward(self, x: Tensor) -> tuple[Tensor, int]:
        sign = 1 if x.sum() >= 0 else -1
        if sign == self.sign:
            self.hits += 1
        else:
            self.cached.copy_(self.linear(x))
            self.sign = sign
        return self.cached + x, self.hits


_FINE, _BAD = torch.tensor([1.0, 2.0]), torch.tensor([float("inf"), 0.0])

CASES = (
    Case(
        "call_counter",
        CallCounter,
        ((torch.ones(3),), (-torch.ones(3),), (torch.full((3,), 2.5),), (-torch.ones(3),)),
        ("counter", "attribute"),
    ),
    Case(
        "running_statistics",
        RunningStatistics,
        tuple((torch.full((3,), v),) for v in (1.0, 2.0, 50.0, 3.0, -1.0, -40.0)),
        ("buffers", "mutation", "early return"),
    ),
    Case(
        "circuit_breaker",
        CircuitBreaker,
        tuple(
            (x,)
            for x in (_FINE, _BAD, _BAD, _FINE, _BAD, _BAD, _BAD, _FINE, _BAD, _FINE, _FINE, _FINE)
        ),
        ("attribute", "string", "counter"),
    ),
    Case(
        "state_machine",
        StateMachine,
        tuple(
            (torch.tensor(s), torch.zeros(3))
            for s in ([0, 1, 1, 0, 0], [1, 0, 1, 0, 1], [0, 0, 0, 0, 0])
        ),
        ("string", "dict", "string result"),
    ),
    Case(
        "phase_schedule",
        Schedule,
        tuple((torch.ones(2), torch.tensor(s)) for s in (3, 50, 250)),
        ("enum", "dict", "string result"),
    ),
    Case(
        "ring_buffer",
        RingBuffer,
        tuple((torch.tensor([float(i), 1.0]), torch.tensor(i in (3, 7))) for i in range(11)),
        ("buffers", "attribute", "index"),
    ),
    Case(
        "fails_after_writing",
        FailsAfterWriting,
        tuple((torch.tensor([v, 1.0]),) for v in (1.0, 2.0, 9.0, 1.0, -1.0, 0.5)),
        ("buffers", "counter", "raise"),
    ),
    Case(
        "welford",
        Welford,
        (
            (torch.tensor([1.0, float("nan"), 2.0]),),
            (torch.tensor([4.0, 1.0, 2.5]),),
            (torch.tensor([float("inf"), 1.0, 0.5]),),
        ),
        ("attribute", "item", "child module"),
    ),
    Case(
        "loss_scaler",
        LossScaler,
        tuple((g,) for g in (_FINE, _FINE, _BAD, _FINE, _FINE, _FINE, _FINE, _FINE)),
        ("buffers", "kwargs", "None"),
    ),
    Case(
        "cache_by_sign",
        CacheBySign,
        tuple((x,) for x in (_FINE, _FINE * 2, -_FINE, -_FINE, _FINE)),
        ("buffers", "attribute", "conditional expression"),
    ),
)
