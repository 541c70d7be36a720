"""State kept from call to call: attributes that the program both reads and writes, and buffers that
it replaces.

What is kept is only known when all of the program was seen, so capture starts again with what it
found, until nothing new is found. A kept attribute is one of several forms (see `kept_forms`), in
variables of the session (`kept_slots`). They are written where the program writes, so that an
exception leaves what was written before it.
"""

from __future__ import annotations

import collections
from collections.abc import Hashable, Iterator, Mapping, Set
from dataclasses import dataclass, field
from types import CodeType
from typing import TYPE_CHECKING, Any

import torch

from ptc.capture.control import kept_entries
from ptc.capture.control.entries import HELD_AS
from ptc.capture.control.handles import Keys, RecordClass
from ptc.capture.control.kept_forms import (
    Choice,
    Constant,
    Element,
    Form,
    Original,
    Unkept,
    form_of,
    form_of_real,
    is_simple,
    joined,
    joined_elements,
)
from ptc.capture.control.kept_objects import built, variables_of
from ptc.capture.control.kept_slots import Place, Table, fits
from ptc.capture.control.lists import DataListValue
from ptc.capture.control.tensors import declare
from ptc.capture.errors import GraphBreak
from ptc.capture.sources import AttributeSource
from ptc.capture.values.base import Value
from ptc.capture.values.choices import ChoiceValue
from ptc.capture.values.constants import is_immutable
from ptc.capture.values.containers import ListValue, TupleValue
from ptc.capture.values.objects import NO_OBJECT, Instance, ObjectValue
from ptc.capture.values.torch_tensor import TensorValue
from ptc.graph.control import (
    Assign,
    Body,
    If,
    NumberKind,
    NumberVar,
    StateNumber,
    StateReference,
    TensorVar,
)
from ptc.graph.program import InputKind

if TYPE_CHECKING:
    from ptc.capture.control.machine import ControlMachine


@dataclass(slots=True)
class Kept:
    """What one capture found, for the next: forms by attribute, names of replaced buffers, and of
    weights that are written in place, generators that are run to their end at once, those of them
    whose rest is asked for after some of it was, and those that a loop leaves in a `try`, sizes of
    inputs (by name, with the size) that are taken apart at the start, elements of lists by the
    place where they are made, whether all lists in lists are references, whether lists have
    elements of several kinds, classes whose objects are in a store, with what they have by each
    name, places that make dictionaries which are in one, and places where tensors of arms that meet
    are kept apart, as writing to one writes to what it is a view of, and whether tensors have
    numbers, for `is`. `found` counts forms, elements
    and such places."""

    forms: dict[Hashable, Choice] = field(default_factory=dict[Hashable, Choice])
    buffers: set[str] = field(default_factory=set[str])
    written: set[str] = field(default_factory=set[str])
    collected: set[CodeType] = field(default_factory=set[CodeType])
    resumed: set[CodeType] = field(default_factory=set[CodeType])
    undriven: set[CodeType] = field(default_factory=set[CodeType])
    splits: dict[tuple[str, int], None] = field(default_factory=dict[tuple[str, int], None])
    elements: dict[Hashable, Element | None] = field(
        default_factory=dict[Hashable, "Element | None"]
    )
    by_reference: bool = False
    mixed: bool = False
    stores: dict[type, dict[str, Element | None]] = field(
        default_factory=dict[type, "dict[str, Element | None]"]
    )
    records: dict[Hashable, RecordClass] = field(default_factory=dict[Hashable, RecordClass])
    apart: set[Hashable] = field(default_factory=set[Hashable])
    identities: bool = False
    found: int = 0

    def learn(self, site: Hashable, element: Element | None) -> bool:
        """Lists that are made at a place have such elements, too. Whether that is new."""
        known = self.elements.get(site)
        new = joined_elements(known, element)
        if site in self.elements and new == known:
            return False
        self.elements[site] = new
        self.found += 1
        return True

    def learn_apart(self, sites: Set[Hashable]) -> bool:
        """Tensors of arms that meet at these places are kept apart. Whether that is new."""
        new = not sites <= self.apart
        self.apart |= sites
        self.found += new
        return new

    def learn_identities(self) -> None:
        self.identities = True
        self.found += 1

    def learn_class(self, klass: type) -> None:
        """Objects of a class are in a store."""
        self.stores[klass] = {}
        self.found += 1

    def learn_attribute(self, klass: type, name: str, element: Element | None) -> None:
        """What the objects of a class have by a name."""
        known = self.stores[klass]
        if name not in known or known[name] != element:
            known[name] = element
            self.found += 1

    def learn_record(self, site: Hashable, keys: Keys) -> None:
        """Dictionaries that are made at a place are in a store: with those made elsewhere that
        begin with the same keys."""
        alike = (one for one in self.records.values() if keys.names and one.first == keys)
        klass = next(alike, None)
        if klass is None:
            klass = RecordClass.made(keys)
            self.learn_class(klass)
        self.records[site] = klass
        self.found += 1

    def learn_mixed(self) -> None:
        self.mixed = True
        self.found += 1

    def learn_references(self) -> None:
        self.by_reference = True
        self.found += 1

    def add(self, key: Hashable, choice: Choice) -> None:
        known = new = self.forms.get(key, ())
        for form in choice:
            new = joined(new, form)
        if new != known:
            self.forms[key] = new
            self.found += 1

    def size(self) -> int:
        sets = (
            self.buffers, self.written, self.collected, self.resumed, self.undriven, self.splits,
        )  # fmt: skip
        return self.found + sum(map(len, sets))

    def copy(self) -> Kept:
        return Kept(
            dict(self.forms), set(self.buffers), set(self.written), set(self.collected),
            set(self.resumed), set(self.undriven), dict(self.splits), dict(self.elements),
            self.by_reference, self.mixed,
            {klass: dict(known) for klass, known in self.stores.items()}, dict(self.records),
            set(self.apart), self.identities, self.found,
        )  # fmt: skip


