"""Factorisations: their results, and what they raise where data decides that they cannot be."""

from __future__ import annotations

from typing import Any

import pytest
import torch

import ptc
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
