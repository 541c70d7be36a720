"""Eigenvalues of symmetric matrices, singular values, exponentials, and what is made of them.

The runtime computes values and vectors (`ptc_spectral.h`). Matrices are the last two dimensions.
"""

from __future__ import annotations

import torch

from ptc.loops.index import Index, minimum
from ptc.loops.nodes import DType
from ptc.ops.linalg import require_float, require_success
from ptc.ops.protocol import LoweringContext, T, TensorValue, sample
from ptc.ops.registry import decomposes, lowers, samples
from ptc.ops.shapes import ZERO

aten = torch.ops.aten


def _not_converged(name: str, values: str) -> str:
    return (
        f"{name}: The algorithm failed to converge because the input matrix is ill-conditioned or "
        f"has too many repeated {values}."
    )


@lowers(aten._linalg_eigh.default)
def lower_eigh(
    ctx: LoweringContext, a: TensorValue, UPLO: str, compute_v: bool
) -> tuple[TensorValue, TensorValue]:
    """Values in ascending order, and vectors in columns, of one triangle of A."""
    require_float(a)
    values, info = ctx.empty(a.shape[:-1], a.dtype), ctx.empty(a.shape[:-2], DType.I32)
    attrs = {"upper": UPLO.upper() == "U"}
    vectors = ctx.empty(a.shape if compute_v else (ZERO,), a.dtype)
    if compute_v:
        ctx.extern("eigh", [a], [values, vectors, info], attrs)
    else:
        ctx.extern("eigvalsh", [a], [values, info], attrs)
    require_success(ctx, info, _not_converged("linalg.eigh", "eigenvalues"))
    return values, vectors


@lowers(aten._linalg_svd.default)
def lower_svd(
    ctx: LoweringContext, a: TensorValue, full_matrices: bool, compute_uv: bool, driver: str | None
) -> tuple[TensorValue, TensorValue, TensorValue]:
    """U, singular values in descending order, and the transpose of V."""
    require_float(a)
    batch, (m, n) = a.shape[:-2], a.shape[-2:]
    steps = _smaller(m, n)
    columns, rows = (m, n) if full_matrices and compute_uv else (steps, steps)
    u, s = ctx.empty((*batch, m, columns), a.dtype), ctx.empty((*batch, steps), a.dtype)
    vh, info = ctx.empty((*batch, rows, n), a.dtype), ctx.empty(batch, DType.I32)
    ctx.extern("svd", [a], [u, s, vh, info])
    require_success(ctx, info, _not_converged("linalg.svd", "singular values"))
    if compute_uv:
        return u, s, vh
    nothing = ctx.empty((ZERO,), a.dtype)
    return nothing, s, nothing


def _smaller(a: Index, c: Index) -> Index:
    return a if a == c else minimum(a, c)


@lowers(aten.linalg_matrix_exp.default)
def lower_matrix_exp(ctx: LoweringContext, a: TensorValue) -> TensorValue:
    """exp(A)."""
    require_float(a)
    result = ctx.empty(a.shape, a.dtype)
    ctx.extern("matrix_exp", [a], [result])
    return result


@decomposes(aten.linalg_pinv.atol_rtol_tensor)
def decompose_pinv(
    a: torch.Tensor,
    *,
    atol: torch.Tensor | None = None,
    rtol: torch.Tensor | None = None,
    hermitian: bool = False,
) -> torch.Tensor:
    """The inverse on the space where singular values are larger than max(atol, rtol largest)."""
    if a.shape[-1] == 0 or a.shape[-2] == 0:
        return a.new_zeros((*a.shape[:-2], a.shape[-1], a.shape[-2]))
    if hermitian:
        values, left = torch.linalg.eigh(a)
        right, sizes = left, values.abs()
    else:
        left, values, vh = torch.linalg.svd(a, full_matrices=False)
        right, sizes = vh.mT, values
    kept = sizes > _tolerance(a, sizes.amax(-1, keepdim=True), atol, rtol)
    inverses = torch.where(kept, values.reciprocal(), 0)
    return (right * inverses.unsqueeze(-2)) @ left.mT


def _tolerance(
    a: torch.Tensor, largest: torch.Tensor, atol: torch.Tensor | None, rtol: torch.Tensor | None
) -> torch.Tensor:
    absolute = torch.zeros((), dtype=a.dtype, device=a.device) if atol is None else atol
    if rtol is None:
        usual = torch.finfo(a.dtype).eps * max(a.shape[-2:])
        rtol = torch.full((), usual, dtype=a.dtype, device=a.device)
        rtol = rtol if atol is None else torch.where(atol > 0, 0, rtol)
    return torch.maximum(absolute.unsqueeze(-1), rtol.unsqueeze(-1) * largest)


# --- samples -------------------------------------------------------------------------------------

_SQUARES = ("f32[1,1]", "f32[3,3]", "f64[5,5]", "f32[2,3,4,4]", "f64[16,16]", "f32[2,33,33]")
_EMPTY = ("f32[0,0]", "f32[0,3,3]")
_RECTANGLES = ("f32[2,5,3]", "f32[3,5]", "f64[7,2]", "f64[2,1,9]", "f32[33,20]")

samples(
    aten._linalg_eigh.default,
    *(sample(T(spec), "L", False, tolerance=8.0) for spec in (*_SQUARES, *_EMPTY)),
    *(sample(T(spec), "U", False, tolerance=8.0) for spec in _SQUARES[:3]),
    sample(T("f32[4,4]", layout="transposed"), "L", False, tolerance=8.0),
    # A vector of one element has one sign
    *(sample(T(spec), "L", True) for spec in ("f32[2,1,1]", "f64[1,1]", "f32[0,0]")),
)
samples(
    aten._linalg_svd.default,
    *(
        sample(T(spec), False, False, tolerance=8.0)
        for spec in (*_SQUARES, *_RECTANGLES, *_EMPTY, "f32[0,3]", "f32[3,0]")
    ),
    sample(T("f32[0,3]"), True, True),
    sample(T("f32[3,0]"), False, True),
)
samples(
    aten.linalg_pinv.atol_rtol_tensor,
    *(sample(T(spec), tolerance=32.0) for spec in (*_SQUARES[:4], *_RECTANGLES, "f32[3,0]")),
    *(sample(T(spec, definite=True), hermitian=True, tolerance=32.0) for spec in _SQUARES[:4]),
    sample(T("f32[2,5,3]"), atol=T("f32[]", low=0.5, high=1.0), tolerance=32.0),
    sample(T("f32[2,5,3]"), rtol=T("f32[2]", low=0.1, high=0.3), tolerance=32.0),
)
samples(
    aten.linalg_matrix_exp.default,
    *(sample(T(spec, low=-0.5, high=0.5), tolerance=32.0) for spec in (*_SQUARES, *_EMPTY)),
    sample(T("f32[2,4,4]", low=-5.0, high=5.0), tolerance=64.0),
)
