"""ptc_fft.h against a transform in long double: errors, symmetry, scales, batches, lengths."""

from __future__ import annotations

import ctypes
import math
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from tests.runtime import native
from tests.runtime.native import Guarded

TYPES = {torch.float32: "f32", torch.float64: "f64"}
#: Every radix, products of them, and lengths with primes that have no radix.
LENGTHS = (
    *range(1, 35), 49, 60, 64, 77, 97, 125, 128, 169, 202, 256, 360,
)  # fmt: skip


@pytest.fixture(scope="module", params=native.targets())
def lib(request: pytest.FixtureRequest, build_folder: Path) -> ctypes.CDLL:
    return native.build(native.text("fft.cpp"), request.param, build_folder)


def call(lib: ctypes.CDLL, name: str, args: list[Any], shapes: list[tuple[int, ...]]) -> list[Any]:
    """The results of a transform, with no byte beyond them written."""
    passed: list[Any] = []
    kept: list[Guarded] = []
    dtype = next(arg.dtype for arg in args if isinstance(arg, torch.Tensor))
    for arg in args:
        if isinstance(arg, torch.Tensor):
            kept.append(Guarded(arg.numel(), arg.numpy().dtype))
            kept[-1].array[: arg.numel()] = arg.contiguous().numpy().reshape(-1)
            passed.append(kept[-1].pointer)
        else:
            passed.append(ctypes.c_int64(arg) if not isinstance(arg, bool) else ctypes.c_int(arg))
    results = [Guarded(math.prod(shape), kept[0].array.dtype) for shape in shapes]
    passed += [memory.pointer for memory in results]
    assert getattr(lib, f"{TYPES[dtype]}_{name}")(*passed) == 0
    return [
        torch.from_numpy(memory.array[: math.prod(shape)].copy()).reshape(shape)
        for memory, shape in zip(results, shapes, strict=True)
    ]


def numbers(lines: int, n: int, dtype: torch.dtype, seed: int = 0) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed + n)
    return torch.randn(lines, n, generator=generator, dtype=torch.float64).to(dtype)


def precise(x: Any, *, inverse: bool = False) -> Any:
    """The transform by its definition, in long double."""
    return x.astype(np.clongdouble) @ matrix(x.shape[-1], inverse)


@cache
def matrix(n: int, inverse: bool) -> Any:
    k = np.outer(np.arange(n), np.arange(n)) % n
    angle = 2 * np.pi * k.astype(np.longdouble) / n
    return np.cos(angle) + (1j if inverse else -1j) * np.sin(angle)


def require_close(got: torch.Tensor, truth: Any, n: int) -> None:
    """Within a few units of the norm, growing as the stages do."""
    eps = torch.finfo(got.dtype).eps
    error = np.abs(got.numpy().astype(np.longdouble) - truth)
    norm = np.sqrt((np.abs(truth) ** 2).mean())
    assert error.max() <= eps * norm * (2 + 1.5 * math.log2(n)), error.max() / (eps * norm)


@pytest.mark.parametrize("dtype", list(TYPES))
@pytest.mark.parametrize("n", LENGTHS)
def test_complex(lib: ctypes.CDLL, n: int, dtype: torch.dtype) -> None:
    lines = 19 if n < 50 else 2
    re, im = numbers(lines, n, dtype), numbers(lines, n, dtype, 7)
    whole = re.numpy().astype(np.longdouble) + 1j * im.numpy().astype(np.longdouble)
    for forward in (True, False):
        got = call(lib, "fft", [lines, n, forward, False, re, im], [(lines, n)] * 2)
        truth = precise(whole, inverse=not forward)
        require_close(got[0], truth.real, n)
        require_close(got[1], truth.imag, n)


@pytest.mark.parametrize("dtype", list(TYPES))
@pytest.mark.parametrize("n", LENGTHS)
def test_real(lib: ctypes.CDLL, n: int, dtype: torch.dtype) -> None:
    lines, m = (19 if n < 50 else 2), n // 2 + 1
    x = numbers(lines, n, dtype)
    re, im = call(lib, "rfft", [lines, n, False, x], [(lines, m)] * 2)
    truth = precise(x.numpy().astype(np.longdouble))[:, :m]
    require_close(torch.complex(re, im).real, truth.real, n)
    if n > 2:
        require_close(im, truth.imag, n)
    assert not im[:, 0].any()
    if n % 2 == 0:
        assert not im[:, -1].any()
    back = call(lib, "irfft", [lines, n, 2, re, im], [(lines, n)])[0]
    require_close(back, x.numpy().astype(np.longdouble), n)


def test_what_is_imaginary_at_the_ends_is_not_read(lib: ctypes.CDLL) -> None:
    for n in (8, 9):
        m = n // 2 + 1
        re, im = numbers(2, m, torch.float64), numbers(2, m, torch.float64, 3)
        got = call(lib, "irfft", [2, n, 0, re, im], [(2, n)])[0]
        expected = torch.fft.irfft(torch.complex(re, im), n=n, norm="forward")
        torch.testing.assert_close(got, expected)


def test_scales(lib: ctypes.CDLL) -> None:
    x = numbers(3, 12, torch.float32)
    plain, root, length = (
        call(lib, "rfft", [3, 12, scale, x], [(3, 7)] * 2)[0] for scale in (0, 1, 2)
    )
    torch.testing.assert_close(root, plain / 12**0.5)
    torch.testing.assert_close(length, plain / 12)


def test_lines_do_not_touch_each_other(lib: ctypes.CDLL) -> None:
    """A line of zeros beside large ones is transformed to zeros, one with NaN stays alone."""
    for n in (12, 15, 34, 64):
        x = 1e6 * numbers(9, n, torch.float32)
        x[4] = 0
        x[2, 1] = math.nan
        re, im = call(lib, "rfft", [9, n, 0, x], [(9, n // 2 + 1)] * 2)
        assert not re[4].any()
        assert not im[4].any()
        assert torch.isfinite(re[[0, 1, 3, 5, 6, 7, 8]]).all()


def test_more_lengths_than_a_session_keeps_plans_for(lib: ctypes.CDLL) -> None:
    firsts = np.zeros(150)
    assert lib.f64_lengths(ctypes.c_int64(150), firsts.ctypes.data_as(ctypes.c_void_p)) == 0
    np.testing.assert_allclose(firsts, np.arange(1, 151), rtol=1e-14)
