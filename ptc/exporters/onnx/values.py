"""What variables of a program with control flow are in ONNX: tensors, sequences, strings.

Takes variables' types, gives ONNX types and values of them. A list of numbers is a 1-D tensor, a
list of tensors, or of lists of numbers, a sequence.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import onnx_ir as ir
import torch

from ptc.exporters.onnx.builder import Builder, array_of
from ptc.exporters.onnx.numbers import TYPES
from ptc.exporters.onnx.types import onnx_type
from ptc.exporters.regions import Value
from ptc.graph.control import ListVar, NumberKind, NumberVar, TensorVar, TextVar, Var
from ptc.graph.control_types import var_type
from ptc.loops.nodes import DType
from ptc.ops.dtypes import from_torch
from ptc.ops.onnx_protocol import OnnxTensor
from ptc.support.diagnostics import CompileError


@dataclass(frozen=True, slots=True)
class OnnxSequence:
    """A list of tensors of one element type."""

    name: str
    dtype: DType


@dataclass(frozen=True, slots=True)
class OnnxText:
    """A 0-d tensor of a string, or a 1-D one of several."""

    name: str


OnnxValue = OnnxTensor | OnnxSequence | OnnxText


def element_dtype(variable: ListVar) -> DType:
    """What the tensors of a list are made of. Raises CompileError PTC-E025."""
    element = variable.element
    if isinstance(element, NumberKind):
        return TYPES[element]
    if isinstance(element, torch.Tensor):
        return from_torch(element.dtype)
    if isinstance(element, ListVar) and isinstance(element.element, NumberKind):
        return TYPES[element.element]
    raise CompileError(
        "PTC-E025",
        f"ONNX has no {var_type(variable)} (`{variable.name}`), only lists of tensors and numbers",
        hint="keep it in tensors, or export with `--format ptir`",
    )


def type_of_variable(variable: Var) -> ir.TypeProtocol:
    """The ONNX type. Raises CompileError PTC-E021 and PTC-E025."""
    match variable:
        case TensorVar(_, fake):
            return ir.TensorType(onnx_type(from_torch(fake.dtype)))
        case NumberVar(_, kind):
            return ir.TensorType(onnx_type(TYPES[kind]))
        case TextVar():
            return ir.TensorType(ir.DataType.STRING)
        case ListVar(_, element):
            inner = ir.TensorType(onnx_type(element_dtype(variable)))
            return inner if isinstance(element, NumberKind) else ir.SequenceType(inner)


def handle(declared: ir.Value, variable: Var) -> OnnxValue:
    """A declared value as operations take it."""
    name = declared.name
    assert name is not None
    match variable:
        case TensorVar(_, fake):
            return OnnxTensor(name, from_torch(fake.dtype))
        case NumberVar(_, kind):
            return OnnxTensor(name, TYPES[kind])
        case TextVar():
            return OnnxText(name)
        case ListVar(_, element):
            dtype = element_dtype(variable)
            scalar = isinstance(element, NumberKind)
            return OnnxTensor(name, dtype) if scalar else OnnxSequence(name, dtype)


def declare(builder: Builder, value: Value) -> tuple[ir.Value, OnnxValue]:
    """A new value of a type. Of tensors no shape is said: it may change from way to way."""
    declared = builder.new_value(value.name, type_of_variable(value.type))
    if isinstance(value.type, NumberVar):
        declared.shape = ir.Shape([])
    return declared, handle(declared, value.type)


def text_constant(builder: Builder, content: str) -> OnnxText:
    """A string."""
    name = builder.free_name("text")
    value = builder.new_value(name, ir.TensorType(ir.DataType.STRING))
    array = np.array(content.encode(), dtype=object)
    value.const_value = ir.StringTensor(array, shape=ir.Shape([]), name=name)
    value.shape = ir.Shape([])
    builder.initializers[name] = value
    return OnnxText(name)


def undefined(builder: Builder, variable: Var) -> OnnxValue:
    """Any value of a type: zeros, of size 1 where the size depends on data, or nothing."""
    match variable:
        case TensorVar(_, fake):
            dtype = from_torch(fake.dtype)
            sizes = [size if isinstance(size, int) else 1 for size in fake.shape]
            shape = builder.constant(np.array(sizes, dtype=np.int64), DType.I64)
            zero = ir.tensor(array_of([0], dtype), dtype=onnx_type(dtype))
            return builder.op("ConstantOfShape", shape, dtype=dtype, value=zero)
        case NumberVar(_, kind):
            return builder.constant(0, TYPES[kind])
        case TextVar():
            return text_constant(builder, "")
        case ListVar(_, element):
            dtype = element_dtype(variable)
            if isinstance(element, NumberKind):
                return builder.constant(np.array([], dtype=np.int64), dtype)
            return empty_sequence(builder, dtype)


def empty_sequence(builder: Builder, dtype: DType) -> OnnxSequence:
    """A list without elements."""
    type_ = ir.SequenceType(ir.TensorType(onnx_type(dtype)))
    value = builder.new_value("list", type_)
    builder.emit("SequenceEmpty", [], [value], {"dtype": int(onnx_type(dtype))})
    assert value.name is not None
    return OnnxSequence(value.name, dtype)
