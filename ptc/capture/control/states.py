"""The interpreter's state at the end of an arm, relative to where it forked, and going back to it.

What changed is read off the journal: each entry names a place (an attribute, a dictionary, a list,
a suspended frame), whose content at the end of the arm is what is kept.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ptc.capture import torch_state
from ptc.capture.errors import GraphBreak
from ptc.capture.interpreter.frame import Frame, SavedFrame
from ptc.capture.journal import Journal
from ptc.capture.values.base import Value
from ptc.capture.values.births import now
from ptc.graph.control import Bind, Body

if TYPE_CHECKING:
    from ptc.capture.control.facts import Facts
    from ptc.capture.control.machine import ControlMachine


class Restart(BaseException):
    """Capture begins anew with what it has found, such as one more size to take apart. No
    Exception, so that a library function that catches all of those lets it through."""


@dataclass(frozen=True, slots=True)
class Place:
    """Something that changes: `kind` is `attribute` (of `owner`, called `name`), `dict`, `list` or
    `frame` (the owner itself), or `mode`: a state of torch, set by `owner` for the arguments
    `name`."""

    kind: str
    owner: Any
    name: Any = ""

    def key(self) -> Hashable:
        return (self.kind, id(self.owner), self.name)

    def read(self) -> Any:
        if self.kind == "attribute":
            return getattr(self.owner, self.name)
        if self.kind == "dict":
            return dict(self.owner)
        if self.kind == "list":
            return list(self.owner)
        if self.kind == "mode":
            reader = torch_state.reader_of(self.owner, self.name)
            assert reader is not None
            return reader(*self.name)
        return self.owner.save()

    def write(self, journal: Journal, content: Any) -> None:
        if self.kind == "attribute":
            journal.assign(self.owner, self.name, content)
        elif self.kind == "dict":
            journal.replace_dict(self.owner, content)
        elif self.kind == "list":
            journal.replace_list(self.owner, content)
        elif self.kind == "mode":
            journal.record(self.owner, *self.name, self.read())
            self.owner(*self.name, content)
        else:
            journal.record(self.owner.restore, self.owner.save())
            self.owner.restore(content)


@dataclass(slots=True)
class State:
    """The state at one end of an arm.

    `began` is the moment that it is relative to. `cells` maps a place's key to the place and its
    content there. `frame` is the state of the frame that forked (None if it was left), `returned`
    what it returned or raised. `leaves` are the bodies whose end this is: code for this state alone
    may be appended to each. `pending` comes first where the program goes on from here.
    """

    cells: dict[Hashable, tuple[Place, Any]]
    frame: SavedFrame | None
    returned: Value | None
    handled: Value | None
    began: int
    leaves: list[Body] = field(default_factory=list[Body])
    pending: list[Bind] = field(default_factory=list[Bind])


@dataclass(frozen=True, slots=True)
class Point:
    """A point to which the interpreter's state can go back: in the journal, and in time."""

    position: int
    time: int


def here(vm: ControlMachine) -> Point:
    return Point(vm.journal.mark(), now())


@dataclass(frozen=True, slots=True)
class Exit:
    """How a run of instructions ended: `at` a place of the frame, or by `return`, `raise` or
    `yield` (at a place)."""

    kind: str
    place: int = -1


Outcome = dict[Exit, State]


def changes(journal: Journal, mark: int) -> dict[Hashable, Place]:
    """The places that changed since the mark."""
    found: dict[Hashable, Place] = {}
    for undo, args in journal.since(mark):
        place = _place(undo, args)
        if place is not None:
            found.setdefault(place.key(), place)
    return found


def _place(undo: Any, args: tuple[Any, ...]) -> Place | None:
    if undo in torch_state.TRACELESS:
        return None
    if undo is setattr:
        return Place("attribute", args[0], args[1])
    owner = getattr(undo, "__self__", None)
    if isinstance(owner, list):
        return Place("list", owner)
    if isinstance(owner, Frame):
        return Place("frame", owner)
    if args and isinstance(args[0], dict):
        return Place("dict", args[0])
    if args and isinstance(args[0], list):
        return Place("list", args[0])
    if args and torch_state.reader_of(undo, args[:-1]) is not None:
        return Place("mode", undo, args[:-1])
    raise GraphBreak(
        "PTC-B006", "the state of torch (gradient mode, autocast) changes under a condition",
        "set it around the condition",
    )  # fmt: skip


def take(vm: ControlMachine, point: Point, frame: Frame, end: Exit) -> State:
    """The state now, relative to a point before."""
    cells = {
        key: (place, place.read())
        for key, place in changes(vm.journal, point.position).items()
        if place.owner is not frame  # which the state has as it is
    }
    saved = frame.save() if end.kind in ("at", "yield") else None
    returned = frame.returned
    body = vm.writer.body
    vm.leaf_facts[id(body)] = (body, dict(vm.facts.table))
    return State(cells, saved, returned, vm.handled, point.time, [body])


def enter(vm: ControlMachine, frame: Frame, state: State) -> None:
    """Make a state, taken relative to the state now, the current one."""
    for place, content in state.cells.values():
        place.write(vm.journal, content)
    if state.frame is not None:
        frame.restore(state.frame)
    frame.returned = state.returned
    if vm.handled is not state.handled:
        vm.journal.assign(vm, "handled", state.handled)


def facts_of(vm: ControlMachine, state: State) -> Facts:
    """What is known of sizes in a state."""
    cell = state.cells.get(Place("dict", vm.facts.table).key())
    return vm.facts.of(vm.facts.table if cell is None else cell[1])
