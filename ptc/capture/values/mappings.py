"""Dictionaries and sets, with their subclasses (OrderedDict, defaultdict, Counter, ModelOutput).

A dictionary from outside is read key by key under guards until something needs all of it; then its
keys are guarded as a whole. Order is Python's insertion order.
"""

from __future__ import annotations

import collections
from typing import TYPE_CHECKING, Any

from ptc.capture.errors import GraphBreak
from ptc.capture.interpreter.lookup import python_special
from ptc.capture.sources import CallSource, FixedSource, ObjectItemSource, Source, fixed, item
from ptc.capture.values.base import MergeRefusal, Value
from ptc.capture.values.births import BornDict
from ptc.capture.values.constants import ConstantValue, is_immutable
from ptc.capture.values.containers import TupleValue
from ptc.capture.values.dict_slots import Course, KeyChanges, MovedSlots
from ptc.capture.values.objects import NO_OBJECT, Instance
from ptc.capture.values.set_history import GROWN, History, in_order

if TYPE_CHECKING:
    from ptc.capture.interpreter.machine import Machine
    from ptc.capture.rebuild import Rebuilder


class DictValue(Instance):
    """A dict or an instance of a subclass.

    `entries` maps hash keys to (key, value). While `complete` is false, keys that are not in
    `entries` are to be looked up in the real dictionary.
    """

    __slots__ = ("changes", "complete", "entries", "factory", "trusted")

    def __init__(
        self,
        entries: dict[Any, tuple[Value, Value]] | None = None,
        klass: type = dict,
        source: Source | None = None,
        obj: Any = NO_OBJECT,
        trusted: bool = False,
    ) -> None:
        super().__init__(klass, source, obj)
        self.entries: dict[Any, tuple[Value, Value]] = BornDict(
            entries or {}, outside=source is not None or obj is not NO_OBJECT, owner=self
        )
        self.complete = obj is NO_OBJECT
        self.changes = KeyChanges()
        self.changes.reused = source is not None or obj is not NO_OBJECT
        self.factory: Value | None = None  # defaultdict's
        self.trusted = trusted  # a library's own table: read without guards

    # -- reading -------------------------------------------------------------------------------

    def find(self, vm: Machine, key: Value) -> Value | None:
        """The value under `key`, None if absent."""
        constant = key.is_constant() and is_immutable(key.constant())
        if not constant:
            self.load_all(vm)
        hashed = vm.key_in(self.entries, key)
        entry = self.entries.get(hashed)
        if entry is not None:
            return vm.present(entry[1])
        if self.complete:
            return None
        return self._find_real(vm, hashed, key)

    def _find_real(self, vm: Machine, hashed: Any, key: Value) -> Value | None:
        constant = key.constant()
        if constant not in self.obj:
            if not self.trusted:
                vm.guard("LACKS_KEY", self.keys_source(), _guard_key(constant))
            return None
        value = self._wrap_item(vm, constant)
        vm.journal.read(self.entries, hashed, (key, value))
        return value

    def _wrap_item(self, vm: Machine, key: Any) -> Value:
        value = dict.__getitem__(self.obj, key)
        if self.trusted:
            return vm.wrap_fixed(value)
        assert self.source is not None
        return vm.wrap(value, self.item_source(key))

    def item_source(self, key: Any) -> Source:
        """The entry itself, whatever the class's own `__getitem__` gives."""
        assert self.source is not None
        owner = self.source
        if python_special(self.klass, "__getitem__") is not None and type(key) in _LITERALS:
            return CallSource(owner, f"dict.__getitem__({{}}, {key!r})")
        return _item_source(owner, key)

    def keys_source(self) -> Source:
        """The keys themselves, whatever `__iter__`, `__contains__` and `keys` of the class give."""
        assert self.source is not None
        if self.klass is dict or not any(
            python_special(self.klass, name) for name in ("__iter__", "__contains__", "keys")
        ):
            return self.source
        own_keys = python_special(self.klass, "keys") is not None
        return CallSource(self.source, "dict.keys({})" if own_keys else "{}.keys()")

    def load_all(self, vm: Machine) -> None:
        """Wrap every entry of the real dictionary and guard its keys."""
        if self.complete:
            vm.settle_presence(self.entries)
            return
        if not self.trusted:
            vm.guard_keys(self.keys_source(), real_keys(self.obj))
        entries: dict[Any, tuple[Value, Value]] = {}
        for key in real_keys(self.obj):
            wrapped = vm.wrap_fixed(key)
            hashed = vm.hash_key(wrapped)
            known = self.entries.get(hashed)
            value = known[1] if known is not None else self._wrap_item(vm, key)
            entries[hashed] = (wrapped, value)
        vm.journal.read_all(self.entries, entries)
        vm.journal.read_attribute(self, "complete", True)

    def truth(self, vm: Machine) -> bool:
        self.load_all(vm)
        return bool(self.entries)

    def length(self, vm: Machine) -> Value:
        self.load_all(vm)
        return vm.const(len(self.entries))

    def getitem(self, vm: Machine, key: Value) -> Value:
        value = self.find(vm, key)
        if value is not None:
            return value
        missing = vm.python_method(self, "__missing__")
        if missing is not None:
            return vm.call(missing, [self, key])
        if (
            isinstance(self.klass, type)
            and issubclass(self.klass, collections.defaultdict)
            and self.factory is not None
            and self.factory.cls is not type(None)
        ):
            value = vm.call(self.factory, [])
            self.setitem(vm, key, value)
            return value
        if issubclass(self.klass, collections.Counter):
            return vm.const(0)
        raise vm.raised(KeyError, [key])

    def contains(self, vm: Machine, item: Value) -> Value:
        return vm.const(self.find(vm, item) is not None)

    def iterate(self, vm: Machine) -> Value:
        return self.iterator(vm, "keys")

    def iterator(self, vm: Machine, kind: str, backward: bool = False) -> Value:
        """An iterator over `keys`, `values` or `items`."""
        return DictIterator(self, kind, backward).start(vm)

    def keys(self, vm: Machine) -> list[Value]:
        self.load_all(vm)
        return [key for key, _ in self.entries.values()]

    def values(self, vm: Machine) -> list[Value]:
        self.load_all(vm)
        return [value for _, value in self.entries.values()]

    # -- writing -------------------------------------------------------------------------------

    def setitem(self, vm: Machine, key: Value, value: Value) -> None:
        self.load_all(vm)
        if vm.entries_by_data(self, key, value):
            self.setitem(vm, key, value)  # of the class that the dictionary has now
            return
        hashed = vm.key_in(self.entries, key)
        known = self.entries.get(hashed)
        if known is not None and known[1] is value:
            return
        if known is None:
            self.changes.add(hashed)
        vm.journal.put(self.entries, hashed, (known[0] if known else key, value))
        vm.entries_changed(self)

    def delitem(self, vm: Machine, key: Value) -> None:
        self.load_all(vm)
        hashed = vm.key_in(self.entries, key)
        if hashed not in self.entries:
            raise vm.raised(KeyError, [key])
        self.changes.take(hashed)
        self.assign(vm, {k: v for k, v in self.entries.items() if k != hashed})

    def assign(self, vm: Machine, entries: dict[Any, tuple[Value, Value]]) -> None:
        """Replace content and order."""
        vm.journal.replace_dict(self.entries, entries)
        vm.entries_changed(self)

    def update_from(self, vm: Machine, other: DictValue) -> None:
        other.load_all(vm)
        for key, value in list(other.entries.values()):
            self.setitem(vm, key, value)

    # -- rebuilding ----------------------------------------------------------------------------

    def describe(self) -> str:
        return f"a {self.klass.__qualname__}" + (f" ({self.source})" if self.source else "")

    def merge(self, vm: Machine, other: Value) -> Value | MergeRefusal:
        if self is other:
            return self
        if not isinstance(other, DictValue) or self.klass is not other.klass:
            return MergeRefusal(f"{self.describe()} differs from {other.describe()}")
        if list(self.entries) != list(other.entries) or self.attrs or other.attrs:
            return MergeRefusal("dictionaries with different keys")
        merged = DictValue(klass=self.klass)
        for one in (self, other):
            merged.changes.inherit(one.changes)
        for hashed, (key, value) in self.entries.items():
            result = value.merge(vm, other.entries[hashed][1])
            if isinstance(result, MergeRefusal):
                return result
            merged.entries[hashed] = (key, result)
        return merged

    def rebuild(self, emit: Rebuilder) -> str:
        plain = self.klass is dict
        if plain and not any(isinstance(v, Instance) for _, v in self.entries.values()):
            return "{" + self.entries_text(emit) + "}"
        name = emit.define(self, self._empty(emit))
        for key, value in self.entries.values():
            owner = "dict" if not issubclass(self.klass, collections.OrderedDict) else ""
            setter = owner or emit.name(collections.OrderedDict, "OrderedDict")
            target = f"{name}[{emit.value(key)}] = {emit.value(value)}"
            if not plain:
                target = f"{setter}.__setitem__({name}, {emit.value(key)}, {emit.value(value)})"
            emit.line(target)
        emit.attributes(self, name)
        return name

    def _empty(self, emit: Rebuilder) -> str:
        if self.klass is dict:
            return "{}"
        cls = emit.name(self.klass, self.klass.__name__)
        if issubclass(self.klass, collections.OrderedDict):
            return f"{emit.name(collections.OrderedDict, 'OrderedDict')}.__new__({cls})"
        if self.klass is collections.defaultdict:
            factory = emit.value(self.factory) if self.factory is not None else "None"
            return f"{cls}({factory})"
        if self.factory is not None:
            raise GraphBreak("PTC-B008", f"{self.describe()} cannot be rebuilt in Python")
        return f"dict.__new__({cls})"

    def entries_text(self, emit: Rebuilder) -> str:
        return ", ".join(f"{emit.value(k)}: {emit.value(v)}" for k, v in self.entries.values())


