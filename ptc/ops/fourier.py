"""Fourier transforms: of parts, along the last dimension, by the runtime (`ptc_fft.h`).

aten's transforms are of complex tensors and of several dimensions: their rules turn the dimension
to the end, which is a view, and transform one after the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from ptc.loops import build as b
from ptc.loops.index import Index
from ptc.loops.nodes import DType
from ptc.ops.complex_operators import OPERATORS
from ptc.ops.complex_registry import Complex, complex_samples, on_complex
from ptc.ops.concat import write
from ptc.ops.nests import loops
from ptc.ops.protocol import LoweringContext, T, TensorValue, sample
from ptc.ops.registry import decomposes, lowers, samples, samples_for
from ptc.ops.shapes import ZERO
from ptc.ops.slicing import narrow
from ptc.support.diagnostics import CompileError

aten = torch.ops.aten

# --- lowering -------------------------------------------------------------------------------------


def _require_float(x: TensorValue) -> None:
    if x.dtype not in (DType.F32, DType.F64):
        raise CompileError(
            "PTC-O005", f"a Fourier transform of {x.dtype.value}", hint="convert it to f32"
        )


@lowers(OPERATORS.fft.default)
def lower_fft(
    ctx: LoweringContext, re: TensorValue, im: TensorValue, forward: bool, normalization: int
) -> tuple[TensorValue, TensorValue]:
    """The transform of each line, or with the other sign unless `forward`."""
    _require_float(re)
    results = ctx.empty(re.shape, re.dtype), ctx.empty(re.shape, re.dtype)
    attrs = {"forward": forward, "normalization": normalization}
    ctx.extern("fft", [re, im], results, attrs)
    return results


@lowers(OPERATORS.rfft.default)
def lower_rfft(
    ctx: LoweringContext, x: TensorValue, normalization: int
) -> tuple[TensorValue, TensorValue]:
    """The first half of the transform of each real line; the other is its mirror image."""
    _require_float(x)
    shape = (*x.shape[:-1], x.shape[-1] // 2 + 1)
    results = ctx.empty(shape, x.dtype), ctx.empty(shape, x.dtype)
    ctx.extern("rfft", [x], results, {"normalization": normalization})
    return results


@lowers(OPERATORS.irfft.default)
def lower_irfft(
    ctx: LoweringContext, re: TensorValue, im: TensorValue, n: int | Index, normalization: int
) -> TensorValue:
    """The real lines of n numbers with the given first half of a transform."""
    _require_float(re)
    result = ctx.empty((*re.shape[:-1], ctx.size(n)), re.dtype)
    ctx.extern("irfft", [re, im], [result], {"normalization": normalization})
    return result


@lowers(OPERATORS.mirror.default)
def lower_mirror(
    ctx: LoweringContext, half: TensorValue, n: int | Index, negated: bool
) -> TensorValue:
    """All n elements of a line with mirror symmetry, of the first n // 2 + 1."""
    size, known = ctx.size(n), half.shape[-1]
    whole = ctx.empty((*half.shape[:-1], size), half.dtype)
    last = len(half.shape) - 1
    write(ctx, half, narrow(ctx, whole, last, ZERO, known))
    if size - known == 0:
        return whole
    target = narrow(ctx, whole, last, known, size - known)
    with ctx.kernel() as k, loops(k, target.shape) as index:
        place = size - known - index[-1]
        value = ctx.load(half, (*index[:-1], place))
        k.store(target, index, b.neg(value) if negated else value)
    return whole


# --- aten's transforms ----------------------------------------------------------------------------


def _transformed(x: Complex, dim: int, forward: bool, normalization: int) -> Complex:
    turned = x.map(lambda part: part.movedim(dim, -1))
    re, im = OPERATORS.fft(turned.re, turned.im, forward, normalization)
    return Complex(re, im).map(lambda part: part.movedim(-1, dim))


@on_complex(aten._fft_c2c.default)
def fft_c2c(x: Complex, dim: Sequence[int], normalization: int, forward: bool) -> Complex:
    """The transform along each of `dim`."""
    for one in reversed(dim):
        x = _transformed(x, one, forward, normalization)
    return x


