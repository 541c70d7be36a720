"""Expressions to C++: the same text for scalars and for vectors.

Takes an `Expr` and the `Context`, gives a `Value` after writing the temporaries it needs. A value
is uniform (a scalar) unless it depends on the lanes of the vector loop in force; uniform operands
are broadcast where they meet vectors.
"""

from __future__ import annotations

from typing import assert_never

from ptc.codegen.context import Context, Lanes, UnvectorisableError
from ptc.codegen.cpp_types import COMPLEX, ELEMENT, literal_text, vector_type
from ptc.codegen.expressions import MATHS_HEADER, Operand, needs_maths, spell
from ptc.codegen.scopes import Value
from ptc.loops.index import Index
from ptc.loops.nodes import Apply, DType, Expr, IndexValue, Literal, Load, Ref
from ptc.loops.walk import children, walk_expr

# Longer expressions get a name: lines stay readable and compilers fast.
_LONG_TEXT = 64
_INT32 = (-(2**31), 2**31 - 1)
_COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge")


def emit(ctx: Context, expr: Expr) -> Value:
    """Write what `expr` needs and return its value. Shared sub-expressions are written once."""
    for node in walk_expr([expr]):
        for child in children(node):
            ctx.uses[id(child)] = ctx.uses.get(id(child), 0) + 1
    # Operands first: fused chains are longer than Python's stack is deep.
    pending: list[tuple[Expr, bool]] = [(expr, False)]
    while pending:
        node, ready = pending.pop()
        if id(node) in ctx.memo or not isinstance(node, Apply | Load):
            continue
        if ready:
            _emit(ctx, node)
        else:
            pending.append((node, True))
            pending.extend((child, False) for child in reversed(children(node)))
    return _emit(ctx, expr)


def emit_vector(ctx: Context, expr: Expr) -> Value:
    """Like `emit`, broadcast to a vector when a vector loop is in force."""
    value = emit(ctx, expr)
    return value if ctx.lanes is None else broadcast(value, ctx.lanes)


def broadcast(value: Value, lanes: Lanes) -> Value:
    """A uniform value as a vector."""
    if value.varying:
        return value
    if value.dtype in COMPLEX:
        raise UnvectorisableError
    text = f"{vector_type(value.dtype, lanes.width)}({value.text})"
    return Value(text, value.dtype, varying=True)


def _emit(ctx: Context, expr: Expr) -> Value:
    known = ctx.memo.get(id(expr))
    if known is not None:
        return known[1]
    match expr:
        case Literal():
            value = Value(literal_text(expr.value, expr.dtype), expr.dtype)
            if value.text.startswith("-"):
                value = Value(f"({value.text})", expr.dtype)
        case Ref():
            value = _reference(ctx, expr)
        case IndexValue():
            value = index_value(ctx, expr.index, expr.dtype)
        case Load():
            value = _load(ctx, expr)
        case Apply():
            value = _apply(ctx, expr)
        case _:
            assert_never(expr)
    # The key object is kept alive with the entry: ids may be reused otherwise.
    ctx.memo[id(expr)] = (expr, value)
    return value


def _reference(ctx: Context, ref: Ref) -> Value:
    accumulator = ctx.accumulators.get(ref.name)
    if accumulator is not None:
        text = accumulator.position or accumulator.text
        return Value(text, ref.dtype, accumulator.varying)
    return ctx.lets[ref.name]


def _named(ctx: Context, text: str, dtype: DType, varying: bool) -> Value:
    name = ctx.writer.fresh("t")
    ctx.writer.line(f"const auto {name} = {text};")
    return Value(name, dtype, varying)


# --- operations ---------------------------------------------------------------------------------


