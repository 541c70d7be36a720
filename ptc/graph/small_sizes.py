"""Whether a captured program means the same at sizes 0 and 1.

Torch treats 1 apart: `squeeze` drops a dimension of size 1 and keeps others. A program captured for
any size holds at 1 only if every shape in it does. Takes a captured program; runs it on fake
tensors of one concrete size, which computes shapes and no values.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any

import torch
from torch._subclasses import fake_tensor
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx import Interpreter, Node
from torch.fx.node import map_aggregate

from ptc.graph.control_parts import placeholders_of
from ptc.graph.program import CapturedProgram, DimRange
from ptc.graph.symbols import concrete, hints_of, symbols_of
from ptc.graph.transforms import levels_restored
from ptc.support.diagnostics import CompileError


def require_small_sizes(captured: CapturedProgram) -> None:
    """Raise CompileError PTC-B009 if a size in a range that starts at 0 or 1 is treated apart.
    Programs with control flow need no such test: they branch on what torch asks of their sizes.

    A size at which an operator cannot run at all is no difference: eager fails there too.
    """
    _require(captured, captured.dims, _usual([captured]), _RANGE)


#: For a number of which there is no example.
_NO_EXAMPLE = 2
_RANGE = "give `{name}` a range from {next} on"


def _usual(programs: Sequence[CapturedProgram]) -> dict[str, int]:
    """The example's sizes."""
    usual: dict[str, int] = {}
    for program in programs:
        for _, node in placeholders_of(program):
            value = node.meta["val"]
            usual.update(dict.fromkeys(symbols_of(value) - usual.keys(), _NO_EXAMPLE))
            usual.update(hints_of(value))
    return usual


def _require(
    program: CapturedProgram, dims: Mapping[str, DimRange], usual: Mapping[str, int], hint: str
) -> None:
    for symbol, dim in dims.items():
        for size in range(dim.lower, 2):
            node = _differing(program, {**usual, symbol: size})
            if node is not None:
                text = hint.format(name=dim.name, size=size, next=size + 1)
                raise _refusal(dim, size, node, text)


def _differing(captured: CapturedProgram, sizes: Mapping[str, int]) -> Node | None:
    """The first node with another shape at `sizes` than its symbolic one says."""
    run = _Shapes(captured.graph, sizes)
    placeholders = captured.graph.graph.find_nodes(op="placeholder")
    with torch.no_grad(), FakeTensorMode(allow_non_fake_inputs=True), _unlogged():
        arguments = [_at(node.meta["val"], sizes) for node in placeholders]
        # What an operator raises at this size, and the end of the search.
        with suppress(Exception), levels_restored():
            run.run(*arguments)
    return run.differing


@contextmanager
def _unlogged() -> Iterator[None]:
    """Torch logs errors of fake tensors, which are an answer here."""
    log = logging.getLogger(fake_tensor.__name__)
    before = log.disabled
    log.disabled = True
    try:
        yield
    finally:
        log.disabled = before


def _at(value: Any, sizes: Mapping[str, int]) -> Any:
    if isinstance(value, torch.Tensor):
        shape, stride = concrete(value.shape, sizes), concrete(value.stride(), sizes)
        made = torch.empty_strided(shape, stride, dtype=value.dtype, device=value.device)
        return made.requires_grad_(value.requires_grad)
    if isinstance(value, (torch.SymFloat, torch.SymBool)):  # of no consequence for shapes
        return 1.0 if isinstance(value, torch.SymFloat) else True
    return concrete(value, sizes)


class _Shapes(Interpreter):
    """Runs the graph until a shape is not the expected one."""

    def __init__(self, graph: torch.fx.GraphModule, sizes: Mapping[str, int]) -> None:
        super().__init__(graph)
        self.sizes = sizes
        self.differing: Node | None = None

    def fetch_args_kwargs_from_env(self, n: Node) -> tuple[Any, Any]:
        """With numbers for the sizes that stand in arguments as they are."""
        return map_aggregate(super().fetch_args_kwargs_from_env(n), self._number)

    def _number(self, value: Any) -> Any:
        return concrete(value, self.sizes) if isinstance(value, torch.SymInt) else value

    def run_node(self, n: Node) -> Any:
        result = super().run_node(n)
        expected = n.meta.get("val")
        if isinstance(result, torch.Tensor) and isinstance(expected, torch.Tensor):
            shape = tuple(concrete(size, self.sizes) for size in expected.shape)
            if shape != tuple(result.shape):
                self.differing = n
                raise StopIteration
        return result


def _refusal(dim: DimRange, size: int, node: Node, hint: str) -> CompileError:
    return CompileError(
        "PTC-B009",
        f"`{dim.name}` = {size} is treated apart from larger sizes: the result of this line has "
        "another shape",
        location=node.meta.get("location"),
        hint=hint,
    )