@dataclass(slots=True)
class _Slot:
    """An attribute's variables in the session, and its value at the start of a call. `same` says
    whether the attribute still holds the list that it held then, where somebody may ask."""

    place: Place
    value: Value
    owner: Instance
    name: str
    original: Any
    same: NumberVar | None

    @property
    def loaded(self) -> tuple[Value, ...]:
        value = self.value
        return value.alternatives if isinstance(value, ChoiceValue) else (value,)


@dataclass(slots=True)
class _Written:
    """What the program writes to an attribute, as far as it was seen."""

    owner: Instance
    name: str
    real: Any
    choice: Choice
    refused: bool = False  # something that no session keeps


@dataclass(frozen=True, slots=True)
class KeptAttribute:
    """An attribute that the program reads and writes, as a process that has the real object sees
    it: which variables hold it, in what form."""

    source: AttributeSource
    place: Place
    original: Any
    same: NumberVar | None

    def values(self, real: Any) -> dict[str, Any] | None:
        """The variables' values for an attribute; None if it has none of the forms."""
        found: dict[str, Any] = {}
        if self.same is not None:
            found[self.same.name] = True
        try:
            variables_of(self.place, real, self.original, found)
        except Unkept:
            return None
        return found

    def value(self, variables: Mapping[str, Any], real: Any) -> Any:
        """What the attribute that is `real` becomes by these values of variables."""
        new = built(self.place, variables, self.original)
        if self.same is None or not variables[self.same.name] or type(new) is not type(real):
            return new
        if type(real) in kept_entries.CLASSES:
            kept_entries.refill(real, new)
            return real
        if isinstance(real, (list, collections.deque)):
            if any(a is not b for a, b in zip(real, new, strict=False)) or len(real) != len(new):
                real.clear()
                real.extend(new)
            return real
        return new


