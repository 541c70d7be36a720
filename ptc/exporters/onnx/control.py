"""From a program with control flow to an onnx_ir model: `If`, `Loop`, sequences around operators.

Takes values and regions (`ptc.exporters.regions`). A branch becomes an `If`, a loop that runs its
body first a `Loop` whose condition is true at first; both see the values around them. Numbers are
0-d tensors (`numbers`), lists of numbers 1-D tensors, lists of tensors sequences (`lists`). What
is kept from call to call enters as an input, whose default is its first value, and leaves as an
output. Knows no operator and nothing of variables.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import assert_never

import onnx_ir as ir
import torch
from torch.fx import Node

from ptc.exporters.formats import ExportOptions, content_of
from ptc.exporters.onnx import lists, texts
from ptc.exporters.onnx.builder import Builder
from ptc.exporters.onnx.data_sized import data_sized
from ptc.exporters.onnx.graphs import GraphTranslation, content_of_tensor
from ptc.exporters.onnx.naming import Names
from ptc.exporters.onnx.numbers import TYPES, compute, convert
from ptc.exporters.onnx.translate import model_of
from ptc.exporters.onnx.values import (
    OnnxValue,
    declare,
    handle,
    text_constant,
    type_of_variable,
    undefined,
)
from ptc.exporters.regions import (
    Branch,
    Call,
    Constant,
    Dimension,
    Loop,
    Operation,
    Primitive,
    Region,
    RegionProgram,
    Undefined,
    Value,
)
from ptc.graph.control import ListVar, NumberKind, NumberVar, StateNumber, TensorVar, TextVar, Var
from ptc.graph.program import InputKind
from ptc.loops.nodes import DType
from ptc.ops.onnx_protocol import OnnxTensor
from ptc.schedule.sizes import Sizes
from ptc.support.diagnostics import CompileError, Location


def kept_names(program: RegionProgram) -> list[str]:
    """What calls leave, in the order of the outputs behind the results: written inputs, state."""
    written = [described.name for described, _ in program.written]
    return written + [kept.path for kept, _ in program.kept]


def translate_control(
    program: RegionProgram, options: ExportOptions, opset: int, names: Names
) -> ir.Model:
    """The ONNX model of a program with control flow.

    Raises CompileError as `translate` does, and PTC-E025 for numbers, lists and strings that ONNX
    has no form of."""
    return _Translation(program, options, opset, names).run()


class _Translation:
    def __init__(
        self, program: RegionProgram, options: ExportOptions, opset: int, names: Names
    ) -> None:
        self._regions = program
        self._program = program.program
        self._options = options
        self._names = names
        self._builder = Builder(opset, names.all())
        self._values: dict[Value, OnnxValue] = {}
        self._weights: dict[str, OnnxTensor] = {}
        self._inputs: list[ir.Value] = []
        self._kept: list[ir.Value] = []
        self._sizes = {s: described.name for s, described in self._program.dims.items()}

    def run(self) -> ir.Model:
        for described, value in self._regions.inputs:
            self._input(described.name, value, described.live is None)
            if described.live is not None:
                content = content_of(described, self._options)
                assert content is not None
                self._default(value, content_of_tensor(content, described.name))
        for kept, value in self._regions.state:
            self._input(kept.path, value, given=False)
            self._first(value, kept.initial if isinstance(kept, StateNumber) else None)
        self._region(self._regions.body)
        outputs = self._outputs()
        return model_of(self._builder, self._program.name, [*self._inputs, *self._kept], outputs)

    # --- inputs and outputs -------------------------------------------------------------------

    def _input(self, name: str, value: Value, given: bool) -> None:
        name = self._names.inputs.get(name, name)
        declared = self._builder.new_input(name, type_of_variable(value.type))
        declared.shape = self._shape(value.type)
        self._values[value] = handle(declared, value.type)
        (self._inputs if given else self._kept).append(declared)

    def _first(self, value: Value, initial: int | float | bool | None) -> None:
        """What a kept value is in a new session; anything, where the program has not said."""
        variable = value.type
        if isinstance(variable, NumberVar):
            content = torch.tensor(initial, dtype=_TORCH[TYPES[variable.kind]])
        elif isinstance(variable, TensorVar):
            sizes = [s if isinstance(s, int) else 1 for s in variable.fake.shape]
            content = torch.zeros(sizes, dtype=variable.fake.dtype)
        else:
            return
        self._default(value, content_of_tensor(content, self._values[value].name))

    def _default(self, value: Value, content: ir.TensorProtocol) -> None:
        tensor = self._values[value]
        assert isinstance(tensor, OnnxTensor)
        declared = self._builder.values[tensor.name]
        shape = declared.shape
        self._builder.add_initializer(tensor, content)
        if isinstance(value.type, TensorVar) and not all(
            isinstance(size, int) for size in value.type.fake.shape
        ):
            declared.shape = shape

    def _shape(self, variable: Var) -> ir.Shape | None:
        """The declared shape of an input or output: sizes that the user named, and fixed ones."""
        if isinstance(variable, NumberVar | TextVar):
            return ir.Shape([])
        if not isinstance(variable, TensorVar):
            assert isinstance(variable, ListVar)
            return ir.Shape([None]) if isinstance(variable.element, NumberKind) else None
        dims: list[int | str | None] = []
        for size in Sizes().shape(variable.fake.shape):
            known = size.constant if size.constant is not None else self._sizes.get(str(size))
            dims.append(known)
        return ir.Shape(dims)

    def _outputs(self) -> list[OnnxTensor]:
        regions = self._regions
        values = [value for _, value in regions.outputs]
        values += [regions.selector] if regions.selector is not None else []
        values += [value for _, value in (*regions.written, *regions.kept)]
        found: list[OnnxTensor] = []
        for name, value in zip(self._names.outputs, values, strict=True):
            source = self._builder.values[self._values[value].name]
            declared = self._builder.new_input(name, type_of_variable(value.type))
            declared.shape = self._shape(value.type)
            self._builder.copy(source, declared)
            found.append(OnnxTensor(name, DType.BOOL))
        return found

    # --- operations ---------------------------------------------------------------------------

    def _region(self, region: Region) -> None:
        for operation in region.operations:
            self._operation(operation)

    def _operation(self, operation: Operation) -> None:
        builder = self._builder
        match operation:
            case Constant(result, content):
                builder.begin(result.name, (), {})
                self._values[result] = (
                    text_constant(builder, content)
                    if isinstance(content, str)
                    else builder.constant(content, _dtype(result.type))
                )
            case Undefined(result):
                builder.begin(result.name, (), {})
                self._values[result] = undefined(builder, result.type)
            case Call():
                self._call(operation)
            case Dimension(result, tensor, dim):
                builder.begin(result.name, (), {})
                whole = self._tensor(tensor)
                size = builder.op("Shape", whole, dtype=DType.I64, start=dim, end=dim + 1)
                self._values[result] = builder.op("Squeeze", size, builder.constant([0], DType.I64))
            case Primitive():
                try:
                    self._primitive(operation)
                except CompileError as error:
                    raise _placed(error, operation.location) from error
            case Branch():
                self._branch(operation)
            case Loop():
                self._loop(operation)
            case _:
                assert_never(operation)

    def _tensor(self, value: Value) -> OnnxTensor:
        found = self._values[value]
        assert isinstance(found, OnnxTensor)
        return found

    def _call(self, operation: Call) -> None:
        aten = operation.segment.aten
        self._builder.forget_sizes()
        graph = GraphTranslation(aten.graph, self._builder, self._sizes, partial=True)
        placeholders = [node for node in aten.graph.graph.nodes if node.op == "placeholder"]
        returned = aten.graph.graph.output_node().args[0]
        assert isinstance(returned, (tuple, list))
        needed = [
            value
            for value, result in zip(returned, operation.results, strict=True)
            if result is not None
        ]
        for described, node, given in zip(aten.inputs, placeholders, operation.args, strict=True):
            if given is not None:
                graph.give(node, self._tensor(given))
            elif described.live is not None:
                graph.give(node, self._weight(described.name, node, graph))
        graph.run(needed)
        self._builder.begin("result", (), {})
        for value, result in zip(returned, operation.results, strict=True):
            if result is not None:
                self._values[result] = graph.result(value)

    def _weight(self, name: str, node: Node, graph: GraphTranslation) -> OnnxTensor:
        known = self._weights.get(name)
        if known is None:
            described = next(i for i in self._program.inputs if i.name == name)
            content = content_of(described, self._options)
            assert content is not None
            kind = graph.type_of(node.meta["val"])
            shape = graph.onnx_shape(kind.shape)
            known = self._builder.add_input(name, kind.dtype, kind.shape, shape)
            self._builder.add_initializer(known, content_of_tensor(content, name))
            if described.aliases:
                declared = self._builder.values[name]
                declared.metadata_props["ptc.aliases"] = ", ".join(described.aliases)
            self._weights[name] = known
        return known

    def _primitive(self, operation: Primitive) -> None:
        builder = self._builder
        builder.begin(operation.results[0].name, (), _source(operation.location, operation.op))
        args = [None if value is None else self._values[value] for value in operation.args]
        types = [value.type for value in operation.results]
        match operation.kind:
            case "compute":
                tensors = [arg for arg in args if isinstance(arg, OnnxTensor)]
                found: Sequence[OnnxValue] = [
                    compute(builder, operation.op, tensors, _dtype(types[0]))
                ]
            case "item":
                (tensor,) = args
                assert isinstance(tensor, OnnxTensor)
                number = builder.op("Reshape", tensor, lists.no_sizes(builder))
                found = [convert(builder, number, _dtype(types[0]))]
            case "data_sized":
                found = data_sized(builder, operation.op, args, types)
            case "list":
                found = lists.apply(builder, operation.op, args, operation.args, types)
            case _:
                found = [texts.apply(builder, operation.op, args, operation.text)]
        self._values.update(zip(operation.results, found, strict=True))

    # --- control flow -------------------------------------------------------------------------

    def _branch(self, operation: Branch) -> None:
        builder = self._builder
        arms: dict[str, ir.Graph] = {}
        for name, region in (("then_branch", operation.then), ("else_branch", operation.orelse)):
            with builder.open_graph() as nodes:
                self._region(region)
                outputs = [self._leave(value) for value in region.results]
            arms[name] = ir.Graph([], outputs, nodes=nodes, name=name)
        results = [self._declare(value) for value in operation.results]
        builder.begin("if", (), _source(operation.location, operation.construct))
        condition = builder.values[self._tensor(operation.condition).name]
        builder.emit("If", [condition], results, arms)

    def _loop(self, operation: Loop) -> None:
        """The body gets the number of the iteration and whether the last one said to go on, too."""
        builder = self._builder
        initial = [builder.values[self._values[value].name] for value in operation.initial]
        with builder.open_graph() as nodes:
            number = builder.new_value("iteration", ir.TensorType(ir.DataType.INT64))
            going = builder.new_value("going", ir.TensorType(ir.DataType.BOOL))
            for value in (number, going):
                value.shape = ir.Shape([])
            params = [self._declare(value) for value in operation.body.params]
            self._region(operation.body)
            outputs = [self._leave(value) for value in (operation.again, *operation.body.results)]
        body = ir.Graph([number, going, *params], outputs, nodes=nodes, name="body")
        results = [self._declare(value) for value in operation.results]
        builder.begin("loop", (), _source(operation.location, operation.construct))
        first = builder.values[builder.constant(True, DType.BOOL).name]
        builder.emit("Loop", [None, first, *initial], results, {"body": body})

    def _leave(self, value: Value) -> ir.Value:
        """A result of an inner graph: a value of its own, also where it is one from outside."""
        source = self._builder.values[self._values[value].name]
        target = self._builder.new_value(f"{value.name}_left", type_of_variable(value.type))
        self._builder.copy(source, target)
        return target

    def _declare(self, value: Value) -> ir.Value:
        declared, self._values[value] = declare(self._builder, value)
        return declared


_TORCH = {DType.I64: torch.int64, DType.F64: torch.float64, DType.BOOL: torch.bool}


def _dtype(variable: Var) -> DType:
    assert isinstance(variable, NumberVar)
    return TYPES[variable.kind]


def _source(location: Location | None, what: str) -> Mapping[str, str]:
    facts = {"ptc.operator": what}
    if location is not None:
        facts["ptc.source"] = f"{location}  {location.text.strip()}".strip()
    return facts


def _placed(error: CompileError, location: Location | None) -> CompileError:
    found = error.diagnostic
    if found.location is not None or location is None:
        return error
    return CompileError(
        found.code, found.message, location=location, hint=found.hint, notes=found.notes
    )


def calls_of(program: RegionProgram) -> list[str]:
    """The names of the inputs that a call gives."""
    kinds = (InputKind.USER, InputKind.SCALAR)
    return [described.name for described, _ in program.inputs if described.kind in kinds]
