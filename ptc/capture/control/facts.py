"""What is known about sizes on the path being followed.

Comparisons of integers are kept as `d >= 0` with a polynomial d, so that some imply another when
what they leave of it cannot be negative. Capture asks the same of the same facts again and again:
what follows from a table of facts is worked out once for its content.
"""

# pyright: reportOperatorIssue=false

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import sympy
from sympy.core.relational import Relational
from torch.utils._sympy.functions import FloorDiv
from torch.utils._sympy.value_ranges import ValueRanges

from ptc.capture.control.linear import at_least_zero, linear, smallest
from ptc.capture.fakes import Fakes
from ptc.capture.journal import Journal

_LARGE = 2**62


class Facts:
    """Conditions that hold or do not hold on this path. `table` changes through the journal."""

    def __init__(self, fakes: Fakes, journal: Journal) -> None:
        self.table: dict[Any, bool] = {}
        self._journal = journal
        self._fakes = fakes
        self._known: dict[tuple[Any, ...], _Consequences] = {}

    def of(self, table: Mapping[Any, bool]) -> Facts:
        """The facts of another table, which stays as it is."""
        other = Facts(self._fakes, Journal())
        other.table.update(table)
        other._known = self._known
        return other

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
        return self._consequences().truth(condition)

    def equal(self) -> dict[Any, Any]:
        """Symbols that are known to be equal to something."""
        return dict(self._consequences().equal)

    def value(self, size: Any) -> int | None:
        """A size that is a number on this path."""
        return self._consequences().value(size)

    def same(self, one: Any, other: Any) -> bool:
        """Whether two sizes are known to be equal."""
        return bool(one == other) or self.truth(sympy.Eq(one, other)) is True

    def least(self, symbol: Any) -> Any:
        """The lower bound of a symbol on this path."""
        return self._consequences().range(symbol).lower

    def at_least(self, size: Any) -> int:
        """A number that a size is known not to be below, 0 if nothing is known of it."""
        known = self._consequences()
        form = linear(_expanded(size))
        least = 0 if form is None else smallest(form, known.range)[0]
        return max(least, int(known.nonnegative(size - 1)))

    def _consequences(self) -> _Consequences:
        content = tuple(self.table.items())
        known = self._known.get(content)
        if known is None:
            known = self._known[content] = _Consequences(self._fakes, dict(content))
        return known


