"""Arithmetic of Python numbers inside a graph, on loads of number arguments.

Takes a node whose value is a symbolic number and its operands, gives a scalar expression. Sizes are
not its business: they are indices (see `sizes`).
"""

from __future__ import annotations

import operator
from typing import Any

import torch
from torch.fx import Node

from ptc.loops import build as b
from ptc.loops.index import Index
from ptc.loops.nodes import Buffer, DType, Expr
from ptc.ops.protocol import TensorValue
from ptc.support.diagnostics import CompileError

_OPERATIONS = {
    operator.add: "add", operator.sub: "sub", operator.mul: "mul", operator.truediv: "div",
    operator.pow: "pow", operator.eq: "eq", operator.ne: "ne", operator.lt: "lt",
    operator.le: "le", operator.gt: "gt", operator.ge: "ge", torch.sym_max: "max",
    torch.sym_min: "min", operator.and_: "and", operator.or_: "or", operator.floordiv: "floordiv",
    operator.mod: "mod",
}  # fmt: skip
_COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge")


def is_expression(value: Any) -> bool:
    """Whether an operand is a scalar expression, not an index, a tensor or a plain number."""
    return hasattr(value, "dtype") and not isinstance(value, TensorValue | torch.Tensor | Buffer)


def arithmetic(node: Node, args: list[Any]) -> Expr:
    """The value of `node`, whose operands are `args`. Ints stay ints, as in Python."""
    op = _OPERATIONS.get(node.target)  # type: ignore[arg-type]
    value = node.meta.get("val")
    whole = isinstance(value, torch.SymInt) or (
        op in _COMPARISONS and all(_is_whole(a) for a in args)
    )
    values = [_as_int(a) if whole else _as_float(a) for a in args]
    if op is not None:
        return b.apply(op, *values)
    if node.target is torch.sym_float:
        return values[0]
    if node.target is operator.neg:
        return b.neg(values[0])
    if node.target is torch.sym_not:
        return b.not_(values[0])
    raise CompileError(
        "PTC-O002",
        f"scalar arithmetic `{node.target}` on number arguments cannot be compiled",
        location=node.meta.get("location"),
        hint="pass the number as a 0-d tensor",
    )


def _is_whole(value: Any) -> bool:
    if isinstance(value, Index):
        return True
    if is_expression(value):
        return bool(value.dtype.is_int)
    return isinstance(value, int) and not isinstance(value, bool)


def _as_int(value: Any) -> Expr:
    if isinstance(value, Index):
        return b.index_value(value, DType.I64)
    if is_expression(value):
        return b.cast(value, DType.I64)
    return b.literal(int(value), DType.I64)


def _as_float(value: Any) -> Expr:
    if isinstance(value, Index):
        return b.cast(b.index_value(value), DType.F64)
    if isinstance(value, bool):
        return b.literal(value, DType.BOOL)
    if isinstance(value, int | float):
        return b.literal(float(value), DType.F64)
    return b.cast(value, DType.F64) if value.dtype.is_int else value
