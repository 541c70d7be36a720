"""Times the runtime's kernels beside torch's: matrix products, convolutions, attention, maths.

`python -m ptc.bench.kernels [gemm|live|conv|winograd|depthwise|grouped|attention|maths ...]` builds
one library of the asked families with the product's compiler and flags and prints medians of
interleaved rounds with the worst error relative to the largest float64 value. One thread, in that
thread's CPU time, so that other jobs count less. Must not know of programs: it calls the kernels of
ptc/runtime directly.
"""

from __future__ import annotations

import ctypes
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray

from ptc.codegen.sources import Sources, Unit
from ptc.codegen.target import Target
from ptc.codegen.toolchain import build

Floats = NDArray[np.float32]
SOURCE = Path(__file__).with_name("kernels.cpp")
SECONDS = 1.0  # a case

GEMM = [
    *((16, 768, 768), (128, 768, 768), (128, 3072, 768), (128, 768, 3072), (1, 768, 768)),
    *((1, 4096, 4096), (5, 300, 257), (7, 2048, 1001), (512, 512, 512), (197, 192, 192)),
]
# images, height, width, inputs, outputs, kernel, stride, padding, groups
CONV = [
    *((1, 56, 56, 64, 64, 3, 1, 1, 1), (1, 28, 28, 128, 128, 3, 1, 1, 1)),
    *((1, 14, 14, 256, 256, 3, 1, 1, 1), (1, 7, 7, 512, 512, 3, 1, 1, 1)),
    *((1, 224, 224, 3, 64, 7, 2, 3, 1), (1, 56, 56, 64, 128, 3, 2, 1, 1)),
    *((1, 56, 56, 64, 256, 1, 1, 0, 1), (1, 14, 14, 256, 1024, 1, 1, 0, 1)),
    *((1, 224, 224, 3, 192, 16, 16, 0, 1), (1, 224, 224, 3, 40, 4, 4, 0, 1)),
]
DEPTHWISE = [
    *((1, 112, 112, 32, 32, 3, 1, 1, 32), (1, 14, 14, 480, 480, 3, 1, 1, 480)),
    *((1, 56, 56, 40, 40, 7, 1, 3, 40), (1, 112, 112, 64, 64, 3, 2, 1, 64)),
    *((1, 28, 28, 120, 120, 5, 1, 2, 120), (1, 7, 7, 960, 960, 5, 1, 2, 960)),
]
GROUPED = [
    *((1, 56, 56, 24, 24, 3, 1, 1, 3), (1, 14, 14, 152, 152, 3, 1, 1, 19)),
    *((1, 14, 14, 256, 256, 3, 1, 1, 16), (1, 14, 14, 384, 384, 3, 1, 1, 6)),
]
ATTENTION = [(12, 64), (12, 128), (3, 197), (12, 512), (12, 1024)]  # heads, length; head dim 64
MATHS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "exp": torch.exp,
    "log": torch.log,
    "tanh": torch.tanh,
    "erf": torch.erf,
    "sin": torch.sin,
    "sigmoid": torch.sigmoid,
    "gelu_erf": F.gelu,
    "gelu_tanh": lambda x: F.gelu(x, approximate="tanh"),
}


@dataclass(frozen=True, slots=True)
class Case:
    """One line of the table: ours, the peers by name, how to read the result, the truth."""

    name: str
    declaration: str
    work: float  # floating point operations, or elements where `unit` says so
    make: Callable[[ctypes.CDLL, int], tuple[Callable[[], object], Callable[[], Floats]]]
    peers: dict[str, Callable[[], object]]
    exact: NDArray[np.float64]
    unit: str = "GF/s"


def aligned(count: int) -> Floats:
    """Zeros on a 64-byte boundary."""
    raw = np.zeros(count * 4 + 64, np.uint8)
    start = -raw.ctypes.data % 64
    return raw[start : start + count * 4].view(np.float32)


def pointer(a: Floats) -> ctypes.c_void_p:
    return ctypes.c_void_p(a.ctypes.data)