def real_keys(obj: Any) -> tuple[Any, ...]:
    """The keys of a real dictionary in its order, past what its class overrides."""
    if isinstance(obj, collections.OrderedDict):
        return tuple(collections.OrderedDict.keys(obj))
    return tuple(dict.keys(obj))


_LITERALS = (str, int, bool, type(None))


def _guard_key(constant: Any) -> Any:
    if type(constant) in _LITERALS:
        return constant
    return fixed(constant, "key")


def _item_source(owner: Source, key: Any) -> Source:
    if type(key) in _LITERALS:
        return item(owner, key)
    key_source: FixedSource = fixed(key, getattr(key, "__name__", None) or "key")
    return ObjectItemSource(owner, key_source)


class DictViewValue(Value):
    """`d.keys()`, `d.values()`, `d.items()`: live views."""

    __slots__ = ("kind", "mapping")

    def __init__(self, mapping: DictValue, kind: str) -> None:
        self.source = None
        self.mapping = mapping
        self.kind = kind

    @property
    def cls(self) -> type:
        return type(getattr({}, self.kind)())

    def length(self, vm: Machine) -> Value:
        return self.mapping.length(vm)

    def truth(self, vm: Machine) -> bool:
        return self.mapping.truth(vm)

    def iterate(self, vm: Machine) -> Value:
        return self.mapping.iterator(vm, self.kind)

    def contains(self, vm: Machine, item: Value) -> Value:
        if self.kind == "keys":
            return self.mapping.contains(vm, item)
        return super().contains(vm, item)

    def rebuild(self, emit: Rebuilder) -> str:
        return f"{emit.value(self.mapping)}.{self.kind}()"


