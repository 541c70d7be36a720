"""Models that produce sequences: decoders, samplers, searches over a lattice."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from tests.zoo.case import Case, function

_END = 3


class GreedyDecoder(nn.Module):
    """A recurrent decoder that emits the likeliest token until the end token."""

    def __init__(self, vocabulary: int = 4, width: int = 8, max_length: int = 12) -> None:
        super().__init__()
        self.embed = nn.Embedding(vocabulary, width)
        self.cell = nn.GRUCell(width, width)
        self.head = nn.Linear(width, vocabulary)
        self.max_length = max_length

    def forward(self, state: Tensor, first: Tensor) -> tuple[Tensor, int]:
        token = first
        tokens = []
        h = state.unsqueeze(0)
        for _ in range(self.max_length):
            h = self.cell(self.embed(token).unsqueeze(0), h)
            token = self.head(h).argmax(-1).squeeze(0)
            tokens.append(token)
            if token.item() == _END:
                break
        return torch.stack(tokens), len(tokens)


class CachedAttention(nn.Module):
    """One attention layer with a key/value cache that grows by a row a step."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)

    def forward(
        self, x: Tensor, cache: tuple[Tensor, Tensor] | None
    ) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        q, k, v = self.qkv(x).chunk(3, dim=-1)
        if cache is not None:
            k = torch.cat([cache[0], k])
            v = torch.cat([cache[1], v])
        scores = q @ k.t() / q.shape[-1] ** 0.5
        if x.shape[0] > 1:
            mask = torch.ones(x.shape[0], x.shape[0], dtype=torch.bool).triu(1)
            scores = scores.masked_fill(mask, float("-inf"))
        return x + self.out(scores.softmax(-1) @ v), (k, v)


class TinyGenerator(nn.Module):
    """A two-layer transformer that generates greedily with its caches."""

    def __init__(self, vocabulary: int = 11, width: int = 8) -> None:
        super().__init__()
        self.embed = nn.Embedding(vocabulary, width)
        self.positions = nn.Embedding(24, width)
        self.layers = nn.ModuleList(CachedAttention(width) for _ in range(2))
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, vocabulary, bias=False)
        self.stop = 3

    @torch.no_grad()
    def forward(self, prompt: Tensor) -> list[int]:
        caches: list[tuple[Tensor, Tensor] | None] = [None, None]
        ids = prompt
        generated: list[int] = []
        position = 0
        while len(generated) < 8:
            where = torch.arange(position, position + ids.shape[0])
            x = self.embed(ids) + self.positions(where)
            for i, layer in enumerate(self.layers):
                x, caches[i] = layer(x, caches[i])
            position += ids.shape[0]
            token = int(self.head(self.norm(x[-1])).argmax())
            if token == self.stop:
                break
            generated.append(token)
            ids = torch.tensor([token])
        return generated


class BeamStep(nn.Module):
    """One step of beam search: extend, keep the best, set finished hypotheses aside."""

    def __init__(self, beams: int = 3, vocabulary: int = 5) -> None:
        super().__init__()
        self.beams = beams
        self.vocabulary = vocabulary

    def forward(
        self, log_probs: Tensor, scores: Tensor, tokens: Tensor
    ) -> tuple[Tensor, Tensor, list[tuple[float, Tensor]], bool]:
        total = (scores.unsqueeze(1) + log_probs).flatten()
        best = total.topk(2 * self.beams)
        next_tokens: list[Tensor] = []
        next_scores: list[Tensor] = []
        finished: list[tuple[float, Tensor]] = []
        for score, index in zip(best.values, best.indices):
            beam, token = divmod(int(index), self.vocabulary)
            extended = torch.cat([tokens[beam], torch.tensor([token])])
            if token == _END:
                finished.append((float(score) / extended.shape[0], extended))
                continue
            next_tokens.append(extended)
            next_scores.append(score)
            if len(next_tokens) == self.beams:
                break
        done = len(finished) > 0 and finished[0][0] > float(next_scores[0])
        return torch.stack(next_tokens), torch.stack(next_scores), finished, done


