"""What each scalar operation means, in NumPy: the reference for every code generator.

Values of type bf16 are float32 arrays whose elements are exact bf16 values (NumPy has no bf16);
all other types are NumPy's own. Functions take arrays of the operands' types and return an array of
the result's type.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from ptc.loops.nodes import DType

Array = npt.NDArray[Any]

VALUE_TYPES: dict[DType, np.dtype[Any]] = {
    DType.F64: np.dtype(np.float64),
    DType.F32: np.dtype(np.float32),
    DType.F16: np.dtype(np.float16),
    DType.BF16: np.dtype(np.float32),
    DType.I64: np.dtype(np.int64),
    DType.I32: np.dtype(np.int32),
    DType.I16: np.dtype(np.int16),
    DType.I8: np.dtype(np.int8),
    DType.U8: np.dtype(np.uint8),
    DType.BOOL: np.dtype(np.bool_),
    DType.C64: np.dtype(np.complex64),
    DType.C128: np.dtype(np.complex128),
}

STORAGE_TYPES: dict[DType, np.dtype[Any]] = {**VALUE_TYPES, DType.BF16: np.dtype(np.uint16)}


def round_bf16(x: Array) -> Array:
    """float32 values rounded to the nearest bf16 (half to even), NaN kept."""
    bits = np.asarray(x, np.float32, order="C").view(np.uint32)
    rounded = (bits + np.uint32(0x7FFF) + ((bits >> np.uint32(16)) & np.uint32(1))) & np.uint32(
        0xFFFF0000
    )
    return np.where(np.isnan(x), np.float32(np.nan), rounded.view(np.float32))


def from_storage(x: Array, dtype: DType) -> Array:
    """Elements of a buffer as values."""
    if dtype is DType.BF16:
        return (x.astype(np.uint32) << np.uint32(16)).view(np.float32)
    return x


def to_storage(x: Array, dtype: DType) -> Array:
    """Values as elements of a buffer."""
    if dtype is DType.BF16:
        bits = np.asarray(x, np.float32, order="C").view(np.uint32)
        return (bits >> np.uint32(16)).astype(np.uint16)
    return x


def cast(x: Array, source: DType, target: DType) -> Array:
    """Conversion as C does it: floats truncate to integers, integers wrap, any nonzero is true."""
    if source is target:
        return x
    if target is DType.BOOL:
        return x != 0
    if target is DType.BF16:
        return round_bf16(x.astype(np.float32))
    if target is DType.F16 and source is not DType.F32:
        return x.astype(np.float32).astype(np.float16)
    if source in (DType.C64, DType.C128) and target not in (DType.C64, DType.C128):
        x = np.real(x)
    if target.is_int and target is not DType.I64 and source.is_float:
        # through i64, as compilers do on 64-bit machines for in-range values; then wrap
        return x.astype(np.int64).astype(VALUE_TYPES[target])
    return x.astype(VALUE_TYPES[target])


def bitcast(x: Array, source: DType, target: DType) -> Array:
    """The same bits as another type."""
    stored = np.asarray(to_storage(x, source), order="C")
    return from_storage(stored.view(STORAGE_TYPES[target]), target)


def _elementwise(function: Callable[[float], float]) -> Callable[[Array], Array]:
    vectorised = np.frompyfunc(function, 1, 1)

    def apply(x: Array) -> Array:
        return np.asarray(vectorised(x.astype(np.float64)), dtype=np.float64).astype(x.dtype)

    return apply


def _lgamma(x: float) -> float:
    if math.isinf(x):
        return math.inf
    try:
        return math.lgamma(x)
    except (OverflowError, ValueError):
        return math.inf


def _digamma(x: float) -> float:
    """Reflection for negatives, recurrence up to 6, then the asymptotic series."""
    if x == 0.0:
        return math.copysign(math.inf, -x)
    if math.isnan(x) or x == -math.inf:
        return math.nan
    if x == math.inf:
        return math.inf
    shift = 0.0
    if x < 0:
        if x == math.floor(x):
            return math.nan
        fraction = x - math.floor(x)
        shift = -math.pi / math.tan(math.pi * fraction)
        x = 1.0 - x
    while x < 8.0:
        shift -= 1.0 / x
        x += 1.0
    inverse = 1.0 / (x * x)
    series = 0.0
    for coefficient in (1 / 12, -691 / 32760, 1 / 132, -1 / 240, 1 / 252, -1 / 120, 1 / 12):
        series = (series + coefficient) * inverse
    return shift + math.log(x) - 0.5 / x - series


def _erfinv(x: float) -> float:
    """A first guess by Winitzki's formula, then Newton on erf (erfc in the tails)."""
    if math.isnan(x) or abs(x) > 1.0:
        return math.nan
    if abs(x) == 1.0:
        return math.copysign(math.inf, x)
    if x == 0.0:
        return x
    size = abs(x)
    tail = math.log((1.0 - size) * (1.0 + size))
    half = 2.0 / (math.pi * 0.147) + 0.5 * tail
    guess = math.sqrt(math.sqrt(half * half - tail / 0.147) - half)
    for _ in range(4):
        if size > 0.5:
            error = (1.0 - size) - math.erfc(guess)
        else:
            error = math.erf(guess) - size
        slope = 2.0 / math.sqrt(math.pi) * math.exp(-guess * guess)
        if slope == 0.0:
            break
        step = error / slope
        guess -= step / (1.0 + guess * step)
    return math.copysign(guess, x)


