"""A program without control flow as a method, and running what was written.

Takes an `AtenProgram`, gives a compiled module; runs a loaded one on flat values.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from ptc.exporters.check import call_inputs
from ptc.exporters.formats import ExportOptions
from ptc.exporters.torchscript.compiled import compile_method, holder_of, quiet
from ptc.exporters.torchscript.graphs import shared_inputs, write_graph
from ptc.exporters.torchscript.method import Method, type_of_value
from ptc.exporters.torchscript.structures import Results, flat_values, nested
from ptc.graph.program import AtenProgram, OutputKind
from ptc.support.diagnostics import InternalError


def write_straight(program: AtenProgram, options: ExportOptions) -> tuple[Any, Method]:
    """The compiled module of a program, and what its text is made of."""
    placeholders = [n for n in program.graph.graph.nodes if n.op == "placeholder"]
    fakes = [node.meta["val"] for node in placeholders]
    method = Method(program.inputs, fakes, options)
    method.declare(program.arguments, program.dims)
    used = [n for n, node in enumerate(placeholders) if node.users or _is_written(program, n)]
    for number in used:
        method.read(number)
    names = [method.names.get(number, "None") for number in range(len(fakes))]
    shared = {at: names[owner] for at, owner in shared_inputs(program).items()}
    texts = write_graph(method.writer, program, names, whole=shared, apart=False)
    assert program.result is not None
    types = [type_of_value(value) for value in _output_values(program)]
    results = Results(method.writer, types, texts)
    method.writer.line(f"return {results.build(program.result)}")
    script = compile_method(method.writer, method.header, method.attributes, program.name)
    return script, method


def _is_written(program: AtenProgram, number: int) -> bool:
    return any(output.target == number for output in program.outputs)


def _output_values(program: AtenProgram) -> list[Any]:
    returned: Any = program.graph.graph.output_node().args[0]
    return [v.meta["val"] if isinstance(v, torch.fx.Node) else v for v in returned]


def run_straight(
    program: AtenProgram, script: Any, paths: dict[str, str]
) -> Callable[[Sequence[Any]], list[Any]]:
    """Runs a loaded module call by call, each on the module as it was saved."""
    arguments, result = program.arguments, program.result
    if arguments is None or result is None:
        raise InternalError("export", "a part of a program has no method of its own")
    positions = call_inputs(program)
    written = {
        output.target: holder_of(script, paths[program.inputs[output.target].name])
        for output in program.outputs
        if output.target is not None and program.inputs[output.target].live is not None
    }

    def run(values: Sequence[Any]) -> list[Any]:
        given = {
            number: value.clone() if isinstance(value, torch.Tensor) else value
            for number, value in zip(positions, values, strict=True)
        }
        saved = {n: getattr(owner, name).clone() for n, (owner, name) in written.items()}
        try:
            with torch.no_grad(), quiet():
                found = flat_values(result, script(*call_of(arguments, given)))
            outputs: list[Any] = []
            for number, output in enumerate(program.outputs):
                if output.kind is OutputKind.USER:
                    value = found[number]
                    outputs.append(value.clone() if isinstance(value, torch.Tensor) else value)
                elif output.target in written:
                    owner, name = written[output.target]
                    outputs.append(getattr(owner, name).clone())
                else:
                    assert output.target is not None
                    outputs.append(given[output.target])
            return outputs
        finally:
            for number, (owner, name) in written.items():
                getattr(owner, name).copy_(saved[number])

    return run


def call_of(arguments: Any, given: dict[int, Any]) -> tuple[Any, ...]:
    """The arguments of a call of the method."""
    positional, named = arguments.children
    return tuple(nested(child, given) for child in (*positional.children, *named.children))
