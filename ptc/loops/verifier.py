"""Well-formedness of loop programs.

`verify` raises InternalError naming the stage that made the program, the kernel and the rule that
is broken, with the kernel's text. It proves what it can (names, types, ranks, linear indices within
bounds, loop kinds, order of writes and reads) and lets pass what it cannot.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from ptc.loops.bounds import Ranges
from ptc.loops.index import Index
from ptc.loops.nodes import (
    Accumulator,
    Apply,
    Buffer,
    BufferKind,
    Check,
    DType,
    Expr,
    ExternKernel,
    If,
    IndexValue,
    Kernel,
    Let,
    Literal,
    Load,
    Loop,
    LoopKind,
    Program,
    Ref,
    Stmt,
    Store,
    TemplateKernel,
    Update,
)
from ptc.loops.printer import print_expr, print_kernel
from ptc.loops.scalar import REDUCTIONS, STORE_REDUCTIONS, type_error
from ptc.loops.templates import TEMPLATES
from ptc.loops.walk import children, expressions, reads, walk_statements, writes
from ptc.support.diagnostics import InternalError

_READ_ONLY = (BufferKind.INPUT, BufferKind.WEIGHT, BufferKind.LITERAL)


class Broken(Exception):
    """A rule that a kernel breaks."""


def verify(program: Program, stage: str = "loops") -> None:
    """Raise InternalError if `program` is not well-formed."""
    sizes = {s.symbol: (s.lower, s.upper) for s in program.sizes}
    try:
        _verify_buffers(program, sizes)
        _verify_order(program)
    except Broken as error:
        raise InternalError(stage, str(error)) from None
    for kernel in (*program.prepare, *program.kernels):
        try:
            if isinstance(kernel, ExternKernel):
                _verify_extern(kernel, program.buffers)
            else:
                _Verifier(program, kernel, sizes).run()
        except Broken as error:
            text = "\n".join(print_kernel(kernel))
            raise InternalError(stage, f"kernel {kernel.name}: {error}\n{text}") from None


def _verify_buffers(program: Program, sizes: Mapping[str, object]) -> None:
    for name, buffer in program.buffers.items():
        if name != buffer.name:
            raise Broken(f"buffer {buffer.name} is filed under {name}")
        if len(buffer.shape) != len(buffer.strides):
            raise Broken(
                f"buffer {name} has {len(buffer.shape)} sizes, {len(buffer.strides)} strides"
            )
        for index in (*buffer.shape, *buffer.strides):
            if not index.vars <= sizes.keys():
                raise Broken(f"buffer {name}: {index} is not made of size symbols")
        if buffer.kind is BufferKind.LOCAL:
            raise Broken(f"LOCAL buffer {name} outside a kernel")
    for name in program.inputs:
        if name not in program.buffers:
            raise Broken(f"input {name} has no buffer")
    for output in program.outputs:
        if isinstance(output, str) and output not in program.buffers:
            raise Broken(f"output {output} has no buffer")


def _verify_order(program: Program) -> None:
    """Everything read was written before, or comes from outside."""
    ready = {n for n, b in program.buffers.items() if b.kind in _READ_ONLY or 0 in b.shape}
    for kernel in (*program.prepare, *program.kernels):
        local = {b.name for b in kernel.locals} if isinstance(kernel, Kernel) else set[str]()
        written = writes(kernel)
        for name in reads(kernel) - local:
            if name not in program.buffers:
                raise Broken(f"kernel {kernel.name} reads unknown buffer {name}")
            if name not in ready and name not in written:
                raise Broken(f"kernel {kernel.name} reads {name} before it is written")
        ready |= written
    for output in program.outputs:
        if isinstance(output, str) and output not in ready:
            raise Broken(f"output {output} is never written")


def _verify_extern(kernel: ExternKernel, buffers: Mapping[str, Buffer]) -> None:
    for name in (*kernel.inputs, *kernel.outputs):
        if name not in buffers:
            raise Broken(f"unknown buffer {name}")
    for name in kernel.outputs:
        if buffers[name].kind in _READ_ONLY:
            raise Broken(f"writes {buffers[name].kind.value} buffer {name}")


class _Verifier:
    """One kernel."""

    def __init__(
        self,
        program: Program,
        kernel: Kernel | TemplateKernel,
        sizes: Mapping[str, tuple[int, int | None]],
    ) -> None:
        self.kernel = kernel
        self.prepares = any(kernel is k for k in program.prepare)
        self.buffers = dict(program.buffers)
        if isinstance(kernel, Kernel):
            self.buffers |= {b.name: b for b in kernel.locals}
        self.ranges = Ranges({}, sizes)
        self.names: set[str] = set(sizes)
        self.declared: set[str] = set()
        self.types: dict[str, DType] = {}
        self.accumulators: dict[str, Accumulator] = {}
        self.parallel_depth: dict[str, int] = {}
        self.depth = 0
        self.guarded = 0

    def run(self) -> None:
        if isinstance(self.kernel, TemplateKernel):
            self._template(self.kernel)
        else:
            self._body(self.kernel.body)

    def _template(self, kernel: TemplateKernel) -> None:
        formal = TEMPLATES.get(kernel.template)
        if formal is None:
            raise Broken(f"no template is called {kernel.template}")
        for var in formal.vars:
            if var not in kernel.extents:
                raise Broken(f"no extent for {var}")
        for name, variables in formal.operands.items():
            operand = kernel.operands.get(name)
            if operand is None:
                if name in formal.optional:
                    continue
                raise Broken(f"operand {name} is missing")
            if operand.vars != variables:
                raise Broken(f"operand {name} is over {operand.vars}, expected {variables}")
            self._with_vars(variables, kernel.extents)
            self._expr(operand.value)
            self._forget(variables)
        unknown = kernel.operands.keys() - formal.operands.keys()
        if unknown:
            raise Broken(f"unknown operands {', '.join(sorted(unknown))}")
        self._with_vars(formal.out, kernel.extents)
        self.types["acc"] = kernel.dtype
        if not any(isinstance(s, Store) for s in walk_statements(kernel.epilogue)):
            raise Broken("the epilogue stores nothing")
        self._body(kernel.epilogue)

    def _with_vars(self, names: Sequence[str], extents: Mapping[str, Index]) -> None:
        for name in names:
            self.names.add(name)
            self.ranges.declare(name, extents[name])

    def _forget(self, names: Iterable[str]) -> None:
        self.names.difference_update(names)

    # -- statements

    def _declare(self, name: str) -> None:
        if name in self.declared or name in self.names:
            raise Broken(f"{name} is declared twice")
        self.declared.add(name)

    def _body(self, body: Sequence[Stmt]) -> None:
        for stmt in body:
            self._statement(stmt)

    def _statement(self, stmt: Stmt) -> None:
        for expr in expressions(stmt):
            self._expr(expr)
        match stmt:
            case Loop():
                self._loop(stmt)
            case If():
                if stmt.condition.dtype is not DType.BOOL:
                    raise Broken("the condition of an if is not a bool")
                self.guarded += 1
                self._body(stmt.body)
                self.guarded -= 1
            case Let():
                self._let(stmt)
            case Store():
                self._store(stmt)
            case Accumulator():
                self._accumulator(stmt)
            case Update():
                self._update(stmt)
            case Check():
                if stmt.condition.dtype is not DType.BOOL:
                    raise Broken("the condition of a check is not a bool")

    def _loop(self, loop: Loop) -> None:
        self._declare(loop.var)
        self._index(loop.extent)
        self.names.add(loop.var)
        self.ranges.declare(loop.var, loop.extent)
        parallel = loop.kind in (LoopKind.PARALLEL, LoopKind.VECTOR)
        self.depth += parallel
        self._body(loop.body)
        self.depth -= parallel
        self.names.discard(loop.var)
        if loop.kind is not LoopKind.SERIAL:
            self._distinct_stores(loop)

    def _distinct_stores(self, loop: Loop) -> None:
        """A store in a loop that may be reordered goes to a different place in each iteration."""
        bound = {loop.var}
        for stmt in walk_statements(loop.body):
            if isinstance(stmt, Let) and stmt.bounds is not None:
                bound.add(stmt.name)
            if not isinstance(stmt, Store):
                continue
            buffer = self.buffers[stmt.buffer]
            if buffer.kind is BufferKind.LOCAL:
                continue
            if not any(index.vars & bound for index in stmt.index):
                raise Broken(
                    f"loop over {loop.var} is {loop.kind.value}, but the store to {stmt.buffer} "
                    "goes to one place in all iterations"
                )

    def _let(self, stmt: Let) -> None:
        self._declare(stmt.name)
        self.types[stmt.name] = stmt.value.dtype
        if stmt.bounds is not None:
            if not stmt.value.dtype.is_int:
                raise Broken(f"{stmt.name} has bounds, but is {stmt.value.dtype.value}")
            self._index(stmt.bounds)
            self.names.add(stmt.name)
            self.ranges.declare(stmt.name, stmt.bounds)

    def _accumulator(self, stmt: Accumulator) -> None:
        self._declare(stmt.name)
        if stmt.op not in REDUCTIONS:
            raise Broken(f"no reduction is called {stmt.op}")
        if stmt.init.dtype is not stmt.dtype:
            raise Broken(f"{stmt.name}: initial value is {stmt.init.dtype.value}")
        self.types[stmt.name] = DType.I64 if stmt.op.startswith("arg") else stmt.dtype
        self.accumulators[stmt.name] = stmt
        self.parallel_depth[stmt.name] = self.depth

    def _update(self, stmt: Update) -> None:
        accumulator = self.accumulators.get(stmt.name)
        if accumulator is None:
            raise Broken(f"update of {stmt.name}, which is no accumulator in scope")
        if stmt.value.dtype is not accumulator.dtype:
            raise Broken(f"update of {stmt.name} with {stmt.value.dtype.value}")
        if accumulator.op.startswith("arg") != (stmt.position is not None):
            raise Broken(f"update of {stmt.name}: a position goes with argmin and argmax only")
        if self.depth > self.parallel_depth[stmt.name]:
            raise Broken(f"update of {stmt.name} across a parallel loop")

    def _store(self, stmt: Store) -> None:
        buffer = self._buffer(stmt.buffer, stmt.index)
        if buffer.kind in _READ_ONLY or (buffer.kind is BufferKind.PREPARED and not self.prepares):
            raise Broken(f"store to {buffer.kind.value} buffer {stmt.buffer}")
        if stmt.value.dtype is not buffer.dtype:
            raise Broken(f"store of {stmt.value.dtype.value} to {print_store(stmt, buffer)}")
        if stmt.reduce is not None and stmt.reduce not in STORE_REDUCTIONS:
            raise Broken(f"a store cannot combine by {stmt.reduce}")

    # -- expressions

    def _buffer(self, name: str, index: Sequence[Index], masked: bool = False) -> Buffer:
        buffer = self.buffers.get(name)
        if buffer is None:
            raise Broken(f"unknown buffer {name}")
        if len(index) != len(buffer.shape):
            raise Broken(f"{len(index)} indices for {name}, which has {len(buffer.shape)} dims")
        for position, size in zip(index, buffer.shape, strict=True):
            self._index(position)
            if not masked and not self.guarded:
                self._in_bounds(name, position, size)
        return buffer

    def _in_bounds(self, name: str, index: Index, size: Index) -> None:
        """Linear indices over constant bounds have exact intervals; others are not judged."""
        limit = size.constant
        if limit is None or any(not isinstance(a, str) for m, _ in index.terms for a in m):
            return
        if any(len(monomial) > 1 for monomial, _ in index.terms):
            return
        if any(self.ranges.bounds.get(v, size).constant is None for v in index.vars):
            return
        low, high = self.ranges.interval(index)
        if (low is not None and low < 0) or (high is not None and high >= limit and limit > 0):
            raise Broken(f"index {index} of {name} reaches [{low}, {high}], the size is {limit}")

    def _index(self, index: Index) -> None:
        missing = index.vars - self.names
        if missing:
            raise Broken(f"{', '.join(sorted(missing))} is not in scope in index {index}")

    def _expr(self, root: Expr) -> None:
        """Every node once for as long as the scope only grows."""
        stack = [root]
        seen: set[int] = set()
        while stack:
            expr = stack.pop()
            if id(expr) in seen:
                continue
            seen.add(id(expr))
            self._node(expr)
            stack.extend(children(expr))

    def _node(self, expr: Expr) -> None:
        match expr:
            case Literal():
                pass
            case IndexValue():
                self._index(expr.index)
            case Ref():
                if self.types.get(expr.name) is not expr.dtype:
                    raise Broken(f"%{expr.name} as {expr.dtype.value} is not declared")
            case Load():
                buffer = self._buffer(expr.buffer, expr.index, expr.mask is not None)
                if buffer.dtype is not expr.dtype:
                    raise Broken(f"load of {expr.buffer} as {expr.dtype.value}")
                if expr.mask is not None and expr.mask.dtype is not DType.BOOL:
                    raise Broken(f"the mask of a load of {expr.buffer} is not a bool")
                if expr.other is not None and expr.other.dtype is not expr.dtype:
                    raise Broken(f"other value of a load of {expr.buffer} has the wrong type")
            case Apply():
                problem = type_error(expr.op, [a.dtype for a in expr.args], expr.dtype)
                if problem is not None:
                    raise Broken(problem)


def print_store(stmt: Store, buffer: Buffer) -> str:
    """The target of a store with its type."""
    return f"{stmt.buffer}: {buffer.dtype.value} = {print_expr(stmt.value)[:80]}"
