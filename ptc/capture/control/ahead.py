"""Generators that have run to their end when the first element is asked for: it must make no
difference that they did. So they write nothing that was there before, and nobody writes later what
they may have read.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from ptc.capture.control.homes import storage
from ptc.capture.control.states import changes
from ptc.capture.errors import GraphBreak
from ptc.capture.values.base import Value
from ptc.capture.values.births import BornDict, BornList, born
from ptc.capture.values.callables import CellValue
from ptc.capture.values.iterators import GeneratorValue
from ptc.capture.values.torch_tensor import TensorValue

if TYPE_CHECKING:
    from ptc.capture.control.machine import ControlMachine
    from ptc.capture.interpreter.frame import Frame


def require_no_writes(
    vm: ControlMachine, generator: GeneratorValue, mark: int, moment: int, own: set[int]
) -> None:
    """Since the mark, the generator ran; `own` are the iterators that only it goes through."""
    for place in changes(vm.journal, mark).values():
        owner = place.owner
        if owner is generator or not isinstance(owner, Value | BornList | BornDict):
            continue
        if born(owner) <= moment and id(owner) not in own:
            raise _refusal(generator, "changes what is used outside of it")


def watch(vm: ControlMachine, generator: GeneratorValue, read: list[Any]) -> None:
    """Nobody may write what the generator has read, from here on."""

    def refuse() -> None:
        raise _refusal(generator, "uses what is changed while it waits")

    for owner in read:
        if isinstance(owner, TensorValue):
            vm.homes.awaited[storage(owner.fake)] = refuse
        if owner is not generator:
            vm.journal.watch(owner, refuse)


def own_iterators(vm: ControlMachine, frame: Frame) -> set[int]:
    """The iterators that a frame which has not begun was given, and no variable has too."""
    others = [one for other in vm.frames if other is not frame for one in _held(other)]
    others += [one.content for one in others if isinstance(one, CellValue)]
    others += [one.rest for one in others if isinstance(one, GeneratorValue)]
    kept = set(map(id, others))
    given = [one for one in frame.locals.values() if _is_iterator(one) and id(one) not in kept]
    return {id(one) for one in _from(given) if _is_iterator(one)}


def _is_iterator(value: Any) -> bool:
    return isinstance(value, Value) and type(value).next is not Value.next


def reachable(frame: Frame) -> list[Any]:
    """The values and containers that a frame which has not begun may read, or write to."""
    return _from([*_held(frame), *(frame.function.closure or ())])


def _held(frame: Frame) -> list[Any]:
    return [*frame.locals.values(), *frame.stack, *frame.cells.values()]


def _from(values: list[Any]) -> list[Any]:
    seen: dict[int, Any] = {}
    waiting = list(values)
    while waiting:
        value = waiting.pop()
        if id(value) in seen or not isinstance(value, Value | list | dict | tuple):
            continue
        seen[id(value)] = value
        waiting += _parts(value)
    return list(seen.values())


def _parts(value: Any) -> Iterator[Any]:
    if isinstance(value, dict):
        yield from value.values()
    elif isinstance(value, list | tuple):
        yield from value
    else:
        for cls in type(value).__mro__:
            for name in getattr(cls, "__slots__", ()):
                if name != "globals":
                    yield getattr(value, name, None)


def _refusal(generator: GeneratorValue, what: str) -> GraphBreak:
    return GraphBreak(
        "PTC-B006",
        f"{generator.describe()} goes different ways depending on data, and {what}",
        "go through it in a loop that does not leave it, or collect what it yields in a list",
    )