def _power(x: Array, y: Array) -> Array:
    if x.dtype.kind != "i" and x.dtype.kind != "u":
        return np.power(x, y)
    negative = y < 0
    result = np.power(x, np.where(negative, 0, y).astype(x.dtype))
    if not np.any(negative):
        return result
    odd = (y & 1).astype(bool)
    small = np.where(x == 1, 1, np.where(x == -1, np.where(odd, -1, 1), 0)).astype(x.dtype)
    return np.where(negative, small, result)


def _sign(x: Array) -> Array:
    return ((x > 0).astype(x.dtype) - (x < 0).astype(x.dtype)).astype(x.dtype)


def _sigmoid(x: Array) -> Array:
    one = np.ones((), x.dtype)
    return one / (one + np.exp(-x))


def _truncdiv(x: Array, y: Array) -> Array:
    quotient = np.floor_divide(x, y)
    inexact = quotient * y != x
    return np.where(inexact & ((x < 0) != (y < 0)), quotient + 1, quotient).astype(x.dtype)


def _floordiv(x: Array, y: Array) -> Array:
    """Python's floor division; by zero as IEEE division for floats."""
    return np.floor_divide(x, y)


def _shift_left(x: Array, y: Array) -> Array:
    return np.left_shift(x, y)


def _rsqrt(x: Array) -> Array:
    return (np.ones((), x.dtype) / np.sqrt(x)).astype(x.dtype)


def _isinf(x: Array) -> Array:
    return np.isinf(x)


def _not(x: Array) -> Array:
    return np.logical_not(x) if x.dtype == np.bool_ else np.invert(x)


def _fma(x: Array, y: Array, z: Array) -> Array:
    """Rounded once for f32 (through f64); one rounding more for f64, where targets may differ."""
    if x.dtype == np.float32:
        return (x.astype(np.float64) * y + z).astype(np.float32)
    return x * y + z


def _complex(x: Array, y: Array) -> Array:
    """x + iy, without the arithmetic that would make NaN of an infinite y."""
    pairs = np.stack(np.broadcast_arrays(x, y), axis=-1)
    return pairs.view(np.complex64 if x.dtype == np.float32 else np.complex128)[..., 0]


FUNCTIONS: dict[str, Callable[..., Array]] = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide,
    "floordiv": _floordiv, "truncdiv": _truncdiv, "mod": np.remainder, "fmod": np.fmod,
    "neg": np.negative, "abs": np.abs, "sign": _sign, "min": np.minimum, "max": np.maximum,
    "pow": _power, "sqrt": np.sqrt, "rsqrt": _rsqrt, "fma": _fma,
    "exp": np.exp, "exp2": np.exp2, "expm1": np.expm1,
    "log": np.log, "log1p": np.log1p, "log2": np.log2, "log10": np.log10,
    "sin": np.sin, "cos": np.cos, "tan": np.tan, "asin": np.arcsin, "acos": np.arccos,
    "atan": np.arctan, "atan2": np.arctan2, "sinh": np.sinh, "cosh": np.cosh, "tanh": np.tanh,
    "asinh": np.arcsinh, "acosh": np.arccosh, "atanh": np.arctanh, "hypot": np.hypot,
    "erf": _elementwise(math.erf), "erfc": _elementwise(math.erfc),
    "erfinv": _elementwise(_erfinv), "lgamma": _elementwise(_lgamma),
    "digamma": _elementwise(_digamma), "sigmoid": _sigmoid,
    "floor": np.floor, "ceil": np.ceil, "trunc": np.trunc, "round": np.rint,
    "copysign": np.copysign, "nextafter": np.nextafter,
    "and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor, "not": _not,
    "shl": _shift_left, "shr": np.right_shift,
    "eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal,
    "gt": np.greater, "ge": np.greater_equal,
    "where": np.where, "isnan": np.isnan, "isinf": _isinf,
    "real": np.real, "imag": np.imag, "complex": _complex,
}  # fmt: skip


def identity(op: str, dtype: DType) -> Any:
    """The value that `op` combined with any x gives x."""
    if op in ("add", "any"):
        return 0
    if op in ("mul", "all"):
        return 1
    low = op in ("max", "argmax")
    if dtype is DType.BOOL:
        return not low
    if dtype.is_float:
        return -math.inf if low else math.inf
    info = np.iinfo(VALUE_TYPES[dtype])
    return info.min if low else info.max
