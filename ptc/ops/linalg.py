"""Linear algebra: LU, Cholesky and QR factorisations, determinants, inverses, triangular systems.

The runtime factorises (`ptc_linalg.h`); what is made of the factors are loops. Matrices are the
last two dimensions. A system from the other side is one of transposed matrices.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch

from ptc.loops import build as b
from ptc.loops.index import Index, minimum
from ptc.loops.nodes import DType, Expr, LoopKind
from ptc.ops.nests import loops
from ptc.ops.protocol import Indices, LoweringContext, T, TensorValue, sample
from ptc.ops.registry import decomposes, lowers, samples, samples_for
from ptc.ops.shapes import ONE, ZERO, broadcast_shapes, expand
from ptc.support.diagnostics import CompileError

aten = torch.ops.aten

_FLOATS = (DType.F32, DType.F64)


# --- parts ----------------------------------------------------------------------------------------


def _transposed(ctx: LoweringContext, x: TensorValue) -> TensorValue:
    shape = (*x.shape[:-2], x.shape[-1], x.shape[-2])
    return ctx.view(x, shape, lambda index: (*index[:-2], index[-1], index[-2]))


def _batched(ctx: LoweringContext, x: TensorValue, batch: Indices, kept: int = 2) -> TensorValue:
    """`x` for every element of a batch; its last `kept` dimensions stay."""
    return expand(ctx, x, (*batch, *x.shape[len(x.shape) - kept :]))


def _common_batch(*matrices: TensorValue) -> Indices:
    return broadcast_shapes(*(x.shape[:-2] for x in matrices))


def _smaller(a: Index, c: Index) -> Index:
    return a if a == c else minimum(a, c)


def require_float(a: TensorValue) -> None:
    if a.dtype not in _FLOATS:
        raise CompileError(
            "PTC-O005", f"a factorisation of a matrix of {a.dtype.value}", hint="convert it to f32"
        )


def _factorised(
    ctx: LoweringContext, a: TensorValue
) -> tuple[TensorValue, TensorValue, TensorValue]:
    """L and U in one, pivots, info."""
    require_float(a)
    batch, (rows, columns) = a.shape[:-2], a.shape[-2:]
    factors = ctx.empty(a.shape, a.dtype)
    pivots = ctx.empty((*batch, _smaller(rows, columns)), DType.I32)
    info = ctx.empty(batch, DType.I32)
    ctx.extern("lu", [a], [factors, pivots, info])
    return factors, pivots, info


def _solved(
    ctx: LoweringContext,
    factors: TensorValue,
    pivots: TensorValue,
    right: TensorValue,
    *,
    transposed: bool,
) -> TensorValue:
    """X of A X = B, or of A^T X = B, B of matrices."""
    batch = _common_batch(factors, right)
    right = _batched(ctx, right, batch)
    inputs = [_batched(ctx, factors, batch), _batched(ctx, pivots, batch, 1), right]
    result = ctx.empty(right.shape, right.dtype)
    ctx.extern("lu_solve", inputs, [result], {"transposed": transposed})
    return result


def _solved_from(
    ctx: LoweringContext,
    factors: TensorValue,
    pivots: TensorValue,
    right: TensorValue,
    *,
    left: bool,
    transposed: bool = False,
) -> TensorValue:
    """The same, with A on the right of X unless `left`."""
    if left:
        return _solved(ctx, factors, pivots, right, transposed=transposed)
    flipped = _transposed(ctx, right)
    return _transposed(ctx, _solved(ctx, factors, pivots, flipped, transposed=not transposed))


def _identity(ctx: LoweringContext, shape: Sequence[Index], dtype: DType) -> TensorValue:
    def element(index: Indices) -> Expr:
        same = b.eq(b.index_value(index[-2]), b.index_value(index[-1]))
        return b.where(same, b.literal(1.0, dtype), b.literal(0.0, dtype))

    return ctx.pointwise(shape, dtype, element)


def require_success(ctx: LoweringContext, info: TensorValue, message: str) -> None:
    """Fail the run if a factorisation ended early. What eager raises for it names the batch
    element; a captured program that can raise asks `info` itself."""
    with ctx.kernel() as k, loops(k, info.shape) as index:
        k.check(b.eq(ctx.load(info, index), b.literal(0, DType.I32)), message)


def _failure(api_name: str) -> str:
    """What eager says, without the numbers."""
    if "inv" in api_name:
        reason = "the inversion could not be completed because the input matrix is singular"
    elif "solve" in api_name:
        reason = "The solver failed because the input matrix is singular"
    elif "cholesky" in api_name:
        reason = (
            "The factorization could not be completed because the input is not positive-definite"
        )
    else:
        reason = "the factorisation has a zero on its diagonal"
    return f"{api_name}: {reason}."


@lowers(aten._linalg_check_errors.default)
def lower_check_errors(
    ctx: LoweringContext, info: TensorValue, api_name: str, is_matrix: bool
) -> None:
    """Fail the run unless every `info` is 0."""
    require_success(ctx, info, _failure(api_name))


# --- LU ------------------------------------------------------------------------------------------


@lowers(aten.linalg_lu_factor_ex.default)
def lower_lu_factor(
    ctx: LoweringContext, a: TensorValue, pivot: bool, check_errors: bool
) -> tuple[TensorValue, TensorValue, TensorValue]:
    """P A = L U: both triangles in one matrix, pivots counted from 1, info."""
    _require_pivot(pivot)
    result = _factorised(ctx, a)
    if check_errors:
        require_success(ctx, result[2], _failure("torch.linalg.lu_factor_ex"))
    return result


def _require_pivot(pivot: bool) -> None:
    if not pivot:
        raise CompileError(
            "PTC-O004", "an LU factorisation without pivots, which eager has not on the CPU either",
            hint="leave pivot=True",
        )  # fmt: skip


@lowers(aten.linalg_lu_solve.default)
def lower_lu_solve(
    ctx: LoweringContext,
    factors: TensorValue,
    pivots: TensorValue,
    right: TensorValue,
    left: bool,
    adjoint: bool,
) -> TensorValue:
    """X of A X = B for a factorised A; X A = B unless `left`; A^T with `adjoint`."""
    return _solved_from(ctx, factors, pivots, right, left=left, transposed=adjoint)


@lowers(aten._linalg_solve_ex.default)
def lower_solve(
    ctx: LoweringContext, a: TensorValue, right: TensorValue, left: bool, check_errors: bool
) -> tuple[TensorValue, ...]:
    """X of A X = B, or of X A = B. B is a vector where its shape is A's without the columns."""
    factors, pivots, info = _factorised(ctx, a)
    if check_errors:
        require_success(ctx, info, _failure("torch.linalg.solve_ex"))
    rank = len(right.shape)
    vector = rank == 1 or (rank == len(a.shape) - 1 and right.shape == a.shape[:-1])
    if not vector:
        return _solved_from(ctx, factors, pivots, right, left=left), factors, pivots, info
    column = ctx.view(right, (*right.shape, ONE), lambda index: index[:-1])
    result = _solved(ctx, factors, pivots, column, transposed=not left)
    flat = ctx.view(result, result.shape[:-1], lambda index: (*index, ZERO))
    return flat, factors, pivots, info


