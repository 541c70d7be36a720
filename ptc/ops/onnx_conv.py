"""ONNX rules of convolution and pooling."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch

from ptc.loops.index import Index
from ptc.loops.nodes import DType
from ptc.ops.onnx_elementwise import compute_type, is_nan, number, where
from ptc.ops.onnx_protocol import OnnxBuilder, OnnxTensor
from ptc.ops.onnx_registry import onnx
from ptc.ops.onnx_views import axes
from ptc.support.diagnostics import CompileError

aten = torch.ops.aten


def _spread(values: Sequence[int], count: int) -> list[int]:
    """One number for every spatial dimension, or one for each."""
    listed = [int(v) for v in values]
    return listed * count if len(listed) == 1 else listed


@onnx(aten.convolution.default)
def convolution(
    b: OnnxBuilder, x: OnnxTensor, weight: OnnxTensor, bias: OnnxTensor | None,
    stride: Any, padding: Any, dilation: Any, transposed: bool, output_padding: Any, groups: int,
) -> OnnxTensor:  # fmt: skip
    """Conv or ConvTranspose."""
    wide = compute_type(b.dtype)
    spatial = weight.rank - 2
    pads = _spread(padding, spatial)
    inputs = [b.cast(t, wide) for t in (x, weight, bias) if t is not None]
    batched = x.rank == weight.rank
    if not batched:
        inputs[0] = b.op("Unsqueeze", inputs[0], axes(b, [0]))
    options: dict[str, Any] = {
        "strides": _spread(stride, spatial),
        "pads": [*pads, *pads],
        "dilations": _spread(dilation, spatial),
        "group": int(groups),
    }
    if all(size.constant is not None for size in weight.dims[2:]):
        options["kernel_shape"] = [size.constant for size in weight.dims[2:]]
    if transposed:
        options["output_padding"] = _spread(output_padding, spatial)
    result = b.op("ConvTranspose" if transposed else "Conv", *inputs, **options)
    if not batched:
        result = b.op("Squeeze", result, axes(b, [0]))
    return b.cast(result, b.dtype)


def _fixed(size: Index, what: str) -> int:
    if size.constant is None:
        raise CompileError("PTC-E021", f"ONNX needs a fixed {what} size, this one is {size}")
    return size.constant


# --- pooling --------------------------------------------------------------------------------------


def _window(kernel: Any, stride: Any, padding: Any, spatial: int) -> dict[str, Any]:
    """The attributes that all pools share; no stride means the kernel's size."""
    pads = _spread(padding, spatial)
    sizes = _spread(kernel, spatial)
    return {
        "kernel_shape": sizes,
        "strides": _spread(stride, spatial) if stride else sizes,
        "pads": [*pads, *pads],
    }


def _batched(b: OnnxBuilder, x: OnnxTensor, spatial: int) -> OnnxTensor:
    wide = b.cast(x, compute_type(x.dtype))
    return b.op("Unsqueeze", wide, axes(b, [0])) if x.rank == spatial + 1 else wide


def _unbatched(b: OnnxBuilder, result: OnnxTensor, x: OnnxTensor, spatial: int) -> OnnxTensor:
    return b.op("Squeeze", result, axes(b, [0])) if x.rank == spatial + 1 else result


def _max_pool(spatial: int) -> Any:
    def rule(
        b: OnnxBuilder, x: OnnxTensor, kernel: Any, stride: Any, padding: Any, dilation: Any,
        ceil_mode: bool,
    ) -> Any:  # fmt: skip
        """Values, and positions within each plane (ONNX counts them through the whole tensor).
        NaN wins, as in eager: ONNX Runtime's pool drops it."""
        options = _window(kernel, stride, padding, spatial)
        options["dilations"] = _spread(dilation, spatial)
        options["ceil_mode"] = int(ceil_mode)
        value = _batched(b, x, spatial)
        values, places = b.ops("MaxPool", value, dtypes=[value.dtype, DType.I64], **options)
        plane = Index.const(1)
        for size in x.dims[-spatial:]:
            plane = plane * size
        places = b.op("Mod", places, b.size(plane))
        if value.dtype.is_float:
            nan = is_nan(b, value)
            some = b.cast(b.op("MaxPool", b.cast(nan, value.dtype), **options), DType.BOOL)
            values = where(b, some, number(b, math.nan, values), values)
            places = where(b, some, _last_place(b, nan, x.dims[-spatial:], plane, options), places)
        results = [_unbatched(b, result, x, spatial) for result in (values, places)]
        return b.cast(results[0], x.dtype), results[1]

    return rule


