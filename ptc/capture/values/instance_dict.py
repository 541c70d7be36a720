"""`obj.__dict__` (and `vars(obj)`) as a live dictionary over an instance's attributes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ptc.capture.errors import NotConstant
from ptc.capture.values.base import IdentityKey, Value
from ptc.capture.values.constants import ConstantValue
from ptc.capture.values.mappings import DictValue
from ptc.capture.values.objects import Instance

if TYPE_CHECKING:
    from ptc.capture.interpreter.machine import Machine
    from ptc.capture.rebuild import Rebuilder


class InstanceDict(DictValue):
    """Reads and writes go to the instance; `entries` is refreshed before anything lists it."""

    __slots__ = ("instance",)

    def __init__(self, instance: Instance) -> None:
        super().__init__()
        self.instance = instance

    def find(self, vm: Machine, key: Value) -> Value | None:
        try:
            name = key.constant()
        except NotConstant:
            return None
        return self.instance.attribute(vm, name) if isinstance(name, str) else None

    def load_all(self, vm: Machine) -> None:
        entries: dict[Any, tuple[Value, Value]] = {}
        for name in self.instance.attribute_names(vm):
            value = self.instance.attribute(vm, name)
            if value is not None:
                entries[name] = (ConstantValue(name), value)
        vm.journal.replace_dict(self.entries, entries)

    def setitem(self, vm: Machine, key: Value, value: Value) -> None:
        self.instance.set_attribute(vm, key.constant(), value)

    def delitem(self, vm: Machine, key: Value) -> None:
        if self.find(vm, key) is None:
            raise vm.raised(KeyError, [key])
        self.instance.delete_attribute(vm, key.constant())

    def assign(self, vm: Machine, entries: dict[Any, tuple[Value, Value]]) -> None:
        for name in self.instance.attribute_names(vm):
            if name not in entries:
                self.instance.delete_attribute(vm, name)
        for name, (_, value) in entries.items():
            self.instance.set_attribute(vm, name, value)

    def hash_key(self, vm: Machine) -> Any:
        return IdentityKey(self)

    def rebuild(self, emit: Rebuilder) -> str:
        return f"{emit.value(self.instance)}.__dict__"
