"""Python's numbers in ONNX: ints are 0-d int64, floats 0-d double, bools 0-d bool, with Python's
meaning of each operation. An int that does not fit 64 bits wraps.

Takes names of `ptc.graph.control.OPERATIONS` and 0-d tensors, writes to a builder.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch

from ptc.exporters.onnx.builder import Builder
from ptc.graph.control import NumberKind
from ptc.graph.control_operations import result_kinds
from ptc.loops.nodes import DType
from ptc.ops.onnx_protocol import OnnxTensor
from ptc.support.diagnostics import CompileError

TYPES: Mapping[NumberKind, DType] = {
    NumberKind.INT: DType.I64,
    NumberKind.FLOAT: DType.F64,
    NumberKind.BOOL: DType.BOOL,
}
_KINDS = {dtype: kind for kind, dtype in TYPES.items()}

#: Above it a double has no digits behind the point.
_WHOLE = 2.0**52
#: Splits a double into two halves of 26 bits (Veltkamp).
_SPLIT = 2.0**27 + 1


def compute(builder: Builder, op: str, args: Sequence[OnnxTensor], dtype: DType) -> OnnxTensor:
    """`op(*args)` as a number of `dtype`. Raises CompileError PTC-E025 where ONNX has no form of
    it."""
    return convert(builder, _Numbers(builder).apply(op, list(args), dtype), dtype)


def convert(builder: Builder, x: OnnxTensor, dtype: DType) -> OnnxTensor:
    """A number in another type, as Python's `int`, `float` and `bool` have it."""
    if dtype is DType.BOOL and x.dtype is not DType.BOOL:
        return builder.op("Not", _equal(builder, x, builder.constant(0, x.dtype)))
    return builder.cast(x, dtype)


def _equal(builder: Builder, x: OnnxTensor, y: OnnxTensor) -> OnnxTensor:
    return builder.op("Equal", x, y, dtype=DType.BOOL)


