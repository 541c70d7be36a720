"""The reference semantics of statements and expressions, in NumPy.

PARALLEL, VECTOR and REDUCE loops run as array axes (in slices when there are many lanes), SERIAL
loops one iteration at a time. The loop at depth d is axis -(d+1) of every value, so that values of
outer loops broadcast against those of inner ones by themselves. Programs and memory belong to
`interpreter`, templates to `interpret_templates`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, assert_never

import numpy as np

from ptc.loops import scalar_numpy as sn
from ptc.loops.index import Index
from ptc.loops.nodes import (
    Accumulator,
    Apply,
    Buffer,
    Check,
    DType,
    Expr,
    If,
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
from ptc.loops.scalar_numpy import Array

# More lanes than this run in slices: it bounds memory to some hundred megabytes.
MAX_LANES = 1 << 21


class RunError(Exception):
    """A Check failed: the program's own error, with its message."""


@dataclass(slots=True)
class Axis:
    """A loop that runs as an array axis: its variable covers [start, stop)."""

    var: str
    start: int
    stop: int


@dataclass(slots=True)
class AccumulatorState:
    """A reduction variable: declared under `depth` axes."""

    op: str
    dtype: DType
    depth: int
    value: Array
    position: Array | None = None
    started: Array | None = None


@dataclass(slots=True)
class Scope:
    """What a kernel's statements see."""

    memory: dict[str, Array]
    buffers: Mapping[str, Buffer]
    values: dict[str, Any]  # loop variables, sizes, Lets, template results
    axes: list[Axis] = field(default_factory=list[Axis])
    accumulators: dict[str, AccumulatorState] = field(default_factory=dict[str, AccumulatorState])
    mask: Array | None = None
    # LOCAL buffers by the variable of the loop that declares them, and the axes they are private to
    declared: Mapping[str, list[Buffer]] = field(default_factory=dict[str, "list[Buffer]"])
    private: dict[str, list[Axis]] = field(default_factory=dict[str, "list[Axis]"])
    cache: dict[int, tuple[Expr, Array]] = field(default_factory=dict[int, "tuple[Expr, Array]"])

    def lanes(self) -> int:
        count = 1
        for axis in self.axes:
            count *= axis.stop - axis.start
        return count

    def allocate_locals(self, var: str) -> None:
        """Make the LOCAL buffers of the loop over `var`, one copy a lane."""
        for local in self.declared.get(var, ()):
            lanes = [axis.stop - axis.start for axis in self.axes]
            shape = [int(np.max(evaluate_index(d, self.values))) for d in local.shape]
            self.memory[local.name] = np.zeros([*lanes, *shape], sn.STORAGE_TYPES[local.dtype])
            self.private[local.name] = list(self.axes)

    def location(self, buffer: str, index: Sequence[Index]) -> list[Array]:
        """Index arrays into the memory of `buffer` (which has the private axes in front)."""
        own = [np.asarray(evaluate_index(i, self.values)) for i in index]
        lanes = [np.asarray(self.values[a.var]) - a.start for a in self.private.get(buffer, ())]
        return lanes + own

    def shape(self, depth: int | None = None) -> tuple[int, ...]:
        """The full shape of a value under the first `depth` axes."""
        axes = self.axes if depth is None else self.axes[:depth]
        return tuple(a.stop - a.start for a in reversed(axes))


def evaluate_index(index: Index, values: Mapping[str, Any]) -> Any:
    """An Index under ints and arrays."""
    return index.evaluate(values, np.minimum, np.maximum)


# --- expressions --------------------------------------------------------------------------------


def evaluate(expr: Expr, scope: Scope) -> Array:
    """The value of `expr` on all lanes of the scope (broadcastable to its shape)."""
    if isinstance(expr, Ref):
        return _reference(expr, scope)
    known = scope.cache.get(id(expr))
    if known is not None:
        return known[1]
    value = _evaluate(expr, scope)
    scope.cache[id(expr)] = (expr, value)
    return value


def _evaluate(expr: Expr, scope: Scope) -> Array:
    match expr:
        case Literal():
            return np.asarray(expr.value, sn.VALUE_TYPES[expr.dtype])
        case IndexValue():
            value = np.asarray(evaluate_index(expr.index, scope.values))
            return sn.cast(value, DType.I64, expr.dtype)
        case Load():
            return _load(expr, scope)
        case Ref():
            return _reference(expr, scope)
        case Apply():
            args = [evaluate(a, scope) for a in expr.args]
            if expr.op == "cast":
                return sn.cast(args[0], expr.args[0].dtype, expr.dtype)
            if expr.op == "bitcast":
                return sn.bitcast(args[0], expr.args[0].dtype, expr.dtype)
            return np.asarray(sn.FUNCTIONS[expr.op](*args))
        case _:
            assert_never(expr)