def _apply(ctx: Context, expr: Apply) -> Value:
    args = [_emit(ctx, a) for a in _narrowed(ctx, expr)]
    varying = any(a.varying for a in args)
    if varying:
        assert ctx.lanes is not None
        if any(a.dtype in COMPLEX for a in args) or expr.dtype in COMPLEX:
            raise UnvectorisableError
        args = [broadcast(a, ctx.lanes) for a in args]
    if needs_maths(expr.op):
        ctx.headers.add(MATHS_HEADER)
    ctx.operations += 1
    operands = [Operand(a.operand(), a.dtype, a.varying) for a in args]
    text = spell(expr.op, operands, expr.dtype, varying)
    if ctx.uses.get(id(expr), 0) > 1 or len(text) > _LONG_TEXT:
        return _named(ctx, text, expr.dtype, varying)
    return Value(text, expr.dtype, varying, atom=_is_call(text))


def _is_call(text: str) -> bool:
    """`name(...)` or `name<...>(...)` with the last parenthesis closing the first."""
    if not text.endswith(")") or not (text[0].isalpha() or text[0] == "_"):
        return False
    start = text.index("(")
    if " " in text[:start]:
        return False
    depth = 0
    for position in range(start, len(text)):
        depth += (text[position] == "(") - (text[position] == ")")
        if depth == 0:
            return position == len(text) - 1
    return False


def _narrowed(ctx: Context, expr: Apply) -> tuple[Expr, ...]:
    """Comparisons of positions (`j <= i`) in 32 bits where the ranges allow: half the registers."""
    if ctx.lanes is None or expr.op not in _COMPARISONS or expr.args[0].dtype is not DType.I64:
        return expr.args
    if not any(isinstance(a, IndexValue) and ctx.moves(a.index) for a in expr.args):
        return expr.args
    narrow: list[Expr] = []
    for arg in expr.args:
        if isinstance(arg, IndexValue):
            low, high = ctx.ranges.interval(arg.index)
            fits = low is not None and high is not None and _INT32[0] <= low and high <= _INT32[1]
            narrow.append(IndexValue(arg.index, DType.I32))
        elif isinstance(arg, Literal):
            fits = _INT32[0] <= arg.value <= _INT32[1]
            narrow.append(Literal(arg.value, DType.I32))
        else:
            return expr.args
        if not fits:
            return expr.args
    return tuple(narrow)


# --- positions ----------------------------------------------------------------------------------


def index_value(ctx: Context, index: Index, dtype: DType) -> Value:
    """An index as a value of `dtype`."""
    index = ctx.ranges.simplify(index)
    if not ctx.moves(index):
        if dtype is DType.I64:
            return Value(ctx.text(index), dtype, atom=index.variable is not None)
        source = Operand(f"(int64_t)({ctx.text(index)})", DType.I64, False)
        return Value(spell("cast", [source], dtype, False), dtype)
    assert ctx.lanes is not None
    if dtype in COMPLEX:
        raise UnvectorisableError
    wide = _lane_positions(ctx, index, dtype)
    return Value(wide, dtype, varying=True)


def _lane_positions(ctx: Context, index: Index, dtype: DType) -> str:
    assert ctx.lanes is not None
    lanes = ctx.lanes
    low, high = ctx.ranges.interval(index)
    small = low is not None and high is not None and low > _INT32[0] and high < _INT32[1] - 64
    source = DType.I32 if small and dtype is not DType.I64 else DType.I64
    form = ctx.form(index)
    element = ELEMENT[source]
    if form is None:
        text, source = lane_offsets(ctx, index), DType.I64
    else:
        base, stride = form
        if stride == 1:
            text = f"iota<{element}, {lanes.width}>(({element})({ctx.text(base)}))"
        else:
            vector = vector_type(source, lanes.width)
            text = (
                f"(iota<{element}, {lanes.width}>() * {vector}(({element})({ctx.text(stride)}))"
                f" + {vector}(({element})({ctx.text(base)})))"
            )
    if dtype is source:
        return text
    return spell("cast", [Operand(text, source, True)], dtype, True)


