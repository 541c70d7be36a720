"""Guards that different inputs are different objects, where a program changes one of them.

A program that writes to nothing gives the same result whether or not two of its inputs are one
object. One that does was captured with them apart, and must not run when they are one, or share
memory.
"""

from __future__ import annotations

from collections.abc import Iterable

import torch

from ptc.capture.errors import GraphBreak
from ptc.capture.guards import Guard, guard_rule
from ptc.capture.sources import Names, Source, per_call
from ptc.capture.torch_machine import TorchMachine
from ptc.capture.values.base import Value
from ptc.capture.values.containers import ListValue
from ptc.capture.values.mappings import DictValue, SetValue
from ptc.capture.values.objects import ObjectValue
from ptc.capture.values.torch_module import ModuleValue
from ptc.capture.values.torch_tensor import TensorValue
from ptc.capture.view_recipes import storage_of
from ptc.graph.program import InputKind

_KINDS: tuple[type[Value], ...] = (ListValue, DictValue, SetValue, ObjectValue)


def add(vm: TorchMachine) -> None:
    """Add the guards of a finished capture."""
    _containers(vm)
    _tensors(vm)


def _containers(vm: TorchMachine) -> None:
    changed = {id(value) for value in vm.effects.changed_values()}
    for kind in _KINDS:
        values = [
            value
            for value in vm.wrapped.values()
            if isinstance(value, kind)
            and not isinstance(value, ModuleValue)
            and value.source is not None
            and per_call(value.source)
        ]
        touched = [value for value in values if id(value) in changed]
        if touched and len(values) > 1:
            # One changed object against all others of its kind
            _distinct(vm, values)


def _distinct(vm: TorchMachine, values: Iterable[Value]) -> None:
    sources = tuple(value.source for value in values if value.source is not None)
    vm.guard("DISTINCT", None, sources)


def mutated(value: TensorValue) -> bool:
    """Whether the graph may have changed the tensor's data in place."""
    return not value.fake.is_inference() and value.fake._version != value.first_version


def _tensors(vm: TorchMachine) -> None:
    inputs = [value for value in vm.wrapped.values() if isinstance(value, TensorValue)]
    changed = [value for value in inputs if mutated(value)]
    if not changed:
        return
    for value in changed:
        if value.live is not None and _overlaps(value.live):
            raise GraphBreak(
                "PTC-B018", f"{value.describe()} is changed and has elements that share memory"
            )
    users = [v for v in inputs if v.kind is InputKind.USER or (v in changed)]
    storages: dict[int, TensorValue] = {}
    for value in users:
        key = storage_of(value.fake)
        other = storages.setdefault(key, value)
        if other is not value and (mutated(value) or mutated(other)):
            raise GraphBreak(
                "PTC-B018",
                f"{value.describe()} and {other.describe()} share memory, and one is changed",
                "pass copies, or change the tensor outside of the compiled function",
            )
    sources = tuple(value.source for value in users if value.source is not None)
    if len(sources) > 1:
        vm.guard("NO_OVERLAP", None, sources)


def _overlaps(tensor: torch.Tensor) -> bool:
    """Whether two elements may be in one place: dimensions do not lie around each other."""
    span = 1
    for step, size in sorted(zip(tensor.stride(), tensor.shape, strict=True)):
        if size > 1:
            if step < span:
                return True
            span += (size - 1) * step
    return False


def _words(guard: Guard) -> str:
    return "no shared memory between " + ", ".join(map(str, guard.payload))


@guard_rule("NO_OVERLAP", _words, rank=8)
def _no_overlap(guard: Guard, ref: str, names: Names) -> str:
    addresses = ", ".join(_address(source, names) for source in guard.payload)
    return f"len({{{addresses}}}) == {len(guard.payload)}"


def _address(source: Source, names: Names) -> str:
    return f"{names(storage_address, 'storage_address')}({source.full_code(names)})"


def storage_address(tensor: torch.Tensor) -> int:
    """Identifies the memory of a tensor; empty ones share none."""
    return tensor.untyped_storage().data_ptr() or id(tensor)
