"""Dictionaries and sets where arms meet: the lists that they are of."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Any

from ptc.capture.control import entries, lists
from ptc.capture.control.states import Place, State
from ptc.capture.values.base import Value
from ptc.capture.values.births import born
from ptc.capture.values.containers import ListValue

if TYPE_CHECKING:
    from ptc.capture.control.machine import ControlMachine


class Unmergeable(Exception):
    """The arms cannot go on as one."""


class EntriesMerger:
    """The part of `Merger` that knows of dictionaries and sets."""

    vm: ControlMachine
    began: int
    states: Sequence[State]
    _cells: dict[Hashable, tuple[Place, Any]]

    def _held(self, contents: list[list[Any]]) -> lists.ListState:
        raise NotImplementedError

    def _held_in(self, number: int, value: Any, empty: lists.Form) -> lists.ListState:
        raise NotImplementedError

    def _items(self, number: int, value: Any) -> list[Any]:
        raise NotImplementedError

    def _held_entries(self, owner: Any, contents: list[dict[Any, Any]]) -> dict[Any, Any]:
        """A dictionary or set whose number of entries data decides, in some of the arms."""
        first = contents[0]
        columns = entries.lists_in(first)
        if columns and all(entries.lists_in(one) == columns for one in contents):
            return first
        rows: list[Sequence[list[Any]]] = []
        for number, content in enumerate(contents):
            if entries.is_held(content):
                rows.append([self._items(number, one) for one in entries.lists_in(content)])
            else:
                rows.append(entries.columns_of(owner, content))
        made = [lists.DataListValue(self._held(list(one))) for one in zip(*rows, strict=True)]
        return dict(zip((entries.KEYS, entries.VALUES), made, strict=False))

    def _containers(self, values: list[Any]) -> Value | None:
        """A dictionary or set for ones of which variables hold some, or that data decides the keys
        of, as for lists; None where there is none."""
        contents = [self._entries(number, value) for number, value in enumerate(values)]
        if not any(entries.is_held(one) or entries.has_data_keys(one) for one in contents):
            return None
        try:
            rows = [self._columns_in(*pair) for pair in enumerate(values)]
            columns = list(zip(*rows, strict=True))
            forms = [
                lists.common_form(self.vm, [[state] for state in column]) for column in columns
            ]
        except (lists.Unlistable, Unmergeable):
            return None
        made: list[lists.DataListValue] = []
        for column, form in zip(columns, forms, strict=True):
            assert form is not None
            result = lists.ListState(form, lists.new_vars(self.vm, form))
            for number, state in enumerate(column):
                for leaf in self.states[number].leaves:
                    with self.vm.at_end_of(leaf):
                        lists.give(self.vm, result, [state])
            made.append(lists.DataListValue(result))
        return entries.like(values[0], made)

    def _entries(self, number: int, value: Any) -> dict[Any, Any]:
        """The content of a dictionary or set at the end of an arm."""
        content = entries.content_of(value)
        cell = self.states[number].cells.get(Place("dict", content).key())
        return dict(content if cell is None else cell[1])

    def _columns_in(self, number: int, value: Any) -> list[lists.ListState]:
        """The variables of a dictionary or set, which it gets if it has none yet."""
        place = Place("dict", entries.content_of(value))
        known = self._cells.get(place.key())
        here = known[1] if known is not None else self._entries(number, value)
        if not entries.is_held(here) and born(place.owner) > self.began:
            made = [ListValue(column) for column in entries.columns_of(value, here)]
            here = dict(zip((entries.KEYS, entries.VALUES), made, strict=False))
        elif not entries.is_held(here):
            arms = range(len(self.states))
            here = self._held_entries(value, [self._entries(n, value) for n in arms])
        found = [self._held_in(number, one, lists.EMPTY) for one in entries.lists_in(here)]
        self._cells[place.key()] = (place, here)
        return found
