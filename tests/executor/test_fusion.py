"""What loading makes of convolutions and what follows them gives what the program says."""

from __future__ import annotations

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from ptc.executor.session import Model, Session
from tests.executor.files import graph, package

CONV = "aten::convolution(%{x}, %{w}, {b}, [{s}, {s}], [1, 1], [1, 1], False, [0, 0], 1)"


def conv(x: int, w: int, bias: str = "None", stride: int = 1) -> str:
    return CONV.format(x=x, w=w, b=bias, s=stride)


NORM = "aten::_native_batch_norm_legit_no_training(%{x}, %2, %3, %4, %5, 0.1, 1e-05)"
WEIGHTS = (
    '%0 : f32[2, 3, 9, 7] = user "x"',
    '%1 : f32[3, 3, 3, 3] = parameter "w"',
    *(f'%{n} : f32[3] = buffer "{name}"' for n, name in enumerate(("g", "b", "m", "v"), 2)),
)
SHAPE = "f32[2, 3, 9, 7]"


@pytest.fixture
def tensors() -> dict[str, torch.Tensor]:
    torch.manual_seed(3)
    drawn = {name: torch.randn(3) for name in ("g", "b", "m", "v")}
    return {"w": torch.randn(3, 3, 3, 3), **drawn, "v": drawn["v"].abs() + 0.1}


def run(
    lines: tuple[str, ...], x: torch.Tensor, tensors: dict[str, torch.Tensor], threads: int = 1
):
    arrays = {name: t.numpy() for name, t in tensors.items()}
    model = Model(package(graph(*WEIGHTS, *lines), arrays), threads=threads)
    return [torch.from_numpy(r) for r in Session(model).run([x.numpy()])]


def normed(x: torch.Tensor, t: dict[str, torch.Tensor]) -> torch.Tensor:
    y = F.conv2d(x, t["w"], padding=1)
    return F.batch_norm(y, t["m"], t["v"], t["g"], t["b"], eps=1e-5)


@pytest.mark.parametrize("threads", [1, 2])
def test_norm_sum_and_relu(tensors: dict[str, torch.Tensor], threads: int) -> None:
    x = torch.randn(2, 3, 9, 7)
    lines = (
        f"%6 : {SHAPE} = {conv(0, 1)}",
        f"%7 : ({SHAPE}, f32[0], f32[0]) = {NORM.format(x=6)}",
        f"%8 : {SHAPE} = prim::element(%7, 0)",
        f"%9 : {SHAPE} = {conv(8, 1)}",
        f"%10 : {SHAPE} = aten::add.Tensor(%8, %9, 1)",
        f"%11 : {SHAPE} = aten::relu(%10)",
        'return %11 "y"',
    )
    y = normed(x, tensors)
    expected = F.relu(y + F.conv2d(y, tensors["w"], padding=1))
    torch.testing.assert_close(run(lines, x, tensors, threads)[0], expected)


def test_what_others_look_at_stays(tensors: dict[str, torch.Tensor]) -> None:
    """The convolution's own result, a sum with a factor, of other sizes, and a second use."""
    x = torch.randn(2, 3, 9, 7)
    lines = (
        f"%6 : {SHAPE} = {conv(0, 1)}",
        f"%7 : ({SHAPE}, f32[0], f32[0]) = {NORM.format(x=6)}",
        f"%8 : {SHAPE} = prim::element(%7, 0)",
        f"%9 : {SHAPE} = {conv(8, 1)}",
        f"%10 : {SHAPE} = aten::add.Tensor(%9, %8, 2)",
        f"%11 : {SHAPE} = {conv(10, 1)}",
        "%12 : f32[2, 3, 1, 1] = aten::mean.dim(%8, [2, 3], True, None)",
        f"%13 : {SHAPE} = aten::add.Tensor(%11, %12, 1)",
        'return %6 "plain"',
        'return %13 "y"',
    )
    y = normed(x, tensors)
    z = F.conv2d(y, tensors["w"], padding=1) + 2 * y
    expected = F.conv2d(z, tensors["w"], padding=1) + y.mean((2, 3), keepdim=True)
    plain, got = run(lines, x, tensors)
    torch.testing.assert_close(plain, F.conv2d(x, tensors["w"], padding=1))
    torch.testing.assert_close(got, expected)


def test_statistics_that_the_program_writes_are_not_folded(
    tensors: dict[str, torch.Tensor],
) -> None:
    lines = (
        f"%6 : {SHAPE} = {conv(0, 1)}",
        f"%7 : ({SHAPE}, f32[0], f32[0]) = {NORM.format(x=6)}",
        f"%8 : {SHAPE} = prim::element(%7, 0)",
        "%9 : f32[3] = aten::mul.Scalar(%5, 4)",
        'return %8 "y"',
        'write %9 5 "v"',
    )
    x = torch.randn(2, 3, 9, 7)
    arrays = {name: t.numpy() for name, t in tensors.items()}
    session = Session(Model(package(graph(*WEIGHTS, *lines), arrays), threads=1))
    for _ in range(3):
        (got,) = session.run([x.numpy()])
        torch.testing.assert_close(torch.from_numpy(got), normed(x, tensors))
        tensors["v"] = tensors["v"] * 4


def test_windows_without_positions(tensors: dict[str, torch.Tensor]) -> None:
    pool = "aten::max_pool2d_with_indices(%0, [3, 3], [2, 2], [1, 1], [1, 1], False)"
    small = "[2, 3, 5, 4]"
    both = f"(f32{small}, i64{small})"
    lines = (f"%6 : {both} = {pool}", f"%7 : f32{small} = prim::element(%6, 0)", 'return %7 "y"')
    x = torch.randn(2, 3, 9, 7)
    x[0, 0, 3] = np.nan
    torch.testing.assert_close(
        run(lines, x, tensors)[0], F.max_pool2d(x, 3, 2, 1), rtol=0, atol=0, equal_nan=True
    )