@lowers(aten.linalg_inv_ex.default)
def lower_inverse(
    ctx: LoweringContext, a: TensorValue, check_errors: bool
) -> tuple[TensorValue, TensorValue]:
    """X of A X = 1."""
    factors, pivots, info = _factorised(ctx, a)
    if check_errors:
        require_success(ctx, info, _failure("linalg.inv_ex"))
    identity = _identity(ctx, a.shape, a.dtype)
    return _solved(ctx, factors, pivots, identity, transposed=False), info


def _diagonal_product(
    ctx: LoweringContext, factors: TensorValue, pivots: TensorValue, *, signs: bool
) -> TensorValue:
    """The product of U's diagonal, or of its `signs`, times the sign of the permutation."""
    dtype = factors.dtype
    batch, size = factors.shape[:-2], factors.shape[-1]
    out = ctx.empty(batch, dtype)
    one, minus = b.literal(1.0, dtype), b.literal(-1.0, dtype)
    with ctx.kernel() as k, loops(k, batch) as index:
        total = k.accumulator("mul", one, dtype, "product")
        with k.loop(size, LoopKind.REDUCE, "r") as r:
            value = ctx.load(factors, (*index, r, r))
            if signs:
                value = b.apply("sign", value)
            stays = b.eq(b.cast(ctx.load(pivots, (*index, r)), DType.I64), b.index_value(r + 1))
            k.update(total, b.mul(value, b.where(stays, one, minus)))
        k.store(out, index, total)
    return out


