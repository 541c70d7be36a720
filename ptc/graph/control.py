"""The captured program with control flow: a tree of items over named variables.

Straight-line tensor computation stays in fx graphs (`Segment`, a `CapturedProgram` without argument
structure); everything between segments is an item: branches, loops, Python numbers, lists, effects.
A program without control flow is a plain `CapturedProgram` and not this.

Meaning. Items of a body run in order. Variables are mutable and live in one namespace for the whole
program; each name has one type (`TensorVar`, `NumberVar`, `TextVar`, `ListVar`). The user's tensor
inputs, and weights that the program writes, are variables named as their `ProgramInput`. Tensors
are references to storage as in Python: `Assign` shares it, a segment that writes to an input
(`WRITE_BACK` after functionalisation) changes the storage that the variable refers to, so every
variable that shares it sees the change. No variable is a partial view of another one's storage:
views are derived inside segments from their base.
Symbolic sizes (`s3`) that occur in shapes are integers in the same namespace. Those of the inputs'
shapes are bound on entry; every other one is bound by a `Bind` item before its first use, anew in
each iteration of a loop.
"""

from __future__ import annotations

import enum
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch

from ptc.graph.program import CapturedProgram, DimRange, ProgramInput, Structure
from ptc.support.diagnostics import Location


class NumberKind(enum.Enum):
    """Python numbers: `int` in 64 bits with overflow reported, `float` (double), `bool`."""

    INT = "int"
    FLOAT = "float"
    BOOL = "bool"


@dataclass(frozen=True, slots=True)
class TensorVar:
    """A tensor variable. `fake` gives dtype, shape and strides (dense, a permutation of row-major);
    its sizes may be symbolic."""

    name: str
    fake: torch.Tensor = field(compare=False)


@dataclass(frozen=True, slots=True)
class NumberVar:
    name: str
    kind: NumberKind


@dataclass(frozen=True, slots=True)
class TextVar:
    """A Python string, which never changes."""

    name: str


@dataclass(frozen=True, slots=True)
class ListVar:
    """A list whose length data decides. `element` is a NumberKind, `str`, or an example: a tensor,
    of which elements have the dtype and rank, where a dimension may differ from element to element
    if `element` has a symbolic size, which then is not bound by anything; or a list, without a
    name. Lists in lists are references."""

    name: str
    element: NumberKind | type[str] | torch.Tensor | ListVar = field(compare=False)


Var = TensorVar | NumberVar | TextVar | ListVar
Operand = NumberVar | int | float | bool


# --- straight-line computation ------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Segment:
    """Tensor computation without control flow.

    The names of `program.inputs` say what each placeholder is: a weight of the whole program
    (PARAMETER, BUFFER, CONSTANT), a tensor variable (USER), or a number variable (SCALAR). The
    names of `program.outputs` are the tensor variables that are assigned.
    """

    program: CapturedProgram


@dataclass(frozen=True, slots=True)
class Compute:
    """`target = op(*args)` on Python numbers with Python's meaning. See `OPERATIONS`. The capture
    has made sure that no operand raises (no division by zero, no domain error); only an int result
    that does not fit 64 bits fails the run."""

    target: NumberVar
    op: str
    args: tuple[Operand, ...]


@dataclass(frozen=True, slots=True)
class ReadItem:
    """`target = tensor.item()`: the one element of a tensor, as bool, int or float."""

    target: NumberVar
    tensor: TensorVar


@dataclass(frozen=True, slots=True)
class Bind:
    """Give symbol its value: dimension `dim` of `tensor`, or `value`."""

    symbol: str
    tensor: TensorVar | None = None
    dim: int = 0
    value: Operand | None = None


@dataclass(frozen=True, slots=True)
class Assign:
    """`target = source`: a reference for tensors, texts and lists, a copy of a number. A source
    that has no value on the way taken leaves the target without one: then nothing reads it."""

    target: Var
    source: Var | int | float | bool


@dataclass(frozen=True, slots=True)
class DataSized:
    """An operator whose result's shape depends on data: `op` is one of `DATA_SIZED`. The sizes of
    the targets are bound by following `Bind` items."""

    targets: tuple[TensorVar, ...]
    op: str
    args: tuple[TensorVar | Operand | None, ...]


