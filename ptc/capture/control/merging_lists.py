"""Lists in states that meet: what differs in the arms is held by variables that each arm
assigns.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Any

from ptc.capture.control import list_forms, lists
from ptc.capture.control.handles import kind_of
from ptc.capture.control.list_rows import has_rows, require_once, require_untaken, taken
from ptc.capture.control.states import Place, State
from ptc.capture.control.tensors import row_major
from ptc.capture.control.variables import inside_arm
from ptc.capture.errors import GraphBreak
from ptc.capture.values.base import Value
from ptc.capture.values.births import born
from ptc.capture.values.choices import ChoiceValue, alternatives_of
from ptc.capture.values.constants import ConstantValue
from ptc.capture.values.containers import TupleValue
from ptc.capture.values.torch_tensor import TensorValue
from ptc.graph.control import Body, Switch

if TYPE_CHECKING:
    from ptc.capture.control.machine import ControlMachine


class Unmergeable(Exception):
    """The arms cannot go on as one."""


class MergedLists:
    """`cells` are the places of the merged state with their content; `taken` are the lists that are
    kept in place in others from here on."""

    def __init__(
        self,
        vm: ControlMachine,
        states: Sequence[State],
        began: int,
        cells: dict[Hashable, tuple[Place, Any]],
    ) -> None:
        self._vm = vm
        self._states = states
        self._began = began
        self._cells = cells
        self.taken: dict[int, tuple[Any, Any]] = {}

    def held(
        self, contents: list[list[Any]], empty: lists.Form = lists.EMPTY, owner: Any = None
    ) -> lists.ListState:
        """A list whose length data decides, in variables that each arm assigns: those of `owner`
        from here on."""
        vm = self._vm
        resolved = [self._resolved(*pair) for pair in enumerate(contents)]
        try:
            form = self._wide(lists.common_form(vm, resolved), empty, owner)
        except lists.Unlistable as why:
            if any(context.region or context.peel for context in vm.loops):
                raise lists.refusal(vm, why) from None  # the ways would multiply without an end
            vm.lists.references.kept_apart(why.by_reference, why.mixed)
            raise Unmergeable(
                f"a list has different lengths in the arms, and would hold {why}"
            ) from None
        result = (
            lists.ListState(form, lists.new_vars(vm, form))
            if owner is None
            else lists.new_state(vm, form, owner)
        )
        for number, (content, here) in enumerate(zip(contents, resolved, strict=True)):
            self._give(number, result, content, here)
        return result

    def _wide(self, form: lists.Form | None, empty: lists.Form, owner: Any) -> lists.Form:
        """The form of a list that is made where `owner` was, and that may get what `empty` has."""
        if owner is not None:
            references = self._vm.lists.references
            form = references.form_at(references.site_of(owner), form)
        if form is None or empty is lists.EMPTY:
            return form or empty
        return list_forms.joined(self._vm, empty, form)

    def _give(
        self, number: int, state: lists.ListState, content: list[Any], resolved: list[Any]
    ) -> None:
        """Give a list its content at the end of an arm."""
        form = state.form
        if has_rows(form):
            require_once(self._vm, taken(content), state, self.taken)
        if not lists.is_state(content):
            pairs = zip(content, resolved, strict=True)
            content = [self._referred(number, form, *pair) for pair in pairs]
        for leaf in self._states[number].leaves:
            with self._vm.at_end_of(leaf):
                lists.give(self._vm, state, content)

    def _referred(self, number: int, form: lists.Form, item: Any, resolved: Any) -> Any:
        """An element, with the lists that are references held by variables."""
        if isinstance(item, list_forms.Perhaps):
            inner = self._referred(number, form, item.value, resolved.value)
            return list_forms.Perhaps(inner, item.choice)
        if isinstance(form, list_forms.ListForm):
            return lists.DataListValue(self.held_in(number, item, form.element))
        if not isinstance(form, list_forms.TupleForm) or form.klass is list:
            return resolved
        parts = zip(
            form.parts, list_forms.items_of(item), list_forms.items_of(resolved), strict=True
        )
        return TupleValue([self._referred(number, *part) for part in parts], form.klass)

    def merged(self, values: list[Any], *, always: bool = False) -> Value | None:
        """A list for lists of different lengths, or `always`; None where there is none. Each of
        them is held by variables from here on, so that what else refers to it sees the changes."""
        contents = [self.items(number, value) for number, value in enumerate(values)]
        held = any(lists.is_state(content) for content in contents)
        held = held or always or self._vm.state.known.by_reference
        if not held and len({len(content) for content in contents}) == 1:
            return None
        if not all(lists.holdable(value) and value.klass is list for value in values):
            return None
        try:
            resolved = [self._resolved(*pair) for pair in enumerate(contents)]
            form = lists.common_form(self._vm, resolved) or lists.EMPTY
            states = [self.held_in(*pair, form) for pair in enumerate(values)]
        except (lists.Unlistable, Unmergeable, GraphBreak):
            return None
        result = lists.ListState(form, lists.new_vars(self._vm, form))
        for number, state in enumerate(states):
            self._give(number, result, [state], [state])
        return lists.DataListValue(result)

    def one_of(self, values: list[Any], own: Sequence[Sequence[Any]]) -> Value | None:
        """A list that is, in each arm, the one of its `own` lists that its value is there, and
        empty where the value is none of them; None where there is none. Those are held by variables
        from here on."""
        vm = self._vm
        each = [(number, one) for number, found in enumerate(own) for one in found]
        if any(
            isinstance(values[n], ChoiceValue) and not self._is_plain(n, one) for n, one in each
        ):
            return None
        try:
            contents = [self._resolved(number, self.items(number, one)) for number, one in each]
            form = lists.common_form(vm, contents) or lists.EMPTY
            states = {(n, id(one)): self.held_in(n, one, form) for n, one in each}
        except (lists.Unlistable, Unmergeable, GraphBreak):
            return None
        result = lists.ListState(form, lists.new_vars(vm, form))
        for number, value in enumerate(values):
            known = [states.get((number, id(one))) for one in alternatives_of(value)]
            for leaf in self._states[number].leaves:
                with vm.at_end_of(leaf):
                    self._give_one(result, value, [[one] if one else [] for one in known])
        return lists.DataListValue(result)

    def _is_plain(self, number: int, value: Any) -> bool:
        """Whether a list can be given its content where it may not be there: nothing is computed
        from its elements."""
        items = self.items(number, value)
        return lists.is_state(items) or all(self._is_held(item) for item in items)

    def _is_held(self, item: Any) -> bool:
        if isinstance(item, TupleValue):
            return all(map(self._is_held, item.items))
        if isinstance(item, TensorValue):
            return self._vm.homes.base(item) is item and row_major(self._vm, item.fake)
        return kind_of(item) is not None or isinstance(item, ConstantValue)

    def _give_one(self, result: lists.ListState, value: Any, contents: list[list[Any]]) -> None:
        """Give a list the content of the alternative that a value is."""
        if not isinstance(value, ChoiceValue):
            lists.give(self._vm, result, contents[0])
            return
        arms = tuple(Body() for _ in contents)
        for arm, content in zip(arms, contents, strict=True):
            with inside_arm(self._vm, arm):
                lists.give(self._vm, result, content)
        self._vm.writer.add(Switch(value.selector, arms, None, "choice"))

    def items(self, number: int, value: Any) -> list[Any]:
        """The content of a list at the end of an arm."""
        require_untaken(self._vm, value, self._states[number].cells)
        cell = self._states[number].cells.get(Place("list", value.items).key())
        return cell[1] if cell is not None else list(value.items)

    def _resolved(self, number: int, content: list[Any]) -> list[Any]:
        """Elements that are lists, as they are at the end of an arm."""
        return self._vm.lists.references.resolved(content, lambda value: self.items(number, value))

    def held_in(self, number: int, value: Any, wide: lists.Form) -> lists.ListState:
        """The variables of a list with elements of this form, which it gets if it has none yet."""
        vm = self._vm
        place = Place("list", value.items)
        known = self._cells.get(place.key())
        here = self.items(number, value)
        if known is not None and lists.is_state(known[1]):
            state = known[1][0]
        elif lists.is_state(here):
            state = here[0]
        else:
            vm.lists.changed(value)
            if born(value.items) > self._began:
                resolved = self._resolved(number, here)
                form = self._wide(lists.common_form(vm, [resolved]), wide, value)
                state = lists.new_state(vm, form, value)
                self._give(number, state, here, resolved)
            else:
                contents = [self.items(n, value) for n in range(len(self._states))]
                state = self.held(contents, wide, value)
            vm.lists.same(state.name, vm.lists.references.name_of(value))
            self._cells[place.key()] = (place, [state])
        if not list_forms.same_form(vm, state.form, wide):
            wide = list_forms.joined(vm, wide, state.form)
            vm.lists.references.learn([state.name], wide)
        return state
