"""Shapes and index maps that rules share: dims, broadcasting, reshaping.

Sizes are `Index` throughout, so everything here works for symbolic sizes: two sizes are the same
where their canonical forms are, which the shape guards of capture make sure of. Loads nothing and
builds no kernels.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ptc.loops.index import Index, product
from ptc.ops.protocol import Indices, LoweringContext, TensorValue

ZERO = Index.const(0)
ONE = Index.const(1)


def normal_dim(dim: int, rank: int) -> int:
    """`dim` counted from the front; a 0-d tensor counts as having one dimension."""
    return dim + max(rank, 1) if dim < 0 else dim


def normal_dims(dims: Sequence[int] | int | None, rank: int) -> tuple[int, ...]:
    """Reduction dims, ascending: None or an empty list means all of them."""
    if dims is None:
        return tuple(range(rank))
    if isinstance(dims, int):
        dims = (dims,)
    if not dims:
        return tuple(range(rank))
    return tuple(sorted({normal_dim(d, rank) for d in dims if rank})) if rank else ()


def numel(shape: Sequence[Index]) -> Index:
    """The number of elements."""
    return product(shape)


def is_empty(shape: Sequence[Index]) -> bool:
    """Whether some size is known to be zero."""
    return any(size.constant == 0 for size in shape)


def broadcast_shapes(*shapes: Sequence[Index]) -> Indices:
    """The common shape. Sizes of 1 stretch; of two others the constant one is kept."""
    rank = max((len(s) for s in shapes), default=0)
    out: list[Index] = [ONE] * rank
    for shape in shapes:
        for place, size in enumerate(shape, rank - len(shape)):
            if size.constant == 1:
                continue
            if out[place].constant in (None, 1):
                out[place] = (
                    size if out[place].constant == 1 or size.constant is not None else out[place]
                )
    return tuple(out)


def broadcast_index(shape: Sequence[Index], out_shape: Sequence[Index], index: Indices) -> Indices:
    """Where element `index` of the broadcast result lies in an operand of `shape`."""
    skip = len(index) - len(shape)
    return tuple(
        ZERO
        if size.constant == 1 and out_shape[skip + place].constant != 1
        else index[skip + place]
        for place, size in enumerate(shape)
    )


def expand(ctx: LoweringContext, x: TensorValue, shape: Sequence[Index]) -> TensorValue:
    """`x` broadcast to `shape`."""
    target = tuple(shape)
    if x.shape == target:
        return x
    return ctx.view(x, target, lambda index: broadcast_index(x.shape, target, index))


def reduced_shape(shape: Sequence[Index], dims: Sequence[int], keepdim: bool) -> Indices:
    """The shape after reducing `dims`."""
    if keepdim:
        return tuple(ONE if d in dims else size for d, size in enumerate(shape))
    return tuple(size for d, size in enumerate(shape) if d not in dims)


def split_dims(rank: int, dims: Sequence[int]) -> tuple[int, ...]:
    """The dims that are not in `dims`."""
    return tuple(d for d in range(rank) if d not in dims)


def join_index(rank: int, outer: dict[int, Index]) -> Indices:
    """An index tuple from a map of dim -> index."""
    return tuple(outer[d] for d in range(rank))


def replace_at(index: Indices, dim: int, value: Index) -> Indices:
    """`index` with position `dim` replaced."""
    return (*index[:dim], value, *index[dim + 1 :])


def ravel(index: Sequence[Index], shape: Sequence[Index]) -> Index:
    """Row-major position of `index`."""
    position = ZERO
    for value, size in zip(index, shape, strict=True):
        position = position * size + value
    return position


def unravel(position: Index, shape: Sequence[Index]) -> Indices:
    """The index at a row-major position within [0, numel)."""
    index: list[Index] = []
    trailing = ONE
    for place in range(len(shape) - 1, -1, -1):
        # The outermost quotient is in range by itself: no remainder needed.
        quotient = position // trailing
        index.append(quotient if place == 0 else quotient % shape[place])
        trailing = trailing * shape[place]
    return tuple(reversed(index))


@dataclass(frozen=True, slots=True)
class _Group:
    """Dims [old, old_end) of the old shape hold the same elements as [new, new_end) of the new."""

    old: int
    old_end: int
    new: int
    new_end: int


def reshape_groups(old: Sequence[Index], new: Sequence[Index]) -> tuple[_Group, ...]:
    """Match dims of two shapes of equal size into the smallest runs with equal products.

    Symbolic products compare by canonical form; what never matches ends in one run to the end,
    which is correct and only costs divisions.
    """
    groups: list[_Group] = []
    i = j = 0
    while i < len(old) or j < len(new):
        i0, j0 = i, j
        left, right = ONE, ONE
        if i < len(old):
            left, i = old[i], i + 1
        if j < len(new):
            right, j = new[j], j + 1
        while left != right:
            if _grow_left(left, right) and i < len(old):
                left, i = left * old[i], i + 1
            elif j < len(new):
                right, j = right * new[j], j + 1
            elif i < len(old):
                left, i = left * old[i], i + 1
            else:
                break
        groups.append(_Group(i0, i, j0, j))
    return tuple(groups)


def _grow_left(left: Index, right: Index) -> bool:
    """Whether the left product is the smaller one (or may be: symbolic factors are compared by
    whether one divides the other)."""
    if left.constant is not None and right.constant is not None:
        return left.constant < right.constant
    if (right % left).constant == 0:
        return True
    return (left % right).constant != 0


def reshape_map(old: Sequence[Index], new: Sequence[Index]) -> Callable[[Indices], Indices]:
    """The map from an index of shape `new` to the index of shape `old` of the same element."""
    if is_empty(old) or is_empty(new):
        return lambda index: tuple(ZERO for _ in old)
    groups = reshape_groups(old, new)

    def remap(index: Indices) -> Indices:
        result: list[Index] = []
        for group in groups:
            sizes = old[group.old : group.old_end]
            picked = index[group.new : group.new_end]
            if len(sizes) == 1 and len(picked) == 1:
                result.append(picked[0])
                continue
            position = ravel(picked, new[group.new : group.new_end])
            result.extend(_unravel_units(position, sizes))
        return tuple(result)

    return remap


def _unravel_units(position: Index, sizes: Sequence[Index]) -> Indices:
    """`unravel`, with sizes of 1 left out of the arithmetic."""
    wide = [size for size in sizes if size.constant != 1]
    values = iter(unravel(position, wide))
    return tuple(ZERO if size.constant == 1 else next(values) for size in sizes)


def reshape(ctx: LoweringContext, x: TensorValue, shape: Sequence[Index]) -> TensorValue:
    """`x` in row-major order under another shape."""
    if tuple(shape) == x.shape:
        return x
    return ctx.view(x, tuple(shape), reshape_map(x.shape, tuple(shape)))


def resolve_shape(ctx: LoweringContext, sizes: Sequence[int | Index], total: Index) -> Indices:
    """A shape argument with at most one -1, which takes what is left of `total` elements."""
    shape = [ctx.size(s) for s in sizes]
    unknown = [place for place, size in enumerate(shape) if size.constant == -1]
    if unknown:
        rest = product(size for place, size in enumerate(shape) if place != unknown[0])
        shape[unknown[0]] = ZERO if rest.constant == 0 else total // rest
    return tuple(shape)


#: Numerators and denominators up to this: products with sizes below 2**32 are exact in f64.
_EXACT_FACTOR = 1 << 20


def scaled_size(size: Index, factor: float, *, up: bool = False) -> Index | None:
    """floor(size * factor), or its ceiling, as eager computes it in f64; None for a dynamic size
    and a factor whose product is rounded (0.3, 1.7)."""
    whole = math.ceil if up else math.floor
    if size.constant is not None:
        return Index.const(whole(size.constant * factor))
    if not math.isfinite(factor) or factor < 0:
        return None
    numerator, denominator = factor.as_integer_ratio()
    if max(numerator, denominator) > _EXACT_FACTOR:
        return None
    return (size * numerator + (denominator - 1 if up else 0)) // denominator
