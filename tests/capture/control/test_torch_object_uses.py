"""Objects of which data decides how many exist, against eager: as they are used in programs."""

from __future__ import annotations

import collections
import dataclasses
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest
import torch
from torch import Tensor

from ptc.capture.api import capture_program
from ptc.support.diagnostics import CompileError
from tests.capture.control.checking import check

_COUNTS = tuple(torch.tensor(n) for n in (4, 2, 1, 0))


class Node:
    def __init__(self, value: int) -> None:
        self.value = value
        self.children: list[Node] = []
        self.mark: Node | None = None


def bfs(n: Tensor) -> Any:
    root = Node(0)
    nodes: list[Any] = [root]
    for i in range(1, int(n) * 2):
        node = Node(i)
        nodes[(i - 1) // 2].children.append(node)
        nodes.append(node)
    order: list[int] = []
    queue: Any = collections.deque([root])
    while queue:
        node = queue.popleft()
        order.append(node.value)
        for child in node.children:
            child.mark = node
            queue.append(child)
    return order, [-1 if m.mark is None else m.mark.value for m in nodes]


class Half:
    kind = "none"

    def __init__(self, box: list[Any], n: int) -> None:
        self.n = n
        box.append(self)
        if n % 2:
            raise ValueError("odd")
        self.late = n * 10


def escaped(n: Tensor) -> Any:
    box: list[Any] = []
    odd = 0
    for i in range(int(n)):
        try:
            Half(box, i)
        except ValueError:
            odd += 1
    total = 0
    bad = 0
    for h in box:
        if hasattr(h, "late"):
            total += h.late
        else:
            bad += 1
    return total, bad, len(box), odd


def escaped_error(n: Tensor) -> Any:
    box: list[Any] = []
    odd = 0
    for i in range(int(n)):
        try:
            Half(box, i)
        except ValueError:
            odd += 1
    total = 0
    for h in box:
        total += h.late
    return total, odd


class Pair:
    def __init__(self, a: int, b: str, t: Tensor) -> None:
        self.a = a
        self.b = b
        self.t = t
        self.list = [a]


def swaps(x: Tensor) -> Any:
    pairs: list[Any] = []
    for i in range(int(x[0])):
        pairs.append(Pair(i, f"s{i}", x * i))
    for i in range(len(pairs) - 1):
        p, q = pairs[i], pairs[i + 1]
        p.a, q.a = q.a, p.a
        p.t, q.t = q.t, p.t
        p.list, q.list = q.list, p.list
        q.list.append(100 + i)
    total = torch.zeros(2)
    for p in pairs:
        total = total * 2 + p.t
    return [p.a for p in pairs], " ".join([p.b for p in pairs]), total, [sum(p.list) for p in pairs]


_PAIRS = (torch.tensor([4.0, 1.0]), torch.tensor([2.0, 1.0]), torch.tensor([0.0, 1.0]))


def groups(x: Tensor) -> Any:
    table: Any = collections.defaultdict(list)
    for i in range(x.shape[0]):
        table[int(x[i])].append(Node(i))
    out: Any = []
    for key, nodes in table.items():
        for node in nodes:
            node.value += key * 10
        out.append(max(nodes, key=lambda node: node.value).value)
    best = min([node for nodes in table.values() for node in nodes], key=lambda node: -node.value)
    return (
        list(table),
        out,
        best.value,
        any(node.value > 12 for nodes in table.values() for node in nodes),
    )


_GROUPS = (torch.tensor([1, 2, 1, 0]), torch.tensor([0, 0, 0, 0]), torch.tensor([3, 2, 1, 0]))


def maybe(n: Tensor) -> Any:
    kept: Node | None = None
    nodes: list[Any] = []
    for i in range(int(n)):
        if i % 2:
            kept = Node(i)
            nodes.append(kept)
        elif kept is not None:
            kept.value += 100
            kept = None
    other = Node(-1) if kept is None else kept
    other.value += 7
    return (
        [m.value for m in nodes],
        other.value,
        kept is None,
        other in nodes,
        [m is other for m in nodes],
        [m == other for m in nodes],
        [m != other for m in nodes],
    )


@dataclass
class Rec:
    a: int
    b: Any = None
    c: list[int] = field(default_factory=lambda: [])


def records(n: Tensor) -> Any:
    recs: list[Rec] = []
    for i in range(int(n)):
        r = Rec(i)
        r.b = i * 0.5 if i % 2 else None
        recs.append(r)
    copies = [dataclasses.replace(r, a=r.a + 10) for r in recs]
    for r in recs:
        r.c.append(1)
    return [r.a for r in copies], [len(r.c) for r in copies], [r.b is None for r in copies]


def printing(n: Tensor) -> Any:
    recs: list[Rec] = []
    for i in range(int(n)):
        recs.append(Rec(i, "x" if i % 2 else None))
    for r in recs:
        print(r.a, r.b, r)
    return len(recs)


def mixed(n: Tensor) -> Any:
    recs: list[Rec] = []
    for i in range(int(n)):
        r = Rec(i)
        if i == 0:
            r.b = True
        elif i == 1:
            r.b = 3
        elif i == 2:
            r.b = "text"
        else:
            r.b = [1, 2]
        recs.append(r)
    text = ""
    for r in recs:
        if isinstance(r.b, bool):
            text += "bool "
        elif isinstance(r.b, int):
            text += f"int{r.b} "
        elif isinstance(r.b, str):
            text += r.b + " "
        elif r.b is None:
            text += "none"
        else:
            r.b.append(5)
            text += f"list{len(r.b)} "
    return text


def tensors(x: Tensor) -> Any:
    recs: list[Rec] = []
    for i in range(int(x[0])):
        recs.append(Rec(i, x.clone()))
    for r in recs:
        t = r.b
        t += 1
        r.b *= 2
    out = x
    for r in recs:
        out = out + r.b
    return out


class Outer:
    def __init__(self, n: int) -> None:
        self.inner = Node(n)
        self.pair = (self.inner, n)
        self.pairs = [(self.inner, n)]


def nested(n: Tensor) -> Any:
    outers: list[Outer] = []
    for i in range(int(n)):
        outers.append(Outer(i))
        if i:
            outers[i].inner.children.append(outers[i - 1].inner)
    for o in outers:
        o.pair[0].value += 10
        for node, k in o.pairs:
            node.value += k
    return (
        [o.inner.value for o in outers],
        [len(o.inner.children) for o in outers],
        [sum([c.value for c in o.inner.children]) for o in outers],
    )


class Default:
    limit = 3
    seen: int = 0

    def __init__(self, n: int) -> None:
        self.level = self.limit + n
        if n > 1:
            self.limit = n * 2


def defaults(n: Tensor) -> Any:
    ds: list[Default] = []
    for i in range(int(n)):
        ds.append(Default(i))
    for d in ds:
        d.seen += 1
        d.seen += d.limit
    return [d.level for d in ds], [d.limit for d in ds], [d.seen for d in ds]


_PROGRAMS: tuple[tuple[Callable[..., Any], tuple[Any, ...]], ...] = (
    (bfs, _COUNTS[:3]),
    (escaped, _COUNTS),
    (escaped_error, _COUNTS),
    (swaps, _PAIRS),
    (groups, _GROUPS),
    (maybe, _COUNTS),
    (records, _COUNTS),
    (printing, _COUNTS),
    (mixed, _COUNTS),
    (tensors, _PAIRS),
    (nested, _COUNTS),
    (defaults, _COUNTS),
)


@pytest.mark.parametrize(("function", "inputs"), _PROGRAMS)
def test_objects(function: Callable[..., Any], inputs: tuple[Any, ...]) -> None:
    check(function, *inputs)


# -- what is refused ------------------------------------------------------------------------------


class Tracks(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.tracks: list[Any] = []

    def forward(self, n: Tensor) -> list[int]:
        for i in range(int(n)):
            self.tracks.append(Node(i))
        return [track.value for track in self.tracks]


class Rows(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.rows: list[list[int]] = []

    def forward(self, n: Tensor) -> list[int]:
        for i in range(int(n)):
            row: list[int] = []
            for j in range(i):
                row.append(j)
            self.rows.append(row)
        return [len(row) for row in self.rows]


def without(n: Tensor) -> int:
    nodes: list[Node] = []
    for i in range(int(n)):
        nodes.append(Node(i))
        del nodes[-1].mark
    return len(nodes)


def addresses(n: Tensor) -> int:
    nodes: list[Node] = []
    found: set[int] = set()
    for i in range(int(n)):
        nodes.append(Node(i))
        found.add(id(nodes[-1]))
    return len(found)


@pytest.mark.parametrize(
    ("function", "code", "line"),
    [
        (Tracks(), "PTC-B003", "'tracks' is kept from call to call"),
        (Rows(), "PTC-B003", "'rows' is kept from call to call"),
        (without, "PTC-B006", "attribute 'mark'"),
        (addresses, "PTC-B002", "the address of an object of class Node"),
    ],
)
def test_refused(function: Callable[..., Any], code: str, line: str) -> None:
    with pytest.raises(CompileError, match=line) as refused:
        capture_program(function, (torch.tensor(3),))
    assert refused.value.code == code


def dictionaries(n: Tensor) -> Any:
    recs: list[Rec] = []
    for i in range(int(n)):
        recs.append(Rec(i))
    return [dataclasses.asdict(rec)["a"] for rec in recs], [vars(rec)["a"] for rec in recs]


def test_dictionaries_of_attributes() -> None:
    check(dictionaries, *_COUNTS)


def added(n: Tensor) -> Any:
    values: list[int] = []
    for i in range(int(n)):
        values.append(i)
    try:
        return values + "text"  # type: ignore[operator]
    except TypeError as error:
        return str(error)


def test_a_list_whose_length_data_decides_and_a_string_are_not_added() -> None:
    check(added, *_COUNTS)
