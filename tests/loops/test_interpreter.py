"""Statements, kernels and templates of the interpreter against NumPy and torch."""

from __future__ import annotations

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from ptc.loops import interpret_statements
from ptc.loops.interpreter import RunError, run
from ptc.loops.parser import parse_program


def execute(text: str, **inputs: np.ndarray) -> list[np.ndarray]:
    return run(parse_program(text), inputs)  # type: ignore[return-value]


X = np.random.default_rng(0).standard_normal((5, 7)).astype(np.float32)

ROWS = """program rows
size n "n" [1..]
input x: f32[n, 7] strides(7, 1)
output y: f32[n, 7] strides(7, 1)
inputs x
outputs y
kernel softmax:
  local e: f32[7] strides(1)
  for i in n parallel:
    acc top: f32 max = -inf:f32
    for r in 7 reduce:
      update top <- x[i, r]
    acc total: f32 add = 0.0:f32
    for s in 7 reduce:
      e[s] = exp(sub(x[i, s], %top))
      update total <- e[s]
    for t in 7 parallel:
      y[i, t] = div(e[t], %total)
"""


@pytest.mark.parametrize("lanes", [1, 3, 10, 1 << 20])
def test_row_scratch_is_private_to_an_iteration(
    monkeypatch: pytest.MonkeyPatch, lanes: int
) -> None:
    monkeypatch.setattr(interpret_statements, "MAX_LANES", lanes)
    (got,) = execute(ROWS, x=X)
    np.testing.assert_allclose(got, torch.tensor(X).softmax(-1).numpy(), rtol=1e-6)


def _reduction(op: str, dtype: str, value: str, init: str, position: str = "") -> str:
    out = "i64" if op.startswith("arg") else dtype
    return f"""program p
input x: f32[5, 7] strides(7, 1)
output y: {out}[5] strides(1)
inputs x
outputs y
kernel k:
  for i in 5 parallel:
    acc a: {dtype} {op} = {init}
    for r in 7 reduce:
      update a <- {value}{position}
    y[i] = %a
"""


@pytest.mark.parametrize(
    ("op", "init", "reference"),
    [
        ("add", "0.0:f32", torch.sum), ("mul", "1.0:f32", torch.prod),
        ("min", "inf:f32", torch.amin), ("max", "-inf:f32", torch.amax),
    ],
)  # fmt: skip
@pytest.mark.parametrize("nan", [False, True])
def test_reductions(op: str, init: str, reference: object, nan: bool) -> None:
    x = X.copy()
    if nan:
        x[2, 3] = np.nan
    (got,) = execute(_reduction(op, "f32", "x[i, r]", init), x=x)
    want = reference(torch.tensor(x), -1).numpy()  # type: ignore[operator]
    np.testing.assert_allclose(got, want, rtol=1e-5)


@pytest.mark.parametrize("op", ["argmax", "argmin"])
def test_positions_first_of_equals_and_nan_wins(op: str) -> None:
    x = np.array([[1, 3, 3, 0, 0, 2, 1]] * 5, np.float32)
    x[1, 4] = np.nan
    x[2] = -np.inf
    text = _reduction(op, "f32", "x[i, r]", "0.0:f32", " at index:i64(r)")
    (got,) = execute(text, x=x)
    want = getattr(torch, op)(torch.tensor(x), -1).numpy()
    np.testing.assert_array_equal(got, want)


def test_any_and_all() -> None:
    for op, init, reference in (("any", "false", np.any), ("all", "true", np.all)):
        text = _reduction(op, "bool", "gt(x[i, r], 1.0:f32)", f"{init}:bool")
        np.testing.assert_array_equal(execute(text, x=X)[0], reference(X > 1, -1))


def test_serial_loops_see_running_values_and_combine_stores() -> None:
    text = """program p
input x: f32[5, 7] strides(7, 1)
input at: i64[7] strides(1)
output scan: f32[5, 7] strides(7, 1)
output sums: f32[3] strides(1)
inputs x, at
outputs scan, sums
kernel scan:
  for i in 5 parallel:
    acc a: f32 add = 0.0:f32
    for j in 7 serial:
      update a <- x[i, j]
      scan[i, j] = %a
kernel zero:
  for i in 3 parallel:
    sums[i] = 0.0:f32
kernel scatter:
  for j in 7 serial:
    let where in 3 = at[j]
    sums[where] add= x[0, j]
"""
    at = np.array([0, 2, 2, 1, 0, 2, 1])
    scan, sums = execute(text, x=X, at=at)
    np.testing.assert_allclose(scan, np.cumsum(X, 1), rtol=1e-6)
    np.testing.assert_allclose(sums, np.bincount(at, X[0], 3), rtol=1e-6)


