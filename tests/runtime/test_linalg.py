"""ptc_linalg.h and ptc_spectral.h against torch: residuals in float64, pivots, signs, `info`, of
all small sizes."""

from __future__ import annotations

import ctypes
import itertools
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.runtime import native
from tests.runtime.native import Guarded

Tensor = torch.Tensor

SIZES = (0, 1, 2, 3, 5, 16, 33, 70)
TYPES = {torch.float32: "f32", torch.float64: "f64", torch.int32: "i32"}
BATCH = 3


@pytest.fixture(scope="module", params=native.targets())
def lib(request: pytest.FixtureRequest, build_folder: Path) -> ctypes.CDLL:
    return native.build(native.text("linalg.cpp"), request.param, build_folder)


def call(lib: ctypes.CDLL, name: str, *args: Any) -> list[Tensor]:
    """The results of a routine. Tensors are inputs, tuples (shape, dtype) make a result."""
    passed: list[Any] = []
    results: list[tuple[Guarded, tuple[Any, ...]]] = []
    kept: list[Guarded] = []
    dtype = next(arg.dtype for arg in args if isinstance(arg, Tensor) and arg.is_floating_point())
    for arg in args:
        if isinstance(arg, Tensor):
            kept.append(Guarded(arg.numel(), numpy_type(arg.dtype)))
            kept[-1].array[: arg.numel()] = arg.contiguous().numpy().reshape(-1)
            passed.append(kept[-1].pointer)
        elif isinstance(arg, tuple):
            shape, kind = arg
            results.append((Guarded(torch.Size(shape).numel(), numpy_type(kind)), arg))
            passed.append(results[-1][0].pointer)
        else:
            passed.append(ctypes.c_int(arg) if isinstance(arg, bool) else ctypes.c_int64(arg))
    assert getattr(lib, f"{TYPES[dtype]}_{name}")(*passed) == 0
    return [
        torch.from_numpy(memory.array[: torch.Size(shape).numel()].copy()).reshape(shape)
        for memory, (shape, _) in results
    ]


def numpy_type(dtype: torch.dtype) -> Any:
    return torch.empty(0, dtype=dtype).numpy().dtype


def matrices(m: int, n: int, dtype: torch.dtype, seed: int = 0) -> Tensor:
    generator = torch.Generator().manual_seed(seed + 100 * m + n)
    return torch.randn(BATCH, m, n, generator=generator, dtype=torch.float64).to(dtype)


def definite(n: int, dtype: torch.dtype) -> Tensor:
    a = matrices(n, n, torch.float64)
    return (a @ a.mT + torch.eye(n)).to(dtype)


def near(got: Tensor, wanted: Tensor, scale: Tensor, size: int, dtype: torch.dtype) -> None:
    """A backward error of at most a few roundings for each of `size` steps."""
    bound = 4 * (size + 1) * torch.finfo(dtype).eps
    worst = (got.double() - wanted.double()).flatten(1).norm(dim=1)
    assert bool((worst <= bound * scale.double().flatten(1).norm(dim=1)).all())


FLOATS = pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=["f32", "f64"])


@FLOATS
def test_lu(lib: ctypes.CDLL, dtype: torch.dtype) -> None:
    for m, n in itertools.product((1, 5, 40), SIZES):
        a = matrices(m, n, dtype)
        steps = min(m, n)
        lu, pivots, info = call(
            lib, "lu", BATCH, m, n, a,
            (a.shape, dtype), ((BATCH, steps), torch.int32), ((BATCH,), torch.int32),
        )  # fmt: skip
        assert info.eq(0).all()
        if n == 0:
            continue
        assert torch.equal(pivots, torch.linalg.lu_factor_ex(a).pivots)
        p, lower, upper = torch.lu_unpack(lu.double(), pivots)
        near(p @ lower @ upper, a, a, steps, dtype)


