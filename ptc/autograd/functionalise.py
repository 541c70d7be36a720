"""Functionalisation: `CapturedProgram` -> `AtenProgram`.

The captured graph runs once more on its fake tensors, wrapped so that in-place writes become new
values; what arrives below is core ATen. Mutated inputs become `WRITE_BACK` outputs. Symbolic sizes
stay symbolic: an assumption about them that capture did not make is an error, because no guard of
the entry would check it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import sympy
import torch
from torch.fx import Graph, GraphModule, Node

from ptc.autograd import torch_internals as internals
from ptc.autograd.complex_parts import split_complex
from ptc.autograd.copies import assumptions_of_copies
from ptc.autograd.recorder import Decompositions, Recorder
from ptc.autograd.replay import ReplaceFunctions, Replacements, replay
from ptc.autograd.simplify import simplify
from ptc.graph import transforms
from ptc.graph.assumptions import Assumption, ranges_that_hold, undecided
from ptc.graph.program import (
    AtenProgram,
    CapturedProgram,
    OutputKind,
    ProgramInput,
    ProgramOutput,
)
from ptc.graph.symbols import SYMBOLIC_TYPES, expression_of, is_layout_choice, same_size
from ptc.ops import opaque, registry
from ptc.support.diagnostics import CompileError


def functionalise(captured: CapturedProgram) -> AtenProgram:
    """The functional form of `captured`, cleaned up. The captured program is left as it was.

    Raises CompileError: PTC-A001 complex numbers that have no rule, PTC-A002 sizes that would be
    fixed, PTC-A003 an input whose shape or memory is replaced in place, PTC-A004 an operator that
    torch cannot run functionally, PTC-A005 inputs that share memory while one is written to.
    """
    return functionalise_with(captured, registry.decomposition_table(), opaque.replacements())


def functionalise_with(
    captured: CapturedProgram, decompositions: Decompositions, replacements: Replacements
) -> AtenProgram:
    """`functionalise` with the tables given."""
    recorder = Recorder(Graph(), captured.fake_mode, decompositions)
    if captured.conditions is not None:
        _answer_conditions(captured, captured.conditions, recorder)
    fakes = _placeholders(captured, recorder)
    with (
        torch.no_grad(),
        internals.python_dispatcher(bool(captured.dims) or _has_numbers(fakes)),
        captured.fake_mode,
        recorder,
        internals.functionalisation(),
        ReplaceFunctions(replacements),
    ):
        records = transforms.recorded_mode(captured.graph.graph) is not None
        wrapped = [_wrapped(value, records) for value in fakes]
        results = replay(captured.graph, wrapped, recorder)
        if captured.conditions is not None:
            _require_shapes(captured, captured.conditions, results)
        owners = _storage_owners(wrapped)
        user = [_user_output(recorder, value) for value in results]
        outputs = [
            _aliasing(output, value, owners)
            for output, value in zip(captured.outputs, results, strict=True)
        ]
        for index, (fake, value) in enumerate(zip(fakes, wrapped, strict=True)):
            written = _written(recorder, captured.inputs[index], fake, value)
            if written is not None:
                user.append(written)
                name = captured.inputs[index].name
                outputs.append(ProgramOutput(name, OutputKind.WRITE_BACK, target=index))
        recorder.stamp()
    _refuse_shared_memory(captured.inputs, outputs)
    program = split_complex(_finish(captured, recorder, user, outputs), decompositions)
    if captured.arguments is not None:
        # A segment's guards are conditions of its entry; a whole program has only ranges to check.
        assumptions = _assumptions(captured, recorder)
        program.dims = ranges_that_hold(assumptions, captured.dims, captured.declared)
    return program


def _answer_conditions(
    captured: CapturedProgram, known: Callable[[Any], bool | None], recorder: Recorder
) -> None:
    """Let torch know what the path decides, also that no input has a negative size."""
    nodes = (n for n in captured.graph.graph.nodes if n.op == "placeholder")
    values = [node.meta["val"] for node in nodes]
    sizes = {expression_of(n) for x in values if isinstance(x, torch.Tensor) for n in x.shape}

    def refuse(condition: Any) -> CompileError:
        place = recorder.user_location or captured.location
        return undecided(Assumption(condition, place), captured.dims)

    internals.answer_conditions(captured.fake_mode, known, sizes, refuse)


def _require_shapes(
    captured: CapturedProgram, known: Callable[[Any], bool | None], results: Sequence[Any]
) -> None:
    """A part of a program gives what the rest was captured for. Where sizes are branches, what is
    known of them decides shapes: known otherwise here, the results would be others."""
    expected = captured.graph.graph.output_node().meta["val"]
    for output, fake, value in zip(captured.outputs, expected, results, strict=True):
        shapes = fake.shape, value.shape
        if len(shapes[0]) != len(shapes[1]) or not all(
            same_size(a, b) or known(sympy.Eq(expression_of(a), expression_of(b)))
            for a, b in zip(*shapes, strict=True)
        ):
            raise CompileError(
                "PTC-A002",
                f"`{output.name}` has the shape {_shown(fake)} on the path that the program takes, "
                f"and {_shown(value)} for what is known of its sizes",
                location=captured.location,
                hint="give the sizes a lower bound with a branch or an assert before it",
            )


def _shown(value: torch.Tensor) -> str:
    return f"[{', '.join(map(str, value.shape))}]"


def _has_numbers(fakes: Sequence[Any]) -> bool:
    return any(isinstance(value, SYMBOLIC_TYPES) for value in fakes)


def _placeholders(captured: CapturedProgram, recorder: Recorder) -> list[Any]:
    nodes = [node for node in captured.graph.graph.nodes if node.op == "placeholder"]
    return [_placeholder(node, recorder) for node in nodes]


def _placeholder(node: Node, recorder: Recorder) -> Any:
    value = node.meta["val"]
    recorder.placeholder(node.name, value, node.meta)
    return value


def _wrapped(value: Any, records: bool) -> Any:
    """An input as the replay takes it. `records`: gradients by it may be asked for."""
    if not isinstance(value, torch.Tensor):
        return value
    wrapped = internals.wrap(value)
    return wrapped.requires_grad_() if records and value.requires_grad else wrapped


def _storage_owners(wrapped: Sequence[Any]) -> dict[int, int]:
    """Storage of a wrapped input -> the input's index."""
    owners: dict[int, int] = {}
    for index, value in enumerate(wrapped):
        if isinstance(value, torch.Tensor):
            owners.setdefault(internals.storage_key(value), index)
    return owners


