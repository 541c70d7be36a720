"""Models that spend as much computation as an input needs: experts, cascades, early exits."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from tests.zoo.case import Case


class CapacityMoE(nn.Module):
    """A mixture of experts where each takes at most so many tokens; the rest pass unchanged."""

    def __init__(self, width: int = 4, experts: int = 3, capacity: int = 2) -> None:
        super().__init__()
        self.router = nn.Linear(width, experts)
        self.experts = nn.ModuleList(nn.Linear(width, width) for _ in range(experts))
        self.capacity = capacity

    def forward(self, x: Tensor) -> tuple[Tensor, list[int], int]:
        probs = self.router(x).softmax(-1)
        gate, choice = probs.max(-1)
        used = [0] * len(self.experts)
        dropped = 0
        rows = []
        for i in range(x.shape[0]):
            e = int(choice[i])
            if used[e] < self.capacity:
                used[e] += 1
                rows.append(self.experts[e](x[i]) * gate[i])
            else:
                dropped += 1
                rows.append(x[i])
        return torch.stack(rows), used, dropped


class SparseMoE(nn.Module):
    """A mixture of experts by masks: each expert sees its own tokens only, if it has any."""

    def __init__(self) -> None:
        super().__init__()
        self.gate = nn.Linear(4, 3, bias=False)
        self.experts = nn.ModuleList(
            nn.Sequential(nn.Linear(4, 6), nn.SiLU(), nn.Linear(6, 4)) for _ in range(3)
        )

    def forward(self, x: Tensor) -> Tensor:
        weights, chosen = self.gate(x).softmax(-1).topk(2)
        weights = weights / weights.sum(-1, keepdim=True)
        out = torch.zeros_like(x)
        for number, expert in enumerate(self.experts):
            token, slot = torch.where(chosen == number)
            if token.numel() == 0:
                continue
            out.index_add_(0, token, expert(x[token]) * weights[token, slot].unsqueeze(1))
        return out


class EarlyExit(nn.Module):
    """A stack of blocks with a classifier at each; the first confident one answers."""

    def __init__(self, width: int = 6, classes: int = 3, blocks: int = 4) -> None:
        super().__init__()
        self.blocks = nn.ModuleList(nn.Linear(width, width) for _ in range(blocks))
        self.exits = nn.ModuleList(nn.Linear(width, classes) for _ in range(blocks))
        self.threshold = 0.7

    def forward(self, x: Tensor) -> tuple[Tensor, int]:
        logits = x[:3]
        for depth, (block, classify) in enumerate(zip(self.blocks, self.exits)):
            x = x + F.relu(block(x))
            logits = classify(x)
            if F.softmax(logits, dim=-1).max() > self.threshold:
                return logits, depth
        return logits, len(self.blocks)


class Cascade(nn.Module):
    """A cheap classifier first, dearer ones where it is unsure; the last always answers."""

    def __init__(self) -> None:
        super().__init__()
        self.stages = nn.ModuleDict(
            {
                "cheap": nn.Linear(4, 2),
                "middle": nn.Sequential(nn.Linear(4, 6), nn.Tanh(), nn.Linear(6, 2)),
                "dear": nn.Sequential(nn.Linear(4, 12), nn.GELU(), nn.Linear(12, 2)),
            }
        )
        self.margins = {"cheap": 1.0, "middle": 0.5, "dear": 0.0}

    def forward(self, x: Tensor) -> tuple[Tensor, str]:
        name = "none"
        logits = x[:2]
        for name, stage in self.stages.items():
            logits = stage(x)
            margin = (logits[0] - logits[1]).abs()
            print(f"{name}: margin {margin.item():.2f}")
            if margin >= self.margins[name]:
                break
        return logits, name


class MixtureOfDepths(nn.Module):
    """A layer runs for the tokens whose score is positive, on a batch gathered for it."""

    def __init__(self) -> None:
        super().__init__()
        self.scorers = nn.ModuleList(nn.Linear(4, 1) for _ in range(2))
        self.layers = nn.ModuleList(nn.Linear(4, 4) for _ in range(2))

    def forward(self, x: Tensor) -> tuple[Tensor, int]:
        work = 0
        for scorer, layer in zip(self.scorers, self.layers):
            index = (scorer(x).squeeze(-1) > 0).nonzero().squeeze(-1)
            if len(index) > 0:
                x = x.clone()
                x[index] = x[index] + layer(x[index])
                work += len(index)
        return x, work


class AnytimeEnsemble(nn.Module):
    """Members vote until the leader cannot be overtaken."""

    def __init__(self, members: int = 4) -> None:
        super().__init__()
        self.members = nn.ModuleList(nn.Linear(3, 2) for _ in range(members))

    def forward(self, x: Tensor) -> tuple[int, int]:
        votes = [0, 0]
        for asked, member in enumerate(self.members, 1):
            votes[int(member(x).argmax())] += 1
            left = len(self.members) - asked
            if abs(votes[0] - votes[1]) > left:
                return (0 if votes[0] > votes[1] else 1), asked
        return -1, len(self.members)


class SoftTree(nn.Module):
    """A decision tree walked from the root, its nodes in arrays; a leaf picks a module."""

    def __init__(self, depth: int = 3) -> None:
        super().__init__()
        self.splits = nn.Parameter(torch.randn(2**depth - 1, 4))
        self.bias = nn.Parameter(torch.randn(2**depth - 1) * 0.1)
        self.leaves = nn.ModuleList(nn.Linear(4, 2) for _ in range(2**depth))
        self.inner = 2**depth - 1

    def forward(self, x: Tensor) -> tuple[Tensor, list[int]]:
        node = 0
        path = []
        while node < self.inner:
            path.append(node)
            if self.splits[node] @ x + self.bias[node] > 0:
                node = 2 * node + 2
            else:
                node = 2 * node + 1
        return self.leaves[node - self.inner](x), path


class HaltingRecursion(nn.Module):
    """A block that calls itself until its output is small or the depth is used up."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 4, bias=False)
        self.max_depth = 6

    def _refine(self, x: Tensor, depth: int) -> Tensor:
        if depth == self.max_depth:
            return x.clamp(-1, 1)
        if x.norm() < 0.5:
            return x * depth
        y = self._refine(self.linear(x), depth + 1)
        return y + 0.1 * x

    def forward(self, x: Tensor) -> Tensor:
        return self._refine(x, 0)


