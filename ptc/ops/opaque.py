"""The opaque operators `torch.ops.ptc.*`: what functionalisation must not take apart.

`linear`, attention, RMS norm and the recurrent networks would otherwise reach the aten graph as
dozens of small calls (or as CPU library calls). Each is declared with a fake implementation that is
safe for symbolic sizes and an eager one that calls torch. `replacements` maps the torch functions a
captured graph may hold to the wrappers here. Knows nothing of lowering: see `matmul`, `attention`,
`norm` and `rnn`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from ptc.graph import random_operators

NAMESPACE = "ptc"

_RNN_TAIL = "bool has_biases, int num_layers, bool bidirectional, bool batch_first"
_SCHEMAS: Mapping[str, str] = {
    "linear": "(Tensor x, Tensor weight, Tensor? bias=None) -> Tensor",
    "sdpa": "(Tensor query, Tensor key, Tensor value, Tensor? attn_mask=None, "
    "float dropout_p=0.0, bool is_causal=False, float? scale=None, bool enable_gqa=False) "
    "-> Tensor",
    "rms_norm": "(Tensor x, SymInt[] normalized_shape, Tensor? weight=None, float? eps=None) "
    "-> Tensor",
    "lstm": f"(Tensor x, Tensor h0, Tensor c0, Tensor[] weights, {_RNN_TAIL}) "
    "-> (Tensor, Tensor, Tensor)",
    "gru": f"(Tensor x, Tensor h0, Tensor[] weights, {_RNN_TAIL}) -> (Tensor, Tensor)",
    "rnn": f"(Tensor x, Tensor h0, Tensor[] weights, str nonlinearity, {_RNN_TAIL}) "
    "-> (Tensor, Tensor)",
}


# --- eager implementations ----------------------------------------------------------------------


def _eager_linear(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    return torch.ops.aten.linear.default(x, weight, bias)


def _eager_sdpa(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Tensor:
    return torch.ops.aten.scaled_dot_product_attention.default(
        query, key, value, attn_mask, dropout_p, is_causal, scale=scale, enable_gqa=enable_gqa
    ).contiguous()


def _eager_rms_norm(
    x: Tensor,
    normalized_shape: Sequence[int],
    weight: Tensor | None = None,
    eps: float | None = None,
) -> Tensor:
    return torch.ops.aten.rms_norm.default(x, list(normalized_shape), weight, eps)


def _eager_lstm(
    x: Tensor,
    h0: Tensor,
    c0: Tensor,
    weights: Sequence[Tensor],
    has_biases: bool,
    num_layers: int,
    bidirectional: bool,
    batch_first: bool,
) -> tuple[Tensor, ...]:
    results = torch.ops.aten.lstm.input(
        x, [h0, c0], list(weights), has_biases, num_layers, 0.0, False, bidirectional, batch_first
    )
    return tuple(result.contiguous() for result in results)


def _eager_gru(
    x: Tensor,
    h0: Tensor,
    weights: Sequence[Tensor],
    has_biases: bool,
    num_layers: int,
    bidirectional: bool,
    batch_first: bool,
) -> tuple[Tensor, ...]:
    results = torch.ops.aten.gru.input(
        x, h0, list(weights), has_biases, num_layers, 0.0, False, bidirectional, batch_first
    )
    return tuple(result.contiguous() for result in results)


def _eager_rnn(
    x: Tensor,
    h0: Tensor,
    weights: Sequence[Tensor],
    nonlinearity: str,
    has_biases: bool,
    num_layers: int,
    bidirectional: bool,
    batch_first: bool,
) -> tuple[Tensor, ...]:
    aten = torch.ops.aten
    call = aten.rnn_relu.input if nonlinearity == "relu" else aten.rnn_tanh.input
    results = call(
        x, h0, list(weights), has_biases, num_layers, 0.0, False, bidirectional, batch_first
    )
    return tuple(result.contiguous() for result in results)


# --- fake implementations -----------------------------------------------------------------------


def _fake_linear(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    torch._check(  # pyright: ignore[reportPrivateUsage]  # documented, in spite of its name
        x.shape[-1] == weight.shape[1],
        lambda: f"linear: {x.shape[-1]} input features, the weight has {weight.shape[1]}",
    )
    return x.new_empty((*x.shape[:-1], weight.shape[0]))


def _fake_sdpa(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Tensor:
    batch = query.shape[:-2]
    if not enable_gqa:
        batch = torch.broadcast_shapes(batch, key.shape[:-2], value.shape[:-2])
    return query.new_empty((*batch, query.shape[-2], value.shape[-1]))


def _fake_rms_norm(
    x: Tensor,
    normalized_shape: Sequence[int],
    weight: Tensor | None = None,
    eps: float | None = None,
) -> Tensor:
    dtype = x.dtype if weight is None else torch.promote_types(x.dtype, weight.dtype)
    return x.new_empty(x.shape, dtype=dtype)


def _fake_output(x: Tensor, h0: Tensor, bidirectional: bool) -> Tensor:
    """Either memory order has the same leading two sizes as the input."""
    return x.new_empty((x.shape[0], x.shape[1], h0.shape[2] * (2 if bidirectional else 1)))


def _fake_lstm(
    x: Tensor,
    h0: Tensor,
    c0: Tensor,
    weights: Sequence[Tensor],
    has_biases: bool,
    num_layers: int,
    bidirectional: bool,
    batch_first: bool,
) -> tuple[Tensor, ...]:
    return _fake_output(x, h0, bidirectional), h0.new_empty(h0.shape), c0.new_empty(c0.shape)


def _fake_gru(
    x: Tensor,
    h0: Tensor,
    weights: Sequence[Tensor],
    has_biases: bool,
    num_layers: int,
    bidirectional: bool,
    batch_first: bool,
) -> tuple[Tensor, ...]:
    return _fake_output(x, h0, bidirectional), h0.new_empty(h0.shape)


def _fake_rnn(
    x: Tensor,
    h0: Tensor,
    weights: Sequence[Tensor],
    nonlinearity: str,
    has_biases: bool,
    num_layers: int,
    bidirectional: bool,
    batch_first: bool,
) -> tuple[Tensor, ...]:
    return _fake_output(x, h0, bidirectional), h0.new_empty(h0.shape)


#: What each operator computes, in operators of torch's own.
EAGER: Mapping[str, Callable[..., Any]] = {
    "linear": _eager_linear,
    "sdpa": _eager_sdpa,
    "rms_norm": _eager_rms_norm,
    "lstm": _eager_lstm,
    "gru": _eager_gru,
    "rnn": _eager_rnn,
}
_FAKE: Mapping[str, Callable[..., Any]] = {
    "linear": _fake_linear,
    "sdpa": _fake_sdpa,
    "rms_norm": _fake_rms_norm,
    "lstm": _fake_lstm,
    "gru": _fake_gru,
    "rnn": _fake_rnn,
}


def _register() -> torch.library.Library | None:
    """Declare the operators, once in a process: a second copy of this module finds them there."""
    if hasattr(getattr(torch.ops, NAMESPACE), "linear"):
        return None
    library = torch.library.Library(NAMESPACE, "FRAGMENT")
    for name, schema in _SCHEMAS.items():
        library.define(name + schema)
        library.impl(name, EAGER[name], "CompositeExplicitAutograd")
        torch.library.register_fake(f"{NAMESPACE}::{name}", _FAKE[name], lib=library)
    return library


# The library object owns the registrations: they go when it is collected.
_LIBRARY = _register()

# Where rules find them: importing the name makes sure that they are declared, those that draw
# random numbers among them.
OPERATORS = random_operators.OPERATORS


# --- replacements -------------------------------------------------------------------------------


def linear(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """`torch.nn.functional.linear`. Vector weights are a matrix-vector product and stay torch's."""
    if weight.dim() != 2 or input.dim() == 0:
        return F.linear(input, weight, bias)
    return torch.ops.ptc.linear(input, weight, bias)


