"""Fusion, layout, sharing and folding on small programs in text, and what may not be fused."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ptc.loops.bounds import Ranges
from ptc.loops.index import Index
from ptc.loops.interpreter import run
from ptc.loops.nodes import BufferKind, Kernel, LoopKind, Program, TemplateKernel
from ptc.loops.parser import parse_program
from ptc.loops.printer import print_kernel, print_program
from ptc.loops.verifier import verify
from ptc.schedule import Options, schedule
from ptc.schedule.epilogue import absorb
from ptc.schedule.fuse import fuse_elementwise, fuse_rows
from ptc.schedule.inline import producer_of
from ptc.schedule.inverse import apply_inverse, invert
from ptc.schedule.kernels import KernelGraph
from ptc.schedule.legality import Refusal
from ptc.schedule.merge import may_merge


def program(text: str) -> Program:
    parsed = parse_program(text)
    verify(parsed)
    return parsed


def body(p: Program, number: int = 0) -> str:
    return "\n".join(line.strip() for line in print_kernel(p.kernels[number]))


def same_results(before: Program, after: Program) -> None:
    verify(after)
    rng = np.random.default_rng(0)
    inputs = {}
    for name, b in before.buffers.items():
        if b.kind in (BufferKind.INPUT, BufferKind.WEIGHT):
            shape = [int(d.evaluate({"n": 3})) for d in b.shape]
            inputs[name] = rng.standard_normal(shape).astype(np.float32)
    for got, want in zip(run(after, inputs), run(before, inputs), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6)


CHAIN = """program p
input x: f32[4, 6] strides(6, 1)
input y: f32[4, 6] strides(6, 1)
temp a: f32[4, 6] strides(6, 1)
temp b: f32[6, 4] strides(4, 1)
output z: f32[24] strides(1)
inputs x, y
outputs z
kernel add:
  for i in 4 parallel:
    for j in 6 parallel:
      a[i, j] = add(x[i, j], y[i, j])
kernel turn:
  for i in 6 parallel:
    for j in 4 parallel:
      b[i, j] = exp(a[j, i])
