"""Buffers that a program replaces by a tensor that is somebody else's too.

A run gives each replaced buffer a tensor of its own. Where the model has made it one with another
buffer or with an input, a later write in place to either would be seen in both by eager: such a
program is left to Python. Takes a program and the variables that its segments write to.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ptc.autograd.control import FunctionalControl
from ptc.graph.control import Assign, ControlProgram, ListItem, ListVar, TensorVar, walk
from ptc.graph.program import OutputKind
from ptc.support.diagnostics import CompileError


def require_own_tensors(functional: FunctionalControl, replaced: Sequence[str]) -> None:
    """Raises CompileError PTC-D025 if a replaced buffer may become one tensor with an input that
    lives on, and something that may be that tensor is written to in place."""
    program = functional.program
    groups = _Groups()
    for one, other in _references(program):
        groups.join(one, other)
    changed = {groups.of(name) for name in _written(functional)}
    outside = {described.name for described in program.inputs}
    for name in replaced:
        group = groups.of(name)
        others = [other for other in outside if other != name and groups.of(other) == group]
        if group in changed and others:
            raise CompileError(
                "PTC-D025",
                f"`{name}` may become one tensor with `{min(others)}`, and is written to in place",
                location=program.location,
                hint="assign a copy (`.clone()`)",
            )


def _written(functional: FunctionalControl) -> Iterator[str]:
    """Variables that segments write to."""
    for segment in functional.segments:
        for output in segment.aten.outputs:
            if output.kind is OutputKind.WRITE_BACK and output.target is not None:
                yield segment.aten.inputs[output.target].name


def _references(program: ControlProgram) -> Iterator[tuple[str, str]]:
    """Pairs of variables of which one may be what the other is, or holds it."""
    for item in walk(program.body):
        if isinstance(item, Assign) and isinstance(item.source, (TensorVar, ListVar)):
            yield item.target.name, item.source.name
        elif isinstance(item, ListItem):
            parts = [v for v in (item.target, *item.args) if isinstance(v, (TensorVar, ListVar))]
            for part in parts[1:] if item.op not in ("stack", "cat") else ():
                yield parts[0].name, part.name


class _Groups:
    """Names, joined where they may be one."""

    def __init__(self) -> None:
        self._parents: dict[str, str] = {}

    def of(self, name: str) -> str:
        while (parent := self._parents.get(name, name)) != name:
            name = parent
        return name

    def join(self, one: str, other: str) -> None:
        self._parents[self.of(one)] = self.of(other)
