"""ONNX rules of distances between rows, running products, and scattering by a mask."""

from __future__ import annotations

import math

import torch

from ptc.loops.nodes import DType
from ptc.ops.elementwise import compute_type
from ptc.ops.onnx_protocol import OnnxBuilder, OnnxTensor
from ptc.ops.onnx_registry import onnx
from ptc.support.diagnostics import CompileError

aten = torch.ops.aten


def _norm(b: OnnxBuilder, difference: OnnxTensor, p: float) -> OnnxTensor:
    """The p-norm along the last dimension."""
    size = b.op("Abs", difference)
    last = b.constant([-1], DType.I64)
    if p == 0:
        some = b.op("Not", b.op("Equal", size, b.constant(0.0, size.dtype), dtype=DType.BOOL))
        return b.op("ReduceSum", b.cast(some, size.dtype), last, keepdims=0)
    if math.isinf(p):
        return b.op("ReduceMax", size, last, keepdims=0)
    if p == 1:
        return b.op("ReduceSum", size, last, keepdims=0)
    if p == 2:
        return b.op("Sqrt", b.op("ReduceSum", b.op("Mul", size, size), last, keepdims=0))
    total = b.op("ReduceSum", b.op("Pow", size, b.constant(p, size.dtype)), last, keepdims=0)
    return b.op("Pow", total, b.constant(1 / p, size.dtype))


@onnx(aten._cdist_forward.default)
def cdist(b: OnnxBuilder, x: OnnxTensor, y: OnnxTensor, p: float, mode: int | None) -> OnnxTensor:
    """The p-norm of x[..., i, :] - y[..., j, :]."""
    wide = compute_type(b.dtype)
    left = b.op("Unsqueeze", b.cast(x, wide), b.constant([-2], DType.I64))
    right = b.op("Unsqueeze", b.cast(y, wide), b.constant([-3], DType.I64))
    return b.cast(_norm(b, b.op("Sub", left, right), p), b.dtype)


@onnx(aten._pdist_forward.default)
def pdist(b: OnnxBuilder, x: OnnxTensor, p: float) -> OnnxTensor:
    """The p-norms of x[i] - x[j] for i < j."""
    rows = x.dims[0].constant
    if rows is None:
        raise CompileError("PTC-E021", "ONNX needs the number of rows whose distances are taken")
    wide = compute_type(b.dtype)
    pairs = [(i, j) for i in range(rows) for j in range(i + 1, rows)]
    sides = [
        b.op("Gather", b.cast(x, wide), b.constant([pair[side] for pair in pairs], DType.I64))
        for side in (0, 1)
    ]
    return b.cast(_norm(b, b.op("Sub", *sides), p), b.dtype)


@onnx(aten.cumprod.default)
def cumprod(b: OnnxBuilder, x: OnnxTensor, dim: int, dtype: torch.dtype | None) -> OnnxTensor:
    """Running products: of each place, the product of those up to it, ones in place of the rest."""
    wide = compute_type(b.dtype) if b.dtype.is_float else DType.I64
    carried = b.cast(x, wide)
    if not x.rank:
        return b.cast(carried, b.dtype)
    axis = dim % x.rank
    order = [n for n in range(x.rank) if n != axis] + [axis]
    lines = b.op("Transpose", carried, perm=order)
    count = b.op("Range", b.size(0), b.size(x.dims[axis]), b.size(1))
    column = b.op("Unsqueeze", count, b.constant([1], DType.I64))
    reached = b.op("LessOrEqual", count, column, dtype=DType.BOOL)
    spread = b.op("Unsqueeze", lines, b.constant([-2], DType.I64))
    factors = b.op("Where", reached, spread, b.constant(1, wide), dtype=wide)
    product = b.op("ReduceProd", factors, b.constant([-1], DType.I64), keepdims=0)
    back = [order.index(n) for n in range(x.rank)]
    return b.cast(b.op("Transpose", product, perm=back), b.dtype)


@onnx(aten.masked_scatter.default)
def masked_scatter(
    b: OnnxBuilder, x: OnnxTensor, mask: OnnxTensor, source: OnnxTensor
) -> OnnxTensor:
    """The elements of `source` in order where the mask is set."""
    shape = b.sizes(b.shape)
    set_ = b.op("Expand", mask, shape)
    flat = b.op("Reshape", b.cast(set_, DType.I64), b.constant([-1], DType.I64))
    place = b.op("Sub", b.op("CumSum", flat, b.constant(0, DType.I64)), b.constant(1, DType.I64))
    place = b.op("Max", place, b.constant(0, DType.I64))
    values = b.op("Reshape", source, b.constant([-1], DType.I64))
    # One more, so that there is something to take where the mask is nowhere set
    values = b.op("Concat", values, b.constant([0], source.dtype), axis=0)
    taken = b.op("Reshape", b.op("Gather", values, place, axis=0), shape)
    if x.dtype is DType.BOOL:
        kept = b.op("And", b.op("Not", set_), x)
        return b.op("Or", b.op("And", set_, taken), kept)
    return b.op("Where", set_, taken, x, dtype=x.dtype)