def ctc_greedy_collapse(logits: Tensor) -> tuple[Tensor, list[int]]:
    """Best path with repeats and blanks removed."""
    path = logits.argmax(-1)
    labels: list[int] = []
    starts: list[int] = []
    previous = -1
    for t, label in enumerate(path.tolist()):
        if label != previous and label != 0:
            labels.append(label)
            starts.append(t)
        previous = label
    if not labels:
        return torch.zeros(0, dtype=torch.long), starts
    return torch.tensor(labels), starts


def nucleus(logits: Tensor, p: Tensor, draw: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Top-p filtering with the draw given as a number in [0, 1)."""
    probs, order = logits.softmax(-1).sort(descending=True)
    kept = 0
    mass = 0.0
    for q in probs:
        mass += q.item()
        kept += 1
        if mass >= p:
            break
    probs = probs[:kept] / probs[:kept].sum()
    threshold = draw
    for i in range(kept - 1):
        threshold = threshold - probs[i]
        if threshold < 0:
            return order[i], probs, order[:kept]
    return order[kept - 1], probs, order[:kept]


class SpeculativeStep(nn.Module):
    """Draft tokens are accepted while the target agrees; the first one refused is replaced."""

    def __init__(self, vocabulary: int = 6, width: int = 5) -> None:
        super().__init__()
        self.embed = nn.Embedding(vocabulary, width)
        self.target = nn.Linear(width, vocabulary)
        self.draft = nn.Linear(width, vocabulary)
        self.length = 4

    def forward(self, token: Tensor, draws: Tensor) -> tuple[Tensor, int]:
        drafted = []
        current = token
        for _ in range(self.length):
            current = self.draft(self.embed(current)).argmax(-1)
            drafted.append(current)
        accepted = [token]
        for i, candidate in enumerate(drafted):
            hidden = self.embed(accepted[-1])
            p = self.target(hidden).softmax(-1)
            q = self.draft(hidden).softmax(-1)
            if draws[i] <= p[candidate] / q[candidate]:
                accepted.append(candidate)
            else:
                residual = F.relu(p - q)
                accepted.append(residual.argmax())
                break
        else:
            accepted.append(self.target(self.embed(accepted[-1])).argmax())
        return torch.stack(accepted[1:]), len(accepted) - 2


def viterbi(emissions: Tensor, transitions: Tensor, length: Tensor) -> tuple[Tensor, list[int]]:
    """The best path of a chain, with back-pointers followed afterwards."""
    score = emissions[0]
    back = []
    for t in range(1, int(length)):
        candidates = score.unsqueeze(1) + transitions
        best, pointers = candidates.max(0)
        score = best + emissions[t]
        back.append(pointers)
    state = int(score.argmax())
    path = [state]
    for pointers in reversed(back):
        state = int(pointers[state])
        path.append(state)
    path.reverse()
    return score.max(), path


def edit_distance(a: Tensor, b: Tensor) -> int:
    """Levenshtein's distance of two rows of tokens (0 ends a row early)."""
    row = list(range(b.shape[0] + 1))
    for i, x in enumerate(a, 1):
        if x == 0:
            break
        previous, row[0] = row[0], i
        for j, y in enumerate(b, 1):
            current = row[j]
            if x == y:
                row[j] = previous
            else:
                row[j] = 1 + min(previous, row[j], row[j - 1])
            previous = current
    return row[-1]


def repetition_penalty(logits: Tensor, history: Tensor, limit: Tensor) -> Tensor:
    """Tokens used lately are damped, those used too often are forbidden."""
    counts: dict[int, int] = {}
    for token in history.tolist():
        counts[token] = counts.get(token, 0) + 1
    logits = logits.clone()
    for token, count in counts.items():
        if count > limit:
            logits[token] = float("-inf")
        elif logits[token] > 0:
            logits[token] /= 1.5
        else:
            logits[token] *= 1.5
    return logits


class PointerReader(nn.Module):
    """Follows pointers through a table until one points to itself."""

    def __init__(self) -> None:
        super().__init__()
        self.values = nn.Embedding(8, 3)

    def forward(self, table: Tensor, start: Tensor) -> tuple[Tensor, list[Tensor]]:
        visited: list[Tensor] = []
        total = torch.zeros(3)
        at = start
        while len(visited) < 6:
            visited.append(at)
            total = total + self.values(at)
            following = table[at]
            if following == at:
                return total, visited
            at = following
        return -total, visited


_G = torch.Generator().manual_seed(7)


def _randn(*shape: int) -> Tensor:
    return torch.randn(*shape, generator=_G)


_PATH = F.one_hot(torch.tensor([0, 2, 2, 0, 2, 3, 3, 1]), 4).float()

CASES = (
    Case(
        "greedy_decoder",
        GreedyDecoder,
        tuple((_randn(8) * 2, torch.tensor(t)) for t in (1, 2, 3, 1, 2)),
        ("for", "break", "stack"),
    ),
    Case(
        "tiny_generator",
        TinyGenerator,
        tuple((torch.tensor(p),) for p in ([1, 2, 3], [5], [7, 8, 9, 10], [2, 2], [10, 4, 6])),
        ("while", "cache", "shapes change", "None"),
        {"prompt": {0: "length[1..12]"}},
    ),
    Case(
        "beam_step",
        BeamStep,
        (
            (
                _randn(3, 5).log_softmax(-1),
                torch.tensor([0.0, -0.5, -1.0]),
                torch.ones(3, 2).long(),
            ),
            (
                (_randn(3, 5) + torch.tensor([9.0, 0, 0, 0, 0])).log_softmax(-1),
                torch.tensor([0.0, -0.5, -1.0]),
                torch.arange(6).reshape(3, 2),
            ),
            (
                (_randn(3, 5) - torch.tensor([9.0, 0, 0, 0, 0])).log_softmax(-1),
                torch.tensor([0.0, -0.2, -0.4]),
                torch.arange(6).reshape(3, 2),
            ),
            (torch.full((3, 5), -1.5), torch.zeros(3), torch.arange(6).reshape(3, 2)),  # ties
        ),
        ("zip", "divmod", "continue", "list result"),
    ),
    Case(
        "ctc_collapse",
        function(ctc_greedy_collapse),
        ((_PATH,), (_PATH.flip(0),), (torch.eye(4)[torch.zeros(8).long()],)),
        ("tolist", "enumerate", "shapes differ"),
    ),
    Case(
        "nucleus_sampling",
        function(nucleus),
        tuple(
            (torch.tensor([1.0, 3.0, 0.5, 2.0, -1.0]), torch.tensor(p), torch.tensor(u))
            for p, u in ((0.9, 0.3), (0.9, 0.97), (0.5, 0.2), (1.5, 0.99))
        ),
        ("for", "slice", "early return"),
    ),
    Case(
        "speculative_step",
        SpeculativeStep,
        (
            (torch.tensor(1), torch.zeros(4)),
            (torch.tensor(4), torch.full((4,), 0.9)),
            (torch.tensor(2), torch.tensor([0.0, 0.0, 99.0, 0.0])),
        ),
        ("for", "break", "else", "stack"),
    ),
    Case(
        "viterbi",
        function(viterbi),
        tuple((_randn(6, 3), _randn(3, 3), torch.tensor(n)) for n in (6, 1, 4)),
        ("range", "list", "reversed"),
    ),
    Case(
        "edit_distance",
        function(edit_distance),
        tuple(
            (torch.tensor(a), torch.tensor(b))
            for a, b in (
                ([1, 2, 3, 4], [1, 3, 4, 5]),
                ([1, 2, 0, 0], [2, 2, 2, 2]),
                ([5, 6, 7, 8], [5, 6, 7, 8]),
            )
        ),
        ("for", "min", "number result"),
    ),
    Case(
        "repetition_penalty",
        function(repetition_penalty),
        tuple(
            (torch.tensor([1.0, -1.0, 2.0, -2.0, 0.5]), torch.tensor(h), torch.tensor(n))
            for h, n in (([0, 1, 1, 2], 1), ([4, 4, 4, 4], 3), ([3, 2, 1, 0], 2))
        ),
        ("tolist", "dict", "mutation"),
    ),
    Case(
        "pointer_reader",
        PointerReader,
        tuple((torch.tensor([3, 0, 2, 5, 1, 2, 7, 6]), torch.tensor(s)) for s in (0, 2, 4, 6)),
        ("while", "list result"),
    ),
)
