"""Ranges of index expressions: what can be proved, and simplification that uses it.

Owns interval arithmetic over `Index` (integer intervals first, symbolic ones in the size symbols
when those do not decide) and `simplify`. Every variable is >= 0; `bounds` maps a variable to its
exclusive upper bound, an int or an Index of size symbols and other variables. Variables without a
bound are size symbols; `sizes` may give their inclusive (lower, upper) range, by default they are
>= 0, and >= 1 where they bound a variable (code in an empty loop never runs).
"""

from __future__ import annotations

from collections.abc import Mapping
from math import gcd

from ptc.loops.index import (
    FLOORDIV,
    MAX,
    MIN,
    MOD,
    Atom,
    Index,
    Term,
    apply_func,
    divide,
    floordiv,
    maximum,
    minimum,
    remainder,
    split_by,
)

Bounds = Mapping[str, "Index | int"]
Sizes = Mapping[str, "tuple[int, int | None]"]
Interval = tuple["int | None", "int | None"]

_NO_SIZES: Sizes = {}


class Ranges:
    """Bounds of a scope with what was already derived from them. Build one a kernel."""

    __slots__ = ("_intervals", "_simplified", "_symbolic", "bounds", "positive", "sizes")

    def __init__(self, bounds: Bounds, sizes: Sizes = _NO_SIZES) -> None:
        self.bounds: dict[str, Index] = {n: Index.of(b) for n, b in bounds.items()}
        self.sizes = sizes
        self.positive: set[str] = set()
        for bound in self.bounds.values():
            self._learn(bound)
        self._intervals: dict[Index, Interval] = {}
        self._symbolic: dict[Index, tuple[Index | None, Index | None]] = {}
        self._simplified: dict[Index, Index] = {}

    def declare(self, name: str, bound: Index) -> None:
        """Add variable `name` in [0, bound). A name is declared once."""
        self.bounds[name] = bound
        self._learn(bound)

    def _learn(self, bound: Index) -> None:
        """A loop that runs has a positive extent, and so has every factor of it."""
        if bound.offset == 0 and len(bound.terms) == 1:
            self.positive.update(atom for atom in bound.terms[0][0] if isinstance(atom, str))

    # -- intervals of integers

    def interval(self, x: Index) -> Interval:
        """Inclusive integer bounds of `x`; None where unbounded or unknown."""
        if not x.terms:
            return x.offset, x.offset
        known = self._intervals.get(x)
        if known is None:
            known = self._intervals[x] = self._interval(x)
        return known

    def _interval(self, x: Index) -> Interval:
        low: int | None = x.offset
        high: int | None = x.offset
        for monomial, factor in x.terms:
            a: int | None = 1
            b: int | None = 1
            for atom in monomial:
                a, b = _times((a, b), self._atom_interval(atom))
            if factor < 0:
                a, b = b, a
            low = None if low is None or a is None else low + a * factor
            high = None if high is None or b is None else high + b * factor
        return low, high

    def _atom_interval(self, atom: Atom) -> Interval:
        if isinstance(atom, str):
            bound = self.bounds.get(atom)
            if bound is None:
                low, high = self.sizes.get(atom, (0, None))
                return (max(low, 1) if atom in self.positive else low), high
            upper = self.interval(bound)[1]
            return 0, None if upper is None else max(upper - 1, 0)
        a_low, a_high = self.interval(atom.a)
        b_low, b_high = self.interval(atom.b)
        if atom.kind == FLOORDIV:
            if a_low is None or a_low < 0:
                low = a_low // max(b_low or 1, 1) if a_low is not None else None
            else:
                low = a_low // b_high if b_high else 0
            if a_high is None:
                return low, None
            if a_high < 0:
                return low, (a_high // b_high if b_high else -1)
            return low, a_high // max(b_low or 1, 1)
        if atom.kind == MOD:
            high = None if b_high is None else b_high - 1
            if a_low is not None and a_low >= 0 and a_high is not None:
                high = a_high if high is None else min(high, a_high)
            return 0, high
        if atom.kind == MIN:
            lows = None if a_low is None or b_low is None else min(a_low, b_low)
            highs = [v for v in (a_high, b_high) if v is not None]
            return lows, min(highs) if highs else None
        below = [v for v in (a_low, b_low) if v is not None]
        high = None if a_high is None or b_high is None else max(a_high, b_high)
        return max(below) if below else None, high

    # -- symbolic bounds

    def symbolic(self, x: Index) -> tuple[Index | None, Index | None]:
        """Inclusive bounds of `x` as Indexes of size symbols alone; None where unknown."""
        known = self._symbolic.get(x)
        if known is None:
            known = self._symbolic[x] = self._symbolic_bounds(x)
        return known

    def _symbolic_bounds(self, x: Index) -> tuple[Index | None, Index | None]:
        low: Index | None = Index.const(x.offset)
        high: Index | None = Index.const(x.offset)
        for monomial, factor in x.terms:
            a: Index | None = Index.const(1)
            b: Index | None = Index.const(1)
            nonnegative = True
            for atom in monomial:
                atom_low, atom_high = self._atom_symbolic(atom)
                if len(monomial) > 1:
                    nonnegative = (
                        nonnegative and atom_low is not None and self._all_nonnegative(atom_low)
                    )
                a = None if a is None or atom_low is None else a * atom_low
                b = None if b is None or atom_high is None else b * atom_high
            if not nonnegative:
                return None, None
            if factor < 0:
                a, b = b, a
            low = None if low is None or a is None else low + a * factor
            high = None if high is None or b is None else high + b * factor
        return low, high

    def _atom_symbolic(self, atom: Atom) -> tuple[Index | None, Index | None]:
        zero = Index.const(0)
        if isinstance(atom, str):
            bound = self.bounds.get(atom)
            if bound is None:
                return Index.var(atom), Index.var(atom)
            upper = self.symbolic(bound)[1]
            return zero, None if upper is None else upper - 1
        if self.bounds.keys().isdisjoint(atom.vars):
            same = Index(0, (((atom,), 1),))
            return same, same
        a_low, a_high = self.symbolic(atom.a)
        b_low, b_high = self.symbolic(atom.b)
        nonnegative = a_low is not None and self._all_nonnegative(a_low)
        if atom.kind == MOD:
            if nonnegative and a_high is not None and b_high is None:
                return zero, a_high
            return zero, None if b_high is None else b_high - 1
        if atom.kind == FLOORDIV:
            if b_low is None or b_low != b_high:
                return (zero if nonnegative else None), None
            low = zero if nonnegative else None
            return low, None if a_high is None else floordiv(a_high, b_low)
        join = minimum if atom.kind == MIN else maximum
        low = None if a_low is None or b_low is None else join(a_low, b_low)
        high = None if a_high is None or b_high is None else join(a_high, b_high)
        return low, high

    def _all_nonnegative(self, x: Index) -> bool:
        """Whether `x`, over size symbols alone, is >= 0 for all sizes (sufficient test)."""
        if not x.terms:
            return x.offset >= 0
        low = self.interval(x)[0]
        if low is not None and low >= 0:
            return True
        plain: list[Term] = []
        for monomial, factor in x.terms:
            functions = [atom for atom in monomial if not isinstance(atom, str)]
            if not functions:
                plain.append((monomial, factor))
            elif factor < 0 or not all(self._func_nonnegative(f.kind, f.a, f.b) for f in functions):
                return False
        return self._sum_nonnegative(Index(x.offset, tuple(plain)))

    def _sum_nonnegative(self, x: Index) -> bool:
        """`_all_nonnegative` of products of sizes: each size is written as its least value and a
        rest that is >= 0; then no coefficient may be negative."""
        shifts: dict[str, Index] = {}
        for name in x.vars:
            if name not in self.bounds:
                least = self._atom_interval(name)[0]
                if least:
                    shifts[name] = Index.var(name) + least
        shifted = x.substitute(shifts) if shifts else x
        return shifted.offset >= 0 and all(factor >= 0 for _, factor in shifted.terms)

    def _func_nonnegative(self, kind: str, a: Index, b: Index) -> bool:
        if kind == MOD:
            return True
        if kind == FLOORDIV:
            return self._all_nonnegative(a)
        if kind == MAX:
            return self._all_nonnegative(a) or self._all_nonnegative(b)
        return self._all_nonnegative(a) and self._all_nonnegative(b)

    # -- proofs

    def nonnegative(self, x: Index) -> bool:
        """Whether `x >= 0` is proved."""
        low, high = self.interval(x)
        if low is not None and low >= 0:
            return True
        if high is not None and high < 0:
            return False
        symbolic = self.symbolic(x)[0]
        return symbolic is not None and self._all_nonnegative(symbolic)

    def less(self, x: Index, y: Index) -> bool:
        """Whether `x < y` is proved."""
        return self.nonnegative(y - x - 1)

    def within(self, x: Index, extent: Index) -> bool:
        """Whether `0 <= x < extent` is proved."""
        return self.nonnegative(x) and self.less(x, extent)

    # -- simplification

    def simplify(self, x: Index) -> Index:
        """An equal Index within the bounds, with fewer divisions, remainders, minima and maxima."""
        if not x.terms or not _has_func(x):
            return x
        known = self._simplified.get(x)
        if known is None:
            known = self._simplify(x)
            self._simplified[x] = known
        return known

    def _simplify(self, x: Index) -> Index:
        plain: list[Term] = []
        total = Index.const(x.offset)
        for monomial, factor in x.terms:
            if all(isinstance(atom, str) for atom in monomial):
                plain.append((monomial, factor))
                continue
            product = Index.const(factor)
            for atom in monomial:
                if isinstance(atom, str):
                    product = product * Index.var(atom)
                else:
                    product = product * self._simplify_func(
                        atom.kind, self.simplify(atom.a), self.simplify(atom.b)
                    )
            total = total + product
        return total + Index(0, tuple(plain)) if plain else total

    def _simplify_func(self, kind: str, a: Index, b: Index) -> Index:
        if kind in (FLOORDIV, MOD):
            return self._simplify_division(kind, a, b)
        if self.nonnegative(b - a):
            return a if kind == MIN else b
        if self.nonnegative(a - b):
            return b if kind == MIN else a
        return apply_func(kind, a, b)

    def _simplify_division(self, kind: str, a: Index, b: Index) -> Index:
        if not self.less(Index.const(0), b):
            return apply_func(kind, a, b)
        if self.within(a, b):
            return Index.const(0) if kind == FLOORDIV else a
        quotient, rest = divide(a, b)
        if quotient != 0:
            if self.within(rest, b):
                return quotient if kind == FLOORDIV else rest
            if quotient.terms and _has_negative(rest) and not _has_negative(a):
                rest, quotient = a, Index.const(0)
        grouped = self._group(kind, rest, b)
        if grouped is not None:
            return grouped + quotient if kind == FLOORDIV else grouped
        return apply_func(kind, a, b)

    def _group(self, kind: str, x: Index, d: Index) -> Index | None:
        """With x = g*hi + lo, d = g*e and 0 <= lo < g: x//d = hi//e and x%d = g*(hi%e) + lo."""
        if len(d.terms) > 1 or (d.terms and d.offset):
            return None
        d_monomial, d_factor = d.terms[0] if d.terms else ((), d.offset)
        tried: set[tuple[object, int]] = set()
        for monomial, factor in x.terms:
            shared = tuple([atom for atom in monomial if atom in d_monomial])
            common = gcd(factor, d_factor)
            if (common == 1 and not shared) or (shared, common) in tried:
                continue
            tried.add((shared, common))
            divisor = Index(0, ((shared, common),)) if shared else Index.const(common)
            hi, lo = split_by(x, common, shared)
            outer, left = divide(d, divisor)
            if left != 0 or hi == 0 or not self.within(lo, divisor):
                continue
            if kind == FLOORDIV:
                return self.simplify(floordiv(hi, outer))
            return self.simplify(remainder(hi, outer)) * divisor + lo
        return None


def _times(x: Interval, y: Interval) -> Interval:
    if x[0] is not None and y[0] is not None and x[0] >= 0 and y[0] >= 0:
        return x[0] * y[0], None if x[1] is None or y[1] is None else x[1] * y[1]
    if None in x or None in y:
        return None, None
    products = [a * b for a in x for b in y if a is not None and b is not None]
    return min(products), max(products)


def _has_func(x: Index) -> bool:
    for monomial, _ in x.terms:
        for atom in monomial:
            if not isinstance(atom, str):
                return True
    return False


def _has_negative(x: Index) -> bool:
    return any(factor < 0 for _, factor in x.terms)


def simplify(index: Index, bounds: Bounds, sizes: Sizes = _NO_SIZES) -> Index:
    """`index` simplified with each variable of `bounds` in [0, bound). Many calls: use `Ranges`."""
    return Ranges(bounds, sizes).simplify(index)
