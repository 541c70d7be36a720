"""The builtin functions."""

from __future__ import annotations

import builtins
import math
import types
from typing import Any

from ptc.capture.errors import GraphBreak, NotConstant, Raised
from ptc.capture.interpreter.calls import builtin, evaluate, pure, unknown_call
from ptc.capture.interpreter.lookup import static_lookup
from ptc.capture.interpreter.machine import Machine
from ptc.capture.values.base import IdentityKey, Value
from ptc.capture.values.callables import (
    BoundMethodValue,
    ClassValue,
    SuperValue,
)
from ptc.capture.values.constants import ConstantValue, SliceValue
from ptc.capture.values.containers import SequenceValue
from ptc.capture.values.exceptions import ExceptionValue
from ptc.capture.values.objects import Instance, OpaqueValue

_HINT_IDENTITY = "it differs from run to run: use a key of your own, such as a name or an index"

pure(chr, ord, bin, hex, oct, ascii, bytes, complex)


@builtin(len)
def _len(vm: Machine, obj: Value) -> Value:
    return vm.length(obj)


@builtin(isinstance)
def _isinstance(vm: Machine, obj: Value, classinfo: Value) -> Value:
    return ConstantValue(any(_is_instance(vm, obj, cls) for cls in class_list(vm, classinfo)))


def class_list(vm: Machine, classinfo: Value) -> list[Any]:
    """The classes of an isinstance() or except argument."""
    if isinstance(classinfo, SequenceValue):
        return [cls for part in classinfo.items for cls in class_list(vm, part)]
    try:
        real = classinfo.constant()
    except NotConstant:
        raise vm.type_error(
            "isinstance() arg 2 must be a type, a tuple of types, or a union"
        ) from None
    if isinstance(real, types.UnionType):
        return list(real.__args__)
    return [real]


def _is_instance(vm: Machine, obj: Value, cls: Any) -> bool:
    meta = static_lookup(type(cls), "__instancecheck__")
    if meta is not None and isinstance(meta[0], types.FunctionType):
        if vm.trusted_class(meta[1]):
            special = vm.instance_check(cls, obj)
            if special is not None:
                return special
            return issubclass(obj.cls, cls)
        function = vm.wrap_fixed(meta[0])
        return vm.truth(vm.call(function, [vm.class_value(cls), obj]))
    return issubclass(obj.cls, cls)


@builtin(issubclass)
def _issubclass(vm: Machine, cls: Value, classinfo: Value) -> Value:
    if not isinstance(cls, ClassValue):
        raise vm.type_error("issubclass() arg 1 must be a class")
    return vm.evaluate(issubclass, cls.klass_object, tuple(class_list(vm, classinfo)))


@builtin(callable)
def _callable(vm: Machine, obj: Value) -> Value:
    # Not hasattr: every class can be called itself, by its metaclass
    return ConstantValue(static_lookup(obj.cls, "__call__") is not None)


@builtin(getattr)
def _getattr(vm: Machine, obj: Value, name: Value, default: Value | None = None) -> Value:
    text = attribute_name(vm, name)
    if default is None:
        return vm.getattr(obj, text)
    try:
        with vm.catching(AttributeError):
            found = vm.getattr_or_none(obj, text)
    except Raised as raised:
        if not raised.is_a(AttributeError):
            raise
        found = None
    if found is None:
        vm.pending_attribute_error = None
        return default
    return found


def attribute_name(vm: Machine, name: Value) -> str:
    if name.cls is not str:
        raise vm.type_error(f"attribute name must be string, not '{name.cls.__name__}'")
    return name.constant()


@builtin(setattr)
def _setattr(vm: Machine, obj: Value, name: Value, value: Value) -> None:
    vm.setattr(obj, attribute_name(vm, name), value)


@builtin(delattr)
def _delattr(vm: Machine, obj: Value, name: Value) -> None:
    vm.delattr(obj, attribute_name(vm, name))


@builtin(hasattr)
def _hasattr(vm: Machine, obj: Value, name: Value) -> Value:
    return ConstantValue(vm.hasattr(obj, attribute_name(vm, name)))


@builtin(object.__getattribute__)
def _object_getattribute(vm: Machine, obj: Value, name: Value) -> Value:
    value = vm.generic_getattr(obj, attribute_name(vm, name))
    if value is None:
        raise vm.attribute_error(obj, name.constant())
    return value


