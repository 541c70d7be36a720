"""Functions of TorchScript that the text calls, which torch compiles into the file with it.

Written in what is both Python and TorchScript. Operators of ptc's own in terms of aten's; numbers
and texts as Python has them.
"""

# TorchScript reads these annotations when it compiles a function; it has ints for dtypes.
# ruff: noqa: UP006, UP035, UP045
# pyright: reportCallIssue=false, reportArgumentType=false, reportUnnecessaryComparison=false

from typing import List, Optional, Tuple

import torch
from torch import Tensor

# --- operators ----------------------------------------------------------------------------------


def sdpa(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Optional[Tensor] = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: Optional[float] = None,
    enable_gqa: bool = False,
) -> Tensor:
    return torch.nn.functional.scaled_dot_product_attention(
        query, key, value, attn_mask, dropout_p, is_causal, scale=scale, enable_gqa=enable_gqa
    ).contiguous()


def lstm(
    x: Tensor,
    h0: Tensor,
    c0: Tensor,
    weights: List[Tensor],
    has_biases: bool,
    num_layers: int,
    bidirectional: bool,
    batch_first: bool,
) -> Tuple[Tensor, Tensor, Tensor]:
    results = torch.ops.aten.lstm(
        x, [h0, c0], weights, has_biases, num_layers, 0.0, False, bidirectional, batch_first
    )
    return results[0].contiguous(), results[1].contiguous(), results[2].contiguous()


def gru(
    x: Tensor,
    h0: Tensor,
    weights: List[Tensor],
    has_biases: bool,
    num_layers: int,
    bidirectional: bool,
    batch_first: bool,
) -> Tuple[Tensor, Tensor]:
    results = torch.ops.aten.gru(
        x, h0, weights, has_biases, num_layers, 0.0, False, bidirectional, batch_first
    )
    return results[0].contiguous(), results[1].contiguous()


def rnn(
    x: Tensor,
    h0: Tensor,
    weights: List[Tensor],
    nonlinearity: str,
    has_biases: bool,
    num_layers: int,
    bidirectional: bool,
    batch_first: bool,
) -> Tuple[Tensor, Tensor]:
    if nonlinearity == "relu":
        results = torch.ops.aten.rnn_relu(
            x, h0, weights, has_biases, num_layers, 0.0, False, bidirectional, batch_first
        )
    else:
        results = torch.ops.aten.rnn_tanh(
            x, h0, weights, has_biases, num_layers, 0.0, False, bidirectional, batch_first
        )
    return results[0].contiguous(), results[1].contiguous()


def real(x: Tensor) -> Tensor:
    return torch.ops.aten.clone(torch.ops.aten.real(x))


def imag(x: Tensor) -> Tensor:
    return torch.ops.aten.clone(torch.ops.aten.imag(torch.ops.aten.resolve_conj(x)))


def parts(x: Tensor) -> Tuple[Tensor, Tensor]:
    pairs = torch.ops.aten.view_as_real(torch.ops.aten.resolve_conj(x))
    return pairs.select(-1, 0).contiguous(), pairs.select(-1, 1).contiguous()


def fft(re: Tensor, im: Tensor, forward: bool, normalization: int) -> Tuple[Tensor, Tensor]:
    whole = torch.complex(re, im)
    return parts(torch.ops.aten._fft_c2c(whole, [re.dim() - 1], normalization, forward))


def rfft(x: Tensor, normalization: int) -> Tuple[Tensor, Tensor]:
    return parts(torch.ops.aten._fft_r2c(x, [x.dim() - 1], normalization, True))


def irfft(re: Tensor, im: Tensor, n: int, normalization: int) -> Tensor:
    whole = torch.complex(re, im)
    return torch.ops.aten._fft_c2r(whole, [re.dim() - 1], normalization, n).contiguous()


def mirror(half: Tensor, n: int, negated: bool) -> Tensor:
    last = half.size(-1)
    rest = torch.ops.aten.slice(half, -1, 1, n - last + 1).flip([-1])
    return torch.cat([half, torch.neg(rest) if negated else rest], -1)


def convert_element_type(x: Tensor, dtype: int) -> Tensor:
    return x.to(dtype, copy=True)


def iota(
    length: int,
    start: int,
    step: int,
    dtype: int,
    device: Optional[torch.device],
    requires_grad: bool,
) -> Tensor:
    return torch.arange(length, dtype=dtype, device=device) * step + start


# --- what a call has to fit ---------------------------------------------------------------------


def check_tensor(name: str, x: Tensor, dtype: int, rank: int):
    if x.dim() != rank:
        raise ValueError(f"{name} has {x.dim()} dimensions, the program was exported for {rank}")
    if x.dtype != dtype:
        raise ValueError(f"{name} has another dtype than the program was exported for")


def check_size(name: str, dim: int, size: int, wanted: int):
    if size != wanted:
        raise ValueError(f"dim {dim} of {name} is {size}, expected {wanted}")


def check_range(name: str, size: int, lower: int, upper: int):
    if size < lower or size > upper:
        raise ValueError(f"{name} is {size}, which is not in the range {lower} to {upper}")
