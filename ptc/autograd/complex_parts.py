"""Complex tensors become two real ones: `AtenProgram` -> `AtenProgram`.

Takes a functional graph, gives one whose complex tensors are inputs and outputs only. Each operator
that takes or gives one runs as its rule of `ptc.ops` says, on fake real tensors and under a
recorder; the others are copied. Owns no rule.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import torch
from torch.fx import Graph, GraphModule, Node
from torch.fx.node import map_aggregate

from ptc.autograd import torch_internals as internals
from ptc.autograd.recorder import Decompositions, Recorder
from ptc.autograd.simplify import simplify
from ptc.graph.program import AtenProgram
from ptc.ops.complex_operators import OPERATORS
from ptc.ops.complex_registry import Complex, complex_rule, part_type
from ptc.support.diagnostics import CompileError, InternalError

_NEGATIVE = torch.ops.aten._neg_view.default
_AS_REAL = torch.ops.aten.view_as_real.default
_AS_COMPLEX = torch.ops.aten.view_as_complex.default


def split_complex(program: AtenProgram, decompositions: Decompositions) -> AtenProgram:
    """The program on real tensors; itself if there are no others.

    Raises CompileError PTC-A001 for an operator without a rule for complex numbers.
    """
    if not any(_is_complex(node.meta.get("val")) for node in program.graph.graph.nodes):
        return program
    return _Splitting(program, decompositions).run()


def _is_complex(value: Any) -> bool:
    if isinstance(value, (list, tuple)):
        return any(_is_complex(item) for item in value)
    return isinstance(value, torch.Tensor) and value.is_complex()


class _Splitting:
    """`values` are the new graph's nodes by the old ones, a `Complex` of fake tensors where the old
    one is complex, and tuples of both."""

    def __init__(self, program: AtenProgram, decompositions: Decompositions) -> None:
        self.program = program
        self.owner = torch.nn.Module()
        self.recorder = Recorder(Graph(), program.fake_mode, decompositions)
        self.values: dict[Node, Any] = {}
        self.inputs: dict[Node, Node] = {}
        # New nodes that are the parts of a complex tensor side by side.
        self.pairs: dict[Node, Complex] = {}

    def run(self) -> AtenProgram:
        symbolic = bool(self.program.dims)
        with (
            torch.no_grad(),
            internals.python_dispatcher(symbolic),
            self.program.fake_mode,
            self.recorder,
        ):
            for node in self.program.graph.graph.nodes:
                self.recorder.at(node.meta.get("location"), node.meta.get("stack", ()))
                self._visit(node)
                self.recorder.stamp()
        graph = self.recorder.graph
        for name, literal in self.recorder.literals.items():
            self.owner.register_buffer(name, literal, persistent=False)
        simplify(graph)
        module = GraphModule(self.owner, graph, class_name=self.program.name)
        return replace(self.program, graph=module)

    def _visit(self, node: Node) -> None:
        if node.op == "placeholder":
            value = node.meta["val"]
            new = self.recorder.placeholder(str(node.target), value, node.meta)
            self.inputs[node] = new
            self.values[node] = self._parts_of(value) if _is_complex(value) else new
        elif node.op == "get_attr":
            self.values[node] = self._literal(node)
        elif node.op == "output":
            self._output(node)
        elif (part := self._part(node)) is not None:
            self.values[node] = part
        elif self._is_affected(node):
            self.values[node] = self._rewritten(node)
        else:
            self.values[node] = self._copied(node)

    @staticmethod
    def _parts_of(value: torch.Tensor) -> Complex:
        part_type(value.dtype)
        return Complex(OPERATORS.real(value), OPERATORS.imag(value))

    def _literal(self, node: Node) -> Any:
        tensor = getattr(self.program.graph, str(node.target))
        if not tensor.is_complex():
            return self._constant(tensor)
        part_type(tensor.dtype)
        with internals.without_modes():
            whole = tensor.resolve_conj()
            parts = whole.real.clone(), whole.imag.clone()
        return Complex(*(self._constant(part).meta["val"] for part in parts))

    def _constant(self, tensor: torch.Tensor) -> Node:
        name = f"constant_{len(list(self.owner.buffers()))}"
        self.owner.register_buffer(name, tensor, persistent=False)
        node = self.recorder.graph.create_node("get_attr", name)
        node.meta["val"] = internals.fake_constant(self.program.fake_mode, tensor)
        self.recorder.know(node.meta["val"], node)
        return node

    # --- operators --------------------------------------------------------------------------------

    def _is_affected(self, node: Node) -> bool:
        """Whether complex tensors are among arguments or results, or a tuple that has some, or
        torch says of a real one that it stands for its negative (a view of a conjugate)."""
        value = node.meta.get("val")
        if _is_complex(value) or node.target is _NEGATIVE:
            return True
        if isinstance(value, torch.Tensor) and value.is_neg():
            return True
        values = [self.values[used] for used in node.all_input_nodes]
        return any(isinstance(value, (Complex, tuple)) for value in values)

    def _copied(self, node: Node) -> Node:
        new = self.recorder.graph.node_copy(node, self._node_of)
        self.recorder.know(new.meta["val"], new)
        return new

    def _node_of(self, node: Node) -> Node:
        value = self.values[node]
        if not isinstance(value, Node):
            raise InternalError("functionalise", f"{node.name} is no real tensor any more")
        return value

    def _rewritten(self, node: Node) -> Any:
        args = tuple(self._argument(argument) for argument in node.args)
        kwargs = {name: self._argument(argument) for name, argument in node.kwargs.items()}
        if node.target is operator.getitem:
            return args[0][args[1]]
        whole = self._whole(node)
        if whole is not None:
            return whole
        result = self._known(self._call(node, args, kwargs))
        if node.target is _AS_REAL:
            self.pairs[result] = args[0]
        return result

    def _whole(self, node: Node) -> Complex | None:
        """The tensor whose view as pairs is viewed as complex again."""
        pairs = self.values.get(node.args[0]) if node.target is _AS_COMPLEX else None  # type: ignore[arg-type]
        return self.pairs.get(pairs) if isinstance(pairs, Node) else None

    def _part(self, node: Node) -> Node | None:
        """The part that an element of pairs is: `z.real`, `z.imag`."""
        if node.target is not torch.ops.aten.select.int:
            return None
        source, dim, index = node.args
        assert isinstance(source, Node)
        pairs = self.values[source]
        number = self.pairs.get(pairs) if isinstance(pairs, Node) else None
        if number is None or dim not in (-1, number.re.dim()):
            return None
        return self.recorder.value(number.im if index in (1, -1) else number.re)

    def _argument(self, argument: Any) -> Any:
        if isinstance(argument, Node):
            value = self.values[argument]
            return _fakes_of(value)
        if isinstance(argument, (list, tuple)):
            return [self._argument(item) for item in argument]
        return argument

    def _call(self, node: Node, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
        rule: Callable[..., Any] | None = complex_rule(node.target)
        if rule is None and node.target is torch.ops.aten.sym_size.int:
            return args[0].re.shape[args[1]]
        if not self._has_complex(node):
            function = torch.neg if node.target is _NEGATIVE else node.target
            assert callable(function)
            return function(*args, **kwargs)
        if rule is None:
            raise CompileError(
                "PTC-A001",
                f"`{node.target}` on complex numbers cannot be compiled",
                location=node.meta.get("location"),
                hint="write it with real and imaginary parts (torch.view_as_real)",
            )
        try:
            return rule(*args, **kwargs)
        except CompileError as error:
            said = error.diagnostic
            place = said.location or node.meta.get("location")
            raise CompileError(said.code, said.message, location=place, hint=said.hint) from None

    def _has_complex(self, node: Node) -> bool:
        values = [self.values[used] for used in node.all_input_nodes]
        return _is_complex(node.meta.get("val")) or not all(isinstance(v, Node) for v in values)

    def _known(self, result: Any) -> Any:
        """A rule's result: nodes for what is real."""
        if isinstance(result, Complex):
            return result
        if isinstance(result, (list, tuple)):
            return tuple(self._known(item) for item in result)
        return self.recorder.value(result)

    # --- results ----------------------------------------------------------------------------------

    def _output(self, node: Node) -> None:
        results = node.args[0]
        assert isinstance(results, (list, tuple))
        values = tuple(map_aggregate(item, self._result) for item in results)
        new = self.recorder.graph.output(values)
        # Complex results keep the strides that eager gives them.
        new.meta["val"] = node.meta["val"]

    def _result(self, item: Any) -> Any:
        if not isinstance(item, Node):
            return item
        value = self.values[item]
        if not isinstance(value, Complex):
            return value
        if item in self.inputs:
            return self.inputs[item]
        return self.recorder.value(torch.complex(value.re, value.im))


def _fakes_of(value: Any) -> Any:
    if isinstance(value, tuple):
        return tuple(_fakes_of(item) for item in value)
    return value.meta["val"] if isinstance(value, Node) else value
