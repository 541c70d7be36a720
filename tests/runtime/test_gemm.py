"""ptc_gemm.h against float64 NumPy: packed and live operands, odd sizes, layouts, element types."""

from __future__ import annotations

import ctypes
from typing import NamedTuple

import numpy as np
import pytest

from tests.runtime import native
from tests.runtime.conftest import Builder
from tests.runtime.native import Aligned, Array, Guarded, long, relative_error


class Sizes(NamedTuple):
    m: int
    n: int
    k: int


# Tails of rows and columns, one row, one column, deep and shallow k, more than one block of k.
SIZES = [
    Sizes(1, 10, 33),
    Sizes(2, 17, 5),
    Sizes(4, 100, 256),
    Sizes(5, 300, 257),
    Sizes(7, 33, 513),
    Sizes(9, 113, 31),
    Sizes(17, 96, 300),
    Sizes(197, 64, 64),
    Sizes(13, 80, 2500),
    Sizes(1, 1100, 70),
    Sizes(3, 1030, 19),
]

SOURCE = native.text("gemm.cpp")

# (sum type, A type, B type)
MIXED = [
    ("float", "float", "float"),
    ("double", "double", "double"),
    ("float", "bf16", "bf16"),
    ("float", "f16", "f16"),
    ("float", "float", "bf16"),
    ("int32_t", "int32_t", "int32_t"),
    ("int64_t", "int64_t", "int64_t"),
    ("int32_t", "uint8_t", "int8_t"),
]
NUMPY = {
    "float": np.float32,
    "double": np.float64,
    "int32_t": np.int32,
    "int64_t": np.int64,
    "uint8_t": np.uint8,
    "int8_t": np.int8,
    "f16": np.float16,
    "bf16": np.uint16,
}


@pytest.fixture(scope="module")
def dynamic(build: Builder) -> ctypes.CDLL:
    scratches = sorted({f"SCRATCH({t}, {a})" for t, a, _ in MIXED})
    lib = build("\n".join([SOURCE, *scratches, *(f"LIVE({t}, {a}, {b})" for t, a, b in MIXED)]))
    for name in ("packed_size", "packed_size_double"):
        getattr(lib, name).restype = ctypes.c_long
    for t, a, _ in MIXED:
        getattr(lib, f"scratch_{t}_{a}").restype = ctypes.c_long
    lib.open_pool.restype = ctypes.c_void_p
    return lib


@pytest.fixture(scope="module")
def static(build: Builder) -> ctypes.CDLL:
    cases = [f"STATIC({i}, {s.m}, {s.n}, {s.k})" for i, s in enumerate(SIZES)]
    lib = build("\n".join([SOURCE, *cases]))
    lib.packed_size.restype = ctypes.c_long
    lib.open_pool.restype = ctypes.c_void_p
    return lib


def operands(s: Sizes) -> tuple[Array, Array, Array]:
    rng = np.random.default_rng(s.m * 1000 + s.n + s.k)
    a, b = rng.normal(size=(s.m, s.k)), rng.normal(size=(s.k, s.n))
    return a.astype(np.float32), b.astype(np.float32), rng.normal(size=s.n).astype(np.float32)


def product(a: Array, b: Array, bias: Array) -> Array:
    return a.astype(np.float64) @ b.astype(np.float64) + bias


def check(out: Guarded, visits: Guarded, want: Array, bound: float = 2e-6) -> None:
    assert (visits.array == 1).all(), "a value was stored more or less than once"
    assert relative_error(out.array.reshape(want.shape), want) <= bound


