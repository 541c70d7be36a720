"""Features of torch that a program may use without breaking the graph."""

from __future__ import annotations

import dataclasses
import math
import warnings
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.checkpoint import checkpoint

from tests.capture.test_torch_segments import same
from tests.capture.torch_capture import TorchDispatcher

torch.manual_seed(0)
x = torch.randn(2, 5, 8)
FEATURES: list[tuple[Any, tuple[Any, ...]]] = []


def feature(*args: Any) -> Any:
    def register(function: Any) -> Any:
        FEATURES.append((function, args))
        return function

    return register


lstm = nn.LSTM(8, 6, 2, batch_first=True).eval()
gru = nn.GRU(8, 6, bidirectional=True).eval()
mha = nn.MultiheadAttention(8, 2, batch_first=True).eval()
enc = nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), 2).eval()
dec = nn.TransformerDecoder(nn.TransformerDecoderLayer(8, 2, 16, batch_first=True), 1).eval()


@feature(x)
def lstm_(x):
    return lstm(x)[0], gru(x)[1]


@feature(x)
def mha_(x):
    return mha(x, x, x)


@feature(x)
def enc_(x):
    return enc(x)


@feature(x)
def dec_(x):
    return dec(x, x)


lin = nn.Linear(8, 8)


@feature(x)
def ckpt_(x):
    return checkpoint(lambda y: torch.relu(lin(y)), x, use_reentrant=False)


wn = nn.utils.parametrizations.weight_norm(nn.Linear(8, 4))
sn = nn.utils.parametrizations.spectral_norm(nn.Linear(8, 4)).eval()


@feature(x)
def wn_(x):
    return wn(x)


@feature(x)
def sn_(x):
    return sn(x)


class PL(nn.Module):
    def __init__(s):
        super().__init__()
        s.p = nn.ParameterList([nn.Parameter(torch.randn(8)) for _ in range(3)])
        s.d = nn.ParameterDict({"a": nn.Parameter(torch.randn(8))})
        s.md = nn.ModuleDict({"l": nn.Linear(8, 8)})

    def forward(s, x):
        for p in s.p:
            x = x + p
        for _, v in s.d.items():
            x = x * v
        for _, m in s.md.items():
            x = m(x)
        return x, sum(p.numel() for p in s.parameters()), [n for n, _ in s.named_parameters()]


pl = PL()


@feature(x)
def pl_(x):
    return pl(x)


@feature(torch.randn(1, 3, 8, 8))
def interp_(x):
    y = F.interpolate(x, scale_factor=2, mode="bilinear", align_corners=False)
    g = F.affine_grid(torch.eye(2, 3)[None], (1, 3, 8, 8), align_corners=False)
    return (
        y,
        F.grid_sample(x, g, align_corners=False),
        F.pad(x, (1, 1, 2, 2)),
        F.unfold(x, 2),
        F.max_pool2d(x, 2),
        F.adaptive_avg_pool2d(x, 1),
    )


@feature(x)
def complex_(x):
    return torch.view_as_real(torch.fft.fft(x)), torch.polar(x.abs(), x).real


@feature(x)
def tensor_ctor_(x):
    return (
        torch.tensor([1.0, 2.0]),
        torch.arange(x.shape[1]),
        torch.zeros(x.size(0), 3, device=x.device, dtype=x.dtype),
        torch.full((2,), math.pi),
        x.new_tensor([3]),
        torch.as_tensor(2.5),
    )


@dataclasses.dataclass
class In:
    a: torch.Tensor
    b: torch.Tensor | None = None


@feature(In(x))
def dc_(i):
    return i.a * 2 if i.b is None else i.b


@feature(x)
def sdpa_(x):
    q = x[:, None]
    return F.scaled_dot_product_attention(q, q, q, is_causal=True)


@feature(x)
def dropout_train_(x):
    return F.dropout(x, 0.0, True)


@feature(x)
def meshgrid_(x):
    a, b = torch.meshgrid(torch.arange(3), torch.arange(4), indexing="ij")
    return (
        torch.stack([a, b]),
        torch.tensor_split(x, 2),
        torch.topk(x, 2),
        torch.sort(x),
        x.split([2, 3], 1),
        torch.broadcast_tensors(x, x[0]),
    )


