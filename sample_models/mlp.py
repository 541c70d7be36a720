"""A multi-layer perceptron for small images."""

import torch
from torch import nn


class MLP(nn.Module):
    def __init__(self, inputs=784, hidden=256, classes=10, depth=3, dropout=0.1):
        super().__init__()
        layers = [nn.Flatten()]
        width = inputs
        for _ in range(depth):
            layers += [nn.Linear(width, hidden), nn.GELU(), nn.Dropout(dropout)]
            width = hidden
        self.body = nn.Sequential(*layers)
        self.head = nn.Linear(width, classes)

    def forward(self, images):
        return self.head(self.body(images))


def example_inputs():
    return (torch.randn(8, 1, 28, 28),)
