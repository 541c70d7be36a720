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
    check(
        program("""
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
    """),
        factor=8.0,
    )


def test_threads() -> None:
    check(program(gemm_text(1, 64, 300, 70)), sizes={"s0": 2}, threads=3, factor=8.0)
    check(program(gemm_text(1, 64, 300, 70)), sizes={"s0": 2}, threads=3, live=False, factor=8.0)


CONV = """
    program conv
    size s0 "n" [1..]
    input x: f32[{n}, {ch}, {image}] strides({x_strides})
    weight w: f32[{o}, {c}, {taps}] strides({w_strides})
    weight bias: f32[{o}] strides(1)
    input unused: f32[s0] strides(1)
    output y: f32[{n}, {o}, {out}] strides({y_strides})
    inputs x, w, bias, unused
    outputs y
    template conv: conv{rank}d f32
      extent n = {n}
      extent o = {o}
      extent c = {c}
      extent ch = {ch}
{extents}
      attr stride = {stride}
      attr padding = {padding}
      attr dilation = {dilation}
      attr groups = {groups}
      attr transposed = {transposed}
      attr output_padding = {output_padding}
      operand x(n, ch, {p}) = {value}
      operand w(o, c, {k}) = w[o, c, {k}]
      epilogue:
        y[n, o, {y}] = max(add(%acc, bias[o]), 0.0:f32)
"""


def conv_text(
    image: tuple[int, ...], taps: tuple[int, ...], *, n: int | str = 2, ch: int = 3, o: int = 20,
    stride: int = 1, padding: int = 1, dilation: int = 1, groups: int = 1, last: bool = False,
    transposed: bool = False, prologue: str = "{}",
) -> str:  # fmt: skip
    """A convolution of channels-first or (`last`) channels-last memory."""
    rank = len(image)
    c = ch // groups
    if transposed:
        out = [(i - 1) * stride - 2 * padding + (k - 1) * dilation + 1
               for i, k in zip(image, taps, strict=True)]  # fmt: skip
    else:
        out = [(i + 2 * padding - (k - 1) * dilation - 1) // stride + 1
               for i, k in zip(image, taps, strict=True)]  # fmt: skip

    def strides(channels: int, spatial: list[int]) -> str:
        if last:
            plane = int(np.prod(spatial))
            inner = [int(np.prod(spatial[d + 1 :])) * channels for d in range(rank)]
            return ", ".join(map(str, [plane * channels, 1, *inner]))
        dims = [channels, *spatial]
        return ", ".join(str(int(np.prod(dims[d:]))) for d in range(rank + 2))

    names = {letter: ", ".join(f"{letter}{d}" for d in range(rank)) for letter in "pky"}
    extents = [f"      extent {letter}{d} = {v}"
               for letter, values in (("y", out), ("k", taps), ("p", image))
               for d, v in enumerate(values)]  # fmt: skip
    return CONV.format(
        n=n, ch=ch, c=c, o=o, rank=rank, groups=groups, transposed=transposed, **names,
        image=", ".join(map(str, image)), taps=", ".join(map(str, taps)),
        out=", ".join(map(str, out)), x_strides=strides(ch, list(image)),
        y_strides=strides(o, out), extents="\n".join(extents),
        w_strides=", ".join(str(int(np.prod([c, *taps][d:]))) for d in range(rank + 2)),
        stride=[stride] * rank, padding=[padding] * rank, dilation=[dilation] * rank,
        output_padding=[0] * rank, value=prologue.format(f"x[n, ch, {names['p']}]"),
    )  # fmt: skip


CONVS = {
    "3x3": conv_text((9, 11), (3, 3)),
    "3x3 channels last": conv_text((9, 11), (3, 3), ch=16, last=True),
    "7x7 stride 2": conv_text((20, 21), (7, 7), stride=2, padding=3),
    "1x1": conv_text((7, 7), (1, 1), ch=24, o=40, padding=0, last=True),
    "1x1 stride 2": conv_text((8, 8), (1, 1), ch=24, o=32, padding=0, stride=2, last=True),
    "dilated": conv_text((12, 12), (3, 3), dilation=2, padding=2),
    "grouped": conv_text((8, 9), (3, 3), ch=12, o=24, groups=3, last=True),
    "depthwise": conv_text((8, 9), (3, 3), ch=20, o=20, groups=20, last=True),
    "depthwise stride 2": conv_text((9, 9), (5, 5), ch=32, o=32, groups=32, stride=2, padding=2,
                                    last=True),
    "1d": conv_text((30,), (5,), ch=8, padding=2),
    "3d": conv_text((5, 6, 7), (3, 3, 3), ch=4, o=8),
    "batch": conv_text((9, 11), (3, 3), n="s0", ch=16, last=True),
    "prologue": conv_text((9, 11), (3, 3), prologue="max({}, 0.0:f32)"),
    "transposed": conv_text((5, 6), (3, 3), stride=2, transposed=True),
    "transposed grouped": conv_text((5, 6), (2, 2), ch=8, o=8, groups=2, stride=2, padding=0,
                                    transposed=True, last=True),
}  # fmt: skip


@pytest.mark.parametrize("live", [True, False], ids=["live", "frozen"])
@pytest.mark.parametrize("case", CONVS)
def test_convolutions(case: str, live: bool) -> None:
    p = program(CONVS[case])
    verify(p)
    check(p, sizes={"s0": 3}, live=live, factor=20.0)


@pytest.mark.parametrize("case", ["3x3", "grouped", "transposed", "1d"])
def test_convolutions_as_loops(case: str) -> None:
    """The expansion alone, which other element types use."""
    text = CONVS[case].replace("f32", "f64")
    check(program(text), sizes={"s0": 3})


