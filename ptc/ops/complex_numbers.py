"""What rules for complex numbers share: promotion of operands, and functions of one number.

`elementwise` brings operands to parts of one type, as eager promotes them; the functions below take
and give `Complex`. A real operand has an imaginary part of zeros and is computed with, as in eager:
infinities then give the same NaN. Knows no operator.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from ptc.ops.complex_registry import Complex, part_type

Number = bool | int | float | complex
Operand = Complex | Tensor | Number | torch.SymInt | torch.SymFloat


# --- promotion --------------------------------------------------------------------------------


def common_part(*operands: Operand) -> torch.dtype:
    """The type of the parts of the promoted complex type, by torch's rules: tensors with dimensions
    come first, then others, then numbers; a later one counts only where its kind is higher."""
    ranks: list[torch.dtype | None] = [None, None, None]
    for operand in operands:
        rank, dtype = _participant(operand)
        known = ranks[rank]
        ranks[rank] = dtype if known is None else torch.promote_types(known, dtype)
    result: torch.dtype | None = None
    for dtype in ranks:
        if dtype is None or (result is not None and _kind(dtype) <= _kind(result)):
            continue
        floats = result is not None and result.is_floating_point
        result = result.to_complex() if floats and result is not None else dtype
    assert result is not None
    return part_type(result.to_complex() if not result.is_complex else result)


def _participant(operand: Operand) -> tuple[int, torch.dtype]:
    if isinstance(operand, Complex):
        return (0 if operand.re.dim() else 1), operand.re.dtype.to_complex()
    if isinstance(operand, Tensor):
        return (0 if operand.dim() else 1), operand.dtype
    if isinstance(operand, complex):
        return 2, torch.get_default_dtype().to_complex()
    if isinstance(operand, bool):
        return 2, torch.bool
    whole = isinstance(operand, (int, torch.SymInt))
    return 2, torch.int64 if whole else torch.get_default_dtype()


def _kind(dtype: torch.dtype) -> int:
    if dtype is torch.bool:
        return 0
    if not (dtype.is_floating_point or dtype.is_complex):
        return 1
    return 3 if dtype.is_complex else 2


def as_complex(operand: Operand, part: torch.dtype) -> Complex:
    """An operand as a complex tensor with parts of the type `part`."""
    if isinstance(operand, Complex):
        return operand.map(lambda x: x.to(part))
    if isinstance(operand, Tensor):
        return Complex(operand.to(part), torch.zeros((), dtype=part).expand(operand.shape))
    if isinstance(operand, (torch.SymInt, torch.SymFloat)):
        size: Any = operand  # annotations of torch lack what it takes
        return Complex(torch.full((), size, dtype=part), torch.zeros((), dtype=part))
    number = complex(operand)
    return Complex(torch.full((), number.real, dtype=part), torch.full((), number.imag, dtype=part))


def promoted(*operands: Operand) -> list[Complex]:
    """Operands as complex tensors of their common type."""
    part = common_part(*operands)
    return [as_complex(operand, part) for operand in operands]


def elementwise(function: Callable[..., Any]) -> Callable[..., Any]:
    """The rule that promotes all its arguments and hands them to `function`."""

    def rule(*operands: Operand) -> Any:
        return function(*promoted(*operands))

    rule.__doc__ = function.__doc__
    return rule


# --- functions ----------------------------------------------------------------------------------


def where(condition: Tensor, x: Complex, y: Complex) -> Complex:
    """x where the condition holds, else y."""
    return Complex(torch.where(condition, x.re, y.re), torch.where(condition, x.im, y.im))


def divide(x: Complex, y: Complex) -> Complex:
    """x / y by Smith's method: the divisor's smaller part over its larger one never overflows. A
    zero divisor gives what each part divided by zero gives."""
    wide = y.re.abs() >= y.im.abs()
    larger, smaller = torch.where(wide, y.re, y.im), torch.where(wide, y.im, y.re)
    ratio = torch.where(larger == 0, 0.0, smaller / larger)
    bottom = larger + smaller * ratio
    re = torch.where(wide, x.re + x.im * ratio, x.re * ratio + x.im)
    im = torch.where(wide, x.im - x.re * ratio, x.im * ratio - x.re)
    return Complex(re / bottom, im / bottom)


def reciprocal(x: Complex) -> Complex:
    """1 / x."""
    return divide(one_like(x), x)


def one_like(x: Complex) -> Complex:
    """1 in the type of `x`."""
    return as_complex(1.0, x.re.dtype)


def magnitude(x: Complex) -> Tensor:
    """|x|."""
    return torch.hypot(x.re, x.im)


def angle(x: Complex) -> Tensor:
    """The argument of x."""
    return torch.atan2(x.im, x.re)


def exp(x: Complex) -> Complex:
    """e^x. A number without imaginary part stays without one, whatever its size."""
    radius = x.re.exp()
    im = torch.where(x.im == 0, x.im, radius * x.im.sin())
    return Complex(torch.where(x.im == 0, radius, radius * x.im.cos()), im)


def log(x: Complex) -> Complex:
    """ln x. Near the unit circle of |x|^2 - 1, whose terms do not lose what is small."""
    a, c = x.re.abs(), x.im.abs()
    larger, smaller = torch.maximum(a, c), torch.minimum(a, c)
    radius = magnitude(x)
    near = 0.5 * torch.log1p((larger - 1) * (larger + 1) + smaller * smaller)
    unit = (radius > 0.7) & (radius < 1.5)
    return Complex(torch.where(unit, near, radius.log()), angle(x))


def sqrt(x: Complex) -> Complex:
    """The root in the right half plane. The larger part is computed first, the other one of it. An
    infinite imaginary part gives infinite parts, whatever the real one."""
    larger = torch.sqrt(0.5 * x.re.abs() + 0.5 * magnitude(x))
    other = torch.where(larger == 0, x.im, 0.5 * x.im / larger)
    right = x.re >= 0
    re = torch.where(right, larger, other.abs())
    im = torch.where(right, other, torch.copysign(larger, x.im))
    steep = x.im.isinf()
    return Complex(torch.where(steep, x.im.abs(), re), torch.where(steep, x.im, im))


def power(x: Complex, y: Complex) -> Complex:
    """e^(y ln x); 0^0 is 1, and 0 to a number with a positive real part is 0. In double precision:
    the error of the logarithm is multiplied by the exponent."""
    x, y, given = _widened(x), _widened(y), x.re.dtype
    return _power(x, y).map(lambda part: part.to(given))


def _widened(x: Complex) -> Complex:
    return x.map(lambda part: part.to(torch.float64))


def _power(x: Complex, y: Complex) -> Complex:
    nothing = (x.re == 0) & (x.im == 0)
    zero = torch.zeros((), dtype=x.re.dtype)
    empty = where((y.re == 0) & (y.im == 0), one_like(x), Complex(zero, zero))
    general = exp(y * log(x))
    return where(nothing & ((y.re > 0) | ((y.re == 0) & (y.im == 0))), empty, general)


#: Up to this exponent a power is multiplications.
_MULTIPLIED = 32


def power_of_number(x: Complex, exponent: Number) -> Complex:
    """x to a number: by multiplications where it is a small whole one, as a root for a half."""
    value = complex(exponent)
    real = value.real
    if value.imag or abs(real) > _MULTIPLIED or real * 2 != math.floor(real * 2):
        return power(x, as_complex(exponent, x.re.dtype))
    if abs(real) == 0.5:
        result = sqrt(x)
    elif real == math.floor(real):
        result = _whole_power(x, int(abs(real)))
    else:
        return power(x, as_complex(exponent, x.re.dtype))
    return reciprocal(result) if real < 0 else result


def _whole_power(x: Complex, exponent: int) -> Complex:
    if exponent == 0:
        return Complex(torch.ones_like(x.re), torch.zeros_like(x.re))
    result: Complex | None = None
    square = x
    while exponent:
        if exponent % 2:
            result = square if result is None else result * square
        exponent //= 2
        if exponent:
            square = square * square
    assert result is not None
    return result


def sinh(x: Complex) -> Complex:
    """sinh x = sinh a cos b + i cosh a sin b. Without imaginary part it stays without one, though
    cosh a may be infinite."""
    im = torch.where(x.im == 0, x.im, x.re.cosh() * x.im.sin())
    return Complex(x.re.sinh() * x.im.cos(), im)


def cosh(x: Complex) -> Complex:
    """cosh x = cosh a cos b + i sinh a sin b, for b = 0 as `sinh`."""
    im = torch.where(x.im == 0, x.im * x.re.sign(), x.re.sinh() * x.im.sin())
    return Complex(x.re.cosh() * x.im.cos(), im)


def tanh(x: Complex) -> Complex:
    """tanh x, with t = tan b and s = sinh a (Kahan): (s (1 + t^2) c + i t) / (1 + (1 + t^2) s^2)
    where c = cosh a. Far out, where s^2 would be too large, the real part is a sign."""
    limit = 20.0 if x.re.dtype is torch.float64 else 9.0
    a = x.re.clamp(-limit, limit)
    t, s, c = x.im.tan(), a.sinh(), a.cosh()
    steep = 1 + t * t
    bottom = 1 + steep * s * s
    far = x.re.abs() > limit
    decay = 4 * torch.exp(-2 * x.re.abs())
    re = torch.where(far, torch.copysign(torch.ones_like(a), x.re), steep * c * s / bottom)
    return Complex(re, torch.where(far, decay * x.im.sin() * x.im.cos(), t / bottom))


def turned(x: Complex) -> Complex:
    """i x."""
    return Complex(-x.im, x.re)


def turned_back(x: Complex) -> Complex:
    """-i x."""
    return Complex(x.im, -x.re)
