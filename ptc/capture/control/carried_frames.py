"""What a loop carries of frames that wait: those of generators, and of loops over them."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ptc.capture.code import analyse
from ptc.capture.control.states import State
from ptc.capture.interpreter.frame import Frame
from ptc.capture.values.base import Value
from ptc.capture.values.choices import MISSING

if TYPE_CHECKING:
    from ptc.capture.control.machine import ControlMachine


@dataclass(slots=True)
class Location:
    """A location: how it is read in a state, and written in the machine."""

    key: Hashable
    what: str
    read: Callable[[State | None], Any]
    write: Callable[[Any], None]
    form: Value
    initial: Any
    may_be_lost: bool = False  # as nothing tells whether it is asked for again


def suspended(
    vm: ControlMachine, key: Hashable, frame: Frame, before: Any, content: Any
) -> Iterator[Location]:
    """What a frame has that waits at one place."""

    def location(where: Hashable, what: str, part: int, index: Any, initial: Any) -> Location:
        def read(state: State | None) -> Any:
            held: Any = state.cells[key][1][part]  # type: ignore[union-attr]
            return held.get(index, MISSING) if part == 2 else held[index]

        def write(value: Any) -> None:
            vm.journal.record(frame.restore, frame.save())
            place: Any = frame.locals if part == 2 else frame.stack
            place[index] = value

        return Location((key, where), what, read, write, MISSING, initial)

    live = analyse(frame.code).live(before[0])
    for name in content[2]:
        if name in live:
            yield location(name, f"`{name}`", 2, name, before[2].get(name, MISSING))
    for position, item in enumerate(before[1]):
        if isinstance(item, Value):
            yield location(position, "a value in use", 1, position, item)
