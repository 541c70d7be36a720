"""Backends that run the graph with torch itself: is a fault in capture or in lowering?"""

from __future__ import annotations

from typing import Any

from ptc.autograd.functionalise import functionalise
from ptc.backends.registry import BackendOptions, CompiledGraph, register_backend
from ptc.graph.program import AtenProgram, CapturedProgram, OutputKind


@register_backend("eager")
def eager(program: CapturedProgram, _options: BackendOptions) -> CompiledGraph:
    """The captured graph, run operator by operator."""
    graph = program.graph

    def call(*inputs: Any) -> tuple[Any, ...]:
        return tuple(graph(*inputs))

    return call


@register_backend("aten")
def aten(program: CapturedProgram, _options: BackendOptions) -> CompiledGraph:
    """The functional core-ATen graph, run operator by operator."""
    return run_functional(functionalise(program))


def run_functional(program: AtenProgram) -> CompiledGraph:
    """Call an AtenProgram with real tensors, doing its write-backs."""
    outputs = program.outputs

    def call(*inputs: Any) -> tuple[Any, ...]:
        values = program.graph(*inputs)
        for output, value in zip(outputs, values, strict=True):
            if output.kind is OutputKind.WRITE_BACK:
                assert output.target is not None
                inputs[output.target].copy_(value)
        return tuple(
            value
            for output, value in zip(outputs, values, strict=True)
            if output.kind is OutputKind.USER
        )

    return call
