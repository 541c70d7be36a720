"""What a loop carries that is None, or one of several tensors, tuples and lists: their sizes, and
what has no value on some ways. In the reference interpreter and in libraries."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from tests.capture.control.checking import Together, check

ROWS = [
    torch.tensor(row)
    for row in (
        [4.0, 1, 3, 9], [0.0, 1, -1, -1], [1.0, 2, 2, 1], [7.0, -3, 1, 0], [2.0, 1, 1, 1],
        [-1.0, 5, 0, 4], [-3.0, -3, -3, -3],
    )
]  # fmt: skip


def cached(x: Tensor) -> Any:
    cache, total = None, 0.0
    for i in range(int(x[0])):
        k = x[:1] * i
        if cache is None:
            cache = (k, k + 1)
        else:
            cache = (torch.cat([cache[0], k]), torch.cat([cache[1], k * 2]))
        total += float(cache[0].sum()) + cache[1].shape[0]
    return total, None if cache is None else cache[0] + cache[1]


def cached_or_not(x: Tensor) -> Any:
    caches: list[Any] = [None, None]
    for i in range(int(x[0])):
        for n in range(2):
            row = x[: 1 + n] + i
            if x[i % 4] < 0:
                caches[n] = None
            elif caches[n] is None:
                caches[n] = (row, row * 2)
            else:
                caches[n] = (torch.cat([caches[n][0], row]), row)
    return [None if cache is None else (cache[0] * 2, cache[1]) for cache in caches]


def rows_of_several_sizes(x: Tensor) -> Any:
    best, text = (None, 0.5, None), "none"
    for i in range(4):
        if x[i] > best[1]:
            best = (i, x[i].item(), x[i:])
            text = f"at {i}"
        elif x[i] < 0 and best[2] is not None:
            best = (best[0], best[1] - 1, torch.cat([best[2], x[:1]]))
    return best[0], best[1], 0 if best[2] is None else best[2].sum() + len(best[2]), text


def list_of_one_way(x: Tensor) -> Any:
    found = None
    if x[0] > 0:
        n = int(x[1]) * 2
        found = [n, 5]
    if x[2] > 0 and found is not None:
        found.append(int(x[0]))
    return found


def list_of_tensors_of_one_way(x: Tensor) -> Any:
    found = None
    if x[0] > 0:
        found = [x * 2]
    if x[2] > 0 and found is not None:
        found.append(x)
    return None if found is None else (len(found), found[0])


def one_of_two_kinds(x: Tensor) -> Any:
    found: Any = None
    for i in range(int(x[0])):
        if x[i % 4] > 2:
            found = x[i % 4]
        elif x[i % 4] < 1:
            found = (x[: i % 4 + 1], i)
    if found is None:
        return -1.0
    return found[0].sum() + found[1] if isinstance(found, tuple) else found


def state_that_grows(x: Tensor) -> Any:
    state = torch.zeros(2)
    for i in range(int(x[0])):
        state = state.clone()
        state[:2] += x[:2]
        if x[i % 4] > 0:
            state = torch.cat([state, x[1:3]])
    return state


def state_that_shrinks(x: Tensor) -> Any:
    state = torch.arange(12.0)
    for i in range(int(x[0])):
        state = state[1:] + x[1] if x[i % 4] > 0 else state[2:] - i
    return state


PROGRAMS = [
    cached, cached_or_not, rows_of_several_sizes, list_of_one_way, list_of_tensors_of_one_way,
    one_of_two_kinds, state_that_grows, state_that_shrinks,
]  # fmt: skip


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_programs(program: Any) -> None:
    check(program, *ROWS)


def numbers(x: Tensor) -> Any:
    total, cache = cached(x)
    cached_sum = -1.0 if cache is None else cache.sum().item()
    return total, cached_sum, one_of_two_kinds(x), rows_of_several_sizes(x)[1:3]


def lists(x: Tensor) -> Any:
    return list_of_one_way(x), list_of_tensors_of_one_way(x)


BUILT = [numbers, lists, cached_or_not]
TOGETHER = Together.of(BUILT, *ROWS)


@pytest.mark.parametrize("program", BUILT, ids=lambda p: p.__name__)
def test_libraries(program: Any, tmp_path: Path) -> None:
    TOGETHER.check_library(program, tmp_path)
