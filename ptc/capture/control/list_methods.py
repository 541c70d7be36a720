"""Calls with lists whose length data decides, and with what iterates over one: methods of list and
deque, and builtins that consume an iterable, which are traced as the Python that they amount to.
"""

from __future__ import annotations

import collections
import types
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import sympy
import torch

from ptc.capture.control import list_elements, list_positions, list_slices, lists
from ptc.capture.control.dict_iterators import DataDictIterator
from ptc.capture.control.dicts import DataDictValue, is_view
from ptc.capture.control.handles import HandleValue
from ptc.capture.control.lists import DataListValue, holdable
from ptc.capture.control.sets import DataSetValue
from ptc.capture.control.text import text_of
from ptc.capture.control.tuples import DataTupleValue, as_list
from ptc.capture.errors import GraphBreak
from ptc.capture.interpreter.calls import builtin
from ptc.capture.polyfills import data_lists, data_slices
from ptc.capture.values.base import Value
from ptc.capture.values.constants import ConstantIterator, ConstantValue
from ptc.capture.values.containers import ListValue, SequenceIterator, SequenceValue
from ptc.capture.values.data_numbers import DataNumber
from ptc.capture.values.data_ranges import DataRange, DataRangeIterator
from ptc.capture.values.iterators import (
    EnumerateValue,
    IteratorValue,
    MapValue,
    ZipValue,
)
from ptc.capture.values.texts import TextValue, joined
from ptc.capture.values.torch_numbers import SymbolicNumber
from ptc.capture.values.torch_tensor import TensorValue
from ptc.graph.symbols import expression_of

if TYPE_CHECKING:
    from ptc.capture.control.machine import ControlMachine

Handler = Callable[..., "Value | None"]
_METHODS: dict[int, Handler] = {}
_CONSUMERS: dict[int, types.FunctionType] = {}
_NONE = ConstantValue(None)
_FEW = 4
_COUNTS = (list.count, collections.deque.count, tuple.count)


def _method(*functions: Any) -> Callable[[Handler], Handler]:
    def register(handler: Handler) -> Handler:
        for function in functions:
            _METHODS[id(function)] = handler
        return handler

    return register


def call(
    vm: ControlMachine, function: Any, args: list[Value], kwargs: dict[str, Value]
) -> Value | None:
    """The result of a call that has to do with such lists; None for all others."""
    if not args or (id(function) not in _METHODS and id(function) not in _CONSUMERS):
        return None
    polyfill = _CONSUMERS.get(id(function))
    if polyfill is not None:
        extreme = function in (min, max) and len(args) > 1
        if extreme or not unbounded(vm, vm.settle(args[0])):
            return None
        return vm.call(vm.wrap_fixed(polyfill), args, kwargs)
    args = [vm.settle(arg) for arg in args]
    if not _concerns(vm, function, args):
        return None
    result = _METHODS[id(function)](vm, *args, **kwargs)
    return _NONE if result is None else result


def _concerns(vm: ControlMachine, function: Any, args: list[Value]) -> bool:
    if isinstance(args[0], (DataListValue, DataTupleValue)):
        return True
    if function is reversed:
        return isinstance(args[0], TextValue)
    if function in _COUNTS and isinstance(args[0], SequenceValue):
        return any(isinstance(one, DataNumber) for one in (*args[0].items, *args[1:]))
    if not isinstance(args[0], ListValue) or not holdable(args[0]):
        return False
    if function in _TAKES_NUMBER:
        return len(args) > 1 and isinstance(args[1], (DataNumber, SymbolicNumber))
    return len(args) > 1 and unbounded(vm, args[1]) and id(function) in _TAKES_ITERABLE


def consumes(function: Any) -> bool:
    """Whether a builtin goes through all elements of an iterable."""
    return id(function) in _CONSUMERS


def unbounded(vm: ControlMachine, value: Value) -> bool:
    """Whether data decides how many elements an iterable has."""
    plain = (DataListValue, DataTupleValue, DataRange, DataRangeIterator, TextValue)
    if isinstance(value, plain):
        return True
    if isinstance(value, (DataDictValue, DataSetValue, DataDictIterator)) or is_view(value):
        return True
    if isinstance(value, SequenceIterator):
        return isinstance(value.sequence, DataListValue) or not isinstance(value.position, int)
    if isinstance(value, EnumerateValue):
        return unbounded(vm, value.inner)
    if isinstance(value, ZipValue):
        return _all_unbounded(vm, value.inner)
    if isinstance(value, MapValue):
        return _all_unbounded(vm, value.inner)
    return isinstance(value, (ReversedList, RowIterator)) or has_data_rows(value)


