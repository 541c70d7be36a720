"""Loops, accesses, reductions and checks in C++ against the NumPy interpreter.

Every program runs with its loops as written and is small; extents avoid multiples of the vector
length, so that each has a rest.
"""

from __future__ import annotations

import numpy as np
import pytest
from harness import NativeError, check, compile_entries, program, random_inputs

from ptc.codegen.entry import Entry
from ptc.loops.verifier import verify

SUM_ROWS = """
    program sums
    size s0 "n" [1..]
    input x: f32[s0, {n}] strides({n}, 1)
    output y: f32[s0] strides(1)
    inputs x
    outputs y
    kernel sum:
      for i in s0 parallel:
        acc a: f32 {op} = {init}:f32
        for j in {n} reduce{vector}:
          update a <- x[i, j]
        y[i] = %a
"""


@pytest.mark.parametrize("vector", ["", " vector"])
@pytest.mark.parametrize("n", [1, 5, 16, 37, 129, 4096 + 13])
def test_row_reductions(n: int, vector: str) -> None:
    for op, init in (("add", "0.0"), ("max", "-inf"), ("min", "inf")):
        p = program(SUM_ROWS.format(n=n, op=op, init=init, vector=vector))
        verify(p)
        check(p, sizes={"s0": 3}, factor=3.0)


def test_long_sum_is_accurate() -> None:
    n = 1 << 20
    p = program(SUM_ROWS.format(n=n, op="add", init="0.0", vector=" vector"))
    x = np.random.default_rng(0).random((1, n), np.float32) + np.float32(0.5)
    library = compile_entries([Entry("forward", p)])
    (got,) = library.run({"x": x}, sizes={"s0": 1})
    exact = x.astype(np.float64).sum()
    assert abs(got[0] - exact) / exact < 3e-7


def test_long_scalar_sum_is_accurate() -> None:
    n = 1 << 16
    p = program(SUM_ROWS.format(n=n, op="add", init="0.0", vector=""))
    x = np.random.default_rng(0).random((1, n), np.float32) + np.float32(0.5)
    (got,) = compile_entries([Entry("forward", p)]).run({"x": x}, sizes={"s0": 1})
    exact = x.astype(np.float64).sum()
    assert abs(got[0] - exact) / exact < 1e-6


@pytest.mark.parametrize("inner", ["reduce", "reduce vector"])
def test_nested_reduction(inner: str) -> None:
    check(
        program(f"""
        program nested
        input x: f32[5, 9, 21] strides(189, 21, 1)
        output y: f32[9] strides(1)
        inputs x
        outputs y
        kernel mean:
          for c in 9 parallel:
            acc a: f32 add = 0.0:f32
            acc m: f32 max = -inf:f32
            for n in 5 reduce:
              for j in 21 {inner}:
                let v = mul(x[n, c, j], 2.0:f32)
                update a <- %v
                update m <- %v
            y[c] = add(%a, %m)
    """)
    )


def test_vector_over_outputs_of_a_reduction() -> None:
    """Columns: accumulators are vectors, the reduction is inside."""
    check(
        program("""
        program columns
        size s0 "n" [1..]
        input x: f32[300, s0] strides(s0, 1)
        output y: f32[s0] strides(1)
        inputs x
        outputs y
        kernel sum:
          for j in s0 vector:
            acc a: f32 add = 0.0:f32
            for i in 300 reduce:
              update a <- x[i, j]
            y[j] = %a
    """),
        sizes={"s0": 37},
        factor=4.0,
    )


@pytest.mark.parametrize("op", ["argmax", "argmin"])
@pytest.mark.parametrize("outer", ["parallel", "vector"])
def test_positions(op: str, outer: str) -> None:
    init = "-inf" if op == "argmax" else "inf"
    p = program(f"""
        program position
        input x: f32[19, 21] strides(21, 1)
        output y: i64[21] strides(1)
        inputs x
        outputs y
        kernel position:
          for j in 21 {outer}:
            acc a: i64 {op} = {init}:f32
            for i in 19 reduce:
              update a <- x[i, j] at index:i64(i)
            y[j] = %a
    """)
    x = np.random.default_rng(0).integers(-3, 3, (19, 21)).astype(np.float32)
    x[4, 2] = x[9, 2] = np.nan
    x[:, 5] = -np.inf
    x[:, 6] = np.inf
    check(p, {"x": x})


