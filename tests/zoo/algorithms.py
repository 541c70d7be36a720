"""Algorithms of a textbook kind, written over tensors."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from tests.zoo.case import Case, function


def binary_search(table: Tensor, wanted: Tensor) -> tuple[int, Tensor]:
    """The place of a value in a sorted vector, -1 if it is not there."""
    low, high = 0, table.shape[0] - 1
    probes = torch.zeros((), dtype=torch.int64)
    while low <= high:
        middle = (low + high) // 2
        probes += 1
        if table[middle] == wanted:
            return middle, probes
        if table[middle] < wanted:
            low = middle + 1
        else:
            high = middle - 1
    return -1, probes


def bubble_sort(x: Tensor) -> tuple[Tensor, int]:
    """Sorts its input in place with an early exit."""
    swaps = 0
    for end in range(x.shape[0] - 1, 0, -1):
        swapped = False
        for j in range(end):
            if x[j] > x[j + 1]:
                x[j], x[j + 1] = x[j + 1].clone(), x[j].clone()
                swaps += 1
                swapped = True
        if not swapped:
            break
    return x, swaps


def knapsack(weights: Tensor, values: Tensor, capacity: Tensor) -> tuple[float, list[int]]:
    """The 0/1 knapsack by dynamic programming over Python lists, and which items to take."""
    room = int(capacity)
    w, v = weights.tolist(), values.tolist()
    best = [[0.0] * (10 + 1) for _ in range(len(w) + 1)]
    for i in range(1, len(w) + 1):
        for c in range(10 + 1):
            best[i][c] = best[i - 1][c]
            if w[i - 1] <= c and best[i - 1][c - w[i - 1]] + v[i - 1] > best[i][c]:
                best[i][c] = best[i - 1][c - w[i - 1]] + v[i - 1]
    taken = []
    left = room
    for i in range(len(w), 0, -1):
        if best[i][left] != best[i - 1][left]:
            taken.append(i - 1)
            left -= w[i - 1]
    return best[len(w)][room], taken


def euclid(a: Tensor, b: Tensor) -> tuple[Tensor, int]:
    """The greatest common divisor, on tensors and with a count of the steps."""
    a, b = a.abs(), b.abs()
    steps = 0
    while b != 0:
        a, b = b, a % b
        steps += 1
    return a, steps


def _merge(a: list[Tensor], b: list[Tensor]) -> list[Tensor]:
    merged: list[Tensor] = []
    i = j = 0
    while i < len(a) and j < len(b):
        if a[i] <= b[j]:
            merged.append(a[i])
            i += 1
        else:
            merged.append(b[j])
            j += 1
    return merged + a[i:] + b[j:]


def _merge_sort(items: list[Tensor]) -> list[Tensor]:
    if len(items) <= 1:
        return items
    half = len(items) // 2
    return _merge(_merge_sort(items[:half]), _merge_sort(items[half:]))


def merge_sort(x: Tensor) -> Tensor:
    """Merge sort by recursion over lists of tensors."""
    return torch.stack(_merge_sort([x[i] for i in range(x.shape[0])]))


def shortest_paths(weights: Tensor, source: Tensor) -> tuple[Tensor, int]:
    """Bellman and Ford's algorithm. Raises ValueError on a negative cycle."""
    n = weights.shape[0]
    distance = torch.full((n,), float("inf"))
    distance[source] = 0.0
    for round_ in range(n):
        relaxed = torch.minimum(distance, (distance.unsqueeze(1) + weights).min(0).values)
        if torch.equal(relaxed, distance):
            return distance, round_
        distance = relaxed
    raise ValueError("the graph has a negative cycle")


def flood_fill(grid: Tensor, row: Tensor, column: Tensor) -> tuple[Tensor, int]:
    """The region of equal cells around a start, by a stack of coordinates."""
    height, width = grid.shape
    filled = torch.zeros_like(grid, dtype=torch.bool)
    colour = grid[row, column]
    stack = [(int(row), int(column))]
    size = 0
    while stack:
        r, c = stack.pop()
        if r < 0 or c < 0 or r >= height or c >= width:
            continue
        if filled[r, c] or grid[r, c] != colour:
            continue
        filled[r, c] = True
        size += 1
        stack.extend([(r + 1, c), (r - 1, c), (r, c + 1), (r, c - 1)])
    return filled, size


