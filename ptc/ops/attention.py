"""Scaled dot-product attention: the attention template, for any number of leading dims."""

from __future__ import annotations

import math
from collections.abc import Mapping

import torch

from ptc.loops import build as b
from ptc.loops.index import Index
from ptc.loops.nodes import DType, Expr, Literal
from ptc.ops.dtypes import accumulation_type
from ptc.ops.opaque import OPERATORS as opaque
from ptc.ops.protocol import LoweringContext, T, TensorValue, sample
from ptc.ops.registry import lowers, samples
from ptc.ops.shapes import ONE, broadcast_shapes, expand, numel, reshape
from ptc.support.diagnostics import CompileError

aten = torch.ops.aten


@lowers(opaque.sdpa.default, aten.scaled_dot_product_attention.default)
def lower_sdpa(
    ctx: LoweringContext,
    query: TensorValue,
    key: TensorValue,
    value: TensorValue,
    mask: TensorValue | None,
    dropout: float,
    causal: bool,
    scale: float | Expr | None,
    shared_heads: bool,
) -> TensorValue:
    """softmax(scale * query @ key.T + mask) @ value, rows over the last dim but one.

    Rows that are masked entirely give 0. With `shared_heads`, several query heads use one head of
    keys and values.
    """
    if dropout:
        raise CompileError(
            "PTC-O002",
            f"attention with dropout {dropout} draws random numbers",
            hint="call model.eval(), or pass dropout_p=0.0 in inference",
        )
    lead = query.shape[:-2]
    repeats = ONE
    if shared_heads:
        repeats = query.shape[-3] // key.shape[-3]
    else:
        lead = broadcast_shapes(lead, key.shape[:-2], value.shape[:-2])
        key, value = (expand(ctx, t, (*lead, *t.shape[-2:])) for t in (key, value))
        query = expand(ctx, query, (*lead, *query.shape[-2:]))
    rows, width = query.shape[-2:]
    length, columns = key.shape[-2], value.shape[-1]
    q, k, v = (_four_dims(ctx, t) for t in (query, key, value))
    accumulate = accumulation_type(query.dtype)
    operands = {
        "q": lambda i: ctx.load(q, (i["b"], i["h"], i["i"], i["e"])),
        "k": lambda i: ctx.load(k, (i["b"], i["h"] // repeats, i["s"], i["e"])),
        "v": lambda i: ctx.load(v, (i["b"], i["h"] // repeats, i["s"], i["d"])),
    }
    if mask is not None:
        whole = _four_dims(ctx, expand(ctx, mask, (*lead, rows, length)))
        operands["mask"] = lambda i: _score(ctx, whole, i, accumulate)
    out = ctx.template(
        "attention",
        {
            "b": q.shape[0], "h": q.shape[1], "i": rows, "d": columns, "s": length, "e": width,
        },
        operands,
        (q.shape[0], q.shape[1], rows, columns),
        query.dtype,
        out_vars=("b", "h", "i", "d"),
        accumulate=accumulate,
        attrs={"scale": _scale(scale, width), "causal": bool(causal)},
    )  # fmt: skip
    return reshape(ctx, out, (*lead, rows, columns))


def _score(ctx: LoweringContext, mask: TensorValue, i: Mapping[str, Index], dtype: DType) -> Expr:
    """What the mask adds to a score: 0 or -inf for a boolean one, else its element."""
    element = ctx.load(mask, (i["b"], i["h"], i["i"], i["s"]))
    if mask.dtype is DType.BOOL:
        return b.where(element, b.literal(0.0, dtype), b.literal(-math.inf, dtype))
    return b.cast(element, dtype)


def _four_dims(ctx: LoweringContext, x: TensorValue) -> TensorValue:
    """Leading dims as exactly batch and head."""
    lead = x.shape[:-2]
    if len(lead) == 2:
        return x
    pair = (ONE, *lead) if len(lead) == 1 else (numel(lead[:-1]), lead[-1]) if lead else (ONE, ONE)
    return reshape(ctx, x, (*pair, *x.shape[-2:]))


def _scale(scale: float | Expr | None, width: Index) -> float:
    if isinstance(scale, Literal):
        return float(scale.value)
    if isinstance(scale, int | float):
        return float(scale)
    if scale is None and width.constant is not None:
        return 1.0 / math.sqrt(width.constant) if width.constant else 1.0
    raise CompileError(
        "PTC-O003",
        f"the scale of attention depends on the dynamic size {width}",
        hint="keep the head dimension static; batch and sequence length may be dynamic",
    )


# --- samples ------------------------------------------------------------------------------------

samples(
    opaque.sdpa.default,
    sample(T("f32[2,3,5,8]"), T("f32[2,3,7,8]"), T("f32[2,3,7,4]"), tolerance=2.0),
    sample(T("f32[2,3,5,8]"), T("f32[2,3,5,8]"), T("f32[2,3,5,8]"), None, 0.0, True, tolerance=2.0),
    sample(T("f32[2,3,5,8]"), T("f32[2,3,7,8]"), T("f32[2,3,7,8]"), T("bool[5,7]"), tolerance=2.0),
    sample(
        T("f32[2,3,5,8]"), T("f32[2,3,7,8]"), T("f32[2,3,7,8]"), T("f32[2,1,5,7]"), tolerance=2.0
    ),
    sample(T("f32[2,5,8]"), T("f32[2,7,8]"), T("f32[2,7,8]"), scale=0.3, tolerance=2.0),
    sample(T("f32[5,8]"), T("f32[7,8]"), T("f32[7,8]"), tolerance=2.0),
    sample(T("f32[2,4,5,8]"), T("f32[2,2,7,8]"), T("f32[2,2,7,8]"), enable_gqa=True, tolerance=2.0),
    sample(T("f32[2,1,5,8]"), T("f32[1,3,7,8]"), T("f32[1,3,7,8]"), tolerance=2.0),
    sample(T("bf16[1,2,5,16]"), T("bf16[1,2,6,16]"), T("bf16[1,2,6,16]")),
    sample(T("f64[1,2,5,4]"), T("f64[1,2,6,4]"), T("f64[1,2,6,4]"), tolerance=4.0),
    sample(
        T("f32[2,8,3,4]", layout="transposed"), T("f32[2,8,3,4]", layout="transposed"),
        T("f32[2,8,3,4]"), None, 0.0, True, tolerance=2.0,
    ),
)  # fmt: skip
samples(
    aten.scaled_dot_product_attention.default,
    sample(T("f32[2,3,5,8]"), T("f32[2,3,7,8]"), T("f32[2,3,7,4]"), tolerance=2.0),
)
samples(
    opaque.sdpa.default,
    sample(T("f32[1,2,35,24]"), T("f32[1,2,67,24]"), T("f32[1,2,67,24]"), tolerance=2.0),
    sample(
        T("f32[1,3,70,16]"), T("f32[1,3,70,16]"), T("f32[1,3,70,16]"), None, 0.0, True,
        tolerance=2.0,
    ),
    sample(
        T("f32[2,2,9,64]"), T("f32[2,2,130,64]"), T("f32[2,2,130,64]"), T("bool[2,1,9,130]"),
        tolerance=2.0,
    ),
)  # fmt: skip
