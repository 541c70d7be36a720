"""Effects on objects that outlive the captured frame, recorded in order and replayed by generated code.

Only what is visible outside is kept: an object made during capture is rebuilt with its final
content, if it is needed at all. Lists, dicts and sets are replayed by their final content, since the
steps between are not observable (no user code runs between them); attributes, in the order they
were first written.
"""

from __future__ import annotations

import collections
import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ptc.capture.errors import GraphBreak
from ptc.capture.journal import Journal
from ptc.capture.values.base import Value
from ptc.capture.values.callables import CellValue, ClassValue
from ptc.capture.values.containers import DequeValue, ListValue
from ptc.capture.values.mappings import DictValue, SetValue
from ptc.capture.values.namespaces import Globals
from ptc.capture.values.objects import DELETED, NO_OBJECT, Instance

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

    def attribute_written(self, value: Instance, name: str) -> None:
        if value.source is not None or value.obj is not NO_OBJECT:
            self._add(("attribute", id(value), name), (value, name))

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
            _REPLAY[key[0]](emit, entry)


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


def _replay_attribute(emit: Rebuilder, entry: tuple[Instance, str]) -> None:
    owner, name = entry
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
    emit.effect(*[f"next({target})"] * count if count < 4 else [
        f"for _ in range({count}): next({target})"
    ])


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


def refuse_effects(effects: Effects) -> None:
    """Whole programs have no caller's objects to write to (until effect nodes exist)."""
    for key, entry in effects.log.items():
        if key[0] == "call":
            continue
        what = entry[0].describe() + f".{entry[1]}" if key[0] == "attribute" else str(key[0])
        raise GraphBreak("PTC-B003", f"the program writes to {what}, which outlives the call")
