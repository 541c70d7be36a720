"""Lists, tuples and deques: construction, methods and special methods."""

from __future__ import annotations

import collections
from typing import Any

from ptc.capture.builtins_table.iteration import sort_values
from ptc.capture.errors import GraphBreak, Raised
from ptc.capture.interpreter.calls import builtin
from ptc.capture.interpreter.machine import Machine
from ptc.capture.interpreter.operators import native_compare
from ptc.capture.values.base import Value
from ptc.capture.values.constants import ConstantValue
from ptc.capture.values.containers import (
    DequeValue,
    ListValue,
    SequenceValue,
    TupleValue,
)

_NOT_IMPLEMENTED = ConstantValue(NotImplemented)


@builtin(list)
def _list(vm: Machine, iterable: Value | None = None) -> Value:
    return vm.list([] if iterable is None else list(vm.unpack(iterable)))


@builtin(tuple)
def _tuple(vm: Machine, iterable: Value | None = None) -> Value:
    if iterable is None:
        return vm.tuple([])
    if isinstance(iterable, TupleValue) and iterable.klass is tuple:
        return iterable
    return vm.tuple(list(vm.unpack(iterable)))


@builtin(list.__new__)
def _list_new(vm: Machine, cls: Value, *args: Value, **kwargs: Value) -> Value:
    return ListValue([], cls.constant())


@builtin(list.__init__)
def _list_init(vm: Machine, self: Value, iterable: Value | None = None) -> None:
    _as_list(self).assign(vm, [] if iterable is None else list(vm.unpack(iterable)))


@builtin(tuple.__new__)
def _tuple_new(vm: Machine, cls: Value, iterable: Value | None = None) -> Value:
    items = [] if iterable is None else list(vm.unpack(iterable))
    return TupleValue(items, cls.constant())


@builtin(collections.deque)
def _deque(vm: Machine, iterable: Value | None = None, maxlen: Value | None = None) -> Value:
    limit = None if maxlen is None else maxlen.constant()
    result = DequeValue([], maxlen=limit)
    if iterable is not None:
        result.assign(vm, list(vm.unpack(iterable)))
    return result


def _as_list(value: Value) -> ListValue:
    if not isinstance(value, ListValue):
        raise GraphBreak("PTC-B014", f"a list method is called on {value.describe()}")
    return value


# -- methods of lists ---------------------------------------------------------------------------


@builtin(list.append, collections.deque.append)
def _append(vm: Machine, self: Value, value: Value) -> None:
    _as_list(self).append(vm, value)


@builtin(list.extend, collections.deque.extend)
def _extend(vm: Machine, self: Value, iterable: Value) -> None:
    target = _as_list(self)
    target.assign(vm, [*target.items, *vm.unpack(iterable)])


@builtin(list.__iadd__, collections.deque.__iadd__)
def _inplace_add(vm: Machine, self: Value, iterable: Value) -> Value:
    _extend(vm, self, iterable)
    return self


@builtin(list.insert, collections.deque.insert)
def _insert(vm: Machine, self: Value, index: Value, value: Value) -> None:
    target = _as_list(self)
    if target.maxlen is not None and len(target.items) >= target.maxlen:
        raise vm.exception(IndexError, "deque already at its maximum size")
    items = list(target.items)
    items.insert(vm.as_index(index), value)
    target.assign(vm, items)


@builtin(list.pop, collections.deque.pop)
def _pop(vm: Machine, self: Value, index: Value | None = None) -> Value:
    target = _as_list(self)
    if not target.items:
        what = "an empty deque" if isinstance(target, DequeValue) else "empty list"
        raise vm.exception(IndexError, f"pop from {what}")
    position = -1 if index is None else vm.as_index(index)
    items = list(target.items)
    if not -len(items) <= position < len(items):
        raise vm.exception(IndexError, "pop index out of range")
    value = items.pop(position)
    target.assign(vm, items)
    return value


