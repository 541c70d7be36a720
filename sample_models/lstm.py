"""A two-layer LSTM that tags each token of a sentence and hands its state on."""

import torch
from torch import nn


class Tagger(nn.Module):
    def __init__(self, vocabulary=300, embedding=32, hidden=64, tags=12):
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, embedding, padding_idx=0)
        self.lstm = nn.LSTM(embedding, hidden, num_layers=2, batch_first=True)
        self.dropout = nn.Dropout(0.2)
        self.tags = nn.Linear(hidden, tags)

    def forward(self, words, state=None):
        outputs, state = self.lstm(self.embedding(words), state)
        return self.tags(self.dropout(outputs)).log_softmax(dim=-1), state


def example_inputs():
    return torch.randint(0, 300, (2, 16))
