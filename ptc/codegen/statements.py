"""Statements to C++: loops over scalars and vectors, stores, checks.

Takes statements and the `Context`, writes to the context's writer. A VECTOR loop whose body has no
vector form (a check, a branch by lane, a complex number) is written as a scalar loop.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import assert_never

from ptc.codegen.context import Context, Lanes, UnvectorisableError
from ptc.codegen.cpp_types import ELEMENT, value_type
from ptc.codegen.reductions import (
    combine,
    declare,
    plain_loop,
    reduce_loop,
    stored,
    update,
    vector_reduce,
)
from ptc.codegen.scopes import Value
from ptc.codegen.values import broadcast, emit, lane_offsets, pointer
from ptc.codegen.vector_width import choose_width
from ptc.loops.index import Index
from ptc.loops.nodes import (
    Accumulator,
    Check,
    DType,
    If,
    Let,
    Loop,
    LoopKind,
    Stmt,
    Store,
    Update,
)


def write_statements(ctx: Context, body: Sequence[Stmt]) -> None:
    """All of `body`, in order."""
    for stmt in body:
        _statement(ctx, stmt)


def _statement(ctx: Context, stmt: Stmt) -> None:
    ctx.begin_statement()
    match stmt:
        case Loop():
            _loop(ctx, stmt)
        case Let():
            _let(ctx, stmt)
        case Store():
            _store(ctx, stmt)
        case Accumulator():
            declare(ctx, stmt)
        case Update():
            update(ctx, stmt)
        case If():
            condition = emit(ctx, stmt.condition)
            if condition.varying:
                raise UnvectorisableError
            ctx.writer.open(f"if ({condition.text})", stored(stmt.body), fixed=True)
            write_statements(ctx, stmt.body)
            ctx.writer.close()
        case Check():
            condition = emit(ctx, stmt.condition)
            if condition.varying:
                raise UnvectorisableError
            ctx.can_fail = True
            failure = f"return run->fail({string_literal(stmt.message)});"
            ctx.writer.line(f"if (!({condition.text})) {failure}")
        case _:
            assert_never(stmt)


def string_literal(text: str) -> str:
    """A C string."""
    pieces: list[str] = []
    for byte in text.encode("utf-8", "surrogatepass"):
        char = chr(byte)
        if char in '"\\':
            pieces.append("\\" + char)
        elif 32 <= byte < 127 and char != "?":
            pieces.append(char)
        else:
            pieces.append(f"\\{byte:03o}")
    return '"' + "".join(pieces) + '"'


# --- loops --------------------------------------------------------------------------------------


def _loop(ctx: Context, loop: Loop) -> None:
    scalar_around = ctx.lanes is None
    if scalar_around and loop.kind is LoopKind.VECTOR:
        vector_loop(ctx, loop)
    elif loop.kind is LoopKind.REDUCE:
        if scalar_around and loop.vector and attempt(ctx, loop, _vector_reduce):
            return
        reduce_loop(ctx, loop, write_statements)
    else:
        plain_loop(ctx, loop, write_statements)


def _vector_reduce(ctx: Context, loop: Loop) -> None:
    vector_reduce(ctx, loop, write_statements)


def attempt(ctx: Context, loop: Loop, write: object) -> bool:
    """Run `write(ctx, loop)`; if the loop has no vector form, leave no trace and return False."""
    state = ctx.writer.snapshot()
    accumulators, ranges, depth = dict(ctx.accumulators), ctx.ranges, ctx.reduce_depth
    try:
        write(ctx, loop)  # type: ignore[operator]
    except UnvectorisableError:
        ctx.writer.restore(state)
        ctx.accumulators, ctx.ranges, ctx.reduce_depth = accumulators, ranges, depth
        return False
    return True


def vector_loop(ctx: Context, loop: Loop, start: str = "0", end: str | None = None) -> None:
    """A loop along lanes over [start, end); `start` is a multiple of the lane count."""

    def write(ctx: Context, loop: Loop) -> None:
        _vector_loop(ctx, loop, start, end)

    if not attempt(ctx, loop, write):
        plain_loop(ctx, loop, write_statements, start, end)


def _vector_loop(ctx: Context, loop: Loop, start: str, end: str | None) -> None:
    width = choose_width(ctx, loop)
    if width == 0:
        raise UnvectorisableError
    extent = loop.extent.constant
    limit = end if end is not None else ctx.text(loop.extent)
    lanes = Lanes(loop.var, width)
    with ctx.variable(loop.var, loop.extent) as name:
        if end is None and extent == width:
            _lanes_block(ctx, loop, lanes, "", f"const int64_t {name} = 0;")
        elif loop.extent % width == 0:
            header = f"for (int64_t {name} = {start}; {name} < {limit}; {name} += {width})"
            _lanes_block(ctx, loop, lanes, header)
        else:
            k, count = ctx.writer.fresh("k"), ctx.writer.fresh("c")
            ctx.writer.line(f"int64_t {k} = {start};")
            header = f"for (; {k} + {width} <= {limit}; {k} += {width})"
            first = f"const int64_t {name} = {k};"
            _lanes_block(ctx, loop, lanes, header, first)
            rest = str(extent % width) if extent is not None else f"(int)({limit} - {k})"
            some = replace(lanes, count=count)
            number = f"const int {count} = {rest};"
            _lanes_block(ctx, loop, some, f"if ({k} < {limit})", first, number)


def _lanes_block(ctx: Context, loop: Loop, lanes: Lanes, header: str, *lines: str) -> None:
    """`header { lines; body }`, the body for `lanes` at a time."""
    empty = not ctx.ranges.nonnegative(loop.extent - 1)
    ctx.writer.open(header, stored(loop.body), fixed=empty)
    for line in lines:
        ctx.writer.line(line)
    ctx.writer.define(loop.var)
    with ctx.vector(lanes):
        write_statements(ctx, loop.body)
    ctx.writer.close()


# --- lets and stores ----------------------------------------------------------------------------


def _let(ctx: Context, stmt: Let) -> None:
    value = emit(ctx, stmt.value)
    name = ctx.writer.fresh("v")
    lanes = ctx.lanes.width if value.varying and ctx.lanes else None
    ctx.writer.line(f"const {value_type(value.dtype, lanes)} {name} = {value.text};")
    ctx.lets[stmt.name] = Value(name, value.dtype, value.varying)
    ctx.writer.define(stmt.name)
    if stmt.bounds is None:
        return
    known = ctx.ranges.bounds.get(stmt.name)
    if known is None:
        ctx.ranges.declare(stmt.name, stmt.bounds)
    if value.varying:
        ctx.varying.add(stmt.name)
        ctx.names[stmt.name] = name
    elif value.dtype is DType.I64:
        ctx.names[stmt.name] = name
    else:
        ctx.writer.line(f"const int64_t {name}_i = {name};")
        ctx.names[stmt.name] = f"{name}_i"


def _store(ctx: Context, stmt: Store) -> None:
    value = emit(ctx, stmt.value)
    offset = ctx.offset(stmt.buffer, stmt.index)
    if ctx.moves(offset):
        _vector_store(ctx, stmt, value, offset)
    elif value.varying:
        raise UnvectorisableError
    else:
        target = f"{ctx.memory[stmt.buffer]}[{ctx.text(offset)}]"
        text = value.text
        if stmt.reduce is not None:
            if ctx.lanes is not None:
                raise UnvectorisableError
            text = combine(stmt.reduce, target, value.operand(), value.dtype)
        ctx.writer.line(f"{target} = {text};")
    ctx.writer.forget(frozenset((stmt.buffer,)))


def _vector_store(ctx: Context, stmt: Store, value: Value, offset: Index) -> None:
    lanes = ctx.lanes
    assert lanes is not None
    value = broadcast(value, lanes)
    form = ctx.form(offset)
    count = f", {lanes.count}" if lanes.count else ""
    partial = "_n" if lanes.count else ""
    address = pointer(ctx, stmt.buffer, offset)
    is_bool = value.dtype is DType.BOOL
    if stmt.reduce is not None:
        value = _combined(ctx, stmt, value, address, form)
    if form is not None and form[1] == 1:
        name = "store_mask" if is_bool else "store"
        ctx.writer.line(f"{name}{partial}({address}, {value.text}{count});")
        return
    text = f"convert<uint8_t>({value.text})" if is_bool else value.text
    if form is not None:
        if form[1] == 0:
            raise UnvectorisableError
        address = f"(uint8_t*)({address})" if is_bool else address
        ctx.writer.line(f"store_strided({address}, {ctx.text(form[1])}, {text}{count});")
        return
    base = ctx.memory[stmt.buffer]
    base = f"(uint8_t*){base}" if is_bool else base
    ctx.writer.line(f"scatter({base}, {lane_offsets(ctx, offset)}, {text}{count});")


def _combined(
    ctx: Context, stmt: Store, value: Value, address: str, form: tuple[Index, Index] | None
) -> Value:
    """`value` combined with what is in memory; only where each lane has its own place."""
    lanes = ctx.lanes
    assert lanes is not None and stmt.reduce is not None
    if form is None or form[1] != 1 or value.dtype is DType.BOOL:
        raise UnvectorisableError
    count = f", {lanes.count}" if lanes.count else ""
    partial = "_n" if lanes.count else ""
    old = f"load{partial}<{ELEMENT[value.dtype]}, {lanes.width}>({address}{count})"
    text = combine(stmt.reduce, old, value.operand(), value.dtype)
    return Value(text, value.dtype, varying=True, atom=False)
