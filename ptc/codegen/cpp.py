"""A loop-nest kernel as a C++ function.

Takes a Kernel with its program's buffers and sizes, gives a `KernelCode`: text whose names are
numbered, so that equal kernels give equal text, with the buffers and sizes to pass in order. The
function's name is filled in by `units`. Statements are written by `statements`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ptc.codegen.context import Context, SizeNames, size_ranges
from ptc.codegen.cpp_types import ELEMENT
from ptc.codegen.statements import vector_loop, write_statements
from ptc.codegen.vector_width import choose_width
from ptc.codegen.work import body_work, extent_value
from ptc.loops.bounds import Ranges
from ptc.loops.index import Index
from ptc.loops.nodes import (
    Buffer,
    Kernel,
    Load,
    Loop,
    LoopKind,
    Size,
    Stmt,
    Store,
)
from ptc.loops.walk import expressions, walk_expr, walk_statements

#: Where the function's name goes in `KernelCode.text`.
NAME = "@NAME@"
#: Kernels with less work (rough additions) are not worth a second thread.
PARALLEL_WORK = 60_000.0
#: Row buffers beyond this many bytes together are allocated, not put on the stack.
_STACK_BYTES = 64 << 10
#: Enough outer iterations to share out.
_ENOUGH_ITERATIONS = 64


@dataclass(frozen=True, slots=True)
class KernelCode:
    """A function and how to call it: `name(run, *buffers, *sizes)`.

    `status`: whether it returns one (else void). `cost` estimates compile time.
    """

    text: str
    buffers: tuple[str, ...]
    sizes: tuple[str, ...]
    status: bool
    headers: frozenset[str]
    cost: float


@dataclass(frozen=True, slots=True)
class Parameters:
    """The memory a kernel uses: buffer -> C++ name, in order, and which of them it writes."""

    names: Mapping[str, str]
    written: frozenset[str]

    def declaration(self, buffers: Mapping[str, Buffer]) -> str:
        """As a parameter list."""
        return ", ".join(
            f"{'' if b in self.written else 'const '}{ELEMENT[buffers[b].dtype]}* {name}"
            for b, name in self.names.items()
        )


def parameters(body: Sequence[Stmt], local: Mapping[str, Buffer]) -> Parameters:
    """Number the buffers that `body` uses: `out0...` written, `in0...` read only."""
    used: dict[str, None] = {}
    written: set[str] = set()
    for stmt in walk_statements(body):
        for node in walk_expr(expressions(stmt)):
            if isinstance(node, Load):
                used[node.buffer] = None
        if isinstance(stmt, Store):
            used[stmt.buffer] = None
            written.add(stmt.buffer)
    names: dict[str, str] = {}
    outputs = inputs = 0
    for buffer in used:
        if buffer in local:
            continue
        if buffer in written:
            names[buffer] = f"out{outputs}"
            outputs += 1
        else:
            names[buffer] = f"in{inputs}"
            inputs += 1
    return Parameters(names, frozenset(written))


class _FunctionWriter:
    """Collects the helper functions (one a parallel region) and the body of the main one."""

    def __init__(
        self, kernel: Kernel, buffers: Mapping[str, Buffer], sizes: tuple[Size, ...], lanes: int,
        threads: bool,
    ) -> None:  # fmt: skip
        self.kernel = kernel
        self.locals = {b.name: b for b in kernel.locals}
        self.buffers = {**buffers, **self.locals}
        self.size_ranges = size_ranges(sizes)
        self.lanes = lanes
        self.threads = threads
        self.parameters = parameters(kernel.body, self.locals)
        self.names = SizeNames()
        self.helpers: list[str] = []
        self.lines: list[str] = []
        self.headers: set[str] = set()
        self.status = False
        self.cost = 1.0

    def context(self) -> Context:
        """A context for one region."""
        return Context(
            lanes_max=self.lanes,
            buffers=self.buffers,
            memory=dict(self.parameters.names),
            ranges=Ranges({}, self.size_ranges),
            names=self.names,
        )

    def write(self) -> KernelCode:
        """The whole function."""
        body = self.kernel.body
        if all(isinstance(s, Loop) for s in body) and self.threads:
            for stmt in body:
                assert isinstance(stmt, Loop)
                self._region(stmt)
        else:
            self._serial(body)
        result = "int" if self.status else "void"
        sizes = "".join(f", int64_t {self.names[s]}" for s in self.names.sizes)
        declared = self.parameters.declaration(self.buffers)
        head = f"PTC_HIDDEN {result} {NAME}(Run* run, {declared}{sizes}) {{"
        lines = [*self.helpers, head, *[f"  {line}" for line in self.lines]]
        if self.status:
            lines.append("  return STATUS_OK;")
        lines.append("}")
        text = "\n".join(lines) + "\n"
        return KernelCode(
            text,
            tuple(self.parameters.names),
            tuple(self.names.sizes),
            self.status,
            frozenset(self.headers),
            self.cost + text.count("\n") * 0.5,
        )

    def _serial(self, body: Sequence[Stmt]) -> None:
        ctx = self.context()
        self._declare_locals(ctx, body)
        write_statements(ctx, body)
        self._take(ctx)
        self.lines.extend(ctx.writer.text())

    def _take(self, ctx: Context) -> None:
        self.headers |= ctx.headers
        self.status = self.status or ctx.can_fail
        self.cost += ctx.operations

    def _declare_locals(self, ctx: Context, body: Sequence[Stmt]) -> None:
        used = parameters(body, {}).names
        room = _STACK_BYTES
        for buffer in self.kernel.locals:
            if buffer.name not in used:
                continue
            name = ctx.writer.fresh("row")
            ctx.memory[buffer.name] = name
            size = _span(buffer)
            constant = size.constant
            element = ELEMENT[buffer.dtype]
            if constant is not None and constant * buffer.dtype.itemsize <= room:
                room -= constant * buffer.dtype.itemsize
                count = max(constant, 1)
                ctx.writer.line(f"alignas(64) {element} {name}[{count}];")
            else:
                ctx.writer.line(f"Scratch<{element}> {name}_memory({ctx.text(size)});")
                ctx.writer.line(f"{element}* const {name} = {name}_memory.data;")
                ctx.writer.line(f"if (!{name}) return STATUS_MEMORY;")
                ctx.can_fail = True

    def _region(self, loop: Loop) -> None:
        """One top-level loop, shared out over threads when it is large enough."""
        ctx = self.context()
        work = body_work((loop,), ctx.ranges)
        known = loop.extent.constant
        splits = loop.kind in (LoopKind.PARALLEL, LoopKind.VECTOR) and work >= PARALLEL_WORK
        if not splits or (known is not None and known < 2 and not _nested_parallel(loop)):
            self._serial((loop,))
            return
        if loop.kind is LoopKind.VECTOR:
            self._vector_region(ctx, loop)
        else:
            self._parallel_region(ctx, loop)

    def _parallel_region(self, ctx: Context, loop: Loop) -> None:
        chain = _collapsible(loop, ctx.ranges)
        total = Index.const(1)
        for each in chain:
            total = total * each.extent
        work = body_work(chain[-1].body, ctx.ranges)
        self._declare_locals(ctx, chain[-1].body)
        empty = not ctx.ranges.nonnegative(total - 1)
        ctx.writer.open(
            "for (int64_t step = begin; step < end; ++step)",
            frozenset(self.parameters.written | set(self.locals)),
            fixed=empty,
        )
        rest = "step"
        scopes = [ctx.variable(each.var, each.extent) for each in chain]
        names = [scope.__enter__() for scope in scopes]
        inner = Index.const(1)
        lines: list[str] = []
        for position in range(len(chain) - 1, -1, -1):
            each = chain[position]
            divided = rest if inner == 1 else f"{rest} / {ctx.operand(inner)}"
            if position:
                divided = f"{divided} % {ctx.operand(each.extent)}"
            lines.append(f"const int64_t {names[position]} = {divided};")
            inner = inner * each.extent
            ctx.writer.define(each.var)
        for line in reversed(lines):
            ctx.writer.line(line)
        write_statements(ctx, chain[-1].body)
        ctx.writer.close()
        for scope in reversed(scopes):
            scope.__exit__(None, None, None)
        self._helper(ctx, total, 1, work)

    def _vector_region(self, ctx: Context, loop: Loop) -> None:
        width = choose_width(ctx, loop) or 1
        self._declare_locals(ctx, loop.body)
        vector_loop(ctx, loop, "begin", "end")
        work = body_work(loop.body, ctx.ranges) / 8
        self._helper(ctx, loop.extent, width * 16, work)

    def _helper(self, ctx: Context, total: Index, align: int, work: float) -> None:
        """Close a region: its lines become a function over [begin, end), called in parallel."""
        count = ctx.text(total)
        self._take(ctx)
        name = f"{NAME}_{len(self.helpers)}" if self.helpers else f"{NAME}_part"
        sizes = "".join(f", int64_t {self.names[s]}" for s in self.names.sizes)
        declared = self.parameters.declaration(self.buffers)
        head = f"static int {name}(Run* run, {declared}{sizes}, int64_t begin, int64_t end) {{"
        lines = [head, *[f"  {line}" for line in ctx.writer.text()], "  return STATUS_OK;", "}", ""]
        self.helpers.append("\n".join(lines))
        arguments = ", ".join(
            ["run", *self.parameters.names.values(), *[self.names[s] for s in self.names.sizes]]
        )
        call = f"{name}({arguments}, begin, end)"
        parallel = (
            f"parallel(run, {count}, {align}, {work:.1f}, "
            f"[&](int64_t begin, int64_t end) {{ return {call}; }})"
        )
        if ctx.can_fail:
            self.lines.append(f"if (const int status = {parallel}) return status;")
        else:
            self.lines.append(f"{parallel};")


def _nested_parallel(loop: Loop) -> bool:
    inner = loop.body[0] if len(loop.body) == 1 else None
    return loop.kind is LoopKind.PARALLEL and (
        isinstance(inner, Loop) and inner.kind is LoopKind.PARALLEL
    )


def _collapsible(loop: Loop, ranges: Ranges) -> list[Loop]:
    """Perfectly nested PARALLEL loops from `loop` inwards, as many as give enough iterations."""
    chain = [loop]
    while extent_product(chain, ranges) < _ENOUGH_ITERATIONS:
        body = chain[-1].body
        inner = body[0] if len(body) == 1 else None
        if not isinstance(inner, Loop) or inner.kind is not LoopKind.PARALLEL:
            break
        outer_vars = {each.var for each in chain}
        if not outer_vars.isdisjoint(inner.extent.vars):
            break
        if not any(isinstance(s, Loop) for s in inner.body):
            break
        chain.append(inner)
    return chain


def extent_product(chain: Sequence[Loop], ranges: Ranges) -> float:
    """Iterations of nested loops together."""
    total = 1.0
    for loop in chain:
        total *= extent_value(loop.extent, ranges)
    return total


def _span(buffer: Buffer) -> Index:
    """Elements from the first to the last of a buffer, which has no negative strides."""
    total = Index.const(1)
    for extent, stride in zip(buffer.shape, buffer.strides, strict=True):
        total = total + (extent - 1) * stride
    return total


def kernel_code(
    kernel: Kernel,
    buffers: Mapping[str, Buffer],
    sizes: tuple[Size, ...],
    lanes: int,
    *,
    threads: bool = True,
) -> KernelCode:
    """`kernel` as C++ for vectors of `lanes` f32."""
    return _FunctionWriter(kernel, buffers, sizes, lanes, threads).write()