@lowers(aten._linalg_det.default)
def lower_determinant(ctx: LoweringContext, a: TensorValue) -> tuple[TensorValue, ...]:
    """The product of U's diagonal; a swap of rows turns its sign. The factors are those of the
    transpose, as eager's are for a matrix in row-major order."""
    factors, pivots, _ = _factorised(ctx, _transposed(ctx, a))
    return _diagonal_product(ctx, factors, pivots, signs=False), factors, pivots


@lowers(aten._linalg_slogdet.default)
def lower_log_determinant(ctx: LoweringContext, a: TensorValue) -> tuple[TensorValue, ...]:
    """Sign and logarithm of the magnitude. The factors as of the determinant."""
    factors, pivots, _ = _factorised(ctx, _transposed(ctx, a))
    sign = _diagonal_product(ctx, factors, pivots, signs=True)
    batch, size = a.shape[:-2], a.shape[-1]
    logarithm = ctx.empty(batch, a.dtype)
    with ctx.kernel() as k, loops(k, batch) as index:
        total = k.accumulator("add", b.literal(0.0, a.dtype), a.dtype, "sum")
        with k.loop(size, LoopKind.REDUCE, "r") as r:
            k.update(total, b.log(b.abs_(ctx.load(factors, (*index, r, r)))))
        k.store(logarithm, index, total)
    return sign, logarithm, factors, pivots


@lowers(aten.lu_unpack.default)
def lower_lu_unpack(
    ctx: LoweringContext, factors: TensorValue, pivots: TensorValue, data: bool, permutation: bool
) -> tuple[TensorValue, ...]:
    """P, L and U of a factorised matrix; what is not asked for is empty."""
    nothing = ctx.empty((ZERO,), factors.dtype)
    p = _permutation(ctx, factors, pivots) if permutation else nothing
    if not data:
        return p, nothing, nothing
    batch, (rows, columns) = factors.shape[:-2], factors.shape[-2:]
    steps = _smaller(rows, columns)
    zero, one = b.literal(0.0, factors.dtype), b.literal(1.0, factors.dtype)

    def lower(index: Indices) -> Expr:
        i, j = b.index_value(index[-2]), b.index_value(index[-1])
        return b.where(b.gt(i, j), ctx.load(factors, index), b.where(b.eq(i, j), one, zero))

    def upper(index: Indices) -> Expr:
        i, j = b.index_value(index[-2]), b.index_value(index[-1])
        return b.where(b.le(i, j), ctx.load(factors, index), zero)

    return (
        p,
        ctx.pointwise((*batch, rows, steps), factors.dtype, lower),
        ctx.pointwise((*batch, steps, columns), factors.dtype, upper),
    )


def _permutation(ctx: LoweringContext, factors: TensorValue, pivots: TensorValue) -> TensorValue:
    """P of A = P L U."""
    dtype, (*batch, rows, _) = factors.dtype, factors.shape
    order = ctx.empty((*batch, rows), DType.I64)
    ctx.extern("lu_order", [pivots], [order])

    def element(index: Indices) -> Expr:
        here = b.eq(ctx.load(order, (*index[:-2], index[-1])), b.index_value(index[-2]))
        return b.where(here, b.literal(1.0, dtype), b.literal(0.0, dtype))

    return ctx.pointwise((*batch, rows, rows), dtype, element)


@decomposes(aten.linalg_lu.default)
def decompose_lu(a: torch.Tensor, *, pivot: bool = True) -> tuple[torch.Tensor, ...]:
    """P, L and U."""
    factors, pivots, _ = torch.linalg.lu_factor_ex(a, pivot=pivot)
    return torch.lu_unpack(factors, pivots)


# --- triangles -----------------------------------------------------------------------------------


@lowers(aten.linalg_solve_triangular.default)
def lower_solve_triangular(
    ctx: LoweringContext,
    a: TensorValue,
    right: TensorValue,
    upper: bool,
    left: bool,
    unitriangular: bool,
) -> TensorValue:
    """X of A X = B, or of X A = B unless `left`, where A is a triangle of `a`."""
    if not left:
        right = _transposed(ctx, right)
    batch = _common_batch(a, right)
    right = _batched(ctx, right, batch)
    result = ctx.empty(right.shape, right.dtype)
    attrs = {"transposed": not left, "upper": bool(upper), "unit": bool(unitriangular)}
    ctx.extern("solve_triangular", [_batched(ctx, a, batch), right], [result], attrs)
    return result if left else _transposed(ctx, result)


