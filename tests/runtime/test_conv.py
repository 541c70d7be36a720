"""ptc_conv.h and ptc_conv_transpose.h against a direct float64 convolution.

Padding, stride, dilation, groups, one to three dimensions, depthwise and narrow groups, transposed,
batches over threads.
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass, replace
from itertools import product

import numpy as np
import pytest

from tests.runtime import native
from tests.runtime.conftest import Builder
from tests.runtime.native import Aligned, Array, Guarded, long, relative_error

Triple = tuple[int, int, int]


@dataclass(frozen=True)
class Case:
    """A convolution; sizes as (depth, height, width)."""

    n: int
    ic: int
    oc: int
    size: Triple
    kernel: Triple
    stride: Triple = (1, 1, 1)
    padding: Triple = (0, 0, 0)
    dilation: Triple = (1, 1, 1)
    groups: int = 1
    transposed: bool = False
    extra: Triple = (0, 0, 0)  # output_padding of a transposed one, more zeros behind of the other
    winograd: bool = False

    @property
    def out(self) -> Triple:
        sizes = []
        for i, k, s, p, d, e in zip(
            self.size,
            self.kernel,
            self.stride,
            self.padding,
            self.dilation,
            self.extra,
            strict=True,
        ):
            if self.transposed:
                sizes.append((i - 1) * s - 2 * p + d * (k - 1) + 1 + e)
            else:
                sizes.append((i + 2 * p + e - d * (k - 1) - 1) // s + 1)
        return sizes[0], sizes[1], sizes[2]

    def fields(self, *, known: bool) -> str:
        """The initialiser of the C++ struct; unknown sizes are -1."""
        n, size, out = (self.n, self.size, self.out) if known else (-1, (-1,) * 3, (-1,) * 3)
        parts = [
            n,
            *size,
            self.ic,
            *out,
            self.oc,
            *self.kernel,
            *self.stride,
            *self.padding,
            *self.dilation,
            self.groups,
            int(self.winograd),
        ]
        return ", ".join(map(str, parts))


def flat(
    n: int,
    ic: int,
    oc: int,
    h: int,
    w: int,
    kh: int,
    kw: int,
    s: int = 1,
    p: int = 0,
    d: int = 1,
    g: int = 1,
) -> Case:
    return Case(n, ic, oc, (1, h, w), (1, kh, kw), (1, s, s), (0, p, p), (1, d, d), g)


CASES = {
    "3x3": flat(1, 16, 32, 14, 14, 3, 3, p=1),
    "3x3 odd": flat(2, 19, 37, 9, 11, 3, 3, p=1),
    "3x3 stride 2": flat(1, 24, 64, 13, 15, 3, 3, s=2, p=1),
    "no padding": flat(1, 8, 130, 9, 12, 3, 3),
    "stem": flat(1, 3, 64, 40, 38, 7, 7, s=2, p=3),
    "patchify": flat(2, 3, 40, 32, 32, 4, 4, s=4),
    "1x1": flat(2, 33, 50, 7, 9, 1, 1),
    "1x1 stride 2": flat(1, 33, 50, 7, 9, 1, 1, s=2),
    "1x1 padded": flat(1, 6, 7, 5, 6, 1, 1, p=1),
    "dilated": flat(1, 12, 20, 15, 14, 3, 3, p=2, d=2),
    "dilated rows only": Case(
        1, 12, 20, (1, 15, 14), (1, 3, 3), padding=(0, 4, 1), dilation=(1, 4, 1)
    ),
    "wide padding": flat(1, 5, 6, 4, 6, 3, 3, p=3),
    "small image": flat(3, 20, 30, 4, 4, 3, 3, p=1),
    "one pixel out": flat(1, 20, 30, 3, 3, 3, 3),
    "deep k": flat(1, 300, 20, 5, 6, 3, 3, p=1),
    "uneven": Case(1, 7, 9, (1, 10, 6), (1, 5, 2), (1, 1, 3), (0, 2, 0)),
    "more zeros behind": Case(1, 7, 9, (1, 10, 6), (1, 3, 3), (1, 2, 2), extra=(0, 1, 1)),
    "groups of 24": flat(1, 72, 72, 8, 9, 3, 3, p=1, g=3),
    "groups 5 to 10": flat(1, 20, 40, 8, 9, 3, 3, p=1, g=4),
    "groups of 2": flat(1, 18, 18, 9, 8, 3, 3, p=1, g=9),
    "groups of 8": flat(1, 24, 24, 9, 8, 3, 3, p=1, g=3),
    "groups of 4 stride 2": flat(1, 40, 40, 9, 8, 3, 3, s=2, p=1, g=10),
    "groups dilated": flat(1, 12, 24, 12, 12, 3, 3, p=2, d=2, g=4),
    "depthwise": flat(2, 35, 35, 16, 18, 3, 3, p=1, g=35),
    "depthwise wide image": flat(1, 16, 16, 9, 70, 3, 3, p=1, g=16),
    "depthwise 5x5 stride 2": flat(1, 32, 32, 17, 19, 5, 5, s=2, p=2, g=32),
    "depthwise 7x7": flat(1, 20, 20, 7, 7, 7, 7, p=3, g=20),
    "depthwise tiny": flat(1, 20, 20, 2, 3, 3, 3, p=1, g=20),
    "depthwise one row": flat(1, 20, 20, 1, 3, 3, 3, p=1, g=20),
    "depthwise dilated": flat(1, 17, 17, 20, 22, 3, 3, p=2, d=2, g=17),
    "depthwise multiplier": flat(1, 12, 24, 8, 9, 3, 3, p=1, g=12),
    "1-D": Case(2, 10, 14, (1, 1, 50), (1, 1, 5), padding=(0, 0, 2)),
    "1-D many taps": Case(1, 32, 32, (1, 1, 40), (1, 1, 129), padding=(0, 0, 64), groups=2),
    "1-D depthwise": Case(1, 24, 24, (1, 1, 30), (1, 1, 4), padding=(0, 0, 3), groups=24),
    "3-D": Case(1, 6, 20, (5, 8, 9), (3, 3, 3), padding=(1, 1, 1)),
    "3-D strided": Case(2, 4, 10, (6, 9, 8), (2, 3, 2), (2, 1, 2), (0, 1, 0), (1, 2, 1)),
    "3-D depthwise": Case(1, 20, 20, (4, 6, 7), (3, 3, 3), padding=(1, 1, 1), groups=20),
}

SOURCE = native.text("conv.cpp")

SHAPE = "struct {name} {{ static constexpr Conv conv = {{{fields}}}; }};"


def winograd(n: int, ic: int, oc: int, h: int, w: int, p: int) -> Case:
    return replace(flat(n, ic, oc, h, w, 3, 3, p=p), winograd=True)


WINOGRAD = {
    "whole tiles": winograd(1, 32, 64, 12, 16, 1),
    "ragged tiles, two images": winograd(2, 32, 48, 14, 15, 1),
    "several blocks": winograd(1, 64, 80, 30, 37, 1),
    "no padding": winograd(1, 64, 32, 9, 10, 0),
    "wide padding": winograd(1, 32, 32, 5, 8, 2),
    "one row of tiles": winograd(3, 256, 32, 5, 5, 1),
    "falls back": winograd(1, 40, 33, 9, 8, 1),
}


def reference(case: Case, x: Array, w: Array) -> Array:
    """x [n, d, h, w, ic], w [oc, ic / g, kd, kh, kw] -> [n, od, oh, ow, oc], one tap at a time."""
    out = np.zeros((case.n, *case.out, case.oc))
    cg, og = case.ic // case.groups, case.oc // case.groups
    for tap in product(*(range(k) for k in case.kernel)):
        ranges = []
        for axis in range(3):
            at = (
                np.arange(case.out[axis]) * case.stride[axis]
                - case.padding[axis]
                + tap[axis] * case.dilation[axis]
            )
            ranges.append((np.nonzero((at >= 0) & (at < case.size[axis]))[0], at))
        to = [r[0] for r in ranges]
        of = [r[1][r[0]] for r in ranges]
        for g in range(case.groups):
            part = x[:, of[0]][:, :, of[1]][:, :, :, of[2], g * cg : (g + 1) * cg].astype(
                np.float64
            )
            weights = w[g * og : (g + 1) * og, :, *tap].astype(np.float64)
            index = np.ix_(range(case.n), *to, range(g * og, (g + 1) * og))
            out[index] += part @ weights.T
    return out


def library(
    build: Builder, cases: dict[str, Case], family: str, *, known: bool, tag: str = ""
) -> ctypes.CDLL:
    parts = [SOURCE]
    # Names differ between libraries: a static data member of one name is one object in a process.
    tag = f"{family}_{'static' if known else 'dynamic'}{tag}"
    for i, case in enumerate(cases.values()):
        for name, full in (("Known", known), ("Actual", True)):
            parts.append(SHAPE.format(name=f"{name}_{tag}_{i}", fields=case.fields(known=full)))
        parts.append(f"INSTANCE({i}, {family}, Known_{tag}_{i}, Actual_{tag}_{i})")
    lib = build("\n".join(parts))
    lib.open_pool.restype = ctypes.c_void_p
    for i in range(len(cases)):
        getattr(lib, f"packed_size_{i}").restype = ctypes.c_long
        getattr(lib, f"scratch_{i}").restype = ctypes.c_long
    return lib


def run(
    lib: ctypes.CDLL,
    index: int,
    case: Case,
    x: Array,
    w: Array,
    strides: tuple[int, ...],
    bias: Array,
    threads: int,
) -> Array:
    """Pack, run with guarded memory, check that each value was stored once."""
    packed = Aligned(getattr(lib, f"packed_size_{index}")() * 4)
    given = [Guarded.of(v) for v in (x, w, bias)]
    getattr(lib, f"pack_{index}")(packed.pointer, given[1].pointer, *map(long, strides))
    packed.check()
    assert not np.isnan(packed.array).any(), "part of the packed filters was not written"
    scratch = Aligned(getattr(lib, f"scratch_{index}")(threads))
    shape = (case.n, *case.out, case.oc)
    out, visits = Guarded(int(np.prod(shape))), Guarded(int(np.prod(shape)), np.int32)
    visits.array[:] = 0
    pool = ctypes.c_void_p(lib.open_pool(threads) if threads > 1 else None)
    getattr(lib, f"run_{index}")(
        pool,
        given[0].pointer,
        packed.pointer,
        scratch.pointer,
        out.pointer,
        given[2].pointer,
        visits.pointer,
    )
    if threads > 1:
        lib.close_pool(pool)
    scratch.check()
    assert (visits.array == 1).all(), "a value was stored more or less than once"
    return out.array.reshape(shape).copy()


def filters(case: Case, rng: np.random.Generator) -> Array:
    return rng.normal(size=(case.oc, case.ic // case.groups, *case.kernel)).astype(np.float32)


def element_strides(a: Array) -> tuple[int, ...]:
    return tuple(s // 4 for s in a.strides)


# Sizes known only at run time: the cases that take another path then.
DYNAMIC = [
    "3x3 odd",
    "stem",
    "1x1",
    "small image",
    "groups of 24",
    "depthwise",
    "depthwise tiny",
    "3-D strided",
]


@pytest.fixture(scope="module")
def convolutions(build: Builder) -> ctypes.CDLL:
    return library(build, CASES, "conv", known=True)


@pytest.fixture(scope="module")
def dynamic_convolutions(build: Builder) -> ctypes.CDLL:
    return library(build, {k: CASES[k] for k in DYNAMIC}, "conv", known=False)


@pytest.mark.parametrize("name", DYNAMIC)
def test_unknown_sizes(dynamic_convolutions: ctypes.CDLL, name: str) -> None:
    check_convolution(dynamic_convolutions, DYNAMIC.index(name), CASES[name])


@pytest.mark.parametrize("name", CASES)
def test_convolution(convolutions: ctypes.CDLL, name: str) -> None:
    check_convolution(convolutions, list(CASES).index(name), CASES[name])


@pytest.fixture(scope="module")
def winograd_convolutions(build: Builder) -> ctypes.CDLL:
    return library(build, WINOGRAD, "conv", known=True, tag="winograd")


@pytest.mark.parametrize("name", WINOGRAD)
def test_winograd(winograd_convolutions: ctypes.CDLL, name: str) -> None:
    # About twice the error of direct summation.
    check_convolution(winograd_convolutions, list(WINOGRAD).index(name), WINOGRAD[name], 5e-6)


def check_convolution(
    convolutions: ctypes.CDLL, index: int, case: Case, bound: float = 2e-6
) -> None:
    rng = np.random.default_rng(index)
    x = rng.normal(size=(case.n, *case.size, case.ic)).astype(np.float32)
    w, bias = filters(case, rng), rng.normal(size=case.oc).astype(np.float32)
    want = reference(case, x, w) + bias
    got = run(convolutions, index, case, x, w, element_strides(w), bias, threads=1)
    assert relative_error(got, want) < bound
    # Filters in channels-last memory, and with more than one thread.
    last = np.ascontiguousarray(w.transpose(0, 2, 3, 4, 1))
    again = run(
        convolutions,
        index,
        case,
        x,
        last,
        element_strides(last.transpose(0, 4, 1, 2, 3)),
        bias,
        threads=2,
    )
    np.testing.assert_array_equal(again, got)


FINITE = [
    "3x3",
    "groups 5 to 10",
    "groups of 2",
    "groups of 8",
    "depthwise",
    "depthwise multiplier",
]


@pytest.mark.parametrize("name", FINITE)
def test_infinity_stays_in_its_group_and_reach(convolutions: ctypes.CDLL, name: str) -> None:
    case = CASES[name]
    rng = np.random.default_rng(0)
    x = rng.normal(size=(case.n, *case.size, case.ic)).astype(np.float32)
    x[0, 0, 4, 5, case.ic // 2], x[0, 0, 0, 0, 0] = np.inf, np.nan
    w, bias = filters(case, rng), np.zeros(case.oc, np.float32)
    with np.errstate(all="ignore"):
        want = reference(case, x, w)
    index = list(CASES).index(name)
    got = run(convolutions, index, case, x, w, element_strides(w), bias, threads=1)
    np.testing.assert_array_equal(np.isfinite(got), np.isfinite(want))


def transposed(
    n: int,
    ic: int,
    oc: int,
    h: int,
    w: int,
    k: int,
    s: int = 1,
    p: int = 0,
    e: int = 0,
    d: int = 1,
    g: int = 1,
) -> Case:
    return Case(
        n,
        ic,
        oc,
        (1, h, w),
        (1, k, k),
        (1, s, s),
        (0, p, p),
        (1, d, d),
        g,
        transposed=True,
        extra=(0, e, e),
    )


TRANSPOSED = {
    "2x2 stride 2": transposed(1, 32, 16, 6, 7, 2, s=2),
    "3x3": transposed(2, 7, 37, 5, 8, 3, p=1),
    "4x4 stride 2": transposed(1, 9, 70, 6, 5, 4, s=2, p=1),
    "stride over kernel": transposed(1, 5, 6, 4, 3, 2, s=3),
    "output padding": transposed(1, 5, 20, 4, 6, 3, s=2, p=1, e=1),
    "dilated": transposed(1, 6, 10, 7, 6, 3, s=2, p=2, d=2),
    "dilated stride 3": transposed(1, 6, 10, 7, 6, 4, s=3, p=1, d=2),
    "groups": transposed(1, 12, 18, 6, 7, 3, s=2, p=1, g=3),
    "depthwise": transposed(1, 10, 10, 5, 6, 4, s=2, p=1, g=10),
    "wide padding": transposed(1, 4, 5, 6, 7, 5, p=4),
    "1-D": Case(2, 8, 12, (1, 1, 20), (1, 1, 16), (1, 1, 8), (0, 0, 4), transposed=True),
    "3-D": Case(
        1, 5, 9, (3, 4, 5), (3, 2, 3), (2, 2, 1), (1, 0, 1), transposed=True, extra=(1, 0, 0)
    ),
}


def transposed_reference(case: Case, x: Array, w: Array) -> Array:
    """Scatter: out[i * s - p + k * d] += x[i] w[k]. w is [ic, oc / g, kd, kh, kw]."""
    out = np.zeros((case.n, *case.out, case.oc))
    cg, og = case.ic // case.groups, case.oc // case.groups
    for position in product(*(range(s) for s in case.size)):
        for tap in product(*(range(k) for k in case.kernel)):
            at = [
                i * s - p + k * d
                for i, k, s, p, d in zip(
                    position, tap, case.stride, case.padding, case.dilation, strict=True
                )
            ]
            if not all(0 <= a < o for a, o in zip(at, case.out, strict=True)):
                continue
            for g in range(case.groups):
                part = x[:, *position, g * cg : (g + 1) * cg].astype(np.float64)
                out[:, *at, g * og : (g + 1) * og] += part @ w[
                    g * cg : (g + 1) * cg, :, *tap
                ].astype(np.float64)
    return out


@pytest.fixture(scope="module")
def transposed_library(build: Builder) -> ctypes.CDLL:
    return library(build, TRANSPOSED, "conv_transpose", known=False)


@pytest.mark.parametrize("index", range(len(TRANSPOSED)), ids=lambda i: list(TRANSPOSED)[i])
def test_transposed(transposed_library: ctypes.CDLL, index: int) -> None:
    case = list(TRANSPOSED.values())[index]
    rng = np.random.default_rng(index)
    x = rng.normal(size=(case.n, *case.size, case.ic)).astype(np.float32)
    w = rng.normal(size=(case.ic, case.oc // case.groups, *case.kernel)).astype(np.float32)
    bias = rng.normal(size=case.oc).astype(np.float32)
    want = transposed_reference(case, x, w) + bias
    s = element_strides(w)
    for threads in (1, 3):
        got = run(transposed_library, index, case, x, w, (s[1], s[0], *s[2:]), bias, threads)
        assert relative_error(got, want) < 2e-6
