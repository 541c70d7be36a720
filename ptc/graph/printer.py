"""Programs as Python source that runs: `forward(*inputs)` on real tensors gives the outputs.

Takes a `CapturedProgram` or an `AtenProgram`, gives text: one statement a node, its type beside it,
the user's line above the nodes that came from it. Knows no operators.
"""

from __future__ import annotations

import keyword
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch.fx import GraphModule, Node

from ptc.graph.names import function_name
from ptc.graph.program import AtenProgram, CapturedProgram, OutputKind
from ptc.graph.symbols import range_text
from ptc.graph.types import type_text
from ptc.support.diagnostics import Location

_TYPE_COLUMN = 60


def print_program(program: CapturedProgram | AtenProgram) -> str:
    """The whole program as a Python module."""
    body = GraphText(program.graph)
    lines = [f'"""{_title(program)}"""', "", *import_lines([program.graph]), ""]
    lines.extend(_sizes(program))
    lines.extend(body.literals())
    lines.extend(["", ""])
    names = {node: name for node, name in body.names.items() if node.op == "placeholder"}
    lines.append("def forward(")
    described = dict(zip(names, program.inputs, strict=True))
    for node, name in names.items():
        item = described[node]
        kind = f"{item.kind.value} {item.name}"
        lines.append(with_comment(f"    {name},", f"{type_text(node.meta.get('val'))}  {kind}"))
    lines.append("):")
    lines.extend(f"    {line}" if line else "" for line in body.lines())
    lines.extend(f"    # {line}" for line in _outputs(program))
    return "\n".join(lines) + "\n"


def argument_text(value: Any, names: Mapping[Node, str]) -> str:
    """A graph argument as a Python expression."""
    match value:
        case Node():
            return names[value]
        case list():
            return f"[{', '.join(argument_text(item, names) for item in value)}]"
        case tuple():
            inner = ", ".join(argument_text(item, names) for item in value)
            return f"({inner},)" if len(value) == 1 else f"({inner})"
        case dict():
            items = (f"{key!r}: {argument_text(item, names)}" for key, item in value.items())
            return f"{{{', '.join(items)}}}"
        case slice():
            bounds = (value.start, value.stop, value.step)
            return f"slice({', '.join(argument_text(bound, names) for bound in bounds)})"
        case float():
            text = repr(value)
            return text if text[-1].isdigit() else f"float({text!r})"
        case torch.device():
            return f"torch.device({str(value)!r})"
        case type():
            return value.__name__
        case _ if value is Ellipsis:
            return "..."
        case _ if callable(value):
            return function_name(value)
        case _:
            return repr(value)


class GraphText:
    """The statements of one graph. `names` are for nodes that have a name elsewhere; `literal` goes
    before the names of the graph's own tensors."""

    def __init__(
        self, graph: GraphModule, names: Mapping[Node, str] | None = None, literal: str = "_"
    ) -> None:
        self._graph = graph
        self._literal = literal
        own = {node: identifier(node.name) for node in graph.graph.nodes}
        self.names = own if names is None else {**own, **names}

    def lines(self) -> list[str]:
        lines: list[str] = []
        shown: Location | None = None
        for node in self._graph.graph.nodes:
            if node.op == "placeholder":
                continue
            place = node.meta.get("location")
            if place is not None and place != shown and node.op != "output":
                lines.append(place_text(place))
                shown = place
            lines.append(self.statement(node))
        return lines

    def literals(self) -> list[str]:
        """The graph's own tensors, a statement each."""
        lines: list[str] = []
        for node in self._graph.graph.nodes:
            if node.op == "get_attr":
                value = getattr(self._graph, str(node.target))
                text = f"{self._value(node)} = {tensor_text(value)}"
                if text not in lines:
                    lines.append(text)
        return lines

    def statement(self, node: Node) -> str:
        """The statement of a node that is no placeholder, its type beside it."""
        if node.op == "output":
            return f"return {argument_text(node.args[0], self.names)}"
        text = f"{self.names[node]} = {self._value(node)}"
        return with_comment(text, type_text(node.meta["val"])) if "val" in node.meta else text

    def _value(self, node: Node) -> str:
        if node.op == "get_attr":
            return f"{self._literal}{identifier(str(node.target))}"
        args = [argument_text(arg, self.names) for arg in node.args]
        words = [f"{key}={argument_text(arg, self.names)}" for key, arg in node.kwargs.items()]
        if node.op == "call_method":
            return f"{args[0]}.{node.target}({', '.join(args[1:] + words)})"
        return f"{function_name(node.target)}({', '.join(args + words)})"


def place_text(place: Location) -> str:
    """The user's line as a comment."""
    return f"# {place}  {place.text.strip()}".rstrip()


def with_comment(text: str, comment: str) -> str:
    """A statement with what is said of it beside it."""
    return f"{text:<{_TYPE_COLUMN}}  # {comment}"


def _title(program: CapturedProgram | AtenProgram) -> str:
    form = "Captured" if isinstance(program, CapturedProgram) else "Functional"
    return f"{form} program `{program.name}`."


def import_lines(graphs: Sequence[GraphModule], others: Sequence[str] = ()) -> list[str]:
    """The imports of all functions that the graphs call, and of `others`."""
    modules = {"torch", *others}
    nodes = [node for graph in graphs for node in graph.graph.nodes]
    for node in nodes:
        if node.op == "call_function":
            modules.add(function_name(node.target).split(".")[0])
    lines = [f"import {module}" for module in sorted(modules)]
    if any(str(node.target).startswith("ptc.") for node in nodes):
        lines.append("import ptc.ops.opaque  # declares torch.ops.ptc")
    return lines


def _sizes(program: CapturedProgram | AtenProgram) -> list[str]:
    return [
        f"# {symbol}: {described.name}, {range_text(described)}"
        for symbol, described in program.dims.items()
    ]


def tensor_text(value: torch.Tensor) -> str:
    """A real tensor as an expression that makes an equal one."""
    flat = [argument_text(item, {}) for item in value.reshape(-1).tolist()]
    made = f"torch.tensor([{', '.join(flat)}], dtype={value.dtype})"
    return made if value.dim() == 1 else f"{made}.reshape({list(value.shape)})"


def _outputs(program: CapturedProgram | AtenProgram) -> list[str]:
    lines: list[str] = []
    for number, output in enumerate(program.outputs):
        if output.kind is OutputKind.WRITE_BACK and output.target is not None:
            written = program.inputs[output.target].name
            lines.append(f"output {number} is written back to `{written}`")
        elif output.alias_of is not None:
            shared = program.inputs[output.alias_of].name
            lines.append(f"output {number} shares memory with `{shared}`")
    return lines


def identifier(name: str) -> str:
    """A Python name like `name` that hides none of the modules which the text uses."""
    text = "".join(c if c.isalnum() or c == "_" else "_" for c in name)
    if (
        not text
        or text[0].isdigit()
        or keyword.iskeyword(text)
        or text in ("torch", "operator", "math")
    ):
        return f"v_{text}"
    return text
