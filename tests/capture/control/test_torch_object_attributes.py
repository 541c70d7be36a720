"""Objects of which data decides how many exist, against eager: classes, attributes that come late
or are of several kinds, identity, exceptions.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest
import torch
from torch import Tensor

from tests.capture.control.checking import check

_COUNTS = tuple(torch.tensor(n) for n in (4, 2, 1, 0))


# -- two classes in a list, told apart by their class ---------------------------------------------


class Shape:
    def __init__(self, size: float) -> None:
        self.size = size

    def area(self) -> float:
        return 0.0

    def twice(self) -> float:
        return 2 * self.area()


class Square(Shape):
    def area(self) -> float:
        return self.size * self.size


class Disc(Shape):
    def __init__(self, size: float, name: str) -> None:
        super().__init__(size)
        self.name = name

    def area(self) -> float:
        return 3.0 * self.size * self.size


def shapes(n: Tensor):
    found: list[Shape] = []
    for i in range(int(n)):
        if i % 2:
            found.append(Square(i + 0.5))
        else:
            found.append(Disc(i + 1.0, f"d{i}"))
    total, discs, names = 0.0, 0, ""
    for shape in found:
        total += shape.twice()
        if isinstance(shape, Disc):
            discs += 1
            names += shape.name
    return total, discs, names, [type(s) is Square for s in found]


# -- objects that are known by other names while they are made ------------------------------------


class Member:
    def __init__(self, group: Any, leader: Any) -> None:
        self.leader = leader
        group.append(self)
        if leader is not None:
            leader.followers.append(self)
            self.rank = leader.rank + 1
        else:
            self.rank = 0
        self.followers: list[Any] = []


def members(n: Tensor):
    group: list[Member] = []
    last = None
    for i in range(int(n)):
        last = Member(group, last if i % 3 else None)
    return (
        [m.rank for m in group],
        [len(m.followers) for m in group],
        [m.leader is None for m in group],
    )


# -- attributes that are set later, or not at all -------------------------------------------------


class Slot:
    color = "red"
    extra: int

    def __init__(self, n: int) -> None:
        self.n = n


def later(n: Tensor):
    slots: list[Slot] = []
    for i in range(int(n)):
        slot = Slot(i)
        slots.append(slot)
        if i % 2:
            slot.extra = i * 2
        if i == 2:
            slot.color = "blue"
    found = []
    for slot in slots:
        if hasattr(slot, "extra"):
            found.append(slot.extra)
        else:
            found.append(-1)
    colors = ""
    for slot in slots:
        colors += slot.color + ";"
    return found, colors


def missing(n: Tensor):
    slots: list[Slot] = []
    for i in range(int(n)):
        slot = Slot(i)
        slots.append(slot)
        if i < 2:
            slot.extra = i * 2
    total = 0
    for slot in slots:
        total += slot.extra
    return total


# -- attributes of several kinds ------------------------------------------------------------------


class Mean:
    def __init__(self) -> None:
        self.total: float = 0
        self.count = 0
        self.last: Tensor | None = None


def means(xs: Tensor):
    groups: list[Mean] = []
    for i in range(xs.shape[0]):
        k = int(xs[i, 0])
        while len(groups) <= k:
            groups.append(Mean())
        g = groups[k]
        if i % 2 == 0:
            g.total += xs[i, 1].item()
        else:
            g.total += 1
        g.count += 1
        g.last = xs[i]
    text = ""
    out = torch.zeros(2)
    for g in groups:
        text += f"{g.total}/{g.count} "
        if g.last is not None:
            out = out + g.last
    return text, out


_XS = (
    torch.tensor([[0, 1.5], [2, 1.0], [2, 0.25], [0, 4]]),
    torch.tensor([[1, 1.5], [1, 1.0], [1, 0.25], [1, 4]]),
)


# -- by identity ----------------------------------------------------------------------------------


class Thing:
    def __init__(self, n: int) -> None:
        self.n = n


def identity(n: Tensor):
    things = [Thing(i % 2) for i in range(int(n))]
    count: dict[Thing, int] = {}
    for thing in things:
        count[thing] = thing.n + 1
    for thing in things[1:]:
        count[thing] = count.get(thing, 0) + 10
    seen = set()
    double = 0
    for thing in things + things[:1]:
        if thing in seen:
            double += 1
        seen.add(thing)
    where = [things.index(thing) for thing in things]
    if len(things) > 2:
        things.remove(things[1])
    return list(count.values()), double, where, [t.n for t in things], len(seen)


@dataclass
class Point:
    x: int
    y: int


@dataclass(order=True)
class Ranked:
    rank: int
    name: str = field(compare=False)


def equality(n: Tensor):
    points = [Point(i % 2, 0) for i in range(int(n))]
    same = 0
    for p in points:
        for q in points:
            if p == q:
                same += 1
    inside = Point(1, 0) in points
    ranked = [Ranked((i * 7) % 5, f"r{i}") for i in range(int(n))]
    order = sorted(ranked)
    return same, inside, [r.name for r in order]


# -- lists, tuples, dictionaries and sets in attributes -------------------------------------------


class Box:
    def __init__(self, shared: list[int], pair: tuple[int, float]) -> None:
        self.shared = shared
        self.pair = pair
        self.table: dict[str, int] = {}
        self.tags: set[int] = set()


def sharing(n: Tensor):
    shared: list[int] = []
    boxes: list[Box] = []
    for i in range(int(n)):
        box = Box(shared, (i, i * 0.5))
        box.shared.append(i)
        boxes.append(box)
        box.table[f"k{i}"] = i
        box.tags.add(i)
        if i:
            boxes[0].table[f"k{i}"] = -i
            boxes[0].tags.add(i)
    shared.append(100)
    a = [box.pair[0] for box in boxes]
    b = [box.pair[1] for box in boxes]
    return (
        [len(box.shared) for box in boxes],
        shared,
        a,
        b,
        [len(box.table) for box in boxes],
        [len(box.tags) for box in boxes],
        sum([sum(box.table.values()) for box in boxes]),
    )


# -- exceptions while an object is made -----------------------------------------------------------


class Strict:
    def __init__(self, n: int) -> None:
        self.n = n
        if n == 2:
            raise ValueError(f"no {n}")
        self.ok = True


def strict(n: Tensor):
    kept: list[Strict] = []
    errors = ""
    for i in range(int(n)):
        try:
            made = Strict(i)
            kept.append(made)
        except ValueError as error:
            errors += str(error)
    return [k.n for k in kept], errors, [k.ok for k in kept]


def raising(n: Tensor):
    kept: list[Strict] = []
    for i in range(int(n)):
        kept.append(Strict(i))
    return [k.n for k in kept]


_PROGRAMS: tuple[tuple[Callable[..., Any], tuple[Any, ...]], ...] = (
    (shapes, _COUNTS),
    (members, tuple(torch.tensor(n) for n in (5, 2, 1, 0))),
    (later, _COUNTS),
    (missing, _COUNTS),
    (means, _XS),
    (identity, _COUNTS),
    (equality, _COUNTS),
    (sharing, _COUNTS),
    (strict, _COUNTS),
    (raising, _COUNTS),
)


@pytest.mark.parametrize(("function", "inputs"), _PROGRAMS)
def test_objects(function: Callable[..., Any], inputs: tuple[Any, ...]) -> None:
    check(function, *inputs)
