"""torch.distributions in a model's forward, with the checks of arguments that torch makes there."""

from __future__ import annotations

import pytest
import torch
from torch import distributions as D

import ptc


class Densities(torch.nn.Module):
    def forward(self, x: torch.Tensor, scale: torch.Tensor) -> torch.Tensor:
        some = [
            D.Normal(x, scale).log_prob(x + 1),
            D.Laplace(x, scale).log_prob(x * 2),
            D.Gamma(scale, scale).log_prob(x.exp()),
            D.Beta(scale, scale + 1).log_prob(x.sigmoid()),
            D.Bernoulli(logits=x).log_prob((x > 0).to(x.dtype)),
            D.kl_divergence(D.Normal(x, scale), D.Normal(x * 0, scale + 1)),
        ]
        return torch.stack(some)


class Policy(torch.nn.Module):
    def forward(self, x: torch.Tensor, action: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        chosen = D.Categorical(logits=x)
        return chosen.log_prob(action), chosen.entropy()


@pytest.fixture
def _validated(monkeypatch: pytest.MonkeyPatch) -> None:
    """torch.compile, where a test uses it, turns the checks off for the process."""
    monkeypatch.setattr(D.Distribution, "_validate_args", True)


@pytest.mark.usefixtures("_validated")
def test_densities(tmp_path) -> None:
    model = Densities()
    inputs = torch.randn(3, 4), torch.rand(3, 4) + 0.5
    loaded = ptc.build(model, inputs, output=tmp_path / "libdensities.so").load()
    x, scale = torch.randn(3, 4), torch.rand(3, 4) + 0.5
    expected = model(x.double(), scale.double())
    torch.testing.assert_close(loaded(x, scale).double(), expected, rtol=1e-5, atol=1e-5)
    with pytest.raises(ValueError, match="Expected parameter scale"):
        loaded(x, scale - 9)


def test_classes(tmp_path) -> None:
    """`logits` is an attribute of the class too, made by torch's own kind of property."""
    model = Policy()
    inputs = torch.randn(5, 3), torch.tensor([0, 2, 1, 1, 0])
    loaded = ptc.build(model, inputs, output=tmp_path / "libpolicy.so").load()
    given = torch.randn(5, 3), torch.tensor([2, 2, 0, 1, 0])
    for got, expected in zip(loaded(*given), model(*given), strict=True):
        torch.testing.assert_close(got, expected)
    torch.testing.assert_close(ptc.compile(model, control_flow=True)(*given), model(*given))
