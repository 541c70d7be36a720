"""A program with control flow on its way into a library: what code generation and the manifest need.

Takes the program in loop form, gives its codegen entry and its manifest entry. Must not write files.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import torch

from ptc.codegen.entry import ControlEntry, ControlSegment, Entry, WriteBack
from ptc.graph.program import OutputKind, ProgramInput
from ptc.schedule.control import ControlLoops


@dataclass(frozen=True, slots=True)
class CompiledControl:
    """One entry with control flow."""

    name: str
    loops: ControlLoops

    @property
    def operators(self) -> int:
        """Operators of all segments."""
        return sum(
            node.op == "call_function"
            for segment in self.loops.functional.segments
            for node in segment.aten.graph.graph.nodes
        )

    @property
    def inputs(self) -> tuple[ProgramInput, ...]:
        return self.loops.functional.program.inputs

    def tensors(self) -> Iterator[tuple[str, torch.Tensor]]:
        """The model's tensors by the names that the library has for them."""
        for described in self.inputs:
            if described.live is not None:
                yield described.name, described.live


def control_entry(compiled: CompiledControl) -> ControlEntry:
    """What code generation needs of the entry."""
    loops = compiled.loops
    segments: list[ControlSegment] = []
    for functional, program in zip(loops.functional.segments, loops.segments, strict=True):
        aten = functional.aten
        backs = tuple(
            WriteBack(number, program.inputs[output.target])
            for number, output in enumerate(aten.outputs)
            if output.kind is OutputKind.WRITE_BACK and output.target is not None
        )
        names = tuple(output.name for output in aten.outputs)
        entry = Entry(f"{compiled.name}.{aten.name}", program, backs, output_names=names)
        segments.append(ControlSegment(functional.item, entry, functional.shared))
    interface = Entry(compiled.name, loops.interface)
    return ControlEntry(interface, loops.functional.program, tuple(segments), loops.weights)
