"""Keys of dictionaries and elements of sets that data decides, and strings compared."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import Any

import pytest
import torch

from tests.capture.control.checking import check

Row = torch.Tensor
ROWS = [
    torch.tensor(row)
    for row in (
        [1.0, 2, 0, 1], [0.0, 1, 0, 0], [2.0, 0, 0, 2], [0.0, 0, 1, 1], [3.0, 6, 0, 3],
        [-2.0, -1, -3, -2],
    )
]  # fmt: skip
TABLE = {0: "a", 1: "b", 2: "c"}


def lookup(x: Row) -> Any:
    n = int(x[0])
    return {0: x * 2, 1: x + 1, 2: x - 1}[n] if n in TABLE else x


def lookup_with_default(x: Row) -> Any:
    n, d = int(x[0]), {0: 1.5, 1: 2.5}
    return d.get(n), d.get(n, -1.0), n in d, n not in d, len({1.0: "one", 0.5: "half"}.get(n, "!"))


def counts(x: Row) -> Any:
    d: dict[int, int] = {}
    for v in x.tolist():
        n = int(v)
        d[n] = d.get(n, 0) + 1
    return max(d.values()), len(d), d.get(0, 0), d.get(1, 0)


def most_common(x: Row) -> Any:
    found = Counter([int(v) for v in x])
    return found[0], found[1], found.most_common(1)[0]


def groups(x: Row) -> Any:
    found: dict[int, list[Row]] = defaultdict(list)
    for i in range(3):
        found[int(x[i])].append(i)
    return len(found), 0 in found


def seen_before(x: Row) -> Any:
    seen, repeated = set(), 0
    for v in x.tolist():
        if int(v) in seen:
            repeated += 1
        else:
            seen.add(int(v))
    return repeated, len(seen)


def constant_containers(x: Row) -> Any:
    n = int(x[0])
    if n in {1, 3, 5}:
        return x
    if n in (2, 4):
        return x * 2
    return x * 3 if n in [7, -2] else x * 4


def missing(x: Row) -> Any:
    n = int(x[0])
    try:
        return {0: 1, 1: 2}[n]
    except KeyError as error:
        print("no", error)
    try:
        return {"a0": 1, "a1": 2}[f"a{n}"]
    except KeyError as error:
        print(error, repr(str(error)))
    return -1


def changed(x: Row) -> Any:
    n = int(x[0])
    d = {0: 1, 1: 2, 2: 3}
    d[n] = 10
    d[n + 1] = 20
    del d[0]
    e = {n: 1.0}
    e[2] = 5.0
    e[n] += 1
    return d.get(0, -1), d.get(1, -1), d.get(3, -1), d.pop(n, 7), e[n], len(e), e.get(0, 9.0)


def made_of_data(x: Row) -> Any:
    n = int(x[0])
    s = {n, 2, int(x[1])}
    return len(s), 2 in s, 0 in s, n in s


def one_side(x: Row) -> Any:
    a, n = set(), int(x[0])
    if x[1] > 1:
        a.add(1)
    if x[2] > 0:
        a.add(n)
    a.discard(0)
    d = {n: 1} if n > 0 else {0: 2}
    return len(a), 1 in a, n in a, d.get(1, 5), len(d)


def texts(x: Row) -> Any:
    s = str(int(x[0]))
    if s == "1":
        return x
    if f"<{s}, {int(x[1])}>" == "<0, 1>":
        return x * 5
    return x * 2 if s != "0" else x * 3


@pytest.mark.parametrize(
    "function",
    [
        lookup, lookup_with_default, counts, most_common, groups, seen_before, missing, changed,
        constant_containers, made_of_data, one_side, texts,
    ],
)  # fmt: skip
def test_keys(function: Any) -> None:
    check(function, *ROWS)


def state_machine(x: Row) -> Any:
    state = "idle"
    table = {
        ("idle", 0): "idle", ("idle", 1): "run", ("run", 0): "stop", ("run", 1): "run",
        ("stop", 0): "idle", ("stop", 1): "run",
    }  # fmt: skip
    for v in x:
        state = table[(state, int(v))]
    print(state)
    return x * (2 if state == "run" else 3)


def test_a_table_of_states() -> None:
    rows = ([1.0, 0, 0, 1], [1.0, 1, 1, 0], [0.0, 0, 0, 0], [0.0, 1, 0, 0])
    check(state_machine, *[torch.tensor(row) for row in rows])


def keys_walked(x: Row) -> Any:
    found: dict[int, int] = {}
    if x[3] > 0:
        found[1] = 2
    if x[2] > 0:
        found[2] = 3
    y = x.clone()
    for key, value in found.items():
        y[key] = -9 if y[key] > 1 else value
    counted: dict[int, int] = {}
    for v in x.long().tolist()[:3]:
        counted[v] = counted.get(v, 0) + 1
    z = x.clone()
    for key, value in counted.items():
        z[key] = value
    return y, z


def test_paths_that_go_on_apart_are_all_kept() -> None:
    rows = ([1.0, 2, 1, 0.5], [1.0, 1, 1, 0], [2.0, 2, 0, 1], [0.0, 0, 0, 0])
    check(keys_walked, *[torch.tensor(row) for row in rows])


def buckets(x: Row) -> Any:
    """A remainder is one of the keys: there is no way to a KeyError, and no key is added."""
    sums = {i: torch.zeros(()) for i in range(3)}
    for v in x[:3]:
        key = int(v * 7 + 3) % 3
        sums[key] = sums[key] + v
    n = int(x[0])
    return sums, {0: 1, 1: 2}[n % 2], ["a", "b"][n & 1] == "a", [1, 2, 3, 4][(n % 2) * 2 + 1]


def test_keys_within_known_bounds() -> None:
    check(buckets, *ROWS)


def test_a_dictionary_of_unknown_keys_is_a_result() -> None:
    check(lambda x: {int(x[0]): x, int(x[1]): x * 2}, *ROWS)


# -- sets and dictionaries together ---------------------------------------------------------------


def sets_together(x: Row) -> Any:
    a, b = int(x[0]), int(x[1])
    s, t = {a, b}, {1, 2, a}
    print(len(s & {2}), len({2} & s), len(t & s), len(s | {2}), len(s - {2}), len(s ^ {2}))
    print(len(s.union([a, 1], (b,))), len({2}.intersection([a])), len(s.difference([2])))
    return len(s)


def sets_compared(x: Row) -> Any:
    a, b = int(x[0]), int(x[1])
    s = {a, b}
    print(s == {1, 2}, s != {2}, s <= {1, 2}, s < {1, 2, 3}, {2} <= s, s > {2}, {a, 1} == {b, 1})
    return s.issubset([1, 2, 5]), s.issuperset({a}), s.isdisjoint({2, 7}), frozenset((a, 1)) == s


def dictionaries_compared(x: Row) -> Any:
    a, b = int(x[0]), int(x[1])
    p, q, r = {a: 1, 2: 5}, {2: 5, a: 1}, {b: 1, 2: 5}
    print(p == q, p == r, p != r, p == {2: 5}, p.keys() == r.keys())
    return len(p.keys() & {2}), len(p.keys() | r.keys()), len(p.items() & r.items())


@pytest.mark.parametrize("program", [sets_together, sets_compared, dictionaries_compared])
def test_elements_are_compared_and_not_their_places(program: Any) -> None:
    pairs = [(7, 2), (0, 3), (-1, -1), (2, -3), (1, 2), (2, 1), (2, 2)]
    check(program, *map(torch.tensor, pairs))
