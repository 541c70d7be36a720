"""What a program assumes of its symbolic sizes, against the ranges it is made for.

torch notes a condition whenever a shape computation took one side of a branch. An entry that checks
nothing but ranges may run the program only if every condition follows from the ranges. Takes the
conditions and the ranges; gives ranges in which all of them hold, or an error that names the size.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import sympy
from torch.utils._sympy.functions import FloorDiv
from torch.utils._sympy.value_ranges import ValueRanges, bound_sympy

from ptc.graph.program import DimRange
from ptc.graph.residues import holds_by_residues
from ptc.graph.symbols import range_text, relation_text
from ptc.support.diagnostics import CompileError, Location

#: So many sizes are tried one by one; beyond, the condition must be proved.
_TRIED = 512
_UNBOUNDED = 2**31 - 1
#: An open range may end here: operators that take no more elements say so, in eager as well.
_FAR = 2**20


@dataclass(frozen=True, slots=True)
class Assumption:
    """One condition (a sympy relation between sizes) and the user's line that needs it."""

    condition: Any
    location: Location | None = None


def ranges_that_hold(
    assumptions: Iterable[Assumption],
    dims: Mapping[str, DimRange],
    declared: Mapping[str, DimRange] | None = None,
) -> dict[str, DimRange]:
    """`dims`, narrowed where a condition on one size leaves a shorter range. `declared` has the
    names of sizes that are none any more.

    Sizes 0 and 1 are not tried: torch's rules treat them apart everywhere, and whether a program
    holds for them is decided where it asks (in capture), not here. A range with an upper bound was
    asked for as it is and is never narrowed. Raises CompileError PTC-A002.
    """
    ranges = dict(dims)
    gone = {s: d for s, d in (declared or {}).items() if s not in dims}
    for assumption in assumptions:
        symbols = {str(symbol) for symbol in assumption.condition.free_symbols}
        intervals = {symbol: _interval(ranges[symbol]) for symbol in symbols & ranges.keys()}
        if _follows(assumption.condition, intervals):
            continue
        if len(symbols) != 1 or not symbols <= ranges.keys():
            raise _refusal(assumption, {**gone, **ranges})
        (symbol,) = symbols
        ranges[symbol] = _narrowed(assumption, symbol, ranges)
    return ranges


def _interval(described: DimRange) -> tuple[int, int]:
    upper = _UNBOUNDED if described.upper is None else described.upper
    return min(max(described.lower, 2), upper), upper


def _follows(condition: Any, intervals: Mapping[str, tuple[int, int]]) -> bool:
    """True if interval arithmetic proves the condition, as it is or with the difference of its
    sides as a product (which keeps together what cancels), or if a proof by residues does."""
    if condition in (sympy.true, sympy.false):
        return condition is sympy.true
    known = {
        symbol: ValueRanges(*intervals[str(symbol)])
        for symbol in condition.free_symbols
        if str(symbol) in intervals
    }
    if bound_sympy(condition, known).lower in (True, sympy.true):
        return True
    if not isinstance(condition, sympy.core.relational.Relational):
        return holds_by_residues(condition, intervals)
    difference = _difference(condition)
    for form in (sympy.factor(difference), difference.replace(FloorDiv, _taken_out)):
        again: Any = type(condition)(form, sympy.S.Zero)
        if again is sympy.true or bound_sympy(again, known).lower in (True, sympy.true):
            return True
    return holds_by_residues(condition, intervals)


def _taken_out(whole: Any, part: Any) -> Any:
    """`whole // part`, with what `part` goes into standing before it."""
    terms = sympy.expand(whole).as_ordered_terms()
    quotients = [sympy.cancel(term / part) for term in terms]
    multiples = [quotient.is_polynomial() and quotient.is_integer for quotient in quotients]
    before: Any = sum(q for q, taken in zip(quotients, multiples, strict=True) if taken)
    rest: Any = sum(term for term, taken in zip(terms, multiples, strict=True) if not taken)
    return before + FloorDiv(rest, part)


def _difference(condition: Any) -> Any:
    return condition.lhs - condition.rhs


def _narrowed(assumption: Assumption, symbol: str, ranges: Mapping[str, DimRange]) -> DimRange:
    """The range of the one size in the condition, without the small sizes for which it fails."""
    described = ranges[symbol]
    most = _most(assumption.condition)
    if described.upper is None and most >= _FAR:
        return replace(described, upper=most)
    lower, upper = _interval(described)
    (name,) = assumption.condition.free_symbols
    last = min(upper, lower + _TRIED)
    failing = [n for n in range(lower, last + 1) if not _holds(assumption.condition, name, n)]
    first = failing[-1] + 1 if failing else lower
    if first > last or not _holds_beyond(assumption.condition, name, first, last, upper):
        raise _refusal(assumption, ranges)
    if first == lower:
        return described
    if described.upper is not None:
        raise _refusal(assumption, ranges, f"it holds from {first} on" if first < last else "")
    return replace(described, lower=first)