def _reference(expr: Ref, scope: Scope) -> Array:
    state = scope.accumulators.get(expr.name)
    if state is None:
        return np.asarray(scope.values[expr.name])
    if state.op in ("argmin", "argmax") and state.position is not None:
        return state.position
    return state.value


def _load(load: Load, scope: Scope) -> Array:
    buffer = scope.memory[load.buffer]
    mask = scope.mask
    if load.mask is not None:
        own = evaluate(load.mask, scope)
        mask = own if mask is None else np.logical_and(own, mask)
    if mask is None:
        sliced = None if load.buffer in scope.private else _load_slice(load, buffer, scope)
        if sliced is not None:
            return sn.from_storage(sliced, load.dtype)
        index = scope.location(load.buffer, load.index)
        if any(np.any(i < 0) for i in index):
            raise IndexError(f"load of {load.buffer} at a negative index")
        return sn.from_storage(np.asarray(buffer[tuple(index)]), load.dtype)
    if buffer.size == 0:
        value = np.zeros(mask.shape, sn.VALUE_TYPES[load.dtype])
    else:
        index = tuple([np.where(mask, i, 0) for i in scope.location(load.buffer, load.index)])
        value = sn.from_storage(np.asarray(buffer[index]), load.dtype)
    if load.mask is not None and load.other is not None:
        value = np.where(evaluate(load.mask, scope), value, evaluate(load.other, scope))
    return value


def _load_slice(load: Load, buffer: Array, scope: Scope) -> Array | None:
    """The same by basic slicing, when each dimension is constant or `a + b * axis variable`."""
    positions = {axis.var: k for k, axis in enumerate(scope.axes)}
    slices: list[slice] = []
    order: list[int | None] = []
    used: set[int] = set()
    for index in load.index:
        names = [name for name in index.vars if name in positions]
        if len(names) > 1:
            return None
        if not names:
            value = evaluate_index(index, scope.values)
            if np.ndim(value) != 0 or value < 0:
                return None
            slices.append(slice(int(value), int(value) + 1))
            order.append(None)
            continue
        step = index.coefficient(names[0])
        depth = positions[names[0]]
        if (
            step is None
            or depth in used
            or any(np.ndim(scope.values[n]) for n in index.vars if n != names[0])
        ):
            return None
        used.add(depth)
        stride = int(step.evaluate(scope.values))
        axis = scope.axes[depth]
        first = int(index.evaluate({**scope.values, axis.var: axis.start}))
        count = axis.stop - axis.start
        if stride <= 0 or first < 0 or count <= 0:
            return None
        slices.append(slice(first, first + stride * (count - 1) + 1, stride))
        order.append(depth)
    view = buffer[tuple(slices)]
    kept = [d for d, k in enumerate(order) if k is not None]
    expected = [scope.axes[k].stop - scope.axes[k].start for k in order if k is not None]
    if [view.shape[d] for d in kept] != expected:
        raise IndexError(f"load of {load.buffer} outside its shape {buffer.shape}")
    squeezed = view.reshape([view.shape[d] for d in kept]) if len(kept) != view.ndim else view
    by_depth = sorted(range(len(kept)), key=lambda d: -(order[kept[d]] or 0))
    moved = squeezed.transpose(by_depth)
    shape = [1] * len(scope.axes)
    for k in used:
        shape[len(scope.axes) - 1 - k] = scope.axes[k].stop - scope.axes[k].start
    return moved.reshape(shape)


# --- statements ---------------------------------------------------------------------------------


def execute(body: Sequence[Stmt], scope: Scope) -> None:
    """Run statements on all lanes of the scope."""
    for stmt in body:
        match stmt:
            case Loop():
                _loop(stmt, scope)
            case Let():
                value = evaluate(stmt.value, scope)
                scope.values[stmt.name] = value.astype(np.int64) if stmt.bounds else value
            case Store():
                _store(stmt, scope)
                scope.cache.clear()
            case Accumulator():
                _declare(stmt, scope)
            case Update():
                _update(stmt, scope)
                scope.cache.clear()
            case If():
                _if(stmt, scope)
            case Check():
                _check(stmt, scope)
            case _:
                assert_never(stmt)


