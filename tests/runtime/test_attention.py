"""ptc_attention.h against a float64 softmax: lengths, head dims, groups, masks, causal, no key."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass

import numpy as np
import pytest

from tests.runtime import native
from tests.runtime.conftest import Builder
from tests.runtime.native import Aligned, Array, Guarded, relative_error

SOURCE = native.text("attention.cpp")


class Shape(ctypes.Structure):
    _fields_ = (
        [
            (n, ctypes.c_int64)
            for n in ["batch", "heads", "kv_heads", "q_len", "k_len", "dim", "v_dim"]
        ]
        + [(f"{t}_{d}", ctypes.c_int64) for t in "qkv" for d in "bhs"]
        + [("scale", ctypes.c_float), ("causal", ctypes.c_bool), ("mask", ctypes.c_void_p)]
        + [("mask_kind", ctypes.c_int)]
        + [(f"m_{d}", ctypes.c_int64) for d in "bhqk"]
    )


@dataclass(frozen=True)
class Case:
    batch: int
    heads: int
    kv: int
    q: int
    k: int
    dim: int
    v: int
    causal: bool = False


CASES = [
    Case(1, 2, 2, 33, 70, 64, 64),
    Case(2, 4, 2, 5, 300, 32, 64),
    Case(1, 3, 1, 1, 513, 64, 64),
    Case(1, 2, 2, 2, 3, 16, 16),
    Case(1, 1, 1, 100, 100, 80, 80, causal=True),
    Case(1, 2, 2, 40, 600, 7, 10),
    Case(1, 2, 1, 70, 30, 24, 72, causal=True),
    Case(1, 1, 1, 3, 260, 20, 33, causal=True),
    Case(1, 2, 2, 197, 197, 64, 64),
    Case(1, 4, 4, 4, 1, 8, 5),
    Case(1, 1, 1, 300, 300, 64, 64, causal=True),
]
MASKS = ["none", "float", "bool", "float broadcast", "bool rows empty"]


def reference(case: Case, q: Array, k: Array, v: Array, mask: Array | None, scale: float) -> Array:
    group = case.heads // case.kv
    k, v = (np.repeat(x.astype(np.float64), group, axis=1) for x in (k, v))
    scores = np.einsum("bhqe,bhke->bhqk", q.astype(np.float64), k) * scale
    if mask is not None:
        scores = np.where(mask, scores, -np.inf) if mask.dtype == np.bool_ else scores + mask
    if case.causal:
        allowed = np.arange(case.k)[None, :] <= np.arange(case.q)[:, None]
        scores = np.where(allowed, scores, -np.inf)
    top = scores.max(axis=-1, keepdims=True)
    with np.errstate(all="ignore"):
        weights = np.exp(scores - np.where(np.isinf(top), 0, top))
        total = weights.sum(axis=-1, keepdims=True)
        weights = np.where(total == 0, 0, weights / total)
    return np.einsum("bhqk,bhkd->bhqd", weights, v)


def make_mask(
    kind: str, case: Case, rng: np.random.Generator
) -> tuple[Array | None, tuple[int, ...]]:
    """The mask and its strides (b, h, q, k)."""
    if kind == "none":
        return None, (0, 0, 0, 0)
    if kind == "float broadcast":
        return rng.normal(size=(1, 1, 1, case.k)).astype(np.float32), (0, 0, 0, 1)
    full = (case.batch, case.heads, case.q, case.k)
    strides = (case.heads * case.q * case.k, case.q * case.k, case.k, 1)
    if kind == "float":
        mask = rng.normal(size=full).astype(np.float32)
        return np.where(rng.random(full) < 0.2, np.float32(-np.inf), mask), strides
    mask = rng.random(full) < 0.6
    if kind == "bool rows empty":
        mask[:, :, ::3] = False
    return mask, strides


@pytest.fixture(scope="module")
def lib(build: Builder) -> ctypes.CDLL:
    lib = build(SOURCE)
    lib.scratch.restype = ctypes.c_long
    lib.open_pool.restype = ctypes.c_void_p
    return lib


def call(
    lib: ctypes.CDLL,
    case: Case,
    q: Array,
    k: Array,
    v: Array,
    mask: Array | None,
    strides: tuple[int, ...],
    scale: float,
    threads: int = 1,
) -> Array:
    """q, k, v as [b, h, s, d] arrays in memory order [b, s, h, d], as projections give them."""
    given = [Guarded.of(np.ascontiguousarray(x.transpose(0, 2, 1, 3))) for x in (q, k, v)]
    held = None if mask is None else Guarded.of(mask)
    memory: list[int] = []
    for x in (q, k, v):
        _, heads, length, dim = x.shape
        memory += [length * heads * dim, dim, heads * dim]
    kind = 0 if mask is None else 1 if mask.dtype == np.bool_ else 2
    address = held.pointer.value if held else None
    shape = Shape(
        case.batch,
        case.heads,
        case.kv,
        case.q,
        case.k,
        case.dim,
        case.v,
        *memory,
        scale,
        case.causal,
        address,
        kind,
        *strides,
    )
    scratch = Aligned(lib.scratch(ctypes.byref(shape), threads))
    size = case.batch * case.heads * case.q * case.v
    out, visits = Guarded(size), Guarded(size, np.int32)
    visits.array[:] = 0
    pool = ctypes.c_void_p(lib.open_pool(threads) if threads > 1 else None)
    lib.run(
        pool,
        ctypes.byref(shape),
        *(g.pointer for g in given),
        scratch.pointer,
        out.pointer,
        visits.pointer,
    )
    if threads > 1:
        lib.close_pool(pool)
    scratch.check()
    assert (visits.array == 1).all()
    return out.array.reshape(case.batch, case.heads, case.q, case.v).copy()


def tensors(case: Case, rng: np.random.Generator) -> list[Array]:
    shapes = [
        (case.heads, case.q, case.dim),
        (case.kv, case.k, case.dim),
        (case.kv, case.k, case.v),
    ]
    return [rng.normal(size=(case.batch, *s)).astype(np.float32) for s in shapes]


@pytest.mark.parametrize("mask_kind", MASKS)
@pytest.mark.parametrize("case", CASES, ids=str)
def test_attention(lib: ctypes.CDLL, case: Case, mask_kind: str) -> None:
    rng = np.random.default_rng(case.k)
    q, k, v = tensors(case, rng)
    mask, strides = make_mask(mask_kind, case, rng)
    for scale in (case.dim**-0.5, -0.3):
        want = reference(case, q, k, v, mask, scale)
        got = call(lib, case, q, k, v, mask, strides, scale)
        assert relative_error(got, want) < 3e-6
        again = call(lib, case, q, k, v, mask, strides, scale, threads=3)
        np.testing.assert_array_equal(again, got)


def test_large_scores_and_nan(lib: ctypes.CDLL) -> None:
    case = Case(1, 1, 1, 40, 520, 16, 64)
    rng = np.random.default_rng(0)
    q, k, v = tensors(case, rng)
    q *= 300  # exp of the raw scores would overflow
    want = reference(case, q, k, v, None, 1.0)
    assert relative_error(call(lib, case, q, k, v, None, (0,) * 4, 1.0), want) < 2e-4
    q[0, 0, 7, 3] = np.nan
    got = call(lib, case, q, k, v, None, (0,) * 4, 1.0)
    assert np.isnan(got[0, 0, 7]).all()
    assert not np.isnan(np.delete(got[0, 0], 7, axis=0)).any()
