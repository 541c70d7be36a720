"""An actor-critic policy for reinforcement learning with continuous actions.

Two entries are useful on a robot: `forward` for training-time evaluation and `act` for control.
"""

from typing import NamedTuple

import torch
from torch import nn


class PolicyOutput(NamedTuple):
    mean: torch.Tensor
    log_std: torch.Tensor
    value: torch.Tensor


class RunningNorm(nn.Module):
    """Normalises observations with statistics gathered in training."""

    def __init__(self, size):
        super().__init__()
        self.register_buffer("mean", torch.zeros(size))
        self.register_buffer("var", torch.ones(size))

    def forward(self, x):
        return torch.clamp((x - self.mean) / torch.sqrt(self.var + 1e-8), -10.0, 10.0)


class Policy(nn.Module):
    LOG_STD_MIN, LOG_STD_MAX = -5.0, 2.0

    def __init__(self, observations=24, actions=6, hidden=128):
        super().__init__()
        self.norm = RunningNorm(observations)
        self.body = nn.Sequential(
            nn.Linear(observations, hidden), nn.Tanh(), nn.Linear(hidden, hidden), nn.Tanh()
        )
        self.mean = nn.Linear(hidden, actions)
        self.log_std = nn.Linear(hidden, actions)
        self.critic = nn.Linear(hidden, 1)
        for layer in self.modules():
            if isinstance(layer, nn.Linear):
                nn.init.orthogonal_(layer.weight, gain=2**0.5)
                nn.init.zeros_(layer.bias)

    def forward(self, observation):
        features = self.body(self.norm(observation))
        log_std = self.log_std(features).clamp(self.LOG_STD_MIN, self.LOG_STD_MAX)
        return PolicyOutput(self.mean(features), log_std, self.critic(features).squeeze(-1))

    @torch.no_grad()
    def act(self, observation):
        """The most probable action, squashed into [-1, 1]."""
        return torch.tanh(self(observation).mean)


example_inputs = {"observation": torch.linspace(-2, 2, 4 * 24).reshape(4, 24)}