@on_complex(aten._fft_r2c.default)
def fft_r2c(x: Tensor, dim: Sequence[int], normalization: int, onesided: bool) -> Complex:
    """The transform of real numbers: half of it along the last of `dim`, or with its mirror image,
    then along the others."""
    last = dim[-1]
    re, im = OPERATORS.rfft(x.movedim(last, -1), normalization)
    if not onesided:
        n = x.shape[last]
        re, im = OPERATORS.mirror(re, n, False), OPERATORS.mirror(im, n, True)
    result = Complex(re, im).map(lambda part: part.movedim(-1, last))
    return fft_c2c(result, dim[:-1], normalization, True)


@on_complex(aten._fft_c2r.default)
def fft_c2r(x: Complex, dim: Sequence[int], normalization: int, last_dim_size: Any) -> Tensor:
    """Real numbers, `last_dim_size` of them along the last of `dim`, of half of their transform."""
    x = fft_c2c(x, dim[:-1], normalization, False)
    re, im = (part.movedim(dim[-1], -1) for part in (x.re, x.im))
    return OPERATORS.irfft(re, im, last_dim_size, normalization).movedim(-1, dim[-1])


# --- frequencies ----------------------------------------------------------------------------------


@decomposes(aten.fft_fftfreq.default)
def decompose_fftfreq(
    n: int, d: float = 1.0, *, dtype: torch.dtype | None = None, **_placement: Any
) -> Tensor:
    """The frequency of each element of a transform, the second half negative."""
    count = torch.arange(n, dtype=dtype or torch.get_default_dtype())
    return torch.where(count >= (n + 1) // 2, count - n, count) * (1.0 / (n * d))


@decomposes(aten.fft_rfftfreq.default)
def decompose_rfftfreq(
    n: int, d: float = 1.0, *, dtype: torch.dtype | None = None, **_placement: Any
) -> Tensor:
    """The frequency of each element of the first half of a transform."""
    count = torch.arange(n // 2 + 1, dtype=dtype or torch.get_default_dtype())
    return count * (1.0 / (n * d))


# --- samples --------------------------------------------------------------------------------------

_LENGTHS = (1, 2, 6, 15, 34, 64)
for _n in _LENGTHS:
    _m = _n // 2 + 1
    samples(
        OPERATORS.fft.default,
        sample(T(f"f32[3,{_n}]"), T(f"f32[3,{_n}]"), True, 0),
        sample(T(f"f64[2,3,{_n}]"), T(f"f64[2,3,{_n}]"), False, 2, tolerance=64),
    )
    samples(
        OPERATORS.rfft.default,
        sample(T(f"f32[3,{_n}]"), 0),
        sample(T(f"f64[2,3,{_n}]"), 1, tolerance=64),
    )
    samples(
        OPERATORS.irfft.default,
        sample(T(f"f32[3,{_m}]"), T(f"f32[3,{_m}]"), _n, 2),
        sample(T(f"f64[{_m}]"), T(f"f64[{_m}]"), _n, 0, tolerance=64),
    )
    samples(
        OPERATORS.mirror.default,
        sample(T(f"f32[3,{_m}]"), _n, False, exact=True),
        sample(T(f"f64[{_m}]"), _n, True, exact=True),
    )
samples_for(
    (aten.fft_fftfreq.default, aten.fft_rfftfreq.default),
    sample(8),
    sample(9, 0.1),
    sample(5, dtype=torch.float64),
)
for _n in (7, 12):
    complex_samples(
        aten._fft_c2c.default,
        sample(T(f"c64[3,{_n}]"), [1], 0, True),
        sample(T(f"c64[{_n},4]"), [0, 1], 2, False),
    )
    complex_samples(
        aten._fft_r2c.default,
        sample(T(f"f32[3,{_n}]"), [1], 1, True),
        sample(T(f"f32[3,{_n}]"), [1], 0, False),
        sample(T(f"f64[{_n},3,{_n}]"), [0, 2], 0, True, tolerance=64),
        sample(T(f"f32[5,{_n}]"), [0, 1], 0, False),
    )
    complex_samples(
        aten._fft_c2r.default,
        sample(T(f"c64[3,{_n // 2 + 1}]"), [1], 2, _n),
        sample(T(f"c64[{_n // 2 + 1},4]"), [1, 0], 1, _n),
    )
