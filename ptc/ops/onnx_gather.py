"""ONNX rules of reading and writing by index."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch

from ptc.loops.index import Index
from ptc.loops.nodes import DType
from ptc.ops.dtypes import integer_range
from ptc.ops.onnx_elementwise import Operand, compute_type, floor_divide, operand, where
from ptc.ops.onnx_protocol import OnnxBuilder, OnnxTensor
from ptc.ops.onnx_registry import onnx
from ptc.ops.onnx_views import axes, transpose
from ptc.support.diagnostics import CompileError

aten = torch.ops.aten


@onnx(aten.embedding.default)
def embedding(
    b: OnnxBuilder, weight: OnnxTensor, index: OnnxTensor, padding: Any, scale: bool, sparse: bool
) -> OnnxTensor:
    return b.op("Gather", weight, index, axis=0)


@onnx(aten.index_select.default)
def index_select(b: OnnxBuilder, x: OnnxTensor, dim: int, index: OnnxTensor) -> OnnxTensor:
    if not x.rank:
        return x
    places = index if index.rank else b.op("Unsqueeze", index, axes(b, [0]))
    return b.op("Gather", x, places, axis=dim % x.rank)


@onnx(aten.gather.default)
def gather(
    b: OnnxBuilder, x: OnnxTensor, dim: int, index: OnnxTensor, sparse_grad: bool = False
) -> OnnxTensor:
    """One element of x a place of the index; the index may be smaller than x."""
    if not x.rank:
        return x if not index.rank else b.op("Expand", x, b.sizes(b.shape))
    if not index.rank:
        return b.op("Gather", x, index, axis=0)
    return b.op("GatherElements", _cropped(b, x, dim, index), index, axis=dim % x.rank)


def _cropped(b: OnnxBuilder, x: OnnxTensor, dim: int, index: OnnxTensor) -> OnnxTensor:
    """x without what the index does not reach: ONNX Runtime wants equal sizes off the axis."""
    smaller = [
        axis for axis in range(x.rank)
        if axis != dim % x.rank and x.dims[axis] != index.dims[axis]
    ]  # fmt: skip
    if not smaller:
        return x
    ends = b.sizes([index.dims[axis] for axis in smaller])
    return b.op("Slice", x, b.sizes([0] * len(smaller)), ends, axes(b, smaller))


def _scatter(
    b: OnnxBuilder, x: OnnxTensor, dim: int, index: OnnxTensor, source: OnnxTensor, reduction: str
) -> OnnxTensor:
    wide = compute_type(x.dtype)
    axis = dim % max(x.rank, 1)
    value, part = b.cast(x, wide), b.cast(source, wide)
    if not x.rank:
        value, part, index = (b.op("Reshape", t, axes(b, [1])) for t in (value, part, index))
    options: dict[str, Any] = {} if reduction == "none" else {"reduction": reduction}
    result = b.op("ScatterElements", value, index, part, axis=axis, **options)
    if not x.rank:
        result = b.op("Reshape", result, axes(b, []))
    return b.cast(result, b.dtype)


@onnx(aten.scatter.src)
def scatter(
    b: OnnxBuilder, x: OnnxTensor, dim: int, index: OnnxTensor, source: OnnxTensor
) -> OnnxTensor:
    """x with elements replaced; the source may be larger than the index."""
    return _scatter(b, x, dim, index, _fitted(b, source, index), "none")


@onnx(aten.scatter.value)
def scatter_value(
    b: OnnxBuilder, x: OnnxTensor, dim: int, index: OnnxTensor, value: Operand
) -> OnnxTensor:
    filled = b.op("Expand", operand(b, value, x.dtype), b.sizes(index.dims))
    return _scatter(b, x, dim, index, filled, "none")


@onnx(aten.scatter_add.default)
def scatter_add(
    b: OnnxBuilder, x: OnnxTensor, dim: int, index: OnnxTensor, source: OnnxTensor
) -> OnnxTensor:
    return _scatter(b, x, dim, index, _fitted(b, source, index), "add")


#: torch's name -> ONNX's name and the value that changes nothing.
_REDUCTIONS = {
    "sum": ("add", 0),
    "mean": ("add", 0),
    "prod": ("mul", 1),
    "amax": ("max", -math.inf),
    "amin": ("min", math.inf),
}


_OLD_REDUCTIONS = {"add": "add", "multiply": "mul"}


@onnx(aten.scatter.reduce)
def scatter_combine(
    b: OnnxBuilder, x: OnnxTensor, dim: int, index: OnnxTensor, source: OnnxTensor, reduce: str
) -> OnnxTensor:
    return _scatter(b, x, dim, index, _fitted(b, source, index), _OLD_REDUCTIONS[reduce])


@onnx(aten.scatter.value_reduce)
def scatter_combine_value(
    b: OnnxBuilder, x: OnnxTensor, dim: int, index: OnnxTensor, value: Operand, reduce: str
) -> OnnxTensor:
    filled = b.op("Expand", operand(b, value, x.dtype), b.sizes(index.dims))
    return _scatter(b, x, dim, index, filled, _OLD_REDUCTIONS[reduce])


@onnx(aten.scatter_reduce.two)
def scatter_reduce(
    b: OnnxBuilder, x: OnnxTensor, dim: int, index: OnnxTensor, source: OnnxTensor,
    reduce: str, include_self: bool,
) -> OnnxTensor:  # fmt: skip
    """Elements combined with what is there, or only among themselves."""
    kind, neutral = _REDUCTIONS[reduce]
    base = x
    if not include_self:
        base = _scatter(b, x, dim, index, _neutral(b, x.dtype, neutral, index), "none")
    base = OnnxTensor(base.name, base.dtype, x.shape)
    result = _scatter(b, base, dim, index, _fitted(b, source, index), kind)
    if reduce != "mean":
        return result
    ones = _neutral(b, x.dtype, 1, index)
    start = b.op("Expand", b.constant(int(include_self), x.dtype), b.sizes(x.dims))
    start = OnnxTensor(start.name, x.dtype, x.shape)
    counts = b.cast(_scatter(b, start, dim, index, ones, "add"), compute_type(x.dtype))
    one = b.constant(1, counts.dtype)
    counts = b.op("Max", counts, one)
    total = b.cast(result, counts.dtype)
    if counts.dtype.is_float:
        return b.cast(b.op("Div", total, counts), b.dtype)
    return b.cast(floor_divide(b, total, counts), b.dtype)


def _neutral(b: OnnxBuilder, dtype: DType, value: float, index: OnnxTensor) -> OnnxTensor:
    """The value in the shape of the index; infinities are an integer type's bounds."""
    if not dtype.is_float and math.isinf(value):
        low, high = integer_range(dtype)
        value = high if value > 0 else low
    return b.op("Expand", b.constant(value, dtype), b.sizes(index.dims))


