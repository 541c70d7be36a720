"""Reads the text form of loop programs back (see `printer`).

Types of `%name` references come from their declarations, those of loads from the buffers.
Raises ParseError with the line number and what was expected.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from ptc.loops.index import Index
from ptc.loops.index_parser import parse_index
from ptc.loops.nodes import (
    Accumulator,
    AnyKernel,
    Apply,
    Buffer,
    BufferKind,
    Check,
    DType,
    Expr,
    ExternKernel,
    If,
    IndexValue,
    Kernel,
    Let,
    Literal,
    Load,
    Loop,
    LoopKind,
    Operand,
    Origin,
    Program,
    Ref,
    Size,
    Stmt,
    Store,
    TemplateKernel,
    Update,
)
from ptc.loops.scalar import OPS, result_dtype


class ParseError(ValueError):
    """Bad program text, with its line number."""


_NAME = r'(?:"(?:[^"\\]|\\.)*"|[A-Za-z_][A-Za-z_0-9.]*)'
_TYPED_SUFFIX = re.compile(r":([a-z0-9]+)")
_NUMBER = re.compile(r"-?(?:inf|nan|true|false|\d+(?:\.\d+)?(?:e[-+]?\d+)?)(?=:)")
_WORD = re.compile(_NAME)
_REFERENCE = re.compile(r"%([A-Za-z_][A-Za-z_0-9]*)")
_KINDS = {kind.value: kind for kind in BufferKind}


def _name(text: str) -> str:
    return json.loads(text) if text.startswith('"') else text


@dataclass(slots=True)
class _Line:
    number: int
    depth: int
    text: str


@dataclass(slots=True)
class _Scanner:
    """Expressions of one line; `at` is the position reached."""

    text: str
    buffers: dict[str, Buffer]
    types: dict[str, DType]
    at: int = 0

    def fail(self, expected: str) -> ParseError:
        found = self.text[self.at : self.at + 20] or "the end"
        return ParseError(f"expected {expected}, found {found!r} in {self.text!r}")

    def skip(self, token: str) -> bool:
        while self.at < len(self.text) and self.text[self.at] == " ":
            self.at += 1
        if self.text.startswith(token, self.at):
            self.at += len(token)
            return True
        return False

    def expect(self, token: str) -> None:
        if not self.skip(token):
            raise self.fail(repr(token))

    def match(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        self.skip("")
        found = pattern.match(self.text, self.at)
        if found is not None:
            self.at = found.end()
        return found

    def type_suffix(self) -> DType:
        found = self.match(_TYPED_SUFFIX)
        if found is None:
            raise self.fail("a type")
        return DType(found[1])

    def enclosed(self, opening: str, closing: str) -> str:
        """The text between balanced brackets."""
        self.expect(opening)
        depth, start = 1, self.at
        while depth:
            if self.at >= len(self.text):
                raise self.fail(repr(closing))
            depth += {opening: 1, closing: -1}.get(self.text[self.at], 0)
            self.at += 1
        return self.text[start : self.at - 1]

    def indices(self) -> tuple[Index, ...]:
        return parse_indices(self.enclosed("[", "]"))

    def expr(self) -> Expr:
        number = self.match(_NUMBER)
        if number is not None:
            return self._literal(number[0])
        reference = self.match(_REFERENCE)
        if reference is not None:
            if reference[1] not in self.types:
                raise ParseError(f"%{reference[1]} is not declared")
            return Ref(reference[1], self.types[reference[1]])
        word = self.match(_WORD)
        if word is None:
            raise self.fail("an expression")
        if self.text.startswith("[", self.at):
            return self._load(_name(word[0]))
        return self._call(word[0])

    def _literal(self, text: str) -> Literal:
        dtype = self.type_suffix()
        if dtype is DType.BOOL:
            return Literal(text == "true", dtype)
        return Literal(int(text) if dtype.is_int else float(text), dtype)

    def _load(self, name: str) -> Load:
        if name not in self.buffers:
            raise ParseError(f"no buffer is called {name}")
        return Load(name, self.indices(), self.buffers[name].dtype)

    def _call(self, op: str) -> Expr:
        if op == "index":
            dtype = self.type_suffix()
            return IndexValue(parse_index(self.enclosed("(", ")")), dtype)
        dtype = self.type_suffix() if op in ("cast", "bitcast") else None
        self.expect("(")
        args = [self.expr()]
        while self.skip(","):
            args.append(self.expr())
        self.expect(")")
        if op == "masked":
            load = args[0]
            if not isinstance(load, Load) or len(args) not in (2, 3):
                raise self.fail("masked(load, mask, other)")
            other = args[2] if len(args) == 3 else None
            return Load(load.buffer, load.index, load.dtype, args[1], other)
        if op not in OPS:
            raise ParseError(f"no scalar operation is called {op}")
        if dtype is None:
            dtype = result_dtype(op, [a.dtype for a in args])
        return Apply(op, tuple(args), dtype)


def parse_indices(text: str) -> tuple[Index, ...]:
    """Comma-separated index expressions."""
    parts: list[str] = []
    depth = 0
    for character in text:
        depth += {"(": 1, ")": -1}.get(character, 0)
        if character == "," and depth == 0:
            parts.append("")
            continue
        if not parts:
            parts.append("")
        parts[-1] += character
    return tuple([parse_index(p) for p in parts if p.strip()])


_FOR = re.compile(r"for (\w+) in (.+?) (serial|parallel|vector|reduce)( vector)?:\Z")
_LET = re.compile(r"let (\w+)(?: in (.+?))? = ")
_ACC = re.compile(r"acc (\w+): (\w+) (\w+) = ")
_UPDATE = re.compile(r"update (\w+) <- ")
_STORE = re.compile(rf"({_NAME})(?=\[)")
_BUFFER = re.compile(rf"({'|'.join(_KINDS)}) ({_NAME}): (\w+)")
_SIZE = re.compile(r'size (\w+) ("(?:[^"\\]|\\.)*") \[(\d+)\.\.(\d*)\]\Z')


@dataclass(slots=True)
class _Parser:
    lines: list[_Line]
    at: int = 0
    buffers: dict[str, Buffer] = field(default_factory=dict[str, Buffer])
    scope: dict[str, Buffer] = field(default_factory=dict[str, Buffer])
    types: dict[str, DType] = field(default_factory=dict[str, DType])

    def peek(self) -> _Line | None:
        return self.lines[self.at] if self.at < len(self.lines) else None

    def block(self, depth: int) -> list[_Line]:
        """The lines that follow at `depth` or deeper."""
        start = self.at
        while (line := self.peek()) is not None and line.depth >= depth:
            self.at += 1
        return self.lines[start : self.at]

    def scanner(self, text: str, at: int = 0) -> _Scanner:
        return _Scanner(text, self.scope, self.types, at)

    # -- statements

    def statements(self, depth: int) -> tuple[Stmt, ...]:
        result: list[Stmt] = []
        while (line := self.peek()) is not None and line.depth == depth:
            self.at += 1
            result.append(self.statement(line))
        return tuple(result)

    def statement(self, line: _Line) -> Stmt:
        text = line.text
        if (found := _FOR.match(text)) is not None:
            body = self.statements(line.depth + 1)
            kind = LoopKind(found[3])
            return Loop(found[1], parse_index(found[2]), kind, body, found[4] is not None)
        if text.startswith("if ") and text.endswith(":"):
            condition = self.scanner(text[:-1], 3).expr()
            return If(condition, self.statements(line.depth + 1))
        if (found := _LET.match(text)) is not None:
            value = self.scanner(text, found.end()).expr()
            self.types[found[1]] = value.dtype
            return Let(found[1], value, parse_index(found[2]) if found[2] else None)
        if (found := _ACC.match(text)) is not None:
            init = self.scanner(text, found.end()).expr()
            dtype = DType(found[2])
            self.types[found[1]] = DType.I64 if found[3].startswith("arg") else dtype
            return Accumulator(found[1], found[3], init, dtype)
        if (found := _UPDATE.match(text)) is not None:
            scanner = self.scanner(text, found.end())
            value = scanner.expr()
            return Update(found[1], value, scanner.expr() if scanner.skip("at ") else None)
        if text.startswith("check "):
            scanner = self.scanner(text, 6)
            condition = scanner.expr()
            scanner.expect("else")
            return Check(condition, json.loads(text[scanner.at :]))
        return self.store(text)

    def store(self, text: str) -> Store:
        found = _STORE.match(text)
        if found is None:
            raise ParseError(f"not a statement: {text!r}")
        scanner = self.scanner(text, found.end())
        index = scanner.indices()
        sign = scanner.match(re.compile(r"(add|mul|min|max)?="))
        if sign is None:
            raise scanner.fail("'='")
        return Store(_name(found[1]), index, scanner.expr(), sign[1])

    # -- kernels

    def kernel(self, line: _Line) -> AnyKernel:
        found = re.match(rf"(kernel|template|extern) ({_NAME}):\s*(.*)\Z", line.text)
        if found is None:
            raise ParseError(f"not a kernel: {line.text!r}")
        name, rest, depth = _name(found[2]), found[3], line.depth + 1
        self.types, self.scope = {}, dict(self.buffers)
        origins = self.origins(depth)
        if found[1] == "kernel":
            local = self.locals(depth)
            return Kernel(name, self.statements(depth), local, origins)
        if found[1] == "extern":
            attrs = self.attrs(depth)
            reads, writes = self.names("reads"), self.names("writes")
            return ExternKernel(name, rest, reads, writes, attrs, origins)
        return self.template(name, rest, depth, origins)

    def template(
        self, name: str, rest: str, depth: int, origins: tuple[Origin, ...]
    ) -> TemplateKernel:
        template, dtype = rest.split()
        extents: dict[str, Index] = {}
        while (text := self.take("extent ")) is not None:
            var, _, size = text.partition(" = ")
            extents[var] = parse_index(size)
        attrs = self.attrs(depth)
        operands: dict[str, Operand] = {}
        while (text := self.take("operand ")) is not None:
            found = re.match(r"(\w+)\(([^)]*)\) = ", text)
            if found is None:
                raise ParseError(f"not an operand: {text!r}")
            names = tuple([v.strip() for v in found[2].split(",")])
            operands[found[1]] = Operand(names, self.scanner(text, found.end()).expr())
        if self.take("epilogue:") is None:
            raise ParseError(f"template {name} has no epilogue")
        self.types["acc"] = DType(dtype)
        epilogue = self.statements(depth + 1)
        return TemplateKernel(
            name, template, extents, operands, epilogue, DType(dtype), attrs, origins
        )

    def take(self, prefix: str) -> str | None:
        line = self.peek()
        if line is None or not line.text.startswith(prefix):
            return None
        self.at += 1
        return line.text[len(prefix) :]

    def names(self, keyword: str) -> tuple[str, ...]:
        text = self.take(keyword)
        return () if text is None else tuple([_name(n) for n in re.findall(_NAME, text)])

    def origins(self, depth: int) -> tuple[Origin, ...]:
        result: list[Origin] = []
        while (text := self.take("origin ")) is not None:
            op, location = json.loads("[" + text.replace('" "', '", "', 1) + "]")
            result.append(Origin(op, location))
        return tuple(result)

    def attrs(self, depth: int) -> dict[str, object]:
        result: dict[str, object] = {}
        while (text := self.take("attr ")) is not None:
            key, _, value = text.partition(" = ")
            result[key] = _attr(value)
        return result

    def locals(self, depth: int) -> tuple[Buffer, ...]:
        result: list[Buffer] = []
        while (line := self.peek()) is not None and line.text.startswith("local "):
            self.at += 1
            buffer = self.buffer(line.text)
            self.scope[buffer.name] = buffer
            result.append(buffer)
        return tuple(result)

    def buffer(self, text: str) -> Buffer:
        found = _BUFFER.match(text)
        if found is None:
            raise ParseError(f"not a declaration: {text!r}")
        scanner = self.scanner(text, found.end())
        shape = scanner.indices()
        scanner.expect("strides")
        strides = parse_indices(scanner.enclosed("(", ")"))
        rest = text[scanner.at :].strip()
        rest, _, data = rest.partition("= ") if "= " in rest else (rest, "", "")
        offset = parse_index(rest.strip()[1:]) if rest.strip().startswith("@") else None
        raw = None if not data else (b"" if data == "empty" else bytes.fromhex(data))
        kind = _KINDS[found[1]]
        return Buffer(_name(found[2]), DType(found[3]), shape, strides, kind, raw, offset)

    # -- program

    def program(self) -> Program:
        name = _name(self.take("program ") or "")
        sizes: list[Size] = []
        scalars: dict[str, str] = {}
        inputs: tuple[str, ...] = ()
        outputs: tuple[str | Index, ...] = ()
        written: frozenset[str] = frozenset()
        arena: Index | None = None
        prepare: list[AnyKernel] = []
        kernels: list[AnyKernel] = []
        while (line := self.peek()) is not None:
            self.at += 1
            word = line.text.split()[0]
            if word == "size":
                sizes.append(_size(line.text))
            elif word in _KINDS:
                buffer = self.buffer(line.text)
                self.buffers[buffer.name] = self.scope[buffer.name] = buffer
            elif word == "scalar":
                symbol, _, given = line.text[7:].partition(" = ")
                scalars[symbol] = _name(given)
            elif word == "inputs":
                inputs = tuple([_name(n) for n in re.findall(_NAME, line.text[6:])])
            elif word == "written":
                written = frozenset([_name(n) for n in re.findall(_NAME, line.text[7:])])
            elif word == "outputs":
                outputs = _outputs(line.text[7:])
            elif word == "arena":
                arena = parse_index(line.text[6:])
            elif word == "prepare:":
                while (inner := self.peek()) is not None and inner.depth == 1:
                    self.at += 1
                    prepare.append(self.kernel(inner))
            else:
                kernels.append(self.kernel(line))
        return Program(
            name, tuple(sizes), self.buffers, inputs, outputs, tuple(kernels), tuple(prepare),
            arena, scalars, written,
        )  # fmt: skip


def _size(text: str) -> Size:
    found = _SIZE.match(text)
    if found is None:
        raise ParseError(f"not a size: {text!r}")
    upper = int(found[4]) if found[4] else None
    return Size(found[1], json.loads(found[2]), int(found[3]), upper)


def _outputs(text: str) -> tuple[str | Index, ...]:
    result: list[str | Index] = []
    scanner = _Scanner(text, {}, {})
    while scanner.at < len(text):
        if scanner.skip(","):
            continue
        if text.startswith("(", scanner.at):
            result.append(parse_index(scanner.enclosed("(", ")")))
            continue
        word = scanner.match(_WORD)
        if word is None:
            raise scanner.fail("an output")
        result.append(_name(word[0]))
    return tuple(result)


def _attr(text: str) -> object:
    if text.startswith("@index "):
        return parse_index(text[7:])
    if text.startswith("@indices "):
        return tuple([parse_index(p) for p in text[9:].split(";")])
    if text.startswith("@dtype "):
        return DType(text[7:])
    if text.startswith("@float "):
        return float(text[7:])
    return ast.literal_eval(text)


def _lines(text: str) -> list[_Line]:
    result: list[_Line] = []
    for number, raw in enumerate(text.split("\n"), 1):
        stripped = raw.strip()
        if stripped and not stripped.startswith("#"):
            depth = (len(raw) - len(raw.lstrip(" "))) // 2
            result.append(_Line(number, depth, stripped))
    return result


def parse_program(text: str) -> Program:
    """The program whose text `printer.print_program` wrote."""
    parser = _Parser(_lines(text))
    try:
        return parser.program()
    except (ValueError, KeyError) as error:
        raise parser_error(parser.lines, parser.at, error) from error


def parser_error(lines: Sequence[_Line], at: int, error: Exception) -> ParseError:
    """The error with the line where it happened."""
    line = lines[min(max(at - 1, 0), len(lines) - 1)] if lines else _Line(0, 0, "")
    return ParseError(f"line {line.number}: {error}")
