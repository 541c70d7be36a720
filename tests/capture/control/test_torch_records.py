"""Dictionaries with known keys of which data decides how many exist, against eager: in lists and
dictionaries, by identity, printed and returned.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from tests.capture.control.checking import Together, check

_ROWS = (
    torch.tensor([[0.9, 1, 2], [0.2, 3, 4], [0.7, 5, 6], [0.95, 7, 8]]),
    torch.tensor([[0.1, 1, 2], [0.2, 3, 4], [0.3, 5, 6], [0.4, 7, 8]]),
    torch.tensor([[0.6, 1, 2], [0.6, 3, 4], [0.6, 5, 6], [0.4, 7, 8]]),
)
_COUNTS = tuple(torch.tensor(n) for n in (4, 2, 1, 0))


def found(rows: Tensor) -> list[dict[str, Any]]:
    """Returned, sorted by a key."""
    out: list[dict[str, Any]] = []
    for i in range(rows.shape[0]):
        score = rows[i, 0].item()
        if score > 0.5:
            out.append({"box": rows[i, 1:], "score": score, "row": i, "label": "abc"[i % 3]})
    out.sort(key=lambda one: one["score"], reverse=True)
    return out


def changed(rows: Tensor) -> tuple[list[dict[str, Any]], int, float]:
    """Entries change in place, by every name of the dictionary."""
    tracks: list[dict[str, Any]] = []
    for i in range(rows.shape[0]):
        where = rows[i, 1].item()
        best = None
        for track in tracks:
            if abs(track["where"] - where) < 2.5 * rows[i, 0].item():
                best = track
        if best is None:
            tracks.append({"where": where, "hits": 1, "path": [i]})
        else:
            best["where"] = where
            best["hits"] += 1
            best["path"].append(i)
    total = sum(track["hits"] for track in tracks)
    return tracks, total, max(track["where"] for track in tracks)


def grown(count: Tensor) -> tuple[list[dict[str, Any]], list[str]]:
    """Keys come and go, in an order of their own."""
    out: list[dict[str, Any]] = []
    shown: list[str] = []
    for i in range(int(count)):
        one: dict[str, Any] = {}
        one["i"] = i
        if i * count > 3:
            one["big"] = float(i)
        one["last"] = i + 1
        out.append(one)
    for one in out:
        if "big" in one:
            del one["i"]
            one["i"] = -1
        one.update(seen=True, last=one["last"] * 2)
        shown.append(",".join(one.keys()))
    return out, shown


def printed(rows: Tensor) -> int:
    """As text: one, and the whole list."""
    out: list[dict[str, Any]] = []
    for i in range(rows.shape[0]):
        if rows[i, 0] > 0.5:
            out.append({"at": (i, rows[i, 1].item()), "name": f"row {i}", "none": None})
    if out:
        print(out[0])
    print(out, len(out))
    for one in out:
        for key, value in one.items():
            print(key, value)
    return len(out)


def same(count: Tensor) -> tuple[list[int], list[bool]]:
    """Identity, equality, copies."""
    out: list[dict[str, Any]] = []
    for i in range(int(count)):
        one = {"n": i, "twice": 2 * i}
        out.append(one)
        if i == 1:
            out.append(one)
            out.append(dict(one))
    for one in out:
        one["n"] += 1
    answers: list[bool] = []
    if len(out) > 2:
        answers += [out[1] is out[2], out[1] == out[2], out[2] is out[-1], out[-1] == out[1]]
        answers += [out[0] == {"n": 1, "twice": 0}, out[0] == {"n": 2, "twice": 0}]
    return [one["n"] for one in out], answers


def nested(count: Tensor) -> list[dict[str, Any]]:
    """Dictionaries, lists and None in dictionaries."""
    out: list[dict[str, Any]] = []
    for i in range(int(count)):
        inner = {"even": i % 2 == 0, "half": i / 2}
        out.append(
            {"inner": inner, "ids": list(range(i)), "next": i + 1 if i * count > 2 else None}
        )
    for one in out:
        one["inner"]["half"] += 1.0
    return out


def by_number(rows: Tensor) -> dict[int, dict[str, Any]]:
    """Values of a dictionary with keys that data decides."""
    top: dict[int, dict[str, Any]] = {}
    for place, i in enumerate(rows[:, 0].argsort(descending=True).tolist()):
        top[i] = {"place": place, "label": rows[i].argmax().item()}
        if rows[i, 0] < 0.5:
            break
    return top


def methods(rows: Tensor) -> list[Any]:
    """What dictionaries answer."""
    out: list[dict[str, Any]] = []
    for i in range(rows.shape[0]):
        if rows[i, 0] > 0.5:
            out.append({"a": i, "b": int(rows[i, 1])})
    seen: list[Any] = []
    for one in out:
        seen.append(one.get("a") + one.get("missing", 10))
        seen.append(len(one) + one.setdefault("c", 5))
        seen.append(one.pop("a"))
        seen.append(one.pop("a", 7))
        last, value = one.popitem()
        seen.append(value if last == "c" else -1)
        merged = {**one, "z": 1} | {"y": 2}
        seen.append(len(merged))
        try:
            seen.append(one["a"])
        except KeyError as error:
            print(error)
        one.clear()
        seen.append(0 if not one else 1)
    return seen


def carried(rows: Tensor) -> tuple[dict[str, Any], int]:
    """A loop keeps the best one."""
    best: dict[str, Any] = {"score": 0.0, "row": -1}
    for i in range(rows.shape[0]):
        score = rows[i, 0].item()
        if score > best["score"]:
            best = {"score": score, "row": i}
    best["row"] += 1
    return best, len(best)


_PROGRAMS: tuple[tuple[Callable[..., Any], tuple[Any, ...]], ...] = (
    (found, _ROWS),
    (changed, _ROWS),
    (grown, _COUNTS),
    (printed, _ROWS),
    (same, _COUNTS),
    (nested, _COUNTS),
    (by_number, _ROWS),
    (methods, _ROWS),
    (carried, _ROWS),
)


_TOGETHER = Together(_PROGRAMS)
_FUNCTIONS = [function for function, _ in _PROGRAMS]


@pytest.mark.parametrize("function", _FUNCTIONS)
def test_records(function: Callable[..., Any]) -> None:
    _TOGETHER.check(function)


@pytest.mark.parametrize("function", _FUNCTIONS)
def test_records_in_libraries(function: Callable[..., Any], tmp_path: Path) -> None:
    _TOGETHER.check_library(function, tmp_path)


@dataclass
class Span:
    start: int
    score: float
    tags: list[int] = field(default_factory=list[int])


class Step:
    def __init__(self, number: int, state: torch.Tensor) -> None:
        self.number = number
        self.state = state

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Step)
            and self.number == other.number
            and torch.equal(self.state, other.state)
        )


def spans(x: torch.Tensor) -> Any:
    """Objects of which data decides how many exist, in a list and alone."""
    found: list[Span] = []
    for i in range(int(x[0])):
        span = Span(i, float(x[2]) * i)
        if i % 2:
            span.tags.append(i)
        found.append(span)
    return found, max(found, key=lambda s: s.score) if found else None


def steps(x: torch.Tensor) -> Any:
    found: list[Step] = []
    while x.sum() > 1:
        found.append(Step(len(found), x))
        x = x / 2
    return found


@pytest.mark.parametrize("function", [spans, steps])
def test_objects_in_results(function: Callable[[torch.Tensor], Any]) -> None:
    check(function, *map(torch.tensor, ([3.0, 2.0, 0.5], [0.0, 1.0, 1.0], [5.0, 1.0, -1.0])))


def reports(x: torch.Tensor) -> Any:
    """Numbers and strings that are constants on some ways: one structure, not one for each way."""
    out: dict[str, Any] = {}
    for i, name in enumerate("abcdefgh"):
        score, value, sure = 0.0, "none", False
        if x[i] > 0:
            score, value = x[i].item(), name * 2
        if x[i] > 1:
            sure = True
        if x[i] > 2:
            value = f"v{int(x[i])}"
        out[name] = {"score": score, "value": value, "sure": sure, "n": 1 if x[i] < -1 else 2}
    return out


def test_constants_of_one_type_in_results() -> None:
    torch.manual_seed(0)
    check(reports, *(torch.randn(8) * 2 for _ in range(4)))


def perhaps_one_more(x: torch.Tensor) -> Any:
    """Dictionaries that are made on some ways only: elsewhere there are none of their kind."""
    first = {"v": 0}
    found: list[Any] = [first]
    if x[0] > 0:
        found.append(dict(first))
    return found


def of_any_kind(x: torch.Tensor) -> Any:
    found: list[Any] = [None]
    for v in x.tolist():
        if v > 1:
            found.append({"t": x * v, "k": f"k{v}"})
        elif v > 0:
            found.append(Span(int(v * 10), v))
        elif v < -1:
            found.append(v)
    return found


_ROW = torch.tensor([2.5, 0.5, -0.5, -1.5])
_OF_SOME_KIND = Together.of((perhaps_one_more, of_any_kind), _ROW, -_ROW, _ROW * 0, _ROW - 2)


@pytest.mark.parametrize("function", [perhaps_one_more, of_any_kind])
def test_elements_of_kinds_that_there_may_be_none_of(
    function: Callable[..., Any], tmp_path: Path
) -> None:
    _OF_SOME_KIND.check_library(function, tmp_path)
