"""Models that repeat: loops whose number of rounds, exit or shapes depend on data."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from tests.zoo.case import Case, function


def halve_until_small(x: Tensor) -> tuple[Tensor, int]:
    """`while` on data, with a counter."""
    steps = 0
    while x.norm() > 1:
        x = x / 2
        steps += 1
    return x, steps


def repeat_int(x: Tensor, times: Tensor) -> Tensor:
    """`for` over `range(int(t))`, using the index."""
    total = torch.zeros_like(x)
    for i in range(int(times)):
        total = total + x * i
        x = x.cos()
    return total


def for_else(x: Tensor, wanted: Tensor) -> Tensor:
    """`for` with data-dependent `break`, `continue` and an `else`."""
    seen = torch.zeros(())
    for row in x:
        if row.isnan().any():
            continue
        if (row > wanted).all():
            result = row * 10
            break
        seen = seen + row.sum()
    else:
        result = torch.full((x.shape[1],), -1.0)
    return result + seen


def while_else(x: Tensor) -> tuple[Tensor, bool]:
    """`while` with `break` and `else`."""
    budget = 8
    while x.sum() < 20:
        x = x * 1.5 + 0.1
        budget -= 1
        if budget == 0:
            stable = False
            break
    else:
        stable = True
    return x, stable


class Collatz(nn.Module):
    """`while True` with two exits."""

    def forward(self, n: Tensor) -> tuple[Tensor, Tensor]:
        steps = torch.zeros((), dtype=torch.int64)
        peak = n
        while True:
            if n == 1:
                return steps, peak
            if n % 2 == 0:
                n = n // 2
            else:
                n = 3 * n + 1
            if n > peak:
                peak = n
            steps += 1
            if steps >= 60:
                break
        return -steps, peak


def nested(x: Tensor, limit: Tensor) -> tuple[Tensor, int, int]:
    """A loop in a loop, both decided by data, with a `break` of the inner and a flag for the
    outer."""
    outer = inner = 0
    done = False
    while not done:
        outer += 1
        while x.max() < limit:
            inner += 1
            x = x * 2 + 0.125
            if inner % 3 == 0:
                break
        else:
            done = True
        x = x - 0.5
    return x, outer, inner


class GrowingMemory(nn.Module):
    """The state grows by a row in each round (`torch.cat` in a loop)."""

    def __init__(self) -> None:
        super().__init__()
        self.step = nn.Linear(4, 4)

    def forward(self, x: Tensor, rounds: Tensor) -> Tensor:
        memory = x.unsqueeze(0)
        for _ in range(int(rounds)):
            context = memory.mean(0)
            memory = torch.cat([memory, torch.tanh(self.step(context)).unsqueeze(0)])
        return memory


def shrink(x: Tensor) -> Tensor:
    """The state loses elements until enough are gone (boolean masks in a loop)."""
    while x.numel() > 2 and x.max() > 1:
        x = x[x < x.max()] * 0.9
    return x


class AdaptiveComputation(nn.Module):
    """Adaptive computation time: steps of a cell until the halting probability is used up."""

    def __init__(self, width: int = 5) -> None:
        super().__init__()
        self.cell = nn.GRUCell(width, width)
        self.halt = nn.Linear(width, 1)
        self.max_steps = 10

    def forward(self, x: Tensor, patience: Tensor) -> tuple[Tensor, Tensor, int]:
        state = torch.zeros_like(x)
        total = torch.zeros(())
        result = torch.zeros_like(x)
        step = 0
        while step < self.max_steps:
            state = self.cell(x.unsqueeze(0), state.unsqueeze(0)).squeeze(0)
            p = torch.sigmoid(self.halt(state) - patience).squeeze()
            step += 1
            if total + p > 0.99:
                result = result + (1 - total) * state
                break
            total = total + p
            result = result + p * state
        return result, total, step


class PackedRNN(nn.Module):
    """A recurrent network over sequences of different lengths, without padding in the cell."""

    def __init__(self) -> None:
        super().__init__()
        self.cell = nn.RNNCell(3, 4)

    def forward(self, x: Tensor, lengths: Tensor) -> Tensor:
        finals = []
        for sequence, length in zip(x, lengths, strict=True):
            h = torch.zeros(1, 4)
            for t in range(int(length)):
                h = self.cell(sequence[t : t + 1], h)
            finals.append(h)
        return torch.cat(finals)


def over_tolist(values: Tensor, x: Tensor) -> Tensor:
    """`for` over `.tolist()` with numbers used in decisions and arithmetic."""
    total = 0.0
    for v in values.tolist():
        if v < 0:
            continue
        total += v * 0.5
        if total > 3:
            break
    return x * total


def enumerate_rows(x: Tensor) -> Tensor:
    """`enumerate` and `zip` over tensors with a running best."""
    best = x[0]
    where = 0
    for i, (row, follower) in enumerate(zip(x[:-1], x[1:])):
        if (follower - row).sum() > (best - x[0]).sum():
            best, where = follower, i + 1
    return best * (where + 1)


def countdown(x: Tensor) -> list[Tensor]:
    """A loop over a range with a start and a step from data."""
    start = int(x.argmax())
    parts = []
    for i in range(start, -1, -2):
        parts.append(x[: i + 1].sum())
    return parts


class PonderStack(nn.Module):
    """Layers applied again and again until the output stops changing (early convergence)."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(4, 4) for _ in range(2))

    def forward(self, x: Tensor) -> tuple[Tensor, int]:
        for round_ in range(50):
            before = x
            for layer in self.layers:
                x = torch.tanh(layer(x)) * 0.8
            if torch.allclose(x, before, atol=1e-3):
                return x, round_
            if not torch.isfinite(x).all():
                break
        return torch.zeros_like(x), -1


