"""The manifest of a library: what its programs say about inputs, outputs, sizes and weights.

Goes in: the entries' aten and loop programs, and where the weights were put. Comes out: a
`hosting.manifest.Manifest`. Must not write files.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import torch

from ptc.artifact.control import CompiledControl, control_entry, describe_control
from ptc.artifact.weights import WeightImage
from ptc.codegen.entry import AnyEntry, Entry, WriteBack
from ptc.codegen.target import Target
from ptc.graph.program import AtenProgram, InputKind, OutputKind, ProgramInput, Structure
from ptc.graph.structure import renumber, to_json
from ptc.hosting.manifest import (
    EntryInfo,
    Manifest,
    SizeInfo,
    TargetInfo,
    TensorInfo,
    WeightInfo,
    WeightsInfo,
)
from ptc.loops.index import Index
from ptc.loops.nodes import Buffer, Program
from ptc.support.version import VERSION

_CALL_KINDS = (InputKind.USER, InputKind.SCALAR)


@dataclass(frozen=True, slots=True)
class CompiledEntry:
    """One straight-line entry on its way into a library."""

    name: str
    aten: AtenProgram
    loops: Program

    @property
    def operators(self) -> int:
        """Operators of the functional graph."""
        return sum(1 for node in self.aten.graph.graph.nodes if node.op == "call_function")

    @property
    def inputs(self) -> tuple[ProgramInput, ...]:
        return self.aten.inputs

    def tensors(self) -> Iterator[tuple[str, torch.Tensor]]:
        """The model's tensors by the names that the library has for them."""
        for buffer, described in zip(self.loops.inputs, self.aten.inputs, strict=True):
            if described.live is not None:
                yield buffer, described.live


AnyCompiled = CompiledEntry | CompiledControl


def codegen_entry(compiled: AnyCompiled) -> AnyEntry:
    """What code generation needs of the entry."""
    if isinstance(compiled, CompiledControl):
        return control_entry(compiled)
    return straight_entry(compiled)


def straight_entry(compiled: CompiledEntry) -> Entry:
    """What code generation needs of an entry without control flow."""
    aten, loops = compiled.aten, compiled.loops
    write_backs = tuple(
        WriteBack(number, loops.inputs[output.target])
        for number, output in enumerate(aten.outputs)
        if output.kind is OutputKind.WRITE_BACK and output.target is not None
    )
    names = tuple(output.name for output in aten.outputs)
    return Entry(compiled.name, loops, write_backs, output_names=names)


def describe(
    name: str,
    entries: Sequence[AnyCompiled],
    kernels: Mapping[str, int],
    target: Target,
    weights: WeightsInfo,
    hashes: Mapping[str, str],
) -> Manifest:
    """The manifest. `kernels`: kernel calls by entry."""
    return Manifest(
        name=name,
        entries=tuple(_entry(entry, kernels.get(entry.name, 0)) for entry in entries),
        target=TargetInfo(target.triple, target.isa, target.threads),
        weights=weights,
        ptc=VERSION,
        torch=torch.__version__,
        hashes=dict(hashes),
    )


def weights_info(
    image: WeightImage | None, file: str | None, entries: Sequence[AnyCompiled]
) -> WeightsInfo:
    """Where each weight is stored. `file`: the name of the weights file, None when embedded."""
    storage = "embedded" if file is None else "file"
    if image is None:
        return WeightsInfo(storage, file)
    aliases = {i.name: i.aliases for entry in entries for i in entry.inputs}
    tensors = tuple(
        WeightInfo(t.name, t.dtype, t.shape, t.offset, t.bytes, tuple(aliases.get(t.name, ())))
        for t in image.tensors
    )
    return WeightsInfo(storage, file, image.bytes, tensors)


def _entry(compiled: AnyCompiled, kernels: int) -> EntryInfo:
    if isinstance(compiled, CompiledControl):
        return describe_control(compiled, kernels)
    aten, loops = compiled.aten, compiled.loops
    calls = [i for i, described in enumerate(aten.inputs) if described.kind in _CALL_KINDS]
    positions = {index: number for number, index in enumerate(calls)}
    mutated = {o.target for o in aten.outputs if o.kind is OutputKind.WRITE_BACK}
    inputs = tuple(
        _tensor(aten.inputs[i].name, loops.buffers[loops.inputs[i]], mutated=i in mutated)
        for i in calls
    )
    outputs = tuple(
        _output(
            described.name,
            loops,
            value,
            _position(described.alias_of, positions),
        )
        for described, value in zip(aten.outputs, loops.outputs, strict=True)
        if described.kind is OutputKind.USER
    )
    sources = straight_entry(compiled).size_sources()
    sizes = tuple(
        SizeInfo(size.symbol, size.name, size.lower, size.upper, source.input, source.dim)
        for size, source in zip(loops.sizes, sources, strict=True)
    )
    return EntryInfo(
        name=compiled.name,
        inputs=inputs,
        outputs=outputs,
        sizes=sizes,
        arguments=_structure(aten.arguments, positions),
        result=None if aten.result is None else to_json(aten.result),
        operators=compiled.operators,
        kernels=kernels,
    )


def _position(index: int | None, positions: Mapping[int, int]) -> int | None:
    return None if index is None else positions.get(index)


def _structure(
    structure: Structure | None, positions: Mapping[int, int]
) -> dict[str, object] | None:
    return None if structure is None else to_json(renumber(structure, positions))


def _output(name: str, loops: Program, value: str | Index, alias: int | None) -> TensorInfo:
    if isinstance(value, Index):
        return TensorInfo(name, "i64", ())
    return _tensor(name, loops.buffers[value], alias_of=alias)


def _tensor(
    name: str, buffer: Buffer, *, alias_of: int | None = None, mutated: bool = False
) -> TensorInfo:
    shape = tuple(str(d) if d.constant is None else d.constant for d in buffer.shape)
    return TensorInfo(name, buffer.dtype.value, shape, alias_of, mutated)