# --- lists --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ListItem:
    """An operation on a list whose length data decides.

    `op`: `new` (target list; args: the first elements; where one of them has no value on the way
    taken, the list has none, and nothing reads it), `copy` (a new list with a list's elements),
    `append`, `extend`, `insert` (list, index, value), `set` (list, index, value), `clear`,
    `reverse`; with a target: `get` (list, index), `pop` (list, index), `length`, `slice` (list,
    start, stop; step 1), `concat` (two lists), `same` (two lists: whether they are one), `lengths`
    (list of lists: their lengths), `flat` (list of lists: the elements of all), `stack` and `cat`
    (list, dim: a tensor), `find` (a list and a number, text or list, any number of times: the first
    index at which each of the lists has the element beside it, -1 if there is none; a NaN in them
    fails the run), `pick` (list, list of indices: a new list), `filled` (list, value: a new list
    with the value in place of each element), and those on the table of a set
    (`set_tables.TABLE_OPERATIONS`). Indices are valid and not negative: the capture has tested
    them.
    """

    op: str
    target: Var | None
    args: tuple[Var | Operand, ...]


# --- texts --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class MakeText:
    """`target` = the parts of a text, formatted and put together."""

    target: TextVar
    text: Text


@dataclass(frozen=True, slots=True)
class TextItem:
    """`target = op(*args)` on strings. See `control_texts.TEXT_OPERATIONS`. Raises nothing: what
    Python would refuse the capture has tested; an int of more than 64 bits fails the run."""

    op: str
    target: Var
    args: tuple[Var | Operand | str, ...]


# --- control flow -------------------------------------------------------------------------------


@dataclass(slots=True)
class Body:
    items: list[Item] = field(default_factory=list["Item"])


@dataclass(slots=True)
class If:
    """`construct` names the Python construct (`if`, `and`, `while`, `max`, ...) at `location`."""

    condition: NumberVar
    then: Body
    orelse: Body
    location: Location | None = None
    construct: str = "if"


#: The construct of an `If` that checks what a file says of sizes: no program of the user's has it.
ASSUME = "assume"


@dataclass(slots=True)
class Switch:
    """Run the arm with the number `selector`, which is in range."""

    selector: NumberVar
    arms: tuple[Body, ...]
    location: Location | None = None
    construct: str = "switch"


@dataclass(slots=True)
class While:
    """Run `body`, then again for as long as `again` is true after it."""

    body: Body
    again: NumberVar
    location: Location | None = None
    construct: str = "while"


# --- effects ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Formatted:
    """`format(value, spec)`, or `str` or `repr` of it without spec: `conversion` is `format`, `str`
    or `repr`. Numbers, texts and lists as CPython formats them; tensors as torch does."""

    value: Var
    spec: str = ""
    conversion: str = "str"


Text = tuple[str | Formatted, ...]


@dataclass(frozen=True, slots=True)
class Emit:
    """Text to the outside world, in order: `channel` is `stdout`, `stderr`, `log` or `warning`.
    `label` is the level of a log record (`WARNING`) with its logger (`WARNING:my.logger`), or the
    category of a warning (`UserWarning`)."""

    channel: str
    text: Text
    label: str = ""
    location: Location | None = None


@dataclass(frozen=True, slots=True)
class Raise:
    """End the run with the user's exception: its class's qualified name (builtins without module)
    and message. Variables written so far keep their values (inputs, state)."""

    type_name: str
    message: Text
    location: Location | None = None


Item = (
    Segment
    | Compute
    | ReadItem
    | Bind
    | Assign
    | DataSized
    | ListItem
    | MakeText
    | TextItem
    | If
    | Switch
    | While
    | Emit
    | Raise
)


