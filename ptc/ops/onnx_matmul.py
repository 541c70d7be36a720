"""ONNX rules of matrix products and attention."""

from __future__ import annotations

import math
from typing import Any

import torch

from ptc.loops.index import Index
from ptc.loops.nodes import DType
from ptc.ops.onnx_elementwise import compare, compute_type, number, where
from ptc.ops.onnx_protocol import OnnxBuilder, OnnxTensor
from ptc.ops.onnx_registry import onnx
from ptc.ops.onnx_views import axes

aten = torch.ops.aten
ptc = torch.ops.ptc


def _product(b: OnnxBuilder, x: OnnxTensor, y: OnnxTensor) -> OnnxTensor:
    wide = compute_type(b.dtype)
    return b.op("MatMul", b.cast(x, wide), b.cast(y, wide))


@onnx(aten.mm.default, aten.bmm.default, aten.mv.default, aten.dot.default, aten.vdot.default)
def matmul(b: OnnxBuilder, x: OnnxTensor, y: OnnxTensor) -> OnnxTensor:
    return b.cast(_product(b, x, y), b.dtype)


def _combined(
    b: OnnxBuilder, base: OnnxTensor, x: OnnxTensor, y: OnnxTensor, beta: Any, alpha: Any
) -> OnnxTensor:
    """beta * base + alpha * (x @ y); with beta 0 the base is not read, so NaN in it does not
    show."""
    result = _product(b, x, y)
    if alpha != 1:
        result = b.op("Mul", result, number(b, alpha, result))
    if beta != 0:
        addend = b.cast(base, result.dtype)
        if beta != 1:
            addend = b.op("Mul", addend, number(b, beta, addend))
        result = b.op("Add", result, addend)
    return b.cast(result, b.dtype)


@onnx(aten.addmm.default)
def addmm(
    b: OnnxBuilder, base: OnnxTensor, x: OnnxTensor, y: OnnxTensor, beta: Any, alpha: Any
) -> OnnxTensor:
    """One Gemm for floats."""
    wide = compute_type(b.dtype)
    if not wide.is_float or beta == 0:
        return _combined(b, base, x, y, beta, alpha)
    inputs = [b.cast(t, wide) for t in (x, y, base)]
    return b.cast(b.op("Gemm", *inputs, alpha=float(alpha), beta=float(beta)), b.dtype)


@onnx(aten.baddbmm.default, aten.addmv.default)
def add_product(
    b: OnnxBuilder, base: OnnxTensor, x: OnnxTensor, y: OnnxTensor, beta: Any, alpha: Any
) -> OnnxTensor:
    return _combined(b, base, x, y, beta, alpha)


@onnx(ptc.linear.default, aten.linear.default)
def linear(
    b: OnnxBuilder, x: OnnxTensor, weight: OnnxTensor, bias: OnnxTensor | None
) -> OnnxTensor:
    """x @ weight.T + bias: a Gemm for a matrix, else a MatMul with the weight transposed (which
    runtimes fold into the weight)."""
    wide = compute_type(b.dtype)
    inputs = [b.cast(t, wide) for t in (x, weight)]
    if x.rank == 2 and wide.is_float:
        offset = [] if bias is None else [b.cast(bias, wide)]
        return b.cast(b.op("Gemm", *inputs, *offset, transB=1), b.dtype)
    turned = b.op("Transpose", inputs[1], perm=list(reversed(range(weight.rank))))
    result = b.op("MatMul", inputs[0], turned)
    if bias is not None:
        result = b.op("Add", result, b.cast(bias, wide))
    return b.cast(result, b.dtype)


@onnx(ptc.sdpa.default, aten.scaled_dot_product_attention.default)
def attention(
    b: OnnxBuilder, query: OnnxTensor, key: OnnxTensor, value: OnnxTensor,
    mask: OnnxTensor | None, dropout_p: float, is_causal: bool, scale: float | None,
    enable_gqa: bool,
) -> OnnxTensor:  # fmt: skip
    """softmax(q @ k.T * scale + mask) @ v, spelled out: every runtime has these operators. A row
    that is masked everywhere gives zeros, as in eager. Scores are kept in f32 for 16-bit inputs."""
    wide = DType.F32 if query.dtype in (DType.F16, DType.BF16) else query.dtype
    q, k, v = (b.cast(t, wide) for t in (query, key, value))
    if enable_gqa:
        k, v = (_repeated(b, t, query, source) for t, source in ((k, key), (v, value)))
    q = b.op("Mul", q, _scale(b, scale, query, wide))
    order = [*range(key.rank - 2), key.rank - 1, key.rank - 2]
    scores = b.op("MatMul", q, b.op("Transpose", k, perm=order))
    hidden = number(b, -math.inf, scores)
    if is_causal:
        scores = where(b, _causal(b, query, key), scores, hidden)
    if mask is not None and mask.dtype is DType.BOOL:
        scores = where(b, mask, scores, hidden)
    elif mask is not None:
        scores = b.op("Add", scores, b.cast(mask, wide))
    shares = b.op("Softmax", scores, axis=-1)
    if mask is not None or is_causal:
        greatest = b.op("ReduceMax", scores, axes(b, [-1]), keepdims=1)
        empty = compare(b, "Equal", greatest, hidden)
        shares = where(b, empty, number(b, 0.0, shares), shares)
    return b.cast(b.op("MatMul", shares, v), b.dtype)


def _scale(b: OnnxBuilder, scale: float | None, query: OnnxTensor, dtype: DType) -> OnnxTensor:
    """1 / sqrt(features) unless given."""
    features = query.dims[-1]
    if scale is not None:
        return b.constant(scale, dtype)
    if features.constant is not None:
        return b.constant(1.0 / math.sqrt(features.constant), dtype)
    return b.op("Reciprocal", b.op("Sqrt", b.cast(b.size(features), dtype)))


def _repeated(b: OnnxBuilder, x: OnnxTensor, query: OnnxTensor, source: OnnxTensor) -> OnnxTensor:
    """Each head of keys or values as often as there are queries for it."""
    heads, own = query.dims[-3], source.dims[-3]
    if heads == own:
        return x
    axis = source.rank - 2
    times: list[Any] = [1] * (source.rank + 1)
    times[axis] = heads // own
    wide = b.op("Tile", b.op("Unsqueeze", x, axes(b, [axis])), b.sizes(times))
    return b.op("Reshape", wide, b.sizes([*source.dims[:-3], heads, *source.dims[-2:]]))


def _causal(b: OnnxBuilder, query: OnnxTensor, key: OnnxTensor) -> OnnxTensor:
    """True where the key is not later than the query, counted from the start of both."""
    rows, columns = (
        b.op("Range", b.size(0), b.size(Index.of(n)), b.size(1))
        for n in (query.dims[-2], key.dims[-2])
    )
    rows = b.op("Unsqueeze", rows, axes(b, [1]))
    return compare(b, "LessOrEqual", columns, rows)
