"""Functions of the standard library that are pure, whose effect is deferred, or that have a
polyfill."""

from __future__ import annotations

import collections
import contextlib
import copy
import dataclasses
import datetime
import functools
import importlib.metadata
import importlib.util
import inspect
import logging
import math
import operator
import os
import platform
import reprlib
import sys
import time
import types
import typing
import warnings
from typing import Any

from ptc.capture import polyfills
from ptc.capture.effects import DeferredCall
from ptc.capture.errors import GraphBreak
from ptc.capture.interpreter.calls import FALLBACKS, builtin, pure, see_through
from ptc.capture.interpreter.machine import Machine
from ptc.capture.interpreter.operators import BINARY, COMPARE, INPLACE
from ptc.capture.values.base import Value
from ptc.capture.values.callables import (
    BoundMethodValue,
    BuiltinValue,
    ClassValue,
    FunctionValue,
    PartialValue,
)
from ptc.capture.values.constants import ConstantValue
from ptc.capture.values.containers import ListValue, TupleValue
from ptc.capture.values.mappings import DictValue
from ptc.capture.values.objects import NO_OBJECT, Instance, ObjectValue

_HANDLED_ELSEWHERE = {math.floor, math.ceil, math.trunc}
pure(*(
    function
    for function in vars(math).values()
    if isinstance(function, types.BuiltinFunctionType) and function not in _HANDLED_ELSEWHERE
))  # fmt: skip
pure(
    platform.system, platform.machine, platform.python_version, os.cpu_count, sys.getrecursionlimit,
    os.path.join, os.path.basename, os.path.dirname, os.path.splitext, str.maketrans,
    *(cls.__dict__[name] for cls, name in
      ((int, "from_bytes"), (float, "fromhex"), (bytes, "fromhex"))),
)  # fmt: skip


# -- inspect ------------------------------------------------------------------------------------


@builtin(inspect.signature)
def _signature(vm: Machine, function: Value, **options: Value) -> Value:
    """Computed on the real function: a signature depends on its code and defaults alone."""
    return vm.wrap_fixed(inspect.signature(_inspectable(function)))


def _inspectable(function: Value) -> Any:
    """A real callable with the signature of `function`."""
    if isinstance(function, BoundMethodValue):
        return types.MethodType(_inspectable(function.func), object())
    if isinstance(function, FunctionValue) and function.obj is NO_OBJECT:
        defaults = tuple(value.constant() for value in function.default_values or ())
        keywords = {n: v.constant() for n, v in (function.kwdefault_values or {}).items()}
        stand_in = types.FunctionType(
            function.code.replace(co_freevars=()), {}, function.name, defaults
        )
        stand_in.__kwdefaults__ = keywords
        return stand_in
    return function.real()


# -- operator -----------------------------------------------------------------------------------


def _binary_handler(op: str) -> Any:
    return lambda vm, left, right: vm.binary(op, left, right)


def _inplace_handler(op: str) -> Any:
    return lambda vm, left, right: vm.inplace(op, left, right)


def _compare_handler(op: str) -> Any:
    return lambda vm, left, right: vm.compare(op, left, right)


for _op, (_name, _host) in BINARY.items():
    builtin(_host)(_binary_handler(_op))
    builtin(INPLACE[_op])(_inplace_handler(_op))
for _op, (_, _, _host) in COMPARE.items():
    builtin(_host)(_compare_handler(_op))
builtin(operator.neg)(lambda vm, value: vm.unary("-", value))
builtin(operator.pos)(lambda vm, value: vm.unary("+", value))
builtin(operator.invert)(lambda vm, value: vm.unary("~", value))
builtin(operator.not_)(lambda vm, value: vm.logical_not(value))
builtin(operator.truth)(lambda vm, value: ConstantValue(vm.truth(value)))
builtin(operator.getitem)(lambda vm, obj, key: vm.getitem(obj, key))
builtin(operator.setitem)(lambda vm, obj, key, value: vm.setitem(obj, key, value))
builtin(operator.delitem)(lambda vm, obj, key: vm.delitem(obj, key))
builtin(operator.contains)(lambda vm, obj, item: ConstantValue(vm.contains(obj, item)))
builtin(operator.is_)(lambda vm, left, right: ConstantValue(vm.is_same(left, right)))
builtin(operator.is_not)(lambda vm, left, right: ConstantValue(not vm.is_same(left, right)))
builtin(operator.index)(lambda vm, value: ConstantValue(vm.as_index(value)))
builtin(operator.length_hint)(lambda vm, obj, default=None: vm.length(obj))


