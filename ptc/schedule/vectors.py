"""Which loops run in vector lanes, and which adjacent loops are really one.

`collapse_loops` joins perfectly nested loops that every access walks as one; `choose_vectors` marks
on each path through a kernel the loop whose accesses are contiguous (or the same for all lanes).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from ptc.loops.bounds import Ranges
from ptc.loops.index import Index
from ptc.loops.nodes import (
    Buffer,
    Check,
    IndexValue,
    Kernel,
    Load,
    Loop,
    LoopKind,
    Program,
    Stmt,
    Store,
    Update,
)
from ptc.loops.walk import Substitution, expressions, kernel_roots, walk_expr, walk_statements
from ptc.schedule.kernels import SizeRanges, kernel_bounds
from ptc.schedule.layout import address_of

# Loops shorter than this are not worth vector lanes.
MIN_EXTENT = 4


def vectorise(program: Program) -> Program:
    """The program with loops collapsed and vector loops marked in every loop nest."""
    sizes: SizeRanges = {s.symbol: (s.lower, s.upper) for s in program.sizes}
    kernels = [
        _vectorise_kernel(k, program.buffers, sizes) if isinstance(k, Kernel) else k
        for k in program.kernels
    ]
    prepare = [
        _vectorise_kernel(k, program.buffers, sizes) if isinstance(k, Kernel) else k
        for k in program.prepare
    ]
    return replace(program, kernels=tuple(kernels), prepare=tuple(prepare))


def _vectorise_kernel(kernel: Kernel, buffers: Mapping[str, Buffer], sizes: SizeRanges) -> Kernel:
    known = {**buffers, **{b.name: b for b in kernel.locals}}
    ranges = Ranges(kernel_bounds(kernel), sizes)
    kernel = collapse_loops(kernel, known, ranges)
    return choose_vectors(kernel, known, ranges)


# --- collapsing ---------------------------------------------------------------------------------


def collapse_loops(kernel: Kernel, buffers: Mapping[str, Buffer], ranges: Ranges) -> Kernel:
    """Join a parallel loop with the loop directly inside it where all accesses allow it."""
    if any(isinstance(e, IndexValue) for e in walk_expr(kernel_roots(kernel))):
        return kernel
    body = _collapse_body(kernel.body, buffers, ranges)
    return kernel if body is kernel.body else replace(kernel, body=body)


def _collapse_body(
    body: tuple[Stmt, ...], buffers: Mapping[str, Buffer], ranges: Ranges
) -> tuple[Stmt, ...]:
    out: list[Stmt] = []
    for stmt in body:
        if isinstance(stmt, Loop):
            inner = _collapse_body(stmt.body, buffers, ranges)
            loop = stmt if inner is stmt.body else replace(stmt, body=inner)
            out.append(_collapse(loop, buffers, ranges))
        else:
            out.append(stmt)
    same = all(x is y for x, y in zip(out, body, strict=True))
    return body if same else tuple(out)


def _collapse(loop: Loop, buffers: Mapping[str, Buffer], ranges: Ranges) -> Loop:
    if len(loop.body) != 1 or not isinstance(loop.body[0], Loop):
        return loop
    inner = loop.body[0]
    joinable = (LoopKind.PARALLEL, LoopKind.REDUCE)
    if loop.kind is not inner.kind or loop.kind not in joinable:
        return loop
    if loop.var in inner.extent.vars or _positions_matter(inner.body):
        return loop
    for access in accesses(inner.body, buffers, ranges):
        outer_step = access.address.coefficient(loop.var)
        inner_step = access.address.coefficient(inner.var)
        if outer_step is None or inner_step is None or outer_step != inner_step * inner.extent:
            return loop
    joined = Index.var(loop.var)
    extent = loop.extent * inner.extent
    values = {loop.var: joined // inner.extent, inner.var: joined % inner.extent}
    ranges.bounds[loop.var] = extent
    body = _Reindex(values).body(inner.body)
    return Loop(loop.var, extent, loop.kind, body, loop.vector)


def _positions_matter(body: Sequence[Stmt]) -> bool:
    return any(isinstance(s, Update) and s.position is not None for s in walk_statements(body))


class _Reindex(Substitution):
    """Substitutes loop variables without renaming any declaration."""

    def name(self, name: str) -> str:
        return name


# --- accesses -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Access:
    """A load or store with its element offset."""

    address: Index
    is_store: bool


def accesses(body: Sequence[Stmt], buffers: Mapping[str, Buffer], ranges: Ranges) -> list[Access]:
    """All accesses in statements and what they nest."""
    found: list[Access] = []
    roots = [e for s in walk_statements(body) for e in expressions(s)]
    for expr in walk_expr(roots):
        if isinstance(expr, Load):
            address = address_of(expr.index, buffers[expr.buffer])
            found.append(Access(ranges.simplify(address), False))
    for stmt in walk_statements(body):
        if isinstance(stmt, Store):
            address = address_of(stmt.index, buffers[stmt.buffer])
            found.append(Access(ranges.simplify(address), True))
    return found


# --- vector loops -------------------------------------------------------------------------------


def choose_vectors(kernel: Kernel, buffers: Mapping[str, Buffer], ranges: Ranges) -> Kernel:
    """Mark the best loop of each path as VECTOR (or a REDUCE loop as `vector`)."""
    chooser = _Chooser(buffers, ranges)
    body = tuple([chooser.choose(s)[0] for s in kernel.body])
    return replace(kernel, body=body)


class _Chooser:
    def __init__(self, buffers: Mapping[str, Buffer], ranges: Ranges) -> None:
        self._buffers = buffers
        self._ranges = ranges

    def choose(self, stmt: Stmt) -> tuple[Stmt, float | None]:
        """The statement with its vector loop marked, and the share of good accesses (None: it has
        no loop)."""
        if not isinstance(stmt, Loop):
            return stmt, None
        chosen = [self.choose(s) for s in stmt.body]
        qualities = [q for _, q in chosen if q is not None]
        inside = min(qualities) if qualities else None
        own = self._quality(stmt)
        if own is not None and (inside is None or own > inside):
            if stmt.kind is LoopKind.REDUCE:
                return replace(stmt, vector=True), own
            return replace(stmt, kind=LoopKind.VECTOR), own
        if inside is None:
            return stmt, 0.0
        return replace(stmt, body=tuple([s for s, _ in chosen])), inside

    def _quality(self, loop: Loop) -> float | None:
        """The share of accesses that vector lanes serve well; None if lanes are not possible."""
        if loop.kind is LoopKind.SERIAL:
            return None
        nested = any(isinstance(s, Loop) for s in walk_statements(loop.body))
        if nested and loop.kind is LoopKind.REDUCE:
            return None
        extent = loop.extent.constant
        if extent is not None and extent < MIN_EXTENT:
            return None
        if any(isinstance(s, Check) for s in walk_statements(loop.body)):
            return None
        found = accesses(loop.body, self._buffers, self._ranges)
        good = 0
        for access in found:
            step = access.address.coefficient(loop.var)
            if step == 1 or (step == 0 and not access.is_store):
                good += 1
            elif access.is_store:
                return 0.0 if nested else None
        return good / len(found) if found else 1.0
