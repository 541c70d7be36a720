"""Reads the text of the portable IR. Errors name the line; hostile text costs bounded time and
space.

Gives a `Module` whose references are sound (every value is defined before its use, symbols are
declared or introduced by a result). What the operators mean is not checked here.
"""

from __future__ import annotations

import json
import re
from typing import NoReturn

from ptc.exporters.ptir.ir import (
    SCHEMA,
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
from ptc.loops.index import Index
from ptc.loops.index_parser import parse_index
from ptc.support.diagnostics import CompileError

MAX_TEXT = 256 << 20
MAX_LINE = 4 << 20
MAX_DEPTH = 16
#: An index expression is read by a recursive parser and multiplied out.
MAX_EXPRESSION = 512
MAX_BRACKETS = 24

INPUT_KINDS = ("user", "scalar", "parameter", "buffer", "constant")
SCALARS = ("int", "float", "bool", "none")
TAGS = ("layout", "memory_format", "device")
DTYPES = {
    "f64", "f32", "f16", "bf16", "i64", "i32", "i16", "i8", "u8", "u16", "u32", "u64", "bool",
    "c32", "c64", "c128", "f8e4m3", "f8e5m2",
}  # fmt: skip

_TOKEN = re.compile(
    r"""\s*(?:
      (?P<string>"(?:[^"\\\x00-\x1f]|\\.)*")
    | (?P<value>%\d{1,9})
    | (?P<float>-?(?:\d+\.\d*(?:e[-+]?\d+)?|\d+e[-+]?\d+|inf\b)|nan\b)
    | (?P<int>\d+)
    | (?P<name>[A-Za-z_][A-Za-z_0-9.]*(?:::[A-Za-z_0-9.]+)?)
    | (?P<mark>//|[][(){},:=#*%+-])
    )""",
    re.VERBOSE,
)


def parse_module(text: str) -> Module:
    """The module that `print_module` wrote. Raises CompileError PTC-E010 naming the line."""
    if len(text) > MAX_TEXT:
        raise CompileError("PTC-E010", f"the program is larger than {MAX_TEXT >> 20} MiB")
    return _ModuleParser(text).module()


class _ModuleParser:
    """Line by line: header, dims, graph, inputs, instructions, outputs."""

    def __init__(self, text: str) -> None:
        self._lines = text.split("\n")
        self._row = 0
        self._defined = 0
        self._symbols: set[str] = set()

    def module(self) -> Module:
        self._header()
        dims: list[Dim] = []
        while self._starts("dim "):
            dims.append(self._dim())
        line = self._line()
        line.word("graph")
        name = line.string()
        line.mark("{")
        line.end()
        inputs: list[Input] = []
        instructions: list[Instruction] = []
        while self._starts("  %"):
            item = self._definition(not instructions)
            if isinstance(item, Input):
                inputs.append(item)
            else:
                instructions.append(item)
        outputs: list[Output] = []
        while self._starts("  return ") or self._starts("  write "):
            outputs.append(self._output(len(inputs)))
        line = self._line()
        line.mark("}")
        line.end()
        if self._row != len(self._lines) - 1 or self._lines[-1]:
            self._line().fail("text after the end of the graph")
        return Module(name, tuple(dims), tuple(inputs), tuple(instructions), tuple(outputs))

    def _starts(self, prefix: str) -> bool:
        return self._row < len(self._lines) and self._lines[self._row].startswith(prefix)

    def _line(self) -> _Line:
        if self._row >= len(self._lines):
            raise CompileError("PTC-E010", f"line {self._row}: the text ends too early")
        self._row += 1
        return _Line(self._lines[self._row - 1], self._row)

    def _header(self) -> None:
        line = self._line()
        line.word("ptir")
        version = line.integer()
        line.end()
        if version > SCHEMA:
            line.fail(f"schema version {version} is newer than {SCHEMA}: update ptc")

    def _dim(self) -> Dim:
        line = self._line()
        line.word("dim")
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

    def _definition(self, may_be_input: bool) -> Input | Instruction:
        line = self._line()
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
            self._check_symbols(line, type_)
            return Input(number, type_, name, label)
        if "::" not in name:
            line.fail(f"`{name}` is neither an input kind nor an operator")
        args, kwargs = line.arguments()
        for argument in (*args, *kwargs.values()):
            self._check(line, argument)
        place = line.place()
        line.end()
        self._introduce(type_)
        self._defined += 1
        return Instruction(number, type_, name, args, kwargs, place)

    def _output(self, inputs: int) -> Output:
        line = self._line()
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

    def _check(self, line: _Line, argument: Argument) -> None:
        match argument:
            case Value(number):
                if number >= self._defined:
                    line.fail(f"%{number} is used before it is defined")
            case Index():
                unknown = argument.free_vars() - self._symbols
                if unknown:
                    line.fail(f"unknown symbol `{min(unknown)}`")
            case tuple():
                for item in argument:
                    self._check(line, item)
            case _:
                pass

    def _check_symbols(self, line: _Line, type_: Type) -> None:
        match type_:
            case TensorType(_, shape):
                for size in shape:
                    self._check(line, size)
            case ScalarType(_, size):
                self._check(line, size)
            case TupleType():
                line.fail("an input cannot be a tuple")

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


class _Line:
    """The tokens of one line, read from the left."""

    def __init__(self, text: str, row: int) -> None:
        self._text = text.rstrip()
        self._row = row
        self._at = 0
        if len(text) > MAX_LINE:
            self.fail(f"longer than {MAX_LINE >> 20} MiB")

    def fail(self, message: str) -> NoReturn:
        shown = self._text if len(self._text) <= 120 else f"{self._text[:117]}..."
        raise CompileError("PTC-E010", f"line {self._row}: {message}", notes=(shown.strip(),))

    # --- tokens ---------------------------------------------------------------------------------

    def _peek(self) -> tuple[str, str, int]:
        """Kind, text and end of the next token; kind "" at the end."""
        if self._at >= len(self._text):
            return "", "the end of the line", self._at
        match = _TOKEN.match(self._text, self._at)
        if match is None or match.lastgroup is None:
            self.fail(f"unexpected {self._text[self._at : self._at + 10]!r}")
        return match.lastgroup, match.group(match.lastgroup), match.end()

    def accept(self, kind: str, text: str | None = None) -> str | None:
        """The next token if it is of that kind (and text), else None."""
        found, content, end = self._peek()
        if found != kind or (text is not None and content != text):
            return None
        self._at = end
        return content

    def _take(self, kind: str, what: str, text: str | None = None) -> str:
        token = self.accept(kind, text)
        if token is None:
            self.fail(f"expected {what}, found {self._peek()[1][:40]}")
        return token

    def word(self, text: str) -> None:
        self._take("name", f"`{text}`", text)

    def mark(self, text: str) -> None:
        self._take("mark", f"`{text}`", text)

    def name(self) -> str:
        return self._take("name", "a name")

    def string(self) -> str:
        try:
            return json.loads(self._take("string", "a string"))
        except ValueError:
            self.fail("malformed string")

    def value(self) -> int:
        return int(self._take("value", "a value")[1:])

    def integer(self) -> int:
        sign = -1 if self.accept("mark", "-") else 1
        digits = self._take("int", "a number")
        if len(digits) > 20:
            self.fail("a number of more than 20 digits")
        return sign * int(digits)

    def below(self, limit: int) -> int:
        number = self.integer()
        if not 0 <= number < limit:
            self.fail(f"there is no input {number}")
        return number

    def end(self) -> None:
        if self._peek()[0]:
            self.fail(f"unexpected {self._peek()[1][:40]}")

    def place(self) -> Place | None:
        if not self.accept("mark", "#"):
            return None
        file = self.string()
        self.mark(":")
        line = self.integer()
        return Place(file, line, self.string())

    # --- types ------------------------------------------------------------------------------------

    def type(self, depth: int) -> Type:
        if depth > MAX_DEPTH:
            self.fail("nested too deep")
        if self.accept("mark", "("):
            items = [self.type(depth + 1)] if not self.accept("mark", ")") else []
            while items and not self.accept("mark", ")"):
                self.mark(",")
                items.append(self.type(depth + 1))
            return TupleType(tuple(items))
        name = self.name()
        if name in SCALARS and not (name == "bool" and self._peek()[1] == "["):
            return ScalarType(name, self._size_of_scalar() if name == "int" else None)
        if name not in DTYPES:
            self.fail(f"unknown type `{name}`")
        self.mark("[")
        shape: list[Index] = []
        while not self.accept("mark", "]"):
            if shape:
                self.mark(",")
            shape.append(self._expression())
        return TensorType(name, tuple(shape))

    def _size_of_scalar(self) -> Index | None:
        if not self.accept("mark", "{"):
            return None
        size = self._expression()
        self.mark("}")
        return size

    # --- arguments --------------------------------------------------------------------------------

    def arguments(self) -> tuple[tuple[Argument, ...], dict[str, Argument]]:
        self.mark("(")
        args: list[Argument] = []
        kwargs: dict[str, Argument] = {}
        while not self.accept("mark", ")"):
            if args or kwargs:
                self.mark(",")
            keyword = self._keyword()
            if keyword is not None:
                if keyword in kwargs:
                    self.fail(f"argument `{keyword}` is given twice")
                kwargs[keyword] = self.argument(0)
            elif kwargs:
                self.fail("a positional argument after a named one")
            else:
                args.append(self.argument(0))
        return tuple(args), kwargs

    def _keyword(self) -> str | None:
        start = self._at
        name = self.accept("name")
        if name is not None and self.accept("mark", "="):
            return name
        self._at = start
        return None

    def argument(self, depth: int) -> Argument:
        if depth > MAX_DEPTH:
            self.fail("nested too deep")
        kind, text, end = self._peek()
        match kind:
            case "value":
                self._at = end
                return Value(int(text[1:]))
            case "string":
                return self.string()
            case "float":
                self._at = end
                return float(text)
            case "mark" if text == "[":
                return self._list(depth)
            case "name" if text in ("True", "False", "None"):
                self._at = end
                return {"True": True, "False": False, "None": None}[text]
            case "name" if text == "dtype":
                return self._dtype()
            case "name" if text in TAGS:
                self._at = end
                self.mark("(")
                tag = Tag(text, self.string())
                self.mark(")")
                return tag
            case _:
                return self._expression()

    def _list(self, depth: int) -> tuple[Argument, ...]:
        self.mark("[")
        items: list[Argument] = []
        while not self.accept("mark", "]"):
            if items:
                self.mark(",")
            items.append(self.argument(depth + 1))
        return tuple(items)

    def _dtype(self) -> DTypeName:
        self.word("dtype")
        self.mark("(")
        name = self.name()
        self.mark(")")
        if name not in DTYPES:
            self.fail(f"unknown dtype `{name}`")
        return DTypeName(name)

    def _expression(self) -> Index:
        """An index expression: up to the comma or bracket that ends it."""
        start, brackets, opened = self._at, 0, 0
        while True:
            kind, text, end = self._peek()
            ends = kind == "mark" and (text in "]}#" or (text in ",)" and not brackets))
            if ends or kind in ("", "string"):
                break
            if kind not in ("int", "name", "mark"):
                self.fail(f"unexpected {text[:40]} in an index expression")
            brackets += {"(": 1, ")": -1}.get(text, 0)
            opened += text in ("(", "-")
            self._at = end
            if opened > MAX_BRACKETS or end - start > MAX_EXPRESSION:
                self.fail("an index expression is too long")
        try:
            return parse_index(self._text[start : self._at])
        except (ValueError, ZeroDivisionError) as error:
            self.fail(str(error))
