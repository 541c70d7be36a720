"""Graphs of files as captured ones: what they write to their inputs becomes copies into them.

Takes functional programs that were read, gives captured ones, so that every later stage goes over
them as over what Python code gave. Knows nothing of text.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch.fx import Graph, GraphModule, Node

from ptc.graph.program import AtenProgram, CapturedProgram, OutputKind, ProgramOutput


def captured(program: AtenProgram) -> CapturedProgram:
    """A straight program as if it had been captured."""
    graph = Graph()
    copied: dict[Node, Any] = {}
    nodes = list(program.graph.graph.nodes)
    for node in nodes[:-1]:
        copied[node] = graph.node_copy(node, copied.__getitem__)
    values = [copied.get(value, value) for value in nodes[-1].args[0]]
    placeholders = [copied[node] for node in nodes[: len(program.inputs)]]
    results, outputs = with_writes(graph, program, values, placeholders)
    graph.output(tuple(results)).meta["val"] = tuple(
        value.meta["val"] if isinstance(value, Node) else value for value in results
    )
    return CapturedProgram(
        graph=GraphModule(program.graph, graph),
        inputs=program.inputs,
        outputs=tuple(outputs),
        fake_mode=program.fake_mode,
        dims=program.dims,
        arguments=program.arguments,
        result=program.result,
        name=program.name,
        declared=program.dims,
    )


def with_writes(
    graph: Graph, aten: AtenProgram, values: Sequence[Any], placeholders: Sequence[Any]
) -> tuple[list[Any], list[ProgramOutput]]:
    """The results of a graph in which writes are copies. What shares memory with an input is that
    input; nothing else may change with it."""
    pairs = list(zip(aten.outputs, values, strict=True))
    written = {output.target: value for output, value in pairs if output.target is not None}
    results: list[Any] = []
    outputs: list[ProgramOutput] = []
    for output, value in pairs:
        if output.kind is OutputKind.WRITE_BACK:
            continue
        if isinstance(value, Node) and output.alias_of is None:
            value = _added(graph, "call_function", torch.ops.aten.clone.default, (value,))
        elif output.alias_of in written and written[output.alias_of] is value:
            value = placeholders[output.alias_of]
        results.append(value)
        outputs.append(ProgramOutput(output.name))
    for target, value in written.items():
        _added(graph, "call_method", "copy_", (placeholders[target], value))
    return results, outputs


def _added(graph: Graph, op: str, target: Any, args: tuple[Any, ...]) -> Node:
    """A node that gives what its first argument is."""
    node = graph.create_node(op, target, args)
    node.meta.update({"val": args[0].meta["val"], "location": None, "stack": ()})
    return node
