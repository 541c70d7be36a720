"""Dictionaries and sets whose number of entries data decides."""

from __future__ import annotations

from collections import Counter, OrderedDict, defaultdict
from typing import Any

import pytest
import torch

from ptc.capture.api import capture_program
from ptc.support.diagnostics import CompileError
from tests.capture.control.checking import check

Row = torch.Tensor
ROWS = [
    torch.tensor(row)
    for row in (
        [3, 1, 2, 3, 1, 1, 5], [7, 7, 7, -1, -1, -1, -1], [0, 1, 2, 3, 4, 5, 6], [-1] * 7,
        [2, 0, 2, -1, -1, -1, 0],
    )
]  # fmt: skip


def numbers(x: Row) -> Any:
    return x[x >= 0].tolist()


def counted(x: Row) -> Any:
    d: dict[int, int] = {}
    for v in numbers(x):
        d[v] = d[v] + 1 if v in d else 1
    best = max(d, key=d.get) if d else -1  # type: ignore[arg-type]
    items = [k * 10 + v for k, v in d.items()]
    return list(d), list(d.values()), items, d.get(1, 0), 3 in d, len(d), best, sorted(d), bool(d)


def written_in_iterations_as_they_come(x: Row) -> Any:
    d: dict[int, int] = {}
    for v in x.tolist():
        d[v] = d.get(v, 0) + 1
    return list(d.items())


def required(x: Row) -> Any:
    d = {1: 5}
    for v in numbers(x):
        d[v] = v
    return d[3]


def caught(x: Row) -> Any:
    d: dict[int, int] = {}
    hits = 0
    for v in numbers(x):
        try:
            hits += d[v]
        except KeyError:
            d[v] = 1
    return hits, len(d)


def taken_out(x: Row) -> Any:
    d: dict[int, int] = {}
    for i, v in enumerate(numbers(x)):
        if v in d:
            del d[v]
        else:
            d[v] = i
    first = d.pop(1, -5)
    last = d.popitem() if d else (0, 0)
    n = 0
    for v in numbers(x):
        d[v] = 1
        if len(d) == 3:
            d.clear()
            n += 1
    return first, last, n, list(d.items())


def put_in_where_absent(x: Row) -> Any:
    d: dict[int, int] = {}
    total = 0
    for i, v in enumerate(numbers(x)):
        total += d.setdefault(v, i)
    return total, len(d)


def with_factory(x: Row) -> Any:
    d: dict[int, int] = defaultdict(int)
    for v in numbers(x):
        d[v] += v
    return max(d.values(), default=-1), list(d.items()), d[99], 99 in d


def counters(x: Row) -> Any:
    c = Counter(numbers(x))
    a, b = Counter(x[x > 1].tolist()), Counter(x[x < 4].tolist())
    return (
        c[1], c[99], sorted(c), c.most_common(2), sum(c.values()), sorted((a + b).items()),
        sorted((a - b).items()), sorted((a & b).items()),
    )  # fmt: skip


def in_order_of_use(x: Row) -> Any:
    """A cache of the two numbers that were used last."""
    cache: OrderedDict[int, int] = OrderedDict()
    hits = 0
    for v in numbers(x):
        if v in cache:
            hits += 1
            cache.move_to_end(v)
        else:
            cache[v] = v * v
            if len(cache) > 2:
                cache.popitem(last=False)
    return hits, list(cache.items()), list(reversed(cache))


def of_pairs(x: Row) -> Any:
    d: dict[tuple[int, bool], float] = {}
    seen, repeated = set(), 0
    ids = numbers(x)
    for i in range(len(ids) - 1):
        pair = (ids[i], ids[i + 1])
        repeated += pair in seen
        seen.add(pair)
        key = (ids[i], ids[i + 1] > 2)
        d[key] = d.get(key, 0.0) + 0.5
    return repeated, len(seen), sorted(seen), list(d.items())


def of_strings(x: Row) -> Any:
    names, d, e = ["a", "b", "c"], {}, {}
    for v in numbers(x):
        text, name = f"w{v}", names[v % 3]
        d[text] = d.get(text, 0) + 1
        e[name] = e.get(name, 0) + 1
    return list(d.items()), d.get("w1", 0), "w3" in d, list(e.items()), "a" in e


