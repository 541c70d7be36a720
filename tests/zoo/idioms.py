"""Idioms of Python around decisions on data: walrus, nonlocal, dispatch tables, patterns, sets."""

from __future__ import annotations

import contextlib
import functools
import itertools
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterator

import torch
from torch import Tensor, nn

from tests.zoo.case import Case, function


def walrus_convergence(x: Tensor, tolerance: Tensor) -> tuple[Tensor, list[float]]:
    """An assignment in the condition of a loop, with the history as numbers."""
    history = []
    while (change := (x - x.cos()).abs().max()) > tolerance:
        history.append(change.item())
        x = x.cos()
        if (n := len(history)) >= 12:
            print("stopped after", n)
            break
    return x, history


def nonlocal_counter(x: Tensor) -> tuple[Tensor, int]:
    """A nested function that counts in its enclosing frame."""
    used = 0

    def damp(row: Tensor) -> Tensor:
        nonlocal used
        if row.norm() > 2:
            used += 1
            return row / row.norm()
        return row

    rows = [damp(row) for row in x]
    return torch.stack(rows), used


class DispatchTable(nn.Module):
    """Functions in a dict, bound methods and a lambda among them, chosen by data."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(3, 3)
        self.table: dict[int, Callable[[Tensor], Tensor]] = {
            0: torch.relu,
            1: self._shifted,
            2: lambda t: t * t,
            3: functools.partial(torch.clamp, min=-0.5, max=0.5),
        }

    def _shifted(self, x: Tensor) -> Tensor:
        return self.linear(x) - 1

    def forward(self, x: Tensor, op: Tensor) -> Tensor:
        run = self.table.get(int(op), torch.neg)
        return run(x)


def command_patterns(commands: Tensor, x: Tensor) -> Tensor:
    """`match` with sequence patterns, captures and string alternatives."""
    names = ("push", "scale", "negate", "flip", "rotate")
    for code, amount in commands.tolist():
        command = (names[code], amount) if 0 <= code < 5 else ("unknown",)
        match command:
            case ("push", value) if value > 0:
                x = x + value
            case ("push", _):
                x = x - 1
            case ("scale", value):
                x = x * value
            case ("negate" | "flip" as name, _):
                x = -x if name == "negate" else x.flip(0)
            case _:
                print("ignored:", command[0])
    return x


def set_membership(codes: Tensor, x: Tensor) -> tuple[Tensor, int]:
    """Numbers from data in sets and tuples; a set that remembers what was seen."""
    seen: set[int] = set()
    repeated = 0
    for code in codes:
        c = int(code)
        if c in seen:
            repeated += 1
        seen.add(c)
        if c in (2, 3, 5, 7):
            x = x * 1.5
        elif c not in {0, 1}:
            x = x - c
    return x, repeated + len(seen) * 100


class MethodByName(nn.Module):
    """A method looked up by a string that data chose."""

    def __init__(self) -> None:
        super().__init__()
        self.gain = nn.Parameter(torch.tensor(1.5))

    def mode_soft(self, x: Tensor) -> Tensor:
        return torch.tanh(x) * self.gain

    def mode_hard(self, x: Tensor) -> Tensor:
        return x.sign()

    def forward(self, x: Tensor) -> Tensor:
        name = "hard" if x.abs().mean() > 2 else "soft"
        return getattr(self, f"mode_{name}")(x)


@contextlib.contextmanager
def announced(what: str) -> Iterator[None]:
    print("begin", what)
    try:
        yield
    finally:
        print("end", what)


def context_manager(x: Tensor) -> Tensor:
    """`with` around a return, an exception and a normal end."""
    with announced("check"):
        if x.sum() == 0:
            raise ValueError("nothing to do")
        if x.sum() < 0:
            return -x
        y = x * 2
    return y


def suppressed(x: Tensor, index: Tensor) -> Tensor:
    """`contextlib.suppress` around a lookup that may fail."""
    weights = {0: 0.5, 3: 2.0}
    with contextlib.suppress(KeyError):
        x = x * weights[int(index)]
    return x + 1


def reduce_and_accumulate(x: Tensor, start: Tensor) -> tuple[Tensor, list[int]]:
    """`functools.reduce` and `itertools` with functions that decide."""

    def larger(a: Tensor, b: Tensor) -> Tensor:
        return a if a.sum() >= b.sum() else b

    best = functools.reduce(larger, [x[i] for i in range(x.shape[0])])
    counts = (x > start).sum(1).tolist()
    totals = list(itertools.accumulate(counts, lambda a, b: b if b > a else a + b))
    return best, totals


def breadth_first(adjacency: Tensor, start: Tensor, goal: Tensor) -> tuple[int, list[int]]:
    """Breadth-first search with a deque; distance and order of visits."""
    first = int(start)
    distance = {first: 0}
    waiting = deque([first])
    order: list[int] = []
    while waiting:
        node = waiting.popleft()
        order.append(node)
        if node == goal:
            return distance[node], order
        for other in adjacency[node].nonzero().flatten().tolist():
            if other not in distance:
                distance[other] = distance[node] + 1
                waiting.append(other)
    return -1, order


def bigrams_once(scores: Tensor, ends: Tensor) -> tuple[Tensor, int, list[int]]:
    """Greedy decoding that repeats no pair of tokens, with the tokens that followed each."""
    first, last = ends.tolist()
    tokens = [first]
    seen: set[tuple[int, int]] = set()
    followers: dict[int, list[int]] = defaultdict(list)
    while len(tokens) < 9:
        order = (scores[tokens[-1]] - 0.1 * len(tokens)).argsort(descending=True).tolist()
        for token in order:
            if (tokens[-1], token) not in seen:
                break
        else:
            break
        seen.add((tokens[-1], token))
        followers[tokens[-1]].append(token)
        tokens.append(token)
        if token == last:
            break
    return torch.tensor(tokens), len(seen), [len(after) for after in followers.values()]


def components(edges: Tensor) -> tuple[int, dict[int, int]]:
    """Union-find over a dictionary, from edges as they come up to the first negative one."""
    parent: dict[int, int] = {}

    def root(node: int) -> int:
        while parent[node] != node:
            parent[node] = parent[parent[node]]
            node = parent[node]
        return node

    i = 0
    while i < edges.shape[0] and edges[i, 0] >= 0:
        a, b = edges[i].tolist()
        parent.setdefault(a, a)
        parent.setdefault(b, b)
        one, other = root(a), root(b)
        if one != other:
            parent[max(one, other)] = min(one, other)
        i += 1
    return len({root(node) for node in parent}), {node: root(node) for node in parent}


def majority(votes: Tensor) -> tuple[int, int]:
    """`Counter` over numbers from data, ties go to the smallest."""
    counts = Counter(votes.tolist())
    best, most = min(counts.items(), key=lambda item: (-item[1], item[0]))
    if most * 2 <= votes.shape[0]:
        return -1, most
    return best, most


def unpacking(x: Tensor, cut: Tensor) -> tuple[Tensor, list[Tensor], Tensor]:
    """Starred assignment from lists whose length data decides."""
    rows = [row for row in x if row[0] > cut]
    if len(rows) < 2:
        return x[0], rows, x[-1]
    first, *middle, last = rows
    return first, middle, last


def unique_codes(codes: Tensor, x: Tensor) -> tuple[Tensor, Tensor, list[Tensor]]:
    """Operators whose result's size depends on data, in a loop over their result."""
    values, counts = codes.unique(return_counts=True)
    means = []
    for value, count in zip(values, counts, strict=True):
        if count > 1:
            means.append(x[codes == value].mean(0))
    spread = values.repeat_interleave(counts)
    return spread, torch.bincount(codes, minlength=3), means


