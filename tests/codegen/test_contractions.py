"""Contractions in C++: the runtime's kernels and the loop nests, against the interpreter."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from harness import check, program

from ptc.loops.verifier import verify

GEMM = """
    program gemm
    size s0 "n" [1..]
    input a: {dtype}[{b}, {m}, {k}] strides({a_strides})
    weight w: {dtype}[{wb}, {k}, {n}] strides({w_strides})
    weight bias: {dtype}[{n}] strides(1)
    input unused: f32[s0] strides(1)
    output y: {dtype}[{b}, {m}, {n}] strides({m}*{n}, {n}, 1)
    inputs a, w, bias, unused
    outputs y
    template linear: gemm {acc}
      extent b = {b}
      extent m = {m}
      extent n = {n}
      extent k = {k}
      operand a(b, m, k) = {a}
      operand b(b, k, n) = {w}
      epilogue:
        y[b, m, n] = {out}
"""


def gemm_text(
    b: int | str, m: int | str, n: int, k: int, *, transposed: bool = True, dtype: str = "f32",
    batched: bool = False, a: str = "a[b, m, k]", w: str = "",
) -> str:  # fmt: skip
    acc = "f64" if dtype == "f64" else "f32"
    low = dtype in ("bf16", "f16")
    wb = b if batched else 1
    at = "b" if batched else "0"
    bias = "cast:f32(bias[n])" if low else "bias[n]"
    out = f"max(add(%acc, {bias}), 0.0:{acc})"
    return GEMM.format(
        b=b, m=m, n=n, k=k, dtype=dtype, acc=acc, wb=wb,
        a_strides=f"{m}*{k}, {k}, 1",
        w_strides=f"{k * n}, 1, {k}" if transposed else f"{k * n}, {n}, 1",
        a=a, w=w or f"w[{at}, k, n]",
        out=f"cast:{dtype}({out})" if low else out,
    )  # fmt: skip


@pytest.mark.parametrize("live", [True, False], ids=["live", "frozen"])
@pytest.mark.parametrize("transposed", [True, False], ids=["nt", "nn"])
@pytest.mark.parametrize(
    ("b", "m", "n", "k"), [(1, 1, 70, 33), (1, 7, 33, 65), (1, 40, 100, 17), (3, 5, 20, 40)]
)
def test_linear(live: bool, transposed: bool, b: int, m: int, n: int, k: int) -> None:
    p = program(gemm_text(b, m, n, k, transposed=transposed))
    verify(p)
    check(p, sizes={"s0": 2}, live=live, factor=8.0)


@pytest.mark.parametrize("live", [True, False], ids=["live", "frozen"])
def test_symbolic_rows(live: bool) -> None:
    p = program(gemm_text(1, "s0", 50, 24))
    library = check(p, sizes={"s0": 19}, live=live, factor=8.0)
    from harness import compare, random_inputs

    for rows in (1, 2, 70):
        given = random_inputs(p, np.random.default_rng(rows), {"s0": rows})
        if not live:
            given |= {w.name: library.weights[w.name] for w in library.generated.weights}
        compare(library, p, given, {"s0": rows}, 8.0)


@pytest.mark.parametrize("dtype", ["f64", "bf16", "f16"])
@pytest.mark.parametrize("live", [True, False], ids=["live", "frozen"])
def test_types(dtype: str, live: bool) -> None:
    a, w = "a[b, m, k]", "w[0, k, n]"
    if dtype != "f64":
        a, w = f"cast:f32({a})", f"cast:f32({w})"
    check(program(gemm_text(1, 9, 37, 45, dtype=dtype, a=a, w=w)), sizes={"s0": 2}, live=live,
          factor=8.0)  # fmt: skip


def test_batched_and_broadcast() -> None:
    check(program(gemm_text(4, 6, 20, 24, batched=True)), sizes={"s0": 2}, factor=8.0)
    check(program(gemm_text(4, 6, 20, 24, batched=True, transposed=False)), sizes={"s0": 2},
          factor=8.0)  # fmt: skip


def test_computed_operands() -> None:
    """A prologue that fusion left in the operand, and a masked one."""
    prologue = "tanh(a[b, m, k])"
    masked = "masked(a[b, m, k], lt(index:i64(k), 20:i64), 0.0:f32)"
    for a, live in itertools.product((prologue, masked), (True, False)):
        check(program(gemm_text(2, 6, 20, 24, a=a)), sizes={"s0": 2}, live=live, factor=8.0)
    check(program(gemm_text(2, 6, 20, 24, w="abs(w[0, k, n])")), sizes={"s0": 2}, factor=8.0)


def test_empty() -> None:
    check(program(gemm_text(1, 4, 20, 0)), sizes={"s0": 2})
    check(program(gemm_text(1, 4, 20, 0)), sizes={"s0": 2}, live=False)


def test_transposed_output_and_row_bias() -> None:
    """Stores that run across the lanes, loads that do not move with them."""
    check(program("""
        program attention_scores
        input a: f32[2, 9, 24] strides(216, 24, 1)
        input c: f32[2, 24, 21] strides(504, 21, 1)
        input r: f32[2, 9] strides(9, 1)
        output y: f32[2, 21, 9] strides(189, 9, 1)
        output z: bool[2, 9, 21] strides(189, 21, 1)
        inputs a, c, r
        outputs y, z
        template product: gemm f32
          extent b = 2
          extent m = 9
          extent n = 21
          extent k = 24
          operand a(b, m, k) = a[b, m, k]
          operand b(b, k, n) = c[b, k, n]
          epilogue:
            let v = add(%acc, r[b, m])
            y[b, n, m] = %v
            z[b, m, n] = gt(%v, 0.0:f32)
    """), factor=8.0)


def test_threads() -> None:
    check(program(gemm_text(1, 64, 300, 70)), sizes={"s0": 2}, threads=3, factor=8.0)
    check(program(gemm_text(1, 64, 300, 70)), sizes={"s0": 2}, threads=3, live=False, factor=8.0)
