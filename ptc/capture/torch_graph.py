"""Builds the fx graph of a captured program: placeholders by source, one node a torch call.

Nodes get `meta["val"]` (the fake result), `meta["location"]` and `meta["stack"]`. All changes go
through the journal, so that a rollback removes nodes.
"""

from __future__ import annotations

from typing import Any

import torch
import torch.fx

from ptc.capture.journal import Journal
from ptc.capture.sources import (
    ArgumentSource,
    AttributeSource,
    CallSource,
    ClosureSource,
    FixedSource,
    GlobalSource,
    ItemSource,
    Source,
)
from ptc.graph.program import InputKind, ProgramInput
from ptc.support.diagnostics import Location


class GraphBuilder:
    """The graph so far."""

    def __init__(self, journal: Journal) -> None:
        self.graph = torch.fx.Graph()
        self.inputs: list[tuple[ProgramInput, Source]] = []
        self.input_of_value: dict[int, int] = {}  # position of an input -> id of its value
        self._journal = journal
        self._names: dict[str, None] = {}
        self.self_name = "self"  # the parameter that holds the module whose names are qualified
        self.argument_names: dict[str, str] = {}  # path of an argument -> the name its caller uses
        self._last_placeholder: torch.fx.Node | None = None

    def add_input(
        self, kind: InputKind, source: Source, value: Any, live: torch.Tensor | None
    ) -> torch.fx.Node:
        """A placeholder for what is found at `source`."""
        name = self._unique(self.path(source))
        after = self._last_placeholder
        graph = self.graph
        with (
            graph.inserting_after(after)
            if after is not None
            else graph.inserting_before(next(iter(graph.nodes), None))
        ):
            node = graph.placeholder(identifier(name))
        node.meta["val"] = value
        node.meta["source"] = source.text()
        self._journal.record(graph.erase_node, node)
        self._journal.assign(self, "_last_placeholder", node)
        live = None if kind in (InputKind.USER, InputKind.SCALAR) else live
        self._journal.append(self.inputs, (ProgramInput(name, kind, source.text(), live), source))
        return node

    def path(self, source: Source) -> str:
        """The name of what is found at `source`, in its caller's words where it is an argument."""
        path = path_of(source, self.self_name)
        for own, given in self.argument_names.items():
            if path == own or path.startswith(own + "."):
                return given + path[len(own) :]
        return path

    def add_call(
        self,
        op: str,
        target: Any,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        value: Any,
        stack: tuple[Location, ...],
    ) -> torch.fx.Node:
        """A call_function or call_method node."""
        node = self.graph.create_node(op, target, args, kwargs)
        node.meta["val"] = value
        node.meta["stack"] = stack
        node.meta["location"] = stack[-1] if stack else None
        self._journal.record(self.graph.erase_node, node)
        return node

    def _unique(self, name: str) -> str:
        unique, number = name, 0
        while unique in self._names:
            number += 1
            unique = f"{name}_{number}"
        self._journal.put(self._names, unique, None)
        return unique

    def __len__(self) -> int:
        """Number of calls in the graph."""
        return sum(node.op.startswith("call") for node in self.graph.nodes)


def path_of(source: Source, self_name: str = "self") -> str:
    """The name of what is found at `source`: `layer1.0.weight`, `x`, `batch.ids`."""
    parts: list[str] = []
    current: Source | None = source
    while current is not None:
        part = _part(current)
        if part:
            parts.append(part)
        current = current.base
    parts.reverse()
    path = ".".join(parts)
    return path.removeprefix(self_name + ".") or "value"


_HIDDEN = frozenset({"_parameters", "_buffers", "_modules", "__dict__", "cell_contents"})


def _part(source: Source) -> str:
    if isinstance(source, (ArgumentSource, ClosureSource, GlobalSource)):
        return source.name
    if isinstance(source, AttributeSource):
        return "" if source.name in _HIDDEN else source.name
    if isinstance(source, ItemSource):
        return str(source.key)
    if isinstance(source, (CallSource, FixedSource)):
        return ""
    return "item"


def identifier(name: str) -> str:
    text = "".join(c if c.isalnum() else "_" for c in name)
    return text if not text[:1].isdigit() else "_" + text