def _all_unbounded(vm: ControlMachine, values: list[Value]) -> bool:
    by_data = [unbounded(vm, value) for value in values]
    pairs = zip(by_data, values, strict=True)
    return any(by_data) and all(known or _is_long(value) for known, value in pairs)


def _is_long(value: Value) -> bool:
    """Whether an iterator has too many elements to take each number of them by itself."""
    if isinstance(value, (MapValue, ZipValue)):
        return all(map(_is_long, value.inner))
    if isinstance(value, EnumerateValue):
        return _is_long(value.inner)
    if isinstance(value, SequenceIterator) and isinstance(value.position, int):
        return len(value.sequence.items) - value.position > _FEW
    content = value.content if isinstance(value, ConstantIterator) else None
    return isinstance(content, range) and len(content) > _FEW


def has_data_rows(value: Value) -> bool:
    """Whether a value is a tensor whose first size is symbolic."""
    return (
        isinstance(value, TensorValue)
        and value.fake.dim() > 0
        and isinstance(value.fake.shape[0], torch.SymInt)
    )


# -- methods --------------------------------------------------------------------------------------


@_method(list.append, collections.deque.append)
def _append(vm: ControlMachine, self: DataListValue, value: Value) -> None:
    self.append(vm, value)


@_method(list.extend, collections.deque.extend, list.__iadd__, collections.deque.__iadd__)
def _extend(vm: ControlMachine, self: Any, iterable: Value) -> Value | None:
    if isinstance(iterable, DataListValue):
        lists.hold(vm, self, [iterable.items])
        lists.extend(vm, self, iterable)
    elif unbounded(vm, iterable):
        vm.call(vm.wrap_fixed(data_lists.extend), [self, iterable])
    else:
        # Whatever is to be asked is asked before anything is written
        for value in [lists.definite(vm, self, value) for value in vm.unpack(iterable)]:
            self.append(vm, value)
    return self


@_method(list.insert, collections.deque.insert)
def _insert(vm: ControlMachine, self: Any, index: Value, value: Value) -> None:
    if self.maxlen is not None:
        raise GraphBreak("PTC-B006", f"an element is inserted in {self.describe()} with a bound")
    lists.hold(vm, self, [[value]])
    lists.insert(vm, self, index, value)


@_method(collections.deque.appendleft)
def _appendleft(vm: ControlMachine, self: DataListValue, value: Value) -> None:
    if self.maxlen is not None:
        if self.maxlen == 0:
            return
        if list_positions.longer(vm, self, self.maxlen - 1):
            last = vm.binary("-", vm.length(self), ConstantValue(1))
            lists.pop(vm, self, last)
    lists.insert(vm, self, ConstantValue(0), value)


@_method(list.pop, collections.deque.pop)
def _pop(vm: ControlMachine, self: Any, index: Value | None = None) -> Value:
    lists.hold(vm, self)
    if not list_positions.longer(vm, self, 0):
        what = "an empty deque" if self.noun == "deque" else "empty list"
        raise vm.exception(IndexError, f"pop from {what}")
    position = list_positions.valid_index(
        vm, self, index or ConstantValue(-1), "pop index out of range"
    )
    return lists.pop(vm, self, position)


@_method(collections.deque.popleft)
def _popleft(vm: ControlMachine, self: DataListValue) -> Value:
    if not list_positions.longer(vm, self, 0):
        raise vm.exception(IndexError, "pop from an empty deque")
    return lists.pop(vm, self, ConstantValue(0))


@_method(collections.deque.rotate)
def _rotate(vm: ControlMachine, self: DataListValue, count: Value | None = None) -> None:
    vm.call(vm.wrap_fixed(data_slices.rotate), [self, count or ConstantValue(1)])


@_method(list.clear, collections.deque.clear)
def _clear(vm: ControlMachine, self: DataListValue) -> None:
    lists.clear(vm, self)


@_method(list.reverse, collections.deque.reverse)
def _reverse(vm: ControlMachine, self: DataListValue) -> None:
    lists.reverse(vm, self)


@_method(list.copy, collections.deque.copy)
def _copy(vm: ControlMachine, self: DataListValue) -> Value:
    return lists.copied(vm, self)


@_method(list.__getitem__, collections.deque.__getitem__, tuple.__getitem__)
def _getitem(vm: ControlMachine, self: Value, key: Value) -> Value:
    return self.getitem(vm, key)


