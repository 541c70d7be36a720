"""The captured program and its functional form: fx graphs with a signature.

`capture` makes a `CapturedProgram` (torch-level operators, mutation allowed); `autograd` turns it
into an `AtenProgram` (functional, core ATen and opaque `ptc::` operators). Both keep their inputs
in the order of the graph's placeholders. Nothing here compiles or runs anything.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
import torch.fx

from ptc.support.diagnostics import Location


class InputKind(enum.Enum):
    """Where a placeholder's value comes from."""

    PARAMETER = "parameter"  # an nn.Parameter of the module, read from live storage at each call
    BUFFER = "buffer"  # a registered buffer, or any other tensor that outlives the call
    CONSTANT = "constant"  # a tensor found in a closure, a global, a default or a plain attribute
    USER = "user"  # a tensor argument of the call
    SCALAR = "scalar"  # a Python int (symbolic), float or bool argument of the call


@dataclass(frozen=True, slots=True)
class ProgramInput:
    """One placeholder.

    `name` is unique within the program and stable: the qualified name for parameters and buffers
    (`layer1.0.weight`), the argument path for user inputs (`x`, `mask`, `batch.ids`).
    `source` is the Python expression that yields the value at a call (`L['x']`,
    `L['self'].layer1.weight`). `live` holds the tensor itself for all kinds but USER and SCALAR.
    Tied tensors (same object) appear once; `aliases` then lists the other qualified names.
    """

    name: str
    kind: InputKind
    source: str
    live: torch.Tensor | None = None
    aliases: tuple[str, ...] = ()


class OutputKind(enum.Enum):
    """What the caller does with one element of the graph's output tuple."""

    USER = "user"  # part of the result
    WRITE_BACK = (
        "write_back"  # copy into the input at position `target` (a mutated input or buffer)
    )


@dataclass(frozen=True, slots=True)
class ProgramOutput:
    """One element of the graph's flat output tuple.

    `alias_of` is the index of the input whose storage a USER output shares in eager (it is that
    input or a view of it), else None; a library returns a copy either way and says so in its
    manifest.
    """

    name: str
    kind: OutputKind = OutputKind.USER
    target: int | None = None
    alias_of: int | None = None


@dataclass(frozen=True, slots=True)
class Leaf:
    """A place in a structure that holds flat value number `index`."""

    index: int


@dataclass(frozen=True, slots=True)
class Const:
    """A place in a structure that holds a fixed Python value (None, int, str, bool, float)."""

    value: Any


@dataclass(frozen=True, slots=True)
class Node:
    """A container in a structure.

    `kind` is one of `list`, `tuple`, `dict`, `namedtuple`, `dataclass`, `object`; `type_name` is
    `module.QualName` for the last three and for subclasses of dict and tuple (a ModelOutput is a
    `dict` with a type_name, a torch.Size a `tuple`). `keys` are the field names or dict keys (empty
    for list and tuple). A result may also have `rows`: a list with one child, the structure of each
    element, whose leaves are lists with a value for each element; and `tuple of` the elements of
    its child. In `rows`, `one of` has the number of one of its other children for each element.
    """

    kind: str
    children: tuple[Structure, ...]
    keys: tuple[Any, ...] = ()
    type_name: str = ""


Structure = Leaf | Const | Node


@dataclass(frozen=True, slots=True)
class DimRange:
    """A symbolic size: its display name (`batch`) and the inclusive range it was captured for."""

    name: str
    lower: int
    upper: int | None


@dataclass(slots=True)
class CapturedProgram:
    """A torch-level graph together with all that is needed to call it.

    graph        fx GraphModule without submodules: placeholders in the order of `inputs`,
    call_function
                 nodes on torch functions and Tensor methods (as call_method), one output node that
                 returns a flat tuple. Every node has `meta["val"]` (fake tensor, SymInt, number or
                 a tuple/list of these) and `meta["location"]` (Location of the user's line) and
                 `meta["stack"]` (tuple of Location, outermost first).
    inputs       see ProgramInput.
    outputs      the elements of the output tuple (all USER; mutation is still in the graph).
    arguments    structure of the call's (args, kwargs) in terms of USER and SCALAR inputs: Leaf
                 indices count positions in `inputs`. None for a segment between graph breaks.
    result       structure of the value returned, Leaf indices count positions in `outputs`.
                 None for a segment.
    dims         symbolic sizes by symbol name (`s0`), as they occur in `meta["val"]` shapes.
    declared     `dims` and the sizes that turned out to be fixed, or equal to another one.
    notes        what the user should know of the capture, a sentence each.
    assigned     attributes of live objects (of a dict: keys) that a call of the user's function
                 may assign to: the object and the name. Empty for a segment.
    fake_mode    the FakeTensorMode (with ShapeEnv) of all `meta["val"]`.
    conditions   for a part of a program with control flow: what is known of its symbolic sizes
                 where it runs (a condition -> its truth, or None).
    equal        of its symbols, those that are a number or another size where it runs.
    """

    graph: torch.fx.GraphModule
    inputs: tuple[ProgramInput, ...]
    outputs: tuple[ProgramOutput, ...]
    fake_mode: Any
    dims: Mapping[str, DimRange] = field(default_factory=dict[str, DimRange])
    arguments: Structure | None = None
    result: Structure | None = None
    name: str = "model"
    location: Location | None = None
    notes: tuple[str, ...] = ()
    assigned: tuple[tuple[Any, str], ...] = ()
    conditions: Callable[[Any], bool | None] | None = None
    equal: Mapping[Any, Any] = field(default_factory=dict[Any, Any])
    declared: Mapping[str, DimRange] = field(default_factory=dict[str, DimRange])


@dataclass(slots=True)
class AtenProgram:
    """The functional form: core ATen and `ptc::` operators, no mutation, no aliasing operators'
    side effects. The graph returns a flat tuple described by `outputs`: the user's outputs first,
    then the new values of mutated inputs (`WRITE_BACK`). `inputs` keeps order and length of the
    captured program's; an input that nothing reads keeps its placeholder. `assigned` and `equal`
    are those of the captured program.
    """

    graph: torch.fx.GraphModule
    inputs: tuple[ProgramInput, ...]
    outputs: tuple[ProgramOutput, ...]
    fake_mode: Any
    dims: Mapping[str, DimRange] = field(default_factory=dict[str, DimRange])
    arguments: Structure | None = None
    result: Structure | None = None
    name: str = "model"
    assigned: tuple[tuple[Any, str], ...] = ()
    equal: Mapping[Any, Any] = field(default_factory=dict[Any, Any])
