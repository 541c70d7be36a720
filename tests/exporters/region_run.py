"""What values and regions mean: an evaluator on eager torch, for comparisons with the program."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch

from ptc.exporters.regions import (
    Branch,
    Call,
    Constant,
    Dimension,
    Loop,
    Primitive,
    Region,
    RegionProgram,
    Undefined,
    Value,
)
from ptc.graph.control import Formatted, ListVar, NumberKind, NumberVar, TensorVar, Text, Var
from ptc.graph.control_lists import LIST_FUNCTIONS, index_of_row
from ptc.graph.control_operations import FUNCTIONS, type_of_kind
from ptc.graph.control_parts import variable_of
from ptc.graph.control_texts import TEXT_OPERATIONS

_DATA_SIZED = {
    "nonzero": torch.nonzero,
    "masked_select": torch.masked_select,
    "repeat_interleave": torch.repeat_interleave,
}


def run_regions(
    program: RegionProgram, given: Mapping[str, Any], kept: dict[str, Any]
) -> tuple[list[Any], int]:
    """The flat results and which variant it is; written inputs get their new content."""
    values: dict[Value, Any] = {}
    for described, value in program.inputs:
        content = given[described.name] if described.live is None else described.live
        values[value] = kept.get(described.name, content) if described.live is not None else content
    for item, value in program.state:
        first = getattr(item, "initial", None)
        values[value] = kept.get(item.path, anything(value.type) if first is None else first)
    evaluate(program.body, values)
    for described, value in program.written:
        if described.live is None:
            given[described.name].copy_(values[value])
        else:
            kept[described.name] = values[value]
    kept.update({item.path: values[value] for item, value in program.kept})
    variant = 0 if program.selector is None else values[program.selector]
    return [values[value] for _, value in program.outputs], variant


def evaluate(region: Region, values: dict[Value, Any]) -> None:
    """Make every value of a region."""
    for operation in region.operations:
        match operation:
            case Constant(result, content):
                values[result] = content
            case Undefined(result):
                values[result] = anything(result.type)
            case Call():
                _call(operation, values)
            case Dimension(result, tensor, dim):
                values[result] = values[tensor].shape[dim]
            case Primitive():
                args = [None if value is None else values[value] for value in operation.args]
                found = _primitive(operation, args)
                values.update(zip(operation.results, found, strict=True))
            case Branch():
                arm = operation.then if values[operation.condition] else operation.orelse
                evaluate(arm, values)
                found = [values[value] for value in arm.results]
                values.update(zip(operation.results, found, strict=True))
            case Loop():
                _loop(operation, values)


def _loop(loop: Loop, values: dict[Value, Any]) -> None:
    carried = [values[value] for value in loop.initial]
    for _ in range(100_000):
        values.update(zip(loop.body.params, carried, strict=True))
        evaluate(loop.body, values)
        carried = [values[value] for value in loop.body.results]
        if not values[loop.again]:
            break
    else:
        raise AssertionError("a loop without an end")
    values.update(zip(loop.results, carried, strict=True))


def _call(operation: Call, values: dict[Value, Any]) -> None:
    aten = operation.segment.aten
    args = [
        described.live if value is None else values[value]
        for described, value in zip(aten.inputs, operation.args, strict=True)
    ]
    placeholders = [node for node in aten.graph.graph.nodes if node.op == "placeholder"]
    for n, node in enumerate(placeholders):
        if args[n] is None:  # nothing that is needed depends on it
            args[n] = anything(variable_of(aten.inputs[n].name, node.meta["val"]))
    with torch.no_grad():
        found = torch.fx.Interpreter(aten.graph).run(*args)
    for value, result in zip(operation.results, found, strict=True):
        if value is not None:
            values[value] = result


def _primitive(operation: Primitive, args: Sequence[Any]) -> Sequence[Any]:
    op = operation.op
    match operation.kind:
        case "compute":
            return [FUNCTIONS[op](*args)]
        case "item":
            return [args[0].item()]
        case "data_sized":
            return _data_sized(op, args)
        case "list":
            return _list(op, args)
        case "text":
            made = op == "make"
            return [_text(operation.text, args) if made else TEXT_OPERATIONS[op].function(*args)]
        case _:
            raise AssertionError(operation.kind)


def _text(text: Text, args: Sequence[Any]) -> str:
    rest = iter(args)
    return "".join(part if isinstance(part, str) else _formatted(part, next(rest)) for part in text)


def _formatted(part: Formatted, value: Any) -> str:
    if part.conversion == "format":
        return format(value, part.spec)
    return repr(value) if part.conversion == "repr" else str(value)


def _data_sized(op: str, args: Sequence[Any]) -> Sequence[Any]:
    if op == "unique":
        return torch.unique(args[0], sorted=True, return_inverse=True, return_counts=True)
    if op == "bincount":
        return [torch.bincount(args[0], minlength=args[1])]
    return [_DATA_SIZED[op](*args)]


def _list(op: str, args: Sequence[Any]) -> Sequence[Any]:
    own = list(args[0]) if args and isinstance(args[0], list) else []
    match op:
        case "new":
            return [list(args)]
        case "copy":
            return [own]
        case "append" | "extend" | "insert" | "clear" | "reverse":
            getattr(own, op)(*args[1:])
            return [own]
        case "set":
            own[args[1]] = args[2]
            return [own]
        case "get":
            return [own[args[1]]]
        case "pop":
            element = own.pop(args[1])
            return [own, element]
        case "length":
            return [len(own)]
        case "slice":
            return [own[args[1] : args[2]]]
        case "concat":
            return [own + args[1]]
        case "stack" | "cat":
            return [getattr(torch, op)(own, args[1])]
        case "find":
            return [index_of_row(args)]
        case _ if op in ("lengths", "flat", "pick", "filled"):
            return [LIST_FUNCTIONS[op](*args)]
        case _ if op.startswith("table_"):
            result = LIST_FUNCTIONS[op](own, *args[1:])
            changes = op not in ("table_copy", "table_order", "table_fits")
            return [own] * changes + ([result] if result is not None else [])
        case _:
            raise AssertionError(op)


def anything(variable: Var) -> Any:
    """A value of a type."""
    match variable:
        case TensorVar(_, fake):
            sizes = [size if isinstance(size, int) else 1 for size in fake.shape]
            return torch.zeros(sizes, dtype=fake.dtype)
        case NumberVar(_, kind):
            return type_of_kind(kind)(0) if kind is not NumberKind.BOOL else False
        case ListVar():
            return []
        case _:
            return ""