@_method(list.__setitem__, collections.deque.__setitem__)
def _setitem(vm: ControlMachine, self: Value, key: Value, value: Value) -> None:
    self.setitem(vm, key, value)


@_method(list.__delitem__, collections.deque.__delitem__)
def _delitem(vm: ControlMachine, self: Any, key: Value) -> None:
    lists.hold(vm, self)
    self.delitem(vm, key)


@_method(list.__len__, collections.deque.__len__, tuple.__len__)
def _length(vm: ControlMachine, self: Value) -> Value:
    return self.length(vm)


@_method(list.__iter__, collections.deque.__iter__, tuple.__iter__)
def _iterate(vm: ControlMachine, self: Value) -> Value:
    return self.iterate(vm)


@_method(reversed, list.__reversed__)
def _reversed(vm: ControlMachine, self: Value) -> Value:
    if isinstance(self, TextValue):
        return vm.iterate(vm.text_operation("reversed", [self]))
    return ReversedList(as_list(self), vm.length(self))  # type: ignore[arg-type]


@_method(list.sort)
def _sort(
    vm: ControlMachine, self: Value, *, key: Value | None = None, reverse: Value | None = None
) -> None:
    vm.call(vm.wrap_fixed(data_lists.sort), [self, key or _NONE, reverse or ConstantValue(False)])


for _originals, _search in (
    ((list.index, tuple.index), data_lists.index_of),
    ((list.remove, collections.deque.remove), data_lists.remove),
    (
        (list.__contains__, collections.deque.__contains__, tuple.__contains__),
        data_lists.contains,
    ),
):
    _method(*_originals)(
        lambda vm, *args, _search=_search: vm.call(vm.wrap_fixed(_search), list(args))
    )


@_method(*_COUNTS)
def _count(vm: ControlMachine, self: Value, wanted: Value) -> Value | None:
    """Of a list of known length: the comparisons' sum, so that the elements are no branches."""
    if not isinstance(self, SequenceValue):
        return vm.call(vm.wrap_fixed(data_lists.count_of), [self, wanted])
    found: Value = ConstantValue(0)
    for element in self.items:
        if element is wanted:
            equal: Value = ConstantValue(True)
        elif vm.is_number(element) and vm.is_number(wanted):
            equal = vm.compare("==", element, wanted)
        else:
            same = vm.is_same(element, wanted)
            equal = ConstantValue(same or vm.truth(vm.compare("==", element, wanted)))
        found = vm.binary("+", found, equal)
    return found


@builtin(data_lists.matches)
def _matches(vm: ControlMachine, value: Value, wanted: Value) -> Value:
    if isinstance(value, (HandleValue, TensorValue)) and vm.is_same(value, wanted):
        return ConstantValue(True)
    return vm.compare("==", value, wanted)


@_method(list.__mul__, list.__rmul__)
def _repeat(vm: ControlMachine, self: Value, count: Value) -> Value:
    return _repeated(vm, self, count)


def _repeated(vm: ControlMachine, self: Value, count: Value) -> Value:
    if not vm.has_index(count):
        kind = count.cls.__name__
        raise vm.type_error(f"can't multiply sequence by non-int of type '{kind}'")
    return vm.call(vm.wrap_fixed(data_lists.repeated), [self, count])


@_method(list.__imul__)
def _repeat_in_place(vm: ControlMachine, self: Value, count: Value) -> Value:
    repeated = _repeated(vm, self, count)
    vm.call_method(self, "clear", [])
    vm.call_method(self, "extend", [repeated])
    return self


#: Methods of a list of known elements that take a number which data may decide.
_TAKES_NUMBER = (
    list.insert, list.pop, list.__delitem__, list.__mul__, list.__rmul__, list.__imul__,
    collections.deque.insert,
)  # fmt: skip

_TAKES_ITERABLE = {
    id(list.extend), id(collections.deque.extend), id(list.__iadd__),
    id(collections.deque.__iadd__),
}  # fmt: skip


# -- iterators ------------------------------------------------------------------------------------


