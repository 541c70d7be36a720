"""Symbolic sizes of torch as Indexes and scalar expressions of the loop IR.

Takes SymInts, SymFloats and the sympy expressions behind them; the only module of `schedule` that
knows sympy. Heads are matched by name, because torch keeps its own (FloorDiv, Mod) in a private
place.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping
from functools import reduce
from typing import Any

import sympy

from ptc.graph.symbols import expression_of
from ptc.loops import build as b
from ptc.loops.index import Index, maximum, minimum, product
from ptc.loops.nodes import DType, Expr
from ptc.ops.shapes import scaled_size
from ptc.support.diagnostics import CompileError

_DIVISIONS = ("FloorDiv", "CleanDiv")
_REMAINDERS = ("Mod", "PythonMod")


class Sizes:
    """Converts sizes, remembering what it converted. `equal` says what symbols are known to be."""

    def __init__(self, equal: Mapping[Any, Any] | None = None) -> None:
        self._known: dict[Any, Index] = {}
        self._equal = dict(equal or {})

    def index(self, value: Any) -> Index:
        """An int, SymInt or Index as an Index. Raises CompileError PTC-O004 when it cannot."""
        if isinstance(value, int):
            return Index.const(int(value))
        if isinstance(value, Index):
            return value
        expression = self._reduced(expression_of(value))
        known = self._known.get(expression)
        if known is None:
            known = self._known[expression] = self._convert(expression)
        return known

    def shape(self, values: Any) -> tuple[Index, ...]:
        """A torch shape or stride tuple."""
        return tuple([self.index(v) for v in values])

    def scalar(self, value: Any) -> Expr:
        """A SymFloat (or SymBool) computed from sizes, as an f64 (bool) expression."""
        return self._scalar(self._reduced(expression_of(value)))

    def _reduced(self, expression: Any) -> Any:
        try:
            return expression.xreplace(self._equal) if self._equal else expression
        except ZeroDivisionError:  # of a part that an empty tensor never comes to
            return expression

    def _convert(self, e: Any) -> Index:
        if e.is_Integer:
            return Index.const(int(e))
        if e.is_Symbol:
            return Index.var(str(e))
        head = type(e).__name__
        if head in ("Add", "Mul") and not any(a.is_Rational and not a.is_Integer for a in e.args):
            parts = [self._convert(a) for a in e.args]
            return reduce(operator.add if head == "Add" else operator.mul, parts)
        if head in _DIVISIONS:
            return self._convert(e.args[0]) // self._convert(e.args[1])
        if head in _REMAINDERS:
            return self._convert(e.args[0]) % self._convert(e.args[1])
        if head in ("Max", "Min"):
            join = maximum if head == "Max" else minimum
            return reduce(join, [self._convert(a) for a in e.args])
        if head in ("Pow", "PowByNatural") and e.args[1].is_Integer and int(e.args[1]) >= 0:
            return product([self._convert(e.args[0])] * int(e.args[1]))
        if head == "ModularIndexing":
            x, divisor, modulus = [self._convert(a) for a in e.args]
            return (x // divisor) % modulus
        if head in ("TruncToInt", "FloorToInt", "CeilToInt", "RoundToInt"):
            return self._convert_rounding(e, head)
        raise _unsupported(e)

    def _convert_rounding(self, e: Any, head: str) -> Index:
        """floor(a / b) and its kin, of sizes (all positive, so truncation is floor)."""
        inner = e.args[0]
        if type(inner).__name__ in ("ToFloat",):
            return self._convert(inner.args[0])
        if type(inner).__name__ in ("IntTrueDiv", "FloatTrueDiv") and head != "RoundToInt":
            x, d = self._convert(_integral(inner.args[0])), self._convert(_integral(inner.args[1]))
            return (x + d - 1) // d if head == "CeilToInt" else x // d
        if type(inner).__name__ == "Mul" and head != "RoundToInt":
            factors = [a for a in inner.args if a.is_Float]
            sizes = [self._convert(_integral(a)) for a in inner.args if not a.is_Float]
            if len(factors) == 1:
                scaled = scaled_size(product(sizes), float(factors[0]), up=head == "CeilToInt")
                if scaled is not None:
                    return scaled
        raise _unsupported(e)

    def _scalar(self, e: Any) -> Expr:
        if e.is_Integer and not e.is_Float:
            return b.literal(float(int(e)), DType.F64)
        if e.is_number:
            return b.literal(float(e), DType.F64)
        if e is sympy.true or e is sympy.false:
            return b.literal(bool(e), DType.BOOL)
        head = type(e).__name__
        if head in ("Add", "Mul", "Max", "Min"):
            op = {"Add": "add", "Mul": "mul", "Max": "max", "Min": "min"}[head]
            return reduce(lambda x, y: b.apply(op, x, y), [self._scalar(a) for a in e.args])
        if head in ("IntTrueDiv", "FloatTrueDiv"):
            return b.div(self._scalar(e.args[0]), self._scalar(e.args[1]))
        if head == "ToFloat":
            return self._scalar(e.args[0])
        if head in ("Pow", "FloatPow", "PowByNatural"):
            if e.args[1] == sympy.Rational(1, 2) or e.args[1] == 0.5:
                return b.sqrt(self._scalar(e.args[0]))
            return b.pow_(self._scalar(e.args[0]), self._scalar(e.args[1]))
        if head.startswith("OpaqueUnaryFn_"):
            return b.apply(head.removeprefix("OpaqueUnaryFn_"), self._scalar(e.args[0]))
        comparisons = {
            "Equality": "eq", "Unequality": "ne", "LessThan": "le", "StrictLessThan": "lt",
            "GreaterThan": "ge", "StrictGreaterThan": "gt",
        }  # fmt: skip
        if head in comparisons:
            return b.apply(comparisons[head], self._scalar(e.args[0]), self._scalar(e.args[1]))
        if head in ("And", "Or"):
            return reduce(
                lambda x, y: b.apply(head.lower(), x, y), [self._scalar(a) for a in e.args]
            )
        if head == "Not":
            return b.not_(self._scalar(e.args[0]))
        return b.cast(b.index_value(self._convert(e)), DType.F64)


def _integral(e: Any) -> Any:
    return e.args[0] if type(e).__name__ == "ToFloat" else e


def _unsupported(e: Any) -> CompileError:
    return CompileError(
        "PTC-O004",
        f"the size expression `{e}` ({type(e).__name__}) cannot be compiled",
        hint="compute sizes with +, -, *, //, %, min and max and factors such as 0.5 or 1.25, or "
        "keep the dimension static",
    )