def longest_increasing(x: Tensor) -> tuple[int, Tensor]:
    """The longest increasing subsequence, quadratic dynamic programming."""
    n = x.shape[0]
    lengths = torch.ones(n, dtype=torch.int64)
    parents = torch.full((n,), -1)
    for i in range(1, n):
        for j in range(i):
            if x[j] < x[i] and lengths[j] + 1 > lengths[i]:
                lengths[i] = lengths[j] + 1
                parents[i] = j
    at = int(lengths.argmax())
    chain = []
    while at >= 0:
        chain.append(x[at])
        at = int(parents[at])
    return len(chain), torch.stack(chain[::-1])


def sieve(limit: Tensor) -> Tensor:
    """Prime numbers up to a limit from data."""
    n = int(limit)
    if n < 2:
        return torch.empty(0, dtype=torch.int64)
    prime = torch.ones(n + 1, dtype=torch.bool)
    prime[:2] = False
    k = 2
    while k * k <= n:
        if prime[k]:
            prime[k * k :: k] = False
        k += 1
    return prime.nonzero().flatten()


def run_until_threshold(scores: Tensor, budget: Tensor) -> list[int]:
    """Items in the order of their scores until a budget is used up (a topk-driven loop)."""
    chosen: list[int] = []
    spent = 0.0
    for index in scores.topk(scores.shape[0]).indices:
        cost = 1.0 + 0.5 * len(chosen)
        if spent + cost > budget:
            continue
        if scores[index] <= 0:
            break
        spent += cost
        chosen.append(index.item())
    return chosen


class IntervalMerger(nn.Module):
    """Overlapping intervals are merged; the width is learnt."""

    def __init__(self) -> None:
        super().__init__()
        self.slack = nn.Parameter(torch.tensor(0.25))

    def forward(self, starts: Tensor, ends: Tensor) -> Tensor:
        order = starts.argsort()
        merged: list[list[Tensor]] = []
        for i in order:
            if merged and starts[i] <= merged[-1][1] + self.slack:
                merged[-1][1] = max(merged[-1][1], ends[i])
            else:
                merged.append([starts[i], ends[i]])
        return torch.stack([torch.stack(pair) for pair in merged])


def game_of_life(board: Tensor, generations: Tensor) -> tuple[Tensor, int, str]:
    """Generations until the board is empty, still, or time is up."""
    for age in range(int(generations)):
        padded = torch.nn.functional.pad(board, (1, 1, 1, 1))
        around = padded.unfold(0, 3, 1).unfold(1, 3, 1).sum((-1, -2)) - board
        following = ((around == 3) | ((board == 1) & (around == 2))).long()
        if not following.any():
            return following, age, "empty"
        if (following == board).all():
            return board, age, "still"
        board = following
    return board, int(generations), "alive"


def roman_numerals(n: Tensor) -> str:
    """A string built in nested loops over a dict."""
    rest = n.item()
    text = ""
    for value, letters in {100: "C", 90: "XC", 50: "L", 10: "X", 9: "IX", 5: "V", 1: "I"}.items():
        while rest >= value:
            text += letters
            rest -= value
    return text


_INF = float("inf")
_EDGES = torch.tensor(
    [[0.0, 2.0, _INF, 9.0], [_INF, 0.0, 3.0, _INF], [_INF, _INF, 0.0, 1.0], [_INF, _INF, _INF, 0.0]]
)
_NEGATIVE = torch.tensor([[0.0, 1.0, _INF], [_INF, 0.0, -3.0], [1.0, _INF, 0.0]])
_GRID = torch.tensor([[1, 1, 0], [0, 1, 0], [2, 1, 1]])
_BLINKER = torch.zeros(5, 5, dtype=torch.int64)
_BLINKER[2, 1:4] = 1
_BLOCK = torch.zeros(5, 5, dtype=torch.int64)
_BLOCK[1:3, 1:3] = 1
_DOT = torch.zeros(5, 5, dtype=torch.int64)
_DOT[2, 2] = 1

