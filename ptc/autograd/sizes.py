"""Symbolic sizes in a functional graph: where each symbol comes from, and nodes for expressions.

Takes the fake values of a graph's placeholders and nodes, gives fx nodes that compute a SymInt from
them (`aten.sym_size.int`, then Python's integer operators). One node an expression. Knows nothing
of how the values were computed.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import sympy
import torch
from torch.fx import Graph, Node
from torch.utils._sympy import functions as symbolic

from ptc.graph.symbols import SYMBOLIC_TYPES, SymbolicValue, expression_of
from ptc.support.diagnostics import CompileError

#: sympy head -> the operator on two values; sums and products fold from the left.
_BINARY: dict[type, Callable[[Any, Any], Any]] = {
    sympy.Add: operator.add,
    sympy.Mul: operator.mul,
    symbolic.FloorDiv: operator.floordiv,
    symbolic.CleanDiv: operator.floordiv,
    symbolic.PythonMod: operator.mod,
    symbolic.Mod: operator.mod,
    symbolic.Max: torch.sym_max,
    symbolic.Min: torch.sym_min,
    symbolic.IntTrueDiv: operator.truediv,
    symbolic.FloatTrueDiv: operator.truediv,
    symbolic.PowByNatural: operator.pow,
    symbolic.FloatPow: operator.pow,
    sympy.Pow: operator.pow,
    sympy.Eq: operator.eq,
    sympy.Ne: operator.ne,
    sympy.Lt: operator.lt,
    sympy.Le: operator.le,
    sympy.Gt: operator.gt,
    sympy.Ge: operator.ge,
    sympy.And: operator.and_,
    sympy.Or: operator.or_,
}

_UNARY: dict[type, Callable[[Any], Any]] = {
    symbolic.ToFloat: torch.sym_float,
    symbolic.TruncToInt: math.trunc,
    symbolic.FloorToInt: math.floor,
    symbolic.CeilToInt: math.ceil,
    sympy.Not: torch.sym_not,
}


class SizeNodes:
    """Gives the node for a symbolic value, adding it to the graph when it is new.

    A symbol's source is the first placeholder that is it, or the first dimension that is it;
    expressions are built at the place where they are first needed.
    """

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._nodes: dict[Any, Node] = {}
        self._dimensions: dict[Any, tuple[Node, int, Any]] = {}

    def learn(self, node: Node, value: Any) -> None:
        """Remember `node`, whose fake value is `value`, as a source of the symbols in it."""
        if isinstance(value, SYMBOLIC_TYPES):
            self._nodes.setdefault(expression_of(value), node)
        elif isinstance(value, torch.Tensor):
            for dim, size in enumerate(value.shape):
                if isinstance(size, torch.SymInt):
                    expression = expression_of(size)
                    self._dimensions.setdefault(expression, (node, dim, size))

    def node(self, value: SymbolicValue) -> Node | int | float | bool:
        """The node (or the number, when the value is known after all) for `value`."""
        expression = expression_of(value)
        if expression.is_number or expression in (sympy.true, sympy.false):
            number = _number(expression)
            # sympy takes a float that is whole, such as 0 / 2, for an integer.
            return float(number) if isinstance(value, torch.SymFloat) else number
        return self._build(expression, value)

    def forget(self, alive: set[Node]) -> None:
        """Drop what refers to nodes that were erased."""
        self._nodes = {key: node for key, node in self._nodes.items() if node in alive}
        self._dimensions = {
            key: entry for key, entry in self._dimensions.items() if entry[0] in alive
        }

    def _build(self, expression: Any, value: Any | None = None) -> Node | int | float | bool:
        known = self._nodes.get(expression)
        if known is not None:
            return known
        if expression.is_number or expression in (sympy.true, sympy.false):
            return _number(expression)
        if expression in self._dimensions:
            node = self._size_of_dimension(expression)
        elif expression.is_Symbol:
            raise CompileError(
                "PTC-A002", f"the symbolic size {expression} belongs to no input or operator"
            )
        else:
            node = self._compute(expression, value)
        self._nodes[expression] = node
        return node

    def _size_of_dimension(self, expression: Any) -> Node:
        source, dim, size = self._dimensions[expression]
        node = self._graph.create_node(
            "call_function", torch.ops.aten.sym_size.int, (source, dim), {}
        )
        node.meta["val"] = size
        return node

    def _compute(self, expression: Any, value: Any | None) -> Node:
        head = type(expression)
        if head in _UNARY:
            result = self._call(_UNARY[head], self._build(expression.args[0]))
        elif head in _BINARY:
            arguments = [self._build(argument) for argument in expression.args]
            result = arguments[0]
            for argument in arguments[1:]:
                result = self._call(_BINARY[head], result, argument)
        else:
            raise CompileError(
                "PTC-A002", f"a size is computed in a way that cannot be compiled: {expression}"
            )
        assert isinstance(result, Node)
        if value is not None:
            result.meta["val"] = value
        return result

    def _call(self, function: Callable[..., Any], *arguments: Any) -> Node:
        node = self._graph.create_node("call_function", function, arguments, {})
        values = [a.meta["val"] if isinstance(a, Node) else a for a in arguments]
        node.meta["val"] = function(*values)
        return node


def _number(expression: Any) -> int | float | bool:
    if expression in (sympy.true, sympy.false):
        return bool(expression)
    return int(expression) if expression.is_integer else float(expression)
