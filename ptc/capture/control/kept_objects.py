"""Kept attributes of real objects, for processes that have them: as values of a session's
variables, and made again from them.
"""

from __future__ import annotations

import collections
import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import torch

from ptc.capture.control import kept_entries
from ptc.capture.control.element_forms import leaves
from ptc.capture.control.kept_forms import (
    Columns,
    Constant,
    Element,
    Entries,
    Items,
    Long,
    Names,
    Number,
    Original,
    Record,
    Row,
    Tensor,
    Unkept,
    Words,
    attributes_of,
    form_of_real,
    list_form,
)
from ptc.capture.control.kept_slots import Held, Place, position
from ptc.capture.values.containers import tuple_maker
from ptc.capture.values.objects import NO_OBJECT


def variables_of(place: Place, real: Any, original: Any, found: dict[str, Any]) -> None:
    """Put what gives a place the object `real` into `found`, by name. Raises Unkept."""
    _clear(place, found)
    form = Original() if original is not NO_OBJECT and real is original else form_of_real(real)
    number = position(place.choice, form)
    if number < 0:
        raise Unkept(f"an object of class {type(real).__qualname__}")
    if place.selector is not None:
        found[place.selector.name] = number
    held = place.held[number]
    match held.form:
        case Number() | Words() | Tensor():
            found[held.vars[0].name] = real
        case Row(_, _, element):
            columns: list[list[Any]] = [[] for _ in held.vars]
            for item in real:
                cells = _cells(element, item) if element is not None else iter(())
                for column, cell in zip(columns, cells, strict=True):
                    column.append(cell)
            found.update(zip((var.name for var in held.vars), columns, strict=True))
        case Entries():
            columns = kept_entries.columns_of_real(real)
            for part, column in zip(held.parts, columns, strict=True):
                variables_of(part, column, NO_OBJECT, found)
        case Items():
            for part, item in zip(held.parts, real, strict=True):
                variables_of(part, item, NO_OBJECT, found)
        case Record(_, names, _):
            attributes = attributes_of(real)
            for part, name in zip(held.parts, names, strict=True):
                variables_of(part, attributes[name], NO_OBJECT, found)
        case Constant() | Original():
            pass


def _clear(place: Place, found: dict[str, Any]) -> None:
    """What the variables hold of forms that an object does not have."""
    for held in place.held:
        match held.form:
            case Tensor(sizes, dtype, device):
                shape = [size or 0 for size in sizes]
                found[held.vars[0].name] = torch.zeros(shape, dtype=dtype, device=device)
            case Words():
                found[held.vars[0].name] = ""
            case Row():
                found.update((var.name, []) for var in held.vars)
            case _:
                pass
        for part in held.parts:
            _clear(part, found)


def _cells(element: Element | None, item: Any) -> Iterator[Any]:
    """What goes into each of a list's variables for one element."""
    if isinstance(element, Columns):
        for part, inner in zip(element.parts, item, strict=True):
            yield from _cells(part, inner)
    elif isinstance(element, Long):
        rows = [list(_cells(element.element, inner)) for inner in item]
        width = sum(1 for _ in leaves(list_form(element.element)))
        yield from ([row[place] for row in rows] for place in range(width))
    elif isinstance(element, Names):
        yield element.constants.index(Constant(type(item), item))
    else:
        yield item


def built(place: Place, variables: Mapping[str, Any], original: Any) -> Any:
    """The object that these values of variables stand for."""
    held = place.held[0 if place.selector is None else variables[place.selector.name]]
    match held.form:
        case Number() | Words() | Tensor():
            return variables[held.vars[0].name]
        case Constant(_, value):
            return value
        case Original():
            return original
        case Row(klass, maxlen, element):
            columns = [variables[var.name] for var in held.vars]
            rows = zip(*columns, strict=True) if element is not None else ()
            items = [_element(element, iter(row)) for row in rows]
            return tuple(items) if klass is tuple else _list(klass, maxlen, items)
        case Items(klass, maxlen, _):
            items = [built(part, variables, NO_OBJECT) for part in held.parts]
            return _tuple(klass, items) if issubclass(klass, tuple) else _list(klass, maxlen, items)
        case Record():
            return _record(held, variables)
        case Entries(klass, factory, _):
            columns = [built(part, variables, NO_OBJECT) for part in held.parts]
            return kept_entries.built(klass, factory, columns)


def _element(element: Element | None, cells: Iterator[Any]) -> Any:
    match element:
        case Columns(klass, parts):
            return _tuple(klass, [_element(part, cells) for part in parts])
        case Long(inner):
            columns = list(itertools.islice(cells, sum(1 for _ in leaves(list_form(inner)))))
            return tuple([_element(inner, iter(row)) for row in zip(*columns, strict=True)])
        case Names(constants):
            return constants[next(cells)].value
        case _:
            return next(cells)


def _tuple(klass: type, items: Sequence[Any]) -> Any:
    return tuple_maker(klass).__new__(klass, items)


def _list(klass: type, maxlen: int | None, items: list[Any]) -> Any:
    return collections.deque(items, maxlen) if klass is collections.deque else items


def _record(held: Held, variables: Mapping[str, Any]) -> Any:
    assert isinstance(held.form, Record)
    made = object.__new__(held.form.klass)
    for name, part in zip(held.form.names, held.parts, strict=True):
        object.__setattr__(made, name, built(part, variables, NO_OBJECT))
    return made
