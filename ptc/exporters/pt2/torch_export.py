"""What of `torch.export` the exporter needs, its private names included.

Owns tracing, verifying, saving and loading. Takes a plain module, gives an ExportedProgram or a
CompileError. `tests/exporters/test_pt2.py` runs all of it, so that a new release of torch that
drops a name is found.
"""

from __future__ import annotations

import logging
import operator
import warnings
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from torch.export import ExportedProgram
from torch.export.graph_signature import InputKind, OutputKind, OutputSpec
from torch.fx import GraphModule, Node
from torch.utils import _pytree as pytree

from ptc.exporters.pt2.stock import is_ours
from ptc.support.diagnostics import CompileError, InternalError, Location

#: Where torch logs what it thinks of symbols while it reads a file.
_LOGGERS = ("torch._export.serde.serialize", "torch.export.pt2_archive._package")

#: Attribute of an error of torch: the user's line.
_PLACE = "ptc_location"

_NOT_THE_USERS = (str(Path(__file__).parent), "torch/fx/passes")


def trace(
    module: torch.nn.Module,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    dynamic: Any,
    written: Sequence[str | int | None],
) -> ExportedProgram:
    """The ExportedProgram of a module whose result is a pair, verified: what it writes, and its
    result. `written` says where the former go: the names of buffers, or the numbers of arguments.

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
    except CompileError:
        raise
    except Exception as error:  # torch has no common base for what export raises
        raise _own_error(error) or _refused(error) from error
    _say_what_is_written(exported, written)
    _drop_unused_symbols(exported)
    _keep_user_lines(exported)
    _write_out_sums(exported)
    exported.validate()
    ours = sorted({str(node.target) for node in operators_of(exported) if is_ours(node.target)})
    if ours:
        raise InternalError("export", f"operators of ptc are left: {', '.join(ours)}")
    return exported


def _own_error(error: BaseException | None) -> CompileError | None:
    """A refusal of ours that torch wrapped into an error of its own."""
    while error is not None and not isinstance(error, CompileError):
        error = error.__cause__ or error.__context__
    return error


def _say_what_is_written(exported: ExportedProgram, written: Sequence[str | int | None]) -> None:
    """The first results of the graph are new contents of buffers and arguments."""
    signature = exported.graph_signature
    arguments = [s for s in signature.input_specs if s.kind is InputKind.USER_INPUT]
    for position, target in enumerate(written):
        argument = signature.output_specs[position].arg
        if isinstance(target, str):
            spec = OutputSpec(OutputKind.BUFFER_MUTATION, argument, target)
        else:
            assert target is not None
            name = arguments[target].arg.name
            spec = OutputSpec(OutputKind.USER_INPUT_MUTATION, argument, name)
        signature.output_specs[position] = spec
    call = exported.module_call_graph[0].signature
    assert call is not None
    _, result = pytree.tree_unflatten(range(call.out_spec.num_leaves), call.out_spec)
    call.out_spec = pytree.tree_structure(result)
    call.outputs = call.outputs[len(written) :]


def set_place(error: Exception, location: Location | None) -> None:
    """Note the user's line at an error of torch, unless one is noted."""
    if not hasattr(error, _PLACE):
        setattr(error, _PLACE, location)


def _place_of(error: BaseException | None) -> Location | None:
    while error is not None and not hasattr(error, _PLACE):
        error = error.__cause__ or error.__context__
    return getattr(error, _PLACE, None)


def _refused(error: Exception) -> CompileError:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    first = lines[0][:300] if lines else type(error).__name__
    return CompileError(
        "PTC-E053",
        f"torch.export refuses the program: {first}",
        location=_place_of(error),
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


def _write_out_sums(exported: ExportedProgram) -> None:
    """Sums of sizes as additions: files have no `torch.sym_sum`."""
    for module in graphs_of(exported.graph_module):
        sums = [node for node in module.graph.nodes if node.target is torch.sym_sum]
        for node in sums:
            first, *others = node.args[0]
            with module.graph.inserting_before(node):
                for other in others:
                    values = [n.meta["val"] if isinstance(n, Node) else n for n in (first, other)]
                    first = module.graph.call_function(operator.add, (first, other))
                    first.meta["val"] = values[0] + values[1]
            node.replace_all_uses_with(first)
            module.graph.erase_node(node)
        if sums:
            module.recompile()


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


def known_of_sizes(values: Sequence[Any]) -> list[Any]:
    """What torch knows of the sizes in `values`: expressions, bounds, and how much it will ask when
    the program runs."""
    sizes = [v for v in values if isinstance(v, torch.SymInt)]
    for value in values:
        if isinstance(value, torch.Tensor):
            sizes.extend(size for size in value.shape if isinstance(size, torch.SymInt))
    return [_known(size.node) for size in sizes]


def _known(node: Any) -> tuple[Any, ...]:
    environment, expression = node.shape_env, node.expr
    asked = environment.deferred_runtime_asserts
    count = sum(len(asked.get(symbol, ())) for symbol in expression.free_symbols)
    return expression, environment.bound_sympy(expression), count


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
