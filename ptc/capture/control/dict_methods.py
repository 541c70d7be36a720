"""Calls with dictionaries and sets whose number of entries data decides: their methods, and
builtins that make one.
"""

from __future__ import annotations

import collections
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ptc.capture.control import list_methods, lists, strings
from ptc.capture.control.data_keys import find, is_there, required
from ptc.capture.control.dicts import DataDictValue, as_pairs, is_dict, is_view
from ptc.capture.control.list_positions import longer
from ptc.capture.control.lists import DataListValue
from ptc.capture.control.records import RecordValue
from ptc.capture.control.sets import (
    DataSetValue,
    as_data,
    combine_by_data,
    empty_table,
    held,
    is_set,
    note_order,
    order_by_data,
    take_by_data,
)
from ptc.capture.control.tuples import DataTupleValue
from ptc.capture.errors import GraphBreak
from ptc.capture.interpreter.calls import builtin
from ptc.capture.interpreter.operators import COMPARE, set_elements
from ptc.capture.polyfills import data_dicts, data_lists
from ptc.capture.values.base import Value
from ptc.capture.values.constants import ConstantValue
from ptc.capture.values.mappings import DictValue, DictViewValue, SetValue

if TYPE_CHECKING:
    from ptc.capture.control.machine import ControlMachine

Handler = Callable[..., "Value | None"]
_METHODS: dict[int, Handler] = {}  # of which the first operand is such a container
_TAKERS: dict[int, Handler] = {}  # that take such a container, or an iterable of unknown length
_NONE = ConstantValue(None)
_ordered = collections.OrderedDict
_CONTAINERS = (DataDictValue, DataSetValue, RecordValue)


def _method(*functions: Any, of: dict[int, Handler] = _METHODS) -> Callable[[Handler], Handler]:
    def register(handler: Handler) -> Handler:
        for function in functions:
            of[id(function)] = handler
        return handler

    return register


def call(
    vm: ControlMachine, function: Any, args: list[Value], kwargs: dict[str, Value]
) -> Value | None:
    """The result of a call that has to do with such containers, or with lists whose length data
    decides; None for all others."""
    handler = _METHODS.get(id(function))
    takes = _TAKERS.get(id(function))
    consumes = list_methods.consumes(function)
    if args and (handler is not None or takes is not None or consumes):
        args = [vm.settle(arg) for arg in args]
        if function in (set.discard, set.remove) and len(args) == 2:
            take_by_data(vm, *args)
        if id(function) in _combining_functions:
            combine_by_data(vm, args)
        if consumes and isinstance(args[0], SetValue):
            order_by_data(vm, args[0])
        if consumes and isinstance(args[0], DataSetValue) and (len(args) == 1 or function is sum):
            return _consumed(vm, function, args, kwargs)
        if handler is None or not isinstance(args[0], _CONTAINERS):
            handler = takes if any(is_unbounded(vm, arg) for arg in args) else None
        if handler is not None:
            result = handler(vm, *args, **kwargs)
            return _NONE if result is None else result
    return list_methods.call(vm, function, args, kwargs)


def is_unbounded(vm: ControlMachine, value: Value) -> bool:
    return isinstance(value, DataSetValue) or list_methods.unbounded(vm, value)


def contained(vm: ControlMachine, container: Value, item: Value) -> Value | None:
    """See `Machine.contains_by_data`."""
    container = vm.settle(container)
    if is_view(container):
        view: Any = container
        if view.kind == "keys":
            return view.mapping.contains(vm, vm.settle(item))
        return vm.call(vm.wrap_fixed(data_lists.contains), [container, item])
    if isinstance(container, (DataListValue, DataTupleValue, DataDictValue, DataSetValue)):
        return container.contains(vm, vm.settle(item))
    return strings.contains(vm, container, vm.settle(item))


# -- methods of dictionaries ----------------------------------------------------------------------


