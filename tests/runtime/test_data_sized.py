"""ptc_data_sized.h against torch: tensors of all types, shapes and strides."""

from __future__ import annotations

import ctypes
import math
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from tests.runtime import native
from tests.runtime.native import Guarded
from tests.runtime.views import CODES, View, rearranged

TYPES = [d for d in CODES if d not in (torch.uint16, torch.uint32, torch.uint64)]
REAL = [d for d in TYPES if not d.is_complex]
INTS = [d for d in REAL if not d.is_floating_point and d != torch.bool]
REFUSED = 9


@pytest.fixture(scope="module")
def lib(build_folder: Path) -> ctypes.CDLL:
    built = native.build(native.text("data_sized.cpp"), "native", build_folder)
    built.sized_nonzero_count.restype = built.sized_masked_count.restype = ctypes.c_int64
    return built


def i64(value: int) -> ctypes.c_int64:
    return ctypes.c_int64(value)


class Result:
    """Memory for a dense result that faults when written beyond."""

    def __init__(self, shape: list[int], dtype: torch.dtype) -> None:
        self.shape, self.dtype = shape, dtype
        self.bytes = math.prod(shape) * dtype.itemsize
        self.memory = Guarded(self.bytes, np.uint8)
        self.pointer = self.memory.pointer

    @property
    def tensor(self) -> torch.Tensor:
        if not self.bytes:
            return torch.empty(self.shape, dtype=self.dtype)
        return torch.frombuffer(bytearray(self.memory.array), dtype=self.dtype).view(self.shape)


def same(got: torch.Tensor, want: torch.Tensor) -> None:
    """Equal in type, shape and every bit but those of NaN."""
    assert got.dtype == want.dtype and got.shape == want.shape
    torch.testing.assert_close(got, want, rtol=0, atol=0, equal_nan=True)
    if want.dtype.is_floating_point:
        number = ~torch.isnan(want)
        assert torch.equal(torch.signbit(got)[number], torch.signbit(want)[number])


def random_tensor(rng: random.Random, dtype: torch.dtype, shape: list[int]) -> torch.Tensor:
    if dtype == torch.bool:
        return torch.rand(shape) < rng.choice((0.0, 0.3, 1.0))
    if dtype.is_complex:
        parts = [random_tensor(rng, torch.float32, shape) for _ in range(2)]
        return torch.complex(*parts).to(dtype)
    if not dtype.is_floating_point:
        info = torch.iinfo(dtype)
        low, high = rng.choice(((-3, 4), (-100, 100), (info.min, info.max)))
        return torch.randint(max(low, info.min), high, shape, dtype=dtype)
    values = (torch.randn(shape) * rng.choice((1, 3, 1e4))).to(dtype)
    if rng.random() < 0.6:
        values = values.round()
    if rng.random() < 0.5:
        odd = torch.tensor([math.nan, math.inf, -math.inf, 0.0, -0.0, -math.nan]).to(dtype)
        values = torch.where(torch.rand(shape) < 0.3, odd[torch.randint(0, 6, shape)], values)
    return values


def random_shape(rng: random.Random) -> list[int]:
    shape = [rng.randint(1, 9) for _ in range(rng.choice((0, 1, 1, 2, 3, 4)))]
    if shape and rng.random() < 0.1:
        shape[rng.randrange(len(shape))] = 0
    if shape and rng.random() < 0.2:
        shape = [*shape[:2], 300]
    return shape


@pytest.mark.parametrize("dtype", TYPES, ids=str)
def test_nonzero(lib: ctypes.CDLL, dtype: torch.dtype) -> None:
    rng = random.Random(str(dtype))
    for _ in range(60):
        x = rearranged(rng, random_tensor(rng, dtype, random_shape(rng)))
        want = torch.nonzero(x)
        view = View(x)
        count = lib.sized_nonzero_count(ctypes.byref(view))
        dense = Result([count, x.dim()], torch.int64)
        lib.sized_nonzero(ctypes.byref(view), dense.pointer, i64(0), i64(0))
        same(dense.tensor, want)
        turned = Result([x.dim(), count], torch.int64)  # as eager lays it out
        lib.sized_nonzero(ctypes.byref(view), turned.pointer, i64(1), i64(count))
        same(turned.tensor.t(), want)


@pytest.mark.parametrize("dtype", TYPES, ids=str)
def test_masked_select(lib: ctypes.CDLL, dtype: torch.dtype) -> None:
    rng = random.Random(str(dtype))
    for _ in range(60):
        x = rearranged(rng, random_tensor(rng, dtype, random_shape(rng)))
        mask = torch.rand(x.shape) < rng.choice((0.0, 0.4, 1.0))
        if x.dim() > 1 and rng.random() < 0.5:
            mask = (torch.rand(x.shape[::-1]) < 0.5).permute(*range(x.dim() - 1, -1, -1))
        views = View(x), View(mask)
        count = lib.sized_masked_count(ctypes.byref(views[1]))
        result = Result([count], dtype)
        lib.sized_masked(*(ctypes.byref(v) for v in views), result.pointer)
        same(result.tensor, torch.masked_select(x, mask))