@feature(x)
def warn_(x):
    warnings.warn("hey", stacklevel=1)
    return x + 1


@feature(x)
def einsum_(x):
    return (
        torch.einsum("bij,bkj->bik", x, x),
        x.mT,
        x.H if x.dim() == 2 else x.transpose(0, 1),
        torch.linalg.norm(x),
        x.norm(dim=-1),
        x.std(),
        x.var(dim=1, keepdim=True),
        x.flatten(1).unflatten(1, (5, 8)),
    )


class LazyM(nn.Module):
    def __init__(s):
        super().__init__()
        s.cache = {}

    def forward(s, x):
        k = x.shape[1]
        if k not in s.cache:
            s.cache[k] = torch.arange(k)
        return x.sum(-1) + s.cache[k]


lm = LazyM()


@feature(x)
def cache_(x):
    return lm(x)


hooked = nn.Linear(8, 8)
hooked.register_forward_pre_hook(lambda m, a: (a[0] * 2,))
hooked.register_forward_hook(lambda m, a, o: o + 1)


@feature(x)
def hook_(x):
    return hooked(x)


@feature(x)
def loss_(x):
    return (
        F.cross_entropy(x.view(-1, 8), torch.zeros(10, dtype=torch.long)),
        F.mse_loss(x, x * 2),
        nn.BCEWithLogitsLoss()(x, x.sigmoid()),
        nn.CrossEntropyLoss(label_smoothing=0.1)(x.view(-1, 8), torch.zeros(10, dtype=torch.long)),
    )


@feature(x)
def isinst_(x):
    return (
        isinstance(x, torch.Tensor),
        torch.is_tensor(x),
        x.is_contiguous(),
        x.type(),
        x.dtype == torch.float32,
        x.device == torch.device("cpu"),
        torch.is_floating_point(x),
        x.shape == (2, 5, 8),
        x.size() == torch.Size([2, 5, 8]),
    )


@feature(x)
def index_(x):
    m = x > 0
    y = x.clone()
    y[m] = 0
    y[0, 1:3] = 1.0
    y[..., -1] += 2
    i = torch.tensor([0, 1])
    y[i, i] = 5
    return (
        y,
        x[i],
        x[:, None, i],
        x[0][torch.tensor([True, False, True, False, True])] if False else x[0, i],
    )


@feature(x)
def str_(x):
    return (
        f"{x.shape} {x.dtype} {tuple(x.shape)}",
        str(x.device),
        repr(x.dtype),
        x.dtype.is_floating_point,
        torch.finfo(x.dtype).min,
    )


@feature(x)
def inplace_fns_(x):
    y = x.clone()
    F.relu(y, inplace=True)
    torch.add(y, 1, out=y)
    y.copy_(x)
    y.fill_(2)
    y.clamp_(0, 1)
    nn.init.zeros_(y)
    return y


@feature(x)
def assert_(x):
    assert x.dim() == 3, "bad"
    torch._assert(x.dim() == 3, "x")
    torch._check(x.shape[0] > 0)
    return x


@feature(torch.randn(3, 4, 4))
def linalg_(x):
    return (
        torch.linalg.inv_ex(x).inverse,
        torch.linalg.det(x),
        torch.bmm(x, x),
        x.tril(),
        torch.cumsum(x, 0),
        torch.cat([x, x]),
        torch.roll(x, 1, 0),
        x.flip(0),
        torch.cdist(x, x),
        x.repeat(2, 1, 1),
        torch.nn.functional.one_hot(torch.tensor([0, 1]), 3),
    )


@feature(x)
def numpy_scalars_(x):
    rate = np.float64(0.25)
    return x * np.sqrt(4.0) + int(np.ceil(3.2)) + rate, float(rate), rate * 2 if rate > 0 else x


@pytest.mark.parametrize(("function", "args"), FEATURES, ids=[f.__name__ for f, _ in FEATURES])
def test_feature_is_captured_whole(function: Any, args: tuple[Any, ...]) -> None:
    dispatcher = TorchDispatcher()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(2):
            lm.cache.clear()
            torch.manual_seed(1)
            expected = function(*args)
            lm.cache.clear()
            torch.manual_seed(1)
            assert same(dispatcher(function)(*args), expected)
    assert not dispatcher.breaks, dispatcher.breaks[0]
    assert dispatcher.captures == 1