class State:
    """The kept state of one capture. With `live`, the real objects are at hand at each call: they
    say what a call starts with, and attributes that no call reads are kept as well, as somebody
    outside may read them."""

    def __init__(self, vm: ControlMachine, known: Kept, *, live: bool = False) -> None:
        self.vm = vm
        self._live = live
        self.known = known
        self.found = known.copy()
        self._table = Table(vm)
        self._prologue = Body()
        self._slots: dict[Hashable, _Slot] = {}
        self._read: dict[Hashable, tuple[Instance, str, Any]] = {}
        self._written: dict[Hashable, _Written] = {}

    @property
    def numbers(self) -> list[StateNumber]:
        return self._table.numbers

    @property
    def references(self) -> list[StateReference]:
        return self._table.references

    # -- attributes ----------------------------------------------------------------------------

    def read(self, owner: Instance, name: str, real: Any) -> Value | None:
        """The value of a kept attribute; None if it is as capture finds it."""
        if name in _TABLES and isinstance(owner.obj, torch.nn.Module):
            return None
        key = self._key(owner, name)
        self._read[key] = (owner, name, real)
        self._refuse_second_name(key, name, real)
        if key not in self.known.forms:
            return None
        return self._slot(key, owner, name, real).value

    def keeps(self, owner: Instance, name: str) -> bool:
        return self._key(owner, name) in self.known.forms

    def write(self, owner: Instance, name: str, value: Value) -> None:
        """An attribute is written."""
        if owner.source is None or owner.obj is NO_OBJECT:
            self.changed(owner)
            return
        real = getattr(owner.obj, "__dict__", {}).get(name, NO_OBJECT)
        if real is NO_OBJECT:
            return
        key = self._key(owner, name)
        written = self._written.get(key)
        if written is None:
            choice = self._initial(owner, name, real)
            written = self._written[key] = _Written(owner, name, real, choice)
        self._note(key, written, value)

    def changed(self, container: Value) -> None:
        """The content of a list or object changed, which an attribute may hold."""
        for key, slot in self._slots.items():
            current = slot.owner.attrs.get(slot.name)
            if current is None or not any(part is container for part in _parts(current)):
                continue
            written = self._written.get(key)
            if written is None:
                choice = self._initial(slot.owner, slot.name, slot.original)
                written = _Written(slot.owner, slot.name, slot.original, choice)
                self._written[key] = written
            if isinstance(container, DataListValue) or type(container) in HELD_AS.values():
                self._note_list(written, current, container)
            else:
                self._note(key, written, current)

    def _note_list(self, written: _Written, current: Value, changed: Value) -> None:
        """Note what a list or dictionary that variables hold has become. The session has a
        reference to it."""
        for value in getattr(current, "alternatives", (current,)):
            if any(part is changed for part in _parts(value)):
                try:
                    form = form_of(self.vm, value, self._original(written.real))
                    written.choice = joined(written.choice, form)
                except Unkept:
                    written.refused = True

    def deleted(self, owner: Instance, name: str) -> None:
        """An attribute is deleted, which no session keeps."""
        key = self._key(owner, name)
        real = getattr(owner.obj, "__dict__", {}).get(name)
        self._written.setdefault(key, _Written(owner, name, real, ())).refused = True

    def _note(self, key: Hashable, written: _Written, value: Value) -> None:
        """Note the form of what an attribute is now, and write it to the session."""
        value = self.vm.settle(value)
        try:
            if any(part.source is not None for part in _parts(value) if _is_list(part)):
                raise Unkept("a list that has another name outside")
            form = form_of(self.vm, value, self._original(written.real))
            written.choice = joined(written.choice, form)
        except Unkept:
            written.refused = True
            return
        if key in self.known.forms:
            slot = self._slot(key, written.owner, written.name, written.real)
            self._refuse_shared(slot, value)
            if fits(slot.place.choice, form):  # else capture starts again
                self._table.store(slot.place, value, self._original(written.real))
            if slot.same is not None:
                same = any(value is one for one in slot.loaded)
                self.vm.writer.add(Assign(slot.same, same))

    def _refuse_shared(self, slot: _Slot, value: Value) -> None:
        """Each attribute is kept by itself: an object that changes is in one of them only."""
        kinds: tuple[type, ...] = (ListValue, ObjectValue, *HELD_AS)
        kinds = (*kinds, DataListValue, *HELD_AS.values()) if self._live else kinds
        mutable = [part for part in _parts(value) if isinstance(part, kinds)]
        for other in self._slots.values():
            current = other.owner.attrs.get(other.name)
            if other is slot or current is None:
                continue
            if {id(part) for part in _parts(current)} & {id(part) for part in mutable}:
                raise _two_names(slot.name, other.name)

    def _refuse_second_name(self, key: Hashable, name: str, real: Any) -> None:
        """A list that is kept is read by the name that it is kept by."""
        if not isinstance(real, _CHANGING):
            return
        for other, (_, its_name, its) in self._read.items():
            if its is real and other != key and {key, other} & self.known.forms.keys():
                raise _two_names(name, its_name)

    @staticmethod
    def _key(owner: Instance, name: str) -> Hashable:
        return (id(owner.obj), name)

    @staticmethod
    def _original(real: Any) -> Any:
        """The object that is known by its identity; None of those that are made of values."""
        return NO_OBJECT if isinstance(_form_or_none(real), Form) else real

    def _initial(self, owner: Instance, name: str, real: Any) -> Choice:
        return (_form_or_none(real) or Original(),)

    def _slot(self, key: Hashable, owner: Instance, name: str, real: Any) -> _Slot:
        slot = self._slots.get(key)
        if slot is None:
            slot = self._slots[key] = self._made(self.known.forms[key], owner, name, real)
        return slot

    def _made(self, choice: Choice, owner: Instance, name: str, real: Any) -> _Slot:
        vm = self.vm
        assert owner.source is not None
        path = vm.builder.path(AttributeSource(owner.source, name))
        simple = is_simple(choice)
        place = self._table.place(choice, path, real if simple else NO_OBJECT)
        original = self._original(real)
        same = None
        if self._live and isinstance(real, _CHANGING):
            same = self._table.number(f"{path}.same", NumberKind.BOOL, True)
        with vm.writer.inside(self._prologue):
            outside = None
            if Original() in choice or not (simple or self._live):
                outside = vm.wrap(real, owner.attribute_source(name))
                if _is_list(outside):
                    del vm.wrapped[id(real)]  # what finds it again has another name for it
            if outside is not None and not self._live:
                try:
                    self._begin(place, path, outside, original)
                except Unkept as why:
                    raise GraphBreak(
                        "PTC-B003",
                        f"{name!r} is kept from call to call, and holds {why}",
                        "keep lists of numbers, of tensors or of tuples of these in the model",
                    ) from None
            value = self._table.load(place, outside)
        return _Slot(place, value, owner, name, real, same)

    def _begin(self, place: Place, path: str, first: Value, original: Any) -> None:
        """Write what a new session starts with."""
        vm = self.vm
        begun = self._table.number(f"{path}.begun", NumberKind.BOOL)
        known = NumberVar(vm.writer.name("n"), NumberKind.BOOL)
        vm.writer.add(Assign(known, begun))
        body = Body()
        with vm.writer.inside(body):
            self._table.clear(place)
            self._table.store(place, first, original)
            vm.writer.add(Assign(begun, True))
        vm.writer.add(If(known, Body(), body, None, "first call"))

    # -- buffers -------------------------------------------------------------------------------

    def replace(
        self, real: torch.Tensor, value: Value, source: Any, *, may_differ: bool = False
    ) -> bool:
        """A tensor from outside (a buffer, a tensor in an attribute) is replaced by another one of
        its kind. False if the session cannot keep that, or keeps it with `may_differ` as it does
        other values."""
        vm = self.vm
        old = vm.wrap(real, source)
        value = vm.settle(value)
        if not isinstance(old, TensorValue) or not isinstance(value, TensorValue):
            return False
        name = declare(vm, old).name
        if not self._same_kind(old, value):
            if may_differ:
                self.found.buffers.discard(name)
                return False
            raise GraphBreak(
                "PTC-B003",
                f"`{name}` is replaced by {value.describe()}, to be kept from call to call",
                "keep one shape and type: a buffer that is filled, with a count beside it",
            )
        self.found.buffers.add(name)
        if name in self.known.buffers:
            vm.homes.written[name] = None
            source_var = vm.tensor_variable(value, dense=True)
            vm.writer.add(Assign(TensorVar(name, old.fake), source_var))
        return True

    def first_variable(self, name: str, value: TensorValue) -> TensorVar | None:
        """The variable of a weight that the program writes to: of one that it replaces, one with
        the content at the start of the call. None for all others."""
        if name not in self.known.buffers or value.kind is InputKind.USER:
            return TensorVar(name, value.fake) if name in self.known.written else None
        var = TensorVar(self.vm.writer.name("t"), value.fake)
        self.vm.homes.written[name] = None
        self._prologue.items.append(Assign(var, TensorVar(name, value.fake)))
        return var

    def _same_kind(self, old: TensorValue, value: TensorValue) -> bool:
        if (old.fake.dtype, old.fake.dim()) != (value.fake.dtype, value.fake.dim()):
            return False
        pairs = zip(old.fake.shape, value.fake.shape, strict=True)
        return all(self.vm.same_size(a, b) for a, b in pairs)

    # -- the end -------------------------------------------------------------------------------

    def begin(self, root: Body) -> None:
        """Put what reads the session's variables at the start of the program."""
        root.items[:0] = self._prologue.items
        self._prologue.items.clear()
        for key, written in self._written.items():
            if written.refused and key in self._slots:
                raise GraphBreak(
                    "PTC-B003",
                    f"{written.name!r} is kept from call to call, and changes in a way that no "
                    "session keeps: a list in it would hold lists, or objects of which data "
                    "decides how many exist",
                    "keep lists of numbers, of tensors or of tuples of these in the model",
                )
        for slot in self._slots.values():
            if isinstance(slot.original, _CHANGING):
                other = self.vm.wrapped.get(id(slot.original))
                if other is not None:
                    raise _two_names(slot.name, str(other.source))
        written = self._table.written_weight(self.found.written)
        if written is not None:
            raise GraphBreak(
                "PTC-B003",
                f"an attribute keeps `{written}` itself, which later calls write to",
                "assign a copy (`.clone()`)",
            )

    def finished(self) -> Kept:
        """What is kept, as far as this capture saw."""
        self._find_contents()
        for key, written in self._written.items():
            if (key not in self._read and not self._live) or written.refused:
                continue
            first, *others = written.choice
            if others or not isinstance(first, Constant):
                self.found.add(key, written.choice)
        return self.found

    def _find_contents(self) -> None:
        """Lists from outside whose content changes."""
        places = {owner.attribute_source(name): key for key, (owner, name, _) in self._read.items()}
        for entry, value in self.vm.effects.log.items():
            key = places.get(value.source) if entry[0] == "content" else None
            if key is None or key in self._written:
                continue
            owner, name, real = self._read[key]
            form = _form_or_none(real)
            if form is not None and isinstance(real, _CHANGING):
                self._written[key] = _Written(owner, name, real, (form,))

    def attributes(self) -> tuple[KeptAttribute, ...]:
        """The attributes that this program keeps."""
        return tuple(
            KeptAttribute(
                AttributeSource(slot.owner.source, slot.name),  # type: ignore[arg-type]
                slot.place,
                self._original(slot.original),
                slot.same,
            )
            for slot in self._slots.values()
        )

    def places(self) -> list[tuple[Any, str]]:
        """The objects whose attributes are kept, with their names."""
        return [(slot.owner.obj, slot.name) for slot in self._slots.values()]

    def handled(self) -> set[tuple[int, str]]:
        """Attributes (by the value of their owner) that the session keeps."""
        return {
            (id(written.owner), written.name)
            for key, written in self._written.items()
            if key in self.known.forms and not written.refused
        }


