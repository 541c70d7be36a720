"""Tensors read into Python: as indices, in comparisons of whole tensors, as numbers of calls."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from tests.capture.control.checking import check

A = torch.tensor([1.0, 2.0, -0.5, 3.0])
B = torch.tensor([0.0, 1.0, 0.75, 0.0])
C = torch.tensor([1.0, -2.0, 0.75, -3])
Row = torch.Tensor


def rows_by_number(x: Row) -> Any:
    n, y = int(x[0]), x.reshape(2, 2)
    return (
        x[n],
        x[-n - 1],
        x[:n],
        x[n:],
        x[n : n + 1],
        y[n],
        y[:, n],
        y[n, n],
        y[..., n],
        y[None, n],
    )


def ranges_of_rows(x: Row, y: Row) -> Any:
    n, m = int(x[0]), int(x[1])
    kept = y[:, y[0] > 0]  # as many columns as data decides
    return (
        y[n:m],
        y[-n:, 1:n],
        y[n::2],
        y[: n - 1, m:],
        y.narrow(0, 0, y[n:].shape[0]),
        kept[:, n:m],
    )


def rows_by_tensor(x: Row) -> Any:
    t, y = x[0].long(), x.reshape(2, 2)
    return x[t], x[t:], x[:t], y[:, t], y[t, 1], y[t], x[x.argmax()], y[[0, 1], t]


def written_rows(x: Row) -> Any:
    n, t, y, z = int(x[0]), x[0].long(), x.clone(), x.reshape(2, 2).clone()
    y[n] = 5.0
    y[n] += 1
    z[t] = 3.0
    z[t, t] += 1
    z[:, n] *= 2
    z[1:, t] = x[:1]
    y[x.argmax()] = 0
    return y, z


def outside(x: Row) -> Any:
    try:
        return x[int(x[0])]
    except IndexError as error:
        print(error)
        return x.reshape(2, 2)[0, int(x[0])]


def numbers_of_calls(x: Row) -> Any:
    t = x[0].long()
    return (
        torch.full((2,), t), torch.arange(t), x.clamp(min=0, max=x[1]), torch.zeros(t, 2),
        [1, 2, 3][t], x.roll(t), x.narrow(0, t, 1), x.select(0, t),
        x.unsqueeze(0).expand(t + 1, -1), x.repeat(t + 1), torch.eye(t + 1),
    )  # fmt: skip


def made_of_numbers(x: Row) -> Any:
    t = x.argmax()
    return (
        torch.tensor([t, x.argmin()]), torch.tensor([t.item(), 2]), torch.tensor(x[1].item()),
        torch.tensor([[x[0], 1.0], [t.item(), 2]]), x.new_tensor([t.item()]),
        torch.as_tensor([x[0].item() > 0, True]), torch.tensor([t, 1], dtype=torch.float32),
    )  # fmt: skip


def whole_tensors(x: Row) -> Any:
    return (
        torch.equal(x, x.abs()), torch.allclose(x, x.abs(), atol=1e-2), x.equal(x + 0),
        torch.is_nonzero(x[0]), x[1].is_nonzero(), x.allclose(x * 1.0), torch.equal(x, x[:3]),
    )  # fmt: skip


def branches(x: Row) -> Any:
    if torch.equal(x, x.abs()):
        return x
    if (x < -1).any() and not torch.all(x < -1):
        return x * 3
    if 0.75 in x:
        return x * 4
    return x * 5 if x[0] else x * 6


def loops(x: Row) -> Any:
    t, total = x[0].long(), 0
    for i in range(t):
        total += i + 1
    return total, [10, 20, 30][t], (1, 2, 3)[t]


@pytest.mark.parametrize(
    "function",
    [
        rows_by_number, rows_by_tensor, written_rows, numbers_of_calls, made_of_numbers,
        whole_tensors, loops,
    ],
)  # fmt: skip
def test_reading(function: Any) -> None:
    check(function, A, B, C)


def test_ranges_of_rows() -> None:
    y = torch.arange(20.0).reshape(4, 5) - 2
    pairs = [(n, m) for n in (-9, -4, -1, 0, 1, 3, 4, 7) for m in (-5, -2, 0, 2, 3, 9)]
    check(ranges_of_rows, *((torch.tensor(pair), y) for pair in pairs))


def test_branches() -> None:
    check(branches, A, A.abs(), B - 1, C, -A, torch.zeros(4) - 0.1, torch.tensor([0.0, -1, 1, 1]))


def test_outside_of_a_tensor() -> None:
    check(outside, A, B, A * 4, -A * 4, -A, A * 2)
