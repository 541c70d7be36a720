"""A small decoder in the style of Llama: RMS norm, rotary positions, grouped queries, SwiGLU."""

from dataclasses import dataclass

import torch
from torch import nn
from torch.nn import functional as F


@dataclass
class Config:
    vocabulary: int = 512
    width: int = 128
    hidden: int = 352
    layers: int = 3
    heads: int = 8
    kv_heads: int = 2
    theta: float = 10000.0
    eps: float = 1e-5


@dataclass
class DecoderOutput:
    logits: torch.Tensor
    hidden: torch.Tensor


class RMSNorm(nn.Module):
    def __init__(self, width, eps):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))
        self.eps = eps

    def forward(self, x):
        scale = torch.rsqrt(x.float().pow(2).mean(-1, keepdim=True) + self.eps)
        return (x.float() * scale).type_as(x) * self.weight


class RotaryEmbedding(nn.Module):
    def __init__(self, dim, theta):
        super().__init__()
        inverse = 1.0 / theta ** (torch.arange(0, dim, 2).float() / dim)
        self.register_buffer("inverse", inverse, persistent=False)

    def forward(self, positions):
        angles = torch.outer(positions.float(), self.inverse)
        angles = torch.cat((angles, angles), dim=-1)
        return angles.cos(), angles.sin()


def rotate(x, cos, sin):
    left, right = x.chunk(2, dim=-1)
    return x * cos + torch.cat((-right, left), dim=-1) * sin


class Attention(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.heads, self.kv_heads = config.heads, config.kv_heads
        self.dim = config.width // config.heads
        self.q = nn.Linear(config.width, config.heads * self.dim, bias=False)
        self.k = nn.Linear(config.width, config.kv_heads * self.dim, bias=False)
        self.v = nn.Linear(config.width, config.kv_heads * self.dim, bias=False)
        self.o = nn.Linear(config.heads * self.dim, config.width, bias=False)

    def forward(self, x, cos, sin):
        batch, length, _ = x.shape
        q = self.q(x).view(batch, length, self.heads, self.dim).transpose(1, 2)
        k = self.k(x).view(batch, length, self.kv_heads, self.dim).transpose(1, 2)
        v = self.v(x).view(batch, length, self.kv_heads, self.dim).transpose(1, 2)
        q, k = rotate(q, cos, sin), rotate(k, cos, sin)
        groups = self.heads // self.kv_heads
        k = k.repeat_interleave(groups, dim=1)
        v = v.repeat_interleave(groups, dim=1)
        out = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.o(out.transpose(1, 2).reshape(batch, length, -1))


class FeedForward(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.gate = nn.Linear(config.width, config.hidden, bias=False)
        self.up = nn.Linear(config.width, config.hidden, bias=False)
        self.down = nn.Linear(config.hidden, config.width, bias=False)

    def forward(self, x):
        return self.down(F.silu(self.gate(x)) * self.up(x))


class Layer(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.attention_norm = RMSNorm(config.width, config.eps)
        self.attention = Attention(config)
        self.feed_norm = RMSNorm(config.width, config.eps)
        self.feed_forward = FeedForward(config)

    def forward(self, x, cos, sin):
        x = x + self.attention(self.attention_norm(x), cos, sin)
        return x + self.feed_forward(self.feed_norm(x))


class Llama(nn.Module):
    def __init__(self, **settings):
        super().__init__()
        config = Config(**settings)
        self.embed = nn.Embedding(config.vocabulary, config.width)
        self.rotary = RotaryEmbedding(config.width // config.heads, config.theta)
        self.layers = nn.ModuleList(Layer(config) for _ in range(config.layers))
        self.norm = RMSNorm(config.width, config.eps)
        self.head = nn.Linear(config.width, config.vocabulary, bias=False)

    def forward(self, ids):
        cos, sin = self.rotary(torch.arange(ids.shape[1], device=ids.device))
        x = self.embed(ids)
        for layer in self.layers:
            x = layer(x, cos, sin)
        hidden = self.norm(x)
        return DecoderOutput(logits=self.head(hidden), hidden=hidden)


example_inputs = (torch.arange(48).reshape(1, 48) * 7 % 512,)
