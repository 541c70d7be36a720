"""`nn.Module` objects: parameters, buffers and children are found as `nn.Module.__getattr__`
would, and calling one runs `forward` (and hooks, if there are any).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from ptc.capture.interpreter.lookup import static_lookup
from ptc.capture.values.base import IdentityKey, Value
from ptc.capture.values.constants import ConstantValue
from ptc.capture.values.mappings import DictValue
from ptc.capture.values.objects import NO_OBJECT, ObjectValue
from ptc.capture.values.torch_tensor import TensorValue

if TYPE_CHECKING:
    from ptc.capture.rebuild import Rebuilder
    from ptc.capture.torch_machine import TorchMachine

STORES = ("_parameters", "_buffers", "_modules")
_HOOKS = ("_forward_pre_hooks", "_forward_hooks", "_backward_hooks", "_backward_pre_hooks")


class ModuleValue(ObjectValue):
    """A module. Its three stores are ordinary dictionaries of the instance."""

    __slots__ = ()

    def describe(self) -> str:
        where = f" ({self.source})" if self.source is not None else ""
        return f"module {self.klass.__qualname__}{where}"

    def attribute(self, vm: TorchMachine, name: str) -> Value | None:  # type: ignore[override]
        known = self.attrs.get(name)
        if known is not None:
            return super().attribute(vm, name)
        if self.obj is not NO_OBJECT:
            namespace = self.obj.__dict__
            if name in namespace:
                return super().attribute(vm, name)
        for store in STORES:
            found = self._find(vm, store, name)
            if found is not None:
                return found
        # Not in a store: the class has it, unless the instance's dictionary hides it
        return super().attribute(vm, name) if self.obj is not NO_OBJECT else None

    def _find(self, vm: TorchMachine, store: str, name: str) -> Value | None:
        """Look a name up in a store. nn.Module keeps a name in one store only, so that those
        searched before it need no guard."""
        if self.obj is not NO_OBJECT and store not in self.attrs:
            mapping = self.obj.__dict__.get(store)
            if mapping is None or name not in mapping:
                return None
        mapping = super().attribute(vm, store)
        if not isinstance(mapping, DictValue):
            return None
        if mapping.complete or name in mapping.entries or name in mapping.obj:
            return mapping.find(vm, ConstantValue(name))
        return None

    def hash_key(self, vm: TorchMachine) -> Any:  # type: ignore[override]
        return IdentityKey(self)

    def address(self, vm: TorchMachine) -> int:  # type: ignore[override]
        """A module that is an argument, as `self` is, is mostly the same one."""
        return self.fixed_address(vm)

    # -- calling -------------------------------------------------------------------------------

    def plain_call(self, vm: TorchMachine) -> bool:
        """Whether calling the module is calling `forward`: no hooks. Guarded."""
        if self.obj is NO_OBJECT:
            return True
        if self.source is not None:
            facts = (self._hooks_present(), "forward" in self.obj.__dict__)
            vm.guard("MODULE_HOOKS", self.source, facts)
        return not self._hooks_present()

    def _hooks_present(self) -> bool:
        namespace = self.obj.__dict__
        return any(namespace.get(name) for name in _HOOKS)

    def rebuild(self, emit: Rebuilder) -> str:
        cls = emit.name(self.klass, self.klass.__name__)
        name = emit.define(self, f"{cls}.__new__({cls})")
        for attribute, content in self.attrs.items():
            emit.line(f"{name}.__dict__[{attribute!r}] = {emit.value(content)}")
        return name


def set_module_attribute(vm: TorchMachine, module: Value, name: str, value: Value) -> None:
    """`nn.Module.__setattr__`: parameters, modules and buffers go to their stores."""
    if not isinstance(module, ModuleValue):
        vm.generic_setattr(module, name, value)
        return
    target = _store_for(vm, module, name, value)
    if target is None:
        vm.generic_setattr(module, name, value)
        return
    for other in STORES:
        mapping = module.attribute(vm, other)
        if (
            other != target
            and isinstance(mapping, DictValue)
            and mapping.find(vm, ConstantValue(name)) is not None
        ):
            mapping.delitem(vm, ConstantValue(name))
    mapping = module.attribute(vm, target)
    assert isinstance(mapping, DictValue)
    mapping.setitem(vm, ConstantValue(name), value)
    if mapping.obj is not NO_OBJECT:
        vm.effects.assigned(mapping.obj, name)
    if target == "_buffers":
        vm.buffer_set(module, name, value)


def _store_for(vm: TorchMachine, module: ModuleValue, name: str, value: Value) -> str | None:
    found = static_lookup(module.klass, name)
    if found is not None and isinstance(found[0], property):
        return None
    if isinstance(value, TensorValue) and issubclass(value.klass, torch.nn.Parameter):
        return "_parameters"
    if isinstance(value, ModuleValue):
        return "_modules"
    for store in STORES:
        mapping = module.attribute(vm, store)
        if isinstance(mapping, DictValue) and mapping.find(vm, ConstantValue(name)) is not None:
            return _checked_store(vm, store, name, value)
    return None


def _checked_store(vm: TorchMachine, store: str, name: str, value: Value) -> str:
    fits = value.cls is type(None) or (store == "_buffers" and isinstance(value, TensorValue))
    if fits:
        return store
    kind = torch.typename(value.cls)
    if store == "_parameters":
        raise vm.type_error(
            f"cannot assign '{kind}' as parameter '{name}' (torch.nn.Parameter or None expected)"
        )
    if store == "_buffers":
        raise vm.type_error(
            f"cannot assign '{kind}' as buffer '{name}' (torch.Tensor, torch.nn.Buffer or None "
            "expected)"
        )
    raise vm.type_error(
        f"cannot assign '{kind}' as child module '{name}' (torch.nn.Module or None expected)"
    )


def delete_module_attribute(vm: TorchMachine, module: Value, name: str) -> None:
    """`nn.Module.__delattr__`"""
    if isinstance(module, ModuleValue):
        for store in STORES:
            mapping = module.attribute(vm, store)
            if isinstance(mapping, DictValue) and mapping.find(vm, ConstantValue(name)) is not None:
                mapping.delitem(vm, ConstantValue(name))
                return
    vm.generic_delattr(module, name)
