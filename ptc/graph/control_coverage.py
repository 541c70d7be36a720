"""Which arms of a program with control flow ran: counted by a run, told in the user's lines.

Takes a `ControlProgram` and what its runs passed through, gives the arms that none reached. Knows
nothing of how programs run.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from ptc.graph.control import (
    ASSUME,
    Body,
    ControlProgram,
    Emit,
    If,
    Item,
    Raise,
    Segment,
    Switch,
    While,
    bodies,
    walk,
)
from ptc.support.diagnostics import Location

#: The arm of a `While` that stands for running its body again.
AGAIN = 1


@dataclass(frozen=True, slots=True)
class Unreached:
    """An arm that did not run. `location` is the first of the user's lines in it, or that of the
    construct when the arm has none."""

    construct: str
    arm: str
    location: Location | None

    def __str__(self) -> str:
        where = f", {self.location}" if self.location is not None else ""
        return f"no input reached {self.arm}{where}"


@dataclass(slots=True)
class Coverage:
    """How often each arm ran, over any number of runs of one program.

    Arms are counted from 0: `then` and `orelse`, a switch's alternatives, a loop's body and
    running it again.
    """

    program: ControlProgram
    counts: dict[tuple[int, int], int] = field(default_factory=dict[tuple[int, int], int])
    _numbers: dict[int, int] = field(init=False)

    def __post_init__(self) -> None:
        # Items with bodies are not hashable; they live as long as the program, which is held here
        self._numbers = {id(item): number for number, item in enumerate(walk(self.program.body))}

    def reach(self, item: If | Switch | While, arm: int) -> None:
        """Count one more run of an arm."""
        key = (self._numbers[id(item)], arm)
        self.counts[key] = self.counts.get(key, 0) + 1

    def count(self, item: If | Switch | While, arm: int) -> int:
        return self.counts.get((self._numbers[id(item)], arm), 0)

    def unreached(self) -> tuple[Unreached, ...]:
        """The arms that no run reached, outermost first; of an unreached arm nothing inside."""
        return tuple(self._unreached(self.program.body))

    def _unreached(self, body: Body) -> Iterator[Unreached]:
        for item in body.items:
            if not isinstance(item, (If, Switch, While)) or item.construct == ASSUME:
                continue
            for arm, inner in enumerate(bodies(item)):
                if self.count(item, arm):
                    yield from self._unreached(inner)
                elif inner.items:
                    yield Unreached(item.construct, _arm(item, arm), _place(item, inner))
            if isinstance(item, While) and self.count(item, 0) and not self.count(item, AGAIN):
                what = f"a second iteration of the `{item.construct}` loop"
                yield Unreached(item.construct, what, item.location)


def _arm(item: If | Switch | While, arm: int) -> str:
    match item:
        case If():
            return f"the `{item.construct}` side where the condition {'fails' if arm else 'holds'}"
        case Switch():
            return f"alternative {arm} of `{item.construct}`"
        case While():
            return f"the body of the `{item.construct}` loop"


def _place(item: If | Switch | While, body: Body) -> Location | None:
    return next((place for inner in walk(body) if (place := location_of(inner))), item.location)


def location_of(item: Item) -> Location | None:
    """The user's line of an item, if it has one: of a segment that of its first operator."""
    match item:
        case Segment():
            nodes = item.program.graph.graph.nodes
            lines = (node.meta.get("location") for node in nodes if node.op.startswith("call"))
            return next((line for line in lines if line is not None), item.program.location)
        case If() | Switch() | While() | Emit() | Raise():
            return item.location
        case _:
            return None