class _Numbers:
    """The operations. Operands are taken as Python takes them: bools count as ints."""

    def __init__(self, builder: Builder) -> None:
        self._b = builder

    def apply(self, op: str, args: list[OnnxTensor], dtype: DType) -> OnnxTensor:
        b = self._b
        if op in _COMPARISONS:
            x, y = self.alike(args)
            return b.op(_COMPARISONS[op], x, y, dtype=DType.BOOL)
        if op in ("int", "float", "bool", "pos", "math.trunc"):
            return args[0]
        if op == "not":
            return b.op("Not", convert(b, args[0], DType.BOOL))
        if op == "ne":
            return b.op("Not", self.apply("eq", args, DType.BOOL))
        if op in _DOUBLES:
            return b.op(_DOUBLES[op], b.cast(args[0], DType.F64))
        own: Callable[..., OnnxTensor] | None = getattr(self, f"op_{op.replace('.', '_')}", None)
        if own is None:
            raise CompileError(
                "PTC-E025",
                f"ONNX has no form of Python's `{op.removeprefix('math.')}` of numbers",
                hint="compute it with tensors, or export with `--format ptir`",
            )
        return own(*args, dtype)

    # --- helpers ------------------------------------------------------------------------------

    def alike(self, args: Sequence[OnnxTensor]) -> list[OnnxTensor]:
        """As ints, or as floats where one is."""
        wide = DType.F64 if any(arg.dtype is DType.F64 for arg in args) else DType.I64
        return [self._b.cast(arg, wide) for arg in args]

    def real(self, value: float) -> OnnxTensor:
        return self._b.constant(value, DType.F64)

    def whole(self, value: int) -> OnnxTensor:
        return self._b.constant(value, DType.I64)

    def where(self, condition: OnnxTensor, x: OnnxTensor, y: OnnxTensor) -> OnnxTensor:
        b = self._b
        if x.dtype is DType.BOOL:
            chosen = b.op("And", condition, x)
            return b.op("Or", chosen, b.op("And", b.op("Not", condition), y))
        return b.op("Where", condition, x, y, dtype=x.dtype)

    def less(self, x: OnnxTensor, y: OnnxTensor) -> OnnxTensor:
        return self._b.op("Less", x, y, dtype=DType.BOOL)

    def plain(self, kind: str, args: Sequence[OnnxTensor]) -> OnnxTensor:
        return self._b.op(kind, *self.alike(args))

    def divisor(self, y: OnnxTensor) -> OnnxTensor:
        """What an int is divided by. Zero raises in Python; where that was left out nothing depends
        on the result, but a runtime must not stop."""
        return self.where(_equal(self._b, y, self.whole(0)), self.whole(1), y)

    def with_sign(self, x: OnnxTensor, sign: OnnxTensor) -> OnnxTensor:
        """|x| with the sign of another number, that of a zero too."""
        b = self._b
        one = b.op("Div", self.real(1.0), sign)  # tells -0.0 from 0.0
        negative = b.op("Or", self.less(sign, self.real(0.0)), self.less(one, self.real(0.0)))
        size = b.op("Abs", x)
        return self.where(negative, b.op("Neg", size), size)

    # --- arithmetic ---------------------------------------------------------------------------

    def op_add(self, x: OnnxTensor, y: OnnxTensor, dtype: DType) -> OnnxTensor:
        return self.plain("Add", (x, y))

    def op_sub(self, x: OnnxTensor, y: OnnxTensor, dtype: DType) -> OnnxTensor:
        return self.plain("Sub", (x, y))

    def op_mul(self, x: OnnxTensor, y: OnnxTensor, dtype: DType) -> OnnxTensor:
        return self.plain("Mul", (x, y))

    def op_neg(self, x: OnnxTensor, dtype: DType) -> OnnxTensor:
        return self.plain("Neg", (x,))

    def op_abs(self, x: OnnxTensor, dtype: DType) -> OnnxTensor:
        return self.plain("Abs", (x,))

    def op_truediv(self, x: OnnxTensor, y: OnnxTensor, dtype: DType) -> OnnxTensor:
        """Of ints that a double holds."""
        return self._b.op("Div", self._b.cast(x, DType.F64), self._b.cast(y, DType.F64))

    def op_mod(self, x: OnnxTensor, y: OnnxTensor, dtype: DType) -> OnnxTensor:
        """The remainder has the sign of the divisor."""
        b = self._b
        x, y = self.alike((x, y))
        if x.dtype is DType.I64:
            return b.op("Mod", x, self.divisor(y))
        rest = b.op("Mod", x, y, fmod=1)
        zero = self.real(0.0)
        other = b.op("Xor", self.less(rest, zero), self.less(y, zero))
        moved = self.where(other, b.op("Add", rest, y), rest)
        return self.where(_equal(b, rest, zero), self.with_sign(rest, y), moved)

    def op_floordiv(self, x: OnnxTensor, y: OnnxTensor, dtype: DType) -> OnnxTensor:
        """As CPython has it: what is left after the remainder, divided."""
        b = self._b
        x, y = self.alike((x, y))
        rest = self.op_mod(x, y, dtype)
        if x.dtype is DType.I64:
            return b.op("Div", b.op("Sub", x, rest), self.divisor(y))
        quotient = b.op("Div", b.op("Sub", x, rest), y)
        floor = b.op("Floor", quotient)
        above = self.less(self.real(0.5), b.op("Sub", quotient, floor))
        floor = self.where(above, b.op("Add", floor, self.real(1.0)), floor)
        zero = self.with_sign(self.real(0.0), b.op("Div", x, y))
        return self.where(_equal(b, quotient, self.real(0.0)), zero, floor)

    def op_pow(self, x: OnnxTensor, y: OnnxTensor, dtype: DType) -> OnnxTensor:
        """Of ints by squaring: runtimes take powers of ints with doubles."""
        if dtype is DType.F64:
            return self.op_power(x, y, dtype)
        b = self._b
        base, left = self.alike((x, y))
        result = self.whole(1)
        for bit in range(6):  # |base| > 1 overflows beyond 63
            odd = b.op("Mod", left, self.whole(2))
            factor = self.where(_equal(b, odd, self.whole(1)), base, self.whole(1))
            result = b.op("Mul", result, factor)
            left = b.op("Div", left, self.whole(2))
            if bit < 5:
                base = b.op("Mul", base, base)
        small = self.less(self.whole(63), b.cast(y, DType.I64))
        even = _equal(b, b.op("Mod", b.cast(y, DType.I64), self.whole(2)), self.whole(0))
        first = b.cast(x, DType.I64)
        unit = self.where(even, b.op("Mul", first, first), first)  # -1, 0, 1
        return self.where(small, unit, result)

    def op_power(self, x: OnnxTensor, y: OnnxTensor, dtype: DType) -> OnnxTensor:
        return self._b.op("Pow", self._b.cast(x, DType.F64), self._b.cast(y, DType.F64))

    op_math_pow = op_power

    # --- bits ---------------------------------------------------------------------------------

    def _bits(self, kind: str, x: OnnxTensor, y: OnnxTensor) -> OnnxTensor:
        if x.dtype is y.dtype is DType.BOOL:
            return self._b.op(kind, x, y)
        return self.plain(f"Bitwise{kind}", (x, y))

    def op_and(self, x: OnnxTensor, y: OnnxTensor, dtype: DType) -> OnnxTensor:
        return self._bits("And", x, y)

    def op_or(self, x: OnnxTensor, y: OnnxTensor, dtype: DType) -> OnnxTensor:
        return self._bits("Or", x, y)

    def op_xor(self, x: OnnxTensor, y: OnnxTensor, dtype: DType) -> OnnxTensor:
        return self._bits("Xor", x, y)

    def op_invert(self, x: OnnxTensor, dtype: DType) -> OnnxTensor:
        return self._b.op("BitwiseNot", self._b.cast(x, DType.I64))

    def op_lshift(self, x: OnnxTensor, y: OnnxTensor, dtype: DType) -> OnnxTensor:
        return self._b.op("Mul", self._b.cast(x, DType.I64), self._two_to(y))

    def op_rshift(self, x: OnnxTensor, y: OnnxTensor, dtype: DType) -> OnnxTensor:
        x = self._b.cast(x, DType.I64)
        far = self._b.op("Not", self.less(self._b.cast(y, DType.I64), self.whole(63)))
        sign = self.where(self.less(x, self.whole(0)), self.whole(-1), self.whole(0))
        return self.where(far, sign, self.op_floordiv(x, self._two_to(y), dtype))

    def _two_to(self, y: OnnxTensor) -> OnnxTensor:
        return self.op_pow(self.whole(2), y, DType.I64)

    # --- choices and rounding -----------------------------------------------------------------

    def op_min(self, x: OnnxTensor, y: OnnxTensor, dtype: DType) -> OnnxTensor:
        return self._extremum(x, y, dtype, swap=False)

    def op_max(self, x: OnnxTensor, y: OnnxTensor, dtype: DType) -> OnnxTensor:
        return self._extremum(x, y, dtype, swap=True)

    def _extremum(self, x: OnnxTensor, y: OnnxTensor, dtype: DType, *, swap: bool) -> OnnxTensor:
        """The first one, unless the second is beyond it."""
        pair = self.alike((x, y))
        beyond = self.less(*pair) if swap else self.less(*reversed(pair))
        return self.where(beyond, convert(self._b, y, dtype), convert(self._b, x, dtype))

    def op_select(
        self, condition: OnnxTensor, x: OnnxTensor, y: OnnxTensor, dtype: DType
    ) -> OnnxTensor:
        holds = convert(self._b, condition, DType.BOOL)
        return self.where(holds, convert(self._b, x, dtype), convert(self._b, y, dtype))

    def op_round(self, x: OnnxTensor, dtype: DType) -> OnnxTensor:
        return self._b.op("Round", x) if x.dtype is DType.F64 else x

    def op_round_to(self, x: OnnxTensor, digits: OnnxTensor, dtype: DType) -> OnnxTensor:
        """To the decimal that is nearest to the exact value, even in a tie: the product with a
        power of ten is exact as the sum of two doubles."""
        b = self._b
        if x.dtype is not DType.F64:
            raise CompileError("PTC-E025", "ONNX has no form of an int rounded to digits")
        content = b.values[digits.name].const_value
        count = int(content.numpy()) if content is not None else -1
        if not 0 <= count <= 22:
            raise CompileError(
                "PTC-E025", "ONNX rounds to a number of digits that is fixed, from 0 to 22"
            )
        scale = self.real(10.0**count)
        high = b.op("Mul", x, scale)
        low = self._product_error(x, scale, high)
        nearest = b.op("Round", high)
        off = b.op("Sub", high, nearest)
        half = self.real(0.5)
        zero = self.real(0.0)
        # `Round` has seen a tie where there is none: the rest says to which side
        up = b.op("And", _equal(b, off, half), self.less(zero, low))
        down = b.op("And", _equal(b, off, b.op("Neg", half)), self.less(low, zero))
        nearest = self.where(up, b.op("Add", nearest, self.real(1.0)), nearest)
        nearest = self.where(down, b.op("Sub", nearest, self.real(1.0)), nearest)
        rounded = self.with_sign(b.op("Div", nearest, scale), x)
        keeps = self.less(self.real(_WHOLE), b.op("Abs", high))
        keeps = b.op("Or", keeps, b.op("IsNaN", x, dtype=DType.BOOL))
        return self.where(keeps, x, rounded)

    def _product_error(self, x: OnnxTensor, y: OnnxTensor, product: OnnxTensor) -> OnnxTensor:
        """What x * y is beyond the rounded product, exactly (Dekker)."""
        b = self._b
        (xh, xl), (yh, yl) = self._halves(x), self._halves(y)
        rest = b.op("Sub", b.op("Mul", xh, yh), product)
        rest = b.op("Add", rest, b.op("Mul", xh, yl))
        rest = b.op("Add", rest, b.op("Mul", xl, yh))
        return b.op("Add", rest, b.op("Mul", xl, yl))

    def _halves(self, x: OnnxTensor) -> tuple[OnnxTensor, OnnxTensor]:
        b = self._b
        wide = b.op("Mul", x, self.real(_SPLIT))
        high = b.op("Sub", wide, b.op("Sub", wide, x))
        return high, b.op("Sub", x, high)

    # --- math ---------------------------------------------------------------------------------

    def op_math_floor(self, x: OnnxTensor, dtype: DType) -> OnnxTensor:
        return self._b.op("Floor", x) if x.dtype is DType.F64 else x

    def op_math_ceil(self, x: OnnxTensor, dtype: DType) -> OnnxTensor:
        return self._b.op("Ceil", x) if x.dtype is DType.F64 else x

    def op_math_tan(self, x: OnnxTensor, dtype: DType) -> OnnxTensor:
        wide = self._b.cast(x, DType.F64)
        return self._b.op("Div", self._b.op("Sin", wide), self._b.op("Cos", wide))

    def op_math_log2(self, x: OnnxTensor, dtype: DType) -> OnnxTensor:
        return self._scaled_log(x, math.log(2.0))

    def op_math_log10(self, x: OnnxTensor, dtype: DType) -> OnnxTensor:
        return self._scaled_log(x, math.log(10.0))

    def _scaled_log(self, x: OnnxTensor, unit: float) -> OnnxTensor:
        return self._b.op("Div", self._b.op("Log", self._b.cast(x, DType.F64)), self.real(unit))

    def op_math_exp2(self, x: OnnxTensor, dtype: DType) -> OnnxTensor:
        return self.op_power(self.real(2.0), x, dtype)

    def op_math_hypot(self, x: OnnxTensor, y: OnnxTensor, dtype: DType) -> OnnxTensor:
        """Scaled by the larger one, so that squares fit."""
        b = self._b
        a, c = (b.op("Abs", b.cast(value, DType.F64)) for value in (x, y))
        large, small = b.op("Max", a, c), b.op("Min", a, c)
        ratio = b.op("Div", small, self.where(_equal(b, large, self.real(0.0)), self.real(1.0),
                                              large))  # fmt: skip
        root = b.op("Sqrt", b.op("Add", self.real(1.0), b.op("Mul", ratio, ratio)))
        endless = b.op("Or", *(b.op("IsInf", value, dtype=DType.BOOL) for value in (a, c)))
        return self.where(endless, self.real(math.inf), b.op("Mul", large, root))

    def op_math_fmod(self, x: OnnxTensor, y: OnnxTensor, dtype: DType) -> OnnxTensor:
        b = self._b
        return b.op("Mod", b.cast(x, DType.F64), b.cast(y, DType.F64), fmod=1)

    def op_math_copysign(self, x: OnnxTensor, y: OnnxTensor, dtype: DType) -> OnnxTensor:
        return self.with_sign(self._b.cast(x, DType.F64), self._b.cast(y, DType.F64))

    def op_math_isnan(self, x: OnnxTensor, dtype: DType) -> OnnxTensor:
        return self._b.op("IsNaN", self._b.cast(x, DType.F64), dtype=DType.BOOL)

    def op_math_isinf(self, x: OnnxTensor, dtype: DType) -> OnnxTensor:
        return self._b.op("IsInf", self._b.cast(x, DType.F64), dtype=DType.BOOL)

    def op_math_isfinite(self, x: OnnxTensor, dtype: DType) -> OnnxTensor:
        either = self._b.op("Or", self.op_math_isnan(x, dtype), self.op_math_isinf(x, dtype))
        return self._b.op("Not", either)

    def op_math_degrees(self, x: OnnxTensor, dtype: DType) -> OnnxTensor:
        return self._b.op("Mul", self._b.cast(x, DType.F64), self.real(180.0 / math.pi))

    def op_math_radians(self, x: OnnxTensor, dtype: DType) -> OnnxTensor:
        return self._b.op("Mul", self._b.cast(x, DType.F64), self.real(math.pi / 180.0))

    def op_math_sinh(self, x: OnnxTensor, dtype: DType) -> OnnxTensor:
        return self._halved_exponents(x, "Sub")

    def op_math_cosh(self, x: OnnxTensor, dtype: DType) -> OnnxTensor:
        return self._halved_exponents(x, "Add")

    def _halved_exponents(self, x: OnnxTensor, kind: str) -> OnnxTensor:
        b = self._b
        wide = b.cast(x, DType.F64)
        sum_ = b.op(kind, b.op("Exp", wide), b.op("Exp", b.op("Neg", wide)))
        return b.op("Mul", sum_, self.real(0.5))


