"""The float64 reference of a large model: the values of a copy, without its memory."""

from __future__ import annotations

import copy

import pytest
import torch
from torch import nn

from ptc.artifact import verify
from ptc.artifact.verify import double_reference
from ptc.artifact.widened import widened


class Everything(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Embedding(50, 16)
        self.rnn = nn.LSTM(16, 16, batch_first=True, bidirectional=True)
        self.layer = nn.TransformerEncoderLayer(32, 4, batch_first=True)
        self.conv = nn.Conv1d(32, 8, 3)
        self.norm = nn.BatchNorm1d(8)
        self.scale = nn.Parameter(torch.randn(8))

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        x = self.layer(self.rnn(self.table(ids))[0])
        x = self.norm(self.conv(x.transpose(1, 2))).transpose(1, 2)
        return nn.functional.linear(x * self.scale, self.table.weight[:, :8])


def test_values_are_those_of_a_copy_and_parameters_are_shared() -> None:
    torch.manual_seed(0)
    model = Everything().eval()
    ids = torch.randint(0, 50, (2, 9))
    twin = widened(model)
    with torch.no_grad():
        expected = copy.deepcopy(model).double()(ids)
        found = twin(ids)
        assert type(found) is torch.Tensor and found.dtype == torch.float64
        torch.testing.assert_close(found, expected, rtol=1e-13, atol=1e-13)
        model.scale.mul_(2)
        assert not torch.allclose(twin(ids), found)
    assert model.scale.dtype == torch.float32


class Writer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(3))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.weight.add_(1)
        return x * self.weight


def test_a_model_that_writes_its_parameters_has_no_such_reference() -> None:
    with torch.no_grad(), pytest.raises(RuntimeError, match="writes a parameter"):
        widened(Writer())(torch.ones(3))


def test_a_large_model_is_not_copied(monkeypatch: pytest.MonkeyPatch) -> None:
    model, x = nn.Linear(3, 3), torch.ones(2, 3)
    with torch.no_grad():
        small = double_reference(model)
        monkeypatch.setattr(verify, "_MAX_DOUBLE_BYTES", 0)
        monkeypatch.setattr(
            verify, "widened", lambda module: made.append(module) or widened(module)
        )
        made: list[nn.Module] = []
        large = double_reference(model)
        assert small is not None and large is not None and made == [model]
        assert torch.equal(small(x), large(x))
