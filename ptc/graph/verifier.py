"""Well-formedness of captured and functional programs. Raises InternalError quoting the place.

Takes a program, gives nothing. Runs after every pass in tests and under `--verify`. Knows what a
graph must look like, not what its operators compute.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import torch
from torch._ops import OpOverload
from torch.fx import GraphModule, Node

from ptc.graph.printer import argument_text
from ptc.graph.program import (
    AtenProgram,
    CapturedProgram,
    InputKind,
    OutputKind,
    ProgramOutput,
    Structure,
)
from ptc.graph.structure import leaves
from ptc.graph.symbols import symbols_of
from ptc.support.diagnostics import InternalError

#: Functions on sizes that a functional graph may call besides operators.
SIZE_FUNCTIONS: frozenset[Callable[..., Any]] = frozenset(
    {
        operator.add, operator.sub, operator.mul, operator.floordiv, operator.mod,
        operator.truediv, operator.pow, operator.neg, operator.eq, operator.ne, operator.lt,
        operator.le, operator.gt, operator.ge, operator.and_, operator.or_,
        torch.sym_max, torch.sym_min, torch.sym_float, torch.sym_int, torch.sym_not,
        math.floor, math.ceil, math.trunc,
    }
)  # fmt: skip

NAMESPACES = ("aten", "ptc", "prims")


def verify_captured(program: CapturedProgram) -> None:
    """Check a captured program. Raises InternalError."""
    _verify_shell(program, "captured")
    for node in program.graph.graph.nodes:
        if node.op == "call_module":
            _fail("captured", node, "a submodule call is left in the graph")
    for output in program.outputs:
        if output.kind is not OutputKind.USER:
            _fail("captured", _output(program.graph), f"`{output.name}` is not a user output")


def verify_aten(program: AtenProgram) -> None:
    """Check a functional program. Raises InternalError."""
    _verify_shell(program, "aten")
    known = _symbols(program)
    for node in program.graph.graph.nodes:
        match node.op:
            case "call_function":
                _verify_call(node)
                known |= _new_symbols(node)
            case "call_method" | "call_module":
                _fail("aten", node, f"{node.op} in a functional graph")
            case "get_attr":
                if not isinstance(getattr(program.graph, str(node.target), None), torch.Tensor):
                    _fail("aten", node, f"there is no literal `{node.target}`")
            case _:
                pass
        if node.op != "output":
            unknown = symbols_of(node.meta["val"]) - known
            if unknown:
                _fail("aten", node, f"unknown symbols {', '.join(sorted(unknown))}")
    _verify_write_backs(program)


def _verify_shell(program: CapturedProgram | AtenProgram, stage: str) -> None:
    graph = program.graph.graph
    try:
        graph.lint()
    except RuntimeError as error:
        raise InternalError(stage, f"malformed graph: {error}") from error
    placeholders = [node for node in graph.nodes if node.op == "placeholder"]
    if len(placeholders) != len(program.inputs):
        _fail(stage, _output(program.graph), f"{len(placeholders)} placeholders for "
              f"{len(program.inputs)} inputs")  # fmt: skip
    names = [described.name for described in program.inputs]
    if len(set(names)) != len(names):
        raise InternalError(stage, f"input names are not unique: {names}")
    for described in program.inputs:
        outside = described.kind not in (InputKind.USER, InputKind.SCALAR)
        if outside != (described.live is not None):
            raise InternalError(stage, f"`{described.name}` is a {described.kind.value} and "
                                f"{'has no' if outside else 'has a'} live tensor")  # fmt: skip
    for node in graph.nodes:
        if node.op != "output" and "val" not in node.meta:
            _fail(stage, node, 'no meta["val"]')
    results = _output(program.graph).args[0]
    if not isinstance(results, (tuple, list)) or len(results) != len(program.outputs):
        _fail(stage, _output(program.graph), f"does not return {len(program.outputs)} values")
    _verify_structure(program.arguments, len(program.inputs), stage, "arguments")
    users = sum(output.kind is OutputKind.USER for output in program.outputs)
    _verify_structure(program.result, users, stage, "result")
    for output in program.outputs:
        _verify_output(output, len(program.inputs), stage)


def _verify_structure(structure: Structure | None, count: int, stage: str, what: str) -> None:
    bad = [index for index in leaves(structure) if index >= count] if structure is not None else []
    if bad:
        raise InternalError(stage, f"the {what} name value {bad[0]} of {count}")


def _verify_output(output: ProgramOutput, inputs: int, stage: str) -> None:
    writes = output.kind is OutputKind.WRITE_BACK
    if writes != (output.target is not None):
        raise InternalError(stage, f"`{output.name}` is {output.kind.value} to {output.target}")
    for index in (output.target, output.alias_of):
        if index is not None and not 0 <= index < inputs:
            raise InternalError(stage, f"`{output.name}` refers to input {index} of {inputs}")


def _verify_call(node: Node) -> None:
    target = node.target
    if target is operator.getitem:
        source = node.args[0]
        if not isinstance(source, Node) or not isinstance(source.meta["val"], (tuple, list)):
            _fail("aten", node, "getitem of something that is no tuple")
    elif isinstance(target, OpOverload):
        # The only view of a schema that torch offers.
        if target._schema.is_mutable:  # pyright: ignore[reportPrivateUsage]
            _fail("aten", node, f"{target} mutates its argument")
        if target.namespace not in NAMESPACES:
            _fail("aten", node, f"{target} is neither core ATen nor `ptc`")
    elif target not in SIZE_FUNCTIONS:
        _fail("aten", node, f"{target} is no operator")


def _symbols(program: AtenProgram) -> frozenset[str]:
    """What the inputs give: a symbol is known when a dimension or a scalar is it."""
    known = frozenset(program.dims)
    for node in program.graph.graph.nodes:
        if node.op == "placeholder":
            known |= symbols_of(node.meta["val"])
    return known


def _new_symbols(node: Node) -> frozenset[str]:
    """Sizes that depend on data come from the operator that makes them."""
    tags = getattr(node.target, "tags", ())
    makes = torch.Tag.dynamic_output_shape in tags or torch.Tag.data_dependent_output in tags
    return symbols_of(node.meta["val"]) if makes else frozenset()


def _verify_write_backs(program: AtenProgram) -> None:
    results = _output(program.graph).args[0]
    assert isinstance(results, (tuple, list))
    placeholders = [node for node in program.graph.graph.nodes if node.op == "placeholder"]
    users_over = False
    for output, value in zip(program.outputs, results, strict=True):
        if output.kind is OutputKind.USER:
            if users_over:
                _fail("aten", _output(program.graph), "a user output follows a write-back")
            continue
        users_over = True
        assert output.target is not None
        old = placeholders[output.target].meta["val"]
        new = value.meta["val"] if isinstance(value, Node) else None
        if not isinstance(new, torch.Tensor) or (old.shape, old.dtype) != (new.shape, new.dtype):
            _fail("aten", _output(program.graph), f"the value for `{output.name}` has another type")


def _output(graph: GraphModule) -> Node:
    return next(node for node in reversed(graph.graph.nodes) if node.op == "output")


def _fail(stage: str, node: Node, message: str) -> None:
    names = {other: other.name for other in node.graph.nodes}
    nearby = [node.prev.prev, node.prev, node]
    quoted = "\n".join(
        f"    {item.name} = {item.target}{argument_text(tuple(item.args), names)}"
        for item in nearby
        if item.op != "root"
    )
    place = node.meta.get("location")
    where = f" at {place} {place.text.strip()}" if place is not None else ""
    raise InternalError(stage, f"{message}{where}\n{quoted}")