_COMPARISONS = {
    "eq": "Equal", "lt": "Less", "le": "LessOrEqual", "gt": "Greater", "ge": "GreaterOrEqual",
}  # fmt: skip

#: Operators that runtimes have for doubles.
_DOUBLES = {
    "math.sqrt": "Sqrt", "math.exp": "Exp", "math.log": "Log", "math.sin": "Sin",
    "math.cos": "Cos", "math.tanh": "Tanh", "math.fabs": "Abs",
}  # fmt: skip

_FUNCTIONS: Mapping[Any, str] = {
    operator.add: "add", operator.sub: "sub", operator.mul: "mul", operator.truediv: "truediv",
    operator.floordiv: "floordiv", operator.mod: "mod", operator.pow: "pow", operator.neg: "neg",
    operator.eq: "eq", operator.ne: "ne", operator.lt: "lt", operator.le: "le", operator.gt: "gt",
    operator.ge: "ge", operator.and_: "and", operator.or_: "or", operator.abs: "abs",
    torch.sym_float: "float", torch.sym_int: "int", torch.sym_not: "not", torch.sym_max: "max",
    torch.sym_min: "min", torch.sym_ite: "select", math.floor: "math.floor",
    math.ceil: "math.ceil", math.trunc: "math.trunc", math.sqrt: "math.sqrt", round: "round",
}  # fmt: skip


def number_call(
    builder: Builder, target: Any, args: Sequence[OnnxTensor], dtype: DType
) -> OnnxTensor | None:
    """A node of a graph that computes a number of numbers; None if it is none."""
    op = _FUNCTIONS.get(target)
    if op is None:
        return None
    kinds = [_KINDS.get(arg.dtype) for arg in args]
    known = [kind for kind in kinds if kind is not None]
    if len(known) < len(kinds) or not result_kinds(op, known):
        return None
    return compute(builder, op, args, dtype)
