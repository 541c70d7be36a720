"""Dictionaries (with OrderedDict, defaultdict, Counter), their views, and sets."""

from __future__ import annotations

import collections
from typing import Any

from ptc.capture.errors import GraphBreak
from ptc.capture.interpreter.calls import builtin
from ptc.capture.interpreter.machine import Machine
from ptc.capture.interpreter.operators import (
    compare_sets,
    distinct,
    key_of,
    native_compare,
    set_elements,
)
from ptc.capture.values.base import Value
from ptc.capture.values.constants import ConstantValue
from ptc.capture.values.mappings import DictValue, DictViewValue, SetValue
from ptc.capture.values.set_history import (
    GROWN,
    History,
    Ordered,
    Other,
    changed,
    cleared,
    combined,
    in_order,
    of_real,
)

_NOT_IMPLEMENTED = ConstantValue(NotImplemented)
_ordered = collections.OrderedDict


def _as_dict(value: Value) -> DictValue:
    if not isinstance(value, DictValue):
        raise GraphBreak("PTC-B014", f"a dict method is called on {value.describe()}")
    return value


def update(vm: Machine, target: DictValue, other: Value | None, kwargs: dict[str, Value]) -> None:
    """`target.update(other, **kwargs)`"""
    if other is not None:
        if isinstance(other, DictValue) or vm.hasattr(other, "keys"):
            overridden = _overrides(vm, target)
            for key, value in vm.mapping_items(other):
                if overridden:
                    vm.setitem(target, key, value)
                else:
                    target.setitem(vm, key, value)
        else:
            for pair in vm.unpack(other):
                key, value = vm.unpack(pair)
                target.setitem(vm, key, value)
    for name, value in kwargs.items():
        target.setitem(vm, ConstantValue(name), value)


def _overrides(vm: Machine, target: DictValue) -> bool:
    """OrderedDict's own update goes through `__setitem__`; dict's does not."""
    return (
        issubclass(target.klass, _ordered) and vm.python_method(target, "__setitem__") is not None
    )


@builtin(dict)
def _dict(vm: Machine, other: Value | None = None, /, **kwargs: Value) -> Value:
    result = DictValue()
    update(vm, result, other, kwargs)
    return result


@builtin(dict.__new__, _ordered.__new__)
def _dict_new(vm: Machine, cls: Value, *args: Value, **kwargs: Value) -> Value:
    return DictValue(klass=cls.constant())


@builtin(dict.__init__, _ordered.__init__)
def _dict_init(vm: Machine, self: Value, other: Value | None = None, /, **kwargs: Value) -> None:
    update(vm, _as_dict(self), other, kwargs)


@builtin(dict.update, _ordered.update)
def _update(vm: Machine, self: Value, other: Value | None = None, /, **kwargs: Value) -> None:
    update(vm, _as_dict(self), other, kwargs)


@builtin(collections.defaultdict)
def _defaultdict(
    vm: Machine, factory: Value | None = None, other: Value | None = None, /, **kwargs: Value
) -> Value:
    result = DictValue(klass=collections.defaultdict)
    result.factory = factory
    update(vm, result, other, kwargs)
    return result


def _from_keys(vm: Machine, cls: Value, keys: Value, value: Value | None = None) -> Value:
    result = vm.call(cls, [])
    for key in vm.unpack(keys):
        vm.setitem(result, key, value or ConstantValue(None))
    return result


builtin(dict.__dict__["fromkeys"])(_from_keys)


@builtin(dict.get)
def _get(vm: Machine, self: Value, key: Value, default: Value | None = None) -> Value:
    found = _as_dict(self).find(vm, key)
    return found if found is not None else default or ConstantValue(None)


@builtin(dict.setdefault, _ordered.setdefault)
def _setdefault(vm: Machine, self: Value, key: Value, default: Value | None = None) -> Value:
    found = _as_dict(self).find(vm, key)
    if found is None:
        found = default or ConstantValue(None)
        vm.setitem(self, key, found)
    return found


@builtin(dict.pop, _ordered.pop)
def _pop(vm: Machine, self: Value, key: Value, default: Value | None = None) -> Value:
    found = _as_dict(self).find(vm, key)
    if found is None:
        if default is None:
            raise vm.raised(KeyError, [key])
        return default
    _as_dict(self).delitem(vm, key)
    return found


@builtin(dict.popitem)
def _popitem(vm: Machine, self: Value) -> Value:
    return _pop_end(vm, self, True)


@builtin(_ordered.popitem)
def _ordered_popitem(vm: Machine, self: Value, last: Value | None = None) -> Value:
    return _pop_end(vm, self, last is None or vm.truth(last))


