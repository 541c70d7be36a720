"""Reads the text of programs with control flow, as `parser` does that of graphs.

Gives a `ControlModule` whose references are sound: variables, sizes and graphs are declared. What
statements mean, and whether a variable has a value where it is read, is not checked here.
"""

from __future__ import annotations

import re
from dataclasses import replace

from ptc.exporters.ptir.control_ir import (
    Block,
    ControlInput,
    ControlModule,
    Declaration,
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
from ptc.exporters.ptir.ir import Module, ScalarType, TensorType
from ptc.exporters.ptir.lines import MAX_DEPTH, Line
from ptc.exporters.ptir.parser import INPUT_KINDS, GraphParser, Rows, check_size, check_symbols

#: Blocks inside blocks.
MAX_NESTING = 200
CONVERSIONS = ("str", "repr", "format")


def is_control(text: str) -> bool:
    """Whether a text is that of a program with control flow: which word follows the sizes."""
    first = re.search(r"^(graph|program) ", text, re.MULTILINE)
    return first is not None and first.group(1) == "program"


def parse_control(text: str) -> ControlModule:
    """The module that `print_control_module` wrote. Raises CompileError PTC-E010 naming the
    line."""
    rows = Rows(text)
    rows.header()
    module = _ProgramParser(rows).program()
    rows.end()
    return module


class _ProgramParser:
    """Line by line: sizes, inputs, kept values, variables, graphs, the body, results."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows
        self._symbols: set[str] = set()
        self._sizes: set[str] = set()
        self._variables: set[str] = set()
        self._graphs = 0

    def program(self) -> ControlModule:
        rows = self._rows
        dims, sizes = rows.dims("dim"), rows.dims("size")
        self._sizes = {dim.symbol for dim in sizes}
        self._symbols = self._sizes | {dim.symbol for dim in dims}
        name = self._opens("program", named=True)
        inputs: list[ControlInput] = []
        while rows.starts("input "):
            inputs.append(self._input())
        variables: list[Declaration] = []
        while rows.starts("var "):
            variables.append(self._declaration())
        states: list[State] = []
        while rows.starts("state "):
            states.append(self._state())
        graphs: list[Module] = []
        while rows.starts("graph "):
            graphs.append(GraphParser(rows, set(self._symbols), nested=True).graph(()))
        self._graphs = len(graphs)
        self._opens("body")
        body = self._block(0)
        rows.closes()
        outputs: list[tuple[Variable | Symbol, str]] = []
        while rows.starts("return "):
            outputs.append(self._output())
        selector = self._selector() if rows.starts("select ") else None
        rows.closes()
        return ControlModule(
            name, dims, sizes, tuple(inputs), tuple(variables), tuple(states), tuple(graphs),
            body, tuple(outputs), selector,
        )  # fmt: skip

    def _opens(self, word: str, *, named: bool = False) -> str:
        line = self._rows.line()
        line.word(word)
        name = line.string() if named else ""
        line.mark("{")
        line.end()
        return name

    # --- declarations ---------------------------------------------------------------------------

    def _input(self) -> ControlInput:
        line = self._rows.line()
        line.word("input")
        name = line.string()
        line.mark(":")
        type_ = line.type(0)
        check_symbols(line, type_, self._symbols)
        assert isinstance(type_, (TensorType, ScalarType))
        line.mark("=")
        kind = line.name()
        if kind not in INPUT_KINDS:
            line.fail(f"`{kind}` is no input kind")
        written = line.accept("name", "written") is not None
        line.end()
        self._declare(line, name)
        return ControlInput(name, type_, kind, written)

    def _declaration(self) -> Declaration:
        line = self._rows.line()
        line.word("var")
        name = line.variable()
        line.mark(":")
        type_ = self._type(line, 0)
        line.end()
        self._declare(line, name)
        return Declaration(name, type_)

    def _declare(self, line: Line, name: str) -> None:
        if name in self._variables:
            line.fail(f"`{name}` is declared twice")
        self._variables.add(name)

    def _type(self, line: Line, depth: int) -> VariableType:
        if depth > MAX_DEPTH:
            line.fail("nested too deep")
        if line.accept("name", "text"):
            return TextType()
        if line.accept("name", "list"):
            line.mark("(")
            element = self._element(line, depth + 1)
            line.mark(")")
            return ListType(element)
        type_ = line.type(0)
        check_symbols(line, type_, self._symbols)
        assert isinstance(type_, (TensorType, ScalarType))
        return type_

    def _element(self, line: Line, depth: int) -> ScalarType | TextType | ElementType | ListType:
        if line.next_is("name", "text", "list"):
            type_ = self._type(line, depth)
            assert isinstance(type_, (TextType, ListType))
            return type_
        name, shape = line.element()
        if shape is None:
            return ScalarType(name)
        for size in shape:
            if size is not None:
                check_size(line, size, self._symbols)
        return ElementType(name, shape)

    def _state(self) -> State:
        line = self._rows.line()
        line.word("state")
        variable = self._variable(line)
        path = line.string()
        initial = line.number()
        line.end()
        return State(variable.name, path, initial)

    def _output(self) -> tuple[Variable | Symbol, str]:
        line = self._rows.line()
        line.word("return")
        variable = self._reference(line)
        name = line.string()
        line.end()
        return variable, name

    def _selector(self) -> Variable:
        line = self._rows.line()
        line.word("select")
        variable = self._variable(line)
        line.end()
        return variable

    def _variable(self, line: Line) -> Variable:
        name = line.variable()
        if name not in self._variables:
            line.fail(f"there is no variable `{name}`")
        return Variable(name)

    def _reference(self, line: Line) -> Variable | Symbol:
        if line.next_is("variable"):
            return self._variable(line)
        symbol = line.name()
        if symbol not in self._symbols:
            line.fail(f"there is no size `{symbol}`")
        return Symbol(symbol)

    # --- statements -----------------------------------------------------------------------------

    def _block(self, depth: int) -> Block:
        rows = self._rows
        found: list[Statement | If | Switch | While] = []
        while not rows.starts("}"):
            if rows.starts("if "):
                found.append(self._if(depth))
            elif rows.starts("switch "):
                found.append(self._switch(depth))
            elif rows.starts("while "):
                found.append(self._while(depth))
            else:
                found.append(self._statement())
        return tuple(found)

    def _if(self, depth: int) -> If:
        line = self._region(depth)
        condition = self._variable(line)
        construct = line.string()
        place = line.opens()
        then = self._block(depth + 1)
        line = self._rows.line()
        line.mark("}")
        line.word("else")
        line.mark("{")
        line.end()
        orelse = self._block(depth + 1)
        self._rows.closes()
        return If(condition, then, orelse, construct, place)

    def _switch(self, depth: int) -> Switch:
        line = self._region(depth)
        selector = self._variable(line)
        construct = line.string()
        place = line.opens()
        arms = [self._block(depth + 1)]
        while self._rows.starts("} case"):
            line = self._rows.line()
            line.mark("}")
            line.word("case")
            line.mark("{")
            line.end()
            arms.append(self._block(depth + 1))
        self._rows.closes()
        return Switch(selector, tuple(arms), construct, place)

    def _while(self, depth: int) -> While:
        line = self._region(depth)
        construct = line.string()
        place = line.opens()
        body = self._block(depth + 1)
        line = self._rows.line()
        line.mark("}")
        line.word("again")
        again = self._variable(line)
        line.end()
        return While(body, again, construct, place)

    def _region(self, depth: int) -> Line:
        line = self._rows.line()
        if depth >= MAX_NESTING:
            line.fail("nested too deep")
        line.name()
        return line

    def _statement(self) -> Statement:
        line = self._rows.line()
        targets: list[Variable | Symbol] = []
        while line.next_is("variable"):
            targets.append(self._variable(line))
            if not line.accept("mark", ","):
                break
        if targets:
            line.mark("=")
        op = line.name()
        if not targets and line.accept("mark", "="):
            if op not in self._sizes:
                line.fail(f"there is no size `{op}` that the program sets")
            targets.append(Symbol(op))
            op = line.name()
        if "::" not in op:
            line.fail(f"`{op}` is no statement")
        statement = Statement(op, self._operands(line), tuple(targets))
        place = line.place()
        line.end()
        self._check_graph(line, statement)
        return replace(statement, place=place)

    def _check_graph(self, line: Line, statement: Statement) -> None:
        if statement.op == "prim::call":
            number = statement.args[0] if len(statement.args) == 1 else None
            if type(number) is not int or not 0 <= number < self._graphs:
                line.fail("there is no such graph")

    def _operands(self, line: Line) -> tuple[Operand, ...]:
        line.mark("(")
        found: list[Operand] = []
        while not line.accept("mark", ")"):
            if found:
                line.mark(",")
            found.append(self._operand(line))
        return tuple(found)

    def _operand(self, line: Line) -> Operand:
        if line.next_is("variable"):
            return self._variable(line)
        if line.next_is("string"):
            return line.string()
        for conversion in CONVERSIONS:
            if line.accept("name", conversion):
                return self._formatted(line, conversion)
        if line.accept("name", "None"):
            return None
        number = line.number()
        return self._reference(line) if number is None else number

    def _formatted(self, line: Line, conversion: str) -> Formatted:
        line.mark("(")
        variable = self._reference(line)
        spec = line.string() if line.accept("mark", ",") else ""
        line.mark(")")
        return Formatted(conversion, variable, spec)
