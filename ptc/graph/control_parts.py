"""What items of programs with control flow read and assign, and the ports of their segments.

Takes items, gives variables and fx nodes. Knows nothing of what items do.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, assert_never

import torch
from torch.fx.node import map_aggregate

from ptc.graph.control import (
    Assign,
    Bind,
    Compute,
    DataSized,
    Emit,
    Formatted,
    If,
    Item,
    ListItem,
    MakeText,
    NumberKind,
    NumberVar,
    Raise,
    ReadItem,
    Segment,
    Switch,
    TensorVar,
    TextItem,
    Var,
    While,
)
from ptc.graph.program import AtenProgram, CapturedProgram, InputKind, ProgramInput, ProgramOutput
from ptc.graph.symbols import symbols_of


def reads_of(item: Item) -> Iterator[Var]:
    """The variables that an item reads itself, not in its bodies. Of a segment not the weights."""
    match item:
        case Segment():
            for described, node in placeholders_of(item.program):
                if described.kind in (InputKind.USER, InputKind.SCALAR):
                    yield variable_of(described.name, node.meta.get("val"))
        case Compute(_, _, args) | DataSized(_, _, args):
            yield from _variables(args)
        case ReadItem(_, tensor):
            yield tensor
        case Bind():
            yield from _variables((item.tensor, item.value))
        case Assign(_, source):
            yield from _variables((source,))
        case ListItem() | TextItem():
            yield from _variables(item.args)
        case If():
            yield item.condition
        case Switch():
            yield item.selector
        case While():
            yield item.again
        case Emit(_, text) | Raise(_, text) | MakeText(_, text):
            yield from (part.value for part in text if isinstance(part, Formatted))
        case _:
            assert_never(item)


def variables_of(item: Item) -> Iterator[Var]:
    """The variables that an item names, read or assigned, as it names them; of a segment none."""
    if isinstance(item, Segment):
        return
    yield from reads_of(item)
    match item:
        case Compute(target) | ReadItem(target) | Assign(target) | MakeText(target):
            yield target
        case ListItem() | TextItem() if item.target is not None:
            yield item.target
        case DataSized(targets):
            yield from targets
        case _:
            pass


def placeholders_of(
    program: CapturedProgram | AtenProgram,
) -> Iterator[tuple[ProgramInput, torch.fx.Node]]:
    """The inputs with their placeholders, as far as there are both."""
    nodes = [node for node in program.graph.graph.nodes if node.op == "placeholder"]
    return zip(program.inputs, nodes, strict=False)


def results_of(program: CapturedProgram) -> list[tuple[ProgramOutput, Any]]:
    """The outputs with their fake values, as far as there are both."""
    output = next(n for n in reversed(program.graph.graph.nodes) if n.op == "output")
    results: Any = output.args[0]
    values = [r.meta.get("val") if isinstance(r, torch.fx.Node) else r for r in results]
    return list(zip(program.outputs, values, strict=False))


def variable_of(name: str, value: Any) -> Var:
    """The variable of which this is the fake value, a tensor or a number."""
    match value:
        case torch.Tensor():
            return TensorVar(name, value)
        case bool() | torch.SymBool():
            return NumberVar(name, NumberKind.BOOL)
        case int() | torch.SymInt():
            return NumberVar(name, NumberKind.INT)
        case float() | torch.SymFloat():
            return NumberVar(name, NumberKind.FLOAT)
        case _:
            raise TypeError(f"`{name}` is a {type(value).__name__}, no tensor and no number")


def flat(value: Any) -> list[Any]:
    """The leaves of a node's arguments."""
    found: list[Any] = []
    map_aggregate(value, found.append)
    return found


def symbols_at(node: torch.fx.Node) -> frozenset[str]:
    """The symbols in a node's arguments and in its fake value."""
    return symbols_of([*flat(node.args), *flat(node.kwargs), node.meta.get("val")])


def _variables(values: Sequence[Any]) -> Iterator[Var]:
    return (value for value in values if isinstance(value, Var))
