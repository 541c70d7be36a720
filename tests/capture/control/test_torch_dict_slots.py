"""Dictionaries that lose keys and get as many others while they are iterated over."""

from __future__ import annotations

import collections
from collections.abc import Callable
from typing import Any

import pytest
import torch

from ptc.capture.api import capture_program
from ptc.support.diagnostics import CompileError
from tests.capture.control.checking import check

Row = torch.Tensor
ROWS = [torch.tensor(row) for row in ([2.5, 1.5, 0.5], [-1.5, -2.5, 0.5], [1.5, -0.5, 2.5])]


def ahead(x: Row) -> Any:
    d, seen = {"a": 1, "b": 2}, []
    for k in d:
        seen.append(k)
        if k == "a" and x[0] > 0:
            del d["b"]
            d["c"] = 3
    return seen, d


def behind(x: Row) -> Any:
    """An iterator that has given as many keys as there were meets another one."""
    d, seen = {"a": 1, "b": 2, "c": 3}, []
    try:
        for k, v in d.items():
            seen.append((k, v))
            if x[0] > 0 and k == "b":
                del d["a"]
                d["z"] = v
    except RuntimeError as raised:
        return seen, str(raised), d
    return seen, "", d


def backward(x: Row) -> Any:
    d, seen = {"a": 1, "b": 2, "c": 3}, []
    for k in reversed(d):
        seen.append(k)
        if x[0] > 0 and k == "b":
            del d["a"]
            d["z"] = 1
    return seen, d


def ordered(x: Row) -> Any:
    d, seen = collections.OrderedDict(a=1, b=2, c=3), []
    try:
        for k in d:
            seen.append(k)
            if x[0] > 0 and k == "b":
                del d["a"]
                d["z"] = 1
    except RuntimeError as raised:
        seen.append(str(raised))
    return seen


def at_its_end(x: Row) -> Any:
    """An iterator that has come to its end asks nothing of the dictionary."""
    d = {"a": 1, "b": int(x[0])}
    it = iter(d)
    seen = [next(it), next(it), next(it, None)]
    d["z"] = 1
    return seen, next(it, None)


def counted(x: Row) -> Any:
    """Of dictionaries that data counts."""
    out = []
    for i in range(int(x.abs().sum())):
        d: dict[str, Any] = {"a": 1, "b": 2}
        seen = []
        for k in d:
            seen.append(k)
            if x[i % 3] > 0 and "b" in d and k == "a":
                del d["b"]
                d["c"] = i
        d["seen"] = seen
        out.append(d)
    return out


@pytest.mark.parametrize("program", [ahead, behind, backward, ordered, at_its_end, counted])
def test_replaced(program: Callable[..., Any]) -> None:
    check(program, *ROWS)


def full(x: Row) -> Any:
    """The table has no free slot, and is made anew: slots move."""
    d, seen = dict.fromkeys("abcde", 0), []
    for k in d:
        seen.append(k)
        if x[0] > 0 and k == "c":
            del d["a"]
            d["z"] = 1
    return seen


def given_back(x: Row) -> Any:
    d, seen = {"a": 1, "b": 2}, []
    for k in d:
        seen.append(k)
        if x[0] > 0 and k == "b":
            d.popitem()
            d["z"] = 1
    return seen


@pytest.mark.parametrize("program", [full, given_back])
def test_refused(program: Callable[..., Any]) -> None:
    with pytest.raises(CompileError, match=r"PTC-B006.*how CPython's table has grown"):
        capture_program(program, (ROWS[0],))