@_method(dict.__getitem__)
def _getitem(vm: ControlMachine, self: Value, key: Value) -> Value:
    return self.getitem(vm, key)


@_method(dict.__setitem__, _ordered.__setitem__)
def _setitem(vm: ControlMachine, self: Value, key: Value, value: Value) -> None:
    self.setitem(vm, key, value)


@_method(dict.__delitem__, _ordered.__delitem__)
def _delitem(vm: ControlMachine, self: Value, key: Value) -> None:
    self.delitem(vm, key)


@_method(dict.__contains__, set.__contains__)
def _contains(vm: ControlMachine, self: Value, key: Value) -> Value:
    return self.contains(vm, key)


@_method(dict.__len__, set.__len__)
def _length(vm: ControlMachine, self: Value) -> Value:
    return self.length(vm)


@_method(dict.__iter__, _ordered.__iter__, set.__iter__)
def _iterate(vm: ControlMachine, self: Value) -> Value:
    return self.iterate(vm)


@_method(reversed, dict.__reversed__, _ordered.__reversed__)
def _reversed(vm: ControlMachine, self: DataDictValue) -> Value:
    if isinstance(self, DataSetValue):
        raise vm.type_error("'set' object is not reversible")
    return self.iterator(vm, "keys", backward=True)


@_method(dict.get)
def _get(
    vm: ControlMachine, self: DataDictValue, key: Value, default: Value | None = None
) -> Value:
    found = self.find(vm, key)
    return found if found is not None else default or _NONE


@_method(dict.setdefault, _ordered.setdefault)
def _setdefault(
    vm: ControlMachine, self: DataDictValue, key: Value, default: Value | None = None
) -> Value:
    found = self.find(vm, key)
    return found if found is not None else self.add(vm, key, default or _NONE)


@_method(dict.pop, _ordered.pop)
def _pop(
    vm: ControlMachine, self: DataDictValue | RecordValue, key: Value, default: Value | None = None
) -> Value:
    if isinstance(self, RecordValue):
        return self.take(vm, key, default)
    if default is None:
        return self.pop(vm, required(vm, self.key_list, key))[1]
    position = find(vm, self.key_list, key)
    return self.pop(vm, position)[1] if vm.truth(is_there(vm, position)) else default


@_method(dict.popitem, _ordered.popitem)
def _popitem(
    vm: ControlMachine, self: DataDictValue | RecordValue, last: Value | None = None
) -> Value:
    if isinstance(self, RecordValue):
        return self.take_last(vm)
    to_end = last is None or vm.truth(last)
    if not longer(vm, self.key_list, 0):
        kind = "dictionary"
        raise vm.exception(KeyError, f"popitem(): {kind} is empty")
    end = vm.binary("-", vm.length(self), ConstantValue(1))
    return vm.tuple([*self.pop(vm, end if to_end else ConstantValue(0))])


@_method(_ordered.move_to_end)
def _move_to_end(
    vm: ControlMachine, self: DataDictValue, key: Value, last: Value | None = None
) -> None:
    to_end = last is None or vm.truth(last)
    self.move(vm, required(vm, self.key_list, key), to_end)


@_method(dict.clear, _ordered.clear, set.clear)
def _clear(vm: ControlMachine, self: Any) -> None:
    self.clear(vm)


@_method(dict.copy, _ordered.copy, collections.defaultdict.copy)
def _copy(vm: ControlMachine, self: DataDictValue) -> Value:
    kept = self.klass in (_ordered, collections.defaultdict)
    return self.copied(vm, self.klass if kept else dict)


@_method(dict.keys, _ordered.keys)
def _keys(vm: ControlMachine, self: Any) -> Value:
    return DictViewValue(self, "keys")


@_method(dict.values, _ordered.values)
def _values(vm: ControlMachine, self: Any) -> Value:
    return DictViewValue(self, "values")


@_method(dict.items, _ordered.items)
def _items(vm: ControlMachine, self: Any) -> Value:
    return DictViewValue(self, "items")


