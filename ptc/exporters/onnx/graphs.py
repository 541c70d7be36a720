"""From an aten graph to operators of ONNX, by rule: a whole program's graph, or a part of one.

Takes the graph and what its placeholders are, writes to a builder and gives what the graph returns.
Knows no operator: see `ptc.ops.onnx_registry`.
"""

from __future__ import annotations

import operator
from collections.abc import Collection, Mapping
from typing import Any

import onnx_ir as ir
import torch
from onnx_ir import tensor_adapters
from torch.fx import GraphModule, Node

from ptc.exporters.onnx.builder import Builder
from ptc.exporters.onnx.numbers import number_call
from ptc.exporters.onnx.types import onnx_type
from ptc.graph.symbols import symbols_of
from ptc.loops.index import Index
from ptc.loops.nodes import DType
from ptc.ops.dtypes import from_torch
from ptc.ops.onnx_protocol import OnnxTensor, ResultType
from ptc.ops.onnx_registry import onnx_rule
from ptc.schedule.sizes import Sizes
from ptc.support.diagnostics import CompileError, InternalError


class GraphTranslation:
    """One graph. `names` has the names of sizes that the user gave; sizes that are not among them
    are left out of declared shapes, if there are `names`' only (`partial`)."""

    def __init__(
        self,
        graph: GraphModule,
        builder: Builder,
        names: Mapping[str, str],
        *,
        partial: bool = False,
    ) -> None:
        self._graph = graph
        self._builder = builder
        self._names = names
        self._partial = partial
        self._sizes = Sizes()
        self._values: dict[Node, Any] = {}

    def give(self, node: Node, tensor: OnnxTensor) -> None:
        """What a placeholder is. Its sizes, or the number that it is, are known from here on."""
        value = node.meta["val"]
        kind = self.type_of(value)
        known = OnnxTensor(tensor.name, tensor.dtype, kind.shape)
        self._learn(known, value)
        symbol = self._sizes.index(value).variable if isinstance(value, torch.SymInt) else None
        self._values[node] = known if symbol is None else Index.var(symbol)

    def run(self, needed: Collection[Any] | None = None) -> None:
        """Write every node but for the placeholders, which have been given; with `needed`, those
        on which these elements of the output depend."""
        used = None if needed is None else _ancestors(needed)
        for node in self._graph.graph.nodes:
            if used is not None and node not in used:
                continue
            if node.op == "get_attr":
                self._literal(node)
            elif node.op == "call_function":
                self._call(node)

    def result(self, value: Any) -> OnnxTensor:
        """An element of the output: a tensor, or a number as one."""
        found = self._values[value] if isinstance(value, Node) else value
        if isinstance(found, Index):
            return self._builder.size(found)
        if isinstance(found, OnnxTensor):
            return found
        return self._builder.constant(found, self.type_of(found).dtype)

    def _learn(self, tensor: OnnxTensor, value: Any) -> None:
        """A symbol is read where a dimension, or an integer input, is it."""
        if isinstance(value, torch.SymInt):
            symbol = self._sizes.index(value).variable
            if symbol is not None:
                self._builder.symbols.setdefault(symbol, (tensor, None))
        for axis, size in enumerate(tensor.dims):
            if size.variable is not None:
                self._builder.symbols.setdefault(size.variable, (tensor, axis))

    def onnx_shape(self, shape: tuple[Index, ...]) -> ir.Shape:
        """Sizes as ONNX has them: numbers, and expressions of the user's names."""
        dims: list[int | str | None] = []
        for size in shape:
            number = size.constant
            if number is not None:
                dims.append(number)
            elif self._partial and not set(size.free_vars()) <= set(self._names):
                dims.append(None)
            else:
                shown = size.substitute({s: Index.var(n) for s, n in self._names.items()})
                dims.append(str(shown))
        return ir.Shape(dims)

    def shape_of(self, value: Any) -> ir.Shape:
        """The shape of a fake value."""
        sizes = value.shape if isinstance(value, torch.Tensor) else ()
        return self.onnx_shape(self._sizes.shape(sizes))

    def _literal(self, node: Node) -> None:
        content: torch.Tensor = getattr(self._graph, str(node.target))
        kind = self.type_of(node.meta["val"])
        name = self._builder.free_name(str(node.target))
        tensor = self._builder.add_input(name, kind.dtype, kind.shape, self.onnx_shape(kind.shape))
        self._builder.add_initializer(tensor, content_of_tensor(content, tensor.name))
        self._values[node] = tensor

    # --- operators --------------------------------------------------------------------------------

    def _call(self, node: Node) -> None:
        value = node.meta["val"]
        if node.target is operator.getitem:
            source, position = node.args
            assert isinstance(source, Node) and isinstance(position, int)
            found = self._values[source][position]
            if found is None:
                raise CompileError(
                    "PTC-E021",
                    f"ONNX cannot give result {position} of `{source.target}`",
                    location=node.meta.get("location"),
                )
            self._values[node] = found
        elif not isinstance(value, (torch.Tensor, tuple, list)):
            self._values[node] = self._number_node(node, value)
        else:
            self._values[node] = self._apply_rule(node, value)

    def _number_node(self, node: Node, value: Any) -> Any:
        """A number: a size, or computed of numbers that are inputs."""
        if isinstance(value, (torch.SymInt, int, float)) and not symbols_of(value) - self._known():
            return self._sizes.index(value) if isinstance(value, torch.SymInt) else value
        self._builder.begin(node.name, (), metadata_of(node))
        dtype = self.type_of(value).dtype
        args = [self._as_number(argument) for argument in node.args]
        found = number_call(self._builder, node.target, args, dtype) if None not in args else None
        return self._apply_rule(node, value) if found is None else found

    def _as_number(self, argument: Any) -> Any:
        """A number as a tensor; None for anything else."""
        found = self._values[argument] if isinstance(argument, Node) else argument
        if isinstance(found, Index):
            return self._builder.size(found)
        if isinstance(found, OnnxTensor):
            return found
        if isinstance(found, (torch.SymInt, torch.SymFloat, torch.SymBool)):
            return None
        known = isinstance(found, (bool, int, float))
        return self._builder.constant(found, self.type_of(found).dtype) if known else None

    def _known(self) -> frozenset[str]:
        return frozenset(self._builder.symbols)

    def _apply_rule(self, node: Node, value: Any) -> Any:
        rule = onnx_rule(node.target)
        if rule is None:
            raise CompileError(
                "PTC-E020",
                f"the operator `{node.target}` has no ONNX form",
                location=node.meta.get("location"),
                hint="write it with other operators, or export with `--format ptir`",
            )
        results = value if isinstance(value, (tuple, list)) else (value,)
        types = tuple(self.type_of(item) for item in results)
        self._builder.begin(node.name, types, metadata_of(node))
        args = [self._argument(argument, node) for argument in node.args]
        kwargs = {name: self._argument(argument, node) for name, argument in node.kwargs.items()}
        try:
            made = rule(self._builder, *args, **kwargs)
        except CompileError as error:
            raise _placed(error, node) from error
        except (TypeError, ValueError, AttributeError) as error:
            if not any(isinstance(arg, Index) or _is_number(arg) for arg in args):
                raise
            raise CompileError(
                "PTC-E021",
                f"`{node.target}` takes a number here that is known at capture, in ONNX",
                location=node.meta.get("location"),
            ) from error
        return self._finish(node, made, types, isinstance(value, (tuple, list)))

    def _finish(self, node: Node, made: Any, types: tuple[ResultType, ...], several: bool) -> Any:
        """Give the results their types, and find a rule that lies about them."""
        tensors = made if isinstance(made, tuple) else (made,)
        if len(tensors) != len(types):
            raise InternalError("export", f"the ONNX rule of {node.target} gives {len(tensors)} "
                                f"results, expected {len(types)}")  # fmt: skip
        finished = tuple(
            None if tensor is None else self._finished(node, tensor, kind)
            for tensor, kind in zip(tensors, types, strict=True)
        )
        return finished if several else finished[0]

    def _finished(self, node: Node, tensor: OnnxTensor, kind: ResultType) -> OnnxTensor:
        if tensor.dtype is not kind.dtype:
            raise InternalError("export", f"the ONNX rule of {node.target} gives "
                                f"{tensor.dtype.value}, expected {kind.dtype.value}")  # fmt: skip
        declared = self._builder.values[tensor.name]
        if declared.shape is None:
            declared.shape = self.onnx_shape(kind.shape)
        result = OnnxTensor(tensor.name, tensor.dtype, kind.shape)
        for axis, size in enumerate(kind.shape):
            if size.variable is not None:  # a size that depends on data is known from here on
                self._builder.symbols.setdefault(size.variable, (result, axis))
        return result

    def type_of(self, value: Any) -> ResultType:
        """Element type and shape of a fake value."""
        match value:
            case torch.Tensor():
                return ResultType(from_torch(value.dtype), self._sizes.shape(value.shape))
            case bool() | torch.SymBool():
                return ResultType(DType.BOOL, ())
            case int() | torch.SymInt():
                return ResultType(DType.I64, ())
            case float() | torch.SymFloat():
                return ResultType(DType.F64, ())
            case _:
                raise CompileError("PTC-E021", f"ONNX has no values of type {type(value).__name__}")

    def _argument(self, value: Any, node: Node) -> Any:
        match value:
            case Node():
                known = self._values[value]
                if isinstance(known, (torch.SymFloat, torch.SymBool)):
                    raise CompileError(
                        "PTC-E021",
                        f"a number computed from symbolic sizes ({known}) is an argument of "
                        f"`{node.target}`",
                        location=node.meta.get("location"),
                    )
                return known
            case list() | tuple():
                return [self._argument(item, node) for item in value]
            case _:
                return value