kernel flat:
  for i in 24 parallel:
    z[i] = mul(b[i // 4, i % 4], 2.0:f32)
"""


def test_a_chain_of_pointwise_kernels_becomes_one_through_views() -> None:
    before = program(CHAIN)
    after = fuse_elementwise(before)
    assert after is not None and len(after.kernels) == 1
    assert "z[i] = mul(exp(add(x[(i % 4), (i // 4)], y[(i % 4), (i // 4)])), 2.0:f32)" in body(
        after
    )
    assert "a" not in after.buffers
    same_results(before, after)


def test_expensive_work_is_not_repeated_for_a_broadcast() -> None:
    text = CHAIN.replace(
        "z[i] = mul(b[i // 4, i % 4], 2.0:f32)", "z[i] = mul(b[i // 4, 0], 2.0:f32)"
    )
    text = text.replace("kernel flat", "kernel also").replace("output z", "output w")
    text = text.replace("z[i]", "w[i]").replace("outputs z", "outputs w")
    after = fuse_elementwise(program(text))
    assert after is not None and len(after.kernels) == 1  # one reader, read once an iteration
    text = text.replace("b[i // 4, 0], 2.0:f32", "b[0, i % 4], b[i // 4, 0]")
    after = fuse_elementwise(program(text))
    assert after is not None and len(after.kernels) == 2


SOFTMAX = """program p
size n "n" [1..]
input x: f32[n, 8] strides(8, 1)
input m: f32[n, 8] strides(8, 1)
temp s: f32[n, 8] strides(8, 1)
temp top: f32[n] strides(1)
temp e: f32[n, 8] strides(8, 1)
temp total: f32[n] strides(1)
output y: f32[n, 8] strides(8, 1)
inputs x, m
outputs y
kernel scores:
  for i in n parallel:
    for j in 8 parallel:
      s[i, j] = add(tanh(x[i, j]), m[i, j])
kernel top:
  for i in n parallel:
    acc a: f32 max = -inf:f32
    for j in 8 reduce:
      update a <- s[i, j]
    top[i] = %a
kernel e:
  for i in n parallel:
    for j in 8 parallel:
      e[i, j] = exp(sub(s[i, j], top[i]))
kernel total:
  for i in n parallel:
    acc a: f32 add = 0.0:f32
    for j in 8 reduce:
      update a <- e[i, j]
    total[i] = %a
kernel y:
  for i in n parallel:
    for j in 8 parallel:
      y[i, j] = div(e[i, j], total[i])
"""


def test_a_softmax_in_five_kernels_becomes_one_over_a_row() -> None:
    before = program(SOFTMAX)
    after = schedule(before, Options(verify=True))
    assert len(after.kernels) == 1
    kernel = after.kernels[0]
    assert isinstance(kernel, Kernel)
    assert {b.name for b in kernel.locals} == {"s", "e"}
    assert [str(d) for b in kernel.locals for d in b.shape] == ["8", "8"]
    text = body(after)
    assert text.count("for ") == 4 and text.count("exp(") == 1 and text.count("tanh(") == 1
    assert after.arena == 0
    same_results(before, after)


def test_rows_of_different_iterations_are_not_merged() -> None:
    text = SOFTMAX.replace("sub(s[i, j], top[i])", "sub(s[i, j], top[n - 1 - i])")
    graph = KernelGraph(program(text))
    refusal = may_merge(graph, 1, 2)
    assert isinstance(refusal, Refusal)
    assert "top[-i + n - 1]" in refusal.access
    assert refusal.producer == "top" and refusal.consumer == "e"
    same_results(program(text), schedule(program(text), Options(verify=True)))


LINEAR = """program p
size n "n" [1..]
input x: f32[n, 4, 8] strides(32, 8, 1)
weight w: f32[6, 8] strides(8, 1)
weight bias: f32[6] strides(1)
weight scale: f32[6] strides(1)
input r: f32[n, 2, 4, 3] strides(24, 12, 3, 1)
temp t: f32[4*n, 6] strides(6, 1)
temp u: f32[n, 2, 4, 3] strides(24, 12, 3, 1)
output y: f32[n, 2, 4, 3] strides(24, 12, 3, 1)
inputs x, w, bias, scale, r
outputs y
template linear: gemm f32
  extent b = 1
  extent m = 4*n
  extent n = 6
  extent k = 8
  operand a(b, m, k) = x[m // 4, m % 4, k]
  operand b(b, k, n) = w[n, k]
  epilogue:
    t[m, n] = mul(%acc, scale[n])
kernel heads:
  for i in n parallel:
    for h in 2 parallel:
      for s in 4 parallel:
        for d in 3 parallel:
          u[i, h, s, d] = max(add(t[4*i + s, 3*h + d], bias[3*h + d]), 0.0:f32)
kernel residual:
  for i in n parallel:
    for h in 2 parallel:
      for s in 4 parallel:
        for d in 3 parallel:
          y[i, h, s, d] = add(u[i, h, s, d], r[i, h, s, d])
"""


def linear() -> Program:
    # The size symbol and the template's variable must not share a name.
    text = LINEAR.replace('size n "n"', 'size s0 "n"').replace("f32[n,", "f32[s0,")
    return program(text.replace("4*n", "4*s0").replace("for i in n ", "for i in s0 "))


def run_linear(p: Program) -> np.ndarray:
    rng = np.random.default_rng(0)
    shapes = {"x": (3, 4, 8), "w": (6, 8), "bias": 6, "scale": 6, "r": (3, 2, 4, 3)}
    given = {n: rng.standard_normal(s).astype(np.float32) for n, s in shapes.items()}
    return run(p, given)[0]  # type: ignore[return-value]


def test_epilogues_take_bias_activation_reshape_and_residual() -> None:
    before = linear()
    after = schedule(before, Options(verify=True))
    assert len(after.kernels) == 1
    text = body(after)
    assert "y[(m // 4), (n // 3), (m % 4), (n % 3)]" in text
    np.testing.assert_allclose(run_linear(after), run_linear(before), rtol=1e-5)


def test_frozen_scales_move_into_the_weight() -> None:
    before = linear()
    after = schedule(before, Options(freeze=True, verify=True))
    assert [k.name for k in after.prepare] == ["linear_weight"]
    assert after.buffers["linear_weight"].kind is BufferKind.PREPARED
    assert "scale" not in body(after)
    np.testing.assert_allclose(run_linear(after), run_linear(before), rtol=1e-4, atol=1e-5)


def test_weights_that_are_written_stay_live() -> None:
    after = schedule(linear(), Options(freeze=True, written=frozenset({"scale"})))
    assert not after.prepare


def test_an_epilogue_refuses_what_is_not_one_to_one() -> None:
    p = linear()
    text = print_program(p).replace("t[4*i + s, d + 3*h]", "t[4*i + s, d]")
    graph = KernelGraph(program(text))
    refusal = absorb(graph, 0, 1)
    assert isinstance(refusal, Refusal) and "t[4*i + s, d]" in refusal.access


def test_kept_results_and_readers_of_wholes_are_not_inlined() -> None:
    text = CHAIN.replace("temp a", "output a").replace("outputs z", "outputs z, a")
    graph = KernelGraph(program(text))
    refusal = producer_of(graph, 0)
    assert isinstance(refusal, Refusal) and refusal.reason == "the result is kept"


# --- layout, vectors, sharing ---------------------------------------------------------------------

CONV = """program p
input x: f32[1, 3, 6, 6] strides(108, 36, 6, 1)
weight w: f32[8, 3, 3, 3] strides(27, 9, 3, 1)
weight w2: f32[4, 8, 1, 1] strides(8, 1, 1, 1)
temp t: f32[1, 8, 6, 6] strides(288, 36, 6, 1)
temp q: f32[1, 8, 3, 3] strides(72, 9, 3, 1)
output y: f32[1, 4, 3, 3] strides(36, 9, 3, 1)
inputs x, w, w2
outputs y
template first: conv2d f32
  extent n = 1
  extent o = 8
  extent y0 = 6
  extent y1 = 6
  extent c = 3
  extent k0 = 3
  extent k1 = 3
  extent ch = 3
  extent p0 = 6
  extent p1 = 6
  attr stride = (1, 1)
  attr padding = (1, 1)
  attr dilation = (1, 1)
  attr groups = 1
  attr transposed = False
  attr output_padding = (0, 0)
  operand x(n, ch, p0, p1) = x[0, ch, p0, p1]
  operand w(o, c, k0, k1) = w[o, c, k0, k1]
  epilogue:
    t[0, o, y0, y1] = %acc
kernel pool:
  for c in 8 parallel:
    for i in 3 parallel:
      for j in 3 parallel:
        acc a: f32 max = -inf:f32
        for r in 2 reduce:
          for s in 2 reduce:
            update a <- t[0, c, 2*i + r, 2*j + s]
        q[0, c, i, j] = %a
template second: conv2d f32
  extent n = 1
  extent o = 4
  extent y0 = 3
  extent y1 = 3
  extent c = 8
  extent k0 = 1
  extent k1 = 1
  extent ch = 8
  extent p0 = 3
  extent p1 = 3
  attr stride = (1, 1)
  attr padding = (0, 0)
  attr dilation = (1, 1)
  attr groups = 1
  attr transposed = False
  attr output_padding = (0, 0)
  operand x(n, ch, p0, p1) = q[0, ch, p0, p1]
  operand w(o, c, k0, k1) = w2[o, c, 0, 0]
  epilogue:
    y[0, o, y0, y1] = %acc
"""


def test_channels_are_innermost_between_convolutions() -> None:
    before = program(CONV)
    after = schedule(before, Options(verify=True))
    for name in ("t", "q", "x_channels_last"):
        assert after.buffers[name].strides[1] == 1, name
    assert after.buffers["y"].strides == before.buffers["y"].strides
    pool = next(k for k in after.kernels if k.name == "pool")
    assert isinstance(pool, Kernel)
    loops = []
    stmt = pool.body[0]
    while hasattr(stmt, "body"):
        loops.append((str(stmt.extent), stmt.kind))
        stmt = stmt.body[0]
    assert loops == [("9", LoopKind.PARALLEL), ("8", LoopKind.VECTOR)] or loops == [
        ("3", LoopKind.PARALLEL), ("3", LoopKind.PARALLEL), ("8", LoopKind.VECTOR)
    ]  # fmt: skip
    same_results(before, after)


def test_heads_are_laid_out_side_by_side_for_the_product_that_reads_them() -> None:
    text = """program p
input x: f32[2, 5, 3] strides(15, 3, 1)
weight w: f32[4, 6] strides(6, 1)
temp t: f32[2, 5, 3] strides(15, 3, 1)
output y: f32[5, 4] strides(4, 1)
inputs x, w
outputs y
kernel t:
  for h in 2 parallel:
    acc total: f32 add = 0.0:f32
    for i in 5 reduce:
      update total <- x[h, i, 0]
    for i2 in 5 parallel:
      for d in 3 parallel:
        t[h, i2, d] = mul(x[h, i2, d], %total)
template out: gemm f32
  extent b = 1
  extent m = 5
  extent n = 4
  extent k = 6
  operand a(b, m, k) = t[k // 3, m, k % 3]
  operand b(b, k, n) = w[n, k]
  epilogue:
    y[m, n] = %acc
"""
    before = program(text)
    after = schedule(before, Options(verify=True))
    assert [str(s) for s in after.buffers["t"].strides] == ["3", "6", "1"]
    same_results(before, after)


def test_repeated_values_are_bound_once_and_loads_after_writes_are_others() -> None:
    text = """program p
input x: f32[8] strides(1)
output y: f32[8] strides(1)
output z: f32[8] strides(1)
inputs x
outputs y, z
kernel k:
  for i in 8 parallel:
    y[i] = mul(exp(x[i]), exp(x[i]))
    z[i] = mul(y[i], exp(x[i]))
    y[i] = add(y[i], 1.0:f32)
    z[i] = add(z[i], exp(y[i]))
"""
    before = program(text)
    after = schedule(before, Options(verify=True))
    assert body(after).count("exp(x[i])") == 1
    same_results(before, after)


def test_invariant_work_leaves_inner_loops() -> None:
    text = """program p
input x: f32[4, 8] strides(8, 1)
input s: f32[4] strides(1)
output y: f32[4, 8] strides(8, 1)
inputs x, s
outputs y
kernel k:
  for i in 4 parallel:
    for j in 8 parallel:
      y[i, j] = mul(x[i, j], exp(s[i]))
"""
    after = schedule(program(text), Options(verify=True))
    lines = body(after).split("\n")
    assert lines[2].startswith("let ") and "exp(s[i])" in lines[2]
    same_results(program(text), after)


def test_decided_checks_and_masks_go() -> None:
    text = """program p
input x: f32[4] strides(1)
output y: f32[4] strides(1)
inputs x
outputs y
kernel k:
  for i in 4 parallel:
    let raw = index:i64(i)
    check lt(%raw, 4:i64) else "out of range"
    let at in 4 = %raw
    y[i] = masked(x[at], ge(index:i64(at), 0:i64), 0.0:f32)
"""
    after = schedule(program(text), Options(verify=True))
    assert body(after).split("\n")[1:] == ["for i in 4 vector:", "y[i] = x[i]"]


def test_an_elementwise_result_takes_the_place_of_a_dying_operand() -> None:
    text = """program p
input x: f32[32] strides(1)
temp a: f32[32] strides(1)
temp b: f32[32] strides(1)
output y: f32[] strides()
output z: f32[] strides()
inputs x
outputs y, z
extern s: sort
  attr dim = 0
  attr descending = False
  reads x
  writes a, i
kernel b:
  for i in 32 parallel:
    b[i] = exp(a[i])
kernel y:
  acc m: f32 add = 0.0:f32
  for i in 32 reduce:
    update m <- mul(b[i], b[31 - i])
  y[] = %m
kernel z:
  acc m: f32 max = 0.0:f32
  for i in 32 reduce:
    update m <- add(b[i], b[31 - i])
  z[] = %m
"""
    text = text.replace("temp b", "temp i: i64[32] strides(1)\ntemp b")
    after = schedule(program(text), Options(verify=True))
    assert after.buffers["a"].offset == after.buffers["b"].offset
    assert int(after.arena) == 32 * 4 + 32 * 8  # type: ignore[arg-type]


# --- inverse of index maps ------------------------------------------------------------------------


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_inverse_of_random_reshapes(data: st.DataObject) -> None:
    """A chain of splits, merges and permutations of positions is undone exactly."""
    sizes = data.draw(st.lists(st.sampled_from([1, 2, 3, 4, 6]), min_size=1, max_size=3))
    extents = {f"i{k}": Index.const(n) for k, n in enumerate(sizes) if n != 1}
    index = [Index.var(f"i{k}") if n != 1 else Index.const(0) for k, n in enumerate(sizes)]
    shape = list(sizes)
    ranges = Ranges(extents)
    for _ in range(data.draw(st.integers(0, 4))):
        d = data.draw(st.integers(0, len(shape) - 1))
        if len(shape) > 1 and data.draw(st.booleans()):
            e = (d + 1) % len(shape)
            low, high = min(d, e), max(d, e)
            merged = index[low] * shape[high] + index[high]
            rest = [k for k in range(len(shape)) if k not in (low, high)]
            index = [*[index[k] for k in rest], merged]
            shape = [*[shape[k] for k in rest], shape[low] * shape[high]]
        else:
            divisors = [c for c in range(1, shape[d] + 1) if shape[d] % c == 0]
            c = data.draw(st.sampled_from(divisors))
            parts = [index[d] // c, index[d] % c]
            index[d : d + 1] = [ranges.simplify(p) for p in parts]
            shape[d : d + 1] = [shape[d] // c, c]
    recipe = invert(index, [Index.const(n) for n in shape], extents, ranges)
    names = list(extents)
    for values in np.ndindex(*[int(extents[n]) for n in names]):
        env = dict(zip(names, map(int, values), strict=True))
        position = [Index.const(int(i.evaluate(env))) for i in index]
        assert all(0 <= int(p) < n for p, n in zip(position, shape, strict=True))
        if recipe is not None:
            found = apply_inverse(recipe, position, Ranges({}))
            assert {n: int(v) for n, v in found.items()} == env


@pytest.mark.parametrize(
    "index", [["i0"], ["i0 + i1", "i1"], ["2*i0", "i1"], ["i0 // 2", "i1"], ["i0", "i0"]]
)
def test_maps_that_are_not_one_to_one_have_no_inverse(index: list[str]) -> None:
    from ptc.loops.index_parser import parse_index

    extents = {"i0": Index.const(4), "i1": Index.const(3)}
    shape = [Index.const(4), Index.const(3)][: len(index)]
    assert invert([parse_index(i) for i in index], shape, extents, Ranges(extents)) is None


def test_rows_stay_apart_when_nothing_is_passed() -> None:
    before = program(SOFTMAX)
    after = fuse_rows(before)
    assert after is not None and all(not isinstance(k, TemplateKernel) for k in after.kernels)