def of_floats(x: Row) -> Any:
    d: dict[float, int] = {}
    for v in (x[x >= 0] / 2).tolist():
        d[v] = d.get(v, 0) + 1
    return list(d.items()), 0.5 in d


def of_tensors(x: Row) -> Any:
    d: dict[int, Row] = {}
    for v in numbers(x):
        row = x * v
        d[v] = d[v] + row if v in d else row
    out = torch.zeros_like(x)
    for k, row in d.items():
        out = out + row * k
    return out, len(d)


def made_from_others(x: Row) -> Any:
    ids = numbers(x)
    d, e = {v: v * v for v in ids}, dict.fromkeys(ids, 7)
    other = {v + 1: 2 for v in ids}
    copy = dict(d)
    d.update(other)
    d.update({50: 3})
    f = d | {1: 9}
    return list(d.items()), list(f.items()), list(reversed(d)), list(copy.items()), e, copy == d


def known_and_unknown(x: Row) -> Any:
    """What is there before the loop, some of it perhaps."""
    d, s = {3: 10}, {3}
    if x[0] > 2:
        d[4] = 7
        s.add(4)
    if x[1] > 1:
        d[int(x[2])] = 8
    for v in numbers(x):
        d[v] = d.get(v, 0) + 1
        s.add(v + 1)
    return list(d.items()), sorted(s)


def another_one_in_each_iteration(x: Row) -> Any:
    best: dict[int, int] = {}
    total = 0
    for v in numbers(x):
        new = {v: 0}
        for k, s in best.items():
            new[k] = s + v
        if sum(new.values()) % 2 == 0:
            best = new
        total += len(best)
    return list(best.items()), total


def two_names(x: Row) -> Any:
    a: dict[int, int] = {}
    b: dict[int, int] = {}
    first = a
    for v in numbers(x):
        a[v] = 1
        a, b = b, a
    first[77] = 3
    return list(a.items()), list(b.items()), list(first)


def one_arm(x: Row) -> Any:
    if x.sum() > 10:
        d = {}
        for v in numbers(x):
            d[v] = 1
    else:
        d = {5: 2}
    for v in numbers(x):
        if v in d and d[v] > 1:
            return v, len(d)
        d[v] = d.get(v, 0) + 1
    return list(d.items())


def state_of_known_keys(x: Row) -> Any:
    state = {"a": x, "b": x * 2}
    first = state
    for v in numbers(x):
        state = {"a": state["b"], "b": state["a"] + v}
    first["a"] = x * 7
    return state["a"], state["b"], first["a"]


def walked_while_it_changes(x: Row) -> Any:
    d: dict[int, int] = {}
    for v in numbers(x):
        d[v] = v
    for k in d:
        d[k] = d[k] + 1
    for k in list(d):
        if k % 2:
            del d[k]
    for k in d:
        if k == 2:
            del d[k]
            break
    return list(d.items())


def grows_while_it_is_walked(x: Row) -> Any:
    d: dict[int, int] = {}
    for v in numbers(x):
        d[v] = v
    for k in d:
        d[k + 100] = 1
    return len(d)


def compared(x: Row) -> Any:
    """Dictionaries without their order, ordered ones with it."""
    a, b, d = OrderedDict(), OrderedDict(), {}
    for v in numbers(x):
        a[v] = v / 2
    for v in numbers(x.flip(0)):
        b[v] = d[v] = v / 2
    return a == b, a == d, d == b, a != b, a == a.copy(), d != {}


def looked_for(x: Row) -> Any:
    d: dict[int, int] = {}
    for v in numbers(x):
        d[v] = v * 2
    views = 4 in d.values(), 3 in d, (3, 6) in d.items(), (3, 7) in d.items()
    return views, d.get(True, -1), d.get(bool(x[0] > 2), -2), "a" in d, d.get((1, 2), 5), None in d  # type: ignore[call-overload]


def zeros(x: Row) -> Any:
    """The key that was there first stays."""
    d: dict[float, int] = {}
    for v in (x[x >= 0] * -0.0).tolist():
        d[v] = d.get(v, 0) + 1
    for v in (x[x >= 0] * 0.0).tolist():
        d[v] = d.get(v, 0) + 1
    return [str(k) for k in d], list(d.values())


def groups(x: Row) -> Any:
    d: dict[int, list[int]] = defaultdict(list)
    for i, v in enumerate(numbers(x)):
        d[v].append(i)
    return list(d.values()), dict(zip(d, map(len, d.values()), strict=True))