def _loop(loop: Loop, scope: Scope) -> None:
    extent = evaluate_index(loop.extent, scope.values)
    if np.ndim(extent) != 0:
        raise ValueError(f"extent of {loop.var} differs between lanes")
    extent = int(extent)
    if extent <= 0:
        return
    if loop.kind is LoopKind.SERIAL or _bounds_inner_loop(loop.var, loop.body):
        for value in range(extent):
            scope.values[loop.var] = value
            scope.allocate_locals(loop.var)
            scope.cache.clear()
            execute(loop.body, scope)
        scope.cache.clear()
        return
    inner = scope.lanes() * _inner_lanes(loop.body, scope.values)
    chunk = max(1, min(extent, MAX_LANES // max(inner, 1)))
    depth = len(scope.axes)
    for start in range(0, extent, chunk):
        stop = min(extent, start + chunk)
        scope.axes.append(Axis(loop.var, start, stop))
        scope.values[loop.var] = np.arange(start, stop, dtype=np.int64).reshape(-1, *[1] * depth)
        scope.allocate_locals(loop.var)
        scope.cache.clear()
        execute(loop.body, scope)
        scope.axes.pop()
        scope.cache.clear()


def _bounds_inner_loop(var: str, body: Sequence[Stmt]) -> bool:
    for stmt in body:
        if isinstance(stmt, Loop):
            if var in stmt.extent.vars or _bounds_inner_loop(var, stmt.body):
                return True
        elif isinstance(stmt, If) and _bounds_inner_loop(var, stmt.body):
            return True
    return False


def _inner_lanes(body: Sequence[Stmt], values: Mapping[str, Any]) -> int:
    most = 1
    for stmt in body:
        if isinstance(stmt, Loop):
            lanes = _inner_lanes(stmt.body, values)
            if stmt.kind is not LoopKind.SERIAL and stmt.extent.vars <= values.keys():
                extent = evaluate_index(stmt.extent, values)
                lanes *= int(np.max(extent)) if np.size(extent) else 1
            most = max(most, lanes)
        elif isinstance(stmt, If):
            most = max(most, _inner_lanes(stmt.body, values))
    return most


def _store(stmt: Store, scope: Scope) -> None:
    buffer = scope.memory[stmt.buffer]
    dtype = scope.buffers[stmt.buffer].dtype
    value = evaluate(stmt.value, scope)
    if (
        stmt.reduce is None
        and scope.mask is None
        and stmt.buffer not in scope.private
        and _store_slice(stmt, buffer, value, scope)
    ):
        return
    index = scope.location(stmt.buffer, stmt.index)
    lanes = scope.shape()
    index = [np.broadcast_to(i, lanes) for i in index]
    value = np.broadcast_to(value, lanes)
    if scope.mask is not None:
        mask = np.broadcast_to(scope.mask, lanes)
        index = [i[mask] for i in index]
        value = value[mask]
    if any(np.any(i < 0) for i in index):
        raise IndexError(f"store to {stmt.buffer} at a negative index")
    if not index:
        # One place: a store that several lanes make has the same value in all of them, unless it
        # combines.
        index, value = [np.zeros(value.shape, np.int64)], value
        buffer = buffer.reshape(1)
    where = tuple(index)
    if stmt.reduce is None:
        buffer[where] = sn.to_storage(value, dtype)
        return
    functions = {"add": np.add, "mul": np.multiply, "min": np.minimum, "max": np.maximum}
    if dtype is DType.BF16:
        whole = sn.from_storage(np.asarray(buffer), dtype)
        functions[stmt.reduce].at(whole, where, value)
        buffer[...] = sn.to_storage(sn.round_bf16(whole), dtype)
    else:
        functions[stmt.reduce].at(buffer, where, value)


def _store_slice(stmt: Store, buffer: Array, value: Array, scope: Scope) -> bool:
    """Write by basic slicing when every dimension is its own axis variable or a constant."""
    positions = {axis.var: k for k, axis in enumerate(scope.axes)}
    slices: list[slice] = []
    order: list[int] = []
    for index in stmt.index:
        name = index.variable
        if name in positions:
            axis = scope.axes[positions[name]]
            slices.append(slice(axis.start, axis.stop))
            order.append(positions[name])
        elif index.constant is not None and index.constant >= 0:
            slices.append(slice(index.constant, index.constant + 1))
            order.append(-1)
        else:
            return False
    used = [k for k in order if k >= 0]
    if len(set(used)) != len(used) or len(used) != len(scope.axes):
        return False
    full = np.broadcast_to(value, scope.shape())
    # axis k of the scope is dimension (axes - 1 - k) of the value
    moved = full.transpose([len(scope.axes) - 1 - k for k in used])
    shape = [1 if k < 0 else scope.axes[k].stop - scope.axes[k].start for k in order]
    target = buffer[(*slices, ...)]
    if list(target.shape) != shape:
        raise IndexError(f"store to {stmt.buffer} outside its shape {buffer.shape}")
    target[...] = sn.to_storage(moved.reshape(shape), scope.buffers[stmt.buffer].dtype)
    return True


def _declare(stmt: Accumulator, scope: Scope) -> None:
    init = evaluate(stmt.init, scope)
    position = np.zeros((), np.int64) if stmt.op in ("argmin", "argmax") else None
    started = np.zeros((), np.bool_) if position is not None else None
    depth = len(scope.axes)
    scope.accumulators[stmt.name] = AccumulatorState(
        stmt.op, stmt.dtype, depth, init, position, started
    )


def _update(stmt: Update, scope: Scope) -> None:
    state = scope.accumulators[stmt.name]
    value = evaluate(stmt.value, scope)
    if state.position is not None:
        _update_position(stmt, state, value, scope)
        return
    inner = len(scope.axes) - state.depth
    if scope.mask is not None:
        neutral = np.asarray(sn.identity(state.op, state.dtype), value.dtype)
        value = np.where(scope.mask, value, neutral)
    if inner:
        value = np.broadcast_to(value, scope.shape())
        axes = tuple(range(inner))
        value = _REDUCE[state.op](value, axes).astype(value.dtype)
    state.value = np.asarray(_COMBINE[state.op](state.value, value)).astype(
        sn.VALUE_TYPES[state.dtype]
    )


_REDUCE: dict[str, Any] = {
    "add": lambda v, axes: np.add.reduce(v, axes),
    "mul": lambda v, axes: np.multiply.reduce(v, axes),
    "min": lambda v, axes: np.minimum.reduce(v, axes),
    "max": lambda v, axes: np.maximum.reduce(v, axes),
    "any": lambda v, axes: np.logical_or.reduce(v, axes),
    "all": lambda v, axes: np.logical_and.reduce(v, axes),
}

_COMBINE: dict[str, Any] = {
    "add": np.add, "mul": np.multiply, "min": np.minimum, "max": np.maximum,
    "any": np.logical_or, "all": np.logical_and,
}  # fmt: skip


def _update_position(stmt: Update, state: AccumulatorState, value: Array, scope: Scope) -> None:
    """argmin/argmax: the first best element wins, a NaN beats everything."""
    if stmt.position is None or state.position is None or state.started is None:
        raise ValueError(f"update of {stmt.name} needs a position")
    shape = scope.shape()
    inner = len(scope.axes) - state.depth
    lanes = int(np.prod(shape[:inner], dtype=np.int64))
    outer = shape[inner:]
    # Iteration order is outer loop first: reverse the inner axes before flattening them.
    order = [*reversed(range(inner)), *range(inner, len(shape))]
    values = np.broadcast_to(value, shape).transpose(order).reshape(lanes, *outer)
    positions = np.broadcast_to(evaluate(stmt.position, scope), shape)
    positions = positions.transpose(order).reshape(lanes, *outer)
    active = None
    if scope.mask is not None:
        active = np.broadcast_to(scope.mask, shape).transpose(order).reshape(lanes, *outer)
    for lane in range(lanes) if active is not None or lanes == 1 else ():
        take = (
            _better(values[lane], state)
            if active is None
            else (_better(values[lane], state) & active[lane])
        )
        _take(state, take, values[lane], positions[lane])
    if active is None and lanes > 1:
        pick = (np.argmax if state.op == "argmax" else np.argmin)(values, axis=0)
        best = np.take_along_axis(values, pick[None], 0)[0]
        where = np.take_along_axis(positions, pick[None], 0)[0]
        _take(state, _better(best, state), best, where)


def _better(value: Array, state: AccumulatorState) -> Array:
    wins = value > state.value if state.op == "argmax" else value < state.value
    if value.dtype.kind == "f":
        wins = (wins | np.isnan(value)) & ~np.isnan(state.value)
    return np.asarray(wins | ~np.asarray(state.started))


def _take(state: AccumulatorState, take: Array, value: Array, position: Array) -> None:
    state.value = np.where(take, value, state.value)
    state.position = np.where(take, position, np.asarray(state.position))
    state.started = np.asarray(state.started) | take


def _if(stmt: If, scope: Scope) -> None:
    condition = evaluate(stmt.condition, scope)
    outer = scope.mask
    scope.mask = condition if outer is None else np.logical_and(outer, condition)
    scope.cache.clear()
    if np.any(scope.mask):
        execute(stmt.body, scope)
    scope.mask = outer
    scope.cache.clear()


def _check(stmt: Check, scope: Scope) -> None:
    condition = evaluate(stmt.condition, scope)
    if scope.mask is not None:
        condition = np.logical_or(condition, ~np.asarray(scope.mask))
    if not np.all(condition):
        raise RunError(stmt.message)
