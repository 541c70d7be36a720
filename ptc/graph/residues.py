"""Conditions on sizes proved by residues.

A size s is p*b + r for one remainder r of each period p: in terms of the b, floor divisions and
remainders by numbers leave polynomials with integer coefficients, about which a relation can be
decided. A division that needs a longer period splits the case. Takes a condition of sympy's
(relations, and what joins them) and the intervals of its sizes; says that it holds, or nothing.
Knows no programs and no names.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import sympy
from sympy.core.relational import Relational

#: So many cases are looked at: remainders of windows of 32 by 32, and what was split for them.
_MOST_CASES = 1200
#: Polynomials beyond these are not worth their time.
_MOST_TERMS = 256
_MOST_DEGREE = 8
#: Ends of so many variables are tried together.
_MOST_CORNERS = 6

_DIVISIONS = ("FloorDiv", "CleanDiv")
_REMAINDERS = ("PythonMod", "Mod")

#: Exponents of the variables -> coefficient; no coefficient is 0.
_Polynomial = dict[tuple[int, ...], int]


def holds_by_residues(condition: Any, intervals: Mapping[str, tuple[int, int]]) -> bool:
    """True if the condition is proved for all integers in the intervals, by the symbols' names.

    False says nothing. A symbol without an interval leaves all open.
    """
    symbols = sorted(condition.free_symbols, key=str)
    if not all(str(symbol) in intervals for symbol in symbols):
        return False
    ranges = [intervals[str(symbol)] for symbol in symbols]
    sizes = {symbol: (lower, 1) for symbol, (lower, _) in zip(symbols, ranges, strict=True)}
    cases = [_Case(sizes, tuple(upper - lower for lower, upper in ranges))]
    for _ in range(_MOST_CASES):
        if not cases:
            return True
        case = cases.pop()
        try:
            if not case.proves(condition):
                return False
        except _Split as split:
            cases.extend(case.split(split.position, split.factor))
    return not cases


class _Unknown(Exception):
    """What is asked cannot be said as a polynomial."""


class _Split(Exception):
    """What is asked needs the period of the variable at `position` to be `factor` times as long."""

    def __init__(self, position: int, factor: int) -> None:
        self.position, self.factor = position, factor


# -- one combination of remainders ----------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Case:
    """The sizes `start + period * b`, each with a variable b of its own in [0, most]."""

    sizes: Mapping[Any, tuple[int, int]]  # symbol -> start, period
    most: tuple[int, ...]

    def split(self, position: int, factor: int) -> Iterator[_Case]:
        """The cases that together are this one: a variable b as factor*b + r for each r."""
        symbol = list(self.sizes)[position]
        start, period = self.sizes[symbol]
        for rest in range(min(factor, self.most[position] + 1)):
            sizes = {**self.sizes, symbol: (start + period * rest, period * factor)}
            most = list(self.most)
            most[position] = (most[position] - rest) // factor
            yield _Case(sizes, tuple(most))

    def proves(self, condition: Any) -> bool:
        """True if the condition is proved for these sizes. Raises _Split."""
        if isinstance(condition, sympy.Or):
            return self._proves_one(condition.args)
        if isinstance(condition, sympy.And):
            return all(self.proves(part) for part in condition.args)
        if not isinstance(condition, Relational):
            return condition is sympy.true
        sides: tuple[Any, Any] = (condition.lhs, condition.rhs)
        try:
            left, right = (self.polynomial(side) for side in sides)
            difference = _sum(left, _scaled(right, -1))
            return _decides(type(condition), difference, *self.bounds(difference))
        except _Unknown:
            return False

    def _proves_one(self, conditions: Iterable[Any]) -> bool:
        wanted: _Split | None = None
        for condition in conditions:
            try:
                if self.proves(condition):
                    return True
            except _Split as split:
                wanted = split
        if wanted is not None:
            raise wanted
        return False

    def polynomial(self, expression: Any) -> _Polynomial:
        """The expression in the variables. Raises _Unknown and _Split."""
        if expression.is_Integer:
            return self._number(int(expression))
        if expression.is_Symbol:
            start, period = self.sizes[expression]
            position = list(self.sizes).index(expression)
            variable = tuple(int(n == position) for n in range(len(self.most)))
            return _sum(self._number(start), {variable: period})
        name = type(expression).__name__
        if name == "Pow" or name == "PowByNatural":
            return self._power(*expression.args)
        parts = [self.polynomial(part) for part in expression.args]
        if name == "Add":
            result = self._number(0)
            for part in parts:
                result = _sum(result, part)
            return result
        if name == "Mul":
            result = self._number(1)
            for part in parts:
                result = _product(result, part)
            return result
        if name in (*_DIVISIONS, *_REMAINDERS):
            return self._divided(*parts)[name in _REMAINDERS]
        if name in ("Max", "Min"):
            return self._extreme(parts, greatest=name == "Max")
        raise _Unknown

    def _number(self, value: int) -> _Polynomial:
        return {(0,) * len(self.most): value} if value else {}

    def _power(self, base: Any, exponent: Any) -> _Polynomial:
        if not exponent.is_Integer or not 0 <= exponent <= _MOST_DEGREE:
            raise _Unknown
        result, factor = self._number(1), self.polynomial(base)
        for _ in range(int(exponent)):
            result = _product(result, factor)
        return result

    def _divided(self, whole: _Polynomial, part: _Polynomial) -> tuple[_Polynomial, _Polynomial]:
        """Floor quotient and remainder: `whole` is q*part + rest with 0 <= rest < part throughout
        the ranges, or _Unknown; _Split if that may be so with longer periods."""
        quotient, rest = _split(whole, part)
        above = _sum(part, _scaled(_sum(rest, self._number(1)), -1))
        if self.bounds(rest)[0] < 0 or self.bounds(above)[0] < 0:
            raise _split_for(rest, part)
        return quotient, rest

    def _extreme(self, parts: list[_Polynomial], *, greatest: bool) -> _Polynomial:
        """The part that is the greatest, or the least, throughout the ranges."""
        sign = 1 if greatest else -1
        for one in parts:
            ahead = [_scaled(_sum(one, _scaled(other, -1)), sign) for other in parts]
            if all(self.bounds(distance)[0] >= 0 for distance in ahead):
                return one
        raise _Unknown

    def bounds(self, polynomial: _Polynomial) -> tuple[int, int]:
        """Numbers that the polynomial is not below and not above in the ranges.

        A function that is linear in a variable has its extremes at the variable's ends; of the
        others, every power is taken for itself.
        """
        linear = [
            position
            for position in range(len(self.most))
            if max((exponents[position] for exponents in polynomial), default=0) == 1
        ][:_MOST_CORNERS]
        found: list[tuple[int, int]] = []
        for ends in itertools.product(*((0, self.most[position]) for position in linear)):
            fixed = dict(zip(linear, ends, strict=True))
            found.append(self._sums(polynomial, fixed))
        return min(low for low, _ in found), max(high for _, high in found)

    def _sums(self, polynomial: _Polynomial, fixed: Mapping[int, int]) -> tuple[int, int]:
        """Bounds with some of the variables fixed. What has the same powers of the others goes
        together."""
        sums: dict[tuple[int, ...], int] = {}
        for exponents, coefficient in polynomial.items():
            free = tuple(0 if n in fixed else power for n, power in enumerate(exponents))
            known = math.prod(end ** exponents[n] for n, end in fixed.items())
            sums[free] = sums.get(free, 0) + coefficient * known
        low = high = 0
        for free, coefficient in sums.items():
            end = coefficient * math.prod(n**p for n, p in zip(self.most, free, strict=True))
            start = end if not any(free) else 0
            low, high = low + min(start, end), high + max(start, end)
        return low, high


def _decides(relation: Any, difference: _Polynomial, low: int, high: int) -> bool:
    """Whether the relation to 0 is proved of a polynomial that lies in [low, high]."""
    if issubclass(relation, sympy.Eq):
        return low == high == 0
    if issubclass(relation, sympy.Ne):
        return low > 0 or high < 0 or _is_never_divisible(difference)
    if issubclass(relation, sympy.Ge):
        return low >= 0
    if issubclass(relation, sympy.Gt):
        return low > 0
    if issubclass(relation, sympy.Le):
        return high <= 0
    return issubclass(relation, sympy.Lt) and high < 0


def _split_for(rest: _Polynomial, part: _Polynomial) -> _Unknown | _Split:
    """What makes a number divide the first term that varies."""
    for exponents, coefficient in rest.items():
        for position, power in enumerate(exponents):
            if power and len(part) == 1 and not any(*part):
                (divisor,) = part.values()
                return _Split(position, divisor // math.gcd(divisor, coefficient))
    return _Unknown()


def _is_never_divisible(polynomial: _Polynomial) -> bool:
    """Whether all that varies is a multiple of a number that the constant is none of."""
    varying = math.gcd(*(c for exponents, c in polynomial.items() if any(exponents)))
    constant = sum(c for exponents, c in polynomial.items() if not any(exponents))
    return varying > 0 and constant % varying != 0


# -- polynomials ----------------------------------------------------------------------------------


def _sum(one: _Polynomial, other: _Polynomial) -> _Polynomial:
    result = dict(one)
    for exponents, coefficient in other.items():
        total = result.pop(exponents, 0) + coefficient
        if total:
            result[exponents] = total
    return result


def _scaled(polynomial: _Polynomial, factor: int) -> _Polynomial:
    return {exponents: factor * coefficient for exponents, coefficient in polynomial.items()}


def _product(one: _Polynomial, other: _Polynomial) -> _Polynomial:
    if len(one) * len(other) > _MOST_TERMS:
        raise _Unknown
    result: _Polynomial = {}
    for (left, a), (right, b) in itertools.product(one.items(), other.items()):
        exponents = tuple(p + q for p, q in zip(left, right, strict=True))
        result = _sum(result, {exponents: a * b})
    return result


def _split(whole: _Polynomial, part: _Polynomial) -> tuple[_Polynomial, _Polynomial]:
    """(q, rest) with whole == q*part + rest; the first term of `part` goes into none of `rest`."""
    if not part:
        raise _Unknown
    first = max(part)
    quotient: _Polynomial = {}
    rest: _Polynomial = {}
    left = whole
    while left:
        exponents = max(left)
        powers = tuple(p - q for p, q in zip(exponents, first, strict=True))
        factor, remaining = divmod(left[exponents], part[first])
        if min(powers, default=0) < 0:
            factor, remaining = 0, left[exponents]
        if factor:
            quotient = _sum(quotient, {powers: factor})
            left = _sum(left, _product({powers: -factor}, part))
        if remaining:
            rest = _sum(rest, {exponents: remaining})
            left = _sum(left, {exponents: -remaining})
    return quotient, rest
