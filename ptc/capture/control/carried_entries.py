"""What a loop carries of dictionaries and sets: the lists that they are of."""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING, Any

from ptc.capture.control import entries, lists
from ptc.capture.control.states import Place, State
from ptc.capture.values.base import Value
from ptc.capture.values.births import born
from ptc.capture.values.containers import ListValue

if TYPE_CHECKING:
    from ptc.capture.control.loops import LoopContext
    from ptc.capture.control.machine import ControlMachine


class Uncarriable(BaseException):
    """The content of a location has no lasting form yet."""

    def __init__(self, context: LoopContext, what: str) -> None:
        super().__init__(what)
        self.context = context
        self.what = what


class CarriedEntries:
    """The part of `Carried` that knows of dictionaries and sets."""

    vm: ControlMachine
    began: int
    context: LoopContext
    locations: dict[Hashable, Any]
    _again: State | None

    def _items_left(self, value: Any) -> list[Any]:
        raise NotImplementedError

    def _hold(self, owner: Any, others: list[list[Any]]) -> None:
        raise NotImplementedError

    def _is_form(self, value: Value) -> bool:
        raise NotImplementedError

    def _holds_entries(
        self, key: Hashable, place: Place, before: dict[Any, Any], content: dict[Any, Any]
    ) -> bool:
        """Whether a dictionary or set is held by variables: from before the loop on, in place."""
        owner = getattr(place.owner, "owner", None)
        if entries.is_held(before):
            return True
        if not entries.holdable(owner) or (
            not entries.is_held(content) and list(before) == list(content)
        ):
            return False
        for name in before:
            self.locations.pop((key, name), None)
        self._hold_entries(owner, self._columns_left(owner))
        return True

    def _hold_entries(self, owner: Any, others: list[list[Any]]) -> None:
        for column, other in zip(entries.become(self.vm, owner), others, strict=True):
            self._hold(column, [other])

    def _container(self, now: Any, left: Any, what: str) -> Value | None:
        """A dictionary or set that is another one after each iteration, as for lists."""
        others = self._columns_left(left)
        for value in (now, left):
            content = entries.content_of(value)
            if not entries.is_held(content) and born(content) < self.began:
                self._hold_entries(value, others if value is left else [[] for _ in others])
        mine = entries.lists_in(entries.content_of(now))
        try:
            forms = [
                lists.common_form(self.vm, [column.items, other]) or lists.EMPTY
                for column, other in zip(mine, others, strict=True)
            ]
        except lists.Unlistable as why:
            raise Uncarriable(self.context, f"{what}, which would hold {why}") from None
        pairs = list(zip(mine, forms, strict=True))
        if self._is_form(now) and all(column.state.form is form for column, form in pairs):
            return None
        made = [lists.ListState(form, lists.new_vars(self.vm, form)) for form in forms]
        return entries.like(now, list(map(lists.DataListValue, made)))

    def _columns_left(self, value: Any) -> list[list[Any]]:
        """The content of a dictionary or set after the iteration, or before the loop."""
        return [self._items_left(column) for column in self._columns(value)]

    def _columns(self, value: Any) -> list[Any]:
        """The same as lists, which may have changed."""
        content = entries.content_of(value)
        cells = self._again.cells if self._again is not None else {}
        cell = cells.get(Place("dict", content).key())
        content = content if cell is None else cell[1]
        if entries.is_held(content):
            return entries.lists_in(content)
        return [ListValue(column) for column in entries.columns_of(value, content)]