CASES = (
    Case(
        "halve_until_small",
        function(halve_until_small),
        ((torch.tensor([3.0, 4.0]),), (torch.tensor([0.1, 0.2, 0.3]),), (torch.full((9,), 77.0),)),
        ("while", "counter"),
        {"x": {0: "n"}},
    ),
    Case(
        "repeat_int",
        function(repeat_int),
        tuple((torch.linspace(0, 1, 4), torch.tensor(n)) for n in (3, 0, 1, 12)),
        ("range", "int"),
    ),
    Case(
        "for_else",
        function(for_else),
        (
            (torch.tensor([[1.0, 2.0], [4.0, 5.0], [6.0, 7.0]]), torch.tensor(3.0)),
            (torch.tensor([[1.0, 2.0], [float("nan"), 5.0], [6.0, 7.0]]), torch.tensor(5.0)),
            (torch.tensor([[1.0, 2.0], [4.0, 5.0], [6.0, 7.0]]), torch.tensor(9.0)),
        ),
        ("for", "break", "continue", "else"),
    ),
    Case(
        "while_else",
        function(while_else),
        ((torch.ones(3),), (torch.full((3,), 9.0),), (torch.full((3,), -1.0),)),
        ("while", "break", "else"),
    ),
    Case(
        "collatz",
        Collatz,
        tuple((torch.tensor(n),) for n in (6, 1, 7, 27)),
        ("while True", "return"),
    ),
    Case(
        "nested_loops",
        function(nested),
        (
            (torch.tensor([0.5, 1.0]), torch.tensor(20.0)),
            (torch.tensor([5.0, 1.0]), torch.tensor(2.0)),
            (torch.tensor([0.1, 0.0]), torch.tensor(100.0)),
        ),
        ("while", "nested", "else"),
    ),
    Case(
        "growing_memory",
        GrowingMemory,
        tuple((torch.linspace(-1, 1, 4), torch.tensor(n)) for n in (2, 0, 5)),
        ("shapes change",),
    ),
    Case(
        "shrink",
        function(shrink),
        (
            (torch.tensor([5.0, 1.0, 3.0, 2.0, 0.5]),),
            (torch.tensor([0.5, 1.0, 0.3, 0.2, 0.5]),),
            (torch.tensor([5.0, 4.0, 3.0, 2.5, 9.5]),),
            (torch.tensor([2.0, 2.0, 2.0, 2.0, 2.0]),),
        ),
        ("shapes change", "mask"),
    ),
    Case(
        "adaptive_computation",
        AdaptiveComputation,
        (
            (torch.linspace(-1, 1, 5), torch.tensor(0.0)),
            (torch.linspace(-1, 1, 5), torch.tensor(4.0)),
            (torch.tensor([9.0, -9.0, 9.0, 9.0, -9.0]), torch.tensor(1.0)),
            (torch.tensor([9.0, -9.0, 9.0, 9.0, -9.0]), torch.tensor(-9.0)),
        ),
        ("while", "break"),
    ),
    Case(
        "packed_rnn",
        PackedRNN,
        (
            (torch.linspace(-1, 1, 36).reshape(3, 4, 3), torch.tensor([4, 2, 3])),
            (torch.linspace(-1, 1, 36).reshape(3, 4, 3), torch.tensor([0, 1, 4])),
        ),
        ("range", "zip", "slice"),
    ),
    Case(
        "over_tolist",
        function(over_tolist),
        (
            (torch.tensor([1.0, -2.0, 3.0]), torch.ones(2)),
            (torch.tensor([5.0, -2.0, 3.0]), torch.ones(2)),
            (torch.tensor([-5.0, 9.0, 3.0]), torch.ones(2)),
        ),
        ("tolist", "break", "continue"),
    ),
    Case(
        "enumerate_rows",
        function(enumerate_rows),
        (
            (torch.tensor([[1.0, 0.0], [5.0, 1.0], [2.0, 2.0], [9.0, 9.0]]),),
            (torch.tensor([[1.0, 0.0], [0.0, 0.0], [-2.0, 2.0]]),),
            (torch.ones(7, 2).cumsum(0),),
        ),
        ("enumerate", "zip"),
        {"x": {0: "rows[2..64]"}},
    ),
    Case(
        "countdown",
        function(countdown),
        (
            (torch.tensor([1.0, 2.0, 3.0, 9.0, 0.0]),),
            (torch.tensor([9.0, 2.0, 3.0, 1.0, 0.0]),),
            (torch.tensor([1.0, 2.0, 3.0, 1.0, 10.0]),),
        ),
        ("range", "list result"),
    ),
    Case(
        "ponder_stack",
        PonderStack,
        (
            (torch.linspace(-1, 1, 4),),
            (torch.tensor([float("nan"), 0.0, 0.0, 0.0]),),
            (torch.zeros(4),),
        ),
        ("convergence", "break"),
    ),
)
