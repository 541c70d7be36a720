"""ONNX rules of reductions, softmax, scans and sorting."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch

from ptc.loops.index import Index
from ptc.loops.nodes import DType
from ptc.ops.onnx_elementwise import (
    Operand,
    compare,
    compute_type,
    is_nan,
    number,
    operand,
    promoted,
    where,
)
from ptc.ops.onnx_protocol import OnnxBuilder, OnnxTensor, Size
from ptc.ops.onnx_registry import onnx
from ptc.ops.onnx_views import axes

aten = torch.ops.aten


def reduce(
    b: OnnxBuilder, kind: str, x: OnnxTensor, dims: Sequence[int], keepdim: bool
) -> OnnxTensor:
    """An ONNX reduction over `dims`. A tensor without dimensions is its own."""
    if not dims:
        return b.op(kind, x, keepdims=0, noop_with_empty_axes=0)
    return b.op(kind, x, axes(b, dims), keepdims=int(keepdim))


def dims_of(x: OnnxTensor, dims: Any) -> list[int]:
    """The reduced dimensions: None and [] mean all."""
    if dims is None or dims == []:
        return list(range(x.rank))
    listed = dims if isinstance(dims, (list, tuple)) else [dims]
    return sorted({dim % max(x.rank, 1) for dim in listed}) if x.rank else []


def _summed(
    b: OnnxBuilder, kind: str, x: OnnxTensor, dims: Any = None, keepdim: bool = False
) -> OnnxTensor:
    wide = b.cast(x, compute_type(b.dtype))
    return b.cast(reduce(b, kind, wide, dims_of(x, dims), keepdim), b.dtype)


@onnx(aten.sum.dim_IntList)
def sum_dims(
    b: OnnxBuilder, x: OnnxTensor, dims: Any, keepdim: bool, dtype: Any = None
) -> OnnxTensor:
    return _summed(b, "ReduceSum", x, dims, keepdim)


@onnx(aten.sum.default)
def sum_all(b: OnnxBuilder, x: OnnxTensor, dtype: Any = None) -> OnnxTensor:
    return _summed(b, "ReduceSum", x)


@onnx(aten.mean.dim)
def mean_dims(
    b: OnnxBuilder, x: OnnxTensor, dims: Any, keepdim: bool, dtype: Any = None
) -> OnnxTensor:
    """The mean of nothing is NaN; runtimes make it 0."""
    if count_of(x, dims_of(x, dims)).constant == 0:
        return b.op("Expand", b.constant(math.nan, b.dtype), b.sizes(b.shape))
    return _summed(b, "ReduceMean", x, dims, keepdim)


@onnx(aten.mean.default)
def mean_all(b: OnnxBuilder, x: OnnxTensor, dtype: Any = None) -> OnnxTensor:
    return mean_dims(b, x, None, False)


@onnx(aten.prod.dim_int)
def prod_dim(
    b: OnnxBuilder, x: OnnxTensor, dim: int, keepdim: bool, dtype: Any = None
) -> OnnxTensor:
    return _summed(b, "ReduceProd", x, dim, keepdim)


@onnx(aten.prod.default)
def prod_all(b: OnnxBuilder, x: OnnxTensor, dtype: Any = None) -> OnnxTensor:
    return _summed(b, "ReduceProd", x)


# --- extrema --------------------------------------------------------------------------------------


def _extremum(
    b: OnnxBuilder, kind: str, x: OnnxTensor, dims: Sequence[int], keepdim: bool
) -> OnnxTensor:
    """ReduceMax or ReduceMin where NaN wins, as in eager. Runtimes drop NaN or not as they like."""
    value = b.cast(x, compute_type(x.dtype))
    result = reduce(b, kind, value, dims, keepdim)
    if not value.dtype.is_float:
        return b.cast(result, x.dtype)
    flags = b.cast(is_nan(b, value), DType.I32)
    some = b.cast(reduce(b, "ReduceMax", flags, dims, keepdim), DType.BOOL)
    return b.cast(where(b, some, number(b, math.nan, value), result), x.dtype)


@onnx(aten.amax.default)
def amax(b: OnnxBuilder, x: OnnxTensor, dims: Any, keepdim: bool) -> OnnxTensor:
    return _extremum(b, "ReduceMax", x, dims_of(x, dims), keepdim)


@onnx(aten.amin.default)
def amin(b: OnnxBuilder, x: OnnxTensor, dims: Any, keepdim: bool) -> OnnxTensor:
    return _extremum(b, "ReduceMin", x, dims_of(x, dims), keepdim)


@onnx(aten.max.default)
def max_all(b: OnnxBuilder, x: OnnxTensor) -> OnnxTensor:
    return _extremum(b, "ReduceMax", x, dims_of(x, None), False)


@onnx(aten.min.default)
def min_all(b: OnnxBuilder, x: OnnxTensor) -> OnnxTensor:
    return _extremum(b, "ReduceMin", x, dims_of(x, None), False)


def _position(b: OnnxBuilder, kind: str, x: OnnxTensor, dim: int, keepdim: bool) -> OnnxTensor:
    """The first position of the extremum; the first NaN when there is one."""
    value = b.cast(x, compute_type(x.dtype))
    if not value.dtype.is_float:
        return b.op(kind, value, dtype=DType.I64, axis=dim, keepdims=int(keepdim))
    flags = b.cast(is_nan(b, value), DType.I32)
    first_nan = b.op("ArgMax", flags, dtype=DType.I64, axis=dim, keepdims=int(keepdim))
    some = b.cast(reduce(b, "ReduceMax", flags, [dim], keepdim), DType.BOOL)
    # NaN compares with nothing; without it the runtime's search is well defined.
    filler = number(b, -math.inf if kind == "ArgMax" else math.inf, value)
    clean = where(b, is_nan(b, value), filler, value)
    found = b.op(kind, clean, dtype=DType.I64, axis=dim, keepdims=int(keepdim))
    return where(b, some, first_nan, found)


def _position_rule(kind: str) -> Any:
    def rule(b: OnnxBuilder, x: OnnxTensor, dim: int | None, keepdim: bool) -> OnnxTensor:
        if dim is None:
            found = _position(b, kind, b.op("Reshape", x, axes(b, [-1])), 0, False)
            return b.op("Reshape", found, axes(b, [1] * len(b.shape)))
        if not x.rank:
            return b.constant(0, DType.I64)
        return _position(b, kind, x, dim % x.rank, keepdim)

    return rule


onnx(aten.argmax.default)(_position_rule("ArgMax"))
onnx(aten.argmin.default)(_position_rule("ArgMin"))


def _both(which: str) -> Any:
    def rule(b: OnnxBuilder, x: OnnxTensor, dim: int, keepdim: bool) -> Any:
        if not x.rank:
            return x, b.constant(0, DType.I64)
        axis = dim % x.rank
        values = _extremum(b, f"Reduce{which}", x, [axis], keepdim)
        return values, _position(b, f"Arg{which}", x, axis, keepdim)

    return rule


onnx(aten.max.dim)(_both("Max"))
onnx(aten.min.dim)(_both("Min"))


def _truth(kind: str) -> Any:
    """The sum of flags is 0 for no elements, their minimum the greatest number: any and all of
    nothing."""

    def rule(b: OnnxBuilder, x: OnnxTensor, dims: Any = None, keepdim: bool = False) -> OnnxTensor:
        flags = b.cast(b.cast(x, DType.BOOL), DType.I32)
        result = b.cast(reduce(b, kind, flags, dims_of(x, dims), keepdim), DType.BOOL)
        return b.cast(result, b.dtype)

    return rule


onnx(aten.any.default, aten.any.dim, aten.any.dims, aten._is_any_true.default)(_truth("ReduceSum"))
onnx(aten.all.default, aten.all.dim, aten.all.dims, aten._is_all_true.default)(_truth("ReduceMin"))


# --- moments --------------------------------------------------------------------------------------


def count_of(x: OnnxTensor, dims: Sequence[int]) -> Index:
    """The number of elements that a reduction over `dims` combines."""
    count = Index.const(1)
    for dim in dims:
        count = count * x.dims[dim]
    return count


def moments(
    b: OnnxBuilder, x: OnnxTensor, dims: Sequence[int], correction: float, keepdim: bool
) -> tuple[OnnxTensor, OnnxTensor]:
    """Variance and mean over `dims`, both computed from the centred values."""
    value = b.cast(x, compute_type(x.dtype))
    centre = b.op("ReduceMean", value, *([axes(b, dims)] if dims else []), keepdims=1)
    centred = b.op("Sub", value, centre)
    total = reduce(b, "ReduceSum", b.op("Mul", centred, centred), dims, keepdim)
    count = count_of(x, dims)
    if count.constant is not None:
        divisor = number(b, max(count.constant - correction, 0.0), value)
    else:
        rest = b.op("Sub", b.cast(b.size(count), value.dtype), number(b, correction, value))
        divisor = b.op("Max", rest, number(b, 0.0, value))
    mean = reduce(b, "ReduceMean", value, dims, keepdim)
    return b.op("Div", total, divisor), mean


def _moment_rule(root: bool, with_mean: bool) -> Any:
    def rule(
        b: OnnxBuilder,
        x: OnnxTensor,
        dims: Any = None,
        correction: Any = None,
        keepdim: Any = False,
    ) -> Any:
        # The older overloads say `unbiased`: a bool, True by default as the correction 1.
        amount = 1.0 if correction is None else float(correction)
        spread, mean = moments(b, x, dims_of(x, dims), amount, bool(keepdim))
        spread = b.cast(b.op("Sqrt", spread) if root else spread, b.dtype)
        return (spread, b.cast(mean, b.dtype)) if with_mean else spread

    return rule


onnx(aten.var.correction, aten.var.dim)(_moment_rule(root=False, with_mean=False))
onnx(aten.std.correction, aten.std.dim)(_moment_rule(root=True, with_mean=False))
onnx(aten.var_mean.correction)(_moment_rule(root=False, with_mean=True))
onnx(aten.std_mean.correction)(_moment_rule(root=True, with_mean=True))


@onnx(aten.var.default)
def var_all(b: OnnxBuilder, x: OnnxTensor, unbiased: bool) -> OnnxTensor:
    return b.cast(moments(b, x, dims_of(x, None), float(unbiased), False)[0], b.dtype)


@onnx(aten.std.default)
def std_all(b: OnnxBuilder, x: OnnxTensor, unbiased: bool) -> OnnxTensor:
    spread, _ = moments(b, x, dims_of(x, None), float(unbiased), False)
    return b.cast(b.op("Sqrt", spread), b.dtype)


@onnx(aten.linalg_vector_norm.default)
def vector_norm(
    b: OnnxBuilder, x: OnnxTensor, order: float, dims: Any, keepdim: bool, dtype: Any = None
) -> OnnxTensor:
    """(sum |x| ** order) ** (1 / order); infinite orders are extrema, 0 counts."""
    value = b.cast(x, compute_type(b.dtype))
    over = dims_of(x, dims)
    size = OnnxTensor(b.op("Abs", value).name, value.dtype, x.shape)
    if math.isinf(order):
        result = _extremum(b, "ReduceMax" if order > 0 else "ReduceMin", size, over, keepdim)
    elif order == 0:
        zero = compare(b, "Equal", size, number(b, 0.0, size))
        result = reduce(b, "ReduceSum", b.cast(b.op("Not", zero), size.dtype), over, keepdim)
    elif order == 1:
        result = reduce(b, "ReduceSum", size, over, keepdim)
    elif order == 2:
        result = b.op("Sqrt", reduce(b, "ReduceSum", b.op("Mul", size, size), over, keepdim))
    else:
        powers = b.op("Pow", size, number(b, order, size))
        total = reduce(b, "ReduceSum", powers, over, keepdim)
        result = b.op("Pow", total, number(b, 1.0 / order, size))
    return b.cast(result, b.dtype)


# --- softmax --------------------------------------------------------------------------------------


def _softmax(kind: str) -> Any:
    def rule(b: OnnxBuilder, x: OnnxTensor, dim: int, half_to_float: bool) -> OnnxTensor:
        wide = b.cast(x, compute_type(b.dtype))
        if not x.rank:
            wide = b.op("Reshape", wide, axes(b, [1]))
            return b.cast(b.op("Reshape", b.op(kind, wide, axis=0), axes(b, [])), b.dtype)
        return b.cast(b.op(kind, wide, axis=dim % x.rank), b.dtype)

    return rule


onnx(aten._softmax.default)(_softmax("Softmax"))
onnx(aten._log_softmax.default)(_softmax("LogSoftmax"))


# --- scans and sorting ----------------------------------------------------------------------------


@onnx(aten.cumsum.default)
def cumsum(b: OnnxBuilder, x: OnnxTensor, dim: int, dtype: Any = None) -> OnnxTensor:
    """Running sums."""
    wide = b.cast(x, compute_type(b.dtype))
    if not x.rank:
        return b.cast(wide, b.dtype)
    return b.cast(b.op("CumSum", wide, b.size(dim % x.rank)), b.dtype)


@onnx(aten.topk.default)
def topk(b: OnnxBuilder, x: OnnxTensor, k: Size, dim: int, largest: bool, sorted_: bool) -> Any:
    """The k greatest (or smallest) along a dimension, in order."""
    return _top(b, x, k, dim, largest)


def _top(b: OnnxBuilder, x: OnnxTensor, k: Size, dim: int, largest: bool) -> Any:
    if not x.rank:
        return x, b.constant(0, DType.I64)
    wide = b.cast(x, compute_type(x.dtype))
    values, index = b.ops(
        "TopK", wide, b.sizes([k]), dtypes=[wide.dtype, DType.I64],
        axis=dim % x.rank, largest=int(largest), sorted=1,
    )  # fmt: skip
    return b.cast(values, x.dtype), index


@onnx(aten.sort.default)
def sort(b: OnnxBuilder, x: OnnxTensor, dim: int, descending: bool) -> Any:
    """All of a dimension in order."""
    return _top(b, x, x.dims[dim] if x.rank else 1, dim, descending)


@onnx(aten.sort.stable)
def stable_sort(
    b: OnnxBuilder, x: OnnxTensor, stable: bool | None, dim: int, descending: bool
) -> Any:
    """All of a dimension in order; equal elements keep theirs (TopK takes the lower index
    first)."""
    return _top(b, x, x.dims[dim] if x.rank else 1, dim, descending)


# --- places in sorted sequences -------------------------------------------------------------------


def _places(b: OnnxBuilder, row: OnnxTensor, values: OnnxTensor, right: bool) -> OnnxTensor:
    """How many elements of `row` (its last dimension) come before each of `values`. NaN counts as
    the greatest number, as in eager."""
    common = compute_type(promoted(row, values))
    edges = b.op("Unsqueeze", b.cast(row, common), axes(b, [-2]))
    wanted = b.op("Unsqueeze", b.cast(values, common), axes(b, [-1]))
    before = compare(b, "LessOrEqual" if right else "Less", edges, wanted)
    if common.is_float:
        nan_edge, nan_value = is_nan(b, edges), is_nan(b, wanted)
        other = b.op("Or", b.op("Not", nan_edge), b.constant(right, DType.BOOL))
        before = b.op("Or", before, b.op("And", nan_value, other))
    counts = b.op("ReduceSum", b.cast(before, DType.I64), axes(b, [-1]), keepdims=0)
    return b.cast(counts, b.dtype)


@onnx(aten.bucketize.Tensor, aten.bucketize.Scalar)
def bucketize(
    b: OnnxBuilder, values: Operand, boundaries: OnnxTensor, out_int32: bool, right: bool
) -> OnnxTensor:
    """The bucket of each value."""
    if not isinstance(values, OnnxTensor):
        return _of_number(b, boundaries, values, right)
    flat = b.op("Reshape", values, axes(b, [-1]))
    flat = OnnxTensor(flat.name, values.dtype, (count_of(values, range(values.rank)),))
    return b.op("Reshape", _places(b, boundaries, flat, right), b.sizes(b.shape), allowzero=1)


@onnx(aten.searchsorted.Tensor)
def searchsorted(
    b: OnnxBuilder, row: OnnxTensor, values: OnnxTensor, out_int32: bool, right: bool,
    side: str | None, sorter: OnnxTensor | None,
) -> OnnxTensor:  # fmt: skip
    """The place of each value in the sorted sequence of its row, or in the only one."""
    if sorter is not None:
        gathered = b.op("GatherElements", row, sorter, axis=-1)
        row = OnnxTensor(gathered.name, row.dtype, row.shape)
    after = right or side == "right"
    if row.rank == 1:
        return bucketize(b, values, row, out_int32, after)
    return _places(b, row, values, after)


@onnx(aten.searchsorted.Scalar)
def searchsorted_number(
    b: OnnxBuilder, row: OnnxTensor, value: Operand, out_int32: bool, right: bool,
    side: str | None, sorter: OnnxTensor | None,
) -> OnnxTensor:  # fmt: skip
    """The place of one number."""
    if sorter is not None:
        gathered = b.op("GatherElements", row, sorter, axis=-1)
        row = OnnxTensor(gathered.name, row.dtype, row.shape)
    return _of_number(b, row, value, right or side == "right")


def _of_number(b: OnnxBuilder, row: OnnxTensor, value: Operand, right: bool) -> OnnxTensor:
    single = operand(b, value, promoted(row, value))
    single = OnnxTensor(b.op("Reshape", single, axes(b, [1])).name, single.dtype, (Index.const(1),))
    return b.op("Reshape", _places(b, row, single, right), axes(b, []))
