"""Attribute access as CPython does it: descriptors, instance dictionaries, classes, `super`.

Free functions over a `Machine`; they become its methods.
"""

from __future__ import annotations

import enum
import functools
import types
from typing import TYPE_CHECKING, Any, NamedTuple

from ptc.capture.errors import Raised
from ptc.capture.interpreter.lookup import python_special, static_lookup
from ptc.capture.sources import AttributeSource, fixed, item
from ptc.capture.values.base import Value
from ptc.capture.values.callables import (
    BoundMethodValue,
    BuiltinValue,
    ClassValue,
    SuperValue,
)
from ptc.capture.values.constants import ConstantValue, is_immutable
from ptc.capture.values.instance_dict import InstanceDict
from ptc.capture.values.objects import DELETED, NO_OBJECT, Instance, OpaqueValue

if TYPE_CHECKING:
    from ptc.capture.interpreter.machine import Machine

_MISSING = object()
_C_METHODS = (
    types.MethodDescriptorType,
    types.WrapperDescriptorType,
    type(functools.lru_cache(lambda: None)),
)


class _Example(NamedTuple):
    field: int


_FIELD = type(_Example.__dict__["field"])  # how a namedtuple keeps a field
# Attributes of classes that CPython computes; all are fixed once the class exists
_CLASS_FACTS = frozenset(
    {
        "__name__",
        "__qualname__",
        "__module__",
        "__doc__",
        "__mro__",
        "__bases__",
        "__base__",
        "__flags__",
        "__members__",
        "__basicsize__",
        "__annotations__",
        "__text_signature__",
        "__abstractmethods__",
        "__type_params__",
        "__orig_bases__",
        "__parameters__",
    }
)


def python_method(vm: Machine, obj: Value, name: str) -> Value | None:
    """The unbound Python function that implements special method `name` of obj, if any."""
    cls = obj.cls
    if cls in vm.plain_classes:
        return None
    found = python_special(cls, name)
    if found is None:
        return None
    return class_attribute_value(vm, found[0], found[1], name)


def class_attribute_value(vm: Machine, raw: Any, owner: type, name: str) -> Value:
    """Wrap what a class dictionary holds, guarded unless the class is trusted."""
    if vm.trusted_class(owner):
        return vm.wrap_fixed(raw)
    overlay = vm.class_overlay(owner, name)
    if overlay is not None:
        return overlay
    namespace = AttributeSource(fixed(owner, owner.__name__), "__dict__")
    return vm.wrap(raw, item(namespace, name))


# -- reading ------------------------------------------------------------------------------------


def getattr_(vm: Machine, obj: Value, name: str) -> Value:
    """`obj.name`"""
    value = getattr_or_none(vm, obj, name)
    if value is None:
        raise attribute_error(vm, obj, name)
    return value


def getattr_or_none(vm: Machine, obj: Value, name: str) -> Value | None:
    """`obj.name`, None where AttributeError would be raised."""
    cls = obj.cls
    if isinstance(obj, Instance) and not isinstance(obj, ClassValue):
        custom = python_special(cls, "__getattribute__")
        if custom is not None:
            return _call_getattr(vm, obj, name, custom)
    value = generic_getattr(vm, obj, name)
    if value is not None:
        return value
    fallback = python_special(cls, "__getattr__")
    if fallback is not None and not obj_handles_missing(obj):
        return _call_getattr(vm, obj, name, fallback)
    return None


def obj_handles_missing(obj: Value) -> bool:
    """Kinds (nn.Module) whose `attribute` already does what their `__getattr__` would."""
    return getattr(obj, "native_getattr", False)


def _call_getattr(
    vm: Machine, obj: Value, name: str, method: tuple[types.FunctionType, type]
) -> Value | None:
    func = class_attribute_value(vm, method[0], method[1], method[0].__name__)
    try:
        with vm.catching(AttributeError):
            return vm.call(func, [obj, ConstantValue(name)])
    except Raised as raised:
        if raised.is_a(AttributeError):
            vm.pending_attribute_error = raised
            return None
        raise


