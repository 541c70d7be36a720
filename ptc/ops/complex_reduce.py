"""Rules for sums, products, norms and matrix products of complex tensors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from ptc.ops import complex_numbers as c
from ptc.ops import opaque
from ptc.ops.complex_numbers import Number, as_complex
from ptc.ops.complex_registry import Complex, complex_samples, on_complex, part_type
from ptc.ops.protocol import T, sample
from ptc.support.diagnostics import CompileError

aten = torch.ops.aten

# --- sums -----------------------------------------------------------------------------------------


def _summed(function: Callable[..., Tensor]) -> Callable[..., Complex]:
    """The rule of a sum: each part's."""

    def rule(x: Complex | Tensor, *args: Any, dtype: torch.dtype | None = None) -> Complex:
        given = as_complex(x, part_type(dtype)) if dtype is not None else x
        assert isinstance(given, Complex)
        return given.map(lambda part: function(part, *args))

    return rule


for _op in (
    aten.sum.default,
    aten.sum.dim_IntList,
    aten.mean.default,
    aten.mean.dim,
    aten.cumsum.default,
):
    on_complex(_op)(_summed(_op))


@on_complex(aten.var.correction)
def var(
    x: Complex,
    dim: Sequence[int] | None = None,
    *,
    correction: float | None = None,
    keepdim: bool = False,
) -> Tensor:
    """The mean square distance from the mean: both parts' together."""
    re, im = (
        aten.var.correction(part, dim, correction=correction, keepdim=keepdim)
        for part in (x.re, x.im)
    )
    return re + im


@on_complex(aten.std.correction)
def std(x: Complex, dim: Sequence[int] | None = None, **options: Any) -> Tensor:
    """The root of the variance."""
    return var(x, dim, **options).sqrt()


@on_complex(aten.linalg_vector_norm.default)
def vector_norm(
    x: Complex,
    ord: Number = 2,
    dim: Sequence[int] | None = None,
    keepdim: bool = False,
    *,
    dtype: torch.dtype | None = None,
) -> Tensor:
    """The norm of the magnitudes."""
    real = part_type(dtype) if dtype is not None and dtype.is_complex else dtype
    return aten.linalg_vector_norm(c.magnitude(x), ord, dim, keepdim, dtype=real)


@on_complex(aten.any.default, aten.any.dim, aten.any.dims)
def any_of(x: Complex, *args: Any) -> Tensor:
    """Whether an element is not zero."""
    return torch.any((x.re != 0) | (x.im != 0), *args)


@on_complex(aten.all.default, aten.all.dim, aten.all.dims)
def all_of(x: Complex, *args: Any) -> Tensor:
    """Whether no element is zero."""
    return torch.all((x.re != 0) | (x.im != 0), *args)


# --- products -------------------------------------------------------------------------------------


def _known_size(x: Complex, dim: int) -> int:
    size = x.re.shape[dim] if x.re.dim() else 1
    if isinstance(size, torch.SymInt):
        raise CompileError(
            "PTC-A001",
            "a product of complex numbers along a dynamic dimension",
            hint="fix the size of that dimension",
        )
    return int(size)


def _slice(x: Complex, dim: int, start: int, end: int) -> Complex:
    return x.map(lambda part: part.narrow(dim, start, end - start))


def _joined(dim: int, *pieces: Complex) -> Complex:
    return Complex(
        torch.cat([piece.re for piece in pieces], dim),
        torch.cat([piece.im for piece in pieces], dim),
    )


@on_complex(aten.cumprod.default)
def cumprod(x: Complex, dim: int, *, dtype: torch.dtype | None = None) -> Complex:
    """Products of all elements so far, of runs of 1, 2, 4... elements."""
    x = as_complex(x, part_type(dtype)) if dtype is not None else x
    size, step = _known_size(x, dim), 1
    while step < size:
        later = _slice(x, dim, step, size) * _slice(x, dim, 0, size - step)
        x = _joined(dim, _slice(x, dim, 0, step), later)
        step *= 2
    return x


@on_complex(aten.prod.dim_int)
def prod(
    x: Complex, dim: int, keepdim: bool = False, *, dtype: torch.dtype | None = None
) -> Complex:
    """The product along `dim`: of halves, and the one that is left over."""
    x = as_complex(x, part_type(dtype)) if dtype is not None else x
    if not x.re.dim():
        return x
    size = _known_size(x, dim)
    if size == 0:
        shape = [1 if d == dim % x.re.dim() else n for d, n in enumerate(x.re.shape)]
        x = Complex(torch.ones(shape, dtype=x.re.dtype), torch.zeros(shape, dtype=x.re.dtype))
    while size > 1:
        half = size // 2
        product = _slice(x, dim, 0, half) * _slice(x, dim, half, 2 * half)
        x = _joined(dim, product, _slice(x, dim, 2 * half, size)) if size % 2 else product
        size -= half
    return x if keepdim else x.map(lambda part: part.squeeze(dim))


