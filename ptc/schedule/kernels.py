"""Kernels during scheduling: who writes and reads what, and the shape of each loop nest.

`KernelGraph` is the mutable list of kernels that passes rework; it keeps writers and readers of
every buffer current, so that a pass touches only what it changes. Knows no policy.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from ptc.loops.bounds import Ranges
from ptc.loops.index import Index
from ptc.loops.nodes import (
    AnyKernel,
    Buffer,
    BufferKind,
    Check,
    Expr,
    ExternKernel,
    Kernel,
    Let,
    Load,
    Loop,
    LoopKind,
    Program,
    Stmt,
    Store,
    TemplateKernel,
)
from ptc.loops.walk import (
    Substitution,
    kernel_loads,
    kernel_stores,
    walk_statements,
)

SizeRanges = Mapping[str, tuple[int, "int | None"]]


@dataclass(frozen=True, slots=True)
class Nest:
    """A kernel as perfectly nested PARALLEL loops around `inner`."""

    loops: tuple[Loop, ...]
    inner: tuple[Stmt, ...]

    @property
    def vars(self) -> tuple[str, ...]:
        return tuple([loop.var for loop in self.loops])


def nest_of(kernel: Kernel) -> Nest:
    """The outer perfect nest of parallel loops of a kernel (possibly none)."""
    loops: list[Loop] = []
    body = kernel.body
    while len(body) == 1 and isinstance(body[0], Loop):
        loop = body[0]
        if loop.kind not in (LoopKind.PARALLEL, LoopKind.VECTOR):
            break
        loops.append(loop)
        body = loop.body
    return Nest(tuple(loops), body)


def wrap(loops: Iterable[Loop], inner: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
    """`inner` inside copies of `loops`, the first outermost."""
    body = inner
    for loop in reversed(tuple(loops)):
        body = (replace(loop, body=body),)
    return body


@dataclass(frozen=True, slots=True)
class Pointwise:
    """A kernel that stores one value at every index of its loops."""

    loops: tuple[Loop, ...]
    store: Store


def pointwise_of(kernel: AnyKernel) -> Pointwise | None:
    """The kernel as a Pointwise, plain Lets put into the stored value; None if it is not one."""
    if not isinstance(kernel, Kernel) or kernel.locals:
        return None
    nest = nest_of(kernel)
    if not nest.inner or not isinstance(nest.inner[-1], Store):
        return None
    store = nest.inner[-1]
    if store.reduce is not None:
        return None
    refs: dict[str, Expr] = {}
    for stmt in nest.inner[:-1]:
        if not isinstance(stmt, Let) or stmt.bounds is not None:
            return None
        value = Substitution(refs=refs).expr(stmt.value) if refs else stmt.value
        refs[stmt.name] = value
    if refs:
        store = replace(store, value=Substitution(refs=refs).expr(store.value))
    return Pointwise(nest.loops, store)


def covers(pointwise: Pointwise, buffer: Buffer) -> bool:
    """Whether the store index is each loop variable once, in any order, over the whole buffer."""
    extents = {loop.var: loop.extent for loop in pointwise.loops}
    seen: set[str] = set()
    for index, size in zip(pointwise.store.index, buffer.shape, strict=True):
        if size == 1 and index == 0:
            continue
        var = index.variable
        if var is None or var in seen or extents.get(var) != size:
            return False
        seen.add(var)
    return len(seen) == len(extents)


def kernel_bounds(kernel: Kernel | TemplateKernel) -> dict[str, Index]:
    """Bounds of every index variable a kernel declares."""
    bounds: dict[str, Index] = {}
    body = kernel.body if isinstance(kernel, Kernel) else kernel.epilogue
    if isinstance(kernel, TemplateKernel):
        bounds.update(kernel.extents)
    for stmt in walk_statements(body):
        if isinstance(stmt, Loop):
            bounds[stmt.var] = stmt.extent
        elif isinstance(stmt, Let) and stmt.bounds is not None:
            bounds[stmt.name] = stmt.bounds
    return bounds


def may_fail(kernel: AnyKernel) -> bool:
    """Whether running the kernel can end the run (a Check)."""
    if isinstance(kernel, ExternKernel):
        return False
    body = kernel.body if isinstance(kernel, Kernel) else kernel.epilogue
    return any(isinstance(s, Check) for s in walk_statements(body))


class KernelGraph:
    """Kernels by position. Positions are ints in execution order; a removed one stays unused."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.buffers: dict[str, Buffer] = dict(program.buffers)
        self.kernels: dict[int, AnyKernel] = {}
        self.writers: dict[str, set[int]] = {}
        self.readers: dict[str, set[int]] = {}
        self.loads: dict[int, dict[str, list[Load]]] = {}
        self.stores: dict[int, list[Store]] = {}
        self.sizes: SizeRanges = {s.symbol: (s.lower, s.upper) for s in program.sizes}
        self.kept = {o for o in program.outputs if isinstance(o, str)}
        self.changed = False
        for position, kernel in enumerate(program.kernels):
            self._enter(position, kernel)

    def _enter(self, position: int, kernel: AnyKernel) -> None:
        self.kernels[position] = kernel
        by_buffer: dict[str, list[Load]] = {}
        if isinstance(kernel, ExternKernel):
            reads, writes = set(kernel.inputs), set(kernel.outputs)
            self.stores[position] = []
        else:
            for load in kernel_loads(kernel):
                by_buffer.setdefault(load.buffer, []).append(load)
            self.stores[position] = kernel_stores(kernel)
            writes = {s.buffer for s in self.stores[position]}
            reads = {*by_buffer, *[s.buffer for s in self.stores[position] if s.reduce]}
        self.loads[position] = by_buffer
        for name in reads:
            self.readers.setdefault(name, set()).add(position)
        for name in writes:
            self.writers.setdefault(name, set()).add(position)

    def _leave(self, position: int) -> AnyKernel:
        for positions in (self.readers, self.writers):
            for name in self.touched(position):
                positions.get(name, set()).discard(position)
        return self.kernels[position]

    def touched(self, position: int) -> set[str]:
        """Buffers the kernel reads or writes."""
        kernel = self.kernels[position]
        if isinstance(kernel, ExternKernel):
            return {*kernel.inputs, *kernel.outputs}
        return {*self.loads[position], *[s.buffer for s in self.stores[position]]}

    def replace(self, position: int, kernel: AnyKernel) -> None:
        """Put another kernel at a position."""
        self._leave(position)
        self._enter(position, kernel)
        self.changed = True

    def remove(self, position: int) -> None:
        """Take a kernel out; buffers that nothing writes any more go with it."""
        kernel = self._leave(position)
        written = {s.buffer for s in self.stores[position]}
        if isinstance(kernel, ExternKernel):
            written = set(kernel.outputs)
        for tables in (self.kernels, self.loads, self.stores):
            del tables[position]
        for name in written:
            self.drop_if_unused(name)
        self.changed = True

    def drop_if_unused(self, name: str) -> None:
        """Forget a temporary that no kernel touches."""
        if not self.writers.get(name) and not self.readers.get(name):
            buffer = self.buffers.get(name)
            if buffer is not None and buffer.kind in (BufferKind.TEMP, BufferKind.LITERAL):
                del self.buffers[name]

    def order(self) -> list[int]:
        """Positions in execution order."""
        return sorted(self.kernels)

    def is_private(self, name: str) -> bool:
        """Whether a buffer is a temporary that no caller sees."""
        buffer = self.buffers.get(name)
        return buffer is not None and buffer.kind is BufferKind.TEMP and name not in self.kept

    def sole_writer(self, name: str) -> int | None:
        """The one kernel that writes a buffer, if there is exactly one."""
        writers = self.writers.get(name, set())
        return next(iter(writers)) if len(writers) == 1 else None

    def ranges(self, kernel: Kernel | TemplateKernel) -> Ranges:
        """Ranges with all variables of a kernel declared."""
        return Ranges(kernel_bounds(kernel), self.sizes)

    def finish(self) -> Program:
        """The program as it stands now."""
        kernels = tuple([self.kernels[p] for p in self.order()])
        return replace(self.program, buffers=self.buffers, kernels=kernels)
