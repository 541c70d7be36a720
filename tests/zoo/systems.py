"""Linear systems on the way: filters, fits and regressions that go on where a matrix fails them."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from tests.zoo.case import Case, function


class ExtendedKalman(nn.Module):
    """Position and speed from ranges; a measurement too far off is left out, and a covariance that
    is singular ends the filter."""

    def __init__(self, gate: float = 9.0) -> None:
        super().__init__()
        self.gate = gate
        self.register_buffer("step", torch.tensor([[1.0, 0.1], [0.0, 1.0]]))
        self.register_buffer("noise", torch.eye(2) * 0.01)

    def forward(self, ranges: torch.Tensor, start: torch.Tensor, spread: torch.Tensor) -> Any:
        state, covariance = start, torch.diag(spread)
        skipped = []
        for index, measured in enumerate(ranges):
            state = self.step @ state
            covariance = self.step @ covariance @ self.step.T + self.noise * spread.sum()
            expected = torch.sqrt(state[0] ** 2 + 1)
            slope = torch.stack([state[0] / expected, torch.zeros(())]).unsqueeze(0)
            innovation = slope @ covariance @ slope.T
            try:
                weight = torch.linalg.inv(innovation)
            except torch.linalg.LinAlgError:
                return {"state": state, "skipped": skipped, "ended": index}
            error = (measured - expected).reshape(1)
            if error @ weight @ error > self.gate:
                skipped.append(index)
                continue
            gain = covariance @ slope.T @ weight
            state = state + gain @ error
            covariance = (torch.eye(2) - gain @ slope) @ covariance
        return {"state": state, "skipped": skipped, "ended": -1}


def gaussian_process(x: torch.Tensor, y: torch.Tensor, scale: torch.Tensor) -> Any:
    """A regression that adds to the diagonal until the kernel is positive definite."""
    distance = (x.unsqueeze(0) - x.unsqueeze(1)) ** 2
    kernel = torch.exp(-distance / (2 * scale**2)) - 0.05 * torch.eye(len(x))
    jitter = 0.0
    for _ in range(4):
        try:
            root = torch.linalg.cholesky(kernel + jitter * torch.eye(len(x)))
            break
        except RuntimeError:
            jitter = 0.02 if jitter == 0 else jitter * 5
    else:
        raise ValueError(f"no kernel: still not definite with {jitter:.3f}")
    weights = torch.cholesky_solve(y.unsqueeze(-1), root)
    likelihood = -0.5 * (y @ weights).squeeze() - root.diagonal().log().sum()
    return weights, likelihood, jitter


def homographies(points: torch.Tensor, targets: torch.Tensor) -> Any:
    """The map of each quadrilateral to another; the first that cannot be says which it is."""
    x, y = points[..., 0], points[..., 1]
    u, v = targets[..., 0], targets[..., 1]
    zero, one = torch.zeros_like(x), torch.ones_like(x)
    rows = [
        torch.stack([x, y, one, zero, zero, zero, -u * x, -u * y], -1),
        torch.stack([zero, zero, zero, x, y, one, -v * x, -v * y], -1),
    ]
    solved = torch.linalg.solve(torch.cat(rows, 1), torch.cat([u, v], 1))
    maps = torch.cat([solved, torch.ones(len(points), 1)], 1).reshape(-1, 3, 3)
    sign, size = torch.linalg.slogdet(maps)
    if (sign < 0).any():
        maps = torch.where(sign.reshape(-1, 1, 1) < 0, torch.linalg.inv(maps), maps)
    return maps, size


_SQUARE = torch.tensor([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]])
_TILTED = torch.tensor([[0.1, 0.2], [1.3, -0.1], [1.1, 1.4], [-0.2, 0.9]])

CASES = (
    Case(
        "extended_kalman",
        ExtendedKalman,
        (
            (torch.tensor([1.1, 1.2, 1.25, 1.3]), torch.tensor([0.5, 1.0]), torch.ones(2)),
            (torch.tensor([1.1, 9.0, 1.2, 40.0]), torch.tensor([0.5, 1.0]), torch.ones(2)),
            (torch.tensor([1.1, 1.2, 1.0, 1.0]), torch.tensor([0.5, 1.0]), torch.zeros(2)),
        ),
        ("try", "continue", "for"),
    ),
    Case(
        "gaussian_process",
        function(gaussian_process),
        (
            (torch.linspace(0, 4, 5), torch.tensor([1.0, 0.5, -1.0, 0.0, 2.0]), torch.tensor(0.3)),
            (torch.linspace(0, 1, 5), torch.tensor([1.0, 0.5, -1.0, 0.0, 2.0]), torch.tensor(0.9)),
            (torch.full((5,), torch.nan), torch.ones(5), torch.tensor(1.0)),
        ),
        ("try", "else of a loop", "raise"),
    ),
    Case(
        "homographies",
        function(homographies),
        (
            (torch.stack([_SQUARE, _TILTED]), torch.stack([_TILTED, _SQUARE])),
            (torch.stack([_SQUARE, _TILTED]), torch.stack([_TILTED.flip(0), _SQUARE])),
            (torch.stack([_SQUARE, torch.zeros(4, 2)]), torch.stack([_TILTED, _SQUARE])),
        ),
        ("raise",),
    ),
)