class TaskRouter(nn.Module):
    """Heads in a ModuleDict by a string that data decides, with a fallback."""

    def __init__(self) -> None:
        super().__init__()
        self.names = ("tone", "topic")
        self.heads = nn.ModuleDict({"tone": nn.Linear(4, 2), "topic": nn.Linear(4, 2)})
        self.fallback = nn.Linear(4, 2)

    def forward(self, x: Tensor, task: Tensor) -> tuple[Tensor, str]:
        i = int(task)
        name = self.names[i] if 0 <= i < len(self.names) else "other"
        head = self.heads[name] if name in self.heads else self.fallback
        return head(x), name


_G = torch.Generator().manual_seed(11)


def _randn(*shape: int) -> Tensor:
    return torch.randn(*shape, generator=_G)


CASES = (
    Case(
        "capacity_moe",
        CapacityMoE,
        ((_randn(6, 4),), (_randn(1, 4).expand(6, 4).clone(),), (_randn(6, 4) * 3,)),
        ("ModuleList", "switch", "counter", "stack"),
    ),
    Case(
        "sparse_moe",
        SparseMoE,
        ((_randn(5, 4),), (_randn(1, 4).expand(5, 4).clone(),), (_randn(2, 4) * 3,)),
        ("where", "index_add", "continue"),
        {"x": {0: "tokens[1..32]"}},
    ),
    Case(
        "early_exit",
        EarlyExit,
        tuple((_randn(6) * s,) for s in (0.1, 1.0, 2.0, 4.0, 8.0, 16.0)),
        ("early return", "zip"),
    ),
    Case(
        "cascade",
        Cascade,
        tuple((_randn(4) * s,) for s in (0.1, 1.0, 3.0, 6.0, 9.0)),
        ("ModuleDict", "break", "string result", "print"),
    ),
    Case(
        "mixture_of_depths",
        MixtureOfDepths,
        ((_randn(5, 4),), (_randn(1, 4).expand(5, 4) * 9,), (_randn(1, 4).expand(5, 4) * -9,)),
        ("nonzero", "mutation"),
    ),
    Case(
        "anytime_ensemble",
        AnytimeEnsemble,
        tuple((_randn(3) * s,) for s in (1.0, 2.0, 3.0, -4.0, 5.0, -2.0, 4.0, -6.0)),
        ("number result", "early return"),
    ),
    Case(
        "soft_tree",
        SoftTree,
        tuple((_randn(4),) for _ in range(6)),
        ("while", "ModuleList", "tree"),
    ),
    Case(
        "halting_recursion",
        HaltingRecursion,
        ((_randn(4),), (_randn(4) * 0.01,), (_randn(4) * 1e6,)),
        ("recursion",),
    ),
    Case(
        "task_router",
        TaskRouter,
        tuple((_randn(4), torch.tensor(t)) for t in (0, 1, 2, -1)),
        ("ModuleDict", "string", "chained"),
    ),
)
