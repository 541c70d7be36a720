"""Building scalar expressions: typed, with light constant folding.

Every function takes expressions or Python numbers (which take the type of the other operand) and
raises TypeError for operands that `ptc.loops.scalar` does not allow. Folding is exact: it never
changes a bit of the result, NaN, infinities and signed zeros included.
"""

from __future__ import annotations

import math

from ptc.loops.index import Index
from ptc.loops.nodes import Apply, DType, Expr, IndexValue, Literal, Load, Ref
from ptc.loops.scalar import compute_dtype, result_dtype, type_error

Value = Literal | IndexValue | Load | Apply | Ref | int | float | bool


def literal(value: float | int | bool, dtype: DType) -> Literal:
    """`value` as a constant of `dtype`: rounded to nearest even, truncated and wrapped for ints."""
    if dtype is DType.BOOL:
        return Literal(bool(value), dtype)
    if dtype.is_int:
        return Literal(_wrap(int(value), dtype), dtype)
    return Literal(_rounded(float(value), dtype), dtype)


def _rounded(value: float, dtype: DType) -> float:
    """The nearest value of a float type, so that a literal's `value` is always exact."""
    if dtype not in _FLOAT_FORMATS or not math.isfinite(value) or value == 0.0:
        return value
    digits, least_exponent, limit = _FLOAT_FORMATS[dtype]
    _, exponent = math.frexp(value)
    unit = max(exponent, least_exponent) - digits
    # round() is half to even and exact here: both scalings are by powers of two.
    result = math.ldexp(round(math.ldexp(value, -unit)), unit)
    return math.copysign(result if abs(result) < limit else math.inf, value)


# Digits of the significand, least exponent (as of frexp), first power of two that overflows.
_FLOAT_FORMATS = {
    DType.F32: (24, -125, 2.0**128),
    DType.F16: (11, -13, 65536.0),
    DType.BF16: (8, -125, 2.0**128),
}


def _wrap(value: int, dtype: DType) -> int:
    bits = 8 * dtype.itemsize
    value &= (1 << bits) - 1
    if dtype is not DType.U8 and value >> (bits - 1):
        value -= 1 << bits
    return value


def index_value(index: Index | int, dtype: DType = DType.I64) -> Expr:
    """An index expression as a value."""
    index = Index.of(index)
    if index.constant is not None:
        return literal(index.constant, dtype)
    return IndexValue(index, dtype)


def cast(x: Expr, dtype: DType) -> Expr:
    """`x` converted to `dtype`; rounds to nearest even, truncates floats to integers, as C does."""
    if x.dtype is dtype:
        return x
    if isinstance(x, Literal):
        folded = _cast_literal(x, dtype)
        if folded is not None:
            return folded
    if isinstance(x, Apply) and x.op == "cast" and _lossless(x.args[0].dtype, x.dtype):
        # widening and then converting is converting, except that float to integer truncates both
        return cast(x.args[0], dtype)
    return Apply("cast", (x,), dtype)


def _cast_literal(x: Literal, dtype: DType) -> Literal | None:
    if dtype in (DType.C64, DType.C128):
        return None
    if dtype.is_int and isinstance(x.value, float) and not abs(x.value) < 2**63:
        return None
    return literal(x.value, dtype)


_WIDENINGS = {
    DType.BOOL: (DType.U8, DType.I8, DType.I16, DType.I32, DType.I64, DType.F16, DType.BF16,
                 DType.F32, DType.F64),
    DType.U8: (DType.I16, DType.I32, DType.I64, DType.F16, DType.BF16, DType.F32, DType.F64),
    DType.I8: (DType.I16, DType.I32, DType.I64, DType.F16, DType.BF16, DType.F32, DType.F64),
    DType.I16: (DType.I32, DType.I64, DType.F32, DType.F64),
    DType.I32: (DType.I64, DType.F64),
    DType.F16: (DType.F32, DType.F64),
    DType.BF16: (DType.F32, DType.F64),
    DType.F32: (DType.F64,),
}  # fmt: skip