@builtin(collections.deque.popleft)
def _popleft(vm: Machine, self: Value) -> Value:
    target = _as_list(self)
    if not target.items:
        raise vm.exception(IndexError, "pop from an empty deque")
    value = target.items[0]
    target.assign(vm, target.items[1:])
    return value


@builtin(collections.deque.appendleft)
def _appendleft(vm: Machine, self: Value, value: Value) -> None:
    target = _as_list(self)
    assert isinstance(target, DequeValue)
    items = [value, *target.items]
    if target.maxlen is not None:
        items = items[: target.maxlen]
    target.assign(vm, items)


@builtin(collections.deque.extendleft)
def _extendleft(vm: Machine, self: Value, iterable: Value) -> None:
    for value in vm.unpack(iterable):
        _appendleft(vm, self, value)


@builtin(collections.deque.rotate)
def _rotate(vm: Machine, self: Value, count: Value | None = None) -> None:
    target = _as_list(self)
    items = collections.deque(target.items)
    items.rotate(1 if count is None else vm.as_index(count))
    target.assign(vm, list(items))


@builtin(list.remove, collections.deque.remove)
def _remove(vm: Machine, self: Value, value: Value) -> None:
    target = _as_list(self)
    position = _find(vm, target, value)
    if position is None:
        raise _not_found(vm, target, value, "remove")
    target.assign(vm, target.items[:position] + target.items[position + 1 :])


def _find(
    vm: Machine, target: SequenceValue, value: Value, start: int = 0, stop: int | None = None
):
    for position in range(
        start, len(target.items) if stop is None else min(stop, len(target.items))
    ):
        element = target.items[position]
        if vm.is_same(element, value) or vm.truth(vm.compare("==", element, value)):
            return position
    return None


def _not_found(vm: Machine, target: SequenceValue, value: Value, method: str) -> Raised:
    """The ValueError of a value that is not in a sequence; lists show it in `index` only."""
    base = _base(target)
    if base is collections.deque or (base is list and method == "index"):
        text = f"{vm.repr(value).constant()} is not in {base.__name__}"
    else:
        text = f"{base.__name__}.{method}(x): x not in {base.__name__}"
    return vm.exception(ValueError, text)


@builtin(list.index, tuple.index, collections.deque.index)
def _index(
    vm: Machine, self: Value, value: Value, start: Value | None = None, stop: Value | None = None
) -> Value:
    assert isinstance(self, SequenceValue)
    first = 0 if start is None else vm.as_index(start)
    last = len(self.items) if stop is None else vm.as_index(stop)
    first = max(first + len(self.items), 0) if first < 0 else first
    last = last + len(self.items) if last < 0 else last
    position = _find(vm, self, value, first, last)
    if position is None:
        raise _not_found(vm, self, value, "index")
    return ConstantValue(position)


@builtin(list.count, tuple.count, collections.deque.count)
def _count(vm: Machine, self: Value, value: Value) -> Value:
    assert isinstance(self, SequenceValue)
    found = sum(
        vm.is_same(element, value) or vm.truth(vm.compare("==", element, value))
        for element in self.items
    )
    return ConstantValue(found)


@builtin(list.clear, collections.deque.clear)
def _clear(vm: Machine, self: Value) -> None:
    _as_list(self).assign(vm, [])


@builtin(list.copy, collections.deque.copy)
def _copy(vm: Machine, self: Value) -> Value:
    target = _as_list(self)
    if isinstance(target, DequeValue):
        return DequeValue(list(target.items), maxlen=target.maxlen)
    return vm.list(list(target.items))


@builtin(list.reverse, collections.deque.reverse)
def _reverse(vm: Machine, self: Value) -> None:
    target = _as_list(self)
    target.assign(vm, target.items[::-1])


@builtin(list.sort)
def _sort(
    vm: Machine, self: Value, *, key: Value | None = None, reverse: Value | None = None
) -> None:
    target = _as_list(self)
    target.assign(vm, sort_values(vm, list(target.items), key, reverse))