def scaled_dot_product_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Tensor:
    """`torch.nn.functional.scaled_dot_product_attention`."""
    if query.dim() < 2 or query.is_nested:
        return F.scaled_dot_product_attention(
            query, key, value, attn_mask, dropout_p, is_causal, scale=scale, enable_gqa=enable_gqa
        )
    return torch.ops.ptc.sdpa(query, key, value, attn_mask, dropout_p, is_causal, scale, enable_gqa)


def rms_norm(
    input: Tensor,
    normalized_shape: Sequence[int],
    weight: Tensor | None = None,
    eps: float | None = None,
) -> Tensor:
    """`torch.nn.functional.rms_norm`."""
    return torch.ops.ptc.rms_norm(input, list(normalized_shape), weight, eps)


def lstm(*args: Any) -> tuple[Tensor, Tensor, Tensor]:
    """`torch.lstm`, for padded batches; packed sequences stay torch's."""
    if not _is_padded(args) or _drops(args):
        return torch.lstm(*args)
    x, hidden, weights, has_biases, layers, _, _, bidirectional, batch_first = args
    return torch.ops.ptc.lstm(
        x, hidden[0], hidden[1], list(weights), has_biases, layers, bidirectional, batch_first
    )


def gru(*args: Any) -> tuple[Tensor, Tensor]:
    """`torch.gru`, for padded batches."""
    if not _is_padded(args) or _drops(args):
        return torch.gru(*args)
    x, hidden, weights, has_biases, layers, _, _, bidirectional, batch_first = args
    return torch.ops.ptc.gru(
        x, hidden, list(weights), has_biases, layers, bidirectional, batch_first
    )