def _most(condition: Any) -> int:
    """The greatest size, if that is all that a condition says; else 0."""
    if not isinstance(condition, (sympy.Le, sympy.Lt)) or not condition.lhs.is_Symbol:
        return 0
    most: Any = condition.rhs
    return int(most) - isinstance(condition, sympy.Lt) if most.is_Integer else 0


def _holds(condition: Any, symbol: Any, size: int) -> bool:
    return condition.xreplace({symbol: sympy.Integer(size)}) is sympy.true


def _holds_beyond(condition: Any, symbol: Any, first: int, last: int, upper: int) -> bool:
    """True if the condition, which holds on [first, last], is proved for every size up to `upper`.

    Sums, multiples, floor divisions and remainders by numbers make a function that repeats with a
    period, plus a slope: what holds on the last period and does not get worse holds for ever.
    """
    if last >= upper or _follows(condition, {str(symbol): (last + 1, upper)}):
        return True
    if not isinstance(condition, (sympy.Ge, sympy.Gt, sympy.Le, sympy.Lt, sympy.Ne, sympy.Eq)):
        return False
    difference = _difference(condition)
    period = _period(difference)
    if period is None or 2 * period > last - first + 1:
        return False
    recent_sizes = (sympy.Integer(last - n) for n in range(2 * period))
    values = [int(difference.xreplace({symbol: size})) for size in recent_sizes]
    slope = values[0] - values[period]
    match condition:
        case sympy.Ge() | sympy.Gt():
            return slope >= 0
        case sympy.Le() | sympy.Lt():
            return slope <= 0
        case sympy.Eq():
            return slope == 0
        case _:
            recent = values[:period]
            return (min(recent) > 0 and slope >= 0) or (max(recent) < 0 and slope <= 0)


def _period(expression: Any) -> int | None:
    """The period of a function made of sums, multiples and divisions by numbers, else None."""
    if expression.is_Integer or expression.is_Symbol:
        return 1
    head = type(expression).__name__
    parts = expression.args
    if head in ("FloorDiv", "CleanDiv", "PythonMod", "Mod"):
        if not parts[1].is_Integer or parts[1] <= 0:
            return None
        inner = _period(parts[0])
        return None if inner is None else inner * int(parts[1])
    if head == "Mul" and sum(not part.is_Integer for part in parts) > 1:
        return None
    if head not in ("Add", "Mul"):
        return None
    period = 1
    for part in parts:
        inner = _period(part)
        if inner is None:
            return None
        period = math.lcm(period, inner)
    return period


def _refusal(
    assumption: Assumption, ranges: Mapping[str, DimRange], note: str = ""
) -> CompileError:
    condition = assumption.condition
    named = {
        symbol: ranges[str(symbol)]
        for symbol in sorted(condition.free_symbols, key=str)
        if str(symbol) in ranges
    }
    message, hint = _explained(condition, named)
    return CompileError(
        "PTC-A002",
        message,
        location=assumption.location,
        hint=hint,
        notes=(note,) if note else (),
    )


def _explained(condition: Any, named: Mapping[Any, DimRange]) -> tuple[str, str]:
    """What the condition asks for, in the user's names, and a way out."""
    sides: tuple[Any, ...] = condition.args if isinstance(condition, sympy.Eq) else ()
    sizes = [f"`{named[side].name}`" for side in sides if side in named]
    fixed = [int(side) for side in sides if side.is_Integer]
    if sizes and fixed:
        return (
            f"{sizes[0]} can only be {fixed[0]}: the program fixes this size",
            f"leave {sizes[0]} out of the dynamic sizes",
        )
    if len(sizes) > 1:
        return (
            f"{sizes[0]} and {sizes[1]} must be equal: the program combines the two dimensions",
            "give both dimensions one name",
        )
    return (
        f"the program holds only where {_in_names(condition, named)}",
        "leave the dimension static, or give it a range in which this always holds",
    )


def _in_names(condition: Any, named: Mapping[Any, DimRange]) -> str:
    """The condition in the user's names, and what these are."""
    shown = condition.xreplace({symbol: sympy.Symbol(dim.name) for symbol, dim in named.items()})
    declared = ", ".join(f"`{dim.name}` is {range_text(dim)}" for dim in named.values())
    return relation_text(shown) + (f"; {declared}" if declared else "")


def undecided(assumption: Assumption, dims: Mapping[str, DimRange]) -> CompileError:
    """The error for a question about sizes whose answer differs, or may, from call to call."""
    condition = assumption.condition
    symbols = sorted(condition.free_symbols, key=str)
    named = {symbol: dims[str(symbol)] for symbol in symbols if str(symbol) in dims}
    deciding = " and ".join(f"`{dim.name}`" for dim in named.values())
    decide = "decides" if len(named) == 1 else "decide"
    return CompileError(
        "PTC-A002",
        f"an operator depends on whether {_in_names(condition, named)}"
        + (f"; {deciding} {decide} that at each call" if deciding else ", which data decides"),
        location=assumption.location,
        hint="give the sizes a lower bound with a branch or an assert before it, or a range in "
        "which there is one answer",
    )
