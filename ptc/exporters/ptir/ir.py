"""Nodes of the portable IR. Data only: text is `printer`'s and `parser`'s, meaning is the
operators'.

A module is a straight line of instructions; each defines one value. Sizes are index expressions in
the module's symbols. No torch here: the C++ executor reads the same form.
"""

from __future__ import annotations

from dataclasses import dataclass

from ptc.loops.index import Index

#: Version of the text form. A reader refuses a greater one.
SCHEMA = 2


@dataclass(frozen=True, slots=True)
class Dim:
    """A symbolic size with its display name and inclusive range (`upper` None: no bound)."""

    symbol: str
    name: str
    lower: int
    upper: int | None


@dataclass(frozen=True, slots=True)
class TensorType:
    """`f32[s0, 10]`."""

    dtype: str
    shape: tuple[Index, ...]


@dataclass(frozen=True, slots=True)
class ScalarType:
    """`int`, `float`, `bool` or `none`. `int{s0}` is a number that is known as the size `s0`."""

    kind: str
    size: Index | None = None


@dataclass(frozen=True, slots=True)
class TupleType:
    """`(f32[s0], i64[s0])`, the type of an operator with several results."""

    items: tuple[Type, ...]


Type = TensorType | ScalarType | TupleType


@dataclass(frozen=True, slots=True)
class Value:
    """A reference to the value that instruction or input `number` defines: `%3`."""

    number: int


@dataclass(frozen=True, slots=True)
class DTypeName:
    """An element type as an argument: `dtype(f32)`."""

    name: str


@dataclass(frozen=True, slots=True)
class Tag:
    """A torch enumeration as an argument: `layout("strided")`, `memory_format("channels_last")`,
    `device("cpu")`."""

    kind: str
    text: str


#: An argument. Python's int stands for Index constants; lists nest.
Argument = Value | Index | float | bool | None | str | DTypeName | Tag | tuple["Argument", ...]


@dataclass(frozen=True, slots=True)
class Place:
    """The user's line that an instruction serves."""

    file: str
    line: int
    text: str


@dataclass(frozen=True, slots=True)
class Input:
    """An input: `%0 : f32[s0, 3] = user "x"`. Values of parameters, buffers and constants are in
    the weights file under the same name."""

    number: int
    type: Type
    kind: str
    name: str


@dataclass(frozen=True, slots=True)
class Instruction:
    """`%3 : f32[s0, 10] = aten::linear(%1, %2, None)  # "model.py":12 "return self.fc(x)"`: all
    arguments of the operator's schema, by position."""

    number: int
    type: Type
    op: str
    args: tuple[Argument, ...]
    place: Place | None = None


@dataclass(frozen=True, slots=True)
class Assumption:
    """`assume s0 - s1 == 0`: what is known of sizes where a graph runs. `relation` is `==`, `!=` or
    `>=`."""

    difference: Index
    relation: str


@dataclass(frozen=True, slots=True)
class Output:
    """`return %5 "logits"`, with `alias 0` when eager gives a view of input 0; for a mutated input
    `write %8 2 "steps"`: copy value 8 into input 2."""

    value: Argument
    name: str
    alias: int | None = None
    writes: int | None = None


@dataclass(frozen=True, slots=True)
class Module:
    """A whole program, or a graph of one with control flow."""

    name: str
    dims: tuple[Dim, ...]
    inputs: tuple[Input, ...]
    instructions: tuple[Instruction, ...]
    outputs: tuple[Output, ...]
    assumptions: tuple[Assumption, ...] = ()
