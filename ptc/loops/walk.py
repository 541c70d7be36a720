"""Walking and rebuilding expressions and statements.

Expressions are shared (a DAG behind a tree type); every function here visits a shared node once and
keeps the sharing, so cost is linear in the number of distinct objects.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import assert_never

from ptc.loops.index import Index
from ptc.loops.nodes import (
    Accumulator,
    AnyKernel,
    Apply,
    Check,
    Expr,
    ExternKernel,
    If,
    IndexValue,
    Kernel,
    Let,
    Literal,
    Load,
    Loop,
    Ref,
    Stmt,
    Store,
    TemplateKernel,
    Update,
)


def children(expr: Expr) -> tuple[Expr, ...]:
    """Direct operands of an expression."""
    match expr:
        case Apply():
            return expr.args
        case Load():
            return tuple([e for e in (expr.mask, expr.other) if e is not None])
        case Literal() | IndexValue() | Ref():
            return ()
        case _:
            assert_never(expr)


def expressions(stmt: Stmt) -> tuple[Expr, ...]:
    """The expressions a statement holds itself (not those of nested statements)."""
    match stmt:
        case Let() | Store():
            return (stmt.value,)
        case Update():
            return (stmt.value,) if stmt.position is None else (stmt.value, stmt.position)
        case Accumulator():
            return (stmt.init,)
        case If() | Check():
            return (stmt.condition,)
        case Loop():
            return ()
        case _:
            assert_never(stmt)


def nested(stmt: Stmt) -> tuple[Stmt, ...]:
    """The statements inside a Loop or If."""
    return stmt.body if isinstance(stmt, Loop | If) else ()


def walk_statements(body: Iterable[Stmt]) -> Iterator[Stmt]:
    """All statements, outer before inner, in order."""
    for stmt in body:
        yield stmt
        if isinstance(stmt, Loop | If):
            yield from walk_statements(stmt.body)


def declared_names(body: Iterable[Stmt]) -> set[str]:
    """Loop variables, scalars and accumulators that the statements introduce."""
    names: set[str] = set()
    for stmt in walk_statements(body):
        if isinstance(stmt, Loop):
            names.add(stmt.var)
        elif isinstance(stmt, Let | Accumulator):
            names.add(stmt.name)
    return names


def walk_expr(roots: Iterable[Expr]) -> Iterator[Expr]:
    """All distinct expression objects below `roots`, each once."""
    seen: set[int] = set()
    stack = list(roots)
    while stack:
        expr = stack.pop()
        if id(expr) in seen:
            continue
        seen.add(id(expr))
        yield expr
        if isinstance(expr, Apply | Load):
            stack.extend(children(expr))


def kernel_roots(kernel: AnyKernel) -> list[Expr]:
    """Every expression a kernel's statements and operands hold."""
    if isinstance(kernel, ExternKernel):
        return []
    body = kernel.body if isinstance(kernel, Kernel) else kernel.epilogue
    roots = [e for stmt in walk_statements(body) for e in expressions(stmt)]
    if isinstance(kernel, TemplateKernel):
        roots += [operand.value for operand in kernel.operands.values()]
    return roots


def kernel_loads(kernel: AnyKernel) -> list[Load]:
    """Every distinct Load object of a kernel."""
    return [e for e in walk_expr(kernel_roots(kernel)) if isinstance(e, Load)]


def kernel_stores(kernel: AnyKernel) -> list[Store]:
    """Every Store of a kernel, in order."""
    if isinstance(kernel, ExternKernel):
        return []
    body = kernel.body if isinstance(kernel, Kernel) else kernel.epilogue
    return [s for s in walk_statements(body) if isinstance(s, Store)]


def reads(kernel: AnyKernel) -> set[str]:
    """Buffers a kernel reads (a reducing Store reads too), LOCAL ones included."""
    if isinstance(kernel, ExternKernel):
        return set(kernel.inputs)
    names = {load.buffer for load in kernel_loads(kernel)}
    names.update(s.buffer for s in kernel_stores(kernel) if s.reduce is not None)
    return names


def writes(kernel: AnyKernel) -> set[str]:
    """Buffers a kernel writes, LOCAL ones included."""
    if isinstance(kernel, ExternKernel):
        return set(kernel.outputs)
    return {s.buffer for s in kernel_stores(kernel)}


def index_variables(kernel: AnyKernel) -> frozenset[str]:
    """The index variables of a kernel: of its loops, and the symbolic sizes that it reads."""
    if isinstance(kernel, ExternKernel):
        return frozenset()
    found: list[Index] = []
    for expr in walk_expr(kernel_roots(kernel)):
        if isinstance(expr, Load):
            found.extend(expr.index)
        elif isinstance(expr, IndexValue):
            found.append(expr.index)
    body = kernel.body if isinstance(kernel, Kernel) else kernel.epilogue
    for stmt in walk_statements(body):
        if isinstance(stmt, Loop):
            found.append(stmt.extent)
        elif isinstance(stmt, Store):
            found.extend(stmt.index)
    if isinstance(kernel, TemplateKernel):
        found.extend(kernel.extents.values())
    else:
        found.extend(size for buffer in kernel.locals for size in buffer.shape)
    return frozenset().union(*(index.vars for index in found))


