"""Instances of Python classes: from outside (with a real object) or made during capture.

`attrs` holds the instance dictionary as far as it was read or written; what is missing is looked up
in the real object and guarded. Slots are kept in the same dictionary.
"""

from __future__ import annotations

import types
from typing import TYPE_CHECKING, Any

from ptc.capture.errors import GraphBreak, NotConstant
from ptc.capture.sources import AttributeSource, CallSource, Source
from ptc.capture.values.base import IdentityKey, Value
from ptc.capture.values.births import BornDict

if TYPE_CHECKING:
    from ptc.capture.interpreter.machine import Machine
    from ptc.capture.rebuild import Rebuilder

NO_OBJECT: Any = type("NoObject", (), {"__repr__": lambda self: "<made during capture>"})()


class Deleted(Value):
    """Marks a name that was deleted during capture from an object that outlives it."""

    __slots__ = ()

    @property
    def cls(self) -> type:
        raise AssertionError("a deleted attribute is not a value")


DELETED = Deleted()


class Instance(Value):
    """A value with a class and (maybe) an instance dictionary."""

    __slots__ = ("attrs", "klass", "obj")

    def __init__(self, klass: type, source: Source | None = None, obj: Any = NO_OBJECT) -> None:
        self.source = source
        self.klass = klass
        self.obj = obj
        self.attrs: dict[str, Value] = BornDict(outside=source is not None, owner=self)

    @property
    def cls(self) -> type:
        return self.klass

    def real(self) -> Any:
        if self.obj is NO_OBJECT:
            raise NotConstant(self)
        return self.obj

    # -- the instance dictionary ---------------------------------------------------------------

    def attribute(self, vm: Machine, name: str) -> Value | None:
        known = self.attrs.get(name)
        if known is not None:
            return None if known is DELETED else known
        if self.obj is NO_OBJECT:
            return None
        return self.read_real(vm, name)

    def read_real(self, vm: Machine, name: str) -> Value | None:
        """Read the real instance dictionary, under a guard."""
        namespace = real_dict(self.obj)
        if namespace is None:
            return None
        if name not in namespace:
            self.guard_absent(vm, name)
            return None
        assert self.source is not None
        value = vm.kept_attribute(self, name, namespace[name])
        if value is None:
            value = vm.wrap(namespace[name], self.attribute_source(name))
        vm.journal.read(self.attrs, name, value)
        return value

    def attribute_source(self, name: str) -> Source:
        assert self.source is not None
        return AttributeSource(self.source, name)

    def guard_absent(self, vm: Machine, name: str) -> None:
        if self.source is not None and not vm.trusted_class(self.klass):
            vm.guard("LACKS_KEY", AttributeSource(self.source, "__dict__"), name)

    def set_attribute(self, vm: Machine, name: str, value: Value) -> None:
        known = self.attrs.get(name)
        if known is value:
            return
        vm.journal.put(self.attrs, name, value)
        vm.effects.attribute_written(self, name, was_read=known is not None)
        vm.attribute_set(self, name, value)

    def delete_attribute(self, vm: Machine, name: str) -> None:
        if self.attribute(vm, name) is None:
            raise vm.attribute_error(self, name)
        if self.obj is NO_OBJECT:
            remaining = {k: v for k, v in self.attrs.items() if k != name}
            vm.journal.replace_dict(self.attrs, remaining)
        else:
            vm.journal.put(self.attrs, name, DELETED)
        vm.effects.attribute_written(self, name)
        vm.attribute_deleted(self, name)

    def attribute_names(self, vm: Machine) -> list[str]:
        """The keys of the instance dictionary, in order."""
        names = [name for name, value in self.attrs.items() if value is not DELETED]
        if self.obj is NO_OBJECT:
            return names
        namespace = real_dict(self.obj) or {}
        if self.source is not None:
            vm.guard_keys(AttributeSource(self.source, "__dict__"), namespace)
        real = [n for n in namespace if self.attrs.get(n) is not DELETED]
        return real + [n for n in names if n not in namespace]

    # -- identity ------------------------------------------------------------------------------

    def hash_key(self, vm: Machine) -> Any:
        if self.klass.__hash__ is object.__hash__ and self.klass.__eq__ is object.__eq__:
            return IdentityKey(self)
        return vm.hash_by_methods(self)

    def rebuild(self, emit: Rebuilder) -> str:
        raise GraphBreak("PTC-B008", f"{self.describe()} cannot be rebuilt in Python")