# -- functools ----------------------------------------------------------------------------------


@builtin(functools.partial)
def _partial(vm: Machine, func: Value, /, *args: Value, **kwargs: Value) -> Value:
    if isinstance(func, PartialValue):
        return PartialValue(func.func, [*func.args, *args], {**func.kwargs, **kwargs})
    return PartialValue(func, list(args), kwargs)


@builtin(functools.update_wrapper)
def _update_wrapper(
    vm: Machine,
    wrapper: Value,
    wrapped: Value,
    assigned: Value | None = None,
    updated: Value | None = None,
) -> Value:
    """Copies names and documentation, and links `__wrapped__`."""
    for name in ("__module__", "__name__", "__qualname__", "__doc__"):
        value = vm.getattr_or_none(wrapped, name)
        if value is not None:
            vm.setattr(wrapper, name, value)
    if isinstance(wrapped, Instance) and isinstance(wrapper, Instance):
        for name in wrapped.attribute_names(vm):
            vm.setattr(wrapper, name, vm.getattr(wrapped, name))
    vm.setattr(wrapper, "__wrapped__", wrapped)
    return wrapper


@builtin(functools.wraps)
def _wraps(vm: Machine, wrapped: Value, *args: Value, **kwargs: Value) -> Value:
    return PartialValue(vm.wrap_fixed(functools.update_wrapper), [], {"wrapped": wrapped})


@builtin(functools.lru_cache, functools.cache)
def _lru_cache(vm: Machine, *args: Value, **kwargs: Value) -> Value:
    raise GraphBreak("PTC-B006", "a cached function is created while the program runs")


_CACHED = type(functools.lru_cache(lambda: None))


def _call_cached(
    vm: Machine, function: Any, args: list[Value], kwargs: dict[str, Value]
) -> Value | None:
    """A call of an lru_cache function runs what it wraps: a cache does not change results."""
    if type(function) is not _CACHED:
        return None
    return vm.call(vm.wrap_fixed(function.__wrapped__), args, kwargs)


FALLBACKS.append(_call_cached)


# -- copy, dataclasses, collections
# -----------------------------------------------------------------


@builtin(copy.copy)
def _copy(vm: Machine, obj: Value) -> Value:
    if isinstance(obj, ConstantValue):
        return obj
    method = vm.python_method(obj, "__copy__")
    if method is not None:
        return vm.call(method, [obj])
    if type(obj) is ObjectValue and vm.python_method(obj, "__reduce_ex__") is None:
        result = ObjectValue(obj.klass)
        for name in obj.attribute_names(vm):
            result.set_attribute(vm, name, vm.getattr(obj, name))
        return result
    bound = vm.getattr_or_none(obj, "copy")
    if bound is None or obj.cls not in (
        dict,
        list,
        set,
        collections.OrderedDict,
        collections.deque,
    ):
        raise GraphBreak("PTC-B006", f"copy of {obj.describe()}")
    return vm.call(bound, [])


@builtin(copy.deepcopy)
def _deepcopy(vm: Machine, obj: Value, memo: Value | None = None) -> Value:
    if memo is not None:
        raise GraphBreak("PTC-B006", "a deep copy with a memo of the program's own")
    return _DeepCopy(vm).of(obj)


class _DeepCopy:
    """One call of `copy.deepcopy`. Objects met twice are copied once."""

    def __init__(self, vm: Machine) -> None:
        self.vm = vm
        self.done: dict[int, Value] = {}
        self.originals: list[Value] = []  # keeps ids valid

    def of(self, obj: Value) -> Value:
        known = self.done.get(id(obj))
        if known is not None:
            return known
        if isinstance(obj, (ConstantValue, FunctionValue, ClassValue, BuiltinValue)):
            return obj
        if obj.cls in (int, float, bool, str):
            return obj  # that data decides
        self.originals.append(obj)
        return self._copied(obj)

    def _keep(self, obj: Value, made: Value) -> Value:
        self.done[id(obj)] = made
        return made

    def _copied(self, obj: Value) -> Value:
        vm = self.vm
        if isinstance(obj, ListValue) and obj.cls is list:
            result = self._keep(obj, vm.list([]))
            for element in list(vm.unpack(obj)):
                vm.call(vm.getattr(result, "append"), [self.of(element)])
            return result
        if isinstance(obj, TupleValue) and obj.cls is tuple:
            return self._keep(obj, vm.tuple([self.of(element) for element in vm.unpack(obj)]))
        if isinstance(obj, DictValue) and obj.cls is dict:
            copied = self._keep(obj, vm.dict_of({}))
            for key, value in vm.dict_items(obj):
                vm.setitem(copied, self.of(key), self.of(value))
            return copied
        if type(obj) is ObjectValue and not _copies_itself(obj.klass):
            made = vm.new_instance(obj.klass)
            self._keep(obj, made)
            assert isinstance(made, ObjectValue)
            for name in obj.attribute_names(vm):
                value = obj.attribute(vm, name)
                assert value is not None
                made.set_attribute(vm, name, self.of(value))
            return made
        raise GraphBreak("PTC-B006", f"a deep copy of {obj.describe()}")


