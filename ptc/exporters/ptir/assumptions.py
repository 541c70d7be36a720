"""What is known of sizes where a graph runs, as the portable IR says it: differences of index
expressions with zero.

Takes conditions of sympy's and truths, gives `Assumption`s, and answers conditions from them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import sympy
from sympy.core.relational import Relational

from ptc.exporters.ptir.ir import Assumption
from ptc.loops.index import Index
from ptc.support.diagnostics import CompileError

#: The size of a sympy expression, in the names of the text.
Convert = Callable[[Any], Index]
_NEGATED = {"==": "!=", "!=": "=="}


class Assumptions:
    """Assumptions that grow as conditions are noted."""

    def __init__(self, convert: Convert, known: Iterable[Assumption] = ()) -> None:
        self._convert = convert
        self._known: dict[Assumption, None] = dict.fromkeys(known)

    def __iter__(self) -> Iterator[Assumption]:
        return iter(self._known)

    def note(self, condition: Any, truth: Callable[[Any], bool | None]) -> bool | None:
        """The condition's truth, which is assumed from here on; None if it is not known."""
        if isinstance(condition, (sympy.And, sympy.Or)):
            return self._note_joined(condition, truth)
        if isinstance(condition, sympy.Not):
            inner = self.note(condition.args[0], truth)
            return None if inner is None else not inner
        holds = self.holds(condition)
        if holds is not None:
            return holds
        holds = truth(condition)
        if holds is not None:
            assumption = self._assumption(condition)
            self._known[assumption if holds else _negated(assumption)] = None
        return holds

    def _note_joined(self, condition: Any, truth: Callable[[Any], bool | None]) -> bool | None:
        decisive = isinstance(condition, sympy.Or)
        parts = [self.note(part, truth) for part in condition.args]
        if decisive in parts:
            return decisive
        return None if None in parts else not decisive

    def holds(self, condition: Any) -> bool | None:
        """Whether a condition is assumed; None if nothing is known."""
        if isinstance(condition, (sympy.And, sympy.Or)):
            return self._note_joined(condition, lambda _: None)
        if isinstance(condition, sympy.Not):
            inner = self.holds(condition.args[0])
            return None if inner is None else not inner
        if condition in (sympy.true, sympy.false):
            return bool(condition)
        if not isinstance(condition, Relational):
            return None
        assumption = self._assumption(condition)
        if assumption in self._known:
            return True
        return False if _negated(assumption) in self._known else None

    def _assumption(self, condition: Any) -> Assumption:
        """A relation in its normal form."""
        if not isinstance(condition, Relational):
            raise CompileError("PTC-E011", f"the portable IR cannot say the condition {condition}")
        left, right = self._convert(condition.lhs), self._convert(condition.rhs)
        match str(condition.rel_op):  # pyright: ignore[reportAttributeAccessIssue]
            case "==" | "!=" as relation:
                differences = left - right, right - left
                return Assumption(min(differences, key=str), relation)
            case ">=":
                return Assumption(left - right, ">=")
            case "<=":
                return Assumption(right - left, ">=")
            case ">":
                return Assumption(left - right - 1, ">=")
            case _:
                return Assumption(right - left - 1, ">=")


def _negated(assumption: Assumption) -> Assumption:
    if assumption.relation in _NEGATED:
        return Assumption(assumption.difference, _NEGATED[assumption.relation])
    return Assumption(-assumption.difference - 1, ">=")


def converter(names: Mapping[str, str], index: Callable[[Any], Index]) -> Convert:
    """Sizes of sympy expressions, with these names for symbols, which may become more."""

    def convert(expression: Any) -> Index:
        variables = {symbol: Index.var(name) for symbol, name in names.items()}
        return index(expression).substitute(variables)

    return convert
