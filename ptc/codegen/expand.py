"""Contractions as plain loop nests: for element types and shapes without a hand-made kernel.

Takes a TemplateKernel, gives a Kernel with the same meaning (`ptc.loops.templates` states it). Also
the reference that the fast paths are tested against.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ptc.loops import build
from ptc.loops.index import Index, floordiv, remainder
from ptc.loops.nodes import (
    Accumulator,
    Buffer,
    BufferKind,
    DType,
    Expr,
    If,
    Kernel,
    Let,
    Load,
    Loop,
    LoopKind,
    Ref,
    Stmt,
    Store,
    TemplateKernel,
    Update,
)
from ptc.loops.templates import TEMPLATES
from ptc.loops.walk import Substitution
from ptc.support.diagnostics import InternalError

ACC = "acc"


def expand_template(kernel: TemplateKernel) -> Kernel:
    """The loop nest that computes `kernel`."""
    if kernel.template == "gemm":
        return _kernel(kernel, _gemm(kernel))
    if kernel.template.startswith("conv"):
        return _kernel(kernel, _conv(kernel))
    if kernel.template == "attention":
        return _attention(kernel)
    raise InternalError("codegen", f"no expansion of template {kernel.template}")


def _kernel(
    kernel: TemplateKernel, body: tuple[Stmt, ...], scratch: tuple[Buffer, ...] = ()
) -> Kernel:
    return Kernel(kernel.name, body, scratch, kernel.origins)


def operand_at(kernel: TemplateKernel, name: str, at: Mapping[str, Index]) -> Expr:
    """Operand `name` where its template variables take the values `at`, in the accumulation
    type."""
    operand = kernel.operands[name]
    formal = TEMPLATES[kernel.template].operands[name]
    indices = {own: at.get(f, Index.var(f)) for own, f in zip(operand.vars, formal, strict=True)}
    value = Substitution(indices).expr(operand.value)
    return build.cast(value, kernel.dtype)


def _nest(
    kernel: TemplateKernel,
    names: Sequence[str],
    kind: LoopKind,
    body: tuple[Stmt, ...],
    innermost: LoopKind | None = None,
) -> tuple[Stmt, ...]:
    for position, name in enumerate(reversed(names)):
        own = innermost if innermost is not None and position == 0 else kind
        body = (Loop(name, kernel.extents[name], own, body),)
    return body


def _zero(dtype: DType) -> Accumulator:
    return Accumulator(ACC, "add", build.literal(0, dtype), dtype)


def _gemm(kernel: TemplateKernel) -> tuple[Stmt, ...]:
    product = build.mul(operand_at(kernel, "a", {}), operand_at(kernel, "b", {}))
    body = (
        _zero(kernel.dtype),
        Loop("k", kernel.extents["k"], LoopKind.REDUCE, (Update(ACC, product),)),
        *kernel.epilogue,
    )
    return _nest(kernel, ("b", "m", "n"), LoopKind.PARALLEL, body, LoopKind.VECTOR)


# --- convolution --------------------------------------------------------------------------------


def _conv(kernel: TemplateKernel) -> tuple[Stmt, ...]:
    template = TEMPLATES[kernel.template]
    rank = len(template.out) - 2
    groups = int(kernel.attrs["groups"])  # type: ignore[call-overload]
    per_group = floordiv(kernel.extents["o"], Index.const(groups))
    channel = floordiv(Index.var("o"), per_group) * kernel.extents["c"] + Index.var("c")
    at: dict[str, Index] = {"ch": channel}
    inside: Expr = build.literal(True, DType.BOOL)
    for d in range(rank):
        position, holds = _position(kernel, d)
        at[f"p{d}"] = position
        inside = build.and_(inside, holds)
    product = build.mul(operand_at(kernel, "x", at), operand_at(kernel, "w", {}))
    step = If(inside, (Update(ACC, product),))
    loops = _nest(kernel, template.reduce, LoopKind.REDUCE, (step,))
    body = (_zero(kernel.dtype), *loops, *kernel.epilogue)
    return _nest(kernel, template.out, LoopKind.PARALLEL, body)


def _position(kernel: TemplateKernel, d: int) -> tuple[Index, Expr]:
    """The input position along dimension `d`, and whether it is in the image."""
    attrs: Mapping[str, Any] = kernel.attrs
    stride, padding, dilation = (attrs[a][d] for a in ("stride", "padding", "dilation"))
    y, k, extent = Index.var(f"y{d}"), Index.var(f"k{d}"), kernel.extents[f"p{d}"]
    if not attrs.get("transposed"):
        position = y * stride - padding + k * dilation
        raw, aligned = position, build.literal(True, DType.BOOL)
    else:
        raw = y + padding - k * dilation
        position = floordiv(raw, Index.const(stride))
        rest = build.index_value(remainder(raw, Index.const(stride)))
        aligned = build.eq(rest, 0)
    low = build.ge(build.index_value(raw), 0)
    high = build.lt(build.index_value(position), build.index_value(extent))
    return position, build.and_(aligned, build.and_(low, high))


# --- attention ----------------------------------------------------------------------------------


def _attention(kernel: TemplateKernel) -> Kernel:
    """Scores of one row in scratch, then softmax, then the weighted sum of values. A row without
    keys, or with masked ones only, gives 0."""
    dtype, keys = kernel.dtype, kernel.extents["s"]
    scores = Buffer("scores", dtype, (keys,), (Index.const(1),), BufferKind.LOCAL)
    s = Index.var("s")
    score: Expr = build.mul(Ref("dot", dtype), float(kernel.attrs["scale"]))  # type: ignore[arg-type]
    if kernel.attrs.get("causal"):
        allowed = build.le(build.index_value(s), build.index_value(Index.var("i")))
        score = build.where(allowed, score, build.literal(float("-inf"), dtype))
    if "mask" in kernel.operands:
        score = build.add(score, operand_at(kernel, "mask", {}))
    dot = build.mul(operand_at(kernel, "q", {}), operand_at(kernel, "k", {}))
    row = Load("scores", (s,), dtype)
    largest = Ref("largest", dtype)
    nothing = build.eq(largest, build.literal(float("-inf"), dtype))
    shift = build.where(nothing, build.literal(0.0, dtype), largest)
    total = build.where(nothing, build.literal(1.0, dtype), Ref("total", dtype))
    body: tuple[Stmt, ...] = (
        Accumulator("largest", "max", build.literal(float("-inf"), dtype), dtype),
        Loop("s", keys, LoopKind.SERIAL, (
            Accumulator("dot", "add", build.literal(0.0, dtype), dtype),
            Loop("e", kernel.extents["e"], LoopKind.REDUCE, (Update("dot", dot),)),
            Let("score", score),
            Store("scores", (s,), Ref("score", dtype)),
            Update("largest", Ref("score", dtype)),
        )),
        Accumulator("total", "add", build.literal(0.0, dtype), dtype),
        Loop("s", keys, LoopKind.REDUCE, (
            Let("weight", build.exp(build.sub(row, shift))),
            Store("scores", (s,), Ref("weight", dtype)),
            Update("total", Ref("weight", dtype)),
        )),
        Loop("d", kernel.extents["d"], LoopKind.VECTOR, (
            Accumulator("sum", "add", build.literal(0.0, dtype), dtype),
            Loop("s", keys, LoopKind.REDUCE, (
                Update("sum", build.mul(row, operand_at(kernel, "v", {}))),
            )),
            Let(ACC, build.div(Ref("sum", dtype), total)),
            *kernel.epilogue,
        )),
    )  # fmt: skip
    return _kernel(kernel, _nest(kernel, ("b", "h", "i"), LoopKind.PARALLEL, body), (scores,))
