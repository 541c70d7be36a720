"""Shared values: a repeated expression becomes a Let, an expensive one leaves the loops it ignores.

Runs last, because it breaks perfect nests. First every expression gets one object per value (loads
count as equal only while nothing wrote the buffer in between), then Lets are placed block by block.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from ptc.loops.nodes import (
    Accumulator,
    AnyKernel,
    Apply,
    Expr,
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
from ptc.loops.scalar import OPS
from ptc.loops.walk import Rewriter, children, declared_names, expressions, nested, walk_statements
from ptc.schedule.bodies import effects_of

# The least work worth moving out of a loop; the C++ compiler moves what is cheaper.
HOISTED_COST = 4


class _Interner(Rewriter):
    """Gives equal values one object. Versions tell loads before a write from loads after it."""

    def __init__(self, body: Sequence[Stmt]) -> None:
        super().__init__()
        self._objects: dict[tuple[object, ...], Expr] = {}
        self._versions: dict[str, int] = {}
        everything = [effects_of(s) for s in body]
        self.volatile = {s.buffer for e in everything for s in e.stores}
        self.volatile |= {
            s.name for s in walk_statements(body) if isinstance(s, Update | Accumulator)
        }

    def _intern(self, key: tuple[object, ...], expr: Expr) -> Expr:
        return self._objects.setdefault(key, expr)

    def bump(self, names: set[str]) -> None:
        """The named buffers and accumulators change here."""
        if names:
            self._memo.clear()
            for name in names:
                self._versions[name] = self._versions.get(name, 0) + 1

    def leaf(self, expr: Literal | IndexValue | Ref) -> Expr:
        if isinstance(expr, Literal):
            # repr tells 0.0 from -0.0 and makes NaN equal to itself.
            return self._intern(("literal", expr.dtype, repr(expr.value)), expr)
        if isinstance(expr, IndexValue):
            return self._intern(("index", expr.dtype, expr.index), expr)
        version = self._versions.get(expr.name, 0)
        return self._intern(("ref", expr.name, expr.dtype, version), expr)

    def load(self, load: Load) -> Expr:
        version = self._versions.get(load.buffer, 0)
        key = ("load", load.buffer, load.index, id(load.mask), id(load.other), version)
        return self._intern(key, load)

    def apply(self, expr: Apply) -> Expr:
        return self._intern((expr.op, expr.dtype, *[id(a) for a in expr.args]), expr)

    def block(self, body: Sequence[Stmt]) -> tuple[Stmt, ...]:
        """`body` with interned expressions."""
        out: list[Stmt] = []
        for stmt in body:
            if isinstance(stmt, Loop | If):
                effects = effects_of(stmt)
                changed = {s.buffer for s in effects.stores} | effects.defines
                condition = self.expr(stmt.condition) if isinstance(stmt, If) else None
                self.bump(changed)
                inner = self.block(stmt.body)
                self.bump(changed)
                out.append(replace(stmt, body=inner) if condition is None else If(condition, inner))
                continue
            new = self.statement(stmt)
            out.extend(new if isinstance(new, tuple) else (new,))
            if isinstance(stmt, Store):
                self.bump({stmt.buffer})
            elif isinstance(stmt, Update | Accumulator):
                self.bump({stmt.name})
        return tuple(out)


@dataclass(slots=True)
class _Facts:
    """What is known of an expression object."""

    names: frozenset[str]
    cost: int
    volatile: bool


@dataclass(slots=True)
class _Block:
    """Counts for one block: uses of each object, and the statement that uses it first."""

    counts: dict[int, int] = field(default_factory=dict[int, int])
    first: dict[int, int] = field(default_factory=dict[int, int])
    hoisted: set[int] = field(default_factory=set[int])
    visited: set[int] = field(default_factory=set[int])
    order: list[Apply] = field(default_factory=list[Apply])


class _Replace(Rewriter):
    """Puts Refs in place of bound objects."""

    def __init__(self, bound: dict[int, Ref]) -> None:
        super().__init__()
        self.bound = bound

    def expr(self, expr: Expr) -> Expr:
        ref = self.bound.get(id(expr))
        return ref if ref is not None else super().expr(expr)


class _Sharer:
    def __init__(self, body: Sequence[Stmt], names: set[str]) -> None:
        interner = _Interner(body)
        self.body = interner.block(body)
        self._keep = interner  # object ids stay valid while the interner lives
        self._volatile = interner.volatile
        self._facts: dict[int, _Facts] = {}
        self._names = names
        self._counter = 0

    def facts(self, expr: Expr) -> _Facts:
        known = self._facts.get(id(expr))
        if known is not None:
            return known
        names: set[str] = set()
        cost = 0
        volatile = False
        if isinstance(expr, Load):
            names = set().union(*[i.vars for i in expr.index])
            volatile = expr.buffer in self._volatile
        elif isinstance(expr, IndexValue):
            names = set(expr.index.vars)
        elif isinstance(expr, Ref):
            names = {expr.name}
            volatile = expr.name in self._volatile
        elif isinstance(expr, Apply):
            cost = OPS[expr.op].cost
        for child in children(expr):
            inner = self.facts(child)
            names |= inner.names
            cost += inner.cost
            volatile = volatile or inner.volatile
        self._facts[id(expr)] = result = _Facts(frozenset(names), cost, volatile)
        return result

    def fresh(self) -> str:
        while f"c{self._counter}" in self._names:
            self._counter += 1
        self._names.add(f"c{self._counter}")
        return f"c{self._counter}"

    # -- placing Lets

    def block(self, body: Sequence[Stmt], scope: frozenset[str]) -> tuple[Stmt, ...]:
        """`body` with Lets for what is used more than once, and for what nested loops repeat."""
        declared = {s.name for s in body if isinstance(s, Let | Accumulator)}
        here = scope | declared
        counted = _Block()
        for position, stmt in enumerate(body):
            for root in expressions(stmt):
                self._count(root, position, counted)
            if isinstance(stmt, Loop):
                self._count_nested(stmt.body, position, here, counted, in_loop=True)
            elif isinstance(stmt, If):
                self._count_nested(stmt.body, position, here, counted, in_loop=False)
        chosen = [e for e in counted.order if self._worth(e, counted)]
        out: list[Stmt] = []
        bound: dict[int, Ref] = {}
        rewriter = _Replace(bound)
        available = set(scope)
        for position, stmt in enumerate(body):
            for expr in chosen:
                if counted.first[id(expr)] == position and self.facts(expr).names <= available:
                    name = self.fresh()
                    out.append(Let(name, rewriter.expr(expr)))
                    bound[id(expr)] = Ref(name, expr.dtype)
                    available.add(name)
                    rewriter = _Replace(bound)
            new = rewriter.statement(stmt)
            if not isinstance(new, tuple) and isinstance(new, Loop | If):
                inner = self.block(nested(new), frozenset({*available, *_var(new)}))
                new = replace(new, body=inner)
            out.extend(new if isinstance(new, tuple) else (new,))
            if isinstance(stmt, Let | Accumulator):
                available.add(stmt.name)
        return tuple(out)

    def _worth(self, expr: Apply, counted: _Block) -> bool:
        return counted.counts[id(expr)] > 1 or id(expr) in counted.hoisted

    def _count(self, root: Expr, position: int, counted: _Block) -> None:
        """Count the edges to each operation below `root`; objects seen before end the walk."""
        if isinstance(root, Apply):
            counted.counts[id(root)] = counted.counts.get(id(root), 0) + 1
            counted.first.setdefault(id(root), position)
        if id(root) in counted.visited:
            return
        counted.visited.add(id(root))
        for child in children(root):
            self._count(child, position, counted)
        if isinstance(root, Apply):
            counted.order.append(root)

    def _count_nested(
        self,
        body: Sequence[Stmt],
        position: int,
        here: frozenset[str],
        counted: _Block,
        in_loop: bool,
    ) -> None:
        seen: set[int] = set()
        for stmt in walk_statements(body):
            stack = list(expressions(stmt))
            while stack:
                expr = stack.pop()
                if id(expr) in seen:
                    continue
                seen.add(id(expr))
                facts = self.facts(expr)
                if not isinstance(expr, Apply) or not facts.names <= here:
                    stack.extend(children(expr))
                    continue
                known = id(expr) in counted.counts
                if facts.volatile and not known:
                    continue
                if not facts.volatile and in_loop and facts.cost >= HOISTED_COST:
                    counted.hoisted.add(id(expr))
                elif not known:
                    continue
                self._count(expr, position, counted)


def _var(stmt: Loop | If) -> tuple[str, ...]:
    return (stmt.var,) if isinstance(stmt, Loop) else ()


def share_values(kernel: AnyKernel, sizes: frozenset[str] = frozenset()) -> AnyKernel:
    """The kernel with repeated expressions bound once. `sizes`: names of the size symbols."""
    if isinstance(kernel, Kernel):
        names = declared_names(kernel.body) | sizes
        sharer = _Sharer(kernel.body, set(names))
        return replace(kernel, body=sharer.block(sharer.body, sizes))
    if isinstance(kernel, TemplateKernel):
        variables = frozenset(kernel.extents) | {"acc"} | sizes
        names = declared_names(kernel.epilogue) | variables
        sharer = _Sharer(kernel.epilogue, set(names))
        return replace(kernel, epilogue=sharer.block(sharer.body, variables))
    return kernel
