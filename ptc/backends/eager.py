"""Backends that run the graph with torch itself: is a fault in capture or in lowering?"""

from __future__ import annotations

from typing import Any

import torch

from ptc.autograd.functionalise import functionalise
from ptc.backends.registry import BackendOptions, CompiledGraph, register_backend
from ptc.graph.program import AtenProgram, CapturedProgram, OutputKind
from ptc.graph.transforms import levels_restored


@register_backend("eager")
def eager(program: CapturedProgram, _options: BackendOptions) -> CompiledGraph:
    """The captured graph, run operator by operator."""
    graph = program.graph

    def call(*inputs: Any) -> tuple[Any, ...]:
        with levels_restored():
            return tuple(graph(*inputs))

    return call


@register_backend("aten")
def aten(program: CapturedProgram, _options: BackendOptions) -> CompiledGraph:
    """The functional core-ATen graph, run operator by operator."""
    return run_functional(functionalise(program))


def run_functional(program: AtenProgram) -> CompiledGraph:
    """Call an AtenProgram with real tensors, doing its write-backs."""
    outputs = program.outputs
    literals = [tensor.untyped_storage().data_ptr() for tensor in program.graph.buffers()]

    def call(*inputs: Any) -> tuple[Any, ...]:
        values = program.graph(*inputs)
        for output, value in zip(outputs, values, strict=True):
            if output.kind is OutputKind.WRITE_BACK:
                assert output.target is not None
                with torch.no_grad():
                    inputs[output.target].copy_(value)
        taken = {*literals, *(_memory(value) for value in inputs)}
        return tuple(
            _own(value, taken)
            for output, value in zip(outputs, values, strict=True)
            if output.kind is OutputKind.USER
        )

    return call


def _own(value: Any, taken: set[int | None]) -> Any:
    """A result with memory of its own: equal operators are one in the graph, but two results of the
    program, and a caller may write to either."""
    memory = _memory(value)
    if memory is None:
        return value
    if memory in taken:
        return value.clone()
    taken.add(memory)
    return value


def _memory(value: Any) -> int | None:
    return value.untyped_storage().data_ptr() if isinstance(value, torch.Tensor) else None
