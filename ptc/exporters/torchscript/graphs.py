"""The statements of a functional graph.

Takes an `AtenProgram` with the names of what its placeholders are, gives lines and the texts of its
results. A result that would have the memory of something else, where a later write would be seen,
is a copy. Knows nothing of control flow.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch._ops import OpOverload
from torch.fx import Node

from ptc.exporters.torchscript.operators import call_text, memory_root
from ptc.exporters.torchscript.writer import Writer
from ptc.graph.program import AtenProgram, OutputKind
from ptc.graph.symbols import SYMBOLIC_TYPES, same_view


def write_graph(
    writer: Writer,
    program: AtenProgram,
    inputs: Sequence[str],
    *,
    whole: Mapping[int, str],
    apart: bool,
) -> list[str]:
    """The texts of `program.outputs`, after the statements that compute them.

    `inputs` are the names of the placeholders. `whole`: results, by position, that are an input as
    it is after the call. With `apart`, results share memory with nothing: later statements may
    write to them. Write-backs are written last.
    """
    graph = _Graph(writer, program, inputs)
    graph.statements()
    return graph.results(whole, apart)


class _Graph:
    def __init__(self, writer: Writer, program: AtenProgram, inputs: Sequence[str]) -> None:
        self.writer, self.program = writer, program
        self.nodes = list(program.graph.graph.nodes)
        placeholders = [node for node in self.nodes if node.op == "placeholder"]
        self.names: dict[Node, str] = dict(zip(placeholders, inputs, strict=True))
        self.placeholders = placeholders

    def statements(self) -> None:
        for node in self.nodes:
            if node.op == "get_attr":
                value = getattr(self.program.graph, str(node.target))
                self.names[node] = self.writer.literal(value)
            elif node.op == "call_function":
                self.writer.at(node.meta.get("location"))
                self._call(node)

    def _call(self, node: Node) -> None:
        value = node.meta.get("val")
        if isinstance(value, SYMBOLIC_TYPES) or (
            isinstance(value, (int, float)) and not isinstance(node.target, OpOverload)
        ):
            return  # an expression wherever it is used
        if node.target is operator.getitem:
            owner, position = node.args
            text = f"{self.text(owner)}[{position}]"
        else:
            text = call_text(node, self.writer, self.text)
            self.writer.operators += 1
        if value is None:
            self.writer.line(text)
            return
        self.names[node] = self.writer.fresh(node.name)
        self.writer.line(f"{self.names[node]} = {text}")

    def text(self, value: Any) -> str:
        """A node, a number or a size as an expression."""
        if not isinstance(value, Node):
            return self.writer.size(value)
        known = value.meta.get("val")
        if isinstance(known, torch.SymInt) or value not in self.names:
            return self.writer.size(known)
        return self.names[value]

    def results(self, whole: Mapping[int, str], apart: bool) -> list[str]:
        returned = self.nodes[-1].args[0]
        outputs = list(zip(self.program.outputs, returned, strict=True))
        writes = {o.target for o, _ in outputs if o.kind is OutputKind.WRITE_BACK}
        written = {self.placeholders[i] for i in writes if i is not None}
        seen: set[Node] = set()
        texts: list[str] = []
        for number, (output, value) in enumerate(outputs):
            if number in whole:
                texts.append(whole[number])
                continue
            text = self.text(value)
            if isinstance(value, Node) and isinstance(value.meta.get("val"), torch.Tensor):
                root = memory_root(value)
                shares = output.alias_of is not None and not apart
                given = root.op == "placeholder" and output.target is None and not shares
                again = apart and root in seen
                if given or again or root in written or root.op == "get_attr":
                    text = self._copied(text, value)
                seen.add(root)
            texts.append(text)
        for (output, _), text in zip(outputs, texts, strict=True):
            if output.target is not None:
                self.writer.line(f"{self.names[self.placeholders[output.target]]}.copy_({text})")
        return texts

    def _copied(self, text: str, value: Node) -> str:
        name = self.writer.fresh(f"{value.name}_copy")
        self.writer.line(f"{name} = torch.ops.aten.clone({text})")
        return name


def shared_inputs(program: AtenProgram) -> dict[int, int]:
    """Results that are an input as a whole, the same elements in the same order: the position of
    the result -> that of the input."""
    placeholders = [n for n in program.graph.graph.nodes if n.op == "placeholder"]
    values = program.graph.graph.output_node().meta["val"]
    found: dict[int, int] = {}
    for position, output in enumerate(program.outputs):
        if output.target is None and output.alias_of is not None:
            a, b = placeholders[output.alias_of].meta["val"], values[position]
            if isinstance(b, torch.Tensor) and same_view(a, b):
                found[position] = output.alias_of
    return found