def new_out(size: int, dtype: type = np.float32) -> tuple[Guarded, Guarded]:
    visits = Guarded(size, np.int32)
    visits.array[:] = 0
    return Guarded(size, dtype), visits


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("index", range(len(SIZES)), ids=lambda i: "x".join(map(str, SIZES[i])))
def test_packed(static: ctypes.CDLL, dynamic: ctypes.CDLL, index: int, threads: int) -> None:
    s = SIZES[index]
    a, b, bias = operands(s)
    want = product(a, b, bias)
    pool = ctypes.c_void_p(static.open_pool(threads) if threads > 1 else None)
    # B in both layouts of memory.
    for stored, strides in ((b, (s.n, 1)), (np.ascontiguousarray(b.T), (1, s.k))):
        packed = Aligned(static.packed_size(long(s.k), long(s.n)) * 4)
        given = [Guarded.of(v) for v in (a, stored, bias)]
        static.pack_float(
            packed.pointer, given[1].pointer, long(s.k), long(s.n), *map(long, strides)
        )
        packed.check()
        out, visits = new_out(s.m * s.n)
        args = (given[0].pointer, packed.pointer, out.pointer, given[2].pointer, visits.pointer)
        getattr(static, f"packed_{index}")(pool, *args)
        check(out, visits, want)
        if threads == 1:
            out, visits = new_out(s.m * s.n)
            dynamic.packed(
                None,
                long(s.m),
                long(s.n),
                long(s.k),
                given[0].pointer,
                long(s.k),
                packed.pointer,
                out.pointer,
                given[2].pointer,
                visits.pointer,
            )
            check(out, visits, want)
    if threads > 1:
        static.close_pool(pool)


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("index", range(len(SIZES)), ids=lambda i: "x".join(map(str, SIZES[i])))
def test_live(static: ctypes.CDLL, index: int, threads: int) -> None:
    s = SIZES[index]
    a, b, bias = operands(s)
    want = product(a, b, bias)
    pool = ctypes.c_void_p(static.open_pool(threads) if threads > 1 else None)
    wide = np.full((s.k, s.n + 3), np.nan, np.float32)
    wide[:, : s.n] = b
    layouts = [
        (a, (s.k, 1), b, (s.n, 1)),
        (a, (s.k, 1), b.T, (1, s.k)),
        (a.T, (1, s.m), b, (s.n, 1)),
        (np.repeat(a, 2, axis=1), (2 * s.k, 2), np.repeat(b, 2, axis=1), (2 * s.n, 2)),
        (a, (s.k, 1), wide.reshape(-1)[: (s.k - 1) * (s.n + 3) + s.n], (s.n + 3, 1)),
    ]
    for x, sx, w, sw in layouts:
        x, w, c = Guarded.of(x), Guarded.of(w), Guarded.of(bias)
        size = (s.k * 1024 + s.m * s.k) * 4 * threads
        scratch = Aligned(size)
        out, visits = new_out(s.m * s.n)
        getattr(static, f"live_{index}")(
            pool,
            x.pointer,
            *map(long, sx),
            w.pointer,
            *map(long, sw),
            scratch.pointer,
            out.pointer,
            c.pointer,
            visits.pointer,
        )
        check(out, visits, want)
    if threads > 1:
        static.close_pool(pool)


def as_type(values: Array, name: str) -> tuple[Array, Array]:
    """`values` stored as C++ type `name`, and what they then are."""
    if name == "bf16":
        bits = (values.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)
        return bits, (bits.astype(np.uint32) << 16).view(np.float32)
    if name in ("uint8_t", "int8_t", "int32_t", "int64_t"):
        stored = np.round(values * (20 if name != "uint8_t" else 0) + 5).astype(NUMPY[name])
        return stored, stored
    stored = values.astype(NUMPY[name])
    return stored, stored


@pytest.mark.parametrize("batch", [-1, 1, 5])
@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize(("t", "ta", "tb"), MIXED)
def test_element_types(
    dynamic: ctypes.CDLL, t: str, ta: str, tb: str, transposed: bool, batch: int
) -> None:
    for s in (Sizes(1, 20, 70), Sizes(6, 37, 130), Sizes(33, 50, 65), Sizes(70, 19, 48)):
        rng = np.random.default_rng(7)
        count = max(batch, 1)
        a, va = as_type(rng.normal(size=(count, s.m, s.k)), ta)
        b, vb = as_type(rng.normal(size=(count, s.k, s.n)), tb)
        bias = as_type(rng.normal(size=s.n), t)[0]
        real = np.float64 if np.dtype(NUMPY[t]).kind == "f" else np.int64
        want = np.matmul(va.astype(real), vb.astype(real)) + bias
        stored = np.ascontiguousarray(b.transpose(0, 2, 1)) if transposed else b
        strides = (1, s.k) if transposed else (s.n, 1)
        given = [Guarded.of(v) for v in (a, stored, bias)]
        scratch = Aligned(getattr(dynamic, f"scratch_{t}_{ta}")(long(s.m), long(s.k), long(1), 1))
        out, visits = new_out(count * s.m * s.n, NUMPY[t])
        getattr(dynamic, f"live_{t}_{ta}_{tb}")(
            None,
            long(batch),
            long(s.m),
            long(s.n),
            long(s.k),
            given[0].pointer,
            long(s.m * s.k),
            long(s.k),
            long(1),
            given[1].pointer,
            long(s.k * s.n),
            *map(long, strides),
            scratch.pointer,
            out.pointer,
            given[2].pointer,
            visits.pointer,
        )
        scratch.check()
        check(out, visits, want, {"float": 2e-6, "double": 1e-14}.get(t, 0.0))