class Interval:
    """An interval with the usual special methods."""

    def __init__(self, low: Tensor, high: Tensor) -> None:
        self.low, self.high = low, high

    def __contains__(self, value: Tensor) -> bool:
        return bool(self.low <= value <= self.high)

    def __bool__(self) -> bool:
        return bool(self.low < self.high)

    def __and__(self, other: Interval) -> Interval:
        return Interval(max(self.low, other.low), min(self.high, other.high))

    @property
    def width(self) -> Tensor:
        return self.high - self.low


def special_methods(a: Tensor, b: Tensor, point: Tensor) -> tuple[Tensor, bool]:
    """Objects whose truth, membership and operators look at data."""
    both = Interval(a[0], a[1]) & Interval(b[0], b[1])
    if not both:
        return torch.zeros(()), False
    return both.width, point in both


def report_table(x: Tensor) -> str:
    """A text assembled from parts that data chooses."""
    lines = []
    for i, v in enumerate(x.tolist()):
        mark = "high" if v > 1 else "low" if v < -1 else "ok"
        lines.append(f"{i}: {v:6.2f} {mark.upper():>5}")
    if not any("HIGH" in line for line in lines):
        lines.append("-" * 8)
    return "\n".join(lines)


_ROWS = torch.tensor([[1.0, -2.0, 0.5], [-1.0, 3.0, -4.0], [2.0, 2.0, 2.0], [0.1, 0.1, 0.1]])
_PAIRS = torch.tensor([[0.8, 0.3, 0.4], [0.7, 0.0, 0.8], [0.4, 0.8, 0.6]])
_GRAPH = torch.tensor([[0, 1, 1, 0, 0], [0, 0, 0, 1, 0], [0, 1, 0, 1, 0], [1, 0, 0, 0, 0], [0] * 5])

