"""Matrix products: the gemm template for floats, a plain nest for integers.

16-bit floats are accumulated in f32 and rounded once. Leading dims of a linear layer's input are
flattened into the rows, which are then contiguous in the usual layout.
"""

from __future__ import annotations

from collections.abc import Callable

import torch

from ptc.loops import build as b
from ptc.loops.nodes import DType, Expr, LoopKind
from ptc.ops.dtypes import Operand, accumulation_type
from ptc.ops.elementwise import load_as, operand_value, reject_complex
from ptc.ops.nests import loops
from ptc.ops.opaque import OPERATORS as opaque
from ptc.ops.protocol import Indices, LoweringContext, T, TensorValue, sample
from ptc.ops.registry import decomposes, lowers, samples, samples_for
from ptc.ops.shapes import ONE, ZERO, broadcast_index, numel, reshape

aten = torch.ops.aten

Epilogue = Callable[[Indices, Expr], Expr]


def batched_product(
    ctx: LoweringContext, x: TensorValue, y: TensorValue, epilogue: Epilogue | None = None
) -> TensorValue:
    """x[b, m, k] @ y[b, k, n]; `epilogue(index, sum)` gives the value in the type to sum in."""
    reject_complex(x.dtype)
    batch, rows, depth = x.shape
    columns = y.shape[2]
    acc = accumulation_type(x.dtype)
    shape = (batch, rows, columns)
    if not x.dtype.is_float:
        return _integer_product(ctx, x, y, shape, acc, epilogue)

    def finish(index: Indices, value: Expr) -> Expr:
        return b.cast(value if epilogue is None else epilogue(index, value), x.dtype)

    return ctx.template(
        "gemm",
        {"b": batch, "m": rows, "n": columns, "k": depth},
        {
            "a": lambda v: ctx.load(x, (v["b"], v["m"], v["k"])),
            "b": lambda v: ctx.load(y, (v["b"], v["k"], v["n"])),
        },
        shape,
        x.dtype,
        out_vars=("b", "m", "n"),
        accumulate=acc,
        epilogue=finish,
    )


def _integer_product(
    ctx: LoweringContext,
    x: TensorValue,
    y: TensorValue,
    shape: Indices,
    acc: DType,
    epilogue: Epilogue | None,
) -> TensorValue:
    """Sums wrap as in eager: keeping them in i64 and converting once is the same modulo 2**bits."""
    out = ctx.empty(shape, x.dtype)
    with ctx.kernel() as k, loops(k, shape) as index:
        total = k.accumulator("add", b.literal(0, acc), acc)
        batch, row, column = index
        with k.loop(x.shape[2], LoopKind.REDUCE, "r") as r:
            left = load_as(ctx, x, (batch, row, r), acc)
            k.update(total, b.mul(left, load_as(ctx, y, (batch, r, column), acc)))
        value = total if epilogue is None else epilogue(index, total)
        k.store(out, index, b.cast(value, x.dtype))
    return out


def matrix_product(
    ctx: LoweringContext, x: TensorValue, y: TensorValue, epilogue: Epilogue | None = None
) -> TensorValue:
    """x[m, k] @ y[k, n]."""
    left = ctx.view(x, (ONE, *x.shape), lambda i: i[1:])
    right = ctx.view(y, (ONE, *y.shape), lambda i: i[1:])
    outer = None if epilogue is None else lambda index, value: epilogue(index[1:], value)
    out = batched_product(ctx, left, right, outer)
    return ctx.view(out, out.shape[1:], lambda i: (ZERO, *i))


def _blend(
    ctx: LoweringContext, addend: TensorValue, shape: Indices, beta: Operand, alpha: Operand
) -> Epilogue:
    """beta * addend + alpha * sum. A zero beta ignores the addend, NaN included."""

    def finish(index: Indices, value: Expr) -> Expr:
        value = _times(ctx, value, alpha)
        if isinstance(beta, int | float) and beta == 0:
            return value
        extra = load_as(ctx, addend, broadcast_index(addend.shape, shape, index), value.dtype)
        return b.add(value, _times(ctx, extra, beta))

    return finish


