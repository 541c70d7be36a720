"""Printer, parser and verifier: round trips, and what bad programs are told."""

from __future__ import annotations

import pytest

from ptc.loops.parser import ParseError, parse_program
from ptc.loops.printer import print_program
from ptc.loops.verifier import verify
from ptc.support.diagnostics import InternalError

EVERYTHING = """program "my model"
size s0 "batch" [1..64]
size s1 "n" [0..]
input x: f32[s0, 4] strides(4, 1)
input ids: i64[s0] strides(1)
input n: i64[] strides()
weight layer.0.weight: bf16[4, s1 + 1] strides(s1 + 1, 1)
weight "odd name[0]": f32[4] strides(1)
literal c: f32[2] strides(1) = 0000803f00000040
literal none: f32[0] strides(1) = empty
prepared p: f32[4] strides(1)
temp t: f32[s0, 4] strides(4, 1) @ 64*((s0 + 3) // 4)
output y: f32[s0, 4] strides(4, 1)
output where: i64[s0] strides(1)
scalar s1 = n
written layer.0.weight
inputs x, ids, n, layer.0.weight, "odd name[0]"
outputs y, where, (2*s0 + 1)
arena 16*s0 + 64*((s0 + 3) // 4)
prepare:
  kernel pack:
    origin "aten.mul" "model.py:3"
    for i in 4 parallel:
      p[i] = mul("odd name[0]"[i], 2.0:f32)

kernel k:
  origin "aten.x" ""
  origin "aten.y" "a \\"b\\".py:7"
  local row: f32[4] strides(1)
  for i in s0 parallel:
    acc a: f32 add = -0.0:f32
    acc best: f32 argmax = nan:f32
    let raw = ids[i]
    check and(ge(%raw, 0:i64), lt(%raw, index:i64(s0))) else "no such \\"row\\""
    let at in s0 = %raw
    for r in 4 reduce vector:
      row[r] = masked(x[at, r - 1], gt(index:i64(r), 0:i64), inf:f32)
      update a <- row[r]
      update best <- row[r] at index:i64(r)
    if lt(%a, 1e-10:f32):
      y[i, 0] = cast:f32(layer.0.weight[0, s1])
    for j in 4 vector:
      t[i, j] = where(true:bool, bitcast:f32(cast:i32(%a)), c[(j % 2)])
      t[i, j] add= p[j]
    where[i] = %best

template g: gemm f32
  extent b = 1
  extent m = s0
  extent n = 4
  extent k = 4
  attr scale = 0.5
  attr limit = @float inf
  attr rows = @index s0 + 1
  attr kinds = ('a', 1, True)
  operand a(b, m, k) = t[m, k]
  operand b(b, k, n) = cast:f32(layer.0.weight[k, min(n, s1)])
  epilogue:
    let r0 = %acc
    y[m, n] = %r0

extern s: sort
  attr dim = 0
  reads x
  writes t, where
"""


def test_every_construct_round_trips() -> None:
    program = parse_program(EVERYTHING)
    text = print_program(program)
    assert text == EVERYTHING
    assert program.kernels[0].body[0].body[4].bounds == program.buffers["x"].shape[0]  # type: ignore[union-attr]


SMALL = """program p
size s0 "n" [1..]
input x: f32[s0, 4] strides(4, 1)
output y: f32[s0] strides(1)
inputs x
outputs y
kernel k:
  for i in s0 parallel:
    acc a: f32 add = 0.0:f32
    for r in 4 reduce:
      update a <- x[i, r]
    y[i] = %a
"""


def test_the_small_program_is_well_formed() -> None:
    verify(parse_program(SMALL))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("    y[i] = %a", "    y[i] = %b", "line 12: %b is not declared"),
        ("x[i, r]", "z[i, r]", "line 11: no buffer is called z"),
        ("x[i, r]", "frob(x[i, r])", "no scalar operation is called frob"),
        ("for r in 4 reduce:", "for r in 4 sideways:", "not a statement"),
        ("update a <- x[i, r]", "update a <- add(x[i, r]", "expected ')'"),
        ("size s0", "sise s0", "not a kernel"),
    ],
)
def test_bad_text(old: str, new: str, message: str) -> None:
    assert old in SMALL
    with pytest.raises(ParseError) as caught:
        parse_program(SMALL.replace(old, new))
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("x[i, r]", "x[i, q]", "q is not in scope"),
        ("x[i, r]", "x[i]", "1 indices for x, which has 2 dims"),
        ("x[i, r]", "x[i, r + 1]", "reaches [1, 4], the size is 4"),
        ("x[i, r]", "cast:f64(x[i, r])", "update of a with f64"),
        ("    y[i] = %a", "    x[i, 0] = %a\n    y[i] = %a", "store to input buffer x"),
        ("y[i] = %a", "y[0] = %a", "goes to one place in all iterations"),
        ("y[i] = %a", "y[i] = add(%a, cast:f64(%a))", "cannot give f64"),
        ("for r in 4 reduce:", "for i in 4 reduce:", "declared twice"),
        ("for r in 4 reduce:", "for r in 4 parallel:", "across a parallel loop"),
        ("acc a: f32 add", "acc a: f32 mean", "no reduction is called mean"),
        ("outputs y", "outputs y, x2", "output x2 has no buffer"),
        ("acc a: f32 add = 0.0:f32", "let a = 0.0:f32", "no accumulator in scope"),
        ("y[i] = %a", "y[i] mul= %a", ""),
    ],
)
def test_broken_programs(old: str, new: str, message: str) -> None:
    assert old in SMALL
    program = parse_program(SMALL.replace(old, new))
    if not message:
        verify(program)
        return
    with pytest.raises(InternalError) as caught:
        verify(program, "test")
    assert message in str(caught.value)
    assert "stage test" in str(caught.value)


def test_reads_before_writes_are_found() -> None:
    text = SMALL.replace("inputs x", "temp t: f32[4] strides(1)\ninputs x")
    text = text.replace("x[i, r]", "t[r]")
    with pytest.raises(InternalError, match="reads t before it is written"):
        verify(parse_program(text))
