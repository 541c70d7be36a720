"""Inverting index maps: from where an element lies back to the loop variables that address it.

A map is a tuple of Indexes over variables with extents. It is inverted when it is a re-digiting of
positions: each component a sum of variables (or of digits `v // c % e` of variables) in mixed
radix. Reshapes, permutations and their compositions are of this kind.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ptc.loops.bounds import Ranges
from ptc.loops.index import FLOORDIV, MOD, Index, product

# For each variable: (component, weight, size, low) of each of its digits.
Recipe = dict[str, list[tuple[int, Index, Index, Index]]]


@dataclass(frozen=True, slots=True)
class _Digit:
    """`(var // low) % size`, a digit of a variable; as a component's part with weight `weight`."""

    var: str
    low: Index
    size: Index
    weight: Index


def invert(
    indices: Sequence[Index],
    shape: Sequence[Index],
    extents: Mapping[str, Index],
    ranges: Ranges,
) -> Recipe | None:
    """How each variable is found from a position, or None if the map is not one-to-one and onto.

    For each variable a list of (component, weight, size, low): the digit `(position[component] //
    weight) % size` counts `low` in the variable.
    """
    digits: dict[str, list[tuple[int, _Digit]]] = {}
    for component, (index, size) in enumerate(zip(indices, shape, strict=True)):
        if size == 1:
            if index != 0:
                return None
            continue
        parts = _digits_of(index, extents)
        if parts is None or not _fills(parts, size, ranges):
            return None
        for digit in parts:
            digits.setdefault(digit.var, []).append((component, digit))
    recipe: Recipe = {}
    for var, extent in extents.items():
        found = digits.get(var)
        if found is None:
            return None
        if not _complete([d for _, d in found], extent):
            return None
        recipe[var] = [(c, d.weight, d.size, d.low) for c, d in found]
    return recipe


def apply_inverse(
    recipe: Recipe,
    position: Sequence[Index],
    ranges: Ranges,
) -> dict[str, Index]:
    """The variables' values at `position`, simplified."""
    values: dict[str, Index] = {}
    for var, parts in recipe.items():
        total = Index.const(0)
        for component, weight, size, low in parts:
            total = total + ranges.simplify((position[component] // weight) % size) * low
        values[var] = ranges.simplify(total)
    return values


def _digits_of(index: Index, extents: Mapping[str, Index]) -> list[_Digit] | None:
    """The digits a component consists of, or None if it is not a plain sum of digits."""
    if index.offset != 0:
        return None
    result: list[_Digit] = []
    for monomial, factor in index.terms:
        if factor <= 0:
            return None
        atoms = [a for a in monomial if not isinstance(a, str) or a in extents]
        if len(atoms) != 1:
            return None
        rest = list(monomial)
        rest.remove(atoms[0])
        weight = product([Index.var(a) for a in rest if isinstance(a, str)]) * factor
        digit = _digit(atoms[0], extents, weight)
        if digit is None:
            return None
        result.append(digit)
    return result


def _digit(atom: object, extents: Mapping[str, Index], weight: Index) -> _Digit | None:
    one = Index.const(1)
    if isinstance(atom, str):
        return _Digit(atom, one, extents[atom], weight)
    kind, a, b = atom.kind, atom.a, atom.b  # type: ignore[attr-defined]
    if not extents.keys().isdisjoint(b.vars):
        return None
    if kind == FLOORDIV:
        var = a.variable
        if var is None or var not in extents:
            return None
        whole, rest = extents[var] // b, extents[var] % b
        return _Digit(var, b, whole, weight) if rest == 0 else None
    if kind == MOD:
        var = a.variable
        if var is not None and var in extents:
            return _Digit(var, one, b, weight) if extents[var] % b == 0 else None
        inner = _digits_of(a, extents)
        if inner is not None and len(inner) == 1 and inner[0].weight == 1:
            digit = inner[0]
            if digit.size % b == 0:
                return _Digit(digit.var, digit.low, b, weight)
    return None


def _fills(parts: Sequence[_Digit], size: Index, ranges: Ranges) -> bool:
    """Whether digits with these weights count exactly through [0, size)."""
    remaining = list(parts)
    expected = Index.const(1)
    while remaining:
        match = next((d for d in remaining if d.weight == expected), None)
        if match is None:
            return False
        remaining.remove(match)
        expected = expected * match.size
    return expected == size


def _complete(digits: Sequence[_Digit], extent: Index) -> bool:
    """Whether the digits of one variable make up all of it."""
    remaining = list(digits)
    expected = Index.const(1)
    while remaining:
        match = next((d for d in remaining if d.low == expected), None)
        if match is None:
            return False
        remaining.remove(match)
        expected = expected * match.size
    return expected == extent