def native_unique(lib: ctypes.CDLL, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
    view, count = View(x), i64(-1)
    assert lib.sized_unique_count(ctypes.byref(view), ctypes.byref(count)) == 0
    values = Result([count.value], x.dtype)
    inverse, counts = Result(list(x.shape), torch.int64), Result([count.value], torch.int64)
    lib.sized_unique(values.pointer, inverse.pointer, counts.pointer)
    alone = Result([count.value], x.dtype)
    lib.sized_unique(alone.pointer, None, None)
    same(alone.tensor, values.tensor)
    return values.tensor, inverse.tensor, counts.tensor


def check_unique(lib: ctypes.CDLL, x: torch.Tensor) -> None:
    """As eager's. Which of several NaN comes first, and which zero stands for both, eager leaves
    open; here it is the first one."""
    values, inverse, counts = native_unique(lib, x)
    want_values, want_inverse, want_counts = torch.unique(
        x, return_inverse=True, return_counts=True
    )
    torch.testing.assert_close(values, want_values, rtol=0, atol=0, equal_nan=True)
    same(counts, want_counts)
    nan = torch.isnan(x)
    same(inverse[~nan], want_inverse[~nan])
    same(inverse[nan], want_inverse[nan].sort().values)
    same(values[inverse], torch.where(x == 0, values[inverse], x))


@pytest.mark.parametrize("dtype", REAL, ids=str)
def test_unique(lib: ctypes.CDLL, dtype: torch.dtype) -> None:
    rng = random.Random(str(dtype))
    for _ in range(80):
        check_unique(lib, rearranged(rng, random_tensor(rng, dtype, random_shape(rng))))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.int64], ids=str)
def test_unique_of_many(lib: ctypes.CDLL, dtype: torch.dtype) -> None:
    rng = random.Random(str(dtype))
    for _ in range(4):
        check_unique(lib, random_tensor(rng, dtype, [70000]))


def sizes(function: Any, *arguments: Any) -> tuple[int, int]:
    count = i64(-1)
    return function(*arguments, ctypes.byref(count)), count.value


@pytest.mark.parametrize("dtype", [torch.int32, torch.int64], ids=str)
def test_repeat_interleave(lib: ctypes.CDLL, dtype: torch.dtype) -> None:
    rng = random.Random(str(dtype))
    for _ in range(40):
        repeats = torch.randint(0, rng.choice((1, 3, 40)), [rng.randint(0, 50)], dtype=dtype)
        if rng.random() < 0.3:
            repeats = repeats[::2]
        view = View(repeats)
        status, count = sizes(lib.sized_repeat_count, ctypes.byref(view))
        assert status == 0
        result = Result([count], dtype)
        lib.sized_repeat(ctypes.byref(view), result.pointer)
        same(result.tensor, torch.repeat_interleave(repeats))
    negative = View(torch.tensor([2, -1], dtype=dtype))
    assert sizes(lib.sized_repeat_count, ctypes.byref(negative)) == (REFUSED, 0)
    if dtype == torch.int64:
        endless = View(torch.tensor([2**62, 2**62, 2**62]))
        assert sizes(lib.sized_repeat_count, ctypes.byref(endless)) == (6, 0)


@pytest.mark.parametrize("dtype", INTS, ids=str)
def test_bincount(lib: ctypes.CDLL, dtype: torch.dtype) -> None:
    rng = random.Random(str(dtype))
    for _ in range(40):
        x = torch.randint(0, rng.choice((1, 5, 100)), [rng.choice((0, 1, 30, 500))], dtype=dtype)
        if rng.random() < 0.3:
            x = x[::3]
        minlength = rng.choice((0, 1, 7, 200))
        view = View(x)
        status, count = sizes(lib.sized_bincount_count, ctypes.byref(view), i64(minlength))
        assert status == 0
        result = Result([count], torch.int64)
        lib.sized_bincount(ctypes.byref(view), i64(count), result.pointer)
        same(result.tensor, torch.bincount(x, minlength=minlength))
    if dtype.is_signed:
        negative = View(torch.tensor([2, -1], dtype=dtype))
        assert sizes(lib.sized_bincount_count, ctypes.byref(negative), i64(0)) == (REFUSED, 0)
    one = View(torch.ones(1, dtype=dtype))
    assert sizes(lib.sized_bincount_count, ctypes.byref(one), i64(-1)) == (REFUSED, 0)
