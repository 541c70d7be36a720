"""Text of the portable IR. `parser` reads exactly this back; printing it again gives the same
bytes."""

from __future__ import annotations

import json
import math

from ptc.exporters.ptir.ir import (
    SCHEMA,
    Argument,
    Dim,
    DTypeName,
    Input,
    Instruction,
    Module,
    Output,
    Place,
    ScalarType,
    Tag,
    TensorType,
    TupleType,
    Type,
    Value,
)
from ptc.loops.index import Index


def print_module(module: Module) -> str:
    """The module as text, one definition a line."""
    dims = [dim_text("dim", dim) for dim in module.dims]
    return "\n".join([f"ptir {SCHEMA}", *dims, *graph_lines(module)]) + "\n"


def graph_lines(module: Module) -> list[str]:
    """The graph of a module, without its sizes."""
    lines = [f"graph {quote(module.name)} {{"]
    lines.extend(f"  {_input(item)}" for item in module.inputs)
    lines.extend(f"  assume {a.difference} {a.relation} 0" for a in module.assumptions)
    lines.extend(f"  {_instruction(item)}" for item in module.instructions)
    lines.extend(f"  {_output(item)}" for item in module.outputs)
    return [*lines, "}"]


def quote(text: str) -> str:
    """A string in JSON's spelling, ASCII only."""
    return json.dumps(text)


def type_text(type_: Type) -> str:
    match type_:
        case TensorType(dtype, shape):
            return f"{dtype}[{', '.join(str(size) for size in shape)}]"
        case ScalarType(kind, size):
            return kind if size is None else f"{kind}{{{size}}}"
        case TupleType(items):
            return f"({', '.join(type_text(item) for item in items)})"


def argument_text(argument: Argument) -> str:
    match argument:
        case Value(number):
            return f"%{number}"
        case None | bool() | int():
            return str(argument)
        case Index():
            return str(argument)
        case float():
            return float_text(argument)
        case str():
            return quote(argument)
        case DTypeName(name):
            return f"dtype({name})"
        case Tag(kind, text):
            return f"{kind}({quote(text)})"
        case tuple():
            return f"[{', '.join(argument_text(item) for item in argument)}]"


def float_text(value: float) -> str:
    """Python's shortest form that reads back equal; always with a mark that tells it from an
    int."""
    if math.isfinite(value):
        text = repr(value)
        return text if "." in text or "e" in text else f"{text}.0"
    return "nan" if math.isnan(value) else ("inf" if value > 0 else "-inf")


def dim_text(word: str, dim: Dim) -> str:
    upper = "inf" if dim.upper is None else str(dim.upper)
    return f"{word} {dim.symbol} {quote(dim.name)} {dim.lower} {upper}"


def _input(item: Input) -> str:
    return f"%{item.number} : {type_text(item.type)} = {item.kind} {quote(item.name)}"


def _instruction(item: Instruction) -> str:
    words = [argument_text(argument) for argument in item.args]
    text = f"%{item.number} : {type_text(item.type)} = {item.op}({', '.join(words)})"
    return text if item.place is None else f"{text}  {place_text(item.place)}"


def place_text(place: Place) -> str:
    return f"# {quote(place.file)}:{place.line} {quote(place.text)}"


def _output(item: Output) -> str:
    if item.writes is not None:
        return f"write {argument_text(item.value)} {item.writes} {quote(item.name)}"
    alias = "" if item.alias is None else f" alias {item.alias}"
    return f"return {argument_text(item.value)} {quote(item.name)}{alias}"
