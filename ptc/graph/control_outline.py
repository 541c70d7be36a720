"""The constructs of a program with control flow, for people: what made each, where, around what.

Takes a `ControlProgram`, gives its branches, switches and loops in order. Knows nothing of how
programs are printed or run.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ptc.graph.control import (
    ASSUME,
    Body,
    ControlProgram,
    If,
    Segment,
    Switch,
    While,
    bodies,
    segment_numbers,
    walk,
)
from ptc.support.diagnostics import Location


@dataclass(frozen=True, slots=True)
class Construct:
    """`kind` is `branch`, `switch` or `loop`; `name` the Python construct that made it (`if`,
    `and`, `for`). `arms` has the numbers of the segments inside of each arm, those of inner
    constructs among them; `depth` counts the constructs around it."""

    kind: str
    name: str
    location: Location | None
    depth: int
    arms: tuple[tuple[int, ...], ...]

    def __str__(self) -> str:
        where = f" at {self.location}" if self.location is not None else ""
        line = f"  {self.location.text.strip()}" if self.location and self.location.text else ""
        arms = " | ".join(_numbers_text(arm) for arm in self.arms)
        return f"`{self.name}`{where}{line}  ({self.kind}: {arms})"


def constructs(program: ControlProgram) -> tuple[Construct, ...]:
    """Every construct, outermost first, in the order of the program."""
    return tuple(_constructs(program.body, 0, segment_numbers(program)))


def _constructs(body: Body, depth: int, numbers: dict[int, int]) -> Iterator[Construct]:
    for item in body.items:
        if not isinstance(item, (If, Switch, While)) or item.construct == ASSUME:
            continue
        kind = "branch" if isinstance(item, If) else "switch"
        arms = tuple(
            tuple(numbers[id(inner)] for inner in walk(arm) if isinstance(inner, Segment))
            for arm in bodies(item)
        )
        name = "loop" if isinstance(item, While) else kind
        yield Construct(name, item.construct, item.location, depth, arms)
        for arm in bodies(item):
            yield from _constructs(arm, depth + 1, numbers)


def _numbers_text(numbers: tuple[int, ...]) -> str:
    if not numbers:
        return "no segment"
    if len(numbers) == 1:
        return f"segment {numbers[0]}"
    return f"segments {', '.join(map(str, numbers))}"