def _fitted(b: OnnxBuilder, source: OnnxTensor, index: OnnxTensor) -> OnnxTensor:
    """The source cropped to the index: ONNX wants equal shapes."""
    if source.shape == index.shape or not source.rank:
        return source
    starts = b.sizes([0] * source.rank)
    return b.op("Slice", source, starts, b.sizes(index.dims), axes(b, range(source.rank)))


# --- advanced indexing ----------------------------------------------------------------------------


def _indexed_axes(
    x: OnnxTensor, indices: Sequence[OnnxTensor | None]
) -> tuple[list[int], list[OnnxTensor]]:
    """The dimensions that have an index, and the indices."""
    pairs = [(axis, index) for axis, index in enumerate(indices) if index is not None]
    for _, index in pairs:
        if index.dtype is DType.BOOL:
            raise CompileError("PTC-E021", "an index by a mask has a size that depends on data")
    return [axis for axis, _ in pairs], [index for _, index in pairs]


def _joint_index(
    b: OnnxBuilder, indices: Sequence[OnnxTensor]
) -> tuple[OnnxTensor, tuple[Index, ...]]:
    """The indices broadcast together as rows of coordinates, and their common shape."""
    shape = broadcast([index.dims for index in indices])
    wide = [b.op("Expand", b.cast(index, DType.I64), b.sizes(shape)) for index in indices]
    columns = [b.op("Unsqueeze", index, axes(b, [-1])) for index in wide]
    joint = columns[0] if len(columns) == 1 else b.op("Concat", *columns, axis=-1)
    return joint, shape


