"""From the portable IR back to a program with control flow.

Graphs become segments: every instruction runs once on fake tensors, as in `rebuild`, and what torch
asks of sizes there is answered by what the text assumes. Takes a `ControlModule`, its tensors and
the structures of the manifest. Raises CompileError PTC-E010 for what is no sound program.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import sympy
import torch
from torch.fx import Graph, GraphModule, Node

from ptc.capture.fakes import Fakes
from ptc.exporters.ptir import control_ir as ir
from ptc.exporters.ptir.assumptions import Assumptions, converter
from ptc.exporters.ptir.captured import with_writes
from ptc.exporters.ptir.guards import Guards
from ptc.exporters.ptir.ir import Assumption, Dim, Module, Place, ScalarType, TensorType
from ptc.exporters.ptir.manifest import Structures
from ptc.exporters.ptir.rebuild import GraphBuilder
from ptc.graph import control
from ptc.graph.control import ControlProgram, NumberKind, NumberVar
from ptc.graph.control_verifier import verify_control
from ptc.graph.program import (
    AtenProgram,
    CapturedProgram,
    DimRange,
    InputKind,
    ProgramInput,
)
from ptc.graph.symbols import expression_of
from ptc.graph.types import DTYPES
from ptc.loops.index import Index
from ptc.schedule.sizes import Sizes
from ptc.support.diagnostics import CompileError, InternalError, Location

#: What is known of a size where a graph runs: its number and a condition, to its truth.
Knows = Callable[[int, Any], bool | None]


def rebuild_control(
    module: ir.ControlModule,
    tensors: Mapping[str, torch.Tensor],
    *,
    aliases: Mapping[str, tuple[str, ...]] | None = None,
    structures: Structures | None = None,
    guarded: bool = True,
) -> ControlProgram:
    """The program of a module. `tensors` holds weights and literals by name. `guarded`: what graphs
    assume of sizes is checked at each call."""
    builder = _Rebuild(module, tensors, aliases or {}, lambda number, condition: None)
    builder.guarded = guarded
    try:
        program = builder.program(structures or Structures())
        verify_control(program, every_path=False)
    except InternalError as error:
        message = error.diagnostic.message
        raise CompileError("PTC-E010", f"the program is not sound: {message}") from error
    except CompileError:
        raise
    except Exception as error:
        # Statements that make no sense fail in many ways, and all of them mean a bad file.
        raise CompileError("PTC-E010", f"the program is not sound: {error!r}") from error
    return program


def with_assumptions(
    module: ir.ControlModule, tensors: Mapping[str, torch.Tensor], knows: Knows
) -> ir.ControlModule:
    """The module with what its graphs have to assume of sizes in order to be read again. `knows`
    takes conditions in the names of the module's sizes."""
    builder = _Rebuild(module, tensors, {}, knows)
    builder.program(Structures())
    graphs = zip(module.graphs, builder.assumed, strict=True)
    return replace(
        module,
        graphs=tuple(replace(g, assumptions=tuple(assumed)) for g, assumed in graphs),
    )


