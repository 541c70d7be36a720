"""The tokens of a line of the portable IR, and what is made of a few of them: types, arguments,
places. Errors name the line; hostile text costs bounded time and space.
"""

from __future__ import annotations

import json
import re
from typing import NoReturn

from ptc.exporters.ptir.ir import (
    Argument,
    DTypeName,
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

MAX_LINE = 4 << 20
MAX_DEPTH = 16
#: An index expression is read by a recursive parser and multiplied out.
MAX_EXPRESSION = 512
MAX_BRACKETS = 24
MAX_INT = 2**63 - 1
MAX_DIGITS = 19

SCALARS = ("int", "float", "bool", "none")
RELATIONS = ("==", "!=", ">=")
_ENDS = ("]", "}", "#", *RELATIONS)
TAGS = ("layout", "memory_format", "device")
DTYPES = {
    "f64", "f32", "f16", "bf16", "i64", "i32", "i16", "i8", "u8", "u16", "u32", "u64", "bool",
    "c32", "c64", "c128", "f8e4m3", "f8e5m2",
}  # fmt: skip

_TOKEN = re.compile(
    r"""\s*(?:
      (?P<string>"(?:[^"\\\x00-\x1f]|\\.)*")
    | (?P<value>%\d{1,9})
    | (?P<variable>\$(?:[A-Za-z_][A-Za-z_0-9.]*|"(?:[^"\\\x00-\x1f]|\\.)*"))
    | (?P<float>-?(?:\d+\.\d*(?:e[-+]?\d+)?|\d+e[-+]?\d+|inf\b)|nan\b)
    | (?P<int>\d+)
    | (?P<name>[A-Za-z_][A-Za-z_0-9.]*(?:::[A-Za-z_0-9.]+)?)
    | (?P<mark>//|==|!=|>=|[][(){},:=#*%+?-])
    )""",
    re.VERBOSE,
)


class Line:
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

    def size(self) -> Index:
        """An index expression."""
        return self._expression()

    def relation(self) -> str:
        token = self.accept("mark")
        if token not in RELATIONS:
            self.fail(f"expected one of {', '.join(RELATIONS)}")
        return token

    def next_is(self, kind: str, *texts: str) -> bool:
        """Whether the next token is of a kind, and one of these texts if there are any."""
        found, content, _ = self._peek()
        return found == kind and (not texts or content in texts)

    def variable(self) -> str:
        """The name of a variable: `$n3`, `$"layer.steps"`."""
        token = self._take("variable", "a variable")[1:]
        if not token.startswith('"'):
            return token
        try:
            return json.loads(token)
        except ValueError:
            self.fail("malformed string")

    def number(self) -> int | float | bool | None:
        """A number of Python's; None if there is none."""
        for text, value in (("True", True), ("False", False)):
            if self.accept("name", text):
                return value
        token = self.accept("float")
        if token is not None:
            return float(token)
        signed = self.next_is("mark", "-")
        return self.integer() if signed or self.next_is("int") else None

    def integer(self) -> int:
        sign = -1 if self.accept("mark", "-") else 1
        digits = self._take("int", "a number")
        number = sign * int(digits) if len(digits) <= MAX_DIGITS else MAX_INT + 1
        if not -MAX_INT - 1 <= number <= MAX_INT:
            self.fail("a number beyond 64 bits")
        return number

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

    def opens(self) -> Place | None:
        """The end of a line that opens a block."""
        self.mark("{")
        place = self.place()
        self.end()
        return place

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

    def element(self) -> tuple[str, tuple[Index | None, ...] | None]:
        """The type of an element of a list: `int`, or `f32[?, s0]`, where ? is any size."""
        name = self.name()
        if name in SCALARS and not (name == "bool" and self.next_is("mark", "[")):
            return name, None
        if name not in DTYPES:
            self.fail(f"unknown type `{name}`")
        self.mark("[")
        shape: list[Index | None] = []
        while not self.accept("mark", "]"):
            if shape:
                self.mark(",")
            shape.append(None if self.accept("mark", "?") else self._expression())
        return name, tuple(shape)

    def _size_of_scalar(self) -> Index | None:
        if not self.accept("mark", "{"):
            return None
        size = self._expression()
        self.mark("}")
        return size

    # --- arguments --------------------------------------------------------------------------------

    def arguments(self) -> tuple[Argument, ...]:
        self.mark("(")
        args: list[Argument] = []
        while not self.accept("mark", ")"):
            if args:
                self.mark(",")
            args.append(self.argument(0))
        return tuple(args)

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
            ends = kind == "mark" and (
                text in RELATIONS or text in "]}#" or (text in ",)" and not brackets)
            )
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