def generic_getattr(vm: Machine, obj: Value, name: str) -> Value | None:
    """`object.__getattribute__`, without `__getattr__`."""
    if isinstance(obj, SuperValue):
        return _super_getattr(vm, obj, name)
    if isinstance(obj, ClassValue):
        return _class_getattr(vm, obj, name)
    cls = obj.cls
    found = static_lookup(cls, name)
    if found is not None and is_data_descriptor(found[0]):
        return bind(vm, found[0], found[1], obj, name)
    value = obj.attribute(vm, name)
    if value is not None:
        return value
    if found is not None:
        return bind(vm, found[0], found[1], obj, name)
    return None


def is_data_descriptor(raw: Any) -> bool:
    """Properties and Python descriptors with `__set__`. C descriptors (slots, getsets) come after
    the value's own `attribute`, which knows them."""
    if isinstance(raw, property):
        return True
    return python_special(type(raw), "__set__") is not None


def bind(vm: Machine, raw: Any, owner: type, obj: Value, name: str) -> Value | None:
    """What `obj.name` gives when the class attribute is `raw`."""
    kind = type(raw)
    if kind is types.FunctionType:
        return BoundMethodValue(class_attribute_value(vm, raw, owner, name), obj)
    if isinstance(raw, property):
        return _call_property(vm, raw, owner, obj, name)
    if kind is staticmethod:
        return static_function(vm, raw, owner, name)
    if kind is classmethod:
        return BoundMethodValue(static_function(vm, raw, owner, name), vm.class_value(obj.cls))
    if kind in _C_METHODS:
        return BoundMethodValue(BuiltinValue(raw), obj)
    if kind.__name__ == "instancemethod":  # how C++ extensions add methods
        return BoundMethodValue(BuiltinValue(raw.__func__), obj)
    if kind is types.ClassMethodDescriptorType:
        return BoundMethodValue(BuiltinValue(raw), vm.class_value(obj.cls))
    if kind is _FIELD:
        return obj.getitem(vm, ConstantValue(raw.__reduce__()[1][0]))
    if kind is functools.cached_property:
        return _cached_property(vm, raw, owner, obj, name)
    if kind in (types.MemberDescriptorType, types.GetSetDescriptorType):
        return _c_descriptor(vm, raw, obj, name)
    getter = python_special(kind, "__get__")
    if getter is not None:
        descriptor = class_attribute_value(vm, raw, owner, name)
        func = class_attribute_value(vm, getter[0], getter[1], "__get__")
        return vm.call(func, [descriptor, obj, vm.class_value(obj.cls)])
    return class_attribute_value(vm, raw, owner, name)


def static_function(vm: Machine, raw: Any, owner: type, name: str) -> Value:
    """The function inside a staticmethod or classmethod object (or a plain `__new__`)."""
    if not hasattr(raw, "__func__"):
        return class_attribute_value(vm, raw, owner, name)
    if vm.trusted_class(owner):
        return vm.wrap_fixed(raw.__func__)
    namespace = AttributeSource(fixed(owner, owner.__name__), "__dict__")
    return vm.wrap(raw.__func__, AttributeSource(item(namespace, name), "__func__"))


def _call_property(vm: Machine, raw: property, owner: type, obj: Value, name: str) -> Value | None:
    if isinstance(obj, ConstantValue) and isinstance(obj.value, enum.Enum):
        value = obj.attribute(vm, name)
        if value is not None:
            return value
    if raw.fget is None:
        raise vm.exception(
            AttributeError, f"property {name!r} of {obj.cls.__name__!r} object has no getter"
        )
    special = vm.property_handler(raw)
    if special is not None:
        return special(vm, obj)
    if vm.trusted_class(owner):
        getter = vm.wrap_fixed(raw.fget)
    else:
        namespace = AttributeSource(fixed(owner, owner.__name__), "__dict__")
        getter = vm.wrap(raw.fget, AttributeSource(item(namespace, name), "fget"))
    fallback = python_special(obj.cls, "__getattr__")
    caught = (AttributeError,) if fallback is not None else ()
    try:
        with vm.catching(*caught):
            return vm.call(getter, [obj])
    except Raised as raised:
        # Python tries __getattr__ when a property raises AttributeError
        if raised.is_a(caught):
            vm.pending_attribute_error = raised
            return None
        raise


