"""Reads the text of the portable IR. Errors name the line; hostile text costs bounded time and
space.

Gives a `Module` whose references are sound (every value is defined before its use, symbols are
declared or introduced by a result). What the operators mean is not checked here.
"""

from __future__ import annotations

from ptc.exporters.ptir.ir import (
    SCHEMA,
    Argument,
    Assumption,
    Dim,
    Input,
    Instruction,
    Module,
    Output,
    ScalarType,
    TensorType,
    TupleType,
    Type,
    Value,
)
from ptc.exporters.ptir.lines import Line
from ptc.loops.index import Index
from ptc.support.diagnostics import CompileError

MAX_TEXT = 256 << 20

INPUT_KINDS = ("user", "scalar", "parameter", "buffer", "constant")


def parse_module(text: str) -> Module:
    """The module that `print_module` wrote. Raises CompileError PTC-E010 naming the line."""
    rows = Rows(text)
    rows.header()
    dims = rows.dims("dim")
    module = GraphParser(rows, {dim.symbol for dim in dims}).graph(dims)
    rows.end()
    return module


class Rows:
    """The lines of a text, read from the top."""

    def __init__(self, text: str) -> None:
        if len(text) > MAX_TEXT:
            raise CompileError("PTC-E010", f"the program is larger than {MAX_TEXT >> 20} MiB")
        self._lines = text.split("\n")
        self._row = 0
        self._symbols: set[str] = set()

    def starts(self, *prefixes: str) -> bool:
        """Whether the next line begins with one of these."""
        return self._row < len(self._lines) and self._lines[self._row].lstrip(" ").startswith(
            prefixes
        )

    def line(self) -> Line:
        if self._row >= len(self._lines):
            raise CompileError("PTC-E010", f"line {self._row}: the text ends too early")
        self._row += 1
        return Line(self._lines[self._row - 1], self._row)

    def closes(self) -> None:
        line = self.line()
        line.mark("}")
        line.end()

    def end(self) -> None:
        if self._row != len(self._lines) - 1 or self._lines[-1]:
            self.line().fail("text after the end of the program")

    def header(self) -> None:
        """The first line, of a version that is known."""
        line = self.line()
        line.word("ptir")
        found = line.integer()
        line.end()
        if found > SCHEMA:
            line.fail(f"schema version {found} is newer than {SCHEMA}: update ptc")
        if found < SCHEMA:
            line.fail(f"schema version {found} is not read any more: export the model again")

    def dims(self, word: str) -> tuple[Dim, ...]:
        found: list[Dim] = []
        while self.starts(f"{word} "):
            found.append(self._dim(word))
        return tuple(found)

    def _dim(self, word: str) -> Dim:
        line = self.line()
        line.word(word)
        symbol = line.name()
        name = line.string()
        lower = line.integer()
        upper = None if line.accept("float", "inf") else line.integer()
        line.end()
        if symbol in self._symbols or not symbol.isidentifier():
            line.fail(f"bad or repeated symbol `{symbol}`")
        if upper is not None and upper < lower:
            line.fail(f"empty range {lower}..{upper}")
        self._symbols.add(symbol)
        return Dim(symbol, name, lower, upper)


class GraphParser:
    """A graph: inputs, instructions, outputs. `symbols` are those that are declared around it. A
    nested one has also numbers for inputs that are no size of the program."""

    def __init__(self, rows: Rows, symbols: set[str], *, nested: bool = False) -> None:
        self._rows = rows
        self._nested = nested
        self._defined = 0
        self._symbols = symbols

    def graph(self, dims: tuple[Dim, ...]) -> Module:
        rows = self._rows
        line = rows.line()
        line.word("graph")
        name = line.string()
        line.mark("{")
        line.end()
        inputs: list[Input] = []
        assumptions: list[Assumption] = []
        instructions: list[Instruction] = []
        while rows.starts("%", "assume "):
            if rows.starts("assume ") and self._nested and not instructions:
                assumptions.append(self._assumption())
                continue
            item = self._definition(not instructions and not assumptions)
            if isinstance(item, Input):
                inputs.append(item)
            else:
                instructions.append(item)
        outputs: list[Output] = []
        while rows.starts("return ", "write "):
            outputs.append(self._output(len(inputs)))
        rows.closes()
        return Module(
            name, dims, tuple(inputs), tuple(instructions), tuple(outputs), tuple(assumptions)
        )

    def _assumption(self) -> Assumption:
        line = self._rows.line()
        line.word("assume")
        difference = line.size()
        check_size(line, difference, self._symbols)
        relation = line.relation()
        if line.integer() != 0:
            line.fail("expected 0")
        line.end()
        return Assumption(difference, relation)

    def _definition(self, may_be_input: bool) -> Input | Instruction:
        line = self._rows.line()
        number = line.value()
        if number != self._defined:
            line.fail(f"%{number} is defined where %{self._defined} comes next")
        line.mark(":")
        type_ = line.type(0)
        line.mark("=")
        name = line.name()
        if name in INPUT_KINDS:
            if not may_be_input:
                line.fail("an input after the first instruction")
            label = line.string()
            line.end()
            self._defined += 1
            if name == "scalar" and self._nested:
                self._introduce(type_)
            check_symbols(line, type_, self._symbols)
            return Input(number, type_, name, label)
        if "::" not in name:
            line.fail(f"`{name}` is neither an input kind nor an operator")
        args = line.arguments()
        for argument in args:
            self._check(line, argument)
        place = line.place()
        line.end()
        self._introduce(type_)
        self._defined += 1
        return Instruction(number, type_, name, args, place)

    def _output(self, inputs: int) -> Output:
        line = self._rows.line()
        writes, alias = None, None
        kind = line.name()
        value = line.argument(0)
        self._check(line, value)
        if kind == "write":
            writes = line.below(inputs)
        name = line.string()
        if kind == "return" and line.accept("name", "alias"):
            alias = line.below(inputs)
        line.end()
        return Output(value, name, alias, writes)

    def _check(self, line: Line, argument: Argument) -> None:
        match argument:
            case Value(number):
                if number >= self._defined:
                    line.fail(f"%{number} is used before it is defined")
            case Index():
                check_size(line, argument, self._symbols)
            case tuple():
                for item in argument:
                    self._check(line, item)
            case _:
                pass

    def _introduce(self, type_: Type) -> None:
        """A size that depends on data is introduced by the result that has it."""
        match type_:
            case TensorType(_, shape):
                for size in shape:
                    self._symbols |= size.free_vars()
            case TupleType(items):
                for item in items:
                    self._introduce(item)
            case ScalarType(_, size):
                self._symbols |= size.free_vars() if size is not None else frozenset()


def check_symbols(line: Line, type_: Type, symbols: set[str]) -> None:
    """The sizes in the type of an input or variable are declared."""
    match type_:
        case TensorType(_, shape):
            for size in shape:
                check_size(line, size, symbols)
        case ScalarType(_, size):
            if size is not None:
                check_size(line, size, symbols)
        case TupleType():
            line.fail("an input cannot be a tuple")


def check_size(line: Line, size: Index, symbols: set[str]) -> None:
    unknown = size.free_vars() - symbols
    if unknown:
        line.fail(f"unknown symbol `{min(unknown)}`")
