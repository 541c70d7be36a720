"""Records the functional operators that run on fake tensors as a graph of core ATen.

A dispatch mode below functionalisation and above the fake tensors: each operator that arrives is
decomposed if the table says so, else executed on the fakes and written down. Knows nothing of the
captured graph; `at` says which user line is being executed.
"""

from __future__ import annotations

import operator
import os
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from torch.fx import Graph, Node
from torch.utils._python_dispatch import TorchDispatchMode

from ptc.autograd import torch_internals as internals
from ptc.autograd.sizes import SizeNodes
from ptc.graph.symbols import SYMBOLIC_TYPES
from ptc.support.diagnostics import InternalError, Location

Decompositions = Mapping[Any, Callable[..., Any]]

_VALUES = (torch.Tensor, *SYMBOLIC_TYPES)

#: Where code lies that is not the user's: ptc's folder and torch's.
_LIBRARIES = (
    str(Path(__file__).parents[1]) + os.sep,
    str(Path(str(torch.__file__)).parent) + os.sep,
)


class _MutatingDecomposition(Exception):
    """A decomposition writes to a tensor in place: it has to run functionalised itself."""


class Recorder(TorchDispatchMode):
    """Writes operators into `graph`. Values are known by identity: each fake tensor has one
    node."""

    def __init__(self, graph: Graph, fake_mode: Any, decompositions: Decompositions) -> None:
        super().__init__()
        self.graph = graph
        self.sizes = SizeNodes(graph)
        self.literals: dict[str, torch.Tensor] = {}
        self._fake_mode = fake_mode
        self._decompositions = decompositions
        # The tensor is kept beside its node: an id is only unique while the object lives.
        self._nodes: dict[int, tuple[torch.Tensor, Node]] = {}
        self._depth = 0
        self._mutating: set[Any] = set()
        self._location: Location | None = None
        self._stack: tuple[Location, ...] = ()
        self._last = internals.last_node(self.graph)
        # For each guard of the fake mode the line that was being executed when it appeared.
        self.guard_places: list[Location | None] = [None] * len(internals.guards_of(fake_mode))

    # --- inputs, outputs, places --------------------------------------------------------------

    def placeholder(self, name: str, value: Any, meta: Mapping[str, Any]) -> Node:
        """Add an input of the graph whose fake value is `value`."""
        node = self.graph.placeholder(name)
        node.meta.update(meta)
        node.meta["val"] = value
        if isinstance(value, torch.Tensor):
            self._nodes[id(value)] = (value, node)
        self.sizes.learn(node, value)
        return node

    def at(self, location: Location | None, stack: tuple[Location, ...]) -> None:
        """Nodes recorded from here on serve this line of the user's."""
        self._location = location
        self._stack = stack
        self._last = internals.last_node(self.graph)

    @property
    def user_location(self) -> Location | None:
        """The line that is served now: the innermost one outside of ptc's and torch's folders."""
        outside = [place for place in self._stack if not place.file.startswith(_LIBRARIES)]
        return outside[-1] if outside else self._location

    def stamp(self) -> None:
        """Give the nodes and guards recorded since the last `at` their place."""
        new = len(internals.guards_of(self._fake_mode)) - len(self.guard_places)
        self.guard_places.extend([self._location] * new)
        node = self._last.next
        while node.op != "root":
            node.meta.setdefault("location", self._location)
            node.meta.setdefault("stack", self._stack)
            node = node.next
        self._last = internals.last_node(self.graph)

    def value(self, value: Any) -> Any:
        """`value` as a graph argument: nodes for tensors and symbolic sizes, numbers as they
        are."""
        if isinstance(value, torch.Tensor):
            return self._tensor_node(value)
        if isinstance(value, SYMBOLIC_TYPES):
            return self.sizes.node(value)
        if isinstance(value, (list, tuple)):
            items = [self.value(item) for item in value]
            return items if isinstance(value, list) else tuple(items)
        if isinstance(value, torch.Size):
            return [self.value(item) for item in value]
        if isinstance(value, dict):
            return {key: self.value(item) for key, item in value.items()}
        return value

    def node_of(self, tensor: torch.Tensor) -> Node | None:
        """The node of a fake tensor that is an input or was recorded."""
        entry = self._nodes.get(id(tensor))
        return None if entry is None else entry[1]

    def know(self, value: Any, node: Node) -> None:
        """Remember that `node`, which was put into the graph by hand, is `value`."""
        self._track(value, node)

    # --- operators ------------------------------------------------------------------------------

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        kwargs = kwargs or {}
        if func is internals.DEVICE_QUERY or func.namespace == "prim":
            return func(*args, **kwargs)
        if func in internals.LIFT_OPERATORS:
            return self.lift(args[0])
        if args and isinstance(args[0], (int, float, complex)) and _takes_one_tensor(func):
            # A number in a tensor's place, as a function transform passes it on
            args = (self.lift(_scalar(args[0])), *args[1:])
        rule = self._decompositions.get(func)
        if rule is not None:
            result = self._decompose(func, rule, args, kwargs)
            if result is not NotImplemented:
                return result
        if func._schema.is_mutable:
            if self._depth:
                raise _MutatingDecomposition(str(func))
            raise InternalError("functionalise", f"{func} was not made functional")
        result = self._composite(func, args, kwargs)
        if result is not NotImplemented:
            return result
        return self._record(func, args, kwargs)

    def _composite(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """An operator that torch itself defines by others, unless it is one of ours."""
        if not internals.is_composite(func):
            return NotImplemented
        with self:
            return func.decompose(*args, **kwargs)

    def _decompose(
        self, func: Any, rule: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        if func not in self._mutating:
            mark = internals.last_node(self.graph)
            try:
                with self._nested():
                    return rule(*args, **kwargs)
            except _MutatingDecomposition:
                self._forget_after(mark)
                self._mutating.add(func)
        with self._nested(), internals.functionalisation_again():
            wrapped_args, wrapped_kwargs = _map_tensors((args, kwargs), internals.wrap)
            result = rule(*wrapped_args, **wrapped_kwargs)
            return _map_tensors(result, internals.unwrap)

    @contextmanager
    def _nested(self) -> Generator[None]:
        """A decomposition runs: what it calls arrives here too."""
        self._depth += 1
        try:
            with self:
                yield
        finally:
            self._depth -= 1

    def _forget_after(self, mark: Node) -> None:
        while (newest := internals.last_node(self.graph)) is not mark:
            self.graph.erase_node(newest)
        alive = set(self.graph.nodes)
        self._nodes = {key: entry for key, entry in self._nodes.items() if entry[1] in alive}
        self.sizes.forget(alive)

    def _record(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        args, kwargs = _map_tensors((args, kwargs), self.lift)
        arguments = tuple(self.value(argument) for argument in args)
        keywords = {name: self.value(argument) for name, argument in kwargs.items()}
        result = func(*args, **kwargs)
        node = self.graph.create_node("call_function", func, arguments, keywords, _name(func))
        node.meta["val"] = result
        self._track(result, node)
        return result

    def _track(self, result: Any, node: Node) -> None:
        if isinstance(result, torch.Tensor):
            # A view operator may return its argument itself; the first node stays the value's node.
            self._nodes.setdefault(id(result), (result, node))
            self.sizes.learn(node, result)
        elif isinstance(result, SYMBOLIC_TYPES):
            self.sizes.learn(node, result)
        elif isinstance(result, (tuple, list)):
            for index, item in enumerate(result):
                if not isinstance(item, _VALUES):
                    continue
                getter = self.graph.create_node("call_function", operator.getitem, (node, index))
                getter.meta["val"] = item
                self._track(item, getter)

    def _tensor_node(self, tensor: torch.Tensor) -> Node:
        entry = self._nodes.get(id(tensor))
        if entry is not None:
            return entry[1]
        raise InternalError(
            "functionalise", f"a tensor of shape {tuple(tensor.shape)} comes from nowhere"
        )

    def lift(self, tensor: torch.Tensor) -> torch.Tensor:
        """A real tensor has fixed content: it is kept beside the graph and read by a get_attr
        node."""
        if internals.is_fake(tensor):
            return tensor
        name = f"literal_{len(self.literals)}"
        with internals.without_modes():
            self.literals[name] = tensor.detach().clone(memory_format=torch.contiguous_format)
        fake = internals.fake_constant(self._fake_mode, self.literals[name])
        node = self.graph.create_node("get_attr", name)
        node.meta["val"] = fake
        self._nodes[id(fake)] = (fake, node)
        return fake


def _takes_one_tensor(func: Any) -> bool:
    kinds = [str(argument.type) for argument in func._schema.arguments]
    return kinds[0] == "Tensor" and not any("Tensor" in kind for kind in kinds[1:])


def _scalar(number: complex) -> torch.Tensor:
    """As the dispatcher makes a tensor of a number."""
    with internals.without_modes():
        dtype = torch.float64 if isinstance(number, float) else None
        return torch.tensor(number, dtype=dtype)


def _name(operator_: Any) -> str:
    """`relu` for `aten.relu.default`: fx adds a number where names meet."""
    return operator_._schema.name.partition("::")[2].lstrip("_")


def _map_tensors(value: Any, function: Callable[[torch.Tensor], torch.Tensor]) -> Any:
    """`value` with `function` applied to the tensors in its lists, tuples and dicts."""
    if isinstance(value, torch.Tensor):
        return function(value)
    if isinstance(value, (list, tuple)) and not isinstance(value, torch.Size):
        items = [_map_tensors(item, function) for item in value]
        return items if isinstance(value, list) else tuple(items)
    if isinstance(value, dict):
        return {key: _map_tensors(item, function) for key, item in value.items()}
    return value
