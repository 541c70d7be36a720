"""ONNX rules of normalisations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from ptc.loops.index import Index
from ptc.loops.nodes import DType
from ptc.ops.onnx_elementwise import compute_type, number
from ptc.ops.onnx_protocol import OnnxBuilder, OnnxTensor
from ptc.ops.onnx_reduce import count_of, moments
from ptc.ops.onnx_registry import onnx
from ptc.ops.onnx_views import axes, reshape

aten = torch.ops.aten
ptc = torch.ops.ptc


@onnx(aten.native_layer_norm.default)
def layer_norm(
    b: OnnxBuilder, x: OnnxTensor, shape: Sequence[Any], weight: OnnxTensor | None,
    bias: OnnxTensor | None, eps: float,
) -> Any:  # fmt: skip
    """LayerNormalization over the last dimensions, with mean and inverse deviation."""
    wide = compute_type(x.dtype)
    if wide is DType.F64:  # LayerNormalization keeps its statistics in f32
        return _layer_norm_in_parts(b, x, shape, weight, bias, eps)
    scale = b.op("Expand", b.constant(1.0, wide), b.sizes(shape)) if weight is None else weight
    offset = None if bias is None else b.cast(bias, wide)
    statistics = b.results[1].dtype
    results = b.ops(
        "LayerNormalization", b.cast(x, wide), b.cast(scale, wide), offset,
        dtypes=[wide, DType.F32, DType.F32], axis=-len(shape), epsilon=float(eps),
        stash_type=1,
    )  # fmt: skip
    return b.cast(results[0], x.dtype), *(b.cast(r, statistics) for r in results[1:])


def _layer_norm_in_parts(
    b: OnnxBuilder, x: OnnxTensor, shape: Sequence[Any], weight: OnnxTensor | None,
    bias: OnnxTensor | None, eps: float,
) -> Any:  # fmt: skip
    over = list(range(x.rank - len(shape), x.rank))
    variance, mean = moments(b, x, over, 0.0, keepdim=True)
    inverse = b.op("Reciprocal", b.op("Sqrt", b.op("Add", variance, number(b, eps, variance))))
    result = b.op("Mul", b.op("Sub", x, mean), inverse)
    if weight is not None:
        result = b.op("Mul", result, weight)
    if bias is not None:
        result = b.op("Add", result, bias)
    return result, mean, inverse


@onnx(ptc.rms_norm.default)
def rms_norm(
    b: OnnxBuilder,
    x: OnnxTensor,
    shape: Sequence[Any],
    weight: OnnxTensor | None,
    eps: float | None,
) -> OnnxTensor:
    """x / sqrt(mean(x * x) + eps) * weight."""
    wide = DType.F32 if x.dtype in (DType.F16, DType.BF16) else x.dtype
    value = b.cast(x, wide)
    if eps is None:
        eps = torch.finfo({DType.F16: torch.float16, DType.BF16: torch.bfloat16,
                           DType.F64: torch.float64}.get(x.dtype, torch.float32)).eps  # fmt: skip
    over = axes(b, range(-len(shape), 0))
    mean = b.op("ReduceMean", b.op("Mul", value, value), over, keepdims=1)
    root = b.op("Sqrt", b.op("Add", mean, number(b, eps, value)))
    result = b.op("Div", value, root)
    if weight is not None:
        result = b.op("Mul", result, b.cast(weight, wide))
    return b.cast(result, b.dtype)


@onnx(aten.native_group_norm.default)
def group_norm(
    b: OnnxBuilder, x: OnnxTensor, weight: OnnxTensor | None, bias: OnnxTensor | None,
    n: Any, c: Any, hw: Any, groups: int, eps: float,
) -> Any:  # fmt: skip
    """Each group of channels by its own mean and deviation."""
    wide = compute_type(x.dtype)
    share = count_of(x, range(1, x.rank)) // groups
    shape = (x.dims[0], Index.of(groups), share)
    rows = OnnxTensor(reshape(b, b.cast(x, wide), shape).name, wide, shape)
    variance, mean = moments(b, rows, [2], 0.0, keepdim=True)
    inverse = b.op("Reciprocal", b.op("Sqrt", b.op("Add", variance, number(b, eps, variance))))
    normal = b.op("Mul", b.op("Sub", rows, mean), inverse)
    result = reshape(b, normal, x.dims)
    spread = [1, -1, *([1] * (x.rank - 2))]
    if weight is not None:
        result = b.op("Mul", result, b.op("Reshape", b.cast(weight, wide), axes(b, spread)))
    if bias is not None:
        result = b.op("Add", result, b.op("Reshape", b.cast(bias, wide), axes(b, spread)))
    statistics = [
        b.cast(b.op("Squeeze", part, axes(b, [2])), b.results[1].dtype) for part in (mean, inverse)
    ]
    return b.cast(result, x.dtype), *statistics


@onnx(aten._native_batch_norm_legit_no_training.default)
def batch_norm(
    b: OnnxBuilder, x: OnnxTensor, weight: OnnxTensor | None, bias: OnnxTensor | None,
    mean: OnnxTensor, variance: OnnxTensor, momentum: float, eps: float,
) -> Any:  # fmt: skip
    """By the running statistics."""
    wide = compute_type(x.dtype)
    channels = b.sizes([x.dims[1]])
    scale = b.op("Expand", b.constant(1.0, wide), channels) if weight is None else weight
    offset = b.op("Expand", b.constant(0.0, wide), channels) if bias is None else bias
    inputs = [b.cast(t, wide) for t in (x, scale, offset, mean, variance)]
    result = b.op("BatchNormalization", *inputs, epsilon=float(eps))
    # Without training the saved statistics are empty.
    empty = [b.constant([], item.dtype) for item in b.results[1:]]
    return b.cast(result, x.dtype), *empty


def _by_batch(
    b: OnnxBuilder, x: OnnxTensor, weight: OnnxTensor | None, bias: OnnxTensor | None, eps: float
) -> tuple[OnnxTensor, OnnxTensor, OnnxTensor]:
    """By the statistics of the batch: result, mean and inverse deviation."""
    wide = compute_type(x.dtype)
    value = OnnxTensor(b.cast(x, wide).name, wide, x.shape)
    over = [dim for dim in range(x.rank) if dim != 1]
    variance, mean = moments(b, value, over, 0.0, keepdim=True)
    inverse = b.op("Reciprocal", b.op("Sqrt", b.op("Add", variance, number(b, eps, variance))))
    result = b.op("Mul", b.op("Sub", value, mean), inverse)
    spread = axes(b, [1, -1, *([1] * (x.rank - 2))])
    if weight is not None:
        result = b.op("Mul", result, b.op("Reshape", b.cast(weight, wide), spread))
    if bias is not None:
        result = b.op("Add", result, b.op("Reshape", b.cast(bias, wide), spread))
    flat = [b.op("Reshape", part, axes(b, [-1])) for part in (mean, inverse)]
    return b.cast(result, x.dtype), flat[0], flat[1]


@onnx(aten._native_batch_norm_legit.no_stats)
def batch_norm_no_stats(
    b: OnnxBuilder, x: OnnxTensor, weight: OnnxTensor | None, bias: OnnxTensor | None,
    training: bool, momentum: float, eps: float,
) -> Any:  # fmt: skip
    result, mean, inverse = _by_batch(b, x, weight, bias, eps)
    kinds = [item.dtype for item in b.results]
    return result, b.cast(mean, kinds[1]), b.cast(inverse, kinds[2])


@onnx(aten.native_batch_norm.default)
def native_batch_norm(
    b: OnnxBuilder, x: OnnxTensor, weight: OnnxTensor | None, bias: OnnxTensor | None,
    mean: OnnxTensor | None, variance: OnnxTensor | None, training: bool, momentum: float,
    eps: float,
) -> Any:  # fmt: skip
    if training or mean is None or variance is None:
        return batch_norm_no_stats(b, x, weight, bias, training, momentum, eps)
    return batch_norm(b, x, weight, bias, mean, variance, momentum, eps)