def lane_offsets(ctx: Context, index: Index) -> str:
    """A vector of int64_t with the index of each lane, worked out lane by lane."""
    assert ctx.lanes is not None
    lanes, writer = ctx.lanes, ctx.writer
    moving = sorted(name for name in ctx.varying if name in index.vars)
    if len(moving) == 1 and lanes.var not in index.vars:
        factor = index.coefficient(moving[0])
        if factor is not None and moving[0] not in factor.vars:
            rest = index - factor * Index.var(moving[0])
            wide = f"convert<int64_t>({ctx.lets[moving[0]].text})"
            scale = vector_type(DType.I64, lanes.width)
            product = wide if factor == 1 else f"{wide} * {scale}({ctx.text(factor)})"
            return product if rest == 0 else f"{product} + {scale}({ctx.text(rest)})"
    arrays: dict[str, str] = {}
    for name in moving:
        arrays[name] = writer.fresh("lane")
        writer.line(f"int64_t {arrays[name]}[{lanes.width}];")
        writer.line(f"store({arrays[name]}, convert<int64_t>({ctx.lets[name].text}));")
    offsets = writer.fresh("at")
    writer.line(f"int64_t {offsets}[{lanes.width}];")
    outer = {name: ctx.names[name] for name in (*moving, lanes.var) if name in ctx.names}
    writer.line(f"for (int lane = 0; lane < {lanes.width}; ++lane) {{")
    for name in moving:
        writer.line(f"  const int64_t {arrays[name]}_l = {arrays[name]}[lane];")
        ctx.names[name] = f"{arrays[name]}_l"
    if lanes.var in index.vars:
        writer.line(f"  const int64_t {outer[lanes.var]}_l = {outer[lanes.var]} + lane;")
        ctx.names[lanes.var] = f"{outer[lanes.var]}_l"
    writer.line(f"  {offsets}[lane] = {ctx.text(index)};")
    writer.line("}")
    ctx.names.update(outer)
    return f"load<int64_t, {lanes.width}>({offsets})"


# --- loads --------------------------------------------------------------------------------------


def pointer(ctx: Context, buffer: str, offset: Index) -> str:
    """The address of an element."""
    name = ctx.memory[buffer]
    return name if offset == 0 else f"{name} + {ctx.text(offset)}"


def _load(ctx: Context, load: Load) -> Value:
    offset = ctx.offset(load.buffer, load.index)
    mask = None if load.mask is None else _emit(ctx, load.mask)
    other = None if load.other is None else _emit(ctx, load.other)
    if mask is not None and other is None:
        other = Value(literal_text(0, load.dtype), load.dtype)
    moving = ctx.moves(offset)
    varying = moving or (mask is not None and mask.varying)
    if other is not None and other.varying:
        varying = True
    if not varying:
        return _scalar_load(ctx, load, offset, mask, other)
    if load.dtype in COMPLEX:
        raise UnvectorisableError
    assert ctx.lanes is not None
    if mask is None:
        text = _vector_load(ctx, load, offset)
    else:
        assert other is not None
        text = _masked_load(ctx, load, offset, mask, broadcast(other, ctx.lanes))
    return _remembered(ctx, load, offset, text, varying=True, movable=mask is None)


def _scalar_load(
    ctx: Context, load: Load, offset: Index, mask: Value | None, other: Value | None
) -> Value:
    text = f"{ctx.memory[load.buffer]}[{ctx.text(offset)}]"
    if mask is not None and other is not None:
        text = f"{mask.operand()} ? {text} : {other.operand()}"
    return _remembered(ctx, load, offset, text, varying=False, movable=mask is None)