def caller(
    lib: ctypes.CDLL, index: int, *arrays: Floats
) -> tuple[Callable[[], object], Callable[[], Floats]]:
    """Calls run_INDEX on the arrays, the first of which is the result."""
    function = getattr(lib, f"run_{index}")
    pointers = [pointer(a) for a in arrays]
    return (lambda: function(*pointers)), (lambda: arrays[0])


def scratch(lib: ctypes.CDLL, name: str) -> Floats:
    size = getattr(lib, name)
    size.restype = ctypes.c_int64
    return aligned(size() // 4 + 16)


def gemm_case(m: int, n: int, k: int, *, live: bool) -> Case:
    """A linear layer: weights [n, k] packed beforehand, or read where they are."""
    rng = np.random.default_rng(0)
    a, w = rng.normal(size=(m, k)).astype(np.float32), rng.normal(size=(n, k)).astype(np.float32)
    bias = rng.normal(size=n).astype(np.float32)

    def make(lib: ctypes.CDLL, index: int) -> tuple[Callable[[], object], Callable[[], Floats]]:
        weights = w
        if not live:
            weights = scratch(lib, f"packed_{index}")
            getattr(lib, f"pack_{index}")(pointer(weights), pointer(w))
        held = scratch(lib, f"scratch_{index}")
        return caller(lib, index, aligned(m * n), a, weights, held, bias)

    ta, tw, tb = torch.from_numpy(a), torch.from_numpy(w), torch.from_numpy(bias)
    return Case(
        f"{'live' if live else 'gemm'} {m}x{n}x{k}",
        f"{'LIVE' if live else 'GEMM'}({{i}}, {m}, {n}, {k})",
        2.0 * m * n * k,
        make,
        {"eager": lambda: F.linear(ta, tw, tb)},
        a.astype(np.float64) @ w.T.astype(np.float64) + bias,
    )


def conv_case(
    n: int, h: int, w: int, ic: int, oc: int, k: int, s: int, p: int, g: int, *, fast: bool = False
) -> Case:
    """A convolution on channels-last memory; the peers are eager and oneDNN with packed weights."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(n, h, w, ic)).astype(np.float32)
    weights = rng.normal(size=(oc, ic // g, k, k)).astype(np.float32)
    bias = rng.normal(size=oc).astype(np.float32)
    oh, ow = (h + 2 * p - k) // s + 1, (w + 2 * p - k) // s + 1
    shape = (
        f"{n},1,{h},{w},{ic},1,{oh},{ow},{oc},1,{k},{k},1,{s},{s},0,{p},{p},1,1,1,{g},{int(fast)}"
    )

    def make(lib: ctypes.CDLL, index: int) -> tuple[Callable[[], object], Callable[[], Floats]]:
        packed = scratch(lib, f"packed_{index}")
        getattr(lib, f"pack_{index}")(pointer(packed), pointer(weights))
        held = scratch(lib, f"scratch_{index}")
        return caller(lib, index, aligned(n * oh * ow * oc), x, packed, held, bias)

    tx, tw = torch.from_numpy(x).permute(0, 3, 1, 2), torch.from_numpy(weights)
    tb, pair = torch.from_numpy(bias), ([p, p], [s, s], [1, 1])
    reorder = torch._C._nn.mkldnn_reorder_conv2d_weight  # pyright: ignore
    prepacked = reorder(tw.to_mkldnn(), *pair, g, list(tx.shape))
    exact = F.conv2d(tx.double(), tw.double(), tb.double(), s, p, 1, g)
    return Case(
        f"{'winograd' if fast else 'conv'} {h}x{w} {ic}->{oc} {k}x{k}/{s} g{g}",
        f"CONV({{i}}, {shape})",
        2.0 * n * oh * ow * oc * k * k * ic / g,
        make,
        {
            "eager": lambda: F.conv2d(tx, tw, tb, s, p, 1, g),
            "oneDNN": lambda: torch.ops.mkldnn._convolution_pointwise(
                tx, prepacked, tb, *pair, g, "none", [], None
            ),
        },
        exact.permute(0, 2, 3, 1).numpy(),
    )


def attention_case(heads: int, length: int) -> Case:
    """Self-attention on the memory a projection gives: [length, heads, 64]."""
    rng = np.random.default_rng(0)
    q, k, v = (rng.normal(size=(length, heads, 64)).astype(np.float32) for _ in range(3))

    def make(lib: ctypes.CDLL, index: int) -> tuple[Callable[[], object], Callable[[], Floats]]:
        return caller(lib, index, aligned(q.size), q, k, v, scratch(lib, f"scratch_{index}"))

    tq, tk, tv = (torch.from_numpy(t).transpose(0, 1)[None] for t in (q, k, v))
    exact = F.scaled_dot_product_attention(tq.double(), tk.double(), tv.double())
    return Case(
        f"attention {heads} heads, {length}",
        f"ATTENTION({{i}}, {heads}, {length})",
        4.0 * length * length * heads * 64,
        make,
        {"eager": lambda: F.scaled_dot_product_attention(tq, tk, tv)},
        exact[0].transpose(0, 1).numpy(),
    )


def maths_case(name: str) -> Case:
    """A function over 16384 elements, in L1 and L2."""
    x = np.abs(np.random.default_rng(0).normal(size=16384)).astype(np.float32) + 0.01
    tx = torch.from_numpy(x)

    def make(lib: ctypes.CDLL, index: int) -> tuple[Callable[[], object], Callable[[], Floats]]:
        return caller(lib, index, aligned(x.size), x)

    function = MATHS[name]
    return Case(
        name,
        f"MATHS({{i}}, {name}, {x.size})",
        float(x.size),
        make,
        {"eager": lambda: function(tx)},
        function(tx.double()).numpy(),
        "Gelem/s",
    )


FAMILIES: dict[str, Callable[[], list[Case]]] = {
    "gemm": lambda: [gemm_case(*s, live=False) for s in GEMM],
    "live": lambda: [gemm_case(*s, live=True) for s in GEMM],
    "conv": lambda: [conv_case(*s) for s in CONV],
    "winograd": lambda: [conv_case(*s, fast=True) for s in CONV[:3]],
    "depthwise": lambda: [conv_case(*s) for s in DEPTHWISE],
    "grouped": lambda: [conv_case(*s) for s in GROUPED],
    "attention": lambda: [attention_case(*s) for s in ATTENTION],
    "maths": lambda: [maths_case(n) for n in MATHS],
}


def measure(case: Case, lib: ctypes.CDLL, index: int) -> str:
    """One line: speed, ratios to the peers (above 1: ours is faster), error."""
    run, result = case.make(lib, index)
    run()
    exact = case.exact.reshape(-1)
    error = np.abs(result().reshape(-1) - exact).max() / np.abs(exact).max()
    calls = {"ptc": run, **case.peers}
    times: dict[str, list[float]] = {name: [] for name in calls}
    end = time.perf_counter() + SECONDS
    while time.perf_counter() < end or len(times["ptc"]) < 5:
        for name, call in calls.items():
            start = time.thread_time()
            call()
            times[name].append(time.thread_time() - start)
    medians = {name: statistics.median(values) for name, values in times.items()}
    ours = medians["ptc"]
    ratios = "  ".join(f"{medians[name] / ours:5.2f} x {name}" for name in case.peers)
    speed = f"{case.work / ours / 1e9:7.2f} {case.unit}"
    return f"{case.name:34s} {ours * 1e6:9.1f} us {speed:16s} {ratios}  error {error:.1e}"


def main(families: list[str]) -> None:
    torch.set_num_threads(1)
    cases = [case for name in families or FAMILIES for case in FAMILIES[name]()]
    lines = [case.declaration.format(i=i) for i, case in enumerate(cases)]
    text = "\n".join([SOURCE.read_text(), *lines, ""])
    library = build(Sources("kernels", (Unit("kernels.cpp", text),)), Target()).library
    lib = ctypes.CDLL(str(library))
    with torch.no_grad():
        for index, case in enumerate(cases):
            sys.stdout.write(measure(case, lib, index) + "\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1:])