class _Rebuild:
    def __init__(
        self,
        module: ir.ControlModule,
        tensors: Mapping[str, torch.Tensor],
        aliases: Mapping[str, tuple[str, ...]],
        knows: Knows,
    ) -> None:
        self._module = module
        self._tensors = tensors
        self._aliases = aliases
        self._knows = knows
        self._asked: Callable[[Any], bool | None] = lambda condition: None
        self._fakes = Fakes(self._answer)
        self._names: dict[str, str] = {}
        self._symbols: dict[str, torch.SymInt] = {}
        self._inputs = {item.name: item for item in module.inputs}
        self._variables: dict[str, control.Var] = {}
        self._convert = converter(self._names, Sizes().index)
        self.assumed: list[Assumptions] = []
        self.guarded = False

    # --- sizes ----------------------------------------------------------------------------------

    def _answer(self, condition: Any, fallback: bool | None) -> bool:
        known = self._asked(condition)
        if known is None:
            known = fallback
        if known is None:
            raise CompileError("PTC-E010", f"nothing says whether {condition} holds")
        return known

    def _named(self, condition: Any) -> Any:
        """A condition in the names of the text."""
        return condition.xreplace(
            {s: sympy.Symbol(self._names[str(s)]) for s in condition.free_symbols}
        )

    def _declare_sizes(self) -> tuple[dict[str, DimRange], dict[str, DimRange]]:
        return self._ranges(self._module.dims), self._ranges(self._module.sizes)

    def _ranges(self, dims: Iterable[Dim]) -> dict[str, DimRange]:
        found: dict[str, DimRange] = {}
        for dim in dims:
            size = self._fakes.data_range(dim.symbol, dim.lower, dim.upper)
            self._symbols[dim.symbol] = size
            name = str(expression_of(size))
            self._names[name] = dim.symbol
            found[name] = DimRange(dim.name, dim.lower, dim.upper)
        return found

    def _number(self, type_: ScalarType) -> Any:
        """A number that data decides, as the input of a graph or of the program."""
        match type_:
            case ScalarType("int", size):
                symbol = None if size is None else size.variable
                made = self._fakes.data_int(symbol or f"number{len(self._names)}")
                self._names[str(expression_of(made))] = symbol or f"n{len(self._names)}"
                return made
            case ScalarType("float"):
                return self._fakes.data_float(f"number{len(self._names)}")
            case _:
                raise CompileError("PTC-E010", f"an input of type {type_.kind} cannot be rebuilt")

    def _size(self, index: Index) -> Any:
        if index.constant is not None:
            return index.constant
        return index.evaluate(self._symbols, torch.sym_min, torch.sym_max)

    # --- the program ----------------------------------------------------------------------------

    def program(self, structures: Structures) -> ControlProgram:
        module = self._module
        dims, sizes = self._declare_sizes()
        inputs = tuple(self._input(item) for item in module.inputs)
        values = tuple(self._value(item.type) for item in module.inputs)
        for item, value in zip(module.inputs, values, strict=True):
            self._declare_input(item, value)
        for declared in module.variables:
            self._variables[declared.name] = self._variable(declared)
        segments = [self._segment(number, graph) for number, graph in enumerate(module.graphs)]
        guards = [graph.assumptions if self.guarded else () for graph in module.graphs]
        items = _Body(self._variables, segments, guards, self._symbol_name)
        selector = module.selector
        return ControlProgram(
            inputs=inputs,
            values=values,
            body=items.block(module.body),
            outputs=tuple(
                control.ControlOutput(name, items.variable(variable))
                for variable, name in module.outputs
            ),
            fake_mode=self._fakes.mode,
            dims=dims,
            sizes=sizes,
            arguments=structures.arguments,
            result=structures.result,
            variants=structures.variants,
            selector=None if selector is None else self._variables[selector.name],  # type: ignore[arg-type]
            state=tuple(self._states()),
            references=tuple(self._references()),
            written=frozenset(item.name for item in module.inputs if item.written),
            name=module.name,
        )

    def _symbol_name(self, symbol: str) -> str:
        return str(expression_of(self._symbols[symbol]))

    def _input(self, item: ir.ControlInput) -> ProgramInput:
        kind = InputKind(item.kind)
        live = None
        if kind not in (InputKind.USER, InputKind.SCALAR):
            live = self._tensors.get(item.name)
            if live is None:
                raise CompileError("PTC-E010", f"the weights file has no tensor `{item.name}`")
        return ProgramInput(
            item.name, kind, f"L[{item.name!r}]", live, self._aliases.get(item.name, ())
        )

    def _value(self, type_: TensorType | ScalarType) -> Any:
        if isinstance(type_, TensorType):
            shape = [self._size(size) for size in type_.shape]
            return self._fakes.empty(shape, DTYPES[type_.dtype], torch.device("cpu"))
        if type_.size is not None:
            return self._size(type_.size)
        return self._number(type_)

    def _declare_input(self, item: ir.ControlInput, value: Any) -> None:
        if InputKind(item.kind) not in (InputKind.USER, InputKind.SCALAR) and not item.written:
            return
        if isinstance(value, torch.Tensor):
            self._variables[item.name] = control.TensorVar(item.name, value)
        elif isinstance(item.type, ScalarType):
            self._variables[item.name] = NumberVar(item.name, NumberKind(item.type.kind))

    def _variable(self, declared: ir.Declaration) -> control.Var:
        match declared.type:
            case TensorType():
                return control.TensorVar(declared.name, self._value(declared.type))
            case ScalarType(kind):
                return NumberVar(declared.name, NumberKind(kind))
            case ir.TextType():
                return control.TextVar(declared.name)
            case ir.ListType(element):
                return control.ListVar(declared.name, self._element(element))

    def _element(self, element: Any) -> Any:
        match element:
            case ScalarType(kind):
                return NumberKind(kind)
            case ir.TextType():
                return str
            case ir.ListType(inner):
                return control.ListVar("", self._element(inner))
            case _:
                shape = [
                    self._any_size() if size is None else self._size(size) for size in element.shape
                ]
                return self._fakes.empty(shape, DTYPES[element.dtype], torch.device("cpu"))

    def _any_size(self) -> Any:
        """A size that differs from tensor to tensor."""
        return self._fakes.data_size(f"any{len(self._fakes.symbols)}")

    def _states(self) -> Iterable[control.StateNumber]:
        for kept in self._module.states:
            if kept.initial is not None:
                variable = self._variables[kept.name]
                if not isinstance(variable, NumberVar):
                    raise CompileError("PTC-E010", f"`{kept.name}` is kept as a number and is none")
                yield control.StateNumber(variable, kept.path, kept.initial)

    def _references(self) -> Iterable[control.StateReference]:
        for kept in self._module.states:
            if kept.initial is None:
                variable = self._variables[kept.name]
                if isinstance(variable, NumberVar):
                    raise CompileError("PTC-E010", f"`{kept.name}` starts with no number")
                yield control.StateReference(variable, kept.path)

    # --- graphs ---------------------------------------------------------------------------------

    def _segment(self, number: int, graph: Module) -> control.Segment:
        assumed = Assumptions(self._convert, graph.assumptions)
        self.assumed.append(assumed)

        def asked(condition: Any) -> bool | None:
            return assumed.note(condition, lambda one: self._knows(number, self._named(one)))

        self._asked = asked
        self._fakes.answer_from(asked, lambda expression: None)
        aten = GraphBuilder(
            graph, self._tensors, {}, self._fakes.mode, self._symbols, self._number
        ).build()
        return control.Segment(self._captured(aten, graph, asked))

    def _captured(
        self, aten: AtenProgram, graph: Module, knows: Callable[[Any], bool | None]
    ) -> CapturedProgram:
        """The graph as a segment: sizes of the program are known and no inputs, writes are
        copies."""
        new = Graph()
        copied: dict[Node, Any] = {}
        inputs: list[ProgramInput] = []
        nodes = list(aten.graph.graph.nodes)
        ports = list(zip(aten.inputs, graph.inputs, nodes, strict=False))
        for described, item, node in ports:
            if described.kind is InputKind.SCALAR and item.name in self._symbols:
                copied[node] = node.meta["val"]
            else:
                copied[node] = new.node_copy(node)
                inputs.append(self._port(described))
        for node in nodes[len(ports) : -1]:
            copied[node] = new.node_copy(node, copied.__getitem__)
        placeholders = nodes[: len(ports)]
        values = [copied.get(value, value) for value in nodes[-1].args[0]]
        results, outputs = with_writes(new, aten, values, [copied[p] for p in placeholders])
        new.output(tuple(results)).meta["val"] = tuple(
            value.meta["val"] if isinstance(value, Node) else value for value in results
        )
        return CapturedProgram(
            graph=GraphModule(aten.graph, new),
            inputs=tuple(inputs),
            outputs=tuple(outputs),
            fake_mode=self._fakes.mode,
            name=aten.name,
            conditions=knows,
        )

    def _port(self, described: ProgramInput) -> ProgramInput:
        """An input of a graph; a weight that the program writes is the program's input."""
        item = self._inputs.get(described.name)
        if item is None or not item.written or described.kind is not InputKind.USER:
            return described
        return self._input(item)


