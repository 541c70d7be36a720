"""The manifest of a `.ptir` file: what a host has to know of a program in order to call it.

Takes modules and the structures of arguments and results, gives the entry as libraries describe
theirs (`ptc.hosting.manifest`), and back. Knows nothing of torch's values.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from ptc.exporters.ptir.control_ir import (
    ControlModule,
    ElementType,
    ListType,
    Symbol,
    TextType,
    Variable,
    VariableType,
)
from ptc.exporters.ptir.ir import Dim, Module, ScalarType, TensorType, Type, Value
from ptc.graph.program import Structure
from ptc.graph.structure import from_json, leaves, renumber, to_json
from ptc.hosting.manifest import EntryInfo, SizeInfo, TensorInfo
from ptc.loops.index import Index
from ptc.support.diagnostics import CompileError

#: Kinds of inputs that each call gives.
CALL_KINDS = ("user", "scalar")
_NUMBERS = {"int": "i64", "float": "f64", "bool": "bool"}


@dataclass(frozen=True, slots=True)
class Structures:
    """The structures of arguments (leaves count all inputs of the program) and results."""

    arguments: Structure | None = None
    result: Structure | None = None
    variants: tuple[Structure, ...] = ()


def describe(module: Module | ControlModule, structures: Structures) -> dict[str, Any]:
    """The entry of a program, as the manifest has it."""
    control = isinstance(module, ControlModule)
    calls = [n for n, item in enumerate(module.inputs) if item.kind in CALL_KINDS]
    positions = {index: number for number, index in enumerate(calls)}
    written = _written(module)
    inputs = tuple(
        _port(module.inputs[n].name, module.inputs[n].type, mutated=n in written) for n in calls
    )
    arguments, result = structures.arguments, structures.result
    info = EntryInfo(
        name=module.name,
        inputs=inputs,
        outputs=_control_outputs(module) if control else _outputs(module, positions),
        sizes=_sizes(module.dims, [module.inputs[n].type for n in calls]),
        arguments=None if arguments is None else to_json(renumber(arguments, positions)),
        result=None if result is None else to_json(result),
        operators=operator_count(module),
        control=control,
        variants=tuple(to_json(variant) for variant in structures.variants),
    )
    data = asdict(info)
    del data["kernels"]
    return data


def structures_of(
    entry: Mapping[str, Any], module: Module | ControlModule, where: str
) -> Structures:
    """What `describe` wrote, for the program of the file. Raises CompileError PTC-E010."""
    calls = [n for n, item in enumerate(module.inputs) if item.kind in CALL_KINDS]
    try:
        arguments = _structure(entry.get("arguments"), len(calls))
        result = _structure(entry.get("result"), len(module.outputs))
        variants = tuple(
            _structure(item, len(module.outputs)) for item in entry.get("variants", ())
        )
    except (CompileError, TypeError, ValueError) as error:
        message = error.diagnostic.message if isinstance(error, CompileError) else str(error)
        raise CompileError("PTC-E010", f"{where}: {message}") from error
    if arguments is not None:
        arguments = renumber(arguments, dict(enumerate(calls)))
    return Structures(arguments, result, tuple(v for v in variants if v is not None))


def _structure(data: Any, count: int) -> Structure | None:
    if data is None:
        return None
    structure = from_json(data)
    bad = [index for index in leaves(structure) if index >= count]
    if bad:
        raise ValueError(f"a structure names value {bad[0]} of {count}")
    return structure


def operator_count(module: Module | ControlModule) -> int:
    """The number of instructions, of all graphs."""
    if isinstance(module, ControlModule):
        return sum(len(graph.instructions) for graph in module.graphs)
    return len(module.instructions)


def _written(module: Module | ControlModule) -> set[int]:
    if isinstance(module, ControlModule):
        return {number for number, item in enumerate(module.inputs) if item.written}
    return {item.writes for item in module.outputs if item.writes is not None}


# --- inputs and outputs -------------------------------------------------------------------------


def _outputs(module: Module, positions: Mapping[int, int]) -> tuple[TensorInfo, ...]:
    types: dict[int, Type] = {item.number: item.type for item in module.inputs}
    types |= {item.number: item.type for item in module.instructions}
    found: list[TensorInfo] = []
    for item in module.outputs:
        if item.writes is not None:
            continue
        alias = None if item.alias is None else positions.get(item.alias)
        match item.value:
            case Value(number):
                type_ = types[number]
            case bool():
                type_ = ScalarType("bool")
            case float():
                type_ = ScalarType("float")
            case _:
                type_ = ScalarType("int")
        found.append(_port(item.name, type_, alias=alias))
    return tuple(found)


def _control_outputs(module: ControlModule) -> tuple[TensorInfo, ...]:
    types: dict[str, VariableType] = {item.name: item.type for item in module.inputs}
    types |= {item.name: item.type for item in module.variables}
    return tuple(_port(name, _type_of(value, types)) for value, name in module.outputs)


def _type_of(value: Variable | Symbol, types: Mapping[str, VariableType]) -> VariableType:
    return ScalarType("int") if isinstance(value, Symbol) else types[value.name]


def _port(
    name: str, type_: Type | VariableType, *, alias: int | None = None, mutated: bool = False
) -> TensorInfo:
    match type_:
        case TensorType(dtype, shape):
            return TensorInfo(name, dtype, _shape(shape), alias, mutated)
        case ScalarType(kind):
            return TensorInfo(name, _NUMBERS.get(kind, "i64"), (), kind="number")
        case TextType():
            return TensorInfo(name, "u8", (0,), kind="text")
        case ListType(ScalarType(kind)):
            return TensorInfo(name, _NUMBERS[kind], (0,), kind="numbers")
        case ListType(ElementType(dtype, sizes)):
            shape = tuple("?" if size is None else _dim(size) for size in sizes)
            return TensorInfo(name, dtype, shape, kind="list")
        case ListType(TextType()):
            return TensorInfo(name, "u8", (0,), kind="texts")
        case _:
            raise CompileError(
                "PTC-E011", f"the result `{name}` is no tensor, number, text or list"
            )


def _shape(shape: Sequence[Index]) -> tuple[int | str, ...]:
    return tuple(map(_dim, shape))


def _dim(size: Index) -> int | str:
    return str(size) if size.constant is None else size.constant


def _sizes(dims: Sequence[Dim], types: Sequence[Type]) -> tuple[SizeInfo, ...]:
    """Where each size is read: the first dimension, or number, that is nothing else."""
    found: list[SizeInfo] = []
    for dim in dims:
        for number, type_ in enumerate(types):
            place = _place(dim.symbol, type_)
            if place is not None:
                size = SizeInfo(dim.symbol, dim.name, dim.lower, dim.upper, number, place)
                found.append(size)
                break
    return tuple(found)


def _place(symbol: str, type_: Type) -> int | None:
    match type_:
        case TensorType(_, shape):
            names = [size.variable for size in shape]
            return names.index(symbol) if symbol in names else None
        case ScalarType("int", size) if size is not None and size.variable == symbol:
            return 0
        case _:
            return None
