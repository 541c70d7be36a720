"""Python numbers in traced programs: tensors without dimensions, or sizes that torch knows.

A number is a constant, a `SymInt`, or a tensor of int64, float64 or bool. Owns what the operations
of `Compute` are on them. Takes and gives numbers; knows no regions.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch

from ptc.graph.control import NumberKind
from ptc.graph.control_operations import FUNCTIONS
from ptc.support.diagnostics import CompileError

#: A constant, a size, or a tensor.
Number = Any

DTYPES: Mapping[NumberKind, torch.dtype] = {
    NumberKind.INT: torch.int64,
    NumberKind.FLOAT: torch.float64,
    NumberKind.BOOL: torch.bool,
}


def as_tensor(number: Number, kind: NumberKind) -> torch.Tensor:
    """A number as a tensor of its kind."""
    dtype = DTYPES[kind]
    if isinstance(number, torch.Tensor):
        return number if number.dtype == dtype else _converted(number, dtype)
    if isinstance(number, torch.SymInt):
        size: Any = number
        return _converted(torch.scalar_tensor(size, dtype=torch.int64), dtype)
    return torch.full((), number, dtype=dtype)


def _converted(tensor: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    return tensor != 0 if dtype is torch.bool else _cast(tensor, dtype)


def _cast(tensor: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """Without an operator where there is nothing to do."""
    return tensor if tensor.dtype == dtype else tensor.to(dtype)


def as_scalar(number: Number, kind: NumberKind) -> Any:
    """A number as an argument of an operator that takes numbers: read from its tensor."""
    if not isinstance(number, torch.Tensor):
        return number
    return as_tensor(number, kind).item()


def compute(op: str, args: Sequence[Number], kind: NumberKind) -> Number:
    """`op` of `control.OPERATIONS`, whose result is of the kind.

    Raises CompileError PTC-E056 for what torch has no operator for."""
    if not any(isinstance(arg, (torch.Tensor, torch.SymInt)) for arg in args):
        return FUNCTIONS[op](*args)
    if op in _OF_SIZES and not any(isinstance(arg, (torch.Tensor, float)) for arg in args):
        return _OF_SIZES[op](*args)
    tensors = [_plain_tensor(arg) for arg in args]
    function = _FUNCTIONS.get(op)
    if function is None and op.startswith("math."):
        function = _MATH.get(op.removeprefix("math."))
        tensors = [_cast(tensor, torch.float64) for tensor in tensors]
    if function is None:
        raise CompileError(
            "PTC-E056",
            f"torch has no operator for `{op}` of Python numbers",
            hint="compute it with tensors, or use `ptc compile`",
        )
    return as_tensor(function(*tensors), kind)


def _plain_tensor(number: Number) -> torch.Tensor:
    """A number as a tensor of its own kind; bools count as ints in arithmetic only."""
    if isinstance(number, torch.Tensor):
        return number
    if isinstance(number, bool):
        return as_tensor(number, NumberKind.BOOL)
    return as_tensor(number, NumberKind.FLOAT if isinstance(number, float) else NumberKind.INT)


def _widened(function: Callable[..., Any]) -> Callable[..., Any]:
    """Arithmetic: in float64 where one operand is a float, else in int64."""

    def apply(*args: torch.Tensor) -> torch.Tensor:
        real = any(arg.is_floating_point() for arg in args)
        return function(*(_cast(arg, torch.float64 if real else torch.int64) for arg in args))

    return apply


def _real(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *args: function(*(_cast(arg, torch.float64) for arg in args))


def _bitwise(function: Callable[..., Any]) -> Callable[..., Any]:
    """Of bools a bool, else of ints."""

    def apply(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        if a.dtype is torch.bool and b.dtype is torch.bool:
            return function(a, b)
        return function(_cast(a, torch.int64), _cast(b, torch.int64))

    return apply


def _to_int(x: torch.Tensor) -> torch.Tensor:
    return torch.trunc(x).to(torch.int64) if x.is_floating_point() else _cast(x, torch.int64)


def _rounded(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda x: _cast(function(x) if x.is_floating_point() else x, torch.int64)


_FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    "add": _widened(torch.add),
    "sub": _widened(torch.sub),
    "mul": _widened(torch.mul),
    "truediv": _real(torch.div),
    "floordiv": _widened(torch.floor_divide),
    "mod": _widened(torch.remainder),
    "pow": _widened(torch.pow),
    "power": _real(torch.pow),
    "neg": _widened(torch.neg),
    "pos": _widened(torch.clone),
    "abs": _widened(torch.abs),
    "invert": lambda x: torch.bitwise_not(_cast(x, torch.int64)),
    "and": _bitwise(torch.bitwise_and),
    "or": _bitwise(torch.bitwise_or),
    "xor": _bitwise(torch.bitwise_xor),
    "lshift": _widened(torch.bitwise_left_shift),
    "rshift": _widened(torch.bitwise_right_shift),
    "eq": _widened(torch.eq),
    "ne": _widened(torch.ne),
    "lt": _widened(torch.lt),
    "le": _widened(torch.le),
    "gt": _widened(torch.gt),
    "ge": _widened(torch.ge),
    "not": lambda x: x == 0,
    "int": _to_int,
    "float": lambda x: _cast(x, torch.float64),
    "bool": lambda x: x != 0,
    "round": _rounded(torch.round),
    "min": _widened(lambda a, b: torch.where(b < a, b, a)),
    "max": _widened(lambda a, b: torch.where(b > a, b, a)),
    "select": lambda c, a, b: torch.where(c != 0, *_alike(a, b)),
    "math.floor": _rounded(torch.floor),
    "math.ceil": _rounded(torch.ceil),
    "math.trunc": _to_int,
    "math.gcd": _widened(torch.gcd),
}

#: Functions of `math` on float64.
_MATH: Mapping[str, Callable[..., Any]] = {
    "sqrt": torch.sqrt, "exp": torch.exp, "log": torch.log, "log2": torch.log2,
    "log10": torch.log10, "log1p": torch.log1p, "expm1": torch.expm1, "sin": torch.sin,
    "cos": torch.cos, "tan": torch.tan, "asin": torch.asin, "acos": torch.acos,
    "atan": torch.atan, "atan2": torch.atan2, "sinh": torch.sinh, "cosh": torch.cosh,
    "tanh": torch.tanh, "fabs": torch.abs, "pow": torch.pow, "hypot": torch.hypot,
    "fmod": torch.fmod, "copysign": torch.copysign, "isnan": torch.isnan, "isinf": torch.isinf,
    "isfinite": torch.isfinite, "degrees": torch.rad2deg, "radians": torch.deg2rad,
    "erf": torch.erf, "erfc": torch.erfc, "exp2": torch.exp2, "asinh": torch.asinh,
    "acosh": torch.acosh, "atanh": torch.atanh,
}  # fmt: skip

#: Operations on sizes, which stay sizes.
_OF_SIZES: Mapping[str, Callable[..., Any]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "floordiv": lambda a, b: a // b,
    "mod": lambda a, b: a % b,
    "neg": lambda a: -a,
    "pos": lambda a: a,
    "int": lambda a: a,
    "min": torch.sym_min,
    "max": torch.sym_max,
}


def _alike(a: torch.Tensor, b: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    dtype = torch.promote_types(a.dtype, b.dtype)
    return _cast(a, dtype), _cast(b, dtype)
