"""Which operators the executor computes element by element, for `generate.py`.

One row an operator: what its arguments are is read off its schema and its rule. Arguments that
choose the code (`approximate="tanh"`) have their values listed, one variant each.
"""

from __future__ import annotations

import torch
from torch._ops import OpOverload

aten = torch.ops.aten

#: Operator -> values of its static arguments, by name, one dictionary a variant.
Variants = tuple[dict[str, object], ...]

_PLAIN = """
relu hardtanh relu6 leaky_relu softshrink _prelu_kernel silu hardsigmoid hardswish elu softplus
mish log_sigmoid add.Tensor add.Scalar sub.Tensor sub.Scalar rsub.Tensor rsub.Scalar mul.Tensor
mul.Scalar addcmul addcdiv div.Tensor div.Scalar floor_divide floor_divide.Scalar
remainder.Tensor remainder.Scalar remainder.Scalar_Tensor fmod.Tensor fmod.Scalar reciprocal
pow.Tensor_Tensor pow.Scalar square neg abs sign sgn copysign.Tensor copysign.Scalar maximum
minimum fmax fmin clamp_min clamp_min.Tensor clamp_max clamp_max.Tensor lerp.Scalar lerp.Tensor
eq.Tensor ne.Tensor lt.Tensor le.Tensor gt.Tensor ge.Tensor eq.Scalar ne.Scalar lt.Scalar
le.Scalar gt.Scalar ge.Scalar logical_and logical_or logical_xor logical_not bitwise_and.Tensor
bitwise_and.Scalar bitwise_and.Scalar_Tensor bitwise_or.Tensor bitwise_or.Scalar
bitwise_or.Scalar_Tensor bitwise_xor.Tensor bitwise_xor.Scalar bitwise_xor.Scalar_Tensor
bitwise_not bitwise_left_shift.Tensor bitwise_left_shift.Tensor_Scalar __lshift__.Tensor
__lshift__.Scalar bitwise_right_shift.Tensor bitwise_right_shift.Tensor_Scalar __rshift__.Tensor
__rshift__.Scalar isnan isinf isfinite isposinf isneginf signbit sqrt rsqrt exp exp2 expm1 log
log1p log2 log10 sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh erf erfc erfinv
lgamma digamma sigmoid floor ceil trunc round atan2 hypot nextafter logaddexp deg2rad rad2deg
angle
"""

_VARIANTS: dict[str, Variants] = {
    "gelu": ({"approximate": "none"}, {"approximate": "tanh"}),
    "div.Tensor_mode": (
        {"rounding_mode": "floor"},
        {"rounding_mode": "trunc"},
        {"rounding_mode": None},
    ),
    "div.Scalar_mode": (
        {"rounding_mode": "floor"},
        {"rounding_mode": "trunc"},
        {"rounding_mode": None},
    ),
    "clamp": ({}, {"min": None}, {"max": None}),
    "clamp.Tensor": ({}, {"min": None}, {"max": None}),
    "logit": ({"eps": None},),
    "pow.Tensor_Scalar": (
        *[{"exponent": e} for e in (0.5, 2.0, 3.0, -0.5, -1.0, -2.0)],
        {},
    ),
}


#: What is not the same when it is computed in f32 and rounded.
NO_HALF = (aten.nextafter.default,)


def pointwise_operators() -> dict[OpOverload, Variants]:
    """Every operator of the table; `({},)` where nothing is static."""
    found = {_operator(name): ({},) for name in _PLAIN.split()}
    return {**found, **{_operator(name): rows for name, rows in _VARIANTS.items()}}


def _operator(name: str) -> OpOverload:
    packet, _, overload = name.partition(".")
    return getattr(getattr(aten, packet), overload or "default")
