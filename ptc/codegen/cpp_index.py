"""Index expressions in C++, and how an index moves along the lanes of a vector.

Takes `Index` with the ranges of its variables, gives text over `int64_t` variables, or the form
`base + lane * stride`. Knows no buffers and no statements.
"""

from __future__ import annotations

from collections.abc import Mapping

from ptc.loops.bounds import Ranges
from ptc.loops.index import FLOORDIV, MIN, MOD, Atom, Func, Index


def index_text(index: Index, names: Mapping[str, str], ranges: Ranges) -> str:
    """C++ for `index`; sums are not parenthesised."""
    if not index.terms:
        return str(index.offset)
    parts: list[str] = []
    for monomial, factor in index.terms:
        factors = [_atom_text(atom, names, ranges) for atom in monomial]
        if abs(factor) != 1:
            factors.append(str(abs(factor)))
        sign = "-" if factor < 0 else ("+" if parts else "")
        parts.append(f"{' ' if parts else ''}{sign}{' ' if parts else ''}{' * '.join(factors)}")
    if index.offset:
        parts.append(f" {'+' if index.offset > 0 else '-'} {abs(index.offset)}")
    return "".join(parts)


def operand_text(index: Index, names: Mapping[str, str], ranges: Ranges) -> str:
    """C++ for `index` as an operand of a product or an argument."""
    text = index_text(index, names, ranges)
    return text if text.replace("_", "").isalnum() else f"({text})"


def _atom_text(atom: Atom, names: Mapping[str, str], ranges: Ranges) -> str:
    if not isinstance(atom, Func):
        return names[atom]
    a, b = index_text(atom.a, names, ranges), index_text(atom.b, names, ranges)
    if atom.kind in (FLOORDIV, MOD):
        # C truncates; where the dividend cannot be negative that is the same and cheaper.
        if ranges.nonnegative(atom.a):
            sign = "/" if atom.kind == FLOORDIV else "%"
            left, right = operand_text(atom.a, names, ranges), operand_text(atom.b, names, ranges)
            return f"({left} {sign} {right})"
        return f"{'index_floordiv' if atom.kind == FLOORDIV else 'index_mod'}({a}, {b})"
    return f"{'index_min' if atom.kind == MIN else 'index_max'}({a}, {b})"


def lane_form(index: Index, var: str, lanes: int, align: int = 0) -> tuple[Index, Index] | None:
    """(base, stride) such that lane j has `base + j * stride` in every block of `lanes` values of
    `var` that starts at a multiple of `align` (default: of `lanes`); `base` has the block's start
    as `var`. None if not so.
    """
    align = align or lanes
    linear = index.coefficient(var)
    if linear is not None:
        return index, linear
    stride = Index.const(0)
    for monomial, factor in index.terms:
        step = _monomial_stride(monomial, var, lanes, align)
        if step is None:
            return None
        stride = stride + step * factor
    return index, stride


def _monomial_stride(monomial: tuple[Atom, ...], var: str, lanes: int, align: int) -> Index | None:
    """How much the product of atoms grows from lane to lane, None if not evenly."""
    stride = Index.const(0)
    rest = Index.const(1)
    moving = 0
    for atom in monomial:
        step = _atom_stride(atom, var, lanes, align)
        if step is None:
            return None
        if step == 0:
            rest = rest * Index(0, (((atom,), 1),))
        else:
            moving += 1
            stride = step
    if moving > 1:
        return None
    return stride * rest if moving else Index.const(0)


def _atom_stride(atom: Atom, var: str, lanes: int, align: int) -> Index | None:
    if not isinstance(atom, Func):
        return Index.const(1 if atom == var else 0)
    if var not in atom.vars:
        return Index.const(0)
    form = lane_form(atom.a, var, lanes, align)
    divisor = atom.b.constant
    if form is None or divisor is None or atom.kind not in (FLOORDIV, MOD):
        return None
    step = form[1].constant
    if step is None or step < 0:
        return None
    if step == 0:
        return Index.const(0)
    # The lanes span [a, a + step * lanes): within one block of the divisor if that is a multiple of
    # the span and `a` is aligned to it.
    span = step * lanes
    if divisor % span or not _multiple(atom.a, span, var, align):
        return None
    return Index.const(0) if atom.kind == FLOORDIV else form[1]


def _multiple(index: Index, of: int, var: str, align: int) -> bool:
    """Whether `index` is a multiple of `of` where `var` is a multiple of `align` (sufficient)."""
    if index.offset % of:
        return False
    for monomial, factor in index.terms:
        known = abs(factor)
        for atom in monomial:
            if atom == var:
                known *= align
            elif isinstance(atom, Func) and atom.kind == MOD:
                inner = of
                while inner > 1 and not (
                    _multiple(atom.a, inner, var, align) and _multiple(atom.b, inner, var, align)
                ):
                    inner //= 2
                known *= max(inner, 1)
        if known % of:
            return False
    return True
