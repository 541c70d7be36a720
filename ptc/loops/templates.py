"""The contractions that get hand-designed kernels: index variables, operands, attributes, meaning.

A TemplateKernel's operands and epilogue are written over these variables. A conv input position
outside the image reads zero: the operand is never evaluated there.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Template:
    """One contraction.

    `out` are the output's index variables in order, `reduce` the summed ones; `operands` maps each
    operand to its variables; `optional` operands may be missing. `attrs` maps attribute names to
    their types' names. Variables of an operand that are neither in `out` nor `reduce` are its own
    (the position in a convolution's input).
    """

    name: str
    out: tuple[str, ...]
    reduce: tuple[str, ...]
    operands: Mapping[str, tuple[str, ...]]
    optional: tuple[str, ...] = ()
    attrs: Mapping[str, str] = field(default_factory=dict[str, str])

    @property
    def vars(self) -> tuple[str, ...]:
        """All variables that need an extent."""
        own = [v for names in self.operands.values() for v in names]
        return tuple(dict.fromkeys((*self.out, *self.reduce, *own)))


_CONV_ATTRS = {
    "stride": "ints",
    "padding": "ints",  # low side; the high side follows from the extents
    "dilation": "ints",
    "groups": "int",
    "transposed": "bool",
    "output_padding": "ints",
}


def _conv(rank: int) -> Template:
    """out[n, o, y...] = sum over c, k... of X(n, ch, p...) * W(o, c, k...)

    Forward: ch = (o // (O/groups)) * C + c with `c` in [0, C) the channel within the group, and
    p_d = y_d * stride_d - padding_d + k_d * dilation_d.
    Transposed: W is still indexed (o, c, k) with `o` the output channel and `c` the input channel
    within the group; the sum runs over k with (y_d + padding_d - k_d*dilation_d) divisible by
    stride_d and p_d that quotient.
    """
    y = tuple(f"y{d}" for d in range(rank))
    k = tuple(f"k{d}" for d in range(rank))
    p = tuple(f"p{d}" for d in range(rank))
    operands = {"x": ("n", "ch", *p), "w": ("o", "c", *k)}
    return Template(f"conv{rank}d", ("n", "o", *y), ("c", *k), operands, (), _CONV_ATTRS)


TEMPLATES: dict[str, Template] = {
    # out[b, m, n] = sum_k a(b, m, k) * b(b, k, n)
    "gemm": Template(
        "gemm", ("b", "m", "n"), ("k",), {"a": ("b", "m", "k"), "b": ("b", "k", "n")}, (), {}
    ),
    "conv1d": _conv(1),
    "conv2d": _conv(2),
    "conv3d": _conv(3),
    # weights[s] = softmax over s of (scale * sum_e q(b,h,i,e) * k(b,h,s,e) + mask(b,h,i,s));
    # out[b, h, i, d] = sum_s weights[s] * v(b, h, s, d). With `causal`, s <= i only. A mask operand
    # is float and added (a boolean mask is written as where(mask, 0, -inf)). Rows whose scores are
    # all -inf give 0, as torch's attention does (its softmax alone would give NaN).
    "attention": Template(
        "attention",
        ("b", "h", "i", "d"),
        ("s", "e"),
        {
            "q": ("b", "h", "i", "e"),
            "k": ("b", "h", "s", "e"),
            "v": ("b", "h", "s", "d"),
            "mask": ("b", "h", "i", "s"),
        },
        ("mask",),
        {"scale": "float", "causal": "bool"},
    ),
}
