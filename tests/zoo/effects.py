"""Models with effects: prints, logging, warnings, exceptions, writes to their inputs."""

from __future__ import annotations

import logging
import warnings

import torch
from torch import Tensor, nn

from tests.zoo.case import Case, function

log = logging.getLogger("zoo.training")


class RejectedInput(Exception):
    """The model does not want this input."""


class QuotaExceeded(RejectedInput):
    def __init__(self, used: int, allowed: int) -> None:
        super().__init__(f"used {used} of {allowed}")
        self.used = used


def print_tensors(x: Tensor, n: Tensor) -> Tensor:
    """Tensors of several types, printed whole and in f-strings."""
    print("input:", x)
    print(n, x > 0, x.sum())
    if x.sum() > 2:
        print(f"large: {x[:2]} and {n.item()}")
    else:
        print("small", x.tolist(), n.tolist())
    return x + n


class ProgressLog(nn.Module):
    """Log records at several levels with lazily formatted arguments."""

    def __init__(self) -> None:
        super().__init__()
        self.head = nn.Linear(3, 1)

    def forward(self, x: Tensor) -> Tensor:
        score = self.head(x).squeeze()
        log.debug("score %s", score)
        if x.mean() > 1:
            log.warning("mean is %.2f, which is high", x.mean().item())
        elif x.mean() < -1:
            log.error("mean is %d", int(x.mean()))
        else:
            log.info("all is well")
        return score


def warn_and_fix(x: Tensor) -> Tensor:
    """Warnings of two categories, each followed by a repair."""
    if x.isnan().any():
        warnings.warn(f"{int(x.isnan().sum())} values are not numbers", stacklevel=2)
        x = torch.nan_to_num(x)
    if x.abs().max() > 100:
        warnings.warn("values are clipped", RuntimeWarning, stacklevel=2)
        x = x.clamp(-100, 100)
    return x


def checked(x: Tensor, k: Tensor) -> Tensor:
    """Assertions with and without a message, and exceptions of several types."""
    assert x.isfinite().all(), "input must be finite"
    count = int(k)
    assert count != 0
    if count < 0:
        raise ValueError(f"k must be positive, got {count}")
    if count > x.shape[0]:
        raise IndexError("k is larger than the input")
    if x.sum() == 0:
        raise RejectedInput
    if x.max() > 50:
        raise QuotaExceeded(int(x.max()), 50)
    return x.topk(2).values * count


class TryExcept(nn.Module):
    """Exceptions raised and handled inside, by class, with `else` and `finally`."""

    def _solve(self, x: Tensor) -> Tensor:
        if x.sum() == 0:
            raise ZeroDivisionError("the sum is zero")
        if x.min() < -5:
            raise ValueError(f"too small: {x.min().item():.1f}")
        if x.max() > 50:
            raise KeyError("large")
        return x / x.sum()

    def forward(self, x: Tensor) -> tuple[Tensor, str]:
        status = "unset"
        try:
            y = self._solve(x)
        except ZeroDivisionError:
            status = "zero"
            y = torch.zeros_like(x)
        except (ValueError, TypeError) as error:
            status = str(error)
            y = x.clamp(min=-5)
        else:
            status = "solved"
            y = y * 2
        finally:
            print("status:", status)
        return y, status


def finally_with_return(x: Tensor) -> Tensor:
    """`finally` around early returns and an exception that passes through."""
    x = x.clone()
    try:
        if x[0] > 0:
            return x
        if x[1] > 0:
            raise RuntimeError("second element is positive")
        x = x - 1
    finally:
        x += 10
        print("left with", x[0].item())
    return x * 2


def mutate_then_raise(x: Tensor, budget: Tensor) -> Tensor:
    """The input is written before an exception, and stays written."""
    x[0] = 7.0
    if x.sum() > budget:
        x.mul_(0.5)
        raise RuntimeError(f"over budget by {float(x.sum() - budget):.2f}")
    x.add_(1)
    return x.sum()


def alias_or_copy(x: Tensor, keep: Tensor) -> tuple[Tensor, Tensor]:
    """The result shares memory with the input on one side only."""
    y = x if keep else x.clone()
    y.add_(1)
    return x.sum(), y


def in_place_rows(x: Tensor, limit: Tensor) -> Tensor:
    """Views of rows written in a loop, some of them."""
    for i, row in enumerate(x):
        if row.sum() > limit:
            row.zero_()
            x[i - 1, 0] += 100
        else:
            row[1:].neg_()
    return x.clone()


