"""What a program with control flow declares, in whatever order it runs: inputs, kept values and
results, the type of each name, and the graphs of segments.

Takes a `ControlProgram`, gives the types of its variables. Raises Fault where they disagree.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import torch

from ptc.graph.control import ControlProgram, Segment, Var, walk
from ptc.graph.control_operations import kind_of_number
from ptc.graph.control_parts import flat, placeholders_of, results_of, variable_of, variables_of
from ptc.graph.control_types import differs, var_type
from ptc.graph.program import InputKind
from ptc.graph.structure import leaves
from ptc.graph.symbols import SYMBOLIC_TYPES, expression_of
from ptc.graph.types import type_text
from ptc.graph.verifier import verify_captured


class Fault(Exception):
    """What is wrong with a program, or with its item at hand."""


def weights_of(program: ControlProgram) -> dict[str, InputKind]:
    """The tensors of the model that the program only reads; those that it writes are variables."""
    return {
        described.name: described.kind
        for described in program.inputs
        if described.live is not None and described.name not in program.written
    }


def symbols_of_inputs(program: ControlProgram) -> frozenset[str]:
    """The symbols that an input gives: as a dimension, or as a number."""
    found: set[str] = set()
    for value in program.values:
        parts = value.shape if isinstance(value, torch.Tensor) else (value,)
        for part in parts:
            if isinstance(part, SYMBOLIC_TYPES) and expression_of(part).is_Symbol:
                found.add(str(expression_of(part)))
    return frozenset(found)


# --- the interface ------------------------------------------------------------------------------


def verify_interface(program: ControlProgram) -> None:
    """Check inputs, kept numbers and the structures of arguments and results."""
    _verify_inputs(program)
    for kept in program.state:
        if kind_of_number(kept.initial) is not kept.variable.kind:
            raise Fault(f"`{kept.path}` starts with {kept.initial!r}, "
                        f"which is no {kept.variable.kind.value}")  # fmt: skip
    if bool(program.variants) != (program.selector is not None):
        raise Fault("variants and a selector come together")
    structures = [s for s in (program.result, *program.variants) if s is not None]
    counted = [(len(program.outputs), structure) for structure in structures]
    if program.arguments is not None:
        counted.append((len(program.inputs), program.arguments))
    for count, structure in counted:
        bad = [index for index in leaves(structure) if index >= count]
        if bad:
            raise Fault(f"a structure names value {bad[0]} of {count}")


def _verify_inputs(program: ControlProgram) -> None:
    names = [described.name for described in program.inputs]
    if len(set(names)) != len(names):
        raise Fault(f"input names are not unique: {names}")
    if len(program.values) != len(names):
        raise Fault(f"{len(program.values)} values for {len(names)} inputs")
    unknown = sorted(program.written - set(names))
    if unknown:
        raise Fault(f"`{unknown[0]}` is written and no input")
    for described in program.inputs:
        users = described.kind in (InputKind.USER, InputKind.SCALAR)
        if users == (described.live is not None):
            raise Fault(f"`{described.name}` is a {described.kind.value} and "
                        f"{'has a' if users else 'has no'} live tensor")  # fmt: skip


# --- types --------------------------------------------------------------------------------------


def declared_types(program: ControlProgram) -> Mapping[str, Var]:
    """The type of every variable, from wherever it occurs."""
    weights = weights_of(program)
    types: dict[str, Var] = {}
    for variable in _declarations(program, weights):
        known = types.setdefault(variable.name, variable)
        if differs(known, variable):
            raise Fault(f"`{variable.name}` has two types: {var_type(known)} and "
                        f"{var_type(variable)}")  # fmt: skip
    for item in _segments(program):
        for output, value in results_of(item.program):
            if output.name not in types:
                types[output.name] = variable_of(output.name, value)
    return types


def _declarations(program: ControlProgram, weights: Mapping[str, InputKind]) -> Iterator[Var]:
    """Each variable wherever it is named with its type. What a segment gives is only like it: sizes
    may be known better there."""
    for described, value in zip(program.inputs, program.values, strict=True):
        if described.name not in weights:
            yield variable_of(described.name, value)
    yield from (kept.variable for kept in (*program.state, *program.references))
    yield from (output.value for output in program.outputs)
    for item in walk(program.body):
        if isinstance(item, Segment):
            for described, node in placeholders_of(item.program):
                if described.name not in weights:
                    yield variable_of(described.name, node.meta.get("val"))
        yield from variables_of(item)


def _segments(program: ControlProgram) -> Iterator[Segment]:
    return (item for item in walk(program.body) if isinstance(item, Segment))


# --- graphs -------------------------------------------------------------------------------------


def verify_segment(
    item: Segment, program: ControlProgram, weights: Mapping[str, InputKind]
) -> None:
    """Check the graph of a segment, and that what it takes for weights is one of the program."""
    verify_captured(item.program)
    _verify_modes(item, program)
    for described, _ in placeholders_of(item.program):
        kind = weights.get(described.name)
        if kind is not None and kind is not described.kind:
            raise Fault(f"`{described.name}` is a {kind.value} of the program and a "
                        f"{described.kind.value} of the segment")  # fmt: skip
        outside = described.kind not in (InputKind.USER, InputKind.SCALAR)
        if outside and kind is None and described.name not in program.written:
            raise Fault(f"the program has no weight `{described.name}`")
    for output, value in results_of(item.program):
        if not isinstance(value, torch.Tensor):
            raise Fault(f"`{output.name}` is {type_text(value)}, not a tensor")


def _verify_modes(item: Segment, program: ControlProgram) -> None:
    mode = program.fake_mode
    if item.program.fake_mode is not mode:
        raise Fault("the segment has another fake mode than the program")
    for node in item.program.graph.graph.nodes:
        for value in flat([*flat(node.args), *flat(node.kwargs), node.meta.get("val")]):
            foreign = getattr(value, "fake_mode", mode) is not mode
            if isinstance(value, SYMBOLIC_TYPES):
                foreign = value.node.shape_env is not mode.shape_env
            if foreign:
                raise Fault(f"`{node.name}` has a value of another fake mode")
