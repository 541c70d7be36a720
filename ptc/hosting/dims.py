"""Dimensions of a manifest: numbers, or expressions of size symbols such as `s0*2 + 1`."""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from ptc.support.diagnostics import CompileError

_OPERATORS: dict[type, Callable[[int, int], int]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}
_FUNCTIONS: dict[str, Callable[..., int]] = {"min": min, "max": max}


def evaluate(dim: int | str, sizes: Mapping[str, int]) -> int | None:
    """The value of a dimension; None if it depends on a size that is known only after the run.

    Raises CompileError PTC-R006 if the expression is not one.
    """
    if isinstance(dim, int):
        return dim
    try:
        return _evaluate(_parse(dim), sizes)
    except KeyError:
        return None
    except (SyntaxError, TypeError, ZeroDivisionError):
        raise CompileError(
            "PTC-R006", f"the manifest has the malformed dimension `{dim}`"
        ) from None


def shape_text(shape: tuple[int | str, ...], names: Mapping[str, str] | None = None) -> str:
    """`[batch, 3]`: a shape with the user's names for its symbols."""
    return f"[{', '.join(_dim_text(dim, names or {}) for dim in shape)}]"


def _dim_text(dim: int | str, names: Mapping[str, str]) -> str:
    if isinstance(dim, int):
        return str(dim)
    return re.sub(r"[A-Za-z_]\w*", lambda found: names.get(found[0], found[0]), dim)


@cache
def _parse(text: str) -> ast.expr:
    return ast.parse(text, mode="eval").body


def _evaluate(node: Any, sizes: Mapping[str, int]) -> int:
    match node:
        case ast.Constant(value=int(value)):
            return value
        case ast.Name(id=name):
            return sizes[name]
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_evaluate(operand, sizes)
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATORS:
            return _OPERATORS[type(op)](_evaluate(left, sizes), _evaluate(right, sizes))
        case ast.Call(func=ast.Name(id=name), args=arguments) if name in _FUNCTIONS:
            return _FUNCTIONS[name](*(_evaluate(a, sizes) for a in arguments))
        case _:
            raise TypeError(ast.dump(node))
