"""What of `torch.export` the exporter needs, its private names included.

Owns tracing, verifying, saving and loading. Takes a plain module, gives an ExportedProgram or a
CompileError. `tests/exporters/test_pt2.py` runs all of it, so that a new release of torch that
drops a name is found.
"""

from __future__ import annotations

import logging
import warnings
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from torch.export import ExportedProgram
from torch.fx import GraphModule, Node

from ptc.exporters.pt2.stock import is_ours
from ptc.support.diagnostics import CompileError, InternalError

#: Where torch logs what it thinks of symbols while it reads a file.
_LOGGERS = ("torch._export.serde.serialize", "torch.export.pt2_archive._package")

_NOT_THE_USERS = (str(Path(__file__).parent), "torch/fx/passes")


def trace(
    module: torch.nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], dynamic: Any
) -> ExportedProgram:
    """The ExportedProgram of a module, verified.

    Raises CompileError PTC-E053 for what torch.export refuses."""
    try:
        with torch.no_grad(), _quiet():
            exported = torch.export.export(
                module,
                args,
                kwargs,
                dynamic_shapes=dynamic,
                strict=False,
                prefer_deferred_runtime_asserts_over_guards=True,
            )
            # Writes in place become results that the signature names; nothing is taken apart.
            exported = exported.run_decompositions({})
    except CompileError:
        raise
    except Exception as error:  # torch has no common base for what export raises
        raise _refused(error) from error
    _drop_unused_symbols(exported)
    _keep_user_lines(exported)
    exported.validate()
    ours = sorted({str(node.target) for node in operators_of(exported) if is_ours(node.target)})
    if ours:
        raise InternalError("export", f"operators of ptc are left: {', '.join(ours)}")
    return exported


def _refused(error: Exception) -> CompileError:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    first = lines[0][:300] if lines else type(error).__name__
    return CompileError(
        "PTC-E053",
        f"torch.export refuses the program: {first}",
        hint="`ptc compile` makes a library of it, and `ptc export --format ptir` a file",
    )


def _drop_unused_symbols(exported: ExportedProgram) -> None:
    """Ranges of symbols that no value has any more: readers warn of them."""
    used = {
        str(symbol)
        for graph in graphs_of(exported.graph_module)
        for node in graph.graph.nodes
        for symbol in _symbols(node.meta.get("val"))
    }
    for symbol in [s for s in exported.range_constraints if not {str(t) for t in _free(s)} & used]:
        del exported.range_constraints[symbol]


def _keep_user_lines(exported: ExportedProgram) -> None:
    """Without places in ptc and in torch, which torch notes where a node serves no user's line."""
    for graph in graphs_of(exported.graph_module):
        for node in graph.graph.nodes:
            if any(place in (node.stack_trace or "") for place in _NOT_THE_USERS):
                node.stack_trace = None


def _free(expression: Any) -> Any:
    return expression.free_symbols


def _symbols(value: Any) -> set[Any]:
    if isinstance(value, torch.Tensor):
        sizes = [*value.shape, *value.stride(), value.storage_offset()]
        return set().union(*(_symbols(size) for size in sizes))
    if isinstance(value, (torch.SymInt, torch.SymFloat, torch.SymBool)):
        return set(value.node.expr.free_symbols)
    if isinstance(value, (list, tuple)):
        return set().union(*(_symbols(item) for item in value))
    return set()


def graphs_of(module: GraphModule) -> Generator[GraphModule]:
    """A graph and those of its branches and loops."""
    for inner in module.modules():
        if isinstance(inner, GraphModule):
            yield inner


def operators_of(exported: ExportedProgram) -> Generator[Node]:
    """The calls of a program, those in branches and loops too."""
    for graph in graphs_of(exported.graph_module):
        yield from (node for node in graph.graph.nodes if node.op == "call_function")


def save(exported: ExportedProgram, path: Path, extra: Mapping[str, str]) -> None:
    with _quiet():
        torch.export.save(exported, path, extra_files=dict(extra))


def load(path: Path, extra: str) -> tuple[ExportedProgram, str]:
    """A file's program, and the text called `extra` in it."""
    texts = {extra: ""}
    with _quiet():
        exported = torch.export.load(path, extra_files=texts)
    return exported, texts[extra]


@contextmanager
def _quiet() -> Generator[None]:
    """Without what torch says to its own developers."""
    loggers = [logging.getLogger(name) for name in _LOGGERS]
    levels = [logger.level for logger in loggers]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for logger in loggers:
            logger.setLevel(logging.ERROR)
        try:
            yield
        finally:
            for logger, level in zip(loggers, levels, strict=True):
                logger.setLevel(level)
