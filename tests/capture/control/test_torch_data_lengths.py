"""Operators and slices of as many rows as data says."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from ptc.capture.api import capture_program
from ptc.support.diagnostics import CompileError
from tests.capture.control.checking import check
from tests.zoo.case import Case
from tests.zoo.harness import compare, eager, library

TOKENS = tuple(torch.tensor(row) for row in ([3, 1, 2, 0, 0], [1, 0, 0, 0, 0], [4, 4, 2, 1, 3]))


class Recurrent(nn.Module):
    def __init__(self, cell: type[nn.Module]) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.embed = nn.Embedding(6, 4)
        self.cell = cell(4, 4, batch_first=True)

    def forward(self, tokens: Tensor) -> Any:
        count = int(tokens.ne(0).sum())
        output, state = self.cell(self.embed(tokens[:count])[None])
        return output.mean(1), state


@pytest.mark.parametrize("cell", [nn.RNN, nn.GRU, nn.LSTM])
def test_recurrent_networks_read_as_many_rows_as_data_says(cell: type[nn.Module]) -> None:
    module = Recurrent(cell).eval()
    with torch.no_grad():
        check(module, *TOKENS)


def test_windows_over_as_many_rows_as_data_says() -> None:
    def program(x: Tensor) -> Any:
        kept = x[x > 0]
        sums = []
        for begin in range(0, len(kept), 2):
            end = min(begin + 3, len(kept))
            sums.append(torch.cat([kept.new_tensor([1.0]), kept[begin:end]]).sum())
            if end == len(kept):
                break
        return sums

    check(program, *(torch.randn(9, generator=torch.manual_seed(i)) for i in range(4)))


def test_recursion_as_deep_as_data_says_is_refused() -> None:
    def find(parents: list[int], i: int) -> int:
        if parents[i] != i:
            parents[i] = find(parents, parents[i])
        return parents[i]

    def program(x: Tensor) -> Tensor:
        parents = x.tolist()
        return torch.tensor([find(parents, i) for i in range(len(parents))])

    with pytest.raises(CompileError, match="PTC-B017.*nested too deep"):
        capture_program(program, (torch.tensor([0, 0, 1, 2]),))


def medians(x: torch.Tensor) -> Any:
    """Of what may be nothing; torch's own warning about one element is nothing of the program's."""
    y = x[x > 0]
    whole = y.long()
    return (
        y.median(), y.nanmedian(), y.median(0).values if len(y) else 0, y.std(), y[:1].mean(),
        whole.median(), whole.int().nanmedian(),
    )  # fmt: skip


def test_statistics_of_what_may_be_nothing(tmp_path: Path) -> None:
    inputs = ([1.0, -2.0, 3.0, 4.0], [-1.0, -2.0, -3.0, -4.0], [1.0, 2.0, 3.0, 4.0], [5.0, 0, 0, 0])
    case = Case("medians", lambda: medians, tuple((torch.tensor(row),) for row in inputs))
    compare(eager(case), library(case, tmp_path, check=True))
