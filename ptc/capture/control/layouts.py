"""Strides of tensors that lie in variables: a program keeps those in row-major order, whatever
their strides are in eager. What a program asks about strides is refused where that may matter.

Which tensors got into a variable in another order is not followed: that one did, and that strides
of one from a variable were asked for, is enough.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from ptc.capture.errors import GraphBreak

if TYPE_CHECKING:
    from ptc.capture.control.machine import ControlMachine
    from ptc.capture.values.torch_tensor import TensorValue

STRIDES, OFFSET = "strides", "offset"
#: Methods that tell how a tensor lies in memory.
ASKING = {"is_contiguous": STRIDES, "dim_order": STRIDES, "storage_offset": OFFSET}


class Layouts:
    """What was asked and what was lost so far, on any path: both are seen once more where a loop
    comes back."""

    def __init__(self) -> None:
        self.asked: set[str] = set()
        self.lost: set[str] = set()

    def check(self) -> None:
        if self.asked & self.lost:
            raise GraphBreak(
                "PTC-B006",
                "it is asked how a tensor that data decides lies in memory, and a program keeps "
                "its elements in row-major order",
                "ask for its shape, or make it `.contiguous()` before",
            )


def lose(vm: ControlMachine, what: str) -> None:
    """Note that a tensor goes into a variable in another order (STRIDES) than it has in eager, or
    is no part of its memory any more (OFFSET)."""
    vm.homes.layouts.lost.add(what)
    vm.homes.layouts.check()


def ask(vm: ControlMachine, value: TensorValue, what: str = STRIDES) -> None:
    """Note that the program sees strides of a tensor, or where in its memory it begins."""
    if _is_from_variable(vm, value):
        vm.homes.layouts.asked.add(what)
        vm.homes.layouts.check()


def _is_from_variable(vm: ControlMachine, value: TensorValue) -> bool:
    """Whether a tensor is what lies in a variable, or was computed from such."""
    seen: set[TensorValue | torch.fx.Node] = set()
    left: list[TensorValue | torch.fx.Node] = [value]
    while left:
        one = left.pop()
        if one in seen:
            continue
        seen.add(one)
        if not isinstance(one, torch.fx.Node):
            node = one.known_node()
            if node is not None:
                left.append(node)
            elif one.source is None:
                return True
        elif one.op != "placeholder":
            left += one.all_input_nodes
        elif one in vm.value_of_node:
            left.append(vm.value_of_node[one])
    return False
