"""`torch.Generator`: a tensor that holds its state, written by every draw."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from ptc.capture.sources import Source
from ptc.capture.values.base import IdentityKey, Value
from ptc.capture.values.constants import ConstantValue
from ptc.capture.values.objects import NO_OBJECT, Instance
from ptc.capture.values.torch_tensor import TensorValue

if TYPE_CHECKING:
    from ptc.capture.torch_machine import TorchMachine

# A name that no program can read
_SEED = "<seed>"


class TorchGeneratorValue(Instance):
    """A generator on the CPU. One that the program made cannot leave it. The seed is known of one
    that the program gave it to."""

    __slots__ = ("state",)

    def __init__(
        self,
        state: TensorValue,
        source: Source | None = None,
        obj: Any = NO_OBJECT,
    ) -> None:
        super().__init__(torch.Generator, source, obj)
        self.state = state

    @property
    def seed(self) -> Value | None:
        return self.attrs.get(_SEED)

    def set_seed(self, vm: TorchMachine, seed: Value) -> None:
        vm.journal.put(self.attrs, _SEED, seed)

    def describe(self) -> str:
        where = f" ({self.source})" if self.source is not None else ""
        return f"a torch.Generator{where}"

    def attribute(self, vm: TorchMachine, name: str) -> Value | None:  # type: ignore[override]
        return ConstantValue(torch.device("cpu")) if name == "device" else None

    def set_attribute(self, vm: TorchMachine, name: str, value: Value) -> None:  # type: ignore[override]
        raise vm.attribute_error(self, name)

    def hash_key(self, vm: TorchMachine) -> IdentityKey:  # type: ignore[override]
        return IdentityKey(self)
