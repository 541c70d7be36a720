"""Where eager is right by chance: its errors on inputs that differ by rounding count too."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import nn

import ptc
from ptc.artifact.input_sets import InputSet
from ptc.artifact.live_state import LiveState
from ptc.artifact.verify import verify_entry
from ptc.artifact.verify_control import is_rounded

X = torch.tensor([1.0001, 1.0002, 0.9997])


def cancelling(x: torch.Tensor) -> torch.Tensor:
    return (x - 1.0) * 1e4


def passes(artifact: object, state: LiveState) -> bool:
    return verify_entry(cancelling, artifact, [InputSet((X,), {})], state).passed  # type: ignore[arg-type]


def test_what_rounding_of_the_inputs_explains_is_no_difference() -> None:
    nothing = LiveState.of((), ())
    assert passes(lambda x: x * 1e4 - 1e4, nothing)
    assert not passes(lambda x: (x - 1.0) * 1.1e4, nothing)
    assert not passes(lambda x: x * 1e4 - 1e4, LiveState.of((torch.zeros(1),), ()))


def test_a_jump_beside_the_input_excuses_nothing() -> None:
    x = torch.tensor([0.5, 1.0, 2.0])

    def stepped(x: torch.Tensor) -> torch.Tensor:
        return x + (x >= 1.0) * 3

    nothing = LiveState.of((), ())
    given = [InputSet((x,), {})]
    wrong = verify_entry(stepped, lambda x: stepped(x) * 1.05, given, nothing)  # type: ignore[arg-type]
    assert not wrong.passed


class Centred(nn.Module):
    """Gives what rounding leaves of zero, and keeps a count."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("calls", torch.zeros(()))

    def forward(self, x: torch.Tensor) -> tuple[float, torch.Tensor]:
        if x.sum() > 0:
            self.calls += 1
        return (x - x.mean()).mean().item(), self.calls.clone()


def test_rounding_of_models_that_keep_something(tmp_path: Path) -> None:
    torch.manual_seed(0)
    artifact = ptc.build(Centred(), (torch.randn(1000) * 3000 + 1,), output=tmp_path)
    assert any("is not judged" in note for note in artifact.report.notes)
    library, x = artifact.load(), torch.ones(1000)
    assert [int(library(x)[1]) for _ in range(3)] == [1, 2, 3]


def test_small_numbers_are_not_excused_where_eager_is_exact() -> None:
    assert is_rounded(-5.84e-5, -5.85e-5, 2e-7)
    assert not is_rounded(-5.60e-5, -5.85e-5, 2e-7)
    assert not is_rounded(0.0, 1e-8, 1e-16)
    assert not is_rounded(2e-7, 1e-8, 2e-9)
    assert not is_rounded(0.02, 0.015, 0.005)


def confidences(x: torch.Tensor) -> list[float]:
    return [v for v in torch.log_softmax(x, dim=-1).amax(dim=-1).tolist() if v > -0.5]


def test_numbers_that_are_what_cancelling_leaves(tmp_path: Path) -> None:
    """Numbers near 0, of which rounding is a large part in eager, too."""
    x = 10 * torch.randn(64, 8, generator=torch.Generator().manual_seed(0))
    loaded = ptc.build(confidences, (x,), output=tmp_path / "libnear.so").load()
    assert loaded(x) == pytest.approx(confidences(x), abs=1e-6)
