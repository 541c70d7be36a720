"""One state for the states of several arms that meet: what differs becomes a variable that each arm
assigns, or a choice between the arms' values.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from ptc.capture.code import analyse
from ptc.capture.control import entries, identities, lists
from ptc.capture.control.arithmetic import is_number, number_kind, operand
from ptc.capture.control.handles import handle_of, one_class
from ptc.capture.control.homes import storage
from ptc.capture.control.list_rows import TakenList
from ptc.capture.control.merging_choices import MergedChoices, has_many
from ptc.capture.control.merging_entries import MergedEntries
from ptc.capture.control.merging_iterators import MergedIterators
from ptc.capture.control.merging_lists import MergedLists, Unmergeable
from ptc.capture.control.states import Exit, Place, State, facts_of
from ptc.capture.control.tuples import DataTupleValue, are_long, elements
from ptc.capture.interpreter.frame import Frame, SavedFrame
from ptc.capture.interpreter.lookup import static_lookup
from ptc.capture.values.base import Null, Value
from ptc.capture.values.births import born
from ptc.capture.values.callables import CellValue, LostValue, UnjoinedValue
from ptc.capture.values.choices import MISSING, ChoiceValue
from ptc.capture.values.constants import ConstantIterator, ConstantValue
from ptc.capture.values.containers import ListValue, SequenceIterator, TupleValue
from ptc.capture.values.data_numbers import DataNumber
from ptc.capture.values.iterators import LOST, GeneratorValue, IteratorValue
from ptc.capture.values.mappings import DictIterator, SetElements
from ptc.capture.values.objects import Instance
from ptc.capture.values.texts import TextValue, is_made, is_text
from ptc.capture.values.torch_tensor import TensorValue
from ptc.graph.control import Assign, Bind, Formatted, NumberKind, NumberVar, TextVar, Var
from ptc.graph.symbols import expression_of

if TYPE_CHECKING:
    from ptc.capture.control.machine import ControlMachine

_ABSENT: Any = object()


#: What iterators call how far they are: plain data that may become a number that data decides.
_COUNTERS = frozenset({"position", "produced"})
_ITERATORS = (
    SequenceIterator, ConstantIterator, DictIterator, IteratorValue, GeneratorValue,
)  # fmt: skip
AT_END = 2**62
#: Attributes of classes that instances without their own have as they are.
_PLAIN = (type(None), bool, int, float, str)
#: What only messages show: any of the arms' will do.
FOR_MESSAGES = frozenset({"raised_at"})


def is_state_of_generator(place: Place) -> bool:
    return isinstance(place.owner, GeneratorValue) and place.name == "state"


def is_counter(place: Place) -> bool:
    iterates = isinstance(place.owner, IteratorValue) or hasattr(place.owner, "element")
    return place.kind == "attribute" and place.name in _COUNTERS and iterates


class Merger:
    """Merges states that meet at one place. A pair of values met twice gives one result, so that
    what was one object in each arm stays one object."""

    def __init__(self, vm: ControlMachine, states: Sequence[State]) -> None:
        self.vm = vm
        self.began = min(state.began for state in states)
        self.states = states
        self._memo: dict[tuple[int, ...], Value] = {}
        self._alive: list[Any] = []
        self.pending: list[Bind] = []
        self._left = False  # the frame, in all arms
        self._cells: dict[Hashable, tuple[Place, Any]] = {}
        self.lists = MergedLists(vm, states, self.began, self._cells)
        self.entries = MergedEntries(vm, states, self.began, self._cells, self.lists)
        self.choices = MergedChoices(vm, states, self.lists)
        self._iterators = MergedIterators(vm, states, self.lists, self._counter)

    # -- states --------------------------------------------------------------------------------

    def merge(self, frame: Frame, end: Exit) -> State:
        """The state after the arms. The machine is in the state of the fork."""
        states = self.states
        self._left = end.kind in ("return", "raise")
        self.choices.site = (frame.code, end.kind, end.place)
        for state in states:
            # What an arm was to bind where it went on is bound at its end
            for leaf in state.leaves:
                with self.vm.at_end_of(leaf):
                    for bind in state.pending:
                        self.vm.writer.compute(bind)
        places: dict[Hashable, Place] = {}
        for state in states:
            for key, (place, _) in state.cells.items():
                places.setdefault(key, place)
        cells = self._cells
        # Containers first: they say which lists they are of
        ordered = sorted(places.items(), key=lambda item: item[1].kind != "dict")
        for key, place in ordered:
            if place.kind == "list" and self.entries.is_dropped(place.owner):
                continue
            before = place.read()
            if born(place.owner) > self.began:
                # Made in one of the arms: those that do not know it do not care
                before = next(state.cells[key][1] for state in states if key in state.cells)
            contents = [s.cells[key][1] if key in s.cells else before for s in states]
            content = self._content(place, contents)
            if key not in cells:  # not held by variables for another place that has it
                cells[key] = (place, content)
        saved = self._frame(frame, end)
        returned = self._optional([state.returned for state in states])
        handled = self._optional([state.handled for state in states])
        self._note_held(cells)
        self._keep_notes(cells)
        leaves = [leaf for state in states for leaf in state.leaves]
        return State(cells, saved, returned, handled, self.began, leaves, self.pending)

    def _note_held(self, cells: dict[Hashable, tuple[Place, Any]]) -> None:
        """Lists that are held by variables from here on are so by class."""
        for place, content in list(cells.values()):
            if place.kind == "list" and lists.is_state(content):
                owner = Place("attribute", self.vm.lists.owner(place.owner), "__class__")
                cells[owner.key()] = (owner, lists.DataListValue)
            if place.kind == "dict" and entries.is_held(content):
                owner = Place("attribute", place.owner.owner, "__class__")
                cells[owner.key()] = (owner, entries.held_class(place.owner.owner))
                if hasattr(place.owner.owner, entries.HISTORY):
                    owner = Place("attribute", place.owner.owner, entries.HISTORY)
                    cells[owner.key()] = (owner, self.entries.history(place.owner.owner))
        for value, _ in self.lists.taken.values():
            place = Place("attribute", value, "__class__")
            cells[place.key()] = (place, TakenList)

    def _keep_notes(self, cells: dict[Hashable, tuple[Place, Any]]) -> None:
        """What was noted of tensors that came of this merge holds beside what the arms noted."""
        for key, (place, content) in list(cells.items()):
            if place.kind == "dict" and self.vm.homes.is_note(place.owner):
                cells[key] = (place, {**content, **place.read()})

    def _optional(self, values: list[Value | None]) -> Value | None:
        if all(value is None for value in values):
            return None
        if any(value is None for value in values):
            raise Unmergeable("one arm has an exception in hand")
        return self.value(values)  # type: ignore[arg-type]

    def _frame(self, frame: Frame, end: Exit) -> SavedFrame | None:
        saved = [state.frame for state in self.states]
        if end.kind not in ("at", "yield"):
            return None
        assert all(one is not None for one in saved)
        return self._saved(frame, saved)

    def _saved(self, frame: Frame, saved: list[Any]) -> SavedFrame:
        first: Any = saved[0]
        if len({len(one[1]) for one in saved}) != 1:  # type: ignore[index]
            raise Unmergeable("the arms meet with different stacks")
        live = analyse(frame.code).live(first[0])
        rows = zip(*(one[1] for one in saved), strict=True)  # type: ignore[index]
        stack = [self._item(list(items), live) for items in rows]
        names = dict.fromkeys(name for one in saved for name in one[2])  # type: ignore[index]
        variables: dict[str, Value] = {}
        for name in names:
            if name in live:
                values = [one[2].get(name, MISSING) for one in saved]  # type: ignore[index]
                variables[name] = self.value(values)
        cells: dict[str, Any] = dict(first[3][0])
        handled = self._optional([one[3][1] for one in saved])  # type: ignore[index]
        return first[0], stack, variables, (cells, handled, first[3][2])

    def _generator(self, frame: Frame, contents: list[SavedFrame]) -> SavedFrame:
        """The frame of a generator that stands at one place in all arms. One that does not is lost:
        most are dropped with the call that they were made for."""
        places = {content[0] for content in contents}
        if frame in self.vm.frames:  # with a loop over a generator, see `driving`
            if len(places) != 1:
                raise Unmergeable("the arms leave a loop at different places")
            return self._saved(frame, contents)
        if len(places) == 1 and LOST not in places and max(places) < len(frame.instructions):
            try:
                return self._saved(frame, contents)
            except Unmergeable:
                pass
        return (LOST, [], {}, contents[0][3])

    def _item(self, items: list[Any], live: Collection[str]) -> Any:
        if isinstance(items[0], Null):
            return items[0]
        merged = self._iterators.merged(items, live)
        return self.value(items) if merged is None else merged

    # -- contents of places --------------------------------------------------------------------

    def _content(self, place: Place, contents: list[Any]) -> Any:
        if place.kind == "attribute" and place.name == "__class__":
            return TakenList if TakenList in contents else contents[0]  # see `_note_held`
        if place.kind == "attribute" and place.name == entries.HISTORY:
            return contents[0] if all(one == contents[0] for one in contents) else None
        if place.kind == "attribute":
            if self.vm.is_loop(place.owner):
                return max(contents)
            if place.name in FOR_MESSAGES:
                return next((content for content in contents if content), contents[0])
            if is_counter(place) and len({repr(content) for content in contents}) > 1:
                return self._counter(contents)
            if is_state_of_generator(place) and len(set(contents)) > 1:
                # and lost, see `_generator`
                left = GeneratorValue.LEFT in contents
                return GeneratorValue.LEFT if left else GeneratorValue.SUSPENDED
            if isinstance(place.owner, CellValue) and place.name == "content":
                return self._cell(contents)
            try:
                return self.any(contents)
            except Unmergeable as refused:
                raise Unmergeable(f"{place.name} of {described(place.owner)}: {refused}") from None
        if place.kind == "dict":
            return self._dict(place, contents)
        if place.kind == "list":
            return self._list(place, contents)
        if place.kind == "mode":
            return self.any(contents)
        return self._generator(place.owner, contents)

    def _cell(self, contents: list[Value | None]) -> Any:
        """What a closure cell holds, which may be nothing."""
        lost = next((one for one in contents if isinstance(one, LostValue)), None)
        if lost is not None or all(content is None for content in contents):
            return lost
        try:
            return self.value([MISSING if content is None else content for content in contents])
        except Unmergeable as refused:
            if not self._left:
                raise
            return UnjoinedValue(str(refused))  # most are dropped with the function

    def _counter(self, contents: list[Any]) -> Value:
        """How far an iterator is. One that has come to its end is behind all elements."""
        values = [
            content if isinstance(content, Value) else ConstantValue(content)
            for content in (AT_END if content == -1 else content for content in contents)
        ]
        return self._number_variable(values)

    def any(self, contents: list[Any]) -> Any:
        """Content of any kind: values, pairs of them, or plain data, which must be equal."""
        first = contents[0]
        if all(content is first for content in contents):
            return first
        if all(isinstance(content, Value) for content in contents):
            return self.value(contents)
        for kind in (tuple, list):
            if all(type(content) is kind and len(content) == len(first) for content in contents):
                return kind(self.any(list(parts)) for parts in zip(*contents, strict=True))
        try:
            same = all(type(c) is type(first) and c == first for c in contents)
        except Exception:  # comparison of foreign objects
            same = False
        if not same:
            raise Unmergeable(f"{contents[0]!r:.60} differs from {contents[-1]!r:.60}")
        return first

    def _dict(self, place: Place, contents: list[dict[Any, Any]]) -> dict[Any, Any]:
        if self.vm.homes.is_note(place.owner):
            return {key: one for content in contents for key, one in content.items()}
        if self.vm.is_fact_table(place.owner):
            first, *rest = contents
            return {
                key: fact
                for key, fact in first.items()
                if all(key in other and same_fact(other[key], fact) for other in rest)
            }
        if any(map(entries.is_held, contents)) or self.entries.is_parted(place.owner, contents):
            return self.entries.held(place.owner.owner, contents)
        for content in contents:
            for key, known in place.owner.items():
                if key not in content and self.vm.journal.was_read(place.owner, key):
                    content[key] = known  # read on another path since
        self._read_elsewhere(place.owner, contents)
        orders = [
            [key for key in content if not self.vm.journal.was_read(place.owner, key)]
            for content in contents
        ]
        known = dict.fromkeys(key for content in contents for key in content)
        keys = [key for key in known if self.vm.journal.was_read(place.owner, key)]
        try:
            keys += one_order(orders)
        except Unmergeable:
            owner = getattr(place.owner, "owner", None)
            if not entries.holdable(owner):
                raise
            return self.entries.held(owner, contents)
        merged: dict[Any, Any] = {}
        for key in keys:
            found = [content.get(key, _ABSENT) for content in contents]
            merged[key] = self._entry(place.owner, found)
        return merged

    def _read_elsewhere(self, attrs: Any, contents: list[dict[Any, Any]]) -> None:
        """Attributes that some arms set are in the others what the object or its class has."""
        instance = getattr(attrs, "owner", None)
        if not isinstance(instance, Instance) or instance.attrs is not attrs:
            return
        for name in dict.fromkeys(name for content in contents for name in content):
            without = [content for content in contents if name not in content]
            if not without:
                continue
            known = instance.attribute(self.vm, name)
            if known is None:
                found = static_lookup(instance.klass, name)
                plain = found is not None and isinstance(found[0], _PLAIN)
                known = ConstantValue(found[0]) if found is not None and plain else None
            for content in without if known is not None else ():
                content[name] = known

    def _entry(self, owner: Any, found: list[Any]) -> Any:
        if not any(content is _ABSENT for content in found):
            return self.any(found)
        there = next(content for content in found if content is not _ABSENT)
        if isinstance(there, tuple) and len(there) == 2 and isinstance(there[0], Value):
            values: list[Value] = [
                MISSING if content is _ABSENT else content[1] for content in found
            ]
            return (there[0], self.value(values))
        if isinstance(owner, SetElements):
            return self.value([MISSING if content is _ABSENT else content for content in found])
        raise Unmergeable("an attribute is set in one arm and not in another")

    def _list(self, place: Place, contents: list[list[Any]]) -> list[Any]:
        if all(len(content) == 1 and content[0] is contents[0][0] for content in contents):
            return contents[0]
        held = any(lists.is_state(content) for content in contents)
        if not held and len({len(content) for content in contents}) == 1:
            return [self.any(list(parts)) for parts in zip(*contents, strict=True)]
        if not lists.holdable(self.vm.lists.owner(place.owner)):
            raise Unmergeable("a list has different lengths in the arms")
        return [self.lists.held(contents, owner=self.vm.lists.owner(place.owner))]

    # -- values --------------------------------------------------------------------------------

    def value(self, values: list[Value]) -> Value:
        """One value for the arms' values."""
        first = values[0]
        if all(value is first for value in values):
            return first
        key = tuple(id(value) for value in values)
        known = self._memo.get(key)
        if known is None:
            known = self._memo[key] = self._merged(values)
            self._alive.append(values)
        return known

    def _merged(self, values: list[Value]) -> Value:
        vm, first = self.vm, values[0]
        if all(isinstance(v, ConstantValue) for v in values) and all(
            vm.same_constant(first, value) for value in values
        ):
            return first
        klass = one_class(values)
        if klass is not None:
            numbers: list[Value] = [value.index for value in values]  # type: ignore[attr-defined]
            return handle_of(klass, self._number_variable(numbers))
        if all(is_number(value) for value in values):
            if len({value.cls for value in values}) == 1:
                return self._number_variable(values)
        elif all(isinstance(value, TensorValue) for value in values):
            if same_kind_of_tensor(values) and not self.choices.are_apart(values):  # type: ignore[arg-type]
                return self._tensor_variable(values)  # type: ignore[arg-type]
        elif all(type(value) is TupleValue for value in values):
            shapes = {(value.klass, len(value.items)) for value in values}  # type: ignore[attr-defined]
            if len(shapes) == 1:
                parts = zip(*(value.items for value in values), strict=True)  # type: ignore[attr-defined]
                return TupleValue([self.value(list(p)) for p in parts], first.klass)  # type: ignore[attr-defined]
        elif all(map(is_text, values)) and (any(map(is_made, values)) or has_many(values)):
            return self._text_variable(values)
        elif any(isinstance(value, _ITERATORS) for value in values):
            # Each runs its loop by itself: asked at every step which one it is, none would advance
            raise Unmergeable("the arms iterate over different objects")
        elif all(isinstance(value, (ListValue, lists.DataListValue)) for value in values):
            merged = self.lists.merged(values)
            if merged is not None:
                return merged
        elif are_long(values):
            merged = self.lists.merged([elements(value) for value in values], always=True)
            if isinstance(merged, lists.DataListValue):
                return DataTupleValue(merged)
        elif entries.alike(values):
            merged = self.entries.merged(values)
            if merged is not None:
                return merged
        return self._choice(values)

    def _assign(self, number: int, target: Var, source: Callable[[], Any]) -> None:
        """`target = source()` at each end of an arm."""
        for leaf in self.states[number].leaves:
            with self.vm.at_end_of(leaf):
                self.vm.writer.add(Assign(target, source()))

    def _number_variable(self, values: list[Value]) -> DataNumber:
        target = NumberVar(self.vm.writer.name("n"), number_kind(values[0]))
        for number, value in enumerate(values):
            self._assign(number, target, lambda value=value: operand(self.vm, value))
        return DataNumber(target)

    def _text_variable(self, values: list[Value]) -> Value:
        target = TextVar(self.vm.writer.name("text"))
        for number, value in enumerate(values):
            self._assign(number, target, lambda value=value: self.vm.text_variable(value))
        return TextValue((Formatted(target),))

    def _tensor_variable(self, values: list[TensorValue]) -> Value:
        vm = self.vm
        first = values[0].fake
        shapes = zip(*(value.fake.shape for value in values), strict=True)
        shape = [self._size(list(sizes)) for sizes in shapes]
        result = vm.new_tensor(shape, first.dtype, first.device)
        target = vm.variable(result)
        for number, value in enumerate(values):
            self._assign(number, target, lambda value=value: vm.tensor_variable(value, dense=True))
        self.pending += vm.bindings(target)
        vm.may_share(result, values)
        vm.homes.sites[storage(result.fake)] = self.choices.site
        which = identities.new_number(vm, result)
        for number, value in enumerate(values if which is not None else ()):
            self._assign(number, which, lambda value=value: identities.number_of(vm, value))  # type: ignore[arg-type]
        return result

    def _size(self, sizes: list[Any]) -> Any:
        """One size for the arms' sizes: that of one arm, if the others know theirs to be equal to
        it, or a new one."""
        vm = self.vm
        if all(vm.same_size(size, sizes[0]) for size in sizes):
            return sizes[0]
        known = [facts_of(vm, state) for state in self.states]
        expressions = [expression_of(size) for size in sizes]
        for size in sorted(sizes, key=lambda size: not isinstance(size, int)):
            wanted = expression_of(size)
            if not vm.sizes_since(self.began, size) and all(
                facts.same(wanted, one) for one, facts in zip(expressions, known, strict=True)
            ):
                return size
        least = (facts.at_least(one) for one, facts in zip(expressions, known, strict=True))
        return vm.new_size(min(least))

    def _choice(self, values: list[Value]) -> Value:
        """A choice; equal alternatives are one, so that loops come to an end."""
        alternatives: list[Value] = []
        numbers: list[Any] = []
        values = self.choices.shared(values)
        if all(value is values[0] for value in values):
            return values[0]
        for value in values:
            if isinstance(value, ChoiceValue):
                numbers.append([self._position(alternatives, a) for a in value.alternatives])
            else:
                numbers.append(self._position(alternatives, value))
        target = NumberVar(self.vm.writer.name("n"), NumberKind.INT)
        for number, (value, position) in enumerate(zip(values, numbers, strict=True)):
            if isinstance(value, ChoiceValue):
                for leaf in self.states[number].leaves:
                    with self.vm.at_end_of(leaf):
                        self.vm.assign_choice(target, value, position)
            else:
                self._assign(number, target, lambda position=position: position)
        return ChoiceValue(target, tuple(alternatives))

    def _position(self, alternatives: list[Value], value: Value) -> int:
        for position, known in enumerate(alternatives):
            if known is value or (
                isinstance(known, ConstantValue)
                and isinstance(value, ConstantValue)
                and self.vm.same_constant(known, value)
            ):
                return position
        alternatives.append(value)
        return len(alternatives) - 1


def same_fact(one: Any, other: Any) -> bool:
    """Whether two arms know the same. Symbolic sizes are not compared: that would be a question."""
    return one is other or (isinstance(one, (bool, frozenset)) and one == other)


def one_order(orders: Sequence[Sequence[Any]]) -> list[Any]:
    """All keys in an order that agrees with each of these."""
    before: dict[Any, set[Any]] = {key: set() for order in orders for key in order}
    for order in orders:
        for first, following in pairwise(order):
            before[following].add(first)
    result: dict[Any, None] = {}
    while len(result) < len(before):
        key = next((k for k in before if k not in result and before[k] <= result.keys()), None)
        if key is None:
            raise Unmergeable("the arms add keys in different orders")
        result[key] = None
    return list(result)


def described(owner: Any) -> str:
    return owner.describe() if isinstance(owner, Value) else type(owner).__name__


def same_kind_of_tensor(values: Sequence[TensorValue]) -> bool:
    """Whether one variable can hold them: dtype, rank and device agree."""
    return len(
        {(v.fake.dtype, v.fake.dim(), v.fake.device, v.fake.layout) for v in values}
    ) == 1 and not any(value.attrs for value in values)