def broadcast(shapes: Sequence[tuple[Index, ...]]) -> tuple[Index, ...]:
    """The common shape, from the right; a size of 1 takes the other's."""
    rank = max(len(shape) for shape in shapes)
    result: list[Index] = []
    for place in range(rank):
        sizes = [s[place - rank + len(s)] for s in shapes if place - rank + len(s) >= 0]
        result.append(next((size for size in sizes if size.constant != 1), Index.const(1)))
    return tuple(result)


def _is_adjacent(positions: Sequence[int]) -> bool:
    return list(positions) == list(range(positions[0], positions[0] + len(positions)))


@onnx(aten.index.Tensor, aten._unsafe_index.Tensor)
def index(b: OnnxBuilder, x: OnnxTensor, indices: Sequence[OnnxTensor | None]) -> OnnxTensor:
    """x[i, :, j]: the indexed dimensions first, gathered, and the result put where NumPy puts
    it."""
    positions, given = _indexed_axes(x, indices)
    if len(positions) == 1 and positions[0] < x.rank:
        return b.op("Gather", x, b.cast(given[0], DType.I64), axis=positions[0])
    rest = [axis for axis in range(x.rank) if axis not in positions]
    joint, shape = _joint_index(b, given)
    found = b.op("GatherND", transpose(b, x, [*positions, *rest]), joint)
    if not _is_adjacent(positions):
        return found
    before, width = positions[0], len(shape)
    order = [
        *range(width, width + before),
        *range(width),
        *range(width + before, width + len(rest)),
    ]
    return transpose(b, found, order)


@onnx(aten.index_put.default, aten._unsafe_index_put.default)
def index_put(
    b: OnnxBuilder, x: OnnxTensor, indices: Sequence[OnnxTensor | None], values: OnnxTensor,
    accumulate: bool,
) -> OnnxTensor:  # fmt: skip
    """x with x[i, :, j] replaced or added to."""
    masks = [(axis, index) for axis, index in enumerate(indices) if index is not None]
    if len(masks) == 1 and masks[0][1].dtype is DType.BOOL:
        return _masked_put(b, x, *masks[0], values, accumulate)
    positions, given = _indexed_axes(x, indices)
    rest = [axis for axis in range(x.rank) if axis not in positions]
    joint, shape = _joint_index(b, given)
    wide = compute_type(x.dtype)
    target: list[Any] = [*shape, *(x.dims[axis] for axis in rest)]
    order = list(range(len(target)))
    if _is_adjacent(positions):
        # Values come in the order of x; the indexed dimensions go to the front here.
        before, width = positions[0], len(shape)
        placed = (
            [x.dims[a] for a in rest[:before]] + list(shape) + [x.dims[a] for a in rest[before:]]
        )
        order = [
            *range(before, before + width),
            *range(before),
            *range(before + width, len(target)),
        ]
        target = placed
    filled = b.op("Expand", b.cast(values, wide), b.sizes(target))
    options: dict[str, Any] = {"reduction": "add"} if accumulate else {}
    front = [*positions, *rest]
    changed = b.op("ScatterND", transpose(b, b.cast(x, wide), front), joint,
                   transpose(b, filled, order), **options)  # fmt: skip
    back = [front.index(axis) for axis in range(x.rank)]
    return b.cast(transpose(b, changed, back), b.dtype)


