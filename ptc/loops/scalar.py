"""The table of scalar operations: names, arity and typing rules.

Owns what an `Apply` may say. Their meaning in NumPy is `scalar_numpy`, in C++ the code generator's
table. Floats follow IEEE with torch's conventions: `min` and `max` propagate NaN, `mod` and
`floordiv` are Python's, `fmod` and `truncdiv` are C's, `round` is half to even, `sign(nan)` is 0.
"""

from __future__ import annotations

import enum
from collections.abc import Sequence
from dataclasses import dataclass

from ptc.loops.nodes import DType


class Rule(enum.Enum):
    """How operand and result types relate."""

    ARITHMETIC = "arithmetic"  # number operands of the result's type (bool excluded)
    FLOAT = "float"  # f32, f64 operands of the result's type
    INTEGER = "integer"  # integer operands of the result's type
    BITS = "bits"  # integers or bools of the result's type
    ORDERED = "ordered"  # any real type or bool, the result's type
    COMPARE = "compare"  # operands of one type, result bool
    PREDICATE = "predicate"  # f32, f64 operand, result bool
    WHERE = "where"  # bool, then two operands of the result's type
    CAST = "cast"  # any type to any type, value kept as far as the type can
    BITCAST = "bitcast"  # same size, same bits
    PART = "part"  # a complex operand, result the type of its parts
    PAIR = "pair"  # two f32 or f64, result the complex type of such parts


@dataclass(frozen=True, slots=True)
class ScalarOp:
    """One row. `cost` is in rough units of an addition, for the scheduler's profit estimates."""

    name: str
    arity: int
    rule: Rule
    cost: int = 1


def _rows() -> list[ScalarOp]:
    rows = [
        ScalarOp("cast", 1, Rule.CAST),
        ScalarOp("bitcast", 1, Rule.BITCAST),
        ScalarOp("real", 1, Rule.PART),
        ScalarOp("imag", 1, Rule.PART),
        ScalarOp("complex", 2, Rule.PAIR),
        ScalarOp("where", 3, Rule.WHERE),
        ScalarOp("fma", 3, Rule.ARITHMETIC),
        ScalarOp("div", 2, Rule.FLOAT, 4),
        ScalarOp("sqrt", 1, Rule.FLOAT, 4),
        ScalarOp("rsqrt", 1, Rule.FLOAT, 6),
        ScalarOp("copysign", 2, Rule.FLOAT),
        ScalarOp("nextafter", 2, Rule.FLOAT, 4),
        ScalarOp("fmod", 2, Rule.ARITHMETIC, 16),
        ScalarOp("mod", 2, Rule.ARITHMETIC, 16),
        ScalarOp("floordiv", 2, Rule.ARITHMETIC, 16),
        ScalarOp("truncdiv", 2, Rule.INTEGER, 16),
        ScalarOp("pow", 2, Rule.ARITHMETIC, 40),
        ScalarOp("min", 2, Rule.ORDERED),
        ScalarOp("max", 2, Rule.ORDERED),
        ScalarOp("isnan", 1, Rule.PREDICATE),
        ScalarOp("isinf", 1, Rule.PREDICATE),
    ]
    rows += [ScalarOp(n, 2, Rule.ARITHMETIC) for n in ("add", "sub", "mul")]
    rows += [ScalarOp(n, 1, Rule.ARITHMETIC) for n in ("neg", "abs", "sign")]
    rows += [ScalarOp(n, 1, Rule.FLOAT) for n in ("floor", "ceil", "trunc", "round")]
    rows += [ScalarOp(n, 2, Rule.COMPARE) for n in ("eq", "ne", "lt", "le", "gt", "ge")]
    rows += [ScalarOp(n, 2, Rule.BITS) for n in ("and", "or", "xor")]
    rows += [ScalarOp("not", 1, Rule.BITS)]
    rows += [ScalarOp(n, 2, Rule.INTEGER) for n in ("shl", "shr")]
    transcendental = (
        "exp exp2 expm1 log log1p log2 log10 sin cos tan asin acos atan sinh cosh tanh asinh acosh "
        "atanh erf erfc erfinv lgamma digamma sigmoid"
    )
    rows += [ScalarOp(n, 1, Rule.FLOAT, 20) for n in transcendental.split()]
    rows += [ScalarOp(n, 2, Rule.FLOAT, 20) for n in ("atan2", "hypot")]
    return rows


OPS: dict[str, ScalarOp] = {row.name: row for row in _rows()}

REDUCTIONS = ("add", "mul", "min", "max", "any", "all", "argmin", "argmax")
STORE_REDUCTIONS = ("add", "mul", "min", "max")

_LOW = (DType.F16, DType.BF16)
_COMPLEX = (DType.C64, DType.C128)
_PARTS = {DType.C64: DType.F32, DType.C128: DType.F64}
_PAIRS = {part: dtype for dtype, part in _PARTS.items()}
_COMPLEX_OPS = ("add", "sub", "mul", "div", "neg", "fma")


def compute_dtype(dtype: DType) -> DType:
    """The type to compute in: f32 for f16 and bf16, itself otherwise."""
    return DType.F32 if dtype in _LOW else dtype


def type_error(op: str, args: Sequence[DType], result: DType) -> str | None:
    """Why `op` on `args` giving `result` is ill-typed, or None."""
    row = OPS.get(op)
    if row is None:
        return f"no scalar operation is called {op!r}"
    if len(args) != row.arity:
        return f"{op} takes {row.arity} operands, got {len(args)}"
    if _well_typed(row, args, result):
        return None
    shown = ", ".join(a.value for a in args)
    return f"{op}({shown}) cannot give {result.value}"


def _well_typed(row: ScalarOp, args: Sequence[DType], result: DType) -> bool:
    rule = row.rule
    first = args[0]
    if rule is Rule.CAST:
        return True
    if rule is Rule.BITCAST:
        return first.itemsize == result.itemsize
    if rule is Rule.WHERE:
        return first is DType.BOOL and args[1] is result and args[2] is result
    if any(a is not first for a in args) or first in _LOW:
        return False
    if rule is Rule.PART:
        return _PARTS.get(first) is result
    if rule is Rule.PAIR:
        return _PAIRS.get(first) is result
    if rule is Rule.COMPARE:
        return result is DType.BOOL and (first not in _COMPLEX or row.name in ("eq", "ne"))
    if rule is Rule.PREDICATE:
        return result is DType.BOOL and first.is_float
    if first is not result:
        return False
    if first in _COMPLEX:
        return row.name in _COMPLEX_OPS
    if rule is Rule.ARITHMETIC:
        return first is not DType.BOOL
    if rule is Rule.FLOAT:
        return first.is_float
    if rule is Rule.INTEGER:
        return first.is_int
    if rule is Rule.BITS:
        return first.is_int or first is DType.BOOL
    return True


def result_dtype(op: str, args: Sequence[DType]) -> DType:
    """The result type that the operands imply (not for casts)."""
    rule = OPS[op].rule
    if rule in (Rule.COMPARE, Rule.PREDICATE):
        return DType.BOOL
    if rule is Rule.PART:
        return _PARTS.get(args[0], args[0])
    return _PAIRS.get(args[0], args[0]) if rule is Rule.PAIR else args[-1]
