"""Exceptions that data decides: raised, caught, raised again, with attributes and texts.

PYTEST_DONT_REWRITE: the programs' own assertions are to be captured as they are.
"""

from __future__ import annotations

from typing import Any

import pytest
import torch

from tests.capture.control.checking import check

ROWS = [torch.tensor(r) for r in ([1.0, 2.0], [3.0, 0.5], [0.0, 1.0], [-2.0, -1.0], [2.0, 1.0])]
Row = torch.Tensor


class Budget(Exception):
    def __init__(self, used: int, allowed: int = 3) -> None:
        super().__init__(f"used {used} of {allowed}")
        self.used = used


class Plain(ValueError):
    pass


class Pair(Exception):
    def __init__(self, a: Any, b: Any) -> None:
        self.a, self.b = a, b

    def __str__(self) -> str:
        return f"<{self.a}:{self.b}>"


def raised(x: Row) -> Any:
    n = int(x[0])
    if n > 2:
        raise Budget(n)
    if n < 0:
        raise NotImplementedError
    assert n < 2, f"too big: {n}"
    assert x[1] > 1
    return x


def handled(x: Row) -> Any:
    n = int(x[0])
    try:
        if n > 2:
            raise Budget(n)
        if n < 0:
            raise Plain("negative", n)
        return x
    except Budget as error:
        print("caught", error, error.used, str(error), error.args)
        return x * error.used
    except (Plain, KeyError) as error:
        print(f"{error} {error!r}")
        raise RuntimeError(f"wrapped {n}") from error


def raised_again(x: Row) -> Any:
    n = int(x[0])
    try:
        if n > 2:
            raise KeyError(n)
        elif n > 1:
            raise ValueError("two")
        elif n > 0:
            raise Pair(n, x[1].item())
    except Exception as error:
        print(type(error).__name__, error)
        if isinstance(error, KeyError):
            raise
        return x * 2
    else:
        return x
    finally:
        print("done")


def one_of_two(x: Row) -> Any:
    n = int(x[0])
    error = ValueError(f"a{n}") if n > 2 else KeyError("b")
    kind = ValueError if n > 0 else KeyError
    if x[1] > 1:
        raise error
    if x[1] > 0:
        raise kind("message")
    return x


def of_python(x: Row) -> Any:
    n = int(x[0])
    try:
        y = [1, 2, 3][n]
    except IndexError as error:
        print(error)
        y = -1
    try:
        z = 10 // n
    except ZeroDivisionError as error:
        print(error)
        z = -2
    return y, z


def refuses(n: int) -> int:
    if n > 2:
        raise ValueError(f"h{n}")
    return n * 2


def of_a_call(x: Row) -> Any:
    n = int(x[0])
    try:
        a = refuses(n)
    except ValueError as error:
        a = 0
        print(str(error))
    return a, x * a


def retried(x: Row) -> Any:
    for i in range(3):
        try:
            v = refuses(int(x[0]) - i)
            break
        except ValueError:
            continue
    else:
        raise Plain("never")
    return v


def through_finally(x: Row) -> Any:
    n = int(x[0])
    try:
        try:
            refuses(n)
        finally:
            print("inner")
    except ValueError as error:
        raise error
    try:
        raise Budget(n)
    except Budget as error:
        if error.used > 1:
            raise
    return n


def two_messages(x: Row) -> Any:
    name = "a" if x[0] > 0 else "b"
    if x[1] > 1:
        raise ValueError(name)
    if x[1] > 0:
        raise KeyError(f"{name}{int(x[0])}", name)
    raise Plain("p") if x.sum() > -1 else Budget(1)


@pytest.mark.parametrize(
    "function",
    [
        two_messages, raised, handled, raised_again, one_of_two, of_python, of_a_call, retried,
        through_finally,
    ],
)  # fmt: skip
def test_exceptions(function: Any) -> None:
    check(function, *ROWS)


def test_an_exception_that_one_handler_misses_leaves_with_its_number() -> None:
    def magnitude(x: Row) -> Row:
        y = x * 2
        if y.abs().max() > 1.5:
            raise OverflowError(f"magnitude {int(y.abs().max())}")
        return y

    def attempts(x: Row) -> Row | None:
        for attempt in range(3):
            try:
                return magnitude(x)
            except OverflowError as error:
                print(f"attempt {attempt} failed: {error}")
                if attempt == 2:
                    raise RuntimeError("gave up") from error
                x = x / 4
        return None

    sizes = (0.1, 3.0, 11.0, 90.0, float("nan"), float("inf"))
    check(attempts, *(torch.tensor([size, 0.25]) for size in sizes))


def test_one_of_several_ends_of_a_loop_raises() -> None:
    def settled(x: Row) -> Any:
        shift = 0.0
        for _ in range(2):
            try:
                if x.sum() < shift:
                    raise RuntimeError("below")
                found = x + shift
                break
            except RuntimeError:
                shift = -0.5
        else:
            raise ValueError("not settled")
        return found * x, shift

    check(settled, torch.ones(2), torch.full((2,), -0.125), -torch.ones(2))
