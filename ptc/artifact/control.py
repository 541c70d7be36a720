"""A program with control flow for a library: what code generation and the manifest need.

Takes the program in loop form, gives its codegen entry and its manifest entry. Must not write
files.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import torch

from ptc.codegen.entry import ControlEntry, ControlSegment, Entry, WriteBack
from ptc.graph.control import ControlOutput, NumberKind, NumberVar, TensorVar, TextVar
from ptc.graph.program import InputKind, OutputKind, ProgramInput
from ptc.graph.structure import renumber, to_json
from ptc.hosting.manifest import EntryInfo, SizeInfo, TensorInfo
from ptc.ops.dtypes import from_torch
from ptc.schedule.control import ControlLoops
from ptc.schedule.sizes import Sizes


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


_NUMBERS = {NumberKind.INT: "i64", NumberKind.FLOAT: "f64", NumberKind.BOOL: "bool"}


def describe_control(compiled: CompiledControl, kernels: int) -> EntryInfo:
    """The entry in the manifest. A size that data decides is a symbol that no input gives."""
    program, interface = compiled.loops.functional.program, compiled.loops.interface
    kinds = (InputKind.USER, InputKind.SCALAR)
    calls = [i for i, described in enumerate(program.inputs) if described.kind in kinds]
    positions = {index: number for number, index in enumerate(calls)}
    inputs = tuple(
        TensorInfo(
            buffer.name,
            buffer.dtype.value,
            tuple(str(d) if d.constant is None else d.constant for d in buffer.shape),
            mutated=buffer.name in program.written,
        )
        for buffer in (interface.buffers[name] for name in interface.inputs)
    )
    sources = Entry(compiled.name, interface).size_sources()
    sizes = tuple(
        SizeInfo(size.symbol, size.name, size.lower, size.upper, source.input, source.dim)
        for size, source in zip(interface.sizes, sources, strict=True)
    )
    arguments, result = program.arguments, program.result
    return EntryInfo(
        name=compiled.name,
        inputs=inputs,
        outputs=tuple(_output(output) for output in program.outputs),
        sizes=sizes,
        arguments=None if arguments is None else to_json(renumber(arguments, positions)),
        result=None if result is None else to_json(result),
        operators=compiled.operators,
        kernels=kernels,
        control=True,
        variants=tuple(to_json(variant) for variant in program.variants),
    )


def _output(output: ControlOutput) -> TensorInfo:
    value = output.value
    if isinstance(value, NumberVar):
        return TensorInfo(output.name, _NUMBERS[value.kind], (), kind="number")
    if isinstance(value, TensorVar):
        return _tensor(output.name, value.fake, "tensor")
    if isinstance(value, TextVar):
        return TensorInfo(output.name, "u8", (0,), kind="text")
    if not isinstance(value.element, NumberKind | torch.Tensor):
        return TensorInfo(output.name, "u8", (0,), kind="texts")
    if isinstance(value.element, NumberKind):
        return TensorInfo(output.name, _NUMBERS[value.element], (0,), kind="numbers")
    return _tensor(output.name, value.element, "list")


def _tensor(name: str, fake: torch.Tensor, kind: str) -> TensorInfo:
    shape = tuple(str(d) if d.constant is None else d.constant for d in Sizes().shape(fake.shape))
    return TensorInfo(name, from_torch(fake.dtype).value, shape, kind=kind)