def elements(x: Row) -> Any:
    s: set[int] = set()
    repeated = 0
    for v in numbers(x):
        repeated += v in s
        s.add(v)
    t = {1, 2}
    for v in numbers(x):
        if v % 2:
            t.discard(v)
        else:
            t.add(v)
    t.update([100])
    whole = len(s), sorted(s), max(s, default=-1), sum(s), any(s), all(s)
    return repeated, whole, sorted(t)


def removed(x: Row) -> Any:
    s = set(numbers(x))
    s.remove(3)
    return sorted(s)


def sets_together(x: Row) -> Any:
    a, b = set(x[x > 1].tolist()), set(x[x < 4].tolist())
    both = sorted(a | b), sorted(a & b), sorted(a - b), sorted(a ^ b), len(a.union(b, [1]))
    c = a.copy()
    c |= b
    c -= {1}
    d = dict.fromkeys(sorted(b), 1)
    views = len(d.keys() & a), d.keys() == b, d.keys() - a == b - a
    return both, a <= b, a < b, a >= b, a.isdisjoint(b), a == b, sorted(c), a.issuperset([2]), views


def shown(x: Row) -> Any:
    d: dict[int, int] = {}
    for v in numbers(x):
        d[v] = d.get(v, 0) + 1
    print(d, f"{d}", repr({f"a{v}": v / 2 for v in numbers(x)}), Counter(numbers(x)))


def results(x: Row) -> Any:
    d, c, o = {}, Counter(numbers(x)), OrderedDict()
    for v in numbers(x):
        d[v] = d.get(v, 0) + 1
        o[f"k{v}", v] = x * v
    return (d if len(d) > 3 else {1: x}), c, {"a": o}


PROGRAMS = [
    value
    for value in list(globals().values())
    if callable(value) and getattr(value, "__module__", "") == __name__ and value is not numbers
]


@pytest.mark.parametrize("program", PROGRAMS)
def test_entries_that_data_decides(program: Any) -> None:
    check(program, *ROWS)


def test_a_nan_is_no_key() -> None:
    """Whether it is found would be a matter of its identity."""

    def counts(x: Row) -> Any:
        d: dict[float, int] = {}
        for v in x[x != 7].tolist():
            d[v] = d.get(v, 0) + 1
        return len(d)

    check(counts, torch.tensor([1.0, 1.0, 2.0]))
    with pytest.raises(Exception, match="a NaN is used as a key"):
        check(counts, torch.tensor([1.0, float("nan"), 2.0]))


def keys_of_two_types(x: Row) -> Any:
    d: dict[float, int] = {}
    for v in numbers(x):
        d[v] = 1
        d[v / 2] = 2
    return len(d)


@pytest.mark.parametrize("program", [keys_of_two_types])
def test_what_is_refused(program: Any) -> None:
    with pytest.raises(CompileError, match="PTC-B006"):
        capture_program(program, (ROWS[0],))


# -- keys in an order that data decides, and strings that two lists number in different ways ------


def in_any_order(x: Row) -> Any:
    ordered, counts = {}, {}
    if x[0] > 0:
        ordered["a"] = 1
        ordered["b"] = 2
    else:
        ordered["b"] = 3
        ordered["a"] = 4
    for v in x:
        kind = "low" if v < 0 else "mid" if v < 2 else "high"
        counts[kind] = counts.get(kind, 0) + 1
    return ordered, counts, sorted(counts), list(ordered), ordered["a"], sum(counts.values())


def numbered_apart(x: Row) -> Any:
    known, some, every = {}, [], []
    for v in x:
        if v > 2:
            known["b"] = "yes"
            some.append("one")
        elif v < 0:
            known["a"], known["c"] = "no", "yes"
            some.append("two")
        every.append("two" if v < 1 else "one")
    every.extend(some)
    either = some if x[0] > 0 else every
    return "-".join(known[name] for name in sorted(known)), known, some + every, either


@pytest.mark.parametrize("program", [in_any_order, numbered_apart])
def test_orders_that_data_decides(program: Any) -> None:
    rows = ([4.0, 1, 3, 9], [-4.0, 1, 1, 7], [1.0, -1, 2, 2], [0.0, 5, -5, 5], [0.0, 0, 0, 0])
    check(program, *map(torch.tensor, rows))
