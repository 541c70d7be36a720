"""Items of a program with control flow as C++ statements: segments, numbers, lists, text.

Takes one item that has no bodies, gives lines within a member function of the program's struct (see
`control`). The functions they call are in ptc_control.h and its relatives.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import torch

from ptc.codegen.control_names import NUMBER_TYPES, Names, var_type
from ptc.codegen.control_texts import TextWriter
from ptc.codegen.cpp_types import DL_CODES
from ptc.codegen.entry import Entry
from ptc.codegen.statements import string_literal
from ptc.graph.control import (
    Assign,
    Bind,
    Compute,
    ControlProgram,
    DataSized,
    Emit,
    Item,
    ListItem,
    ListVar,
    MakeText,
    NumberKind,
    NumberVar,
    Operand,
    Raise,
    ReadItem,
    Segment,
    TensorVar,
    TextItem,
    TextVar,
    Var,
)
from ptc.graph.set_tables import TABLE_OPERATIONS
from ptc.ops.dtypes import from_torch
from ptc.support.diagnostics import InternalError

_CHANNELS = {
    "stdout": "CHANNEL_STDOUT",
    "stderr": "CHANNEL_STDERR",
    "log": "CHANNEL_LOG",
    "warning": "CHANNEL_WARNING",
}
#: Operations of numbers that never fail.
_SURE = frozenset({"eq", "ne", "lt", "le", "gt", "ge", "not", "bool", "hash_part", "hash_end"})
_COLUMNS = 96


@dataclass(frozen=True, slots=True)
class SegmentCode:
    """A segment as program number `number` of the library. `shared` gives for an output, by
    position, the input that it is: the same tensor, not a copy."""

    number: int
    entry: Entry
    shared: Mapping[int, str]

    @property
    def results(self) -> int:
        return len(self.entry.program.outputs)


def tensor_type(fake: torch.Tensor) -> str:
    """DLDataType's code and bits."""
    code, bits = DL_CODES[from_torch(fake.dtype)]
    return f"{code}, {bits}"