@builtin(object.__setattr__)
def _object_setattr(vm: Machine, obj: Value, name: Value, value: Value) -> None:
    vm.generic_setattr(obj, attribute_name(vm, name), value)


@builtin(object.__delattr__)
def _object_delattr(vm: Machine, obj: Value, name: Value) -> None:
    vm.generic_delattr(obj, attribute_name(vm, name))


@builtin(object.__init__)
def _object_init(vm: Machine, obj: Value, *args: Value, **kwargs: Value) -> None:
    """Arguments are checked by `__new__` unless a class overrides one of the two."""


def _plain_initialisers() -> list[Any]:
    """`__init__` of the exceptions that keep their arguments and nothing else."""
    others = (OSError, UnicodeError, SyntaxError, ImportError, SystemExit)
    return [
        vars(cls)["__init__"]
        for cls in vars(builtins).values()
        if isinstance(cls, type)
        and issubclass(cls, BaseException)
        and not issubclass(cls, others)
        and "__init__" in vars(cls)
    ]


@builtin(*_plain_initialisers())
def _exception_init(vm: Machine, error: Value, *args: Value, **kwargs: Value) -> None:
    if kwargs:
        raise vm.type_error(f"{error.cls.__name__}() takes no keyword arguments")
    if isinstance(error, ExceptionValue):
        vm.journal.assign(error, "args", list(args))


@builtin(object.__new__)
def _object_new(vm: Machine, cls: Value, *args: Value, **kwargs: Value) -> Value:
    from_class = cls.constant()
    return vm.new_object(from_class)


@builtin(object.__dict__["__init_subclass__"])
def _init_subclass(vm: Machine, *args: Value) -> None:
    """`object.__init_subclass__` does nothing."""


@builtin(object.__hash__)
def _object_hash(vm: Machine, obj: Value) -> Value:
    raise GraphBreak(
        "PTC-B002", f"the identity hash of {obj.describe()} is used as a number", _HINT_IDENTITY
    )


@builtin(object.__eq__)
def _object_eq(vm: Machine, left: Value, right: Value) -> Value:
    return ConstantValue(True if vm.is_same(left, right) else NotImplemented)


@builtin(object.__ne__)
def _object_ne(vm: Machine, left: Value, right: Value) -> Value:
    return ConstantValue(False if vm.is_same(left, right) else NotImplemented)


@builtin(object.__str__)
def _object_str(vm: Machine, obj: Value) -> Value:
    return vm.repr(obj)


@builtin(type)
def _type(vm: Machine, obj: Value, *rest: Value) -> Value:
    if rest:
        raise GraphBreak("PTC-B012", "a class is created while the program runs")
    return vm.class_value(obj.cls)


@builtin(super)
def _super(vm: Machine, cls: Value | None = None, obj: Value | None = None) -> Value:
    if cls is None:
        frame = vm.frames[-1]
        cell = frame.cells.get("__class__")
        first = frame.code.co_varnames[0] if frame.code.co_argcount else None
        content = cell.get(vm) if cell is not None else None
        if first is None or content is None:
            raise vm.exception(RuntimeError, "super(): no arguments")
        cls = content
        obj = frame.locals.get(first)
        if obj is None and first in frame.cells:
            obj = frame.cells[first].get(vm)
    if not isinstance(cls, ClassValue) or obj is None:
        raise GraphBreak("PTC-B006", "an unbound super object is used")
    return SuperValue(cls.klass_object, obj)


@builtin(id)
def _id(vm: Machine, obj: Value) -> Value:
    try:
        return ConstantValue(obj.address(vm))
    except NotConstant:
        raise GraphBreak(
            "PTC-B002", f"the address of {obj.describe()} is used as a number", _HINT_IDENTITY
        ) from None


@builtin(hash)
def _hash(vm: Machine, obj: Value) -> Value:
    method = vm.python_method(obj, "__hash__")
    if method is not None:
        return vm.call(method, [obj])
    key = vm.hash_key(obj)
    if isinstance(key, IdentityKey) or not obj.is_constant():
        raise GraphBreak(
            "PTC-B002", f"the hash of {obj.describe()} is used as a number", _HINT_IDENTITY
        )
    return vm.evaluate(hash, obj.constant())


