"""Fusing loops inside one kernel's body, and passing values in registers instead of memory.

`fuse_body` merges sibling loops of equal extent where no iteration needs another's result;
`forward_stores` replaces loads by the value stored just before. Both work on statements alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from ptc.loops.index import Index
from ptc.loops.nodes import (
    Accumulator,
    Apply,
    Check,
    Expr,
    IndexValue,
    Let,
    Literal,
    Load,
    Loop,
    LoopKind,
    Ref,
    Stmt,
    Store,
    Update,
)
from ptc.loops.walk import Rewriter, Substitution, expressions, walk_expr, walk_statements


@dataclass(slots=True)
class Effects:
    """What a statement (with all inside it) touches."""

    loads: list[Load]
    stores: list[Store]
    uses: set[str]  # names of Refs and index variables
    defines: set[str]  # names declared, and accumulators updated
    inner: set[str]  # loop variables declared inside
    check: bool


def effects_of(stmt: Stmt) -> Effects:
    """The effects of a statement and everything nested in it."""
    result = Effects([], [], set(), set(), set(), False)
    roots: list[Expr] = []
    for s in walk_statements((stmt,)):
        roots.extend(expressions(s))
        if isinstance(s, Loop):
            result.inner.add(s.var)
            result.uses |= s.extent.vars
        elif isinstance(s, Store):
            result.stores.append(s)
            for index in s.index:
                result.uses |= index.vars
        elif isinstance(s, Let | Accumulator | Update):
            result.defines.add(s.name)
            if isinstance(s, Update):
                result.uses.add(s.name)
        elif isinstance(s, Check):
            result.check = True
    for expr in walk_expr(roots):
        if isinstance(expr, Load):
            result.loads.append(expr)
            for index in expr.index:
                result.uses |= index.vars
        elif isinstance(expr, Ref):
            result.uses.add(expr.name)
        elif isinstance(expr, IndexValue):
            result.uses |= expr.index.vars
    return result


def _depends(later: Effects, earlier: Effects) -> bool:
    """Whether the two may not change places."""
    if earlier.check or later.check:
        return True
    if later.uses & earlier.defines or later.defines & earlier.uses:
        return True
    if later.defines & earlier.defines:
        return True
    written = {s.buffer for s in earlier.stores}
    if written and any(access.buffer in written for access in (*later.loads, *later.stores)):
        return True
    overwritten = {s.buffer for s in later.stores}
    return bool(overwritten) and any(
        access.buffer in overwritten for access in (*earlier.loads, *earlier.stores)
    )


class BodyFuser:
    """Fuses loops of one kernel, remembering the effects of statements."""

    def __init__(self) -> None:
        self._effects: dict[int, tuple[Stmt, Effects]] = {}

    def effects(self, stmt: Stmt) -> Effects:
        known = self._effects.get(id(stmt))
        if known is None:
            known = self._effects[id(stmt)] = (stmt, effects_of(stmt))
        return known[1]

    def fuse(self, body: Sequence[Stmt]) -> tuple[Stmt, ...]:
        """`body` with mergeable sibling loops merged, declarations moved up out of the way."""
        out: list[Stmt] = []
        for stmt in body:
            if isinstance(stmt, Loop):
                self._place_loop(stmt, out)
            elif isinstance(stmt, Accumulator | Let):
                self._hoist(stmt, out)
            else:
                out.append(stmt)
        return tuple(out)

    def _hoist(self, stmt: Stmt, out: list[Stmt]) -> None:
        """Put a declaration above the loops it does not depend on."""
        place = len(out)
        own = self.effects(stmt)
        for position in range(len(out) - 1, -1, -1):
            if _depends(own, self.effects(out[position])):
                break
            if isinstance(out[position], Loop):
                place = position
        out.insert(place, stmt)

    def _place_loop(self, loop: Loop, out: list[Stmt]) -> None:
        own = self.effects(loop)
        for position in range(len(out) - 1, -1, -1):
            other = out[position]
            if isinstance(other, Loop) and self.may_merge(other, loop):
                out[position] = self._merged(other, loop)
                return
            if _depends(own, self.effects(other)):
                break
        out.append(loop)

    def may_merge(self, first: Loop, second: Loop) -> bool:
        """Whether each iteration of `second` may follow the same iteration of `first`."""
        serial = LoopKind.SERIAL
        if first.extent != second.extent or first.kind is serial or second.kind is serial:
            return False
        a, b = self.effects(first), self.effects(second)
        if b.uses & a.defines or b.defines & a.uses or a.defines & b.defines:
            return False
        rename = {second.var: Index.var(first.var)}
        inner = a.inner | b.inner
        for store in a.stores:
            for access in (*b.loads, *b.stores):
                if access.buffer == store.buffer and not _same_iteration(
                    store.index, access.index, first.var, rename, inner - {first.var}
                ):
                    return False
        for store in b.stores:
            for load in a.loads:
                if load.buffer == store.buffer and not _same_iteration(
                    load.index, store.index, first.var, rename, inner - {first.var}
                ):
                    return False
        return True

    def _merged(self, first: Loop, second: Loop) -> Loop:
        rename = Substitution({second.var: Index.var(first.var)})
        body = self.fuse((*first.body, *rename.body(second.body)))
        kind = first.kind
        if LoopKind.REDUCE in (first.kind, second.kind):
            kind = LoopKind.REDUCE
        return replace(first, kind=kind, body=body)


def _same_iteration(
    first: tuple[Index, ...],
    second: tuple[Index, ...],
    var: str,
    rename: dict[str, Index],
    inner: set[str],
) -> bool:
    """Whether equal addresses imply equal values of the loop variable."""
    for x, y in zip(first, second, strict=True):
        if x != y.substitute(rename):
            continue
        slope = x.coefficient(var)
        if slope is not None and slope.constant not in (None, 0) and x.vars.isdisjoint(inner):
            return True
    return False


# --- forwarding ---------------------------------------------------------------------------------


class _Forward(Rewriter):
    """Replaces unmasked loads of one place by a value; says whether any other load is left."""

    def __init__(self, store: Store, value: Expr) -> None:
        super().__init__()
        self._store = store
        self._value = value
        self.hits = 0

    def load(self, load: Load) -> Expr:
        if load.buffer == self._store.buffer and load.index == self._store.index:
            if load.mask is None:
                self.hits += 1
                return self._value
            if load.other is not None:
                self.hits += 1
                return Apply("where", (load.mask, self._value, load.other), load.dtype)
        return load


def forward_stores(body: Sequence[Stmt], fresh: Callable[[], str]) -> tuple[Stmt, ...]:
    """Pass stored values on to the loads of the same place that follow in the same body."""
    out: list[Stmt] = []
    rest = list(body)
    while rest:
        stmt = rest.pop(0)
        if isinstance(stmt, Loop):
            out.append(replace(stmt, body=forward_stores(stmt.body, fresh)))
            continue
        if not isinstance(stmt, Store) or stmt.reduce is not None:
            out.append(stmt)
            continue
        rest, let, stmt = _forward_one(stmt, rest, fresh)
        if let is not None:
            out.append(let)
        out.append(stmt)
    return tuple(out)


def _forward_one(
    store: Store, rest: list[Stmt], fresh: Callable[[], str]
) -> tuple[list[Stmt], Let | None, Store]:
    reach = _reach(store, rest)
    if not any(
        load.buffer == store.buffer and load.index == store.index
        for stmt in rest[:reach]
        for load in effects_of(stmt).loads
    ):
        return rest, None, store
    let: Let | None = None
    value = store.value
    # An accumulator may change later, so its value is bound too.
    if not isinstance(value, Literal):
        let = Let(fresh(), value)
        value = Ref(let.name, value.dtype)
        store = replace(store, value=value)
    forward = _Forward(store, value)
    return [*forward.body(rest[:reach]), *rest[reach:]], let, store


def _reach(store: Store, rest: Sequence[Stmt]) -> int:
    """How many of the following statements still find the stored value in its place."""
    for position, stmt in enumerate(rest):
        if any(s.buffer == store.buffer for s in effects_of(stmt).stores):
            return position
    return len(rest)


def remove_stores(body: Sequence[Stmt], buffers: set[str]) -> tuple[Stmt, ...]:
    """`body` without the stores to `buffers`, and without loops that became empty."""
    out: list[Stmt] = []
    for stmt in body:
        if isinstance(stmt, Store) and stmt.buffer in buffers:
            continue
        if isinstance(stmt, Loop):
            inner = remove_stores(stmt.body, buffers)
            if inner:
                out.append(replace(stmt, body=inner))
            continue
        out.append(stmt)
    return tuple(out)
