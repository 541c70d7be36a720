"""Models that decide: branches on tensor data in every form that Python has."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from tests.zoo.case import Case, function


class GatedBlock(nn.Module):
    """One of two paths by the sign of the sum, with a note for the log."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.linear = nn.Linear(width, width)
        self.shortcut = nn.Linear(width, width, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        if x.sum() > 0:
            print("taking the long path")
            h = torch.relu(self.linear(x))
            h = h * 2
        else:
            print("taking the short path")
            h = self.shortcut(x)
        return h + x


class ElifChain(nn.Module):
    """Five regimes of the input's mean; one of them calls a helper that decides again."""

    def __init__(self) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.tensor([0.5, 1.5, 2.5]))

    def _clip(self, x: Tensor) -> Tensor:
        if x.abs().max() > 10:
            return x.clamp(-10, 10)
        return x

    def forward(self, x: Tensor) -> Tensor:
        mean = x.mean()
        if mean < -1:
            y = x * self.scale[0]
        elif mean < 0:
            y = x * self.scale[1] + 1
        elif mean == 0:
            y = torch.zeros_like(x)
        elif mean <= 1:
            y = x.sin()
        else:
            y = self._clip(x * self.scale[2])
        return y - mean


class Sixteen(nn.Module):
    """Sixteen decisions in a row, each on what the one before left."""

    def __init__(self) -> None:
        super().__init__()
        self.thresholds = nn.Parameter(torch.linspace(-0.6, 0.6, 16))
        self.weight = nn.Parameter(torch.randn(16, 6) * 0.4)

    def forward(self, x: Tensor) -> tuple[Tensor, int]:
        taken = 0
        for i in range(16):
            if torch.tanh(x).mean() > self.thresholds[i]:
                x = x - self.weight[i].abs() - 0.05
                taken += 1
            else:
                x = x + self.weight[i].abs() + 0.1
        return x, taken


class SixteenFlags(nn.Module):
    """Sixteen decisions where one side fills a list and a dict, and one may return early."""

    def forward(self, x: Tensor, flags: Tensor) -> dict[str, Tensor]:
        parts = []
        found = {}
        for i in range(16):
            if flags[i]:
                parts.append(x * (i + 1))
                if i % 5 == 0:
                    found[f"at{i}"] = x + i
                if len(parts) == 9:
                    return {"early": torch.stack(parts).sum(0)}
            else:
                x = x + 0.25
        if len(parts) == 0:
            found["nothing"] = x
        else:
            found["sum"] = torch.stack(parts).sum(0)
        return found


def early_returns(x: Tensor, limit: Tensor) -> Tensor:
    """Guard clauses at three depths."""
    if limit.item() == 0:
        return x
    norm = x.norm()
    if norm < 1e-6:
        return torch.zeros_like(x)
    if norm > limit:
        scaled = x * (limit / norm)
        if scaled.min() < -0.5:
            return scaled.clamp(min=-0.5)
        return scaled
    return x / norm


class ShortCircuit(nn.Module):
    """`and`, `or` and `not` with operands that must not always run."""

    def __init__(self) -> None:
        super().__init__()
        self.head = nn.Linear(4, 2)

    def _confident(self, logits: Tensor) -> Tensor:
        print("checking confidence")
        return logits.softmax(-1).max() > 0.6

    def forward(self, x: Tensor) -> Tensor:
        logits = self.head(x)
        if x.sum() > 0 and self._confident(logits):
            logits = logits * 2
        if x.min() < -3 or not self._confident(logits):
            logits = logits - 1
        if not (x.max() > 2 or x.mean() > 1) and x[0] != 0:
            logits = -logits
        return logits


def chained(x: Tensor, low: Tensor, high: Tensor) -> tuple[Tensor, str]:
    """Chained comparisons, also of three tensors."""
    m = x.mean()
    if low < m < high:
        return x, "inside"
    if low == m or m == high:
        return x * 0.5, "edge"
    if -10 < m < low:
        return x + (low - m), "below"
    return x - (m - high), "far"


