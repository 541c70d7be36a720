"""Clean-up of loop programs: dead kernels and buffers, loads of constants."""

from __future__ import annotations

import struct
from dataclasses import replace

from ptc.loops.build import literal
from ptc.loops.nodes import AnyKernel, Buffer, BufferKind, DType, ExternKernel, Literal, Program
from ptc.loops.walk import reads, writes
from ptc.schedule.inline import fold_literal_loads
from ptc.schedule.kernels import KernelGraph, may_fail

_FORMATS = {
    DType.F64: "<d", DType.F32: "<f", DType.F16: "<e", DType.I64: "<q", DType.I32: "<i",
    DType.I16: "<h", DType.I8: "<b", DType.U8: "<B", DType.BOOL: "<?",
}  # fmt: skip


def remove_dead_kernels(program: Program) -> Program | None:
    """Drop kernels whose results nothing reads (unless they can fail the run), and buffers."""
    needed = {o for o in program.outputs if isinstance(o, str)}
    kernels = _live(program.kernels, needed)
    prepare = _live(program.prepare, needed)
    used = {*program.inputs, *needed}
    for kernel in (*kernels, *prepare):
        used |= reads(kernel) | writes(kernel)
    buffers = {n: b for n, b in program.buffers.items() if n in used}
    if len(kernels) == len(program.kernels) and len(buffers) == len(program.buffers):
        return None
    return replace(program, kernels=kernels, prepare=prepare, buffers=buffers)


def _live(kernels: tuple[AnyKernel, ...], needed: set[str]) -> tuple[AnyKernel, ...]:
    """The kernels that contribute to `needed`, which grows by what they read."""
    kept: list[AnyKernel] = []
    for kernel in reversed(kernels):
        if not writes(kernel).isdisjoint(needed) or may_fail(kernel) or _acts(kernel):
            kept.append(kernel)
            needed |= reads(kernel)
    return tuple(reversed(kept))


def _acts(kernel: AnyKernel) -> bool:
    """Routines with an effect beyond their outputs say so."""
    return isinstance(kernel, ExternKernel) and bool(kernel.attrs.get("effect"))


def literal_value(buffer: Buffer) -> Literal | None:
    """The value of a LITERAL buffer of one element."""
    if buffer.kind is not BufferKind.LITERAL or buffer.data is None:
        return None
    if any(d != 1 for d in buffer.shape):
        return None
    if buffer.dtype is DType.BF16:
        high = buffer.data[:2]
        return literal(struct.unpack("<f", b"\0\0" + high)[0], DType.BF16)
    pattern = _FORMATS.get(buffer.dtype)
    if pattern is None:
        return None
    return literal(struct.unpack(pattern, buffer.data)[0], buffer.dtype)


def fold_constants(program: Program) -> Program | None:
    """Put one-element constants where they are loaded."""
    values = {n: v for n, b in program.buffers.items() if (v := literal_value(b)) is not None}
    if not values:
        return None
    graph = KernelGraph(program)
    fold_literal_loads(graph, values)
    return graph.finish() if graph.changed else None