class Rewriter:
    """Rebuilds expressions and statements; subclasses override `leaf`, `index` and `load`.

    Unchanged nodes are returned as the same objects, and shared nodes stay shared.
    """

    def __init__(self) -> None:
        self._memo: dict[int, tuple[Expr, Expr]] = {}

    # -- what to override

    def index(self, index: Index) -> Index:
        """The replacement for an index expression."""
        return index

    def leaf(self, expr: Literal | IndexValue | Ref) -> Expr:
        """The replacement for an expression without operands, indices already replaced."""
        return expr

    def load(self, load: Load) -> Expr:
        """The replacement for a load whose parts were already rewritten."""
        return load

    def apply(self, expr: Apply) -> Expr:
        """The replacement for an operation whose operands were already rewritten."""
        return expr

    def buffer(self, name: str) -> str:
        """The replacement for the buffer a Store writes."""
        return name

    def name(self, name: str) -> str:
        """The replacement for a declared name (loop variable, Let, Accumulator)."""
        return name

    # -- driver

    def indices(self, index: tuple[Index, ...]) -> tuple[Index, ...]:
        return tuple([self.index(i) for i in index])

    def expr(self, expr: Expr) -> Expr:
        """The rewritten expression."""
        known = self._memo.get(id(expr))
        if known is not None:
            return known[1]
        result = self._expr(expr)
        # The key object is kept alive with the entry: ids may be reused otherwise.
        self._memo[id(expr)] = (expr, result)
        return result

    def _expr(self, expr: Expr) -> Expr:
        match expr:
            case Apply():
                args = tuple([self.expr(a) for a in expr.args])
                same = all(x is y for x, y in zip(args, expr.args, strict=True))
                return self.apply(expr if same else Apply(expr.op, args, expr.dtype))
            case Load():
                index = self.indices(expr.index)
                mask = None if expr.mask is None else self.expr(expr.mask)
                other = None if expr.other is None else self.expr(expr.other)
                if index != expr.index or mask is not expr.mask or other is not expr.other:
                    expr = Load(expr.buffer, index, expr.dtype, mask, other)
                return self.load(expr)
            case IndexValue():
                index = self.index(expr.index)
                return self.leaf(expr if index == expr.index else IndexValue(index, expr.dtype))
            case Literal() | Ref():
                return self.leaf(expr)
            case _:
                assert_never(expr)

    def body(self, body: Iterable[Stmt]) -> tuple[Stmt, ...]:
        """The rewritten statements, in order."""
        result: list[Stmt] = []
        for stmt in body:
            new = self.statement(stmt)
            if isinstance(new, tuple):
                result.extend(new)
            else:
                result.append(new)
        return tuple(result)

    def statement(self, stmt: Stmt) -> Stmt | tuple[Stmt, ...]:
        """The rewritten statement (or several, or none)."""
        match stmt:
            case Loop():
                return Loop(
                    self.name(stmt.var),
                    self.index(stmt.extent),
                    stmt.kind,
                    self.body(stmt.body),
                    stmt.vector,
                )
            case If():
                return If(self.expr(stmt.condition), self.body(stmt.body))
            case Let():
                bounds = None if stmt.bounds is None else self.index(stmt.bounds)
                return Let(self.name(stmt.name), self.expr(stmt.value), bounds)
            case Store():
                value = self.expr(stmt.value)
                return Store(self.buffer(stmt.buffer), self.indices(stmt.index), value, stmt.reduce)
            case Accumulator():
                init = self.expr(stmt.init)
                return Accumulator(self.name(stmt.name), stmt.op, init, stmt.dtype)
            case Update():
                position = None if stmt.position is None else self.expr(stmt.position)
                return Update(self.name(stmt.name), self.expr(stmt.value), position)
            case Check():
                return Check(self.expr(stmt.condition), stmt.message)
            case _:
                assert_never(stmt)


class Substitution(Rewriter):
    """Replaces index variables by Indexes, Refs by expressions, and renames buffers."""

    def __init__(
        self,
        indices: Mapping[str, Index] | None = None,
        refs: Mapping[str, Expr] | None = None,
        buffers: Mapping[str, str] | None = None,
        simplify: Callable[[Index], Index] | None = None,
    ) -> None:
        super().__init__()
        self._indices = indices or {}
        self._refs = refs or {}
        self._buffers = buffers or {}
        self._simplify = simplify

    def index(self, index: Index) -> Index:
        new = index.substitute(self._indices) if self._indices else index
        return self._simplify(new) if self._simplify is not None else new

    def leaf(self, expr: Literal | IndexValue | Ref) -> Expr:
        if isinstance(expr, Ref):
            return self._refs.get(expr.name, expr)
        return expr

    def load(self, load: Load) -> Expr:
        name = self._buffers.get(load.buffer)
        if name is None:
            return load
        return Load(name, load.index, load.dtype, load.mask, load.other)

    def buffer(self, name: str) -> str:
        return self._buffers.get(name, name)

    def name(self, name: str) -> str:
        new = self._indices.get(name)
        if new is not None and new.variable is not None:
            return new.variable
        ref = self._refs.get(name)
        return ref.name if isinstance(ref, Ref) else name