_COPY_METHODS = (
    "__deepcopy__", "__reduce_ex__", "__reduce__", "__getstate__", "__setstate__",
    "__getnewargs__", "__getnewargs_ex__", "__slots__",
)  # fmt: skip


def _copies_itself(cls: type) -> bool:
    """Whether a class has a say in how its instances are copied, or keeps state in slots."""
    bases = cls.__mro__[:-1]
    return any(vars(base).get(name) for base in bases for name in _COPY_METHODS)


@builtin(dataclasses.fields)
def _fields(vm: Machine, obj: Value) -> Value:
    cls = obj.real() if issubclass(obj.cls, type) else obj.cls
    try:
        return vm.tuple([vm.wrap_fixed(field) for field in dataclasses.fields(cls)])
    except TypeError as error:
        raise vm.native_exception(error) from None


@builtin(dataclasses.is_dataclass)
def _is_dataclass(vm: Machine, obj: Value) -> Value:
    cls = obj.real() if issubclass(obj.cls, type) else obj.cls
    return ConstantValue(hasattr(cls, "__dataclass_fields__"))


see_through(reprlib.recursive_repr()(lambda self: ""), "user_function")
_recursive_repr: Any = getattr(dataclasses, "_recursive_repr", None)
if _recursive_repr is not None and sys.version_info < (3, 13):
    see_through(_recursive_repr(lambda self: ""), "user_function")


@builtin(sys.exc_info)
def _exc_info(vm: Machine) -> Value:
    if vm.handled is not None and vm.handled.cls is not type(None):
        raise GraphBreak("PTC-B006", "the traceback of a handled exception is asked for")
    return vm.tuple([ConstantValue(None)] * 3)


@builtin(typing.cast)
def _cast(vm: Machine, kind: Value, value: Value) -> Value:
    return value


# -- polyfills ----------------------------------------------------------------------------------


def _polyfill_handler(function: types.FunctionType) -> Any:
    def handler(vm: Machine, *args: Value, **kwargs: Value) -> Value:
        value = vm.wrap_fixed(function)
        assert isinstance(value, FunctionValue)
        return vm.trace_function(value, *vm.settle_arguments(list(args), kwargs, handler))

    return handler


@builtin(polyfills.decided_by_data)
def _decided_by_data(vm: Machine, iterable: Value) -> Value:
    return ConstantValue(vm.has_data_length(iterable))


@builtin(polyfills.said)
def _said(vm: Machine) -> Value:
    return ConstantValue(vm.told_outside)


@builtin(polyfills.require_silence)
def _require_silence(vm: Machine, before: Value, name: Value) -> Value:
    if vm.told_outside != before.constant():
        raise GraphBreak(
            "PTC-B006",
            f"{name.constant()} goes through something whose length data decides, and which prints "
            "or may raise between its steps",
            "go through it in a loop, and call the function with the list of what came",
        )
    return ConstantValue(None)


for _original, _replacement in polyfills.TABLE:
    builtin(_original, passes_on=True)(_polyfill_handler(_replacement))


# -- what reaches the outside world -------------------------------------------------------------


def _defer(
    vm: Machine, function: Any, name: str, args: tuple[Value, ...], kwargs: dict[str, Value]
):
    vm.effects.call(DeferredCall(function, name, args, tuple(kwargs.items())))


@builtin(warnings.warn)
def _warn(vm: Machine, *args: Value, **kwargs: Value) -> None:
    """Shown when the segment's effects are replayed. `stacklevel` would point into generated
    code."""
    if any(action == "error" for action, *_ in warnings.filters):
        raise GraphBreak("PTC-B003", "a warning may become an exception here")
    message = args[0] if args else kwargs["message"]
    category = args[1] if len(args) > 1 else kwargs.get("category")
    if vm.warn(message, category):
        return
    keywords = {} if category is None else {"category": category}
    _defer(vm, warnings.warn, "warn", (message,), keywords)


