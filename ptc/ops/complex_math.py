"""Rules of arithmetic and functions of complex numbers: all that computes element by element."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from ptc.ops import complex_numbers as c
from ptc.ops.complex_numbers import Number, Operand, elementwise, promoted
from ptc.ops.complex_registry import Complex, complex_samples, on_complex
from ptc.ops.protocol import T, sample

aten = torch.ops.aten

# --- arithmetic -----------------------------------------------------------------------------------


@on_complex(aten.add.Tensor, aten.add.Scalar)
def add(x: Operand, y: Operand, alpha: Number = 1) -> Complex:
    """x + alpha y."""
    x, y = promoted(x, y)
    return x + _times(y, alpha)


@on_complex(aten.sub.Tensor, aten.sub.Scalar)
def sub(x: Operand, y: Operand, alpha: Number = 1) -> Complex:
    """x - alpha y."""
    x, y = promoted(x, y)
    return x - _times(y, alpha)


@on_complex(aten.rsub.Tensor, aten.rsub.Scalar)
def rsub(x: Operand, y: Operand, alpha: Number = 1) -> Complex:
    """y - alpha x."""
    return sub(y, x, alpha)


def _times(x: Complex, factor: Number) -> Complex:
    if not isinstance(factor, complex) and factor == 1:
        return x
    return x * c.as_complex(factor, x.re.dtype)


on_complex(aten.mul.Tensor, aten.mul.Scalar)(elementwise(lambda x, y: x * y))
on_complex(aten.div.Tensor, aten.div.Scalar, aten.true_divide.Tensor)(elementwise(c.divide))


@on_complex(aten.addcmul.default)
def addcmul(x: Operand, y: Operand, z: Operand, *, value: Number = 1) -> Complex:
    """x + value y z."""
    x, y, z = promoted(x, y, z)
    return x + _times(y * z, value)


@on_complex(aten.addcdiv.default)
def addcdiv(x: Operand, y: Operand, z: Operand, *, value: Number = 1) -> Complex:
    """x + value y / z."""
    x, y, z = promoted(x, y, z)
    return x + _times(c.divide(y, z), value)


@on_complex(aten.lerp.Scalar, aten.lerp.Tensor)
def lerp(x: Operand, y: Operand, weight: Operand) -> Complex:
    """x + weight (y - x)."""
    x, y, weight = promoted(x, y, weight)
    return x + weight * (y - x)


# --- parts ----------------------------------------------------------------------------------------


@on_complex(aten._conj.default, aten.conj_physical.default, aten._conj_physical.default)
def conjugate(x: Complex) -> Complex:
    """The conjugate, computed at once."""
    return x.conj()


@on_complex(aten.view_as_real.default, aten.view_as_real_copy.default)
def view_as_real(x: Complex) -> Tensor:
    """The parts side by side."""
    return torch.stack([x.re, x.im], -1)


@on_complex(aten.view_as_complex.default, aten.view_as_complex_copy.default)
def view_as_complex(x: Tensor) -> Complex:
    """Pairs as numbers: two views."""
    return Complex(x.select(-1, 0), x.select(-1, 1))


@on_complex(aten.complex.default)
def of_parts(re: Tensor, im: Tensor) -> Complex:
    """re + i im."""
    part = torch.promote_types(re.dtype, im.dtype)
    return _shaped(re.to(part), im.to(part))


def _shaped(re: Tensor, im: Tensor) -> Complex:
    return Complex(*torch.broadcast_tensors(re, im))


@on_complex(aten.polar.default)
def polar(radius: Tensor, angle: Tensor) -> Complex:
    """radius (cos angle + i sin angle)."""
    return Complex(radius * angle.cos(), radius * angle.sin())


on_complex(aten.abs.default)(elementwise(c.magnitude))
on_complex(aten.angle.default)(elementwise(c.angle))
on_complex(aten.neg.default)(elementwise(lambda x: -x))


@on_complex(aten.sgn.default)
def sgn(x: Complex) -> Complex:
    """x / |x|, 0 for 0."""
    radius = c.magnitude(x)
    return x.map(lambda part: torch.where(radius == 0, 0.0, part / radius))


# --- functions ------------------------------------------------------------------------------------


def _scaled_log(base: float) -> Callable[[Complex], Complex]:
    return lambda x: c.log(x).scaled(1 / math.log(base))


_FUNCTIONS: dict[Any, Callable[[Complex], Complex]] = {
    aten.reciprocal.default: c.reciprocal,
    aten.square.default: lambda x: x * x,
    aten.exp.default: c.exp,
    aten.exp2.default: lambda x: c.exp(x.scaled(math.log(2))),
    aten.log.default: c.log,
    aten.log2.default: _scaled_log(2),
    aten.log10.default: _scaled_log(10),
    aten.sqrt.default: c.sqrt,
    aten.rsqrt.default: lambda x: c.reciprocal(c.sqrt(x)),
    aten.sigmoid.default: lambda x: c.reciprocal(c.one_like(x) + c.exp(-x)),
    aten.silu.default: lambda x: c.divide(x, c.one_like(x) + c.exp(-x)),
    aten.sinh.default: c.sinh,
    aten.cosh.default: c.cosh,
    aten.tanh.default: c.tanh,
    aten.sin.default: lambda x: c.turned_back(c.sinh(c.turned(x))),
    aten.cos.default: lambda x: c.cosh(c.turned(x)),
    aten.tan.default: lambda x: c.turned_back(c.tanh(c.turned(x))),
}
for _op, _function in _FUNCTIONS.items():
    on_complex(_op)(elementwise(_function))

on_complex(aten.pow.Tensor_Tensor, aten.pow.Scalar)(elementwise(c.power))


@on_complex(aten.pow.Tensor_Scalar)
def pow_of_number(x: Operand, exponent: Number) -> Complex:
    """x to a number."""
    x, _ = promoted(x, exponent)
    return c.power_of_number(x, exponent)


# --- comparisons ----------------------------------------------------------------------------------

on_complex(aten.eq.Tensor, aten.eq.Scalar)(
    elementwise(lambda x, y: (x.re == y.re) & (x.im == y.im))
)
on_complex(aten.ne.Tensor, aten.ne.Scalar)(
    elementwise(lambda x, y: (x.re != y.re) | (x.im != y.im))
)
on_complex(aten.isnan.default)(elementwise(lambda x: x.re.isnan() | x.im.isnan()))
on_complex(aten.isinf.default)(elementwise(lambda x: x.re.isinf() | x.im.isinf()))
on_complex(aten.logical_not.default)(elementwise(lambda x: (x.re == 0) & (x.im == 0)))


# --- choices --------------------------------------------------------------------------------------


@on_complex(aten.where.self, aten.where.ScalarSelf, aten.where.ScalarOther, aten.where.Scalar)
def choose(condition: Tensor, x: Operand, y: Operand) -> Complex:
    """x where the condition holds, else y."""
    return c.where(condition, *promoted(x, y))


@on_complex(aten.masked_fill.Scalar, aten.masked_fill.Tensor)
def masked_fill(x: Complex, mask: Tensor, value: Operand) -> Complex:
    """x, and `value` where the mask holds."""
    return c.where(mask, c.as_complex(value, x.re.dtype), x)


# --- samples --------------------------------------------------------------------------------------

_Z, _Y = T("c64[3,4]"), T("c64[4]")

for _op in (aten.add.Tensor, aten.sub.Tensor, aten.mul.Tensor, aten.div.Tensor):
    complex_samples(
        _op,
        sample(_Z, _Y),
        sample(_Z, T("f32[3,1]")),
        sample(T("i64[3,1]", low=1, high=5), _Y),
        sample(_Z, 1.5 - 2j),
        sample(T("c128[2,3]"), T("c64[3]")),
        sample(T("f64[3]"), T("c64[]")),
        sample(T("f32[5]"), 2j),
    )
complex_samples(aten.add.Tensor, sample(_Z, _Y, alpha=2), sample(_Z, _Y, alpha=2j))
complex_samples(aten.sub.Tensor, sample(_Z, T("f32[4]"), alpha=0.5))
complex_samples(aten.rsub.Scalar, sample(_Z, 1 + 1j))
complex_samples(aten.addcmul.default, sample(_Z, _Y, _Z, value=0.5))
complex_samples(aten.addcdiv.default, sample(_Z, _Y, _Z, value=2))
complex_samples(aten.lerp.Scalar, sample(_Z, _Z, 0.3))
complex_samples(aten._conj.default, sample(_Z))
complex_samples(aten.conj_physical.default, sample(_Z))
complex_samples(aten.view_as_real.default, sample(_Z, exact=True))
complex_samples(aten.view_as_complex.default, sample(T("f32[3,4,2]"), exact=True))
complex_samples(aten.view_as_complex.default, sample(T("f64[3,2]"), exact=True))
complex_samples(aten.complex.default, sample(T("f32[3,1]"), T("f32[4]"), exact=True))
complex_samples(aten.polar.default, sample(T("f32[3,4]"), T("f32[3,4]", low=-9, high=9)))
for _op in (aten.abs.default, aten.angle.default, aten.neg.default, aten.sgn.default):
    complex_samples(_op, sample(_Z), sample(T("c128[5]")))
for _op in _FUNCTIONS:
    complex_samples(_op, sample(_Z), sample(T("c64[33]", low=-3, high=3)), sample(T("c128[5]")))
for _op in (aten.tanh.default, aten.exp.default, aten.sqrt.default):
    complex_samples(_op, sample(T("c64[33]", low=-25, high=25)))
complex_samples(aten.pow.Tensor_Tensor, sample(_Z, _Y), sample(T("f32[3]"), T("c64[3]")))
complex_samples(aten.pow.Scalar, sample(2.5, _Z), sample(1j, T("f32[4]")))
for _exponent in (0, 1, 2, 3, -1, -2, 0.5, -0.5, 1.7, 2 - 1j):
    complex_samples(aten.pow.Tensor_Scalar, sample(_Z, _exponent))
complex_samples(aten.eq.Tensor, sample(_Z, _Z), sample(_Z, T("f32[4]")))
complex_samples(aten.ne.Scalar, sample(_Z, 1j))
complex_samples(aten.isnan.default, sample(_Z))
complex_samples(aten.isinf.default, sample(_Z))
complex_samples(aten.logical_not.default, sample(_Z))
complex_samples(
    aten.where.self,
    sample(T("bool[3,4]"), _Z, _Y, exact=True),
    sample(T("bool[3,4]"), _Z, T("f32[4]"), exact=True),
)
complex_samples(aten.masked_fill.Scalar, sample(_Z, T("bool[3,4]"), 2.0, exact=True))