def _pop_end(vm: Machine, self: Value, last: bool) -> Value:
    target = _as_dict(self)
    pairs = vm.dict_items(target)
    if not pairs:
        raise vm.exception(KeyError, "popitem(): dictionary is empty")
    key, value = pairs[-1 if last else 0]
    target.changes.reused = True
    target.delitem(vm, key)
    return vm.tuple([key, value])


@builtin(_ordered.move_to_end)
def _move_to_end(vm: Machine, self: Value, key: Value, last: Value | None = None) -> None:
    target = _as_dict(self)
    target.load_all(vm)
    hashed = vm.key_in(target.entries, key)
    if hashed not in target.entries:
        raise vm.raised(KeyError, [key])
    rest = {k: v for k, v in target.entries.items() if k != hashed}
    moved = {hashed: target.entries[hashed]}
    to_end = last is None or vm.truth(last)
    target.assign(vm, {**rest, **moved} if to_end else {**moved, **rest})


@builtin(dict.clear, _ordered.clear)
def _clear(vm: Machine, self: Value) -> None:
    target = _as_dict(self)
    target.load_all(vm)
    target.changes.reused = True
    target.assign(vm, {})


@builtin(dict.copy, _ordered.copy, collections.defaultdict.copy)
def _copy(vm: Machine, self: Value) -> Value:
    source = _as_dict(self)
    source.load_all(vm)
    klass = (
        dict
        if issubclass(source.klass, dict)
        and source.klass not in (_ordered, collections.defaultdict)
        else source.klass
    )
    result = DictValue(dict(source.entries), klass)
    result.changes.inherit(source.changes)  # CPython copies holes too
    result.factory = source.factory
    return result


@builtin(dict.keys, _ordered.keys)
def _keys(vm: Machine, self: Value) -> Value:
    return DictViewValue(_as_dict(self), "keys")


@builtin(dict.values, _ordered.values)
def _values(vm: Machine, self: Value) -> Value:
    return DictViewValue(_as_dict(self), "values")


@builtin(dict.items, _ordered.items)
def _items(vm: Machine, self: Value) -> Value:
    return DictViewValue(_as_dict(self), "items")


@builtin(dict.__getitem__)
def _getitem(vm: Machine, self: Value, key: Value) -> Value:
    return _as_dict(self).getitem(vm, key)


@builtin(dict.__setitem__, _ordered.__setitem__)
def _setitem(vm: Machine, self: Value, key: Value, value: Value) -> None:
    _as_dict(self).setitem(vm, key, value)


@builtin(dict.__delitem__, _ordered.__delitem__)
def _delitem(vm: Machine, self: Value, key: Value) -> None:
    _as_dict(self).delitem(vm, key)


@builtin(dict.__contains__)
def _contains(vm: Machine, self: Value, key: Value) -> Value:
    return _as_dict(self).contains(vm, key)


@builtin(dict.__len__)
def _len(vm: Machine, self: Value) -> Value:
    return _as_dict(self).length(vm)


@builtin(dict.__iter__, _ordered.__iter__)
def _iter(vm: Machine, self: Value) -> Value:
    return _as_dict(self).iterate(vm)


@builtin(dict.__or__, _ordered.__or__, collections.defaultdict.__or__)
def _or(vm: Machine, self: Value, other: Value) -> Value:
    if not isinstance(other, DictValue) or not isinstance(self, DictValue):
        return _NOT_IMPLEMENTED
    result = _copy(vm, self)
    assert isinstance(result, DictValue)
    result.update_from(vm, other)
    return result


@builtin(dict.__ior__, _ordered.__ior__)
def _ior(vm: Machine, self: Value, other: Value) -> Value:
    update(vm, _as_dict(self), other, {})
    return self


def _equality(name: str) -> Any:
    def compare(vm: Machine, self: Value, other: Value) -> Value:
        result = native_compare(vm, self, name, other)
        return _NOT_IMPLEMENTED if result is None else result

    return compare


builtin(dict.__eq__, _ordered.__eq__)(_equality("__eq__"))
builtin(dict.__ne__, _ordered.__ne__)(_equality("__ne__"))


@builtin(dict.__repr__)
def _dict_repr(vm: Machine, self: Value) -> Value:
    source = _as_dict(self)
    source.load_all(vm)
    return vm.repr(DictValue(source.entries))


# -- sets ---------------------------------------------------------------------------------------


