"""ONNX rules of views, concatenation and padding: nothing is computed, elements move."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from ptc.loops.index import Index
from ptc.loops.nodes import DType
from ptc.ops.onnx_creation import sizes_of
from ptc.ops.onnx_elementwise import operand
from ptc.ops.onnx_protocol import OnnxBuilder, OnnxTensor, Size
from ptc.ops.onnx_registry import onnx

aten = torch.ops.aten

#: Beyond every size: "to the end" in a slice.
_END = 2**63 - 1


def axes(b: OnnxBuilder, values: Sequence[int]) -> OnnxTensor:
    """A 1-d constant of axis numbers."""
    return b.constant(list(values), DType.I64)


def reshape(b: OnnxBuilder, x: OnnxTensor, shape: Sequence[Size]) -> OnnxTensor:
    """Row-major elements under another shape. With one symbolic size the rest is a constant and
    that size is inferred (unless a size is 0, which has its own meaning in ONNX)."""
    known = sizes_of(shape)
    if known.count(None) == 1 and all(size is None or size > 0 for size in known):
        return b.op("Reshape", x, axes(b, [-1 if size is None else size for size in known]))
    return b.op("Reshape", x, b.sizes(shape), allowzero=1)


def slice_(
    b: OnnxBuilder, x: OnnxTensor, dim: int, start: Size, end: Size, step: int = 1
) -> OnnxTensor:
    """x[start:end:step] along `dim`."""
    return b.op("Slice", x, b.sizes([start]), b.sizes([end]), axes(b, [dim]), axes(b, [step]))


def transpose(b: OnnxBuilder, x: OnnxTensor, order: Sequence[int]) -> OnnxTensor:
    if list(order) == sorted(order):
        return x
    return b.op("Transpose", x, perm=list(order))


def moved(rank: int, source: int, target: int) -> list[int]:
    """The permutation that moves axis `source` to `target`."""
    order = [axis for axis in range(rank) if axis != source]
    order.insert(target, source)
    return order


@onnx(
    aten.view.default,
    aten.reshape.default,
    aten._unsafe_view.default,
    aten.view_copy.default,
)
def view(b: OnnxBuilder, x: OnnxTensor, size: Any) -> OnnxTensor:
    return reshape(b, x, b.shape)


@onnx(aten._reshape_alias.default)
def reshape_alias(b: OnnxBuilder, x: OnnxTensor, size: Any, stride: Any) -> OnnxTensor:
    return reshape(b, x, b.shape)


@onnx(aten.expand.default, aten.expand_copy.default)
def expand(b: OnnxBuilder, x: OnnxTensor, size: Any) -> OnnxTensor:
    return b.op("Expand", x, b.sizes(b.shape))


@onnx(aten.unsqueeze.default, aten.unsqueeze_copy.default)
def unsqueeze(b: OnnxBuilder, x: OnnxTensor, dim: int) -> OnnxTensor:
    return b.op("Unsqueeze", x, axes(b, [dim % (x.rank + 1)]))


@onnx(aten.squeeze.default, aten.squeeze_copy.default)
def squeeze(b: OnnxBuilder, x: OnnxTensor) -> OnnxTensor:
    """Without the sizes known to be 1."""
    return _squeezed(b, x, range(x.rank))


@onnx(aten.squeeze.dim, aten.squeeze_copy.dim)
def squeeze_dim(b: OnnxBuilder, x: OnnxTensor, dim: int) -> OnnxTensor:
    return _squeezed(b, x, [dim])


@onnx(aten.squeeze.dims, aten.squeeze_copy.dims)
def squeeze_dims(b: OnnxBuilder, x: OnnxTensor, dims: Sequence[int]) -> OnnxTensor:
    return _squeezed(b, x, dims)


def _squeezed(b: OnnxBuilder, x: OnnxTensor, dims: Sequence[int]) -> OnnxTensor:
    """Without those of `dims` that the result lacks: a size may be known to be 1 from what a graph
    assumes, and not as a number."""
    asked = {dim % x.rank for dim in dims} if x.rank else set[int]()
    left = list(b.shape)
    gone: list[int] = []
    for dim, size in enumerate(x.dims):
        if left and size == left[0] and not (dim in asked and size.constant == 1):
            left.pop(0)
        else:
            gone.append(dim)
    return b.op("Squeeze", x, axes(b, gone)) if gone else x


@onnx(aten.permute.default, aten.permute_copy.default)
def permute(b: OnnxBuilder, x: OnnxTensor, dims: Sequence[int]) -> OnnxTensor:
    return transpose(b, x, [dim % x.rank for dim in dims])


@onnx(aten.transpose.int, aten.transpose_copy.int)
def swap(b: OnnxBuilder, x: OnnxTensor, first: int, second: int) -> OnnxTensor:
    order = list(range(x.rank))
    if order:
        order[first], order[second] = order[second], order[first]
    return transpose(b, x, order)


@onnx(aten.t.default, aten.t_copy.default)
def matrix_transpose(b: OnnxBuilder, x: OnnxTensor) -> OnnxTensor:
    return transpose(b, x, list(reversed(range(x.rank))))


@onnx(aten.movedim.int)
def move_dim(b: OnnxBuilder, x: OnnxTensor, source: int, target: int) -> OnnxTensor:
    return move_dims(b, x, [source], [target])


@onnx(aten.movedim.intlist)
def move_dims(
    b: OnnxBuilder, x: OnnxTensor, source: Sequence[int], target: Sequence[int]
) -> OnnxTensor:
    order = [-1] * x.rank
    for old, new in zip(source, target, strict=True):
        order[new % x.rank] = old % x.rank
    rest = iter(axis for axis in range(x.rank) if axis not in order)
    return transpose(b, x, [next(rest) if axis < 0 else axis for axis in order])


@onnx(aten.flip.default)
def flip(b: OnnxBuilder, x: OnnxTensor, dims: Sequence[int]) -> OnnxTensor:
    if not dims:
        return x
    count = len(dims)
    return b.op(
        "Slice", x, axes(b, [-1] * count), axes(b, [-_END] * count),
        axes(b, [dim % x.rank for dim in dims]), axes(b, [-1] * count),
    )  # fmt: skip


@onnx(aten.roll.default)
def roll(b: OnnxBuilder, x: OnnxTensor, shifts: Sequence[Size], dims: Sequence[int]) -> OnnxTensor:
    if not dims:
        flat = b.op("Reshape", x, axes(b, [-1]))
        total = Index.const(1)
        for size in x.dims:
            total = total * size
        return reshape(b, _rolled(b, flat, shifts[0], 0, total), b.shape)
    for shift, dim in zip(shifts, dims, strict=True):
        x = OnnxTensor(_rolled(b, x, shift, dim % x.rank, x.dims[dim]).name, x.dtype, x.shape)
    return x


def _rolled(b: OnnxBuilder, x: OnnxTensor, shift: Size, dim: int, size: Index) -> OnnxTensor:
    if size.constant == 0:
        return x
    split = (size - shift) % size
    tail = slice_(b, x, dim, split, _END)
    return b.op("Concat", tail, slice_(b, x, dim, 0, split), axis=dim)


@onnx(aten.repeat.default)
def repeat(b: OnnxBuilder, x: OnnxTensor, repeats: Sequence[Size]) -> OnnxTensor:
    missing = len(repeats) - x.rank
    if missing:
        x = b.op("Unsqueeze", x, axes(b, range(missing)))
    return b.op("Tile", x, b.sizes(repeats)) if repeats else x


@onnx(aten.slice.Tensor, aten.slice_copy.Tensor)
def slice_rule(
    b: OnnxBuilder, x: OnnxTensor, dim: int, start: Size | None, end: Size | None, step: int
) -> OnnxTensor:
    last = _END if end is None else end
    return slice_(b, x, dim % x.rank, 0 if start is None else start, last, step)


@onnx(aten.select.int, aten.select_copy.int)
def select(b: OnnxBuilder, x: OnnxTensor, dim: int, index: Size) -> OnnxTensor:
    return b.op("Gather", x, b.size(index), axis=dim % x.rank)


@onnx(aten.narrow.default)
def narrow(b: OnnxBuilder, x: OnnxTensor, dim: int, start: Size, length: Size) -> OnnxTensor:
    first = Index.of(start)
    if first.constant is not None and first.constant < 0:
        first = x.dims[dim] + first
    return slice_(b, x, dim % x.rank, first, first + length)


def _split(b: OnnxBuilder, x: OnnxTensor, sizes: Sequence[Size], dim: int) -> Any:
    if len(sizes) == 1:
        return (x,)
    count = len(sizes)
    return b.ops("Split", x, b.sizes(sizes), dtypes=[x.dtype] * count, axis=dim % x.rank)


@onnx(aten.split_with_sizes.default, aten.split_with_sizes_copy.default)
def split_with_sizes(b: OnnxBuilder, x: OnnxTensor, sizes: Sequence[Size], dim: int) -> Any:
    return _split(b, x, sizes, dim)


@onnx(aten.split.Tensor, aten.split_copy.Tensor, aten.unsafe_split.Tensor)
def split(b: OnnxBuilder, x: OnnxTensor, size: Size, dim: int) -> Any:
    return _split(b, x, [result.shape[dim] for result in b.results], dim)


@onnx(aten.unbind.int, aten.unbind_copy.int)
def unbind(b: OnnxBuilder, x: OnnxTensor, dim: int) -> Any:
    axis = dim % x.rank
    return tuple(b.op("Gather", x, b.size(i), axis=axis) for i in range(len(b.results)))


def window_index(b: OnnxBuilder, count: Size, size: Size, step: Size) -> OnnxTensor:
    """The index matrix [i * step + j] of `count` windows of `size`."""
    starts = b.op("Range", b.size(0), b.size(count), b.size(1))
    starts = b.op("Unsqueeze", b.op("Mul", starts, b.size(step)), axes(b, [1]))
    return b.op("Add", starts, b.op("Range", b.size(0), b.size(size), b.size(1)))


@onnx(aten.unfold.default, aten.unfold_copy.default)
def unfold(b: OnnxBuilder, x: OnnxTensor, dim: int, size: Size, step: Size) -> OnnxTensor:
    """Windows along a dimension; the place in the window is the last dimension."""
    if not x.rank:
        return b.op("Unsqueeze", x, axes(b, [0]))
    axis = dim % x.rank
    index = window_index(b, b.shape[axis], size, step)
    return transpose(b, b.op("Gather", x, index, axis=axis), moved(x.rank + 1, axis + 1, x.rank))


@onnx(aten.diagonal.default, aten.diagonal_copy.default)
def diagonal(b: OnnxBuilder, x: OnnxTensor, offset: int, dim1: int, dim2: int) -> OnnxTensor:
    """The diagonal of two dimensions, as the last one."""
    first, second = dim1 % x.rank, dim2 % x.rank
    rest = [axis for axis in range(x.rank) if axis not in (first, second)]
    matrices = transpose(b, x, [first, second, *rest])
    steps = b.op("Range", b.size(0), b.size(b.shape[-1]), b.size(1))
    rows = b.op("Add", steps, b.size(max(-offset, 0)))
    columns = b.op("Add", steps, b.size(max(offset, 0)))
    index = b.op(
        "Concat", *(b.op("Unsqueeze", side, axes(b, [1])) for side in (rows, columns)), axis=1
    )
    found = b.op("GatherND", matrices, index)
    return transpose(b, found, [*range(1, x.rank - 1), 0])


@onnx(aten.as_strided.default, aten.as_strided_copy.default)
def as_strided(
    b: OnnxBuilder, x: OnnxTensor, size: Any, stride: Sequence[Size], offset: Size | None
) -> OnnxTensor:
    """Elements by their place in memory. Rules know no memory: the tensor counts as dense."""
    place = b.size(offset or 0)
    for axis, step in enumerate(stride):
        steps = b.op("Range", b.size(0), b.size(b.shape[axis]), b.size(1))
        steps = b.op("Mul", steps, b.size(step))
        later = len(stride) - 1 - axis
        if later:
            steps = b.op("Unsqueeze", steps, axes(b, range(1, later + 1)))
        place = b.op("Add", place, steps)
    return b.op("Gather", b.op("Reshape", x, axes(b, [-1])), place, axis=0)


# --- joining --------------------------------------------------------------------------------------


@onnx(aten.cat.default)
def cat(b: OnnxBuilder, tensors: Sequence[OnnxTensor], dim: int) -> OnnxTensor:
    """One after another; eager ignores empty one-dimensional tensors beside others."""
    rank = len(b.shape)
    kept = [t for t in tensors if not (t.rank == 1 and rank > 1 and t.dims[0].constant == 0)]
    parts = [b.cast(t, b.dtype) for t in kept]
    return parts[0] if len(parts) == 1 else b.op("Concat", *parts, axis=dim % rank)


@onnx(aten.stack.default)
def stack(b: OnnxBuilder, tensors: Sequence[OnnxTensor], dim: int) -> OnnxTensor:
    axis = dim % len(b.shape)
    parts = [b.op("Unsqueeze", b.cast(t, b.dtype), axes(b, [axis])) for t in tensors]
    return b.op("Concat", *parts, axis=axis)


@onnx(aten.select_scatter.default)
def select_scatter(
    b: OnnxBuilder, x: OnnxTensor, source: OnnxTensor, dim: int, index: Size
) -> OnnxTensor:
    """x with one slice replaced."""
    axis = dim % x.rank
    position = Index.of(index)
    if position.constant is not None and position.constant < 0:
        position = x.dims[axis] + position
    middle = b.op("Unsqueeze", b.cast(source, b.dtype), axes(b, [axis]))
    before = slice_(b, x, axis, 0, position)
    after = slice_(b, x, axis, position + 1, _END)
    return b.op("Concat", before, middle, after, axis=axis)


@onnx(aten.slice_scatter.default)
def slice_scatter(
    b: OnnxBuilder, x: OnnxTensor, source: OnnxTensor, dim: int,
    start: Size | None, end: Size | None, step: int,
) -> OnnxTensor:  # fmt: skip
    """x with x[start:end:step] replaced."""
    axis = dim % x.rank
    length = b.op("Range", b.size(0), b.size(x.dims[axis]), b.size(1))
    last = _END if end is None else end
    places = slice_(b, length, 0, 0 if start is None else start, last, step)
    index = b.op("Unsqueeze", places, axes(b, [1]))
    to_front = moved(x.rank, axis, 0)
    # A source may be broadcast against the slice; the slice's own shape says how far.
    old = slice_(b, x, axis, 0 if start is None else start, last, step)
    shape = b.op("Shape", old, dtype=DType.I64)
    values = b.op("Expand", b.cast(source, b.dtype), shape)
    values = transpose(b, values, to_front)
    changed = b.op("ScatterND", transpose(b, x, to_front), index, values)
    return transpose(b, changed, moved(x.rank, 0, axis))


@onnx(aten.diagonal_scatter.default)
def diagonal_scatter(
    b: OnnxBuilder, x: OnnxTensor, source: OnnxTensor, offset: int, dim1: int, dim2: int
) -> OnnxTensor:
    """x with a diagonal replaced."""
    first, second = dim1 % x.rank, dim2 % x.rank
    rest = [axis for axis in range(x.rank) if axis not in (first, second)]
    order = [first, second, *rest]
    length = source.dims[-1]
    steps = b.op("Range", b.size(0), b.size(length), b.size(1))
    sides = (b.op("Add", steps, b.size(max(shift, 0))) for shift in (-offset, offset))
    index = b.op("Concat", *(b.op("Unsqueeze", s, axes(b, [1])) for s in sides), axis=1)
    values = transpose(b, b.cast(source, b.dtype), moved(source.rank, source.rank - 1, 0))
    changed = b.op("ScatterND", transpose(b, x, order), index, values)
    return transpose(b, changed, [order.index(axis) for axis in range(x.rank)])


# --- padding --------------------------------------------------------------------------------------


def _pads(b: OnnxBuilder, rank: int, pad: Sequence[Size]) -> OnnxTensor:
    """torch's (last dim first) pads as ONNX's begins and ends."""
    begins: list[Size] = [0] * rank
    ends: list[Size] = [0] * rank
    for position in range(len(pad) // 2):
        begins[rank - 1 - position] = pad[2 * position]
        ends[rank - 1 - position] = pad[2 * position + 1]
    return b.sizes([*begins, *ends])


@onnx(aten.constant_pad_nd.default)
def constant_pad(b: OnnxBuilder, x: OnnxTensor, pad: Sequence[Size], value: Any) -> OnnxTensor:
    """With a constant; negative pads crop."""
    wide = DType.F32 if x.dtype is DType.BF16 else x.dtype
    filler = operand(b, value, wide)
    pads = _pads(b, x.rank, pad)
    return b.cast(b.op("Pad", b.cast(x, wide), pads, filler, mode="constant"), b.dtype)


def _mirrored(mode: str) -> Any:
    def rule(b: OnnxBuilder, x: OnnxTensor, pad: Sequence[Size]) -> OnnxTensor:
        """Negative pads crop what is there after padding; ONNX crops in the constant mode only."""
        numbers = [Index.of(p).constant or 0 for p in pad]
        grown = [0 if n < 0 else p for n, p in zip(numbers, pad, strict=True)]
        result = b.op("Pad", x, _pads(b, x.rank, grown), mode=mode)
        if min(numbers) < 0:
            result = b.op("Pad", result, _pads(b, x.rank, [min(n, 0) for n in numbers]))
        return result

    return rule


onnx(aten.reflection_pad1d.default, aten.reflection_pad2d.default, aten.reflection_pad3d.default)(
    _mirrored("reflect")
)
onnx(
    aten.replication_pad1d.default,
    aten.replication_pad2d.default,
    aten.replication_pad3d.default,
)(_mirrored("edge"))
