"""Running a straight program as `torch.export` traces it: its graph, by torch's own operators.

Takes an `AtenProgram`, gives a function of flat values.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from torch.fx import Graph, GraphModule, Interpreter, Node
from torch.fx.traceback import preserve_node_meta

from ptc.autograd.torch_internals import storage_key
from ptc.exporters.pt2.build import Run
from ptc.exporters.pt2.stock import stock_form
from ptc.graph.program import AtenProgram, OutputKind
from ptc.support.diagnostics import CompileError, Location

#: Where code lies that is not the user's: ptc's folder and torch's.
_LIBRARIES = (
    str(Path(__file__).parents[2]) + os.sep,
    str(Path(str(torch.__file__)).parent) + os.sep,
)


class Replay(Interpreter):
    """Runs a graph whose operators of ours are made of torch's, for tracing. Errors have the user's
    line."""

    # What torch would add to the text of an error is its own graph.
    extra_traceback = False

    def call_function(self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        return stock_form(target)(*args, **kwargs)

    def run_node(self, n: Node) -> Any:
        try:
            return super().run_node(n)
        except CompileError as error:
            found = error.diagnostic
            if found.location is not None:
                raise
            raise CompileError(
                found.code, found.message, location=n.meta.get("location"), hint=found.hint
            ) from error


def with_source_lines(module: GraphModule) -> GraphModule:
    """A copy of a graph whose nodes have the user's lines where torch looks for them."""
    graph = Graph()
    copied: dict[Any, Any] = {}
    graph.output(graph.graph_copy(module.graph, copied))
    for node in graph.nodes:
        stack = users_stack(node)
        lines = [_frame(place) for place in stack]
        node.meta = {"location": stack[-1] if stack else node.meta.get("location")}
        if lines:
            node.meta["stack_trace"] = "\n".join(lines)
    return GraphModule(module, graph)


def users_stack(node: Node) -> list[Location]:
    """The lines that a node serves, outermost first, without those of ptc and of torch."""
    place = node.meta.get("location")
    stack = node.meta.get("stack") or (() if place is None else (place,))
    return [place for place in stack if is_users(place)]


def is_users(place: Location) -> bool:
    """Whether a line is not one of ptc or of torch."""
    return not place.file.startswith(_LIBRARIES)


def _frame(place: Location) -> str:
    text = f'  File "{place.file}", line {place.line}, in forward'
    return f"{text}\n    {place.text.strip()}" if place.text else text


def runner(program: AtenProgram) -> Run:
    """A function of the values of all inputs that gives what is written, and the results."""
    graph = with_source_lines(program.graph)
    copied = _read_after_writing(program)

    def run(values: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        given = [value.clone() if at in copied else value for at, value in enumerate(values)]
        with preserve_node_meta():
            results = Replay(graph).run(*given)
        pairs = list(zip(program.outputs, results, strict=True))
        contents = [value for output, value in pairs if output.kind is OutputKind.WRITE_BACK]
        return contents, [value for output, value in pairs if output.kind is OutputKind.USER]

    return run


def _read_after_writing(program: AtenProgram) -> set[int]:
    """The inputs that are written to and whose earlier content is a result, or is written to
    another input."""
    nodes = [n for n in program.graph.graph.nodes if n.op == "placeholder"]
    written: Mapping[int, int] = {
        storage_key(nodes[output.target].meta["val"]): output.target
        for output in program.outputs
        if output.target is not None
    }
    results = program.graph.graph.output_node().args[0]
    assert isinstance(results, (tuple, list))
    values = [getattr(result, "meta", {}).get("val") for result in results]
    keys = {storage_key(value) for value in values if isinstance(value, torch.Tensor)}
    return {target for key, target in written.items() if key in keys}
