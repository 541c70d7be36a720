"""Calls: Python functions are inlined, classes instantiated, C functions looked up in tables."""

from __future__ import annotations

import abc
import collections
import enum
import inspect
import types
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ptc.capture.errors import GraphBreak, NotConstant, Raised
from ptc.capture.interpreter.attributes import class_attribute_value, static_function
from ptc.capture.interpreter.binding import bind_arguments
from ptc.capture.interpreter.frame import Frame, initial_cells
from ptc.capture.interpreter.lookup import static_lookup
from ptc.capture.interpreter.wrapping import is_python_class, wrap_new
from ptc.capture.values.base import Value
from ptc.capture.values.callables import BoundMethodValue, BuiltinValue, ClassValue, FunctionValue
from ptc.capture.values.constants import IMMUTABLE_TYPES, ConstantValue
from ptc.capture.values.exceptions import ExceptionValue
from ptc.capture.values.iterators import GeneratorValue
from ptc.capture.values.objects import Instance

if TYPE_CHECKING:
    from ptc.capture.interpreter.machine import Machine

# A nested call takes about nine host frames, and some of the C stack
MAX_DEPTH = 400
_GENERATOR = inspect.CO_GENERATOR
_COROUTINE = inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR

Builtin = Callable[..., Any]
# Handlers of C functions, of classes that are called, and of library functions whose Python body is
# better not traced; by identity of the real object.
_HANDLERS: dict[int, Builtin] = {}
_HANDLED_OBJECTS: list[Any] = []  # keeps ids valid
# C functions that depend on nothing but immutable arguments and have no effect
_PURE: set[int] = set()
# Tried for functions that no table knows: (vm, function, args, kwargs) -> Value or None
FALLBACKS: list[Callable[..., Value | None]] = []


# Wrappers that only guard against recursion: code object -> the closure variable with what they
# wrap
_SEEN_THROUGH: dict[types.CodeType, str] = {}


def see_through(wrapper: types.FunctionType, variable: str) -> None:
    """Say that functions made like `wrapper` do what `variable` of their closure does."""
    _SEEN_THROUGH[wrapper.__code__] = variable


# Handlers that end in a call of the program's own code, and return what that returns
_PASSING_ON: set[Builtin] = set()


def builtin(*functions: Any, passes_on: bool = False) -> Callable[[Builtin], Builtin]:
    """Register how calls of these functions are captured: `handler(vm, *args, **kwargs)` with
    symbolic arguments; the result may be a Value or a Python object to be wrapped as new.
    `passes_on`: the handler returns what the program's own code, called last, returns."""

    def register(handler: Builtin) -> Builtin:
        if passes_on:
            _PASSING_ON.add(handler)
        # A class that inherits a method gives the same object as its base
        for function in {id(function): function for function in functions}.values():
            assert id(function) not in _HANDLERS, function
            _HANDLERS[id(function)] = handler
            _HANDLED_OBJECTS.append(function)
        return handler

    return register


def pure(*functions: Any) -> None:
    """Say that functions may be evaluated at capture when all arguments are constants."""
    for function in functions:
        _PURE.add(id(function))
        _HANDLED_OBJECTS.append(function)


def find_handler(function: Any) -> Builtin | None:
    return _HANDLERS.get(id(function))


# -- calling ------------------------------------------------------------------------------------


def call(
    vm: Machine, function: Value, args: list[Value], kwargs: dict[str, Value] | None = None
) -> Value:
    """`function(*args, **kwargs)`"""
    if isinstance(function, (FunctionValue, BoundMethodValue, BuiltinValue)):
        return function.call(vm, args, kwargs or {})
    method = vm.python_method(function, "__call__")
    if method is not None and not getattr(function, "native_call", False):
        return vm.call(method, [function, *args], kwargs)
    return function.call(vm, args, kwargs or {})


def call_function(
    vm: Machine, function: FunctionValue, args: list[Value], kwargs: dict[str, Value]
) -> Value:
    """Inline a Python function."""
    if isinstance(function.obj, types.FunctionType):
        handler = _HANDLERS.get(id(function.obj)) or _HANDLERS.get(id(function.code))
        if handler is not None:
            return call_handler(vm, handler, function.qualname, args, kwargs)
    inner = _SEEN_THROUGH.get(function.code)
    if inner is not None:
        cell = function.closure[function.code.co_freevars.index(inner)]
        wrapped = cell.get(vm)
        assert wrapped is not None
        return vm.call(wrapped, args, kwargs)
    if isinstance(function.obj, types.FunctionType):
        result = vm.before_inlining(function, args, kwargs)
        if result is not None:
            return result
    return trace_function(vm, function, args, kwargs)


