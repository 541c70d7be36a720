"""Programs with control flow in functional form: values, and operations with regions.

A `ControlProgram` has variables that change; here each value is made once, by one operation. A
branch has results, a loop carries values from one iteration to the next and has results; both have
regions, which use values from outside freely (`free_values` lists them). Lists are values, too: an
operation on one gives a new one. There are no effects.

`regions_build.build_regions` makes this form of a functionalised program. Knows no export format.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import assert_never

from ptc.autograd.control import FunctionalSegment
from ptc.graph.control import ControlProgram, StateNumber, StateReference, Text, Var
from ptc.graph.program import ProgramInput
from ptc.support.diagnostics import Location


@dataclass(frozen=True, slots=True, eq=False)
class Value:
    """What one operation, or the entry of a region, makes. `name` is unique in the program; `type`
    is a variable of its type, whose own name says where the value comes from."""

    name: str
    type: Var

    def __repr__(self) -> str:
        return self.name


@dataclass(slots=True, eq=False)
class Constant:
    """A number or string fixed at capture."""

    result: Value
    content: int | float | bool | str


@dataclass(slots=True, eq=False)
class Undefined:
    """Any value of the type: nothing that has a meaning depends on it."""

    result: Value


@dataclass(slots=True, eq=False)
class Call:
    """A segment's graph on `args`, one for each of its inputs: a value, or None for a weight of the
    program, which is not written, and for an input on which no needed result depends. `results` are
    the elements of its output tuple; None for one that nothing needs."""

    segment: FunctionalSegment
    args: list[Value | None]
    results: list[Value | None]


@dataclass(slots=True, eq=False)
class Dimension:
    """The size of a tensor in one dimension, an int."""

    result: Value
    tensor: Value
    dim: int


@dataclass(slots=True, eq=False)
class Primitive:
    """An operation of the captured form on values. `kind` is the item that it was:

    `compute`     `op` of `control.OPERATIONS` on numbers; one result
    `item`        the one element of a tensor, a number
    `data_sized`  `op` of `control.DATA_SIZED`; args may be None; a result for each target
    `list`        `op` of `ListItem`. An operation that changes its list gives the new one as its
                  first result; what it gives beside it (`pop`) is the second
    `text`        `op` of `TextItem`, or `make`: `args` are the values that are formatted in `text`
    """

    kind: str
    op: str
    args: list[Value | None]
    results: list[Value]
    location: Location | None = None
    text: Text = ()


@dataclass(slots=True, eq=False)
class Region:
    """Operations in order, the values that enter (of a loop's body), and those that leave."""

    operations: list[Operation] = field(default_factory=list["Operation"])
    params: list[Value] = field(default_factory=list[Value])
    results: list[Value] = field(default_factory=list[Value])


@dataclass(slots=True, eq=False)
class Branch:
    """`results` are those of `then` if `condition` (a bool) holds, else those of `orelse`."""

    condition: Value
    then: Region
    orelse: Region
    results: list[Value]
    location: Location | None = None
    construct: str = "if"


@dataclass(slots=True, eq=False)
class Loop:
    """Run `body` with `initial`, then again with its results for as long as `again` (a bool of the
    body) is true after it. `results` are those of the last run. `body.params`, `body.results`,
    `initial` and `results` have the same length."""

    initial: list[Value]
    body: Region
    again: Value
    results: list[Value]
    location: Location | None = None
    construct: str = "while"


Operation = Constant | Undefined | Call | Dimension | Primitive | Branch | Loop


@dataclass(slots=True)
class RegionProgram:
    """A whole program.

    inputs      values of the program's inputs that are no plain weights, in its order: the user's
                tensors and numbers, and buffers that the program writes
    state       numbers and other values kept from call to call: each enters as a value
    outputs     the flat results of `program`, by name
    written     the content of each written input after the call
    kept        the value of each `state` after the call
    selector    which of `program.variants` the result is
    notes       what was left out (effects, exceptions), a sentence each
    """

    program: ControlProgram
    inputs: list[tuple[ProgramInput, Value]]
    state: list[tuple[StateNumber | StateReference, Value]]
    body: Region
    outputs: list[tuple[str, Value]]
    written: list[tuple[ProgramInput, Value]]
    kept: list[tuple[StateNumber | StateReference, Value]]
    selector: Value | None
    notes: tuple[str, ...] = ()


def results_of(operation: Operation) -> list[Value]:
    """The values that an operation makes."""
    match operation:
        case Constant() | Undefined() | Dimension():
            return [operation.result]
        case Call():
            return [value for value in operation.results if value is not None]
        case Primitive() | Branch() | Loop():
            return operation.results
        case _:
            assert_never(operation)


def operands_of(operation: Operation) -> list[Value]:
    """The values that an operation uses itself, not in its regions."""
    match operation:
        case Constant() | Undefined():
            return []
        case Dimension():
            return [operation.tensor]
        case Call() | Primitive():
            return [value for value in operation.args if value is not None]
        case Branch():
            return [operation.condition]
        case Loop():
            return operation.initial
        case _:
            assert_never(operation)


def regions_of(operation: Operation) -> tuple[Region, ...]:
    """The regions directly inside an operation."""
    match operation:
        case Branch():
            return (operation.then, operation.orelse)
        case Loop():
            return (operation.body,)
        case _:
            return ()


def walk(region: Region) -> Iterator[Operation]:
    """Every operation, outermost first."""
    for operation in region.operations:
        yield operation
        for inner in regions_of(operation):
            yield from walk(inner)


def free_values(region: Region, also: Sequence[Value] = ()) -> list[Value]:
    """The values that a region uses and does not make, in order of first use. `also`: further
    values that are used at its end (a loop's `again`)."""
    found: dict[Value, None] = {}
    made: set[Value] = set(region.params)
    for operation in region.operations:
        used = list(operands_of(operation))
        for inner in regions_of(operation):
            last = [operation.again] if isinstance(operation, Loop) else []
            used += free_values(inner, last)
        found.update(dict.fromkeys(value for value in used if value not in made))
        made.update(results_of(operation))
    ends = [*region.results, *also]
    found.update(dict.fromkeys(value for value in ends if value not in made))
    return list(found)
