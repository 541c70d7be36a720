"""Models that take Python numbers out of tensors and go on with them."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from tests.zoo.case import Case, function


def number_kinds(x: Tensor, n: Tensor, flag: Tensor) -> tuple[float, int, bool, Tensor]:
    """`.item()`, `float`, `int` and `bool`, with arithmetic between the kinds."""
    f = float(x.mean())
    i = int(n)
    b = bool(flag)
    mixed = f * i + b
    if b:
        mixed -= x.max().item()
    return mixed, i // 3 - i % 4, not b, x * mixed


def integer_arithmetic(a: Tensor, b: Tensor) -> list[int]:
    """Floor division, remainder, powers and bits of numbers of either sign."""
    m, n = a.item(), b.item()
    results = [m + n, m - n, m * n, -m, abs(n), m & 7, m | 1, m ^ n, m << 2, m >> 1, ~n]
    if n != 0:
        results += [m // n, m % n, divmod(m, n)[1]]
    if n >= 0:
        results.append(m**n)
    return results


def math_on_data(x: Tensor) -> Tensor:
    """`math` on a number from data; which function depends on it too."""
    v = x.sum().item()
    if math.isnan(v):
        return torch.full_like(x, -1.0)
    if v > 0:
        r = math.sqrt(v) + math.log(v) + math.floor(v)
    elif math.isinf(v):
        r = 0.0
    else:
        r = math.exp(v) + math.ceil(v) + math.cos(v)
    return x.clamp(-2, 2) * round(r, 3) + round(r)


class PositionalWindow(nn.Module):
    """Slices whose bounds come from data."""

    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Parameter(torch.randn(12, 3))

    def forward(self, x: Tensor, start: Tensor, length: Tensor) -> Tensor:
        begin = int(start)
        end = min(begin + int(length), self.table.shape[0])
        window = self.table[begin:end]
        if window.shape[0] == 0:
            return x.sum(0, keepdim=True)
        return window + x[: window.shape[0]]


def sizes_from_data(n: Tensor, m: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Tensors made with sizes that data decides."""
    rows, columns = int(n), int(m)
    grid = torch.zeros(rows, columns)
    ramp = torch.arange(rows * columns).reshape(rows, columns)
    grid = grid + ramp * 0.5
    return grid, torch.ones(columns, rows) @ grid, torch.full((rows + 1,), grid.numel())


class ExpertByNumber(nn.Module):
    """A module of a ModuleList picked by an index from data."""

    def __init__(self) -> None:
        super().__init__()
        self.router = nn.Linear(4, 3)
        self.experts = nn.ModuleList(
            [nn.Linear(4, 4), nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 4)), nn.Tanh()]
        )

    def forward(self, x: Tensor) -> tuple[Tensor, int]:
        choice = int(self.router(x).argmax())
        return self.experts[choice](x), choice


def list_by_number(x: Tensor, which: Tensor) -> Tensor:
    """A list and a dict indexed by numbers from data, negative indices too."""
    choices = [x, x * 2, x.flip(0), x.cumsum(0)]
    names = {0: "same", 1: "double", 2: "reverse", 3: "sum"}
    bonus = {"same": 0.0, "double": 0.5, "reverse": 1.0, "sum": 1.5}
    i = int(which)
    picked = choices[i]
    if i < 0:
        i += len(choices)
    return picked + bonus[names[i]]


