"""Accumulators and the loops that update them.

A sum of many floats is never one long chain: it is summed in blocks, whose results are added, and
nested loops add up level by level, so that the error grows with the depth instead of the length.
Vector loops keep one partial result a lane, several for cheap bodies to hide latency.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from ptc.codegen.context import AccumulatorState, Context, Lanes, UnvectorisableError
from ptc.codegen.cpp_types import PROMOTED, literal_text, value_type, vector_type
from ptc.codegen.expressions import needs_maths
from ptc.codegen.values import broadcast, emit, emit_vector
from ptc.codegen.vector_width import choose_width
from ptc.loops.nodes import Accumulator, Apply, DType, Loop, LoopKind, Stmt, Store, Update
from ptc.loops.scalar_numpy import identity
from ptc.loops.walk import expressions, walk_expr, walk_statements

Write = Callable[[Context, Sequence[Stmt]], None]

#: Scalar steps (or vector steps of one lane) in a block of a long sum.
BLOCK = 128
_VECTOR_BLOCK = 64
_UNROLL = 4
_CHEAP = 6  # operations in a body that is worth unrolling
_SHORT = 8  # a loop this short is no level of its own
_HORIZONTAL = {
    "add": "hsum",
    "mul": "hprod",
    "min": "hmin",
    "max": "hmax",
    "any": "any",
    "all": "all",
}
_ARGUMENT = ("argmin", "argmax")


def combine(op: str, a: str, b: str, dtype: DType) -> str:
    """C++ for `a` combined with `b`."""
    if dtype in (DType.F16, DType.BF16):
        wide = combine(op, f"convert<float>({a})", f"convert<float>({b})", DType.F32)
        return f"convert<{value_type(dtype, None)}>({wide})"
    if dtype is DType.BOOL:
        return f"{a} {'&' if op in ('min', 'mul', 'all') else '|'} {b}"
    if op in ("add", "mul"):
        text = f"{a} {'+' if op == 'add' else '*'} {b}"
        return f"({value_type(dtype, None)})({text})" if dtype in PROMOTED else text
    return f"{'minimum' if op == 'min' else 'maximum'}({a}, {b})"


def declare(ctx: Context, stmt: Accumulator) -> None:
    """Begin a reduction variable, one a lane inside a vector loop."""
    value = emit_vector(ctx, stmt.init)
    name = ctx.writer.fresh("acc")
    lanes = ctx.lanes.width if ctx.lanes else None
    state = AccumulatorState(stmt.name, stmt.op, stmt.dtype, name, varying=lanes is not None)
    if stmt.op in _ARGUMENT:
        # The value's type is that of `init`; `dtype` is the position's.
        state.dtype = stmt.init.dtype
        state.position = f"{name}_at"
        start = "-1L" if lanes is None else f"vec<int64_t, {lanes}>(-1L)"
        ctx.writer.line(f"{value_type(DType.I64, lanes)} {state.position} = {start};")
    ctx.writer.line(f"{value_type(state.dtype, lanes)} {name} = {value.text};")
    ctx.accumulators[stmt.name] = state
    ctx.writer.define(stmt.name)


def update(ctx: Context, stmt: Update) -> None:
    """Combine a value into its variable."""
    state = ctx.accumulators[stmt.name]
    value = emit(ctx, stmt.value)
    if state.varying:
        assert ctx.lanes is not None
        value = broadcast(value, ctx.lanes)
    elif value.varying:
        raise UnvectorisableError
    if state.op in _ARGUMENT:
        _update_position(ctx, stmt, state, value.text)
        return
    text = combine(state.op, state.text, value.operand(), state.dtype)
    if state.lanes_of_loop and ctx.lanes is not None and ctx.lanes.count is not None:
        text = f"select(first_lanes<{ctx.lanes.width}>({ctx.lanes.count}), {text}, {state.text})"
    ctx.writer.line(f"{state.text} = {text};")


def _update_position(ctx: Context, stmt: Update, state: AccumulatorState, value: str) -> None:
    assert stmt.position is not None
    position = emit(ctx, stmt.position)
    test = "beats_max" if state.op == "argmax" else "beats_min"
    candidate = ctx.writer.fresh("x")
    ctx.writer.line(f"const auto {candidate} = {value};")
    if not state.varying:
        condition = f"{state.position} < 0 || {test}({candidate}, {state.text})"
        ctx.writer.line(
            f"if ({condition}) {state.text} = {candidate}, {state.position} = {position.text};"
        )
        return
    assert ctx.lanes is not None
    at = broadcast(position, ctx.lanes).text
    better = ctx.writer.fresh("better")
    zero = f"vec<int64_t, {ctx.lanes.width}>(0L)"
    condition = f"({state.position} < {zero}) | {test}({candidate}, {state.text})"
    ctx.writer.line(f"const auto {better} = {condition};")
    ctx.writer.line(f"{state.text} = select({better}, {candidate}, {state.text});")
    ctx.writer.line(f"{state.position} = select({better}, {at}, {state.position});")


# --- loops --------------------------------------------------------------------------------------


def updated(ctx: Context, body: Iterable[Stmt]) -> list[str]:
    """Accumulators declared outside `body` that it updates, in order."""
    inner = {s.name for s in walk_statements(body) if isinstance(s, Accumulator)}
    names = [s.name for s in walk_statements(body) if isinstance(s, Update)]
    return [n for n in dict.fromkeys(names) if n not in inner and n in ctx.accumulators]


def stored(body: Iterable[Stmt]) -> frozenset[str]:
    """Buffers that `body` writes."""
    return frozenset(s.buffer for s in walk_statements(body) if isinstance(s, Store))


def _vector_reductions(body: Iterable[Stmt]) -> list[Loop]:
    return [
        s
        for s in walk_statements(body)
        if isinstance(s, Loop) and s.kind is LoopKind.REDUCE and s.vector
    ]


def reduce_loop(ctx: Context, loop: Loop, write: Write) -> None:
    """A REDUCE loop whose variable does not run along lanes."""
    totals = _open_totals(ctx, loop) if ctx.lanes is None else []
    ctx.reduce_depth += 1
    sums = _chained_sums(ctx, loop)
    extent = loop.extent.constant
    long = extent is None or extent > BLOCK
    nested = ctx.reduce_depth > 1 and (extent is None or extent >= _SHORT)
    if sums and long:
        _blocked(ctx, loop, sums, write)
    elif sums and nested:
        parts = _open_parts(ctx, sums)
        plain_loop(ctx, loop, write)
        _close_parts(ctx, parts)
    else:
        plain_loop(ctx, loop, write)
    ctx.reduce_depth -= 1
    _close_totals(ctx, totals)


def plain_loop(
    ctx: Context, loop: Loop, write: Write, start: str = "0", end: str | None = None
) -> None:
    """`for` over [start, end), by default over the whole extent."""
    if ctx.moves(loop.extent):
        raise UnvectorisableError
    with ctx.variable(loop.var, loop.extent) as name:
        limit = end if end is not None else ctx.text(loop.extent)
        header = f"for (int64_t {name} = {start}; {name} < {limit}; ++{name})"
        may_be_empty = not ctx.ranges.nonnegative(loop.extent - 1)
        ctx.writer.open(header, stored(loop.body), fixed=may_be_empty)
        ctx.writer.define(loop.var)
        write(ctx, loop.body)
        ctx.writer.close()


def _chained_sums(ctx: Context, loop: Loop) -> list[AccumulatorState]:
    """Float sums that `loop` itself (not a loop inside) adds to."""
    direct: list[str] = []
    pending = list(loop.body)
    while pending:
        stmt = pending.pop()
        if isinstance(stmt, Update):
            direct.append(stmt.name)
        elif not isinstance(stmt, Loop) and hasattr(stmt, "body"):
            pending.extend(stmt.body)  # type: ignore[union-attr]
    states = [ctx.accumulators[n] for n in updated(ctx, loop.body) if n in direct]
    return [s for s in states if s.op == "add" and s.dtype.is_float]


def _blocked(ctx: Context, loop: Loop, sums: list[AccumulatorState], write: Write) -> None:
    start, end = ctx.writer.fresh("k"), ctx.writer.fresh("e")
    limit = ctx.text(loop.extent)
    may_be_empty = not ctx.ranges.nonnegative(loop.extent - 1)
    header = f"for (int64_t {start} = 0; {start} < {limit}; {start} += {BLOCK})"
    ctx.writer.open(header, stored(loop.body), fixed=may_be_empty)
    ctx.writer.line(f"const int64_t {end} = index_min({start} + {BLOCK}, {limit});")
    parts = _open_parts(ctx, sums)
    plain_loop(ctx, loop, write, start, end)
    _close_parts(ctx, parts)
    ctx.writer.close()


def _open_parts(
    ctx: Context, sums: list[AccumulatorState]
) -> list[tuple[AccumulatorState, AccumulatorState]]:
    """Fresh variables that stand for `sums` until `_close_parts` adds them."""
    parts: list[tuple[AccumulatorState, AccumulatorState]] = []
    for state in sums:
        part = replace(state, text=ctx.writer.fresh("part"))
        lanes = ctx.lanes.width if state.varying and ctx.lanes else None
        kind = value_type(state.dtype, lanes)
        ctx.writer.line(f"{kind} {part.text} = {kind}(0);")
        ctx.accumulators[state.name] = part
        parts.append((state, part))
    return parts


def _close_parts(ctx: Context, parts: list[tuple[AccumulatorState, AccumulatorState]]) -> None:
    for state, part in parts:
        ctx.writer.line(f"{state.text} = {state.text} + {part.text};")
        ctx.accumulators[state.name] = state


def _open_totals(ctx: Context, loop: Loop) -> list[AccumulatorState]:
    """One vector an accumulator for all runs of the vector loops inside `loop`."""
    opened: list[AccumulatorState] = []
    for inner in _vector_reductions(loop.body):
        if inner is loop:
            continue
        width = choose_width(ctx, inner)
        for name in updated(ctx, inner.body):
            state = ctx.accumulators[name]
            if state.totals or state.op in _ARGUMENT or width == 0:
                continue
            totals = replace(state, totals=ctx.writer.fresh("total"), totals_width=width)
            kind = vector_type(state.dtype, width)
            start = literal_text(identity(state.op, state.dtype), state.dtype)
            ctx.writer.line(f"{kind} {totals.totals} = {kind}({start});")
            ctx.accumulators[name] = totals
            opened.append(state)
    return opened


def _close_totals(ctx: Context, opened: list[AccumulatorState]) -> None:
    for state in opened:
        whole = f"{_HORIZONTAL[state.op]}({ctx.accumulators[state.name].totals})"
        text = combine(state.op, state.text, whole, state.dtype)
        ctx.writer.line(f"{state.text} = {text};")
        ctx.accumulators[state.name] = state


def vector_reduce(ctx: Context, loop: Loop, write: Write) -> None:
    """A REDUCE loop whose lanes keep partial results."""
    states = [ctx.accumulators[n] for n in updated(ctx, loop.body)]
    width = choose_width(ctx, loop)
    if width == 0 or any(s.op in _ARGUMENT for s in states):
        raise UnvectorisableError
    if any(s.totals and s.totals_width != width for s in states):
        raise UnvectorisableError
    extent = loop.extent.constant
    unroll = _unroll(loop, extent, width)
    block = _VECTOR_BLOCK * unroll * width
    blocked = any(s.op == "add" and s.dtype.is_float for s in states)
    blocked = blocked and (extent is None or extent > block)
    sums = {s.name: _lane_variables(ctx, s, width) for s in states} if blocked else {}
    limit = ctx.text(loop.extent)
    start, end = "0", limit
    if blocked:
        start, end = ctx.writer.fresh("k"), ctx.writer.fresh("e")
        header = f"for (int64_t {start} = 0; {start} < {limit}; {start} += {block})"
        empty = not ctx.ranges.nonnegative(loop.extent - 1)
        ctx.writer.open(header, stored(loop.body), fixed=empty)
        ctx.writer.line(f"const int64_t {end} = index_min({start} + {block}, {limit});")
    partials = {s.name: _lane_variables(ctx, s, width, unroll) for s in states}
    _vector_steps(ctx, loop, write, partials, Lanes(loop.var, width), unroll, start, end)
    for state in states:
        whole = _joined(state, partials[state.name], unroll)
        if blocked:
            target = sums[state.name]
            ctx.writer.line(f"{target} = {combine(state.op, target, whole, state.dtype)};")
        else:
            _finish(ctx, state, whole)
    if blocked:
        ctx.writer.close()
        for state in states:
            _finish(ctx, state, sums[state.name])


def _unroll(loop: Loop, extent: int | None, width: int) -> int:
    operations = 0
    for stmt in walk_statements(loop.body):
        if isinstance(stmt, Loop):
            return 1
        for node in walk_expr(expressions(stmt)):
            if isinstance(node, Apply):
                operations += 8 if needs_maths(node.op) else 1
    if operations > _CHEAP:
        return 1
    return _UNROLL if extent is None or extent >= _UNROLL * width else 1


def _lane_variables(ctx: Context, state: AccumulatorState, width: int, count: int = 0) -> str:
    """Declare a vector (or an array of `count`) that starts at the operation's identity."""
    name = ctx.writer.fresh("lanes")
    kind = vector_type(state.dtype, width)
    start = f"{kind}({literal_text(identity(state.op, state.dtype), state.dtype)})"
    if count > 1:
        ctx.writer.line(f"{kind} {name}[{count}] = {{{', '.join([start] * count)}}};")
    else:
        ctx.writer.line(f"{kind} {name} = {start};")
    return name


