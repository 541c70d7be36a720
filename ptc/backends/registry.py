"""Pluggable backends: what turns a captured graph into something callable.

A backend gets a `CapturedProgram` and returns a `CompiledGraph`. Backends are named; `native` (the
default) is registered by `ptc.dispatch`, which alone may see the whole pipeline.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import torch

from ptc.graph.program import CapturedProgram
from ptc.support.diagnostics import CompileError


class CompiledGraph(Protocol):
    """Flat inputs in the order of `program.inputs` -> tuple of flat outputs.

    Mutation of inputs has happened when it returns.
    """

    def __call__(self, *inputs: Any) -> tuple[Any, ...]: ...


@dataclass(frozen=True, slots=True)
class BackendOptions:
    """What the user asked of `ptc.compile` that concerns the backend."""

    freeze: bool = False
    mode: str = "default"
    options: dict[str, Any] = field(default_factory=dict[str, Any])


Backend = Callable[[CapturedProgram, BackendOptions], CompiledGraph]
GraphModuleBackend = Callable[[torch.fx.GraphModule, Sequence[torch.Tensor]], Callable[..., Any]]

_BACKENDS: dict[str, Backend] = {}


def register_backend(name: str) -> Callable[[Backend], Backend]:
    """Register a backend under `name`, for `ptc.compile(model, backend=name)`."""

    def add(backend: Backend) -> Backend:
        if name in _BACKENDS:
            raise ValueError(f"backend {name!r} is registered already")
        _BACKENDS[name] = backend
        return backend

    return add


def list_backends() -> list[str]:
    """The names that `ptc.compile(backend=...)` takes."""
    return sorted(_BACKENDS)


def resolve_backend(backend: str | Callable[..., Any]) -> Backend:
    """The backend of that name; or a callable: ours, or one with the signature
    `(graph_module, example_inputs) -> callable` that backends for torch.compile have.

    Raises CompileError PTC-D001 for an unknown name.
    """
    if isinstance(backend, str):
        if backend not in _BACKENDS:
            raise CompileError(
                "PTC-D001",
                f"unknown backend {backend!r}",
                hint=f"choose one of {', '.join(list_backends())}, or pass a callable",
            )
        return _BACKENDS[backend]
    if _takes_program(backend):
        return backend
    return _adapt_graph_module_backend(backend)


def _takes_program(backend: Callable[..., Any]) -> bool:
    try:
        parameters = list(inspect.signature(backend).parameters.values())
    except (TypeError, ValueError):
        return False
    return bool(parameters) and parameters[0].annotation in (CapturedProgram, "CapturedProgram")


def _adapt_graph_module_backend(backend: GraphModuleBackend) -> Backend:
    def adapted(program: CapturedProgram, _options: BackendOptions) -> CompiledGraph:
        examples = [node.meta["val"] for node in program.graph.graph.find_nodes(op="placeholder")]
        compiled = backend(program.graph, examples)

        def call(*inputs: Any) -> tuple[Any, ...]:
            return tuple(compiled(*inputs))

        return call

    return adapted
