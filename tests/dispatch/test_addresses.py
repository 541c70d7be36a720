"""`id` of an object, as a number: of this call's objects it is read in Python, of the model's parts
it is what it is as long as they are the same ones."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn

import ptc
from ptc.capture.api import capture_program
from ptc.support.diagnostics import CompileError


class Key:
    """An object that each call brings along."""


def of_a_tensor(x: torch.Tensor, key: Any) -> torch.Tensor:
    return x * (id(x) % 1009)


def hash_of_a_tensor(x: torch.Tensor, key: Any) -> torch.Tensor:
    return x * (hash(x) % 1009)


def of_an_argument(x: torch.Tensor, key: Any) -> torch.Tensor:
    return x * (id(key) % 1009)


PROGRAMS = [of_a_tensor, hash_of_a_tensor, of_an_argument]


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("make", [Key, list])
def test_each_call_has_its_own_objects(program: Any, make: Any) -> None:
    fast = ptc.compile(program)
    kept = [(torch.ones(2), make()) for _ in range(4)]
    for args in kept:
        assert fast(*args).equal(program(*args))


@pytest.mark.parametrize("program", PROGRAMS[:2])
def test_a_library_has_no_address_of_an_input(program: Any) -> None:
    with pytest.raises(CompileError, match="PTC-B002"):
        capture_program(program, (torch.ones(2), 0))


class Shared(nn.Module):
    """Weights told apart by their addresses."""

    def __init__(self) -> None:
        super().__init__()
        self.one = nn.Linear(2, 2)
        self.other = nn.Linear(2, 2)
        self.seen = {id(self.one)}

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for layer in (self.one, self.other):
            x = layer(x) if id(layer) in self.seen else layer(x) * 2
        return x + (id(self.one.weight) == id(self.other.weight))


def test_parts_of_the_model_keep_theirs() -> None:
    model = Shared().eval()
    fast = ptc.compile(model, fullgraph=True)
    x = torch.ones(1, 2)
    with torch.no_grad():
        for _ in range(2):
            torch.testing.assert_close(fast(x), model(x))
        model.one, model.other = model.other, model.one
        torch.testing.assert_close(fast(x), model(x))
        model.one.weight = model.other.weight
        torch.testing.assert_close(fast(x), model(x))
