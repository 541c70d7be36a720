"""What functions of `math` do with numbers that data decides, in Python: made of those that are
operations of the program. Only ever traced.
"""

from __future__ import annotations

import math
import operator
from typing import Any


def factorial(n: Any) -> Any:
    n = operator.index(n)
    if n < 0:
        raise ValueError("factorial() not defined for negative values")
    result = 1
    for i in range(2, n + 1):
        result *= i
    return result


def _require_not_negative(n: Any, name: str) -> None:
    if n < 0:
        raise ValueError(f"{name} must be a non-negative integer")


def comb(n: Any, k: Any) -> Any:
    n, k = operator.index(n), operator.index(k)
    _require_not_negative(n, "n")
    _require_not_negative(k, "k")
    if k > n:
        return 0
    k = min(k, n - k)
    result = 1
    for i in range(k):
        result = result * (n - i) // (i + 1)
    return result


def perm(n: Any, k: Any = None) -> Any:
    if k is None:
        return factorial(n)
    n, k = operator.index(n), operator.index(k)
    _require_not_negative(n, "n")
    _require_not_negative(k, "k")
    if k > n:
        return 0
    result = 1
    for i in range(k):
        result *= n - i
    return result


def lcm(*numbers: Any) -> Any:
    result = 1
    for number in numbers:
        number = operator.index(number)
        common = math.gcd(result, number)
        result = abs(result // common * number) if common else 0
    return result


def modf(x: Any) -> Any:
    x = float(x)
    if math.isinf(x):
        return math.copysign(0.0, x), x
    part = math.fmod(x, 1.0)
    return math.copysign(part, x), math.copysign(x - part, x)


def dist(p: Any, q: Any) -> Any:
    p, q = tuple(p), tuple(q)
    if len(p) != len(q):
        raise ValueError("both points must have the same number of dimensions")
    return math.hypot(*[a - b for a, b in zip(p, q, strict=True)])