def conditional_expressions(x: Tensor) -> Tensor:
    """Conditional expressions, nested and as arguments."""
    sign = 1.0 if x.sum() > 0 else -1.0
    y = x * sign if x.abs().max() < 4 else (x / 4 if sign > 0 else x / 8)
    return torch.add(y, x, alpha=2 if y[0] > y[1] else 3)


def builtin_extrema(a: Tensor, b: Tensor, c: Tensor) -> dict[str, Tensor]:
    """The built-in `max`, `min` and `sorted` of zero-dimensional tensors."""
    top = max(a.sum(), b.sum())
    bottom = min(a.sum(), b.sum(), c.sum())
    worst = max([a, b, c], key=lambda t: t.abs().max())
    return {"top": top, "bottom": bottom, "worst": worst, "span": top - bottom}


def match_statement(code: Tensor, x: Tensor) -> Tensor:
    """`match` on a number from data, with alternatives and a guard."""
    match int(code):
        case 0:
            return x.relu()
        case 1 | 2:
            return x.tanh()
        case n if n < 0:
            return x * n
        case _:
            return x.sigmoid()


class NoneOrTensor(nn.Module):
    """A mask that is None unless there is something to mask."""

    def __init__(self) -> None:
        super().__init__()
        self.query = nn.Linear(8, 8)

    def _scores(self, x: Tensor, mask: Tensor | None) -> Tensor:
        scores = self.query(x) @ x.t()
        if mask is not None:
            scores = scores.masked_fill(mask, float("-inf"))
        return scores

    def forward(self, x: Tensor, padding: Tensor) -> tuple[Tensor, Tensor | None]:
        mask = None
        if padding.any():
            mask = padding[None, :].expand(x.shape[0], -1)
        scores = self._scores(x, mask)
        return scores.softmax(-1) @ x, None if mask is None else mask.sum()


def rank_by_data(x: Tensor) -> Tensor:
    """A result whose rank and shape depend on data."""
    if x.sum() > 10:
        return x.sum()
    if x.sum() > 0:
        return x[:2]
    return torch.stack([x, x.flip(0)])


def tuples_by_data(x: Tensor) -> tuple[object, ...]:
    """Tuples of different length and content."""
    if x[0] > 0:
        return (x.sum(), "positive", 1)
    if x[1] > 0:
        return (x, [x.mean(), None])
    return ()


