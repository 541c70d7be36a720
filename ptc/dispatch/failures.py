"""What happens where a compiled graph fails on the data of a call: the error is eager's."""

from __future__ import annotations

from typing import Any

import torch
import torch.fx

from ptc.capture import torch_state
from ptc.graph.program import CapturedProgram
from ptc.graph.transforms import levels_restored
from ptc.support.tracebacks import traceback_at


def raise_as_eager(program: CapturedProgram, inputs: tuple[Any, ...]) -> None:
    """Run the captured graph in eager, which is known to fail: raise its error, with the user's
    lines in its traceback. What it has written until then stays, as in eager."""
    state = torch_state.current()
    try:
        with levels_restored():
            _Lines(program.graph).run(*inputs)
    finally:
        torch_state.restore(state)


class _Lines(torch.fx.Interpreter):
    """Runs a graph; an error gets the lines that its node serves."""

    def __init__(self, graph: torch.fx.GraphModule) -> None:
        super().__init__(graph)
        self.extra_traceback = False

    def run_node(self, n: torch.fx.Node) -> Any:
        try:
            return super().run_node(n)
        except Exception as error:
            failure = error.with_traceback(traceback_at(n.meta.get("stack", ())))
        raise failure  # outside of the handler, which would be its context
