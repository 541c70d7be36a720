"""Integer sums of sizes, `2 * n - m + 3`, in plain Python: most of what capture compares is one,
and general algebra takes a thousand times as long.

Takes expressions of sympy that are expanded, knows no facts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any


@dataclass(frozen=True, slots=True)
class Linear:
    """`constant` + the sum of each symbol times its factor, none of which is 0."""

    factors: dict[Any, int]
    constant: int

    def minus(self, other: Linear) -> Linear:
        factors = dict(self.factors)
        for symbol, factor in other.factors.items():
            rest = factors.pop(symbol, 0) - factor
            if rest:
                factors[symbol] = rest
        return Linear(factors, self.constant - other.constant)


@lru_cache(maxsize=1 << 14)
def linear(expression: Any) -> Linear | None:
    """The sum that an expanded expression is; None if it is something else."""
    factors: dict[Any, int] = {}
    constant = 0
    for term in expression.args if expression.is_Add else (expression,):
        factor, rest = term.as_coeff_Mul()
        if not factor.is_Integer:
            return None
        if rest.is_Symbol:
            factors[rest] = factors.get(rest, 0) + int(factor)
        elif rest == 1:
            constant += int(factor)
        else:
            return None
    return Linear({symbol: factor for symbol, factor in factors.items() if factor}, constant)


def at_least_zero(
    form: Linear, known: Sequence[Linear], range_of: Callable[[Any], Any], most: int = 4
) -> bool:
    """Whether a sum is at least 0, by the ranges of its symbols and at most so many sums that are
    known to be: what one of them leaves is looked at further where it leaves less of the symbol
    that makes the sum smallest."""
    bound, lowest = smallest(form, range_of)
    if bound >= 0:
        return True
    for its in known if most else ():
        helps = {symbol for symbol in its.factors if _has_part(form, its, symbol)}
        if not helps:
            continue
        if at_least_zero(form.minus(its), known, range_of, most - 1 if lowest in helps else 0):
            return True
    return False


def _has_part(form: Linear, part: Linear, symbol: Any) -> bool:
    """Whether a sum has at least as much of a symbol as another, with the same sign."""
    mine, its = form.factors.get(symbol, 0), part.factors[symbol]
    return mine >= its > 0 or mine <= its < 0


def smallest(form: Linear, range_of: Callable[[Any], Any]) -> tuple[int, Any]:
    """The least value with each symbol in its range, and the symbol that has the lowest part in
    it."""
    bound, lowest, least = form.constant, None, 0
    for symbol, factor in form.factors.items():
        limits = range_of(symbol)
        end = limits.lower if factor > 0 else limits.upper
        part = factor * int(end) if end.is_Integer else -_NO_END
        bound += part
        if part < least:
            lowest, least = symbol, part
    return bound, lowest


_NO_END = 2**200
