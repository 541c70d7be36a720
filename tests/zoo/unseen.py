"""Models written without knowledge of the compiler, as they first came."""

from __future__ import annotations

import enum
import warnings
from enum import Enum
from functools import reduce

import torch
from torch import nn

from tests.zoo.case import Case, function


class Status(enum.IntEnum):
    CONVERGED = 0
    BISECTED = 1
    EXHAUSTED = 2


class NoBracket(ArithmeticError):
    pass


def horner(coefficients, x):
    return reduce(lambda acc, c: acc * x + c, coefficients[1:], coefficients[0])


def derivative(coefficients):
    n = len(coefficients) - 1
    return [c * (n - i) for i, c in enumerate(coefficients[:-1])]


def solve(coefficients: torch.Tensor, lo: float, hi: float, tol: float = 1e-9, limit: int = 60):
    f = lambda x: horner(coefficients, x)  # noqa: E731
    df = derivative(coefficients)
    flo, fhi = f(lo), f(hi)
    if flo * fhi > 0:
        raise NoBracket(f"f({lo:g}) and f({hi:g}) have the same sign")
    status = Status.CONVERGED
    x = 0.5 * (lo + hi)
    for k in range(limit):
        fx = f(x)
        if abs(fx) < tol:
            return x, k, status
        if (fx < 0) == (flo < 0):
            lo = x
        else:
            hi = x
        try:
            step = fx / horner(df, x)
        except ZeroDivisionError:
            warnings.warn("zero slope")  # noqa: B028
            step = float("inf")
        new = x - step
        if not lo < new < hi:
            status = Status.BISECTED
            new = 0.5 * (lo + hi)
        x = new
    return x, limit, Status.EXHAUSTED


def root_in_bracket(coefficients: torch.Tensor, bracket: torch.Tensor):
    lo, hi = bracket.tolist()
    x, k, status = solve(coefficients.tolist(), lo, hi)
    if status is Status.BISECTED:
        print(f"fell back to bisection, {k} iterations")
    return torch.tensor(x), k, int(status)


class Tag(Enum):
    O = 0  # noqa: E741
    B = 1
    I = 2  # noqa: E741


def allowed(prev: Tag, cur: Tag) -> bool:
    return not (cur is Tag.I and prev is Tag.O)


class CRF(nn.Module):
    def __init__(self, dim=6):
        super().__init__()
        self.emit = nn.Linear(dim, len(Tag))
        trans = torch.randn(len(Tag), len(Tag)) * 0.5
        for p in Tag:
            for c in Tag:
                if not allowed(p, c):
                    trans[p.value, c.value] = float("-inf")
        self.transitions = nn.Parameter(trans)

    def viterbi(self, emissions: torch.Tensor) -> tuple[list[int], float]:
        score, back = emissions[0].clone(), []
        score[Tag.I.value] = -float("inf")
        for emission in emissions[1:]:
            total = score[:, None] + self.transitions + emission[None, :]
            score, pointer = total.max(dim=0)
            back.append(pointer)
        best = int(score.argmax())
        path = [best]
        for pointer in reversed(back):
            best = int(pointer[best])
            path.append(best)
        path.reverse()
        return path, score.max().item()

    @staticmethod
    def spans(path: list[int]) -> list[tuple[int, int]]:
        spans, start = [], None
        for i, t in enumerate(path):
            match Tag(t):
                case Tag.B:
                    if start is not None:
                        spans.append((start, i))
                    start = i
                case Tag.O if start is not None:
                    spans.append((start, i))
                    start = None
                case _:
                    pass
        if start is not None:
            spans.append((start, len(path)))
        return spans

    def forward(self, x, mask):
        results = []
        longest = 0
        for row, m in zip(x, mask):
            n = int(m.sum())
            if n == 0:
                results.append(torch.zeros(row.shape[-1]))
                continue
            path, score = self.viterbi(self.emit(row[:n]))
            spans = self.spans(path)
            longest = max([longest, *(e - s for s, e in spans)])
            pooled = [row[s:e].mean(0) for s, e in spans] or [row[:n].amax(0)]
            results.append(sum(pooled) * score)
        return torch.stack(results), longest


def _rows(*values: list[float]) -> tuple[torch.Tensor, ...]:
    return tuple(torch.tensor(row) for row in values)


def _tagged() -> tuple[tuple[torch.Tensor, torch.Tensor], ...]:
    generator = torch.Generator().manual_seed(14)
    x = torch.randn(2, 6, 6, generator=generator)
    everything = torch.ones(2, 6, dtype=torch.bool)
    short = everything.clone()
    short[0, 2:] = False
    nothing = torch.zeros_like(everything)
    outside = torch.tensor([8.0, 3.0, -3.0, -8.0, -4.0, -1.0]).repeat(2, 6, 1)
    further = ((x.flip(1) * 3, everything), (outside, everything))
    return (x, everything), (x * 4, short), (x, nothing), *further


CASES = (
    Case(
        "root_in_bracket",
        function(root_in_bracket),
        (
            _rows([1.0, 0.0, -2.0, -5.0], [1.0, 3.0]),
            _rows([1.0, 0.0, -1.0, 0.0], [0.3, 4.0]),
            _rows([1.0, 0.0, 0.0, 1.0], [1.0, 3.0]),
            _rows([1.0, 0.0, -4.0, 2.0], [-3.0, 3.0]),
            _rows([1.0, 0.0, 0.0, 0.0], [-1.0, 1.0]),
            _rows([1.0, 0.0, 0.0, -0.5], [-1.0, 1.0]),
            _rows([1e12, 0.0, 0.0, -2e12], [0.0, 2.0]),
        ),
        ("tolerance", "exception", "enum"),
    ),
    Case("viterbi_spans", CRF, _tagged(), ("match", "enum", "optional")),
)