def rnn_tanh(*args: Any) -> tuple[Tensor, Tensor]:
    """`torch.rnn_tanh`, for padded batches."""
    if not _is_padded(args) or _drops(args):
        return torch.rnn_tanh(*args)
    return _plain_rnn(args, "tanh")


def rnn_relu(*args: Any) -> tuple[Tensor, Tensor]:
    """`torch.rnn_relu`, for padded batches."""
    if not _is_padded(args) or _drops(args):
        return torch.rnn_relu(*args)
    return _plain_rnn(args, "relu")


def _plain_rnn(args: tuple[Any, ...], nonlinearity: str) -> tuple[Tensor, Tensor]:
    x, hidden, weights, has_biases, layers, _, _, bidirectional, batch_first = args
    return torch.ops.ptc.rnn(
        x, hidden, list(weights), nonlinearity, has_biases, layers, bidirectional, batch_first
    )


def _is_padded(args: tuple[Any, ...]) -> bool:
    """Padded calls pass has_biases fourth; packed ones a list of weights there."""
    return len(args) == 9 and isinstance(args[3], bool)


def _drops(args: tuple[Any, ...]) -> bool:
    """Whether dropout between layers is active."""
    return args[4] > 1 and args[5] > 0 and bool(args[6])


def one_hot(tensor: Tensor, num_classes: int = -1) -> Tensor:
    """`torch.nn.functional.one_hot` with a given number of classes; without it, it reads data.

    A scatter checks the classes when it runs; torch's own form reads the smallest and the largest
    one as Python numbers.
    """
    if num_classes < 1:
        return F.one_hot(tensor, num_classes)
    zeros = torch.zeros((*tensor.shape, num_classes), dtype=torch.int64, device=tensor.device)
    return zeros.scatter(-1, tensor.unsqueeze(-1), 1)


def max_pool1d(
    input: Tensor,
    kernel_size: Any,
    stride: Any = (),
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """`max_pool1d` as a pool of images one high: torch's own form fixes dynamic sizes."""
    kernel, shift, spread = (_only(v) for v in (kernel_size, padding, dilation))
    step = kernel if stride is None or stride == [] or stride == () else _only(stride)
    image = input.unsqueeze(-2)
    pooled: Any = F.max_pool2d(
        image, (1, kernel), (1, step), (0, shift), (1, spread), ceil_mode, return_indices
    )
    return tuple(p.squeeze(-2) for p in pooled) if return_indices else pooled.squeeze(-2)


def _only(value: Any) -> int:
    return value[0] if isinstance(value, (tuple, list)) else value


def cdist(x1: Tensor, x2: Tensor, p: float = 2.0, compute_mode: str | None = None) -> Tensor:
    """`torch.cdist` by differences, for any number of rows: torch's own form asks for more than 25
    rows, from which on it takes a matrix product that is less exact."""
    return torch.ops.aten._cdist_forward(x1, x2, p, None)


def batch_norm(*args: Any) -> Tensor:
    """`torch.batch_norm`, as the operator that says that it writes the running statistics: the one
    torch would take does not, and cannot be made functional."""
    x, weight, bias, mean, variance, training, momentum, epsilon = args[:8]
    aten = torch.ops.aten
    if mean is None:
        legit = aten._native_batch_norm_legit.no_stats
        return legit(x, weight, bias, training, momentum, epsilon)[0]
    legit = aten._native_batch_norm_legit.default
    return legit(x, weight, bias, mean, variance, training, momentum, epsilon)[0]


def replacements() -> Mapping[Any, Callable[..., Any]]:
    """Torch function -> the function to call in its place while functionalising."""
    return {
        F.linear: linear,
        torch.ops.aten.linear.default: linear,
        F.scaled_dot_product_attention: scaled_dot_product_attention,
        torch.ops.aten.scaled_dot_product_attention.default: scaled_dot_product_attention,
        F.rms_norm: rms_norm,
        torch.rms_norm: rms_norm,
        torch.ops.aten.rms_norm.default: rms_norm,
        F.one_hot: one_hot,
        torch.ops.aten.one_hot.default: one_hot,
        torch.batch_norm: batch_norm,
        torch.cdist: cdist,
        F.max_pool1d: max_pool1d,
        torch.max_pool1d: max_pool1d,
        torch.lstm: lstm,
        torch.gru: gru,
        torch.rnn_tanh: rnn_tanh,
        torch.rnn_relu: rnn_relu,
        torch.ops.aten.lstm.input: lstm,
        torch.ops.aten.gru.input: gru,
        torch.ops.aten.rnn_tanh.input: rnn_tanh,
        torch.ops.aten.rnn_relu.input: rnn_relu,
    }