class DictIterator(Value):
    """An iterator over a dictionary's keys, values or items, maybe reversed. It began with `total`;
    `course` is a `Course`, or one of several."""

    __slots__ = ("backward", "course", "kind", "mapping", "position", "total")

    def __init__(self, mapping: DictValue, kind: str, backward: bool = False) -> None:
        self.source = None
        self.mapping = mapping
        self.kind = kind
        self.position: Any = 0  # an int, or a value where data decides it; -1: at the end
        self.course: Value = ConstantValue(None)
        self.total = 0
        self.backward = backward

    def start(self, vm: Machine) -> DictIterator:
        """Take the keys as they are now."""
        known = self._now(vm)
        self.course = ConstantValue(Course.over(known, self.backward, self._changes()))
        self.total = len(known)
        return self

    def _now(self, vm: Machine) -> tuple[Any, ...]:
        """The keys of the dictionary, in order."""
        self.mapping.load_all(vm)
        return tuple(self.mapping.entries)

    def _changes(self) -> KeyChanges:
        return self.mapping.changes

    def _known(self, vm: Machine) -> Course:
        return vm.settle(self.course).constant()

    def _pair(self, vm: Machine, key: Any) -> tuple[Value, Value]:
        return self.mapping.entries[key]

    @property
    def cls(self) -> type:
        return type(iter(getattr({}, self.kind)()))

    def iterate(self, vm: Machine) -> Value:
        return self

    def next(self, vm: Machine) -> Value | None:
        if self.position == -1:
            return None
        self._require_followed()
        now = self._now(vm)
        ordered = issubclass(self.mapping.cls, collections.OrderedDict)
        if not ordered and len(now) != self.total:
            if not isinstance(self.position, int):
                raise _not_followed()  # it may be at its end, where it asks nothing
            raise vm.exception(RuntimeError, "dictionary changed size during iteration")
        keys = self._keys(vm, now, ordered)
        if not isinstance(self.position, int):
            return vm.next_by_data(self)
        if self.position >= len(keys):
            vm.journal.assign(self, "position", -1)
            return None
        if self.position >= self.total:
            raise vm.exception(RuntimeError, "dictionary keys changed during iteration")
        key = keys[self.position]
        vm.journal.assign(self, "position", self.position + 1)
        return self._part(vm, *self._pair(vm, key))

    def _require_followed(self) -> None:
        if not isinstance(self.mapping, DictValue):
            raise GraphBreak(
                "PTC-B006",
                "a dictionary gets keys that data decides while it is iterated over",
                "iterate over a copy: `list(d)`",
            )

    def _keys(self, vm: Machine, now: tuple[Any, ...], ordered: bool) -> tuple[Any, ...]:
        """What it gave and will give, where the dictionary has these keys now."""
        course = self._known(vm)
        given = self.position
        if ordered and given == len(course.keys):
            return course.keys
        if ordered and isinstance(given, int) and now != course.known:
            raise vm.exception(RuntimeError, "OrderedDict mutated during iteration")
        if not isinstance(given, int):
            if not course.is_followed(now, self._changes()):
                raise _not_followed()
            return course.keys
        try:
            found = course.after(now, given, self._changes(), self.backward)
        except MovedSlots:
            raise _not_followed() from None
        if found is not course:
            vm.journal.assign(self, "course", ConstantValue(found))
        return found.keys

    def _part(self, vm: Machine, key: Value, value: Value) -> Value:
        if self.kind == "keys":
            return key
        return value if self.kind == "values" else vm.tuple([key, value])

    def count(self, vm: Machine) -> Value:
        return vm.const(len(self._known(vm).keys))

    def element(self, vm: Machine, position: Value) -> Value:
        """The element at a position that data decides, which is in range."""
        entries = [self._pair(vm, key) for key in self._known(vm).keys]
        return vm.getitem(vm.tuple([self._part(vm, *entry) for entry in entries]), position)

    def rebuild(self, emit: Rebuilder) -> str:
        view = f"{emit.value(self.mapping)}.{self.kind}()"
        start = f"reversed({view})" if self.backward else f"iter({view})"
        return emit.advanced(start, self.total if self.position == -1 else self.position)


