"""Merging kernels with equal outer loops into one, so that a row is read once.

`may_merge` is legality: every value the second kernel reads from the first was made in the same
iteration of the common outer loops. `should_merge` is profit. After a merge, loops inside are
fused, stored values are forwarded, and buffers that nobody else reads shrink to row scratch or
registers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ptc.loops.index import Index, product
from ptc.loops.nodes import (
    Buffer,
    BufferKind,
    If,
    Kernel,
    Let,
    Load,
    Loop,
    LoopKind,
    Ref,
    Stmt,
    Store,
)
from ptc.loops.walk import (
    Rewriter,
    Substitution,
    declared_names,
    expressions,
    walk_expr,
    walk_statements,
)
from ptc.schedule.bodies import BodyFuser, forward_stores, remove_stores
from ptc.schedule.inverse import invert
from ptc.schedule.kernels import KernelGraph, Nest, nest_of, wrap
from ptc.schedule.layout import address_of
from ptc.schedule.legality import Refusal
from ptc.schedule.moving import may_move, reads_of, writes_of

# Row scratch beyond this many bytes stays in the arena.
MAX_LOCAL_BYTES = 32 * 1024
MAX_STATEMENTS = 96
# What one iteration may hand to the merged kernel: half of a second-level cache.
MAX_ROW_BYTES = 256 * 1024
# Streams of memory that one merged elementwise loop may have.
MAX_STREAMS = 10


@dataclass(frozen=True, slots=True)
class Merge:
    """A legal merge: the loops shared and the position where the result runs."""

    depth: int
    target: int
    gone: int


def may_merge(graph: KernelGraph, first: int, second: int) -> Merge | Refusal:
    """Whether kernel `second` may run inside the outer loops of `first`."""
    a, b = graph.kernels[first], graph.kernels[second]
    if not isinstance(a, Kernel) or not isinstance(b, Kernel):
        return Refusal("only loop nests are merged", a.name, b.name)
    x, y = nest_of(a), nest_of(b)
    depth = 0
    for p, q in zip(x.loops, y.loops, strict=False):
        if p.extent != q.extent:
            break
        depth += 1
    refusal = Refusal("no outer loop in common", a.name, b.name)
    while depth > 0:
        conflict = _misaligned(graph, first, second, x, y, depth)
        if conflict is None:
            break
        refusal, depth = conflict, depth - 1
    if depth == 0:
        return refusal
    if may_move(graph, first, second) is None:
        return Merge(depth, second, first)
    if may_move(graph, second, first) is None:
        return Merge(depth, first, second)
    return Refusal("no common place to run", a.name, b.name)


def _misaligned(
    graph: KernelGraph, first: int, second: int, x: Nest, y: Nest, depth: int
) -> Refusal | None:
    """The access through which iteration p of `second` would need another iteration of `first`."""
    rename = {
        q: Index.var(p) for p, q in zip(x.vars[:depth], y.vars[:depth], strict=True) if p != q
    }
    outer = {loop.var: loop.extent for loop in x.loops[:depth]}
    kernel = graph.kernels[first]
    if not isinstance(kernel, Kernel):
        return None
    ranges = graph.ranges(kernel)
    names = kernel.name, graph.kernels[second].name
    pairs = _conflicts(graph, first, second)
    for buffer, one, other in pairs:
        shared: list[Index] = []
        for i, j in zip(one, other, strict=True):
            # Variables of `second` other than the outer ones must not be confused with `first`'s.
            if j.vars & y_inner(y, depth, rename) or not i.vars <= outer.keys():
                continue
            if i == j.substitute(rename):
                shared.append(i)
        sizes = _spans(shared, outer)
        if sizes is None or invert(shared, sizes, outer, ranges) is None:
            text = f"{buffer}[{', '.join(map(str, other))}]"
            return Refusal("an iteration needs a value of another one", *names, text)
    return None


def y_inner(nest: Nest, depth: int, rename: dict[str, Index]) -> set[str]:
    """Variables of the second kernel that are not shared outer loops."""
    inner = set(nest.vars[depth:])
    for stmt in walk_statements(nest.inner):
        if isinstance(stmt, Loop):
            inner.add(stmt.var)
        elif isinstance(stmt, Let):
            inner.add(stmt.name)
    return inner


def _spans(indices: Sequence[Index], outer: dict[str, Index]) -> list[Index] | None:
    """For each index over outer variables the size of its range, when it is a mixed-radix sum."""
    result: list[Index] = []
    for index in indices:
        span = Index.const(1)
        for var in index.vars:
            span = span * outer[var]
        result.append(span)
    return result


def _conflicts(
    graph: KernelGraph, first: int, second: int
) -> list[tuple[str, tuple[Index, ...], tuple[Index, ...]]]:
    """Pairs of accesses of one buffer by the two kernels, at least one of them a store."""
    pairs: set[tuple[str, tuple[Index, ...], tuple[Index, ...]]] = set()
    stores_a, stores_b = graph.stores[first], graph.stores[second]
    for store in stores_a:
        for load in graph.loads[second].get(store.buffer, ()):
            pairs.add((store.buffer, store.index, load.index))
        for other in stores_b:
            if other.buffer == store.buffer:
                pairs.add((store.buffer, store.index, other.index))
    for store in stores_b:
        for load in graph.loads[first].get(store.buffer, ()):
            pairs.add((store.buffer, load.index, store.index))
    return list(pairs)


def should_merge(graph: KernelGraph, first: int, second: int, merge: Merge) -> bool:
    """Profit: a value passes in cache or registers, and no stencil would be cut by rows."""
    a, b = graph.kernels[first], graph.kernels[second]
    if not isinstance(a, Kernel) or not isinstance(b, Kernel):
        return False
    statements = sum(1 for _ in walk_statements((*a.body, *b.body)))
    if statements > MAX_STATEMENTS:
        return False
    nest = nest_of(b)
    passed = writes_of(graph, first) & reads_of(graph, second)
    if not passed:
        return merge.depth == len(nest.loops) == len(nest_of(a).loops)
    partial = merge.depth < len(nest.loops) or any(isinstance(s, Loop) for s in nest.inner)
    if not partial:
        return True
    outer = set(nest.vars[: merge.depth])
    for buffer in passed:
        for load in graph.loads[second].get(buffer, ()):
            if not all(_plain(index, outer) for index in load.index):
                return False
            if not _is_row(graph.buffers[buffer], load.index, outer):
                return False
    return True


def _is_row(buffer: Buffer, index: tuple[Index, ...], outer: set[str]) -> bool:
    """Whether what one iteration of the outer loops passes on is small enough to stay in cache."""
    inner = [d for d, i in zip(buffer.shape, index, strict=True) if not i.vars or i.vars - outer]
    inner = [d for d in inner if d != 1]
    size = product(inner).constant
    if size is None:
        return len(inner) == 1
    return size * buffer.dtype.itemsize <= MAX_ROW_BYTES


def _plain(index: Index, outer: set[str]) -> bool:
    """A single variable, a constant, or an expression of outer variables alone."""
    return not index.terms or index.variable is not None or index.vars <= outer


def merge_kernels(graph: KernelGraph, first: int, second: int, merge: Merge) -> None:
    """Replace the two kernels by one."""
    a, b = graph.kernels[first], graph.kernels[second]
    if not isinstance(a, Kernel) or not isinstance(b, Kernel):
        raise TypeError("only loop nests are merged")
    x = nest_of(a)
    other = rename_apart(b, declared_names(a.body))
    y = nest_of(other)
    shared = {
        q: Index.var(p) for p, q in zip(x.vars[: merge.depth], y.vars[: merge.depth], strict=True)
    }
    rest_a = wrap(x.loops[merge.depth :], x.inner)
    rest_b = Substitution(shared).body(wrap(y.loops[merge.depth :], y.inner))
    inner = BodyFuser().fuse((*rest_a, *rest_b))
    body = wrap(x.loops[: merge.depth], inner)
    origins = tuple(dict.fromkeys((*a.origins, *b.origins)))
    kernel = Kernel(b.name, body, (*a.locals, *b.locals), origins)
    graph.replace(merge.target, forwarded(kernel))
    graph.remove(merge.gone)
    shrink_buffers(graph, merge.target)


def forwarded(kernel: Kernel) -> Kernel:
    """The kernel with stored values passed on in registers where they are loaded again."""
    taken = declared_names(kernel.body)
    counter = 0

    def fresh() -> str:
        nonlocal counter
        while f"t{counter}" in taken:
            counter += 1
        taken.add(f"t{counter}")
        return f"t{counter}"

    return replace(kernel, body=forward_stores(kernel.body, fresh))


class _Rename(Substitution):
    """Renames declarations and uses alike."""

    def __init__(self, names: dict[str, str]) -> None:
        super().__init__({old: Index.var(new) for old, new in names.items()})
        self._names = names

    def leaf(self, expr: object) -> object:  # type: ignore[override]
        if isinstance(expr, Ref):
            return Ref(self._names.get(expr.name, expr.name), expr.dtype)
        return expr

    def name(self, name: str) -> str:
        return self._names.get(name, name)


def rename_apart(kernel: Kernel, taken: set[str]) -> Kernel:
    """The kernel with declared names that are not in `taken`."""
    names: dict[str, str] = {}
    used = set(taken)
    for name in sorted(declared_names(kernel.body)):
        new = name
        if name in used:
            stem = name.rstrip("0123456789")
            number = 0
            while f"{stem}{number}" in used:
                number += 1
            new = f"{stem}{number}"
        used.add(new)
        names[name] = new
    if all(old == new for old, new in names.items()):
        return kernel
    return replace(kernel, body=_Rename(names).body(kernel.body))


# --- shrinking buffers --------------------------------------------------------------------------


@dataclass(slots=True)
class _Access:
    """One access of a buffer with the loops around it."""

    index: tuple[Index, ...]
    loops: tuple[Loop, ...]
    is_load: bool
    guarded: bool


def _accesses(body: Sequence[Stmt]) -> dict[str, list[_Access]]:
    found: dict[str, list[_Access]] = {}

    def visit(stmts: Sequence[Stmt], loops: tuple[Loop, ...], guarded: bool) -> None:
        for stmt in stmts:
            for expr in walk_expr(expressions(stmt)):
                if isinstance(expr, Load):
                    access = _Access(expr.index, loops, True, guarded)
                    found.setdefault(expr.buffer, []).append(access)
            if isinstance(stmt, Store):
                access = _Access(stmt.index, loops, stmt.reduce is not None, guarded)
                found.setdefault(stmt.buffer, []).append(access)
            elif isinstance(stmt, Loop):
                visit(stmt.body, (*loops, stmt), guarded)
            elif isinstance(stmt, If):
                visit(stmt.body, loops, True)

    visit(body, (), False)
    return found


def shrink_buffers(graph: KernelGraph, position: int) -> None:
    """Remove stores nobody reads, and make private buffers of one kernel LOCAL."""
    kernel = graph.kernels[position]
    if not isinstance(kernel, Kernel):
        return
    accesses = _accesses(kernel.body)
    unread: set[str] = set()
    local: dict[str, tuple[Buffer, list[int]]] = {}
    for name, found in accesses.items():
        if not graph.is_private(name) or _touchers(graph, name) != {position}:
            continue
        if not any(a.is_load for a in found):
            unread.add(name)
            continue
        shrunk = _as_local(graph.buffers[name], found)
        if shrunk is not None and _walks_rows(graph, accesses, name, shrunk[1]):
            local[name] = shrunk
    if not unread and not local:
        return
    body = remove_stores(kernel.body, unread) if unread else kernel.body
    if local:
        body = _Shrink({n: kept for n, (_, kept) in local.items()}).body(body)
    buffers = (*kernel.locals, *[b for b, _ in local.values()])
    new = forwarded(Kernel(kernel.name, body, buffers, kernel.origins))
    graph.replace(position, _without_unread_locals(new))
    for name in (*unread, *local):
        graph.buffers.pop(name, None)


def _walks_rows(
    graph: KernelGraph, accesses: dict[str, list[_Access]], name: str, kept: list[int]
) -> bool:
    """Whether the loops over the scratch walk the other buffers contiguously. Where they do not (a
    softmax over channels), lanes run along an outer loop, and scratch has no lanes."""
    variables = {v for a in accesses[name] for d in kept for v in a.index[d].vars}
    good = bad = 0
    for other, found in accesses.items():
        buffer = graph.buffers.get(other)
        if buffer is None or other == name:
            continue
        for access in found:
            address = address_of(access.index, buffer)
            for var in variables & address.vars:
                if address.coefficient(var) == 1:
                    good += 1
                else:
                    bad += 1
    return good >= bad


def _touchers(graph: KernelGraph, name: str) -> set[int]:
    return graph.writers.get(name, set()) | graph.readers.get(name, set())


def _without_unread_locals(kernel: Kernel) -> Kernel:
    read = {n for n, found in _accesses(kernel.body).items() if any(a.is_load for a in found)}
    unread = {b.name for b in kernel.locals} - read
    if not unread:
        return kernel
    kept = tuple([b for b in kernel.locals if b.name not in unread])
    return replace(kernel, body=remove_stores(kernel.body, unread), locals=kept)


def _as_local(buffer: Buffer, accesses: list[_Access]) -> tuple[Buffer, list[int]] | None:
    """The buffer without the dimensions that the common outer loops fix, if it is small enough."""
    common = accesses[0].loops
    for access in accesses[1:]:
        depth = 0
        for p, q in zip(common, access.loops, strict=False):
            if p is not q:
                break
            depth += 1
        common = common[:depth]
    variables = {loop.var for loop in common}
    fixed: list[int] = []
    for dim, index in enumerate(accesses[0].index):
        same = all(a.index[dim] == index for a in accesses[1:])
        if same and index.vars <= variables:
            fixed.append(dim)
    named: set[str] = set()
    for dim in fixed:
        named |= accesses[0].index[dim].vars
    if any(loop.var not in named and loop.kind is not LoopKind.SERIAL for loop in common):
        return None
    if any(loop.kind is LoopKind.SERIAL for loop in common) or any(a.guarded for a in accesses):
        return None
    kept = [d for d in range(len(buffer.shape)) if d not in fixed]
    shape = tuple([buffer.shape[d] for d in kept])
    size = product(shape).constant
    if size is None or size * buffer.dtype.itemsize > MAX_LOCAL_BYTES:
        return None
    strides = tuple([product(shape[d + 1 :]) for d in range(len(shape))])
    return (
        Buffer(buffer.name, buffer.dtype, shape, strides, BufferKind.LOCAL),
        kept,
    )


class _Shrink(Rewriter):
    """Drops the fixed dimensions from the accesses of buffers."""

    def __init__(self, kept: dict[str, list[int]]) -> None:
        super().__init__()
        self._kept = kept

    def load(self, load: Load) -> Load:
        kept = self._kept.get(load.buffer)
        if kept is None:
            return load
        index = tuple([load.index[d] for d in kept])
        return Load(load.buffer, index, load.dtype, load.mask, load.other)

    def statement(self, stmt: Stmt) -> Stmt | tuple[Stmt, ...]:
        new = super().statement(stmt)
        if isinstance(new, Store) and new.buffer in self._kept:
            return replace(new, index=tuple([new.index[d] for d in self._kept[new.buffer]]))
        return new


# --- driver -------------------------------------------------------------------------------------


def merge_neighbours(graph: KernelGraph) -> None:
    """Merge each kernel with the makers of what it reads, nearest first, in program order."""
    for second in graph.order():
        current = second
        tried: set[int] = set()
        while current in graph.kernels:
            merged = _merge_with_producer(graph, current, tried)
            if merged is None:
                break
            current = merged


def _merge_with_producer(graph: KernelGraph, second: int, tried: set[int]) -> int | None:
    if not isinstance(graph.kernels[second], Kernel):
        return None
    producers: set[int] = set()
    for buffer in reads_of(graph, second):
        producers |= graph.writers.get(buffer, set())
    for first in sorted(producers - {second} - tried, reverse=True):
        tried.add(first)
        if first > second or not isinstance(graph.kernels[first], Kernel):
            continue
        merge = may_merge(graph, first, second)
        if isinstance(merge, Merge) and should_merge(graph, first, second, merge):
            merge_kernels(graph, first, second, merge)
            return merge.target
    return None


def merge_siblings(graph: KernelGraph) -> None:
    """Merge elementwise kernels of the same extents that read the same elements."""
    for first in graph.order():
        while first in graph.kernels:
            partner = next((q for q in _siblings(graph, first) if _join(graph, first, q)), None)
            if partner is None:
                break


def _siblings(graph: KernelGraph, first: int) -> list[int]:
    """Later kernels that read what `first` reads, all of it, nearest first."""
    kernel = graph.kernels[first]
    if not isinstance(kernel, Kernel):
        return []
    nest = nest_of(kernel)
    if not nest.loops or any(isinstance(s, Loop) for s in nest.inner):
        return []
    found: set[int] = set()
    for buffer, loads in graph.loads[first].items():
        used = frozenset[str]().union(*[i.vars for i in loads[0].index])
        if used >= set(nest.vars):
            found |= {q for q in graph.readers.get(buffer, ()) if q > first}
    return sorted(found)[:4]


def _join(graph: KernelGraph, first: int, second: int) -> bool:
    other = graph.kernels[second]
    kernel = graph.kernels[first]
    if not isinstance(other, Kernel) or not isinstance(kernel, Kernel):
        return False
    x, y = nest_of(kernel), nest_of(other)
    if len(x.loops) != len(y.loops) or any(isinstance(s, Loop) for s in y.inner):
        return False
    if len(graph.touched(first) | graph.touched(second)) > MAX_STREAMS:
        return False
    merge = may_merge(graph, first, second)
    if not isinstance(merge, Merge) or merge.depth != len(x.loops):
        return False
    merge_kernels(graph, first, second, merge)
    return True
