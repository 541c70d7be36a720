"""From the portable IR back to an `AtenProgram` that lowers and runs.

Every instruction runs once on fake tensors; its result must have the type that the text states.
Takes a `Module`, its tensors and the structures of the manifest. Raises CompileError PTC-E010
naming the instruction.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch._ops import OpOverload
from torch.fx import Graph, GraphModule, Node

from ptc.autograd.sizes import SizeNodes
from ptc.autograd.torch_internals import python_dispatcher
from ptc.exporters.ptir.ir import (
    Argument,
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
from ptc.exporters.ptir.names import SCALAR_FUNCTIONS, find_operator
from ptc.exporters.ptir.printer import type_text
from ptc.exporters.ptir.schemas import as_call
from ptc.graph.program import (
    AtenProgram,
    DimRange,
    InputKind,
    OutputKind,
    ProgramInput,
    ProgramOutput,
    Structure,
)
from ptc.graph.symbols import SYMBOLIC_TYPES, fresh_sizes
from ptc.graph.types import DTYPES
from ptc.loops.index import Index
from ptc.support.diagnostics import CompileError, Location


def rebuild(
    module: Module,
    tensors: Mapping[str, torch.Tensor],
    *,
    aliases: Mapping[str, tuple[str, ...]] | None = None,
    arguments: Structure | None = None,
    result: Structure | None = None,
) -> AtenProgram:
    """The program of a module. `tensors` holds weights and literals by name."""
    dims = {dim.symbol: DimRange(dim.name, dim.lower, dim.upper) for dim in module.dims}
    mode, symbols, ranges = fresh_sizes(dims)
    program = GraphBuilder(module, tensors, aliases or {}, mode, symbols).build()
    program.dims, program.arguments, program.result = ranges, arguments, result
    return program


class GraphBuilder:
    """Makes the program of a module in a fake mode, where symbols are these sizes. `number` makes a
    size for a number that is none: `int{u0}` as an input."""

    def __init__(
        self,
        module: Module,
        tensors: Mapping[str, torch.Tensor],
        aliases: Mapping[str, tuple[str, ...]],
        mode: Any,
        symbols: Mapping[str, torch.SymInt],
        number: Callable[[ScalarType], Any] | None = None,
    ) -> None:
        self._module = module
        self._tensors = tensors
        self._aliases = aliases
        self._mode = mode
        self._symbols = dict(symbols)
        self._new_number = number
        self._graph = Graph()
        self._size_nodes = SizeNodes(self._graph)
        self._values: list[Any] = []
        self._nodes: list[Any] = []
        self._literals: dict[str, torch.Tensor] = {}

    def build(self) -> AtenProgram:
        with self._mode, torch.no_grad(), python_dispatcher(bool(self._symbols)):
            inputs = tuple(self._input(item) for item in self._module.inputs)
            for item in self._module.instructions:
                self._instruction(item)
            outputs = self._outputs()
        owner = torch.nn.Module()
        for name, tensor in self._literals.items():
            owner.register_buffer(name, tensor, persistent=False)
        return AtenProgram(
            graph=GraphModule(owner, self._graph),
            inputs=inputs,
            outputs=outputs,
            fake_mode=self._mode,
            name=self._module.name,
        )

    # --- definitions ----------------------------------------------------------------------------

    def _define(self, node: Any, value: Any) -> None:
        if isinstance(node, Node):
            node.meta["val"] = value
            self._size_nodes.learn(node, value)
        self._nodes.append(node)
        self._values.append(value)

    def _input(self, item: Input) -> ProgramInput:
        kind = InputKind(item.kind)
        weight = kind not in (InputKind.USER, InputKind.SCALAR)
        live = self._tensors.get(item.name) if weight else None
        if weight and live is None:
            raise CompileError("PTC-E010", f"the weights file has no tensor `{item.name}`")
        value = self._placeholder_value(item)
        if live is not None and (not isinstance(value, torch.Tensor) or live.shape != value.shape
                                 or live.dtype != value.dtype):  # fmt: skip
            raise CompileError(
                "PTC-E010",
                f"the weight `{item.name}` is {tuple(live.shape)} {live.dtype}, "
                f"the program says {type_text(item.type)}",
            )
        self._define(self._graph.placeholder(_identifier(item)), value)
        return ProgramInput(
            item.name, kind, f"L[{item.name!r}]", live, self._aliases.get(item.name, ())
        )

    def _placeholder_value(self, item: Input) -> Any:
        match item.type:
            case TensorType(dtype, shape):
                return torch.empty([self._size(s) for s in shape], dtype=DTYPES[dtype])
            case ScalarType("int", size) if size is not None and self._is_known(size):
                return self._size(size)
            case ScalarType() if self._new_number is not None:
                return self._number_input(item.type, self._new_number)
            case _:
                raise CompileError(
                    "PTC-E010", f"an input of type {type_text(item.type)} cannot be rebuilt"
                )

    def _is_known(self, size: Index) -> bool:
        return size.free_vars() <= self._symbols.keys()

    def _number_input(self, type_: ScalarType, make: Callable[[ScalarType], Any]) -> Any:
        value = make(type_)
        symbol = None if type_.size is None else type_.size.variable
        if symbol is not None:
            self._symbols[symbol] = value
        return value

    def _instruction(self, item: Instruction) -> None:
        target = self._target(item)
        if target is None:
            self._literal(item)
            return
        try:
            args, kwargs = self._call(item, target, self._value)
            value = target(*args, **kwargs)
        except CompileError:
            raise
        except Exception as error:
            # torch raises every kind of error on bad arguments, and all of them mean a bad file.
            raise _bad(item, f"{type(error).__name__}: {error}") from error
        self._match(item, item.type, value)
        node_args, node_kwargs = self._call(item, target, self._node)
        node = self._graph.create_node("call_function", target, node_args, node_kwargs)
        _place(node, item)
        self._define(node, value)

    def _call(
        self, item: Instruction, target: Callable[..., Any], convert: Callable[[Argument], Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The arguments of an instruction as this torch takes them."""
        values = tuple(map(convert, item.args))
        if not isinstance(target, OpOverload):
            return values, {}
        args, kwargs, beyond = as_call(target, values)
        extra = item.args[len(item.args) - beyond :]
        if any(value is not None and value is not False for value in extra):
            raise _bad(item, f"this torch knows {len(args) + len(kwargs)} arguments")
        return args, kwargs

    def _target(self, item: Instruction) -> Callable[..., Any] | None:
        """The function of an instruction; None for a literal."""
        if item.op == "prim::literal":
            return None
        if item.op == "prim::element":
            return operator.getitem
        target = SCALAR_FUNCTIONS.get(item.op) or find_operator(item.op)
        if target is None:
            raise _bad(item, f"there is no operator `{item.op}`")
        return target

    def _literal(self, item: Instruction) -> None:
        name = item.args[0] if item.args else None
        tensor = self._tensors.get(name) if isinstance(name, str) else None
        if tensor is None or not isinstance(name, str) or not name.isidentifier():
            raise _bad(item, f"the weights file has no literal {name!r}")
        value = self._mode.from_tensor(tensor, static_shapes=True)
        self._match(item, item.type, value)
        self._literals[name] = tensor
        node = self._graph.create_node("get_attr", name)
        _place(node, item)
        self._define(node, value)

    def _outputs(self) -> tuple[ProgramOutput, ...]:
        described: list[ProgramOutput] = []
        for item in self._module.outputs:
            kind = OutputKind.USER if item.writes is None else OutputKind.WRITE_BACK
            described.append(ProgramOutput(item.name, kind, item.writes, item.alias))
        nodes = tuple(self._output_node(item) for item in self._module.outputs)
        values = tuple(node.meta["val"] if isinstance(node, Node) else node for node in nodes)
        self._graph.output(nodes).meta["val"] = values
        return tuple(described)

    def _output_node(self, item: Output) -> Any:
        return self._node(item.value)

    # --- values ---------------------------------------------------------------------------------

    def _size(self, index: Index) -> Any:
        if index.constant is not None:
            return index.constant
        return index.evaluate(self._symbols, torch.sym_min, torch.sym_max)

    def _value(self, argument: Argument) -> Any:
        """An argument as the operator takes it."""
        match argument:
            case Value(number):
                return self._values[number]
            case Index():
                return self._size(argument)
            case tuple():
                return [self._value(item) for item in argument]
            case DTypeName(name):
                return DTYPES[name]
            case Tag("device", text):
                return torch.device(text)
            case Tag(_, text):
                return getattr(torch, text)
            case _:
                return argument

    def _node(self, argument: Argument) -> Any:
        """An argument as a graph node takes it."""
        match argument:
            case Value(number):
                return self._nodes[number]
            case Index():
                size = self._size(argument)
                return self._size_nodes.node(size) if isinstance(size, SYMBOLIC_TYPES) else size
            case tuple():
                return [self._node(item) for item in argument]
            case _:
                return self._value(argument)

    def _match(self, item: Instruction, type_: Type, value: Any) -> None:
        """The result must have the stated type; sizes that depend on data get their symbol here."""
        match type_:
            case TensorType(dtype, shape):
                if not isinstance(value, torch.Tensor) or value.dtype != DTYPES.get(dtype):
                    raise _bad(item, f"the result is {value}, not {dtype}")
                if len(shape) != value.dim():
                    raise _bad(item, f"the result has shape {tuple(value.shape)}")
                for stated, actual in zip(shape, value.shape, strict=True):
                    self._match_size(item, stated, actual)
            case ScalarType("int", size) if size is not None:
                self._match_size(item, size, value)
            case ScalarType():
                if isinstance(value, (torch.Tensor, tuple, list)):
                    raise _bad(item, "the result is no number")
            case TupleType(items):
                if not isinstance(value, (tuple, list)) or len(value) != len(items):
                    raise _bad(item, f"the operator does not give {len(items)} results")
                for inner, part in zip(items, value, strict=True):
                    self._match(item, inner, part)

    def _match_size(self, item: Instruction, stated: Index, actual: Any) -> None:
        symbol = stated.variable
        if symbol is not None and symbol not in self._symbols and isinstance(actual, torch.SymInt):
            self._symbols[symbol] = actual
            return
        if stated.constant is not None and not isinstance(actual, torch.SymInt):
            if stated.constant != actual:
                raise _bad(item, f"a size is {actual}, not {stated}")
        # Two spellings of one size may differ after clean-up; only numbers can contradict.
        elif (stated.constant is None) != isinstance(actual, torch.SymInt):
            raise _bad(item, f"a size is {actual}, not {stated}")


def _bad(item: Instruction, message: str) -> CompileError:
    return CompileError("PTC-E010", f"%{item.number} = {item.op}(...): {message}")


def _place(node: Node, item: Instruction) -> None:
    place = item.place
    location = None if place is None else Location(place.file, place.line, place.text)
    node.meta["location"] = location
    node.meta["stack"] = () if location is None else (location,)


def _identifier(item: Input) -> str:
    text = "".join(c if c.isascii() and c.isalnum() else "_" for c in item.name)
    return f"in{item.number}_{text}"
