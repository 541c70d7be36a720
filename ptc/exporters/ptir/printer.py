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
    lines = [f"ptir {SCHEMA}"]
    lines.extend(_dim(dim) for dim in module.dims)
    lines.append(f"graph {quote(module.name)} {{")
    lines.extend(f"  {_input(item)}" for item in module.inputs)
    lines.extend(f"  {_instruction(item)}" for item in module.instructions)
    lines.extend(f"  {_output(item)}" for item in module.outputs)
    lines.append("}")
    return "\n".join(lines) + "\n"


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
            return _float_text(argument)
        case str():
            return quote(argument)
        case DTypeName(name):
            return f"dtype({name})"
        case Tag(kind, text):
            return f"{kind}({quote(text)})"
        case tuple():
            return f"[{', '.join(argument_text(item) for item in argument)}]"


def _float_text(value: float) -> str:
    """Python's shortest form that reads back equal; always with a mark that tells it from an
    int."""
    if math.isfinite(value):
        text = repr(value)
        return text if "." in text or "e" in text else f"{text}.0"
    return "nan" if math.isnan(value) else ("inf" if value > 0 else "-inf")


def _dim(dim: Dim) -> str:
    upper = "inf" if dim.upper is None else str(dim.upper)
    return f"dim {dim.symbol} {quote(dim.name)} {dim.lower} {upper}"


def _input(item: Input) -> str:
    return f"%{item.number} : {type_text(item.type)} = {item.kind} {quote(item.name)}"


def _instruction(item: Instruction) -> str:
    words = [argument_text(argument) for argument in item.args]
    words.extend(f"{name}={argument_text(argument)}" for name, argument in item.kwargs.items())
    text = f"%{item.number} : {type_text(item.type)} = {item.op}({', '.join(words)})"
    if item.place is None:
        return text
    place = item.place
    return f"{text}  # {quote(place.file)}:{place.line} {quote(place.text)}"


def _output(item: Output) -> str:
    if item.writes is not None:
        return f"write {argument_text(item.value)} {item.writes} {quote(item.name)}"
    alias = "" if item.alias is None else f" alias {item.alias}"
    return f"return {argument_text(item.value)} {quote(item.name)}{alias}"
