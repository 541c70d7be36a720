"""The reference interpreter: runs a Program in NumPy.

Memory is addressed logically; strides matter little here, but a planned arena does: TEMP buffers
then share one block at their offsets, so a wrong plan gives wrong results. bf16 arrays are passed
and returned as uint16 arrays. Statements belong to `interpret_statements`, contractions to
`interpret_templates`, runtime routines to `externs`.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping

import numpy as np

from ptc.loops import scalar_numpy as sn
from ptc.loops.externs import EXTERNS
from ptc.loops.index import Index
from ptc.loops.interpret_statements import RunError, Scope, execute
from ptc.loops.interpret_templates import run_template
from ptc.loops.nodes import (
    AnyKernel,
    Buffer,
    BufferKind,
    ExternKernel,
    Kernel,
    Load,
    Loop,
    Program,
    Stmt,
    Store,
    TemplateKernel,
)
from ptc.loops.scalar_numpy import Array
from ptc.loops.walk import expressions, walk_expr, walk_statements

__all__ = ["RunError", "bind_sizes", "run", "run_kernel"]


def _allocate(
    program: Program, sizes: Mapping[str, int], given: Mapping[str, Array]
) -> dict[str, Array]:
    arena = None
    if program.arena is not None:
        # Garbage, so that reading what was never written shows.
        arena = np.full(int(program.arena.evaluate(sizes)), 0xC5, np.uint8)
    memory: dict[str, Array] = {}
    for name, buffer in program.buffers.items():
        shape = tuple(int(d.evaluate(sizes)) for d in buffer.shape)
        if buffer.kind in (BufferKind.INPUT, BufferKind.WEIGHT):
            if name in given:
                memory[name] = given[name]
                if given[name].shape != shape:
                    raise ValueError(f"{name} has shape {given[name].shape}, expected {shape}")
            continue
        memory[name] = _buffer_memory(buffer, shape, arena, sizes)
    return memory


def _buffer_memory(
    buffer: Buffer, shape: tuple[int, ...], arena: Array | None, sizes: Mapping[str, int]
) -> Array:
    dtype = sn.STORAGE_TYPES[buffer.dtype]
    if buffer.kind is BufferKind.LITERAL:
        return np.frombuffer(buffer.data or b"", dtype).reshape(shape)
    strides = [int(s.evaluate(sizes)) * dtype.itemsize for s in buffer.strides]
    span = sum(s * (d - 1) for s, d in zip(strides, shape, strict=True)) + dtype.itemsize
    if 0 in shape:
        return np.empty(shape, dtype)
    if arena is not None and buffer.kind is BufferKind.TEMP and buffer.offset is not None:
        start = int(buffer.offset.evaluate(sizes))
        block = arena[start : start + span]
        if block.size != span:
            raise ValueError(f"{buffer.name} does not fit the arena")
    else:
        block = np.full(span, 0xC5, np.uint8)
    return np.ndarray(shape, dtype, block.data, 0, strides)


def run_kernel(
    kernel: AnyKernel,
    memory: dict[str, Array],
    buffers: Mapping[str, Buffer],
    sizes: Mapping[str, int],
) -> None:
    """Execute one kernel on `memory`."""
    if isinstance(kernel, ExternKernel):
        EXTERNS[kernel.function](
            [memory[n] for n in kernel.inputs],
            [memory[n] for n in kernel.outputs],
            {k: _attr_value(v, sizes) for k, v in kernel.attrs.items()},
        )
        return
    scope = Scope(dict(memory), dict(buffers), dict(sizes))
    if isinstance(kernel, TemplateKernel):
        run_template(kernel, scope)
        return
    scope.declared = _declaring_loops(kernel)
    scope.buffers = {**buffers, **{b.name: b for b in kernel.locals}}
    scope.allocate_locals("")
    execute(kernel.body, scope)


def _declaring_loops(kernel: Kernel) -> dict[str, list[Buffer]]:
    """LOCAL buffers by the variable of the innermost loop around all their uses ("" for none)."""
    result: dict[str, list[Buffer]] = {}
    for local in kernel.locals:
        body, var = kernel.body, ""
        while True:
            users = [stmt for stmt in body if _uses(stmt, local.name)]
            if len(users) != 1 or not isinstance(users[0], Loop):
                break
            body, var = users[0].body, users[0].var
        result.setdefault(var, []).append(local)
    return result


def _uses(stmt: Stmt, buffer: str) -> bool:
    statements = list(walk_statements((stmt,)))
    if any(isinstance(s, Store) and s.buffer == buffer for s in statements):
        return True
    roots = [e for s in statements for e in expressions(s)]
    return any(isinstance(e, Load) and e.buffer == buffer for e in walk_expr(roots))


def _attr_value(value: object, sizes: Mapping[str, int]) -> object:
    return int(value.evaluate(sizes)) if isinstance(value, Index) else value


def run(
    program: Program,
    inputs: Mapping[str, Array],
    weights: Mapping[str, Array] | None = None,
    sizes: Mapping[str, int] | None = None,
) -> list[Array | int]:
    """Execute `program`: arrays by buffer name in, outputs in order out.

    Sizes that `sizes` omits are read off the inputs' shapes. Raises RunError when a Check fails.
    bf16 arrays are passed and returned as uint16.
    """
    given = {**inputs, **(weights or {})}
    known = bind_sizes(program, given, sizes or {})
    memory = _allocate(program, known, given)
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for kernel in (*program.prepare, *program.kernels):
            run_kernel(kernel, memory, program.buffers, known)
    return [
        int(name.evaluate(known)) if isinstance(name, Index) else memory[name]
        for name in program.outputs
    ]


def bind_sizes(
    program: Program, given: Mapping[str, Array], sizes: Mapping[str, int]
) -> dict[str, int]:
    """Values of all size symbols, from `sizes` and from dimensions that are a bare symbol."""
    known = dict(sizes)
    for name, array in given.items():
        buffer = program.buffers.get(name)
        if buffer is None:
            continue
        for dim, actual in zip(buffer.shape, array.shape, strict=True):
            if dim.variable is not None:
                known.setdefault(dim.variable, actual)
    missing = [s.symbol for s in program.sizes if s.symbol not in known]
    if missing:
        raise ValueError(f"no value for size {', '.join(missing)}")
    return known
