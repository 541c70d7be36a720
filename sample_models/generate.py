"""Greedy generation with a stop token and a key/value cache, in plain Python, over the sample Llama
and the sample GPT."""

import torch
from gpt import GPT, GPTConfig
from llama import Llama, rotate
from torch import nn
from torch.nn import functional as F


class LlamaSteps(nn.Module):
    """A Llama that reads some tokens at a time: the cache holds keys and values of each layer."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def start(self):
        return [None] * len(self.model.layers)

    def forward(self, ids, position, cache):
        model = self.model
        cos, sin = model.rotary(position + torch.arange(ids.shape[1]))
        x = model.embed(ids)
        for number, layer in enumerate(model.layers):
            h = layer.attention_norm(x)
            x = x + self.attend(layer.attention, h, cos, sin, number, cache)
            x = x + layer.feed_forward(layer.feed_norm(x))
        return model.head(model.norm(x[:, -1]))

    def attend(self, attention, x, cos, sin, number, cache):
        batch, length, _ = x.shape
        q = attention.q(x).view(batch, length, attention.heads, attention.dim).transpose(1, 2)
        k = attention.k(x).view(batch, length, attention.kv_heads, attention.dim).transpose(1, 2)
        v = attention.v(x).view(batch, length, attention.kv_heads, attention.dim).transpose(1, 2)
        q, k = rotate(q, cos, sin), rotate(k, cos, sin)
        if cache[number] is not None:
            k = torch.cat((cache[number][0], k), dim=2)
            v = torch.cat((cache[number][1], v), dim=2)
        cache[number] = (k, v)
        groups = attention.heads // attention.kv_heads
        k = k.repeat_interleave(groups, dim=1)
        v = v.repeat_interleave(groups, dim=1)
        out = F.scaled_dot_product_attention(q, k, v, is_causal=length > 1)
        return attention.o(out.transpose(1, 2).reshape(batch, length, -1))


class GPTSteps(nn.Module):
    """A GPT that reads some tokens at a time."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def start(self):
        return [None] * len(self.model.blocks)

    def forward(self, ids, position, cache):
        model = self.model
        x = model.tokens(ids) + model.positions(position + torch.arange(ids.shape[1]))
        for number, block in enumerate(model.blocks):
            x = x + self.attend(block.attention, block.norm1(x), number, cache)
            x = x + block.mlp(block.norm2(x))
        return model.head(model.norm(x[:, -1]))

    def attend(self, attention, x, number, cache):
        batch, length, width = x.shape
        q, k, v = attention.qkv(x).chunk(3, dim=-1)
        q, k, v = (t.view(batch, length, attention.heads, -1).transpose(1, 2) for t in (q, k, v))
        if cache[number] is not None:
            k = torch.cat((cache[number][0], k), dim=2)
            v = torch.cat((cache[number][1], v), dim=2)
        cache[number] = (k, v)
        out = F.scaled_dot_product_attention(q, k, v, is_causal=length > 1)
        return attention.out(out.transpose(1, 2).reshape(batch, length, width))


class Generator(nn.Module):
    """`generator(prompt)` gives the tokens that follow, up to the stop token or `most` of them."""

    def __init__(self, steps, stop, most=24):
        super().__init__()
        self.steps = steps
        self.stop = stop
        self.most = most

    def forward(self, prompt):
        cache = self.steps.start()
        scores = self.steps(prompt, 0, cache)
        position = prompt.shape[1]
        tokens = []
        while len(tokens) < self.most:
            token = scores[0].argmax()
            tokens.append(int(token))
            if token == self.stop:
                break
            scores = self.steps(token.reshape(1, 1), position, cache)
            position += 1
        return tokens


def generate_llama(stop=7, most=24):
    return Generator(LlamaSteps(Llama(layers=2, width=64, hidden=96)), stop, most)


def generate_gpt(stop=7, most=24):
    return Generator(GPTSteps(GPT(GPTConfig(layers=2, width=64))), stop, most)


example_inputs = (torch.arange(9).reshape(1, 9) * 7 % 512,)
