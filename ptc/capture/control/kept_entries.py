"""Dictionaries and sets that attributes keep from call to call, as lists of keys and of values."""

from __future__ import annotations

import collections
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ptc.capture.control import entries
from ptc.capture.control.dicts import DataDictValue
from ptc.capture.control.sets import DataSetValue, empty_table
from ptc.capture.values.base import Value
from ptc.capture.values.births import BornDict
from ptc.capture.values.containers import ListValue

if TYPE_CHECKING:
    from ptc.capture.control.machine import ControlMachine

#: What is made again from its entries alone, and is no object of the user's class.
CLASSES = (dict, collections.OrderedDict, collections.Counter, collections.defaultdict, set)


def loaded(vm: ControlMachine, klass: type, factory: Any, columns: Sequence[Any]) -> Value:
    """The value at the start of a call, from its lists."""
    if klass is set:
        found = DataSetValue(columns[0], empty_table(vm), None)
        found.elements = BornDict(found.elements, outside=True, owner=found)
        return found
    made = DataDictValue(columns[0], columns[1], klass)
    made.entries = BornDict(made.entries, outside=True, owner=made)
    if klass is collections.defaultdict:
        made.factory = vm.wrap_fixed(factory)
    return made


def width(klass: type) -> int:
    """How many lists are kept of one: the table of a set is of a call alone."""
    return 1 if klass is set else 2


def columns_to_store(vm: ControlMachine, value: Any) -> list[Any]:
    """The lists that a dictionary or set is of from here on: the session has references to them,
    so that changes are kept as well. Of one from outside, new ones."""
    content = entries.content_of(value)
    kept = width(value.klass)
    if entries.is_held(content):
        return entries.lists_in(content)[:kept]
    if value.source is None:
        return list(entries.become(vm, value))[:kept]
    return [ListValue(items) for items in entries.columns_of(value, content)[:kept]]


def columns_of_real(real: Any) -> list[list[Any]]:
    """The keys and the values of an object, or its elements."""
    return [list(real)] if isinstance(real, set) else [list(real.keys()), list(real.values())]


def factory_of_real(real: Any) -> Any:
    return getattr(real, "default_factory", None)


def built(klass: type, factory: Any, columns: Sequence[list[Any]]) -> Any:
    """The object with these entries."""
    if klass is set:
        return set(columns[0])
    made: Any = klass(factory) if klass is collections.defaultdict else klass()
    for key, value in zip(*columns, strict=True):
        made[key] = value
    return made


def refill(real: Any, new: Any) -> None:
    """Give the real object the content of a new one."""
    if isinstance(real, set):
        same = real == new
    else:
        pairs = zip(real.items(), new.items(), strict=False)
        same = len(real) == len(new) and all(
            mine[0] == its[0] and mine[1] is its[1] for mine, its in pairs
        )
    if not same:
        real.clear()
        real.update(new)
