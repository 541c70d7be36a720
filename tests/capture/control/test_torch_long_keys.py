"""Tuples whose length data decides, and tuples of several lengths, as keys of dictionaries and
elements of sets and lists, against eager.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.capture.control.checking import Together, check
from tests.zoo.case import Case
from tests.zoo.harness import compare, eager, interpreted, library

Row = torch.Tensor
ROWS = [torch.tensor(r) for r in ([1, 2, 1, 2, 3], [0, -1, 0, 2, 2], [-1] * 5, [5] * 5)]


def keyed(x: Row) -> Any:
    d: Any = {}
    k = tuple(v for v in x.tolist() if v > 0)
    d[k] = len(k)
    d[()] = 7
    d[k[:1]] = 9
    return d.get(k, -1), (1, 2) in d, (True, 2) in d, d[()], list(d), len(d), ("a",) in d, 1 in d


def beams(x: Row) -> Any:
    """Prefixes as keys: read, put in, ranked, cut, and the best of them."""
    beams: Any = {(): 1.0}
    for v in x.tolist():
        longer: Any = {}
        for prefix, s in beams.items():
            longer[prefix] = longer.get(prefix, 0.0) + s * 0.25
            p = prefix + (v,)  # noqa: RUF005
            longer[p] = longer.get(p, 0.0) + s * 0.75
        beams = dict(sorted(longer.items(), key=lambda kv: kv[1], reverse=True)[:3])
    best = max(beams, key=beams.get)
    print(best, beams)
    return beams, best, list(beams.keys())


def seen(x: Row) -> Any:
    s: Any = set()
    out = []
    cur: Any = ()
    for v in x.tolist():
        cur = cur + (v,) if v > 0 else ()  # noqa: RUF005
        if cur in s:
            out.append(len(cur))
        s.add(cur)
    return out, len(s), list(s), sorted(s)


def counted(x: Row) -> Any:
    c: Any = Counter()
    cur: Any = ()
    for v in x.tolist():
        cur = (cur + (v,))[-2:]  # noqa: RUF005
        c[cur] += 1
    g = defaultdict(list)
    for k, n in c.items():
        g[k[:1]].append(n)
    return c.most_common(2), dict(g), min(c)


def of_several_kinds(x: Row) -> Any:
    """Tuples of several lengths, of ints and strings, and strings."""
    d: Any = {}
    for i, v in enumerate(x.tolist()):
        if v > 1:
            k: Any = ("big", v)
        elif v > 0:
            k = ("one",)
        elif v == 0:
            k = (v, "zero", i % 2)
        else:
            k = "neg"
        d[k] = d.get(k, 0) + 1
    return d, len(d), ("one",) in d, d.get(("big", 2)), "neg" in d, [k for k in d]  # noqa: C416


def nested(x: Row) -> Any:
    d: Any = {}
    path: Any = ()
    for v in x.tolist():
        path = path + ((v, v > 0),)  # noqa: RUF005
        d[(path[-2:], len(path) % 3)] = v
    return list(d.items()), len(d)


def mixed(x: Row) -> Any:
    seen: Any = {}
    cur: Any = ()
    for v in x.tolist():
        cur = cur + ("p" if v > 0 else "n", v)  # noqa: RUF005
        seen[cur[-3:]] = len(cur)
    return seen, (("p", 1) in seen), seen.get(("n", -1), None)


def contexts(x: Row) -> Any:
    t: Any = {(): set()}
    cur: Any = ()
    for v in x.tolist():
        t.setdefault(cur, set()).add(v)
        cur = (cur + (v,))[-2:]  # noqa: RUF005
    return sorted(t), [sorted(s) for s in t.values()]


def grams(x: Row) -> Any:
    g = defaultdict(list)
    xs = x.tolist()
    for n in range(1, 4):
        for i in range(len(xs) - n + 1):
            g[tuple(xs[i : i + n])].append(i)
    return {k: v for k, v in g.items() if len(v) > 1}, max(g, key=lambda k: len(g[k])), len(g)


def searched(x: Row) -> Any:
    todo: Any = [()]
    done: Any = set()
    order = []
    while todo:
        s = todo.pop()
        if s in done or len(s) > 2:
            continue
        done.add(s)
        order.append(s)
        for v in set(x.tolist()):
            if v > 0:
                todo.append(s + (v,))  # noqa: RUF005
    return order, len(done), list(done)


def memoised(x: Row) -> Any:
    cache: Any = {}

    def f(t: Any) -> Any:
        if t in cache:
            return cache[t]
        r = sum(t) * len(t)
        cache[t] = r
        return r

    xs = x.tolist()
    out = [f(tuple(xs[:i])) for i in range(len(xs))]
    return out + [f(tuple(sorted(xs[:i]))) for i in range(len(xs))], len(cache)


def combined(x: Row) -> Any:
    xs = x.tolist()
    a = {tuple(xs[:i]) for i in range(4)}
    b = {tuple(xs[i:]) for i in range(4)} | {()}
    return sorted(a & b), len(a | b), sorted(a - b), a <= b, list(a ^ b), list(a)


def taken_out(x: Row) -> Any:
    d: Any = {}
    xs = x.tolist()
    for i in range(len(xs)):
        d[tuple(xs[i:])] = i
    r = d.pop(tuple(xs[2:]))
    del d[tuple(xs[1:])]
    try:
        d[(9, 9)]
    except KeyError as e:
        print("missing", e, e.args)
    first = next(iter(d))
    return d, r, first, d.popitem(), list(reversed(d))


def ordered(x: Row) -> Any:
    xs = x.tolist()
    a, b = tuple(v for v in xs if v > 0), tuple(xs[:2])
    compared = a < b, a <= b, a > b, a >= b, b < a, a == b, a < (1, 2), a > (1, 2)
    return compared, sorted([a, b, (), (1,)]), max([a, b])


def rows(x: Row) -> Any:
    """`torch.tensor` of a known number of lists."""
    a = [v for v in x.tolist() if v > 0]
    if len(a) == 3:
        print("three")
    return torch.tensor([a]), torch.tensor([a, a[::-1]]), torch.tensor([tuple(a), [1, 2, 3]])


PROGRAMS = [
    keyed, beams, seen, counted, of_several_kinds, nested, mixed, contexts, grams, searched,
    memoised, combined, taken_out, ordered, rows,
]  # fmt: skip


BUILT = [beams, seen, of_several_kinds, nested, mixed, taken_out]
TOGETHER = Together.of(BUILT, *ROWS)


@pytest.mark.parametrize("program", PROGRAMS)
def test_long_keys(program: Any) -> None:
    if program in BUILT:
        TOGETHER.check(program)
    else:
        check(program, *ROWS)


@pytest.mark.parametrize("program", BUILT)
def test_long_keys_in_libraries(program: Any, tmp_path: Path) -> None:
    TOGETHER.check_library(program, tmp_path)


class Kept(torch.nn.Module):
    """What attributes keep from call to call."""

    def __init__(self) -> None:
        super().__init__()
        self.cache: Any = {}
        self.seen: Any = set()
        self.last: Any = ()
        self.paths: Any = []
        self.scores: Any = {}

    def forward(self, x: Row) -> Any:
        k = tuple(v for v in x.tolist() if v > 0)
        known = k in self.cache
        self.cache[k] = self.cache.get(k, 0) + 1
        again = k in self.seen
        self.seen.add(k)
        before, self.last = self.last, k
        self.paths.append((k[:2], len(k)))
        if k not in self.scores:
            self.scores[k] = x.float().mean()
        score = self.scores[k]
        return known, again, len(self.seen), dict(self.cache), before, list(self.paths), score


def test_long_keys_are_kept(tmp_path: Path) -> None:
    case = Case("kept", Kept, tuple((row,) for row in (*ROWS, *ROWS)))
    compare(eager(case), interpreted(case))
    compare(eager(case), library(case, tmp_path))
