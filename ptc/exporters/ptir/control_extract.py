"""From a program with control flow to the portable IR: items become statements, segments graphs.

Takes the functional form of a program; gives a `ControlModule` and the literal tensors of its
graphs. Sizes are called `s0`, `s1`... in the order of the program's, so that equal programs give
equal text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, assert_never

import torch

from ptc.autograd.control import FunctionalControl
from ptc.autograd.torch_internals import size_of_symbol
from ptc.exporters.ptir import control_ir as ir
from ptc.exporters.ptir.extract import Namer, extract_graph, place_of
from ptc.exporters.ptir.ir import Dim, Module, ScalarType
from ptc.graph import control
from ptc.graph.control import NumberKind
from ptc.graph.control_declarations import declared_types
from ptc.graph.program import DimRange
from ptc.graph.symbols import expression_of, symbols_of
from ptc.graph.types import dtype_name
from ptc.loops.index import Index
from ptc.support.diagnostics import InternalError


@dataclass(frozen=True, slots=True)
class Extracted:
    """The module of a program, its literals by name, and what is known of sizes where a graph runs:
    its number and a condition in the module's names, to the truth."""

    module: ir.ControlModule
    literals: Mapping[str, torch.Tensor]
    knows: Callable[[int, Any], bool | None]


def extract_control(functional: FunctionalControl) -> Extracted:
    """Raises CompileError PTC-E011 for what the form cannot say."""
    extraction = _Extraction(functional)
    return Extracted(extraction.module(), extraction.literals, extraction.knows)


