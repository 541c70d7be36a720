"""Convolution in one, two and three dimensions, plain and transposed, with groups and dilation."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import starmap

import torch

from ptc.loops import build as b
from ptc.loops.index import Index
from ptc.loops.nodes import Expr
from ptc.ops.dtypes import accumulation_type, to_torch
from ptc.ops.elementwise import load_as
from ptc.ops.protocol import Indices, LoweringContext, T, TensorValue, sample
from ptc.ops.registry import lowers, samples
from ptc.support.diagnostics import CompileError

aten = torch.ops.aten

Size = int | Index


def _per_dim(ctx: LoweringContext, values: Sequence[Size], rank: int) -> tuple[int, ...]:
    """One static number a spatial dim; a single one counts for all."""
    numbers = tuple(int(ctx.size(v)) for v in values)
    return numbers * rank if len(numbers) == 1 else numbers


def output_size(size: Index, kernel: Index, stride: int, padding: int, dilation: int) -> Index:
    """Positions of a window of `kernel` taps over a padded line."""
    reach = (kernel - 1) * dilation
    return (size + 2 * padding - reach - 1) // stride + 1


def transposed_output_size(
    size: Index, kernel: Index, stride: int, padding: int, dilation: int, extra: int
) -> Index:
    """The line that a plain convolution of the same numbers takes to `size` positions."""
    return (size - 1) * stride - 2 * padding + (kernel - 1) * dilation + extra + 1


def _require_float(x: TensorValue) -> None:
    if not x.dtype.is_float:
        raise CompileError(
            "PTC-O005",
            f"convolution of {to_torch(x.dtype)} tensors cannot be compiled",
            hint="convert the input and the weight to a floating point type",
        )


def _tap(
    ctx: LoweringContext, weight: TensorValue, depth: Index | None
) -> Callable[[Mapping[str, Index]], Expr]:
    """The weight at output channel `o`, input channel `c` of the group and tap `k0, k1, ...`. A
    transposed weight has the input channels of all groups first: `depth` of them a group."""

    def tap(v: Mapping[str, Index]) -> Expr:
        place = tuple(v[f"k{d}"] for d in range(len(weight.shape) - 2))
        if depth is None:
            return ctx.load(weight, (v["o"], v["c"], *place))
        each = weight.shape[1]
        return ctx.load(weight, (v["o"] // each * depth + v["c"], v["o"] % each, *place))

    return tap


@lowers(aten.convolution.default)
def lower_convolution(
    ctx: LoweringContext,
    x: TensorValue,
    weight: TensorValue,
    bias: TensorValue | None,
    stride: Sequence[Size],
    padding: Sequence[Size],
    dilation: Sequence[Size],
    transposed: bool,
    output_padding: Sequence[Size],
    groups: Size,
) -> TensorValue:
    """x[n, c, ...] with weight[o, c/groups, ...], or weight[c, o/groups, ...] when transposed."""
    rank = len(x.shape) - 2
    _require_float(x)
    steps, pads, gaps, extra = (
        _per_dim(ctx, v, rank) for v in (stride, padding, dilation, output_padding)
    )
    parts = int(ctx.size(groups))
    channels = weight.shape[1] * parts if transposed else weight.shape[0]
    kernel, image = weight.shape[2:], x.shape[2:]
    if transposed:
        numbers = zip(image, kernel, steps, pads, gaps, extra, strict=True)
        spatial = tuple(starmap(transposed_output_size, numbers))
    else:
        spatial = tuple(starmap(output_size, zip(image, kernel, steps, pads, gaps, strict=True)))
    depth = x.shape[1] // parts
    domain = {"n": x.shape[0], "o": channels, "c": depth, "ch": x.shape[1]}
    for name, sizes in (("y", spatial), ("k", kernel), ("p", image)):
        domain |= {f"{name}{d}": size for d, size in enumerate(sizes)}

    def finish(index: Indices, value: Expr) -> Expr:
        if bias is not None:
            value = b.add(value, load_as(ctx, bias, (index[1],), value.dtype))
        return b.cast(value, x.dtype)

    return ctx.template(
        f"conv{rank}d",
        domain,
        {
            "x": lambda v: ctx.load(x, (v["n"], v["ch"], *(v[f"p{d}"] for d in range(rank)))),
            "w": _tap(ctx, weight, depth if transposed else None),
        },
        (x.shape[0], channels, *spatial),
        x.dtype,
        out_vars=("n", "o", *(f"y{d}" for d in range(rank))),
        accumulate=accumulation_type(x.dtype),
        attrs={
            "stride": steps,
            "padding": pads,
            "dilation": gaps,
            "groups": parts,
            "transposed": transposed,
            "output_padding": extra,
        },
        epilogue=finish,
    )


# --- samples ------------------------------------------------------------------------------------


def _plain(
    x: str,
    w: str,
    bias: str | None = None,
    stride: Sequence[int] = (1,),
    padding: Sequence[int] = (0,),
    dilation: Sequence[int] = (1,),
    groups: int = 1,
    layout: str = "contiguous",
) -> None:
    samples(
        aten.convolution.default,
        sample(
            T(x, layout=layout), T(w), None if bias is None else T(bias), list(stride),
            list(padding), list(dilation), False, [0] * len(stride), groups,
        ),
    )  # fmt: skip


def _transposed(
    x: str,
    w: str,
    bias: str | None = None,
    stride: Sequence[int] = (1,),
    padding: Sequence[int] = (0,),
    dilation: Sequence[int] = (1,),
    extra: Sequence[int] = (0,),
    groups: int = 1,
) -> None:
    samples(
        aten.convolution.default,
        sample(
            T(x), T(w), None if bias is None else T(bias), list(stride), list(padding),
            list(dilation), True, list(extra), groups,
        ),
    )  # fmt: skip


_plain("f32[2,3,7,6]", "f32[4,3,3,3]", "f32[4]", (1, 1), (1, 1), (1, 1))
_plain("f32[1,4,9,9]", "f32[6,2,3,2]", None, (2, 3), (1, 0), (1, 1), 2)
_plain("f32[2,4,9,8]", "f32[4,1,3,3]", "f32[4]", (2, 2), (1, 1), (1, 1), 4)
_plain("f32[1,3,11,9]", "f32[2,3,3,3]", "f32[2]", (1, 1), (2, 2), (2, 2))
_plain("f32[2,8,5,5]", "f32[4,8,1,1]", "f32[4]", (1, 1), (0, 0), (1, 1))
_plain("f32[1,4,8,8]", "f32[8,2,2,2]", None, (2, 2), (0, 0), (1, 1), 2, "channels_last")
_plain("f32[2,3,10]", "f32[4,3,3]", "f32[4]", (2,), (1,), (1,))
_plain("f32[1,2,5,6,4]", "f32[3,2,2,3,2]", "f32[3]", (1, 2, 1), (1, 1, 0), (1, 1, 1))
_plain("f64[1,2,5,5]", "f64[3,2,3,3]", "f64[3]", (1, 1), (0, 0), (1, 1))
_plain("bf16[1,4,6,6]", "bf16[3,4,3,3]", "bf16[3]", (1, 1), (1, 1), (1, 1))
_plain("f16[1,4,6,6]", "f16[3,4,3,3]", "f16[3]", (1, 1), (1, 1), (1, 1))
_transposed("f32[2,3,4,5]", "f32[3,4,3,3]", "f32[4]", (2, 2), (1, 1), (1, 1), (1, 1))
_transposed("f32[1,4,4,4]", "f32[4,3,2,2]", "f32[6]", (2, 2), (0, 0), (1, 1), (0, 0), 2)
_transposed("f32[1,2,6]", "f32[2,3,4]", None, (3,), (1,), (2,), (2,))
_transposed(
    "f32[1,2,3,4,3]", "f32[2,2,2,3,2]", "f32[2]", (1, 2, 2), (0, 1, 1), (1, 1, 1), (0, 1, 0)
)
_transposed("bf16[1,3,4,4]", "bf16[3,2,3,3]", "bf16[2]", (1, 1), (1, 1), (1, 1), (0, 0))
_plain("f32[2,19,13,15]", "f32[35,19,3,3]", "f32[35]", (1, 1), (1, 1), (1, 1))
_plain("f32[1,33,14,14]", "f32[70,33,1,1]", None, (1, 1), (0, 0), (1, 1))
_plain("f32[1,3,33,31]", "f32[17,3,7,7]", None, (2, 2), (3, 3), (1, 1))
_plain("f32[1,37,15,14]", "f32[37,1,3,3]", "f32[37]", (1, 1), (1, 1), (1, 1), 37)
_plain("f32[1,37,15,14]", "f32[37,1,5,5]", None, (2, 2), (2, 2), (1, 1), 37, "channels_last")
_plain("f32[2,24,9,9]", "f32[48,12,3,3]", None, (2, 2), (1, 1), (1, 1), 2)
_plain("f32[2,6,20]", "f32[19,6,3]", "f32[19]", (1,), (1,), (1,))
_transposed("f32[1,18,7,6]", "f32[18,9,2,2]", "f32[9]", (2, 2), (0, 0), (1, 1), (0, 0))
