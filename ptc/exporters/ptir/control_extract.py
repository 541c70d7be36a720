"""From a program with control flow to the portable IR: items become statements, segments graphs.

Takes the functional form of a program; gives a `ControlModule` and the literal tensors of its
graphs. Sizes are called `s0`, `s1`... in the order of the program's, so that equal programs give
equal text.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, assert_never

import torch

from ptc.autograd.control import FunctionalControl
from ptc.exporters.ptir import control_ir as ir
from ptc.exporters.ptir.extract import Namer, extract_graph, place_of
from ptc.exporters.ptir.ir import Dim, Module, ScalarType
from ptc.graph import control
from ptc.graph.control import NumberKind
from ptc.graph.control_declarations import declared_types
from ptc.graph.program import DimRange
from ptc.graph.types import dtype_name
from ptc.support.diagnostics import InternalError


def extract_control(
    functional: FunctionalControl,
) -> tuple[ir.ControlModule, dict[str, torch.Tensor]]:
    """The module of a program, and its literals by name.

    Raises CompileError PTC-E011 for what the form cannot say."""
    return _Extraction(functional).run()


class _Extraction:
    def __init__(self, functional: FunctionalControl) -> None:
        self._functional = functional
        self._program = functional.program
        known = {**self._program.dims, **self._program.sizes}
        self._namer = Namer(known)
        self._known = known
        self._literals: dict[str, torch.Tensor] = {}
        self._numbers = {id(s.item): number for number, s in enumerate(functional.segments)}

    def run(self) -> tuple[ir.ControlModule, dict[str, torch.Tensor]]:
        program = self._program
        graphs = tuple(
            self._graph(number, segment.aten)
            for number, segment in enumerate(self._functional.segments)
        )
        states = [ir.State(s.variable.name, s.path, s.initial) for s in program.state]
        states += [ir.State(s.variable.name, s.path) for s in program.references]
        selector = program.selector
        module = ir.ControlModule(
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
            outputs=tuple((ir.Variable(o.value.name), o.name) for o in program.outputs),
            selector=None if selector is None else ir.Variable(selector.name),
        )
        return module, self._literals

    def _dims(self, dims: dict[str, DimRange] | Any) -> tuple[Dim, ...]:
        names = self._namer.names
        return tuple(Dim(names[s], d.name, d.lower, d.upper) for s, d in dims.items())

    def _graph(self, number: int, aten: Any) -> Module:
        module, literals = extract_graph(aten, str(number), self._namer, f"graph{number}_")
        self._literals |= literals
        return module

    def _input_type(self, value: Any) -> Any:
        return self._namer.type(value)

    # --- variables ------------------------------------------------------------------------------

    def _variables(self) -> tuple[ir.Declaration, ...]:
        """Those that are no inputs."""
        inputs = {described.name for described in self._program.inputs}
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
        sizes = (None if isinstance(size, torch.SymInt) else size for size in element.shape)
        return ir.ElementType(dtype_name(element.dtype), tuple(sizes))

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
                return _statement(f"number::{op}", args, target)
            case control.ReadItem(target, tensor):
                return _statement("prim::item", (tensor,), target)
            case control.Bind(symbol, tensor, dim, value):
                args = (value,) if tensor is None else (_variable(tensor), dim)
                operands = tuple(map(_operand, args))
                return ir.Statement("prim::size", operands, (ir.Symbol(self._symbol(symbol)),))
            case control.Assign(target, source):
                return _statement("prim::assign", (source,), target)
            case control.DataSized(targets, op, args):
                return _statement(f"sized::{op}", args, *targets)
            case control.ListItem(op, target, args):
                return _statement(f"list::{op}", args, *_some(target))
            case control.TextItem(op, target, args):
                return _statement(f"text::{op}", args, target)
            case control.MakeText(target, text):
                return ir.Statement("text::make", _parts(text), (_variable(target),))
            case control.Emit(channel, text, label, location):
                args = (channel, label, *_parts(text))
                return ir.Statement("prim::emit", args, (), place_of(location))
            case control.Raise(type_name, message, location):
                args = (type_name, *_parts(message))
                return ir.Statement("prim::raise", args, (), place_of(location))
            case _:
                raise InternalError("export", f"the portable IR has no statement for {item}")

    def _symbol(self, symbol: str) -> str:
        return self._namer.names[symbol]


def _statement(op: str, args: Iterable[Any], *targets: control.Var) -> ir.Statement:
    return ir.Statement(op, tuple(map(_operand, args)), tuple(map(_variable, targets)))


def _some(target: control.Var | None) -> tuple[control.Var, ...]:
    return () if target is None else (target,)


def _variable(variable: control.Var) -> ir.Variable:
    return ir.Variable(variable.name)


def _operand(value: Any) -> ir.Operand:
    return _variable(value) if isinstance(value, control.Var) else value


def _parts(text: control.Text) -> tuple[ir.Operand, ...]:
    return tuple(
        part
        if isinstance(part, str)
        else ir.Formatted(part.conversion, _variable(part.value), part.spec)
        for part in text
    )