@FLOATS
@pytest.mark.parametrize("transposed", [False, True])
def test_lu_solve(lib: ctypes.CDLL, transposed: bool, dtype: torch.dtype) -> None:
    for n, k in itertools.product(SIZES, (1, 4)):
        a, b = matrices(n, n, dtype), matrices(n, k, dtype, seed=1)
        lu, pivots, _ = torch.linalg.lu_factor_ex(a)
        (x,) = call(lib, "lu_solve", BATCH, n, k, transposed, lu, pivots, b, (b.shape, dtype))
        wide = (a.mT if transposed else a).double()
        size = a.double().flatten(1).norm(dim=1) * x.double().flatten(1).norm(dim=1)
        near(wide @ x.double(), b, size[:, None], n, dtype)


@FLOATS
@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("upper", [False, True])
@pytest.mark.parametrize("unit", [False, True])
def test_triangles(
    lib: ctypes.CDLL,
    transposed: bool,
    upper: bool,
    unit: bool,
    dtype: torch.dtype,
) -> None:
    for n, k in itertools.product(SIZES, (1, 4)):
        a = matrices(n, n, dtype) / (n + 1) + torch.eye(n, dtype=dtype)
        b = matrices(n, k, dtype, seed=1)
        (x,) = call(lib, "triangular", BATCH, n, k, transposed, upper, unit, a, b, (b.shape, dtype))
        triangle = a.triu() if upper else a.tril()
        if unit:
            triangle = triangle - torch.diag_embed(a.diagonal(dim1=1, dim2=2)) + torch.eye(n)
        wide = (triangle.mT if transposed else triangle).double()
        size = wide.flatten(1).norm(dim=1) * x.double().flatten(1).norm(dim=1)
        near(wide @ x.double(), b, size[:, None], n, dtype)


@FLOATS
def test_cholesky(lib: ctypes.CDLL, dtype: torch.dtype) -> None:
    for n in SIZES:
        a = definite(n, dtype)
        lower, info = call(
            lib, "cholesky", BATCH, n, a.tril(), (a.shape, dtype), ((BATCH,), torch.int32)
        )
        assert info.eq(0).all()
        assert torch.equal(lower, lower.tril())
        near(lower.double() @ lower.double().mT, a, a, n, dtype)


@FLOATS
@pytest.mark.parametrize("complete", [False, True])
def test_qr(lib: ctypes.CDLL, complete: bool, dtype: torch.dtype) -> None:
    for m, n in itertools.product((1, 5, 40), SIZES):
        a = matrices(m, n, dtype)
        rows = m if complete else min(m, n)
        q, r = call(
            lib,
            "qr",
            BATCH,
            m,
            n,
            rows,
            rows,
            a,
            ((BATCH, m, rows), dtype),
            ((BATCH, rows, n), dtype),
        )
        expected = torch.linalg.qr(a.double(), "complete" if complete else "reduced")
        assert torch.equal(r, r.triu())
        near(q.double() @ r.double(), a, a, min(m, n), dtype)
        near(q, expected.Q, q, 10 * min(m, n), dtype)
        near(r, expected.R, a, 10 * min(m, n), dtype)


def test_where_a_factorisation_ends(lib: ctypes.CDLL) -> None:
    singular = torch.tensor([[1.0, 2.0, 3.0], [2.0, 4.0, 6.0], [0.0, 0.0, 1.0]])
    a = torch.stack([torch.eye(3), singular, torch.zeros(3, 3)])
    steps = ((3, 3), torch.int32), ((3,), torch.int32)
    _, pivots, info = call(lib, "lu", 3, 3, 3, a, (a.shape, torch.float32), *steps)
    expected = torch.linalg.lu_factor_ex(a)
    assert torch.equal(info, expected.info)
    assert torch.equal(pivots, expected.pivots)
    a = torch.stack([torch.eye(3), torch.diag(torch.tensor([1.0, 0.0, 1.0])), -torch.eye(3)])
    _, info = call(lib, "cholesky", 3, 3, a, (a.shape, torch.float32), steps[1])
    assert torch.equal(info, torch.linalg.cholesky_ex(a).info)
    a = torch.full((1, 3, 3), torch.nan)
    _, info = call(lib, "cholesky", 1, 3, a, (a.shape, torch.float32), ((1,), torch.int32))
    assert torch.equal(info, torch.linalg.cholesky_ex(a).info)


