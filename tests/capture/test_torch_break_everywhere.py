"""A graph break before any instruction of a forward: results, buffers, attributes, grad mode."""

from __future__ import annotations

import copy
from types import CodeType
from typing import Any

import pytest
import torch
from torch import nn

from ptc.capture import api
from ptc.capture.code import analyse, decode
from ptc.capture.errors import GraphBreak
from ptc.capture.interpreter.frame import Frame
from ptc.capture.torch_machine import TorchMachine
from tests.capture.torch_capture import TorchDispatcher

STRIDE = 12  # one break in so many instructions


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 4)
        self.norm = nn.LayerNorm(4)
        self.count = 0
        self.register_buffer("total", torch.zeros(4))

    def forward(self, x: torch.Tensor, scale: float = 1.0) -> dict[str, Any]:
        h = self.norm(self.linear(x)) * scale
        self.count += 1
        self.total = self.total + h.detach().mean(0)
        with torch.no_grad():
            mean = h.mean()
            centred = h - mean
        try:
            if self.count > 5:
                raise ValueError("tired")
            y = centred + x
        except ValueError:
            y = x
        return {"y": y, "h": h, "size": x.shape}


class Model(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.blocks = nn.ModuleList(Block() for _ in range(2))
        self.config: dict[str, Any] = {"a": 1, "b": [1, 2]}

    def forward(self, x: torch.Tensor, mask: Any = None, *, extra: Any = (1, 2)) -> Any:
        sums: list[torch.Tensor] = []
        for i, block in enumerate(self.blocks):
            result = block(x, scale=i + extra[0])
            x = result["y"]
            sums.append(result["h"].sum())
            if mask is not None:
                x = x.masked_fill(mask, 0.0)
        left, right = x.chunk(2, -1)
        left.add_(1)
        joined = torch.cat([left, right], -1)
        self.config["b"].append(len(sums))
        stacked = torch.stack(sums) if len(sums) > 1 else sums[0]
        return joined, x, stacked, [s * 2 for s in sums], sum(s for s in sums), self.config["b"][-1]


CODES = {"model": Model.forward.__code__, "block": Block.forward.__code__}


def breaking_machine(code: CodeType, index: int) -> type[TorchMachine]:
    class BreakingMachine(TorchMachine):
        def entered(self, frame: Frame) -> None:
            super().entered(frame)
            if frame.code is code:
                handlers = list(frame.handlers)
                handlers[index] = stop
                frame.handlers = tuple(handlers)

    def stop(vm: Any, frame: Any, ins: Any) -> None:
        raise GraphBreak("PTC-B006", "as the test asked")

    return BreakingMachine


def state(model: Model) -> Any:
    return [
        model.config,
        *((block.count, block.total.clone()) for block in model.blocks),
        [p.requires_grad for p in model.parameters()],
    ]


@pytest.mark.parametrize("offset", range(2))
@pytest.mark.parametrize("name", sorted(CODES))
def test_break_at_instruction(name: str, offset: int, monkeypatch: pytest.MonkeyPatch) -> None:
    code = CODES[name]
    facts = analyse(code)
    torch.manual_seed(0)
    base = Model()
    x, mask = torch.randn(3, 4), torch.rand(3, 4) > 0.5
    for index in range(offset * 5, len(decode(code).instructions), STRIDE):
        if not facts.reachable(index):
            continue
        monkeypatch.setattr(api, "TorchMachine", breaking_machine(code, index))
        native, captured = copy.deepcopy(base), copy.deepcopy(base)
        dispatcher = TorchDispatcher()
        for _ in range(2):
            expected = native.forward(x.clone(), mask)
            actual = dispatcher(Model.forward)(captured, x.clone(), mask)
            torch.testing.assert_close(actual, expected)
            torch.testing.assert_close(state(captured), state(native))
            assert [t.requires_grad for t in actual[:3]] == [t.requires_grad for t in expected[:3]]
            assert torch.is_grad_enabled()
