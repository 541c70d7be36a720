"""One list under several names, among them places in other lists: references, as in Python."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

from tests.capture.control.checking import check

_COUNTS = tuple(torch.tensor(n) for n in (4, 2, 1, 0))


def second_name(n: Tensor) -> tuple[int, int]:
    inner = [1, 2]
    outer: list[list[int]] = []
    if n > 0:
        outer.append(inner)
    inner[0] = 3
    return len(outer), sum(outer[0]) if outer else -1


def one_of_two(n: Tensor) -> tuple[list[int], list[int], int]:
    a, b = [0], [100]
    outer = [a]
    for i in range(int(n)):
        outer.append(a if i % 2 else b)
    outer[0].append(5)
    for o in outer:
        o.append(len(o))
    return a, b, len(outer)


def copies_of_the_outer_list(n: Tensor) -> tuple[list[int], ...]:
    a: list[list[int]] = []
    for i in range(int(n)):
        a.append([i])
    b = a[:]
    c = list(a)
    for inner in b:
        inner.append(1)
    if c:
        c.pop()
    if a:
        a[0].append(9)
    return [len(x) for x in a], [len(x) for x in b], [x[-1] for x in c]


def one_row_many_times(n: Tensor) -> tuple[list[int], list[int], list[int]]:
    row = [0] * 3
    grid = [row for _ in range(int(n))]
    apart = [[0] * 3 for _ in range(int(n))]
    for i in range(int(n)):
        grid[i][i % 3] += 1
        apart[i][i % 3] += 1
    return row, [sum(line) for line in grid], [sum(line) for line in apart]


def identities(n: Tensor) -> tuple[bool, bool, bool]:
    a: list[list[int]] = []
    for i in range(int(n) + 1):
        a.append([i])
    a.append(a[0])
    return a[0] is a[-1], a[0] is a[1], a[-1] is a[-1]


def rows_by_two_names(n: Tensor) -> tuple[int, bool, bool]:
    rows = [[0, 0]]
    for i in range(int(n)):
        rows.append([i, i])
    rows.append(rows[0])
    rows[0][0] = 5
    return rows[-1][0], rows[0] is rows[-1], rows[0] is rows[1]


def one_row_twice(n: Tensor) -> list[int]:
    row = [1, 2]
    rows = [row, row]
    for i in range(int(n)):
        rows.append([i, i])
    rows[0][0] = 7
    return [row[0] for row in rows]


def one_row_in_two_lists(n: Tensor) -> tuple[list[int], list[int]]:
    row = [1, 2]
    a, b = [row], [row]
    if n > 1:
        a.append([5, 6])
        b.append([7, 8])
    a[0][0] = 9
    return [row[0] for row in a], [row[0] for row in b]


def two_rows(n: Tensor) -> int:
    rows = [[0, 0]]
    for i in range(int(n)):
        rows.append([i, i])
    one, same = rows[0], rows[0]
    one[0] = 5
    return same[0]


def cleared(n: Tensor) -> tuple[int, int]:
    a = [[1, 2], [3]]
    for i in range(int(n)):
        a.append([i])
    first = a[0]
    a.clear()
    first.append(5)
    return len(a), sum(first)


def joined_sets(n: Tensor) -> tuple[list[int], bool]:
    parent = list(range(int(n) + 1))
    components = [[i] for i in range(int(n) + 1)]
    for i in range(int(n)):
        if i % 2 == 0:
            a, b = parent[i], parent[i + 1]
            components[a].extend(components[b])
            components[b] = components[a]
            parent[i + 1] = a
    return [len(c) for c in components], components[0] is components[-1]


def stored_in_a_list_of_known_length(n: Tensor) -> tuple[list[int], list[int], int]:
    parent = list(range(12))
    same = parent
    for i in range(int(n)):
        parent[(i * 5) % 12] = parent[(i * 7 + 1) % 12]
    parent[int(n)] = -1
    return parent, same[:3], same[int(n)]


def copied_in_every_iteration(n: Tensor) -> tuple[list[list[int]], list[list[int]], bool]:
    a = [1]
    o, p = [a], [[7], [8, 9]]
    for _ in range(int(n)):
        p = o[:]
    o[-1].append(0)
    return o, p, p[0] is a


def returned_by_one_name_or_two(n: Tensor) -> tuple[list[list[int]], list[list[int]]]:
    o, p = [[1]], [[7], [8, 9]]
    o.append([0, int(n)])
    if n > 3:
        p = o
    if n > 2:
        o.pop()
    return o, p


def path_so_far(n: Tensor) -> tuple[list[int], list[int]]:
    path = [0]
    paths: list[list[int]] = []
    for i in range(int(n)):
        path = path + [i]  # noqa: RUF005
        paths.append(path)
    if paths:
        paths[-1].append(99)
    return path, [len(p) for p in paths]


def one_list_from_the_second_iteration_on(n: Tensor) -> int:
    a, b = [2], [1]
    for i in range(int(n)):
        b.append(i)
        a.append(i)
    grown = 0
    for _ in range(int(n)):
        before = len(b)
        a.append(1)
        grown += len(b) - before
        a = b
    return grown


def the_last_row_goes_on(n: Tensor) -> Any:
    rows: list[list[int]] = []
    last: list[int] | None = None
    firsts: list[list[int]] = []
    for i in range(int(n)):
        if i % 3 == 0:
            last = [i]
            rows.append(last)
        elif last is not None:
            last.append(-i)
    one: list[int] | None = None
    for i in range(int(n)):
        if i % 2:
            one = [i]
            firsts.append(one)
        elif one is not None:
            one[0] = -i
    return rows, firsts


def exchanged(n: Tensor) -> tuple[list[int], list[int]]:
    a, b = [1], [2]
    for i in range(int(n)):
        a.append(i)
        a, b = b, a
    return a, b


@pytest.mark.parametrize(
    "function",
    [
        second_name, one_of_two, copies_of_the_outer_list, one_row_many_times, identities,
        rows_by_two_names, one_row_twice, one_row_in_two_lists, two_rows, cleared, joined_sets,
        stored_in_a_list_of_known_length, path_so_far, one_list_from_the_second_iteration_on,
        exchanged, the_last_row_goes_on, copied_in_every_iteration, returned_by_one_name_or_two,
    ],
)  # fmt: skip
def test_one_list_by_two_names(function: Callable[..., Any]) -> None:
    check(function, *_COUNTS)


def one_of_two_with_keys(n: Tensor) -> Any:
    seen, other = {1, 2}, {1: 2}
    new, newer = seen, other
    for i in range(int(n)):
        if i % 2:
            new, newer = set(seen), dict(other)
            new.add(i)
            newer[i] = 3
        elif i > 2:
            new.add(-i)
            seen = new
            other = newer
    return new is seen, newer is other, new is not seen


def test_sets_and_dictionaries_by_two_names() -> None:
    check(one_of_two_with_keys, *_COUNTS)


def test_a_list_gets_wider_by_another_name() -> None:
    def wider(x: Tensor) -> Tensor:
        a, b = [], []
        if x.sum() > 0:
            a.append(x)
        if x.max() > 0:
            b.append(x)
        c = a if x.min() > -5 else b
        a.append(torch.cat([x, x]))
        total = torch.zeros(())
        for piece in c:
            total = total * 2 + piece.sum()
        return total

    check(wider, *(torch.tensor(v) for v in ([1.0, 2.0], [1.0, -9.0], [-1.0, -2.0])))