class _Consequences:
    """What follows from a table of facts."""

    def __init__(self, fakes: Fakes, table: dict[Any, bool]) -> None:
        self._env: Any = fakes.shape_env
        self._table = table
        self._ranges: dict[Any, Any] = {}
        self._truths: dict[Any, bool | None] = {}
        self._single: dict[Any, list[Any]] = {}  # actual facts about one symbol alone
        self._actual = [
            fact if holds else _negated(fact)
            for fact, holds in table.items()
            if _is_of_integers(fact)
        ]
        for actual in self._actual:
            if len(actual.free_symbols) == 1:
                (symbol,) = actual.free_symbols
                self._single.setdefault(symbol, []).append(actual)
        self.equal = self._equal()
        self._distances = [
            reduced
            for actual in self._actual
            for distance in _distances(actual)
            if (reduced := _expanded(distance.xreplace(self.equal))) != 0
        ]
        self._sums = [form for d in self._distances if (form := linear(d)) is not None]
        self._no_sums = [distance for distance in self._distances if linear(distance) is None]

    def value(self, size: Any) -> int | None:
        """A size that is a number, as its least value is its greatest."""
        reduced = _expanded(size.xreplace(self.equal))
        if reduced.is_Integer:
            return int(reduced)
        form = linear(reduced)
        rests = [_expanded(reduced - distance) for distance in self._distances]
        bounds = [int(rest) for rest in rests if rest.is_Integer]
        bounds.append(0 if form is None else smallest(form, self.range)[0])
        pairs = ((number, reduced - number) for number in bounds)
        return next((n for n, d in pairs if self.nonnegative(d) and self.nonnegative(-d)), None)

    def truth(self, condition: Any) -> bool | None:
        if condition not in self._truths:
            self._truths[condition] = self._truth(plain(condition))
        return self._truths[condition]

    def _truth(self, condition: Any) -> bool | None:
        known = self._table.get(condition)
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
        if not _is_of_integers(condition):
            contrary = self._table.get(_negated(condition))
            return None if contrary is None else not contrary
        reduced = condition.xreplace(self.equal)
        if reduced in (sympy.true, sympy.false):
            return bool(reduced)
        return self._implied(reduced)

    def _joined(self, condition: Any) -> bool | None:
        parts = [self.truth(part) for part in condition.args]
        decisive = isinstance(condition, sympy.Or)
        if decisive in parts:
            return decisive
        return None if None in parts else not decisive

    def _equal(self) -> dict[Any, Any]:
        """Symbols by what they are equal to, which has none of these symbols in it."""
        equal: dict[Any, Any] = {}
        for symbol in self._single:
            limits = self.range(symbol)
            if limits.lower == limits.upper:
                equal[symbol] = limits.lower
        for actual in self._actual:
            if not isinstance(actual, sympy.Eq):
                continue
            left, right = actual.lhs.xreplace(equal), actual.rhs.xreplace(equal)
            if not left.is_Symbol and right.is_Symbol:
                left, right = right, left
            if left.is_Symbol and left not in right.free_symbols:
                equal = {symbol: known.xreplace({left: right}) for symbol, known in equal.items()}
                equal[left] = right
        return equal

    def _implied(self, condition: Any) -> bool | None:
        """By the facts and the ranges of the symbols."""
        if isinstance(condition, (sympy.Eq, sympy.Ne)):
            difference = _expanded(condition.lhs - condition.rhs)
            if self.nonnegative(difference - 1) or self.nonnegative(-difference - 1):
                return isinstance(condition, sympy.Ne)
            if self.nonnegative(difference) and self.nonnegative(-difference):
                return isinstance(condition, sympy.Eq)
            return None
        distance = _distance(condition)
        if distance is None:
            return None
        if self.nonnegative(distance):
            return True
        return False if self.nonnegative(-distance - 1) else None

    def nonnegative(self, expression: Any) -> bool:
        expression = _expanded(expression)
        if self._at_least_zero(expression):
            return True
        if isinstance(expression, FloorDiv) and self.nonnegative(expression.args[1] - 1):
            return self.nonnegative(expression.args[0])
        form = linear(expression)
        if form is not None and at_least_zero(form, self._sums, self.range):
            return True
        rest = self._distances if form is None else self._no_sums
        return any(self._at_least_zero(_expanded(expression - distance)) for distance in rest)

    def _at_least_zero(self, expression: Any) -> bool:
        if expression.is_number:
            return bool(expression >= 0)
        form = linear(expression)
        if form is not None:
            return at_least_zero(form, (), self.range)
        ranges = tuple((s, self.range(s)) for s in sorted(expression.free_symbols, key=str))
        result = self._env._maybe_evaluate_static(sympy.Ge(expression, 0), var_to_range=ranges)
        return result is not None and result == sympy.true

    def range(self, symbol: Any) -> Any:
        """The least and the greatest value of a symbol."""
        found = self._ranges.get(symbol)
        if found is None:
            found = self._ranges[symbol] = self._range(symbol)
        return found

    def _range(self, symbol: Any) -> Any:
        known = self._env.var_to_range.get(symbol, ValueRanges(-_LARGE, _LARGE))
        low, high = known.lower, known.upper
        for actual in self._single.get(symbol, ()):
            if not isinstance(actual, Relational):
                continue
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
            if not constant.is_number:  # `symbol <= min(10, symbol)` bounds nothing by a number
                continue
            if slope == 1:
                low = sympy.Max(low, -constant)
            else:
                high = sympy.Min(high, constant)
        return ValueRanges(low, high) if low <= high else known


@lru_cache(maxsize=1 << 14)
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


@lru_cache(maxsize=1 << 14)
def _is_of_integers(condition: Any) -> bool:
    """Whether a condition compares integers. Nothing else follows from others."""
    return all(symbol.is_integer for symbol in condition.free_symbols)


@lru_cache(maxsize=1 << 14)
def _negated(condition: Any) -> Any:
    return condition.negated if isinstance(condition, Relational) else sympy.Not(condition)


@lru_cache(maxsize=1 << 14)
def _expanded(expression: Any) -> Any:
    return sympy.expand(expression)


@lru_cache(maxsize=1 << 14)
def _distances(condition: Any) -> tuple[Any, ...]:
    """Each d of which the condition says that d >= 0."""
    if isinstance(condition, sympy.Eq):
        difference = sympy.expand(condition.lhs - condition.rhs)
        return (difference, -difference)
    distance = _distance(condition)
    return () if distance is None else (distance,)


@lru_cache(maxsize=1 << 14)
def _distance(condition: Any) -> Any:
    """d such that the condition is d >= 0; None for other comparisons."""
    if not isinstance(condition, Relational):
        return None
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
