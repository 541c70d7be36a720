"""Conversions and copies. In a functional graph a copy of the same type is the tensor itself."""

from __future__ import annotations

import torch

from ptc.loops import build as b
from ptc.loops.nodes import DType
from ptc.ops.dtypes import Operand, requested
from ptc.ops.elementwise import operand_value, reject_complex
from ptc.ops.protocol import LoweringContext, T, TensorValue, sample
from ptc.ops.registry import lowers, samples, samples_for
from ptc.ops.shapes import expand

aten = torch.ops.aten
prims = torch.ops.prims

#: In a functional graph these give the tensor itself.
IDENTITIES = (
    aten.clone.default,
    aten.alias.default,
    aten.detach.default,
    aten.lift_fresh.default,
    aten.lift_fresh_copy.default,
    aten.contiguous.default,
    aten.resolve_conj.default,
    aten.resolve_neg.default,
)


def convert(ctx: LoweringContext, x: TensorValue, dtype: DType) -> TensorValue:
    """`x` as `dtype`; no kernel when it has that type."""
    if x.dtype is dtype:
        return x
    reject_complex(x.dtype)
    reject_complex(dtype)
    return ctx.pointwise(x.shape, dtype, lambda index: b.cast(ctx.load(x, index), dtype))


@lowers(aten._to_copy.default)
def lower_to_copy(ctx: LoweringContext, x: TensorValue, dtype: torch.dtype | None) -> TensorValue:
    """Convert; floats become integers by truncation, anything non-zero becomes True."""
    return convert(ctx, x, requested(dtype, x.dtype))


@lowers(prims.convert_element_type.default)
def lower_convert_element_type(
    ctx: LoweringContext, x: TensorValue, dtype: torch.dtype
) -> TensorValue:
    """Convert (torch's decompositions use this form)."""
    return convert(ctx, x, requested(dtype, x.dtype))


@lowers(*IDENTITIES)
def lower_identity(ctx: LoweringContext, x: TensorValue) -> TensorValue:
    """The tensor itself."""
    return x


@lowers(aten.copy.default)
def lower_copy(ctx: LoweringContext, x: TensorValue, source: TensorValue) -> TensorValue:
    """`source`, broadcast to the shape of x and converted to its type."""
    return convert(ctx, expand(ctx, source, x.shape), x.dtype)


@lowers(aten.fill.Scalar, aten.fill.Tensor)
def lower_fill(ctx: LoweringContext, x: TensorValue, value: Operand) -> TensorValue:
    """A tensor like x that holds `value` everywhere."""
    dtype = x.dtype
    return ctx.pointwise(
        x.shape,
        dtype,
        lambda index: operand_value(ctx, value, x.shape, index, common=dtype, compute=dtype),
    )


# --- samples ------------------------------------------------------------------------------------

_CONVERSIONS = (
    ("f32[3,5]", torch.float64),
    ("f32[40]", torch.bfloat16),
    ("f32[40]", torch.float16),
    ("f64[9]", torch.float32),
    ("bf16[9]", torch.float32),
    ("f16[9]", torch.bfloat16),
    ("f32[9]", torch.int64),
    ("f32[9]", torch.bool),
    ("i64[9]", torch.float32),
    ("i64[9]", torch.int32),
    ("i32[9]", torch.bool),
    ("bool[9]", torch.float32),
    ("bool[9]", torch.int64),
    ("i64[]", torch.bfloat16),
    ("f32[0,2]", torch.int32),
    ("i64[9]", torch.uint8),
    ("f32[3]", torch.float32),
)
for _spec, _dtype in _CONVERSIONS:
    samples(aten._to_copy.default, sample(T(_spec), dtype=_dtype, exact=True))
    samples(prims.convert_element_type.default, sample(T(_spec), _dtype, exact=True))
samples(
    aten._to_copy.default,
    sample(T("f32[40]", special=True), dtype=torch.bool, exact=True),
    sample(T("f64[40]", special=True), dtype=torch.float16, exact=True),
    sample(T("f32[2,3]", layout="transposed"), exact=True),
)
samples_for(
    (aten.clone.default, aten.alias.default, aten.detach.default),
    sample(T("f32[2,3]", special=True), exact=True),
    sample(T("f32[2,3]", layout="transposed"), exact=True),
    sample(T("bool[]"), exact=True),
)
samples_for(
    (
        aten.lift_fresh.default,
        aten.lift_fresh_copy.default,
        aten.contiguous.default,
        aten.resolve_conj.default,
        aten.resolve_neg.default,
    ),
    sample(T("f32[2,3]"), exact=True),
)
samples(
    aten.copy.default,
    sample(T("f32[2,3]"), T("f32[3]"), exact=True),
    sample(T("bf16[2,3]"), T("f32[2,1]"), exact=True),
    sample(T("f32[2]"), T("i64[]"), exact=True),
)
samples(
    aten.fill.Scalar,
    sample(T("f32[2,3]"), 0.1, exact=True),
    sample(T("bf16[2,3]"), 0.1, exact=True),
    sample(T("i64[]"), 3, exact=True),
    sample(T("bool[0]"), True, exact=True),
)
samples(
    aten.fill.Tensor,
    sample(T("f32[2,3]"), T("f32[]"), exact=True),
    sample(T("f16[2,3]"), T("f32[]"), exact=True),
)
