"""Models that gather: lists, dicts, tuples and objects that data fills."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor, nn

from tests.zoo.case import Case, function


class NonMaximumSuppression(nn.Module):
    """Greedy suppression of overlapping boxes; the kept boxes and their indices are the result."""

    def __init__(self, threshold: float = 0.5, min_score: float = 0.1) -> None:
        super().__init__()
        self.threshold = threshold
        self.min_score = min_score

    def _iou(self, box: Tensor, others: Tensor) -> Tensor:
        low = torch.maximum(box[:2], others[:, :2])
        high = torch.minimum(box[2:], others[:, 2:])
        inter = (high - low).clamp(min=0).prod(1)
        area = (box[2:] - box[:2]).prod()
        areas = (others[:, 2:] - others[:, :2]).prod(1)
        return inter / (area + areas - inter)

    def forward(self, boxes: Tensor, scores: Tensor) -> tuple[Tensor, Tensor]:
        order = scores.argsort(descending=True)
        keep = []
        while order.numel() > 0:
            i = order[0]
            if scores[i] < self.min_score:
                break
            keep.append(i)
            rest = order[1:]
            order = rest[self._iou(boxes[i], boxes[rest]) <= self.threshold]
        if not keep:
            return boxes[:0], torch.empty(0, dtype=torch.int64)
        index = torch.stack(keep)
        return boxes[index], index


class LayerDrop(nn.Module):
    """Layers left out by decisions given as a tensor, hidden states kept and averaged."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(4, 4) for _ in range(5))

    def forward(self, x: Tensor, keep: Tensor) -> tuple[Tensor, list[Tensor]]:
        hidden = []
        for layer, kept in zip(self.layers, keep):
            if kept:
                x = x + torch.tanh(layer(x))
                hidden.append(x)
        if hidden:
            x = torch.stack(hidden).mean(0)
        return x, hidden


def collect_and_concatenate(x: Tensor) -> Tensor:
    """Pieces of different sizes, filtered, concatenated and indexed."""
    pieces = []
    for i, row in enumerate(x):
        if row.sum() > 0:
            pieces.append(row[: i + 1])
        elif row.max() > 2:
            pieces.extend([row[:1], row[-1:]])
    if len(pieces) > 3:
        pieces.pop()
    if not pieces:
        return x.new_zeros(1)
    last = pieces[-1]
    return torch.cat(pieces) + last.sum()


def comprehension_filter(x: Tensor, limit: Tensor) -> tuple[list[Tensor], int]:
    """Comprehensions with conditions, over rows and over numbers."""
    big = [row * 2 for row in x if row.norm() > limit]
    signs = [1 if v > 0 else -1 for v in x[:, 0].tolist()]
    return big, sum(signs) + len(big)


def dict_by_side(x: Tensor) -> dict[str, object]:
    """Keys that only one side of a branch adds."""
    out: dict[str, object] = {"mean": x.mean()}
    if x.min() < 0:
        out["negative"] = x[x < 0].sum()
        out["mean"] = x.abs().mean()
    if "negative" in out and x.max() > 3:
        out["wide"] = True
    else:
        out.setdefault("narrow", x.max() - x.min())
    return out


class Detection(NamedTuple):
    label: int
    score: float


@dataclass
class Report:
    logits: Tensor
    best: Detection
    extra: Tensor | None = None
    note: str = ""


class Classifier(nn.Module):
    """A dataclass with a named tuple is the result; its fields depend on data."""

    def __init__(self) -> None:
        super().__init__()
        self.head = nn.Linear(4, 3)

    def forward(self, x: Tensor) -> Report:
        logits = self.head(x)
        score, label = logits.softmax(-1).max(-1)
        report = Report(logits, Detection(int(label), float(score)))
        if score < 0.6:
            report.extra = logits.topk(2).indices
            report.note = "uncertain"
        return report


class Accumulator:
    """Sums by sign and remembers the largest."""

    def __init__(self, like: Tensor) -> None:
        self.positive = torch.zeros_like(like)
        self.negative = torch.zeros_like(like)
        self.count = 0
        self.largest: Tensor | None = None

    def add(self, row: Tensor) -> None:
        if row.sum() >= 0:
            self.positive = self.positive + row
            self.count += 1
        else:
            self.negative = self.negative + row
        if self.largest is None or row.max() > self.largest:
            self.largest = row.max()


def object_attributes(x: Tensor) -> tuple[Tensor, Tensor, int, Tensor | None]:
    """Attributes of an ordinary object that one side of a branch sets."""
    acc = Accumulator(x[0])
    for row in x:
        acc.add(row)
    return acc.positive, acc.negative, acc.count, acc.largest


def run_length_encoding(x: Tensor) -> tuple[Tensor, Tensor]:
    """Values and lengths of runs."""
    values = [x[0]]
    lengths = [1]
    for i in range(1, x.shape[0]):
        if x[i] == values[-1]:
            lengths[-1] += 1
        else:
            values.append(x[i])
            lengths.append(1)
    return torch.stack(values), torch.tensor(lengths)


def stack_machine(program: Tensor, x: Tensor) -> Tensor:
    """A list used as a stack, driven by opcodes."""
    stack: list[Tensor] = [x]
    for op in program.tolist():
        if op == 0:
            stack.append(stack[-1] * 2)
        elif op == 1 and len(stack) >= 2:
            right = stack.pop()
            left = stack.pop()
            stack.append(left + right)
        elif op == 2 and len(stack) >= 2:
            stack[-1], stack[-2] = stack[-2], stack[-1] - 1
        elif op == 3:
            stack.insert(0, x.sin())
    while len(stack) > 1:
        stack.append(stack.pop() - stack.pop())
    return stack[0]