def _lossless(source: DType, target: DType) -> bool:
    return target in _WIDENINGS.get(source, ())


def widen(x: Expr) -> Expr:
    """`x` in the type to compute in (f16 and bf16 become f32)."""
    return cast(x, compute_dtype(x.dtype))


def where(condition: Expr, a: Value, b: Value) -> Expr:
    """`a` where `condition` holds, else `b`."""
    x, y = _coerce_pair(a, b)
    if isinstance(condition, Literal):
        return x if condition.value else y
    if x == y:
        return x
    return _checked("where", (condition, x, y), x.dtype)


def _coerce_pair(a: Value, b: Value) -> tuple[Expr, Expr]:
    if isinstance(a, bool | int | float):
        if isinstance(b, bool | int | float):
            raise TypeError("two Python numbers: give one of them a type with literal()")
        return literal(a, b.dtype), b
    if isinstance(b, bool | int | float):
        return a, literal(b, a.dtype)
    return a, b


def _checked(op: str, args: tuple[Expr, ...], dtype: DType) -> Expr:
    problem = type_error(op, [a.dtype for a in args], dtype)
    if problem:
        raise TypeError(problem)
    return Apply(op, args, dtype)


def apply(op: str, *args: Value) -> Expr:
    """Operation `op` of the scalar table (all but `cast` and `bitcast`, which need a type)."""
    typed = next((a for a in args if not isinstance(a, bool | int | float)), None)
    if typed is None:
        raise TypeError(f"{op}: all operands are Python numbers")
    exprs = tuple(
        [literal(a, typed.dtype) if isinstance(a, bool | int | float) else a for a in args]
    )
    if op == "where":
        return where(*exprs)
    folded = _fold(op, exprs)
    if folded is not None:
        return folded
    return _checked(op, exprs, result_dtype(op, [a.dtype for a in exprs]))


def _fold(op: str, args: tuple[Expr, ...]) -> Expr | None:
    if len(args) == 2:
        return _fold_binary(op, *args)
    if op == "not" and isinstance(args[0], Literal) and args[0].dtype is DType.BOOL:
        return Literal(not args[0].value, DType.BOOL)
    if op == "neg" and isinstance(args[0], Literal):
        return literal(-args[0].value, args[0].dtype)
    return None


def _fold_binary(op: str, a: Expr, b: Expr) -> Expr | None:
    if a.dtype is not b.dtype:
        return None
    if op in ("and", "or") and a.dtype is DType.BOOL:
        for x, y in ((a, b), (b, a)):
            if isinstance(x, Literal):
                return y if bool(x.value) == (op == "and") else x
        return None
    if isinstance(b, Literal) and not isinstance(a, Literal):
        if op in ("mul", "div") and b.value == 1 and b.dtype is not DType.BOOL:
            return a
        if op in ("add", "sub") and b.dtype.is_int and b.value == 0:
            return a
    if isinstance(a, Literal) and not isinstance(b, Literal):
        if op == "mul" and a.value == 1 and a.dtype is not DType.BOOL:
            return b
        if op == "add" and a.dtype.is_int and a.value == 0:
            return b
    if isinstance(a, Literal) and isinstance(b, Literal):
        return _fold_literals(op, a, b)
    return _fold_indices(op, a, b)


def _fold_literals(op: str, a: Literal, b: Literal) -> Expr | None:
    x, y = a.value, b.value
    compare = {"eq": x == y, "ne": x != y, "lt": x < y, "le": x <= y, "gt": x > y, "ge": x >= y}
    if op in compare:
        return Literal(compare[op], DType.BOOL)
    if not a.dtype.is_int:
        return None
    x, y = int(x), int(y)
    if op == "add":
        return literal(x + y, a.dtype)
    if op == "sub":
        return literal(x - y, a.dtype)
    if op == "mul":
        return literal(x * y, a.dtype)
    return None


