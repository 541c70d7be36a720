"""Functionalisation of a program with control flow: each segment on its own.

Takes a ControlProgram, gives it with the functional form of its segments. A buffer that the program
writes is a variable here: segments take it as they take the user's tensors.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import torch
from torch.fx import Graph, GraphModule, Node

from ptc.autograd import torch_internals as internals
from ptc.autograd.functionalise import functionalise
from ptc.graph.control import ControlProgram, Segment, walk
from ptc.graph.program import AtenProgram, CapturedProgram, DimRange, InputKind, ProgramInput
from ptc.graph.symbols import expression_of, same_view, symbols_of
from ptc.support.diagnostics import CompileError


@dataclass(frozen=True, slots=True)
class FunctionalSegment:
    """`shared`: which results, by position, are an input as a whole, by name: the same tensor."""

    item: Segment
    aten: AtenProgram
    shared: dict[int, str]


@dataclass(frozen=True, slots=True)
class FunctionalControl:
    """A program with control flow and its segments, in the tree's order."""

    program: ControlProgram
    segments: tuple[FunctionalSegment, ...]


def functionalise_control(program: ControlProgram) -> FunctionalControl:
    """The functional form of every segment. Raises as `functionalise` does."""
    _refuse_shared_memory(program)
    seen: dict[int, FunctionalSegment] = {}
    for item in walk(program.body):
        if isinstance(item, Segment) and id(item) not in seen:
            aten = functionalise(_standalone(item.program, program))
            seen[id(item)] = FunctionalSegment(item, aten, _shared(aten))
    return FunctionalControl(program, tuple(seen.values()))


def _standalone(segment: CapturedProgram, program: ControlProgram) -> CapturedProgram:
    """A segment with the ranges of the sizes that occur in it. Those that no input of it shows are
    given to it as numbers."""
    inputs = tuple(
        replace(i, kind=InputKind.USER, live=None) if i.name in program.written else i
        for i in segment.inputs
    )
    dims = _ranges(segment, program)
    shown = _shown_sizes(segment)
    hidden = [symbol for symbol in dims if symbol not in shown]
    given = tuple(ProgramInput(symbol, InputKind.SCALAR, symbol) for symbol in hidden)
    graph = _with_sizes(segment, hidden) if hidden else segment.graph
    return replace(segment, graph=graph, inputs=inputs + given, dims=dims, arguments=None)


def _shown_sizes(segment: CapturedProgram) -> set[str]:
    """The symbols that are a dimension of an input, or an input themselves."""
    shown: set[str] = set()
    for node in segment.graph.graph.nodes:
        if node.op == "placeholder":
            value = node.meta["val"]
            sizes = value.shape if isinstance(value, torch.Tensor) else (value,)
            shown |= {str(e) for e in map(expression_of, sizes) if getattr(e, "is_Symbol", False)}
    return shown


def _with_sizes(segment: CapturedProgram, symbols: Sequence[str]) -> GraphModule:
    """The segment's graph with one more placeholder a symbol, behind the others."""
    graph = Graph()
    copied: dict[Node, Node] = {}
    nodes = list(segment.graph.graph.nodes)
    placeholders = [node for node in nodes if node.op == "placeholder"]
    for node in placeholders:
        copied[node] = graph.node_copy(node, copied.__getitem__)
    for symbol in symbols:
        given = graph.placeholder(symbol)
        given.meta["val"] = internals.size_of_symbol(segment.fake_mode, symbol)
    for node in nodes:
        if node.op != "placeholder":
            copied[node] = graph.node_copy(node, copied.__getitem__)
    return GraphModule(segment.graph, graph, class_name=segment.name)


def _ranges(segment: CapturedProgram, program: ControlProgram) -> dict[str, DimRange]:
    known = {**program.dims, **program.sizes}
    used: set[str] = set()
    for node in segment.graph.graph.nodes:
        used |= _all_symbols(node.meta.get("val")) | _all_symbols(
            [*node.args, *node.kwargs.values()]
        )
    return {symbol: described for symbol, described in known.items() if symbol in used}


def _all_symbols(value: object) -> frozenset[str]:
    """The symbols in a value, in slices and in the places of views too."""
    if isinstance(value, slice):
        return _all_symbols([value.start, value.stop, value.step])
    if isinstance(value, torch.Tensor):
        return symbols_of([*value.shape, *value.stride(), value.storage_offset()])
    if isinstance(value, (tuple, list)):
        return frozenset().union(*(_all_symbols(item) for item in value))
    return symbols_of(value)


def _shared(aten: AtenProgram) -> dict[int, str]:
    nodes = [n for n in aten.graph.graph.nodes if n.op == "placeholder"]
    results = aten.graph.graph.output_node().meta["val"]
    found: dict[int, str] = {}
    for position, output in enumerate(aten.outputs):
        if output.target is not None or output.alias_of is None:
            continue
        described = aten.inputs[output.alias_of]
        fake, value = nodes[output.alias_of].meta["val"], results[position]
        if described.kind is InputKind.USER and same_view(fake, value):
            found[position] = described.name
    return found


def _refuse_shared_memory(program: ControlProgram) -> None:
    """A buffer that is written has memory of its own."""
    for written, other in _sharing(program):
        raise CompileError(
            "PTC-A005",
            f"`{written.name}` is written to in place and shares memory with `{other.name}`",
            hint="give each of them a tensor of its own (`.clone()`)",
        )


def _sharing(program: ControlProgram) -> Iterator[tuple[ProgramInput, ProgramInput]]:
    owners: dict[int, list[ProgramInput]] = {}
    for described in program.inputs:
        if described.live is not None and described.live.numel():
            owners.setdefault(internals.storage_key(described.live), []).append(described)
    for sharing in owners.values():
        for described in sharing:
            if described.name in program.written and len(sharing) > 1:
                yield described, next(s for s in sharing if s is not described)
