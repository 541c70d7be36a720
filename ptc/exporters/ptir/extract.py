"""From an `AtenProgram` to the portable IR: sizes become expressions, torch's enumerations names.

Takes a program, gives a `Module` and the literal tensors that belong into the weights file. Symbols
are called `s0`, `s1`... in the order of the program's dims, so that equal programs give equal text.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import torch
from torch._ops import OpOverload
from torch.fx import Node

from ptc.exporters.ptir.ir import (
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
from ptc.exporters.ptir.lines import MAX_INT
from ptc.exporters.ptir.names import SCALAR_OPERATORS, operator_name
from ptc.exporters.ptir.schemas import by_position
from ptc.graph.program import AtenProgram, OutputKind
from ptc.graph.types import dtype_name
from ptc.loops.index import Index
from ptc.schedule.sizes import Sizes
from ptc.support.diagnostics import CompileError, Location


def extract(program: AtenProgram) -> tuple[Module, dict[str, torch.Tensor]]:
    """The module of a program, and its literals by name.

    Raises CompileError PTC-E011 for what the form cannot say."""
    namer = Namer(program.dims)
    module, literals = _Extraction(program, namer, "").run()
    dims = tuple(
        Dim(namer.names[symbol], described.name, described.lower, described.upper)
        for symbol, described in program.dims.items()
    )
    return replace(module, dims=dims), literals


def extract_graph(
    program: AtenProgram, name: str, namer: Namer, prefix: str
) -> tuple[Module, dict[str, torch.Tensor]]:
    """A part of a program whose sizes are known by `namer`; its literals get names that begin with
    `prefix`. Sizes that are given to it as numbers are inputs of their own names."""
    module, literals = _Extraction(program, namer, prefix).run()
    inputs = tuple(
        replace(item, name=namer.names.get(item.name, item.name)) if item.kind == "scalar" else item
        for item in module.inputs
    )
    return replace(module, name=name, inputs=inputs), literals


class Namer:
    """What the sizes of a program are called, and the types in which they occur."""

    def __init__(self, dims: Iterable[str]) -> None:
        self._sizes = Sizes()
        self.names = {symbol: f"s{number}" for number, symbol in enumerate(dims)}
        self._known = len(self.names)

    def size(self, value: Any) -> Index:
        index = self._sizes.index(value)
        for symbol in sorted(index.free_vars() - self.names.keys()):
            self.names[symbol] = f"u{len(self.names) - self._known}"
        return index.substitute({s: Index.var(n) for s, n in self.names.items()})

    def type(self, value: Any) -> Type:
        match value:
            case torch.Tensor():
                shape = tuple(self.size(size) for size in value.shape)
                return TensorType(dtype_name(value.dtype), shape)
            case torch.SymInt():
                return ScalarType("int", self.size(value))
            case bool() | torch.SymBool():
                return ScalarType("bool")
            case int():
                return ScalarType("int")
            case float() | torch.SymFloat():
                return ScalarType("float")
            case None:
                return ScalarType("none")
            case tuple() | list():
                return TupleType(tuple(self.type(item) for item in value))
            case _:
                raise CompileError("PTC-E011", f"a value of type {type(value).__name__}")


class _Extraction:
    def __init__(self, program: AtenProgram, namer: Namer, prefix: str) -> None:
        self._program = program
        self._namer = namer
        self._prefix = prefix
        self._numbers: dict[Node, int] = {}
        self._instructions: list[Instruction] = []
        self._literals: dict[str, torch.Tensor] = {}

    def run(self) -> tuple[Module, dict[str, torch.Tensor]]:
        nodes = list(self._program.graph.graph.nodes)
        placeholders = [node for node in nodes if node.op == "placeholder"]
        inputs = [
            Input(
                self._number(node), self._namer.type(node.meta["val"]), item.kind.value, item.name
            )
            for node, item in zip(placeholders, self._program.inputs, strict=True)
        ]
        for node in nodes:
            if node.op == "get_attr":
                self._literal(node)
            elif node.op == "call_function":
                self._call(node)
        outputs = self._outputs(nodes[-1])
        name = self._program.name
        module = Module(name, (), tuple(inputs), tuple(self._instructions), outputs)
        return module, self._literals

    def _number(self, node: Node) -> int:
        self._numbers[node] = len(self._numbers)
        return self._numbers[node]

    def _emit(self, node: Node, op: str, args: Iterable[Any]) -> None:
        arguments = tuple(self._argument(argument, node) for argument in args)
        type_ = self._namer.type(node.meta["val"])
        where = place_of(node.meta.get("location"))
        number = self._number(node)
        self._instructions.append(Instruction(number, type_, op, arguments, where))

    def _literal(self, node: Node) -> None:
        name = f"{self._prefix}{node.target}"
        self._literals[name] = getattr(self._program.graph, str(node.target))
        self._emit(node, "prim::literal", (name,))

    def _call(self, node: Node) -> None:
        target = node.target
        if target is operator.getitem:
            self._emit(node, "prim::element", node.args)
        elif isinstance(target, OpOverload):
            # A size read off a tensor is an expression wherever it is used.
            if target is not torch.ops.aten.sym_size.int:
                self._emit(node, operator_name(target), by_position(target, node.args, node.kwargs))
        elif isinstance(node.meta["val"], (torch.SymInt, int)):
            return
        elif callable(target) and target in SCALAR_OPERATORS:
            self._emit(node, SCALAR_OPERATORS[target], node.args)
        else:
            raise _unsayable(node, f"a call of {target}")

    def _outputs(self, node: Node) -> tuple[Output, ...]:
        values = node.args[0]
        assert isinstance(values, (tuple, list))
        outputs: list[Output] = []
        for described, value in zip(self._program.outputs, values, strict=True):
            writes = described.target if described.kind is OutputKind.WRITE_BACK else None
            argument = self._argument(value, node)
            outputs.append(Output(argument, described.name, described.alias_of, writes))
        return tuple(outputs)

    # --- arguments ----------------------------------------------------------------------------

    def _argument(self, value: Any, node: Node) -> Argument:
        match value:
            case Node():
                known = value.meta["val"]
                if isinstance(known, torch.SymInt):
                    return self._namer.size(known)
                if value in self._numbers:
                    return Value(self._numbers[value])
                return self._argument(known, node)
            case None | bool() | float() | str():
                return value
            case int() if -MAX_INT - 1 <= value <= MAX_INT:
                return Index.const(value)
            case torch.dtype():
                return DTypeName(dtype_name(value))
            case torch.layout():
                return Tag("layout", str(value).removeprefix("torch."))
            case torch.memory_format():
                return Tag("memory_format", str(value).removeprefix("torch."))
            case torch.device():
                return Tag("device", str(value))
            case tuple() | list():
                return tuple(self._argument(item, node) for item in value)
            case _:
                raise _unsayable(node, f"an argument {value!r}")


def place_of(location: Location | None) -> Place | None:
    if location is None:
        return None
    return Place(location.file, location.line, location.text.strip())


def _unsayable(node: Node, what: str) -> CompileError:
    return CompileError(
        "PTC-E011",
        f"the portable IR cannot say {what}",
        location=node.meta.get("location"),
        hint="compute it outside the exported model",
    )
