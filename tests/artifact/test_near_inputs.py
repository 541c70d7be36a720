"""Where eager is right by chance: its errors on inputs that differ by rounding count too."""

from __future__ import annotations

import torch

from ptc.artifact.input_sets import InputSet
from ptc.artifact.live_state import LiveState
from ptc.artifact.verify import verify_entry

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
