"""How elementwise rules read operands and write results: promotion, rounding, broadcasting.

An elementwise operator of eager converts its operands to a common type, computes (16-bit floats in
f32) and rounds to the result's type. `elementwise` builds exactly that kernel around a rule's
scalar expression. Knows no operator.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch

from ptc.loops import build as b
from ptc.loops.index import Index
from ptc.loops.nodes import Apply, DType, Expr, IndexValue, Literal, Load, Ref
from ptc.ops.dtypes import (
    COMPLEX,
    LOW_PRECISION,
    Operand,
    compute_type,
    float_result,
    integer_range,
    promote,
    to_torch,
)
from ptc.ops.protocol import Indices, LoweringContext, TensorValue
from ptc.ops.shapes import broadcast_index, broadcast_shapes
from ptc.support.diagnostics import CompileError

Body = Callable[..., Expr]


def elementwise(
    ctx: LoweringContext,
    operands: Sequence[Operand],
    body: Body,
    *,
    common: DType | None = None,
    compute: DType | None = None,
    result: DType | None = None,
    unrounded: Sequence[int] = (),
) -> TensorValue:
    """One kernel that computes `body(*operands)` for each element of the broadcast shape.

    Operands are converted to `common` (default: promoted), then to `compute` (default: what eager
    computes in for `common`); the value is converted to `result` (default: `common`). Operands at
    the positions `unrounded`, when they are scalars, go to `compute` directly.
    """
    common = promote(operands) if common is None else common
    reject_complex(common)
    compute = compute_type(common) if compute is None else compute
    result = common if result is None else result
    shape = broadcast_shapes(*(o.shape for o in operands if isinstance(o, TensorValue)))

    def element(index: Indices) -> Expr:
        values = [
            operand_value(
                ctx, operand, shape, index, common=common, compute=compute, exact=n in unrounded
            )
            for n, operand in enumerate(operands)
        ]
        return b.cast(body(*values), result)

    return ctx.pointwise(shape, result, element)


def unary(
    ctx: LoweringContext, x: TensorValue, body: Body, *, to_float: bool = False
) -> TensorValue:
    """An elementwise operator of one tensor. `to_float`: integers give the default float type."""
    common = float_result(x.dtype) if to_float else x.dtype
    return elementwise(ctx, [x], body, common=common)


def operand_value(
    ctx: LoweringContext,
    operand: Operand,
    shape: Sequence[Index],
    index: Indices,
    *,
    common: DType,
    compute: DType,
    exact: bool = False,
) -> Expr:
    """The operand's element at `index` of the broadcast `shape`, as a `compute` value."""
    if isinstance(operand, TensorValue):
        value = ctx.load(operand, broadcast_index(operand.shape, shape, index))
        if exact and not operand.shape:
            return b.cast(value, compute)
        return b.cast(b.cast(value, common), compute)
    if isinstance(operand, Index):
        return b.cast(b.index_value(operand, DType.I64), compute)
    if isinstance(operand, Literal | IndexValue | Load | Apply | Ref):
        return b.cast(operand if exact else b.cast(operand, common), compute)
    return scalar(operand, compute if exact else common, compute)


def scalar(
    value: Expr | Index | float | int | bool, common: DType, compute: DType | None = None
) -> Expr:
    """A number as eager sees it after conversion to `common`, as a `compute` value."""
    compute = compute_type(common) if compute is None else compute
    if isinstance(value, Index):
        value = b.index_value(value, DType.I64)
    if isinstance(value, Literal | IndexValue | Load | Apply | Ref):
        return b.cast(b.cast(value, common), compute)
    if common is DType.BOOL:
        return b.cast(b.literal(bool(value), DType.BOOL), compute)
    if common.is_int:
        low, high = integer_range(common)
        wrapped = (int(value) - low) % (high - low + 1) + low
        return b.cast(b.literal(wrapped, common), compute)
    number = float(value)
    if common in LOW_PRECISION:
        number = torch.tensor(number, dtype=torch.float64).to(to_torch(common)).item()
    return (
        b.literal(number, compute)
        if compute.is_float
        else b.cast(b.literal(number, DType.F64), compute)
    )


def number(value: Operand, like: Expr) -> Expr:
    """A number argument of an operator in the type of `like`, in which eager computes."""
    if isinstance(value, Literal | IndexValue | Load | Apply | Ref):
        return b.cast(value, like.dtype)
    if isinstance(value, Index):
        return b.cast(b.index_value(value, DType.I64), like.dtype)
    assert not isinstance(value, TensorValue)
    return b.literal(float(value), like.dtype)


def load_as(ctx: LoweringContext, x: TensorValue, index: Indices, dtype: DType) -> Expr:
    """One element converted to `dtype`."""
    return b.cast(ctx.load(x, index), dtype)


def reject_complex(dtype: DType) -> None:
    """Raise PTC-O005 for complex tensors, which are parts by now: no lowering rule takes them."""
    if dtype in COMPLEX:
        raise CompileError(
            "PTC-O005",
            f"tensors of type {to_torch(dtype)} cannot be compiled",
            hint="compute with the real and imaginary parts (torch.view_as_real) instead",
        )