@decomposes(aten.triangular_solve.default)
def decompose_triangular_solve(
    b: torch.Tensor,
    a: torch.Tensor,
    upper: bool = True,
    transpose: bool = False,
    unitriangular: bool = False,
) -> tuple[torch.Tensor, torch.Tensor]:
    """The solution, and the matrix itself."""
    matrix = a.mT if transpose else a
    solution = torch.linalg.solve_triangular(
        matrix, b, upper=upper != transpose, unitriangular=unitriangular
    )
    return solution, a.clone()


# --- Cholesky ------------------------------------------------------------------------------------


@lowers(aten.linalg_cholesky_ex.default)
def lower_cholesky(
    ctx: LoweringContext, a: TensorValue, upper: bool, check_errors: bool
) -> tuple[TensorValue, TensorValue]:
    """L of A = L L^T, or its transpose; only that triangle of A is read. And info."""
    require_float(a)
    factor, info = ctx.empty(a.shape, a.dtype), ctx.empty(a.shape[:-2], DType.I32)
    ctx.extern("cholesky", [_transposed(ctx, a) if upper else a], [factor, info])
    if check_errors:
        require_success(ctx, info, _failure("linalg.cholesky_ex"))
    return _transposed(ctx, factor) if upper else factor, info


@decomposes(aten.cholesky_solve.default)
def decompose_cholesky_solve(
    b: torch.Tensor, factor: torch.Tensor, upper: bool = False
) -> torch.Tensor:
    """X of A X = B for the A that `factor` is of: two triangles, one after the other."""
    lower = factor.mT if upper else factor
    half = torch.linalg.solve_triangular(lower, b, upper=False)
    return torch.linalg.solve_triangular(lower.mT, half, upper=True)


# --- QR ------------------------------------------------------------------------------------------


@lowers(aten.linalg_qr.default)
def lower_qr(ctx: LoweringContext, a: TensorValue, mode: str) -> tuple[TensorValue, TensorValue]:
    """A = Q R. "complete": Q square; "r": R alone."""
    require_float(a)
    batch, (rows, columns) = a.shape[:-2], a.shape[-2:]
    kept = rows if mode == "complete" else _smaller(rows, columns)
    q = ctx.empty((*batch, rows, ZERO if mode == "r" else kept), a.dtype)
    r = ctx.empty((*batch, kept, columns), a.dtype)
    ctx.extern("qr", [a], [q, r])
    return (ctx.empty((ZERO,), a.dtype) if mode == "r" else q), r


@lowers(aten.linalg_householder_product.default)
def lower_householder_product(
    ctx: LoweringContext, a: TensorValue, tau: TensorValue
) -> TensorValue:
    """The first columns of the product of reflections, whose vectors A has below its diagonal."""
    require_float(a)
    result = ctx.empty(a.shape, a.dtype)
    ctx.extern("householder_product", [a, tau], [result])
    return result


# --- samples -------------------------------------------------------------------------------------

_MATRICES = ("f32[3,3]", "f64[5,5]", "f32[2,3,4,4]", "f32[1,1]", "f64[16,16]", "f32[2,33,33]")