@pytest.mark.parametrize("threads", [1, 4])
def test_batches_share_an_operand(dynamic: ctypes.CDLL, threads: int) -> None:
    s, batch = Sizes(20, 24, 40), 9
    rng = np.random.default_rng(8)
    a = rng.normal(size=(batch, s.k, s.m)).astype(np.float32)  # transposed, so that A is packed
    b, bias = rng.normal(size=(s.k, s.n)).astype(np.float32), np.zeros(s.n, np.float32)
    want = np.matmul(a.transpose(0, 2, 1).astype(np.float64), b)
    given = [Guarded.of(v) for v in (a, b, bias)]
    scratch = Aligned(dynamic.scratch_float_float(long(s.m), long(s.k), long(s.m), threads))
    out, visits = new_out(batch * s.m * s.n)
    pool = ctypes.c_void_p(dynamic.open_pool(threads))
    dynamic.live_float_float_float(
        pool,
        long(batch),
        long(s.m),
        long(s.n),
        long(s.k),
        given[0].pointer,
        long(s.m * s.k),
        long(1),
        long(s.m),
        given[1].pointer,
        long(0),
        long(s.n),
        long(1),
        scratch.pointer,
        out.pointer,
        given[2].pointer,
        visits.pointer,
    )
    dynamic.close_pool(pool)
    scratch.check()
    check(out, visits, want)


def test_double_packed(dynamic: ctypes.CDLL) -> None:
    for s in (Sizes(1, 40, 30), Sizes(11, 37, 300)):
        rng = np.random.default_rng(9)
        a, b, bias = (rng.normal(size=shape) for shape in ((s.m, s.k), (s.k, s.n), (s.n,)))
        packed = Aligned(dynamic.packed_size_double(long(s.k), long(s.n)) * 8)
        given = [Guarded.of(v) for v in (a, b, bias)]
        dynamic.pack_double(
            packed.pointer, given[1].pointer, long(s.k), long(s.n), long(s.n), long(1)
        )
        packed.check()
        out, visits = new_out(s.m * s.n, np.float64)
        dynamic.packed_double(
            None,
            long(s.m),
            long(s.n),
            long(s.k),
            given[0].pointer,
            long(s.k),
            packed.pointer,
            out.pointer,
            given[2].pointer,
            visits.pointer,
        )
        check(out, visits, a @ b + bias, 1e-14)


def test_inf_and_nan_stay_in_their_row_and_column(dynamic: ctypes.CDLL) -> None:
    """A padded panel or a row computed twice must not let one value leak into another."""
    s = Sizes(9, 21, 18)
    a, b, bias = operands(s)
    a[4, 3], b[7, 20] = np.inf, np.nan
    with np.errstate(all="ignore"):
        want = product(a, b, bias)
    given = [Guarded.of(v) for v in (a, b, bias)]
    scratch = Aligned(dynamic.scratch_float_float(long(s.m), long(s.k), long(1), 1))
    out, visits = new_out(s.m * s.n)
    dynamic.live_float_float_float(
        None,
        long(-1),
        long(s.m),
        long(s.n),
        long(s.k),
        given[0].pointer,
        long(0),
        long(s.k),
        long(1),
        given[1].pointer,
        long(0),
        long(s.n),
        long(1),
        scratch.pointer,
        out.pointer,
        given[2].pointer,
        visits.pointer,
    )
    got = out.array.reshape(s.m, s.n)
    assert np.array_equal(np.isnan(got), np.isnan(want)) and np.array_equal(
        np.isinf(got), np.isinf(want)
    )
