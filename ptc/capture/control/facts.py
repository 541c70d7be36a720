"""What is known about sizes on the path being followed.

Comparisons of integers are kept as `d >= 0` with a polynomial d, so that one implies another when
their difference is a constant.
"""

# pyright: reportOperatorIssue=false

from __future__ import annotations

from typing import Any

import sympy
from sympy.core.relational import Relational
from torch.utils._sympy.functions import FloorDiv
from torch.utils._sympy.value_ranges import ValueRanges

from ptc.capture.fakes import Fakes
from ptc.capture.journal import Journal

_LARGE = 2**62


class Facts:
    """Conditions that hold or do not hold on this path. `table` changes through the journal."""

    def __init__(
        self, fakes: Fakes, journal: Journal, table: dict[Any, bool] | None = None
    ) -> None:
        self.table: dict[Any, bool] = {} if table is None else table
        self._fakes = fakes
        self._journal = journal

    def assume(self, condition: Any, holds: bool) -> None:
        if isinstance(condition, sympy.Not):
            self.assume(condition.args[0], not holds)
        elif isinstance(condition, sympy.And) and holds:
            for part in condition.args:
                self.assume(part, True)
        elif isinstance(condition, sympy.Or) and not holds:
            for part in condition.args:
                self.assume(part, False)
        else:
            self._journal.put(self.table, plain(condition), holds)

    def truth(self, condition: Any) -> bool | None:
        """The condition's truth, if what was assumed decides it."""
        condition = plain(condition)
        known = self.table.get(condition)
        if known is not None:
            return known
        if condition in (sympy.true, sympy.false):
            return bool(condition)
        if isinstance(condition, sympy.Not):
            inner = self.truth(condition.args[0])
            return None if inner is None else not inner
        if isinstance(condition, (sympy.And, sympy.Or)):
            return self._joined(condition)
        if not isinstance(condition, Relational):
            return None
        reduced = condition.xreplace(self.equal())
        if reduced in (sympy.true, sympy.false):
            return bool(reduced)
        return self._implied(reduced)

    def _joined(self, condition: Any) -> bool | None:
        parts = [self.truth(part) for part in condition.args]
        decisive = isinstance(condition, sympy.Or)
        if decisive in parts:
            return decisive
        return None if None in parts else not decisive

    def equal(self) -> dict[Any, Any]:
        """Symbols that are known to be equal to something."""
        equal: dict[Any, Any] = {}
        for fact, holds in self.table.items():
            actual = fact if holds else _negated(fact)
            if isinstance(actual, sympy.Eq):
                left, right = actual.lhs, actual.rhs
                if not left.is_Symbol and right.is_Symbol:
                    left, right = right, left
                if left.is_Symbol and left not in right.free_symbols:
                    equal[left] = right.xreplace(equal)
        single = (fact.free_symbols for fact in self.table if len(fact.free_symbols) == 1)
        for symbol in {symbol for (symbol,) in single} - equal.keys():
            limits = self._range(symbol)
            if limits.lower == limits.upper:
                equal[symbol] = limits.lower
        return equal

    def value(self, size: Any) -> int | None:
        """A size that is a number on this path."""
        reduced = size.xreplace(self.equal())
        return int(reduced) if reduced.is_Integer else None

    def same(self, one: Any, other: Any) -> bool:
        """Whether two sizes are known to be equal."""
        return bool(one == other) or self.truth(sympy.Eq(one, other)) is True

    def least(self, symbol: Any) -> Any:
        """The lower bound of a symbol on this path."""
        return self._range(symbol).lower

    def positive(self, size: Any) -> bool:
        """Whether a size is known to be at least 1."""
        return self._nonnegative(size - 1)

    def _implied(self, condition: Any) -> bool | None:
        """By the facts and the ranges of the symbols."""
        if isinstance(condition, (sympy.Eq, sympy.Ne)):
            difference = sympy.expand(condition.lhs - condition.rhs)
            if self._nonnegative(difference - 1) or self._nonnegative(-difference - 1):
                return isinstance(condition, sympy.Ne)
            if self._nonnegative(difference) and self._nonnegative(-difference):
                return isinstance(condition, sympy.Eq)
            return None
        distance = _distance(condition)
        if distance is None:
            return None
        if self._nonnegative(distance):
            return True
        return False if self._nonnegative(-distance - 1) else None

    def _nonnegative(self, expression: Any) -> bool:
        expression = sympy.expand(expression)
        if self._at_least(expression, 0):
            return True
        if isinstance(expression, FloorDiv) and self._nonnegative(expression.args[1] - 1):
            return self._nonnegative(expression.args[0])
        equal = self.equal()
        for fact, holds in self.table.items():
            actual = fact if holds else _negated(fact)
            distance = _distance(actual) if isinstance(actual, Relational) else None
            if distance is None:
                continue
            rest = sympy.expand(expression - distance.xreplace(equal))
            if self._at_least(rest, 0):
                return True
        return False

    def _at_least(self, expression: Any, bound: int) -> bool:
        if expression.is_number:
            return bool(expression >= bound)
        ranges = tuple((s, self._range(s)) for s in sorted(expression.free_symbols, key=str))
        env: Any = self._fakes.shape_env
        result = env._maybe_evaluate_static(sympy.Ge(expression, bound), var_to_range=ranges)
        return result is not None and result == sympy.true

    def _range(self, symbol: Any) -> Any:
        env: Any = self._fakes.shape_env
        known = env.var_to_range.get(symbol, ValueRanges(-_LARGE, _LARGE))
        low, high = known.lower, known.upper
        for fact, holds in self.table.items():
            if fact.free_symbols != {symbol} or not isinstance(fact, Relational):
                continue
            actual = fact if holds else _negated(fact)
            if isinstance(actual, sympy.Ne):
                for side in (actual.lhs, actual.rhs):
                    low = low + 1 if side == low else low
                    high = high - 1 if side == high else high
                continue
            distance = _distance(actual)
            slope = distance.coeff(symbol) if distance is not None else 0
            if distance is None or slope not in (1, -1):
                continue
            constant = distance - slope * symbol
            if slope == 1:
                low = sympy.Max(low, -constant)
            else:
                high = sympy.Min(high, constant)
        return ValueRanges(low, high) if low <= high else known


def plain(condition: Any) -> Any:
    """An equation of one size without a factor: `64 * n == 0` is `n == 0`."""
    if not isinstance(condition, (sympy.Eq, sympy.Ne)) or len(condition.free_symbols) != 1:
        return condition
    (symbol,) = condition.free_symbols
    if condition.lhs is symbol and condition.rhs.is_Integer:
        return condition
    difference = sympy.expand(condition.lhs - condition.rhs)
    slope = difference.coeff(symbol)
    rest = sympy.expand(difference - slope * symbol)
    if not slope.is_Integer or slope == 0 or not rest.is_Integer:
        return condition
    if rest % slope:
        return sympy.false if isinstance(condition, sympy.Eq) else sympy.true
    return type(condition)(symbol, -rest // slope)


def _negated(condition: Any) -> Any:
    return condition.negated if isinstance(condition, Relational) else sympy.Not(condition)


def _distance(condition: Any) -> Any:
    """d such that the condition is d >= 0; None for other comparisons."""
    left, right = condition.lhs, condition.rhs
    if isinstance(condition, sympy.Ge):
        return sympy.expand(left - right)
    if isinstance(condition, sympy.Gt):
        return sympy.expand(left - right - 1)
    if isinstance(condition, sympy.Le):
        return sympy.expand(right - left)
    if isinstance(condition, sympy.Lt):
        return sympy.expand(right - left - 1)
    return None
