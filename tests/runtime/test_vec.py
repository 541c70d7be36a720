"""ptc_vec.h: conversions of all element types, masks, partial and indexed memory, reductions."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest

from tests.runtime import native
from tests.runtime.conftest import Builder
from tests.runtime.native import Array, Guarded, long

TYPES = {
    "float": np.float32,
    "double": np.float64,
    "int64_t": np.int64,
    "int32_t": np.int32,
    "int16_t": np.int16,
    "int8_t": np.int8,
    "uint8_t": np.uint8,
}

SOURCE = native.text("vec.cpp")


def source() -> str:
    lines = [SOURCE]
    for a in TYPES:
        lines.append(f'extern "C" void reduce_{a}({a}* o, const {a}* i) {{ reduce_all(o, i); }}')
        lines.append(
            f'extern "C" void memory_{a}({a}* o, const {a}* i, const int64_t* at,'
            " const bool* on, long n)"
            " { memory_forms(o, i, at, on, n); }"
        )
        for b in TYPES:
            lines.append(
                f'extern "C" void convert_{a}_{b}({b}* o, const {a}* i, long n, bool v)'
                " { convert_all(o, i, n, v); }"
            )
    return "\n".join(lines)


@pytest.fixture(scope="module")
def lib(build: Builder) -> ctypes.CDLL:
    return build(source())


def values(dtype: str, count: int) -> Array:
    rng = np.random.default_rng(3)
    kind = np.dtype(TYPES[dtype])
    if kind.kind == "f":
        return (rng.normal(size=count) * 50).astype(kind)
    info = np.iinfo(kind)
    return rng.integers(info.min, info.max, count, dtype=kind, endpoint=True)


@pytest.mark.parametrize("vector", [True, False])
@pytest.mark.parametrize("to", TYPES)
@pytest.mark.parametrize("of", TYPES)
def test_convert(lib: ctypes.CDLL, of: str, to: str, vector: bool) -> None:
    x = values(of, 77)
    if np.dtype(TYPES[of]).kind == "f" and to == "uint8_t":
        x = np.abs(x)
    want = x.astype(TYPES[to])
    if np.dtype(TYPES[of]).kind == "f" and np.dtype(TYPES[to]).itemsize < 4:
        want = x.astype(np.int32).astype(TYPES[to])
    out, given = Guarded(x.size, TYPES[to]), Guarded.of(x)
    getattr(lib, f"convert_{of}_{to}")(
        out.pointer, given.pointer, long(x.size), ctypes.c_bool(vector)
    )
    np.testing.assert_array_equal(out.array, want)


def bf16_bits(x: Array) -> Array:
    bits = x.view(np.uint32).astype(np.uint64)
    rounded = ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)
    return np.where(np.isnan(x), np.uint16(0x7FC0), rounded)


@pytest.mark.parametrize("vector", [True, False])
@pytest.mark.parametrize("half", [True, False])
def test_sixteen_bit_floats(lib: ctypes.CDLL, half: bool, vector: bool) -> None:
    flags = ctypes.c_bool(half), ctypes.c_bool(vector)
    bits = np.arange(65536, dtype=np.uint16)
    out, given = Guarded(bits.size), Guarded.of(bits)
    lib.halves(out.pointer, given.pointer, long(bits.size), *flags)
    if half:
        want = bits.view(np.float16).astype(np.float32)
    else:
        want = (bits.astype(np.uint32) << 16).view(np.float32)
    np.testing.assert_array_equal(out.array, want)
    rng = np.random.default_rng(4)
    finite = want[np.isfinite(want)]
    near = [finite * np.float32(1 + 2**-11), finite * np.float32(1 - 2**-9), rng.normal(size=1003)]
    limits = [
        rng.integers(0, 2**32, 4001, dtype=np.uint32).view(np.float32),
        [65504, 65519.9, 65520],
    ]
    x = np.concatenate([np.asarray(part, np.float32) for part in [want, *near, *limits]])
    back, given = Guarded(x.size, np.uint16), Guarded.of(x)
    lib.to_halves(back.pointer, given.pointer, long(x.size), *flags)
    if half:
        with np.errstate(all="ignore"):
            np.testing.assert_array_equal(back.array.view(np.float16), x.astype(np.float16))
    else:
        got_nan, want_nan = (back.array & 0x7FFF) > 0x7F80, np.isnan(x)
        assert np.array_equal(got_nan, want_nan)
        np.testing.assert_array_equal(back.array[~want_nan], bf16_bits(x)[~want_nan])


@pytest.mark.parametrize("kind", TYPES)
def test_reductions_and_lanes(lib: ctypes.CDLL, kind: str) -> None:
    w = lib.lanes()
    x = (np.arange(w) % 5 - (0 if kind == "uint8_t" else 2)).astype(TYPES[kind])
    x[x == 0] = 1
    out, given = Guarded(4 + 4 * w, TYPES[kind]), Guarded.of(x)
    getattr(lib, f"reduce_{kind}")(out.pointer, given.pointer)
    got = out.array
    with np.errstate(all="ignore"):
        assert got[0] == x.sum(dtype=x.dtype) and got[3] == x.prod(dtype=x.dtype)
    assert got[1] == x.max() and got[2] == x.min()
    np.testing.assert_array_equal(got[4 : 4 + w], x[::-1])
    np.testing.assert_array_equal(got[4 + w : 4 + 2 * w], np.arange(3, 3 + w))
    np.testing.assert_array_equal(got[4 + 2 * w : 4 + 3 * w], np.maximum(x, 1))
    np.testing.assert_array_equal(got[4 + 3 * w :], np.maximum(x, 2))


@pytest.mark.parametrize("where", range(16))
@pytest.mark.parametrize("kind", ["float", "double"])
def test_extremes_spread_nan(lib: ctypes.CDLL, kind: str, where: int) -> None:
    w = lib.lanes()
    if where >= w:
        pytest.skip("narrower vectors")
    x = np.arange(w).astype(TYPES[kind])
    x[where] = np.nan
    out, given = Guarded(4 + 4 * w, TYPES[kind]), Guarded.of(x)
    getattr(lib, f"reduce_{kind}")(out.pointer, given.pointer)
    assert np.isnan(out.array[1]) and np.isnan(out.array[2])


@pytest.mark.parametrize("kind", TYPES)
def test_partial_and_indexed_memory(lib: ctypes.CDLL, kind: str) -> None:
    w = lib.lanes()
    for n in range(w + 1):
        dtype = TYPES[kind]
        x = (np.arange(3 * w) % 100 + 1).astype(dtype)
        index = np.arange(w)[::-1].astype(np.int64) * 2
        on = np.arange(w) % 3 == 0
        out = Guarded(12 * w, dtype)
        out.array[:] = 99
        args = [Guarded.of(v) for v in (x, index, on)]
        getattr(lib, f"memory_{kind}")(out.pointer, *(a.pointer for a in args), long(n))
        got, lanes = out.array, np.arange(w)
        np.testing.assert_array_equal(got[:w], np.where(lanes < n, x[:w], 0))
        np.testing.assert_array_equal(got[w : 2 * w], np.where(lanes < n, x[: 3 * w : 3], 0))
        np.testing.assert_array_equal(got[2 * w : 3 * w], np.where(lanes < n, x[index], 0))
        np.testing.assert_array_equal(got[3 * w : 4 * w], np.where(on, x[:w], 7))
        np.testing.assert_array_equal(got[4 * w : 5 * w], np.where(on, x[index], 7))
        scattered = np.full(4 * w, 99, dtype)
        scattered[index[:n]] = x[:n]
        np.testing.assert_array_equal(got[5 * w : 9 * w], scattered)
        strided = np.full(3 * w, 99, dtype)
        strided[: 3 * n : 3] = x[:n]
        np.testing.assert_array_equal(got[9 * w :], strided)


def test_masked_access_ends_at_a_guard_page(lib: ctypes.CDLL) -> None:
    """A conversion of every length whose memory ends at a page that cannot be read or written."""
    for n in range(1, 2 * lib.lanes() + 1):
        for at_end in (True, False):
            x = Guarded.of(np.arange(n, dtype=np.float32), at_end=at_end)
            out = Guarded(n, np.int32, at_end=at_end)
            lib.convert_float_int32_t(out.pointer, x.pointer, long(n), ctypes.c_bool(True))
            np.testing.assert_array_equal(out.array, np.arange(n))


def test_masks(lib: ctypes.CDLL) -> None:
    w = lib.lanes()
    rng = np.random.default_rng(5)
    for round_ in range(20):
        x, y = rng.normal(size=w).astype(np.float32), rng.normal(size=w)
        if round_ == 0:
            x, y = np.abs(x), -np.abs(y)
        out = Guarded(5 * w + 4, np.bool_)
        a, b, n = x > 0, y > 0, round_ % (w + 1)
        given = Guarded.of(x), Guarded.of(y)
        lib.masks(out.pointer, given[0].pointer, given[1].pointer, long(n))
        want = [a & b, a | b, a ^ b, ~a, np.arange(w) < n, [a.any(), a.all(), b.any(), b.all()]]
        np.testing.assert_array_equal(out.array, np.concatenate(want))


@pytest.mark.parametrize("offset", range(1, 16, 2))
def test_moves_demand_no_alignment(lib: ctypes.CDLL, offset: int) -> None:
    """Even where the compiler has every reason to believe that an address is aligned."""
    w = lib.lanes()
    block = np.full(4 * w + 64, np.nan, np.float32)
    start = -block.ctypes.data % 64 // 4 + offset
    x, out = block[start : start + w], block[start + 2 * w : start + 3 * w]
    x[:] = np.arange(w)
    lib.twice_typed(ctypes.c_void_p(out.ctypes.data), ctypes.c_void_p(x.ctypes.data))
    np.testing.assert_array_equal(out, 2 * np.arange(w))
    assert np.isnan(block).sum() == block.size - 2 * w