def _times(ctx: LoweringContext, value: Expr, factor: Operand) -> Expr:
    if isinstance(factor, int | float) and factor == 1:
        return value
    dtype = value.dtype
    return b.mul(value, operand_value(ctx, factor, (), (), common=dtype, compute=dtype))


# --- matrices -----------------------------------------------------------------------------------


@lowers(aten.mm.default)
def lower_mm(ctx: LoweringContext, x: TensorValue, y: TensorValue) -> TensorValue:
    """x[m, k] @ y[k, n]."""
    return matrix_product(ctx, x, y)


@lowers(aten.addmm.default)
def lower_addmm(
    ctx: LoweringContext,
    addend: TensorValue,
    x: TensorValue,
    y: TensorValue,
    beta: Operand,
    alpha: Operand,
) -> TensorValue:
    """beta * addend + alpha * (x @ y); the addend is broadcast."""
    shape = (x.shape[0], y.shape[1])
    return matrix_product(ctx, x, y, _blend(ctx, addend, shape, beta, alpha))


@lowers(aten.bmm.default)
def lower_bmm(ctx: LoweringContext, x: TensorValue, y: TensorValue) -> TensorValue:
    """x[b, m, k] @ y[b, k, n]."""
    return batched_product(ctx, x, y)


@lowers(aten.baddbmm.default)
def lower_baddbmm(
    ctx: LoweringContext,
    addend: TensorValue,
    x: TensorValue,
    y: TensorValue,
    beta: Operand,
    alpha: Operand,
) -> TensorValue:
    """beta * addend + alpha * (x @ y), batched."""
    shape = (x.shape[0], x.shape[1], y.shape[2])
    return batched_product(ctx, x, y, _blend(ctx, addend, shape, beta, alpha))


@lowers(opaque.linear.default, aten.linear.default)
def lower_linear(
    ctx: LoweringContext, x: TensorValue, weight: TensorValue, bias: TensorValue | None
) -> TensorValue:
    """x[..., k] @ weight[n, k].T + bias[n]."""
    lead = x.shape[:-1]
    rows = reshape(ctx, x, (numel(lead), x.shape[-1]))
    columns = ctx.view(weight, (weight.shape[1], weight.shape[0]), lambda i: (i[1], i[0]))
    if bias is None:
        out = matrix_product(ctx, rows, columns)
    else:
        out = matrix_product(
            ctx, rows, columns, lambda i, v: b.add(v, load_as(ctx, bias, i[1:], v.dtype))
        )
    return reshape(ctx, out, (*lead, weight.shape[0]))


# --- vectors ------------------------------------------------------------------------------------


@lowers(aten.mv.default)
def lower_mv(ctx: LoweringContext, x: TensorValue, y: TensorValue) -> TensorValue:
    """x[m, k] @ y[k]."""
    column = ctx.view(y, (*y.shape, ONE), lambda i: i[:1])
    out = matrix_product(ctx, x, column)
    return ctx.view(out, out.shape[:1], lambda i: (*i, ZERO))


@lowers(aten.addmv.default)
def lower_addmv(
    ctx: LoweringContext,
    addend: TensorValue,
    x: TensorValue,
    y: TensorValue,
    beta: Operand,
    alpha: Operand,
) -> TensorValue:
    """beta * addend + alpha * (x @ y)."""
    column = ctx.view(y, (*y.shape, ONE), lambda i: i[:1])
    shape = (x.shape[0], ONE)
    tall = ctx.view(addend, (*addend.shape, ONE), lambda i: i[:-1]) if addend.shape else addend
    out = matrix_product(ctx, x, column, _blend(ctx, tall, shape, beta, alpha))
    return ctx.view(out, out.shape[:1], lambda i: (*i, ZERO))