# -- special methods, also reached by `super()` and subclasses ------------------------------------


@builtin(list.__getitem__, tuple.__getitem__, collections.deque.__getitem__)
def _getitem(vm: Machine, self: Value, key: Value) -> Value:
    return self.getitem(vm, key)


@builtin(list.__setitem__, collections.deque.__setitem__)
def _setitem(vm: Machine, self: Value, key: Value, value: Value) -> None:
    self.setitem(vm, key, value)


@builtin(list.__delitem__, collections.deque.__delitem__)
def _delitem(vm: Machine, self: Value, key: Value) -> None:
    self.delitem(vm, key)


@builtin(list.__len__, tuple.__len__, collections.deque.__len__)
def _length(vm: Machine, self: Value) -> Value:
    return self.length(vm)


@builtin(list.__iter__, tuple.__iter__, collections.deque.__iter__)
def _iterate(vm: Machine, self: Value) -> Value:
    return self.iterate(vm)


@builtin(list.__contains__, tuple.__contains__, collections.deque.__contains__)
def _contains(vm: Machine, self: Value, value: Value) -> Value:
    return vm.contains_by_iteration(self, value)


@builtin(list.__add__, tuple.__add__, collections.deque.__add__)
def _add(vm: Machine, self: Value, other: Value) -> Value:
    known = isinstance(self, SequenceValue)  # else data decides its length
    base = _base(self) if known else self.cls
    if not known or not isinstance(other, type(self)) or _base(other) is not base:
        if base is collections.deque:
            return _NOT_IMPLEMENTED
        kind = other.cls.__name__
        raise vm.type_error(
            f'can only concatenate {base.__name__} (not "{kind}") to {base.__name__}'
        )
    if isinstance(self, DequeValue):
        return DequeValue([*self.items, *other.items], maxlen=self.maxlen)
    return self.like(vm, [*self.items, *other.items])


def _base(value: SequenceValue) -> type:
    if isinstance(value, DequeValue):
        return collections.deque
    return list if isinstance(value, ListValue) else tuple


@builtin(
    list.__mul__, tuple.__mul__, collections.deque.__mul__,
    list.__rmul__, tuple.__rmul__,
    collections.deque.__rmul__,  # pyright: ignore[reportAttributeAccessIssue]  (typeshed lacks it)
)  # fmt: skip
def _repeat(vm: Machine, self: Value, count: Value) -> Value:
    assert isinstance(self, SequenceValue)
    if not vm.has_index(count):
        kind = count.cls.__name__
        raise vm.type_error(f"can't multiply sequence by non-int of type '{kind}'")
    return self.like(vm, self.items * vm.as_index(count))


@builtin(list.__imul__, collections.deque.__imul__)
def _inplace_repeat(vm: Machine, self: Value, count: Value) -> Value:
    target = _as_list(self)
    target.assign(vm, target.items * vm.as_index(count))
    return self


def _comparison(name: str) -> Any:
    def compare(vm: Machine, self: Value, other: Value) -> Value:
        result = native_compare(vm, self, name, other)
        return _NOT_IMPLEMENTED if result is None else result

    return compare


for _name in ("__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__"):
    builtin(getattr(list, _name), getattr(tuple, _name), getattr(collections.deque, _name))(
        _comparison(_name)
    )


@builtin(list.__reversed__)
def _reversed(vm: Machine, self: Value) -> Value:
    return vm.call(vm.wrap_fixed(reversed), [self])


@builtin(tuple.__hash__)
def _tuple_hash(vm: Machine, self: Value) -> Value:
    return vm.evaluate(hash, self.constant())


@builtin(list.__repr__, tuple.__repr__)
def _repr(vm: Machine, self: Value) -> Value:
    assert isinstance(self, SequenceValue)
    plain = TupleValue(self.items) if isinstance(self, TupleValue) else ListValue(self.items)
    return vm.repr(plain)
