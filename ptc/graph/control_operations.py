"""What the operations of `Compute` mean: Python's own functions, and the kinds of their results.

Takes names of `control.OPERATIONS`, gives Python callables and kinds. Knows nothing of programs.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ptc.graph.control import OPERATIONS, NumberKind
from ptc.graph.set_tables import hash_end, hash_part

INT, FLOAT, BOOL = NumberKind.INT, NumberKind.FLOAT, NumberKind.BOOL

Kinds = frozenset[NumberKind]

KINDS: Mapping[type, NumberKind] = {int: INT, float: FLOAT, bool: BOOL}
_TYPES: Mapping[NumberKind, type] = {kind: cls for cls, kind in KINDS.items()}


def power(base: float, exponent: float) -> float:
    """`base ** exponent` of floats as C has it: infinite where Python's does not fit, and for a
    negative power of zero; NaN where Python's is complex."""
    base, exponent = float(base), float(exponent)
    try:
        return math.pow(base, exponent)
    except OverflowError:
        return math.copysign(math.inf, base) if exponent % 2 == 1 else math.inf
    except ValueError:
        if base != 0:
            return math.nan
        return math.copysign(math.inf, base) if exponent % 2 == 1 else math.inf


def number_hash(number: float) -> int:
    """`hash(number)`, which for a NaN is that of the object."""
    if number != number:
        raise ValueError("the hash of a NaN")
    return hash(number)


_NAMED: Mapping[str, Callable[..., Any]] = {
    "add": operator.add, "sub": operator.sub, "mul": operator.mul, "truediv": operator.truediv,
    "floordiv": operator.floordiv, "mod": operator.mod, "pow": operator.pow,
    "power": power, "neg": operator.neg, "pos": operator.pos, "abs": abs, "invert": operator.invert,
    "and": operator.and_, "or": operator.or_, "xor": operator.xor,
    "lshift": operator.lshift, "rshift": operator.rshift,
    "eq": operator.eq, "ne": operator.ne, "lt": operator.lt, "le": operator.le,
    "gt": operator.gt, "ge": operator.ge, "not": operator.not_,
    "int": int, "float": float, "bool": bool, "round": round, "round_to": round,
    "min": min, "max": max, "select": lambda condition, a, b: a if condition else b,
    "hash": number_hash, "hash_part": hash_part, "hash_end": hash_end,
}  # fmt: skip

#: Operation -> the Python function that it is.
FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    op: _NAMED[op] if op in _NAMED else getattr(math, op.removeprefix("math.")) for op in OPERATIONS
}

_ARITHMETIC = frozenset({"add", "sub", "mul", "floordiv", "mod", "neg", "pos", "abs"})
_BITWISE = frozenset({"and", "or", "xor"})
_INTEGER = frozenset(
    {"invert", "lshift", "rshift", "math.isqrt", "math.gcd", "hash_part", "hash_end"}
)
_CHOICE = frozenset({"min", "max", "select"})
_FIXED: Mapping[str, NumberKind] = {
    **dict.fromkeys(("eq", "ne", "lt", "le", "gt", "ge", "not", "bool"), BOOL),
    **dict.fromkeys(("math.isnan", "math.isinf", "math.isfinite"), BOOL),
    **dict.fromkeys(("int", "round", "math.floor", "math.ceil", "math.trunc", "hash"), INT),
    **dict.fromkeys(("truediv", "float", "power"), FLOAT),
}


def kind_of_number(value: object) -> NumberKind | None:
    """The kind of a Python number, None for anything else."""
    return KINDS.get(type(value))


def type_of_kind(kind: NumberKind) -> type:
    return _TYPES[kind]


def result_kinds(op: str, kinds: Sequence[NumberKind]) -> Kinds:
    """The kinds that the result can have; more than one where that depends on the values (`2 ** n`,
    the smaller of an int and a float). Empty if Python refuses operands of these kinds."""
    real = FLOAT in kinds
    if op in _FIXED:
        return frozenset({_FIXED[op]})
    if op in _ARITHMETIC:
        return frozenset({FLOAT if real else INT})
    if op in _BITWISE:
        return frozenset() if real else frozenset({INT if INT in kinds else BOOL})
    if op in _INTEGER:
        return frozenset() if real else frozenset({INT})
    if op in _CHOICE:
        return frozenset(kinds[1:] if op == "select" else kinds)
    if op == "pow":
        return frozenset({FLOAT} if real else {INT, FLOAT})
    if op == "round_to":
        return (
            frozenset() if kinds[1] is FLOAT else frozenset({FLOAT if kinds[0] is FLOAT else INT})
        )
    return frozenset({FLOAT})
