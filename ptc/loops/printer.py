"""The text form of loop programs. `parser` reads it back; the two are each other's inverse.

input x: f32[4, 5] strides(5, 1)
kernel relu:
  for i0 in 4 parallel:
    for i1 in 5 parallel:
      out[i0, i1] = max(x[i0, i1], 0.0:f32)
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Iterator
from typing import assert_never

from ptc.loops.index import Index
from ptc.loops.nodes import (
    Accumulator,
    AnyKernel,
    Apply,
    Buffer,
    Check,
    DType,
    Expr,
    ExternKernel,
    If,
    IndexValue,
    Kernel,
    Let,
    Literal,
    Load,
    Loop,
    Program,
    Ref,
    Stmt,
    Store,
    TemplateKernel,
    Update,
)

KEYWORDS = frozenset(
    {"for", "let", "acc", "update", "if", "check", "in", "reads", "writes", "attr", "epilogue"}
    | {"kernel", "template", "extern", "prepare", "origin", "local", "index", "masked"}
)
_PLAIN = re.compile(r"[A-Za-z_][A-Za-z_0-9.]*\Z")


def quoted(name: str) -> str:
    """A name as it stands in text: in quotes unless it is a plain dotted identifier."""
    if _PLAIN.match(name) and name not in KEYWORDS:
        return name
    return json.dumps(name)


def print_expr(expr: Expr) -> str:
    """One expression on one line."""
    match expr:
        case Literal():
            return f"{_literal_text(expr)}:{expr.dtype.value}"
        case IndexValue():
            return f"index:{expr.dtype.value}({expr.index})"
        case Ref():
            return f"%{expr.name}"
        case Load():
            text = f"{quoted(expr.buffer)}{_indices(expr.index)}"
            if expr.mask is None:
                return text
            parts = [text, print_expr(expr.mask)]
            if expr.other is not None:
                parts.append(print_expr(expr.other))
            return f"masked({', '.join(parts)})"
        case Apply():
            args = ", ".join([print_expr(a) for a in expr.args])
            suffix = f":{expr.dtype.value}" if expr.op in ("cast", "bitcast") else ""
            return f"{expr.op}{suffix}({args})"
        case _:
            assert_never(expr)


def _literal_text(literal: Literal) -> str:
    value = literal.value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and not math.isfinite(value):
        return "nan" if math.isnan(value) else ("inf" if value > 0 else "-inf")
    return repr(value)


def _indices(index: Iterable[Index]) -> str:
    return f"[{', '.join(map(str, index))}]"


def print_statements(body: Iterable[Stmt], indent: int = 0) -> Iterator[str]:
    """The lines of statements."""
    pad = "  " * indent
    for stmt in body:
        match stmt:
            case Loop():
                vector = " vector" if stmt.vector else ""
                yield f"{pad}for {stmt.var} in {stmt.extent} {stmt.kind.value}{vector}:"
                yield from print_statements(stmt.body, indent + 1)
            case If():
                yield f"{pad}if {print_expr(stmt.condition)}:"
                yield from print_statements(stmt.body, indent + 1)
            case Let():
                bounds = "" if stmt.bounds is None else f" in {stmt.bounds}"
                yield f"{pad}let {stmt.name}{bounds} = {print_expr(stmt.value)}"
            case Store():
                sign = "=" if stmt.reduce is None else f"{stmt.reduce}="
                where = f"{quoted(stmt.buffer)}{_indices(stmt.index)}"
                yield f"{pad}{where} {sign} {print_expr(stmt.value)}"
            case Accumulator():
                init = print_expr(stmt.init)
                yield f"{pad}acc {stmt.name}: {stmt.dtype.value} {stmt.op} = {init}"
            case Update():
                position = "" if stmt.position is None else f" at {print_expr(stmt.position)}"
                yield f"{pad}update {stmt.name} <- {print_expr(stmt.value)}{position}"
            case Check():
                yield f"{pad}check {print_expr(stmt.condition)} else {json.dumps(stmt.message)}"
            case _:
                assert_never(stmt)


def print_buffer(buffer: Buffer) -> str:
    """One line that declares a buffer."""
    shape = ", ".join(map(str, buffer.shape))
    strides = ", ".join(map(str, buffer.strides))
    name = quoted(buffer.name)
    text = f"{buffer.kind.value} {name}: {buffer.dtype.value}[{shape}] strides({strides})"
    if buffer.offset is not None:
        text += f" @ {buffer.offset}"
    if buffer.data is not None:
        text += f" = {buffer.data.hex() or 'empty'}"
    return text


def print_kernel(kernel: AnyKernel, indent: int = 0) -> Iterator[str]:
    """The lines of one kernel."""
    pad = "  " * indent
    inner = pad + "  "
    name = quoted(kernel.name)
    origins = [f"{inner}origin {json.dumps(o.op)} {json.dumps(o.location)}" for o in kernel.origins]
    match kernel:
        case Kernel():
            yield f"{pad}kernel {name}:"
            yield from origins
            yield from [f"{inner}{print_buffer(b)}" for b in kernel.locals]
            yield from print_statements(kernel.body, indent + 1)
        case TemplateKernel():
            yield f"{pad}template {name}: {kernel.template} {kernel.dtype.value}"
            yield from origins
            yield from [f"{inner}extent {v} = {e}" for v, e in kernel.extents.items()]
            yield from [f"{inner}attr {k} = {_attr(v)}" for k, v in kernel.attrs.items()]
            for key, operand in kernel.operands.items():
                variables = ", ".join(operand.vars)
                yield f"{inner}operand {key}({variables}) = {print_expr(operand.value)}"
            yield f"{inner}epilogue:"
            yield from print_statements(kernel.epilogue, indent + 2)
        case ExternKernel():
            yield f"{pad}extern {name}: {kernel.function}"
            yield from origins
            yield from [f"{inner}attr {k} = {_attr(v)}" for k, v in kernel.attrs.items()]
            yield f"{inner}reads {', '.join(map(quoted, kernel.inputs))}"
            yield f"{inner}writes {', '.join(map(quoted, kernel.outputs))}"
        case _:
            assert_never(kernel)


def _attr(value: object) -> str:
    if isinstance(value, Index):
        return f"@index {value}"
    if isinstance(value, DType):
        return f"@dtype {value.value}"
    if isinstance(value, float) and not math.isfinite(value):
        return f"@float {value}"
    if isinstance(value, list | tuple) and any(isinstance(v, Index) for v in value):
        return "@indices " + "; ".join(map(str, value))
    return repr(value)


def print_program(program: Program) -> str:
    """The whole program, with a final newline."""
    lines = [f"program {quoted(program.name)}"]
    for size in program.sizes:
        upper = "" if size.upper is None else str(size.upper)
        lines.append(f"size {size.symbol} {json.dumps(size.name)} [{size.lower}..{upper}]")
    lines += [print_buffer(b) for b in program.buffers.values()]
    lines += [f"scalar {s} = {quoted(b)}" for s, b in program.scalars.items()]
    if program.written:
        lines.append(f"written {', '.join(map(quoted, sorted(program.written)))}")
    lines.append(f"inputs {', '.join(map(quoted, program.inputs))}".rstrip())
    outputs = [f"({o})" if isinstance(o, Index) else quoted(o) for o in program.outputs]
    lines.append(f"outputs {', '.join(outputs)}".rstrip())
    if program.arena is not None:
        lines.append(f"arena {program.arena}")
    if program.prepare:
        lines.append("prepare:")
        for kernel in program.prepare:
            lines += print_kernel(kernel, 1)
    for kernel in program.kernels:
        lines.append("")
        lines += print_kernel(kernel)
    return "\n".join(lines) + "\n"