@on_complex(aten.prod.default)
def prod_of_all(x: Complex, *, dtype: torch.dtype | None = None) -> Complex:
    """The product of all elements."""
    return prod(x.map(lambda part: part.reshape(-1)), 0, dtype=dtype)


# --- matrices -------------------------------------------------------------------------------------


def _product(multiply: Callable[[Tensor, Tensor], Tensor], x: Complex, y: Complex) -> Complex:
    """A bilinear function of complex operands, of four of real ones."""
    return Complex(
        multiply(x.re, y.re) - multiply(x.im, y.im), multiply(x.re, y.im) + multiply(x.im, y.re)
    )


@on_complex(aten.mm.default, aten.bmm.default, aten.mv.default)
def matmul(x: Complex, y: Complex) -> Complex:
    """x y."""
    return _product(torch.matmul, x, y)


@on_complex(aten.dot.default)
def dot(x: Complex, y: Complex) -> Complex:
    """The sum of x y."""
    return (x * y).map(torch.sum)


@on_complex(aten.vdot.default)
def vdot(x: Complex, y: Complex) -> Complex:
    """The sum of x y with x conjugated."""
    return dot(x.conj(), y)


@on_complex(aten.addmm.default, aten.baddbmm.default, aten.addmv.default)
def addmm(
    addend: Complex, x: Complex, y: Complex, *, beta: Number = 1, alpha: Number = 1
) -> Complex:
    """beta addend + alpha x y. With beta 0 the addend is not read."""
    result = _weighted(matmul(x, y), alpha)
    return result if beta == 0 else _weighted(addend, beta) + result


def _weighted(x: Complex, factor: Number) -> Complex:
    return x if factor == 1 else x * as_complex(factor, x.re.dtype)


@on_complex(opaque.OPERATORS.linear.default)
def linear(x: Complex, weight: Complex, bias: Complex | None = None) -> Complex:
    """x W^T + b."""
    result = _product(opaque.OPERATORS.linear.default, x, weight)
    return result if bias is None else result + bias


# --- samples --------------------------------------------------------------------------------------

_Z = T("c64[3,5]")
complex_samples(aten.sum.default, sample(_Z))
complex_samples(
    aten.sum.dim_IntList,
    sample(_Z, [1], True),
    sample(_Z, [0], dtype=torch.complex128),
    sample(T("f32[3,5]"), [0], dtype=torch.complex64),
)
complex_samples(aten.mean.default, sample(_Z))
complex_samples(aten.mean.dim, sample(_Z, [0]))
complex_samples(aten.cumsum.default, sample(_Z, 1))
complex_samples(aten.cumprod.default, sample(_Z, 1), sample(T("c64[9,2]"), 0))
complex_samples(aten.prod.default, sample(_Z))
complex_samples(aten.prod.dim_int, sample(_Z, 1), sample(_Z, 0, True), sample(T("c64[0,2]"), 0))
complex_samples(aten.var.correction, sample(_Z, [1], correction=1))
complex_samples(aten.std.correction, sample(_Z, [1], correction=0))
complex_samples(aten.linalg_vector_norm.default, sample(_Z, 2, [1]), sample(_Z, 1, [0]))
complex_samples(aten.any.default, sample(_Z))
complex_samples(aten.all.dim, sample(_Z, 1))
complex_samples(aten.mm.default, sample(_Z, T("c64[5,4]")), sample(T("c128[2,3]"), T("c128[3,2]")))
complex_samples(aten.bmm.default, sample(T("c64[2,3,5]"), T("c64[2,5,4]")))
complex_samples(aten.mv.default, sample(_Z, T("c64[5]")))
complex_samples(aten.dot.default, sample(T("c64[5]"), T("c64[5]")))
complex_samples(aten.vdot.default, sample(T("c64[5]"), T("c64[5]")))
complex_samples(
    aten.addmm.default,
    sample(T("c64[4]"), _Z, T("c64[5,4]")),
    sample(T("c64[4]"), _Z, T("c64[5,4]"), beta=0.5, alpha=2j),
)
complex_samples(
    opaque.OPERATORS.linear.default,
    sample(_Z, T("c64[4,5]"), T("c64[4]")),
    sample(_Z, T("c64[4,5]")),
)
