"""Lowering and scheduling of a program with control flow: each segment becomes a loop program.

Takes the functional segments, gives their programs and the interface of the whole. Interfaces of
segments are row-major: variables have one layout, whoever made them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch

from ptc.autograd.control import FunctionalControl, FunctionalSegment
from ptc.graph.control import ControlProgram
from ptc.graph.program import InputKind
from ptc.loops.nodes import Buffer, BufferKind, DType, Program, Size
from ptc.ops.dtypes import from_torch
from ptc.schedule.context import dense_strides
from ptc.schedule.lower import lower
from ptc.schedule.passes import Options, schedule
from ptc.schedule.sizes import Sizes
from ptc.support.diagnostics import CompileError

#: Of a tensor variable: ptc_control.h's limit.
MAX_DIMS = 8


@dataclass(frozen=True, slots=True)
class ControlLoops:
    """A program with control flow in loop form.

    interface   its inputs and sizes: a program without kernels and results
    segments    one program for each of `functional.segments`
    weights     the buffers that the program writes, its variables
    """

    functional: FunctionalControl
    interface: Program
    segments: tuple[Program, ...]
    weights: tuple[Buffer, ...]


def lower_control(functional: FunctionalControl) -> ControlLoops:
    """The loop programs of all segments. Raises as `lower` does."""
    program = functional.program
    segments = tuple(_lowered(segment) for segment in functional.segments)
    weights = tuple(
        _buffer(described.name, value, Sizes(), BufferKind.WEIGHT)
        for described, value in zip(program.inputs, program.values, strict=True)
        if described.live is not None and described.name in program.written
    )
    return ControlLoops(functional, _interface(program), segments, weights)


def _lowered(segment: FunctionalSegment) -> Program:
    program = lower(segment.aten, row_major=True)
    for name in (*program.inputs, *program.outputs):
        if isinstance(name, str) and len(program.buffers[name].shape) > MAX_DIMS:
            raise CompileError(
                "PTC-O004",
                f"`{name}`, a tensor of more than {MAX_DIMS} dimensions, is used around control "
                "flow",
                location=segment.item.program.location,
                hint="flatten some of its dimensions",
            )
    return program


def schedule_control(loops: ControlLoops, options: Options) -> ControlLoops:
    """All segments scheduled."""
    return replace(loops, segments=tuple(schedule(s, options) for s in loops.segments))


def _interface(program: ControlProgram) -> Program:
    sizes = Sizes()
    buffers: dict[str, Buffer] = {}
    scalars: dict[str, str] = {}
    for described, value in zip(program.inputs, program.values, strict=True):
        if described.kind is InputKind.USER:
            buffers[described.name] = _buffer(described.name, value, sizes, BufferKind.INPUT)
        elif described.kind is InputKind.SCALAR:
            dtype = _scalar_type(value)
            buffers[described.name] = Buffer(described.name, dtype, (), (), BufferKind.INPUT)
            if isinstance(value, torch.SymInt):
                symbol = sizes.index(value).variable
                if symbol is not None and symbol in program.dims:
                    scalars[symbol] = described.name
    return Program(
        name=program.name,
        sizes=tuple(Size(s, d.name, d.lower, d.upper) for s, d in program.dims.items()),
        buffers=buffers,
        inputs=tuple(buffers),
        outputs=(),
        kernels=(),
        scalars=scalars,
    )


def _buffer(name: str, fake: torch.Tensor, sizes: Sizes, kind: BufferKind) -> Buffer:
    shape = sizes.shape(fake.shape)
    return Buffer(name, from_torch(fake.dtype), shape, dense_strides(shape), kind)


def _scalar_type(value: object) -> DType:
    if isinstance(value, bool | torch.SymBool):
        return DType.BOOL
    return DType.I64 if isinstance(value, int | torch.SymInt) else DType.F64