class ReversedList(IteratorValue):
    """`reversed` of such a list; `total` is what its length was when the iterator was made."""

    __slots__ = ("position", "sequence", "total")

    def __init__(self, sequence: DataListValue, length: Value) -> None:
        super().__init__()
        self.sequence = sequence
        self.total = length
        self.position: Any = ConstantValue(0)

    @property
    def cls(self) -> type:
        return type(reversed([]))

    def next(self, vm: ControlMachine) -> Value | None:  # type: ignore[override]
        if not vm.truth(vm.compare("<", self.position, self.total)):
            return None
        index = self._index(vm)
        if not vm.truth(vm.compare("<", index, vm.length(self.sequence))):
            return None  # the list was shortened
        found = self.sequence.element(vm, index)
        following = vm.binary("+", self.position, ConstantValue(1))
        vm.journal.assign(self, "position", following)
        return found

    def _index(self, vm: ControlMachine) -> Value:
        last = vm.binary("-", self.total, ConstantValue(1))
        return vm.binary("-", last, self.position)

    def element(self, vm: ControlMachine, position: Value) -> Value:
        raise AssertionError("see `next`")


class RowIterator(IteratorValue):
    """Over the rows of a tensor whose number is a symbolic size."""

    __slots__ = ("position", "tensor")

    def __init__(self, tensor: TensorValue) -> None:
        super().__init__()
        self.tensor = tensor
        self.position: Any = ConstantValue(0)

    @property
    def cls(self) -> type:
        return type(iter(()))

    def next(self, vm: ControlMachine) -> Value | None:  # type: ignore[override]
        return vm.next_by_data(self)

    def count(self, vm: ControlMachine) -> Value:
        return vm.length(self.tensor)

    def element(self, vm: ControlMachine, position: Value) -> Value:
        if isinstance(position, DataNumber):
            index = vm.size_symbol(position.var, 0)
            rows = expression_of(self.tensor.fake.shape[0])
            vm.facts.assume(sympy.Lt(expression_of(index), rows), True)
            position = SymbolicNumber(index, None)  # type: ignore[arg-type]
        return vm.getitem(self.tensor, position)


# -- consumers ------------------------------------------------------------------------------------

for _function, _polyfill in (
    (list, data_lists.list_of), (sum, data_lists.total), (any, data_lists.any_of),
    (all, data_lists.all_of), (min, data_lists.smallest), (max, data_lists.largest),
    (sorted, data_lists.in_order), (collections.deque, data_lists.deque_of),
    (tuple, data_lists.tuple_of),
):  # fmt: skip
    _CONSUMERS[id(_function)] = _polyfill


@_method(frozenset)
def _fixed(vm: ControlMachine, self: Value, *args: Value) -> Value:
    raise GraphBreak(
        "PTC-B006",
        f"a frozenset is made of {self.describe()}",
        "keep it a list",
    )


# -- unpacking ------------------------------------------------------------------------------------


def not_unpacked(value: Value) -> GraphBreak:
    return GraphBreak(
        "PTC-B006",
        f"all elements of {value.describe()} are taken at once, and data decides how many there "
        "are",
        "go through them in a loop",
    )


def unpacked(
    vm: ControlMachine, value: Value, before: int, after: int | None
) -> list[Value] | None:
    """See `Machine.unpack_by_data`."""
    vm.order_by_data(value)
    if not unbounded(vm, value):
        return None
    value = as_list(value)
    if isinstance(value, TextValue):
        value = vm.text_operation("characters", [value])
    elif isinstance(value, DataSetValue):
        value = value.in_order(vm)
    elif isinstance(value, DataDictValue):
        value = value.key_list
    elif not isinstance(value, DataListValue):
        value = vm.call(vm.wrap_fixed(data_lists.list_of), [value])
    if not isinstance(value, DataListValue):
        return None
    count = vm.length(value)
    least = before + (after or 0)
    if not list_positions.longer(vm, value, least - 1):
        at_least = "at least " if after is not None else ""
        text = joined((f"not enough values to unpack (expected {at_least}{least}, got ",
                       *text_of(vm, vm.str(count)), ")"))  # fmt: skip
        raise vm.raised(ValueError, [text])
    if after is None and list_positions.longer(vm, value, least):
        text = f"too many values to unpack (expected {least})"
        raise vm.exception(ValueError, text)
    first = [list_elements.element(vm, value, ConstantValue(i)) for i in range(before)]
    if after is None:
        return first
    middle = list_slices.between(vm, value, before, after)
    last = [vm.getitem(value, ConstantValue(i - after)) for i in range(after)]
    return [*first, middle, *last]


def extended(vm: ControlMachine, target: Any, values: Value) -> bool:
    """See `Machine.extend_by_data`."""
    vm.order_by_data(values)
    if not unbounded(vm, values):
        return False
    _extend(vm, target, values)
    return True


__all__ = ["ReversedList", "RowIterator", "call", "has_data_rows", "unbounded"]
