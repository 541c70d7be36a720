"""From a function of flat values to an ExportedProgram with the user's names and structures.

What a program writes is among the results of its graph, and the signature says where it goes: the
graph is functional. Takes the inputs of a program, what they hold, and the function; knows no
operator.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch.export import ExportedProgram
from torch.utils import _pytree as pytree

from ptc.exporters.pt2 import torch_export, trees
from ptc.exporters.pt2.module import make_module
from ptc.exporters.pt2.sizes import Sizes
from ptc.graph.program import DimRange, ProgramInput, Structure
from ptc.support.version import VERSION

#: The values of all inputs (None for one that the call does not give) -> the new content of each
#: input that is written, and the results.
Run = Callable[[Sequence[Any]], tuple[Sequence[Any], Sequence[Any]]]


@dataclass(frozen=True, slots=True)
class Recipe:
    """What an ExportedProgram is made of.

    inputs     in order; `fakes` has the fake value of each that a call gives, by position
    weights    what the others hold, by name
    written    the positions of the inputs that the program writes to
    """

    name: str
    inputs: Sequence[ProgramInput]
    fakes: Mapping[int, Any]
    dims: Mapping[str, DimRange]
    arguments: Structure
    result: Structure
    weights: Mapping[str, torch.Tensor]
    written: Sequence[int]
    run: Run


def build(recipe: Recipe) -> tuple[ExportedProgram, dict[str, Any]]:
    """The program, and what a file says beside it."""
    trees.require_result(recipe.result)
    changed = {recipe.inputs[at].name for at in recipe.written}

    def run(values: Sequence[Any]) -> tuple[list[Any], Any]:
        contents, results = recipe.run(values)
        return list(contents), trees.build(recipe.result, results)

    module, names = make_module(recipe.inputs, recipe.weights, changed, recipe.arguments, run)
    sizes = Sizes(list(recipe.fakes.values()), recipe.dims)
    examples = {at: sizes.example(fake) for at, fake in recipe.fakes.items()}
    args, kwargs = trees.call_of(recipe.arguments, examples)
    shapes = trees.by_parameter(
        recipe.arguments,
        recipe.inputs,
        {at: sizes.specification(fake) for at, fake in recipe.fakes.items()},
    )
    order = _argument_order(recipe)
    targets = [names.get(recipe.inputs[at].name, order.get(at)) for at in recipe.written]
    exported = torch_export.trace(module, args, kwargs, shapes, targets)
    return exported, {"ptc": VERSION, "name": recipe.name, "weights": names, "sizes": sizes.names}


@dataclass(frozen=True, slots=True)
class _Marker:
    position: int


def _argument_order(recipe: Recipe) -> dict[int, int]:
    """Input -> its number among the flat arguments of a call."""
    marked = trees.build(recipe.arguments, {at: _Marker(at) for at in recipe.fakes})
    flat = pytree.tree_leaves(marked)
    return {m.position: n for n, m in enumerate(flat) if isinstance(m, _Marker)}
