"""A plain `torch.nn.Module` that computes a program: what `torch.export` traces.

Parameters and buffers have the user's dotted names. Takes a program's inputs and a function that
runs it on flat values; the module's `forward` has the user's parameters and results. Knows no
operator.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import torch
from torch import nn

from ptc.exporters.pt2 import trees
from ptc.graph.program import InputKind, ProgramInput, Structure

#: Runs a program: the values of all its inputs (None for one that the call does not give), to a
#: pytree of results.
Run = Callable[[Sequence[Any]], Any]


class Weights:
    """The tensors of a program in a module, each under its dotted name and its aliases."""

    def __init__(self, root: nn.Module) -> None:
        self._root = root
        self._places: dict[str, tuple[nn.Module, str]] = {}

    def add(self, described: ProgramInput, tensor: torch.Tensor, *, written: bool) -> None:
        """A weight that is written to becomes a buffer: torch takes parameters for fixed."""
        entry: nn.Parameter | torch.Tensor = tensor
        if described.kind is InputKind.PARAMETER and not written:
            assert described.live is not None
            entry = nn.Parameter(tensor, requires_grad=described.live.requires_grad)
        kept = described.kind is not InputKind.CONSTANT
        self._places[described.name] = self._register(described.name, entry, kept)
        for alias in described.aliases:
            # `rnn._flat_weights.0` is no name in a state dict
            if not any(part.startswith("_") for part in alias.split(".")):
                self._register(alias, entry, kept)

    def names(self) -> dict[str, str]:
        """The program's name of each weight -> that in the module."""
        modules = {id(module): name for name, module in self._root.named_modules()}
        return {
            name: f"{modules[id(module)]}.{leaf}".lstrip(".")
            for name, (module, leaf) in self._places.items()
        }

    def get(self, name: str) -> torch.Tensor | None:
        place = self._places.get(name)
        return None if place is None else getattr(*place)

    def _register(self, name: str, entry: Any, kept: bool) -> tuple[nn.Module, str]:
        *path, leaf = name.split(".")
        module = self._module(path)
        if module is None or not leaf or hasattr(module, leaf):
            # Not a name in a module: a tensor of a closure, or of a list
            module, leaf = self._root, re.sub(r"\W", "_", f"constant_{name}")
            while hasattr(module, leaf):
                leaf += "_"
        if isinstance(entry, nn.Parameter):
            module.register_parameter(leaf, entry)
        else:
            module.register_buffer(leaf, entry, persistent=kept)
        return module, leaf

    def _module(self, path: Sequence[str]) -> nn.Module | None:
        module = self._root
        for name in path:
            if not name:
                return None
            if not hasattr(module, name):
                module.add_module(name, nn.Module())
            inner = getattr(module, name)
            if not isinstance(inner, nn.Module):
                return None
            module = inner
        return module


def make_module(
    inputs: Sequence[ProgramInput],
    weights: Mapping[str, torch.Tensor],
    written: Collection[str],
    arguments: Structure,
    run: Run,
) -> tuple[nn.Module, dict[str, str]]:
    """The module, and the names in it of `weights`, which are the content of the inputs that are no
    arguments; `written` are those that the program writes to."""
    root = nn.Module()
    held = Weights(root)
    for described in inputs:
        if described.name in weights:
            tensor = weights[described.name]
            held.add(described, tensor, written=described.name in written)

    def forward(*args: Any, **kwargs: Any) -> Any:
        given = trees.leaves_of(arguments, (args, kwargs))
        found = [held.get(described.name) for described in inputs]
        return run([given.get(at) if value is None else value for at, value in enumerate(found)])

    forward.__signature__ = trees.signature_of(arguments, inputs)  # type: ignore[attr-defined]
    names = held.names()
    root.forward = forward
    return root, names