CASES = (
    Case(
        "binary_search",
        function(binary_search),
        tuple(
            (torch.tensor([1.0, 3.0, 4.0, 8.0, 9.0, 12.0]), torch.tensor(v))
            for v in (4.0, 12.0, 1.0, 5.0, 99.0)
        ),
        ("while", "index"),
    ),
    Case(
        "bubble_sort",
        function(bubble_sort),
        tuple(
            (torch.tensor(v),)
            for v in ([3.0, 1.0, 2.0, 0.5], [1.0, 2.0, 3.0, 4.0], [2.0, 1.0, 3.0, 3.0])
        ),
        ("nested", "mutation", "break"),
    ),
    Case(
        "knapsack",
        function(knapsack),
        tuple(
            (torch.tensor([3, 4, 2]), torch.tensor(v), torch.tensor(c))
            for v, c in (([5.0, 6.0, 3.0], 7), ([5.0, 6.0, 3.0], 2), ([1.0, 9.0, 9.0], 10))
        ),
        ("tolist", "dynamic programming", "list of lists"),
    ),
    Case(
        "euclid",
        function(euclid),
        tuple((torch.tensor(a), torch.tensor(b)) for a, b in ((48, 36), (-17, 5), (7, 0))),
        ("while", "tuple assignment"),
    ),
    Case(
        "merge_sort",
        function(merge_sort),
        tuple((torch.tensor(v),) for v in ([3.0, 1.0, 2.0, 0.5, 0.7], [1.0, 2.0, 3.0, 4.0, 5.0])),
        ("recursion", "list", "slice"),
    ),
    Case(
        "shortest_paths",
        function(shortest_paths),
        (
            (_EDGES, torch.tensor(0)),
            (_EDGES.t().contiguous(), torch.tensor(2)),
            (torch.nn.functional.pad(_NEGATIVE, (0, 1, 0, 1), value=_INF), torch.tensor(0)),
        ),
        ("convergence", "raise"),
    ),
    Case(
        "flood_fill",
        function(flood_fill),
        tuple((_GRID, torch.tensor(r), torch.tensor(c)) for r, c in ((0, 0), (1, 2), (2, 0))),
        ("while", "list of tuples", "continue"),
    ),
    Case(
        "longest_increasing",
        function(longest_increasing),
        tuple((torch.tensor(v),) for v in ([3.0, 1.0, 2.0, 5.0, 4.0], [5.0, 4.0, 3.0, 2.0, 1.0])),
        ("nested", "mutation", "slice"),
    ),
    Case(
        "sieve",
        function(sieve),
        tuple((torch.tensor(n),) for n in (30, 1, 2, 50)),
        ("sizes", "slice", "nonzero"),
    ),
    Case(
        "topk_budget",
        function(run_until_threshold),
        (
            (torch.tensor([0.5, 3.0, -1.0, 2.0]), torch.tensor(3.0)),
            (torch.tensor([0.5, 3.0, -1.0, 2.0]), torch.tensor(30.0)),
            (torch.tensor([-0.5, -3.0, -1.0, -2.0]), torch.tensor(30.0)),
        ),
        ("topk", "continue", "break", "list result"),
    ),
    Case(
        "interval_merger",
        IntervalMerger,
        (
            (torch.tensor([1.0, 6.0, 2.0, 9.0]), torch.tensor([3.0, 7.0, 4.0, 10.0])),
            (torch.tensor([1.0, 1.0, 1.0, 1.0]), torch.tensor([3.0, 7.0, 4.0, 10.0])),
        ),
        ("argsort", "list of lists", "max"),
    ),
    Case(
        "game_of_life",
        function(game_of_life),
        (
            (_BLINKER, torch.tensor(3)),
            (_BLOCK, torch.tensor(3)),
            (_DOT, torch.tensor(3)),
            (_BLINKER, torch.tensor(0)),
        ),
        ("range", "early return", "string result"),
    ),
    Case(
        "roman_numerals",
        function(roman_numerals),
        tuple((torch.tensor(n),) for n in (94, 1, 267, 0)),
        ("string result", "nested", "dict"),
    ),
)
