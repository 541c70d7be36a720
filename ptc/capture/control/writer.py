"""The tree of items under construction.

Straight-line tensor calls collect in the open block; whatever is not one ends it. Blocks stand in
the tree as they are until `finish` turns them into segments: what a block gives out becomes known
only when a later block asks for it.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch.fx

from ptc.capture import torch_state
from ptc.capture.values.base import Value
from ptc.graph.control import (
    Assign,
    Bind,
    Body,
    Compute,
    Emit,
    Item,
    ListItem,
    MakeText,
    Raise,
    TextItem,
)
from ptc.graph.program import ProgramInput
from ptc.support.diagnostics import Location


class Block:
    """A straight piece: a graph, what it takes in, and what it gives out by name."""

    __slots__ = (
        "brought",
        "copies",
        "exports",
        "facts",
        "graph",
        "inputs",
        "is_new",
        "last_input",
        "modes",
        "nodes",
        "numbers",
        "writes",
    )  # fmt: skip

    def __init__(self) -> None:
        self.graph = torch.fx.Graph()
        self.inputs: list[ProgramInput] = []
        self.nodes: dict[Value, torch.fx.Node] = {}  # values of other blocks, as known here
        self.copies: dict[torch.fx.Node, torch.fx.Node] = {}  # view nodes of other blocks
        self.numbers: dict[str, torch.fx.Node] = {}  # number variables by name
        self.exports: dict[str, torch.fx.Node] = {}
        self.last_input: torch.fx.Node | None = None
        self.is_new = True  # no call was added yet
        self.modes: tuple[Any, ...] = ()  # of torch, where it ends
        self.writes = False  # to a tensor that was there before
        self.facts: dict[Any, bool] = {}  # what is known of sizes where it runs
        self.brought: dict[Any, bool] = {}  # where views were made that it has copies of

    def known(self) -> dict[Any, bool]:
        """What is known of sizes in it."""
        return {**self.brought, **self.facts}

    def add_input(self, described: ProgramInput, value: Any) -> torch.fx.Node:
        after = self.last_input
        graph = self.graph
        place = (
            graph.inserting_after(after)
            if after is not None
            else graph.inserting_before(next(iter(graph.nodes), None))
        )
        text = "".join(c if c.isalnum() else "_" for c in described.name)
        with place:
            node = graph.placeholder(text if not text[:1].isdigit() else "_" + text)
        node.meta["val"] = value
        self.last_input = node
        self.inputs.append(described)
        return node

    def add_call(
        self,
        op: str,
        target: Any,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        value: Any,
        stack: tuple[Location, ...],
    ) -> torch.fx.Node:
        with warnings.catch_warnings():
            # torch.fx warns of sizes that stand for themselves
            warnings.simplefilter("ignore")
            node = self.graph.create_node(op, target, args, kwargs)
        node.meta["val"] = value
        node.meta["stack"] = stack
        node.meta["location"] = stack[-1] if stack else None
        return node


_READS_LIST = frozenset(
    {
        "copy", "get", "length", "slice", "concat", "stack", "cat", "new", "find", "same",
        "lengths", "flat", "pick", "filled", "table_fits", "table_copy", "table_order",
    }
)  # fmt: skip


def is_computation(item: Item) -> bool:
    """Whether an item may be there twice: it gives variables values, or ends the program. What is
    inside of a branch or loop is asked by itself."""
    if isinstance(item, ListItem):
        return item.op in _READS_LIST
    return not isinstance(item, Emit)


@dataclass(frozen=True, slots=True)
class Mark:
    """A point in the tree: the body, its items, the block that was open and its last node."""

    body: Body
    items: tuple[Item, ...]
    block: Block | None
    last: torch.fx.Node | None


class Writer:
    """Where items and tensor calls go: the current body, and the block that is open in it."""

    def __init__(self, unique: Callable[[str], str]) -> None:
        self.root = Body()
        self.body = self.root
        self._open: Block | None = None
        self._unique = unique
        self._numbers = {"t": 0, "n": 0, "l": 0, "text": 0}
        self.blocks: dict[torch.fx.Graph, Block] = {}
        self.effects = 0  # items that are more than a computation
        self.texts = 0  # items that say something to the world outside, exceptions included

    def name(self, prefix: str) -> str:
        """A variable's name: `t3` a tensor, `n3` a number, `l3` a list, `text3` a string."""
        self._numbers[prefix] += 1
        return self._unique(f"{prefix}{self._numbers[prefix]}")

    @property
    def block(self) -> Block:
        """The open block, a new one at the end of the body if there is none."""
        if self._open is None:
            self._open = Block()
            self.blocks[self._open.graph] = self._open
            self.body.items.append(self._open)  # type: ignore[arg-type]
        return self._open

    @property
    def is_open(self) -> bool:
        return self._open is not None

    def flush(self) -> None:
        """End the open block."""
        if self._open is not None:
            torch_state.require_no_level()
        self._open = None

    def add(self, item: Item) -> None:
        """Append an item behind all that was computed so far."""
        self.flush()
        self.body.items.append(item)
        self.effects += not is_computation(item)
        self.texts += isinstance(item, (Emit, Raise))

    def compute(self, item: Compute | Bind | Assign | MakeText | TextItem) -> None:
        """Add what depends on numbers and texts only: it may stand before the open block, which can
        then use it."""
        if self._open is None:
            self.body.items.append(item)
        else:
            self.body.items.insert(len(self.body.items) - 1, item)

    def mark(self) -> Mark:
        """A point to `cut` back to."""
        last = next(iter(reversed(self._open.graph.nodes)), None) if self._open else None
        return Mark(self.body, tuple(self.body.items), self._open, last)

    def cut(self, mark: Mark) -> None:
        """Drop everything written since, but for what the block of then took in."""
        self.body, self._open = mark.body, mark.block
        self.body.items[:] = mark.items
        if mark.block is None:
            return
        for node in reversed(mark.block.graph.nodes):
            if node is mark.last:
                break
            if node.op != "placeholder":
                self._forget(mark.block, node)

    @staticmethod
    def _forget(block: Block, node: torch.fx.Node) -> None:
        for table in (block.nodes, block.copies, block.exports):
            for key in [key for key, known in table.items() if known is node]:
                del table[key]  # type: ignore[arg-type]
        block.graph.erase_node(node)

    def go_on_in(self, body: Body) -> None:
        """Write to another body from here on."""
        self.flush()
        self.body = body

    @contextmanager
    def inside(self, body: Body) -> Iterator[None]:
        """Write to another body. A block is not continued across."""
        self.flush()
        outer, self.body = self.body, body
        try:
            yield
        finally:
            self.flush()
            self.body = outer