class HighwayUnit(nn.Module):
    """A highway layer that skips its transform when the gate is closed."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.gate = nn.Linear(width, 1)
        self.body = nn.Linear(width, width)

    def forward(self, x: Tensor) -> Tensor:
        gate = torch.sigmoid(self.gate(x))
        if gate < 0.05:
            return x
        if gate > 0.95:
            return F.gelu(self.body(x))
        return gate * F.gelu(self.body(x)) + (1 - gate) * x


class Highway(nn.Module):
    """Three such units."""

    def __init__(self) -> None:
        super().__init__()
        self.units = nn.ModuleList(HighwayUnit(5) for _ in range(3))

    def forward(self, x: Tensor) -> Tensor:
        for unit in self.units:
            x = unit(x)
        return x


CASES = (
    Case(
        "gated_block",
        lambda: GatedBlock(6),
        ((torch.ones(6),), (-torch.ones(6),), (torch.zeros(6),)),
        ("if", "print"),
    ),
    Case(
        "elif_chain",
        ElifChain,
        tuple((torch.full((4,), v),) for v in (-2.0, -0.5, 0.0, 0.7, 1.5, 6.0)),
        ("elif", "method"),
    ),
    Case(
        "sixteen_branches",
        Sixteen,
        ((torch.linspace(-1, 1, 6),), (torch.full((6,), 3.0),), (torch.full((6,), -3.0),)),
        ("sequential",),
    ),
    Case(
        "sixteen_flags",
        SixteenFlags,
        (
            (torch.ones(3), torch.arange(16) % 3 == 0),
            (torch.ones(3), torch.zeros(16, dtype=torch.bool)),
            (torch.arange(3.0), torch.ones(16, dtype=torch.bool)),
            (torch.arange(3.0), torch.arange(16) == 15),
            (torch.arange(3.0), torch.arange(16) % 2 == 1),
        ),
        ("sequential", "list", "dict", "early return"),
    ),
    Case(
        "early_returns",
        function(early_returns),
        (
            (torch.tensor([0.3, -0.4]), torch.tensor(2.0)),
            (torch.tensor([3.0, 4.0]), torch.tensor(2.0)),
            (torch.tensor([3.0, -4.0]), torch.tensor(2.0)),
            (torch.zeros(2), torch.tensor(2.0)),
            (torch.tensor([1.0, 1.0]), torch.tensor(0.0)),
        ),
        ("early return", "item"),
    ),
    Case(
        "short_circuit",
        ShortCircuit,
        (
            (torch.tensor([1.0, 2.5, 0.1, -0.2]),),
            (torch.tensor([-4.0, 0.5, 0.1, -0.2]),),
            (torch.tensor([5.0, 5.0, 5.0, 9.0]),),
            (torch.tensor([0.0, -0.1, -0.1, 0.1]),),
            (torch.tensor([1.5, 1.5, 1.5, 1.5]),),
            (torch.tensor([0.2, 0.1, 0.1, -0.2]),),
        ),
        ("and", "or", "not", "print"),
    ),
    Case(
        "chained_comparisons",
        function(chained),
        tuple(
            (torch.tensor([v, v]), torch.tensor(-1.0), torch.tensor(1.0))
            for v in (0.25, -1.0, 1.0, -4.0, 7.0, -20.0)
        ),
        ("chained", "string result"),
    ),
    Case(
        "conditional_expressions",
        function(conditional_expressions),
        (
            (torch.tensor([1.0, 2.0, -0.5]),),
            (torch.tensor([-1.0, -2.0, -0.5]),),
            (torch.tensor([8.0, 2.0, -0.5]),),
            (torch.tensor([-8.0, 2.0, -0.5]),),
        ),
        ("conditional expression",),
    ),
    Case(
        "builtin_extrema",
        function(builtin_extrema),
        (
            (torch.tensor([1.0, 2.0]), torch.tensor([0.0, 1.0]), torch.tensor([-5.0, 1.0])),
            (torch.tensor([1.0, -2.0]), torch.tensor([0.0, 7.0]), torch.tensor([5.0, 1.0])),
            (torch.tensor([9.0, 2.0]), torch.tensor([0.0, -7.0]), torch.tensor([5.0, 1.0])),
        ),
        ("max", "min", "key"),
    ),
    Case(
        "match_statement",
        function(match_statement),
        tuple((torch.tensor(c), torch.tensor([-1.0, 0.5, 2.0])) for c in (0, 1, 2, -3, 9)),
        ("match",),
    ),
    Case(
        "none_or_tensor",
        NoneOrTensor,
        (
            (torch.linspace(-1, 1, 24).reshape(3, 8), torch.tensor([False, False, True])),
            (torch.linspace(-1, 1, 24).reshape(3, 8), torch.tensor([False, False, False])),
        ),
        ("None",),
    ),
    Case(
        "rank_by_data",
        function(rank_by_data),
        ((torch.tensor([5.0, 6.0, 7.0]),), (torch.ones(3),), (-torch.arange(3.0),)),
        ("shapes differ",),
    ),
    Case(
        "tuples_by_data",
        function(tuples_by_data),
        ((torch.tensor([1.0, 2.0]),), (torch.tensor([-1.0, 2.0]),), (torch.tensor([-1.0, -2.0]),)),
        ("structures differ",),
    ),
    Case(
        "highway",
        Highway,
        (
            (torch.linspace(-1, 1, 5),),
            (torch.tensor([9.0, -8.0, 7.0, -9.0, 5.0]),),
            (torch.tensor([-9.0, 8.0, -7.0, 9.0, -5.0]),),
            (torch.tensor([9.0, 8.0, -7.0, 6.0, 5.0]),),
            (torch.tensor([-9.0, -8.0, 7.0, -6.0, -5.0]),),
            (torch.tensor([-9.0, 20.0, 7.0, -6.0, -5.0]),),
            (torch.tensor([20.0, -8.0, 27.0, 6.0, -5.0]),),
        ),
        ("early return", "modules"),
    ),
)
