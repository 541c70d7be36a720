"""Gradients of natively compiled graphs.

The native backend compiles the forward computation. Where an output needs a gradient the compiled
call is wrapped in an `autograd.Function` whose backward runs the captured graph again in eager and
differentiates that: right, and as slow as eager. The user is told once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from ptc.artifact.vectors import as_compiled
from ptc.backends.registry import CompiledGraph
from ptc.dispatch.notices import notify
from ptc.graph.program import CapturedProgram
from ptc.graph.transforms import levels_restored
from ptc.support.diagnostics import Diagnostic, Location


def needs_gradients(program: CapturedProgram) -> bool:
    """True if an output of the captured graph requires a gradient."""
    return any(_differentiable(program))


def _differentiable(program: CapturedProgram) -> list[bool]:
    """For each output whether it requires a gradient."""
    (output,) = program.graph.graph.find_nodes(op="output")
    values = output.args[0]
    assert isinstance(values, (tuple, list))
    return [_requires_grad(value) for value in values]


def _requires_grad(value: Any) -> bool:
    fake = value.meta.get("val") if isinstance(value, torch.fx.Node) else value
    return isinstance(fake, torch.Tensor) and fake.requires_grad


def announce(location: Location | None, what: str) -> None:
    """Tell the user once how gradients are computed."""
    notify(
        Diagnostic(
            "PTC-D020",
            f"gradients are computed by running the captured {what} again in eager",
            location,
            hint="call it under torch.no_grad() where no gradient is needed",
            severity="note",
        )
    )


def with_gradients(
    run: CompiledGraph, program: CapturedProgram, mutated: Sequence[int]
) -> CompiledGraph:
    """`run` as a differentiable call. `mutated`: positions of inputs that it writes into."""
    announce(program.location, "graph")
    graph = program.graph
    changed = tuple(mutated)
    wanted = _differentiable(program)

    def call(*inputs: Any) -> tuple[Any, ...]:
        result = _EagerBackward.apply(run, graph, changed, wanted, *inputs)
        return result if isinstance(result, tuple) else (result,)

    return call


class _EagerBackward(torch.autograd.Function):
    """Forward: the compiled graph. Backward: the captured graph in eager, differentiated."""

    @staticmethod
    def forward(
        ctx: Any,
        run: CompiledGraph,
        graph: Any,
        mutated: tuple[int, ...],
        wanted: list[bool],
        *inputs: Any,
    ) -> Any:
        # What the graph overwrites is needed again as it was.
        before = {i: inputs[i].clone() for i in mutated}
        outputs = run(*inputs)
        if mutated:
            ctx.mark_dirty(*(inputs[i] for i in mutated if not inputs[i].is_leaf))
        saved = [before.get(i, value) for i, value in enumerate(inputs)]
        ctx.tensors = [i for i, value in enumerate(saved) if isinstance(value, torch.Tensor)]
        ctx.save_for_backward(*(saved[i] for i in ctx.tensors))
        ctx.others = {i: value for i, value in enumerate(saved) if i not in set(ctx.tensors)}
        ctx.graph = graph
        ctx.mutated = frozenset(mutated)
        ctx.mark_non_differentiable(
            *(
                output
                for output, differentiable in zip(outputs, wanted, strict=True)
                if isinstance(output, torch.Tensor) and not differentiable
            )
        )
        return outputs

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        values: list[Any] = [None] * (len(ctx.tensors) + len(ctx.others))
        for i, other in ctx.others.items():
            values[i] = other
        wanted: list[int] = []
        for i, tensor in zip(ctx.tensors, ctx.saved_tensors, strict=True):
            needed = ctx.needs_input_grad[4 + i]
            values[i] = tensor.detach().requires_grad_(needed)
            if i in ctx.mutated:
                # A leaf that requires a gradient cannot be written in place.
                values[i] = values[i].clone()
            if needed:
                wanted.append(i)
        leaves = [values[i] for i in wanted]
        with torch.enable_grad(), levels_restored(), as_compiled([ctx.graph]):
            outputs = ctx.graph(*values)
        pairs = [
            (output, gradient)
            for output, gradient in zip(outputs, gradients, strict=True)
            if gradient is not None and isinstance(output, torch.Tensor) and output.requires_grad
        ]
        found = torch.autograd.grad(
            [output for output, _ in pairs],
            leaves,
            [gradient for _, gradient in pairs],
            allow_unused=True,
        )
        results: list[Any] = [None] * len(values)
        for i, gradient in zip(wanted, found, strict=True):
            results[i] = gradient
        return None, None, None, None, *results
