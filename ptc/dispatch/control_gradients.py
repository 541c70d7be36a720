"""Gradients of programs with control flow.

A library computes the forward pass. Where a result needs a gradient, the backward pass runs the
program again with the reference interpreter and differentiates that: right, and as slow as eager.
Knows nothing of libraries.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

from ptc.artifact.vectors import as_compiled
from ptc.dispatch.gradient_flow import reached
from ptc.dispatch.live_control import LiveProgram
from ptc.graph.control import ControlProgram, Emit, MakeText, Raise, Segment, walk
from ptc.graph.control_parts import reads_of
from ptc.graph.control_run import run_outputs

#: `run(inputs, numbers, store)`: the flat results, and the number of their structure.
RunFlat = Callable[[Sequence[Any], Mapping[str, Any], Any], tuple[list[Any], int]]


@dataclass(frozen=True, slots=True)
class Recorded:
    """What gradients reach in a program, by name. `results`: some of its results; `outside`: what
    outlives the run beside them, or a text. A second run cannot make up for that."""

    names: frozenset[str]
    results: bool
    outside: bool

    @classmethod
    def by(cls, program: ControlProgram) -> Recorded:
        """By a program that was captured in the present gradient mode."""
        names = reached(program) if _records(program) else frozenset[str]()
        outlives = {*program.written, *(kept.variable.name for kept in program.references)}
        for item in walk(program.body):
            if isinstance(item, (Emit, MakeText, Raise)):
                outlives |= {variable.name for variable in reads_of(item)}
        results = any(output.value.name in names for output in program.outputs)
        return cls(names, results, bool(names & outlives))


def _records(program: ControlProgram) -> bool:
    if torch.is_grad_enabled():
        return True
    enable = torch._C._set_grad_enabled  # pyright: ignore[reportPrivateUsage]
    return any(
        node.target is enable and node.args[0]
        for item in walk(program.body)
        if isinstance(item, Segment)
        for node in item.program.graph.graph.nodes
    )


def with_gradients(run: RunFlat, live: LiveProgram, names: frozenset[str]) -> RunFlat:
    """`run` as a differentiable call. `names`: what gradients may reach."""
    differentiable = [output.value.name in names for output in live.program.outputs]

    def call(
        inputs: Sequence[Any], numbers: Mapping[str, Any], store: Any
    ) -> tuple[list[Any], int]:
        again = _Again(live, copy.deepcopy(dict(numbers)), differentiable, torch.is_grad_enabled())
        forward = _Forward(lambda: run(inputs, numbers, store), again)
        with torch.enable_grad():
            given: Any = _EagerBackward.apply(forward, *inputs)
        given = given if isinstance(given, tuple) else (given,)
        tensors = dict(zip(forward.ids, given, strict=False))
        outputs = [
            _replaced(output, tensors) if wanted else output
            for output, wanted in zip(forward.outputs, differentiable, strict=True)
        ]
        return outputs, forward.variant

    return call


@dataclass(slots=True)
class _Again:
    """The same run by the interpreter: `numbers` as they were before, `recording` the mode."""

    live: LiveProgram
    numbers: dict[str, Any]
    differentiable: list[bool]
    recording: bool

    def outputs(self, inputs: Sequence[Any]) -> list[Any]:
        live = self.live
        tensors = {i.name: v for i, v in zip(live.program.inputs, inputs, strict=True)}
        state = {
            **copy.deepcopy(self.numbers),
            **{name: tensors.pop(name) for name in live.replaced},
        }
        segments = (i.program.graph for i in walk(live.program.body) if isinstance(i, Segment))
        with torch.set_grad_enabled(self.recording), as_compiled(segments):
            outputs, _ = run_outputs(live.program, tensors, state, emit=_silent, record=True)
        return outputs

    def tensors(self, outputs: Sequence[Any]) -> list[torch.Tensor]:
        """Those among flat results that gradients may reach, in order."""
        chosen = zip(outputs, self.differentiable, strict=True)
        return [tensor for output, wanted in chosen if wanted for tensor in _floats(output)]


@dataclass(slots=True)
class _Forward:
    """The run by the library. `ids` tells which of its tensors are those that it was asked for."""

    run: Callable[[], tuple[list[Any], int]]
    again: _Again
    outputs: list[Any] = field(default_factory=list[Any])
    variant: int = 0
    ids: list[int] = field(default_factory=list[int])


class _EagerBackward(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, forward: _Forward, *inputs: Any) -> Any:
        program = forward.again.live.program
        saved = [
            # What the program overwrites is needed again as it was
            value.clone() if described.name in program.written else value
            for described, value in zip(program.inputs, inputs, strict=True)
        ]
        forward.outputs, forward.variant = forward.run()
        found = forward.again.tensors(forward.outputs)
        ctx.again = forward.again
        ctx.places = []  # of what is given out, among the tensors that gradients may reach
        for place, tensor in enumerate(found):
            # An input that is returned stays the object that it is
            if id(tensor) not in forward.ids and all(tensor is not value for value in inputs):
                forward.ids.append(id(tensor))
                ctx.places.append(place)
        ctx.tensors = [i for i, value in enumerate(saved) if isinstance(value, torch.Tensor)]
        ctx.save_for_backward(*(saved[i] for i in ctx.tensors))
        ctx.others = {i: v for i, v in enumerate(saved) if not isinstance(v, torch.Tensor)}
        return tuple(found[place] for place in ctx.places)

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        values: list[Any] = [None] * (len(ctx.tensors) + len(ctx.others))
        for i, other in ctx.others.items():
            values[i] = other
        wanted: list[int] = []
        for i, tensor in zip(ctx.tensors, ctx.saved_tensors, strict=True):
            values[i] = tensor.detach()
            if ctx.needs_input_grad[1 + i]:
                values[i].requires_grad_()
                wanted.append(i)
        found = ctx.again.tensors(ctx.again.outputs(values))
        pairs = [
            (found[place], gradient)
            for place, gradient in zip(ctx.places, gradients, strict=True)
            if gradient is not None and found[place].requires_grad
        ]
        results: list[Any] = [None] * len(values)
        if pairs:
            outputs, weights = zip(*pairs, strict=True)
            leaves = [values[i] for i in wanted]
            given = torch.autograd.grad(outputs, leaves, weights, allow_unused=True)
            for i, gradient in zip(wanted, given, strict=True):
                results[i] = gradient
        return None, *results


def _floats(output: Any) -> Iterator[torch.Tensor]:
    """The tensors in a flat result, which may be a list, that may require a gradient."""
    if isinstance(output, list):
        for inner in output:
            yield from _floats(inner)
    elif isinstance(output, torch.Tensor) and (output.is_floating_point() or output.is_complex()):
        yield output


def _replaced(output: Any, tensors: Mapping[int, torch.Tensor]) -> Any:
    if isinstance(output, list):
        return [_replaced(inner, tensors) for inner in output]
    return tensors.get(id(output), output)


def _silent(*_: str) -> None:
    """What the program writes was written by the first run."""
