"""The dictionaries and sets that a loop carries: those that get entries in it are held by variables
from before the loop on, those that it replaces get variables that each iteration assigns.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ptc.capture.control import entries, lists
from ptc.capture.control.carried_lists import CarriedLists
from ptc.capture.control.states import Place
from ptc.capture.values.base import Value
from ptc.capture.values.births import born
from ptc.graph.control import Var

if TYPE_CHECKING:
    from ptc.capture.control.machine import ControlMachine


class CarriedEntries:
    """Their lists are carried by `carried`; `is_form` tells the lasting forms of the loop."""

    def __init__(
        self,
        vm: ControlMachine,
        carried: CarriedLists,
        began: int,
        is_form: Callable[[Value], bool],
    ) -> None:
        self._vm = vm
        self._lists = carried
        self._began = began
        self._is_form = is_form

    def holds(self, place: Place, before: dict[Any, Any], content: dict[Any, Any]) -> bool:
        """Whether a dictionary or set is held by variables: from before the loop on, in place."""
        owner = getattr(place.owner, "owner", None)
        if entries.is_held(before):
            return True
        if not entries.holdable(owner) or (
            not entries.is_held(content)
            and list(before) == list(content)
            and not self._moved(owner)
        ):
            return False
        self._hold(owner, self._items_left(owner))
        return True

    def _hold(self, owner: Any, others: list[list[Any]]) -> None:
        for column, other in zip(entries.become(self._vm, owner), others, strict=True):
            self._lists.hold(column, [other])

    def form(self, now: Any, left: Any, what: str) -> Value | None:
        """A dictionary or set that is another one after each iteration, as for lists."""
        others = self._items_left(left)
        for value in (now, left):
            content = entries.content_of(value)
            if not entries.is_held(content) and born(content) < self._began:
                self._hold(value, others if value is left else [[] for _ in others])
        mine = entries.lists_in(entries.content_of(now))
        forms = [
            self._lists.form(column, its, what)
            for column, its in zip(mine, self._columns(left), strict=True)
        ]
        known = entries.has_known_order(left) or not entries.has_known_order(now)
        if self._is_form(now) and all(form is None for form in forms) and known:
            return None
        made: list[Any] = [
            self._fresh(column) if form is None else form
            for column, form in zip(mine, forms, strict=True)
        ]
        return entries.like((now, left), made)

    def _fresh(self, column: Any) -> lists.DataListValue:
        form = column.state.form
        return lists.DataListValue(lists.ListState(form, lists.new_vars(self._vm, form)))

    def pairs(self, form: Any, content: Any) -> list[tuple[Var, Callable[[], Any]]]:
        """What to assign to the variables of a form."""
        mine = entries.lists_in(entries.content_of(form))
        both = zip(mine, self._columns(content), strict=True)
        return [pair for column, its in both for pair in self._lists.pairs(column.state, its)]

    def note_alias(self, form: Any, content: Any) -> None:
        """A form gets this dictionary or set at the end of an iteration."""
        mine = entries.lists_in(entries.content_of(form))
        for column, its in zip(mine, self._columns(content), strict=True):
            self._lists.note_alias(column, its)

    def _moved(self, owner: Any) -> bool:
        """Whether the elements of a set lie elsewhere after the iteration."""
        if not hasattr(owner, entries.HISTORY) or not entries.has_known_order(owner):
            return False
        return self._history_left(owner) != owner.history

    def _history_left(self, owner: Any) -> Any:
        cells = self._lists.again.cells if self._lists.again is not None else {}
        cell = cells.get(Place("attribute", owner, entries.HISTORY).key())
        return owner.history if cell is None else cell[1]

    # -- after an iteration --------------------------------------------------------------------

    def _items_left(self, value: Any) -> list[list[Any]]:
        """The content after the iteration, or before the loop."""
        return [self._lists.items_left(column) for column in self._columns(value)]

    def _columns(self, value: Any) -> list[Any]:
        """The same as lists, which may have changed."""
        content = entries.content_of(value)
        cells = self._lists.again.cells if self._lists.again is not None else {}
        cell = cells.get(Place("dict", content).key())
        content = content if cell is None else cell[1]
        if entries.is_held(content):
            return entries.lists_in(content)
        history = getattr(value, entries.HISTORY, None) and self._history_left(value)
        return list(entries.columns_as_lists(self._vm, value, content, history))
