"""From an `AtenProgram` to an onnx_ir model: inputs, weights, operators by rule, outputs.

Input and output names and order are the program's; a mutated input is an extra output `NAME_out`,
and a mutated buffer also an input whose default is its present content. Knows no operator: see
`ptc.ops.onnx_registry`.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping
from typing import Any

import onnx_ir as ir
import torch
from onnx_ir import tensor_adapters
from torch.fx import Node

from ptc.exporters.formats import ExportOptions, weight_of
from ptc.exporters.onnx.builder import Builder
from ptc.exporters.onnx.types import onnx_type
from ptc.graph.program import AtenProgram, InputKind, OutputKind
from ptc.graph.symbols import symbols_of
from ptc.loops.index import Index
from ptc.loops.nodes import DType
from ptc.ops.dtypes import from_torch
from ptc.ops.onnx_protocol import OnnxTensor, ResultType
from ptc.ops.onnx_registry import onnx_rule
from ptc.schedule.sizes import Sizes
from ptc.support.diagnostics import CompileError, InternalError
from ptc.support.version import VERSION

#: The IR version that came with each opset from 21 on (onnx 1.16 and later).
_IR_VERSIONS = {21: 10, 22: 10, 23: 11, 24: 12, 25: 12, 26: 13, 27: 13, 28: 13}
OLDEST_OPSET = min(_IR_VERSIONS)
NEWEST_OPSET = max(_IR_VERSIONS)


def translate(program: AtenProgram, options: ExportOptions, opset: int) -> ir.Model:
    """The ONNX model of a program.

    Raises CompileError: PTC-E020 an operator without a rule, PTC-E021 something ONNX cannot say."""
    return _Translation(program, options, opset).run()


class _Translation:
    def __init__(self, program: AtenProgram, options: ExportOptions, opset: int) -> None:
        self._program = program
        self._options = options
        self._builder = Builder(opset)
        self._sizes = Sizes()
        self._values: dict[Node, Any] = {}
        self._inputs: list[ir.Value] = []
        self._mutated = {out.target for out in program.outputs if out.kind is OutputKind.WRITE_BACK}

    def run(self) -> ir.Model:
        nodes = list(self._program.graph.graph.nodes)
        placeholders = [node for node in nodes if node.op == "placeholder"]
        for position, node in enumerate(placeholders):
            self._input(position, node)
        for node in nodes:
            if node.op == "get_attr":
                self._literal(node)
            elif node.op == "call_function":
                self._call(node)
        outputs = self._outputs(nodes[-1])
        builder = self._builder
        graph = ir.Graph(
            self._inputs,
            [builder.values[tensor.name] for tensor in outputs],
            nodes=builder.nodes,
            initializers=list(builder.initializers.values()),
            opset_imports={"": builder.opset},
            name=self._program.name,
        )
        return ir.Model(
            graph,
            ir_version=_IR_VERSIONS[builder.opset],
            producer_name="ptc",
            producer_version=VERSION,
            metadata_props={"ptc.torch": torch.__version__},
        )

    # --- inputs -----------------------------------------------------------------------------------

    def _input(self, position: int, node: Node) -> None:
        described = self._program.inputs[position]
        value = node.meta["val"]
        weight = weight_of(self._program, position, self._options)
        tensor = self._declare(described.name, value)
        self._values[node] = tensor
        self._learn(tensor, value)
        if weight is not None:
            content = _content(weight, described.name)
            self._builder.add_initializer(tensor, content)
            if described.aliases:
                names = ", ".join(described.aliases)
                self._builder.values[tensor.name].metadata_props["ptc.aliases"] = names
        if described.kind in (InputKind.USER, InputKind.SCALAR) or position in self._mutated:
            self._inputs.append(self._builder.values[tensor.name])

    def _declare(self, name: str, value: Any) -> OnnxTensor:
        kind = self._type(value)
        return self._builder.add_input(name, kind.dtype, kind.shape, self._onnx_shape(kind.shape))

    def _learn(self, tensor: OnnxTensor, value: Any) -> None:
        """A symbol is read where a dimension, or an integer input, is it."""
        if isinstance(value, torch.SymInt):
            symbol = self._sizes.index(value).variable
            if symbol is not None:
                self._builder.symbols.setdefault(symbol, (tensor, None))
        for axis, size in enumerate(tensor.dims):
            if size.variable is not None:
                self._builder.symbols.setdefault(size.variable, (tensor, axis))

    def _onnx_shape(self, shape: tuple[Index, ...]) -> ir.Shape:
        names = {symbol: described.name for symbol, described in self._program.dims.items()}
        dims: list[int | str] = []
        for size in shape:
            number = size.constant
            shown = size.substitute({s: Index.var(n) for s, n in names.items()})
            dims.append(str(shown) if number is None else number)
        return ir.Shape(dims)

    def _literal(self, node: Node) -> None:
        content: torch.Tensor = getattr(self._program.graph, str(node.target))
        tensor = self._declare(str(node.target), node.meta["val"])
        self._builder.add_initializer(tensor, _content(content, tensor.name))
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
        elif (
            isinstance(value, (torch.SymInt, int, float)) and not symbols_of(value) - self._known()
        ):
            self._values[node] = self._number(value)
        else:
            self._values[node] = self._apply_rule(node, value)

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
        types = tuple(self._type(item) for item in results)
        self._builder.begin(node.name, types, _metadata(node))
        args = [self._argument(argument, node) for argument in node.args]
        kwargs = {name: self._argument(argument, node) for name, argument in node.kwargs.items()}
        try:
            made = rule(self._builder, *args, **kwargs)
        except CompileError as error:
            raise _placed(error, node) from error
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
            declared.shape = self._onnx_shape(kind.shape)
        result = OnnxTensor(tensor.name, tensor.dtype, kind.shape)
        for axis, size in enumerate(kind.shape):
            if size.variable is not None:  # a size that depends on data is known from here on
                self._builder.symbols.setdefault(size.variable, (result, axis))
        return result

    def _type(self, value: Any) -> ResultType:
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

    def _number(self, value: Any) -> Any:
        return self._sizes.index(value) if isinstance(value, torch.SymInt) else value

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

    # --- outputs ----------------------------------------------------------------------------------

    def _outputs(self, node: Node) -> list[OnnxTensor]:
        values = node.args[0]
        assert isinstance(values, (tuple, list))
        self._builder.begin("result", (), {})
        outputs: list[OnnxTensor] = []
        for described, value in zip(self._program.outputs, values, strict=True):
            written = described.kind is OutputKind.WRITE_BACK
            name = f"{described.name}_out" if written else described.name
            outputs.append(self._output(name, value))
        return outputs

    def _output(self, name: str, value: Any) -> OnnxTensor:
        found = self._values[value] if isinstance(value, Node) else value
        if isinstance(found, Index):
            found = self._builder.size(found)
        elif not isinstance(found, OnnxTensor):
            found = self._builder.constant(found, self._type(found).dtype)
        while name in self._builder.values:  # an output that is called like an input
            name = f"{name}_out"
        result = self._builder.rename(found, name)
        shape = value.meta["val"].shape if isinstance(value, Node) and isinstance(
            value.meta["val"], torch.Tensor) else ()  # fmt: skip
        self._builder.values[name].shape = self._onnx_shape(self._sizes.shape(shape))
        return result


def _content(tensor: torch.Tensor, name: str) -> ir.TensorProtocol:
    """A view of a torch tensor, read when the file is written: weights are never held twice."""
    dense = tensor.detach().cpu().contiguous()
    onnx_type(from_torch(dense.dtype))
    return tensor_adapters.TorchTensor(dense, name=name)


def _metadata(node: Node) -> Mapping[str, str]:
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
