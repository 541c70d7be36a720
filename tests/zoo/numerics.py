"""Numerical methods with stopping rules: root finders, solvers, optimisers, clustering."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn

from tests.zoo.case import Case, function


def newton(f: Callable[[Tensor], Tensor], df: Callable[[Tensor], Tensor], x: Tensor) -> Tensor:
    for _ in range(25):
        step = f(x) / df(x)
        x = x - step
        if step.abs() < 1e-5:
            break
    return x


def newton_root(a: Tensor, start: Tensor) -> tuple[Tensor, Tensor]:
    """Newton's iteration on functions that close over the input."""
    calls = torch.zeros((), dtype=torch.int64)

    def f(x: Tensor) -> Tensor:
        calls.add_(1)
        return x * x - a

    return newton(f, lambda x: 2 * x, start), calls


def bisection(coefficients: Tensor, low: Tensor, high: Tensor) -> tuple[Tensor, int]:
    """A root of a cubic by bisection. Raises ValueError if the bracket has none."""

    def value(x: Tensor) -> Tensor:
        result = torch.zeros(())
        for c in coefficients:
            result = result * x + c
        return result

    if value(low) * value(high) > 0:
        raise ValueError(f"no sign change between {low.item():g} and {high.item():g}")
    rounds = 0
    while high - low > 1e-3:
        middle = (low + high) / 2
        rounds += 1
        at = value(middle)
        if at == 0:
            return middle, rounds
        if at * value(low) < 0:
            high = middle
        else:
            low = middle
    return (low + high) / 2, rounds


def power_iteration(matrix: Tensor) -> tuple[Tensor, Tensor, bool]:
    """The largest eigenvalue of a symmetric matrix."""
    v = torch.ones(matrix.shape[0])
    value = torch.tensor(float("inf"))
    converged = False
    for _ in range(100):
        w = matrix @ v
        norm = w.norm()
        if norm == 0:
            break
        v = w / norm
        estimate = v @ (matrix @ v)
        if (estimate - value).abs() <= 1e-4 * estimate.abs():
            converged = True
            break
        value = estimate
    return value, v.abs(), converged


def gram_schmidt(rows: Tensor) -> Tensor:
    """An orthonormal basis; rows that depend on earlier ones are left out."""
    basis: list[Tensor] = []
    for row in rows:
        for b in basis:
            row = row - (row @ b) * b
        length = row.norm()
        if length > 1e-3:
            basis.append(row / length)
    if len(basis) == 0:
        raise ArithmeticError("the rows span nothing")
    return torch.stack(basis)


