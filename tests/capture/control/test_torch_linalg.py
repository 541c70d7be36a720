"""Factorisations: their results, and what they raise where data decides that they cannot be."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

import ptc
from ptc.support.diagnostics import CompileError
from tests.capture.control.checking import check

Tensor = torch.Tensor

REGULAR = torch.tensor([[4.0, 1.0, 0.5], [1.0, 3.0, -1.0], [0.5, -1.0, 2.0]])
SINGULAR = torch.tensor([[1.0, 0.0, 0.0], [0.0, 0.0, 0.0], [0.0, 0.0, 0.0]])
ONE = (REGULAR, SINGULAR, REGULAR * 2)
MANY = (
    torch.stack([REGULAR, REGULAR + 1]),
    torch.stack([REGULAR, SINGULAR]),
    torch.stack([SINGULAR, SINGULAR]),
)


def system(a: Tensor) -> Any:
    return torch.linalg.solve(a, torch.ones(3)), torch.linalg.solve(a, a, left=False)


def inverses(a: Tensor) -> Any:
    return torch.linalg.inv(a), a.inverse(), torch.inverse(input=a)


def roots(a: Tensor) -> Any:
    return torch.linalg.cholesky(a), torch.linalg.cholesky(a, upper=True)


def factors(a: Tensor) -> Any:
    found = torch.linalg.lu_factor(a)
    return found.LU, found.pivots, torch.linalg.lu_solve(*found, a)


def caught(a: Tensor) -> Any:
    try:
        return torch.linalg.inv(a)
    except torch.linalg.LinAlgError as error:
        return torch.zeros_like(a), str(error)


def caught_as_runtime_error(a: Tensor) -> Any:
    count = 0
    for scale in (0.0, 1.0):
        try:
            torch.linalg.solve(a * scale, torch.ones(3))
        except RuntimeError:
            count += 1
    return count


def reported(a: Tensor) -> Any:
    factor, info = torch.linalg.cholesky_ex(a)
    if (info == 0).all():
        return factor, torch.linalg.solve_ex(a, a).result
    return info, torch.linalg.inv_ex(a).info


def checked(a: Tensor) -> Any:
    return (
        torch.linalg.cholesky_ex(a, check_errors=True).L,
        torch.linalg.inv_ex(a, check_errors=True).inverse,
        torch.linalg.solve_ex(a, a, check_errors=True).result,
        torch.linalg.lu_factor_ex(a, check_errors=True).LU,
    )


PROGRAMS = (system, inverses, roots, factors, caught, caught_as_runtime_error, reported, checked)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
@pytest.mark.parametrize("inputs", [ONE, MANY], ids=["matrix", "batch"])
def test_programs(program: Any, inputs: tuple[Tensor, ...]) -> None:
    check(program, *inputs)


def checked_inverse(a: Tensor) -> Any:
    return torch.linalg.inv_ex(a, check_errors=True).inverse


def checked_system(a: Tensor) -> Any:
    return torch.linalg.solve_ex(a, a, check_errors=True).result


def checked_factors(a: Tensor) -> Any:
    return torch.linalg.lu_factor_ex(a, check_errors=True).LU


@pytest.mark.parametrize("program", [checked_inverse, checked_system, checked_factors])
def test_errors_that_are_asked_for(program: Any) -> None:
    check(program, *MANY)


@pytest.mark.parametrize("control_flow", [False, True])
def test_a_compiled_call_raises_what_eager_raises(control_flow: bool) -> None:
    compiled = ptc.compile(caught, control_flow=control_flow)
    with torch.no_grad():
        for a in (*ONE, *MANY):
            wanted, got = caught(a), compiled(a)
            if isinstance(wanted, tuple):
                assert got[1] == wanted[1]
                wanted, got = wanted[0], got[0]
            torch.testing.assert_close(got, wanted)


def inverse_of_a_root(root: Tensor) -> Any:
    return torch.cholesky_inverse(root), root.cholesky_inverse(upper=True)


def test_the_inverse_of_what_a_root_is_of() -> None:
    check(inverse_of_a_root, *ONE)
    check(inverse_of_a_root, *MANY)
    check(inverse_of_a_root, torch.zeros(0, 3, 3))


# -- values and vectors ---------------------------------------------------------------------------


def least_squares(a: Tensor) -> Any:
    right = a[..., :2].abs()
    found = torch.linalg.lstsq(a, right)
    return (
        found.solution, found.rank, torch.linalg.lstsq(a, right[..., 0], driver="gels").residuals,
        torch.linalg.lstsq(a, right, driver="gelsd"),
    )  # fmt: skip


def covariances(a: Tensor) -> Any:
    counts = torch.arange(1, a.shape[1] + 1)
    return (
        torch.cov(a), a[0].cov(), torch.cov(a, correction=0, fweights=counts),
        torch.cov(a, fweights=counts, aweights=a[0].abs()), torch.corrcoef(a), a[0].corrcoef(),
    )  # fmt: skip


def decomposed(a: Tensor) -> Any:
    values, vectors = torch.linalg.eigh(a.mT @ a)
    u, s, vh = torch.linalg.svd(a)
    return values, vectors, u[..., : s.shape[-1]], s, vh, torch.linalg.pinv(a)


def orthogonal(a: Tensor) -> Any:
    half = a[..., :3, :3].tril()
    reflected = torch.linalg.householder_product(a, a[..., 0, :].sigmoid())
    return torch.matrix_exp(half - half.mT), reflected, torch.linalg.matrix_rank(a)


TALL = torch.randn(5, 3, generator=torch.Generator().manual_seed(7))


CASES = (
    (least_squares, torch.float64), (covariances, torch.float32), (decomposed, torch.float32),
    (decomposed, torch.float64), (orthogonal, torch.float32),
)  # fmt: skip


@pytest.mark.parametrize(("function", "dtype"), CASES)
def test_libraries_do_what_eager_does(function: Any, dtype: torch.dtype, tmp_path: Path) -> None:
    """Verification compares the vectors, which it turns as the library does."""
    report = ptc.build(function, (TALL.to(dtype),), output=tmp_path / "libf.so")
    assert report is not None
    other = TALL.to(dtype).flip(1) * 2 - 1
    if function is not decomposed:
        torch.testing.assert_close(ptc.load(report.library)(other), function(other))
    else:
        values, vectors, u, s, vh, _ = ptc.load(report.library)(other)
        torch.testing.assert_close(vectors * values @ vectors.mT, other.mT @ other)
        torch.testing.assert_close(u * s @ vh, other)


def spectrum(a: Tensor) -> Tensor:
    return torch.linalg.eigvalsh(a)


def test_a_matrix_that_is_not_finite(tmp_path: Path) -> None:
    report = ptc.build(spectrum, (REGULAR,), output=tmp_path / "libf.so")
    assert report is not None
    with pytest.raises(CompileError, match="linalg.eigh: The algorithm failed to converge"):
        ptc.load(report.library)(REGULAR * torch.nan)
    compiled = ptc.compile(spectrum)
    with torch.no_grad(), pytest.raises(torch.linalg.LinAlgError, match="error code"):
        compiled(REGULAR * torch.nan)


@pytest.mark.parametrize("control_flow", [False, True])
def test_gradients_are_those_of_the_vectors_that_are_given(control_flow: bool) -> None:
    """Whatever their signs are: what is built from them is eager's, and so are its gradients."""

    def projected(a: Tensor) -> Tensor:
        vectors = torch.linalg.eigh(a @ a.mT).eigenvectors
        if control_flow and a.sum() > -100:
            vectors = vectors * 2
        return vectors

    compiled = ptc.compile(projected, control_flow=control_flow)
    gradients = []
    for function in (projected, compiled):
        a = TALL[:3].clone().requires_grad_()
        vectors = function(a)
        (vectors * vectors.detach().abs().sum() * vectors.detach().sign()).cos().sum().backward()
        gradients.append(a.grad)
    torch.testing.assert_close(gradients[1], gradients[0], rtol=1e-3, atol=1e-4)
