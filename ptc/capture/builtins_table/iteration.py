"""Builtin functions that iterate, order or drive generators."""

from __future__ import annotations

import types

from ptc.capture.errors import GraphBreak, NotConstant, Raised
from ptc.capture.interpreter.calls import builtin
from ptc.capture.interpreter.machine import Machine
from ptc.capture.values.base import Value
from ptc.capture.values.callables import ClassValue
from ptc.capture.values.constants import ConstantValue
from ptc.capture.values.containers import SequenceValue
from ptc.capture.values.data_ranges import DataRange
from ptc.capture.values.iterators import (
    EnumerateValue,
    FilterValue,
    GeneratorValue,
    MapValue,
    ReversedValue,
    SentinelIterator,
    ZipValue,
)
from ptc.capture.values.mappings import DictValue, DictViewValue


@builtin(iter)
def _iter(vm: Machine, obj: Value, sentinel: Value | None = None) -> Value:
    return vm.iterate(obj) if sentinel is None else SentinelIterator(obj, sentinel)


@builtin(next)
def _next(vm: Machine, iterator: Value, default: Value | None = None) -> Value:
    if not hasattr(iterator.cls, "__next__"):
        raise vm.type_error(f"'{iterator.cls.__name__}' object is not an iterator")
    vm.stop_value = None
    value = vm.next(iterator)
    if value is not None:
        return value
    if default is not None:
        return default
    raise vm.stop_iteration(iterator)


@builtin(enumerate)
def _enumerate(vm: Machine, iterable: Value, start: Value | None = None) -> Value:
    return EnumerateValue(vm.iterate(iterable), start or ConstantValue(0))


@builtin(zip)
def _zip(vm: Machine, *iterables: Value, strict: Value | None = None) -> Value:
    inner = [vm.iterate(iterable) for iterable in iterables]
    return ZipValue(inner, strict is not None and vm.truth(strict))


@builtin(map)
def _map(vm: Machine, func: Value, *iterables: Value) -> Value:
    if not iterables:
        raise vm.type_error("map() must have at least two arguments.")
    return MapValue(func, [vm.iterate(iterable) for iterable in iterables])


@builtin(filter)
def _filter(vm: Machine, func: Value, iterable: Value) -> Value:
    return FilterValue(func, vm.iterate(iterable))


@builtin(reversed)
def _reversed(vm: Machine, obj: Value) -> Value:
    method = vm.python_method(obj, "__reversed__")
    if method is not None:
        return vm.call(method, [obj])
    if isinstance(obj, SequenceValue):
        return ReversedValue(obj)
    if isinstance(obj, DictValue):
        return obj.iterator(vm, "keys", backward=True)
    if isinstance(obj, DictViewValue):
        return obj.mapping.iterator(vm, obj.kind, backward=True)
    if isinstance(obj, ConstantValue) and isinstance(obj.value, (range, str, bytes)):
        return vm.iterate(ConstantValue(obj.value[::-1]))
    if isinstance(obj, DataRange):
        return vm.iterate(obj.backward(vm))
    size = vm.as_index(vm.length(obj))
    items = [vm.getitem(obj, ConstantValue(i)) for i in range(size - 1, -1, -1)]
    return vm.iterate(vm.list(items))


@builtin(any)
def _any(vm: Machine, iterable: Value) -> Value:
    iterator = vm.iterate(iterable)
    while (value := vm.next(iterator)) is not None:
        if vm.truth(value):
            return ConstantValue(True)
    return ConstantValue(False)


@builtin(all)
def _all(vm: Machine, iterable: Value) -> Value:
    iterator = vm.iterate(iterable)
    while (value := vm.next(iterator)) is not None:
        if not vm.truth(value):
            return ConstantValue(False)
    return ConstantValue(True)


@builtin(sum)
def _sum(vm: Machine, iterable: Value, start: Value | None = None) -> Value:
    total = start or ConstantValue(0)
    if total.cls is str:
        raise vm.type_error("sum() can't sum strings [use ''.join(seq) instead]")
    values = vm.unpack(iterable)
    if all(isinstance(v, ConstantValue) for v in (total, *values)):
        # 3.12 sums floats with compensation: let the host do it
        return vm.evaluate(sum, [v.constant() for v in values], total.constant())
    for value in values:
        total = vm.binary("+", total, value)
    return total


@builtin(min)
def _min(vm: Machine, *args: Value, key: Value | None = None, default: Value | None = None):
    return _extreme(vm, "<", "min", args, key, default)


@builtin(max)
def _max(vm: Machine, *args: Value, key: Value | None = None, default: Value | None = None):
    return _extreme(vm, ">", "max", args, key, default)


