"""Which variables of a program with control flow gradients may reach.

Takes a program captured in the present gradient mode, gives names. One that is left out never
requires a gradient in eager; one that is in may not on the way that a run takes.
"""

from __future__ import annotations

import operator
from collections.abc import Iterator
from typing import Any

import torch
import torch.fx

from ptc.autograd.torch_internals import GRADIENT_SWITCHES, storage_key
from ptc.graph.control import Assign, ControlProgram, ListItem, Segment, walk
from ptc.graph.control_parts import flat, placeholders_of, variables_of
from ptc.graph.transforms import unwrapped

_DETACH = ("detach", torch.detach)
_WRITE_TO_FIRST = (operator.setitem, "__setitem__")


def reached(program: ControlProgram) -> frozenset[str]:
    """The names of inputs and variables that may require a gradient."""
    found = {
        described.name
        for described, fake in zip(program.inputs, program.values, strict=True)
        if isinstance(fake, torch.Tensor) and fake.requires_grad
    }
    before = 0
    while len(found) > before:
        before = len(found)
        for item in walk(program.body):
            if isinstance(item, Segment):
                found.update(_SegmentFlow(item, found).names())
            elif isinstance(item, (Assign, ListItem)):
                # References: what is written by one name is seen by the other
                names = {variable.name for variable in variables_of(item)}
                found |= names if names & found else set()
    return frozenset(found)


class _SegmentFlow:
    """What gradients reach in a segment: nodes, and storages that are written with such."""

    def __init__(self, segment: Segment, found: set[str]) -> None:
        self._program = segment.program
        ports = placeholders_of(segment.program)
        self._placeholders = {node: described.name for described, node in ports}
        self._nodes = {node for node, name in self._placeholders.items() if name in found}
        self._written: set[int] = set()
        recording = torch.is_grad_enabled()
        for node in segment.program.graph.graph.nodes:
            if node.target in GRADIENT_SWITCHES:
                recording = bool(node.args[0])
            elif recording and node.op in ("call_function", "call_method"):
                self._call(node)

    def names(self) -> Iterator[str]:
        for node, name in self._placeholders.items():
            if _storage(node) in self._written:
                yield name
        returned: Any = self._program.graph.graph.output_node().args[0]
        for output, node in zip(self._program.outputs, returned, strict=True):
            if self._is_reached(node):
                yield output.name

    def _is_reached(self, value: Any) -> bool:
        return value in self._nodes or _storage(value) in self._written

    def _call(self, node: torch.fx.Node) -> None:
        given = [a for a in flat((node.args, node.kwargs)) if isinstance(a, torch.fx.Node)]
        if node.target == "requires_grad_" and node.args[1:] != (False,):
            self._nodes |= {node, *given}
        if not any(map(self._is_reached, given)):
            return
        if node.target in _WRITE_TO_FIRST:
            self._written.add(_storage(given[0]))
        if node.target in _DETACH or not _may_require_grad(node.meta.get("val")):
            return
        self._nodes.add(node)
        if any(_storage(a) == _storage(node) and not self._is_reached(a) for a in given):
            self._written.add(_storage(node))  # in place


def _storage(node: Any) -> int:
    """Identifies the memory of a node's tensor; 0 for all else."""
    value = node.meta.get("val") if isinstance(node, torch.fx.Node) else None
    return storage_key(unwrapped(value)) if isinstance(value, torch.Tensor) else 0


def _may_require_grad(value: Any) -> bool:
    if isinstance(value, torch.Tensor):
        return value.is_floating_point() or value.is_complex()
    return isinstance(value, (tuple, list))