def _like_set(vm: Machine, cls: type, iterable: Value) -> SetValue:
    """The set of the elements of an iterable."""
    other = _other(vm, iterable, None)
    if other.ordered is not None:
        return _set_value(other.ordered.copied(), cls)
    if other.is_dict and _all_constant(other.elements):
        return _set_value(other.as_set(), cls)
    known = GROWN if set_elements(vm, iterable) is None and not other.is_dict else None
    return SetValue(other.elements, cls, history=known)


def _make_set(vm: Machine, cls: type, iterable: Value | None) -> Value:
    if iterable is None:
        result = SetValue({}, cls)
    else:
        result = _like_set(vm, cls, iterable)
    return _folded(result)


@builtin(set)
def _set(vm: Machine, iterable: Value | None = None) -> Value:
    return _make_set(vm, set, iterable)


@builtin(frozenset)
def _frozenset(vm: Machine, iterable: Value | None = None) -> Value:
    return _make_set(vm, frozenset, iterable)


@builtin(set.add)
def _add(vm: Machine, self: Value, value: Value) -> None:
    _as_set(self).add(vm, value)


def _as_set(value: Value) -> SetValue:
    if not isinstance(value, SetValue):
        raise GraphBreak("PTC-B014", f"a set method is called on {value.describe()}")
    return value


@builtin(set.discard)
def _discard(vm: Machine, self: Value, value: Value) -> None:
    target = _as_set(self)
    vm.settle_presence(target.elements)
    hashed = vm.key_in(target.elements, value)
    if hashed in target.elements:
        known = Ordered.of(target.history, target.elements)
        if known is not None:
            known.discard(hashed)
        rest = {k: v for k, v in target.elements.items() if k != hashed}
        target.assign(vm, rest, known.history if known is not None else None)


@builtin(set.remove)
def _remove(vm: Machine, self: Value, value: Value) -> None:
    if not vm.truth(_as_set(self).contains(vm, value)):
        raise vm.raised(KeyError, [value])
    _discard(vm, self, value)


@builtin(set.pop)
def _set_pop(vm: Machine, self: Value) -> Value:
    target = _as_set(self)
    if vm.order_by_data(target):
        return vm.call_builtin(set.pop, [self], {})
    if not target.truth(vm):
        raise vm.exception(KeyError, "pop from an empty set")
    known = Ordered.of(target.history, target.elements)
    if known is None:
        value = target.ordered(vm)[0]
        _discard(vm, self, value)
        return value
    value = known.pop()
    target.assign(vm, known.elements, known.history)
    return value


@builtin(set.clear)
def _set_clear(vm: Machine, self: Value) -> None:
    target = _as_set(self)
    target.assign(vm, {}, cleared(target.history))


@builtin(set.copy)
def _set_copy(vm: Machine, self: Value) -> Value:
    vm.settle_presence(_as_set(self).elements)
    return _like_set(vm, set, self)


def _elements(vm: Machine, value: Value) -> dict[Any, Value]:
    known = set_elements(vm, value)
    return distinct(vm, vm.unpack(value)) if known is None else known


def _combine(
    vm: Machine, name: str, left: dict[Any, Value], right: dict[Any, Value], is_set: bool
) -> dict[Any, Value]:
    """Of equal elements the one that CPython keeps. `is_set`: `right` is a set, no iterable."""
    if name == "intersection":
        few, many = (left, right) if is_set and len(right) > len(left) else (right, left)
        return {k: v for k, v in few.items() if key_of(vm, many, v)}
    shared: list[Any] = []  # keys of `right`
    own: dict[Any, Value] = {}
    for key, value in left.items():
        found = key_of(vm, right, value)
        shared += found
        if not found:
            own[key] = value
    if name == "difference":
        return own
    others = {k: v for k, v in right.items() if k not in shared}
    return {**(left if name == "union" else own), **others}


def _all_constant(elements: dict[Any, Value]) -> bool:
    return all(value.is_constant() for value in elements.values())


def _set_value(known: Ordered, klass: type) -> SetValue:
    return SetValue(known.elements, klass, history=known.history)


def _history(value: Value) -> History | None:
    """How a set came to be; of a view there is nothing to know."""
    if isinstance(value, SetValue):
        return value.history
    if isinstance(value, ConstantValue) and isinstance(value.value, (frozenset, set)):
        return of_real(value.value)
    return None


def _other(vm: Machine, value: Value, self: Value | None) -> Other:
    """What a method of the set `self` takes."""
    elements = _elements(vm, value)
    if issubclass(value.cls, (set, frozenset)):
        return Other(elements, Ordered.of(_history(value), elements), same=value is self)
    return Other(elements, is_dict=value.cls is dict)