@_method(dict.__eq__, _ordered.__eq__, dict.__ne__, _ordered.__ne__, of=_TAKERS)
def _compared(vm: ControlMachine, self: Value, other: Value) -> Value:
    return ConstantValue(NotImplemented)


# -- making and extending dictionaries ------------------------------------------------------------


@_method(dict.update, _ordered.update, dict.__init__, _ordered.__init__)
@_method(dict.update, _ordered.update, dict.__init__, _ordered.__init__, of=_TAKERS)
def _update(
    vm: ControlMachine, self: Value, other: Value | None = None, /, **kwargs: Value
) -> None:
    if other is not None:
        if is_dict(other) or vm.hasattr(other, "keys"):
            other = vm.call(vm.getattr(other, "items"), [])
        vm.call(vm.wrap_fixed(data_dicts.update), [self, other])
    for name, value in kwargs.items():
        vm.setitem(self, ConstantValue(name), value)


@_method(dict, _ordered, of=_TAKERS)
def _made(vm: ControlMachine, other: Value, /, **kwargs: Value) -> Value:
    return _of_class(vm, dict, other, kwargs)


@_method(_ordered, of=_TAKERS)
def _made_in_order(vm: ControlMachine, other: Value, /, **kwargs: Value) -> Value:
    return _of_class(vm, _ordered, other, kwargs)


@_method(collections.defaultdict, of=_TAKERS)
def _made_with_factory(
    vm: ControlMachine, factory: Value, other: Value, /, **kwargs: Value
) -> Value:
    result: Any = _of_class(vm, collections.defaultdict, other, kwargs)
    result.factory = factory
    return result


def _of_class(vm: ControlMachine, klass: type, other: Value, kwargs: dict[str, Value]) -> Value:
    if isinstance(other, DataDictValue) and not kwargs:
        return other.copied(vm, klass)
    result = DictValue(klass=klass)
    _update(vm, result, other, **kwargs)
    return result


@_method(dict.__or__, _ordered.__or__, collections.defaultdict.__or__, of=_TAKERS)
@_method(dict.__or__, _ordered.__or__, collections.defaultdict.__or__)
def _or(vm: ControlMachine, self: Value, other: Value) -> Value:
    if not is_dict(self) or not is_dict(other):
        return ConstantValue(NotImplemented)
    result = vm.call(vm.getattr(self, "copy"), [])
    _update(vm, result, other)
    return result


@_method(dict.__ior__, _ordered.__ior__, of=_TAKERS)
@_method(dict.__ior__, _ordered.__ior__)
def _ior(vm: ControlMachine, self: Value, other: Value) -> Value:
    _update(vm, self, other)
    return self


@_method(dict.__dict__["fromkeys"], of=_TAKERS)
def _from_keys(vm: ControlMachine, cls: Value, keys: Value, value: Value | None = None) -> Value:
    made = vm.call(cls, [])
    return vm.call(vm.wrap_fixed(data_dicts.from_keys), [made, keys, value or _NONE])


@builtin(data_dicts.undecided)
def _undecided(vm: ControlMachine) -> None:
    vm.not_supported("dictionaries with NaN are compared")


# -- sets -----------------------------------------------------------------------------------------


@_method(set.add)
def _add(vm: ControlMachine, self: DataSetValue, value: Value) -> None:
    self.add(vm, value)


@_method(set.discard)
def _discard(vm: ControlMachine, self: DataSetValue, value: Value) -> None:
    position = find(vm, self.key_list, value)
    if vm.truth(is_there(vm, position)):
        self.pop(vm, position)


@_method(set.remove)
def _remove(vm: ControlMachine, self: DataSetValue, value: Value) -> None:
    self.pop(vm, required(vm, self.key_list, value))


@_method(set.pop)
def _set_pop(vm: ControlMachine, self: DataSetValue) -> Value:
    return self.pop_first(vm)