def _masked_put(
    b: OnnxBuilder, x: OnnxTensor, axis: int, mask: OnnxTensor, values: OnnxTensor,
    accumulate: bool,
) -> OnnxTensor:  # fmt: skip
    """A single value where a mask holds is a selection. The mask covers dimensions from `axis`
    on."""
    if any(size.constant != 1 for size in values.dims):
        raise CompileError("PTC-E021", "a write by a mask has a size that depends on data")
    missing = x.rank - axis - mask.rank
    test = b.op("Unsqueeze", mask, axes(b, range(-missing, 0))) if missing else mask
    wide = compute_type(x.dtype) if accumulate else x.dtype
    base = b.cast(x, wide)
    single = b.op("Reshape", b.cast(values, wide), axes(b, []))
    changed = b.op("Add", base, single) if accumulate else b.op("Expand", single, b.sizes(x.dims))
    return b.cast(where(b, test, changed, base), b.dtype)


def _slices_put(
    b: OnnxBuilder, x: OnnxTensor, dim: int, index: OnnxTensor, part: OnnxTensor, **options: Any
) -> OnnxTensor:
    """x with the slices at `index` along a dimension replaced or combined with those of `part`."""
    wide = part.dtype
    if not x.rank:
        flat = [b.op("Reshape", t, axes(b, [1])) for t in (b.cast(x, wide), part)]
        places = b.op("Reshape", b.cast(index, DType.I64), axes(b, [-1, 1]))
        changed = b.op("ScatterND", flat[0], places, flat[1], **options)
        return b.cast(b.op("Reshape", changed, axes(b, [])), b.dtype)
    axis = dim % x.rank
    order = [axis, *(a for a in range(x.rank) if a != axis)]
    places = b.op("Reshape", b.cast(index, DType.I64), axes(b, [-1, 1]))
    changed = b.op("ScatterND", transpose(b, b.cast(x, wide), order), places,
                   transpose(b, part, order), **options)  # fmt: skip
    return b.cast(transpose(b, changed, [order.index(a) for a in range(x.rank)]), b.dtype)


@onnx(aten.index_add.default)
def index_add(
    b: OnnxBuilder, x: OnnxTensor, dim: int, index: OnnxTensor, source: OnnxTensor, alpha: Any
) -> OnnxTensor:
    """x with slices added to at an index."""
    part = b.cast(source, compute_type(x.dtype))
    if alpha != 1:
        part = b.op("Mul", part, b.constant(alpha, part.dtype))
    return _slices_put(b, x, dim, index, part, reduction="add")


@onnx(aten.index_copy.default)
def index_copy(
    b: OnnxBuilder, x: OnnxTensor, dim: int, index: OnnxTensor, source: OnnxTensor
) -> OnnxTensor:
    """x with slices replaced at an index."""
    return _slices_put(b, x, dim, index, b.cast(source, compute_type(x.dtype)))


@onnx(aten.index_fill.int_Scalar, aten.index_fill.int_Tensor)
def index_fill(
    b: OnnxBuilder, x: OnnxTensor, dim: int, index: OnnxTensor, value: Operand
) -> OnnxTensor:
    """x with slices filled at an index."""
    shape = list(x.dims)
    if shape:
        shape[dim] = index.dims[0] if index.rank else Index.const(1)
    part = b.op("Expand", operand(b, value, compute_type(x.dtype)), b.sizes(shape))
    return _slices_put(b, x, dim, index, part)


@onnx(aten.take.default)
def take(b: OnnxBuilder, x: OnnxTensor, index: OnnxTensor) -> OnnxTensor:
    """By the place in row-major order."""
    return b.op("Gather", b.op("Reshape", x, axes(b, [-1])), b.cast(index, DType.I64), axis=0)
