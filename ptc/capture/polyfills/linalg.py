"""Functions of torch that factorise a matrix and raise where it cannot be, in Python: the operator
that only reports, and the question whether it did. Only ever traced."""

from __future__ import annotations

from typing import Any, NoReturn

import torch

LinAlgError: Any = torch.linalg.LinAlgError  # type: ignore[attr-defined]


def solve(A: Any, B: Any, *, left: bool = True) -> Any:
    result, info = torch.linalg.solve_ex(A, B, left=left)
    if info.any():
        singular_system(info, "torch.linalg.solve")
    return result


def solve_ex(A: Any, B: Any, *, left: bool = True, check_errors: bool = False) -> Any:
    found = torch.linalg.solve_ex(A, B, left=left)
    if found[1].any():
        singular_system(found[1], "torch.linalg.solve_ex")
    return found


def inv(A: Any) -> Any:
    inverse, info = torch.linalg.inv_ex(A)
    if info.any():
        singular_matrix(info, "linalg.inv")
    return inverse


def inverse(input: Any) -> Any:
    return inv(input)


def inv_ex(A: Any, *, check_errors: bool = False) -> Any:
    found = torch.linalg.inv_ex(A)
    if found[1].any():
        singular_matrix(found[1], "linalg.inv_ex")
    return found


def cholesky(A: Any, *, upper: bool = False) -> Any:
    factor, info = torch.linalg.cholesky_ex(A, upper=upper)
    if info.any():
        not_definite(info, "linalg.cholesky")
    return factor


def old_cholesky(input: Any, upper: bool = False) -> Any:
    factor, info = torch.linalg.cholesky_ex(input, upper=upper)
    if info.any():
        not_definite(info, "cholesky")
    return factor


def cholesky_ex(A: Any, *, upper: bool = False, check_errors: bool = False) -> Any:
    found = torch.linalg.cholesky_ex(A, upper=upper)
    if found[1].any():
        not_definite(found[1], "linalg.cholesky_ex")
    return found


def cholesky_inverse(input: Any, upper: bool = False) -> Any:
    size = input.shape[-1]
    if size > 0:
        zero = input.diagonal(dim1=-2, dim2=-1) == 0
        info = torch.where(zero.any(-1), zero.int().argmax(-1) + 1, 0)
        if info.any():
            singular_matrix(info, "cholesky_inverse")
    identity = torch.eye(size, dtype=input.dtype, device=input.device)
    return torch.cholesky_solve(identity, input, upper=upper)


def lu_factor(A: Any, *, pivot: bool = True) -> Any:
    factors, pivots, info = torch.linalg.lu_factor_ex(A, pivot=pivot)
    if info.any():
        zero_pivot(info, "torch.linalg.lu_factor")
    return torch.return_types.linalg_lu_factor((factors, pivots))  # type: ignore[attr-defined]


def lu_factor_ex(A: Any, *, pivot: bool = True, check_errors: bool = False) -> Any:
    found = torch.linalg.lu_factor_ex(A, pivot=pivot)
    if found[2].any():
        zero_pivot(found[2], "torch.linalg.lu_factor_ex")
    return found


def lstsq(input: Any, b: Any, rcond: Any = None, *, driver: Any = None) -> Any:
    """By singular values, of which small ones count as 0 but for the driver that assumes none."""
    m, n = input.shape[-2:]
    driver = "gelsy" if driver is None else driver
    vector = b.dim() == 1 or (b.dim() == input.dim() - 1 and b.shape == input.shape[:-1])
    right = b.unsqueeze(-1) if vector else b
    left, values, vh = torch.linalg.svd(input, full_matrices=False)
    cutoff = torch.finfo(input.dtype).eps * max(m, n) if rcond is None else rcond
    if driver == "gels" or min(m, n) == 0:
        kept = values > 0
    else:
        kept = values > cutoff * values[..., :1]
    inverses = torch.where(kept, values.reciprocal(), 0)
    found = vh.mT @ (inverses.unsqueeze(-1) * (left.mT @ right))
    rank = kept.sum(-1)
    nothing = torch.empty(0, dtype=input.dtype, device=input.device)
    residuals = nothing
    if m > n and (driver == "gels" or (driver != "gelsy" and (rank == n).all())):
        residuals = (right - input @ found).square().sum(-2)
    return torch.return_types.linalg_lstsq(  # type: ignore[attr-defined]
        (
            found.squeeze(-1) if vector else found,
            residuals,
            torch.empty(0, dtype=torch.int64, device=input.device) if driver == "gels" else rank,
            values if driver in ("gelsd", "gelss") else nothing,
        )
    )


def cov(input: Any, *, correction: int = 1, fweights: Any = None, aweights: Any = None) -> Any:
    rows = input.view(1, -1) if input.dim() < 2 else input
    weights = fweights if aweights is None else aweights
    if fweights is not None:
        if (fweights < 0).any():
            raise RuntimeError("cov(): fweights cannot be negative")
        if aweights is not None:
            weights = fweights * aweights
    if aweights is not None and (aweights < 0).any():
        raise RuntimeError("cov(): aweights cannot be negative")
    weighted = rows if weights is None else rows * weights
    count = rows.shape[1] if weights is None else weights.sum()
    if weights is not None and (count == 0).any():
        raise RuntimeError("cov(): weights sum to zero, can't be normalized")
    centred = rows - (weighted.sum(1) / count).unsqueeze(1)
    if weights is None:
        degrees = max(count - correction, 0)
    elif aweights is None or correction == 0:
        degrees = (count - correction).clamp(min=0)
    else:
        degrees = (count - correction * (weights * aweights).sum() / count).clamp(min=0)
    products = centred @ (centred if weights is None else centred * weights).t()
    return torch.true_divide(products, degrees).squeeze()


def corrcoef(input: Any) -> Any:
    found = torch.cov(input)
    if found.dim() == 0:
        return found / found
    deviations = found.diag().sqrt()
    return (found / deviations.view(-1, 1) / deviations.view(1, -1)).clip(-1, 1)


def singular_system(info: Any, name: str) -> NoReturn:
    raise LinAlgError(
        f"{name}: {element(info)}The solver failed because the input matrix is singular."
    )


def singular_matrix(info: Any, name: str) -> NoReturn:
    raise LinAlgError(
        f"{name}: {element(info)}The diagonal element {order(info)} is zero, the inversion could "
        "not be completed because the input matrix is singular."
    )


def not_definite(info: Any, name: str) -> NoReturn:
    raise LinAlgError(
        f"{name}: {element(info)}The factorization could not be completed because the input is not "
        f"positive-definite (the leading minor of order {order(info)} is not positive-definite)."
    )


def zero_pivot(info: Any, name: str) -> NoReturn:
    at = order(info)
    raise RuntimeError(
        f"{name}: {element(info)}U[{at},{at}] is zero and using it on lu_solve would result in a "
        "division by zero. If you still want to perform the factorization, consider calling "
        "linalg.lu(A, pivot) or linalg.lu_factor_ex(A, pivot)"
    )


def element(info: Any) -> str:
    """Which matrix of a batch is the first that failed."""
    return "" if info.dim() == 0 else f"(Batch element {int(_first(info))}): "


def order(info: Any) -> int:
    """Where that matrix failed, counted from 1."""
    return int(info if info.dim() == 0 else info.flatten().gather(0, _first(info)))


def _first(info: Any) -> Any:
    return (info.flatten() != 0).int().argmax(0, keepdim=True)