def _remembered(
    ctx: Context, load: Load, offset: Index, text: str, *, varying: bool, movable: bool
) -> Value:
    """Name the loaded value, in the outermost block where it is already known and current."""
    known = ctx.writer.known(text)
    if known is not None:
        return known
    name = ctx.writer.fresh("x")
    value = Value(name, load.dtype, varying)
    home = ctx.writer.blocks[-1]
    if movable and "load<int64_t" not in text and ctx.varying.isdisjoint(offset.vars):
        home = ctx.writer.home(offset.vars, load.buffer)
    home.lines.append(f"const {_loaded_type(ctx, load.dtype, varying)} {name} = {text};")
    home.values[text] = (load.buffer, value)
    return value


def _loaded_type(ctx: Context, dtype: DType, varying: bool) -> str:
    if not varying:
        return ELEMENT[dtype]
    assert ctx.lanes is not None
    return vector_type(dtype, ctx.lanes.width)


def _vector_load(ctx: Context, load: Load, offset: Index) -> str:
    assert ctx.lanes is not None
    lanes = ctx.lanes
    count = f", {lanes.count}" if lanes.count else ""
    partial = "_n" if lanes.count else ""
    form = ctx.form(offset)
    address = pointer(ctx, load.buffer, offset)
    is_bool = load.dtype is DType.BOOL
    if form is not None and form[1] == 1:
        if is_bool:
            return f"load_mask{partial}<{lanes.width}>({address}{count})"
        return f"load{partial}<{ELEMENT[load.dtype]}, {lanes.width}>({address}{count})"
    element = "uint8_t" if is_bool else ELEMENT[load.dtype]
    if form is not None:
        address = f"(const uint8_t*)({address})" if is_bool else address
        text = f"load_strided<{element}, {lanes.width}>({address}, {ctx.text(form[1])}{count})"
    else:
        base = ctx.memory[load.buffer]
        base = f"(const uint8_t*){base}" if is_bool else base
        text = f"gather<{element}, {lanes.width}>({base}, {lane_offsets(ctx, offset)}{count})"
    return f"to_bool({text})" if is_bool else text


def _masked_load(ctx: Context, load: Load, offset: Index, mask: Value, other: Value) -> str:
    assert ctx.lanes is not None
    lanes = ctx.lanes
    if not ctx.moves(offset):
        # One element for all lanes, read if any lane wants it.
        element = f"{ctx.memory[load.buffer]}[{ctx.text(offset)}]"
        active = _active(ctx, mask)
        scalar = ctx.writer.fresh("x")
        ctx.writer.line(
            f"const {ELEMENT[load.dtype]} {scalar} = any({active}) ? {element} : "
            f"{ELEMENT[load.dtype]}();"
        )
        wide = broadcast(Value(scalar, load.dtype), lanes)
        return f"select({active}, {wide.text}, {other.text})"
    if not mask.varying:
        return f"{mask.operand()} ? {_vector_load(ctx, load, offset)} : {other.text}"
    active = _active(ctx, mask)
    is_bool = load.dtype is DType.BOOL
    element = "uint8_t" if is_bool else ELEMENT[load.dtype]
    fallback = f"convert<uint8_t>({other.text})" if is_bool else other.text
    form = ctx.form(offset)
    if form is not None and form[1] == 1:
        address = pointer(ctx, load.buffer, offset)
        address = f"(const uint8_t*)({address})" if is_bool else address
        text = f"load_where<{element}, {lanes.width}>({address}, {active}, {fallback})"
    else:
        base = ctx.memory[load.buffer]
        base = f"(const uint8_t*){base}" if is_bool else base
        text = (
            f"gather_where<{element}, {lanes.width}>({base}, {lane_offsets(ctx, offset)}, "
            f"{active}, {fallback})"
        )
    return f"to_bool({text})" if is_bool else text


def _active(ctx: Context, mask: Value) -> str:
    """`mask` as a vector, false in the lanes beyond the loop's end."""
    assert ctx.lanes is not None
    text = broadcast(mask, ctx.lanes).text
    if ctx.lanes.count is None:
        return text
    return f"(({text}) & first_lanes<{ctx.lanes.width}>({ctx.lanes.count}))"
