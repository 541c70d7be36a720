"""A model whose control flow depends on its input, with a print for debugging."""

import torch
import torch.nn as nn


class DynamicModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(10, 10)

    def forward(self, x):
        # This is a dynamic part that TorchScript struggles with but Dynamo handles easily
        if x.sum() > 0:
            # Simulate debug logging
            print("Path A: Input sum > 0, applying ReLU")
            x = torch.relu(self.linear(x))
        else:
            print("Path B: Input sum <= 0, applying Sigmoid")
            x = torch.sigmoid(self.linear(x))
        return x


example_inputs = (torch.ones(10),)
