"""The method of an exported module: its parameters, what a call has to fit, and its attributes.

Takes the inputs of a program, gives the names of its inputs and sizes in the text. What comes
between arguments and results is for `straight` and `control`.
"""

from __future__ import annotations

import keyword
import re
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import nn

from ptc.exporters.formats import ExportOptions, content_of
from ptc.exporters.torchscript.compiled import Attribute
from ptc.exporters.torchscript.structures import Arguments
from ptc.exporters.torchscript.writer import Writer, constant, text_constant
from ptc.graph.program import DimRange, InputKind, ProgramInput, Structure
from ptc.graph.symbols import expression_of
from ptc.graph.types import type_text
from ptc.support.diagnostics import InternalError

_MOST = 2**63 - 1
_CALL = (InputKind.USER, InputKind.SCALAR)
#: Attributes that modules have without being given any.
_OF_MODULES = frozenset(dir(nn.Module())) | {"forward", "training"}


class Method:
    """`names` has what each input is in the text, by its position; `paths` the attribute that holds
    an input, by name, `symbols` the sizes that have a value."""

    def __init__(
        self, inputs: Sequence[ProgramInput], values: Sequence[Any], options: ExportOptions
    ) -> None:
        self.writer = Writer()
        self.attributes: list[Attribute] = []
        self.names: dict[int, str] = {}
        self.paths: dict[str, str] = {}
        self._inputs, self._values, self._options = inputs, values, options
        self.symbols: set[str] = set()
        self._header = ""

    @property
    def header(self) -> str:
        return self._header

    def declare(self, arguments: Structure | None, dims: Mapping[str, DimRange]) -> None:
        """Parameters, attributes, and what the call has to fit."""
        if arguments is None:
            raise InternalError("export", "a part of a program has no method of its own")
        for described in self._inputs:
            if described.live is not None:
                self._hold(described)
        given = {n: i for n, i in enumerate(self._inputs) if i.kind in _CALL}
        types = {number: type_of_value(self._values[number]) for number in given}
        names = {number: described.name for number, described in given.items()}
        taken = Arguments(self.writer, types, names)
        taken.declare(arguments)
        listed = "".join(f", {p.name}: {p.type}" for p in taken.parameters)
        self._header = f"def forward(self{listed}):"
        for number, described in given.items():
            # An input that no argument is has no value, and nothing reads it
            self.names[number] = taken.found.get(number, described.name)
        self._check(sorted(taken.found), dims)

    def returns_any(self) -> None:
        """The result is of a type that data decides."""
        self._header = self._header.removesuffix(":") + " -> Any:"

    def read(self, number: int) -> str:
        """The name of an input, which for a weight is that of its attribute."""
        if number not in self.names:
            name = self._inputs[number].name
            local = self.writer.fresh(name.replace(".", "_"))
            self.writer.line(f"{local} = {attribute_text(self.paths[name])}")
            self.names[number] = local
        return self.names[number]

    def keep(self, path: str, value: Any, type_: str = "") -> str:
        """An attribute that calls change, as the text has it."""
        path = self._own_path(path)
        self.attributes.append(Attribute(path, value, type_))
        return attribute_text(path)

    def _hold(self, described: ProgramInput) -> None:
        content = content_of(described, self._options)
        assert content is not None
        if described.kind is InputKind.PARAMETER:
            content = nn.Parameter(content, requires_grad=False)
        path = self.paths[described.name] = self._own_path(described.name)
        self.attributes.append(Attribute(path, content))
        for alias in described.aliases:
            self.attributes.append(Attribute(self._own_path(alias), content))

    def _own_path(self, name: str) -> str:
        """The dotted path of an attribute: the user's where TorchScript can have it."""
        parts = name.split(".")
        taken = {attribute.path for attribute in self.attributes}
        inner = {path[: at.start()] for path in taken for at in re.finditer(r"\.", path)}
        outer = {name[: at.start()] for at in re.finditer(r"\.", name)}
        plain = all(re.fullmatch(r"\w+", part, re.ASCII) for part in parts)
        if plain and name not in taken | inner and not outer & taken and not (
            {*parts} & _OF_MODULES
        ):  # fmt: skip
            self.writer.reserve(parts[0])
            return name
        found = self.writer.fresh("held_" + name)
        self.writer.note(f"`{name}` is the attribute `{found}` in TorchScript")
        return found

    # -- what a call has to fit ----------------------------------------------------------------

    def _check(self, given: Sequence[int], dims: Mapping[str, DimRange]) -> None:
        later: list[str] = []
        for number in given:
            value, text = self._values[number], self.names[number]
            shown = text_constant(self._inputs[number].name)
            if isinstance(value, torch.Tensor):
                dtype, rank = value.dtype, value.dim()
                self.writer.line(f"library.check_tensor({shown}, {text}, {dtype}, {rank})")
                for dim, size in enumerate(value.shape):
                    self._size(shown, f"{text}.size({dim})", size, dims, later, dim)
            else:
                self._number(shown, text, value, dims, later)
        for line in later:
            self.writer.line(line)

    def _number(
        self, shown: str, text: str, value: Any, dims: Mapping[str, DimRange], later: list[str]
    ) -> None:
        if isinstance(value, torch.SymBool):
            for symbol in map(str, expression_of(value).free_symbols):
                self._bind(symbol, f"int({text})")
        elif isinstance(value, torch.SymFloat):
            if expression_of(value).is_Symbol:
                self._bind(str(expression_of(value)), text)
        elif isinstance(value, torch.SymInt):
            self._size(shown, text, value, dims, later, -1)

    def _size(
        self,
        shown: str,
        text: str,
        size: Any,
        dims: Mapping[str, DimRange],
        later: list[str],
        dim: int,
    ) -> None:
        expression = expression_of(size)
        symbol = str(expression)
        if expression.is_Symbol and symbol not in self.symbols:
            self._bind(symbol, text)
            described = dims.get(symbol)
            if described is not None:
                upper = _MOST if described.upper is None else described.upper
                name = text_constant(described.name)
                self.writer.line(
                    f"library.check_range({name}, {symbol}, {described.lower}, {upper})"
                )
            return
        wanted = self.writer.size(size)
        later.append(f"library.check_size({shown}, {dim}, {text}, {wanted})")

    def _bind(self, symbol: str, text: str) -> None:
        self.symbols.add(symbol)
        self.writer.reserve(symbol)
        self.writer.line(f"{symbol} = {text}")


def attribute_text(path: str) -> str:
    """An attribute by its dotted path."""
    text = "self"
    for part in path.split("."):
        plain = part.isidentifier() and not keyword.iskeyword(part)
        text = f"{text}.{part}" if plain else f"getattr({text}, {constant(part)})"
    return text


def type_of_value(value: Any) -> str:
    match value:
        case torch.Tensor():
            return "Tensor"
        case bool() | torch.SymBool():
            return "bool"
        case int() | torch.SymInt():
            return "int"
        case float() | torch.SymFloat():
            return "float"
        case _:
            raise InternalError("export", f"an input of type {type_text(value)}")
