"""What a loop carries from one iteration to the next.

Every location that an iteration changes (a variable, a stack slot, an attribute, an element) gets a
lasting form: variables for the tensors and numbers in it. Before the loop they are assigned what is
there, at the end of an iteration what the iteration left.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from typing import TYPE_CHECKING, Any

from ptc.capture.code import analyse
from ptc.capture.control import entries, identities, lists, strings
from ptc.capture.control.arithmetic import is_number, number_kind, operand
from ptc.capture.control.carried_choices import MOST_PEELED, CarriedChoices, lasting
from ptc.capture.control.carried_entries import CarriedEntries
from ptc.capture.control.carried_frames import Location, suspended
from ptc.capture.control.carried_lists import CarriedLists, Uncarriable
from ptc.capture.control.handles import (
    HandleValue,
    kind_of,
    new_number,
    of_kind,
)
from ptc.capture.control.merging import (
    FOR_MESSAGES,
    described,
    same_kind_of_tensor,
)
from ptc.capture.control.states import Place, State, facts_of
from ptc.capture.control.tuples import DataTupleValue, are_long, elements
from ptc.capture.interpreter.frame import Frame
from ptc.capture.values.base import Value
from ptc.capture.values.births import born, now
from ptc.capture.values.callables import CellValue, LostValue
from ptc.capture.values.choices import MISSING, ChoiceValue
from ptc.capture.values.constants import ConstantValue
from ptc.capture.values.containers import TupleValue
from ptc.capture.values.data_numbers import DataNumber
from ptc.capture.values.texts import TextValue, is_made, is_text
from ptc.capture.values.torch_tensor import TensorValue
from ptc.graph.control import Assign, Bind, Item, NumberKind, NumberVar, Var
from ptc.graph.symbols import expression_of

if TYPE_CHECKING:
    from ptc.capture.control.loops import LoopContext
    from ptc.capture.control.machine import ControlMachine


class Carried:
    """The locations that a loop carries, with their lasting forms."""

    def __init__(self, vm: ControlMachine, frame: Frame, context: LoopContext) -> None:
        self.vm = vm
        self.frame = frame
        self.context = context
        self.before = frame.save()
        self.began = now()
        self.locations: dict[Hashable, Location] = {}
        self.forms: dict[int, Value] = {}  # of an object carried in two locations: one form
        self._lists = CarriedLists(vm, context, self.began, self._is_form)
        self._entries = CarriedEntries(vm, self._lists, self.began, self._is_form)
        self._choices = CarriedChoices(
            vm,
            context,
            self.began,
            self._form,
            self._pairs,
            self._is_form,
            self._least,
            self._lists,
        )
        self._listed: dict[int, tuple[Value, Any]] = {}  # tuples as lists
        self._again: State | None = None  # what the iteration left, while looked at
        live = analyse(frame.code).live(frame.ip)
        self._live = live

    # -- before and after an iteration ---------------------------------------------------------

    def begin(self) -> None:
        """Assign what is there before the loop."""
        self._look_at(None)
        self._lists.begin()
        pairs: list[tuple[Var, Callable[[], Any]]] = []
        for location in self._distinct():
            pairs += self._pairs(location.form, location.initial)
        self._assign(pairs, at_once=False)

    def enter(self) -> None:
        """Put the lasting forms in their locations, at the start of an iteration."""
        self.vm.lists.forget_lengths()
        self.vm.lists.forget_rows()
        self.vm.lists.lose_rows()
        bound: set[str] = set()
        for location in self.locations.values():
            location.write(location.form)
        for form in {id(one.form): one.form for one in self.locations.values()}.values():
            for item in self._binds(form):
                if not isinstance(item, Bind) or item.symbol not in bound:
                    self.vm.writer.add(item)
                if isinstance(item, Bind):
                    bound.add(item.symbol)
        identities.enter_iteration(self.vm)

    def _binds(self, form: Value) -> list[Item]:
        """What gives the sizes of carried tensors values."""
        if isinstance(form, ChoiceValue):
            return self._choices.binds(form, self._binds)
        if isinstance(form, TupleValue):
            return [item for part in form.items for item in self._binds(part)]
        return list(self.vm.bindings_of(form))

    def assign(self, again: State) -> None:
        """Assign what the iteration left, where it ends."""
        self._look_at(again)
        for leaf in again.leaves:
            with self.vm.at_end_of(leaf):
                for bind in again.pending:
                    self.vm.writer.compute(bind)
                pairs: list[tuple[Var, Callable[[], Any]]] = []
                for location in self._distinct():
                    pairs += self._pairs(location.form, location.read(again))
                self._assign(pairs, at_once=True)

    def _look_at(self, again: State | None) -> None:
        self._again = self._lists.again = again

    def _distinct(self) -> Iterator[Location]:
        seen: set[int] = set()
        for location in self.locations.values():
            if id(location.form) not in seen:
                seen.add(id(location.form))
                yield location

    def _assign(self, pairs: list[tuple[Var, Callable[[], Any]]], *, at_once: bool) -> None:
        """Assign variables; `at_once`: from what all of them held before."""
        self._lists.forget_made()
        sources = [(target, source()) for target, source in pairs]
        sources = [(target, source) for target, source in sources if source != target]
        targets = {target.name for target, _ in sources}
        writer = self.vm.writer
        if at_once:
            kept: list[tuple[Var, Any]] = []
            for target, source in sources:
                if not isinstance(source, (int, float)) and source.name in targets:
                    held = self.vm.variable_like(source)
                    writer.add(Assign(held, source))
                    source = held
                kept.append((target, source))
            sources = kept
        for target, source in sources:
            writer.add(Assign(target, source))

    def _pairs(self, form: Value, content: Any) -> list[tuple[Var, Callable[[], Any]]]:
        """(variable, what to assign) for everything that a form carries."""
        vm = self.vm
        if form is content or isinstance(form, ConstantValue):
            return []
        if isinstance(form, HandleValue):
            return [(form.var, lambda: content.var)]
        if isinstance(form, DataNumber):
            value = content if isinstance(content, Value) else ConstantValue(content)
            return [(form.var, lambda: operand(vm, value))]
        if isinstance(form, TensorValue):
            return self._tensor_pairs(form, content)
        if isinstance(form, TupleValue):
            parts = zip(form.items, content.items, strict=True)
            return [pair for mine, its in parts for pair in self._pairs(mine, its)]
        if isinstance(form, lists.DataListValue):
            return self._lists.pairs(form.state, content)
        if isinstance(form, DataTupleValue):
            return self._lists.pairs(form.elements.state, self._as_list(content))
        if entries.is_container(form):
            return self._entries.pairs(form, content)
        if isinstance(form, ChoiceValue):
            return self._choices.pairs(form, content)
        if isinstance(form, TextValue) and form.var is not None:
            return [(form.var, lambda: vm.text_variable(content))]
        return []

    def _tensor_pairs(self, form: TensorValue, content: Any) -> list[tuple[Var, Callable[[], Any]]]:
        vm = self.vm
        if vm.tensor_home(form) is None:
            return []
        pairs: list[tuple[Var, Callable[[], Any]]] = [
            (vm.variable(form), lambda: vm.tensor_variable(content, dense=True))
        ]
        which = vm.homes.identities.numbers.get(form)
        if which is not None:
            pairs.append((which, lambda: identities.number_of(vm, content)))
        return pairs

    # -- growing -------------------------------------------------------------------------------

    def grow(self, again: State) -> bool:
        """Give a form to what the last trace changed. False: nothing was new."""
        self._look_at(again)
        grown = False
        for location in self._changed(again):
            known = self.locations.get(location.key)
            now = known.form if known is not None else location.initial
            left = location.read(again)
            form = self._lost(location, now, left)
            if form is None:
                form = self._form(now, left, location.what)
            if form is None:
                continue
            location.form = form
            if known is not None:
                location.initial = known.initial
            self.locations[location.key] = location
            grown = True
        for location in self._distinct():
            self._note_alias(location.form, location.read(again))
        return self._lists.grown() or grown

    def _note_alias(self, form: Value, content: Any) -> None:
        """What a location gets at the end of an iteration it has in the next one."""
        if form is content:
            return
        if isinstance(form, TensorValue) and isinstance(content, TensorValue):
            identities.note_sources(self.vm, form, [content])
        elif isinstance(form, TupleValue) and isinstance(content, TupleValue):
            for mine, its in zip(form.items, content.items, strict=False):
                self._note_alias(mine, its)
        elif isinstance(form, lists.DataListValue) and lists.is_list(content):
            self._lists.note_alias(form, content)
        elif isinstance(form, DataTupleValue):
            self._lists.note_alias(form.elements, self._as_list(content))
        elif entries.is_container(form):
            self._entries.note_alias(form, content)
        elif isinstance(form, ChoiceValue):
            for mine, its in self._choices.alike(form, content):
                self._note_alias(mine, its)

    def _lost(self, location: Location, now: Any, left: Any) -> LostValue | None:
        """What stands in a cell for an object of the iteration, for which there is no variable."""
        if not location.may_be_lost or isinstance(now, LostValue) or can_be_held(left):
            return None
        return LostValue(location.what, self.context)

    def end(self) -> None:
        """The loop has been traced: nothing about it can change any more."""
        for location in self.locations.values():
            if isinstance(location.form, LostValue):
                location.form.loop = None

    def _changed(self, again: State) -> Iterator[Location]:
        yield from self._frame_locations(again)
        for key, (place, content) in again.cells.items():
            if self.vm.is_fact_table(place.owner) or self.vm.is_loop(place.owner):
                continue
            if self.vm.homes.is_note(place.owner):
                continue  # what an iteration leaves is looked at when it is assigned
            if place.name in FOR_MESSAGES:
                continue
            if born(place.owner) < self.began:
                yield from self._place_locations(key, place, content)

    def _frame_locations(self, again: State) -> Iterator[Location]:
        frame = self.frame
        assert again.frame is not None
        for name in again.frame[2]:
            if name not in self._live:
                continue
            initial = self.before[2].get(name, MISSING)
            yield Location(
                ("local", name),
                f"`{name}`",
                lambda state, name=name: state.frame[2].get(name, MISSING),  # type: ignore[union-attr]
                lambda value, name=name: frame.locals.__setitem__(name, value),
                MISSING,
                initial,
            )
        for position, item in enumerate(self.before[1]):
            if isinstance(item, Value):
                yield Location(
                    ("stack", position),
                    "a value in use",
                    lambda state, position=position: state.frame[1][position],  # type: ignore[union-attr,index]
                    lambda value, position=position: frame.stack.__setitem__(position, value),
                    MISSING,
                    item,
                )

    def _place_locations(self, key: Hashable, place: Place, content: Any) -> Iterator[Location]:
        journal, before = self.vm.journal, place.read()
        if place.kind == "attribute" and place.name == "__class__":
            return  # see `_holds_list`
        if place.kind == "attribute" and place.name == entries.HISTORY:
            if entries.is_held(entries.content_of(place.owner)) and content != before:
                raise Uncarriable(self.context, "a set whose order is not known any more")
            return
        if place.kind == "attribute":
            yield Location(
                key,
                f"the {place.name} of {described(place.owner)}",
                lambda state: state.cells[key][1],  # type: ignore[union-attr]
                lambda value: journal.assign(place.owner, place.name, value),
                MISSING,
                before,
                may_be_lost=isinstance(place.owner, CellValue) and place.owner.cell is None,
            )
        elif place.kind == "dict":
            if self._entries.holds(place, before, content):
                for name in before:
                    self.locations.pop((key, name), None)
                return
            if list(before) != list(content) and not self.vm.is_cache(place.owner):
                raise Uncarriable(self.context, "a dictionary with new keys")
            for name in before:
                yield self._dict_location(key, place, name, before[name])
        elif place.kind == "mode":
            if before != content:
                raise Uncarriable(self.context, "a state of torch (gradient mode, autocast)")
        elif place.kind == "list" and entries.is_dropped(self.vm, place.owner):
            return
        elif place.kind == "list":
            if self._holds_list(key, place, before, content):
                return
            for position, item in enumerate(before):
                yield self._list_location(key, place, position, item)
        elif before[0] == content[0] and before[3] == content[3]:
            yield from suspended(self.vm, key, place.owner, before, content)
        else:
            raise Uncarriable(self.context, "a generator that runs")

    def _holds_list(
        self, key: Hashable, place: Place, before: list[Any], content: list[Any]
    ) -> bool:
        """Whether a list is held by variables: from before the loop on, in place."""
        held = lists.is_state(before) or lists.is_state(content)
        if not held and len(before) == len(content):
            return False
        if held and before and content and before[0] is content[0]:
            return True
        owner = self.vm.lists.owner(place.owner)
        if not lists.holdable(owner):
            raise Uncarriable(self.context, "a list that grows")
        for position in range(len(before)):
            self.locations.pop((key, position), None)
        self._lists.hold(owner, [content])
        return True

    def _dict_location(self, key: Hashable, place: Place, name: Any, entry: Any) -> Location:
        journal = self.vm.journal
        paired = isinstance(entry, tuple)

        def read(state: State | None) -> Any:
            content = state.cells[key][1][name]  # type: ignore[union-attr]
            return content[1] if paired else content

        def write(value: Any) -> None:
            journal.put(place.owner, name, (entry[0], value) if paired else value)

        initial = entry[1] if paired else entry
        return Location((key, name), f"`{name}`", read, write, MISSING, initial)

    def _list_location(self, key: Hashable, place: Place, position: int, item: Any) -> Location:
        journal = self.vm.journal

        def write(value: Any) -> None:
            items = list(place.owner)
            items[position] = value
            journal.replace_list(place.owner, items)

        return Location(
            (key, position),
            f"element {position} of a list",
            lambda state: state.cells[key][1][position],  # type: ignore[union-attr]
            write,
            MISSING,
            item,
        )

    # -- forms ---------------------------------------------------------------------------------

    def _form(self, now: Any, left: Any, what: str) -> Value | None:
        """A lasting form for what is `now` there and what an iteration left; None if `now` is one
        already."""
        if now is left or isinstance(now, LostValue):
            return None
        if not isinstance(now, Value) or not isinstance(left, Value):
            return self._counter(now, left, what)
        vm = self.vm
        both = isinstance(now, ConstantValue) and isinstance(left, ConstantValue)
        if both and vm.same_constant(now, left):
            return None
        if isinstance(now, HandleValue) and kind_of(left) is now.klass:
            is_form = self._is_form(now)
            return None if is_form else of_kind(now.klass, new_number(vm, now.klass))
        if is_number(now) and is_number(left):
            return self._number(now, left, what)
        if isinstance(now, TensorValue) and isinstance(left, TensorValue):
            return self._tensor(now, left, what)
        if are_long([now, left]) or self._lengthens(now, left):
            return self._long_tuple(now, left, what)
        if isinstance(now, TupleValue) and isinstance(left, TupleValue):
            return self._tuple(now, left, what)
        if lists.is_list(now) and lists.is_list(left):
            return self._lists.form(now, left, what)
        if entries.alike([now, left]):
            return self._entries.form(now, left, what)
        if is_text(now) and is_text(left) and (is_made(now) or is_made(left)):
            return None if self._is_form(now) and is_made(now) else strings.new(vm)
        return self._choices.form(now, left, what)

    def _counter(self, now: Any, left: Any, what: str) -> Value | None:
        """How far an iterator is: a plain int before the loop, a number in it."""
        if isinstance(now, DataNumber):
            return None
        if isinstance(now, int) and (isinstance(left, (int, DataNumber))):
            if now == left if isinstance(left, int) else False:
                return None
            return DataNumber(NumberVar(vm_name(self.vm), NumberKind.INT))
        if now == left and type(now) is type(left):
            return None
        raise Uncarriable(self.context, what)

    def _number(self, now: Value, left: Value, what: str) -> Value | None:
        if now.cls is not left.cls:
            if self.context.peel < MOST_PEELED:
                raise Uncarriable(self.context, what)
            kinds = [number_kind(now), number_kind(left)]
            numbers = (of_kind(kind, new_number(self.vm, kind)) for kind in kinds)
            return ChoiceValue(NumberVar(vm_name(self.vm), NumberKind.INT), tuple(numbers))
        if isinstance(now, DataNumber) and self._is_form(now):
            return None
        return DataNumber(NumberVar(vm_name(self.vm), number_kind(left)))

    def _is_form(self, value: Value) -> bool:
        return any(value is part for one in self.locations.values() for part in parts(one.form))

    def _tensor(self, now: TensorValue, left: TensorValue, what: str) -> Value | None:
        vm = self.vm
        if not same_kind_of_tensor([now, left]):
            raise Uncarriable(self.context, what)
        # What exists outside may be one of what another location is, and has no variable here
        form = now.source is None and self._is_form(now)
        own = {str(bind.symbol) for bind in vm.bindings_of(now)} if form else set()
        pairs = list(zip(now.fake.shape, left.fake.shape, strict=True))
        keeps = [
            vm.same_size(a, b) or (str(a) in own and self._least(b) >= vm.least(a))
            for a, b in pairs
        ]
        if form and all(keeps):
            return None
        shape = [
            a if keep and str(a) not in own else vm.new_size(self._least_of_both(a, b, form))
            for keep, (a, b) in zip(keeps, pairs, strict=True)
        ]
        result = vm.new_tensor(shape, now.fake.dtype, now.fake.device)
        vm.variable(result)
        vm.may_share(result, [now, left])
        identities.new_number(vm, result)
        return result

    def _least(self, left: Any) -> int:
        """What a size is at least after each iteration."""
        assert self._again is not None
        return facts_of(self.vm, self._again).at_least(expression_of(left))

    def _least_of_both(self, before: Any, left: Any, again: bool) -> int:
        """The same, before the loop as well. `again`: a bound that was assumed did not hold, and
        may be lower each time."""
        least = min(self.vm.facts.at_least(expression_of(before)), self._least(left))
        return min(least, 1) if again else least

    def _lengthens(self, now: Value, left: Value) -> bool:
        """Whether a tuple has another length after each iteration, also behind the first ones."""
        mine, its = elements(now), elements(left)
        if self.context.peel < MOST_PEELED or mine is None or its is None:
            return False
        return len(mine.items) != len(its.items)

    def _long_tuple(self, now: Value, left: Value, what: str) -> Value | None:
        form = self._lists.form(self._as_list(now), self._as_list(left), what)
        return None if form is None else DataTupleValue(form)  # type: ignore[arg-type]

    def _as_list(self, value: Value) -> Any:
        """A tuple as a list, the same each time."""
        if id(value) not in self._listed:
            self._listed[id(value)] = (value, elements(value))
        return self._listed[id(value)][1]

    def _tuple(self, now: TupleValue, left: TupleValue, what: str) -> Value | None:
        if now.klass is not left.klass or len(now.items) != len(left.items):
            raise Uncarriable(self.context, what)
        forms = [
            self._form(mine, its, what) for mine, its in zip(now.items, left.items, strict=True)
        ]
        if all(form is None for form in forms):
            # The same elements in a new tuple
            return None if self._is_form(now) else TupleValue(list(now.items), now.klass)
        items = [
            mine if form is None else form for mine, form in zip(now.items, forms, strict=True)
        ]
        return TupleValue(items, now.klass)


def vm_name(vm: ControlMachine) -> str:
    return vm.writer.name("n")


def can_be_held(value: Any) -> bool:
    """Whether a variable may hold such a value, once it has one kind."""
    if isinstance(value, TupleValue):
        return all(map(can_be_held, value.items))
    if isinstance(value, ChoiceValue):
        return all(map(can_be_held, value.alternatives))
    if not isinstance(value, Value) or isinstance(value, TensorValue):
        return True
    plain = is_number(value) or is_text(value) or lasting(value)
    plain = plain or isinstance(value, DataTupleValue)
    return plain or lists.is_list(value) or entries.is_container(value)


def parts(form: Value) -> Iterator[Value]:
    yield form
    if isinstance(form, TupleValue):
        for item in form.items:
            yield from parts(item)
    if isinstance(form, ChoiceValue):
        for alternative in form.alternatives:
            yield from parts(alternative)
    if isinstance(form, DataTupleValue):
        yield form.elements
    if entries.is_container(form):
        yield from entries.lists_in(entries.content_of(form))