class _Extraction:
    def __init__(self, functional: FunctionalControl) -> None:
        self._functional = functional
        self._program = functional.program
        known = {**self._program.dims, **self._program.sizes}
        self._namer = Namer(known)
        binds = (item.symbol for item in control.walk(self._program.body)
                 if isinstance(item, control.Bind))  # fmt: skip
        self._bound = frozenset(self._program.dims) | frozenset(binds)
        self.literals: dict[str, torch.Tensor] = {}
        self._numbers = {id(s.item): number for number, s in enumerate(functional.segments)}

    def module(self) -> ir.ControlModule:
        program = self._program
        graphs = tuple(
            self._graph(number, segment.aten)
            for number, segment in enumerate(self._functional.segments)
        )
        states = [ir.State(s.variable.name, s.path, s.initial) for s in program.state]
        states += [ir.State(s.variable.name, s.path) for s in program.references]
        selector = program.selector
        return ir.ControlModule(
            name=program.name,
            dims=self._dims(program.dims),
            sizes=self._dims(program.sizes),
            inputs=tuple(
                ir.ControlInput(
                    i.name, self._input_type(value), i.kind.value, i.name in program.written
                )
                for i, value in zip(program.inputs, program.values, strict=True)
            ),
            variables=self._variables(),
            states=tuple(states),
            graphs=graphs,
            body=self._block(program.body),
            outputs=tuple((self._operand(o.value), o.name) for o in program.outputs),  # type: ignore[misc]
            selector=None if selector is None else ir.Variable(selector.name),
        )

    def knows(self, number: int, condition: Any) -> bool | None:
        program = self._functional.segments[number].item.program
        if program.conditions is None:
            return None
        back = {name: symbol for symbol, name in self._namer.names.items()}
        mode = self._program.fake_mode
        symbols = {
            s: expression_of(size_of_symbol(mode, back[str(s)])) for s in condition.free_symbols
        }
        return program.conditions(condition.xreplace(symbols))

    def _dims(self, dims: dict[str, DimRange] | Any) -> tuple[Dim, ...]:
        names = self._namer.names
        return tuple(Dim(names[s], d.name, d.lower, d.upper) for s, d in dims.items())

    def _graph(self, number: int, aten: Any) -> Module:
        module, literals = extract_graph(aten, str(number), self._namer, f"graph{number}_")
        self.literals |= literals
        return module

    def _input_type(self, value: Any) -> Any:
        return self._namer.type(value)

    # --- variables ------------------------------------------------------------------------------

    def _variables(self) -> tuple[ir.Declaration, ...]:
        """Those that are no inputs, and no sizes."""
        inputs = {described.name for described in self._program.inputs} | self._namer.names.keys()
        types = declared_types(self._program)
        return tuple(
            ir.Declaration(name, self._type(variable))
            for name, variable in types.items()
            if name not in inputs
        )

    def _type(self, variable: control.Var) -> ir.VariableType:
        match variable:
            case control.TensorVar():
                return self._namer.type(variable.fake)  # type: ignore[return-value]
            case control.NumberVar():
                return ScalarType(variable.kind.value)
            case control.TextVar():
                return ir.TextType()
            case control.ListVar():
                return ir.ListType(self._element(variable.element))
            case _:
                assert_never(variable)

    def _element(self, element: Any) -> Any:
        if isinstance(element, NumberKind):
            return ScalarType(element.value)
        if isinstance(element, control.ListVar):
            return ir.ListType(self._element(element.element))
        if element is str:
            return ir.TextType()
        return ir.ElementType(dtype_name(element.dtype), tuple(map(self._common, element.shape)))

    def _common(self, size: Any) -> Index | None:
        """A size that all tensors of a list have; None where each has its own, a symbol that is
        bound to nothing."""
        return self._namer.size(size) if symbols_of(size) <= self._bound else None

    # --- statements -----------------------------------------------------------------------------

    def _block(self, body: control.Body) -> ir.Block:
        return tuple(self._statement(item) for item in body.items)

    def _statement(self, item: control.Item) -> Any:
        match item:
            case control.If(condition, then, orelse, location, construct):
                arms = self._block(then), self._block(orelse)
                return ir.If(_variable(condition), *arms, construct, place_of(location))
            case control.Switch(selector, arms, location, construct):
                blocks = tuple(map(self._block, arms))
                return ir.Switch(_variable(selector), blocks, construct, place_of(location))
            case control.While(body, again, location, construct):
                inner = self._block(body)
                return ir.While(inner, _variable(again), construct, place_of(location))
            case _:
                return self._plain(item)

    def _plain(self, item: Any) -> ir.Statement:
        match item:
            case control.Segment():
                return ir.Statement("prim::call", (self._numbers[id(item)],))
            case control.Compute(target, op, args):
                return self._made(f"number::{op}", args, target)
            case control.ReadItem(target, tensor):
                return self._made("prim::item", (tensor,), target)
            case control.Bind(symbol, tensor, dim, value):
                args = (value,) if tensor is None else (tensor, dim)
                target = ir.Symbol(self._namer.names[symbol])
                return ir.Statement("prim::size", tuple(map(self._operand, args)), (target,))
            case control.Assign(target, source):
                return self._made("prim::assign", (source,), target)
            case control.DataSized(targets, op, args):
                return self._made(f"sized::{op}", args, *targets)
            case control.ListItem(op, target, args):
                return self._made(f"list::{op}", args, *_some(target))
            case control.TextItem(op, target, args):
                return self._made(f"text::{op}", args, target)
            case control.MakeText(target, text):
                return ir.Statement("text::make", self._parts(text), (_variable(target),))
            case control.Emit(channel, text, label, location):
                args = (channel, label, *self._parts(text))
                return ir.Statement("prim::emit", args, (), place_of(location))
            case control.Raise(type_name, message, location):
                args = (type_name, *self._parts(message))
                return ir.Statement("prim::raise", args, (), place_of(location))
            case _:
                raise InternalError("export", f"the portable IR has no statement for {item}")

    def _made(self, op: str, args: Iterable[Any], *targets: control.Var) -> ir.Statement:
        return ir.Statement(op, tuple(map(self._operand, args)), tuple(map(_variable, targets)))

    def _operand(self, value: Any) -> ir.Operand:
        return self._reference(value) if isinstance(value, control.Var) else value

    def _reference(self, variable: control.Var) -> ir.Variable | ir.Symbol:
        symbol = self._namer.names.get(variable.name)
        return _variable(variable) if symbol is None else ir.Symbol(symbol)

    def _parts(self, text: control.Text) -> tuple[ir.Operand, ...]:
        return tuple(
            part
            if isinstance(part, str)
            else ir.Formatted(part.conversion, self._reference(part.value), part.spec)
            for part in text
        )


def _some(target: control.Var | None) -> tuple[control.Var, ...]:
    return () if target is None else (target,)


def _variable(variable: control.Var) -> ir.Variable:
    return ir.Variable(variable.name)