#: Operations of `Compute` -> number of operands. The arithmetic ones take int, float and bool as
#: Python does (bool counts as int); comparisons give bool; `int`, `float`, `bool` convert; `select`
#: is `a if c else b`; `power` is a power of floats that is infinite or NaN where Python raises;
#: `hash_part` and `hash_end` make the hash of a tuple (`set_tables`); the rest are functions of
#: `math` with its results.
OPERATIONS: Mapping[str, int] = {
    "add": 2, "sub": 2, "mul": 2, "truediv": 2, "floordiv": 2, "mod": 2, "pow": 2,
    "power": 2, "neg": 1, "pos": 1, "abs": 1, "invert": 1,
    "and": 2, "or": 2, "xor": 2, "lshift": 2, "rshift": 2,
    "eq": 2, "ne": 2, "lt": 2, "le": 2, "gt": 2, "ge": 2, "not": 1,
    "int": 1, "float": 1, "bool": 1, "round": 1, "round_to": 2, "min": 2, "max": 2, "select": 3,
    "math.sqrt": 1, "math.exp": 1, "math.log": 1, "math.log2": 1, "math.log10": 1, "math.log1p": 1,
    "math.expm1": 1, "math.sin": 1, "math.cos": 1, "math.tan": 1, "math.asin": 1, "math.acos": 1,
    "math.atan": 1, "math.atan2": 2, "math.sinh": 1, "math.cosh": 1, "math.tanh": 1,
    "math.floor": 1, "math.ceil": 1, "math.trunc": 1, "math.fabs": 1, "math.pow": 2,
    "math.hypot": 2, "math.fmod": 2, "math.copysign": 2, "math.isnan": 1, "math.isinf": 1,
    "math.isfinite": 1, "math.isqrt": 1, "math.gcd": 2, "math.degrees": 1, "math.radians": 1,
    "math.erf": 1, "math.erfc": 1, "math.cbrt": 1, "math.exp2": 1, "math.asinh": 1,
    "math.acosh": 1, "math.atanh": 1, "math.remainder": 2,
    "hash": 1, "hash_part": 2, "hash_end": 2,
}  # fmt: skip

#: Operators of `DataSized`: what eager's operator of that name computes.
#: nonzero(x); masked_select(x, mask) of equal shapes; unique(x) sorted, with inverse and counts as
#: second and third target if there are three; repeat_interleave(repeats) of a vector of ints;
#: bincount(x, minlength).
DATA_SIZED: frozenset[str] = frozenset(
    {"nonzero", "masked_select", "unique", "repeat_interleave", "bincount"}
)


@dataclass(frozen=True, slots=True)
class ControlOutput:
    """One flat result: a variable, or a number fixed at capture."""

    name: str
    value: Var


@dataclass(frozen=True, slots=True)
class StateNumber:
    """A Python number kept in an attribute of the model that calls change: a variable that starts
    with `initial` in a new session and keeps its value from call to call."""

    variable: NumberVar
    path: str  # `counter`, `layer.steps`
    initial: int | float | bool


@dataclass(frozen=True, slots=True)
class StateReference:
    """A tensor, string or list that is kept from call to call. It has no value in a new session;
    the program tells by a kept number whether it has one."""

    variable: TensorVar | TextVar | ListVar
    path: str


@dataclass(slots=True)
class ControlProgram:
    """A whole program with control flow.

    inputs      as in CapturedProgram; `values` has the fake value of each.
    outputs     flat results; `result` is their structure (leaf indices count `outputs`).
    variants    if the structure of the result depends on data: `result` is `variants[selector]`,
                and an output that a variant does not use has no meaning in it.
    written     names of inputs (user's tensors, buffers) that the program writes to: an input is
                written in place, a buffer keeps its value in the session.
    state       numbers kept from call to call; `references` what else is kept.
    dims        ranges of the symbols of the inputs; `sizes` those of all other symbols.
    assigned    as in CapturedProgram.
    """

    inputs: tuple[ProgramInput, ...]
    values: tuple[Any, ...]
    body: Body
    outputs: tuple[ControlOutput, ...]
    fake_mode: Any
    dims: Mapping[str, DimRange] = field(default_factory=dict[str, DimRange])
    sizes: Mapping[str, DimRange] = field(default_factory=dict[str, DimRange])
    arguments: Structure | None = None
    result: Structure | None = None
    variants: tuple[Structure, ...] = ()
    selector: NumberVar | None = None
    state: tuple[StateNumber, ...] = ()
    references: tuple[StateReference, ...] = ()
    written: frozenset[str] = frozenset()
    name: str = "model"
    location: Location | None = None
    notes: tuple[str, ...] = ()
    assigned: tuple[tuple[Any, str], ...] = ()


def walk(body: Body) -> Iterator[Item]:
    """Every item, outermost first."""
    for item in body.items:
        yield item
        for inner in bodies(item):
            yield from walk(inner)


def bodies(item: Item) -> tuple[Body, ...]:
    """The bodies directly inside an item."""
    if isinstance(item, If):
        return (item.then, item.orelse)
    if isinstance(item, Switch):
        return item.arms
    return (item.body,) if isinstance(item, While) else ()


def segment_numbers(program: ControlProgram) -> dict[int, int]:
    """The number of each segment, in the order of `walk`, by id of the segment."""
    numbers: dict[int, int] = {}
    for item in walk(program.body):
        if isinstance(item, Segment):  # one may stand in several places
            numbers.setdefault(id(item), len(numbers))
    return numbers
