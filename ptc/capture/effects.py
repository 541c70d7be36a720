"""Effects on objects that outlive the captured frame, recorded in order and replayed by generated
code.

Only what is visible outside is kept: an object made during capture is rebuilt with its final
content, if it is needed at all. Lists, dicts and sets are replayed by their final content, since
the steps between are not observable (no user code runs between them); attributes, in the order they
were first written.
"""

from __future__ import annotations

import collections
import contextlib
import inspect
import types
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ptc.capture.errors import GraphBreak
from ptc.capture.journal import Journal
from ptc.capture.sources import ArgumentSource
from ptc.capture.values.base import Value
from ptc.capture.values.callables import CellValue, ClassValue
from ptc.capture.values.constants import ConstantValue
from ptc.capture.values.containers import DequeValue, ListValue, SequenceIterator
from ptc.capture.values.iterators import ReversedValue
from ptc.capture.values.mappings import DictIterator, DictValue, SetValue
from ptc.capture.values.namespaces import Globals
from ptc.capture.values.objects import DELETED, NO_OBJECT, Instance, real_dict

if TYPE_CHECKING:
    from ptc.capture.rebuild import Rebuilder


@dataclass(frozen=True, slots=True)
class DeferredCall:
    """A library call without result whose only effect is on the outside world (a warning)."""

    function: Any
    name: str
    args: tuple[Value, ...]
    kwargs: tuple[tuple[str, Value], ...]