def test_masks_conditions_and_triangles() -> None:
    text = """program p
input x: f32[5, 7] strides(7, 1)
output pad: f32[5, 9] strides(9, 1)
output low: f32[5, 7] strides(7, 1)
output tri: f32[5] strides(1)
inputs x
outputs pad, low, tri
kernel pad:
  for i in 5 parallel:
    for j in 9 parallel:
      let inside = and(ge(index:i64(j), 1:i64), lt(index:i64(j), 8:i64))
      pad[i, j] = masked(x[i, j - 1], %inside, 2.0:f32)
kernel low:
  for i in 5 parallel:
    for j in 7 parallel:
      low[i, j] = 0.0:f32
      if le(index:i64(j), index:i64(i)):
        low[i, j] = x[i, j]
kernel tri:
  for i in 5 parallel:
    acc a: f32 add = 0.0:f32
    for j in i + 1 reduce:
      update a <- x[i, j]
    tri[i] = %a
"""
    pad, low, tri = execute(text, x=X)
    np.testing.assert_array_equal(pad, np.pad(X, ((0, 0), (1, 1)), constant_values=2))
    np.testing.assert_array_equal(low, np.tril(X))
    np.testing.assert_allclose(tri, np.tril(X).sum(1), rtol=1e-5)


def test_a_failed_check_ends_the_run() -> None:
    text = """program p
input i: i64[2] strides(1)
output y: i64[2] strides(1)
inputs i
outputs y
kernel k:
  for j in 2 parallel:
    check lt(i[j], 3:i64) else "index out of range"
    y[j] = i[j]
"""
    assert execute(text, i=np.array([1, 2]))[0].tolist() == [1, 2]
    with pytest.raises(RunError, match="index out of range"):
        execute(text, i=np.array([1, 3]))


def test_an_arena_with_overlapping_live_buffers_gives_wrong_results() -> None:
    text = """program p
input x: f32[4] strides(1)
temp a: f32[4] strides(1) @ 0
temp b: f32[4] strides(1) @ OFFSET
output y: f32[4] strides(1)
inputs x
outputs y
arena 64
kernel a:
  for i in 4 parallel:
    a[i] = add(x[i], 1.0:f32)
kernel b:
  for i in 4 parallel:
    b[i] = mul(x[i], 2.0:f32)
kernel y:
  for i in 4 parallel:
    y[i] = add(a[i], b[i])
"""
    x = np.arange(4, dtype=np.float32)
    np.testing.assert_array_equal(execute(text.replace("OFFSET", "16"), x=x)[0], 3 * x + 1)
    assert not np.array_equal(execute(text.replace("OFFSET", "0"), x=x)[0], 3 * x + 1)


GEMM = """program p
input a: f32[2, 5, 7] strides(35, 7, 1)
input w: f32[3, 7] strides(7, 1)
output y: f32[2, 3, 5] strides(15, 5, 1)
inputs a, w
outputs y
template t: gemm f32
  extent b = 2
  extent m = 5
  extent n = 3
  extent k = 7
  operand a(b, m, k) = a[b, m, k]
  operand b(b, k, n) = w[n, k]
  epilogue:
    let r = mul(%acc, 2.0:f32)
    y[b, n, m] = max(%r, 0.0:f32)
"""


