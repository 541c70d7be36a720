"""The models of the comparison: random weights, batch 1, nothing downloaded.

The standard ones are straight; the others have control flow that data decides.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import torch
from torch import nn

Example = tuple[nn.Module, tuple[Any, ...], dict[str, Any]]


def mlp() -> Example:
    """512-512-512-10 with ReLU, 16 rows."""
    model = nn.Sequential(
        nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 10)
    )
    return model, (torch.randn(16, 512),), {}


class _Block(nn.Module):
    def __init__(self, inputs: int, outputs: int, stride: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(outputs)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(outputs)
        self.shortcut = nn.Sequential()
        if stride != 1 or inputs != outputs:
            self.shortcut = nn.Sequential(
                nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs)
            )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = torch.relu(self.bn1(self.conv1(x)))
        return torch.relu(self.bn2(self.conv2(y)) + self.shortcut(x))


def resnet18() -> Example:
    """ResNet-18, one 224 x 224 image."""
    layers: list[nn.Module] = [
        nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(),
        nn.MaxPool2d(3, 2, 1),
    ]  # fmt: skip
    width = 64
    for outputs, stride in ((64, 1), (128, 2), (256, 2), (512, 2)):
        layers += [_Block(width, outputs, stride), _Block(outputs, outputs, 1)]
        width = outputs
    layers += [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, 1000)]
    return nn.Sequential(*layers), (torch.randn(1, 3, 224, 224),), {}


def bert_base() -> Example:
    """BERT-base, 128 tokens."""
    from transformers import BertConfig, BertModel  # noqa: PLC0415 - optional extra `bench`

    return BertModel(BertConfig()), (), {"input_ids": torch.randint(0, 30000, (1, 128))}


def gpt2() -> Example:
    """GPT-2 small with language-model head, 64 tokens, no cache."""
    from transformers import GPT2Config, GPT2LMHeadModel  # noqa: PLC0415 - optional extra `bench`

    ids = torch.randint(0, 50000, (1, 64))
    return GPT2LMHeadModel(GPT2Config()), (), {"input_ids": ids, "use_cache": False}


class _PointwiseCell(nn.Module):
    def forward(self, state: torch.Tensor) -> torch.Tensor:
        return torch.tanh(state * 1.01 + 0.1) * torch.sigmoid(state) - 0.05 * state


class _ProductCell(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(64, 64)

    def forward(self, state: torch.Tensor) -> torch.Tensor:
        return torch.tanh(self.linear(state)) + 0.1 * state


class _Loop(nn.Module):
    """As many steps as data says."""

    def __init__(self, cell: nn.Module) -> None:
        super().__init__()
        self.cell = cell

    def forward(self, state: torch.Tensor, steps: torch.Tensor) -> torch.Tensor:
        count = torch.zeros((), dtype=torch.int64)
        while count < steps:
            state = self.cell(state)
            count = count + 1
        return state


def loop(cell: Callable[[], nn.Module]) -> Example:
    """1,000 steps of a cell over a 64 x 64 state."""
    return _Loop(cell()), (torch.randn(64, 64), torch.tensor(1000)), {}


class _Branches(nn.Module):
    """Branches in a row, each on the sum of what the last one left."""

    def __init__(self, count: int) -> None:
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(16, 16) for _ in range(count))

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, list[torch.Tensor]]:
        seen: list[torch.Tensor] = []
        for layer in self.layers:
            if x.sum() > 0:
                x = torch.relu(layer(x))
                seen.append(x.mean())
            else:
                x = x - layer(x)
        return x, seen


def branches(count: int) -> Example:
    """So many branches in a row, one side of which appends to a list."""
    return _Branches(count), (torch.randn(4, 16),), {}


#: Compared when no model is named.
STANDARD = ("mlp", "resnet18", "bert-base", "gpt2")

SUITE: Mapping[str, Callable[[], Example]] = {
    "mlp": mlp,
    "resnet18": resnet18,
    "bert-base": bert_base,
    "gpt2": gpt2,
    "loop-pointwise": partial(loop, _PointwiseCell),
    "loop-product": partial(loop, _ProductCell),
    **{f"branches-{count}": partial(branches, count) for count in (4, 8, 16, 32)},
}


def make(name: str) -> Example:
    """The model in eval mode with its example inputs, the same for every process."""
    torch.manual_seed(0)
    module, args, kwargs = SUITE[name]()
    return module.eval(), args, kwargs