class _Body:
    """Statements as items."""

    def __init__(
        self,
        variables: Mapping[str, control.Var],
        segments: Sequence[control.Segment],
        assumptions: Sequence[Iterable[Assumption]],
        symbol: Callable[[str], str],
    ) -> None:
        self._variables = variables
        self._segments = segments
        self._assumptions = assumptions
        self._guards = Guards(symbol)
        self._symbol = symbol

    def block(self, block: ir.Block) -> control.Body:
        items: list[control.Item] = []
        for statement in block:
            if isinstance(statement, ir.Statement) and statement.op == "prim::call":
                (number,) = statement.args
                assert isinstance(number, int)
                items += self._guards.items(self._assumptions[number])
            items.append(self._item(statement))
        return control.Body(items)

    def _item(self, statement: Any) -> control.Item:
        match statement:
            case ir.If(condition, then, orelse, construct, place):
                arms = self.block(then), self.block(orelse)
                return control.If(self._number(condition), *arms, _location(place), construct)
            case ir.Switch(selector, arms, construct, place):
                bodies = tuple(map(self.block, arms))
                number = self._number(selector)
                return control.Switch(number, bodies, _location(place), construct)
            case ir.While(body, again, construct, place):
                inner, number = self.block(body), self._number(again)
                return control.While(inner, number, _location(place), construct)
            case _:
                try:
                    return self._plain(statement)
                except (TypeError, ValueError) as error:
                    raise _bad(statement, str(error)) from error

    def _plain(self, statement: ir.Statement) -> Any:
        namespace, _, name = statement.op.partition("::")
        args = tuple(map(self._operand, statement.args))
        targets = statement.targets
        match namespace:
            case "number":
                return control.Compute(self._target(statement), name, args)
            case "sized":
                found = tuple(self.variable(one) for one in targets)
                return control.DataSized(found, name, args)  # type: ignore[arg-type]
            case "list":
                return control.ListItem(name, self._target(statement) if targets else None, args)
            case "text" if name == "make":
                return control.MakeText(self._target(statement), self._text(statement.args))
            case "text":
                return control.TextItem(name, self._target(statement), args)
            case "prim":
                return self._primitive(statement, name, args)
            case _:
                raise ValueError("there is no such statement")

    def _primitive(self, statement: ir.Statement, name: str, args: tuple[Any, ...]) -> Any:
        place = _location(statement.place)
        match name:
            case "call":
                return self._segments[args[0]]
            case "item":
                return control.ReadItem(self._target(statement), *args)
            case "assign":
                return control.Assign(self._target(statement), *args)
            case "size":
                return self._bind(statement, args)
            case "emit":
                channel, label, *parts = statement.args
                return control.Emit(_constant(channel), self._text(parts), _constant(label), place)
            case "raise":
                type_name, *parts = statement.args
                return control.Raise(_constant(type_name), self._text(parts), place)
            case _:
                raise ValueError("there is no such statement")

    def _bind(self, statement: ir.Statement, args: tuple[Any, ...]) -> control.Bind:
        (target,) = statement.targets
        if not isinstance(target, ir.Symbol):
            raise ValueError("it gives no size its value")
        symbol = self._symbol(target.name)
        if isinstance(args[0], control.TensorVar):
            tensor, dim = args
            return control.Bind(symbol, tensor, dim)
        (value,) = args
        return control.Bind(symbol, value=value)

    # --- operands -------------------------------------------------------------------------------

    def variable(self, reference: ir.Variable | ir.Symbol) -> control.Var:
        if isinstance(reference, ir.Symbol):
            return NumberVar(self._symbol(reference.name), NumberKind.INT)
        return self._variables[reference.name]

    def _number(self, variable: ir.Variable) -> NumberVar:
        found = self.variable(variable)
        if not isinstance(found, NumberVar):
            raise CompileError("PTC-E010", f"`{variable.name}` is no number, and decides the way")
        return found

    def _target(self, statement: ir.Statement) -> Any:
        (target,) = statement.targets
        if isinstance(target, ir.Symbol):
            raise ValueError("it gives no size")
        return self.variable(target)

    def _operand(self, operand: ir.Operand) -> Any:
        known = isinstance(operand, (ir.Variable, ir.Symbol))
        return self.variable(operand) if known else operand

    def _text(self, parts: Iterable[ir.Operand]) -> control.Text:
        found: list[str | control.Formatted] = []
        for part in parts:
            if isinstance(part, ir.Formatted):
                variable = self.variable(part.variable)
                found.append(control.Formatted(variable, part.spec, part.conversion))
            else:
                found.append(_constant(part))
        return tuple(found)


def _constant(operand: ir.Operand) -> str:
    if not isinstance(operand, str):
        raise ValueError("it needs a text")
    return operand


def _bad(statement: ir.Statement, message: str) -> CompileError:
    return CompileError("PTC-E010", f"{statement.op}(...): {message}")


def _location(place: Place | None) -> Location | None:
    return None if place is None else Location(place.file, place.line, place.text)
