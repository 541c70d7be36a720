"""Writes the Python text that turns symbolic values back into objects.

The generated function first reads everything it needs from its arguments (so that later effects
cannot change what is read), then rebuilds objects made during capture, then performs effects.
A value gets one variable, so that identity and sharing are as in the original program.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ptc.capture.effects import is_original
from ptc.capture.errors import GraphBreak
from ptc.capture.guards import Namespace
from ptc.capture.sources import FixedSource, Source
from ptc.capture.values.base import NULL, Null, Value
from ptc.capture.values.constants import ConstantValue
from ptc.capture.values.objects import DELETED, NO_OBJECT, Instance


class Rebuilder:
    """Collects lines in three parts: `reads`, `lines` (objects) and `effects`."""

    def __init__(self, names: Namespace) -> None:
        self.names = names
        self.reads: list[str] = []
        self.lines: list[str] = []
        self.effects: list[str] = []
        self._variables: dict[int, str] = {}
        self._keep: list[Value] = []  # ids in `_variables` stay valid
        self._sources: dict[Source, str] = {}
        self._busy: set[int] = set()
        self.outputs: list[Value] = []
        # How a value is computed from others after the graph, if it must be (views)
        self.derive: Callable[[Value], str | None] = lambda value: None
        # Called with each value made during capture before it is rebuilt; `settled` are the keys of
        # the effects that then were written ahead of the others.
        self.settle: Callable[[Value], None] = lambda value: None
        self.settled: set[tuple[Any, ...]] = set()

    def output(self, value: Value) -> str:
        """Ask for a value that the graph computes."""
        self.outputs.append(value)
        return self.output_name(len(self.outputs) - 1)

    def output_name(self, number: int) -> str:
        return f"out{number}_"

    def name(self, obj: object, hint: str) -> str:
        """A name for a fixed object in the generated function's globals."""
        return self.names(obj, hint)

    def bind(self, value: Value, text: str) -> None:
        """Say that `text` (a variable) holds `value`: the graph's outputs."""
        self._variables[id(value)] = text
        self._keep.append(value)

    def source(self, source: Source) -> str:
        """A variable (or a name) with what `source` yields on entry."""
        known = self._sources.get(source)
        if known is not None:
            return known
        base = self.source(source.base) if source.base is not None else ""
        text = source.code(self.names, base)
        if source.base is not None and not isinstance(source, FixedSource):
            variable = f"in{len(self._sources)}_"
            self.reads.append(f"{variable} = {text}")
            text = variable
        self._sources[source] = text
        return text

    def value(self, value: Value | Null | None) -> str:
        """An expression for the value, evaluated at most once."""
        assert value is not None and value is not NULL and isinstance(value, Value)
        known = self._variables.get(id(value))
        if known is not None:
            return known
        if isinstance(value, ConstantValue):
            return value.rebuild(self)
        if value.source is not None:
            text = self.source(value.source)
            self.bind(value, text)
            return text
        if isinstance(value, Instance) and value.obj is not NO_OBJECT:
            text = self.name(value.obj, getattr(value.obj, "__name__", value.klass.__name__))
            self.bind(value, text)
            return text
        if id(value) in self._busy:
            raise GraphBreak("PTC-B008", f"{value.describe()} holds itself")
        self._busy.add(id(value))
        self.settle(value)
        text = value.rebuild(self)
        self._busy.discard(id(value))
        if id(value) not in self._variables:
            if text.isidentifier():
                self.bind(value, text)
            else:
                text = self.define(value, text)
        return self._variables[id(value)]

    def define(self, value: Value, text: str) -> str:
        """Give the value a variable holding `text`, before its content is rebuilt."""
        variable = f"obj{len(self.lines)}_"
        self.lines.append(f"{variable} = {text}")
        self.bind(value, variable)
        return variable

    def line(self, text: str) -> None:
        self.lines.append(text)

    def effect(self, *lines: str) -> None:
        self.effects.extend(lines)

    def attributes(self, value: Instance, name: str) -> None:
        """Set the attributes of an object just made."""
        for attribute, content in value.attrs.items():
            if content is not DELETED:
                text = self.value(content)
                self.line(f"object.__setattr__({name}, {attribute!r}, {text})")

    def with_attributes(self, value: Instance, text: str) -> str:
        name = self.define(value, text)
        self.attributes(value, name)
        return name

    def advanced(self, iterator: str, count: int) -> str:
        """`iterator` after `count` elements."""
        if count == 0:
            return iterator
        variable = f"iterator{len(self.lines)}_"
        self.lines.append(f"{variable} = {iterator}")
        self.lines.append(f"for _ in range({count}): next({variable})")
        return variable

    def is_original(self, value: Value, original: Any) -> bool:
        """Whether `value` stands for exactly this object from outside."""
        return is_original(value, original)