def _not_followed() -> GraphBreak:
    return GraphBreak(
        "PTC-B006",
        "entries of a dictionary are replaced while it is iterated over, and which of them come "
        "next hangs on how CPython's table has grown",
        "iterate over a copy: `list(d)`",
    )


#: What lies in a set where its content says.
_HASHED_BY_CONTENT = (int, float, bool, str)


def is_by_data(value: Value) -> bool:
    """Whether data decides where in a set an element lies."""
    if isinstance(value, TupleValue):
        return any(map(is_by_data, value.items))
    return value.cls in _HASHED_BY_CONTENT and not value.is_constant()


def _is_ordered(element: Any) -> bool:
    """Whether a constant lies at the same place of a set in every process."""
    if isinstance(element, (tuple, frozenset)):
        return all(map(_is_ordered, element))
    return isinstance(element, (int, float))


class SetElements(BornDict):
    """Elements of a set by hash key. One that may be missing is a choice."""

    __slots__ = ()


class SetValue(Instance):
    """A set (mutable) or a frozenset with elements that are no constants. `history` is None where
    their order is not known."""

    __slots__ = ("elements", "history")

    def __init__(
        self,
        elements: dict[Any, Value] | None = None,
        klass: type = set,
        source: Source | None = None,
        history: History | None = GROWN,
    ) -> None:
        super().__init__(klass, source)
        self.elements: dict[Any, Value] = SetElements(
            elements or {}, outside=source is not None, owner=self
        )
        self.history = history

    def constant(self) -> Any:
        if self.klass is frozenset:
            return frozenset(value.constant() for value in self.elements.values())
        if self.klass is set:  # a copy, as for lists
            return {value.constant() for value in self.elements.values()}
        return super().constant()

    def is_constant(self) -> bool:
        return self.klass is frozenset and super().is_constant()

    def truth(self, vm: Machine) -> bool:
        vm.settle_presence(self.elements)
        return bool(self.elements)

    def length(self, vm: Machine) -> Value:
        vm.settle_presence(self.elements)
        return vm.const(len(self.elements))

    def contains(self, vm: Machine, item: Value) -> Value:
        element = self.elements.get(vm.key_in(self.elements, item))
        return vm.const(element is not None and vm.present(element) is not None)

    def iterate(self, vm: Machine) -> Value:
        """In the order CPython has for these elements, where that is the same in each process."""
        if vm.order_by_data(self):
            return self.iterate(vm)  # of the class that the set has now
        vm.settle_presence(self.elements)
        return vm.iterate_snapshot(self, self.ordered(vm))

    def ordered(self, vm: Machine) -> list[Value]:
        """Elements in CPython's order. The order of a set of strings differs by process, and of
        objects by address: rebuilding the real set gives it for constants of this process."""
        values = list(self.elements.values())
        if len(values) < 2:
            return values
        known = in_order(self.history, values)
        if known is not None:
            return known
        if any(map(is_by_data, values)):
            raise GraphBreak(
                "PTC-B006",
                "the order of a set depends on elements that data decides",
                "use a list, or a dictionary, which keeps the order of insertion",
            )
        if all(value.is_constant() for value in values):
            if all(_is_ordered(value.constant()) for value in values):
                raise GraphBreak(
                    "PTC-B006",
                    "the order of a set is asked for, and how it came to be is not known",
                    "go through sorted(...) of it",
                )
            table = {id(v.constant()): v for v in values}
            try:
                return [table[id(c)] for c in self.klass([v.constant() for v in values])]
            except KeyError:
                return values
        return values

    def assign(
        self, vm: Machine, elements: dict[Any, Value], history: History | None = None
    ) -> None:
        vm.journal.replace_dict(self.elements, elements)
        vm.journal.assign(self, "history", history)
        vm.entries_changed(self)

    def add(self, vm: Machine, value: Value) -> None:
        if vm.entries_by_data(self, value):
            self.add(vm, value)  # of the class that the set has now
            return
        hashed = vm.key_in(self.elements, value)
        known = self.elements.get(hashed)
        if known is None or vm.present(known) is None:
            vm.journal.put(self.elements, hashed, value)
            vm.entries_changed(self)

    def hash_key(self, vm: Machine) -> Any:
        if self.klass is frozenset:
            if any(map(is_by_data, self.elements.values())):
                raise GraphBreak(
                    "PTC-B014",
                    "a frozenset with elements that data decides is used as a key",
                    "use a tuple",
                )
            return frozenset(self.elements)
        raise vm.type_error(f"unhashable type: '{self.klass.__name__}'")

    def rebuild(self, emit: Rebuilder) -> str:
        elements = ", ".join(emit.value(value) for value in self.elements.values())
        if self.klass in (set, frozenset):
            return f"{self.klass.__name__}([{elements}])"
        raise GraphBreak("PTC-B008", f"{self.describe()} cannot be rebuilt in Python")
