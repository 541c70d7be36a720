"""`torch.Generator` made during capture: a tensor that holds its state, written by every draw."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from ptc.capture.values.base import IdentityKey, Value
from ptc.capture.values.constants import ConstantValue
from ptc.capture.values.objects import Instance
from ptc.capture.values.torch_tensor import TensorValue

if TYPE_CHECKING:
    from ptc.capture.torch_machine import TorchMachine

# Names that no program can read
_STATE, _SEED = "<state>", "<seed>"


class TorchGeneratorValue(Instance):
    """A generator on the CPU. It cannot leave the program."""

    __slots__ = ()

    def __init__(self, vm: TorchMachine, state: TensorValue, seed: Value) -> None:
        super().__init__(torch.Generator)
        vm.journal.put(self.attrs, _STATE, state)
        self.set_seed(vm, seed)

    @property
    def state(self) -> TensorValue:
        state = self.attrs[_STATE]
        assert isinstance(state, TensorValue)
        return state

    @property
    def seed(self) -> Value:
        return self.attrs[_SEED]

    def set_seed(self, vm: TorchMachine, seed: Value) -> None:
        vm.journal.put(self.attrs, _SEED, seed)

    def describe(self) -> str:
        return "a torch.Generator"

    def attribute(self, vm: TorchMachine, name: str) -> Value | None:  # type: ignore[override]
        return ConstantValue(torch.device("cpu")) if name == "device" else None

    def set_attribute(self, vm: TorchMachine, name: str, value: Value) -> None:  # type: ignore[override]
        raise vm.attribute_error(self, name)

    def hash_key(self, vm: TorchMachine) -> IdentityKey:  # type: ignore[override]
        return IdentityKey(self)