def _last_place(
    b: OnnxBuilder, flags: OnnxTensor, sizes: Sequence[Index], plane: Index, options: dict[str, Any]
) -> OnnxTensor:
    """The last position in each window where the flag is set, counted in the plane; -1 for none."""
    zero, one = b.constant(0, DType.I64), b.constant(1, DType.I64)
    counted = b.op("Range", zero, b.size(plane), one)
    # Pools have no kernels for int64; doubles hold every position exactly.
    positions = b.cast(b.op("Reshape", counted, b.sizes(sizes)), DType.F64)
    marked = where(b, flags, positions, number(b, -1.0, positions))
    return b.cast(b.op("MaxPool", marked, **options), DType.I64)


onnx(aten.max_pool2d_with_indices.default)(_max_pool(2))
onnx(aten.max_pool3d_with_indices.default)(_max_pool(3))


def _average_pool(spatial: int) -> Any:
    def rule(
        b: OnnxBuilder, x: OnnxTensor, kernel: Any, stride: Any, padding: Any,
        ceil_mode: bool = False, count_include_pad: bool = True, divisor: int | None = None,
    ) -> OnnxTensor:  # fmt: skip
        """Means of windows. A divisor of its own is a sum: all elements counted, then rescaled."""
        options = _window(kernel, stride, padding, spatial)
        value = _batched(b, x, spatial)
        if divisor is not None and ceil_mode:
            raise CompileError(
                "PTC-E021", "ONNX has no average pool with `divisor_override` and `ceil_mode`"
            )
        counts = int(count_include_pad or divisor is not None)
        result = b.op(
            "AveragePool", value, ceil_mode=int(ceil_mode), count_include_pad=counts, **options
        )
        if divisor is not None:
            area = 1
            for size in options["kernel_shape"]:
                area *= size
            result = b.op("Mul", result, number(b, area / divisor, result))
        return b.cast(_unbatched(b, result, x, spatial), b.dtype)

    return rule


onnx(aten.avg_pool1d.default)(_average_pool(1))
onnx(aten.avg_pool2d.default)(_average_pool(2))
onnx(aten.avg_pool3d.default)(_average_pool(3))


def _adaptive_average(spatial: int) -> Any:
    def rule(b: OnnxBuilder, x: OnnxTensor, output: Sequence[Any]) -> OnnxTensor:
        """Size 1 is a mean. Otherwise, axis by axis, a product with the matrix of shares: windows
        overlap and differ in size, which no ONNX pool can say."""
        value = b.cast(x, compute_type(x.dtype))
        for place, size in enumerate(b.shape[-spatial:]):
            axis = x.rank - spatial + place
            value = _averaged(b, value, x, axis, _fixed(size, "output"))
        return b.cast(value, b.dtype)

    return rule


def _averaged(b: OnnxBuilder, value: OnnxTensor, x: OnnxTensor, axis: int, size: int) -> OnnxTensor:
    if size == 1:
        return b.op("ReduceMean", value, axes(b, [axis]), keepdims=1)
    length = _fixed(x.dims[axis], "input")
    if length == size:
        return value
    rows = [[0.0] * size for _ in range(length)]
    for column in range(size):
        start, end = column * length // size, -(-(column + 1) * length // size)
        for row in range(start, end):
            rows[row][column] = 1.0 / (end - start)
    order = list(range(x.rank))
    order[axis], order[-1] = order[-1], order[axis]
    shares = b.constant(rows, value.dtype)
    if order == sorted(order):
        return b.op("MatMul", value, shares)
    turned = b.op("MatMul", b.op("Transpose", value, perm=order), shares)
    return b.op("Transpose", turned, perm=order)


onnx(aten._adaptive_avg_pool2d.default)(_adaptive_average(2))
onnx(aten._adaptive_avg_pool3d.default)(_adaptive_average(3))
onnx(aten.adaptive_avg_pool1d.default)(_adaptive_average(1))