@lowers(aten.dot.default, aten.vdot.default)
def lower_dot(ctx: LoweringContext, x: TensorValue, y: TensorValue) -> TensorValue:
    """The sum of products of two vectors."""
    row = ctx.view(x, (ONE, *x.shape), lambda i: i[1:])
    column = ctx.view(y, (*y.shape, ONE), lambda i: i[:1])
    out = matrix_product(ctx, row, column)
    return ctx.view(out, (), lambda i: (ZERO, ZERO))


# --- by other products --------------------------------------------------------------------------


@decomposes(aten.addbmm.default)
def decompose_addbmm(
    addend: torch.Tensor,
    x: torch.Tensor,
    y: torch.Tensor,
    *,
    beta: float = 1,
    alpha: float = 1,
) -> torch.Tensor:
    """beta * addend + alpha * (the sum of x @ y over the batch): one product over both dims."""
    batch, rows, depth = x.shape
    left = x.permute(1, 0, 2).reshape(rows, batch * depth)
    right = y.reshape(batch * depth, y.shape[2])
    return torch.addmm(addend, left, right, beta=beta, alpha=alpha)


@decomposes(aten._trilinear.default)
def decompose_trilinear(
    x: torch.Tensor,
    y: torch.Tensor,
    z: torch.Tensor,
    expand1: list[int],
    expand2: list[int],
    expand3: list[int],
    sumdim: list[int],
    unroll_dim: int = 1,
) -> torch.Tensor:
    """The product of three tensors, each with new dims of size 1, summed over `sumdim`."""
    parts = []
    for tensor, dims in ((x, expand1), (y, expand2), (z, expand3)):
        for dim in sorted(dims):
            tensor = tensor.unsqueeze(dim)
        parts.append(tensor)
    product = parts[0] * parts[1] * parts[2]
    return product.sum(sumdim) if sumdim else product


# --- samples ------------------------------------------------------------------------------------