@pytest.mark.parametrize("scale", [1e-300, 1e-160, 1.0, 1e160, 1e300])
def test_reflections_neither_overflow_nor_vanish(lib: ctypes.CDLL, scale: float) -> None:
    a = matrices(5, 3, torch.float64) * scale
    shapes = ((BATCH, 5, 3), torch.float64), ((BATCH, 3, 3), torch.float64)
    q, r = call(lib, "qr", BATCH, 5, 3, 3, 3, a, *shapes)
    expected = torch.linalg.qr(a)
    near(q, expected.Q, q, 30, torch.float64)
    near(r / scale, expected.R / scale, r / scale, 30, torch.float64)


def test_a_column_of_zeros_is_not_reflected(lib: ctypes.CDLL) -> None:
    a = torch.tensor([[[-2.0, 1.0], [0.0, 3.0], [0.0, 4.0]], [[0.0, 1.0], [0.0, 3.0], [0.0, 4.0]]])
    shapes = ((2, 3, 2), torch.float32), ((2, 2, 2), torch.float32)
    q, r = call(lib, "qr", 2, 3, 2, 2, 2, a, *shapes)
    expected = torch.linalg.qr(a)
    near(q, expected.Q, q, 10, torch.float32)
    near(r, expected.R, r, 10, torch.float32)


def orthonormal(columns: Tensor, dtype: torch.dtype) -> None:
    count = columns.shape[-1]
    identity = torch.eye(count, dtype=torch.float64).expand(*columns.shape[:-2], count, count)
    near(columns.double().mT @ columns.double(), identity, identity, 10 * count, dtype)


def turned(columns: Tensor) -> None:
    """The first element of at least half the largest magnitude is positive."""
    large = 2 * columns.abs() >= columns.abs().amax(-2, keepdim=True)
    first = columns.gather(-2, large.int().argmax(-2, keepdim=True))
    assert bool((first >= 0).all())


@FLOATS
@pytest.mark.parametrize("upper", [False, True])
def test_eigenvectors(lib: ctypes.CDLL, upper: bool, dtype: torch.dtype) -> None:
    for n in SIZES:
        a = matrices(n, n, dtype)
        shapes = ((BATCH, n), dtype), (a.shape, dtype), ((BATCH,), torch.int32)
        values, vectors, info = call(lib, "eigh", BATCH, n, upper, a, *shapes)
        assert info.eq(0).all()
        half = (a.triu(1) if upper else a.tril(-1)).double()
        whole = half + half.mT + torch.diag_embed(a.diagonal(dim1=1, dim2=2).double())
        wide = vectors.double()
        near(wide * values.double()[:, None] @ wide.mT, whole, whole, n, dtype)
        near(values[..., None], torch.linalg.eigvalsh(whole)[..., None], whole, n, dtype)
        orthonormal(vectors, dtype)
        if n:
            turned(vectors)


SPECTRA = ([1.0] * 6, [0.0] * 6, [1.0, 1.0, -1.0, -1.0, 0.0, 2.0], [1e-9, 1.0, 1e9, -1.0, 3.0, 4.0])


@pytest.mark.parametrize("scale", [1e-250, 1.0, 1e250])
@pytest.mark.parametrize("spectrum", SPECTRA)
def test_values_that_are_equal_or_far_apart(
    lib: ctypes.CDLL, spectrum: list[float], scale: float
) -> None:
    q = torch.linalg.qr(matrices(6, 6, torch.float64)).Q
    a = q * torch.tensor(spectrum, dtype=torch.float64) @ q.mT
    shapes = ((BATCH, 6), a.dtype), (a.shape, a.dtype), ((BATCH,), torch.int32)
    values, vectors, info = call(lib, "eigh", BATCH, 6, False, a * scale, *shapes)
    assert info.eq(0).all()
    near(vectors * (values / scale)[:, None] @ vectors.mT, a, a, 12, torch.float64)
    orthonormal(vectors, torch.float64)


