"""Arithmetic on loop positions, decided at compile time.

Masks and gathers by `arange` compare positions with sizes; where loop bounds decide a comparison,
it becomes a constant, a check that always holds goes, and a bound Let that is only a position is
put into the indices that use it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ptc.loops import build as b
from ptc.loops.bounds import Ranges
from ptc.loops.index import Index
from ptc.loops.nodes import (
    Apply,
    Check,
    DType,
    Expr,
    If,
    IndexValue,
    Kernel,
    Let,
    Literal,
    Load,
    Program,
    Ref,
    Stmt,
    TemplateKernel,
)
from ptc.loops.walk import Rewriter, kernel_roots, walk_expr
from ptc.schedule.kernels import kernel_bounds

_COMPARISONS = ("lt", "le", "gt", "ge", "eq", "ne")
_ARITHMETIC = ("add", "sub", "mul")


def fold_positions(program: Program) -> Program | None:
    """The program with what loop bounds decide folded; None if nothing was."""
    sizes = {s.symbol: (s.lower, s.upper) for s in program.sizes}
    changed = False
    kernels = list(program.kernels)
    for place, kernel in enumerate(kernels):
        if not isinstance(kernel, Kernel | TemplateKernel):
            continue
        if not any(_decidable(e) for e in walk_expr(kernel_roots(kernel))):
            continue
        folder = _Folder(Ranges(kernel_bounds(kernel), sizes))
        if isinstance(kernel, Kernel):
            kernels[place] = replace(kernel, body=folder.body(kernel.body))
        else:
            operands = {
                n: replace(o, value=folder.expr(o.value)) for n, o in kernel.operands.items()
            }
            epilogue = folder.body(kernel.epilogue)
            kernels[place] = replace(kernel, operands=operands, epilogue=epilogue)
        changed = changed or folder.hits > 0
    return replace(program, kernels=tuple(kernels)) if changed else None


def _decidable(expr: Expr) -> bool:
    """Whether there may be something to fold: a position, or a constant condition."""
    if isinstance(expr, IndexValue):
        return True
    return isinstance(expr, Literal) and expr.dtype is DType.BOOL


class _Folder(Rewriter):
    def __init__(self, ranges: Ranges) -> None:
        super().__init__()
        self._ranges = ranges
        # Inside a loop its extent is positive; what names no loop variable may stand outside.
        self._outside = Ranges({}, ranges.sizes)
        self._refs: dict[str, Expr] = {}
        self._indices: dict[str, Index] = {}
        self.hits = 0

    def index(self, index: Index) -> Index:
        if self._indices and not index.vars.isdisjoint(self._indices):
            index = self._ranges.simplify(index.substitute(self._indices))
        return index

    def leaf(self, expr: Literal | IndexValue | Ref) -> Expr:
        if isinstance(expr, Ref):
            return self._refs.get(expr.name, expr)
        return expr

    def load(self, load: Load) -> Expr:
        if isinstance(load.mask, Literal):
            self.hits += 1
            if load.mask.value:
                return Load(load.buffer, load.index, load.dtype)
            return load.other if load.other is not None else b.literal(0, load.dtype)
        return load

    def apply(self, expr: Apply) -> Expr:
        folded = self._fold(expr)
        if folded is not None:
            self.hits += 1
            return folded
        return expr

    def _fold(self, expr: Apply) -> Expr | None:
        args = expr.args
        if expr.op == "where" and isinstance(args[0], Literal):
            return args[1] if args[0].value else args[2]
        if expr.op in ("and", "or") and expr.dtype is DType.BOOL:
            for x, y in (args, args[::-1]):
                if isinstance(x, Literal):
                    return y if bool(x.value) == (expr.op == "and") else x
        if expr.op == "not" and isinstance(args[0], Literal) and expr.dtype is DType.BOOL:
            return b.literal(not args[0].value, DType.BOOL)
        if len(args) != 2 or not any(isinstance(a, IndexValue) for a in args):
            return None
        x, y = _position(args[0]), _position(args[1])
        if x is None or y is None:
            return None
        if expr.op in _COMPARISONS:
            decided = self._decide(expr.op, x, y)
            return None if decided is None else b.literal(decided, DType.BOOL)
        if expr.op in _ARITHMETIC and expr.dtype is DType.I64:
            value = {"add": x + y, "sub": x - y}.get(expr.op)
            return b.index_value(x * y if value is None else value)
        return None

    def _decide(self, op: str, x: Index, y: Index) -> bool | None:
        if op in ("gt", "ge"):
            return self._decide("lt" if op == "gt" else "le", y, x)
        inside = not self._ranges.bounds.keys().isdisjoint(x.vars | y.vars)
        ranges = self._ranges if inside else self._outside
        less = ranges.less
        if op == "lt":
            return True if less(x, y) else (False if ranges.nonnegative(x - y) else None)
        if op == "le":
            return True if ranges.nonnegative(y - x) else (False if less(y, x) else None)
        equal = True if x == y else (False if less(x, y) or less(y, x) else None)
        return equal if op == "eq" or equal is None else not equal

    def body(self, body: Sequence[Stmt]) -> tuple[Stmt, ...]:  # type: ignore[override]
        out: list[Stmt] = []
        for stmt in body:
            new = self.statement(stmt)
            out.extend(new if isinstance(new, tuple) else (new,))
        return tuple(out)

    def statement(self, stmt: Stmt) -> Stmt | tuple[Stmt, ...]:
        new = super().statement(stmt)
        if isinstance(new, Let):
            return self._let(new)
        if isinstance(new, Check) and isinstance(new.condition, Literal) and new.condition.value:
            self.hits += 1
            return ()
        if isinstance(new, If) and isinstance(new.condition, Literal):
            self.hits += 1
            return new.body if new.condition.value else ()
        return new

    def _let(self, let: Let) -> Let | tuple[Stmt, ...]:
        """A Let that names a position (or a constant) goes; its uses get the position."""
        position = _position(let.value)
        if position is None or let.value.dtype is not DType.I64:
            return let
        if let.bounds is not None and not self._ranges.within(position, let.bounds):
            return let
        self.hits += 1
        self._refs[let.name] = let.value
        self._indices[let.name] = position
        self._memo.clear()
        return ()


def _position(expr: Expr) -> Index | None:
    """An integer expression as an Index."""
    if isinstance(expr, IndexValue) and expr.dtype is DType.I64:
        return expr.index
    if isinstance(expr, Literal) and expr.dtype is DType.I64:
        return Index.const(int(expr.value))
    return None