class KMeans(nn.Module):
    """Lloyd's algorithm until no point changes its cluster; empty clusters stay where they are."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("start", torch.tensor([[0.0, 0.0], [4.0, 4.0], [-6.0, 5.0]]))

    def forward(self, points: Tensor) -> tuple[Tensor, Tensor, int]:
        centres = self.start.clone()
        assigned = torch.full((points.shape[0],), -1)
        rounds = 0
        while True:
            rounds += 1
            nearest = torch.cdist(points, centres).argmin(1)
            if torch.equal(nearest, assigned):
                return centres, assigned, rounds
            assigned = nearest
            for k in range(centres.shape[0]):
                members = points[assigned == k]
                if members.shape[0] > 0:
                    centres[k] = members.mean(0)


def conjugate_gradient(a: Tensor, b: Tensor) -> tuple[Tensor, int]:
    """Solves a x = b for a positive definite matrix."""
    x = torch.zeros_like(b)
    r = b - a @ x
    p = r
    rs = r @ r
    k = 0
    while rs.sqrt() > 1e-4 and k < 2 * b.shape[0]:
        ap = a @ p
        curvature = p @ ap
        if curvature <= 0:
            raise ArithmeticError("the matrix is not positive definite")
        alpha = rs / curvature
        x = x + alpha * p
        r = r - alpha * ap
        new = r @ r
        p = r + (new / rs) * p
        rs = new
        k += 1
    return x, k


def line_search(x: Tensor, curvature: Tensor) -> tuple[Tensor, int, int]:
    """Gradient descent on a quadratic with backtracking (Armijo's rule)."""

    def loss(p: Tensor) -> Tensor:
        return 0.5 * (curvature * p * p).sum()

    tried = accepted = 0
    for _ in range(20):
        gradient = curvature * x
        slope = gradient.square().sum()
        if slope < 1e-4:
            break
        t = 1.0
        now = loss(x)
        while loss(x - t * gradient) > now - 0.5 * t * slope:
            t *= 0.5
            tried += 1
            if t < 1e-3:
                raise RuntimeError("line search failed")
        x = x - t * gradient
        accepted += 1
    return x, tried, accepted


class AdaptiveODE(nn.Module):
    """Heun's method with Euler's error estimate: steps grow and shrink with the error."""

    def __init__(self) -> None:
        super().__init__()
        self.field = nn.Linear(2, 2, bias=False)

    def forward(self, y: Tensor, end: Tensor) -> tuple[Tensor, int, int]:
        t, h = 0.0, 0.25
        accepted = rejected = 0
        stop = float(end)
        while t < stop:
            h = min(h, stop - t)
            k1 = self.field(y)
            k2 = self.field(y + h * k1)
            error = (0.5 * h * (k2 - k1)).abs().max()
            if error > 0.05 and h > 1e-3:
                h *= 0.5
                rejected += 1
                continue
            y = y + 0.5 * h * (k1 + k2)
            t += h
            accepted += 1
            if error < 0.01:
                h *= 2
        return y, accepted, rejected


def pattern_search(x: Tensor, target: Tensor) -> tuple[Tensor, float]:
    """Minimisation without gradients: try each direction, halve the step if none helps."""

    def cost(p: Tensor) -> float:
        return float(((p - target) ** 2).sum() + (p - target).abs().max())

    best = cost(x)
    size = 1.0
    while size > 0.05:
        improved = False
        for i in range(x.shape[0]):
            for sign in (1, -1):
                trial = x.clone()
                trial[i] += sign * size
                c = cost(trial)
                if c < best - 1e-4:
                    x, best, improved = trial, c, True
                    break
        if not improved:
            size /= 2
    return x, best


def fixed_point_with_restart(x: Tensor, rate: Tensor) -> tuple[Tensor, list[str]]:
    """A damped fixed-point iteration that restarts with more damping when it runs away."""
    damping = 1.0
    notes: list[str] = []
    while damping > 0.1:
        z = x
        for _ in range(12):
            following = (1 - damping) * z + damping * rate * torch.cos(z) * z
            if following.abs().max() > 50:
                notes.append(f"restart at {damping}")
                break
            if (following - z).abs().max() < 1e-2:
                return following, notes
            z = following
        damping /= 2
    return x, notes


def simulated_annealing(x: Tensor, moves: Tensor, draws: Tensor) -> tuple[Tensor, int]:
    """Accepts worse states with a probability; proposals and draws are given."""
    temperature = 1.0
    energy = x.square().sum()
    accepted = 0
    for move, u in zip(moves, draws):
        proposal = x + move
        change = proposal.square().sum() - energy
        if change < 0 or u < torch.exp(-change / temperature):
            x, energy = proposal, energy + change
            accepted += 1
        temperature *= 0.9
    return x, accepted


_G = torch.Generator().manual_seed(5)


def _randn(*shape: int) -> Tensor:
    return torch.randn(*shape, generator=_G)


def _positive(n: int) -> Tensor:
    m = _randn(n, n)
    return m @ m.t() + torch.eye(n)


_POINTS = torch.cat([_randn(4, 2) * 0.3, _randn(4, 2) * 0.3 + 5.0])

CASES = (
    Case(
        "newton_root",
        function(newton_root),
        tuple(
            (torch.tensor(a), torch.tensor(s)) for a, s in ((2.0, 1.0), (9.0, 30.0), (-1.0, 0.5))
        ),
        ("closure", "lambda", "for", "break"),
    ),
    Case(
        "bisection",
        function(bisection),
        tuple(
            (torch.tensor(c), torch.tensor(lo), torch.tensor(hi))
            for c, lo, hi in (
                ([1.0, 0.0, -2.0, -5.0], 0.0, 4.0),
                ([1.0, 0.0, 0.0, 0.0], -1.0, 1.0),
                ([1.0, 0.0, 0.0, 9.0], 0.0, 1.0),
            )
        ),
        ("closure", "while", "raise"),
    ),
    Case(
        "power_iteration",
        function(power_iteration),
        ((_positive(3),), (torch.zeros(3, 3),), (torch.diag(torch.tensor([2.0, 2.0, -2.0])),)),
        ("convergence", "break"),
    ),
    Case(
        "gram_schmidt",
        function(gram_schmidt),
        (
            (_randn(3, 3),),
            (torch.tensor([[1.0, 2.0, 0.0], [2.0, 4.0, 0.0], [0.0, 1.0, 1.0]]),),
            (torch.zeros(3, 3),),
        ),
        ("list", "nested", "raise"),
    ),
    Case(
        "k_means",
        KMeans,
        ((_POINTS,), (_POINTS * torch.tensor([-1.0, 1.0]),), (_POINTS[2:] * 0,)),
        ("while True", "mask", "mutation"),
        {"points": {0: "points"}},
    ),
    Case(
        "conjugate_gradient",
        function(conjugate_gradient),
        (
            (_positive(4), _randn(4)),
            (torch.eye(4), torch.zeros(4)),
            (-torch.eye(4), torch.ones(4)),
            (
                _positive(4) + 1e6 * torch.diag(torch.tensor([1.0, 0.1, 0.0, 0.0])),
                torch.ones(4) * 1e4,
            ),
        ),
        ("while", "and", "raise"),
    ),
    Case(
        "line_search",
        function(line_search),
        (
            (torch.tensor([1.0, 1.0]), torch.tensor([1.0, 10.0])),
            (torch.tensor([0.0, 0.0]), torch.tensor([1.0, 10.0])),
            (torch.tensor([1.0, -3.0]), torch.tensor([1.0, 9e4])),
            (torch.tensor([1.0, -3.0]), torch.tensor([0.9, 0.7])),
        ),
        ("while", "nested", "closure", "raise"),
    ),
    Case(
        "adaptive_ode",
        AdaptiveODE,
        (
            (torch.tensor([1.0, -0.5]), torch.tensor(2.0)),
            (torch.tensor([0.001, 0.0]), torch.tensor(3.0)),
            (torch.tensor([1.0, 0.0]), torch.tensor(0.0)),
            (torch.tensor([2e8, -1e8]), torch.tensor(0.01)),
        ),
        ("while", "continue", "float"),
    ),
    Case(
        "pattern_search",
        function(pattern_search),
        (
            (torch.tensor([0.0, 0.0]), torch.tensor([1.3, -0.6])),
            (torch.tensor([5.0, 1.0]), torch.tensor([5.0, 1.0])),
        ),
        ("nested", "float", "flag"),
    ),
    Case(
        "fixed_point_restart",
        function(fixed_point_with_restart),
        (
            (torch.tensor([0.5, 1.0]), torch.tensor(1.2)),
            (torch.tensor([0.5, 1.0]), torch.tensor(80.0)),
            (torch.tensor([0.5, 1.0]), torch.tensor(-6.0)),
        ),
        ("while", "f-string", "strings in a list"),
    ),
    Case(
        "simulated_annealing",
        function(simulated_annealing),
        (
            (torch.tensor([1.0, -1.0]), _randn(6, 2), torch.linspace(0, 1, 6)),
            (torch.tensor([0.0, 0.0]), _randn(6, 2) * 3, torch.linspace(0.9, 1, 6)),
        ),
        ("zip", "or"),
    ),
)