CASES = (
    Case(
        "walrus_convergence",
        function(walrus_convergence),
        (
            (torch.tensor([0.5, 1.0]), torch.tensor(0.05)),
            (torch.tensor([0.739085, 0.739085]), torch.tensor(0.05)),
            (torch.tensor([0.5, 9.0]), torch.tensor(1e-9)),
        ),
        ("walrus", "list result", "print"),
    ),
    Case(
        "nonlocal_counter",
        function(nonlocal_counter),
        ((_ROWS,), (_ROWS * 0.1,), (_ROWS * 100,)),
        ("closure", "nonlocal", "comprehension"),
    ),
    Case(
        "dispatch_table",
        DispatchTable,
        tuple((torch.tensor([-1.0, 0.25, 2.0]), torch.tensor(i)) for i in (0, 1, 2, 3, 9)),
        ("dict", "switch", "lambda"),
    ),
    Case(
        "command_patterns",
        function(command_patterns),
        tuple(
            (torch.tensor(c), torch.arange(3.0))
            for c in (
                [[0, 2], [1, 3], [2, 0]],
                [[3, 0], [0, -4], [7, 1]],
                [[-1, 0], [4, 3], [2, 2]],
            )
        ),
        ("match", "tolist", "string"),
    ),
    Case(
        "set_membership",
        function(set_membership),
        tuple((torch.tensor(c), torch.ones(2)) for c in ([2, 2, 0], [1, 4, 9], [7, 5, 7])),
        ("set", "in"),
    ),
    Case(
        "method_by_name",
        MethodByName,
        ((torch.tensor([1.0, -1.0]),), (torch.tensor([5.0, -1.0]),)),
        ("getattr", "f-string", "switch"),
    ),
    Case(
        "context_manager",
        function(context_manager),
        ((torch.ones(2),), (-torch.ones(2),), (torch.zeros(2),)),
        ("with", "early return", "raise"),
    ),
    Case(
        "suppressed_lookup",
        function(suppressed),
        tuple((torch.ones(2), torch.tensor(i)) for i in (0, 3, 1)),
        ("with", "dict"),
    ),
    Case(
        "reduce_and_accumulate",
        function(reduce_and_accumulate),
        (
            (_ROWS, torch.tensor(0.0)),
            (_ROWS.flip(0), torch.tensor(1.5)),
            (-_ROWS, torch.tensor(-3.0)),
        ),
        ("reduce", "itertools", "list result"),
    ),
    Case(
        "breadth_first",
        function(breadth_first),
        tuple(
            (_GRAPH, torch.tensor(s), torch.tensor(g)) for s, g in ((0, 3), (0, 4), (4, 4), (3, 1))
        ),
        ("deque", "dict", "while", "list result"),
    ),
    Case(
        "bigrams_once",
        function(bigrams_once),
        tuple((_PAIRS, torch.tensor(ends)) for ends in ([0, 0], [0, 7], [2, 7])),
        ("set", "defaultdict", "tuples", "while"),
    ),
    Case(
        "union_find",
        function(components),
        tuple(
            (torch.tensor(e),)
            for e in (
                [[1, 2], [3, 4], [2, 3], [7, 8]],
                [[5, 6], [-1, 0], [1, 2], [2, 3]],
                [[-1, -1], [0, 0], [1, 1], [2, 2]],
                [[4, 4], [4, 9], [9, 2], [6, 6]],
            )
        ),
        ("dict", "while", "closure", "dict result"),
    ),
    Case(
        "majority_vote",
        function(majority),
        tuple((torch.tensor(v),) for v in ([1, 1, 2, 1, 0], [3, 3, 2, 2, 1], [4, 4, 4, 4, 4])),
        ("Counter", "min", "number result"),
    ),
    Case(
        "starred_unpacking",
        function(unpacking),
        ((_ROWS, torch.tensor(0.05)), (_ROWS, torch.tensor(1.5)), (_ROWS, torch.tensor(-5.0))),
        ("unpacking", "list result"),
    ),
    Case(
        "unique_codes",
        function(unique_codes),
        tuple((torch.tensor(c), _ROWS) for c in ([1, 0, 1, 1], [0, 5, 2, 1], [3, 3, 0, 0])),
        ("unique", "bincount", "repeat_interleave"),
    ),
    Case(
        "special_methods",
        function(special_methods),
        tuple(
            (torch.tensor(a), torch.tensor(b), torch.tensor(p))
            for a, b, p in (
                ([0.0, 2.0], [1.0, 3.0], 1.5),
                ([0.0, 2.0], [1.0, 1.25], 1.5),
                ([0.0, 5.0], [2.0, 9.0], 1.5),
                ([0.0, 1.0], [2.0, 3.0], 1.5),
            )
        ),
        ("objects", "chained", "max"),
    ),
    Case(
        "report_table",
        function(report_table),
        ((torch.tensor([0.5, 2.25, -7.0]),), (torch.tensor([0.5, 0.25, -0.125]),)),
        ("string result", "join", "f-string"),
    ),
)