class DynamicQuantiser(nn.Module):
    """Affine 8-bit quantisation with parameters from the input, then a linear layer in integers."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(3, 6))
        self.weight_scale = float(self.weight.abs().max()) / 127

    def forward(self, x: Tensor) -> tuple[Tensor, float, int]:
        low = min(float(x.min()), 0.0)
        high = max(float(x.max()), 0.0)
        if low == high:
            return torch.zeros(3), 0.0, 0
        scale = (high - low) / 255
        zero = max(0, min(255, round(-low / scale)))
        q = torch.clamp(torch.round(x / scale) + zero, 0, 255)
        w = torch.clamp(torch.round(self.weight / self.weight_scale), -128, 127)
        return ((q - zero) @ w.t()) * (scale * self.weight_scale), scale, zero


def format_report(x: Tensor, step: Tensor) -> Tensor:
    """f-strings of numbers from data with the usual format specifications."""
    n = int(step)
    mean, peak = x.mean().item(), float(x.max())
    print(f"step {n:>4d}: mean={mean:.3f} peak={peak:+.2e} share={mean / 8:.1%}")
    if peak > 4:
        print("peak is high:", round(peak, 2), "at step", n, sep=" ", end="!\n")
    print(f"{n} {n:05d} {n:x} {peak > 1} {peak:8.2f}|{peak:<8.2f}|{n:,}")
    return x - mean


def predicate_count(x: Tensor) -> tuple[int, int, bool, bool]:
    """`sum`, `any` and `all` over numbers and tensors, with generators."""
    values = x.tolist()
    positive = sum(1 for v in values if v > 0)
    large = sum(v > 2 for v in values)
    return positive, large, any(v < -1 for v in values), all(t < 100 for t in x)


def clock_arithmetic(seconds: Tensor) -> str:
    """A string made of data is the result."""
    total = int(seconds)
    if total < 0:
        return "never"
    hours, rest = divmod(total, 3600)
    minutes, secs = divmod(rest, 60)
    return f"{hours}:{minutes:02d}:{secs:02d}"


CASES = (
    Case(
        "number_kinds",
        function(number_kinds),
        (
            (torch.tensor([1.0, 2.5]), torch.tensor(7), torch.tensor(True)),
            (torch.tensor([-1.0, 0.25]), torch.tensor(-7), torch.tensor(False)),
        ),
        ("item", "int", "float", "bool"),
    ),
    Case(
        "integer_arithmetic",
        function(integer_arithmetic),
        tuple((torch.tensor(a), torch.tensor(b)) for a, b in ((7, 3), (-7, 3), (7, -3), (-9, 0))),
        ("item", "arithmetic", "list result"),
    ),
    Case(
        "math_on_data",
        function(math_on_data),
        tuple((torch.tensor([v, 0.5]),) for v in (3.0, -3.0, float("nan"), float("-inf"), 12.25)),
        ("math",),
    ),
    Case(
        "positional_window",
        PositionalWindow,
        tuple(
            (torch.ones(12, 3), torch.tensor(s), torch.tensor(n))
            for s, n in ((2, 4), (10, 9), (0, 12), (12, 3), (5, 0))
        ),
        ("slice",),
    ),
    Case(
        "sizes_from_data",
        function(sizes_from_data),
        tuple((torch.tensor(n), torch.tensor(m)) for n, m in ((2, 3), (4, 1), (1, 5))),
        ("sizes",),
    ),
    Case(
        "expert_by_number",
        ExpertByNumber,
        tuple((torch.eye(4)[i] * s,) for i in range(4) for s in (4.0, -4.0)),
        ("ModuleList", "switch"),
    ),
    Case(
        "list_by_number",
        function(list_by_number),
        tuple((torch.arange(3.0), torch.tensor(i)) for i in (0, 1, 2, 3, -1, -4)),
        ("index", "dict"),
    ),
    Case(
        "dynamic_quantiser",
        DynamicQuantiser,
        (
            (torch.tensor([[-1.0, 0.5, 2.0, 3.0, -0.25, 0.1]]),),
            (torch.tensor([[1.0, 0.5, 2.0, 3.0, 0.25, 0.1]]),),
            (torch.tensor([[-1.0, -0.5, -2.0, -3.0, -0.25, -0.1]]),),
            (torch.zeros(1, 6),),
        ),
        ("float", "round", "shapes differ"),
    ),
    Case(
        "format_report",
        function(format_report),
        (
            (torch.tensor([1.0, 2.5, 0.125]), torch.tensor(12)),
            (torch.tensor([-1.0, 8.5, 0.125]), torch.tensor(123456)),
        ),
        ("f-string", "print"),
    ),
    Case(
        "predicate_count",
        function(predicate_count),
        (
            (torch.tensor([1.0, 2.5, -0.125]),),
            (torch.tensor([-1.5, 2.5, 300.0]),),
            (torch.tensor([0.0, 0.0, 0.0]),),
        ),
        ("tolist", "generator", "any", "all"),
    ),
    Case(
        "clock_arithmetic",
        function(clock_arithmetic),
        tuple((torch.tensor(n),) for n in (3725, 59, -1, 360000)),
        ("f-string", "string result"),
    ),
)