@FLOATS
@pytest.mark.parametrize("full", [False, True])
def test_singular_values(lib: ctypes.CDLL, full: bool, dtype: torch.dtype) -> None:
    for m, n in itertools.product((1, 5, 40), SIZES):
        a = matrices(m, n, dtype)
        k = min(m, n)
        columns, rows = (m, n) if full else (k, k)
        u, s, vh, info = call(
            lib, "svd", BATCH, m, n, columns, rows, a,
            ((BATCH, m, columns), dtype), ((BATCH, k), dtype), ((BATCH, rows, n), dtype),
            ((BATCH,), torch.int32),
        )  # fmt: skip
        assert info.eq(0).all()
        made = u.double()[..., :k] * s.double()[:, None] @ vh.double()[:, :k]
        near(made, a, a, k, dtype)
        near(s[..., None], torch.linalg.svdvals(a.double())[..., None], a, k, dtype)
        orthonormal(u, dtype)
        orthonormal(vh.mT, dtype)
        if k:
            turned(u)


@pytest.mark.parametrize("scale", [1e-300, 1.0, 1e300])
def test_matrices_without_full_rank(lib: ctypes.CDLL, scale: float) -> None:
    left, right = matrices(7, 2, torch.float64), matrices(2, 4, torch.float64)
    for a in (left @ right, torch.zeros(BATCH, 7, 4, dtype=torch.float64)):
        u, s, vh, info = call(
            lib, "svd", BATCH, 7, 4, 7, 4, a * scale,
            ((BATCH, 7, 7), a.dtype), ((BATCH, 4), a.dtype), ((BATCH, 4, 4), a.dtype),
            ((BATCH,), torch.int32),
        )  # fmt: skip
        assert info.eq(0).all()
        near(u[..., :4] * (s / scale)[:, None] @ vh, a, a, 8, torch.float64)
        orthonormal(u, torch.float64)
        orthonormal(vh.mT, torch.float64)


def test_what_is_not_finite_has_no_values(lib: ctypes.CDLL) -> None:
    a = torch.stack([torch.eye(3), torch.full((3, 3), torch.nan), torch.full((3, 3), torch.inf)])
    square, row, info = (a.shape, a.dtype), ((3, 3), a.dtype), ((3,), torch.int32)
    for results in (
        call(lib, "eigh", 3, 3, False, a, row, square, info),
        call(lib, "svd", 3, 3, 3, 3, 3, a, square, row, square, info),
    ):
        assert results[-1].ne(0).tolist() == [False, True, True]


@FLOATS
@pytest.mark.parametrize("scale", [1e-3, 0.3, 4.0])
def test_exponentials(lib: ctypes.CDLL, scale: float, dtype: torch.dtype) -> None:
    for n in SIZES:
        a = (matrices(n, n, dtype) * scale / (n + 1) ** 0.5).to(dtype)
        (made,) = call(lib, "matrix_exp", BATCH, n, a, (a.shape, dtype))
        expected = torch.linalg.matrix_exp(a.double())
        near(made, expected, expected, 20 * (n + 1), dtype)


@FLOATS
def test_products_of_reflections(lib: ctypes.CDLL, dtype: torch.dtype) -> None:
    for m, n in ((1, 1), (5, 3), (33, 16), (4, 4)):
        for k in (0, 1, n):
            a, tau = torch.geqrf(matrices(m, n, torch.float64))
            a, tau = a.to(dtype), tau[:, :k].to(dtype)
            (q,) = call(lib, "householder", BATCH, m, n, k, a, tau, (a.shape, dtype))
            expected = torch.linalg.householder_product(a.double(), tau.double())
            near(q, expected, expected, 10 * n, dtype)