@builtin(repr)
def _repr(vm: Machine, obj: Value) -> Value:
    return vm.repr(obj)


@builtin(str)
def _str(vm: Machine, obj: Value | None = None, *rest: Value, **kwargs: Value) -> Value:
    if obj is None:
        return ConstantValue("")
    if rest or kwargs:
        keywords = {name: value.constant() for name, value in kwargs.items()}
        return vm.evaluate(str, obj.constant(), *[r.constant() for r in rest], **keywords)
    return vm.str(obj)


@builtin(format)
def _format(vm: Machine, value: Value, spec: Value | None = None) -> Value:
    return vm.format(value, spec or ConstantValue(""))


@builtin(str.format)
def _str_format(vm: Machine, template: Value, *args: Value, **kwargs: Value) -> Value:
    """Arguments that are no constants are turned to text where the template only prints them."""
    values = [_for_formatting(vm, arg) for arg in args]
    keywords = {name: _for_formatting(vm, value) for name, value in kwargs.items()}
    return vm.evaluate(str.format, template.constant(), *values, **keywords)


@builtin(str.__mod__)
def _str_mod(vm: Machine, template: Value, args: Value) -> Value:
    if isinstance(args, SequenceValue) and args.cls is tuple:
        values: Any = tuple(_for_formatting(vm, arg) for arg in args.items)
    else:
        values = _for_formatting(vm, args)
    return vm.evaluate(lambda text: text % values, template.constant())


@builtin(str.join)
def _str_join(vm: Machine, separator: Value, parts: Value) -> Value:
    texts = vm.unpack(parts)
    for i, text in enumerate(texts):
        if text.cls is not str:
            kind = text.cls.__name__
            raise vm.type_error(f"sequence item {i}: expected str instance, {kind} found")
    return vm.evaluate(str.join, separator.constant(), [text.constant() for text in texts])


def _for_formatting(vm: Machine, value: Value) -> Any:
    try:
        return value.constant()
    except NotConstant:
        return vm.str(value).constant()


@builtin(bool)
def _bool(vm: Machine, value: Value | None = None) -> Value:
    if value is None:
        return ConstantValue(False)
    converted = value.convert(vm, bool)
    return converted if converted is not None else ConstantValue(vm.truth(value))


def number_class(cls: type, special: str) -> Any:
    """`int(x)` and `float(x)`: constants now, symbolic kinds as they say, else the special
    method."""

    def convert(vm: Machine, value: Value | None = None, *rest: Value, **kwargs: Value) -> Value:
        if value is None:
            return ConstantValue(cls())
        based = bool(rest or kwargs) and not isinstance(value, ConstantValue)
        if based and value.cls is str:
            raise unknown_call(vm, cls, NotConstant(value))
        converted = value.convert(vm, cls)
        if converted is not None:
            return converted
        if isinstance(value, ConstantValue):
            constants = [value.value, *(r.constant() for r in rest)]
            return evaluate(vm, cls, *constants, **{k: v.constant() for k, v in kwargs.items()})
        for name in (special, "__index__"):
            method = vm.python_method(value, name)
            if method is not None:
                return vm.call(method, [value])
        if isinstance(value, OpaqueValue):
            raise unknown_call(vm, cls, NotConstant(value))
        kind = value.cls.__name__
        raise vm.type_error(
            f"{cls.__name__}() argument must be a string, a bytes-like object or a real number, "
            f"not '{kind}'"
            if cls is int
            else f"{cls.__name__}() argument must be a string or a real number, not '{kind}'"
        )

    return convert


builtin(int)(number_class(int, "__int__"))
builtin(float)(number_class(float, "__float__"))


# -- numbers ------------------------------------------------------------------------------------


@builtin(abs)
def _abs(vm: Machine, value: Value) -> Value:
    return _number_function(vm, abs, "__abs__", value)


@builtin(round)
def _round(vm: Machine, value: Value, ndigits: Value | None = None) -> Value:
    rest = [] if ndigits is None else [ndigits]
    return _number_function(vm, round, "__round__", value, *rest)


@builtin(math.floor)
def _floor(vm: Machine, value: Value) -> Value:
    return _number_function(vm, math.floor, "__floor__", value)


@builtin(math.ceil)
def _ceil(vm: Machine, value: Value) -> Value:
    return _number_function(vm, math.ceil, "__ceil__", value)


