"""The builder of a program's blocks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch.fx

from ptc.capture import torch_state
from ptc.capture.control.facts import Facts
from ptc.capture.control.writer import Writer
from ptc.capture.torch_graph import GraphBuilder
from ptc.support.diagnostics import Location


class BlockBuilder(GraphBuilder):
    """Names for the program's inputs; calls go to the open block."""

    writer: Writer
    facts: Facts
    set_state: Callable[[], None]  # at the start of a block, where the program has changed it
    leaf_facts: dict[Any, bool] = {}  # noqa: RUF012 (replaced, never changed)

    def add_call(
        self,
        op: str,
        target: Any,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        value: Any,
        stack: tuple[Location, ...],
    ) -> torch.fx.Node:
        block = self.writer.block
        if block.is_new:
            block.is_new = False
            self.set_state()
        block.facts = {**self.leaf_facts, **self.facts.table}
        block.modes = torch_state.current()
        return block.add_call(op, target, args, kwargs, value, stack)
