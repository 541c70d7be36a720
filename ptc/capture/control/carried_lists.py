"""The lists that a loop carries: those that it changes are held by variables from before the loop
on, those that it replaces get variables that each iteration assigns.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ptc.capture.control import list_forms, lists
from ptc.capture.control.handles import Storable
from ptc.capture.control.list_rows import has_rows, require_once, require_untaken, take, taken
from ptc.capture.control.list_shapes import depth
from ptc.capture.control.states import Place, State
from ptc.capture.values.base import Value
from ptc.capture.values.births import born
from ptc.capture.values.containers import ListValue, TupleValue
from ptc.graph.control import Body, Var

if TYPE_CHECKING:
    from ptc.capture.control.loops import LoopContext
    from ptc.capture.control.machine import ControlMachine


class Uncarriable(BaseException):
    """The content of a location has no lasting form yet. See `Unlistable`."""

    def __init__(
        self,
        context: LoopContext,
        what: str,
        *,
        by_reference: bool = False,
        mixed: bool = False,
        klass: Storable | None = None,
    ) -> None:
        super().__init__(what)
        self.context = context
        self.what = what
        self.by_reference = by_reference
        self.mixed = mixed
        self.klass = klass


@dataclass(frozen=True, slots=True)
class Held:
    """A list that variables hold from before the loop on, with its content of before that."""

    owner: Any
    initial: list[Any]
    state: lists.ListState


class CarriedLists:
    """`again` is what the iteration left, while it is looked at; `arm` is that of what is one of
    several values, while it is given; `is_form` tells the lasting forms of the loop."""

    def __init__(
        self,
        vm: ControlMachine,
        context: LoopContext,
        began: int,
        is_form: Callable[[Value], bool],
    ) -> None:
        self.again: State | None = None
        self.arm: Body | None = None
        self._vm = vm
        self._context = context
        self._began = began
        self._is_form = is_form
        self._held: dict[int, Held] = {}
        self._grown = False
        # Lists of an iteration, and those that are kept in place in them, while assigned
        self._made: dict[int, tuple[lists.ListState, Body | None]] = {}
        self._rows: dict[int, tuple[Any, Any]] = {}

    def begin(self) -> None:
        """Give the lists that are held what they have before the loop: those in others first."""
        for held in sorted(self._held.values(), key=lambda h: depth(h.state.form)):
            lists.give(self._vm, held.state, held.initial)

    def grown(self) -> bool:
        """Whether another list is held since this was asked last."""
        grown, self._grown = self._grown, False
        return grown

    def forget_made(self) -> None:
        self._made.clear()
        self._rows.clear()

    # -- after an iteration --------------------------------------------------------------------

    def items_left(self, value: Any) -> list[Any]:
        """The content of a list after the iteration, or before the loop."""
        cells = self.again.cells if self.again is not None else {}
        require_untaken(self._vm, value, cells)
        cell = cells.get(Place("list", value.items).key())
        return cell[1] if cell is not None else list(value.items)

    def _resolved(self, items: list[Any]) -> list[Any]:
        """Elements that are lists, as they are after the iteration."""
        return self._vm.lists.references.resolved(items, self.items_left)

    def pairs(self, form: lists.ListState, content: Any) -> list[tuple[Var, Callable[[], Any]]]:
        """A list made in the iteration gets its variables when it is assigned first."""

        def source(number: int) -> Any:
            state = self._state_left(content, form.form)
            self._vm.lists.references.require_alike(form, state)
            state = lists.converted(self._vm, state, form.form)
            self._vm.lists.same(form.name, state.name)
            return state.vars[number]

        return [(var, lambda number=n: source(number)) for n, var in enumerate(form.vars)]

    def _state_left(self, content: Any, form: lists.Form) -> lists.ListState:
        """The variables of a list after the iteration; of one that has none, new ones."""
        vm, items = self._vm, self.items_left(content)
        if lists.is_state(items):
            return items[0]
        if id(content) not in self._made:
            state = lists.new_state(vm, form, content)
            self._made[id(content)] = (state, self.arm)
            vm.lists.same(state.name, vm.lists.references.name_of(content))
            if has_rows(form):
                require_once(vm, taken(items), state, self._rows)
            pairs = zip(items, self._resolved(items), strict=True)
            lists.give(vm, state, [self._referred(form, *pair) for pair in pairs])
        state, arm = self._made[id(content)]
        if arm is not self.arm:  # it may not be there
            raise Uncarriable(
                self._context, "a list by two names, of which one is of several values"
            )
        return state

    def _referred(self, form: lists.Form, item: Any, resolved: Any) -> Any:
        """An element, with the lists that are references held by variables."""
        if isinstance(item, list_forms.Perhaps):
            inner = self._referred(form, item.value, resolved.value)
            return list_forms.Perhaps(inner, item.choice)
        if isinstance(form, list_forms.ListForm):
            return lists.DataListValue(self._state_left(item, form.element))
        if not isinstance(form, list_forms.TupleForm) or form.klass is list:
            return resolved
        parts = zip(
            form.parts, list_forms.items_of(item), list_forms.items_of(resolved), strict=True
        )
        return TupleValue([self._referred(*part) for part in parts], form.klass)

    def note_alias(self, form: lists.DataListValue, content: Any) -> None:
        """A form gets this list at the end of an iteration."""
        items = self.items_left(content)
        its = items[0].name if lists.is_state(items) else None
        name = its or self._vm.lists.references.name_of(content)
        self._vm.lists.same(form.state.name, name)

    # -- growing -------------------------------------------------------------------------------

    def hold(self, owner: Any, others: list[list[Any]], wide: lists.Form = lists.EMPTY) -> None:
        """Give a list variables before the loop, wide enough for the content that others have and
        for elements of a form."""
        vm, known = self._vm, self._held.get(id(owner))
        initial = known.initial if known is not None else list(owner.items)
        now_held = owner.items if lists.is_state(owner.items) else []
        others = [self._resolved(other) for other in others]
        try:
            form = lists.common_form(vm, [initial, now_held, *others])
            references = vm.lists.references
            form = references.form_at(references.site_of(owner), form) or lists.EMPTY
            form = list_forms.joined(vm, wide, form)
        except lists.Unlistable as why:
            raise Uncarriable(
                self._context,
                f"a list that would hold {why}",
                by_reference=why.by_reference,
                mixed=why.mixed,
                klass=why.klass,
            ) from None
        if now_held and not vm.lists.alone(now_held[0].name):
            references.require_form(now_held[0], form)
        if known is None and has_rows(form):
            initial = [
                ListValue(list(item.items)) if isinstance(item, ListValue) else item
                for item in initial
            ]
            take(vm, owner.items)
        self._hold_within(form, initial)
        state = lists.new_state(vm, form, owner)
        if known is None:
            vm.lists.same(state.name, references.name_of(owner))
        lists.become(vm, owner, state)
        self._held[id(owner)] = Held(owner, initial, state)
        self._grown = True

    def _hold_within(self, form: lists.Form, items: list[Any]) -> None:
        """Hold the lists among elements that are references."""
        for item in () if lists.is_state(items) else items:
            item = item.value if isinstance(item, list_forms.Perhaps) else item
            if isinstance(form, list_forms.ListForm):
                self._hold_as(item, form.element)
            elif isinstance(form, list_forms.TupleForm) and form.klass is not list:
                for part, inner in zip(form.parts, list_forms.items_of(item), strict=True):
                    self._hold_within(part, [inner])

    def _hold_as(self, value: Any, form: lists.Form) -> None:
        """Hold a list from before the loop with elements of this form, if it is not."""
        known = value.state.form if isinstance(value, lists.DataListValue) else None
        if known is None or not list_forms.same_form(self._vm, known, form):
            self.hold(value, [], form)

    def _hold_known(self, form: lists.Form, items: list[Any]) -> None:
        """Hold the lists from before the loop that an iteration has put in a list of its own."""
        if lists.is_state(items):
            return
        for item in items:
            item = item.value if isinstance(item, list_forms.Perhaps) else item
            if isinstance(form, list_forms.ListForm):
                if born(item.items) < self._began:  # type: ignore[attr-defined]
                    self._hold_as(item, form.element)
                else:
                    self._hold_known(form.element, self.items_left(item))
            elif isinstance(form, list_forms.TupleForm) and form.klass is not list:
                for part, inner in zip(form.parts, list_forms.items_of(item), strict=True):
                    self._hold_known(part, [inner])

    def form(self, now: Any, left: Any, what: str) -> Value | None:
        """A list that is another one after each iteration. Those that were there before the loop
        are held by variables, so that what else refers to them sees the changes."""
        vm, items = self._vm, self.items_left(left)
        try:
            form = self._common(now, left, self._resolved(items))
            for value in (now, left):
                if not self._is_form(value) and born(value.items) < self._began:
                    self._hold_as(value, form)
            self._hold_known(form, items)
            form = self._common(now, left, self._resolved(items))
        except lists.Unlistable as why:
            raise Uncarriable(
                self._context,
                f"{what}, a list that would hold {why}",
                by_reference=why.by_reference,
                mixed=why.mixed,
                klass=why.klass,
            ) from None
        if self._is_form(now) and list_forms.same_form(vm, form, now.state.form):
            return None
        return lists.DataListValue(lists.ListState(form, lists.new_vars(vm, form)))

    def _common(self, now: Any, left: Any, items: list[Any]) -> lists.Form:
        """The form of a list that is one or the other, where `left` has these elements."""
        vm = self._vm
        form = lists.common_form(vm, [now.items, items])
        for value in (now, left):
            if not self._is_form(value):
                form = vm.lists.references.form_at(vm.lists.references.site_of(value), form)
        return form or lists.EMPTY