def _extreme(
    vm: Machine,
    op: str,
    name: str,
    args: tuple[Value, ...],
    key: Value | None,
    default: Value | None,
) -> Value:
    if not args:
        raise vm.type_error(f"{name} expected at least 1 argument, got 0")
    first, *others = args
    values = list(args) if others else vm.unpack(first)
    if key is not None and key.cls is type(None):
        key = None
    if not values:
        if default is not None:
            return default
        text = f"{name}() arg is an empty sequence"
        if vm.python_version >= (3, 12):
            text = f"{name}() iterable argument is empty"
        raise vm.exception(ValueError, text)
    best = values[0]
    symbolic = None if key is not None else vm.symbolic_extreme(name, values)
    if symbolic is not None:
        return symbolic
    best_key = best if key is None else vm.call(key, [best])
    for value in values[1:]:
        value_key = value if key is None else vm.call(key, [value])
        if vm.truth(vm.compare(op, value_key, best_key)):
            best, best_key = value, value_key
    return best


@builtin(sorted)
def _sorted(vm: Machine, iterable: Value, key: Value | None = None, reverse: Value | None = None):
    values = list(vm.unpack(iterable))
    return vm.list(sort_values(vm, values, key, reverse))


def sort_values(
    vm: Machine, values: list[Value], key: Value | None, reverse: Value | None
) -> list[Value]:
    """A stable sort by `<` of the keys."""
    backward = reverse is not None and vm.truth(reverse)
    no_key = key is None or key.cls is type(None)
    keys = values if no_key else [vm.call(key, [value]) for value in values]  # type: ignore[arg-type]
    order = list(range(len(values)))
    try:
        constants = [k.constant() for k in keys]
    except NotConstant:
        constants = None
    if constants is not None:
        try:
            order.sort(key=lambda i: constants[i], reverse=backward)
        except TypeError as error:
            raise vm.native_exception(error) from None
    else:
        found = vm.exchanged(values, keys, backward)
        if found is not None:
            return found
        if backward:
            order.reverse()
        order = _sorted_order(vm, order, keys)
        if backward:
            order.reverse()
    return [values[i] for i in order]


def _sorted_order(vm: Machine, order: list[int], keys: list[Value]) -> list[int]:
    """As CPython sorts, see `polyfills.data_lists.in_order`."""

    def less(one: int, other: int) -> bool:
        return vm.truth(vm.compare("<", keys[one], keys[other]))

    vm.require_order(keys)
    run = min(len(order), 1)
    if len(order) > 1:
        run = 2
        falls = less(order[1], order[0])
        while run < len(order) and less(order[run], order[run - 1]) == falls:
            run += 1
        if falls:
            order = [*reversed(order[:run]), *order[run:]]
    result = order[:run]
    for i in order[run:]:
        low, high = 0, len(result)
        while low < high:
            middle = (low + high) // 2
            if less(i, result[middle]):
                high = middle
            else:
                low = middle + 1
        result.insert(low, i)
    return result


# -- generators ---------------------------------------------------------------------------------


def _generator(value: Value) -> GeneratorValue:
    if not isinstance(value, GeneratorValue):
        raise GraphBreak("PTC-B014", f"{value.describe()} was started before the captured call")
    return value


@builtin(types.GeneratorType.send)
def _send(vm: Machine, self: Value, value: Value) -> Value:
    result = _generator(self).send(vm, value)
    if result is None:
        raise vm.stop_iteration(self)
    return result


def _instance(vm: Machine, cls: ClassValue, given: Value) -> Value:
    """The exception of `throw(cls, given)`: what is given, or made of it."""
    if issubclass(given.cls, cls.klass_object):
        return given
    if given.cls is type(None):
        return vm.call(cls, [])
    return vm.call(cls, list(vm.unpack(given)) if given.cls is tuple else [given])


@builtin(types.GeneratorType.throw)
def _throw(vm: Machine, self: Value, error: Value, *rest: Value) -> Value:
    if isinstance(error, ClassValue):
        error = _instance(vm, error, rest[0] if rest else ConstantValue(None))
    result = _generator(self).throw(vm, error)
    if result is None:
        raise vm.stop_iteration(self)
    return result


@builtin(types.GeneratorType.close)
def _close(vm: Machine, self: Value) -> None:
    generator = _generator(self)
    if generator.state == GeneratorValue.CREATED:
        vm.journal.assign(generator, "state", GeneratorValue.FINISHED)
    if generator.state == GeneratorValue.FINISHED:
        return
    try:
        with vm.catching(GeneratorExit, StopIteration):
            yielded = generator.throw(vm, vm.exception(GeneratorExit).value)
    except Raised as raised:
        if raised.is_a((GeneratorExit, StopIteration)):
            return
        raise
    if yielded is not None:
        raise vm.exception(RuntimeError, "generator ignored GeneratorExit")