def _cached_property(
    vm: Machine, raw: functools.cached_property[Any], owner: type, obj: Value, name: str
) -> Value:
    getter = (
        vm.wrap_fixed(raw.func)
        if vm.trusted_class(owner)
        else vm.wrap(
            raw.func,
            AttributeSource(
                item(AttributeSource(fixed(owner, owner.__name__), "__dict__"), name), "func"
            ),
        )
    )
    value = vm.call(getter, [obj])
    obj.set_attribute(vm, raw.attrname or name, value)
    return value


def _c_descriptor(vm: Machine, raw: Any, obj: Value, name: str) -> Value | None:
    """Slots and getsets that the value's `attribute` did not know."""
    if name == "__dict__" and isinstance(obj, Instance):
        return instance_dict(vm, obj)
    if name == "__class__":
        return vm.class_value(obj.cls)
    if name == "__doc__":
        return vm.const(obj.cls.__doc__)
    if isinstance(obj, ConstantValue):
        return vm.wrap_new(raw.__get__(obj.value))
    if isinstance(raw, types.MemberDescriptorType) and isinstance(obj, Instance):
        if obj.obj is NO_OBJECT:
            return None
        try:
            real = raw.__get__(obj.obj)
        except AttributeError:
            return None
        assert obj.source is not None
        value = vm.wrap(real, AttributeSource(obj.source, name))
        vm.journal.read(obj.attrs, name, value)
        return value
    if isinstance(obj, OpaqueValue) and is_immutable(real := getattr(obj.obj, name, _MISSING)):
        assert obj.source is not None
        return vm.wrap(real, AttributeSource(obj.source, name))
    raise vm.graph_break("PTC-B005", f"attribute {name!r} of {obj.describe()} is computed in C")


def instance_dict(vm: Machine, obj: Instance) -> Value:
    known = vm.instance_dicts.get(id(obj))
    if known is None:
        known = InstanceDict(obj)
        vm.journal.put(vm.instance_dicts, id(obj), known)
    return known


def _super_getattr(vm: Machine, obj: SuperValue, name: str) -> Value | None:
    instance = obj.instance
    start = instance.klass_object if isinstance(instance, ClassValue) else instance.cls
    mro = start.__mro__
    after = mro[mro.index(obj.after) + 1 :]
    for base in after:
        if name in base.__dict__:
            raw = base.__dict__[name]
            if isinstance(instance, ClassValue):
                return _bind_to_class(vm, raw, base, instance, name)
            if name == "__class__":
                return vm.class_value(super)
            return bind(vm, raw, base, instance, name)
    return None


# -- classes ------------------------------------------------------------------------------------


def _class_getattr(vm: Machine, obj: ClassValue, name: str) -> Value | None:
    cls = obj.klass_object
    overlay = vm.class_overlay(cls, name)
    if overlay is not None:
        return None if overlay is DELETED else overlay
    meta = static_lookup(type(cls), name)
    if meta is not None and isinstance(meta[0], property):
        return bind(vm, meta[0], meta[1], obj, name)
    if isinstance(cls, enum.EnumMeta) and name in cls._member_map_:
        return vm.const(cls._member_map_[name])
    if name in _CLASS_FACTS:
        value = getattr(cls, name, _MISSING)
        return None if value is _MISSING else vm.wrap_fixed(value)
    if name == "__class__":
        return vm.class_value(type(cls))
    found = static_lookup(cls, name)
    if found is not None:
        return _bind_to_class(vm, found[0], found[1], obj, name)
    if meta is not None:
        return bind(vm, meta[0], meta[1], obj, name)
    return None


def _bind_to_class(vm: Machine, raw: Any, owner: type, obj: ClassValue, name: str) -> Value:
    kind = type(raw)
    if kind is staticmethod:
        return static_function(vm, raw, owner, name)
    if kind is classmethod:
        return BoundMethodValue(static_function(vm, raw, owner, name), obj)
    if kind is types.ClassMethodDescriptorType:
        return BoundMethodValue(BuiltinValue(raw), obj)
    if kind is types.BuiltinFunctionType and name == "__new__":
        return BuiltinValue(raw)
    getter = python_special(kind, "__get__")
    if getter is not None and kind is not types.FunctionType:
        descriptor = class_attribute_value(vm, raw, owner, name)
        func = class_attribute_value(vm, getter[0], getter[1], "__get__")
        return vm.call(func, [descriptor, vm.const(None), obj])
    return class_attribute_value(vm, raw, owner, name)


