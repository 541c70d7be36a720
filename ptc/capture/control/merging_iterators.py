"""Iterators in states that meet: loops over other objects in each arm go on as one loop.

What a `for` statement iterates over is known to nobody else, so that one iterator can stand for
those of the arms: over a list that each arm assigns, at a position that each arm assigns.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING, Any

from ptc.capture.control.merging_lists import MergedLists
from ptc.capture.control.states import Place, State
from ptc.capture.control.tuples import elements
from ptc.capture.values.base import Value
from ptc.capture.values.containers import SequenceIterator

if TYPE_CHECKING:
    from ptc.capture.control.machine import ControlMachine


class MergedIterators:
    """`counter` gives one value for how far the arms' iterators are."""

    def __init__(
        self,
        vm: ControlMachine,
        states: Sequence[State],
        merged_lists: MergedLists,
        counter: Callable[[list[Any]], Value],
    ) -> None:
        self._vm = vm
        self._states = states
        self._lists = merged_lists
        self._counter = counter

    def merged(self, items: list[Any], live: Collection[str]) -> Value | None:
        """One iterator for those that lie at one place of the stack in each arm; None where there
        is none. `live` are the variables of the frame that are read later."""
        distinct = len({id(item) for item in items}) == len(items)
        if not distinct or not all(type(item) is SequenceIterator for item in items):
            return None
        if any(item.source is not None or self._is_known_elsewhere(item, live) for item in items):
            return None
        sequences = [_as_list(item.sequence) for item in items]
        if None in sequences:
            return None
        sequence = self._lists.merged(sequences, always=True)
        if sequence is None:
            return None
        positions = [self._position(*pair) for pair in enumerate(items)]
        same = isinstance(positions[0], int) and len({repr(one) for one in positions}) == 1
        made = SequenceIterator(sequence)  # type: ignore[arg-type]
        made.position = positions[0] if same else self._counter(positions)  # type: ignore[assignment]
        return made

    def _position(self, number: int, item: SequenceIterator) -> Any:
        """How far an iterator is at the end of an arm."""
        cell = self._states[number].cells.get(Place("attribute", item, "position").key())
        return item.position if cell is None else cell[1]

    def _is_known_elsewhere(self, item: SequenceIterator, live: Collection[str]) -> bool:
        """Whether something else may refer to an iterator than one place of a stack."""
        found = 0
        for state in self._states:
            here = 0
            if state.frame is not None:
                here += sum(one is item for one in state.frame[1])
                here += 2 * sum(state.frame[2].get(name) is item for name in live)
            for _, content in state.cells.values():
                here += 2 * _holds(content, item)
            found = max(found, here)
        outer = self._vm.frames[:-1]
        held = any(one is item for frame in outer for one in frame.locals.values())
        return found > 1 or held


def _as_list(sequence: Any) -> Any:
    """What has the elements; None for an object that is no list and no tuple."""
    known = elements(sequence)
    if known is not None:
        return known
    return sequence if getattr(sequence, "klass", None) is list and not sequence.attrs else None


def _holds(content: Any, item: Value) -> bool:
    """Whether an iterator is in the content of a place, however deep in tuples and containers."""
    if content is item:
        return True
    if isinstance(content, dict):
        return any(_holds(one, item) for one in content.values())
    if isinstance(content, (list, tuple)):
        return any(_holds(one, item) for one in content)
    inner = getattr(content, "items", None) if isinstance(content, Value) else None
    return isinstance(inner, (list, tuple)) and _holds(inner, item)