ATTENTION = """
    program attention
    size s0 "n" [1..]
    input q: {t}[2, 3, s0, 16] strides(48*s0, 16*s0, 16, 1)
    input k: {t}[2, 3, 21, 16] strides(1008, 16, 48, 1)
    input v: {t}[2, 3, 21, 24] strides(1512, 504, 24, 1)
    input m: {t}[s0, 21] strides(21, 1)
    output y: {t}[2, s0, 3, 24] strides(72*s0, 72, 24, 1)
    inputs q, k, v, m
    outputs y
    template attention: attention {t}
      extent b = 2
      extent h = 3
      extent i = s0
      extent d = 24
      extent s = 21
      extent e = 16
      attr scale = 0.25
      attr causal = {causal}
      operand q(b, h, i, e) = q[b, h, i, e]
      operand k(b, h, s, e) = k[b, h, s, e]
      operand v(b, h, s, d) = v[b, h, s, d]
{mask}
      epilogue:
        y[b, i, h, d] = %acc
"""


@pytest.mark.parametrize("dtype", ["f32", "f64"])
@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize("mask", [True, False])
def test_attention(dtype: str, causal: bool, mask: bool) -> None:
    operand = "      operand mask(b, h, i, s) = m[i, s]" if mask else ""
    text = ATTENTION.format(t=dtype, causal=causal, mask=operand)
    for size in (1, 19):
        check(program(text.replace("\n\n", "\n")), sizes={"s0": size}, factor=8.0)


SHARED = """
    program shared_heads
    size s0 "n" [1..]
    input q: f32[2, 6, s0, 16] strides(96*s0, 16*s0, 16, 1)
    input k: f32[2, 3, s0, 16] strides(48*s0, 16*s0, 16, 1)
    input v: f32[2, 3, s0, 32] strides(96*s0, 32*s0, 32, 1)
    input allowed: bool[2, s0] strides(s0, 1)
    output y: f32[2, s0, 6, 32] strides(192*s0, 192, 32, 1)
    inputs q, k, v, allowed
    outputs y
    template attention: attention f32
      extent b = 2
      extent h = 6
      extent i = s0
      extent d = 32
      extent s = s0
      extent e = 16
      attr scale = 0.25
      attr causal = False
      operand q(b, h, i, e) = q[b, h, i, e]
      operand k(b, h, s, e) = k[b, h // 2, s, e]
      operand v(b, h, s, d) = v[b, h // 2, s, d]
      operand mask(b, h, i, s) = {mask}
      epilogue:
        y[b, i, h, d] = mul(%acc, 2.0:f32)
"""


@pytest.mark.parametrize(
    "mask",
    [
        "where(allowed[b, s], 0.0:f32, -inf:f32)",
        "where(allowed[b, s], 0.0:f32, -1e30:f32)",
        "where(le(index:i64(s), index:i64(i)), 0.0:f32, -inf:f32)",
    ],
)
def test_attention_with_shared_heads_and_masks(mask: str) -> None:
    p = program(SHARED.format(mask=mask))
    verify(p)
    library = check(p, sizes={"s0": 37}, factor=8.0)
    from harness import compare, random_inputs

    given = random_inputs(p, np.random.default_rng(3), {"s0": 5})
    given["allowed"][1] = False  # rows without any key: NaN, as softmax gives
    compare(library, p, given, {"s0": 5}, 8.0)


GROUPED = """
    program grouped
    input x: f32[1, 8, 5, 6] strides(240, 30, 6, 1)
    weight w: f32[8, 6, 3, 3] strides(54, 9, 3, 1)
    output y: f32[1, 12, 11, 13] strides(1716, 143, 13, 1)
    inputs x, w
    outputs y
    template conv: conv2d f32
      extent n = 1
      extent o = 12
      extent c = 4
      extent ch = 8
      extent y0 = 11
      extent y1 = 13
      extent k0 = 3
      extent k1 = 3
      extent p0 = 5
      extent p1 = 6
      attr stride = [2, 2]
      attr padding = [0, 0]
      attr dilation = [1, 1]
      attr groups = 2
      attr transposed = True
      attr output_padding = [0, 0]
      operand x(n, ch, p0, p1) = x[n, ch, p0, p1]
      operand w(o, c, k0, k1) = w[o // 6 * 4 + c, o % 6, k0, k1]
      epilogue:
        y[n, o, y0, y1] = %acc
"""


@pytest.mark.parametrize("live", [True, False])
def test_grouped_transposed_convolution(live: bool) -> None:
    p = program(GROUPED)
    verify(p)
    library = check(p, live=live, factor=8.0)
    text = "".join(u.text for u in library.generated.sources.units)
    assert "conv_transpose<" in text


def test_equal_names_do_not_share_memory() -> None:
    """Two products called the same, each with two operands that are written out first."""
    check(
        program("""
        program twice
        input a: f32[9, 24] strides(24, 1)
        input c: f32[24, 21] strides(21, 1)
        input d: f32[21, 70] strides(70, 1)
        temp t: f32[9, 21] strides(21, 1)
        output y: f32[9, 70] strides(70, 1)
        inputs a, c, d
        outputs y
        template product: gemm f32
          extent b = 1
          extent m = 9
          extent n = 21
          extent k = 24
          operand a(b, m, k) = abs(a[m, k])
          operand b(b, k, n) = tanh(c[k, n])
          epilogue:
            t[m, n] = %acc
        template product: gemm f32
          extent b = 1
          extent m = 9
          extent n = 70
          extent k = 21
          operand a(b, m, k) = tanh(t[m, k])
          operand b(b, k, n) = abs(d[k, n])
          epilogue:
            y[m, n] = %acc
    """),
        factor=8.0,
    )