def test_gemm_with_epilogue() -> None:
    a = np.random.default_rng(1).standard_normal((2, 5, 7)).astype(np.float32)
    w = np.random.default_rng(2).standard_normal((3, 7)).astype(np.float32)
    want = np.maximum(2 * a @ w.T, 0).transpose(0, 2, 1)
    np.testing.assert_allclose(execute(GEMM, a=a, w=w)[0], want, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("rank", [1, 2, 3])
@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize(
    ("stride", "padding", "dilation", "groups"),
    [(1, 0, 1, 1), (2, 1, 1, 1), (2, 2, 2, 2), (3, 1, 1, 4)],
)
def test_convolutions(
    rank: int, transposed: bool, stride: int, padding: int, dilation: int, groups: int
) -> None:
    channels, out, kernel, size = 4, 8, 3, 9
    torch.manual_seed(0)
    x = torch.randn(2, channels, *[size + d for d in range(rank)])
    shape = (channels, out // groups) if transposed else (out, channels // groups)
    w = torch.randn(*shape, *[kernel] * rank)
    name = f"conv{'_transpose' if transposed else ''}{rank}d"
    extra = {"output_padding": 1 if stride > 1 else 0} if transposed else {}
    want = getattr(F, name)(
        x, w, stride=stride, padding=padding, dilation=dilation, groups=groups, **extra
    )
    # The template's weight is (o, c, k); torch keeps (input, output/groups, k) when transposed.
    if transposed:
        per, own = channels // groups, out // groups
        w = w.reshape(groups, per, own, *[kernel] * rank).transpose(1, 2)
        w = w.reshape(out, per, *[kernel] * rank).contiguous()
    text = _conv_text(x, w, want, stride, padding, dilation, groups, transposed)
    (got,) = execute(text, x=x.numpy(), w=w.numpy())
    np.testing.assert_allclose(got, want.numpy(), rtol=1e-4, atol=1e-5)


def _declare(kind: str, name: str, x: torch.Tensor) -> str:
    shape = ", ".join(map(str, x.shape))
    return f"{kind} {name}: f32[{shape}] strides({', '.join(map(str, x.stride()))})"


def _conv_text(
    x: torch.Tensor, w: torch.Tensor, y: torch.Tensor, stride: int, padding: int, dilation: int,
    groups: int, transposed: bool,
) -> str:  # fmt: skip
    rank = x.dim() - 2
    names = range(rank)
    extents = {"n": x.shape[0], "o": y.shape[1], "c": w.shape[1], "ch": x.shape[1]}
    extents |= {f"y{d}": y.shape[2 + d] for d in names}
    extents |= {f"k{d}": w.shape[2 + d] for d in names}
    extents |= {f"p{d}": x.shape[2 + d] for d in names}
    attrs = {
        "stride": (stride,) * rank, "padding": (padding,) * rank, "dilation": (dilation,) * rank,
        "groups": groups, "transposed": transposed, "output_padding": (0,) * rank,
    }  # fmt: skip
    lines = ["program p", _declare("input", "x", x), _declare("input", "w", w)]
    lines += [_declare("output", "y", y.contiguous()), "inputs x, w", "outputs y"]
    lines += [f"template t: conv{rank}d f32"]
    lines += [f"  extent {v} = {n}" for v, n in extents.items()]
    lines += [f"  attr {k} = {v!r}" for k, v in attrs.items()]
    p, k, o = (", ".join(f"{v}{d}" for d in names) for v in "pky")
    lines += [f"  operand x(n, ch, {p}) = x[n, ch, {p}]"]
    lines += [f"  operand w(o, c, {k}) = w[o, c, {k}]"]
    lines += ["  epilogue:", f"    y[n, o, {o}] = %acc"]
    return "\n".join(lines)


def test_attention() -> None:
    torch.manual_seed(0)
    q, k, v = torch.randn(2, 3, 5, 4), torch.randn(2, 3, 6, 4), torch.randn(2, 3, 6, 7)
    mask = torch.randn(2, 3, 5, 6)
    want = F.scaled_dot_product_attention(q, k, v, mask, scale=0.3)
    lines = ["program p"]
    lines += [_declare("input", n, t) for n, t in zip("qkvm", (q, k, v, mask), strict=True)]
    lines += [_declare("output", "y", want.contiguous()), "inputs q, k, v, m", "outputs y"]
    lines += ["template t: attention f32"]
    sizes = {"b": 2, "h": 3, "i": 5, "d": 7, "s": 6, "e": 4}
    lines += [f"  extent {n} = {x}" for n, x in sizes.items()]
    lines += ["  attr scale = 0.3", "  attr causal = False"]
    lines += ["  operand q(b, h, i, e) = q[b, h, i, e]", "  operand k(b, h, s, e) = k[b, h, s, e]"]
    lines += ["  operand v(b, h, s, d) = v[b, h, s, d]"]
    lines += ["  operand mask(b, h, i, s) = m[b, h, i, s]"]
    lines += ["  epilogue:", "    y[b, h, i, d] = %acc"]
    inputs = dict(zip("qkvm", (t.numpy() for t in (q, k, v, mask)), strict=True))
    (got,) = execute("\n".join(lines), **inputs)
    np.testing.assert_allclose(got, want.numpy(), rtol=1e-4, atol=1e-6)


def test_bf16_is_uint16_outside() -> None:
    text = """program p
input x: bf16[4] strides(1)
output y: bf16[4] strides(1)
inputs x
outputs y
kernel k:
  for i in 4 parallel:
    y[i] = cast:bf16(mul(cast:f32(x[i]), 1.01:f32))
"""
    x = torch.tensor([1.0, 2.5, float("nan"), -300.0], dtype=torch.bfloat16)
    (got,) = execute(text, x=x.view(torch.uint16).numpy())
    want = (x.float() * 1.01).bfloat16()
    got = torch.from_numpy(got.astype(np.int32)).to(torch.uint16).view(torch.bfloat16)
    torch.testing.assert_close(got, want, equal_nan=True, rtol=0, atol=0)
