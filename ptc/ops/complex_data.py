"""Rules that move elements of complex tensors, and that make tensors: what works part by part.

An operator that moves elements is called once for each part. Where it takes several tensors whose
elements meet in the result, they are brought to one type first.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor
from torch._ops import OpOverload

from ptc.ops.complex_numbers import Number, Operand, as_complex, common_part, promoted
from ptc.ops.complex_registry import Complex, complex_samples, on_complex, part_type
from ptc.ops.protocol import T, sample

aten = torch.ops.aten

# --- moving elements ------------------------------------------------------------------------------


def _part_of(value: Any, name: str) -> Any:
    if isinstance(value, Complex):
        return getattr(value, name)
    if isinstance(value, (list, tuple)):
        return [_part_of(item, name) for item in value]
    if isinstance(value, dict):
        return {key: _part_of(item, name) for key, item in value.items()}
    return value


def by_parts(function: Callable[..., Any], args: Sequence[Any], kwargs: Any = None) -> Any:
    """What `function` gives for the real and for the imaginary parts of its arguments."""
    kwargs = kwargs or {}
    re, im = (function(*_part_of(args, name), **_part_of(kwargs, name)) for name in ("re", "im"))
    if isinstance(re, Tensor):
        return Complex(re, im)
    return tuple(Complex(a, b) for a, b in zip(re, im, strict=True))


def _move(op: OpOverload, function: Callable[..., Any], mixed: Sequence[int]) -> None:
    """Register `op`, done by `function` part by part; its arguments at the positions `mixed` are
    promoted to one type."""

    def rule(*args: Any, **kwargs: Any) -> Any:
        given = list(args)
        if mixed:
            places = [n for n in mixed if n < len(given)]
            for place, value in zip(places, promoted(*(given[n] for n in places)), strict=True):
                given[place] = value
        return by_parts(function, given, kwargs)

    on_complex(op)(rule)


#: Of one tensor.
_MOVED = (
    aten.permute.default, aten.transpose.int, aten.t.default, aten.expand.default,
    aten.unsqueeze.default, aten.squeeze.default, aten.squeeze.dim, aten.squeeze.dims,
    aten.slice.Tensor, aten.select.int, aten.split.Tensor, aten.split_with_sizes.default,
    aten.unbind.int, aten.index.Tensor, aten._unsafe_index.Tensor, aten.index_select.default,
    aten.gather.default, aten.flip.default, aten.roll.default, aten.repeat.default,
    aten.clone.default, aten.alias.default, aten.detach.default, aten.lift_fresh.default,
    aten.lift_fresh_copy.default, aten.contiguous.default, aten.resolve_conj.default,
    aten.resolve_neg.default, aten.diagonal.default, aten.tril.default, aten.triu.default,
    aten.unfold.default, aten.embedding.default, aten.diag_embed.default, aten.rot90.default,
)  # fmt: skip
for _op in _MOVED:
    _move(_op, _op, ())
for _op in (aten.view.default, aten._unsafe_view.default, aten.reshape.default):
    _move(_op, torch.reshape, ())

#: Of several tensors, with the positions of those whose elements meet.
_MIXED = {
    aten.slice_scatter.default: (0, 1),
    aten.select_scatter.default: (0, 1),
    aten.diagonal_scatter.default: (0, 1),
    aten.scatter.src: (0, 3),
    aten.scatter_add.default: (0, 3),
    aten.index_add.default: (0, 3),
    aten.index_copy.default: (0, 3),
    aten.index_put.default: (0, 2),
    aten._unsafe_index_put.default: (0, 2),
}
for _op, _places in _MIXED.items():
    _move(_op, _op, _places)


@on_complex(aten.cat.default, aten.concat.default)
def cat(tensors: Sequence[Operand], dim: int = 0) -> Complex:
    """Tensors one behind the other."""
    return by_parts(torch.cat, (promoted(*tensors), dim))


@on_complex(aten.stack.default)
def stack(tensors: Sequence[Operand], dim: int = 0) -> Complex:
    """Tensors along a new dimension."""
    return by_parts(torch.stack, (promoted(*tensors), dim))


@on_complex(aten.constant_pad_nd.default)
def pad(x: Complex, padding: Sequence[int], value: Number = 0) -> Complex:
    """x within a frame of `value`."""
    number = complex(value)
    return Complex(
        aten.constant_pad_nd(x.re, padding, number.real),
        aten.constant_pad_nd(x.im, padding, number.imag),
    )


# --- conversions and copies -----------------------------------------------------------------------


@on_complex(aten._to_copy.default)
def to_copy(x: Operand, *, dtype: torch.dtype | None = None, **_placement: Any) -> Any:
    """`x` in another type. A real one takes the real part."""
    if dtype is None:
        return x
    if dtype.is_complex:
        return as_complex(x, part_type(dtype))
    assert isinstance(x, Complex)
    if dtype is torch.bool:
        return (x.re != 0) | (x.im != 0)
    return x.re.to(dtype)


@on_complex(aten.copy.default)
def copy(target: Complex | Tensor, source: Operand, non_blocking: bool = False) -> Any:
    """What `target` holds after `source` was written to it."""
    if isinstance(target, Complex):
        given = as_complex(source, target.re.dtype)
        return given.map(lambda part: part.expand(target.re.shape))
    assert isinstance(source, Complex)
    return to_copy(source, dtype=target.dtype).expand(target.shape)


# --- making tensors -------------------------------------------------------------------------------


def _filled(shape: Sequence[Any], value: Number, part: torch.dtype) -> Complex:
    number = complex(value)
    return Complex(
        torch.full(shape, number.real, dtype=part), torch.full(shape, number.imag, dtype=part)
    )


def _asked(dtype: torch.dtype | None, value: Number = 0j) -> torch.dtype:
    """The type of the parts of a new tensor."""
    return common_part(value) if dtype is None else part_type(dtype)


@on_complex(aten.full.default)
def full(
    size: Sequence[Any], value: Number, *, dtype: torch.dtype | None = None, **_placement: Any
) -> Complex:
    """A number everywhere."""
    return _filled(size, value, _asked(dtype, value))


@on_complex(aten.scalar_tensor.default)
def scalar_tensor(value: Number, *, dtype: torch.dtype | None = None, **_placement: Any) -> Complex:
    """A number."""
    return _filled((), value, _asked(dtype, value))


@on_complex(aten.zeros.default, aten.empty.memory_format)
def zeros(size: Sequence[Any], *, dtype: torch.dtype | None = None, **_placement: Any) -> Complex:
    """Zeros, which is also what memory that nobody wrote to holds."""
    return _filled(size, 0, _asked(dtype))


@on_complex(aten.ones.default)
def ones(size: Sequence[Any], *, dtype: torch.dtype | None = None, **_placement: Any) -> Complex:
    """Ones."""
    return _filled(size, 1, _asked(dtype))


@on_complex(aten.full_like.default)
def full_like(
    x: Complex | Tensor, value: Number, *, dtype: torch.dtype | None = None, **_placement: Any
) -> Any:
    """A number in the shape of `x`."""
    shape = x.re.shape if isinstance(x, Complex) else x.shape
    if dtype is not None and not dtype.is_complex:
        return torch.full(shape, value, dtype=dtype)  # pyright: ignore[reportArgumentType]
    known = x.re.dtype if dtype is None and isinstance(x, Complex) else _asked(dtype)
    return _filled(shape, value, known)


@on_complex(aten.zeros_like.default, aten.empty_like.default)
def zeros_like(x: Complex | Tensor, **kwargs: Any) -> Any:
    """Zeros in the shape of `x`."""
    return full_like(x, 0, **kwargs)


@on_complex(aten.ones_like.default)
def ones_like(x: Complex | Tensor, **kwargs: Any) -> Any:
    """Ones in the shape of `x`."""
    return full_like(x, 1, **kwargs)


@on_complex(aten.new_zeros.default, aten.new_empty.default)
def new_zeros(
    x: Complex | Tensor, size: Sequence[Any], *, dtype: torch.dtype | None = None, **_rest: Any
) -> Any:
    """Zeros of the type of `x`."""
    return new_full(x, size, 0, dtype=dtype)


@on_complex(aten.new_ones.default)
def new_ones(
    x: Complex | Tensor, size: Sequence[Any], *, dtype: torch.dtype | None = None, **_rest: Any
) -> Any:
    """Ones of the type of `x`."""
    return new_full(x, size, 1, dtype=dtype)


@on_complex(aten.new_full.default)
def new_full(
    x: Complex | Tensor,
    size: Sequence[Any],
    value: Number,
    *,
    dtype: torch.dtype | None = None,
    **_placement: Any,
) -> Any:
    """A number everywhere, in the type of `x`."""
    if dtype is not None and not dtype.is_complex:
        return torch.full(size, value, dtype=dtype)  # pyright: ignore[reportArgumentType]
    known = x.re.dtype if dtype is None and isinstance(x, Complex) else _asked(dtype)
    return _filled(size, value, known)


@on_complex(aten.fill.Scalar, aten.fill.Tensor)
def fill(x: Complex, value: Operand) -> Complex:
    """`value` in the shape of `x`."""
    return as_complex(value, x.re.dtype).map(lambda part: part.expand(x.re.shape))


# --- samples --------------------------------------------------------------------------------------

_Z = T("c64[3,4]")
_ROWS: dict[OpOverload, tuple[Any, ...]] = {
    aten.permute.default: (_Z, [1, 0]),
    aten.transpose.int: (_Z, 0, 1),
    aten.expand.default: (T("c64[3,1]"), [3, 4]),
    aten.unsqueeze.default: (_Z, 1),
    aten.squeeze.dims: (T("c64[3,1]"), [1]),
    aten.view.default: (_Z, [2, 6]),
    aten.slice.Tensor: (_Z, 1, 1, 3),
    aten.select.int: (_Z, 1, -1),
    aten.split_with_sizes.default: (_Z, [1, 3], 1),
    aten.unbind.int: (_Z, 0),
    aten.index.Tensor: (_Z, [T("i64[5]", low=0, high=3)]),
    aten.index_select.default: (_Z, 0, T("i64[5]", low=0, high=3)),
    aten.gather.default: (_Z, 1, T("i64[3,2]", low=0, high=4)),
    aten.flip.default: (_Z, [1]),
    aten.roll.default: (_Z, [1], [0]),
    aten.repeat.default: (_Z, [2, 1]),
    aten.clone.default: (_Z,),
    aten.diagonal.default: (_Z,),
    aten.tril.default: (_Z,),
    aten.unfold.default: (T("c64[8]"), 0, 3, 2),
    aten.embedding.default: (T("c64[5,3]"), T("i64[4]", low=0, high=5)),
    aten.slice_scatter.default: (_Z, T("c64[3,2]"), 1, 1, 3),
    aten.select_scatter.default: (_Z, T("c64[3]"), 1, 0),
    aten.scatter.src: (_Z, 0, T("i64[1,4]", low=0, high=3), T("c64[1,4]")),
    aten.index_add.default: (_Z, 0, T("i64[2]", low=0, high=3), T("c64[2,4]")),
    aten.index_put.default: (_Z, [T("i64[1]", low=0, high=3)], T("c64[4]")),
    aten.cat.default: ([_Z, T("f32[2,4]")], 0),
    aten.stack.default: ([_Z, _Z], -1),
    aten.constant_pad_nd.default: (_Z, [1, 2], 1.5),
    aten.copy.default: (_Z, T("f32[4]")),
}
for _op, _args in _ROWS.items():
    complex_samples(_op, sample(*_args, exact=_op is not aten.index_add.default))
complex_samples(
    aten._to_copy.default,
    sample(_Z, dtype=torch.complex128, exact=True),
    sample(T("c128[5]"), dtype=torch.complex64, exact=True),
    sample(T("f32[5]"), dtype=torch.complex64, exact=True),
    sample(T("i64[5]"), dtype=torch.complex64, exact=True),
    sample(_Z, dtype=torch.float32, exact=True),
)
complex_samples(aten.copy.default, sample(T("f32[3,4]"), _Z, exact=True))
complex_samples(aten.full_like.default, sample(_Z, 1 + 2j, exact=True))
complex_samples(aten.zeros_like.default, sample(_Z, exact=True))
complex_samples(aten.fill.Scalar, sample(_Z, 2j, exact=True))