samples(
    aten.mm.default,
    sample(T("f32[3,4]"), T("f32[4,5]")),
    sample(T("f32[1,33]"), T("f32[33,7]")),
    sample(T("f32[3,4]", layout="transposed"), T("f32[4,5]", layout="transposed")),
    sample(T("f64[3,4]"), T("f64[4,2]")),
    sample(T("bf16[5,33]"), T("bf16[33,6]")),
    sample(T("f16[5,33]"), T("f16[33,6]")),
    sample(T("i64[3,4]"), T("i64[4,5]")),
    sample(T("i32[3,4]"), T("i32[4,5]")),
    sample(T("u8[3,4]"), T("u8[4,5]")),
    sample(T("f32[0,4]"), T("f32[4,5]")),
    sample(T("f32[3,0]"), T("f32[0,5]")),
)
samples(
    aten.addmm.default,
    sample(T("f32[5]"), T("f32[3,4]"), T("f32[4,5]")),
    sample(T("f32[3,5]"), T("f32[3,4]"), T("f32[4,5]"), beta=0.5, alpha=2),
    sample(T("f32[3,5]", special=True), T("f32[3,4]"), T("f32[4,5]"), beta=0),
    sample(T("f32[3,1]"), T("f32[3,4]"), T("f32[4,5]", layout="transposed")),
    sample(T("bf16[5]"), T("bf16[3,4]"), T("bf16[4,5]")),
    sample(T("f32[]"), T("f32[3,0]"), T("f32[0,5]")),
    sample(T("i64[5]"), T("i64[3,4]"), T("i64[4,5]"), beta=2, alpha=3),
)
samples(
    aten.bmm.default,
    sample(T("f32[2,3,4]"), T("f32[2,4,5]")),
    sample(T("f32[2,3,4]", layout="transposed"), T("f32[2,4,5]")),
    sample(T("f64[1,3,4]"), T("f64[1,4,5]")),
    sample(T("bf16[2,3,17]"), T("bf16[2,17,5]")),
    sample(T("i64[2,3,4]"), T("i64[2,4,5]")),
    sample(T("f32[0,3,4]"), T("f32[0,4,5]")),
)
samples(
    aten.baddbmm.default,
    sample(T("f32[2,3,5]"), T("f32[2,3,4]"), T("f32[2,4,5]")),
    sample(T("f32[5]"), T("f32[2,3,4]"), T("f32[2,4,5]"), beta=0.5, alpha=0.25),
    sample(T("f32[1,3,5]", special=True), T("f32[2,3,4]"), T("f32[2,4,5]"), beta=0, alpha=0.1),
)
samples_for(
    (opaque.linear.default, aten.linear.default),
    sample(T("f32[3,4]"), T("f32[5,4]"), T("f32[5]")),
    sample(T("f32[2,3,4]"), T("f32[5,4]")),
    sample(T("f32[4]"), T("f32[5,4]"), T("f32[5]")),
    sample(T("f32[2,3,4]", layout="transposed"), T("f32[5,4]"), T("f32[5]")),
    sample(T("bf16[2,33]"), T("bf16[5,33]"), T("bf16[5]")),
    sample(T("f64[2,3]"), T("f64[5,3]"), T("f64[5]")),
    sample(T("f32[0,4]"), T("f32[5,4]"), T("f32[5]")),
)
samples(
    aten.mv.default,
    sample(T("f32[3,4]"), T("f32[4]")),
    sample(T("bf16[3,40]"), T("bf16[40]")),
    sample(T("i64[3,4]"), T("i64[4]")),
)
samples(
    aten.addmv.default,
    sample(T("f32[3]"), T("f32[3,4]"), T("f32[4]"), beta=0.5, alpha=2),
    sample(T("f32[1]"), T("f32[3,4]"), T("f32[4]")),
)
samples_for(
    (aten.dot.default, aten.vdot.default),
    sample(T("f32[33]"), T("f32[33]")),
    sample(T("f64[0]"), T("f64[0]")),
    sample(T("i64[5]"), T("i64[5]")),
    sample(T("bf16[40]"), T("bf16[40]")),
)
samples(
    aten.addbmm.default,
    sample(T("f32[3,5]"), T("f32[2,3,4]"), T("f32[2,4,5]"), beta=0.5, alpha=2, tolerance=2.0),
    sample(T("f32[5]"), T("f32[2,3,4]"), T("f32[2,4,5]"), tolerance=2.0),
)
samples(
    aten._trilinear.default,
    sample(
        T("f32[2,3]"), T("f32[4,3,5]"), T("f32[2,5]"), [1, 3], [0], [1, 2], [2, 3], tolerance=4.0
    ),
)
# Sizes beyond one tile of the kernels, and not multiples of it.
samples(
    aten.mm.default,
    sample(T("f32[17,70]"), T("f32[70,33]")),
    sample(T("f32[1,300]"), T("f32[300,130]")),
    sample(T("f32[67,129]", layout="transposed"), T("f32[129,101]", layout="transposed")),
    sample(T("f32[5,600]"), T("f32[600,49]")),
    sample(T("f64[9,35]"), T("f64[35,21]")),
    sample(T("bf16[17,70]"), T("bf16[70,33]")),
)
samples(
    aten.bmm.default,
    sample(T("f32[3,17,35]"), T("f32[3,35,50]")),
    sample(T("f32[3,9,35]"), T("f32[3,35,67]", layout="transposed")),
)
samples(
    opaque.linear.default,
    sample(T("f32[3,7,130]"), T("f32[67,130]"), T("f32[67]")),
    sample(T("f32[1,257]"), T("f32[100,257]"), T("f32[100]")),
    sample(T("bf16[3,7,66]"), T("bf16[35,66]"), T("bf16[35]")),
)