@_method(set.copy)
def _set_copy(vm: ControlMachine, self: DataSetValue) -> Value:
    return self.copied(vm)


@_method(set, of=_TAKERS)
def _set(vm: ControlMachine, iterable: Value) -> Value:
    if isinstance(iterable, DataSetValue):
        return iterable.copied(vm)
    if iterable.cls is dict:
        return vm.call(vm.wrap_fixed(data_dicts.set_of), [iterable])
    return vm.call(vm.wrap_fixed(data_dicts.add_all), [SetValue(), iterable])


@builtin(data_dicts.elements)
def _elements(vm: ControlMachine, values: Value, target: Value | None = None) -> Value:
    if target is not None and is_set(target):
        note_order(vm, target, values)
    if isinstance(values, DataSetValue):
        return values.in_any_order(vm)
    if isinstance(values, SetValue):
        return _elements(vm, as_data(vm, values), target)
    if isinstance(values, ConstantValue) and isinstance(values.value, frozenset):
        return vm.list([ConstantValue(one) for one in values.value])
    return values


@builtin(data_dicts.reserve)
def _reserve(vm: ControlMachine, target: Value, other: Value) -> Value:
    one = held(vm, target)
    if is_set(other):
        its = as_data(vm, other)
        one.change_table(vm, "reserve", vm.length(its))
        fits = one.is_ordered and its.is_ordered
        return one.table(vm).fits(its.table(vm)) if fits else ConstantValue(False)
    if other.cls is dict:
        one.change_table(vm, "reserve", vm.length(other))
    return ConstantValue(False)


@builtin(data_dicts.take_over)
def _take_over(vm: ControlMachine, target: Value, other: Value) -> None:
    held(vm, target).take(vm, as_data(vm, other))


@builtin(data_dicts.tidy)
def _tidy(vm: ControlMachine, target: Value) -> None:
    held(vm, target).change_table(vm, "tidy")


def _combining(name: str) -> Any:
    polyfill = getattr(data_dicts, name)

    def method(vm: ControlMachine, self: Value, *others: Value) -> Value:
        if self.cls is not set:
            raise GraphBreak("PTC-B006", f"data decides how many elements {self.describe()} gets")
        result: Value = self
        for number, other in enumerate(others):
            if number and name in ("union", "difference"):
                _changing(name)(vm, result, other)
            else:
                result = vm.call(vm.wrap_fixed(polyfill), [result, other])
        return result if others else vm.call(vm.getattr(self, "copy"), [])

    return method


def _changing(name: str) -> Any:
    polyfill = getattr(data_dicts, f"{name}_in_place")

    def method(vm: ControlMachine, self: Value, *others: Value) -> None:
        for other in others:
            vm.call(vm.wrap_fixed(polyfill), [self, other])

    return method


def _operator(handler: Any, in_place: bool) -> Any:
    def method(vm: ControlMachine, self: Value, other: Value) -> Value:
        if not is_set(self) or not is_set(other):
            return ConstantValue(NotImplemented)
        result = handler(vm, self, other)
        return self if in_place else result

    return method


_OPERATIONS = (
    ("union", "or"), ("intersection", "and"), ("difference", "sub"),
    ("symmetric_difference", "xor"),
)  # fmt: skip
_combining_functions: set[int] = set()  # that make a set of several, or change one by others
for _name, _symbol in _OPERATIONS:
    _whole, _part = _combining(_name), _changing(_name)
    _update_name = "update" if _name == "union" else f"{_name}_update"
    for _table in (_METHODS, _TAKERS):
        _method(getattr(set, _name), getattr(frozenset, _name), of=_table)(_whole)
        _method(getattr(set, _update_name), of=_table)(_part)
        _method(getattr(set, f"__{_symbol}__"), getattr(frozenset, f"__{_symbol}__"), of=_table)(
            _operator(_whole, False)
        )
        _method(getattr(set, f"__i{_symbol}__"), of=_table)(_operator(_part, True))
    _combining_functions |= {
        id(getattr(set, name))
        for name in (_name, _update_name, f"__{_symbol}__", f"__i{_symbol}__")
    }