@builtin(math.trunc)
def _trunc(vm: Machine, value: Value) -> Value:
    return _number_function(vm, math.trunc, "__trunc__", value)


def _number_function(vm: Machine, host: Any, special: str, value: Value, *rest: Value) -> Value:
    if isinstance(value, ConstantValue):
        return vm.evaluate(host, value.value, *[r.constant() for r in rest])
    result = value.unary(vm, special) if not rest else None
    if result is not None:
        return result
    method = vm.python_method(value, special)
    if method is not None:
        return vm.call(method, [value, *rest])
    bound = vm.getattr_or_none(value, special) if hasattr(value.cls, special) else None
    if bound is None and host in (math.floor, math.ceil):
        number = value.convert(vm, float)  # what has no such method is taken for a float
        if number is not None:
            return _number_function(vm, host, special, number)
    if bound is None:
        kind = value.cls.__name__
        raise vm.type_error(f"bad operand type for {host.__name__}(): '{kind}'")
    return vm.call(bound, list(rest))


@builtin(divmod)
def _divmod(vm: Machine, left: Value, right: Value) -> Value:
    if isinstance(left, ConstantValue) and isinstance(right, ConstantValue):
        return vm.evaluate(divmod, left.value, right.value)
    return vm.tuple([vm.binary("//", left, right), vm.binary("%", left, right)])


@builtin(pow)
def _pow(vm: Machine, base: Value, exp: Value, mod: Value | None = None) -> Value:
    if mod is not None:
        return vm.evaluate(pow, base.constant(), exp.constant(), mod.constant())
    return vm.binary("**", base, exp)


@builtin(range)
def _range(vm: Machine, *args: Value) -> Value:
    for arg in args:
        if not vm.has_index(arg):
            kind = arg.cls.__name__
            raise vm.type_error(f"'{kind}' object cannot be interpreted as an integer")
    by_data = vm.range_by_data(list(args))
    if by_data is not None:
        return by_data
    return vm.evaluate(range, *[vm.as_index(arg) for arg in args])


@builtin(slice)
def _slice(vm: Machine, *args: Value) -> Value:
    none = ConstantValue(None)
    if len(args) == 1:
        return SliceValue(none, args[0], none)
    return SliceValue(args[0], args[1], args[2] if len(args) > 2 else none)


@builtin(slice.indices)
def _slice_indices(vm: Machine, part: Value, size: Value) -> Value:
    return vm.evaluate(lambda: vm.as_index(part).indices(vm.as_index(size)))


# -- objects ------------------------------------------------------------------------------------


@builtin(vars)
def _vars(vm: Machine, obj: Value | None = None) -> Value:
    if obj is None:
        raise _needs_frame("vars()")
    if isinstance(obj, Instance):
        return vm.instance_dict(obj)
    return vm.getattr(obj, "__dict__")


def _needs_frame(name: str) -> GraphBreak:
    return GraphBreak("PTC-B006", f"{name} reads the frame's variables by name")


@builtin(locals, globals, eval, exec, compile, dir)
def _frame_access(vm: Machine, *args: Value, **kwargs: Value) -> Value:
    raise _needs_frame("locals(), globals(), dir(), eval() or exec()")


@builtin(print)
def _print(vm: Machine, *args: Value, **kwargs: Value) -> Value:
    return vm.print(list(args), kwargs)


@builtin(input, open, breakpoint, builtins.__import__)
def _outside(vm: Machine, *args: Value, **kwargs: Value) -> Value:
    raise GraphBreak(
        "PTC-B003",
        "input, a file or the debugger cannot be part of the graph",
        "read what the model needs before the call, and pass it in",
    )


@builtin(property.__get__)
def _property_get(vm: Machine, descriptor: Value, obj: Value, owner: Value | None = None) -> Value:
    return vm.call(vm.wrap_fixed(descriptor.real().fget), [obj])


@builtin(types.FunctionType.__get__)
def _function_get(vm: Machine, func: Value, obj: Value, owner: Value | None = None) -> Value:
    return func if obj.cls is type(None) else BoundMethodValue(func, obj)


@builtin(types.MethodType)
def _method_type(vm: Machine, func: Value, obj: Value) -> Value:
    return BoundMethodValue(func, obj)
