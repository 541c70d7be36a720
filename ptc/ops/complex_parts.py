"""Where complex tensors enter and leave a program: loads of a part, stores of both.

Everything between works on parts (`complex_registry`), so these are the only rules that see a
complex element type.
"""

from __future__ import annotations

import torch

from ptc.loops import build as b
from ptc.loops.nodes import DType
from ptc.ops.complex_operators import OPERATORS
from ptc.ops.protocol import Indices, LoweringContext, T, TensorValue, sample
from ptc.ops.registry import lowers, samples, samples_for
from ptc.ops.shapes import broadcast_index, broadcast_shapes

aten = torch.ops.aten

_PARTS = {DType.C64: DType.F32, DType.C128: DType.F64}
_PAIRS = {part: dtype for dtype, part in _PARTS.items()}


def _part(ctx: LoweringContext, x: TensorValue, name: str) -> TensorValue:
    return ctx.pointwise(x.shape, _PARTS[x.dtype], lambda index: b.apply(name, ctx.load(x, index)))


@lowers(OPERATORS.real.default)
def lower_real(ctx: LoweringContext, x: TensorValue) -> TensorValue:
    """The real parts."""
    return _part(ctx, x, "real")


@lowers(OPERATORS.imag.default)
def lower_imag(ctx: LoweringContext, x: TensorValue) -> TensorValue:
    """The imaginary parts."""
    return _part(ctx, x, "imag")


@lowers(aten.complex.default)
def lower_complex(ctx: LoweringContext, re: TensorValue, im: TensorValue) -> TensorValue:
    """re + i im."""
    shape = broadcast_shapes(re.shape, im.shape)

    def element(index: Indices) -> b.Expr:
        parts = [ctx.load(x, broadcast_index(x.shape, shape, index)) for x in (re, im)]
        return b.apply("complex", *parts)

    return ctx.pointwise(shape, _PAIRS[re.dtype], element)


samples_for(
    (OPERATORS.real.default, OPERATORS.imag.default),
    sample(T("c64[3,4]"), exact=True),
    sample(T("c128[5]"), exact=True),
    sample(T("c64[3,4]", layout="transposed"), exact=True),
)
samples(
    aten.complex.default,
    sample(T("f32[3,1]"), T("f32[4]"), exact=True),
    sample(T("f64[5]", special=True), T("f64[5]", special=True), exact=True),
)