def _relating(polyfill: Any) -> Any:
    return lambda vm, *args: vm.call(vm.wrap_fixed(polyfill), list(args))


_RELATIONS = {
    "issubset": _relating(data_dicts.is_subset),
    "issuperset": _relating(data_dicts.is_superset),
    "isdisjoint": _relating(data_dicts.is_disjoint),
}
for _name, _relation in _RELATIONS.items():
    for _table in (_METHODS, _TAKERS):
        _method(getattr(set, _name), getattr(frozenset, _name), of=_table)(_relation)


# -- views as sets --------------------------------------------------------------------------------


def _as_set(vm: ControlMachine, value: Any) -> Value:
    """A set, in an order that is not known, with the elements of a view, or of another iterable; a
    set itself."""
    if is_view(value) and value.kind != "values":
        mapping = value.mapping
        keys = mapping.key_list if value.kind == "keys" else as_pairs(mapping)
        return DataSetValue(lists.copied(vm, keys), empty_table(vm), None)
    if isinstance(value, DictViewValue):
        elements = set_elements(vm, value)
        assert elements is not None
        return SetValue(dict(elements))
    return value if is_set(value) else vm.call(vm.class_value(set), [value])


def _of_views(handler: Any) -> Any:
    return lambda vm, self, other: handler(vm, _as_set(vm, self), _as_set(vm, other))


def _combining_views(name: str) -> Any:
    """An operator of a view, with the set that CPython makes of it first."""
    polyfill = getattr(data_dicts, f"view_{name}")

    def method(vm: ControlMachine, self: Any, other: Value) -> Value:
        views = isinstance(self, DictViewValue) and isinstance(other, DictViewValue)
        if not isinstance(self, DictViewValue):
            return ConstantValue(NotImplemented)
        if views and name == "intersection":
            return vm.call(vm.wrap_fixed(data_dicts.views_in_common), [self, other])
        if views and name == "symmetric_difference" and self.kind == "items":
            return _combining(name)(vm, _as_set(vm, self), _as_set(vm, other))
        whole = self.kind == "keys" and self.mapping.cls is dict and name != "intersection"
        return vm.call(vm.wrap_fixed(polyfill), [self.mapping if whole else self, other])

    return method


def _comparing(op: str) -> Any:
    def method(vm: ControlMachine, self: Value, other: Value) -> Value:
        if not is_set(other) and not isinstance(other, DictViewValue):
            return ConstantValue(NotImplemented)
        return vm.compare(op, _as_set(vm, self), _as_set(vm, other))

    return method


for _class in (type({}.keys()), type({}.items())):
    for _name, _symbol in _OPERATIONS:
        _method(getattr(_class, f"__{_symbol}__"), of=_TAKERS)(_combining_views(_name))
    for _name in ("==", "!=", "<", "<=", ">", ">="):
        _method(getattr(_class, COMPARE[_name][0]), of=_TAKERS)(_comparing(_name))
    _method(_class.isdisjoint, of=_TAKERS)(_of_views(_RELATIONS["isdisjoint"]))


# -- all elements of a set ------------------------------------------------------------------------

#: What takes the elements of a set and shows nothing of their order, without a `key`.
_ORDERLESS = (sorted, min, max, any, all, sum)


def _consumed(
    vm: ControlMachine, function: Any, args: list[Value], kwargs: dict[str, Value]
) -> Value:
    """A builtin that goes through all elements of a set."""
    values: Any = args[0]
    rounds = function is sum and values.holds_floats
    shows_order = "key" in kwargs or function not in _ORDERLESS or rounds
    elements = values.in_order(vm) if shows_order else values.in_any_order(vm)
    return vm.call_builtin(function, [elements, *args[1:]], kwargs)
