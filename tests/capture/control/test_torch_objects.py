"""Objects of which data decides how many exist, against eager: in lists, in each other, by
identity.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from tests.capture.control.checking import Together

_COUNTS = tuple(torch.tensor(n) for n in (4, 2, 1, 0))


# -- a tracker whose tracks age -------------------------------------------------------------------


@dataclass
class Track:
    number: int
    where: Tensor
    hits: int = 1
    age: int = 0
    path: list[Tensor] = field(default_factory=list)

    def update(self, where: Tensor) -> None:
        self.where = 0.5 * self.where + 0.5 * where
        self.hits += 1
        self.age = 0
        self.path.append(self.where)


def tracker(points: Tensor) -> tuple[list[int], list[int], list[float], Tensor]:
    active: list[Track] = []
    done: list[Track] = []
    count = 0
    for t in range(points.shape[0]):
        best, least = None, 1.5
        for track in active:
            distance = (track.where - points[t]).abs().sum().item()
            if distance < least:
                best, least = track, distance
        if best is None:
            active.append(Track(count, points[t], path=[points[t]]))
            count += 1
        else:
            best.update(points[t])
        left: list[Track] = []
        for track in active:
            track.age += 1
            if track.age > 3:
                done.append(track)
            else:
                left.append(track)
        active = left
    every = sorted(done + active, key=lambda track: track.number)
    total = torch.zeros(2)
    for track in every:
        total = total + sum(track.path)
    return (
        [track.hits for track in every],
        [len(track.path) for track in every],
        [track.where.sum().item() for track in every],
        total,
    )


_POINTS = (
    torch.tensor([[0.0, 0], [5, 5], [0.4, 0], [5, 4.5], [9, 9], [9, 9], [9, 9], [9, 9], [0, 0]]),
    torch.tensor([[0.0, 0], [0, 0], [0.4, 0], [0, 0.5], [0, 0], [0, 0], [0, 0], [0, 0], [0, 0]]),
    torch.arange(18.0).reshape(9, 2),
)


# -- a tree that grows where it is best -----------------------------------------------------------


class Node:
    __slots__ = ("children", "parent", "value", "visits")

    def __init__(self, value: float, parent: Node | None) -> None:
        self.value = value
        self.parent = parent
        self.children: list[Node] = []
        self.visits = 0

    @property
    def mean(self) -> float:
        return self.value / self.visits if self.visits else 0.0

    def is_leaf(self) -> bool:
        return not self.children


def tree_search(weights: Tensor) -> tuple[int, int, list[int], float]:
    root = Node(0.0, None)
    made = 1
    deepest = 0
    for step in range(int(weights[0])):
        node = root
        depth = 0
        while not node.is_leaf():
            best = node.children[0]
            for child in node.children:
                if child.visits < best.visits:
                    best = child
            node = best
            depth += 1
        deepest = max(deepest, depth)
        for k in range(1 + int(weights[1 + step % 3])):
            node.children.append(Node(weights[1 + k % 3].item(), node))
            made += 1
        reward = weights[1 + depth % 3].item()
        while node is not None:
            node.visits += 1
            node.value += reward
            node = node.parent
    return made, deepest, [child.visits for child in root.children], root.mean


_WEIGHTS = (
    torch.tensor([7.0, 2.0, 1.0, 2.0]),
    torch.tensor([3.0, 1.0, 2.0, 0.0]),
    torch.tensor([1.0, 0.0, 2.0, 0.0]),
)


# -- a queue of records ---------------------------------------------------------------------------


class Event:
    def __init__(self, time: float, kind: str, load: int = 0) -> None:
        self.time = time
        self.kind = kind
        self.load = load

    def __lt__(self, other: Event) -> bool:
        return self.time < other.time


def simulation(times: Tensor) -> tuple[int, float, str, list[int]]:
    queue: list[Event] = []
    for i in range(int(times[0])):
        queue.append(Event(times[i + 1].item(), "arrive", i))
    clock, waiting, served = 0.0, 0, ""
    loads: list[int] = []
    while queue:
        first = queue[0]
        for event in queue:
            if event < first:
                first = event
        queue.remove(first)
        clock = first.time
        if first.kind == "arrive":
            waiting += 1
            served += "a"
            queue.append(Event(clock + 1.5, "leave", first.load + 10))
        else:
            waiting -= 1
            served += "l"
            loads.append(first.load)
    return waiting, clock, served, loads


_TIMES = (
    torch.tensor([3.0, 2.0, 0.25, 1.0]),
    torch.tensor([1.0, 2.0, 0.25, 1.0]),
    torch.tensor([0.0, 2.0, 0.25, 1.0]),
)


# -- a linked list --------------------------------------------------------------------------------


class Link:
    def __init__(self, value: int) -> None:
        self.value = value
        self.next: Link | None = None


class Chain:
    def __init__(self) -> None:
        self.head: Link | None = None
        self.tail: Link | None = None
        self.length = 0

    def push(self, value: int) -> None:
        link = Link(value)
        if self.tail is None:
            self.head = link
        else:
            self.tail.next = link
        self.tail = link
        self.length += 1

    def reverse(self) -> None:
        self.tail = self.head
        before, link = None, self.head
        while link is not None:
            following = link.next
            link.next = before
            before, link = link, following
        self.head = before


def linked(n: Tensor) -> tuple[list[int], int]:
    chain = Chain()
    for i in range(int(n)):
        chain.push(i * i)
    chain.reverse()
    chain.push(100)
    found: list[int] = []
    link = chain.head
    while link is not None:
        found.append(link.value)
        link = link.next
    return found, chain.length


# -- union and find -------------------------------------------------------------------------------


class Element:
    def __init__(self, number: int) -> None:
        self.number = number
        self.parent = self
        self.size = 1


def find(element: Element) -> Element:
    while element.parent is not element:
        element.parent = element.parent.parent
        element = element.parent
    return element


def union_find(pairs: Tensor) -> tuple[int, list[int], list[int]]:
    elements = [Element(i) for i in range(int(pairs.max()) + 1)]
    count = len(elements)
    for i in range(pairs.shape[0]):
        one = find(elements[int(pairs[i, 0])])
        other = find(elements[int(pairs[i, 1])])
        if one is other:
            continue
        if one.size < other.size:
            one, other = other, one
        other.parent = one
        one.size += other.size
        count -= 1
    roots = [find(element).number for element in elements]
    return count, roots, [find(element).size for element in elements]


_PAIRS = (
    torch.tensor([[0, 1], [2, 3], [1, 3], [4, 5], [0, 2]]),
    torch.tensor([[0, 0], [0, 0], [0, 0], [0, 0], [0, 0]]),
    torch.tensor([[6, 1], [1, 2], [2, 3], [3, 4], [4, 0]]),
)


# -- cells of a memory ----------------------------------------------------------------------------


@dataclass
class Cell:
    key: Tensor
    value: Tensor
    uses: int = 0
    note: str | None = None


def memory(keys: Tensor) -> tuple[Tensor, list[int], str]:
    bank: list[Cell] = []
    for i in range(keys.shape[0]):
        nearest = None
        for cell in bank:
            if torch.dot(cell.key, keys[i]) > 0.9:
                nearest = cell
                break
        if nearest is None:
            bank.append(Cell(keys[i].clone(), keys[i] * 2))
        else:
            nearest.value += keys[i]
            nearest.uses += 1
            if nearest.uses > 1:
                nearest.note = f"used {nearest.uses} times at {i}"
    notes = ""
    for cell in bank:
        if cell.note is not None:
            notes += cell.note + ";"
    out = torch.stack([cell.value for cell in bank])
    return out, [cell.uses for cell in bank], notes


_KEYS = (
    torch.tensor([[1.0, 0], [0, 1], [1, 0], [1, 0.1], [0, 1], [0.6, 0.6]]),
    torch.tensor([[1.0, 0], [1, 0], [1, 0], [1, 0.1], [1, 1], [1, 0.6]]),
)


# -- a cache --------------------------------------------------------------------------------------


class Entry:
    def __init__(self, key: int, value: float) -> None:
        self.key = key
        self.value = value
        self.used = 0


def cache(keys: Tensor) -> tuple[int, list[int], float]:
    entries: dict[int, Entry] = {}
    hits, total = 0, 0.0
    for clock in range(keys.shape[0]):
        key = int(keys[clock])
        if key in entries:
            hits += 1
        else:
            if len(entries) >= 3:
                oldest = None
                for entry in entries.values():
                    if oldest is None or entry.used < oldest.used:
                        oldest = entry
                if oldest is not None:
                    del entries[oldest.key]
            entries[key] = Entry(key, key * 0.5)
        entry = entries[key]
        entry.used = clock
        total += entry.value
    return hits, list(entries), total


_USES = (
    torch.tensor([1, 2, 3, 1, 4, 1, 2, 5, 1]),
    torch.tensor([1, 1, 1, 1, 1, 1, 1, 1, 1]),
    torch.tensor([9, 8, 7, 6, 5, 4, 3, 2, 1]),
)


# -- children by move -----------------------------------------------------------------------------


class State:
    def __init__(self, left: int) -> None:
        self.left = left
        self.moves: dict[int, State] = {}
        self.count = 0


def by_move(left: Tensor) -> tuple[int, list[int], int]:
    root = State(int(left))
    made = 1
    for _ in range(6):
        state = root
        while state.moves:
            state = state.moves[min(state.moves, key=lambda move: state.moves[move].count)]
            state.count += 1
        for take in range(1, min(3, state.left) + 1):
            state.moves[take] = State(state.left - take)
            made += 1
    return made, [child.count for child in root.moves.values()], len(root.moves)


_PROGRAMS: tuple[tuple[Callable[..., Any], tuple[Any, ...]], ...] = (
    (tracker, _POINTS),
    (tree_search, _WEIGHTS),
    (simulation, _TIMES),
    (linked, _COUNTS),
    (union_find, _PAIRS),
    (memory, _KEYS),
    (cache, _USES),
    (by_move, tuple(torch.tensor(n) for n in (5, 2, 1, 0))),
)


_TOGETHER = Together(_PROGRAMS)
_FUNCTIONS = [function for function, _ in _PROGRAMS]


@pytest.mark.parametrize("function", _FUNCTIONS)
def test_objects(function: Callable[..., Any]) -> None:
    _TOGETHER.check(function)


@pytest.mark.parametrize("function", _FUNCTIONS)
def test_objects_in_libraries(function: Callable[..., Any], tmp_path: Path) -> None:
    _TOGETHER.check_library(function, tmp_path)
