"""Text of programs with control flow. `control_parser` reads exactly this back; printing it again
gives the same bytes."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ptc.exporters.ptir.control_ir import (
    Block,
    ControlInput,
    ControlModule,
    ElementType,
    Formatted,
    If,
    ListType,
    Operand,
    State,
    Statement,
    Switch,
    Symbol,
    TextType,
    Variable,
    VariableType,
    While,
)
from ptc.exporters.ptir.ir import SCHEMA, Place
from ptc.exporters.ptir.printer import (
    dim_text,
    float_text,
    graph_lines,
    place_text,
    quote,
    type_text,
)

_PLAIN_NAME = re.compile(r"[A-Za-z_][A-Za-z_0-9.]*\Z")


def print_control_module(module: ControlModule) -> str:
    """The module as text, one definition or statement a line."""
    lines = [f"ptir {SCHEMA}"]
    lines += [dim_text("dim", dim) for dim in module.dims]
    lines += [dim_text("size", dim) for dim in module.sizes]
    lines.append(f"program {quote(module.name)} {{")
    lines += [f"  {_input(item)}" for item in module.inputs]
    lines += [f"  var {_name(v.name)} : {_type(v.type)}" for v in module.variables]
    lines += [f"  {_state(item)}" for item in module.states]
    for graph in module.graphs:
        lines += [f"  {line}" for line in graph_lines(graph)]
    lines.append("  body {")
    lines += [f"    {line}" for line in _block(module.body)]
    lines.append("  }")
    lines += [f"  return {_reference(v)} {quote(name)}" for v, name in module.outputs]
    if module.selector is not None:
        lines.append(f"  select {_name(module.selector.name)}")
    lines.append("}")
    return "\n".join(lines) + "\n"


def _name(name: str) -> str:
    return f"${name}" if _PLAIN_NAME.match(name) else f"${quote(name)}"


def _type(type_: VariableType | ElementType) -> str:
    match type_:
        case TextType():
            return "text"
        case ListType(element):
            return f"list({_type(element)})"
        case ElementType(dtype, shape):
            return f"{dtype}[{', '.join('?' if size is None else str(size) for size in shape)}]"
        case _:
            return type_text(type_)


def _input(item: ControlInput) -> str:
    written = " written" if item.written else ""
    return f"input {quote(item.name)} : {type_text(item.type)} = {item.kind}{written}"


def _state(item: State) -> str:
    initial = "" if item.initial is None else f" {_number(item.initial)}"
    return f"state {_name(item.name)} {quote(item.path)}{initial}"


# --- statements ---------------------------------------------------------------------------------


def _block(block: Block) -> Iterator[str]:
    for statement in block:
        yield from _lines(statement)


def _inner(block: Block) -> Iterator[str]:
    return (f"  {line}" for line in _block(block))


def _lines(statement: Statement | If | Switch | While) -> Iterator[str]:
    match statement:
        case If(condition, then, orelse, construct, place):
            yield f"if {_name(condition.name)} {quote(construct)} {{{_place(place)}"
            yield from _inner(then)
            yield "} else {"
            yield from _inner(orelse)
            yield "}"
        case Switch(selector, arms, construct, place):
            yield f"switch {_name(selector.name)} {quote(construct)} {{{_place(place)}"
            for number, arm in enumerate(arms):
                if number:
                    yield "} case {"
                yield from _inner(arm)
            yield "}"
        case While(body, again, construct, place):
            yield f"while {quote(construct)} {{{_place(place)}"
            yield from _inner(body)
            yield f"}} again {_name(again.name)}"
        case Statement(op, args, targets, place):
            left = ", ".join(map(_reference, targets))
            call = f"{op}({', '.join(map(_operand, args))}){_place(place)}"
            yield f"{left} = {call}" if left else call


def _place(place: Place | None) -> str:
    return "" if place is None else f"  {place_text(place)}"


def _reference(value: Variable | Symbol) -> str:
    return value.name if isinstance(value, Symbol) else _name(value.name)


def _operand(operand: Operand) -> str:
    match operand:
        case Variable() | Symbol():
            return _reference(operand)
        case Formatted(conversion, variable, spec):
            more = f", {quote(spec)}" if spec else ""
            return f"{conversion}({_reference(variable)}{more})"
        case str():
            return quote(operand)
        case None:
            return "None"
        case _:
            return _number(operand)


def _number(number: int | float | bool) -> str:
    return float_text(number) if isinstance(number, float) else str(number)