def segment_pooling(x: Tensor, ids: Tensor) -> Tensor:
    """The largest row of each segment, with segments as they come."""
    pooled = []
    start = 0
    for i in range(1, ids.shape[0] + 1):
        if i == ids.shape[0] or ids[i] != ids[start]:
            pooled.append(x[start:i].amax(0))
            start = i
    return torch.stack(pooled)


def hash_buckets(keys: Tensor, x: Tensor) -> dict[int, Tensor]:
    """Rows summed into the buckets of a dict by a hash."""
    buckets: dict[int, Tensor] = {b: torch.zeros(2) for b in range(3)}
    for key, row in zip(keys, x):
        b = int(key * 7 + 3) % 3
        buckets[b] = buckets[b] + row
    return buckets


def generator_windows(x: Tensor, width: Tensor) -> list[Tensor]:
    """A generator whose number of items depends on data."""

    def windows(size: int):
        start = 0
        while start + size <= x.shape[0]:
            window = x[start : start + size]
            if window.sum() != 0:
                yield window
            start += size

    return [w.mean() for w in windows(int(width))]


_BOXES = torch.tensor(
    [[0.0, 0.0, 4.0, 4.0], [0.5, 0.5, 4.0, 4.0], [5.0, 5.0, 8.0, 8.0], [5.0, 5.0, 8.5, 8.0]]
)
_ROWS = torch.tensor([[1.0, -2.0, 0.5], [-1.0, 3.0, -4.0], [2.0, 2.0, 2.0], [0.1, 0.1, 0.1]])

CASES = (
    Case(
        "nms",
        NonMaximumSuppression,
        (
            (_BOXES, torch.tensor([0.9, 0.8, 0.3, 0.7])),
            (_BOXES * torch.arange(1, 5).unsqueeze(1), torch.tensor([0.9, 0.8, 0.05, 0.7])),
            (_BOXES, torch.tensor([0.05, 0.01, 0.0, 0.02])),
            (_BOXES.repeat(2, 1) + torch.arange(8).unsqueeze(1), torch.linspace(0.2, 0.9, 8)),
            (_BOXES[:2], torch.tensor([0.4, 0.6])),
        ),
        ("while", "shapes change", "list", "mask"),
        {"boxes": {0: "boxes[1..100]"}, "scores": {0: "boxes"}},
    ),
    Case(
        "layer_drop",
        LayerDrop,
        tuple(
            (torch.linspace(-1, 1, 4), torch.tensor(keep))
            for keep in (
                [True, False, True, True, False],
                [False] * 5,
                [True] * 5,
            )
        ),
        ("ModuleList", "list result"),
    ),
    Case(
        "collect_and_concatenate",
        function(collect_and_concatenate),
        ((_ROWS,), (-torch.ones(4, 3),), (torch.ones(4, 3),), (_ROWS.flip(0) - 1,)),
        ("list", "cat", "pop"),
    ),
    Case(
        "comprehension_filter",
        function(comprehension_filter),
        ((_ROWS, torch.tensor(3.0)), (_ROWS, torch.tensor(30.0)), (-_ROWS, torch.tensor(0.1))),
        ("comprehension", "list result"),
    ),
    Case(
        "dict_by_side",
        function(dict_by_side),
        (
            (torch.tensor([1.0, 2.0, 4.0]),),
            (torch.tensor([1.0, -2.0, 4.0]),),
            (torch.tensor([-1.0, -2.0, 0.0]),),
        ),
        ("dict", "structures differ"),
    ),
    Case(
        "classifier_report",
        Classifier,
        ((torch.tensor([0.1, 0.2, -0.1, 0.0]),), (torch.tensor([9.0, -9.0, 9.0, 5.0]),)),
        ("dataclass", "NamedTuple"),
    ),
    Case(
        "object_attributes",
        function(object_attributes),
        ((_ROWS,), (-_ROWS,), (_ROWS[:1],), (torch.cat([_ROWS, _ROWS * 9]),)),
        ("attributes", "None"),
        {"x": {0: "rows"}},
    ),
    Case(
        "run_length_encoding",
        function(run_length_encoding),
        tuple(
            (torch.tensor(v),) for v in ([1, 1, 2, 2, 2, 3], [5, 5, 5, 5], [1, 2, 1, 2, 1, 2, 2])
        ),
        ("list", "stack"),
        {"x": {0: "length[1..64]"}},
    ),
    Case(
        "stack_machine",
        function(stack_machine),
        tuple(
            (torch.tensor(p), torch.tensor([0.5, 1.0]))
            for p in ([0, 0, 1, 0, 2], [1, 2, 3, 3, 1], [0, 7, 0, 0, 3], [1, 1, 2, 2, 5])
        ),
        ("list", "pop", "insert"),
    ),
    Case(
        "segment_pooling",
        function(segment_pooling),
        tuple(
            (torch.cat([_ROWS, -_ROWS]), torch.tensor(ids))
            for ids in ([0, 0, 0, 1, 1, 2, 2, 2], [4] * 8, [0, 1, 2, 3, 4, 5, 6, 7])
        ),
        ("list", "slice", "stack"),
    ),
    Case(
        "hash_buckets",
        function(hash_buckets),
        (
            (torch.tensor([1, 5, 9, 12]), _ROWS[:, :2]),
            (torch.tensor([3, 3, 3, 4]), _ROWS[:, 1:]),
        ),
        ("dict", "index"),
    ),
    Case(
        "generator_windows",
        function(generator_windows),
        tuple(
            (torch.tensor([1.0, 2.0, 0.0, 0.0, 3.0, 4.0, 5.0]), torch.tensor(w)) for w in (2, 3, 8)
        ),
        ("generator", "closure", "list result"),
    ),
)