def _joined(state: AccumulatorState, name: str, count: int) -> str:
    parts = [f"{name}[{i}]" for i in range(count)] if count > 1 else [name]
    while len(parts) > 1:
        pairs = zip(parts[::2], parts[1::2], strict=True)
        parts = [f"({combine(state.op, a, b, state.dtype)})" for a, b in pairs]
    return parts[0]


def _finish(ctx: Context, state: AccumulatorState, lanes: str) -> None:
    """Add the lanes' results to the totals of an outer loop, or to the variable itself."""
    if state.totals:
        text = combine(state.op, state.totals, lanes, state.dtype)
        ctx.writer.line(f"{state.totals} = {text};")
        return
    whole = f"{_HORIZONTAL[state.op]}({lanes})"
    ctx.writer.line(f"{state.text} = {combine(state.op, state.text, whole, state.dtype)};")


def _vector_steps(
    ctx: Context,
    loop: Loop,
    write: Write,
    partials: dict[str, str],
    lanes: Lanes,
    unroll: int,
    start: str,
    end: str,
) -> None:
    """Whole unrolled steps, whole single steps, then the rest."""
    extent, width = loop.extent.constant, lanes.width
    states = {name: ctx.accumulators[name] for name in partials}
    k = ctx.writer.fresh("k")
    ctx.writer.line(f"int64_t {k} = {start};")

    def body(at: str, active: Lanes, suffix: str) -> None:
        with ctx.variable(loop.var, loop.extent) as name, ctx.vector(active):
            ctx.writer.line(f"const int64_t {name} = {at};")
            ctx.writer.define(loop.var)
            for acc, state in states.items():
                ctx.accumulators[acc] = replace(
                    state, text=partials[acc] + suffix, varying=True, lanes_of_loop=True
                )
            write(ctx, loop.body)
            ctx.accumulators.update(states)

    stores = stored(loop.body)
    step = unroll * width
    empty = not ctx.ranges.nonnegative(loop.extent - 1)
    if unroll > 1:
        ctx.writer.open(f"for (; {k} + {step} <= {end}; {k} += {step})", stores, fixed=empty)
        header = f"#pragma GCC unroll {unroll}\nfor (int u = 0; u < {unroll}; ++u)"
        ctx.writer.open(header, stores)
        body(f"{k} + u * {width}", lanes, "[u]")
        ctx.writer.close()
        ctx.writer.close()
    first = "[0]" if unroll > 1 else ""
    if unroll == 1 or extent is None or extent % step >= width:
        ctx.writer.open(f"for (; {k} + {width} <= {end}; {k} += {width})", stores, fixed=empty)
        body(k, lanes, first)
        ctx.writer.close()
    if extent is None or extent % width:
        ctx.writer.open(f"if ({k} < {end})", stores, fixed=empty)
        count = ctx.writer.fresh("c")
        known = f"{extent % width}" if extent is not None else f"(int)({end} - {k})"
        ctx.writer.line(f"const int {count} = {known};")
        body(k, replace(lanes, count=count), first)
        ctx.writer.close()
