"""Nodes of the portable IR for programs with control flow. Data only, as in `ir`.

A program is a tree of statements over named variables; what runs without control flow between two
statements is a graph, a `Module` of its own, whose ports are variables. The meaning of statements
is that of the items of `ptc.graph.control`, which they are named after.
"""

from __future__ import annotations

from dataclasses import dataclass

from ptc.exporters.ptir.ir import Dim, Module, Place, ScalarType, TensorType
from ptc.loops.index import Index


@dataclass(frozen=True, slots=True)
class TextType:
    """`text`, a Python string."""


@dataclass(frozen=True, slots=True)
class ElementType:
    """`f32[?, s0]`, the tensors in a list: a size of None may differ from one to the other."""

    dtype: str
    shape: tuple[Index | None, ...]


@dataclass(frozen=True, slots=True)
class ListType:
    """`list(int)`."""

    element: ScalarType | TextType | ElementType | ListType


VariableType = TensorType | ScalarType | TextType | ListType


@dataclass(frozen=True, slots=True)
class Variable:
    """A reference to a variable: `$n3`, `$"layer.steps"` where the name is no identifier."""

    name: str


@dataclass(frozen=True, slots=True)
class Symbol:
    """A size as a number, `s4`; as the target of a statement, which gives the size its value."""

    name: str


@dataclass(frozen=True, slots=True)
class Formatted:
    """A variable's text as an argument: `str($n1)`, `repr($t)`, `format($n2, ".2f")`."""

    conversion: str
    variable: Variable | Symbol
    spec: str = ""


#: An argument of a statement.
Operand = Variable | Symbol | Formatted | int | float | bool | str | None


@dataclass(frozen=True, slots=True)
class Statement:
    """`$n2 = number::add($n1, 1)`, `prim::emit("stdout", "", "Path ", str($n1))`."""

    op: str
    args: tuple[Operand, ...] = ()
    targets: tuple[Variable | Symbol, ...] = ()
    place: Place | None = None


@dataclass(frozen=True, slots=True)
class If:
    """`if $n3 "if" {`, `} else {`, `}`."""

    condition: Variable
    then: Block
    orelse: Block
    construct: str
    place: Place | None = None


@dataclass(frozen=True, slots=True)
class Switch:
    """`switch $n3 "index" {`, `} case {`, `}`: the arm with the number of the selector."""

    selector: Variable
    arms: tuple[Block, ...]
    construct: str
    place: Place | None = None


@dataclass(frozen=True, slots=True)
class While:
    """`while "while" {`, `} again $n3`: once, and then for as long as the variable is true."""

    body: Block
    again: Variable
    construct: str
    place: Place | None = None


Block = tuple["Statement | If | Switch | While", ...]


@dataclass(frozen=True, slots=True)
class ControlInput:
    """`input "x" : f32[s0, 3] = user`; `= buffer written` if the program writes to it."""

    name: str
    type: TensorType | ScalarType
    kind: str
    written: bool = False


@dataclass(frozen=True, slots=True)
class Declaration:
    """`var $n3 : int`."""

    name: str
    type: VariableType


@dataclass(frozen=True, slots=True)
class State:
    """`state $n3 "counter" 0`: a number kept from call to call, with what a new session has;
    `state $l2 "history"`: anything else that is kept, which has no value in a new session."""

    name: str
    path: str
    initial: int | float | bool | None = None


@dataclass(frozen=True, slots=True)
class ControlModule:
    """A whole program. `dims` are the sizes of the inputs, `sizes` those that the program binds;
    `graphs` have no dims of their own."""

    name: str
    dims: tuple[Dim, ...]
    sizes: tuple[Dim, ...]
    inputs: tuple[ControlInput, ...]
    variables: tuple[Declaration, ...]
    states: tuple[State, ...]
    graphs: tuple[Module, ...]
    body: Block
    outputs: tuple[tuple[Variable | Symbol, str], ...]
    selector: Variable | None = None