#: A module's own tables, of buffers, hooks and the like.
_TABLES = frozenset(n for n, v in vars(torch.nn.Module()).items() if isinstance(v, (dict, set)))
#: Objects that change, and may be kept.
_CHANGING = (list, collections.deque, *kept_entries.CLASSES)
_ENTRIES = (*HELD_AS, *HELD_AS.values())


def _form_or_none(real: Any) -> Form | None:
    """The form of what is made of values alone: an object of a class of the user's is known by its
    identity, as it may be used by another name."""
    made_of_values = is_immutable(real) or isinstance(real, (torch.Tensor, tuple, *_CHANGING))
    try:
        return form_of_real(real) if made_of_values else None
    except Unkept:
        return None


def _two_names(one: str, other: str) -> GraphBreak:
    return GraphBreak(
        "PTC-B003",
        f"{one!r} and {other!r} hold one object, to be kept from call to call",
        "give each attribute an object of its own",
    )


def _is_list(value: Value) -> bool:
    return isinstance(value, (ListValue, DataListValue)) or type(value) in _ENTRIES


def _parts(value: Any) -> Iterator[Value]:
    """A value and what is in it."""
    yield value
    inner: Any = ()
    if isinstance(value, ChoiceValue):
        inner = value.alternatives
    elif isinstance(value, (TupleValue, ListValue)):
        inner = value.items
    elif isinstance(value, ObjectValue) and value.obj is NO_OBJECT:
        inner = value.attrs.values()
    for part in inner:
        yield from _parts(part)