def test_strided_transposed_and_expanded() -> None:
    check(
        program("""
        program strides
        input x: f32[23, 19] strides(1, 23)
        input b: f32[23, 19] strides(0, 1)
        output y: f32[23, 19] strides(19, 1)
        temp t: f32[19, 23] strides(23, 1)
        inputs x, b
        outputs y
        kernel transpose:
          for i in 23 parallel:
            for j in 19 vector:
              t[j, i] = add(x[i, j], b[i, j])
        kernel back:
          for i in 23 parallel:
            for j in 19 vector:
              y[i, j] = t[j, i]
    """)
    )


def test_division_and_remainder_in_accesses() -> None:
    """A flat loop over a reshaped view: contiguous where blocks align, gathered where not."""
    for inner in (32, 24, 7):
        p = program(f"""
            program reshape
            input x: f32[6, {inner}] strides({inner}, 1)
            input b: f32[{inner}] strides(1)
            output y: f32[{6 * inner}] strides(1)
            inputs x, b
            outputs y
            kernel add:
              for i in {6 * inner} vector:
                y[i] = add(x[i // {inner}, i % {inner}], b[(i * 5 + 3) % {inner}])
        """)
        check(p)


def test_masked_loads() -> None:
    """Padding: positions outside are never read."""
    for kind in ("parallel", "vector"):
        check(
            program(f"""
            program pad
            input x: f32[5, 17] strides(17, 1)
            output y: f32[9, 21] strides(21, 1)
            output z: bool[9, 21] strides(21, 1)
            inputs x
            outputs y, z
            kernel pad:
              for i in 9 parallel:
                for j in 21 {kind}:
                  let row = and(ge(index:i64(i - 2), 0:i64), lt(index:i64(i - 2), 5:i64))
                  let column = and(ge(index:i64(j - 2), 0:i64), lt(index:i64(j - 2), 17:i64))
                  let inside = and(%row, %column)
                  y[i, j] = masked(x[i - 2, j - 2], %inside, -1.0:f32)
                  z[i, j] = %inside
        """)
        )


def test_gather_by_let_bounds() -> None:
    for kind in ("parallel", "vector"):
        p = program(f"""
            program gather
            input table: f32[11, 21] strides(21, 1)
            input at: i64[21] strides(1)
            output y: f32[21] strides(1)
            output z: f32[4, 21] strides(21, 1)
            inputs table, at
            outputs y, z
            kernel take:
              for j in 21 {kind}:
                let k in 11 = at[j]
                y[j] = table[k, j]
            kernel rows:
              for i in 4 parallel:
                let k in 11 = at[i]
                for j in 21 {kind}:
                  z[i, j] = table[k, j]
        """)
        rng = np.random.default_rng(0)
        given = random_inputs(p, rng)
        given["at"] = rng.integers(0, 11, 21)
        check(p, given)


def test_scan() -> None:
    check(
        program("""
        program scan
        input x: f32[6, 21] strides(21, 1)
        output y: f32[6, 21] strides(21, 1)
        output z: f32[6, 21] strides(21, 1)
        inputs x
        outputs y, z
        kernel rows:
          for i in 6 parallel:
            acc a: f32 add = 0.0:f32
            for j in 21 serial:
              update a <- x[i, j]
              y[i, j] = %a
        kernel columns:
          for j in 21 vector:
            acc a: f32 max = -inf:f32
            for i in 6 serial:
              update a <- x[i, j]
              z[i, j] = %a
    """)
    )


def test_scatter_add() -> None:
    p = program("""
        program scatter
        input x: f32[40] strides(1)
        input at: i64[40] strides(1)
        output y: f32[9] strides(1)
        inputs x, at
        outputs y
        kernel clear:
          for i in 9 vector:
            y[i] = 0.0:f32
        kernel add:
          for i in 40 serial:
            let k in 9 = at[i]
            y[k] add= x[i]
    """)
    rng = np.random.default_rng(0)
    given = random_inputs(p, rng)
    given["at"] = rng.integers(0, 9, 40)
    check(p, given)


def test_checks_fail_the_run() -> None:
    p = program("""
        program checked
        input x: i64[21] strides(1)
        output y: i64[21] strides(1)
        inputs x
        outputs y
        kernel test:
          for i in 21 vector:
            check lt(x[i], 100:i64) else "index \\"out\\" of range 100%"
            if gt(x[i], 0:i64):
              y[i] = x[i]
            if le(x[i], 0:i64):
              y[i] = 0:i64
    """)
    x = np.arange(-5, 16)
    library = check(p, {"x": x})
    with pytest.raises(NativeError, match='9: index "out" of range 100%'):
        library.run({"x": x * 50})
    (again,) = library.run({"x": x})
    assert np.array_equal(again, np.maximum(x, 0))