# -- writing ------------------------------------------------------------------------------------


def setattr_(vm: Machine, obj: Value, name: str, value: Value) -> None:
    """`obj.name = value`"""
    if isinstance(obj, Instance) and not isinstance(obj, ClassValue):
        custom = python_special(obj.cls, "__setattr__")
        if custom is not None and not obj_handles_missing(obj):
            func = class_attribute_value(vm, custom[0], custom[1], "__setattr__")
            vm.call(func, [obj, ConstantValue(name), value])
            return
    generic_setattr(vm, obj, name, value)


def generic_setattr(vm: Machine, obj: Value, name: str, value: Value) -> None:
    """`object.__setattr__`"""
    found = static_lookup(obj.cls, name)
    if found is not None:
        raw = found[0]
        if isinstance(raw, property):
            if raw.fset is None:
                message = f"property {name!r} of {obj.cls.__name__!r} object has no setter"
                raise vm.exception(AttributeError, message)
            vm.call(_property_part(vm, found[1], name, raw.fset, "fset"), [obj, value])
            return
        setter = python_special(type(raw), "__set__")
        if setter is not None:
            descriptor = class_attribute_value(vm, raw, found[1], name)
            func = class_attribute_value(vm, setter[0], setter[1], "__set__")
            vm.call(func, [descriptor, obj, value])
            return
    if isinstance(obj, Instance) and name == "__class__":
        raise vm.graph_break("PTC-B006", f"the class of {obj.describe()} is changed")
    if isinstance(obj, Instance) and name == "__dict__":
        raise vm.graph_break("PTC-B006", f"the __dict__ of {obj.describe()} is replaced")
    obj.set_attribute(vm, name, value)


def _property_part(vm: Machine, owner: type, name: str, func: Any, part: str) -> Value:
    if vm.trusted_class(owner):
        return vm.wrap_fixed(func)
    namespace = AttributeSource(fixed(owner, owner.__name__), "__dict__")
    return vm.wrap(func, AttributeSource(item(namespace, name), part))


def delattr_(vm: Machine, obj: Value, name: str) -> None:
    """`del obj.name`"""
    if isinstance(obj, Instance) and not isinstance(obj, ClassValue):
        custom = python_special(obj.cls, "__delattr__")
        if custom is not None and not obj_handles_missing(obj):
            func = class_attribute_value(vm, custom[0], custom[1], "__delattr__")
            vm.call(func, [obj, ConstantValue(name)])
            return
    generic_delattr(vm, obj, name)


def generic_delattr(vm: Machine, obj: Value, name: str) -> None:
    found = static_lookup(obj.cls, name)
    if found is not None and isinstance(found[0], property):
        if found[0].fdel is None:
            message = f"property {name!r} of {obj.cls.__name__!r} object has no deleter"
            raise vm.exception(AttributeError, message)
        vm.call(_property_part(vm, found[1], name, found[0].fdel, "fdel"), [obj])
        return
    obj.delete_attribute(vm, name)


def attribute_error(vm: Machine, obj: Value, name: str) -> Raised:
    """The AttributeError that CPython raises for a missing attribute."""
    pending, vm.pending_attribute_error = vm.pending_attribute_error, None
    if pending is not None:
        return pending
    if isinstance(obj, ClassValue):
        text = f"type object {obj.klass_object.__name__!r} has no attribute {name!r}"
    elif isinstance(obj, SuperValue):
        text = f"'super' object has no attribute {name!r}"
    elif issubclass(obj.cls, types.ModuleType):
        text = f"module {obj.real().__name__!r} has no attribute {name!r}"
    else:
        text = f"{obj.cls.__name__!r} object has no attribute {name!r}"
    return vm.exception(AttributeError, text)


def hasattr_(vm: Machine, obj: Value, name: str) -> bool:
    """`hasattr(obj, name)`"""
    try:
        with vm.catching(AttributeError):
            found = getattr_or_none(vm, obj, name) is not None
    except Raised as raised:
        if raised.is_a(AttributeError):
            return False
        raise
    vm.pending_attribute_error = None
    return found