def _fold_indices(op: str, a: Expr, b: Expr) -> Expr | None:
    """Integer arithmetic on index expressions stays index arithmetic, which simplifies."""
    if a.dtype is not DType.I64 or op not in ("add", "sub", "mul"):
        return None
    x, y = _as_index(a), _as_index(b)
    if x is None or y is None:
        return None
    if op == "mul":
        return index_value(x * y)
    return index_value(x + y if op == "add" else x - y)


def _as_index(x: Expr) -> Index | None:
    if isinstance(x, IndexValue):
        return x.index
    return Index.const(int(x.value)) if isinstance(x, Literal) else None


def bitcast(x: Expr, dtype: DType) -> Expr:
    """The bits of `x` read as `dtype`, of the same size."""
    return x if x.dtype is dtype else _checked("bitcast", (x,), dtype)


# --- one function an operation; names that Python takes end in an underscore ---------------------


def add(a: Value, b: Value) -> Expr:
    return apply("add", a, b)


def sub(a: Value, b: Value) -> Expr:
    return apply("sub", a, b)


def mul(a: Value, b: Value) -> Expr:
    return apply("mul", a, b)


def div(a: Value, b: Value) -> Expr:
    """Float division."""
    return apply("div", a, b)


def floordiv(a: Value, b: Value) -> Expr:
    """Python's `//`."""
    return apply("floordiv", a, b)


def truncdiv(a: Value, b: Value) -> Expr:
    """C's integer `/`."""
    return apply("truncdiv", a, b)


def mod(a: Value, b: Value) -> Expr:
    """Python's `%`."""
    return apply("mod", a, b)


def fmod(a: Value, b: Value) -> Expr:
    """C's remainder, with the sign of `a`."""
    return apply("fmod", a, b)


def min_(a: Value, b: Value) -> Expr:
    """The smaller; NaN if either is."""
    return apply("min", a, b)


def max_(a: Value, b: Value) -> Expr:
    """The larger; NaN if either is."""
    return apply("max", a, b)


def pow_(a: Value, b: Value) -> Expr:
    return apply("pow", a, b)


def neg(a: Value) -> Expr:
    return apply("neg", a)


def abs_(a: Value) -> Expr:
    return apply("abs", a)


def sqrt(a: Value) -> Expr:
    return apply("sqrt", a)


def rsqrt(a: Value) -> Expr:
    return apply("rsqrt", a)


def exp(a: Value) -> Expr:
    return apply("exp", a)


def log(a: Value) -> Expr:
    return apply("log", a)


def tanh(a: Value) -> Expr:
    return apply("tanh", a)


def erf(a: Value) -> Expr:
    return apply("erf", a)


def sigmoid(a: Value) -> Expr:
    return apply("sigmoid", a)


def eq(a: Value, b: Value) -> Expr:
    return apply("eq", a, b)


def ne(a: Value, b: Value) -> Expr:
    return apply("ne", a, b)


def lt(a: Value, b: Value) -> Expr:
    return apply("lt", a, b)


def le(a: Value, b: Value) -> Expr:
    return apply("le", a, b)


def gt(a: Value, b: Value) -> Expr:
    return apply("gt", a, b)


def ge(a: Value, b: Value) -> Expr:
    return apply("ge", a, b)


def and_(a: Value, b: Value) -> Expr:
    """Logical on bools, bitwise on integers."""
    return apply("and", a, b)


def or_(a: Value, b: Value) -> Expr:
    """Logical on bools, bitwise on integers."""
    return apply("or", a, b)


def xor(a: Value, b: Value) -> Expr:
    return apply("xor", a, b)


def not_(a: Value) -> Expr:
    """Logical on bools, bitwise on integers."""
    return apply("not", a)


def isnan(a: Value) -> Expr:
    return apply("isnan", a)


def isinf(a: Value) -> Expr:
    return apply("isinf", a)


def fma(a: Value, b: Value, c: Value) -> Expr:
    """`a * b + c`, rounded once where the target can."""
    return apply("fma", a, b, c)