class RetryLoop(nn.Module):
    """Tries again with a damped input until the step succeeds or the attempts are used up."""

    def __init__(self) -> None:
        super().__init__()
        self.proj = nn.Linear(3, 3)

    def _attempt(self, x: Tensor) -> Tensor:
        y = self.proj(x)
        if y.abs().max() > 1.5:
            raise OverflowError(f"magnitude {int(y.abs().max())}")
        return y

    def forward(self, x: Tensor) -> Tensor:
        for attempt in range(4):
            try:
                return self._attempt(x)
            except OverflowError as error:
                print(f"attempt {attempt} failed: {error}")
                if attempt == 3:
                    raise RuntimeError("gave up") from error
                x = x / 4


def caught_lookups(table: Tensor, key: Tensor, by: Tensor) -> tuple[Tensor, str]:
    """Errors that Python itself raises: index, key and division, caught by their base class."""
    rows = [table[0], table[1] * 2, table[2] * 3]
    names = {0: "zero", 2: "two", 4: "four"}
    i, divisor = int(key), int(by)
    try:
        row = rows[i]
    except IndexError:
        row = table.sum(0)
    try:
        name = names[i]
        row = row + 100 // divisor
    except LookupError:
        name = "unknown"
    except ArithmeticError as error:
        name = str(error)
    return row, name


_ROWS = torch.tensor([[1.0, -2.0, 0.5], [-1.0, 3.0, -4.0], [2.0, 2.0, 2.0]])

CASES = (
    Case(
        "print_tensors",
        function(print_tensors),
        (
            (torch.tensor([1.0, 2.5, -0.25]), torch.tensor([1, -2, 30])),
            (torch.tensor([1.0, 2.0, -9.0]), torch.tensor([4, 5, 6])),
            (torch.tensor([1e-5, 2000000.0, float("inf")]), torch.tensor([100000, 5, -6])),
        ),
        ("print", "f-string", "tensor text"),
    ),
    Case(
        "progress_log",
        ProgressLog,
        ((torch.ones(3),), (torch.full((3,), 2.5),), (torch.full((3,), -3.5),)),
        ("logging",),
    ),
    Case(
        "warn_and_fix",
        function(warn_and_fix),
        (
            (torch.tensor([1.0, 2.0]),),
            (torch.tensor([float("nan"), 2.0]),),
            (torch.tensor([float("nan"), -2e5]),),
            (torch.tensor([1.0, 2e5]),),
        ),
        ("warnings",),
    ),
    Case(
        "checked_input",
        function(checked),
        (
            (torch.tensor([1.0, 2.0, 3.0]), torch.tensor(2)),
            (torch.tensor([1.0, float("inf"), 3.0]), torch.tensor(2)),
            (torch.tensor([1.0, 2.0, 3.0]), torch.tensor(0)),
            (torch.tensor([1.0, 2.0, 3.0]), torch.tensor(-4)),
            (torch.tensor([1.0, 2.0, 3.0]), torch.tensor(9)),
            (torch.tensor([1.0, 2.0, -3.0]), torch.tensor(1)),
            (torch.tensor([1.0, 70.0, 3.0]), torch.tensor(1)),
        ),
        ("assert", "raise", "custom exception"),
    ),
    Case(
        "try_except",
        TryExcept,
        tuple((torch.tensor(v),) for v in ([1.0, 2.0], [1.0, -1.0], [-8.0, 2.0], [99.0, 2.0])),
        ("try", "else", "finally", "raise"),
    ),
    Case(
        "finally_with_return",
        function(finally_with_return),
        tuple((torch.tensor(v),) for v in ([1.0, 2.0], [-1.0, 1.0], [-8.0, -2.0])),
        ("finally", "early return", "raise"),
    ),
    Case(
        "mutate_then_raise",
        function(mutate_then_raise),
        (
            (torch.ones(3), torch.tensor(20.0)),
            (torch.ones(3), torch.tensor(2.0)),
        ),
        ("mutation", "raise"),
    ),
    Case(
        "alias_or_copy",
        function(alias_or_copy),
        ((torch.ones(3), torch.tensor(True)), (torch.ones(3), torch.tensor(False))),
        ("alias", "mutation"),
    ),
    Case(
        "in_place_rows",
        function(in_place_rows),
        ((_ROWS, torch.tensor(1.0)), (_ROWS, torch.tensor(100.0)), (_ROWS, torch.tensor(-100.0))),
        ("mutation", "views", "for"),
    ),
    Case(
        "retry_loop",
        RetryLoop,
        ((torch.ones(3),), (torch.full((3,), 12.0),), (torch.full((3,), 5000.0),)),
        ("try", "for", "raise"),
    ),
    Case(
        "caught_lookups",
        function(caught_lookups),
        tuple(
            (_ROWS, torch.tensor(k), torch.tensor(b))
            for k, b in ((0, 7), (2, 0), (1, 5), (4, -3), (9, 1), (-1, 1))
        ),
        ("try", "index", "division"),
    ),
)