def _is_number(argument: Any) -> bool:
    return isinstance(argument, OnnxTensor) and argument.shape == ()


def _ancestors(values: Collection[Any]) -> set[Node]:
    found: set[Node] = set()
    waiting = [value for value in values if isinstance(value, Node)]
    while waiting:
        node = waiting.pop()
        if node not in found:
            found.add(node)
            waiting += node.all_input_nodes
    return found


def content_of_tensor(tensor: torch.Tensor, name: str) -> ir.TensorProtocol:
    """A view of a torch tensor, read when the file is written: weights are never held twice."""
    dense = tensor.detach().cpu().contiguous()
    onnx_type(from_torch(dense.dtype))
    return tensor_adapters.TorchTensor(dense, name=name)


def metadata_of(node: Node) -> Mapping[str, str]:
    place = node.meta.get("location")
    facts = {"ptc.operator": str(node.target)}
    if place is not None:
        facts["ptc.source"] = f"{place}  {place.text.strip()}".strip()
    return facts


def _placed(error: CompileError, node: Node) -> CompileError:
    """The error with the user's line, if the rule did not know it."""
    found = error.diagnostic
    if found.location is not None:
        return error
    return CompileError(
        found.code, found.message, location=node.meta.get("location"), hint=found.hint,
        notes=(*found.notes, f"in `{node.target}`"),
    )  # fmt: skip
