"""Dictionaries and sets in states that meet: the lists that they are of."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Any

from ptc.capture.control import data_keys, entries, lists, set_order
from ptc.capture.control.merging_lists import MergedLists, Unmergeable
from ptc.capture.control.states import Place, State
from ptc.capture.errors import GraphBreak
from ptc.capture.values.base import Value
from ptc.capture.values.births import born
from ptc.capture.values.set_history import GROWN

if TYPE_CHECKING:
    from ptc.capture.control.machine import ControlMachine


class MergedEntries:
    """Their lists are merged by `merged`; `cells` are the places of the merged state."""

    def __init__(
        self,
        vm: ControlMachine,
        states: Sequence[State],
        began: int,
        cells: dict[Hashable, tuple[Place, Any]],
        merged: MergedLists,
    ) -> None:
        self._vm = vm
        self._states = states
        self._began = began
        self._cells = cells
        self._lists = merged

    def held(self, owner: Any, contents: list[dict[Any, Any]]) -> dict[Any, Any]:
        """A dictionary or set whose number of entries data decides, in some of the arms."""
        first = contents[0]
        columns = entries.lists_in(first)
        if columns and all(entries.lists_in(one) == columns for one in contents):
            return first
        rows: list[Sequence[list[Any]]] = []
        for number, content in enumerate(contents):
            if entries.is_held(content):
                rows.append([self._lists.items(number, one) for one in entries.lists_in(content)])
            else:
                rows.append(entries.columns_of(owner, content, self._history(number, owner)))
        columns = [self._column(owner, *pair) for pair in enumerate(zip(*rows, strict=True))]
        return dict(zip((entries.KEYS, entries.VALUES), columns, strict=True))

    def _column(self, owner: Any, number: int, contents: Sequence[list[Any]]) -> Value:
        """One of its lists, which counts as made where the container was."""
        made: Any = lists.DataListValue(lists.ListState(lists.EMPTY, ()))
        self._vm.lists.references.part(made, entries.content_of(owner), number)
        made.items[0] = self._lists.held(list(contents), owner=made)
        return made

    def is_dropped(self, items: Any) -> bool:
        """Whether a list was one of a container that is not of it after the arms."""
        _, content = self._vm.lists.columns.get(id(items), (None, None))
        if content is None:
            return False
        cell = self._cells.get(Place("dict", content).key())
        lists_now = entries.lists_in(content if cell is None else cell[1])
        return all(one.items is not items for one in lists_now)

    def _history(self, number: int, owner: Any) -> Any:
        """What is known of the order of a set at the end of an arm."""
        if not hasattr(owner, entries.HISTORY):
            return None
        cell = self._states[number].cells.get(Place("attribute", owner, entries.HISTORY).key())
        return owner.history if cell is None else cell[1]

    def is_parted(self, content: dict[Any, Any], contents: list[dict[Any, Any]]) -> bool:
        """Whether elements of a set of known ones lie elsewhere in some arms than in others: one
        table would not do."""
        owner = getattr(content, "owner", None)
        if not hasattr(owner, entries.HISTORY) or not entries.holdable(owner):
            return False
        arms = [self._history(number, owner) for number in range(len(self._states))]
        if not all(map(set_order.is_known, arms)) or all(one == arms[0] for one in arms):
            return False
        columns = [list(one.values()) for one in contents]
        if not all(map(set_order.is_ordered, [value for one in columns for value in one])):
            return False
        try:
            lists.common_form(self._vm, [data_keys.columns_of(one, 1)[0] for one in contents])
        except lists.Unlistable:
            return False
        return True

    def history(self, owner: Any) -> Any:
        """The same of one that variables hold after the arms."""
        arms = (self._history(number, owner) for number in range(len(self._states)))
        return GROWN if all(map(set_order.is_known, arms)) else None

    def merged(self, values: list[Any]) -> Value | None:
        """A dictionary or set for ones of which variables hold some, or that data decides the keys
        of, as for lists; None where there is none."""
        contents = [self._entries(number, value) for number, value in enumerate(values)]
        if not any(entries.is_held(one) or entries.has_data_keys(one) for one in contents):
            return None
        try:
            found = [self._columns_in(*pair) for pair in enumerate(values)]
        except (Unmergeable, GraphBreak):
            return None
        made: list[Any] = []
        for column in zip(*(entries.lists_in(here) for _, here in found), strict=True):
            made.append(self._lists.merged(list(column), always=True))
            if made[-1] is None:
                return None
        for place, here in found:
            self._cells[place.key()] = (place, here)
        return entries.like(values, made)

    def _entries(self, number: int, value: Any) -> dict[Any, Any]:
        """The content at the end of an arm."""
        content = entries.content_of(value)
        cell = self._states[number].cells.get(Place("dict", content).key())
        return dict(content if cell is None else cell[1])

    def _columns_in(self, number: int, value: Any) -> tuple[Place, dict[Any, Any]]:
        """A dictionary or set with its lists, which it gets if it has none yet."""
        place = Place("dict", entries.content_of(value))
        known = self._cells.get(place.key())
        here = known[1] if known is not None else self._entries(number, value)
        if not entries.is_held(here) and born(place.owner) > self._began:
            history = self._history(number, value)
            made = entries.columns_as_lists(self._vm, value, here, history)
            here = dict(zip((entries.KEYS, entries.VALUES), made, strict=True))
        elif not entries.is_held(here):
            arms = range(len(self._states))
            here = self.held(value, [self._entries(n, value) for n in arms])
        return place, here