def trace_function(
    vm: Machine, function: FunctionValue, args: list[Value], kwargs: dict[str, Value]
) -> Value:
    """Inline a Python function by tracing its bytecode, whatever the tables say."""
    code = function.code
    frame = Frame(function, bind_arguments(vm, function, args, kwargs))
    initial_cells(vm, frame)
    if code.co_flags & _COROUTINE:
        raise GraphBreak("PTC-B013", f"coroutine {function.qualname} is called")
    if code.co_flags & _GENERATOR:
        return GeneratorValue(frame)
    if len(vm.frames) >= MAX_DEPTH:
        raise GraphBreak("PTC-B017", f"calls are nested more than {MAX_DEPTH} deep")
    result = vm.run(frame)
    assert result is not None
    return result


def call_builtin(vm: Machine, function: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """A call of a C function or slot."""
    handler = _HANDLERS.get(id(function))
    if handler is not None:
        return call_handler(vm, handler, getattr(function, "__name__", "function"), args, kwargs)
    for fallback in FALLBACKS:
        result = fallback(vm, function, args, kwargs)
        if result is not None:
            return result
    if id(function) in _PURE or _method_of_immutable(function):
        try:
            constants = [arg.constant() for arg in args]
            keywords = {name: arg.constant() for name, arg in kwargs.items()}
        except NotConstant as error:
            raise unknown_call(vm, function, error) from None
        return evaluate(vm, function, *constants, **keywords)
    raise unknown_call(vm, function, None)


def unknown_call(vm: Machine, function: Any, error: NotConstant | None) -> GraphBreak:
    name = getattr(function, "__qualname__", repr(function))
    module = getattr(function, "__module__", None)
    if module and module != "builtins":
        name = f"{module}.{name}"
    if error is not None and error.args and isinstance(error.args[0], Value):
        return GraphBreak(
            "PTC-B004",
            f"{name} is called with {error.args[0].describe()}: it is written in C, and ptc runs "
            "it only on what is known at capture",
            "compute the same with torch functions on tensors, or with Python's own operators",
        )
    return GraphBreak(
        "PTC-B004",
        f"{name} is called: it is not written in Python, so that ptc cannot see what it does",
        "use a torch function in its place, or call it before the model and pass in its result",
    )


def call_handler(
    vm: Machine, handler: Builtin, name: str, args: list[Value], kwargs: dict[str, Value]
) -> Value:
    outer = vm.library_calls
    if handler not in _PASSING_ON:
        args, kwargs = vm.settle_arguments(args, kwargs, handler)
        vm.library_calls += 1
    try:
        result = handler(vm, *args, **kwargs)
    except NotConstant as error:
        raise not_constant(name, error) from None
    except TypeError as error:
        if error.__traceback__ is not None and error.__traceback__.tb_next is None:
            # The arguments do not fit the handler's parameters
            raise vm.type_error(f"{name}() got unsuitable arguments") from None
        raise
    finally:
        vm.library_calls = outer
    if isinstance(result, Value):
        return result
    return wrap_new(vm, result)


def not_constant(what: str, error: NotConstant) -> GraphBreak:
    """Where Python needs a value that capture does not know."""
    value = error.args[0] if error.args else None
    described = value.describe() if isinstance(value, Value) else "a value"
    return GraphBreak(
        "PTC-B002",
        f"{what} needs a value that is known at capture, not {described}",
        "keep it a tensor, or write the cases out (`if n == 2: ...`) with a constant in each",
    )


def _method_of_immutable(function: Any) -> bool:
    """Methods of str, int, range, ... are pure."""
    owner = getattr(function, "__objclass__", None)
    if owner is None:
        owner = getattr(function, "__self__", None)  # classmethods: int.from_bytes
        owner = owner if isinstance(owner, type) else type(owner)
    return owner in IMMUTABLE_TYPES


def evaluate(vm: Machine, function: Any, *args: Any, **kwargs: Any) -> Value:
    """Run a pure function on constants now; what it raises is the program's exception."""
    try:
        result = function(*args, **kwargs)
    except Exception as error:
        raise vm.native_exception(error) from None
    return wrap_new(vm, result)


# -- instantiation ------------------------------------------------------------------------------


def instantiate(vm: Machine, cls: type, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """`cls(*args, **kwargs)`"""
    handler = _HANDLERS.get(id(cls))
    if handler is not None:
        return call_handler(vm, handler, cls.__name__, args, kwargs)
    meta = static_lookup(type(cls), "__call__")
    if meta is not None and isinstance(meta[0], types.FunctionType):
        if isinstance(cls, enum.EnumMeta):
            constants = [arg.constant() for arg in args]
            return evaluate(vm, cls, *constants)
        func = class_attribute_value(vm, meta[0], meta[1], "__call__")
        return vm.call(func, [vm.class_value(cls), *args], kwargs)
    for fallback in FALLBACKS:
        result = fallback(vm, cls, args, kwargs)
        if result is not None:
            return result
    if id(cls) in _PURE or (cls in IMMUTABLE_TYPES and all(a.is_constant() for a in args)):
        return evaluate(
            vm,
            cls,
            *[arg.constant() for arg in args],
            **{name: arg.constant() for name, arg in kwargs.items()},
        )
    if issubclass(cls, property):
        return _property(vm, cls, args)
    return type_call(vm, cls, args, kwargs)


def _property(vm: Machine, cls: type, functions: list[Value]) -> Value:
    """A property of functions that exist outside: to make one calls none of them."""
    try:
        return evaluate(vm, cls, *[function.real() for function in functions])
    except NotConstant:
        raise unknown_call(vm, cls, None) from None


def type_call(vm: Machine, cls: type, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """`type.__call__`: `__new__`, then `__init__` if the result is an instance."""
    if getattr(cls, "__abstractmethods__", None) and isinstance(cls, abc.ABCMeta):
        names = ", ".join(sorted(cls.__abstractmethods__))
        text = f"Can't instantiate abstract class {cls.__name__} with abstract method {names}"
        raise vm.type_error(text)
    new = static_lookup(cls, "__new__")
    assert new is not None
    raw = new[0].__func__ if isinstance(new[0], staticmethod) else new[0]
    if isinstance(raw, types.FunctionType):
        func = static_function(vm, new[0], new[1], "__new__")
        vm.library_calls += 1  # what it returns is not yet the result
        try:
            result = vm.call(func, [vm.class_value(cls), *args], kwargs)
        finally:
            vm.library_calls -= 1
    else:
        result = c_new(vm, raw, cls, args, kwargs)
    if not issubclass(result.cls, cls):
        return result
    init = static_lookup(cls, "__init__")
    assert init is not None
    if isinstance(init[0], types.FunctionType):
        func = class_attribute_value(vm, init[0], init[1], "__init__")
        returned = vm.initialise(func, result, args, kwargs)
        if returned.cls is not type(None):
            kind = returned.cls.__name__
            raise vm.type_error(f"__init__() should return None, not '{kind}'")
    elif init[0] is object.__init__:
        if (args or kwargs) and raw is object.__new__:
            raise vm.type_error(f"{cls.__name__}() takes no arguments")
    elif not isinstance(result, ExceptionValue):
        vm.call(BuiltinValue(init[0]), [result, *args], kwargs)
    return result


#: `__new__` of what `__init__` fills: it looks at no argument.
_LEAVES_ARGUMENTS = frozenset(
    map(id, (list.__new__, dict.__new__, collections.OrderedDict.__new__))
)


def c_new(vm: Machine, new: Any, cls: type, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """`cls.__new__` where C provides it."""
    if new is object.__new__:
        if not is_python_class(cls):
            raise unknown_call(vm, cls, None)
        if hasattr(cls, "__del__"):
            raise GraphBreak(
                "PTC-B003", f"{cls.__qualname__} has a finaliser, which runs at a moment of its own"
            )
        return vm.new_instance(cls)
    if issubclass(cls, BaseException):
        return ExceptionValue(cls, list(args))
    handler = _HANDLERS.get(id(new))
    if handler is not None:
        if id(new) in _LEAVES_ARGUMENTS:
            args, kwargs = [], {}
        return call_handler(vm, handler, "__new__", [vm.class_value(cls), *args], kwargs)
    raise unknown_call(vm, cls, None)


def exception(vm: Machine, cls: type, *texts: Any) -> Raised:
    """An exception raised by the interpreter itself, for the program to catch."""
    return raised(vm, cls, [ConstantValue(text) for text in texts])


def raised(vm: Machine, cls: type, args: list[Value]) -> Raised:
    value = ExceptionValue(cls, args)
    value.raised_at = vm.stack_locations()
    return Raised(value)


def native_exception(vm: Machine, error: BaseException) -> Raised:
    """An exception that a library call raised during capture, as the program's own."""
    args: list[Value] = []
    for arg in error.args:
        args.append(wrap_new(vm, arg) if not isinstance(arg, Instance) else arg)
    value = ExceptionValue(type(error), args, native=error)
    value.raised_at = vm.stack_locations()
    return Raised(value)


def class_value(vm: Machine, cls: type) -> ClassValue:
    value = vm.wrap_fixed(cls)
    assert isinstance(value, ClassValue)
    return value