def _log_handler(level: int | None, function: Any) -> Any:
    def handler(vm: Machine, logger: Value, *args: Value, **kwargs: Value) -> None:
        _log(vm, level, function, logger.real(), (logger,), args, kwargs)

    return handler


def _root_log_handler(level: int | None, function: Any) -> Any:
    def handler(vm: Machine, *args: Value, **kwargs: Value) -> None:
        _log(vm, level, function, logging.getLogger(), (), args, kwargs)

    return handler


def _log(
    vm: Machine,
    level: int | None,
    function: Any,
    logger: logging.Logger,
    owner: tuple[Value, ...],
    args: tuple[Value, ...],
    kwargs: dict[str, Value],
) -> None:
    """A record, if the logger is for its level at capture. `level` is None where it comes first."""
    number = args[0].constant() if level is None else level
    if not logger.isEnabledFor(number):
        return
    given = args[1:] if level is None else args
    if not vm.log(number, logger.name, list(given), kwargs):
        _defer(vm, function, function.__name__, (*owner, *args), kwargs)


for _level, _function in (
    (logging.DEBUG, logging.Logger.debug), (logging.INFO, logging.Logger.info),
    (logging.WARNING, logging.Logger.warning), (logging.ERROR, logging.Logger.error),
    (logging.ERROR, logging.Logger.exception), (logging.CRITICAL, logging.Logger.critical),
    (None, logging.Logger.log),
):  # fmt: skip
    builtin(_function)(_log_handler(_level, _function))
for _level, _function in (
    (logging.DEBUG, logging.debug), (logging.INFO, logging.info),
    (logging.WARNING, logging.warning), (logging.ERROR, logging.error),
    (logging.ERROR, logging.exception), (logging.CRITICAL, logging.critical),
    (None, logging.log),
):  # fmt: skip
    builtin(_function)(_root_log_handler(_level, _function))


@builtin(logging.getLogger)
def _get_logger(vm: Machine, name: Value | None = None) -> Value:
    return vm.wrap_fixed(logging.getLogger(None if name is None else name.constant()))


@builtin(logging.Logger.isEnabledFor)
def _is_enabled_for(vm: Machine, logger: Value, level: Value) -> Value:
    return ConstantValue(logger.real().isEnabledFor(level.constant()))


@builtin(logging.Logger.getEffectiveLevel)
def _effective_level(vm: Machine, logger: Value) -> Value:
    return ConstantValue(logger.real().getEffectiveLevel())


@builtin(
    time.time, time.perf_counter, time.monotonic, time.time_ns, time.perf_counter_ns, time.sleep,
    time.monotonic_ns, time.process_time, time.process_time_ns, time.thread_time,
    datetime.date.__dict__["today"], datetime.datetime.__dict__["now"],
    datetime.datetime.__dict__["utcnow"],
)  # fmt: skip
def _clock(vm: Machine, *args: Value) -> Value:
    raise GraphBreak("PTC-B003", "the clock is read", "pass the time in as an argument")


@builtin(importlib.metadata.version)
def _version(vm: Machine, name: Value) -> Value:
    """Installed packages, like the environment, are taken as they are at capture."""
    return vm.evaluate(importlib.metadata.version, name.constant())


@builtin(importlib.util.find_spec)
def _find_spec(vm: Machine, name: Value, package: Value | None = None) -> Value:
    try:
        found = importlib.util.find_spec(name.constant())
    except (ImportError, ValueError) as error:
        raise vm.native_exception(error) from None
    return vm.wrap_fixed(found)


@builtin(importlib.metadata.packages_distributions)
def _packages_distributions(vm: Machine) -> Value:
    return vm.wrap_fixed(dict(importlib.metadata.packages_distributions()))


@builtin(os.getenv)
def _getenv(vm: Machine, key: Value, default: Value | None = None) -> Value:
    """The environment is taken as it is at capture."""
    found = os.environ.get(key.constant())
    return ConstantValue(found) if found is not None else default or ConstantValue(None)


# `get` and `in` are Mapping's own, shared by every mapping class: they are traced and come here.
@builtin(type(os.environ).__getitem__)
def _environ_getitem(vm: Machine, environ: Value, key: Value) -> Value:
    found = os.environ.get(key.constant())
    if found is None:
        raise vm.raised(KeyError, [key])
    return ConstantValue(found)


@builtin(contextlib.nullcontext.__exit__)
def _null_exit(vm: Machine, manager: Value, *args: Value) -> None:
    """Does nothing."""