class ObjectValue(Instance):
    """An instance of a class whose state is its attributes (dict and slots), and nothing in C."""

    __slots__ = ()

    def describe(self) -> str:
        where = f" ({self.source})" if self.source is not None else ""
        return f"an object of class {self.klass.__qualname__}{where}"

    def constant(self) -> Any:
        if self.klass is object and self.obj is not NO_OBJECT:
            return self.obj  # a bare object() has an identity and nothing else
        return super().constant()

    def rebuild(self, emit: Rebuilder) -> str:
        cls = emit.name(self.klass, self.klass.__name__)
        return emit.with_attributes(self, f"object.__new__({cls})")


class OpaqueValue(Instance):
    """An object from outside that keeps its state in C, where capture cannot follow it. It can be
    passed on and tested for identity; any other use is a graph break."""

    __slots__ = ()

    def describe(self) -> str:
        return f"an object of type {self.klass.__module__}.{self.klass.__qualname__}"

    def refusal(self, what: str) -> GraphBreak:
        return GraphBreak(
            "PTC-B014",
            f"{what} {self.describe()} cannot be captured: its class is written in C",
            "use it before the model, and pass in what it gives",
        )

    def truth(self, vm: Machine) -> bool:
        if not hasattr(self.klass, "__bool__") and not hasattr(self.klass, "__len__"):
            return True
        raise self.refusal("testing the truth of")

    def length(self, vm: Machine) -> Value:
        raise self.refusal("taking the length of")

    def getitem(self, vm: Machine, key: Value) -> Value:
        raise self.refusal("indexing")

    def setitem(self, vm: Machine, key: Value, value: Value) -> None:
        raise self.refusal("storing into")

    def delitem(self, vm: Machine, key: Value) -> None:
        raise self.refusal("deleting from")

    def contains(self, vm: Machine, item: Value) -> Value:
        raise self.refusal("searching in")

    def iterate(self, vm: Machine) -> Value:
        raise self.refusal("iterating over")

    def next(self, vm: Machine) -> Value | None:
        raise self.refusal("advancing")

    def call(self, vm: Machine, args: list[Value], kwargs: dict[str, Value]) -> Value:
        raise self.refusal("calling")

    def binary(self, vm: Machine, op: str, other: Value, reflected: bool) -> Value | None:
        raise self.refusal("arithmetic on")

    def set_attribute(self, vm: Machine, name: str, value: Value) -> None:
        if real_dict(self.obj) is None:
            raise self.refusal(f"storing attribute {name!r} of")
        super().set_attribute(vm, name, value)


class WeakReferenceValue(OpaqueValue):
    """A weak reference from outside: a call gives the object, if that lives."""

    __slots__ = ()

    def call(self, vm: Machine, args: list[Value], kwargs: dict[str, Value]) -> Value:
        if args or kwargs:
            raise vm.type_error("a weak reference takes no arguments")
        if self.source is None:
            return vm.wrap_fixed(self.obj())
        return vm.wrap(self.obj(), CallSource(self.source, "{}()"))


def real_dict(obj: object) -> dict[str, Any] | None:
    """The instance dictionary of a real object, without running code of the user's."""
    for klass in type(obj).__mro__:
        descriptor = klass.__dict__.get("__dict__")
        if isinstance(descriptor, types.GetSetDescriptorType):
            return descriptor.__get__(obj)
        if descriptor is not None:
            return None
    return None