def _user_output(recorder: Recorder, value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        value = recorder.lift(internals.unwrap(value))
    return recorder.value(value)


def _aliasing(output: ProgramOutput, value: Any, owners: dict[int, int]) -> ProgramOutput:
    if not isinstance(value, torch.Tensor):
        return output
    owner = owners.get(internals.storage_key(value))
    return ProgramOutput(output.name, output.kind, output.target, alias_of=owner)


def _written(recorder: Recorder, described: ProgramInput, fake: Any, wrapped: Any) -> Node | None:
    """The node of an input's new value, or None if the input was not written to."""
    if not isinstance(fake, torch.Tensor):
        return None
    value = internals.unwrap(wrapped)
    node = recorder.node_of(value)
    if node is None or node is recorder.node_of(fake):
        return None
    if value.shape != fake.shape or value.dtype != fake.dtype:
        raise CompileError(
            "PTC-A003",
            f"the input `{described.name}` changes its shape in place: from "
            f"{tuple(fake.shape)} {fake.dtype} to {tuple(value.shape)} {value.dtype}",
            location=node.meta.get("location"),
            hint="return the new tensor instead of resizing or transposing the input in place",
        )
    return node


def _refuse_shared_memory(inputs: Sequence[ProgramInput], outputs: Sequence[ProgramOutput]) -> None:
    """A write to one of two inputs that share memory changes the other, which the graph cannot
    say."""
    first: dict[int, int] = {}
    shared: dict[int, int] = {}
    for index, described in enumerate(inputs):
        if described.live is not None and described.live.numel():
            other = first.setdefault(internals.storage_key(described.live), index)
            if other != index:
                shared[index] = other
                shared[other] = index
    for output in outputs:
        if output.target in shared:
            other = inputs[shared[output.target]].name
            raise CompileError(
                "PTC-A005",
                f"`{output.name}` is written to in place and shares memory with `{other}`",
                hint="give each of them a tensor of its own (`.clone()`)",
            )


def _assumptions(captured: CapturedProgram, recorder: Recorder) -> Iterator[Assumption]:
    """What capture and replay assumed of sizes, and that no convolution lacks room for its
    kernel, and that copies are copies."""
    guards = internals.guards_of(captured.fake_mode)
    places = [*recorder.guard_places, *[None] * (len(guards) - len(recorder.guard_places))]
    for guard, place in zip(guards, places, strict=True):
        if not is_layout_choice(guard):
            yield Assumption(guard.expr, place or captured.location)
    yield from assumptions_of_copies(captured.graph.graph)
    for node in recorder.graph.nodes:
        if node.target is torch.ops.aten.convolution.default:
            for size in node.meta["val"].shape[2:]:
                if isinstance(size, torch.SymInt):
                    yield Assumption(expression_of(size) >= 1, node.meta.get("location"))


def _finish(
    captured: CapturedProgram, recorder: Recorder, values: list[Any], outputs: list[ProgramOutput]
) -> AtenProgram:
    recorder.graph.output(tuple(values)).meta["val"] = tuple(
        value.meta["val"] if isinstance(value, Node) else value for value in values
    )
    owner = torch.nn.Module()
    for name, literal in recorder.literals.items():
        owner.register_buffer(name, literal, persistent=False)
    simplify(recorder.graph)
    for name in set(recorder.literals) - _read_literals(recorder.graph):
        delattr(owner, name)
    return AtenProgram(
        graph=GraphModule(owner, recorder.graph, class_name=captured.name),
        inputs=captured.inputs,
        outputs=tuple(outputs),
        fake_mode=captured.fake_mode,
        dims=captured.dims,
        arguments=captured.arguments,
        result=captured.result,
        name=captured.name,
        assigned=captured.assigned,
        equal=captured.equal,
    )


def _read_literals(graph: Graph) -> set[str]:
    return {str(node.target) for node in graph.nodes if node.op == "get_attr"}
