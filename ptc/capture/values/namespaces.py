"""Module objects and module-level names (the globals dictionary a function runs in)."""

from __future__ import annotations

import types
from typing import TYPE_CHECKING, Any

from ptc.capture.errors import GraphBreak
from ptc.capture.sources import GlobalSource, Source, fixed
from ptc.capture.values.base import IdentityKey, Value
from ptc.capture.values.objects import DELETED

if TYPE_CHECKING:
    from ptc.capture.interpreter.machine import Machine
    from ptc.capture.rebuild import Rebuilder


class Globals:
    """One globals dictionary. Reads are guarded unless the module is a trusted library's; writes
    stay here until they are replayed."""

    __slots__ = ("known", "namespace", "trusted", "written")

    def __init__(self, namespace: dict[str, Any], trusted: bool) -> None:
        self.namespace = namespace
        self.trusted = trusted
        self.known: dict[str, Value] = {}
        self.written: dict[str, None] = {}

    def load(self, vm: Machine, name: str) -> Value | None:
        value = self.known.get(name)
        if value is not None:
            return None if value is DELETED else value
        if name not in self.namespace:
            return None
        obj = self.namespace[name]
        value = vm.wrap_fixed(obj) if self.trusted else vm.wrap(obj, self.source(name))
        vm.journal.read(self.known, name, value)
        return value

    def source(self, name: str) -> Source:
        module = self.namespace.get("__name__", "globals")
        return GlobalSource(fixed(self.namespace, f"globals_of_{module}"), name)

    def store(self, vm: Machine, name: str, value: Value) -> None:
        vm.journal.put(self.known, name, value)
        vm.journal.put(self.written, name, None)
        vm.effects.changed_globals(self)

    def delete(self, vm: Machine, name: str) -> None:
        self.store(vm, name, DELETED)

    def as_dict(self, vm: Machine) -> Value:
        raise GraphBreak("PTC-B006", "the dictionary of a module's globals is used as a value")


class PythonModuleValue(Value):
    """A module object: `torch`, `math`, the user's own."""

    __slots__ = ("module",)

    def __init__(self, module: types.ModuleType, source: Source | None = None) -> None:
        self.source = source
        self.module = module

    @property
    def cls(self) -> type:
        return type(self.module)

    def real(self) -> Any:
        return self.module

    def describe(self) -> str:
        return f"module {self.module.__name__}"

    def attribute(self, vm: Machine, name: str) -> Value | None:
        namespace = vm.globals_of(self.module.__dict__)
        value = namespace.load(vm, name)
        if value is not None:
            return value
        try:
            # Lazily loaded submodules: importing happens once a process, whoever asks first
            obj = getattr(self.module, name)
        except AttributeError:
            return None
        return vm.wrap_fixed(obj)

    def set_attribute(self, vm: Machine, name: str, value: Value) -> None:
        vm.globals_of(self.module.__dict__).store(vm, name, value)

    def hash_key(self, vm: Machine) -> Any:
        return IdentityKey(self)

    def rebuild(self, emit: Rebuilder) -> str:
        return emit.name(self.module, self.module.__name__)
