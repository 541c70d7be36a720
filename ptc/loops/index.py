"""Integer index arithmetic: the sums, products, floor-divisions and remainders that address memory.

Owns `Index`, an immutable expression in canonical form: a constant plus integer multiples of
products of atoms. An atom is a variable (all variables are >= 0) or a floor-division, remainder,
minimum or maximum of two Indexes. Equal canonical forms are equal by value, so Indexes serve as
dictionary keys. Construction simplifies what is true for all integers; `ptc.loops.bounds` proves
and uses ranges. Division and remainder are Python's (floor, sign of the divisor); divisors are > 0.

No torch, no sympy: compile time is a feature, and this is the innermost code of the compiler.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import reduce
from math import gcd
from operator import mul
from typing import Any

FLOORDIV, MOD, MIN, MAX = "floordiv", "mod", "min", "max"


class Func:
    """A composite atom: `kind` of two Indexes."""

    __slots__ = ("_hash", "a", "b", "kind", "text", "vars")

    def __init__(self, kind: str, a: Index, b: Index) -> None:
        self.kind = kind
        self.a = a
        self.b = b
        self.text = _func_text(kind, a, b)
        self.vars = a.vars | b.vars
        self._hash = hash((kind, a, b))

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        return (
            type(other) is Func
            and self._hash == other._hash
            and self.kind == other.kind
            and self.a == other.a
            and self.b == other.b
        )

    def __repr__(self) -> str:
        return self.text

    def __reduce__(self) -> tuple[Any, ...]:
        return Func, (self.kind, self.a, self.b)


Atom = str | Func
Monomial = tuple[Atom, ...]
Term = tuple[Monomial, int]


def _monomial_key(term: Term) -> tuple[str, ...]:
    return tuple([a if isinstance(a, str) else "~" + a.text for a in term[0]])


def _atom_key(atom: Atom) -> str:
    return atom if isinstance(atom, str) else "~" + atom.text


_EMPTY: frozenset[str] = frozenset()


class Index:
    """`offset + sum(coefficient * product of atoms)`. Build with `const`, `var` and operators."""

    __slots__ = ("_hash", "_text", "offset", "terms", "vars")

    offset: int
    terms: tuple[Term, ...]
    vars: frozenset[str]

    def __init__(self, offset: int, terms: tuple[Term, ...]) -> None:
        """`terms` must be canonical: sorted, without zero coefficients. Use `const` and `var`."""
        self.offset = offset
        self.terms = terms
        if not terms:
            self.vars = _EMPTY
            self._hash = hash(offset)
        else:
            names: set[str] = set()
            for monomial, _ in terms:
                for atom in monomial:
                    if isinstance(atom, str):
                        names.add(atom)
                    else:
                        names |= atom.vars
            self.vars = frozenset(names)
            self._hash = hash((offset, terms))
        self._text: str | None = None

    # -- construction

    @staticmethod
    def const(value: int) -> Index:
        """The constant `value`."""
        cached = _SMALL.get(value)
        return cached if cached is not None else Index(int(value), ())

    @staticmethod
    def var(name: str) -> Index:
        """The variable `name` (a loop variable, a size symbol, a bounded Let)."""
        cached = _VARS.get(name)
        if cached is None:
            cached = _VARS[name] = Index(0, (((name,), 1),))
        return cached

    @staticmethod
    def of(value: int | Index) -> Index:
        """`value` itself, or the constant."""
        return value if type(value) is Index else Index.const(value)  # type: ignore[arg-type]

    # -- inspection

    @property
    def constant(self) -> int | None:
        """The value when it is a constant, else None."""
        return None if self.terms else self.offset

    @property
    def variable(self) -> str | None:
        """The name when it is exactly one variable, else None."""
        if self.offset == 0 and len(self.terms) == 1:
            monomial, coefficient = self.terms[0]
            if coefficient == 1 and len(monomial) == 1 and type(monomial[0]) is str:
                return monomial[0]
        return None

    def free_vars(self) -> frozenset[str]:
        """Names of all variables in it."""
        return self.vars

    def coefficient(self, name: str) -> Index | None:
        """The factor of variable `name` if the index is linear in it (0 when absent), else None."""
        if name not in self.vars:
            return _ZERO
        parts: list[Term] = []
        for monomial, factor in self.terms:
            count = 0
            for atom in monomial:
                if isinstance(atom, str):
                    count += atom == name
                elif name in atom.vars:
                    return None
            if count > 1:
                return None
            if count == 1:
                parts.append((tuple([a for a in monomial if a != name]), factor))
        return _from_terms(0, parts)

    # -- arithmetic

    def __add__(self, other: int | Index) -> Index:
        if type(other) is not Index:
            if other == 0:
                return self
            if not self.terms:
                return Index.const(self.offset + other)  # type: ignore[operator]
            return Index(self.offset + int(other), self.terms)  # type: ignore[arg-type]
        if not other.terms:
            return self + other.offset
        if not self.terms:
            return other + self.offset
        sums = dict(self.terms)
        for monomial, factor in other.terms:
            sums[monomial] = sums.get(monomial, 0) + factor
        return _from_dict(self.offset + other.offset, sums)

    __radd__ = __add__

    def __neg__(self) -> Index:
        return Index(-self.offset, tuple([(m, -c) for m, c in self.terms]))

    def __sub__(self, other: int | Index) -> Index:
        return self + (-other)

    def __rsub__(self, other: int | Index) -> Index:
        return (-self) + other

    def __mul__(self, other: int | Index) -> Index:
        if type(other) is Index:
            if other.terms:
                if not self.terms:
                    return other * self.offset
                return _multiply(self, other)
            other = other.offset
        if other == 0:
            return _ZERO
        if other == 1:
            return self
        if not self.terms:
            return Index.const(self.offset * int(other))  # type: ignore[arg-type]
        factor = int(other)  # type: ignore[arg-type]
        return Index(self.offset * factor, tuple([(m, c * factor) for m, c in self.terms]))

    __rmul__ = __mul__

    def __floordiv__(self, other: int | Index) -> Index:
        return floordiv(self, Index.of(other))

    def __rfloordiv__(self, other: int | Index) -> Index:
        return floordiv(Index.of(other), self)

    def __mod__(self, other: int | Index) -> Index:
        return remainder(self, Index.of(other))

    def __rmod__(self, other: int | Index) -> Index:
        return remainder(Index.of(other), self)

    def __int__(self) -> int:
        if self.terms:
            raise TypeError(f"{self} is not a constant")
        return self.offset

    # -- identity

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if type(other) is Index:
            return (
                self._hash == other._hash
                and self.offset == other.offset
                and self.terms == other.terms
            )
        if isinstance(other, int):
            return not self.terms and self.offset == other
        return NotImplemented

    def __str__(self) -> str:
        if self._text is None:
            self._text = _index_text(self)
        return self._text

    def __repr__(self) -> str:
        return f"Index({self})"

    def __reduce__(self) -> tuple[Any, ...]:
        # Rebuilt rather than restored: hashes of strings differ between processes.
        return Index, (self.offset, self.terms)

    # -- use

    def substitute(self, values: Mapping[str, int | Index]) -> Index:
        """Replace variables, simplifying again."""
        if self.vars.isdisjoint(values):
            return self
        total = Index.const(self.offset)
        kept: list[Term] = []
        for monomial, factor in self.terms:
            changed = False
            product = Index.const(factor)
            for atom in monomial:
                if isinstance(atom, str):
                    value = values.get(atom)
                    if value is None:
                        product = product * Index.var(atom)
                    else:
                        product = product * Index.of(value)
                        changed = True
                elif atom.vars.isdisjoint(values):
                    product = product * Index(0, (((atom,), 1),))
                else:
                    product = product * apply_func(
                        atom.kind,
                        atom.a.substitute(values),
                        atom.b.substitute(values),
                    )
                    changed = True
            if changed:
                total = total + product
            else:
                kept.append((monomial, factor))
        return total + Index(0, tuple(kept)) if kept else total

    def evaluate(
        self,
        values: Mapping[str, Any],
        minimum: Callable[[Any, Any], Any] = min,
        maximum: Callable[[Any, Any], Any] = max,
    ) -> Any:
        """The value under `values` (ints, or arrays with matching `minimum` and `maximum`)."""
        total: Any = self.offset
        for monomial, factor in self.terms:
            product: Any = None
            for atom in monomial:
                if isinstance(atom, str):
                    value = values[atom]
                else:
                    a = atom.a.evaluate(values, minimum, maximum)
                    b = atom.b.evaluate(values, minimum, maximum)
                    kind = atom.kind
                    if kind == FLOORDIV:
                        value = a // b
                    elif kind == MOD:
                        value = a % b
                    else:
                        value = minimum(a, b) if kind == MIN else maximum(a, b)
                product = value if product is None else product * value
            total = total + (product if factor == 1 else product * factor)
        return total


_SMALL: dict[int, Index] = {}
_SMALL.update({v: Index(v, ()) for v in range(-16, 4097)})
_VARS: dict[str, Index] = {}
_ZERO = _SMALL[0]
_ONE = _SMALL[1]


# --- sums and products --------------------------------------------------------------------------


def _from_dict(offset: int, sums: dict[Monomial, int]) -> Index:
    terms = [(m, c) for m, c in sums.items() if c]
    if not terms:
        return Index.const(offset)
    if len(terms) > 1:
        for monomial, _ in terms:
            for atom in monomial:
                if not isinstance(atom, str) and atom.kind == MOD:
                    return _recombine(offset, dict(terms))
        terms.sort(key=_monomial_key)
    return Index(offset, tuple(terms))


def _from_terms(offset: int, terms: list[Term]) -> Index:
    sums: dict[Monomial, int] = {}
    constant = offset
    for monomial, factor in terms:
        if monomial:
            sums[monomial] = sums.get(monomial, 0) + factor
        else:
            constant += factor
    return _from_dict(constant, sums)


def _recombine(offset: int, sums: dict[Monomial, int]) -> Index:
    """Use c*d*(x//d) + c*(x%d) = c*x, which undoes a split of an index (reshape and back)."""
    for monomial, factor in list(sums.items()):
        for position, atom in enumerate(monomial):
            if isinstance(atom, str) or atom.kind != MOD:
                continue
            x, d = atom.a, atom.b
            rest = monomial[:position] + monomial[position + 1 :]
            scale = Index(0, ((rest, factor),)) if rest else Index.const(factor)
            partner = floordiv(x, d) * d * scale
            if len(partner.terms) != 1 or partner.offset:
                continue
            ((other, other_factor),) = partner.terms
            if sums.get(other) != other_factor:
                continue
            remaining = {m: c for m, c in sums.items() if m not in (monomial, other)}
            return _from_dict(offset, remaining) + x * scale
    terms = sorted(sums.items(), key=_monomial_key)
    return Index(offset, tuple(terms))


def _multiply(x: Index, y: Index) -> Index:
    sums: dict[Monomial, int] = {}
    for mx, cx in (*x.terms, ((), x.offset)):
        if not cx:
            continue
        for my, cy in (*y.terms, ((), y.offset)):
            if not cy:
                continue
            monomial = tuple(sorted((*mx, *my), key=_atom_key)) if mx and my else mx or my
            sums[monomial] = sums.get(monomial, 0) + cx * cy
    offset = sums.pop((), 0)
    return _from_dict(offset, sums)


def _divide_monomial(monomial: Monomial, divisor: Monomial) -> Monomial | None:
    """`monomial / divisor`, or None when it does not divide."""
    rest = list(monomial)
    for atom in divisor:
        if atom not in rest:
            return None
        rest.remove(atom)
    return tuple(rest)


def split_by(x: Index, factor: int, divisor: Monomial) -> tuple[Index, Index]:
    """(q, r) with x = q * factor * divisor + r, where q takes every term that divides exactly."""
    quotient: list[Term] = []
    rest: list[Term] = []
    for monomial, c in x.terms:
        if c % factor == 0:
            reduced = _divide_monomial(monomial, divisor)
            if reduced is not None:
                quotient.append((reduced, c // factor))
                continue
        rest.append((monomial, c))
    if divisor:
        return _from_terms(0, quotient), Index(x.offset, tuple(rest))
    return (
        _from_terms(x.offset // factor, quotient),
        Index(x.offset % factor, tuple(rest)) if rest else Index.const(x.offset % factor),
    )


def divide(x: Index, d: Index) -> tuple[Index, Index]:
    """Polynomial division: (q, r) with x = q*d + r, cancelling leading terms."""
    if len(d.terms) <= 1 and (not d.terms or d.offset == 0):
        if not d.terms:
            return split_by(x, d.offset, ())
        monomial, factor = d.terms[0]
        return split_by(x, factor, monomial)
    lead, lead_factor = max(d.terms, key=lambda t: (len(t[0]), _monomial_key(t)))
    quotient, rest = _ZERO, x
    for _ in range(8):
        step: list[Term] = []
        for monomial, c in rest.terms:
            reduced = _divide_monomial(monomial, lead) if c % lead_factor == 0 else None
            if reduced is not None:
                step.append((reduced, c // lead_factor))
        if not step:
            break
        part = _from_terms(0, step)
        quotient, rest = quotient + part, rest - part * d
    return quotient, rest


def content(x: Index) -> int:
    """Greatest common divisor of the coefficients (not of the offset)."""
    return reduce(gcd, [abs(c) for _, c in x.terms], 0)


# --- division, remainder, min, max --------------------------------------------------------------


def floordiv(x: Index, d: Index) -> Index:
    """`x // d`, for d > 0."""
    if not d.terms:
        if d.offset == 1:
            return x
        if not x.terms:
            return Index.const(x.offset // d.offset)
        if d.offset <= 0:
            return _func(FLOORDIV, x, d)
    quotient, rest = divide(x, d)
    if len(d.terms) > 1 or (d.terms and d.offset):
        # Dividing by a sum pays only when it is exact: q + r//d may be worse than x//d.
        return quotient if rest == _ZERO else _func(FLOORDIV, x, d)
    if not rest.terms and not d.terms:
        return quotient
    if rest.terms or rest.offset:
        quotient = quotient + _floordiv_rest(rest, d)
    return quotient


def _floordiv_rest(x: Index, d: Index) -> Index:
    if not d.terms:
        common = gcd(content(x), d.offset)
        if common > 1:
            # floor((g*y + k) / (g*e)) = floor((y + k//g) / e)
            terms = tuple([(m, c // common) for m, c in x.terms])
            return floordiv(Index(x.offset // common, terms), Index.const(d.offset // common))
    if x.offset == 0 and len(x.terms) == 1:
        monomial, factor = x.terms[0]
        if factor == 1 and len(monomial) == 1:
            atom = monomial[0]
            if not isinstance(atom, str) and atom.kind == FLOORDIV:
                return floordiv(atom.a, atom.b * d)
            if not isinstance(atom, str) and atom.kind == MOD:
                # (y % (c*d)) // d = (y // d) % c
                count, left = divide(atom.b, d)
                if left == _ZERO and count != _ZERO:
                    return remainder(floordiv(atom.a, d), count)
    return _func(FLOORDIV, x, d)


def remainder(x: Index, d: Index) -> Index:
    """`x % d`, for d > 0 (so the result is in [0, d))."""
    if not d.terms:
        if d.offset == 1:
            return _ZERO
        if not x.terms:
            return Index.const(x.offset % d.offset)
        if d.offset <= 0:
            return _func(MOD, x, d)
    _, rest = divide(x, d)
    if len(d.terms) > 1 or (d.terms and d.offset):
        return rest if rest == _ZERO else _func(MOD, x, d)
    if not rest.terms:
        return rest if not d.terms or rest.offset == 0 else _func(MOD, rest, d)
    if not d.terms:
        common = gcd(content(rest), d.offset)
        if common > 1:
            terms = tuple([(m, c // common) for m, c in rest.terms])
            inner = Index(rest.offset // common, terms)
            reduced = remainder(inner, Index.const(d.offset // common))
            return reduced * common + rest.offset % common
    if rest.offset == 0 and len(rest.terms) == 1:
        monomial, factor = rest.terms[0]
        atom = monomial[0]
        if factor == 1 and len(monomial) == 1 and not isinstance(atom, str) and atom.kind == MOD:
            if atom.b == d:
                return rest
            quotient, left = divide(atom.b, d)
            if left == _ZERO and quotient != _ZERO:
                return remainder(atom.a, d)
    return _func(MOD, rest, d)


def minimum(x: int | Index, y: int | Index) -> Index:
    """The smaller of two."""
    return _extremum(MIN, Index.of(x), Index.of(y))


def maximum(x: int | Index, y: int | Index) -> Index:
    """The larger of two."""
    return _extremum(MAX, Index.of(x), Index.of(y))


def _extremum(kind: str, x: Index, y: Index) -> Index:
    if x.terms == y.terms:
        pick = min if kind == MIN else max
        return x if pick(x.offset, y.offset) == x.offset else y
    if str(y) < str(x):
        x, y = y, x
    return _func(kind, x, y)


def apply_func(kind: str, x: Index, y: Index) -> Index:
    """The Index for one composite atom, simplified."""
    if kind == FLOORDIV:
        return floordiv(x, y)
    if kind == MOD:
        return remainder(x, y)
    return _extremum(kind, x, y)


def _func(kind: str, x: Index, y: Index) -> Index:
    return Index(0, (((Func(kind, x, y),), 1),))


def product(values: Any) -> Index:
    """The product of ints and Indexes (1 when there are none)."""
    return reduce(mul, values, _ONE)


# --- text ---------------------------------------------------------------------------------------


def _func_text(kind: str, a: Index, b: Index) -> str:
    if kind in (MIN, MAX):
        return f"{kind}({a}, {b})"
    sign = "//" if kind == FLOORDIV else "%"
    return f"({_operand_text(a)} {sign} {_operand_text(b)})"


def _operand_text(x: Index) -> str:
    text = str(x)
    simple = not x.terms and x.offset >= 0
    simple = simple or (
        x.offset == 0 and len(x.terms) == 1 and x.terms[0][1] == 1 and len(x.terms[0][0]) == 1
    )
    return text if simple else f"({text})"


def _index_text(x: Index) -> str:
    if not x.terms:
        return str(x.offset)
    parts: list[str] = []
    for monomial, factor in x.terms:
        names = "*".join([a if isinstance(a, str) else a.text for a in monomial])
        size = abs(factor)
        text = names if size == 1 else f"{size}*{names}"
        if not parts:
            parts.append(text if factor > 0 else f"-{text}")
        else:
            parts.append(f"+ {text}" if factor > 0 else f"- {text}")
    if x.offset:
        parts.append(f"+ {x.offset}" if x.offset > 0 else f"- {-x.offset}")
    return " ".join(parts)