#: Of f64 there is no better reference than eager itself: such matrices are well conditioned.
_SQUARES = (
    *(sample(T(spec, definite="f64" in spec), tolerance=32.0) for spec in _MATRICES),
    sample(T("f32[0,0]")),
    sample(T("f32[0,3,3]")),
)
samples_for(
    (
        aten.linalg_lu_factor_ex.default,
        aten.linalg_inv_ex.default,
        aten._linalg_det.default,
        aten._linalg_slogdet.default,
    ),
    *_SQUARES,
)
samples_for(
    (aten.linalg_lu_factor_ex.default, aten.linalg_inv_ex.default),
    sample(T("f32[4,4]", layout="transposed"), tolerance=8.0),
)
samples(
    aten.linalg_lu_factor_ex.default,
    sample(T("f32[2,5,3]"), tolerance=8.0),
    sample(T("f64[3,40]"), tolerance=8.0),
    sample(T("f32[40,35]"), tolerance=8.0),
)
samples(
    aten._linalg_solve_ex.default,
    sample(T("f32[3,3]"), T("f32[3]"), tolerance=8.0),
    sample(T("f64[5,5]"), T("f64[5,2]"), tolerance=8.0),
    sample(T("f32[4,3,3]"), T("f32[4,3]"), tolerance=8.0),
    sample(T("f32[4,3,3]"), T("f32[3]"), tolerance=8.0),
    sample(T("f32[3,3]"), T("f32[2,3,4]"), tolerance=8.0),
    sample(T("f32[2,1,3,3]"), T("f32[4,3,5]"), tolerance=8.0),
    sample(T("f32[2,3,3]"), T("f32[2,5,3]"), left=False, tolerance=8.0),
    sample(T("f32[33,33]", layout="transposed"), T("f32[33,1]"), tolerance=8.0),
    sample(T("f32[0,0]"), T("f32[0,3]")),
    sample(T("f32[3,3]"), T("f32[3,0]")),
)
samples(
    aten.linalg_lu_solve.default,
    *(
        # Every row changes places with the last
        sample(
            T("f64[2,3,3]", low=1.0, high=2.0), T("i32[2,3]", low=3, high=4), T("f64[3,3]"),
            left=left, adjoint=adjoint, tolerance=8.0,
        )
        for left in (False, True) for adjoint in (False, True)
    ),
)  # fmt: skip
samples(
    aten.linalg_solve_triangular.default,
    *(
        sample(
            T("f64[2,5,5]", low=1.0, high=2.0), T("f64[2,5,3]"),
            upper=upper, unitriangular=unit, tolerance=4.0,
        )
        for upper in (False, True) for unit in (False, True)
    ),
    *(
        sample(
            T("f32[4,4]", low=1.0, high=2.0), T("f32[3,2,4]"),
            upper=upper, left=False, tolerance=4.0,
        )
        for upper in (False, True)
    ),
    sample(T("f32[33,33]", low=1.0, high=2.0), T("f32[33,1]"), upper=False, tolerance=4.0),
    sample(T("f32[0,0]"), T("f32[0,2]"), upper=True),
)  # fmt: skip
samples(
    aten.triangular_solve.default,
    *(
        sample(
            T("f64[2,5,3]"), T("f64[2,5,5]", low=1.0, high=2.0), upper, transpose, tolerance=4.0
        )
        for upper in (False, True) for transpose in (False, True)
    ),
)  # fmt: skip
samples(
    aten.linalg_cholesky_ex.default,
    *(sample(T(spec, definite=True), tolerance=32.0) for spec in _MATRICES),
    *(sample(T(spec, definite=True), upper=True, tolerance=4.0) for spec in _MATRICES[:3]),
    sample(T("f32[0,0]")),
)
samples(
    aten.cholesky_solve.default,
    *(
        sample(T("f64[5,3]"), T("f64[2,5,5]", low=1.0, high=2.0), upper, tolerance=8.0)
        for upper in (False, True)
    ),
)
samples(
    aten._linalg_check_errors.default,
    sample(T("i32[3]", low=0, high=0), "linalg.solve", is_matrix=False),
)
samples(
    aten.lu_unpack.default,
    *(
        # Every row changes places with the last
        sample(T(f"f32[2,{m},{n}]"), T(f"i32[2,{min(m, n)}]", low=m, high=m + 1), exact=True)
        for m, n in ((3, 3), (4, 2), (2, 4))
    ),
    sample(T("f64[3,3]"), T("i32[3]", low=3, high=4), False, exact=True),
    sample(T("f64[3,3]"), T("i32[3]", low=3, high=4), True, False, exact=True),
)
samples(
    aten.linalg_lu.default,
    sample(T("f32[2,5,3]"), tolerance=8.0),
    sample(T("f32[3,5]"), tolerance=8.0),
)
samples(
    aten.linalg_qr.default,
    *(sample(T(spec, definite="f64" in spec), tolerance=32.0) for spec in _MATRICES),
    *(
        sample(T(spec), mode, tolerance=8.0)
        for spec in ("f32[2,5,3]", "f32[3,5]", "f32[0,3]", "f32[3,0]")
        for mode in ("reduced", "complete", "r")
    ),
)
samples(
    aten.linalg_householder_product.default,
    *(
        sample(T(f"{dtype}[{m},{n}]"), T(f"{dtype}[{k}]", low=0.1, high=1.0), tolerance=16.0)
        for dtype in ("f32", "f64")
        for m, n, k in ((5, 3, 3), (4, 4, 2), (1, 1, 1), (9, 6, 0))
    ),
    sample(T("f32[2,5,3]"), T("f32[2,3]", low=0.1, high=1.0), tolerance=16.0),
    sample(T("f32[3,0]"), T("f32[0]")),
)
