"""Attributes that only one arm sets; ranges backwards."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from tests.capture.control.checking import check
from tests.zoo.case import Case
from tests.zoo.harness import compare, eager, interpreted

Row = torch.Tensor
ROWS = [torch.tensor(row) for row in ([1.5, 2.0, 3.0], [-1.0, -2.0, -3.0], [7.0, 0.0, 1.0])]


class Ring(nn.Module):
    """`full` is set in one arm, and read before it in none."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("next", torch.zeros((), dtype=torch.long))
        self.full, self.size = False, 4

    def forward(self, x: Row) -> Any:
        for _ in range(2):
            i = int(self.next) + 1
            if i == self.size:
                self.full = True
                i = 0
            self.next.fill_(i)
        return x * 2 if self.full else x + int(self.next)


class Tally:
    best = 0
    name = "none"


def class_defaults(x: Row) -> Any:
    tally = Tally()
    if x.sum() > 0:
        tally.best = int(x[0])
        tally.name = "some"
    return tally.best, tally.name


def ranges_backwards(x: Row) -> Any:
    n = int(x[0])
    found = [list(reversed(range(1, n, 2))), list(reversed(range(n, -3, -2)))]
    kept, total = x[x > 0], torch.zeros(())
    for i in reversed(range(len(kept))):
        total = total * 0.5 + kept[i]
    return found, total


def test_an_attribute_of_an_object_from_outside() -> None:
    case = Case("ring", Ring, tuple((row,) for row in ROWS * 3))
    compare(eager(case), interpreted(case))


def test_an_attribute_that_the_class_has() -> None:
    check(class_defaults, *ROWS)


def test_ranges_from_the_end() -> None:
    check(ranges_backwards, *ROWS)
