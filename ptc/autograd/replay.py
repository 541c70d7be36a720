"""Runs a captured graph node by node on wrapped fake tensors, while a recorder listens.

Takes the captured graph and the values of its placeholders, gives the values of its output tuple.
Owns what differs from running the graph: replacement of torch functions by opaque operators, modes
recorded at capture (autocast), and the places nodes get. Knows nothing of functionalisation.
"""

from __future__ import annotations

import operator
import types
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch
from torch.fx import GraphModule, Node
from torch.fx.node import map_arg
from torch.overrides import TorchFunctionMode

from ptc.autograd.recorder import Recorder
from ptc.support.diagnostics import CompileError, InternalError

Replacements = Mapping[Callable[..., Any], Callable[..., Any]]

#: Calls that only switch gradient recording, which never happens while a graph is replayed.
_GRADIENT_SWITCHES = frozenset({torch._C._set_grad_enabled, torch.set_grad_enabled})


class ReplaceFunctions(TorchFunctionMode):
    """Calls `replacements[f]` wherever torch code calls `f`, inside torch's own Python functions too.

    A torch function written in Python asks `has_torch_function` first and hands itself to this mode;
    run as it is, it would hand itself over again for ever, and with the mode off, the functions that
    it calls would be missed. So a copy of it that does not ask is run with the mode on.
    """

    def __init__(self, replacements: Replacements) -> None:
        super().__init__()
        self._replacements = replacements
        self._copies: dict[types.FunctionType, Callable[..., Any]] = {}

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        kwargs = kwargs or {}
        replacement = self._replacements.get(func)
        if replacement is not None:
            return replacement(*args, **kwargs)
        if _asks_for_overrides(func):
            with self:
                return self._copy(func)(*args, **kwargs)
        return func(*args, **kwargs)

    def _copy(self, function: types.FunctionType) -> Callable[..., Any]:
        copy = self._copies.get(function)
        if copy is None:
            quiet = {name: _answer_no for name in _QUESTIONS if name in function.__globals__}
            copy = types.FunctionType(
                function.__code__,
                {**function.__globals__, **quiet},
                function.__name__,
                function.__defaults__,
                function.__closure__,
            )
            copy.__kwdefaults__ = function.__kwdefaults__
            self._copies[function] = copy
        return copy


_QUESTIONS = (
    "has_torch_function",
    "has_torch_function_unary",
    "has_torch_function_variadic",
)


def _answer_no(*_: object) -> bool:
    return False


def _asks_for_overrides(function: Any) -> bool:
    return isinstance(function, types.FunctionType) and any(
        name in function.__code__.co_names for name in _QUESTIONS
    )


def replay(graph: GraphModule, inputs: Sequence[Any], recorder: Recorder) -> tuple[Any, ...]:
    """Run `graph` on `inputs`, one a placeholder. Errors name the user's line."""
    values: dict[Node, Any] = {}
    waiting = iter(inputs)
    last_uses = _last_uses(graph)
    for node in graph.graph.nodes:
        if node.op == "placeholder":
            values[node] = next(waiting)
        elif node.op == "output":
            result = map_arg(node.args[0], values.__getitem__)
            return tuple(result) if isinstance(result, (tuple, list)) else (result,)
        else:
            recorder.at(node.meta.get("location"), node.meta.get("stack", ()))
            values[node] = _run(graph, node, values)
            recorder.stamp()
        for dead in last_uses.get(node, ()):
            values.pop(dead, None)
    raise InternalError("functionalise", "the captured graph has no output")


def _run(graph: GraphModule, node: Node, values: Mapping[Node, Any]) -> Any:
    if node.op == "get_attr":
        return operator.attrgetter(str(node.target))(graph)
    args = map_arg(node.args, values.__getitem__)
    kwargs = map_arg(node.kwargs, values.__getitem__)
    try:
        with _modes(node):
            if node.op == "call_method":
                return getattr(args[0], str(node.target))(*args[1:], **kwargs)
            if node.target in _GRADIENT_SWITCHES:
                return None
            assert callable(node.target)
            return node.target(*args, **kwargs)
    except (CompileError, InternalError):
        raise
    except Exception as error:
        raise CompileError(
            "PTC-A004",
            f"`{_target_name(node)}` cannot be made functional: {type(error).__name__}: {error}",
            location=node.meta.get("location"),
        ) from error


def _modes(node: Node) -> AbstractContextManager[Any]:
    """The autocast state in force where the node was captured: (device type, dtype, enabled)."""
    state = node.meta.get("autocast")
    if state is None:
        return nullcontext()
    device, dtype, enabled = state
    # The cache would hold casts across graph nodes, keyed by tensors that are not the user's.
    return torch.autocast(device, dtype=dtype, enabled=enabled, cache_enabled=False)


def _last_uses(graph: GraphModule) -> dict[Node, list[Node]]:
    """For each node the values that nothing reads after it."""
    uses: dict[Node, list[Node]] = {}
    seen: set[Node] = set()
    for node in reversed(graph.graph.nodes):
        for used in node.all_input_nodes:
            if used not in seen:
                seen.add(used)
                uses.setdefault(node, []).append(used)
    return uses


def _target_name(node: Node) -> str:
    if isinstance(node.target, str):
        return node.target
    return getattr(node.target, "__name__", repr(node.target))
