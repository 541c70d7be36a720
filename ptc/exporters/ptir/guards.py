"""Checks of what a graph assumes of sizes, as items that run before it: a file's word is not enough
where kernels are made for it.

Takes assumptions, gives items. Knows nothing of graphs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from ptc.exporters.ptir.ir import Assumption
from ptc.graph.control import (
    ASSUME,
    Body,
    Compute,
    If,
    Item,
    NumberKind,
    NumberVar,
    Operand,
    Raise,
)
from ptc.hosting.effects import NOT_SUPPORTED
from ptc.loops.index import FLOORDIV, MOD, Atom, Func, Index

_TESTS = {"==": "eq", "!=": "ne", ">=": "ge"}


class Guards:
    """Makes items. `symbol` gives the name that a size of the text has in the program."""

    def __init__(self, symbol: Callable[[str], str]) -> None:
        self._symbol = symbol
        self._made = 0

    def items(self, assumptions: Iterable[Assumption]) -> list[Item]:
        """Items that end the run where an assumption does not hold."""
        items: list[Item] = []
        for assumption in assumptions:
            value = self._index(assumption.difference, items)
            test = _TESTS[assumption.relation]
            holds = self._compute(items, NumberKind.BOOL, test, value, 0)
            text = f"the file assumes {assumption.difference} {assumption.relation} 0 of its sizes"
            items.append(If(holds, Body(), Body([Raise(NOT_SUPPORTED, (text,))]), None, ASSUME))
        return items

    def _compute(self, items: list[Item], kind: NumberKind, op: str, *args: Operand) -> NumberVar:
        target = NumberVar(f"assumed.{self._made}", kind)
        self._made += 1
        items.append(Compute(target, op, args))
        return target

    def _int(self, items: list[Item], op: str, *args: Operand) -> NumberVar:
        return self._compute(items, NumberKind.INT, op, *args)

    def _index(self, index: Index, items: list[Item]) -> Operand:
        total: Operand = index.offset
        for monomial, coefficient in index.terms:
            product: Operand = coefficient
            for atom in monomial:
                product = self._int(items, "mul", product, self._atom(atom, items))
            total = self._int(items, "add", total, product)
        return total

    def _atom(self, atom: Atom, items: list[Item]) -> Operand:
        if not isinstance(atom, Func):
            return NumberVar(self._symbol(atom), NumberKind.INT)
        left, right = self._index(atom.a, items), self._index(atom.b, items)
        if atom.kind in (FLOORDIV, MOD):
            # A divisor that a size gives may be 0.
            divisor = self._int(items, "max", right, 1)
            return self._int(items, atom.kind, left, divisor)
        return self._int(items, atom.kind, left, right)
