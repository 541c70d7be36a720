"""Epilogues of contractions: what happens to a vector of finished values.

Takes the epilogue's statements and how the output variables follow from what the runtime passes,
gives a C++ lambda. The lanes run along one output variable; where the statements have no vector
form the lanes are taken one by one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ptc.codegen.context import Context, Lanes, UnvectorisableError
from ptc.codegen.cpp_types import ELEMENT, vector_type
from ptc.codegen.expand import ACC
from ptc.codegen.scopes import Value
from ptc.codegen.statements import write_statements
from ptc.loops.index import Index
from ptc.loops.nodes import DType, Stmt
from ptc.loops.walk import Substitution


def epilogue_lambda(
    ctx: Context,
    body: Sequence[Stmt],
    dtype: DType,
    parameters: Sequence[tuple[str, Index]],
    lane_var: str,
    outputs: Mapping[str, Index],
    *,
    aligned: bool = True,
) -> list[str]:
    """Lines of `const auto epilogue = [=](vec acc, int64_t ..., int lanes) {...};`.

    `parameters` are the variables the runtime passes after `acc`, with their extents; the last one,
    `lane_var`, is the first lane's. `outputs` gives the template's output variables in terms of
    them. `aligned`: groups of lanes begin at multiples of the native vector.
    """
    width = ctx.lanes_max
    statements = Substitution(outputs, simplify=ctx.ranges.simplify).body(body)
    names: list[str] = []
    for name, extent in parameters:
        ctx.ranges.declare(name, extent)
        ctx.names[name] = ctx.writer.fresh("i")
        names.append(ctx.names[name])
    arguments = ", ".join(f"int64_t {n}" for n in names)
    head = f"const auto epilogue = [=]({vector_type(dtype, width)} acc, {arguments}, int lanes)"
    ctx.writer.open(head, frozenset(), fixed=True)
    ctx.writer.line(f"(void){', (void)'.join(names)};")
    for name, _ in parameters:
        ctx.writer.define(name)
    state = ctx.writer.snapshot()
    align = max(1, min(width, ctx.lanes_max * 4 // dtype.itemsize)) if aligned else 1
    extent = dict(parameters)[lane_var].constant
    whole = aligned and dtype.itemsize == 4 and extent is not None and extent % width == 0
    try:
        lanes = Lanes(lane_var, width, None, align)
        _vector_epilogue(ctx, statements, dtype, lanes, whole=whole)
    except UnvectorisableError:
        ctx.writer.restore(state)
        _lane_epilogue(ctx, statements, dtype, lane_var)
    ctx.writer.close("};")
    return ctx.writer.text()


def _vector_epilogue(
    ctx: Context, body: Sequence[Stmt], dtype: DType, lanes: Lanes, *, whole: bool
) -> None:
    """Full vectors, and unless there are only such, those cut short by a row's end."""
    for count in (None,) if whole else (None, "lanes"):
        header = f"if (lanes == {lanes.width})" if count is None else "else"
        ctx.writer.open("" if whole else header, frozenset(), fixed=True)
        ctx.lets[ACC] = Value("acc", dtype, varying=True)
        with ctx.vector(Lanes(lanes.var, lanes.width, count, lanes.align)):
            write_statements(ctx, body)
        ctx.writer.close()


def _lane_epilogue(ctx: Context, body: Sequence[Stmt], dtype: DType, lane_var: str) -> None:
    first = ctx.names[lane_var]
    ctx.writer.line(f"{ELEMENT[dtype]} acc_lanes[{ctx.lanes_max}];")
    ctx.writer.line("store(acc_lanes, acc);")
    ctx.writer.open("for (int lane = 0; lane < lanes; ++lane)", frozenset(), fixed=True)
    ctx.names[lane_var] = f"{first}_l"
    ctx.writer.line(f"const int64_t {first}_l = {first} + lane;")
    ctx.lets[ACC] = Value("acc_lanes[lane]", dtype)
    write_statements(ctx, body)
    ctx.writer.close()
    ctx.names[lane_var] = first