def _set_method(name: str, in_place: bool) -> Any:
    def method(vm: Machine, self: Value, *others: Value) -> Value:
        mine = _elements(vm, self)
        result, known = dict(mine), Ordered.of(_history(self), mine)
        if known is not None and not in_place and not others:
            known = known.copied()
        for number, value in enumerate(others):
            other = _other(vm, value, self)
            is_set = issubclass(value.cls, (set, frozenset))
            fixed = in_place or (number > 0 and name in ("union", "difference"))
            known = _followed(name, known, other, is_set, fixed)
            result = _combine(vm, name, result, other.elements, is_set)
        if in_place:
            _assign(vm, self, result, known)
            return ConstantValue(None)
        return _like(self, result, known)

    return method


def _followed(
    name: str, known: Ordered | None, other: Other, is_set: bool, in_place: bool
) -> Ordered | None:
    """The order of what a method makes, if it is known."""
    if known is None or (is_set and other.ordered is None) or not _all_constant(other.elements):
        return None
    return (changed if in_place else combined)(name, known, other)


def _assign(vm: Machine, target: Value, elements: dict[Any, Value], known: Ordered | None) -> None:
    if known is None:
        _as_set(target).assign(vm, elements)
    else:
        _as_set(target).assign(vm, known.elements, known.history)


def _like(model: Value, elements: dict[Any, Value], known: Ordered | None) -> Value:
    klass = frozenset if issubclass(model.cls, frozenset) else set
    result = SetValue(elements, klass, history=None) if known is None else _set_value(known, klass)
    return _folded(result)


def _folded(value: SetValue) -> Value:
    """A frozenset of constants as one, where that has the same order."""
    if value.klass is not frozenset or not value.is_constant():
        return value
    real = value.constant()
    known = in_order(value.history, list(value.elements.values()))
    same = known is None or [one.constant() for one in known] == list(real)
    return ConstantValue(real) if same else value


def _set_operator(name: str, in_place: bool) -> Any:
    def method(vm: Machine, self: Value, other: Value) -> Value:
        left, right = set_elements(vm, self), set_elements(vm, other)
        if left is None or right is None:
            return _NOT_IMPLEMENTED
        known = _followed(
            name,
            Ordered.of(_history(self), left),
            Other(right, Ordered.of(_history(other), right), same=other is self),
            True,
            in_place,
        )
        result = _combine(vm, name, left, right, True)
        if in_place:
            _assign(vm, self, result, known)
            return self
        return _like(self, result, known)

    return method


_key_view, _item_view = type({}.keys()), type({}.items())
for _method, _operator in (
    ("union", "or"), ("intersection", "and"), ("difference", "sub"), ("symmetric_difference",
    "xor"),
):  # fmt: skip
    for _class in (set, frozenset):
        builtin(getattr(_class, _method))(_set_method(_method, False))
    _update_name = "update" if _method == "union" else f"{_method}_update"
    builtin(getattr(set, _update_name))(_set_method(_method, True))
    builtin(getattr(set, f"__i{_operator}__"))(_set_operator(_method, True))
    for _class in (set, frozenset, _key_view, _item_view):
        builtin(getattr(_class, f"__{_operator}__"))(_set_operator(_method, False))


def _relation(name: str) -> Any:
    def method(vm: Machine, self: Value, other: Value) -> Value:
        return ConstantValue(compare_sets(vm, name, _elements(vm, self), _elements(vm, other)))

    return method


for _name, _special in (("issubset", "__le__"), ("issuperset", "__ge__")):
    builtin(getattr(set, _name), getattr(frozenset, _name))(_relation(_special))


@builtin(set.isdisjoint, frozenset.isdisjoint)
def _is_disjoint(vm: Machine, self: Value, other: Value) -> bool:
    mine, theirs = _elements(vm, self), _elements(vm, other)
    return not any(key_of(vm, mine, value) for value in theirs.values())


@builtin(set.__contains__, frozenset.__contains__)
def _set_contains(vm: Machine, self: Value, value: Value) -> Value:
    return self.contains(vm, value)


@builtin(set.__len__, frozenset.__len__)
def _set_len(vm: Machine, self: Value) -> Value:
    return self.length(vm)


@builtin(set.__iter__, frozenset.__iter__)
def _set_iter(vm: Machine, self: Value) -> Value:
    return self.iterate(vm)


for _name in ("__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__"):
    for _class in (set, frozenset, _key_view, _item_view):
        builtin(getattr(_class, _name))(_equality(_name))
