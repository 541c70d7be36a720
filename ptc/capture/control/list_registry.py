"""What a machine knows of its lists: whose a content is, lengths, which may be one list at run
time, and which tensors are in lists.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from ptc.capture.values.base import Value
from ptc.capture.values.constants import ConstantValue
from ptc.capture.values.torch_tensor import TensorValue
from ptc.graph.control import TensorVar

if TYPE_CHECKING:
    from ptc.capture.control.machine import ControlMachine


class Lists:
    """`lengths` is of this path (a fact table of the machine), by the first variable of a list;
    `sizes` are the symbols of sizes that are read from elements."""

    def __init__(self, vm: ControlMachine) -> None:
        self._vm = vm
        self.lengths: dict[str, Value] = {}
        self.sizes: set[str] = set()
        self._owners: dict[int, Any] = {}
        self._groups: dict[str, set[str]] = {}
        self._numbers: dict[int, Value] = {}
        self._pools: dict[torch.dtype, TensorValue] = {}

    # -- owners --------------------------------------------------------------------------------

    def changed(self, value: Any) -> None:
        self._owners[id(value.items)] = value

    def owner(self, items: list[Any]) -> Any:
        """The list value with this content, if it ever changed."""
        return self._owners.get(id(items))

    # -- lengths -------------------------------------------------------------------------------

    def known_length(self, count: int) -> Value:
        """One value for each count: facts are compared by identity."""
        return self._numbers.setdefault(count, ConstantValue(count))

    def forget_lengths(self, name: str | None = None) -> None:
        """The lengths of lists that may be the one called `name` are not known any more; without a
        name, of all."""
        same = self._groups.get(name, {name}) if name is not None else self.lengths.keys()
        rest = {key: known for key, known in self.lengths.items() if key not in same}
        if len(rest) != len(self.lengths):
            self._vm.journal.replace_dict(self.lengths, rest)

    def same(self, one: str, other: str) -> None:
        """Two variables may refer to one list."""
        group = self._groups.setdefault(one, {one}) | self._groups.setdefault(other, {other})
        for name in group:
            self._groups[name] = group

    def alone(self, name: str) -> bool:
        return len(self._groups.get(name, ())) < 2

    # -- tensors in lists ----------------------------------------------------------------------

    def tensor(self, value: TensorValue) -> TensorVar:
        """The variable of a tensor that goes into a list."""
        var = self._vm.tensor_variable(value, dense=True)
        self._vm.may_share(self._pool(value), [value])
        return var

    def shares(self, value: TensorValue) -> None:
        """A tensor came out of a list: it may be any that went into one."""
        self._vm.may_share(value, [self._pool(value)])

    def _pool(self, like: TensorValue) -> TensorValue:
        dtype = like.fake.dtype
        if dtype not in self._pools:
            self._pools[dtype] = TensorValue(
                self._vm.fakes.empty([1], dtype, like.fake.device), None
            )
        return self._pools[dtype]

    def clear(self) -> None:
        for table in (self.lengths, self._owners, self._pools):
            table.clear()