def test_row_scratch() -> None:
    """Softmax with its exponentials kept in a LOCAL buffer, on the stack and allocated."""
    for n, size in (("37", 37), ("s0", 41), ("20000", 20000)):
        check(
            program(f"""
            program softmax
            size s0 "n" [1..]
            input x: f32[3, {n}] strides({n}, 1)
            input unused: f32[s0] strides(1)
            output y: f32[3, {n}] strides({n}, 1)
            inputs x, unused
            outputs y
            kernel softmax:
              local row: f32[{n}] strides(1)
              for i in 3 parallel:
                acc m: f32 max = -inf:f32
                for j in {n} reduce vector:
                  update m <- x[i, j]
                acc s: f32 add = 0.0:f32
                for j in {n} reduce vector:
                  let e = exp(sub(x[i, j], %m))
                  row[j] = %e
                  update s <- %e
                for j in {n} vector:
                  y[i, j] = div(row[j], %s)
        """),
            sizes={"s0": size},
            factor=4.0,
        )


def test_low_precision_rows() -> None:
    for dtype in ("bf16", "f16"):
        check(
            program(f"""
            program low
            input x: {dtype}[5, 45] strides(45, 1)
            output y: {dtype}[5, 45] strides(45, 1)
            output b: bool[5, 45] strides(45, 1)
            output w: f64[5, 45] strides(45, 1)
            inputs x
            outputs y, b, w
            kernel scale:
              for i in 5 parallel:
                for j in 45 vector:
                  let v = cast:f32(x[i, j])
                  y[i, j] = cast:{dtype}(mul(%v, 1.5:f32))
                  b[i, j] = gt(%v, 0.0:f32)
                  w[i, j] = cast:f64(%v)
        """)
        )


def test_threads_give_the_same() -> None:
    p = program("""
        program big
        size s0 "n" [1..]
        input x: f32[s0, 7, 300] strides(2100, 300, 1)
        output y: f32[s0, 7, 300] strides(2100, 300, 1)
        output z: f32[s0*2100] strides(1)
        inputs x
        outputs y, z
        kernel rows:
          for i in s0 parallel:
            for k in 7 parallel:
              for j in 300 vector:
                y[i, k, j] = exp(tanh(x[i, k, j]))
        kernel flat:
          for i in s0*2100 vector:
            z[i] = exp(x[i // 2100, (i // 300) % 7, i % 300])
    """)
    verify(p)
    for threads in (1, 3):
        check(p, sizes={"s0": 67}, threads=threads, factor=4.0)


def test_narrow_targets() -> None:
    """The same text at 4 and 8 lanes."""
    from ptc.codegen.target import parse_target

    for level in ("baseline", "avx2"):
        p = program(SUM_ROWS.format(n=37, op="add", init="0.0", vector=" vector"))
        check(p, sizes={"s0": 3}, target=parse_target(f"x86_64-linux-gnu+{level}"), factor=3.0)


def test_deep_expressions() -> None:
    """A fused chain far deeper than Python's stack."""
    from ptc.loops import build
    from ptc.loops.index import Index
    from ptc.loops.nodes import (
        Buffer,
        BufferKind,
        DType,
        Expr,
        Kernel,
        Load,
        Loop,
        LoopKind,
        Program,
        Store,
    )

    n, one, i = Index.const(21), Index.const(1), Index.var("i")
    value: Expr = Load("x", (i,), DType.F32)
    for _ in range(3000):
        value = build.add(build.mul(value, 0.5), 1.0)
    buffers = {
        name: Buffer(name, DType.F32, (n,), (one,), kind)
        for name, kind in (("x", BufferKind.INPUT), ("y", BufferKind.OUTPUT))
    }
    kernel = Kernel("chain", (Loop("i", n, LoopKind.VECTOR, (Store("y", (i,), value),)),))
    p = Program("deep", (), buffers, ("x",), ("y",), (kernel,))
    library = compile_entries([Entry("forward", p)], optimise="-O1")
    (got,) = library.run({"x": np.ones(21, np.float32)})
    assert np.allclose(got, 2.0)
