"""From an `AtenProgram` to an onnx_ir model: inputs, weights, operators by rule, outputs.

Input and output names and order are the program's; a mutated input is an extra output `NAME_out`,
and a mutated buffer also an input, behind the user's, whose default is its present content.
"""

from __future__ import annotations

from typing import Any

import onnx_ir as ir
import torch
from torch.fx import Node

from ptc.exporters.formats import ExportOptions, weight_of
from ptc.exporters.onnx.builder import Builder
from ptc.exporters.onnx.graphs import GraphTranslation, content_of_tensor
from ptc.exporters.onnx.naming import Names
from ptc.graph.program import AtenProgram, InputKind, OutputKind
from ptc.ops.onnx_protocol import OnnxTensor
from ptc.support.version import VERSION

#: The IR version that came with each opset from 21 on (onnx 1.16 and later).
_IR_VERSIONS = {21: 10, 22: 10, 23: 11, 24: 12, 25: 12, 26: 13, 27: 13, 28: 13}
OLDEST_OPSET = min(_IR_VERSIONS)
NEWEST_OPSET = max(_IR_VERSIONS)


def translate(
    program: AtenProgram, options: ExportOptions, opset: int, names: Names | None = None
) -> ir.Model:
    """The ONNX model of a program; `names` says what inputs and outputs are called.

    Raises CompileError: PTC-E020 an operator without a rule, PTC-E021 something ONNX cannot say."""
    return _Translation(program, options, opset, names or Names.of(program)).run()


def model_of(
    builder: Builder, name: str, inputs: list[ir.Value], outputs: list[OnnxTensor]
) -> ir.Model:
    """What was built, as a model."""
    graph = ir.Graph(
        inputs,
        [builder.values[tensor.name] for tensor in outputs],
        nodes=builder.nodes,
        initializers=list(builder.initializers.values()),
        opset_imports={"": builder.opset},
        name=name,
    )
    return ir.Model(
        graph,
        ir_version=_IR_VERSIONS[builder.opset],
        producer_name="ptc",
        producer_version=VERSION,
        metadata_props={"ptc.torch": torch.__version__},
    )


class _Translation:
    def __init__(
        self, program: AtenProgram, options: ExportOptions, opset: int, names: Names
    ) -> None:
        self._program = program
        self._options = options
        self._names = names
        self._builder = Builder(opset, names.all())
        sizes = {symbol: described.name for symbol, described in program.dims.items()}
        self._graph = GraphTranslation(program.graph, self._builder, sizes)
        self._inputs: list[ir.Value] = []
        self._buffers: list[ir.Value] = []
        self._mutated = {out.target for out in program.outputs if out.kind is OutputKind.WRITE_BACK}

    def run(self) -> ir.Model:
        nodes = list(self._program.graph.graph.nodes)
        placeholders = [node for node in nodes if node.op == "placeholder"]
        for position, node in enumerate(placeholders):
            self._input(position, node)
        self._graph.run()
        outputs = self._outputs(nodes[-1])
        inputs = [*self._inputs, *self._buffers]
        return model_of(self._builder, self._program.name, inputs, outputs)

    def _input(self, position: int, node: Node) -> None:
        described = self._program.inputs[position]
        value = node.meta["val"]
        weight = weight_of(self._program, position, self._options)
        kind = self._graph.type_of(value)
        name = self._names.inputs.get(described.name, described.name)
        shape = self._graph.shape_of(value)
        tensor = self._builder.add_input(name, kind.dtype, kind.shape, shape)
        self._graph.give(node, tensor)
        declared = self._builder.values[tensor.name]
        if weight is not None:
            self._builder.add_initializer(tensor, content_of_tensor(weight, name))
            if described.aliases:
                declared.metadata_props["ptc.aliases"] = ", ".join(described.aliases)
        if described.kind in (InputKind.USER, InputKind.SCALAR):
            self._inputs.append(declared)
        elif position in self._mutated:
            self._buffers.append(declared)

    def _outputs(self, node: Node) -> list[OnnxTensor]:
        values = node.args[0]
        assert isinstance(values, (tuple, list))
        self._builder.begin("result", (), {})
        outputs: list[OnnxTensor] = []
        for name, value in zip(self._names.outputs, values, strict=True):
            outputs.append(self._output(name, value))
        return outputs

    def _output(self, name: str, value: Any) -> OnnxTensor:
        result = self._builder.rename(self._graph.result(value), name)
        fake = value.meta["val"] if isinstance(value, Node) else value
        self._builder.values[name].shape = self._graph.shape_of(fake)
        return result
