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
import torch.nn.functional as F
from torch.fx import GraphModule, Node
from torch.fx.node import map_arg
from torch.overrides import TorchFunctionMode

from ptc.autograd import torch_internals as internals
from ptc.autograd.copies import is_copy
from ptc.autograd.recorder import Recorder
from ptc.graph import transforms
from ptc.support.diagnostics import CompileError, InternalError

Replacements = Mapping[Callable[..., Any], Callable[..., Any]]


class ReplaceFunctions(TorchFunctionMode):
    """Calls `replacements[f]` wherever torch code calls `f`, inside torch's own Python functions
    too.

    A torch function written in Python asks `has_torch_function` first and hands itself to this
    mode; run as it is, it would hand itself over again for ever, and with the mode off, the
    functions that it calls would be missed. So a copy of it that does not ask is run with the mode
    on. (A method of `Tensor` that calls its base's method of the same name arrives again: then it
    runs plainly.)
    """

    def __init__(self, replacements: Replacements) -> None:
        super().__init__()
        self._replacements = replacements
        self._copies: dict[types.FunctionType, Callable[..., Any]] = {}
        self._running: set[types.FunctionType] = set()

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        kwargs = kwargs or {}
        if torch.is_grad_enabled() or transforms.depth():
            return func(*args, **kwargs)  # the opaque operators have no derivatives
        replacement = self._replacements.get(func)
        if replacement is not None:
            if torch.is_autocast_enabled("cpu"):
                return _under_autocast(func, replacement, args, kwargs)
            return replacement(*args, **kwargs)
        if not _asks_for_overrides(func) or func in self._running:
            return func(*args, **kwargs)
        self._running.add(func)
        try:
            with self:
                return self._copy(func)(*args, **kwargs)
        finally:
            self._running.discard(func)

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


#: Replaced functions that torch's dispatcher runs in the low precision under autocast.
_LOW_PRECISION = frozenset({F.linear, F.scaled_dot_product_attention})


def _under_autocast(
    function: Any, replacement: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """A replaced function where autocast is on: the opaque operators are unknown to the
    dispatcher's autocast lists, so their arguments are cast here by its rule (floating point but
    double)."""
    if function not in _LOW_PRECISION:
        return function(*args, **kwargs)
    dtype = torch.get_autocast_dtype("cpu")

    def cast(value: Any) -> Any:
        if not isinstance(value, torch.Tensor) or not value.is_floating_point():
            return value
        return value if value.dtype == torch.float64 else value.to(dtype)

    with torch.autocast("cpu", enabled=False):
        return replacement(*map(cast, args), **{name: cast(arg) for name, arg in kwargs.items()})


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
    mode = transforms.recorded_mode(graph.graph)
    if mode is None:
        return _replay(graph, inputs, recorder, records=False)
    with torch.set_grad_enabled(mode), transforms.levels_restored():
        return _replay(graph, inputs, recorder, records=True)


def _replay(
    graph: GraphModule, inputs: Sequence[Any], recorder: Recorder, records: bool
) -> tuple[Any, ...]:
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
            values[node] = _run(graph, node, values, records)
            recorder.stamp()
        for dead in last_uses.get(node, ()):
            values.pop(dead, None)
    raise InternalError("functionalise", "the captured graph has no output")


def _run(graph: GraphModule, node: Node, values: Mapping[Node, Any], records: bool) -> Any:
    if node.op == "get_attr":
        return operator.attrgetter(str(node.target))(graph)
    args = map_arg(node.args, values.__getitem__)
    kwargs = map_arg(node.kwargs, values.__getitem__)
    try:
        with _modes(node):
            if is_copy(node):
                copied: Any = args[0]
                return copied.clone(memory_format=torch.contiguous_format)
            if node.op == "call_method":
                return getattr(args[0], str(node.target))(*args[1:], **kwargs)
            if node.target in internals.GRADIENT_SWITCHES and not records:
                return None
            function: Any = node.target
            return function(*args, **kwargs)
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