class Effects:
    """What must be replayed. Keys are identities; order is that of the first change."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self.log: dict[tuple[Any, ...], Any] = {}
        self._assigned: dict[tuple[int, str], tuple[Any, str]] = {}
        self._driven = 0

    @contextlib.contextmanager
    def driven(self) -> Iterator[None]:
        """Iterators advance because another one from outside draws from them: its own replay does
        that."""
        self._driven += 1
        try:
            yield
        finally:
            self._driven -= 1

    def __bool__(self) -> bool:
        return bool(self.log)

    def _add(self, key: tuple[Any, ...], entry: Any) -> None:
        if key not in self.log:
            self._journal.put(self.log, key, entry)

    def changed(self, value: Value) -> None:
        """The content of a list, dict, set or cell was changed."""
        if value.source is not None:
            self._add(("content", id(value)), value)

    def changed_values(self) -> list[Value]:
        """Objects whose content or attributes were changed."""
        changed: list[Value] = []
        for key, entry in self.log.items():
            if key[0] == "content":
                changed.append(entry)
            elif key[0] == "attribute":
                changed.append(entry[0])
        return changed

    def attribute_written(self, value: Instance, name: str, was_read: bool = True) -> None:
        if value.obj is not NO_OBJECT:
            self.assigned(value.obj, name)
        if value.source is not None or value.obj is not NO_OBJECT:
            self._add(("attribute", id(value), name), (value, name, was_read))

    def assigned(self, owner: Any, name: str) -> None:
        """A path through the program assigns to this attribute, or key, of a live object."""
        self._assigned[id(owner), name] = (owner, name)

    def all_assigned(self) -> tuple[tuple[Any, str], ...]:
        """What `assigned` was told of, on paths that ended as well."""
        return tuple(self._assigned.values())

    def changed_globals(self, namespace: Globals) -> None:
        self._add(("globals", id(namespace)), namespace)

    def advanced(self, iterator: Value) -> None:
        """An iterator from outside produced an element."""
        if iterator.source is not None and not self._driven:
            key = ("advanced", id(iterator))
            count = self.log.get(key, (iterator, 0))[1] + 1
            self._journal.put(self.log, key, (iterator, count))

    def call(self, deferred: DeferredCall) -> None:
        self._add(("call", len(self.log)), deferred)

    def replay(self, emit: Rebuilder) -> None:
        """Write the statements. Everything they need is read and rebuilt first."""
        for key, entry in list(self.log.items()):
            if key not in emit.settled:
                _REPLAY[key[0]](emit, entry)

    def settle(self, emit: Rebuilder, iterator: Value) -> None:
        """Have the container of an iterator changed before the iterator is made: list and dict
        iterators look at the content that they find."""
        container = _container(iterator)
        key = ("content", id(container))
        if container is None or key not in self.log or key in emit.settled:
            return
        emit.settled.add(key)
        written = len(emit.effects)
        _REPLAY["content"](emit, self.log[key])
        emit.lines += emit.effects[written:]
        del emit.effects[written:]


def _container(iterator: Value) -> Value | None:
    if isinstance(iterator, (SequenceIterator, ReversedValue)):
        return iterator.sequence
    return iterator.mapping if isinstance(iterator, DictIterator) else None


def _replay_content(emit: Rebuilder, value: Any) -> None:
    target = emit.value(value)
    if isinstance(value, DequeValue):
        elements = value.elements_text(emit)
        emit.effect(f"{target}.clear()", f"{target}.extend([{elements}])")
    elif isinstance(value, ListValue):
        emit.effect(f"list.__setitem__({target}, slice(None), [{value.elements_text(emit)}])")
    elif isinstance(value, DictValue):
        _replay_dict(emit, value, target)
    elif isinstance(value, SetValue):
        elements = ", ".join(emit.value(v) for v in value.elements.values())
        emit.effect(f"{target}.clear()", f"{target}.update([{elements}])")
    elif isinstance(value, CellValue):
        if value.content is None:
            emit.effect(f"del {target}.cell_contents")
        else:
            emit.effect(f"{target}.cell_contents = {emit.value(value.content)}")
    else:
        raise AssertionError(f"no replay for {value!r}")


def _replay_dict(emit: Rebuilder, value: DictValue, target: str) -> None:
    if value.obj is NO_OBJECT:
        raise AssertionError("a dict made during capture is rebuilt, not replayed")
    ordered = issubclass(value.klass, collections.OrderedDict)
    base = emit.name(collections.OrderedDict, "OrderedDict") if ordered else "dict"
    old = list(dict.keys(value.obj))
    new = [key.constant() if key.is_constant() else key for key, _ in value.entries.values()]
    if new[: len(old)] == old:
        # Nothing was deleted or moved: store what changed
        originals = value.obj
        for key, content in value.entries.values():
            same = key.is_constant() and emit.is_original(
                content, dict.get(originals, key.constant())
            )
            if not same:
                pair = f"{emit.value(key)}, {emit.value(content)}"
                emit.effect(f"{base}.__setitem__({target}, {pair})")
        return
    emit.effect(f"{base}.clear({target})")
    for key, content in value.entries.values():
        emit.effect(f"{base}.__setitem__({target}, {emit.value(key)}, {emit.value(content)})")


def _replay_attribute(emit: Rebuilder, entry: tuple[Instance, str, bool]) -> None:
    owner, name, _ = entry
    target = emit.value(owner)
    setter = "type" if isinstance(owner, ClassValue) else "object"
    value = owner.attrs.get(name)
    if value is None or value is DELETED:
        emit.effect(f"{setter}.__delattr__({target}, {name!r})")
    else:
        emit.effect(f"{setter}.__setattr__({target}, {name!r}, {emit.value(value)})")


def _replay_globals(emit: Rebuilder, namespace: Globals) -> None:
    target = emit.name(namespace.namespace, "globals")
    for name in namespace.written:
        value = namespace.known[name]
        if value is DELETED:
            emit.effect(f"del {target}[{name!r}]")
        else:
            emit.effect(f"{target}[{name!r}] = {emit.value(value)}")


def _replay_advanced(emit: Rebuilder, entry: tuple[Value, int]) -> None:
    iterator, count = entry
    target = emit.value(iterator)
    emit.effect(
        *[f"next({target})"] * count if count < 4 else [f"for _ in range({count}): next({target})"]
    )


def _replay_call(emit: Rebuilder, call: DeferredCall) -> None:
    parts = [emit.value(arg) for arg in call.args]
    parts += [f"{name}={emit.value(value)}" for name, value in call.kwargs]
    emit.effect(f"{emit.name(call.function, call.name)}({', '.join(parts)})")


_REPLAY: dict[str, Any] = {
    "content": _replay_content,
    "attribute": _replay_attribute,
    "globals": _replay_globals,
    "advanced": _replay_advanced,
    "call": _replay_call,
}


def is_original(value: Value, original: Any) -> bool:
    """Whether `value` stands for exactly this object from outside."""
    if isinstance(value, ConstantValue):
        return value.value is original
    if getattr(value, "live", None) is not None:  # a tensor
        return value.live is original  # type: ignore[attr-defined]
    return getattr(value, "obj", NO_OBJECT) is original is not NO_OBJECT


def refuse_effects(effects: Effects, code: types.CodeType) -> tuple[str, ...]:
    """Refuse what a whole program would write to objects that outlive its call. Writes that end
    with what was there before (a context variable set and reset) are none, nor are writes to the
    dictionary that a call of `code` makes for its `**kwargs`. What is left out although it was an
    effect (warnings, attributes that no call reads) is returned, a sentence each."""
    left_out: list[str] = []
    for key, entry in effects.log.items():
        kind = key[0]
        if kind == "call":
            left_out.append(f"the call of `{entry.name}` in the model is left out")
            continue
        if _UNCHANGED.get(kind, _never)(entry):
            if kind == "attribute" and not entry[2]:
                left_out.append(
                    f"the model's write to `{entry[1]}` of {entry[0].describe()} is left out: "
                    "no call reads it"
                )
            continue
        if kind == "content" and _is_keyword_dict(entry, code):
            continue
        if kind == "attribute":
            what = f"attribute {entry[1]!r} of {entry[0].describe()}"
        elif kind == "globals":
            what = f"a global variable ({', '.join(entry.written)})"
        else:
            value = entry[0] if kind == "advanced" else entry
            what = f"the content of {value.describe()}"
        raise GraphBreak(
            "PTC-B003",
            f"the program writes to {what}, which outlives the call",
            "return the value instead, or keep it in a registered buffer",
        )
    return tuple(dict.fromkeys(left_out))


def _never(entry: Any) -> bool:
    return False


def _is_keyword_dict(value: Value, code: types.CodeType) -> bool:
    if not code.co_flags & inspect.CO_VARKEYWORDS or not isinstance(value.source, ArgumentSource):
        return False
    slot = code.co_argcount + code.co_kwonlyargcount + bool(code.co_flags & inspect.CO_VARARGS)
    return value.source.name == code.co_varnames[slot]


def _attribute_unchanged(entry: tuple[Instance, str, bool]) -> bool:
    owner, name, was_read = entry
    if not was_read:
        return True  # cannot change what this or a later call computes
    namespace = real_dict(owner.obj) if owner.obj is not NO_OBJECT else None
    if namespace is None:
        return False
    value = owner.attrs.get(name)
    if value is None or value is DELETED:
        return name not in namespace
    return name in namespace and is_original(value, namespace[name])


def _content_unchanged(value: Value) -> bool:
    if isinstance(value, DictValue) and value.obj is not NO_OBJECT:
        if not value.complete:
            return all(
                key.is_constant()
                and key.constant() in value.obj
                and is_original(content, dict.__getitem__(value.obj, key.constant()))
                for key, content in value.entries.values()
            )
        pairs = list(value.entries.values())
        return len(pairs) == len(value.obj) and all(
            key.is_constant()
            and key.constant() == real_key
            and is_original(content, dict.__getitem__(value.obj, real_key))
            for (key, content), real_key in zip(pairs, dict.keys(value.obj), strict=True)
        )
    return False


_UNCHANGED: dict[str, Any] = {
    "attribute": _attribute_unchanged,
    "content": _content_unchanged,
}