class ItemWriter:
    """Writes the items of one program."""

    def __init__(
        self, program: ControlProgram, names: Names, segments: Mapping[int, SegmentCode]
    ) -> None:
        self.program = program
        self.names = names
        self.segments = segments
        self.ranges = {**program.dims, **program.sizes}
        self.text = TextWriter(names)

    def lines(self, item: Item) -> list[str]:
        match item:
            case Segment():
                return self._segment(item)
            case Compute():
                return self._compute(item)
            case ReadItem():
                kind = NUMBER_TYPES[item.target.kind]
                return [f"{self._of(item.target)} = read_item<{kind}>({self._of(item.tensor)});"]
            case Bind():
                return self._bind(item)
            case Assign():
                return self._assign(item)
            case DataSized():
                return self._data_sized(item)
            case ListItem():
                return self._list(item)
            case MakeText():
                call = f"string_take(c, &{self._of(item.target)}, text)"
                return ["{", *self.text.parts(item.text), f"  {checked(call)}", "}"]
            case TextItem():
                return self.text.item(item)
            case Emit():
                call = f"emit(c, {_CHANNELS[item.channel]}, {string_literal(item.label)}, text)"
                return ["{", *self.text.parts(item.text), f"  {checked(call)}", "}"]
            case Raise():
                return [
                    "{",
                    *self.text.parts(item.message),
                    f"  return raise(c, {string_literal(item.type_name)}, text);",
                    "}",
                ]
            case _:
                raise InternalError("codegen", f"{type(item).__name__} is no plain item")

    def _of(self, var: Var) -> str:
        return self.names.of(var)

    # -- segments

    def _segment(self, item: Segment) -> list[str]:
        code = self.segments[id(item)]
        entry = code.entry
        location = f"  // {item.program.location}" if item.program.location is not None else ""
        lines = ["{" + location.replace("\\", "/")]
        inputs = [self._input(buffer.name) for buffer in entry.arguments]
        sizes = [self.names.symbols[size.symbol] for size in entry.program.sizes]
        lines += _array("  void* const in[]", inputs, "nullptr")
        lines += _array("  const int64_t sizes[]", sizes, "0")
        call = f"call_segment(c, {code.number}, in, sizes, results_of_segment)"
        lines.append(f"  {checked(call)}")
        for back in entry.write_backs:
            target = self.names.of(back.buffer)
            lines.append(f"  write_tensor(c, &{target}, &results_of_segment[{back.output}]);")
        for position, name in code.shared.items():
            lines.append(f"  share(c, &results_of_segment[{position}], &{self.names.of(name)});")
        for position, output in enumerate(item.program.outputs):
            target = self.names.of(output.name)
            lines.append(f"  move(c, &{target}, &results_of_segment[{position}]);")
        return [*lines, "}"]

    def _input(self, name: str) -> str:
        member = self.names.of(name)
        return f"content({member})" if self.names.types.get(name) == "Tensor" else f"&{member}"

    # -- numbers and references

    def _compute(self, item: Compute) -> list[str]:
        operands = "".join(f", {self.names.operand(a)}" for a in item.args)
        kind = NUMBER_TYPES[item.target.kind]
        function = f"py_{item.op.replace('.', '_')}"
        lines = [f"{self._of(item.target)} = {function}<{kind}>(c->numbers{operands});"]
        if item.op not in _SURE:
            lines.append("if (c->numbers.failure) return c->number_status();")
        return lines

    def _bind(self, item: Bind) -> list[str]:
        if item.tensor is not None:
            value = f"{self._of(item.tensor)}.dims[{item.dim}]"
        elif item.value is not None:
            value = f"(int64_t){self.names.operand(item.value)}"
        else:
            raise InternalError("codegen", f"nothing binds {item.symbol}")
        symbol = self.names.symbols[item.symbol]
        described = self.ranges.get(item.symbol)
        if described is None:
            return [f"{symbol} = {value};"]
        upper = -1 if described.upper is None else described.upper
        return [checked(f"bind_size(c, &{symbol}, {value}, {described.lower}, {upper})")]

    def _assign(self, item: Assign) -> list[str]:
        target, source = item.target, item.source
        if isinstance(target, NumberVar):
            if isinstance(source, TensorVar | TextVar | ListVar):
                raise InternalError("codegen", f"{source.name} is no number")
            value = self.names.operand(source)
            return [f"{self._of(target)} = ({NUMBER_TYPES[target.kind]}){value};"]
        if not isinstance(source, TensorVar | TextVar | ListVar):
            raise InternalError("codegen", f"{target.name} is assigned a number")
        return [f"share(c, &{self._of(target)}, &{self._of(source)});"]

    def _data_sized(self, item: DataSized) -> list[str]:
        results = [f"&{self._of(target)}" for target in item.targets]
        arguments: list[str] = []
        for argument in item.args:
            if isinstance(argument, TensorVar):
                arguments.append(self._of(argument))
            elif argument is not None:
                arguments.append(self.names.operand(argument))
        if item.op == "unique":
            results += ["nullptr"] * (3 - len(results))
        return [checked(f"sized_{item.op}(c, {', '.join([*results, *arguments])})")]

    # -- lists

    def _list(self, item: ListItem) -> list[str]:
        op, target, args = item.op, item.target, item.args
        if op == "new":
            return self._new_list(item)
        if op == "find":
            return self._find(item)
        first = args[0]
        if not isinstance(first, ListVar):
            raise InternalError("codegen", f"{op} of something that is no list")
        element = _element_type(target if op == "filled" and isinstance(target, ListVar) else first)
        position = _ELEMENT.get(op)
        rest = [
            self._value(a, element if n == position else "int64_t") for n, a in enumerate(args[1:])
        ]
        arguments = ", ".join(["c", self._of(first), *rest])
        if op in ("append", "insert"):
            return [checked(f"list_{op}({arguments})")]
        if op == "set":
            return [f"list_set({arguments});"]
        if op == "extend":
            return [checked(f"list_extend({arguments}, 0, {rest[0]}.count())")]
        if op in TABLE_OPERATIONS and target is None:
            return [checked(f"list_{op}({arguments})")]
        if op == "clear":
            return [f"list_clear({arguments});"]
        if op == "reverse":
            return [f"list_reverse({arguments});"]
        if target is None:
            raise InternalError("codegen", f"{op} of a list without a target")
        place = self._of(target)
        if op == "length":
            return [f"{place} = {self._of(first)}.count();"]
        if op == "same":
            return [f"{place} = {self._of(first)}.data == {rest[0]}.data;"]
        if op in ("get", "pop"):
            return [f"list_{op}({', '.join(['c', f'&{place}', self._of(first), *rest])});"]
        if op in ("stack", "cat"):
            return self._tensor_of_list(op, place, first, rest)
        return [checked(f"list_{op}({', '.join(['c', f'&{place}', self._of(first), *rest])})")]

    def _find(self, item: ListItem) -> list[str]:
        columns: list[str] = []
        for owner, value in zip(item.args[0::2], item.args[1::2], strict=True):
            if not isinstance(owner, ListVar):
                raise InternalError("codegen", "find in something that is no list")
            element = _element_type(owner)
            columns.append(f"Column<{element}>{{{self._of(owner)}, {self._value(value, element)}}}")
        if item.target is None:
            raise InternalError("codegen", "find without a target")
        return [checked(f"list_find(c, &{self._of(item.target)}, {', '.join(columns)})")]

    def _tensor_of_list(self, op: str, place: str, first: ListVar, rest: list[str]) -> list[str]:
        result = "&results_of_segment[0]"
        call = f"list_{op}({', '.join(['c', result, self._of(first), *rest])})"
        return [checked(call), f"move(c, &{place}, {result});"]

    def _new_list(self, item: ListItem) -> list[str]:
        if not isinstance(item.target, ListVar):
            raise InternalError("codegen", "a new list without a target")
        element = _element_type(item.target)
        place = f"&{self._of(item.target)}"
        values = [self._value(a, element) for a in item.args]
        if not values:
            return [checked(f"list_new<{element}>(c, {place}, nullptr, 0)")]
        return [
            "{",
            *_array(f"  const {element} items[]", values, ""),
            f"  {checked(f'list_new<{element}>(c, {place}, items, {len(values)})')}",
            "}",
        ]

    def _value(self, value: Var | Operand, element: str) -> str:
        """An argument of a list operation: a number as exactly the type `element`."""
        if isinstance(value, TensorVar | TextVar | ListVar):
            return self._of(value)
        text = self.names.operand(value)
        own = NUMBER_TYPES[value.kind if isinstance(value, NumberVar) else _kind(value)]
        return text if own == element else f"({element}){text}"


#: Where an operation of a list takes an element, counted behind the list.
_ELEMENT = {"append": 0, "insert": 1, "set": 1, "filled": 0}


def _kind(value: int | float | bool) -> NumberKind:
    if isinstance(value, bool):
        return NumberKind.BOOL
    return NumberKind.INT if isinstance(value, int) else NumberKind.FLOAT


def _element_type(var: ListVar) -> str:
    return var_type(var).removeprefix("List<").removesuffix(">")


def _array(declaration: str, values: list[str], empty: str) -> list[str]:
    """An array's definition, over several lines where it is long; C++ has none of length zero."""
    text = f"{declaration} = {{{', '.join(values or [empty])}}};"
    if len(text) <= _COLUMNS:
        return [text]
    lines = [f"{declaration} = {{", "     "]
    for value in values:
        if len(lines[-1]) + len(value) > _COLUMNS:
            lines.append("     ")
        lines[-1] += f" {value},"
    return [*lines, "  };"]


def checked(call: str) -> str:
    return f"if (const int status = {call}) return status;"
