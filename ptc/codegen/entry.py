"""An entry point of a library: a program with what its callers need to know.

Plain data and what follows from it (where symbolic sizes are read, which weights are written).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ptc.graph.control import ControlProgram, Segment
from ptc.loops.index import Index
from ptc.loops.nodes import Buffer, BufferKind, DType, Program
from ptc.support.diagnostics import InternalError


@dataclass(frozen=True, slots=True)
class SizeSource:
    """A symbolic size is dimension `dim` of input number `input`; dim -1: the value of that input,
    an int64 scalar."""

    symbol: str
    input: int
    dim: int


@dataclass(frozen=True, slots=True)
class WriteBack:
    """Output `output` of the program is the new value of the INPUT or WEIGHT buffer `buffer`."""

    output: int
    buffer: str


@dataclass(frozen=True, slots=True)
class Entry:
    """`program` under the name `name`.

    `write_backs` refer to the program's last outputs; those before are the caller's. `sources` may
    leave out sizes that are the plain dimension of some input. `output_names` as in the manifest.
    """

    name: str
    program: Program
    write_backs: tuple[WriteBack, ...] = ()
    sources: tuple[SizeSource, ...] = ()
    output_names: tuple[str, ...] = ()

    @property
    def arguments(self) -> tuple[Buffer, ...]:
        """The INPUT buffers in the caller's order."""
        buffers = [self.program.buffers[name] for name in self.program.inputs]
        return tuple(b for b in buffers if b.kind is BufferKind.INPUT)

    def output_buffers(self) -> tuple[Buffer, ...]:
        """Type and shape of every output; a size that is returned is an int64 scalar."""
        return tuple(
            Buffer(f"size{i}", DType.I64, (), (), BufferKind.OUTPUT)
            if isinstance(output, Index)
            else self.program.buffers[output]
            for i, output in enumerate(self.program.outputs)
        )

    def display_name(self, output: int) -> str:
        """What messages call an output."""
        if output < len(self.output_names):
            return self.output_names[output]
        name = self.program.outputs[output]
        return name if isinstance(name, str) else f"output{output}"

    def size_sources(self) -> tuple[SizeSource, ...]:
        """Where each size of the program is read, in the program's order."""
        given = {s.symbol: s for s in self.sources}
        return tuple(
            given.get(size.symbol) or self._find_source(size.symbol) for size in self.program.sizes
        )

    def _find_source(self, symbol: str) -> SizeSource:
        scalar = self.program.scalars.get(symbol)
        if scalar is not None:
            return SizeSource(symbol, [b.name for b in self.arguments].index(scalar), -1)
        for number, buffer in enumerate(self.arguments):
            for dim, extent in enumerate(buffer.shape):
                if extent.variable == symbol:
                    return SizeSource(symbol, number, dim)
        raise InternalError("codegen", f"no input of entry {self.name} tells the size {symbol}")


@dataclass(frozen=True, slots=True)
class ControlSegment:
    """A segment of a program with control flow, ready for code generation. `shared`: which of its
    results, by position, is an input as a whole: a reference to the same tensor, not a copy."""

    item: Segment
    entry: Entry
    shared: Mapping[int, str] = field(default_factory=dict[int, str])


@dataclass(frozen=True, slots=True)
class ControlEntry:
    """A program with control flow. `interface` has its inputs and sizes, no kernels and no outputs:
    what it gives is `program.outputs`. `weights` are the buffers that are its variables."""

    interface: Entry
    program: ControlProgram
    segments: tuple[ControlSegment, ...]
    weights: tuple[Buffer, ...] = ()

    @property
    def name(self) -> str:
        return self.interface.name


AnyEntry = Entry | ControlEntry
