"""What functions of torch's own Python library do, for the interpreter to trace. Only ever traced.

Each stands for a function that cannot be traced as it is written: it ends in C code, asks for data,
or works on objects that no graph holds.
"""

# pyright: reportPrivateUsage=false

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch.distributions import kl


class FunctionContext:
    """The `ctx` of a `torch.autograd.Function` whose backward never runs."""

    def __init__(self, needs_input_grad: tuple[bool, ...]) -> None:
        self.needs_input_grad = needs_input_grad
        self.saved_tensors: tuple[Any, ...] = ()

    def save_for_backward(self, *tensors: Any) -> None:
        self.saved_tensors = tensors

    def save_for_forward(self, *tensors: Any) -> None:
        """For forward-mode derivatives, which a graph has none of."""

    def mark_dirty(self, *tensors: Any) -> None:
        """For the gradient tape only."""

    def mark_non_differentiable(self, *tensors: Any) -> None:
        """For the gradient tape only."""

    def set_materialize_grads(self, value: bool) -> None:
        """For the gradient tape only."""


def apply_function(cls: Any, separate_setup: bool, *args: Any, **kwargs: Any) -> Any:
    """`cls.apply(*args)` of an autograd function where no gradient is recorded."""
    context = FunctionContext(tuple([False for _ in args]))
    with torch.no_grad():
        if not separate_setup:
            return cls.forward(context, *args, **kwargs)
        result = cls.forward(*args, **kwargs)
        cls.setup_context(context, args, result)
        return result


def checkpoint(
    function: Any,
    *args: Any,
    use_reentrant: Any = None,
    context_fn: Any = None,
    determinism_check: Any = None,
    debug: Any = None,
    early_stop: Any = None,
    preserve_rng_state: Any = None,
    **kwargs: Any,
) -> Any:
    """`torch.utils.checkpoint.checkpoint`: what is kept for the backward pass is the compiler's own
    choice; the values are those of a plain call."""
    return function(*args, **kwargs)


def kl_divergence(p: Any, q: Any) -> Any:
    """`torch.distributions.kl_divergence`, but for the dictionary in which torch keeps what it
    chose for two classes."""
    divergence = kl._dispatch_kl(type(p), type(q))
    if divergence is NotImplemented:
        raise NotImplementedError(
            f"No KL(p || q) is implemented for p type {p.__class__.__name__} "
            f"and q type {q.__class__.__name__}"
        )
    return divergence(p, q)


def detect_is_causal_mask(mask: Any, is_causal: Any = None, size: Any = None) -> bool:
    """nn.Transformer looks into a mask to learn whether it is the causal one. That is a hint that
    lets attention drop the mask; without it the mask is applied."""
    return is_causal is True


def transformer_encoder(
    self: Any,
    src: Any,
    mask: Any = None,
    src_key_padding_mask: Any = None,
    is_causal: Any = None,
) -> Any:
    """`nn.TransformerEncoder.forward`. In eager, inference on padded batches runs on nested tensors
    if all padding is at the end; rows of padding are then zero after the last layer. Here the
    padded batch is computed and those rows are cleared."""
    padding = F._canonical_mask(
        mask=src_key_padding_mask,
        mask_name="src_key_padding_mask",
        other_type=F._none_or_dtype(mask),
        other_name="mask",
        target_type=src.dtype,
    )
    given = F._canonical_mask(
        mask=mask,
        mask_name="mask",
        other_type=None,
        other_name="",
        target_type=src.dtype,
        check_other=False,
    )
    output = src
    for layer in self.layers:
        output = layer(
            output, src_mask=given, is_causal=is_causal is True, src_key_padding_mask=padding
        )
    if given is None and padding is not None and _runs_nested(self, src):
        kept = padding == 0
        at_the_end = (kept.long().cumprod(1).bool() == kept).all()
        output = output.masked_fill((at_the_end & ~kept).unsqueeze(-1), 0.0)
    if self.norm is not None:
        output = self.norm(output)
    return output


def eager_fast_path() -> bool:
    """Whether eager may run encoder layers in one fused operator. Answered by its handler:
    captured programs are told that they may not."""
    raise NotImplementedError


def associative_scan(
    combine_fn: Any, xs: Any, dim: int, reverse: bool = False, combine_mode: str = "pointwise"
) -> Any:
    """All prefixes of `xs` along `dim` under an associative function. In round k each position
    covers the 2**k positions before it, so it takes log2 of the length in rounds."""
    single = isinstance(xs, torch.Tensor)
    parts = [xs] if single else list(xs)
    if reverse:
        parts = [part.flip([dim]) for part in parts]
    length = parts[0].shape[dim]
    shift = 1
    while shift < length:
        earlier = [part.narrow(dim, 0, length - shift) for part in parts]
        later = [part.narrow(dim, shift, length - shift) for part in parts]
        if single:
            joined = [combine_fn(earlier[0], later[0])]
        else:
            joined = list(combine_fn(type(xs)(earlier), type(xs)(later)))
        parts = [
            torch.cat([part.narrow(dim, 0, shift), new], dim)
            for part, new in zip(parts, joined, strict=True)
        ]
        shift = shift * 2
    if reverse:
        parts = [part.flip([dim]) for part in parts]
    return parts[0] if single else type(xs)(parts)


def _runs_nested(encoder: Any, src: Any) -> bool:
    """Whether eager would use nested tensors, but for the padding's place."""
    layer = encoder.layers[0]
    if not eager_fast_path() or torch.is_autocast_enabled():
        return False
    if not getattr(encoder, "use_nested_tensor", False) or layer.training or src.dim() != 3:
        return False
    if not torch.is_grad_enabled():
        return True
    attention = layer.self_attn
    tensors = [
        src,
        attention.in_proj_weight, attention.in_proj_bias,
        attention.out_proj.weight, attention.out_proj.bias,
        layer.norm1.weight, layer.norm1.bias, layer.norm2.weight, layer.norm2.bias,
        layer.linear1.weight, layer.linear1.bias, layer.linear2.weight, layer.linear2.bias,
    ]  # fmt: skip
    return not any(tensor.requires_grad for tensor in tensors)
