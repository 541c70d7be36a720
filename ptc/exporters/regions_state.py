"""What is known of variables at a point of a program with control flow, as values are made of it.

Variables refer to places, places have contents. Two variables of one place are one tensor or list;
two places in doubt may be one, depending on the way that was taken. Which variables may meet in a
list is known for the whole program (`Families`). Knows neither operations nor formats.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from ptc.autograd.control import FunctionalSegment
from ptc.exporters.regions import Value
from ptc.graph.control import Assign, Body, ListItem, ListVar, Segment, TensorVar, walk

#: A variable for each exception, so that loops end behind one.
RAISED = "raised?"

Pair = frozenset[int]


@dataclass(slots=True)
class State:
    """`places` has the place of each variable that has a value; `doubts` the pairs of places that
    may be one. `ended`: this point is not reached."""

    places: dict[str, int] = field(default_factory=dict[str, int])
    contents: dict[int, Value] = field(default_factory=dict[int, Value])
    doubts: set[Pair] = field(default_factory=set[Pair])
    ended: bool = False

    def copy(self) -> State:
        return State(dict(self.places), dict(self.contents), set(self.doubts), self.ended)

    def content(self, name: str) -> Value | None:
        place = self.places.get(name)
        return None if place is None else self.contents[place]

    def groups(self) -> dict[int, list[str]]:
        """The variables of each place, in a stable order."""
        found: dict[int, list[str]] = {}
        for name in sorted(self.places):
            found.setdefault(self.places[name], []).append(name)
        return found


@dataclass(slots=True)
class Joined:
    """A state for two ways. `sources` says for each place which place it is on either way."""

    state: State
    sources: dict[int, tuple[int | None, int | None]]


def join(one: State, other: State, fresh: Iterator[int], families: Families) -> Joined:
    """The places behind two ways; the contents are for the caller to make."""
    groups: dict[tuple[int | None, int | None], list[str]] = {}
    for name in sorted({*one.places, *other.places}):
        groups.setdefault((one.places.get(name), other.places.get(name)), []).append(name)
    state = State()
    sources: dict[int, tuple[int | None, int | None]] = {}
    written: list[int] = []
    for pair, names in groups.items():
        place = pair[0] if pair[0] is not None and pair[0] == pair[1] else next(fresh)
        sources[place] = pair
        state.places.update(dict.fromkeys(names, place))
        if any(families.is_written(name) for name in names):
            written.append(place)
    for n, a in enumerate(written):
        for b in written[:n]:
            if _in_doubt(sources[a], sources[b], one, other):
                state.doubts.add(frozenset({a, b}))
    return Joined(state, sources)


def _in_doubt(
    a: tuple[int | None, int | None], b: tuple[int | None, int | None], one: State, other: State
) -> bool:
    for first, second, way in zip(a, b, (one, other), strict=True):
        if first is None or second is None:
            continue
        if first == second or frozenset({first, second}) in way.doubts:
            return True
    return False


class Families:
    """Which variables may refer to one tensor or list, anywhere in the program, and what lists
    hold: union-find over names, where the family of a list knows the one of its elements."""

    def __init__(self, body: Body, segments: Mapping[int, FunctionalSegment]) -> None:
        self._parents: dict[str, str] = {}
        self._inner: dict[str, str] = {}  # of a family of lists: an element
        self._changed: list[str] = []
        for item in walk(body):
            match item:
                case Segment():
                    self._segment(segments[id(item)])
                case Assign(target, source) if isinstance(source, TensorVar | ListVar):
                    self._unite(target.name, source.name)
                case ListItem():
                    self._list_item(item)
                case _:
                    pass
        self._written = {self._find(name) for name in self._changed}
        self._held = {self._find(name) for name in self._inner.values()}

    def is_written(self, name: str) -> bool:
        """Whether the tensor or list of a variable is changed in place anywhere."""
        return self._find(name) in self._written

    def is_held(self, name: str) -> bool:
        """Whether a list may hold what the variable refers to."""
        return self._find(name) in self._held

    def are_one(self, name: str, other: str) -> bool:
        """Whether the two may ever refer to one tensor or list."""
        return self._find(name) == self._find(other)

    def holds(self, owner: str, name: str) -> bool:
        """Whether the list `owner`, or a list in it, may hold what `name` refers to."""
        inner = self._inner.get(self._find(owner))
        return inner is not None and (self.are_one(inner, name) or self.holds(inner, name))

    def _segment(self, segment: FunctionalSegment) -> None:
        outputs = segment.aten.outputs
        for position, name in segment.shared.items():
            self._unite(outputs[position].name, name)
        for output in outputs:
            if output.target is not None:
                self._changed.append(segment.aten.inputs[output.target].name)

    def _list_item(self, item: ListItem) -> None:
        target = item.target
        lists = [arg for arg in item.args if isinstance(arg, ListVar)]
        if changes_list(item):
            self._changed.append(lists[0].name)
        if item.op in _WITHOUT_ELEMENTS:
            return
        if item.op == "new":
            assert target is not None
            for arg in item.args:
                self._hold(target.name, arg)
        elif item.op in ("append", "insert", "set", "filled"):
            owner = target if target is not None else lists[0]
            self._hold(owner.name, item.args[-1])
            if target is not None:
                self._alike(lists[0].name, target.name)
        elif item.op in ("get", "pop"):
            self._hold(lists[0].name, target)
        elif item.op == "flat":
            assert target is not None
            inner = self._element(lists[0].name)
            self._alike(inner, target.name)
        else:
            others = [*lists[1:], *([target] if isinstance(target, ListVar) else [])]
            for other in others:
                self._alike(lists[0].name, other.name)

    def _hold(self, owner: str, value: object) -> None:
        if isinstance(value, TensorVar | ListVar):
            self._unite(self._element(owner), value.name)

    def _element(self, owner: str) -> str:
        root = self._find(owner)
        return self._inner.setdefault(root, f"{root}[]")

    def _alike(self, owner: str, other: str) -> None:
        """Two lists may hold the same elements."""
        self._unite(self._element(owner), self._element(other))

    def _unite(self, name: str, other: str) -> None:
        a, b = self._find(name), self._find(other)
        if a == b:
            return
        self._parents[b] = a
        inner = self._inner.pop(b, None)
        if inner is not None and self._inner.setdefault(a, inner) != inner:
            self._unite(self._inner[a], inner)

    def _find(self, name: str) -> str:
        while name in self._parents:
            name = self._parents[name]
        return name


#: Operations after which no list holds more, and whose result is no element.
_WITHOUT_ELEMENTS = frozenset(
    {"clear", "reverse", "length", "same", "lengths", "stack", "cat", "find"}
)

_CHANGING = frozenset(
    {"append", "extend", "insert", "set", "clear", "reverse", "pop", "table_add", "table_remove",
     "table_clear", "table_reserve", "table_tidy", "table_take", "table_next"}
)  # fmt: skip


def changes_list(item: ListItem) -> bool:
    """Whether an operation changes its first list in place."""
    return item.op in _CHANGING
